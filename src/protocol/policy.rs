//! Rules about what agents may do, as clients, files and the log carry them (spec 06, "Policy").

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    CallId, CommandConfinement, ConfirmationId, ResourceAccess, Risk, SessionId, Timestamp, ToolKind, Verdict,
};

/// How freely a session's calls run where no rule speaks.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum ApprovalMode {
    /// What is not `safe` is refused, whatever rules allow.
    Plan,
    /// Everything that is not `safe` asks.
    #[default]
    Default,
    /// Edits of risk `low` inside the workspace run.
    AutoEdit,
    /// Everything but `critical` runs. Needs the setting `approval.allowYolo`.
    Yolo,
}

impl ApprovalMode {
    /// From the strictest on.
    pub const ALL: [ApprovalMode; 4] =
        [ApprovalMode::Plan, ApprovalMode::Default, ApprovalMode::AutoEdit, ApprovalMode::Yolo];

    /// The spelling on the wire and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            ApprovalMode::Plan => "plan",
            ApprovalMode::Default => "default",
            ApprovalMode::AutoEdit => "autoEdit",
            ApprovalMode::Yolo => "yolo",
        }
    }
}

/// Where a rule comes from. The strictest of system, user, project and the agent's own file counts; what is built in speaks only where system
/// and user are silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PolicyTier {
    /// `/etc/subagentd/policies/`
    System,
    /// The user's config, and what was remembered from answers.
    User,
    /// A trusted project's folder; it can only make things stricter.
    Project,
    /// The file of the agent whose run asks; it can only make things stricter.
    Definition,
    Builtin,
}

/// One rule. Each field that is given narrows which calls it is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyRule {
    /// Of a file's rule its place, e.g. `user:shop.toml:3`; of a remembered one an id of its own.
    pub id: String,
    pub tier: PolicyTier,
    /// Names, aliases or patterns with `*`.
    pub tool: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Commands that it is about, each a prefix of words; shell only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command_prefix: Vec<String>,
    /// Regular expression over the canonical JSON of the arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args_pattern: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// Empty = every mode.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<ApprovalMode>,
    /// Only in this workspace: an absolute path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Only in this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// Only calls that touch nothing but these; of remembered rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accesses: Vec<ResourceAccess>,
    /// The accesses are folders, and stand for the files in them and below; of remembered rules.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recursive: bool,
    /// Only commands that are confined at least so closely; of remembered rules about commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confinement: Option<CommandConfinement>,
    pub decision: Verdict,
    /// Higher first, within a tier.
    #[serde(default)]
    pub priority: i64,
    /// Why, shown to the model on deny.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Who made a remembered rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// The question whose answer made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_confirmation: Option<ConfirmationId>,
    /// It stands for one that has a mistake, and says at least what that may have meant. No other rule lifts it: mend the
    /// file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mistaken: bool,
}

impl PolicyRule {
    /// The ids of remembered rules begin so.
    pub const REMEMBERED: &'static str = "remembered:";
}

/// The word that a rule goes back to which stands in no file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleOrigin {
    pub source: RuleOriginSource,
    /// The client that answered, that started the root run, or that set the session's mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The time of that answer, or when the mode was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

/// The way in which somebody gave their word beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RuleOriginSource {
    /// An earlier answer, which was remembered.
    Answer,
    /// `autoApprove` or the mode, as the root run was started.
    Start,
    /// `autoApprove` of the agent's file.
    Agent,
    /// The session's mode, as somebody set it.
    Session,
    /// The session's mode, which is the one of the settings.
    Settings,
}

impl RuleOriginSource {
    /// The spelling on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            RuleOriginSource::Answer => "answer",
            RuleOriginSource::Start => "start",
            RuleOriginSource::Agent => "agent",
            RuleOriginSource::Session => "session",
            RuleOriginSource::Settings => "settings",
        }
    }
}

/// Data of `policy.changed`: other rules hold from now on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyChanged {
    /// Rules that were remembered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<PolicyRule>,
    /// Ids of remembered rules that hold no more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    /// Rule files that were read anew and say something else than before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

/// One opinion of the policy: `policy/check`, and why a call was refused or is asked about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyVerdict {
    pub decision: Verdict,
    /// The rule that decided, e.g. `builtin:risk=low` or `user:shop.toml:3`.
    pub rule: String,
    /// For people.
    pub reason: String,
}

/// Data of `file.changed`: a call changed a file, and this can be undone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChanged {
    pub call_id: CallId,
    /// Absolute.
    pub path: String,
    pub change: FileChange,
    /// With `moved`: where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Names what `session/undo` puts back.
    pub undo_id: String,
    /// SHA-256 of what was there, as `sha256:<hex>`; missing when nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Of what is there now; missing when it was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

impl FileChanged {
    /// The file was written with the content that it had.
    pub fn is_unchanged(&self) -> bool {
        self.change == FileChange::Modified && self.before.is_some() && self.before == self.after
    }
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FileChange {
    Created,
    Modified,
    Deleted,
    Moved,
}

/// Data of `file.restored`: a change was undone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileRestored {
    /// The call whose change it was.
    pub call_id: CallId,
    pub path: String,
    pub undo_id: String,
    /// Somebody had changed the file since, and that was overwritten.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forced: bool,
    /// The call had created the file, so nothing is at `path` now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// The call had moved the file, which is here again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_back_to: Option<String>,
}

/// Data of `memory.saved`: a fact was written to a memory file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemorySaved {
    pub call_id: CallId,
    pub path: String,
    pub fact: String,
}

/// Data of `workspace.trusted`: whether a workspace's agents, rules and settings count, as a person said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceTrusted {
    /// Canonical.
    pub workspace: String,
    pub trusted: bool,
    /// The files that were acknowledged with it: path below the workspace, and digest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<TrustedFile>,
    /// These files were acknowledged and nothing was said of the workspace, which is as trusted as it was.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub files_only: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustedFile {
    pub path: String,
    /// Written as `sha256:<hex>`. Beside it, for the same path, `guard:EVENT MATCHER` stands for what the file's hooks guarded then.
    pub digest: String,
}

/// Names a program of the settings: another command, server or workspace is another program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ProgramId(pub String);

impl ProgramId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProgramId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The part of the settings that names a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ProgramSource {
    /// A command that the daemon runs itself: `approval.notifyCommand`, one that prints a key, or a hook of the settings.
    Command,
    /// A server of the user's own, in one workspace.
    McpServer,
}

/// Data of `program.noted`: with which files a program of the settings may be run, from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProgramNoted {
    pub id: ProgramId,
    pub source: ProgramSource,
    /// The first word of the command, or the server's name; of a hook its command in a few words.
    pub name: String,
    /// The folders of the workspace that a server is started in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workspace: Vec<String>,
    /// Absolute paths without links, and digests: in place of those that were noted before.
    pub files: Vec<TrustedFile>,
    /// A person has looked at it. Otherwise it is noted since it was never run before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub acknowledged: bool,
}

/// Data of `folder.forgotten`: a folder in which agents have worked, and that counts as one of theirs no longer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FolderForgotten {
    /// Absolute, without links. It counts again once a session begins there.
    pub folder: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that is moved has the content that it had, and is another one; of one that was not there nothing is the same.
    #[test]
    fn a_file_is_unchanged_where_it_was_written_as_it_was() {
        let changed = |change: FileChange, before: Option<&str>, after: Option<&str>| FileChanged {
            call_id: "c1".into(),
            path: "/w/a".to_owned(),
            change,
            from: None,
            undo_id: "u1".to_owned(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
        };
        let (one, two) = (Some("sha256:01"), Some("sha256:02"));
        assert!(changed(FileChange::Modified, one, one).is_unchanged());
        let others = [
            (FileChange::Modified, one, two),
            (FileChange::Modified, None, None),
            (FileChange::Created, None, one),
            (FileChange::Moved, one, one),
            (FileChange::Deleted, one, None),
        ];
        for (change, before, after) in others {
            assert!(!changed(change, before, after).is_unchanged(), "{change:?} {before:?} {after:?}");
        }
    }
}
