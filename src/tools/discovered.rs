//! Tools that a workspace's own command tells of (spec 05, "Discovery by command").
//!
//! Which commands count, and when one is run, is the daemon's to say; here is how one is run ([`discover`]), what its output
//! means, and how a tool that it told of is called ([`tools`]). Both commands run in the sandbox, as any command of an agent.

use std::sync::Arc;

use super::Tool;
use config::command_words;
use project::Project;
use protocol::{DiscoveredTools, DiscoveryCommands};

mod call;
mod discovery;
mod reading;
#[cfg(test)]
mod tests;

pub use discovery::{DiscoveryContext, DiscoveryResult, discover};

/// The commands that count in a workspace: each its own, else the user's.
pub fn commands_in_force(project: &Project, user: &DiscoveryCommands) -> DiscoveryCommands {
    let own = &project.settings;
    DiscoveryCommands {
        discovery: own.discovery_command.clone().unwrap_or_else(|| user.discovery.clone()),
        call: own.call_command.clone().unwrap_or_else(|| user.call.clone()),
    }
}

/// The tools, ready to be called. None, when nothing says how.
pub fn tools(told: &DiscoveredTools) -> Vec<Arc<dyn Tool>> {
    let Some(Ok(words)) = told.commands.call.as_deref().map(command_words) else { return Vec::new() };
    let command = Arc::new(call::DiscoveredCallCommand {
        words,
        text: told.commands.call.clone().unwrap_or_default(),
        discovery: told.commands.discovery.clone().unwrap_or_default(),
        directory: told.directory.clone(),
        programs: told.programs.clone(),
    });
    told.tools.iter().map(|tool| call::DiscoveredCommandTool::tool(tool, &command)).collect()
}
