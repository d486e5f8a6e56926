//! What can a run do for its hooks? It compares arguments with a tool's parameters, says what confined hooks may not write, and asks
//! models from the run's own budget.

use std::{path::PathBuf, sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, ready};
use hooks::{AsyncHookEnd, CheckedArguments, Hook, HookFiring, HookServices, KeptFromHook};
use serde_json::Value;
use tokio::sync::mpsc::Sender;

use super::{
    super::machine::{AskingHook, MachineInput, ToolSideCall},
    session_log::LateHookLog,
};
use protocol::{CallId, HookStarted, SandboxProfile, ToolDeclaration, ToolName};
use tools::{CommandRuntime, ConfinedProgram, KeptPlaces};

/// Models that answer hooks, at the cost of a run.
pub(crate) trait HookModels: Send + Sync {
    /// Somebody of whom nothing was asked yet.
    fn anew(&self) -> Arc<dyn HookModels>;

    /// The small model's answer, or that of the model of this name.
    fn ask<'a>(
        &'a self,
        hook: AskingHook,
        prompt: String,
        model: Option<&'a str>,
    ) -> BoxFuture<'a, Result<String, String>>;

    /// The same of an agent that may look at things with these tools before it answers; all of them, or those that the run has.
    fn look<'a>(
        &'a self,
        hook: AskingHook,
        prompt: String,
        model: Option<&'a str>,
        tools: (&'a dyn HookTools, bool),
    ) -> BoxFuture<'a, Result<String, String>>;

    /// Everything that was asked of this one, for the log.
    fn asked(&self) -> Vec<ToolSideCall>;
}

/// Tools of MCP servers that hooks are, and tools that hooks read with.
pub(crate) trait HookTools: Send + Sync {
    /// Calls a tool of a server, by rules like any other; the text of its result.
    fn call<'a>(
        &'a self,
        tool: (&'a str, &'a str),
        input: Value,
        is_own: bool,
    ) -> BoxFuture<'a, Result<String, String>>;

    /// The tools of a hook's agent, which only read: `all` of them, or those that the run has too.
    fn reading(&self, all: bool) -> Arc<[ToolDeclaration]>;

    /// Calls one of them, by rules like any other; the text of its result, or why there is none.
    fn read<'a>(&'a self, tool: &'a ToolName, input: Value) -> BoxFuture<'a, Result<String, String>>;
}

/// A call whose arguments hooks may change.
pub(crate) trait ChangeableCall: Send + Sync {
    /// Prepares it with other arguments; why it cannot be made with them.
    fn with_arguments<'a>(&'a self, arguments: &'a Value) -> BoxFuture<'a, Result<CheckedArguments, String>>;
}

/// Services for one firing.
pub(super) struct RunHookServices {
    /// Canonical.
    pub roots: Vec<PathBuf>,
    /// The session's folder for temporary files of hooks.
    pub temporary: PathBuf,
    pub commands: Arc<CommandRuntime>,
    /// Only where hooks may change its arguments.
    pub changeable: Option<Arc<dyn ChangeableCall>>,
    /// Missing where no run pays for it.
    pub models: Option<Arc<dyn HookModels>>,
    /// Names the firing.
    pub firing: String,
    /// The call that the firing is about.
    pub call: Option<CallId>,
    /// The way in which the run hears of what takes long.
    pub news: Option<Sender<MachineInput>>,
    /// Missing before the run has begun.
    pub tools: Option<Arc<dyn HookTools>>,
    /// Writes down what comes too late for a run.
    pub late: LateHookLog,
}

impl RunHookServices {
    fn asking(&self, hook: &str) -> AskingHook {
        AskingHook { firing_id: self.firing.clone(), hook_id: hook.to_owned() }
    }
}

impl HookServices for RunHookServices {
    fn call_mcp_tool<'a>(
        &'a self,
        tool: (&'a str, &'a str),
        input: Value,
        is_own: bool,
    ) -> BoxFuture<'a, Result<String, String>> {
        match &self.tools {
            Some(tools) => tools.call(tool, input, is_own),
            None => Box::pin(ready(Err("no tool can be called before the run has begun".to_owned()))),
        }
    }

    fn ask_model<'a>(
        &'a self,
        hook: &'a str,
        prompt: String,
        model: Option<&'a str>,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            match &self.models {
                Some(models) => models.ask(self.asking(hook), prompt, model).await,
                None => Err("no model can be asked here".to_owned()),
            }
        })
    }

    fn run_agent<'a>(
        &'a self,
        hook: &'a str,
        prompt: String,
        model: Option<&'a str>,
        is_own: bool,
    ) -> BoxFuture<'a, Result<String, String>> {
        match (&self.models, &self.tools) {
            (Some(models), Some(tools)) => {
                models.look(self.asking(hook), prompt, model, (tools.as_ref(), is_own))
            }
            _ => Box::pin(ready(Err("no agent can be asked here".to_owned()))),
        }
    }

    fn goes_on(&self, hook: &Hook, firing: &HookFiring, elapsed: Duration) {
        let Some(news) = &self.news else { return };
        let started = HookStarted {
            firing_id: firing.firing_id.clone(),
            hook_id: hook.id.to_string(),
            event: firing.facts.event(),
            source: hook.origin.source(),
            call_id: self.call.clone(),
            attempt: firing.attempt,
            is_async: hook.is_async,
            elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        };
        // Only for those who look on: a run that has more to hear than it can keep goes without.
        let _full_or_over = news.try_send(MachineInput::HookAtWork(started));
    }

    fn ended_late(&self, end: AsyncHookEnd) {
        self.late.take(end);
    }

    fn check_arguments<'a>(
        &'a self,
        arguments: &'a Value,
    ) -> BoxFuture<'a, Result<CheckedArguments, String>> {
        match &self.changeable {
            Some(call) => call.with_arguments(arguments),
            None => Box::pin(ready(Ok(CheckedArguments::unprepared(arguments)))),
        }
    }

    fn kept_from_hook<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<KeptFromHook, String>> {
        Box::pin(async move {
            let hook = ConfinedProgram::Hook { temporary: &self.temporary, text };
            let kept = self.commands.kept_from(hook, &self.roots, SandboxProfile::WorkspaceWrite).await;
            let KeptPlaces { read_only: paths, stays, hold } = kept.map_err(|error| error.to_string())?;
            Ok(KeptFromHook { paths, stays, hold })
        })
    }
}
