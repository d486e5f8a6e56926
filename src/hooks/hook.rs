//! One hook: where it stands, when it is fired, what it runs.

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc, time::Duration};

use serde_json::{Map, Value};

use super::{HookContract, HookFailurePolicy, condition::HookCondition, matcher::HookMatcher};
use protocol::{AgentName, HookEventName, HookSource};

/// A hook's id. It stays the same while its place, event, matcher and handler do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HookId(pub(super) Arc<str>);

impl HookId {
    /// The id as it stands on the wire.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for HookId {
    fn from(text: &str) -> HookId {
        HookId(text.into())
    }
}

impl fmt::Display for HookId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The place where a hook was written. Answers are merged in this order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookOrigin {
    System,
    /// The user's settings, `~/.claude/settings.json`, `~/.codex/hooks.json`.
    User,
    /// A file of the workspace.
    Project {
        /// The canonical root.
        root: String,
    },
    /// The front matter of an agent's file.
    Agent {
        agent: AgentName,
    },
}

impl HookOrigin {
    /// The word of wire and log for it.
    pub fn source(&self) -> HookSource {
        match self {
            HookOrigin::System => HookSource::System,
            HookOrigin::User => HookSource::User,
            HookOrigin::Project { .. } => HookSource::Project,
            HookOrigin::Agent { .. } => HookSource::Agent,
        }
    }

    /// It is the person's own or the administrator's: it runs unconfined but where it runs files of a workspace, and may answer in the person's place if they say so.
    pub fn is_own(&self) -> bool {
        matches!(self, HookOrigin::System | HookOrigin::User)
    }
}

/// Everything that a hook runs.
#[derive(Debug, Clone, PartialEq)]
pub enum HookHandler {
    /// `bash -c COMMAND`; with arguments the program itself, without a shell.
    Command { command: String, args: Option<Vec<String>> },
    /// A POST of what others read from their standard input.
    Http { url: String, headers: BTreeMap<String, String>, allowed_env_vars: Vec<String> },
    /// A tool of an MCP server.
    McpTool { server: String, tool: String, input: Map<String, Value> },
    /// A question to a model.
    Prompt { prompt: String, model: Option<String> },
    /// A question to an agent that may read.
    Agent { prompt: String, model: Option<String> },
    /// An entry that cannot be read, and why; `of_file`: the whole file cannot, so that nobody can tell which hooks it has.
    Unreadable { mistake: String, of_file: bool },
}

impl HookHandler {
    /// The word that stands in files as `type`.
    pub fn kind(&self) -> &'static str {
        match self {
            HookHandler::Command { .. } => "command",
            HookHandler::Http { .. } => "http",
            HookHandler::McpTool { .. } => "mcp_tool",
            HookHandler::Prompt { .. } => "prompt",
            HookHandler::Agent { .. } => "agent",
            HookHandler::Unreadable { .. } => "unreadable",
        }
    }

    /// The text that it runs, as it is written; words that no shell takes apart are quoted.
    pub fn shown(&self) -> String {
        match self {
            HookHandler::Command { command, args: None } => command.clone(),
            HookHandler::Command { command, args: Some(args) } => {
                sys::words::written(std::iter::once(command).chain(args))
            }
            HookHandler::Http { url, .. } => format!("POST {url}"),
            HookHandler::McpTool { server, tool, input } if input.is_empty() => {
                format!("{tool} of the MCP server {server}")
            }
            HookHandler::McpTool { server, tool, input } => {
                format!("{tool} of the MCP server {server} with {}", Value::Object(input.clone()))
            }
            HookHandler::Prompt { prompt, .. } => format!("a model is asked: {prompt}"),
            HookHandler::Agent { prompt, .. } => format!("an agent is asked: {prompt}"),
            HookHandler::Unreadable { mistake, .. } => format!("it cannot be read: {mistake}"),
        }
    }
}

/// The standing of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookState {
    On,
    /// A person switched it off.
    Off,
    /// Nobody acknowledged its file, or it stands in one that is only listed: it does nothing.
    Untrusted,
    /// Its file, or one that it runs, is not what a person acknowledged: a guard fails, others rest.
    Changed {
        /// A sentence that names the file.
        reason: String,
    },
    /// Its entry cannot be read: a guard fails, others rest.
    Broken,
    /// Its event is never fired here.
    NeverFires,
}

/// One hook of one place.
#[derive(Debug, Clone)]
pub struct Hook {
    pub id: HookId,
    /// The same as it was written: `BeforeTool` stays `BeforeTool`.
    pub event_name: String,
    /// The ones it is fired at; none where that is never.
    pub events: &'static [HookEventName],
    pub contract: HookContract,
    pub matcher: HookMatcher,
    /// `if`.
    pub condition: Option<HookCondition>,
    pub handler: HookHandler,
    /// `onFailure`, or what its event says.
    pub on_failure: HookFailurePolicy,
    pub timeout: Duration,
    /// It goes on beside the run, and decides nothing.
    pub is_async: bool,
    /// An asynchronous hook that exits with 2 says something to the run.
    pub async_rewake: bool,
    /// Hooks of one sequential group run one after the other: its number among the groups of all places.
    pub sequence: Option<u32>,
    pub origin: HookOrigin,
    pub file: PathBuf,
    /// From 1; 0 = not known.
    pub line: u32,
    /// Files inside the roots that it runs, and what was acknowledged of each.
    pub programs: Vec<PinnedProgram>,
    /// The part of the workspace that its command runs, or could run.
    pub reach: WorkspaceReach,
    pub state: HookState,
}

/// The part of the workspace that the command of a hook runs, or could run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum WorkspaceReach {
    /// It is made of what is known to be harmless, so it takes nothing of the workspace.
    #[default]
    Nothing,
    /// It names this file of the workspace, which may be there or not.
    Names {
        /// The path as it is named, absolute.
        file: String,
    },
    /// Not known to be harmless: it could run a file there, or what an agent wrote in another way.
    CouldRun {
        /// The words of it by which it could.
        words: String,
    },
    /// Agents of whatever session may have written what it runs, reads or writes, as the files are now.
    Led {
        /// The end of a sentence that begins "it is yours, but ".
        why: String,
    },
}

/// A file of the workspace that a hook runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedProgram {
    pub root: String,
    /// Below the root.
    pub path: String,
    /// The digest that a person acknowledged, `sha256:…`.
    pub digest: String,
    /// The path by which the hook names it, absolute; it may be, or lead through, a link.
    pub named: PathBuf,
}

impl Hook {
    /// True if it fails in the place of hooks that nobody can read.
    pub(super) fn stands_for_file(&self) -> bool {
        matches!(self.handler, HookHandler::Unreadable { of_file: true, .. })
    }

    /// True if it may be in [`HookSet::matching`](super::HookSet::matching): it runs, or fails where it guards.
    pub(super) fn takes_part(&self, event: HookEventName) -> bool {
        if !self.events.contains(&event) {
            return false;
        }
        match self.state {
            HookState::On => true,
            HookState::Changed { .. } | HookState::Broken => self.on_failure != HookFailurePolicy::Continue,
            HookState::Off | HookState::Untrusted | HookState::NeverFires => false,
        }
    }

    /// True if another one does the same, so that one of the two is enough.
    pub(super) fn is_same_as(&self, other: &Hook) -> bool {
        self.handler == other.handler
            && self.contract == other.contract
            && self.on_failure == other.on_failure
            && self.is_async == other.is_async
            && self.async_rewake == other.async_rewake
            && self.state == other.state
            && self.origin.is_own() == other.origin.is_own()
            && !matches!(self.handler, HookHandler::Unreadable { .. })
    }
}
