//! Hooks that are tools of an MCP server: called by the run's own rules, and beside its calls.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::super::{
    gate::{CallGate, JudgeContext, PreparedWork},
    hooks::HookTools,
};
use protocol::{CallId, MessagePart, Risk, ToolName, ToolResult};
use sys::{clock::Clock, ids};
use tools::{CallContext, CallRedelivery, ToolElicitation};

/// Time for one call where the hook itself has more.
const LONGEST: Duration = Duration::from_secs(600);

/// Calls tools for the hooks of one run.
pub(super) struct HookToolCaller {
    pub gate: Arc<CallGate>,
    pub standing: JudgeContext,
    pub clock: Arc<dyn Clock>,
}

impl HookTools for HookToolCaller {
    fn call<'a>(
        &'a self,
        (server, tool): (&'a str, &'a str),
        input: Value,
        is_own: bool,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let name = ToolName::from(format!("mcp.{server}.{tool}"));
            // What a rule forbids is forbidden here, too; a question there is none, as of a hook that is a command.
            let prepared = self.gate.prepare_for_hook(&name, input, &self.standing).await;
            let prepared = prepared.map_err(|refusal| refusal.error.message)?;
            let is_reading = !prepared.details.kind.is_mutator() && prepared.details.risk <= Risk::Low;
            if !is_own && !is_reading {
                return Err(format!("{name} does more than read, so only your own hooks may call it"));
            }
            let PreparedWork::Tool(invocation) = prepared.work else {
                return Err(format!("{name} is an agent"));
            };
            let call: CallId = ids::fresh();
            let permit = self.gate.permit(&call, &prepared.call, invocation.as_ref());
            let permit = permit.map_err(|error| error.message)?;
            let cancel = CancellationToken::new();
            let _ends_with_this = cancel.clone().drop_guard();
            let cx = CallContext {
                session: self.standing.asking.session.clone(),
                cancel,
                deadline: Some(LONGEST),
                clock: Arc::clone(&self.clock),
                output: None,
                retelling: CallRedelivery::default(),
                consultant: None,
                people: ToolElicitation::nobody(),
                span: None,
            };
            told(tools::run(invocation, permit, cx).await)
        })
    }
}

fn told(result: ToolResult) -> Result<String, String> {
    match result.error {
        Some(error) => Err(error.message),
        None => Ok(result.llm_content.iter().filter_map(MessagePart::as_text).collect::<Vec<_>>().join("\n")),
    }
}
