//! What does whoever fires hooks bring along? Where they run, by which settings, and what they cannot do without a run.

use std::{fmt, path::PathBuf, time::Duration};

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::{AsyncHookEnd, Hook, HookFiring};
use protocol::ResourceAccess;
use redact::Redactor;
use sandbox::{KeptBeside, SandboxRules};

/// Settings of the person that hooks run by.
#[derive(Debug, Clone, Default)]
pub struct HookSettings {
    /// `hooks.environment`: variables that hooks get beside the usual ones.
    pub environment: Vec<String>,
    /// `hooks.httpEnv`: variables that a project's hooks may send in headers.
    pub http_env: Vec<String>,
    /// The rules by which a project's and an agent's hooks are confined; never wider than `workspaceWrite`.
    pub sandbox: SandboxRules,
}

/// The place where hooks of a session run, and what of it they are told.
#[derive(Clone)]
pub struct HookWorkspace {
    /// The workspace's folders: absolute, without links; a hook runs in the first.
    pub roots: Vec<PathBuf>,
    /// Meant for what is temporary; it is there, and the session's.
    pub temporary: PathBuf,
    /// `transcript_path`, brought up to the last commit by whoever fires; empty = there is none.
    pub transcript: PathBuf,
    pub settings: HookSettings,
    /// Takes secrets out of what hooks say.
    pub redactor: Redactor,
}

/// Everything that handlers need that this crate cannot do itself.
pub trait HookServices: Send + Sync {
    /// Calls a tool of a server that the run's agent has; the text of its result, or why there is none. `is_own`: the hook is the
    /// system's or the user's; others only read.
    fn call_mcp_tool<'a>(
        &'a self,
        tool: (&'a str, &'a str),
        input: Value,
        is_own: bool,
    ) -> BoxFuture<'a, Result<String, String>>;

    /// Asks `models.small`, or `model`, this prompt; its whole answer. `hook`: the id of the one that asks.
    fn ask_model<'a>(
        &'a self,
        hook: &'a str,
        prompt: String,
        model: Option<&'a str>,
    ) -> BoxFuture<'a, Result<String, String>>;

    /// Has an agent answer this prompt, with read-only tools and without hooks. `is_own`: the hook is the system's or the user's; the agent
    /// of another reads with no tool that the run does not have.
    fn run_agent<'a>(
        &'a self,
        hook: &'a str,
        prompt: String,
        model: Option<&'a str>,
        is_own: bool,
    ) -> BoxFuture<'a, Result<String, String>>;

    /// Hears of a hook that has been at work for a while and goes on. Only for those who look on.
    fn goes_on(&self, _hook: &Hook, _firing: &HookFiring, _elapsed: Duration) {}

    /// Hears what an asynchronous hook said that no run takes: its run is over, or it belongs to none. Only for those who keep a log.
    fn ended_late(&self, _end: AsyncHookEnd) {}

    /// Prepares the call anew with these arguments, in our words; why they are not valid for its tool.
    fn check_arguments<'a>(&'a self, arguments: &'a Value)
    -> BoxFuture<'a, Result<CheckedArguments, String>>;

    /// Everything that a confined hook may not write although it lies in a root: parts of repositories. `text`: what a shell is given of it;
    /// what it says that it writes, a person wrote.
    fn kept_from_hook<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<KeptFromHook, String>>;
}

/// Arguments that a hook has changed, as other hooks are asked about them.
#[derive(Debug, Clone, Default)]
pub struct CheckedArguments {
    /// The same as hooks read them.
    pub shown: Value,
    /// Everything that the call would touch with them. Empty = not known.
    pub accesses: Vec<ResourceAccess>,
}

impl CheckedArguments {
    /// The same of a call that nobody here can prepare.
    pub fn unprepared(arguments: &Value) -> CheckedArguments {
        CheckedArguments { shown: arguments.clone(), accesses: Vec::new() }
    }
}

/// Everything that a confined hook may not write, and what keeps that so while it runs.
#[derive(Default)]
pub struct KeptFromHook {
    /// Absolute.
    pub paths: Vec<PathBuf>,
    /// It may not move these.
    pub stays: Vec<PathBuf>,
    /// Held until the hook has ended.
    pub hold: Option<Box<dyn KeptBeside>>,
}

impl fmt::Debug for KeptFromHook {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("KeptFromHook").field("paths", &self.paths).finish_non_exhaustive()
    }
}

/// Services of a caller that has none: hooks that need one fail.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHookServices;

impl HookServices for NoHookServices {
    fn call_mcp_tool<'a>(
        &'a self,
        _: (&'a str, &'a str),
        _: Value,
        _: bool,
    ) -> BoxFuture<'a, Result<String, String>> {
        nowhere("tools of MCP servers cannot be called here")
    }

    fn ask_model<'a>(
        &'a self,
        _: &'a str,
        _: String,
        _: Option<&'a str>,
    ) -> BoxFuture<'a, Result<String, String>> {
        nowhere("no model can be asked here")
    }

    fn run_agent<'a>(
        &'a self,
        _: &'a str,
        _: String,
        _: Option<&'a str>,
        _: bool,
    ) -> BoxFuture<'a, Result<String, String>> {
        nowhere("no agent can be asked here")
    }

    fn check_arguments<'a>(
        &'a self,
        arguments: &'a Value,
    ) -> BoxFuture<'a, Result<CheckedArguments, String>> {
        Box::pin(std::future::ready(Ok(CheckedArguments::unprepared(arguments))))
    }

    // Nobody knows what else would have to be kept, so nothing confined is run.
    fn kept_from_hook<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<KeptFromHook, String>> {
        Box::pin(std::future::ready(Err("nobody can say here what it may not write".to_owned())))
    }
}

fn nowhere<'a>(why: &'static str) -> BoxFuture<'a, Result<String, String>> {
    Box::pin(std::future::ready(Err(why.to_owned())))
}
