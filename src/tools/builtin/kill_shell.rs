//! `kill_shell`: ends one of this session's background commands. (spec 05)

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::{
    BuiltInDefinition, safe,
    shell_output::{state_told, unknown},
};
use crate::{
    CallContext, Invocation, Permit, PrepareContext,
    commands::{BackgroundCommands, CommandStarter},
};
use protocol::{
    CallLocation, ReplaySafety, ResourceAccess, ToolDeclaration, ToolError, ToolKind, ToolResult,
};

const DESCRIPTION: &str = "\
Ends a command that was started with run_shell_command's `background`, with everything that it started.";

pub struct KillShellTool;

impl BuiltInDefinition for KillShellTool {
    type Arguments = KillShellArguments;

    const PATHS: &'static [&'static str] = &[];

    fn declaration() -> ToolDeclaration {
        let parameters = json!({
            "type": "object",
            "properties": {
                "id": { "type": "string", "minLength": 1, "description": "Which one, as run_shell_command named it." }
            },
            "required": ["id"],
            "additionalProperties": false
        });
        safe("kill_shell", "End background command", ToolKind::Execute, DESCRIPTION, parameters)
    }

    fn replay() -> ReplaySafety {
        ReplaySafety::Unsafe
    }

    fn check(arguments: KillShellArguments, cx: &PrepareContext) -> Result<Box<dyn Invocation>, ToolError> {
        Ok(Box::new(KillShellInvocation {
            id: arguments.id,
            background: CommandStarter::of(cx).background().clone(),
        }))
    }
}

#[derive(Debug, Deserialize)]
pub struct KillShellArguments {
    id: String,
}

struct KillShellInvocation {
    id: String,
    background: BackgroundCommands,
}

impl Invocation for KillShellInvocation {
    fn accesses(&self) -> &[ResourceAccess] {
        // What it ends is the session's own.
        &[ResourceAccess::Nothing]
    }

    fn description(&self) -> String {
        format!("shell {}", self.id)
    }

    fn locations(&self) -> Vec<CallLocation> {
        Vec::new()
    }

    fn run(self: Box<Self>, _permit: Permit, cx: CallContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move {
            let Some(job) = self.background.job(&cx.session, &self.id) else {
                return unknown(&self.background, &cx.session, &self.id);
            };
            if job.ended().is_some() {
                return ToolResult::text(format!("{}: {} before", job.id, state_told(&job)));
            }
            job.end(&cx).await;
            ToolResult::text(format!("{}: {}", job.id, state_told(&job)))
        })
    }
}
