//! What is in a run's context, and where do its tools read the skills that its model was given?

use std::path::PathBuf;

use super::{
    super::{
        compaction::{ActiveSkill, ActiveSkillOrigin},
        transcript::ContextTranscript,
    },
    RunDriver,
};
use tools::ActiveSkillFolder;

impl RunDriver {
    /// Takes over what is in the run's context.
    pub(in super::super) fn adopt(&mut self, transcript: ContextTranscript) {
        self.machine.remember(transcript.past());
        self.transcript = transcript;
        self.tell_tools_of_skills();
    }

    /// Tools read where skills lie that its model was given.
    pub(super) fn tell_tools_of_skills(&self) {
        let is_given = |skill: &&ActiveSkill| match &skill.origin {
            ActiveSkillOrigin::Given(run) => *run == self.identity.run,
            ActiveSkillOrigin::Asked { .. } => true,
        };
        let skills = self.transcript.skills().iter().filter(is_given);
        let active = skills.map(|skill| ActiveSkillFolder {
            name: skill.name.clone(),
            folder: PathBuf::from(&skill.folder),
            digest: skill.digest.clone(),
        });
        self.gate.prepare.skills.are(active.collect());
    }
}
