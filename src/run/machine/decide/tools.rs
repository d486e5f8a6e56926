//! What the tool of a call asks people while it runs, and what becomes of it (spec 06; 07, elicitation and sampling). The call
//! stays as it is: whoever asked is told, and decides what to make of it.

use super::{
    super::{RunMachine, RunPhase, ToolAnswer, TrackedCall},
    MachineStep,
    people::ended,
};
use protocol::{
    CallId, CallState, Confirmation, ConfirmationId, ConfirmationOutcome, ConfirmationRequested, DecidedBy,
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
        if let Some(question) = self.machine.tool_question(confirmation).cloned() {
            self.drop_ask(&question, "whoever asked does not wait for an answer any more");
            self.go_on_unasked();
            self.say_whether_it_waits();
        }
    }

    /// A person answered what a tool asks.
    pub(super) fn tool_answered(&mut self, answer: ToolAnswer, by: Option<String>) {
        self.unpark();
        match answer {
            ToolAnswer::Told { resolved, .. } => {
                self.resolve(resolved, by);
                self.say_whether_it_waits();
            }
            ToolAnswer::CancelRun { resolved } => self.cancelled_where_asked(resolved, by),
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
