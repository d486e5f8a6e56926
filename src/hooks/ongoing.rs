//! What is in force and at work in a run when its hooks are asked: the skills that its model was given, and the commands in the
//! background. Hooks of Codex's files are told so.

use std::path::PathBuf;

use serde_json::{Value, json};

/// The way in which all digests are written here, which Codex leaves out.
const DIGEST: &str = "sha256:";

/// A skill that is active in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookedSkill {
    pub name: String,
    /// Its `SKILL.md`.
    pub path: PathBuf,
    /// The digest of the bytes of that file, as the model was given them.
    pub file_digest: String,
    /// The workspace brings it along; otherwise the person has it.
    pub is_of_workspace: bool,
    /// The run was begun with it; otherwise its model asked for it.
    pub is_given: bool,
    /// The turn from which on the model has it, as in the firing's `turn_id`.
    pub turn_id: String,
}

/// A command that goes on after the call that started it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookedCommand {
    /// The id by which `shell_output` and `kill_shell` name it.
    pub id: String,
    /// Without secrets.
    pub command: String,
    pub folder: PathBuf,
}

/// The field `skill_activations`.
pub(super) fn skill_activations(skills: &[HookedSkill]) -> Value {
    let told = |skill: &HookedSkill| {
        json!({
            "name": skill.name,
            "path": skill.path.to_string_lossy(),
            "scope": if skill.is_of_workspace { "repo" } else { "user" },
            "invocation": if skill.is_given { "explicit" } else { "implicit" },
            "turn_id": skill.turn_id,
            "content_sha256": skill.file_digest.strip_prefix(DIGEST).unwrap_or(&skill.file_digest),
        })
    };
    skills.iter().map(told).collect()
}

/// The field `background`. There are no monitors here, of which Codex has some beside the commands.
pub(super) fn background(commands: &[HookedCommand]) -> Value {
    let told = |command: &HookedCommand| {
        json!({
            "process_id": command.id,
            "command": command.command,
            "cwd": command.folder.to_string_lossy(),
        })
    };
    json!({
        "background_terminals": commands.iter().map(told).collect::<Vec<_>>(),
        "running_background_terminals": commands.len(),
        "monitors": [],
        "running_monitors": 0,
        "unacknowledged_notifications": 0,
    })
}
