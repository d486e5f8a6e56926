//! Runs one hook and says how it ended. What its answer means is for others to say.

use std::{sync::Arc, time::Duration};

use serde_json::Value;

use super::{Hook, HookHandler, HookOrigin, HookServices, HookWorkspace, answer::HandlerEnd, pins};
use protocol::HookOutcome;
use sandbox::Sandbox;
use sys::clock::Clock;

mod command;
mod http;
mod mcp_tool;
mod questions;

pub(super) use command::{CommandWait, RunningHook};

/// Everything that all handlers need.
#[derive(Clone)]
pub(super) struct HandlerParts {
    pub sandbox: Sandbox,
    pub environment: Arc<[(std::ffi::OsString, std::ffi::OsString)]>,
    pub clock: Arc<dyn Clock>,
}

/// The progress of a handler has come.
pub(super) enum HandlerProgress {
    Ended(HandlerEnd),
    /// A command that runs.
    Running(Box<RunningHook>),
}

impl HandlerParts {
    /// Begins a hook's work; a command goes on when this returns, everything else has ended. `input`: what it reads.
    pub async fn begin(
        &self,
        hook: &Hook,
        input: &Value,
        workspace: &HookWorkspace,
        services: &dyn HookServices,
    ) -> HandlerProgress {
        let ended = |end| HandlerProgress::Ended(end);
        if let Some(why) = self.changed(hook).await {
            return ended(HandlerEnd::failed(HookOutcome::NotStarted, format!("was not run: {why}")));
        }
        let bounded = async {
            match &hook.handler {
                HookHandler::Unreadable { mistake } => {
                    let why = format!("cannot be asked: {mistake}");
                    ended(HandlerEnd::failed(HookOutcome::NotStarted, why))
                }
                HookHandler::Command { command, args } => {
                    match command::start(self, hook, (command, args.as_deref()), input, workspace, services)
                        .await
                    {
                        Ok(running) => HandlerProgress::Running(Box::new(running)),
                        Err(why) => ended(HandlerEnd::failed(HookOutcome::NotStarted, why)),
                    }
                }
                HookHandler::Http { .. } => ended(http::post(self, hook, input, workspace).await),
                HookHandler::McpTool { server, tool, input: given } => {
                    ended(mcp_tool::call(services, (server, tool), given, input).await)
                }
                HookHandler::Prompt { prompt, model } => {
                    ended(questions::ask_model(services, prompt, model.as_deref(), input).await)
                }
                HookHandler::Agent { prompt, model } => {
                    ended(questions::ask_agent(services, prompt, model.as_deref(), input).await)
                }
            }
        };
        tokio::select! {
            progress = bounded => progress,
            () = self.clock.sleep(hook.timeout) => ended(timed_out(hook.timeout)),
        }
    }

    /// A file that it runs is not what a person acknowledged: looked at once more, right before it runs.
    async fn changed(&self, hook: &Hook) -> Option<String> {
        if let super::HookState::Changed { reason } = &hook.state {
            return Some(reason.clone());
        }
        if hook.programs.is_empty() {
            return None;
        }
        let programs = hook.programs.clone();
        let looked = tokio::task::spawn_blocking(move || pins::changed(&programs)).await;
        looked.unwrap_or_else(|error| Some(format!("its programs cannot be looked at: {error}")))
    }
}

fn timed_out(time: Duration) -> HandlerEnd {
    let why = format!("took more than {} s and was ended", time.as_secs_f64());
    HandlerEnd::failed(HookOutcome::TimedOut, why)
}

/// System's and user's run unconfined, all others in the workspace's walls.
fn is_confined(hook: &Hook) -> bool {
    match hook.origin {
        HookOrigin::System | HookOrigin::User => false,
        HookOrigin::Project { .. } | HookOrigin::Agent { .. } => true,
    }
}
