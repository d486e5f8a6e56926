//! What a call touches, how dangerous it is, and whether it may: the words policy and log share.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a prepared call would touch. Policy judges these, never raw arguments; a permit covers exactly these.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "access", rename_all = "camelCase")]
pub enum ResourceAccess {
    /// Reads one file, or everything below one folder. Absolute, symlinks resolved.
    Read { path: PathBuf },
    /// Creates, changes, moves or deletes one file, or everything below one folder.
    Write { path: PathBuf },
    /// Runs a command.
    Execute { command: String },
    /// Talks to another machine.
    Fetch { url: String },
    /// Someone else's code decides what is touched, e.g. an MCP server's.
    Opaque { what: String },
    /// Computes only. Said explicitly: a tool that lists no access is asked about, not allowed.
    Nothing,
}

/// What a tool does (spec 05).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ToolKind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Think,
    Fetch,
    Other,
}

impl ToolKind {
    /// True if calls of this kind change something (spec 05, "Mutators").
    pub fn is_mutator(self) -> bool {
        matches!(self, ToolKind::Edit | ToolKind::Delete | ToolKind::Move | ToolKind::Execute)
    }
}

/// How much harm a call can do (spec 05, 06). Ordered, so that the highest part counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Risk {
    Safe,
    Low,
    Medium,
    High,
    Critical,
}

impl Risk {
    /// The spelling on the wire and in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Risk::Safe => "safe",
            Risk::Low => "low",
            Risk::Medium => "medium",
            Risk::High => "high",
            Risk::Critical => "critical",
        }
    }
}

/// May a call run? Ordered by strictness, so combining opinions is `max` and none can loosen another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    Allow,
    Ask,
    Deny,
}

/// What a restart may do with a call that was running when the daemon died (spec 11, promise 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ReplaySafety {
    /// Running it again is as good as running it once.
    Safe,
    /// Its effects are unknown; it is reported `INTERRUPTED` and never run again on its own.
    Unsafe,
}
