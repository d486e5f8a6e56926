//! What are plans made from, and runs that are taken up? What a daemon has for all of them, as the settings in force say.

use std::sync::Arc;

use super::hooks::HooksInForce;
use models::ModelRegistry;
use redact::Redactor;
use tools::{ClientToolRegistry, CommandRuntime, OwnFiles, ToolRegistry, mcp::McpHub};
use web::WebClient;

mod defaults;

pub use defaults::{CompressionRules, LoopRules, ModelRoles, PromptRules, RunDefaults};

/// Everything that plans and resumed runs are made from.
pub struct RunResources {
    pub models: ModelRegistry,
    pub registry: ToolRegistry,
    pub defaults: RunDefaults,
    /// Takes secrets out of whatever is going to be stored or shown.
    pub redactor: Redactor,
    pub own_files: Arc<OwnFiles>,
    pub commands: Arc<CommandRuntime>,
    /// Clients that lend tools now.
    pub lenders: ClientToolRegistry,
    /// Servers of the Model Context Protocol.
    pub servers: McpHub,
    pub web: Arc<WebClient>,
    pub hooks: HooksInForce,
}
