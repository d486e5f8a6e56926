//! Hooks that are tools of an MCP server, and tools that hooks' agents read with: called by the run's own rules, and beside its calls.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::super::{
    gate::{CallGate, JudgeContext, PreparedToolCall, PreparedWork},
    hooks::HookTools,
};
use protocol::{CallId, MessagePart, Risk, ToolDeclaration, ToolName, ToolResult};
use sys::{clock::Clock, ids};
use tools::{CallContext, CallRedelivery, ToolElicitation, ToolLookup};

/// Time for one call where the hook itself has more.
const LONGEST: Duration = Duration::from_secs(600);

/// Letters of a result that a hook's agent reads.
const MOST_READ_CHARS: usize = 40_000;

/// Calls tools for the hooks of one run.
pub(super) struct HookToolCaller {
    gate: Arc<CallGate>,
    judge_context: JudgeContext,
    clock: Arc<dyn Clock>,
    /// The gate of hooks' agents, once one is asked.
    reader: OnceLock<CallGate>,
}

impl HookToolCaller {
    pub fn new(gate: Arc<CallGate>, judge_context: JudgeContext, clock: Arc<dyn Clock>) -> HookToolCaller {
        HookToolCaller { gate, judge_context, clock, reader: OnceLock::new() }
    }

    fn reader(&self) -> &CallGate {
        self.reader.get_or_init(|| self.gate.reading())
    }

    /// Carries out a call that was prepared by this gate.
    async fn carry_out(&self, prepared: PreparedToolCall, gate: &CallGate) -> Result<String, String> {
        let PreparedWork::Tool(invocation) = prepared.work else {
            return Err(format!("{} is an agent", prepared.tool));
        };
        let call: CallId = ids::fresh();
        let permit = gate.permit(&call, &prepared.call, invocation.as_ref());
        let permit = permit.map_err(|error| error.message)?;
        let cancel = CancellationToken::new();
        let _ends_with_this = cancel.clone().drop_guard();
        let cx = CallContext {
            session: self.judge_context.asking.session.clone(),
            cancel,
            deadline: Some(LONGEST),
            clock: Arc::clone(&self.clock),
            output: None,
            retelling: CallRedelivery::default(),
            model_access: None,
            people: ToolElicitation::nobody(),
            span: None,
        };
        told(tools::run(invocation, permit, cx).await)
    }
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
            // What a rule forbids is forbidden here, too. A question there is none: a person's own hook calls as it would run a command, for
            // another the missing answer is no permission.
            let prepared = self.gate.prepare_for_hook(&name, input, &self.judge_context).await;
            let prepared = prepared.map_err(|refusal| refusal.error.message)?;
            let is_reading = !prepared.details.kind.is_mutator() && prepared.details.risk <= Risk::Low;
            if !is_own && !is_reading {
                return Err(format!("{name} does more than read, so only your own hooks may call it"));
            }
            if !is_own && prepared.must_be_asked() {
                return Err(format!(
                    "a person would have to be asked about {name}, and a hook of a project or an agent asks nobody"
                ));
            }
            self.carry_out(prepared, &self.gate).await
        })
    }

    fn reading(&self, all: bool) -> Arc<[ToolDeclaration]> {
        let has = |name: &ToolName| matches!(self.gate.toolset.lookup(name), ToolLookup::Found(_));
        let declared = self.reader().toolset.declarations();
        declared.filter(|tool| all || has(&tool.name)).cloned().collect()
    }

    fn read<'a>(&'a self, tool: &'a ToolName, input: Value) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let gate = self.reader();
            let prepared = gate.prepare_for_hook(tool, input, &self.judge_context).await;
            let prepared = prepared.map_err(|refusal| refusal.error.message)?;
            if prepared.must_be_asked() {
                return Err(
                    "a person would have to be asked about this, and a hook's agent asks nobody".to_owned()
                );
            }
            if prepared.details.kind.is_mutator() {
                return Err(format!("{tool} does more than read"));
            }
            let text = gate.supplies.redactor.owned(self.carry_out(prepared, gate).await?);
            match text.char_indices().nth(MOST_READ_CHARS) {
                None => Ok(text),
                Some((end, _)) => Ok(format!("{}\n[the rest is left out]", &text[..end])),
            }
        })
    }
}

fn told(result: ToolResult) -> Result<String, String> {
    match result.error {
        Some(error) => Err(error.message),
        None => Ok(result.llm_content.iter().filter_map(MessagePart::as_text).collect::<Vec<_>>().join("\n")),
    }
}
