//! `kill_shell`: ends one of this session's background commands. (spec 05)

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::{
    Definition, safe,
    shell_output::{standing, unknown},
};
use crate::{
    protocol::{Access, Location, Replay, ToolDeclaration, ToolError, ToolKind, ToolResult},
    tools::{
        CallContext, Invocation, Permit, PrepareContext,
        commands::{Background, Starter},
    },
};

const DESCRIPTION: &str = "\
Ends a command that was started with run_shell_command's `background`, with everything that it started.";

pub struct KillShell;

impl Definition for KillShell {
    type Arguments = Arguments;

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

    fn replay() -> Replay {
        Replay::Unsafe
    }

    fn check(arguments: Arguments, cx: &PrepareContext) -> Result<Box<dyn Invocation>, ToolError> {
        Ok(Box::new(Call { id: arguments.id, background: Starter::of(cx).background().clone() }))
    }
}

#[derive(Debug, Deserialize)]
pub struct Arguments {
    id: String,
}

struct Call {
    id: String,
    background: Background,
}

impl Invocation for Call {
    fn accesses(&self) -> &[Access] {
        // What it ends is the session's own.
        &[Access::Nothing]
    }

    fn description(&self) -> String {
        format!("shell {}", self.id)
    }

    fn locations(&self) -> Vec<Location> {
        Vec::new()
    }

    fn run(self: Box<Self>, _permit: Permit, cx: CallContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move {
            let Some(job) = self.background.job(&cx.session, &self.id) else {
                return unknown(&self.background, &cx.session, &self.id);
            };
            if job.ended().is_some() {
                return ToolResult::text(format!("{}: {} before", job.id, standing(&job)));
            }
            job.end(&cx).await;
            ToolResult::text(format!("{}: {}", job.id, standing(&job)))
        })
    }
}
