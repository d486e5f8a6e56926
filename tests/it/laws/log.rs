//! A log as the laws read it, and the laws that hold for the whole of it.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

/// One envelope.
#[derive(Clone, Copy)]
pub struct Event<'a> {
    /// Its place among the envelopes that are checked, from 1.
    place: usize,
    /// 0 when it has none.
    pub seq: i64,
    pub kind: &'a str,
    envelope: &'a Value,
}

impl<'a> Event<'a> {
    pub fn read_all(envelopes: &'a [Value]) -> Vec<Event<'a>> {
        envelopes.iter().enumerate().map(|(at, envelope)| Event::read(at + 1, envelope)).collect()
    }

    fn read(place: usize, envelope: &'a Value) -> Event<'a> {
        Event {
            place,
            seq: envelope["seq"].as_i64().unwrap_or(0),
            kind: envelope["type"].as_str().unwrap_or(""),
            envelope,
        }
    }

    /// Its place among the envelopes that are checked, from 1.
    pub fn place(&self) -> usize {
        self.place
    }

    /// A field beside `data`.
    pub fn outer(&self, field: &str) -> &'a Value {
        &self.envelope[field]
    }

    /// A field of `data`; null when it is missing.
    pub fn data(&self, field: &str) -> &'a Value {
        &self.envelope["data"][field]
    }

    /// A text field of `data`; empty when it is missing.
    pub fn text(&self, field: &str) -> &'a str {
        self.data(field).as_str().unwrap_or("")
    }

    /// A number in `data`; 0 when it is missing.
    pub fn number(&self, field: &str) -> i64 {
        self.data(field).as_i64().unwrap_or(0)
    }

    /// A list of texts in `data`.
    pub fn texts(&self, field: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        self.data(field).as_array().into_iter().flatten().filter_map(Value::as_str)
    }

    pub fn is(&self, kind: &str) -> bool {
        self.kind == kind
    }

    /// A `tool.state` that brings the call into `state`.
    pub fn brings_call_to(&self, state: &str) -> bool {
        self.is("tool.state") && self.text("to") == state
    }

    /// A `tool.state` that ends its call.
    pub fn ends_call(&self) -> bool {
        ["success", "error", "cancelled"].iter().any(|end| self.brings_call_to(end))
    }

    pub fn run_id(&self) -> Option<&'a str> {
        self.outer("runId").as_str()
    }
}

/// The events of one run, in the order of the log.
pub struct Run<'a> {
    pub id: &'a str,
    pub events: Vec<Event<'a>>,
}

impl<'a> Run<'a> {
    pub fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Event<'a>> {
        self.events.iter().filter(move |event| event.kind == kind)
    }

    /// Every call that has a `tool.state`, with its events; in the order of their first.
    pub fn calls(&self) -> Vec<(&'a str, Vec<&Event<'a>>)> {
        let mut calls: Vec<(&str, Vec<&Event>)> = Vec::new();
        for event in self.of_kind("tool.state") {
            let id = event.text("callId");
            match calls.iter_mut().find(|(known, _)| *known == id) {
                Some((_, states)) => states.push(event),
                None => calls.push((id, vec![event])),
            }
        }
        calls
    }
}

/// A whole log.
pub struct Log<'a> {
    pub events: Vec<Event<'a>>,
    pub runs: Vec<Run<'a>>,
}

impl<'a> Log<'a> {
    pub fn read(envelopes: &'a [Value]) -> Log<'a> {
        let events = Event::read_all(envelopes);
        let mut runs: Vec<Run> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for event in &events {
            let Some(id) = event.run_id() else { continue };
            let place = *places.entry(id).or_insert(runs.len());
            if place == runs.len() {
                runs.push(Run { id, events: Vec::new() });
            }
            runs[place].events.push(*event);
        }
        Log { events, runs }
    }
}

/// What was found: sentences with the places of the events they are about.
#[derive(Default)]
pub struct Violations(Vec<(usize, String)>);

impl Violations {
    /// `sentence` goes on after `seq 7, run r1: `; what has no `seq` is named by its place.
    pub fn add(&mut self, event: &Event, sentence: impl std::fmt::Display) {
        let name = match event.seq {
            0 => format!("notification {}", event.place),
            seq => format!("seq {seq}"),
        };
        let run = event.run_id().map(|run| format!(", run {run}")).unwrap_or_default();
        self.0.push((event.place, format!("{name}{run}: {sentence}")));
    }

    /// In the order of the envelopes, and of the laws where several speak about one.
    pub fn sentences(mut self) -> Vec<String> {
        self.0.sort_by_key(|(place, _)| *place);
        self.0.into_iter().map(|(_, sentence)| sentence).collect()
    }
}

/// 01, "Events": the log holds what has a `seq`; signals and deltas are no facts.
pub fn every_entry_is_a_fact(log: &Log, violations: &mut Violations) {
    for event in &log.events {
        let is_fact = event.seq > 0 && !event.kind.starts_with("signal.") && !event.kind.ends_with("Delta");
        if !is_fact {
            violations.add(event, format_args!("`{}` is no fact and cannot stand in the log", event.kind));
        }
    }
}

/// 11, promise 2: one strictly increasing `seq`.
pub fn seq_rises(log: &Log, violations: &mut Violations) {
    for pair in log.events.windows(2) {
        if pair[1].seq <= pair[0].seq {
            violations.add(&pair[1], format_args!("stands after seq {}; `seq` must rise", pair[0].seq));
        }
    }
}

/// 01, "Deltas": each attempt of a model has a stream of its own.
pub fn streams_are_never_reused(log: &Log, violations: &mut Violations) {
    let mut seen = HashSet::new();
    for event in log.events.iter().filter(|event| event.is("model.started")) {
        let stream = event.text("stream");
        if stream.is_empty() || !seen.insert(stream) {
            violations
                .add(event, format_args!("stream `{stream}` is not new; deltas could not be told apart"));
        }
    }
}

/// 05, "Scheduler": a call has one state machine, so it is of one run.
pub fn calls_belong_to_one_run(log: &Log, violations: &mut Violations) {
    let mut owners = HashMap::new();
    for event in log.events.iter().filter(|event| event.is("tool.state")) {
        let owner = *owners.entry(event.text("callId")).or_insert(event.run_id());
        if owner != event.run_id() {
            let call = event.text("callId");
            violations.add(event, format_args!("call {call} is of run {}", owner.unwrap_or("none")));
        }
    }
}

/// 00, "Words": a run is of one session.
pub fn runs_stay_in_their_session(log: &Log, violations: &mut Violations) {
    for run in &log.runs {
        let session = run.events[0].outer("sessionId");
        for event in run.events.iter().filter(|event| event.outer("sessionId") != session) {
            let other = event.outer("sessionId");
            violations.add(event, format_args!("is in session {other}, its run is in {session}"));
        }
    }
}
