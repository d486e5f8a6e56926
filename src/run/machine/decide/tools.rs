//! What the tool of a call asks people while it runs, and what becomes of it (spec 06; 07, elicitation and sampling). The call
//! stays as it is: whoever asked is told, and decides what to make of it.

use std::sync::Arc;

use super::{
    super::{AnswerEffect, ConfirmationAsker, RunMachine, RunPhase, TrackedCall, UnansweredEffect},
    MachineStep,
    people::ended,
};
use protocol::{
    CallId, CallState, Confirmation, ConfirmationId, ConfirmationOutcome, ConfirmationRequested, DecidedBy,
    ParkReason, RunEndReason, RunParked, StopThen,
};

/// Questions of one call that are open at once. A person answers one after the other; more is a flood.
const MOST_ASKS: usize = 4;

impl RunMachine {
    /// True if anybody waits for an answer of a person.
    pub(super) fn has_questions(&self) -> bool {
        let asks = |call: &TrackedCall| call.question.is_some() || !call.asks.is_empty();
        self.budget.question.is_some() || self.calls.iter().any(asks)
    }

    /// True if the tool of this call may ask something now.
    pub fn may_ask(&self, call: &CallId) -> bool {
        let may = |it: &TrackedCall| {
            it.state == CallState::Executing && it.child().is_none() && it.asks.len() < MOST_ASKS
        };
        self.phase == RunPhase::Acting && self.call(call).is_some_and(may)
    }
}

impl MachineStep<'_> {
    pub(super) fn tool_asks(&mut self, call: &CallId, confirmation: Box<Confirmation>) {
        if self.machine.may_ask(call) {
            self.emit(ConfirmationRequested { confirmation });
            self.say_whether_it_waits();
        }
    }

    pub(super) fn tool_stops_asking(&mut self, confirmation: &ConfirmationId) {
        if let Some((ConfirmationAsker::Tool, question)) = self.machine.asking(confirmation) {
            let question = Arc::clone(question);
            self.drop_ask(&question, "whoever asked does not wait for an answer any more");
            self.go_on_unasked();
            self.say_whether_it_waits();
        }
    }

    /// What a person said to a tool.
    pub(super) fn tool_settled(&mut self, settled: AnswerEffect, by: Option<String>) {
        self.unpark();
        match settled {
            AnswerEffect::Told { resolved, .. } => {
                self.resolve(resolved, by);
                self.say_whether_it_waits();
            }
            AnswerEffect::CancelRun { resolved } => {
                let reason = resolved.resolution.message.clone();
                self.resolve(resolved, by.clone());
                self.say_whether_it_waits();
                self.cancel(by, reason, None);
            }
            // What answers to calls, and about budgets, come to.
            AnswerEffect::Run { .. }
            | AnswerEffect::Result { .. }
            | AnswerEffect::Refuse { .. }
            | AnswerEffect::Revise { .. }
            | AnswerEffect::Raise { .. }
            | AnswerEffect::EndBudget { .. } => (),
        }
    }

    /// What becomes of a tool's question that nobody answers. Never consent.
    pub(super) fn settle_tool(&mut self, question: &Confirmation, how: UnansweredEffect) {
        match how {
            UnansweredEffect::Deny { by, message } => {
                self.unpark();
                self.resolve(ended(question, ConfirmationOutcome::Deny, by, &message), None);
                self.say_whether_it_waits();
            }
            UnansweredEffect::CancelRun { by, message } => {
                self.unpark();
                self.resolve(ended(question, ConfirmationOutcome::CancelRun, by, &message), None);
                self.say_whether_it_waits();
                self.cancel(None, Some(message), None);
            }
            UnansweredEffect::Fail { message } => {
                self.unpark();
                self.resolve(
                    ended(question, ConfirmationOutcome::CancelRun, DecidedBy::System, &message),
                    None,
                );
                self.say_whether_it_waits();
                self.stop(RunEndReason::Unattended, StopThen::End, None, message, None);
            }
            UnansweredEffect::Park => {
                if self.machine.parked.is_none() {
                    self.emit(RunParked { reason: ParkReason::Unattended });
                }
            }
            UnansweredEffect::Postpone(deadline) => self.postpone(question, deadline),
        }
    }

    /// Nobody needs to answer what tools asked any more.
    pub(super) fn drop_asks(&mut self, why: &str) {
        let asking = self.machine.calls.iter().filter(|it| !it.asks.is_empty());
        let calls: Vec<CallId> = asking.map(|it| it.request.call_id.clone()).collect();
        for call in calls {
            self.drop_asks_of(&call, why);
        }
    }

    pub(super) fn drop_asks_of(&mut self, call: &CallId, why: &str) {
        let asks = self.machine.call(call).map(|it| it.asks.clone()).unwrap_or_default();
        for question in &asks {
            self.drop_ask(question, why);
        }
        if !asks.is_empty() {
            self.go_on_unasked();
        }
    }

    /// A run that is parked until somebody answers is not when nothing is asked any more.
    fn go_on_unasked(&mut self) {
        if self.machine.stopping().is_none() && !self.machine.has_questions() {
            self.unpark();
        }
    }

    fn drop_ask(&mut self, question: &Confirmation, why: &str) {
        self.resolve(ended(question, ConfirmationOutcome::Deny, DecidedBy::System, why), None);
    }
}
