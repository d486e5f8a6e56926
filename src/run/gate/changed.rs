//! Which call is it with the arguments that a hook gave back? It is prepared anew, so that the other hooks are asked about what it would touch.

use std::sync::{Arc, Mutex, PoisonError};

use ::hooks::CheckedArguments;
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::{CallGate, JudgeContext};
use crate::hooks::{ChangeableCall, hooked_call};
use protocol::{CallId, ResourceAccess, ToolSource};
use tools::Tool;

/// A call that hooks are asked about before it is judged.
pub(super) struct AskedCall {
    pub gate: CallGate,
    pub call_id: CallId,
    pub tool: Arc<dyn Tool>,
    pub judge_context: JudgeContext,
    /// Everything that hooks were told it would touch, with the arguments that this is of.
    seen: Mutex<Vec<(Value, Vec<ResourceAccess>)>>,
}

impl AskedCall {
    /// `seen`: the arguments that hooks are asked about first, and what the call would touch with them.
    pub fn new(
        gate: &CallGate,
        (call_id, tool): (&CallId, Arc<dyn Tool>),
        judge_context: &JudgeContext,
        (arguments, accesses): (&Value, &[ResourceAccess]),
    ) -> Arc<AskedCall> {
        Arc::new(AskedCall {
            gate: gate.clone(),
            call_id: call_id.clone(),
            tool,
            judge_context: judge_context.clone(),
            seen: Mutex::new(vec![(arguments.clone(), accesses.to_vec())]),
        })
    }

    /// True if hooks were asked about a call with these arguments that touches all of this. A link on the way may have been made another one
    /// while they took their time.
    pub fn has_shown(&self, arguments: &Value, accesses: &[ResourceAccess]) -> bool {
        // Nothing panics while it is held.
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let last = seen.iter().rev().find(|(of, _)| of == arguments);
        last.is_some_and(|(_, seen)| accesses.iter().all(|access| seen.contains(access)))
    }
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
            // As often as hooks change a call, which has an end.
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.push((valid.arguments().clone(), accesses.to_vec()));
            drop(seen);
            Ok(CheckedArguments { shown: call.arguments, accesses: call.accesses })
        })
    }
}
