//! Where a run stands: in a queue, waiting for people, parked, or at work on something; and for how long it was where.

use std::{collections::BTreeSet, time::Duration};

use protocol::{ConfirmationId, RunId, RunSpan, SpanEvent, Timestamp, TraceSpan, WaitCause};

use super::{
    super::{EventMoment, SpanEdge, millis},
    OpenRun, away_from,
    people::OpenQuestion,
    start_of,
};
use crate::text;

/// The queue of a run whose prompt hooks are asked about.
const FOR_HOOKS: &str = "hooks";

/// Since when a run waits, where it does.
#[derive(Debug, Default)]
pub(super) struct RunStanding {
    queued: Option<QueueStay>,
    /// All that is open in it is a question to people, as the log tells it.
    is_waiting: bool,
    /// The time from which on it waits for people: where they have answered, and guards are asked about what they made of a call, it does not.
    waiting: Option<Timestamp>,
    /// Since when it waits for nothing but what hooks say of edits, its own or those of runs below, where it does.
    guarded: Option<Timestamp>,
    /// The time that it did so before, in milliseconds.
    guarded_ms: u64,
    /// Runs below in which hooks are asked about an edit.
    guarded_below: BTreeSet<RunId>,
    parked: Option<ParkStay>,
    /// That it goes on, where a request is told before it that was cut off.
    pub(super) resumed: Option<SpanEdge>,
}

/// The stay of a run in one queue.
#[derive(Debug)]
struct QueueStay {
    since: Timestamp,
    /// The time from which on it is not counted yet: while there was no daemon, nobody waited for a place.
    counted_from: Timestamp,
    waits_for: String,
}

/// The time during which a run is parked.
#[derive(Debug)]
struct ParkStay {
    since: Timestamp,
    reason: String,
}

impl OpenRun {
    pub(in super::super) fn is_parked(&self) -> bool {
        self.standing.parked.is_some()
    }

    pub(super) fn apply_standing(&mut self, moment: EventMoment<'_>, edges: &mut Vec<SpanEdge>) {
        let EventMoment { at, facts, .. } = moment;
        match moment.event.kind.as_str() {
            "run.queued" => {
                let waits_for = facts.word("for");
                let is_queued = self.standing.queued.as_ref().is_some_and(|stay| stay.waits_for == waits_for);
                if is_queued && facts.flag("front") {
                    let by = moment.event.head.by.as_deref().map(text::person);
                    let by = by.map(|by| format!(" by {by}")).unwrap_or_default();
                    self.note(moment, &format!("moved to the front{by}"));
                }
                // It may be told once more of the same queue.
                if self.standing.queued.as_ref().is_none_or(|stay| stay.waits_for != waits_for) {
                    self.leave_queue(at);
                    self.standing.queued = Some(QueueStay { since: at, counted_from: at, waits_for });
                }
            }
            "run.waiting" => {
                self.standing.is_waiting = facts.flag("waiting");
                self.count_waiting(at);
            }
            "run.parked" => {
                // Whether it waits for somebody is told anew when it goes on.
                self.stop_waiting(at);
                let reason = facts.word("reason");
                self.note(moment, &reason);
                self.standing.parked = Some(ParkStay { since: at, reason });
            }
            _ => self.resumed(moment, edges),
        }
    }

    fn resumed(&mut self, moment: EventMoment<'_>, edges: &mut Vec<SpanEdge>) {
        let EventMoment { at, facts, .. } = moment;
        let was_parked = self.is_parked();
        let away_from = away_from(self.told_at, moment);
        self.unpark(at);
        // One that was taken up later than this one says nothing of the next start.
        let below = self.away_below.take().filter(|below| below.start == start_of(moment));
        let below = below.map_or(0, |below| below.ms).max(self.noted_away(away_from, moment));
        // A person is waited for as long as there is a daemon.
        self.standing.is_waiting = false;
        let waiting_since = self.standing.waiting.take();
        self.end_guarded(away_from);
        let waited = waiting_since.map_or(0, |since| millis(since, away_from));
        self.facts().waiting_ms += waited.saturating_sub(below);
        // Nor for a place, or for what hooks say.
        if let Some(stay) = self.standing.queued.take_if(|_| !was_parked) {
            let goes_on =
                QueueStay { since: stay.since, counted_from: at, waits_for: stay.waits_for.clone() };
            self.leave(stay, away_from);
            self.standing.queued = Some(goes_on);
        }
        let down = if was_parked { 0 } else { millis(away_from, at).max(below) };
        self.facts().down_ms += down;
        if waiting_since.is_some() {
            self.facts().waiting_down_ms += down;
        }
        self.calls_were_down(down);
        self.questions_were_down(down);
        // Of one that was parked the daemon may be the same.
        let is_taken_up = !was_parked || facts.flag("unclean");
        let unclean = if facts.flag("unclean") { ", and had not stopped by itself" } else { "" };
        let said = match down {
            0 => unclean.trim_start_matches(", and ").to_owned(),
            down => {
                let away = text::duration(Duration::from_millis(down));
                format!("the daemon was away for at most {away}{unclean}")
            }
        };
        self.note(moment, &said);
        let event = SpanEvent { name: moment.event.kind.clone(), at, at_us: at.0, text: said };
        if is_taken_up {
            // They ended with the daemon, before the run went on.
            self.cut_off_hooks(away_from, edges);
        }
        // The turn that goes on is no field of a run, but of its going on.
        let turn = self.turn.as_ref().filter(|_| is_taken_up).and_then(|turn| turn.turn);
        let mut span = TraceSpan { turn, ..self.span.clone() };
        if let Some(run) = span.run.as_mut().filter(|_| self.standing.queued.is_some()) {
            run.waits_for = self.waits_for();
        }
        let open = if is_taken_up { self.questions_left_open() } else { Vec::new() };
        let resumed = SpanEdge::Resumed(Box::new(span), event, open);
        // A request that the restart cut off is told before it: that is what the log says next.
        match self.model.is_some() && is_taken_up {
            true => self.standing.resumed = Some(resumed),
            false => edges.push(resumed),
        }
        if is_taken_up {
            let run = self.facts();
            run.restarts += 1;
            run.unclean_restarts += u64::from(facts.flag("unclean"));
        }
    }

    /// The time without a daemon that the next one noted, where runs below had told something by that daemon before this one was taken up.
    fn noted_away(&self, away_from: Timestamp, resumed: EventMoment<'_>) -> u64 {
        let noted = start_of(resumed).map(|_| self::away_from(self.own_told_at, resumed));
        noted.map_or(0, |noted| if noted < away_from { millis(noted, resumed.at) } else { 0 })
    }

    pub(super) fn leave_queue(&mut self, at: Timestamp) {
        if let Some(stay) = self.standing.queued.take() {
            self.leave(stay, at);
        }
    }

    fn leave(&mut self, QueueStay { counted_from, waits_for, .. }: QueueStay, at: Timestamp) {
        let (ms, run) = (millis(counted_from, at), self.facts());
        match waits_for.as_str() {
            FOR_HOOKS => run.hooks_ms += ms,
            _ => run.queued_ms += ms,
        }
    }

    fn stop_waiting(&mut self, at: Timestamp) {
        self.standing.is_waiting = false;
        self.count_waiting(at);
    }

    /// It waits for people from then on, or does so no more: the time of a guard that is asked about a person's answer is none of theirs.
    pub(super) fn count_waiting(&mut self, at: Timestamp) {
        let is_guarded = self.is_guarded();
        let waits = self.standing.is_waiting && !is_guarded;
        match self.standing.is_waiting && is_guarded {
            true => drop(self.standing.guarded.get_or_insert(at)),
            false => self.end_guarded(at),
        }
        match (waits, self.standing.waiting) {
            (true, None) => self.standing.waiting = Some(at),
            (false, Some(since)) => {
                self.standing.waiting = None;
                self.facts().waiting_ms += millis(since, at);
            }
            _ => {}
        }
    }

    fn end_guarded(&mut self, at: Timestamp) {
        let guarded = self.standing.guarded.take().map_or(0, |since| millis(since, at));
        self.standing.guarded_ms += guarded;
    }

    /// True while hooks are asked about what a person made of a call, in it or below.
    pub(in super::super) fn is_guarded(&self) -> bool {
        let is_own = self.questions.values().any(OpenQuestion::is_answered);
        is_own || !self.standing.guarded_below.is_empty()
    }

    /// The same of a run below, from then on.
    pub(in super::super) fn note_guarded_below(&mut self, run: &RunId, is_guarded: bool, at: Timestamp) {
        let below = &mut self.standing.guarded_below;
        let is_news = if is_guarded { below.insert(run.clone()) } else { below.remove(run) };
        if is_news {
            self.count_waiting(at);
        }
    }

    fn unpark(&mut self, at: Timestamp) {
        let parked = self.standing.parked.take().map_or(0, |stay| millis(stay.since, at));
        self.facts().parked_ms += parked;
    }

    /// Ends all waits, as the run ends.
    pub(super) fn end_waits(&mut self, at: Timestamp) {
        self.leave_queue(at);
        self.stop_waiting(at);
        self.unpark(at);
    }

    /// The run's own span, with what it has done so far and what it waits for.
    /// `until`: the time up to which its waits count.
    pub(super) fn so_far(&self, until: Timestamp) -> TraceSpan {
        let mut span = self.span.clone();
        let told_at = self.told_at;
        let run = span.run.get_or_insert_with(Box::default);
        self.add_waits(run, told_at);
        let guarded_ms =
            self.standing.guarded_ms + self.standing.guarded.map_or(0, |since| millis(since, told_at));
        let stood_still =
            [run.queued_ms, run.hooks_ms, run.waiting_ms, guarded_ms, run.parked_ms, run.down_ms]
                .iter()
                .sum::<u64>();
        let active_ms = millis(span.started_at, told_at).saturating_sub(stood_still);
        let mut run = self.span.run.clone().unwrap_or_default();
        self.add_waits(&mut run, until.max(told_at));
        run.active_ms = active_ms;
        run.last_event_at = Some(told_at);
        run.waits_for = self.waits_for();
        span.run = Some(run);
        span
    }

    /// Adds the waits that are not over.
    fn add_waits(&self, run: &mut RunSpan, until: Timestamp) {
        if let Some(QueueStay { counted_from, waits_for, .. }) = &self.standing.queued {
            let queued = if waits_for == FOR_HOOKS { &mut run.hooks_ms } else { &mut run.queued_ms };
            *queued += millis(*counted_from, until);
        }
        run.waiting_ms += self.standing.waiting.map_or(0, |since| millis(since, until));
        run.parked_ms += self.standing.parked.as_ref().map_or(0, |stay| millis(stay.since, until));
    }

    /// The thing that it waits for. A question goes first, since nothing but an answer ends it; then what is at work.
    fn waits_for(&self) -> Option<WaitCause> {
        let cause = |word: &str, since: Timestamp, about: Option<String>| {
            Some(WaitCause { waits_for: word.to_owned(), since, about, confirmation_id: None, ahead: None })
        };
        if let Some(ParkStay { since, reason }) = &self.standing.parked {
            return cause("unparked", *since, Some(reason.clone()).filter(|reason| !reason.is_empty()));
        }
        if let Some(QueueStay { since, waits_for, .. }) = &self.standing.queued {
            return cause(waits_for, *since, None);
        }
        let first =
            |spans: &mut dyn Iterator<Item = &TraceSpan>| spans.min_by_key(|span| span.start_us).cloned();
        let unanswered = self.questions.values().filter(|question| !question.is_answered());
        if let Some(asked) = first(&mut unanswered.map(|question| &question.span)) {
            let id: Option<ConfirmationId> = asked.confirmation.map(|asked| asked.confirmation_id);
            let cause = cause("person", asked.started_at, Some(asked.name));
            return cause.map(|cause| WaitCause { confirmation_id: id, ..cause });
        }
        let is_awaited = |span: &&TraceSpan| span.hook.as_ref().is_some_and(|hook| !hook.is_async);
        if let Some(span) = first(&mut self.hooks.open().filter(is_awaited)) {
            let edited = self.questions.iter().filter(|(_, question)| question.is_answered());
            let about = span.hook.as_ref().filter(|hook| hook.edited).and_then(|hook| hook.call_id.as_ref());
            let is_about = |question: &OpenQuestion| {
                about.is_some()
                    && question.span.confirmation.as_ref().and_then(|asked| asked.call_id.as_ref()) == about
            };
            let id = edited.filter(|(_, question)| is_about(question)).map(|(id, _)| id.clone()).next();
            let cause = cause("hook", span.started_at, span.hook.map(|hook| hook.hook_id));
            return cause.map(|cause| WaitCause { confirmation_id: id, ..cause });
        }
        if let Some((id, question)) = self.questions.iter().find(|(_, question)| question.is_answered()) {
            // Of hooks nothing is told before they have been at work for a while.
            let cause = cause("hook", question.answered_since(), None);
            return cause.map(|cause| WaitCause { confirmation_id: Some(id.clone()), ..cause });
        }
        if let Some(span) = first(&mut self.calls.values().map(|call| &call.span)) {
            let tool = span.tool.map(|tool| *tool);
            let is_agent = tool.as_ref().is_some_and(|tool| tool.child_run_id.is_some());
            let description = tool.and_then(|tool| tool.description).filter(|_| !is_agent);
            let description = description.map(|text| format!(" {}", text::line(&text))).unwrap_or_default();
            let word = if is_agent { "agent" } else { "tool" };
            return cause(word, span.started_at, Some(format!("{}{description}", span.name)));
        }
        let span = self.model.as_ref().or(self.side_call.as_ref())?;
        cause("model", span.started_at, Some(span.name.clone()))
    }
}
