//! What people are asked, what they answer, and what becomes of a question that nobody answers (spec 06).

use std::sync::Arc;

use super::{
    super::{AnswerEffect, BudgetAnswer, CallAnswer, ConfirmationAsker, UnansweredEffect},
    MachineStep,
    calls::{failed, tool_state, with_context},
    stops::cancelled,
};
use protocol::{
    BudgetRaised, CallId, CallState, Confirmation, ConfirmationId, ConfirmationOutcome,
    ConfirmationRequested, ConfirmationResolved, ConfirmationRevised, DecidedBy, JudgedCall, MessagePart,
    ParkReason, PrivateEventFields, Resolution, RevisionReason, RunEndReason, RunParked, RunResumed,
    RunWaiting, StopThen, Timestamp, ToolError, ToolErrorType, ToolResult,
};

impl MachineStep<'_> {
    /// The call waits for a person from now on; `prepared` is what was found out about it since it was scheduled.
    pub(super) fn ask(&mut self, call: &CallId, question: Confirmation, prepared: Option<JudgedCall>) {
        let Some(request) = self.machine.request(call).cloned() else { return };
        let state = tool_state(call, &request, self.state(call), CallState::AwaitingApproval);
        self.emit_with(
            state,
            PrivateEventFields { call: prepared, ..PrivateEventFields::default() },
            None,
            None,
        );
        self.emit(ConfirmationRequested { confirmation: Box::new(question) });
    }

    /// A person's answer, and what it comes to. An answer to anything but what is asked now is stale.
    pub(super) fn settled(
        &mut self,
        confirmation: &ConfirmationId,
        digest: &str,
        settled: AnswerEffect,
        by: Option<String>,
    ) {
        let is_asked = |question: &Arc<Confirmation>| question.digest == digest;
        match settled {
            AnswerEffect::Call(answer) => {
                let asked =
                    self.machine.call_question(confirmation).filter(|(_, question)| is_asked(question));
                if let Some(call) = asked.map(|(request, _)| request.call_id.clone()) {
                    self.call_answered(call, answer, by);
                }
            }
            AnswerEffect::Budget(answer) => {
                if self.machine.budget_question(confirmation).is_some_and(is_asked) {
                    self.budget_answered(answer, by);
                }
            }
            AnswerEffect::Tool(answer) => {
                if self.machine.tool_question(confirmation).is_some_and(is_asked) {
                    self.tool_answered(answer, by);
                }
            }
        }
    }

    /// A person answered whether a call may run, or in its place.
    fn call_answered(&mut self, call: CallId, answer: CallAnswer, by: Option<String>) {
        self.unpark();
        match answer {
            CallAnswer::Run { mut resolved, revised, details, arguments, prepared, hooks } => {
                self.tell_hooks(*hooks);
                // A person had changed it, and a hook after them: whoever allows it allows both.
                resolved.difference = resolved.difference.or_else(|| self.noted(&call));
                if let Some(revised) = revised {
                    self.revise(revised, None, by.clone());
                }
                self.resolve(resolved, by);
                self.start(&call, Some((*details, arguments, *prepared)));
                self.after_calls();
            }
            CallAnswer::Result { mut resolved, mut result } => {
                resolved.difference = resolved.difference.or_else(|| self.noted(&call));
                let change = resolved.difference.clone().map(MessagePart::text);
                self.resolve(resolved, by);
                if result.error.is_none() {
                    self.start(&call, None);
                }
                // What failed is the call as it was changed, of which the model knows nothing.
                result.llm_content.splice(0..0, change);
                self.end_call(&call, result);
                self.go_on();
            }
            CallAnswer::Refuse { mut resolved, refusal, hooks } => {
                let no = hooks.refusal.as_ref().filter(|no| no.interrupt).map(|no| no.message.clone());
                let stop = hooks.stop.clone().or(no);
                let context = self.tell_hooks(*hooks);
                resolved.difference = resolved.difference.or_else(|| self.noted(&call));
                let change = resolved.difference.clone().map(MessagePart::text);
                self.resolve(resolved, by);
                let mut result = with_context(refusal.into(), context);
                // The model did not ask for what was refused.
                result.llm_content.splice(0..0, change);
                self.end_call(&call, result);
                match stop {
                    Some(why) => self.stopped_by_hook(why),
                    None => self.go_on(),
                }
            }
            CallAnswer::Revise { revised, prepared, hooks } => {
                self.tell_hooks(*hooks);
                self.revise(revised, Some(prepared), by);
            }
            CallAnswer::CancelRun { resolved } => {
                let reason = resolved.resolution.message.clone();
                self.resolve(resolved, by.clone());
                self.end_call(&call, cancelled("the run was cancelled where a person was asked"));
                self.cancel(by, reason, None);
            }
        }
    }

    /// The words for the change of a person that a hook changed again, where the question is about that.
    fn noted(&self, call: &CallId) -> Option<String> {
        self.machine.call(call).and_then(|it| it.note.as_deref().map(str::to_owned))
    }

    /// A person answered a run that has used up its budget.
    fn budget_answered(&mut self, answer: BudgetAnswer, by: Option<String>) {
        self.unpark();
        match answer {
            BudgetAnswer::Raise { resolved, limits } => {
                self.resolve(resolved, by.clone());
                self.say_whether_it_waits();
                self.emit_with(BudgetRaised { limits }, PrivateEventFields::default(), None, by);
                self.next_turn();
            }
            BudgetAnswer::CancelRun { resolved } => self.cancelled_where_asked(resolved, by),
            BudgetAnswer::End { resolved } => {
                let why = resolved.resolution.message.clone();
                self.resolve(resolved, by);
                self.end_for_budget(why.as_deref());
            }
        }
    }

    /// A person cancels the run in place of an answer to what the run or a tool asks.
    pub(super) fn cancelled_where_asked(&mut self, resolved: ConfirmationResolved, by: Option<String>) {
        let reason = resolved.resolution.message.clone();
        self.resolve(resolved, by.clone());
        self.say_whether_it_waits();
        self.cancel(by, reason, None);
    }

    /// Nobody gives the run more: it gets its last turn.
    fn end_for_budget(&mut self, why: Option<&str>) {
        self.say_whether_it_waits();
        self.last_turn(RunEndReason::Budget, why);
    }

    /// A question ends that nobody answers. Never with consent.
    pub(super) fn unanswered(&mut self, confirmation: &ConfirmationId, how: UnansweredEffect) {
        let Some((asker, question)) = self.machine.asking(confirmation) else { return };
        let question = Arc::clone(question);
        // Somebody has answered it.
        if self.is_edited(&question) && !matches!(how, UnansweredEffect::Postpone(_)) {
            return;
        }
        match how {
            UnansweredEffect::Deny { by, message } => {
                self.unpark();
                self.resolve(ended(&question, ConfirmationOutcome::Deny, by, &message), None);
                match asker {
                    ConfirmationAsker::Run => self.end_for_budget(None),
                    ConfirmationAsker::Tool => self.say_whether_it_waits(),
                    ConfirmationAsker::Call(call) => {
                        self.end_call(&call.call_id, failed(nobody_answered(&question, &message)));
                        self.go_on();
                    }
                }
            }
            UnansweredEffect::CancelRun { by, message } => {
                self.unpark();
                self.resolve(ended(&question, ConfirmationOutcome::CancelRun, by, &message), None);
                self.end_asker(&asker, || cancelled(&message));
                self.cancel(None, Some(message), None);
            }
            UnansweredEffect::Fail { message } => {
                self.unpark();
                let by = DecidedBy::System;
                self.resolve(ended(&question, ConfirmationOutcome::CancelRun, by, &message), None);
                self.end_asker(&asker, || failed(nobody_answered(&question, &message)));
                self.stop(RunEndReason::Unattended, StopThen::End, None, message, None);
            }
            UnansweredEffect::Park => {
                if self.machine.parked.is_none() {
                    self.emit(RunParked { reason: ParkReason::Unattended });
                }
            }
            UnansweredEffect::Postpone(deadline) => self.postpone(&question, deadline),
        }
    }

    /// Whoever asked gets no answer, and the run is about to stop: a call ends with it.
    fn end_asker(&mut self, asker: &ConfirmationAsker, result: impl FnOnce() -> ToolResult) {
        match asker {
            ConfirmationAsker::Call(call) => self.end_call(&call.call_id, result()),
            ConfirmationAsker::Run | ConfirmationAsker::Tool => self.say_whether_it_waits(),
        }
    }

    fn postpone(&mut self, question: &Confirmation, deadline: Timestamp) {
        if question.deadline_at.is_some_and(|now| now < deadline) {
            let confirmation = Box::new(Confirmation { deadline_at: Some(deadline), ..question.clone() });
            self.revise(
                ConfirmationRevised {
                    confirmation,
                    reason: RevisionReason::Deadline,
                    difference: None,
                    edited: None,
                    arguments: None,
                },
                None,
                None,
            );
        }
    }

    /// The run is stopped for good while it asks for more.
    pub(super) fn drop_budget_question(&mut self) {
        if let Some(question) = self.machine.budget.question.clone() {
            self.resolve(
                ended(&question, ConfirmationOutcome::Deny, DecidedBy::System, "the run was stopped"),
                None,
            );
            self.say_whether_it_waits();
        }
    }

    /// The run stops while a call waits for a person: nobody needs to answer any more.
    pub(super) fn drop_question(&mut self, call: &CallId) {
        let question = self.machine.call(call).and_then(|it| it.question.clone());
        if let Some(question) = question {
            let message = "the run was stopped";
            self.resolve(ended(&question, ConfirmationOutcome::Deny, DecidedBy::System, message), None);
        }
    }

    /// True if the run that answers a call only waits for a person.
    pub(super) fn child_waits(&mut self, call: &CallId, waits: bool) {
        // Of one that has ended nobody asks any more.
        if self.state(call) == Some(CallState::Executing) {
            self.machine.now.child_mut(call).waits = Some(waits);
        }
        self.say_whether_it_waits();
    }

    /// Says so when the run begins or ends to do nothing but wait for people: its clock stands still meanwhile.
    pub(super) fn say_whether_it_waits(&mut self) {
        let Some(waiting) = self.machine.waits_for_people().filter(|_| self.machine.parked.is_none()) else {
            return;
        };
        if waiting != self.machine.is_waiting && !self.machine.is_finished() {
            self.emit(RunWaiting { waiting });
        }
    }

    pub(super) fn unpark(&mut self) {
        if self.machine.parked == Some(ParkReason::Unattended) {
            self.emit(RunResumed::default());
        }
    }

    fn go_on(&mut self) {
        if self.machine.stopping().is_none() {
            self.start_ready();
        }
        self.after_calls();
    }

    fn revise(&mut self, revised: ConfirmationRevised, prepared: Option<JudgedCall>, by: Option<String>) {
        self.emit_with(
            revised,
            PrivateEventFields { call: prepared, ..PrivateEventFields::default() },
            None,
            by,
        );
    }

    pub(super) fn resolve(&mut self, resolved: ConfirmationResolved, by: Option<String>) {
        self.emit_with(resolved, PrivateEventFields::default(), None, by);
    }
}

/// What the model is told of a question that nobody answered: also why there was one, so that it can do what needs none.
fn nobody_answered(question: &Confirmation, message: &str) -> ToolError {
    let message = format!("{message}; a person was to be asked since {}", question.reason);
    ToolError { kind: ToolErrorType::NoClient, message }
}

/// How a question ends that nobody answered.
pub(super) fn ended(
    question: &Confirmation,
    outcome: ConfirmationOutcome,
    by: DecidedBy,
    message: &str,
) -> ConfirmationResolved {
    ConfirmationResolved {
        confirmation_id: question.confirmation_id.clone(),
        tool_call_id: question.tool_call_id.clone(),
        resolution: Resolution {
            outcome,
            by,
            name: None,
            message: Some(message.to_owned()),
            rule: None,
            allows: None,
            mode: None,
            digest: question.digest.clone(),
            answer_digest: None,
            at: None,
        },
        difference: None,
        edited: None,
    }
}
