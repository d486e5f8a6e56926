//! Hooks: most are told when they have answered, so that their span is there as a whole at once; one that takes long is told when it
//! has been at work for a while, too.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use protocol::{CallId, HookSpan, SpanError, SpanKind, SpanStatus, Timestamp, ToolName, TraceSpan};

use super::{
    super::{EventMoment, SpanEdge, end},
    OpenRun,
    edited::{BEFORE_CALLS, is_edited},
};
use crate::{
    facts::EventFacts,
    said::{GOES_ON, INTERRUPTED},
    text,
};

/// Lanes of hooks, above those of calls: they run beside each other, and beside what they are about.
const FIRST_LANE: u32 = 1 << 16;

/// Calls of earlier turns that a run keeps.
const MOST_EARLIER: usize = 64;

/// Hooks of a run: those at work, and what has to be known of others.
#[derive(Debug, Default)]
pub(super) struct HookSpans {
    /// Hooks at work, by firing and hook.
    /// A guard is asked again within a firing when another has changed what it saw.
    open: BTreeMap<(String, String), VecDeque<TraceSpan>>,
    lanes: HookLanes,
    /// Hooks whose spans were cut off as the daemon ended: that they were interrupted is told of them later.
    cut_off: BTreeSet<(String, String)>,
    /// Requests to models of hooks that are told next, by firing and hook.
    asked: Vec<((String, String), TraceSpan)>,
    /// The last span of each firing and hook of the turn that has asked a model.
    last_asking: BTreeMap<(String, String), TraceSpan>,
    /// Calls of the turn that have ended, which hooks are told of after that.
    ended_calls: BTreeMap<CallId, (ToolName, Option<String>)>,
    /// The last ones of earlier turns: a hook beside the run is told later than those of its turn.
    earlier_calls: VecDeque<(CallId, (ToolName, Option<String>))>,
    /// Calls of the turn that hooks want.
    wanted: BTreeMap<CallId, WantedCall>,
}

/// A call that a hook wants.
#[derive(Debug, Clone)]
pub(super) struct WantedCall {
    pub(super) hook_id: String,
    /// The call that it follows.
    pub(super) follows: CallId,
}

/// The time at which the last hook of each lane ended, or will have.
#[derive(Debug, Default)]
struct HookLanes(Vec<Timestamp>);

impl HookLanes {
    /// The lowest lane that was free at that time, taken until then.
    fn take(&mut self, from: Timestamp, to: Timestamp) -> u32 {
        let free = self.0.iter().position(|ended| *ended <= from);
        let lane = free.unwrap_or(self.0.len());
        match self.0.get_mut(lane) {
            Some(ended) => *ended = to,
            None => self.0.push(to),
        }
        FIRST_LANE.saturating_add(u32::try_from(lane).unwrap_or(u32::MAX))
    }

    /// One that was taken without an end is free from then on.
    fn give_back(&mut self, lane: u32, at: Timestamp) {
        let lane = usize::try_from(lane.saturating_sub(FIRST_LANE)).unwrap_or(usize::MAX);
        if let Some(ended) = self.0.get_mut(lane) {
            *ended = at;
        }
    }
}

impl HookSpans {
    pub(super) fn open(&self) -> impl Iterator<Item = &TraceSpan> {
        self.open.values().flatten()
    }

    /// The one that was asked first of those at work; answers are told in the order of the questions.
    fn take(&mut self, key: &(String, String)) -> Option<TraceSpan> {
        let spans = self.open.get_mut(key)?;
        let span = spans.pop_front();
        if spans.is_empty() {
            self.open.remove(key);
        }
        span
    }

    /// A hook has asked a model, and is told next.
    pub(super) fn asked(&mut self, facts: EventFacts<'_>, request: TraceSpan) {
        self.asked.push((key(facts), request));
    }

    /// Tells the requests of a hook within its span.
    fn tell_asked_by(&mut self, key: &(String, String), hook: &TraceSpan, edges: &mut Vec<SpanEdge>) {
        if !self.asked.iter().any(|(of, _)| of == key) {
            return;
        }
        let until = hook.ended_at.unwrap_or(hook.started_at);
        // Of several rounds each has what was asked by its end.
        let is_its = |(of, request): &(_, TraceSpan)| of == key && request.started_at <= until;
        let (own, others) = std::mem::take(&mut self.asked).into_iter().partition(is_its);
        self.asked = others;
        for (_, request) in own {
            tell_within(request, hook, edges);
        }
        self.last_asking.insert(key.clone(), hook.clone());
    }

    /// Tells the requests of hooks of which nothing more is told.
    pub(super) fn tell_asked(&mut self, edges: &mut Vec<SpanEdge>) {
        let last = std::mem::take(&mut self.last_asking);
        for (key, request) in std::mem::take(&mut self.asked) {
            match last.get(&key) {
                // A hook's times have whole milliseconds, so what it asked last may begin after its end.
                Some(hook) => tell_within(request, hook, edges),
                None => {
                    let ended = request.ended_at.unwrap_or(request.started_at);
                    let lane = self.lanes.take(request.started_at, ended);
                    tell_asked(request, lane, edges);
                }
            }
        }
    }

    /// A call has ended.
    pub(super) fn remember_call(&mut self, span: &TraceSpan) {
        if let Some(tool) = &span.tool {
            self.ended_calls.insert(tool.call_id.clone(), (tool.tool.clone(), tool.description.clone()));
        }
    }

    /// A turn begins: only hooks beside the run are told of the calls of those before.
    pub(super) fn forget_calls(&mut self) {
        self.earlier_calls.extend(std::mem::take(&mut self.ended_calls));
        let over = self.earlier_calls.len().saturating_sub(MOST_EARLIER);
        self.earlier_calls.drain(..over);
        self.wanted.clear();
    }

    /// The hook that wants this call, if one does.
    pub(super) fn wants(&self, call: &CallId) -> Option<&WantedCall> {
        self.wanted.get(call)
    }

    /// The tool of a call of the turn that has ended.
    pub(super) fn tool_of(&self, call: &CallId) -> Option<&ToolName> {
        self.ended_calls.get(call).map(|(tool, _)| tool)
    }

    /// The tool of a call that has ended, and what that was about.
    fn ended_call(&self, call: &CallId) -> Option<&(ToolName, Option<String>)> {
        let earlier = || self.earlier_calls.iter().rev().find(|(id, _)| id == call).map(|(_, told)| told);
        self.ended_calls.get(call).or_else(earlier)
    }

    /// A hook says which call it wants next.
    fn keep_wanted(&mut self, facts: EventFacts<'_>) {
        let (next, follows) = (facts.text("followUp"), facts.text("callId"));
        if let Some((next, follows)) = next.zip(follows) {
            let wanted = WantedCall { hook_id: facts.word("hookId"), follows: follows.into() };
            self.wanted.insert(next.into(), wanted);
        }
    }
}

impl OpenRun {
    /// A hook has been at work for a while.
    pub(super) fn hook_started(&mut self, moment: EventMoment<'_>, edges: &mut Vec<SpanEdge>) {
        let key = key(moment.facts);
        let elapsed = moment.facts.count("elapsedMs");
        let span = self.hook_begun(moment, elapsed, Timestamp(i64::MAX));
        // Asked anew after a restart: what was asked before it is not answered any more.
        let earlier = self.hooks.open.remove(&key).unwrap_or_default();
        let (mut same, cut): (VecDeque<TraceSpan>, VecDeque<TraceSpan>) =
            earlier.into_iter().partition(|open| attempt(open) == attempt(&span));
        for open in cut {
            self.cut_off(&key, open, moment.at, edges);
        }
        self.guard_of_edit(moment.facts, span.started_at);
        edges.push(SpanEdge::Began(Box::new(span.clone())));
        same.push_back(span);
        self.hooks.open.insert(key, same);
    }

    pub(super) fn hook_fired(&mut self, moment: EventMoment<'_>, edges: &mut Vec<SpanEdge>) {
        let mut told = Vec::new();
        self.hook_ended(moment, &mut told);
        if let Some(call) = moment.facts.text("callId").filter(|_| moment.facts.flag("settlesResult")) {
            // Of those that have not answered by now nothing more is told.
            let is_over = |hook: &HookSpan| {
                !hook.is_async && hook.call_id.as_ref().is_some_and(|of| of.as_str() == call)
            };
            self.end_hooks(moment.at, |span| span.hook.as_deref().is_some_and(is_over), &mut told);
        }
        let asked_at =
            told.iter().map(SpanEdge::span).filter(|span| is_edited(span)).map(|span| span.started_at);
        match asked_at.min() {
            Some(asked_at) => {
                self.guard_of_edit(moment.facts, asked_at);
                self.keep_edited(moment.facts, told);
            }
            None => self.results.hooked(moment.facts, told, edges),
        }
    }

    fn hook_ended(&mut self, moment: EventMoment<'_>, edges: &mut Vec<SpanEdge>) {
        let EventMoment { at, facts, .. } = moment;
        if facts.text("outcome") == Some(INTERRUPTED) && self.hooks.cut_off.remove(&key(facts)) {
            // Its span is over.
            return;
        }
        let took = facts.count("durationMs");
        self.unread.hooked(facts);
        self.hooks.keep_wanted(facts);
        self.blocked_steer(moment);
        let mut span = match self.hooks.take(&key(facts)) {
            Some(mut span) => {
                // Answers are told together, when the last one is there.
                let ended = Timestamp(span.start_us.saturating_add(micros(took))).min(at);
                self.hooks.lanes.give_back(span.lane, ended);
                self.tell_about(&mut span, facts);
                end(&mut span, ended, SpanStatus::Ok);
                span
            }
            None => {
                let mut span = self.hook_begun(moment, took, at);
                edges.push(SpanEdge::Began(Box::new(span.clone())));
                let ended = Timestamp(span.start_us.saturating_add(micros(took))).min(at);
                end(&mut span, ended, SpanStatus::Ok);
                span
            }
        };
        // Of a question and of a result a hook changes something else, or nothing.
        let is_of_arguments = facts.text("event") == Some(BEFORE_CALLS) && facts.flag("changed");
        if let Some(call_id) = facts.text("callId").filter(|_| is_of_arguments) {
            let changed_at = span.ended_at.unwrap_or(at);
            self.changed_by_hook(&CallId::from(call_id), &facts.word("hookId"), changed_at);
        }
        self.hooks.tell_asked_by(&key(facts), &span, edges);
        span.output = facts.text("stderr").and_then(text::said);
        if let Some(hook) = &span.hook
            && hook.outcome != "answered"
        {
            let message = hook.reason.clone().unwrap_or_default();
            span.error = Some(SpanError { kind: format!("HOOK_{}", upper(&hook.outcome)), message });
            span.status = SpanStatus::Error;
        }
        edges.push(SpanEdge::Ended(Box::new(span)));
    }

    /// The span of a hook that has been at work for so many milliseconds, on a lane that it has until then.
    fn hook_begun(&mut self, moment: EventMoment<'_>, took: Option<u64>, until: Timestamp) -> TraceSpan {
        let EventMoment { at, facts, .. } = moment;
        let call_id = facts.text("callId").map(CallId::from);
        let call = call_id.as_ref().and_then(|call| self.calls.get(call)).map(|call| &call.span);
        // One beside the run may outlive what it was told of.
        let is_beside = facts.flag("async") && until.0 == i64::MAX;
        let within = call.or(self.turn.as_ref()).filter(|_| !is_beside);
        let around = within.unwrap_or(&self.span);
        // A span lies within its parent, whatever a hook had to do with what was before.
        let from = at.0.saturating_sub(moment.since("startedAt").max(micros(took))).max(around.start_us);
        let mut span = self.span_below(&around.span_id, 0, moment, SpanKind::Hook, facts.word("event"));
        (span.started_at, span.start_us) = (Timestamp(from), from);
        let until = if until == at { Timestamp(from.saturating_add(micros(took))).min(at) } else { until };
        span.lane = self.hooks.lanes.take(Timestamp(from), until);
        self.tell_about(&mut span, facts);
        span
    }

    /// Fills in what an event says of a hook.
    fn tell_about(&self, span: &mut TraceSpan, facts: EventFacts<'_>) {
        let call_id = facts.text("callId").map(CallId::from);
        let open = call_id.as_ref().and_then(|call| self.calls.get(call)?.span.tool.as_ref());
        let open = open.map(|tool| (tool.tool.clone(), tool.description.clone()));
        let ended = || call_id.as_ref().and_then(|call| self.hooks.ended_call(call)).cloned();
        // One that is at work for long knows from its beginning what it is about.
        let begun =
            span.hook.as_deref().and_then(|begun| Some((begun.tool.clone()?, begun.description.clone())));
        let (tool, description) = open.or_else(ended).or(begun).unzip();
        // What the call was before the change is not what it is asked about.
        let edited = self.is_of_edit(facts);
        let description = description.filter(|_| !edited);
        span.hook = Some(Box::new(HookSpan {
            hook_id: facts.word("hookId"),
            source: facts.word("source"),
            call_id,
            tool,
            description: description.flatten(),
            outcome: facts.word("outcome"),
            decision: facts.owned("decision"),
            reason: facts.text("reason").map(text::line),
            exit_code: facts.value("exitCode").as_i64(),
            is_async: facts.flag("async"),
            changed: facts.flag("changed"),
            dropped_change: facts.read("droppedChange"),
            added: facts.owned("added"),
            message: facts.text("message").map(text::line),
            replacement: facts.read("replacement"),
            follow_up: facts.text("followUp").map(CallId::from),
            confinement: facts.read("confinement"),
            round: facts.count("round").filter(|round| *round != 1),
            edited,
            attempt: facts.count("attempt").filter(|attempt| *attempt != 1),
        }));
    }

    /// Ends hooks that are at work, since what they are about is over.
    pub(super) fn end_hooks(
        &mut self,
        at: Timestamp,
        is_over: impl Fn(&TraceSpan) -> bool,
        edges: &mut Vec<SpanEdge>,
    ) {
        let mut over = Vec::new();
        self.hooks.open.retain(|key, spans| {
            let (ended, left): (VecDeque<TraceSpan>, VecDeque<TraceSpan>) =
                std::mem::take(spans).into_iter().partition(&is_over);
            over.extend(ended.into_iter().map(|span| (key.clone(), span)));
            *spans = left;
            !spans.is_empty()
        });
        for (key, span) in over {
            self.cut_off(&key, span, at, edges);
        }
    }

    /// Ends all hooks that are at work, since the daemon did.
    pub(super) fn cut_off_hooks(&mut self, at: Timestamp, edges: &mut Vec<SpanEdge>) {
        self.hooks.cut_off.extend(self.hooks.open.keys().cloned());
        let mut told = Vec::new();
        self.end_hooks(at, |_| true, &mut told);
        for hook in told.iter_mut().filter_map(|edge| edge.span_mut().hook.as_mut()) {
            hook.outcome = INTERRUPTED.to_owned();
        }
        edges.extend(told);
    }

    /// Ends the spans of hooks that go on beside the run and after it.
    pub(super) fn outlive_hooks(&mut self, at: Timestamp, edges: &mut Vec<SpanEdge>) {
        let is_beside = |span: &TraceSpan| span.hook.as_deref().is_some_and(|hook| hook.is_async);
        let mut told = Vec::new();
        self.end_hooks(at, is_beside, &mut told);
        for edge in told.iter_mut() {
            if let SpanEdge::Ended(span) = edge {
                span.status = SpanStatus::Ok;
                if let Some(hook) = &mut span.hook {
                    hook.outcome = GOES_ON.to_owned();
                }
            }
        }
        edges.extend(told);
    }

    fn cut_off(
        &mut self,
        key: &(String, String),
        mut span: TraceSpan,
        at: Timestamp,
        edges: &mut Vec<SpanEdge>,
    ) {
        let at = at.max(span.started_at);
        self.hooks.lanes.give_back(span.lane, at);
        end(&mut span, at, SpanStatus::Cancelled);
        self.hooks.tell_asked_by(key, &span, edges);
        edges.push(SpanEdge::Ended(Box::new(span)));
    }
}

/// The number of times that its firing was begun.
fn attempt(span: &TraceSpan) -> u64 {
    span.hook.as_ref().and_then(|hook| hook.attempt).unwrap_or(1)
}

/// Names a hook at a firing. Whatever goes on beside the run ends as a firing of its own, which has the hook's name behind it.
fn key(facts: EventFacts<'_>) -> (String, String) {
    let (firing, hook) = (facts.text("firingId").unwrap_or_default(), facts.word("hookId"));
    let own = firing.strip_suffix(hook.as_str()).and_then(|firing| firing.strip_suffix(':'));
    (own.unwrap_or(firing).to_owned(), hook)
}

/// A request of a hook that has ended, within the hook's span and times.
fn tell_within(mut request: TraceSpan, hook: &TraceSpan, edges: &mut Vec<SpanEdge>) {
    let until = hook.ended_at.unwrap_or(hook.started_at);
    let from = request.started_at.max(hook.started_at).min(until);
    (request.started_at, request.start_us) = (from, from.0);
    let (ended, status) = (request.ended_at.unwrap_or(until), request.status);
    end(&mut request, ended.min(until).max(from), status);
    request.parent_span_id = Some(hook.span_id.clone());
    tell_asked(request, hook.lane, edges);
}

/// A request that has ended, on the lane of whoever made it.
fn tell_asked(mut request: TraceSpan, lane: u32, edges: &mut Vec<SpanEdge>) {
    request.lane = lane;
    let open = TraceSpan { ended_at: None, end_us: None, status: SpanStatus::Open, ..request.clone() };
    edges.push(SpanEdge::Began(Box::new(open)));
    edges.push(SpanEdge::Ended(Box::new(request)));
}

fn micros(ms: Option<u64>) -> i64 {
    ms.and_then(|ms| i64::try_from(ms).ok()).unwrap_or_default().saturating_mul(1_000)
}

/// `timedOut` as `TIMED_OUT`.
fn upper(word: &str) -> String {
    let mut upper = String::with_capacity(word.len() + 1);
    for letter in word.chars() {
        if letter.is_ascii_uppercase() {
            upper.push('_');
        }
        upper.push(letter.to_ascii_uppercase());
    }
    upper
}
