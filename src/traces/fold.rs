//! Events in, spans out: one pass, in the order of the log.

mod open_run;

use std::collections::HashMap;

use protocol::{Envelope, EventSeq, RunId, RunSpan, SpanEvent, SpanId, SpanStatus, Timestamp, TraceSpan};

use self::open_run::OpenRun;
use super::{clock::LogClock, facts::EventFacts, said::INTERRUPTED};

/// Runs above a run that hear of it.
const MOST_DEPTH: usize = 64;

/// A change that an event made to a span.
#[derive(Debug, Clone, PartialEq)]
pub enum SpanEdge {
    /// It begins; what is known of it then. Its parent has begun before.
    Began(Box<TraceSpan>),
    /// It is over, and so are those within it.
    Ended(Box<TraceSpan>),
    /// It is still open at the end of what was read.
    Open(Box<TraceSpan>),
    /// The run goes on, after there was no daemon or after it was parked: what is known of it then, with the turn that
    /// another daemon goes on with, what is said of that, and the questions that were open meanwhile.
    Resumed(Box<TraceSpan>, SpanEvent, Vec<TraceSpan>),
}

impl SpanEdge {
    pub fn span(&self) -> &TraceSpan {
        match self {
            SpanEdge::Began(span)
            | SpanEdge::Ended(span)
            | SpanEdge::Open(span)
            | SpanEdge::Resumed(span, ..) => span,
        }
    }

    pub fn span_mut(&mut self) -> &mut TraceSpan {
        match self {
            SpanEdge::Began(span)
            | SpanEdge::Ended(span)
            | SpanEdge::Open(span)
            | SpanEdge::Resumed(span, ..) => span,
        }
    }
}

/// Makes spans of events. Told of the events of runs in the order of the log; holds what is open, and nothing else.
///
/// A run whose beginning it was not told of begins with the first event that it is told.
#[derive(Debug, Default)]
pub struct SpanFold {
    clock: LogClock,
    runs: HashMap<RunId, OpenRun>,
    /// The numbers of runs whose agents have several in their trace.
    numbers: HashMap<RunId, u64>,
}

/// An event, as far as every span needs it.
#[derive(Clone, Copy)]
struct EventMoment<'event> {
    seq: EventSeq,
    at: Timestamp,
    event: &'event Envelope,
    facts: EventFacts<'event>,
}

impl SpanFold {
    pub fn new() -> SpanFold {
        SpanFold::default()
    }

    /// The same, where runs have these numbers among those of their agents.
    pub fn numbered(numbers: HashMap<RunId, u64>) -> SpanFold {
        SpanFold { numbers, ..SpanFold::default() }
    }

    /// Reads one event. What is no fact, or concerns no run, changes nothing.
    pub fn apply(&mut self, event: &Envelope) -> Vec<SpanEdge> {
        let (Some(seq), Some(run_id)) = (event.seq, &event.run_id) else { return Vec::new() };
        let at = self.clock.straighten(event.at);
        let moment = EventMoment { seq, at, event, facts: EventFacts(&event.data) };
        let mut edges = Vec::new();
        let mut is_taken_up = event.kind == "run.resumed";
        let mut is_guarded = false;
        let is_over = match self.runs.get_mut(run_id) {
            Some(run) => {
                // Of one that was parked the daemon may be the same.
                is_taken_up &= !run.is_parked() || moment.facts.flag("unclean");
                run.apply(moment, &mut edges);
                is_guarded = run.is_guarded();
                run.is_over()
            }
            // A change that is taken back later, or a label: nothing that a run does.
            None if !is_of_a_run(&event.kind) => return edges,
            None => {
                let parent = event.head.parent_run_id.as_ref().and_then(|parent| self.runs.get(parent));
                let mut run = OpenRun::begin(run_id, parent, moment);
                run.span.run_number = self.numbers.get(run_id).copied();
                edges.push(SpanEdge::Began(Box::new(run.span.clone())));
                run.apply(moment, &mut edges);
                let is_over = run.is_over();
                if !is_over {
                    self.runs.insert(run_id.clone(), run);
                }
                is_over
            }
        };
        // Nothing of a run comes after its end.
        if is_over {
            self.runs.remove(run_id);
        }
        self.tell_above(
            run_id,
            (event.head.parent_run_id.as_ref(), is_guarded && !is_over),
            moment,
            is_taken_up,
        );
        edges
    }

    /// Something happened below these runs, so there was a daemon; and hooks are asked about an edit there, or not any more.
    fn tell_above(
        &mut self,
        run: &RunId,
        (parent, mut is_guarded): (Option<&RunId>, bool),
        moment: EventMoment<'_>,
        is_taken_up: bool,
    ) {
        let (mut below, mut above) = (run.clone(), parent.cloned());
        // No log that somebody should have written is as deep, but one may say that two runs lie below each other.
        for _ in 0..MOST_DEPTH {
            let Some(id) = above else { return };
            let Some(run) = self.runs.get_mut(&id) else { return };
            run.heard_from_below(moment, is_taken_up);
            run.note_guarded_below(&below, is_guarded, moment.at);
            is_guarded = run.is_guarded();
            above = run.parent().cloned();
            below = id;
        }
    }

    /// The spans that are open, parents before their children.
    pub fn open(&self) -> Vec<TraceSpan> {
        self.open_until(|told| told)
    }

    /// The same, where the waits of a run of which the log told last at some time count until another one.
    pub fn open_until(&self, until: impl Fn(Timestamp) -> Timestamp) -> Vec<TraceSpan> {
        let mut open: Vec<TraceSpan> = self.runs.values().flat_map(|run| run.open(&until)).collect();
        // By the events that began them: a parent's comes first.
        open.sort_by(|one, other| one.span_id.cmp(&other.span_id));
        open
    }
}

/// Events of runs that make or change spans; others name a run and are told beside it.
fn is_of_a_run(kind: &str) -> bool {
    let areas = ["run.", "turn.", "model.", "tool.", "context.", "confirmation."];
    areas.iter().any(|area| kind.starts_with(area))
}

impl EventMoment<'_> {
    fn span_id(&self) -> SpanId {
        format!("{:016x}", self.seq.0).into()
    }

    /// The time since something of which the event says when it was, in microseconds; 0 where it does not. By the clock of whoever wrote
    /// the event.
    fn since(&self, key: &str) -> i64 {
        let then: Option<Timestamp> = self.facts.read(key);
        then.zip(self.event.at).map_or(0, |(then, told)| told.0.saturating_sub(then.0).max(0))
    }

    /// The id of a span whose beginning was not read: beyond all numbers of events.
    fn span_id_of_unread(&self) -> SpanId {
        format!("{:016x}", self.seq.0.unsigned_abs() | 1 << 63).into()
    }
}

/// True of the span of a run that waited in a queue, or does.
pub fn was_queued(span: &TraceSpan) -> bool {
    let is_root = |run: &RunSpan| run.parent_run_id.is_none() && run.queued_ms != 0;
    span.run.as_deref().is_some_and(is_root)
}

/// Has the open span of a hook be over, since the daemon was that it was at work for: the log told of its run last at this moment.
pub fn interrupt(span: &mut TraceSpan, heard_at: Timestamp) {
    let ended_at = heard_at.max(span.started_at);
    let Some(hook) = &mut span.hook else { return };
    hook.outcome = INTERRUPTED.to_owned();
    end(span, ended_at, SpanStatus::Cancelled);
}

/// Ends a span at a moment.
fn end(span: &mut TraceSpan, at: Timestamp, status: SpanStatus) {
    span.ended_at = Some(at);
    span.end_us = Some(at.0);
    span.status = status;
}

/// Whole milliseconds from one moment to a later one.
fn millis(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.since(from).as_millis()).unwrap_or(u64::MAX)
}
