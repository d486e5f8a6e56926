//! What is in a run's context, and where do its tools read the skills that its model was given?

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use hooks::HookedSkill;

use super::{
    super::{
        compaction::{ActiveSkill, ActiveSkillOrigin},
        hooks::turn_id,
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
        let active = self.active_skills().map(|skill| ActiveSkillFolder {
            name: skill.name.clone(),
            folder: PathBuf::from(&skill.folder),
            digest: skill.digest.clone(),
        });
        self.gate.prepare.skills.are(active.collect());
    }

    /// The same as hooks are told of them, where the log has all that these read.
    pub(super) fn skills_for_hooks(&self) -> Arc<[HookedSkill]> {
        let told = |skill: &ActiveSkill| {
            let (file, file_digest) = skill.file.clone()?;
            let (run, turn) = &skill.since;
            Some(HookedSkill {
                name: skill.name.clone(),
                path: Path::new(&skill.folder).join(file),
                file_digest,
                is_of_workspace: skill.is_of_workspace,
                is_given: matches!(skill.origin, ActiveSkillOrigin::Given(_)),
                turn_id: turn_id(run, *turn),
            })
        };
        self.active_skills().filter_map(told).collect()
    }

    /// The skills that the run's model has.
    fn active_skills(&self) -> impl Iterator<Item = &ActiveSkill> {
        self.transcript.skills().iter().filter(|skill| match &skill.origin {
            ActiveSkillOrigin::Given(run) => *run == self.identity.run,
            ActiveSkillOrigin::Asked { .. } => true,
        })
    }
}
