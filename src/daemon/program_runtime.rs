//! What does the daemon start, with what, and which files may that be?

use std::sync::Arc;

use super::tool_discoveries::ToolDiscoveries;
use sys::children::ChildProcesses;
use tools::{CommandRuntime, ProgramLog};

/// Everything that programs are started with.
pub(super) struct ProgramRuntime {
    /// What this daemon starts.
    pub children: ChildProcesses,
    /// What agents' commands are run with.
    pub commands: Arc<CommandRuntime>,
    /// The files that programs of the settings may be run with.
    pub log: ProgramLog,
    /// What workspaces' own commands told of tools.
    pub discoveries: ToolDiscoveries,
}
