//! Which skills does a context keep when its older part goes? (spec 08, "Skills")

use std::{collections::HashSet, path::Path, sync::Arc};

use protocol::{CallId, ContextMessage, MessagePart, RunId, SkillActivated};
use sys::regular_file;

/// Bytes of the texts that are told again, the newest first (spec 08).
const MOST_BYTES: usize = 64 * 1024;

/// Bytes of a skill's file that is compared; a longer one than any that is read is another one.
const MOST_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// The beginnings of the parts of a snapshot's message: of the one that has the texts, of the one that names those without room, and of the
/// one that names those that count no longer.
pub(super) const PREAMBLE: &str = "Skills that are active stay so. This is what they say:\n\n";
pub(super) const GONE: &str = "Skills that are active no longer, for there was no room for what they say; activate one again when you need it: ";

pub(super) const OUTDATED: &str = "Skills that are active no longer, so do not go by them: ";

/// A skill that is not told again, since it is not what it was when it was activated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutdatedSkill {
    pub call: CallId,
    name: String,
    /// The end of a sentence that begins with the skill.
    why: String,
}

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

    /// Answers whether its file is there and says what it said; an error is the end of a sentence that begins with the skill. Blocks on the
    /// file system.
    fn check_file(&self) -> Result<(), String> {
        let Some((file, digest)) = &self.file else { return Ok(()) };
        let path = Path::new(&self.folder).join(file);
        // The person's own skills may lie behind links.
        let read = path.canonicalize().and_then(|path| regular_file::read_bounded(&path, MOST_FILE_BYTES));
        match read {
            Ok(Some(bytes)) if trust::digest(&bytes) == *digest => Ok(()),
            Ok(_) => Err("has changed since it was activated".to_owned()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err("is not there any more".to_owned())
            }
            Err(error) => Err(format!("cannot be read any more: {error}")),
        }
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

/// Answers those whose text goes with the older messages and that are not to be told again; `kept` are the messages that stay as they are,
/// and `check` answers whether a skill of this name still counts. Blocks on the file system.
pub fn outdated(
    skills: &[ActiveSkill],
    kept: &[Arc<ContextMessage>],
    check: impl Fn(&str) -> Result<(), String>,
) -> Vec<OutdatedSkill> {
    let staying = results(kept);
    let going = skills.iter().filter_map(|skill| Some((skill, skill.call()?)));
    let going = going.filter(|(_, call)| !staying.contains(call));
    let outdated = |(skill, call): (&ActiveSkill, &CallId)| {
        let why = check(&skill.name).and_then(|()| skill.check_file()).err()?;
        Some(OutdatedSkill { call: call.clone(), name: skill.name.clone(), why })
    };
    going.filter_map(outdated).collect()
}

/// Answers those that still count, in their order.
pub fn without_outdated(skills: &[ActiveSkill], outdated: &[CallId]) -> Vec<ActiveSkill> {
    let counts = |skill: &&ActiveSkill| skill.call().is_none_or(|call| !outdated.contains(call));
    skills.iter().filter(counts).cloned().collect()
}

/// The parts of a snapshot's message that say what active skills say, and which are so no longer; `kept` are the messages that stay
/// as they are.
pub fn retold(
    skills: &[ActiveSkill],
    kept: &[Arc<ContextMessage>],
    outdated: &[OutdatedSkill],
) -> Vec<MessagePart> {
    let calls: Vec<CallId> = outdated.iter().map(|skill| skill.call.clone()).collect();
    let skills = &*without_outdated(skills, &calls);
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
    let why: Vec<String> = outdated.iter().map(|skill| format!("`{}` {}", skill.name, skill.why)).collect();
    let over = (!why.is_empty()).then(|| format!("{OUTDATED}{}.", why.join("; ")));
    told.into_iter().chain(untold).chain(over).map(MessagePart::text).collect()
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
