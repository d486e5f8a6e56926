//! What a model's answer, or its failure, leads to.

use std::time::Duration;

use super::{
    super::{
        CompleteReply, FailureKind, HookEffects, MeteredUsage, ModelAsk, ModelEnd, ModelFailure,
        PartialReply, RunPhase, TurnStage,
    },
    MachineStep,
};
use crate::nudges;
use protocol::{
    CompletionMode, CompletionResult, ContextMessage, FinishReason, MessagePart, MessageRole, ModelCompleted,
    ModelRetrying, ModelStarted, ModelThought, NudgeReason, PrivateEventFields, RunCompleted, RunEndReason,
    RunErrorCode, RunTask, StopThen, SubagentActivity, Timestamp, Usage, UsageTotal,
};

/// Tries of one model call, the first included (spec 04, "Retry").
const MAX_TRIES: u32 = 5;
/// Tries when the replies are cut, empty or malformed: 2 more than the first (spec 04). Failures of other kinds before
/// count as tries, too.
const MAX_UNUSABLE_TRIES: u32 = 3;
/// A provider that asks for a longer wait than this has no quota left, rather than too much to do: whoever started the
/// run can decide better than to wait.
const MAX_HINT: Duration = Duration::from_secs(5 * 60);
/// The longest back-off before a hint of the provider's is considered (spec 04).
const MAX_BACKOFF: Duration = Duration::from_secs(30);

impl MachineStep<'_> {
    pub(super) fn is_current(&self, ask: ModelAsk) -> bool {
        let is_asking = matches!(&self.machine.phase, RunPhase::Thinking { stage: TurnStage::Asking, .. });
        is_asking && self.machine.ask() == Some(ask)
    }

    pub(super) fn ask_model(&mut self, attempt: u32) {
        // The next process asks: what the log says was asked, somebody may have begun to read.
        if self.machine.now.is_closing {
            return;
        }
        if !self.machine.now.has_slot {
            return self.queue_for_slot();
        }
        // Since the limits were checked, a question beside the turns or a failed attempt may have used up the budget.
        let is_work = self.machine.start().task == RunTask::Work;
        if is_work && self.machine.turn.grace.is_none() && self.machine.is_budget_spent() {
            return self.limit(RunEndReason::Budget);
        }
        if attempt == 1 && self.side_call_first() {
            return;
        }
        let machine = &self.machine;
        let ask = ModelAsk { turn: machine.turn.number, attempt, is_grace: machine.turn.grace.is_some() };
        let stream = ask.stream(&machine.terms.run);
        self.emit(ModelStarted { model: machine.model.name.to_string(), stream, attempt });
    }

    /// A request to the model is over, and hooks have had their say on it: they may keep the answer back.
    pub(super) fn model_ended(&mut self, ask: ModelAsk, hooks: HookEffects, end: ModelEnd) {
        let is_current = self.is_current(ask);
        let why = hooks.stop.clone().or_else(|| hooks.block.clone());
        self.tell_hooks(hooks);
        if !is_current {
            return;
        }
        if let Some(why) = why {
            let metered = match end {
                ModelEnd::Responded(reply) => reply.metered,
                ModelEnd::Failed(failure) => failure.partial.metered,
                ModelEnd::Babbled { partial, .. } => partial.metered,
            };
            // What a hook keeps back joins no context; what it took counts.
            let partial = PartialReply { metered, ..PartialReply::default() };
            return self.model_gave_up(RunErrorCode::HookStopped, why, partial);
        }
        match end {
            ModelEnd::Responded(reply) => self.model_responded(ask, reply),
            ModelEnd::Failed(failure) => self.model_failed(ask, failure),
            ModelEnd::Babbled { partial, chunk } => self.babbled(partial, &chunk),
        }
    }

    fn model_responded(&mut self, ask: ModelAsk, reply: CompleteReply) {
        let CompleteReply { model, mut message, metered, finish } = reply;
        let refusal = match &finish {
            FinishReason::Refused { message: words } => Some(words.clone()),
            _ => None,
        };
        if refusal.is_some() {
            // What was withheld is not acted on; without its calls the transcript stays well-formed.
            message.parts.retain(|part| !matches!(part, MessagePart::ToolCall(_)));
            message.raw = None;
        }
        let was_cut_short = finish == FinishReason::Length;
        let text = message.text();
        self.model_completed(ask, model, message, Some(finish), metered, ReplyEnd::Whole);
        self.calls_requested();
        match refusal {
            Some(_) if self.machine.turn.grace.is_some() => self.last_chance_passed(),
            Some(words) => {
                let words = if words.is_empty() { "no reason given" } else { words.as_str() };
                self.fail(RunErrorCode::ModelFailed, format!("the model refused to answer: {words}"));
            }
            None if !self.machine.calls.is_empty() => drop(self.calls_repeat()),
            None if was_cut_short && self.machine.turn.grace.is_some() => self.last_chance_passed(),
            None if was_cut_short => self.continue_or_fail(),
            None => self.spoke_without_calls(text),
        }
    }

    /// `model.completed`, and before it what the model thought.
    pub(super) fn model_completed(
        &mut self,
        ask: ModelAsk,
        model: String,
        message: ContextMessage,
        finish_reason: Option<FinishReason>,
        metered: MeteredUsage,
        end: ReplyEnd,
    ) {
        let (cut, error) = match end {
            ReplyEnd::Whole => (false, None),
            ReplyEnd::Cut => (true, None),
            ReplyEnd::Failed(why) => (true, Some(why)),
        };
        let stream = ask.stream(&self.machine.terms.run);
        let thoughts = message.parts.iter().filter_map(|part| match part {
            MessagePart::Thought { text, .. } => Some(text.as_str()),
            _ => None,
        });
        let thought: String = thoughts.collect();
        if !thought.is_empty() {
            let body = ModelThought { stream: stream.clone(), subject: subject(&thought), text: thought };
            self.emit_with(body, PrivateEventFields::default(), Some(SubagentActivity::ThoughtChunk), None);
        }
        let calls = message.parts.iter().filter_map(|part| match part {
            MessagePart::ToolCall(request) => Some(request.call_id.clone()),
            _ => None,
        });
        let calls = calls.collect();
        let MeteredUsage { usage, is_estimate: estimated, is_unknown: usage_unknown, cost, first_token_ms } =
            metered;
        let text = message.text();
        let body = ModelCompleted {
            stream,
            model,
            text,
            cut,
            finish_reason,
            usage,
            estimated,
            usage_unknown,
            cost,
            first_token_ms,
            calls,
            error,
        };
        // An empty message joins no context: providers refuse them.
        let message = Some(message).filter(|it| !it.parts.is_empty());
        self.emit_with(body, PrivateEventFields { message, ..PrivateEventFields::default() }, None, None);
    }

    pub(super) fn continue_or_fail(&mut self) {
        if self.machine.turn.was_continued {
            let message = "the model's answer was cut off by the output limit, twice in a row".to_owned();
            return self.fail(RunErrorCode::ModelFailed, message);
        }
        self.nudge(NudgeReason::CutShort, nudges::CONTINUE);
        self.end_turn();
        self.next_turn();
    }

    pub(super) fn spoke_without_calls(&mut self, text: String) {
        let is_result = self.machine.start().completion == CompletionMode::Message && !text.trim().is_empty();
        if is_result && !self.machine.steers.is_empty() && self.machine.turn.grace.is_none() {
            // Somebody said something while the model wrote: that is answered first.
            self.end_turn();
            return self.next_turn();
        }
        let is_conversation = self.machine.start().completion == CompletionMode::Message;
        if is_conversation && self.ask_who_speaks_next(&text) {
            return;
        }
        if is_result {
            return self.hand_in(&text);
        }
        self.limit(RunEndReason::ErrorNoCompleteTaskCall);
    }

    /// What the model said last is the result of the run.
    pub(super) fn hand_in(&mut self, text: &str) {
        if self.machine.waits_for_hooks() {
            return;
        }
        self.end_turn();
        // A continued answer is one answer.
        let result = format!("{}{text}", self.machine.turn.cut_text);
        self.complete(CompletionResult { result, output: None });
    }

    fn model_failed(&mut self, ask: ModelAsk, failure: ModelFailure) {
        let RunPhase::Thinking { failures, .. } = self.machine.phase else { return };
        if failure.kind == FailureKind::TooLong {
            return self.too_long(ask, failure);
        }
        // With what it took the budget is gone: asking again would only spend more. The end that is for good has a reason
        // of its own, and in the grace turn the budget may be gone already.
        let is_for_good = matches!(failure.kind, FailureKind::Final(_)) || self.machine.turn.grace.is_some();
        let spent = failure.partial.spent();
        if !is_for_good && spent != UsageTotal::default() && self.machine.left().is_used_up_by(spent) {
            if !self.machine.asks_for_budget() {
                self.cut(Some(failure.partial));
                return self.limit(RunEndReason::Budget);
            }
            // The model is asked anew once a person has given the run more, and must not go on from half a sentence.
            let body = self.retrying(ask, failure.now, failure.message.clone(), &failure.partial);
            self.emit_with(body, PrivateEventFields::default(), Some(SubagentActivity::Error), None);
            return self.limit(RunEndReason::Budget);
        }
        // The one call that a run has left when its budget is gone (spec 03, "Terminal reasons").
        let is_last_call =
            self.machine.turn.grace.as_ref().is_some_and(|grace| grace.reason == RunEndReason::Budget);
        if is_last_call && spent != UsageTotal::default() {
            let message = format!("{} (in the last call that its budget allows)", failure.message);
            return self.model_gave_up(RunErrorCode::ModelFailed, message, failure.partial);
        }
        let hint = match failure.kind {
            FailureKind::Passing { retry_after_ms } => Duration::from_millis(retry_after_ms.unwrap_or(0)),
            _ => Duration::ZERO,
        };
        let has_failed_for_good = MAX_HINT < hint || MAX_TRIES <= failures + 1;
        // Of a model that took over, or was chosen by another, whoever started the run may know nothing: that it has no key,
        // or is not there, is no reason to end.
        let takes_over = match failure.kind {
            FailureKind::Passing { .. } => has_failed_for_good,
            FailureKind::Final(_) => *self.machine.model.name != *self.machine.start().model,
            FailureKind::Unusable | FailureKind::TooLong => false,
        };
        if takes_over && self.fall_back(ask, &failure, &failure.message) {
            return;
        }
        let ModelFailure { message, kind, partial, now, jitter } = failure;
        let max_tries = match kind {
            FailureKind::Final(code) => return self.model_gave_up(code, message, partial),
            FailureKind::Unusable => MAX_UNUSABLE_TRIES,
            FailureKind::Passing { .. } | FailureKind::TooLong => MAX_TRIES,
        };
        if max_tries <= failures + 1 {
            let message = format!("{message} (after {} tries)", failures + 1);
            return self.model_gave_up(RunErrorCode::ModelFailed, message, partial);
        }
        if MAX_HINT < hint {
            let message = format!("{message} (the provider asks to wait {} s)", hint.as_secs());
            return self.model_gave_up(RunErrorCode::ModelFailed, message, partial);
        }
        let ceiling = Duration::from_secs(1 << failures.min(5)).min(MAX_BACKOFF);
        let backoff = ceiling.mul_f64(jitter.clamp(0.0, 1.0)).max(hint);
        if self.time_left().is_some_and(|left| left < backoff) {
            return self.out_of_time_to_wait(backoff, &message, partial);
        }
        let body = self.retrying(ask, now.plus(backoff), message, &partial);
        self.emit_with(body, PrivateEventFields::default(), Some(SubagentActivity::Error), None);
    }

    /// What was begun counts no more, but for what it took; the model is asked again.
    pub(super) fn retrying(
        &self,
        ask: ModelAsk,
        not_before: Timestamp,
        message: String,
        partial: &PartialReply,
    ) -> ModelRetrying {
        let MeteredUsage { usage, is_estimate: estimated, is_unknown: usage_unknown, cost, first_token_ms } =
            partial.metered;
        let usage = Some(usage).filter(|usage| *usage != Usage::default());
        ModelRetrying {
            stream: ask.stream(&self.machine.terms.run),
            attempt: ask.attempt + 1,
            not_before,
            restarted: false,
            discarded: partial.was_shown(),
            message,
            model: (usage.is_some() || usage_unknown).then(|| self.machine.model.name.to_string()),
            cost: cost.filter(|_| usage.is_some()),
            estimated,
            usage_unknown,
            usage,
            first_token_ms,
        }
    }

    /// Of the run, or of its grace turn.
    fn time_left(&self) -> Option<Duration> {
        let due_us = self.machine.due_us()?;
        Some(Duration::from_micros(due_us.saturating_sub(self.machine.active_us())))
    }

    /// Waiting would only spend what is left: the time limit counts as reached, so that the grace turn has its chance.
    fn out_of_time_to_wait(&mut self, backoff: Duration, message: &str, partial: PartialReply) {
        if self.machine.turn.grace.is_some() {
            return self.last_chance_failed(message, partial);
        }
        self.cut(Some(partial));
        let seconds = backoff.as_secs_f64();
        let message =
            format!("{message} (asking again in {seconds:.1} s would be after the run's time limit)");
        self.stop(RunEndReason::Timeout, StopThen::Grace, None, message, None);
    }

    /// The stream that failed for good still ends in the log, with whatever it had said.
    pub(super) fn model_gave_up(&mut self, code: RunErrorCode, message: String, partial: PartialReply) {
        if self.machine.turn.grace.is_some() {
            return self.last_chance_failed(&message, partial);
        }
        self.cut(Some(partial));
        self.fail(code, message);
    }

    /// The request of the grace turn failed for good: the run ends for the reason that it had, and says what went wrong.
    fn last_chance_failed(&mut self, why: &str, partial: PartialReply) {
        let Some(grace) = &self.machine.turn.grace else { return };
        let reason = grace.reason;
        self.cut_with(Some(partial), ReplyEnd::Failed(why.to_owned()));
        self.end_turn();
        let message = format!("{}; in its last turn the model failed: {why}", self.why(reason));
        self.end_as(RunCompleted { message: Some(message), ..self.record(reason, None) });
    }

    /// The grace turn brought no result; the limit that was hit stays the reason. There is no second one.
    pub(super) fn last_chance_passed(&mut self) {
        let Some(grace) = &self.machine.turn.grace else { return };
        let reason = grace.reason;
        self.end_turn();
        self.end(reason, None);
    }

    /// Ends the model call that is in flight, keeping what it had said and counting what it took.
    pub(super) fn cut(&mut self, partial: Option<PartialReply>) {
        self.cut_with(partial, ReplyEnd::Cut);
    }

    fn cut_with(&mut self, partial: Option<PartialReply>, end: ReplyEnd) {
        let is_asking = matches!(&self.machine.phase, RunPhase::Thinking { stage: TurnStage::Asking, .. });
        let Some(ask) = self.machine.ask().filter(|_| is_asking) else { return };
        let PartialReply { text, thought, metered } = partial.unwrap_or_default();
        let mut parts = Vec::new();
        if !thought.is_empty() {
            parts.push(MessagePart::Thought { text: thought, signature: None });
        }
        if !text.is_empty() {
            parts.push(MessagePart::text(text));
        }
        let message = ContextMessage { role: MessageRole::Model, parts, raw: None };
        let model = self.machine.model.name.to_string();
        self.model_completed(ask, model, message, None, metered, end);
    }
}

/// The way in which a reply ended.
pub(super) enum ReplyEnd {
    Whole,
    /// Nobody waits for the rest.
    Cut,
    /// The request of a last turn failed, and this went wrong.
    Failed(String),
}

/// A thought's subject: its first `**bold**` span, else its first line (spec 01).
fn subject(thought: &str) -> String {
    let bold = thought.split_once("**").and_then(|(_, rest)| rest.split_once("**")).map(|(bold, _)| bold);
    let bold = bold.map(str::trim).filter(|bold| !bold.is_empty());
    let first_line = || thought.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    bold.unwrap_or_else(first_line).to_owned()
}
