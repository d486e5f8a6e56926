//! The life of a turn's calls.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    super::{CallJudgement, EventDraft, NearMemoryNews, RunMachine, RunPhase, TrackedCall},
    MachineStep,
};
use protocol::{
    CallDetails, CallId, CallState, ClientToolCall, CompletionResult, DaemonWarning, EventBody, FolderMemory,
    HookEffect, JudgedCall, MessagePart, PrivateEventFields, RunErrorCode, SubagentActivity, TodosUpdated,
    ToolCall, ToolClientCall, ToolEffect, ToolError, ToolErrorType, ToolResult, ToolState, UsageTotal,
};

/// What a run leaves to the call that it answered, beside the result.
pub(super) struct FromChild {
    pub spent: UsageTotal,
    pub output: Option<String>,
}

/// Calls of one reply that are carried out. Whoever needs more asks for them in a turn that knows what came of these; a reply
/// of thousands is a defect of the model, or meant to keep others waiting.
const MOST_CALLS: usize = 256;

impl MachineStep<'_> {
    /// The calls of a reply begin; those that are too many end at once.
    pub(super) fn calls_requested(&mut self) {
        let requests: Vec<Arc<ToolCall>> = self.machine.calls.iter().map(|it| it.request.clone()).collect();
        for request in &requests {
            self.call_requested(request);
        }
        for request in requests.iter().skip(MOST_CALLS) {
            let message = format!(
                "not carried out: at most {MOST_CALLS} calls of one reply are; make this one again if you still need it"
            );
            self.end_call(
                &request.call_id,
                failed(ToolError { kind: ToolErrorType::ExecutionFailed, message }),
            );
        }
    }

    pub(super) fn call_requested(&mut self, request: &ToolCall) {
        let body = ToolState {
            provider_call_id: request.provider_call_id.clone(),
            arguments: Some(request.arguments.clone()),
            ..tool_state(&request.call_id, request, None, CallState::Validating)
        };
        self.emit_with(body, PrivateEventFields::default(), Some(SubagentActivity::ToolCallStart), None);
    }

    /// `context`: what hooks have to say to the model about a call that does not run.
    pub(super) fn judged(&mut self, call: CallId, judgement: CallJudgement, context: Option<String>) {
        // It was scheduled before, and what was in its way is over.
        let is_again = self.state(&call) == Some(CallState::Scheduled);
        match judgement {
            CallJudgement::Run { details, arguments, prepared } if is_again => {
                self.start(&call, Some((details, arguments, prepared)));
            }
            CallJudgement::Run { details, arguments, prepared } => {
                self.schedule(&call, Some(details), Some(arguments), Some(prepared), None);
                self.start_ready();
            }
            CallJudgement::Ask { details, arguments, prepared, confirmation } => {
                let prepared = match is_again {
                    true => Some(prepared),
                    false => {
                        self.schedule(&call, Some(details), Some(arguments), Some(prepared), None);
                        None
                    }
                };
                // Else it is judged again when it is its turn: what it would do then is what a person must see.
                if !self.machine.call(&call).is_some_and(|it| it.is_held_up && !is_again) {
                    self.ask(&call, *confirmation, prepared);
                }
            }
            CallJudgement::Complete { .. } if self.machine.pending().is_some() => {
                let message = "another complete_task of this turn was accepted already".to_owned();
                let error = ToolError { kind: ToolErrorType::InvalidToolParams, message };
                self.end_call(&call, failed(error));
            }
            CallJudgement::Complete { .. }
                if !self.machine.steers.is_empty() && self.machine.turn.grace.is_none() =>
            {
                let message =
                    "a message came in while you worked; take it into account, then call complete_task again"
                        .to_owned();
                self.end_call(&call, failed(ToolError { kind: ToolErrorType::ExecutionFailed, message }));
            }
            CallJudgement::Complete { result } => self.schedule(&call, None, None, None, Some(result)),
            CallJudgement::Refuse(refusal) => self.end_call(&call, with_context(refusal.into(), context)),
        }
        self.after_calls();
    }

    pub(super) fn schedule(
        &mut self,
        call: &CallId,
        details: Option<CallDetails>,
        arguments: Option<serde_json::Value>,
        prepared: Option<JudgedCall>,
        completion: Option<CompletionResult>,
    ) {
        let Some(request) = self.machine.request(call).cloned() else { return };
        let arguments = arguments.filter(|it| *it != request.arguments);
        let state = tool_state(call, &request, self.state(call), CallState::Scheduled);
        let private = PrivateEventFields { call: prepared, completion, ..PrivateEventFields::default() };
        self.emit_with(ToolState { details, arguments, ..state }, private, None, None);
    }

    pub(super) fn start_ready(&mut self) {
        while let Some(call) = self.machine.startable() {
            let call = call.request.call_id.clone();
            self.start(&call, None);
        }
    }

    /// It executes from now on; `anew` is what was found out about it since it was scheduled.
    pub(super) fn start(
        &mut self,
        call: &CallId,
        anew: Option<(CallDetails, serde_json::Value, JudgedCall)>,
    ) {
        let Some(known) = self.machine.call(call) else { return };
        let (request, from) = (Arc::clone(&known.request), known.state);
        let state = tool_state(call, &request, Some(from), CallState::Executing);
        let (details, arguments, prepared) = match anew {
            Some((details, arguments, prepared)) => {
                let is_told = !known.is_changed_again && arguments == request.arguments;
                (Some(details), Some(arguments).filter(|_| !is_told), Some(prepared))
            }
            None => (None, None, None),
        };
        let child = prepared.as_ref().map_or_else(|| known.child().cloned(), |it| it.child.clone());
        let streams = prepared.as_ref().map_or_else(|| known.streams(), |it| it.streams);
        let private = PrivateEventFields { call: prepared, ..PrivateEventFields::default() };
        self.emit_with(
            ToolState { child_run_id: child, streams, details, arguments, ..state },
            private,
            None,
            None,
        );
        if let Some(lent) = self.lent(call) {
            self.tell_client(call, &lent, false);
        }
    }

    /// What the client is told that answers this call, while it executes.
    pub(super) fn lent(&self, call: &CallId) -> Option<ClientToolCall> {
        let known = self.machine.call(call).filter(|it| it.state == CallState::Executing)?;
        known.prepared.as_ref()?.lent.clone()
    }

    pub(super) fn tell_client(&mut self, call: &CallId, lent: &ClientToolCall, again: bool) {
        let ClientToolCall { name, client, arguments, on_disconnect, timeout_ms } = lent.clone();
        self.emit(ToolClientCall {
            call_id: call.clone(),
            client_id: client,
            name,
            arguments,
            on_disconnect,
            timeout_ms,
            redelivered: again,
        });
    }

    /// The call ends by its client's word.
    pub(super) fn client_answered(&mut self, call: CallId, result: ToolResult, by: Option<String>) {
        let first = self.drafts.len();
        self.tool_finished(call.clone(), result, NearMemoryNews::default());
        let is_end = |draft: &&mut EventDraft| matches!(&draft.body, EventBody::ToolState(data) if data.call_id == call);
        self.drafts[first..].iter_mut().filter(is_end).for_each(|draft| draft.by.clone_from(&by));
    }

    pub(super) fn tool_finished(&mut self, call: CallId, mut result: ToolResult, near: NearMemoryNews) {
        for effect in std::mem::take(&mut result.effects) {
            match effect {
                ToolEffect::Todos(todos) => self.emit(TodosUpdated { call_id: call.clone(), todos }),
                ToolEffect::File(changed) => self.emit(changed),
                ToolEffect::Memory(saved) => self.emit(saved),
                ToolEffect::Skill(skill) => self.emit(skill),
            }
        }
        if let Some(note) = self.machine.call(&call).and_then(|it| it.note.clone()) {
            result.llm_content.insert(0, MessagePart::text(&*note));
        }
        let fatal = result.error.as_ref().filter(|it| it.kind == ToolErrorType::NoSpaceLeft).cloned();
        for message in near.warnings {
            self.emit(DaemonWarning { message: format!("{}: {message}", self.machine.start().agent) });
        }
        self.end_call_using(&call, result, None, near.told);
        if let Some(error) = fatal
            && self.machine.stopping().is_none()
        {
            return self.fail(RunErrorCode::NoSpaceLeft, error.message);
        }
        if self.machine.stopping().is_none() {
            self.start_ready();
        }
        self.after_calls();
    }

    pub(super) fn child_settled(&mut self, call: CallId, result: ToolResult, mut child: FromChild) {
        // Of a run that could not be taken up again nobody may be able to say what it used; what it said before is true.
        let known = self.machine.now.child(&call).spent;
        if child.spent.usage.total() < known.usage.total() {
            child.spent = known;
        }
        self.end_call_using(&call, result, Some(child), None);
        if self.machine.stopping().is_none() {
            self.start_ready();
        }
        self.after_calls();
    }

    pub(super) fn end_call(&mut self, call: &CallId, result: ToolResult) {
        self.end_call_using(call, result, None, None);
    }

    /// The only way a call ends.
    fn end_call_using(
        &mut self,
        call: &CallId,
        result: ToolResult,
        child: Option<FromChild>,
        memory: Option<FolderMemory>,
    ) {
        let Some(request) = self.machine.request(call).cloned() else { return };
        self.drop_asks_of(call, "the call that asked is over");
        let hooked = self.machine.hooked(call);
        let context = hooked.and_then(|hooked| hooked.context.clone());
        let beside_result = u64::from(memory.is_some()) + u64::from(context.is_some());
        let result = with_context(result, context);
        let to = match &result.error {
            None => CallState::Success,
            Some(error) if error.kind == ToolErrorType::Cancelled => CallState::Cancelled,
            Some(_) => CallState::Error,
        };
        let error = result.error.clone();
        let state = tool_state(call, &request, self.state(call), to);
        let (spent, output) = child.map(|child| (child.spent, child.output)).unzip();
        let output = output.flatten().or_else(|| result.streamed.as_deref().map(str::to_owned));
        let denied_by = result.denied_by.as_deref().map(str::to_owned);
        let denied_origin = result.denied_origin.as_deref().cloned();
        let hooked = self.machine.follows(call).cloned().map(|first| {
            let beside = self.machine.beside_result(&first).to_vec();
            let parts = [in_place(call, result.llm_content.clone(), self.machine), beside].concat();
            Box::new(HookEffect { outputs: BTreeMap::from([(first, parts)]), ..HookEffect::default() })
        });
        let body = ToolState { output, result: Some(result), error, denied_by, denied_origin, ..state };
        let private = PrivateEventFields {
            child_usage: spent.map(|spent| spent.usage),
            child_cost: spent.and_then(|spent| spent.cost),
            child_unpriced_tokens: spent.map_or(0, |spent| spent.unpriced_tokens),
            child_estimated_requests: spent.map_or(0, |spent| spent.estimated_requests),
            child_uncounted_requests: spent.map_or(0, |spent| spent.uncounted_requests),
            memory,
            beside_result,
            hooked,
            ..PrivateEventFields::default()
        };
        self.emit_with(body, private, Some(SubagentActivity::ToolCallEnd), None);
    }

    /// What follows when no call of the turn is open any more but the one that ends the run.
    pub(super) fn after_calls(&mut self) {
        self.say_whether_it_waits();
        let pending = self.machine.pending().map(|it| it.request.call_id.clone());
        let is_other = |it: &TrackedCall| Some(&it.request.call_id) != pending.as_ref();
        if self.machine.calls.open().any(is_other) {
            return;
        }
        match (&self.machine.phase, pending) {
            (RunPhase::Stopping { .. } | RunPhase::Acting, _) if self.machine.waits_for_hooks() => (),
            (RunPhase::Stopping { .. }, _) => self.stopped(),
            (RunPhase::Acting, Some(call)) => self.accept(&call),
            (RunPhase::Acting, None) => {
                self.end_turn();
                match &self.machine.turn.grace {
                    // Grace was the last chance, and it passed.
                    Some(grace) => {
                        let reason = grace.reason;
                        self.end(reason, None);
                    }
                    None => self.next_turn(),
                }
            }
            _ => (),
        }
    }

    /// Ends the pending `complete_task`, and with it the run.
    pub(super) fn accept(&mut self, call: &CallId) {
        let Some(pending) = self.machine.call(call) else { return };
        let Some(completion) = pending.completion.clone() else { return };
        let request = pending.request.clone();
        let executing = tool_state(call, &request, Some(CallState::Scheduled), CallState::Executing);
        self.emit(executing);
        self.end_call(call, ToolResult::text("accepted"));
        self.end_turn();
        self.complete((*completion).clone());
    }
}

pub(super) fn tool_state(
    call: &CallId,
    request: &ToolCall,
    from: Option<CallState>,
    to: CallState,
) -> ToolState {
    ToolState {
        call_id: call.clone(),
        // The first event of a call comes from nowhere.
        from: from.filter(|_| to != CallState::Validating),
        to,
        name: request.name.clone(),
        provider_call_id: None,
        arguments: None,
        details: None,
        child_run_id: None,
        streams: false,
        output: None,
        result: None,
        error: None,
        denied_by: None,
        denied_origin: None,
        awaits_hooks: false,
    }
}

pub(super) fn failed(error: ToolError) -> ToolResult {
    ToolResult::failure(error.kind, error.message)
}

/// A result, and what hooks have to say to the model beside it.
pub(super) fn with_context(mut result: ToolResult, context: Option<String>) -> ToolResult {
    result.llm_content.extend(context.map(MessagePart::text));
    result
}

/// The result of a call that a hook made, as the model reads it in place of another.
pub(super) fn in_place(call: &CallId, parts: Vec<MessagePart>, machine: &RunMachine) -> Vec<MessagePart> {
    let name = machine.request(call).map(|request| request.name.to_string()).unwrap_or_default();
    let note = format!("A hook had {name} called next; in place of this call's result, what that came to:");
    std::iter::once(MessagePart::text(note)).chain(parts).collect()
}
