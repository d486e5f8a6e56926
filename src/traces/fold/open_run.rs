//! One run that has not ended, with the spans that are open in it.

mod calls;
mod changes;
mod edited;
mod hooks;
mod models;
mod people;
mod results;
mod standing;
mod steering;
mod totals;
mod versions;

use std::collections::BTreeMap;

use protocol::{
    CallId, ConfirmationId, RunId, RunSpan, SpanError, SpanEvent, SpanId, SpanKind, SpanStatus, Timestamp,
    TraceSpan,
};

use self::{
    calls::{CallLanes, OpenToolSpan},
    edited::EditedCallHooks,
    hooks::HookSpans,
    models::{UnreadMessages, UntoldReply},
    people::OpenQuestion,
    results::UnsettledResults,
    standing::RunStanding,
    totals::sum_up,
};
use super::{EventMoment, SpanEdge, end, millis};
use crate::text;

/// Events that one span keeps; the docs say the same.
const MOST_EVENTS: usize = 64;

/// Files that one span keeps; the docs say the same.
const MOST_FILES: usize = 100;

#[derive(Debug)]
pub(super) struct OpenRun {
    pub(super) span: TraceSpan,
    turn: Option<TraceSpan>,
    /// The model is being asked.
    model: Option<TraceSpan>,
    /// The end of its reply, when that was cut: what the log tells next says whether it failed or was stopped.
    cut_at: Option<Timestamp>,
    /// The daemon ended while the model was asked, and it is asked the same again.
    is_cut_off: bool,
    /// A reply that is complete, and asks for calls of which the log tells next.
    replied: Option<UntoldReply>,
    /// What the next request brings along.
    unread: UnreadMessages,
    /// It ends since something failed.
    failure: Option<SpanError>,
    /// A question of the daemon's own beside the turns: a compression, or a request.
    side_call: Option<TraceSpan>,
    /// The end of the last request of a compression.
    side_call_ended_at: Option<Timestamp>,
    calls: BTreeMap<CallId, OpenToolSpan>,
    /// Calls that have ended, and about whose results hooks are asked.
    results: UnsettledResults,
    lanes: CallLanes,
    hooks: HookSpans,
    edited: EditedCallHooks,
    questions: BTreeMap<ConfirmationId, OpenQuestion>,
    /// Somebody cancelled it.
    is_aborted: bool,
    /// Its turn is the last one, in which only handing in is left.
    is_grace: bool,
    /// It ends, and its model reads nothing more.
    is_ending: bool,
    /// The event before this one, of the run or of one below it.
    told_at: Timestamp,
    /// The last one of its own.
    own_told_at: Timestamp,
    /// The longest time without events before a run below was taken up by another daemon, since this run was.
    away_below: Option<AwayBelow>,
    standing: RunStanding,
}

/// The time without a daemon before a run below was taken up.
#[derive(Debug)]
struct AwayBelow {
    ms: u64,
    start: Option<u64>,
}

/// Tells the starts of daemons apart, where the log says how long there was none before: hardly ever as long twice.
fn start_of(resumed: EventMoment<'_>) -> Option<u64> {
    resumed.facts.count("awayMs")
}

impl OpenRun {
    /// A run that begins with this event, below another of which the fold knows.
    pub(super) fn begin(run_id: &RunId, parent: Option<&OpenRun>, moment: EventMoment<'_>) -> OpenRun {
        let head = &moment.event.head;
        let begins = matches!(moment.event.kind.as_str(), "run.queued" | "run.started");
        let started = match moment.event.kind.as_str() {
            "run.queued" => moment.facts.within("run"),
            _ => moment.facts,
        };
        let call: Option<CallId> = begins.then(|| started.text("parentCallId")).flatten().map(CallId::from);
        let parent_span_id = parent.map(|parent| {
            let caller = call.as_ref().and_then(|call| parent.calls.get(call));
            caller.map_or(&parent.span.span_id, |call| &call.span.span_id).clone()
        });
        let named_root = begins.then(|| started.text("rootRunId")).flatten().map(RunId::from);
        let trace_id = parent.map(|parent| parent.span.trace_id.clone()).or(named_root);
        let depth = head.agent_path.len().saturating_sub(1);
        let agent = head.agent.clone();
        let span = TraceSpan {
            trace_id: trace_id.unwrap_or_else(|| run_id.clone()),
            // The event that it begins with has a span of its own.
            span_id: if begins { moment.span_id() } else { moment.span_id_of_unread() },
            parent_span_id,
            traceparent: parent.map_or_else(
                || if begins { started.read("traceparent") } else { None },
                |parent| parent.span.traceparent,
            ),
            name: agent.as_ref().map_or_else(|| "run".to_owned(), ToString::to_string),
            run_id: run_id.clone(),
            session_id: moment.event.session_id.clone(),
            agent,
            depth: u32::try_from(depth).unwrap_or(u32::MAX),
            run: Some(Box::new(RunSpan {
                parent_run_id: head.parent_run_id.clone(),
                parent_call_id: call,
                ..RunSpan::default()
            })),
            began_before: !begins,
            ..blank(moment)
        };
        let mut run = OpenRun {
            span,
            turn: None,
            model: None,
            cut_at: None,
            is_cut_off: false,
            replied: None,
            unread: UnreadMessages::default(),
            failure: None,
            side_call: None,
            side_call_ended_at: None,
            calls: BTreeMap::new(),
            results: UnsettledResults::default(),
            lanes: CallLanes::default(),
            hooks: HookSpans::default(),
            edited: EditedCallHooks::default(),
            is_aborted: false,
            is_grace: false,
            is_ending: false,
            questions: BTreeMap::new(),
            told_at: moment.at,
            own_told_at: moment.at,
            away_below: None,
            standing: RunStanding::default(),
        };
        if begins {
            let read = started.text("query").or(started.text("prompt")).unwrap_or_default();
            let asked = started.text("prompt").unwrap_or(read);
            let query = text::said(read);
            run.span.input = text::said(asked);
            run.unread = UnreadMessages::of_prompt(query.as_ref());
            run.facts().query = query.filter(|_| read != asked);
            let initiator = started.within("approval").owned("initiator");
            let facts = run.facts();
            facts.model = started.word("model");
            facts.prompt_sources = started.read("promptSources");
            facts.started_by = head.by.clone().or(initiator);
        }
        run
    }

    pub(super) fn is_over(&self) -> bool {
        self.span.ended_at.is_some()
    }

    /// The run that called it.
    pub(super) fn parent(&self) -> Option<&RunId> {
        self.span.run.as_ref()?.parent_run_id.as_ref()
    }

    /// A run below it did something. `is_taken_up`: it was taken up by a daemon, as this one is sooner or later.
    pub(super) fn heard_from_below(&mut self, moment: EventMoment<'_>, is_taken_up: bool) {
        let (ms, start) = (millis(away_from(self.told_at, moment), moment.at), start_of(moment));
        if is_taken_up && self.away_below.as_ref().is_none_or(|known| known.start != start || known.ms < ms) {
            self.away_below = Some(AwayBelow { ms, start });
        }
        self.told_at = moment.at;
    }

    /// All that is open, the run itself first. What a reply asked for has not begun before all of it is told.
    pub(super) fn open(&self, until: impl Fn(Timestamp) -> Timestamp) -> impl Iterator<Item = TraceSpan> {
        let untold = |span: &TraceSpan| {
            let later = self.replied.iter().flat_map(|reply| &reply.later);
            later.into_iter().any(|edge| edge.span().span_id == span.span_id)
        };
        let alone = [self.turn.as_ref(), self.model.as_ref(), self.side_call.as_ref()];
        let calls = self.calls.values().flat_map(|call| [Some(&call.span), call.request.as_ref()]).flatten();
        let questions = self.questions.values().map(OpenQuestion::so_far);
        let all = alone
            .into_iter()
            .flatten()
            .chain(calls)
            .cloned()
            .chain(questions)
            .chain(self.hooks.open().cloned());
        let all = all.filter(move |span| !untold(span)).chain(self.results.so_far());
        std::iter::once(self.so_far(until(self.told_at))).chain(all)
    }

    pub(super) fn apply(&mut self, moment: EventMoment<'_>, edges: &mut Vec<SpanEdge>) {
        let resumed = self.standing.resumed.take();
        let is_cut_off = moment.event.kind == "model.retrying" && moment.facts.flag("restarted");
        let (before, after) = if is_cut_off { (None, resumed) } else { (resumed, None) };
        edges.extend(before);
        self.apply_in_order(moment, edges);
        edges.extend(after);
        (self.told_at, self.own_told_at) = (moment.at, moment.at);
    }

    fn apply_in_order(&mut self, moment: EventMoment<'_>, edges: &mut Vec<SpanEdge>) {
        self.tell_edited_before(moment, edges);
        let Some(mut reply) = self.replied.take() else {
            self.apply_fact(moment, edges);
            return self.tell_edited_after(moment, edges);
        };
        if !reply.is_about(moment) {
            self.end_reply(reply, edges);
            return self.apply_fact(moment, edges);
        }
        // The reply ended before what it asks for began.
        self.apply_fact(moment, &mut reply.later);
        let call = moment.facts.text("callId").and_then(|call| self.calls.get(call));
        match reply.is_told(moment, call.map(|call| &call.span)) {
            true => self.end_reply(reply, edges),
            false => self.replied = Some(reply),
        }
    }

    fn apply_fact(&mut self, moment: EventMoment<'_>, edges: &mut Vec<SpanEdge>) {
        let EventMoment { at, facts, .. } = moment;
        if self.cut_at.is_some()
            && !matches!(
                moment.event.kind.as_str(),
                "run.stopping" | "loop.detected" | "hook.started" | "hook.fired"
            )
        {
            self.end_model(at, SpanStatus::Cancelled, None, edges);
        }
        match moment.event.kind.as_str() {
            "run.started" => self.leave_queue(at),
            "run.queued" | "run.waiting" | "run.parked" | "run.resumed" => self.apply_standing(moment, edges),
            "run.stopping" => self.stopping(moment, edges),
            "run.completed" => self.complete(moment, edges),
            "run.steered" => self.steered(moment),
            "turn.started" => self.turn_started(moment, edges),
            "turn.completed" => self.turn_completed(moment, edges),
            "model.started" => {
                // A run that gave its place away and got another one begins nothing else.
                self.leave_queue(at);
                self.apply_model(moment, edges);
            }
            "model.retrying" | "model.completed" | "model.fallback" | "model.routed" | "sideCall.started"
            | "sideCall.completed" | "context.compressed" => self.apply_model(moment, edges),
            "tool.state" | "file.changed" => self.apply_call(moment, edges),
            "confirmation.requested"
            | "confirmation.edited"
            | "confirmation.revised"
            | "confirmation.resolved" => self.apply_question(moment, edges),
            "hook.started" => self.hook_started(moment, edges),
            "hook.fired" => self.hook_fired(moment, edges),
            "run.toolsChanged" | "context.cleared" => self.note(moment, ""),
            "loop.detected" => self.loop_detected(moment, edges),
            "context.nudged" => self.note(moment, facts.text("reason").unwrap_or_default()),
            "budget.warning" => self.note(moment, facts.text("kind").unwrap_or_default()),
            "budget.raised" => self.note(moment, &facts.value("limits").to_string()),
            "route.selected" => self.note(moment, facts.within("trigger").text("intent").unwrap_or_default()),
            "warning" => {
                // The run is named where it is told.
                let (said, agent) = (facts.text("message").unwrap_or_default(), &self.span.name);
                let said = said
                    .strip_prefix(agent.as_str())
                    .and_then(|said| said.strip_prefix(": "))
                    .unwrap_or(said);
                self.note(moment, said);
            }
            "skill.activated" => {
                let extension = facts.within("extension").text("name");
                let of = extension.map(|name| format!(", of the extension {name}")).unwrap_or_default();
                self.note(moment, &format!("{}{of}", facts.text("name").unwrap_or_default()));
            }
            "memory.saved" => self.note(moment, facts.text("fact").unwrap_or_default()),
            _ => {}
        }
    }

    fn turn_started(&mut self, moment: EventMoment<'_>, edges: &mut Vec<SpanEdge>) {
        self.end_side_call(moment.at, SpanStatus::Ok, edges);
        self.end_turn(moment.at, SpanStatus::Cancelled, edges);
        self.hooks.forget_calls();
        let number = moment.facts.count("turn").and_then(|turn| u32::try_from(turn).ok()).unwrap_or_default();
        let mut span = self.span_within(moment, SpanKind::Turn, format!("turn {number}"));
        span.turn = Some(number);
        self.facts().turns = u64::from(number);
        let grace = moment.facts.text("grace");
        self.is_grace = grace.is_some();
        if let Some(grace) = grace {
            push_event(&mut span, moment, &format!("the last one, after {grace}"));
        }
        edges.push(SpanEdge::Began(Box::new(span.clone())));
        self.turn = Some(span);
    }

    fn turn_completed(&mut self, moment: EventMoment<'_>, edges: &mut Vec<SpanEdge>) {
        // The turn of a run that was cancelled is told to be complete, too.
        let status = match (self.is_aborted, &self.failure) {
            (true, _) => SpanStatus::Cancelled,
            (_, Some(_)) => SpanStatus::Error,
            _ => SpanStatus::Ok,
        };
        self.end_turn(moment.at, status, edges);
    }

    /// Ends the turn and all that is open in it. What has no end of its own was cut off.
    fn end_turn(&mut self, at: Timestamp, status: SpanStatus, edges: &mut Vec<SpanEdge>) {
        self.end_model(at, SpanStatus::Cancelled, None, edges);
        self.hooks.tell_asked(edges);
        self.end_side_call(at, status, edges);
        self.end_questions(at, edges);
        let of_run = self.span.span_id.clone();
        self.end_hooks(at, |hook| hook.parent_span_id.as_ref() != Some(&of_run), edges);
        self.end_calls(at, edges);
        let Some(mut turn) = self.turn.take() else { return };
        turn.error = self.failure.clone().filter(|_| status == SpanStatus::Error);
        end(&mut turn, at, status);
        edges.push(SpanEdge::Ended(Box::new(turn)));
    }

    fn stopping(&mut self, moment: EventMoment<'_>, edges: &mut Vec<SpanEdge>) {
        let EventMoment { at, facts, .. } = moment;
        self.is_aborted |= facts.text("reason") == Some("ABORTED");
        self.is_ending |= !matches!(facts.text("then"), Some("grace" | "ask"));
        if let Some(by) = &moment.event.head.by {
            self.facts().stopped_by = Some(by.clone());
        }
        let message = facts.text("message").unwrap_or_default();
        if let Some(code) = facts.within("error").text("code") {
            let error = SpanError { kind: code.to_owned(), message: message.to_owned() };
            self.failure = Some(error.clone());
            self.end_model(at, SpanStatus::Error, Some(error), edges);
        } else if self.cut_at.is_some() {
            self.end_model(at, SpanStatus::Cancelled, None, edges);
        }
        // That it reached its goal is told by its end.
        if facts.text("reason") != Some("GOAL") {
            self.note(moment, message);
        }
    }

    fn complete(&mut self, moment: EventMoment<'_>, edges: &mut Vec<SpanEdge>) {
        let EventMoment { at, facts, .. } = moment;
        let reason = facts.word("reason");
        let status = match reason.as_str() {
            "GOAL" => SpanStatus::Ok,
            "ABORTED" => SpanStatus::Cancelled,
            _ => SpanStatus::Error,
        };
        self.end_turn(at, if status == SpanStatus::Ok { status } else { SpanStatus::Cancelled }, edges);
        self.outlive_hooks(at, edges);
        self.end_hooks(at, |_| true, edges);
        self.end_waits(at);
        let files = facts.list("filesChanged").iter().filter_map(|path| path.as_str());
        let files_changed = files.take(MOST_FILES).map(str::to_owned).collect();
        let run = self.facts();
        run.reason = Some(reason.clone());
        run.message = facts.owned("message");
        run.turns = facts.count("turns").unwrap_or_default();
        run.tool_calls = facts.count("toolCalls").unwrap_or_default();
        run.active_ms = facts.count("activeMs").unwrap_or_default();
        run.files_changed = files_changed;
        sum_up(run, facts);
        let span = &mut self.span;
        span.usage = facts.read("usage");
        span.cost = facts.read("cost");
        span.output = facts.text("result").or(facts.text("partialResult")).and_then(text::said);
        if status == SpanStatus::Error {
            let error = facts.within("error");
            let message = error.text("message").or(facts.text("message")).unwrap_or_default().to_owned();
            span.error = Some(SpanError { kind: error.owned("code").unwrap_or(reason), message });
        }
        end(span, at, status);
        edges.push(SpanEdge::Ended(Box::new(span.clone())));
    }

    /// Fields that only runs have.
    fn facts(&mut self) -> &mut RunSpan {
        self.span.run.get_or_insert_with(Box::default)
    }

    /// A span of this run that begins now, in its turn if there is one.
    fn span_within(&self, moment: EventMoment<'_>, kind: SpanKind, name: String) -> TraceSpan {
        let parent = self.turn.as_ref().unwrap_or(&self.span);
        self.span_below(&parent.span_id, parent.lane, moment, kind, name)
    }

    /// A span of this run that begins now, within another.
    fn span_below(
        &self,
        parent: &SpanId,
        lane: u32,
        moment: EventMoment<'_>,
        kind: SpanKind,
        name: String,
    ) -> TraceSpan {
        let run = &self.span;
        TraceSpan {
            trace_id: run.trace_id.clone(),
            traceparent: run.traceparent,
            span_id: moment.span_id(),
            parent_span_id: Some(parent.clone()),
            kind,
            name,
            run_id: run.run_id.clone(),
            session_id: run.session_id.clone(),
            agent: run.agent.clone(),
            run_number: run.run_number,
            turn: self.turn.as_ref().and_then(|turn| turn.turn),
            depth: run.depth,
            lane,
            ..blank(moment)
        }
    }

    /// Notes that something happened, in the turn if there is one.
    fn note(&mut self, moment: EventMoment<'_>, said: &str) {
        push_event(self.turn.as_mut().unwrap_or(&mut self.span), moment, said);
    }
}

/// A span of a run that begins now, and of which nothing is known.
fn blank(moment: EventMoment<'_>) -> TraceSpan {
    let nobody = RunId::from("");
    TraceSpan {
        trace_id: nobody.clone(),
        span_id: moment.span_id(),
        parent_span_id: None,
        traceparent: None,
        kind: SpanKind::Run,
        name: String::new(),
        run_id: nobody,
        session_id: None,
        agent: None,
        run_number: None,
        turn: None,
        depth: 0,
        lane: 0,
        started_at: moment.at,
        ended_at: None,
        start_us: moment.at.0,
        end_us: None,
        status: SpanStatus::Open,
        error: None,
        input: None,
        output: None,
        usage: None,
        cost: None,
        run: None,
        llm: None,
        tool: None,
        confirmation: None,
        compression: None,
        hook: None,
        mcp: None,
        events: Vec::new(),
        more_events: 0,
        began_before: false,
    }
}

/// Notes in a span that something happened.
fn push_event(span: &mut TraceSpan, moment: EventMoment<'_>, said: &str) {
    if MOST_EVENTS <= span.events.len() {
        span.more_events = span.more_events.saturating_add(1);
        return;
    }
    let (name, text) = (moment.event.kind.clone(), text::line(said));
    span.events.push(SpanEvent { name, at: moment.at, at_us: moment.at.0, text });
}

/// The moment from which on there may have been no daemon before a run was taken up again: what the log told last, or the time at which the daemon
/// before was at work last, where that is known.
pub(super) fn away_from(told_at: Timestamp, resumed: EventMoment<'_>) -> Timestamp {
    let known = resumed.facts.count("awayMs").and_then(|ms| i64::try_from(ms).ok());
    let known = known.map(|ms| Timestamp(resumed.at.0.saturating_sub(ms.saturating_mul(1_000))));
    known.map_or(told_at, |known| known.max(told_at))
}
