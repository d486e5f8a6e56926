//! Which call is it with the arguments that a hook gave back? It is prepared anew, so that the other hooks are asked about what it would touch.

use std::sync::Arc;

use ::hooks::CheckedArguments;
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::{CallGate, JudgeContext};
use crate::hooks::{ChangeableCall, hooked_call};
use protocol::{CallId, ToolSource};
use tools::Tool;

/// A call that hooks are asked about before it is judged.
pub(super) struct AskedCall {
    pub gate: CallGate,
    pub call_id: CallId,
    pub tool: Arc<dyn Tool>,
    pub judge_context: JudgeContext,
}

impl ChangeableCall for AskedCall {
    fn with_arguments<'a>(&'a self, arguments: &'a Value) -> BoxFuture<'a, Result<CheckedArguments, String>> {
        Box::pin(async move {
            let declaration = self.tool.declaration();
            let violations = tools::violations(&declaration.parameters, arguments.clone());
            if !violations.is_empty() {
                let told = violations.iter().map(|it| format!("{}: {}", it.pointer, it.message));
                return Err(told.collect::<Vec<_>>().join("; "));
            }
            let name = &declaration.name;
            let validated = self.gate.validate(name, arguments.clone(), &self.judge_context).await;
            let valid = validated.map_err(|refusal| refusal.error.message)?;
            let is_agent = self.tool.source() == ToolSource::Agent;
            let accesses = valid.invocation.accesses();
            let call = hooked_call(&self.call_id, (name, is_agent), valid.arguments(), accesses);
            Ok(CheckedArguments { shown: call.arguments, accesses: call.accesses })
        })
    }
}
