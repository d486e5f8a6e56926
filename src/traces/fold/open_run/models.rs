//! Requests to models: of turns, and what the daemon asks beside them.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{
    AnsweredToolCall, CallId, CompressionSpan, LlmSpan, RequestedCall, ResultReplacement, SpanError,
    SpanKind, SpanStatus, SpanText, Timestamp, TraceSpan, Usage,
};

use super::{
    super::{EventMoment, SpanEdge, end, millis},
    OpenRun, OpenToolSpan, push_event,
};
use crate::{facts::EventFacts, text};

/// The error type of a request to a model that fails.
const MODEL_FAILED: &str = "MODEL_FAILED";

/// The error type of a reply that was cut since the model says the same again and again.
const LOOP_DETECTED: &str = "LOOP_DETECTED";

/// Calls of one reply that its span keeps by name; the docs say the same.
const MOST_REQUESTED: usize = 64;

/// Bytes of the arguments of such a call; the docs say the same.
const ARGUMENT_BYTES: usize = 4 * 1024;

/// A reply that is complete, until the log has told which calls it asks for.
#[derive(Debug)]
pub(super) struct UntoldReply {
    at: Timestamp,
    /// Calls of which nothing was told yet.
    asked: BTreeSet<CallId>,
    requested: Vec<RequestedCall>,
    /// Everything that began since.
    pub(super) later: Vec<SpanEdge>,
}

impl UntoldReply {
    /// True for what the log tells between a reply and the last of its calls.
    pub(super) fn is_about(&self, moment: EventMoment<'_>) -> bool {
        match moment.event.kind.as_str() {
            "tool.state" => moment.facts.text("callId").is_some_and(|call| self.asked.contains(call)),
            "thought" | "hook.started" | "hook.fired" => true,
            _ => false,
        }
    }

    /// Takes a call in, as far as it is known; true when that was the last one.
    pub(super) fn is_told(&mut self, moment: EventMoment<'_>, call: Option<&TraceSpan>) -> bool {
        let facts = moment.facts;
        let Some(call_id) = facts.text("callId").filter(|_| moment.event.kind == "tool.state") else {
            return false;
        };
        self.asked.remove(call_id);
        if self.requested.len() < MOST_REQUESTED {
            // Perf: written once already, where the call is still open.
            let known = call.and_then(|span| span.input.as_ref()).filter(|input| input.bytes.is_none());
            let written = || facts.has("arguments").then(|| facts.value("arguments").to_string());
            let is_short = |text: &str| text.len() <= ARGUMENT_BYTES;
            let arguments = match known {
                Some(input) => is_short(&input.text).then(|| input.text.clone()),
                None => written().filter(|text| is_short(text)),
            };
            let (call_id, tool) = (call_id.into(), facts.text("name").unwrap_or_default().into());
            self.requested.push(RequestedCall { call_id, tool, arguments });
        }
        self.asked.is_empty()
    }
}

/// Messages that no model has answered yet.
#[derive(Debug, Default)]
pub(super) struct UnreadMessages {
    /// The prompt, or what a person said since.
    said: Option<SpanText>,
    answered: Vec<AnsweredToolCall>,
    /// The number of further calls.
    more_answered: u64,
    /// Calls that hooks make, with the ones in whose place the model reads what comes of them.
    follow_ups: BTreeMap<CallId, CallId>,
    /// Calls of which a hook has said what the model reads in place of their results.
    replaced: BTreeSet<CallId>,
}

impl UnreadMessages {
    /// A run begins with this prompt.
    pub(super) fn of_prompt(prompt: Option<&SpanText>) -> UnreadMessages {
        UnreadMessages { said: prompt.cloned(), ..UnreadMessages::default() }
    }

    pub(super) fn steered(&mut self, said: &str) {
        let all = match self.said.take() {
            Some(before) => format!("{}\n\n{said}", before.text),
            None => said.to_owned(),
        };
        self.said = text::said(&all);
    }

    /// A call has ended.
    pub(super) fn answered(&mut self, call: &TraceSpan) {
        let Some(tool) = &call.tool else { return };
        if let Some(first) = self.follow_ups.get(&tool.call_id) {
            // The model knows of the first one alone.
            let result = call.output.as_ref().map(|output| text::cut(output, ARGUMENT_BYTES));
            self.answered
                .iter_mut()
                .filter(|it| it.call_id == *first)
                .for_each(|it| it.result.clone_from(&result));
            return;
        }
        if MOST_REQUESTED <= self.answered.len() {
            self.more_answered = self.more_answered.saturating_add(1);
            return;
        }
        let result = call.output.as_ref().map(|output| text::cut(output, ARGUMENT_BYTES));
        self.answered.push(AnsweredToolCall {
            call_id: tool.call_id.clone(),
            tool: tool.tool.clone(),
            result,
        });
    }

    /// A hook was told of a call that has ended: the model reads what it says in place of the result. Events of earlier versions say only
    /// that the result is another one or is withheld.
    pub(super) fn hooked(&mut self, facts: EventFacts<'_>) {
        let Some(call_id) = facts.text("callId").map(CallId::from) else { return };
        // Of a call that follows another the model reads the result as the first one's.
        let first = self.follow_ups.get(&call_id).cloned().unwrap_or(call_id);
        let mut is_other = facts.flag("changed") || is_withheld(facts);
        let mut result = None;
        if let Some(replacement) = facts.read::<ResultReplacement>("replacement") {
            self.replaced.insert(first.clone());
            is_other = true;
            let ResultReplacement { text, bytes, .. } = replacement;
            result = Some(SpanText { text, bytes }).filter(|said| !said.text.is_empty());
        } else if self.replaced.contains(&first) {
            is_other = false;
        }
        if let Some(follow_up) = facts.text("followUp").map(CallId::from) {
            (is_other, result) = (true, None);
            self.replaced.remove(&first);
            self.follow_ups.insert(follow_up, first.clone());
        }
        if is_other {
            self.answered
                .iter_mut()
                .filter(|it| it.call_id == first)
                .for_each(|it| it.result.clone_from(&result));
        }
    }

    /// A request that brought them was not answered: they go with the next one.
    fn put_back(&mut self, request: &TraceSpan) {
        let Some(llm) = &request.llm else { return };
        self.said = request.input.clone();
        (self.answered, self.more_answered) = (llm.answered.clone(), llm.more_answered);
    }
}

impl OpenRun {
    pub(super) fn apply_model(&mut self, moment: EventMoment<'_>, edges: &mut Vec<SpanEdge>) {
        match moment.event.kind.as_str() {
            "model.started" => self.model_started(moment, edges),
            "model.retrying" => self.model_retrying(moment, edges),
            "model.completed" => self.model_completed(moment, edges),
            "model.fallback" => {
                let EventMoment { at, facts, .. } = moment;
                if let Some(span) = &self.model {
                    self.unread.put_back(span);
                }
                let message = facts.word("message");
                let error = SpanError { kind: MODEL_FAILED.to_owned(), message };
                self.end_model(at, SpanStatus::Error, Some(error), edges);
                self.note(moment, &format!("to {}", facts.text("to").unwrap_or_default()));
            }
            "model.routed" => {
                self.end_side_call(moment.at, SpanStatus::Ok, edges);
                self.note(moment, moment.facts.text("model").unwrap_or_default());
            }
            "sideCall.started" => self.side_call_started(moment, edges),
            "sideCall.completed" => self.side_call_completed(moment, edges),
            "context.compressed" => self.compressed(moment, edges),
            _ => {}
        }
    }

    fn model_started(&mut self, moment: EventMoment<'_>, edges: &mut Vec<SpanEdge>) {
        self.end_side_call(moment.at, SpanStatus::Ok, edges);
        self.end_model(moment.at, SpanStatus::Cancelled, None, edges);
        let model = moment.facts.word("model");
        let mut span = self.span_within(moment, SpanKind::Llm, model.clone());
        let attempt = moment.facts.count("attempt");
        let UnreadMessages { said, answered, more_answered, .. } = std::mem::take(&mut self.unread);
        span.input = said;
        let again = std::mem::take(&mut self.is_cut_off);
        span.llm =
            Some(Box::new(LlmSpan { model, attempt, repeated_after_restart: again, ..LlmSpan::default() }));
        edges.push(SpanEdge::Began(Box::new(span.clone())));
        if let Some(llm) = &mut span.llm {
            (llm.answered, llm.more_answered) = (answered, more_answered);
        }
        self.model = Some(span);
    }

    fn model_retrying(&mut self, moment: EventMoment<'_>, edges: &mut Vec<SpanEdge>) {
        let EventMoment { at, facts, .. } = moment;
        let message = facts.word("message");
        if let Some(span) = &mut self.model {
            span.usage = facts.read("usage");
            span.cost = facts.read("cost");
            let llm = span.llm.get_or_insert_with(Box::default);
            llm.first_token_ms = facts.count("firstTokenMs");
            llm.retry_after_ms = facts.read("notBefore").map(|then| millis(at, then));
            llm.estimated = facts.flag("estimated");
            // Earlier versions did not say it.
            let was_lost = facts.flag("restarted") && span.usage.is_none() && protocol::is_served(&llm.model);
            llm.usage_unknown = facts.flag("usageUnknown") || was_lost;
            let is_untold = llm.usage_unknown && !facts.flag("usageUnknown");
            self.unread.put_back(span);
            self.facts().uncounted_requests += u64::from(is_untold);
        }
        self.count_unsure(facts);
        self.is_cut_off = facts.flag("restarted");
        let (status, error) = match self.is_cut_off {
            true => (SpanStatus::Cancelled, None),
            false => (
                SpanStatus::Error,
                Some(SpanError { kind: MODEL_FAILED.to_owned(), message: message.clone() }),
            ),
        };
        self.end_model(at, status, error, edges);
        self.note(moment, &message);
    }

    fn model_completed(&mut self, moment: EventMoment<'_>, edges: &mut Vec<SpanEdge>) {
        let EventMoment { at, facts, .. } = moment;
        // One whose beginning was not told.
        if self.model.is_none() {
            let is_unread = self.span.began_before;
            self.model_started(moment, edges);
            if let Some(span) = &mut self.model {
                span.began_before = is_unread;
            }
        }
        let is_cut = facts.flag("cut");
        let usage: Option<Usage> = facts.read("usage");
        let is_untold = facts.flag("usageUnknown");
        self.count_unsure(facts);
        let Some(span) = &mut self.model else { return };
        let model = facts.word("model");
        span.output = facts.text("text").and_then(text::said);
        span.usage = usage.filter(|_| !is_untold);
        span.cost = facts.read("cost").filter(|_| !is_untold);
        span.name.clone_from(&model);
        let llm = span.llm.get_or_insert_with(Box::default);
        llm.model = model;
        llm.first_token_ms = facts.count("firstTokenMs");
        llm.finish_reason = finish_reason(moment);
        llm.cut = is_cut;
        llm.estimated = facts.flag("estimated");
        llm.usage_unknown = is_untold;
        let calls = facts.list("calls").iter().filter_map(|call| call.as_str()).map(CallId::from);
        let asked: BTreeSet<CallId> = calls.collect();
        llm.calls = asked.len() as u64;
        if let Some(why) = facts.owned("error") {
            // Of the last turn: no other request follows, and the run ends for the reason that it had before.
            let error = SpanError { kind: MODEL_FAILED.to_owned(), message: why };
            self.failure = Some(error.clone());
            self.end_model(at, SpanStatus::Error, Some(error), edges);
        } else if is_cut {
            self.cut_at = Some(at);
        } else if asked.is_empty() {
            self.end_model(at, SpanStatus::Ok, None, edges);
        } else {
            self.replied = Some(UntoldReply { at, asked, requested: Vec::new(), later: Vec::new() });
        }
    }

    /// Ends the request that was answered, and then lets come what has come since.
    pub(super) fn end_reply(&mut self, reply: UntoldReply, edges: &mut Vec<SpanEdge>) {
        if let Some(llm) = self.model.as_mut().and_then(|span| span.llm.as_mut()) {
            llm.requested = reply.requested;
        }
        self.end_model(reply.at, SpanStatus::Ok, None, edges);
        edges.extend(reply.later);
    }

    /// Ends the request of the turn, if there is one.
    pub(super) fn end_model(
        &mut self,
        at: Timestamp,
        status: SpanStatus,
        error: Option<SpanError>,
        edges: &mut Vec<SpanEdge>,
    ) {
        let at = self.cut_at.take().unwrap_or(at);
        let Some(mut span) = self.model.take() else { return };
        span.error = error;
        end(&mut span, at, status);
        edges.push(SpanEdge::Ended(Box::new(span)));
    }

    /// The run goes round in circles. A reply that was cut for it ends so.
    pub(super) fn loop_detected(&mut self, moment: EventMoment<'_>, edges: &mut Vec<SpanEdge>) {
        let said = moment.facts.word("message");
        if self.cut_at.is_some() {
            let error = SpanError { kind: LOOP_DETECTED.to_owned(), message: said.clone() };
            self.end_model(moment.at, SpanStatus::Error, Some(error), edges);
        }
        self.note(moment, &said);
    }

    fn side_call_started(&mut self, moment: EventMoment<'_>, edges: &mut Vec<SpanEdge>) {
        self.end_side_call(moment.at, SpanStatus::Ok, edges);
        let purpose = moment.facts.word("purpose");
        let span = match purpose.as_str() {
            "compression" => {
                let mut span = self.span_within(moment, SpanKind::Compression, purpose);
                span.compression = Some(Box::default());
                span
            }
            _ => {
                let model = moment.facts.word("model");
                let mut span = self.span_within(moment, SpanKind::Llm, model.clone());
                span.llm = Some(Box::new(LlmSpan { model, purpose: Some(purpose), ..LlmSpan::default() }));
                span
            }
        };
        self.side_call_ended_at = Some(moment.at);
        edges.push(SpanEdge::Began(Box::new(span.clone())));
        self.side_call = Some(span);
    }

    fn side_call_completed(&mut self, moment: EventMoment<'_>, edges: &mut Vec<SpanEdge>) {
        let EventMoment { at, facts, .. } = moment;
        self.count_unsure(facts);
        let is_awaited = match &self.side_call {
            _ if facts.has("callId") => false,
            Some(open) => open.kind == SpanKind::Llm,
            None => false,
        };
        if is_awaited {
            if let Some(mut span) = self.side_call.take() {
                let status = fill(&mut span, moment);
                end(&mut span, at, status);
                edges.push(SpanEdge::Ended(Box::new(span)));
            }
            if facts.flag("abandoned") {
                // Where it is asked once more, that begins here.
                self.side_call_ended_at = Some(at);
            }
            return;
        }
        let model = facts.word("model");
        if facts.has("hookId") {
            return self.side_call_of_hook(moment, model);
        }
        // Told as a whole: of a call when that ends, of a compression when it answered.
        let caller = facts.text("callId").and_then(|call| self.calls.get(call)).map(OpenToolSpan::innermost);
        let compression = self.side_call.as_ref().filter(|_| !facts.has("callId"));
        let mut span = match caller.or(compression) {
            Some(around) => self.span_below(&around.span_id, around.lane, moment, SpanKind::Llm, model),
            None => self.span_within(moment, SpanKind::Llm, model),
        };
        let from_us = caller.or(compression).unwrap_or(&self.span).start_us;
        // A question of the daemon's own says no times, but for one that was given up.
        let is_own = caller.is_none() && !facts.has("callId");
        let ended = match self.side_call_ended_at.filter(|_| is_own) {
            Some(from) => {
                begin_at(&mut span, from);
                self.side_call_ended_at = Some(at);
                at
            }
            None => asked_within(&mut span, from_us, moment),
        };
        let status = fill(&mut span, moment);
        edges.push(SpanEdge::Began(Box::new(span.clone())));
        end(&mut span, ended, status);
        edges.push(SpanEdge::Ended(Box::new(span)));
    }

    /// The hook that asked is told next, with its own time.
    fn side_call_of_hook(&mut self, moment: EventMoment<'_>, model: String) {
        let from_us = self.turn.as_ref().unwrap_or(&self.span).start_us;
        let mut span = self.span_within(moment, SpanKind::Llm, model);
        let ended = asked_within(&mut span, from_us, moment);
        let status = fill(&mut span, moment);
        end(&mut span, ended, status);
        self.hooks.asked(moment.facts, span);
    }

    fn compressed(&mut self, moment: EventMoment<'_>, edges: &mut Vec<SpanEdge>) {
        let EventMoment { at, facts, .. } = moment;
        let is_open = self.side_call.as_ref().is_some_and(|span| span.kind == SpanKind::Compression);
        let mut span = match self.side_call.take_if(|_| is_open) {
            Some(span) => span,
            None => {
                let span = self.span_within(moment, SpanKind::Compression, "compression".to_owned());
                edges.push(SpanEdge::Began(Box::new(span.clone())));
                span
            }
        };
        let count = |key: &str| facts.count(key).unwrap_or_default();
        let status = facts.word("status");
        let is_well = !status.starts_with("COMPRESSION_FAILED");
        if !is_well {
            let message = facts.word("message");
            span.error = Some(SpanError { kind: status.clone(), message });
        }
        span.compression = Some(Box::new(CompressionSpan {
            status: Some(status),
            tokens_before: count("tokensBefore"),
            tokens_after: count("tokensAfter"),
            messages_before: count("messagesBefore"),
            messages_after: count("messagesAfter"),
        }));
        end(&mut span, at, if is_well { SpanStatus::Ok } else { SpanStatus::Error });
        edges.push(SpanEdge::Ended(Box::new(span)));
    }

    /// Ends what was asked beside the turns, when the run goes on without having told of an answer.
    pub(super) fn end_side_call(&mut self, at: Timestamp, status: SpanStatus, edges: &mut Vec<SpanEdge>) {
        let Some(mut span) = self.side_call.take() else { return };
        end(&mut span, at, status);
        edges.push(SpanEdge::Ended(Box::new(span)));
    }
}

/// A span that begins at another time than its event is told.
fn begin_at(span: &mut TraceSpan, at: Timestamp) {
    (span.started_at, span.start_us) = (at, at.0);
}

/// Has a span begin when its request was made, as far as the event says so, but not before what it lies in; answers when it ended.
fn asked_within(span: &mut TraceSpan, from_us: i64, moment: EventMoment<'_>) -> Timestamp {
    let Some(duration_ms) = moment.facts.count("durationMs") else { return moment.at };
    let took = i64::try_from(duration_ms).unwrap_or(i64::MAX).saturating_mul(1_000);
    let from = moment.at.0.saturating_sub(moment.since("askedAt").max(took)).max(from_us);
    begin_at(span, Timestamp(from));
    Timestamp(from.saturating_add(took).min(moment.at.0))
}

/// Fills in the answer to a request of the daemon's own.
fn fill(span: &mut TraceSpan, moment: EventMoment<'_>) -> SpanStatus {
    let facts = moment.facts;
    let model = facts.word("model");
    span.name.clone_from(&model);
    let is_untold = facts.flag("usageUnknown");
    let usage: Option<Usage> = facts.read("usage");
    span.usage = usage.filter(|usage| !is_untold || usage.total() != 0);
    span.cost = facts.read("cost").filter(|_| span.usage.is_some());
    span.output = facts.text("text").and_then(text::said);
    span.llm = Some(Box::new(LlmSpan {
        model,
        purpose: facts.owned("purpose"),
        hook_id: facts.owned("hookId"),
        estimated: facts.flag("estimated"),
        usage_unknown: is_untold,
        ..LlmSpan::default()
    }));
    let Some(message) = facts.text("error") else { return SpanStatus::Ok };
    span.error = Some(SpanError { kind: MODEL_FAILED.to_owned(), message: message.to_owned() });
    push_event(span, moment, message);
    match facts.flag("abandoned") {
        true => {
            span.error = None;
            SpanStatus::Cancelled
        }
        false => SpanStatus::Error,
    }
}

/// True if a hook that was told of a result keeps the model from reading it.
fn is_withheld(facts: EventFacts<'_>) -> bool {
    let is_after = matches!(facts.text("event"), Some("PostToolUse" | "PostToolUseFailure"));
    is_after && facts.text("decision") == Some("deny")
}

/// `stop`, `length`, or the name of one that says more.
fn finish_reason(moment: EventMoment<'_>) -> Option<String> {
    let reason = moment.facts.value("finishReason");
    let named = || reason.as_object()?.keys().next().cloned();
    reason.as_str().map(str::to_owned).or_else(named)
}
