//! Which skills does a context keep when its older part goes? (spec 08, "Skills")

use std::{collections::HashSet, sync::Arc};

use protocol::{CallId, ContextMessage, MessagePart, RunId, SkillActivated};

/// Bytes of the texts that are told again, the newest first (spec 08).
const MOST_BYTES: usize = 64 * 1024;

/// The beginning of the part of a snapshot's message that has the texts, and of the one that names those that are gone.
pub(super) const PREAMBLE: &str = "Skills that are active stay so. This is what they say:\n\n";
pub(super) const GONE: &str = "Skills that are active no longer, for there was no room for what they say; activate one again when you need it: ";

/// A skill that a context's model was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveSkill {
    pub name: String,
    pub folder: String,
    /// The digest with which it was activated, of a workspace's.
    pub digest: Option<String>,
    /// The workspace brings it along.
    pub is_of_workspace: bool,
    /// Its file and the digest of that file's bytes, where the log has them.
    pub file: Option<(String, String)>,
    /// The run and the turn from which on the model has it.
    pub since: (RunId, u32),
    pub origin: ActiveSkillOrigin,
}

/// The place of a skill's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActiveSkillOrigin {
    /// Before the history in the requests of this run.
    Given(RunId),
    /// The result of this call, or where a compression put it. The text is the result's.
    Asked { call: CallId, text: String },
}

impl ActiveSkill {
    /// A skill that the model has since this turn of this run.
    pub fn of(activated: SkillActivated, since: (RunId, u32), origin: ActiveSkillOrigin) -> ActiveSkill {
        let SkillActivated { name, folder, file, file_digest, digest, extension, .. } = activated;
        let is_of_workspace = digest.is_some() && extension.is_none();
        ActiveSkill { name, folder, digest, is_of_workspace, file: file.zip(file_digest), since, origin }
    }

    /// The call whose result has its text.
    pub fn call(&self) -> Option<&CallId> {
        match &self.origin {
            ActiveSkillOrigin::Given(_) => None,
            ActiveSkillOrigin::Asked { call, .. } => Some(call),
        }
    }
}

/// Answers those whose text is told again beside a snapshot, oldest first; `kept` are the messages that stay as they are.
fn told_again<'a>(skills: &'a [ActiveSkill], kept: &[Arc<ContextMessage>]) -> Vec<&'a ActiveSkill> {
    let (staying, lasting) = (results(kept), lasting(skills));
    let is_told = |skill: &&ActiveSkill| {
        skill.call().is_some_and(|call| lasting.contains(call) && !staying.contains(call))
    };
    skills.iter().filter(is_told).collect()
}

/// The calls whose texts no compression takes away.
pub fn lasting(skills: &[ActiveSkill]) -> HashSet<CallId> {
    let mut left = MOST_BYTES;
    let mut lasting = HashSet::new();
    for skill in skills.iter().rev() {
        let ActiveSkillOrigin::Asked { call, text } = &skill.origin else { continue };
        // One that is too long takes no room from older ones.
        let Some(rest) = left.checked_sub(text.len()) else { continue };
        left = rest;
        lasting.insert(call.clone());
    }
    lasting
}

/// Answers those that are active after a compression of which these messages stay.
pub fn surviving(skills: &[ActiveSkill], kept: &[Arc<ContextMessage>]) -> Vec<ActiveSkill> {
    let staying = results(kept);
    let told: Vec<ActiveSkill> = told_again(skills, kept).into_iter().cloned().collect();
    let stays = |skill: &&ActiveSkill| match &skill.origin {
        ActiveSkillOrigin::Given(_) => true,
        ActiveSkillOrigin::Asked { call, .. } => staying.contains(call) || told.contains(skill),
    };
    skills.iter().filter(stays).cloned().collect()
}

/// The parts of a snapshot's message that say what active skills say, and which are so no longer; `kept` are the messages that stay
/// as they are.
pub fn retold(skills: &[ActiveSkill], kept: &[Arc<ContextMessage>]) -> Vec<MessagePart> {
    let surviving = surviving(skills, kept);
    let gone = skills.iter().filter(|skill| !surviving.contains(skill));
    let gone: Vec<String> = gone.map(|skill| format!("`{}`", skill.name)).collect();
    let texts: Vec<&str> = told_again(skills, kept)
        .into_iter()
        .filter_map(|skill| match &skill.origin {
            ActiveSkillOrigin::Asked { text, .. } => Some(text.as_str()),
            ActiveSkillOrigin::Given(_) => None,
        })
        .collect();
    let told = (!texts.is_empty()).then(|| format!("{PREAMBLE}{}", texts.join("\n\n")));
    let untold = (!gone.is_empty()).then(|| format!("{GONE}{}.", gone.join(", ")));
    told.into_iter().chain(untold).map(MessagePart::text).collect()
}

fn results(messages: &[Arc<ContextMessage>]) -> HashSet<&CallId> {
    let parts = messages.iter().flat_map(|message| &message.parts);
    parts
        .filter_map(|part| match part {
            MessagePart::ToolResult { call_id, .. } => Some(call_id),
            _ => None,
        })
        .collect()
}
