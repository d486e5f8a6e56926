//! What does whoever fires hooks bring along? Where they run, by which settings, and what they cannot do without a run.

use std::path::PathBuf;

use futures_util::future::BoxFuture;
use serde_json::Value;

use redact::Redactor;
use sandbox::SandboxRules;

/// Settings of the person that hooks run by.
#[derive(Debug, Clone, Default)]
pub struct HookSettings {
    /// `hooks.environment`: variables that hooks get beside the usual ones.
    pub environment: Vec<String>,
    /// `hooks.httpEnv`: variables that a project's hooks may send in headers.
    pub http_env: Vec<String>,
    /// By what a project's and an agent's hooks are confined; never wider than `workspaceWrite`.
    pub sandbox: SandboxRules,
}

/// Where hooks of a session run, and what of it they are told.
#[derive(Clone)]
pub struct HookWorkspace {
    /// The workspace's folders: absolute, without links; a hook runs in the first.
    pub roots: Vec<PathBuf>,
    /// For what is temporary; it is there, and the session's.
    pub temporary: PathBuf,
    /// `transcript_path`, brought up to the last commit by whoever fires; empty = there is none.
    pub transcript: PathBuf,
    pub settings: HookSettings,
    /// Takes secrets out of what hooks say.
    pub redactor: Redactor,
}

/// What handlers need that this crate cannot do itself.
pub trait HookServices: Send + Sync {
    /// Calls a tool of a server that the run has; the text of its result, or why there is none.
    fn call_mcp_tool<'a>(
        &'a self,
        server: &'a str,
        tool: &'a str,
        input: Value,
    ) -> BoxFuture<'a, Result<String, String>>;

    /// Asks `models.small`, or `model`, this prompt; its whole answer.
    fn ask_model<'a>(
        &'a self,
        prompt: String,
        model: Option<&'a str>,
    ) -> BoxFuture<'a, Result<String, String>>;

    /// Has an agent answer this prompt, with read-only tools and without hooks.
    fn run_agent<'a>(
        &'a self,
        prompt: String,
        model: Option<&'a str>,
    ) -> BoxFuture<'a, Result<String, String>>;

    /// Whether these arguments, in our words, are valid for the tool of the call; why not.
    fn check_arguments(&self, arguments: &Value) -> Result<(), String>;

    /// What confined commands may not write although it lies in a root: parts of repositories.
    fn kept_from_commands(&self) -> BoxFuture<'_, Result<Vec<PathBuf>, String>>;
}

/// Services of a caller that has none: hooks that need one fail.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHookServices;

impl HookServices for NoHookServices {
    fn call_mcp_tool<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
        _: Value,
    ) -> BoxFuture<'a, Result<String, String>> {
        nowhere("tools of MCP servers cannot be called here")
    }

    fn ask_model<'a>(&'a self, _: String, _: Option<&'a str>) -> BoxFuture<'a, Result<String, String>> {
        nowhere("no model can be asked here")
    }

    fn run_agent<'a>(&'a self, _: String, _: Option<&'a str>) -> BoxFuture<'a, Result<String, String>> {
        nowhere("no agent can be asked here")
    }

    fn check_arguments(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }

    fn kept_from_commands(&self) -> BoxFuture<'_, Result<Vec<PathBuf>, String>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

fn nowhere<'a>(why: &'static str) -> BoxFuture<'a, Result<String, String>> {
    Box::pin(std::future::ready(Err(why.to_owned())))
}
