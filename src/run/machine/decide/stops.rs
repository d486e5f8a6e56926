//! Stops: limits, cancels, failures, and the end.

use super::{
    super::{PartialReply, RunPhase},
    MachineStep,
};
use protocol::{
    CallId, CallState, CompletionResult, DaemonWarning, HookEffect, PrivateEventFields, RunCompleted,
    RunEndReason, RunError, RunErrorCode, RunStopping, StopThen, SubagentActivity, ToolErrorType, ToolResult,
};

impl MachineStep<'_> {
    /// A limit was hit within a turn. It grants one grace turn; a limit during grace is final, under the
    /// first reason.
    pub(super) fn limit(&mut self, reason: RunEndReason) {
        self.limit_because(reason, self.why(reason));
    }

    /// With the words that people get.
    pub(super) fn limit_because(&mut self, reason: RunEndReason, why: String) {
        if self.machine.stopping().is_some() {
            return;
        }
        match &self.machine.turn.grace {
            Some(grace) => {
                let reason = grace.reason;
                self.stop(reason, StopThen::End, None, self.why(reason), None);
            }
            None if reason == RunEndReason::Budget && self.machine.asks_for_budget() => {
                self.stop(reason, StopThen::Ask, None, why, None);
            }
            None => self.stop(reason, StopThen::Grace, None, why, None),
        }
    }

    /// What was reached, for people: of a budget, which, and how far.
    pub(super) fn why(&self, reason: RunEndReason) -> String {
        let what = explain(reason);
        let (limits, spent) = (self.machine.limits(), self.machine.spent());
        let (tokens, cost) = (spent.usage.total(), spent.cost.unwrap_or_default());
        let about = if spent.estimated_requests == 0 { "" } else { "about " };
        match (reason, limits.max_tokens, limits.max_cost) {
            (RunEndReason::Budget, _, Some(most)) if most <= cost => {
                format!("{what}: {about}{cost} of {most}")
            }
            (RunEndReason::Budget, Some(most), _) if most <= tokens => {
                format!("{what}: {about}{tokens} of {most} tokens")
            }
            _ => what,
        }
    }

    /// Like [`MachineStep::limit`], where the turn has ended already.
    pub(super) fn limit_between_turns(&mut self, reason: RunEndReason) {
        self.last_turn(reason, None);
    }

    /// `said`: by the person who gave the run no more.
    pub(super) fn last_turn(&mut self, reason: RunEndReason, said: Option<&str>) {
        let body = RunStopping { reason, then: StopThen::Grace, error: None, message: self.why(reason) };
        self.emit_with(body, PrivateEventFields::default(), Some(SubagentActivity::Error), None);
        self.begin_turn_with(Some(reason), said);
    }

    pub(super) fn fail(&mut self, code: RunErrorCode, message: String) {
        let error = RunError { code, message: message.clone() };
        self.stop(RunEndReason::Error, StopThen::End, Some(error), message, None);
    }

    pub(super) fn cancel(
        &mut self,
        by: Option<String>,
        reason: Option<String>,
        partial: Option<PartialReply>,
    ) {
        let is_aborting = matches!(&self.machine.phase, RunPhase::Stopping { then: StopThen::End, .. });
        if is_aborting {
            return;
        }
        self.cut(partial);
        let message = reason.map_or_else(|| "cancelled".to_owned(), |reason| format!("cancelled: {reason}"));
        self.stop(RunEndReason::Aborted, StopThen::End, None, message, by);
    }

    /// A stop ends every open call first: those that run are told to and waited for, the others end now.
    pub(super) fn stop(
        &mut self,
        reason: RunEndReason,
        then: StopThen,
        error: Option<RunError>,
        message: String,
        by: Option<String>,
    ) {
        let body = RunStopping { reason, then, error, message };
        let activity = (reason != RunEndReason::Aborted).then_some(SubagentActivity::Error);
        self.emit_with(body, PrivateEventFields::default(), activity, by);
        let idle = self.machine.calls.open().filter(|it| {
            let is_idle = matches!(
                it.state,
                CallState::Validating | CallState::Scheduled | CallState::AwaitingApproval
            );
            is_idle && it.completion.is_none()
        });
        let idle: Vec<CallId> = idle.map(|it| it.request.call_id.clone()).collect();
        // Nobody but the daemon does the others.
        let why = match reason {
            RunEndReason::Aborted => "the run was stopped before the call began".to_owned(),
            _ => format!("the run came to its end ({}) before the call began", reason.as_str()),
        };
        self.drop_asks("the run was stopped");
        for call in idle {
            self.drop_question(&call);
            self.end_call(&call, cancelled(&why));
        }
        self.drop_budget_question();
        self.after_calls();
    }

    /// Every open call has ended: now the grace turn, or the end.
    pub(super) fn stopped(&mut self) {
        let RunPhase::Stopping { reason, then, error, message } = self.machine.phase.clone() else { return };
        let pending = self.machine.pending().map(|it| it.request.call_id.clone());
        let mut partial_result = None;
        match pending {
            // A limit came while neighbours of an accepted result ran: the result counts.
            Some(call) if !matches!(reason, RunEndReason::Aborted | RunEndReason::Error) => {
                return self.accept(&call);
            }
            Some(call) => {
                let message = "the run was stopped before its result counted";
                let partial = self.machine.call(&call).and_then(|it| it.completion.clone());
                self.end_call(&call, cancelled(message));
                partial_result = partial.map(|it| it.result.clone());
            }
            None => (),
        }
        if self.machine.turn.is_open {
            self.end_turn();
        }
        match then {
            StopThen::Grace => self.begin_turn(Some(reason)),
            // The driver asks in the same step.
            StopThen::Ask => (),
            StopThen::End => {
                let record = RunCompleted { message: Some(message), ..self.record(reason, error) };
                let partial_result = partial_result.or_else(|| record.partial_result.clone());
                self.end_as(RunCompleted { partial_result, ..record });
            }
        }
    }

    pub(super) fn complete(&mut self, completion: CompletionResult) {
        let recovered_from = self.machine.turn.grace.as_ref().map(|it| it.reason);
        let CompletionResult { result, output } = completion;
        let body = RunCompleted {
            result: Some(result),
            output,
            partial_result: None,
            recovered: recovered_from.is_some(),
            recovered_from,
            ..self.record(RunEndReason::Goal, None)
        };
        self.end_with(body, None);
    }

    /// The run's last event. What was said to it and hooks had no say on is said to nobody, and people are told so.
    fn end_with(&mut self, record: RunCompleted, activity: Option<SubagentActivity>) {
        let unheard = self.machine.unheard_steers();
        if !unheard.is_empty() {
            let message = format!(
                "{}: the run ended before hooks had their say on what was said to it; say it again",
                self.machine.start().agent
            );
            self.emit(DaemonWarning { message });
        }
        let effect = HookEffect { unheard, ..HookEffect::default() };
        let hooked = (effect != HookEffect::default()).then(|| Box::new(effect));
        self.emit_with(
            record,
            PrivateEventFields { hooked, ..PrivateEventFields::default() },
            activity,
            None,
        );
    }

    pub(super) fn end(&mut self, reason: RunEndReason, error: Option<RunError>) {
        let message = error.as_ref().map_or_else(|| self.why(reason), |error| error.message.clone());
        let record = RunCompleted { message: Some(message), ..self.record(reason, error) };
        self.end_as(record);
    }

    pub(super) fn end_as(&mut self, record: RunCompleted) {
        self.end_with(record, Some(SubagentActivity::Error));
    }

    pub(super) fn record(&self, reason: RunEndReason, error: Option<RunError>) -> RunCompleted {
        let machine = &self.machine;
        RunCompleted {
            reason,
            error,
            message: None,
            result: None,
            output: None,
            partial_result: Some(machine.turn.last_text.to_string()).filter(|it| !it.is_empty()),
            recovered: false,
            recovered_from: None,
            usage: machine.budget.spent.usage,
            child_usage: machine.budget.child_spent.usage,
            cost: machine.budget.spent.cost,
            child_cost: machine.budget.child_spent.cost,
            unpriced_tokens: machine.budget.spent.unpriced_tokens,
            child_unpriced_tokens: machine.budget.child_spent.unpriced_tokens,
            estimated_requests: machine.budget.spent.estimated_requests,
            uncounted_requests: machine.budget.spent.uncounted_requests,
            child_estimated_requests: machine.budget.child_spent.estimated_requests,
            child_uncounted_requests: machine.budget.child_spent.uncounted_requests,
            turns: machine.turn.number,
            tool_calls: machine.work.tool_calls,
            files_changed: machine.work.files_changed.to_vec(),
            active_ms: machine.active_us() / 1_000,
        }
    }
}

pub(super) fn cancelled(message: &str) -> ToolResult {
    ToolResult::failure(ToolErrorType::Cancelled, message)
}

/// For people.
fn explain(reason: RunEndReason) -> String {
    let text = match reason {
        RunEndReason::MaxTurns => "the turn limit was reached",
        RunEndReason::Timeout => "the time limit was reached",
        RunEndReason::Budget => "the budget is used up",
        RunEndReason::LoopDetected => "the same thing was done again and again",
        RunEndReason::ErrorNoCompleteTaskCall => "the model stopped without calling complete_task",
        _ => reason.as_str(),
    };
    text.to_owned()
}

/// For the model (spec 03, "Grace turn").
pub(super) fn last_chance(reason: RunEndReason) -> String {
    let what = explain(reason);
    format!(
        "You have to stop: {what}. This is your last chance to hand in what you have. Call complete_task now \
         with your best answer from what you know so far. No other tool is available, and nothing you say \
         outside of complete_task will be kept."
    )
}
