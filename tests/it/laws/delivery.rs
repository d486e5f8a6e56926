//! Laws about what one subscriber receives (spec 01, "Events", "Deltas", "Delivery"; 11, promise 2).

use std::collections::BTreeMap;

use serde_json::Value;

use super::log::{Event, Violations};

/// How the subscription began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attached {
    /// `from: "now"`: the snapshot is the first notification.
    Now,
    /// From a cursor, exclusive; `"start"` is 0.
    After(i64),
}

/// What the subscriber may expect of texts that are being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deltas {
    /// It did not ask for any.
    Off,
    /// It asked, but may have come late or read slowly: a text that was over when it got there has none.
    Some,
    /// It asked and kept up: every text that began while it watched comes as deltas, too.
    Every,
}

/// Checks what one subscription sent: envelopes in the order of their arrival.
pub fn check_subscription(
    attached: Attached,
    deltas: Deltas,
    envelopes: &[Value],
) -> Result<(), Vec<String>> {
    let events = Event::read_all(envelopes);
    let mut violations = Violations::default();
    let snapshot = snapshot_comes_first_or_never(attached, &events, &mut violations);
    let from = match attached {
        Attached::Now => snapshot.map_or(0, |snapshot| snapshot.number("seq")),
        Attached::After(seq) => seq,
    };
    prev_chain_is_whole(from, &events, &mut violations);
    caught_up_means_it(&events, &mut violations);
    only_facts_have_a_seq(&events, &mut violations);
    let mut texts = Texts { attached, deltas, last: from, is_live: false, streams: BTreeMap::new() };
    for event in &events {
        texts.take(event, &mut violations);
    }
    super::verdict(violations)
}

/// 11, promise 2: over all its reconnects, a client with a cursor sees each later event once, in order. `log` is
/// what `events/list` answers for the same filter, `received` what came, one subscription after the other.
pub fn check_delivery(log: &[Value], after: i64, received: &[Value]) -> Result<(), Vec<String>> {
    let mut violations = Violations::default();
    let mut expected = Event::read_all(log).into_iter().filter(|event| event.seq > after).peekable();
    let mut last = after;
    for event in Event::read_all(received).into_iter().filter(|event| event.seq > 0) {
        if event.seq <= last {
            violations.add(&event, format_args!("comes after seq {last}"));
            continue;
        }
        last = event.seq;
        while let Some(missed) = expected.next_if(|logged| logged.seq < event.seq) {
            violations.add(&missed, format_args!("`{}` was never delivered", missed.kind));
        }
        match expected.next_if(|logged| logged.seq == event.seq) {
            None => violations.add(&event, format_args!("`{}` is not in the log", event.kind)),
            Some(logged) if logged.kind != event.kind || logged.outer("data") != event.outer("data") => {
                violations.add(&event, format_args!("`{}` differs from the log", event.kind));
            }
            Some(_) => (),
        }
    }
    for missed in expected {
        violations.add(&missed, format_args!("`{}` was never delivered", missed.kind));
    }
    super::verdict(violations)
}

/// 01, `session/attach`: `now` begins with the snapshot; a cursor has none.
fn snapshot_comes_first_or_never<'a>(
    attached: Attached,
    events: &[Event<'a>],
    violations: &mut Violations,
) -> Option<Event<'a>> {
    let first = *events.first()?;
    let has_snapshot = attached == Attached::Now && first.is("signal.snapshot");
    if attached == Attached::Now && !has_snapshot {
        violations.add(&first, format_args!("`{}` comes before the snapshot", first.kind));
    }
    for event in events.iter().skip(usize::from(has_snapshot)).filter(|event| event.is("signal.snapshot")) {
        violations.add(event, "a snapshot that nobody asked for");
    }
    has_snapshot.then_some(first)
}

/// 01, "Events": `prev` is the `seq` sent before on this subscription; the first is the snapshot's or the cursor.
fn prev_chain_is_whole(from: i64, events: &[Event], violations: &mut Violations) {
    let mut last = from;
    for event in events.iter().filter(|event| event.seq > 0) {
        match event.outer("prev").as_i64() {
            Some(prev) if prev == last => (),
            Some(prev) => violations.add(event, format_args!("`prev` is {prev}, the last was {last}")),
            None => violations.add(event, format_args!("`prev` is missing, the last was {last}")),
        }
        if event.seq <= last {
            violations.add(event, format_args!("stands after seq {last}; `seq` must rise"));
        }
        last = event.seq;
    }
}

/// 01, `session/attach`: `signal.caughtUp {head}` comes once, after everything up to `head`.
fn caught_up_means_it(events: &[Event], violations: &mut Violations) {
    let mut head = None;
    for event in events {
        if event.is("signal.caughtUp") {
            if head.is_some() {
                violations.add(event, "catches up a second time");
            }
            head = Some(event.number("head"));
        }
        if let Some(head) = head.filter(|head| 0 < event.seq && event.seq <= *head) {
            violations.add(event, format_args!("comes after `signal.caughtUp` said {head}"));
        }
    }
}

/// 01, "Events": signals and deltas are no facts and have no `seq`.
fn only_facts_have_a_seq(events: &[Event], violations: &mut Violations) {
    for event in events {
        let is_delta = event.kind.ends_with("Delta") || event.is("tool.output");
        let is_fact = !event.kind.starts_with("signal.") && !is_delta;
        if is_fact != (event.seq > 0) {
            violations.add(event, format_args!("`{}` has seq {}", event.kind, event.outer("seq")));
        }
    }
}

/// 01, "Deltas": the texts as this subscriber puts them together.
struct Texts<'a> {
    attached: Attached,
    deltas: Deltas,
    /// The newest `seq` that was received.
    last: i64,
    /// What comes now happens now: the snapshot or `signal.caughtUp` is behind us.
    is_live: bool,
    streams: BTreeMap<&'a str, Stream<'a>>,
}

/// One attempt of a model, or what one call puts out, as far as it was received.
#[derive(Default)]
struct Stream<'a> {
    run: Option<&'a str>,
    opened_by: i64,
    began_live: bool,
    is_closed: bool,
    text: Joined,
    thought: Joined,
    /// What `thought` events said, put together.
    thoughts_kept: String,
}

/// Snapshot and deltas, put together.
#[derive(Default)]
struct Joined {
    text: String,
    was_received: bool,
}

impl<'a> Texts<'a> {
    fn take(&mut self, event: &Event<'a>, violations: &mut Violations) {
        self.last = self.last.max(event.seq);
        match event.kind {
            "signal.snapshot" => self.take_snapshot(event),
            "signal.caughtUp" => self.is_live = true,
            "model.started" => {
                let began = Stream {
                    run: event.run_id(),
                    opened_by: event.seq,
                    began_live: self.is_live,
                    ..Stream::default()
                };
                self.streams.insert(event.text("stream"), began);
            }
            "model.textDelta" | "model.thoughtDelta" | "tool.output" => self.take_delta(event, violations),
            "tool.state" => self.take_call(event, violations),
            "thought" => {
                let deltas = self.deltas;
                let stream = self.stream(event);
                stream.thoughts_kept.push_str(event.text("text"));
                // Several thoughts of one stream are kept one by one, so this may be the beginning only.
                let received = &stream.thought.text;
                let is_shown = received.starts_with(&stream.thoughts_kept) || deltas == Deltas::Off;
                if stream.thought.was_received && !is_shown {
                    let (name, kept) = (event.text("stream"), &stream.thoughts_kept);
                    violations.add(
                        event,
                        format_args!("the thought of {name} is {kept:?}, received was {received:?}"),
                    );
                }
                if deltas == Deltas::Every && stream.began_live && !stream.thought.was_received {
                    violations.add(
                        event,
                        format_args!("the thought of {} came without a delta", event.text("stream")),
                    );
                }
            }
            "model.completed" => {
                let deltas = self.deltas;
                let stream = self.stream(event);
                stream.is_closed = true;
                let (name, began_live) = (event.text("stream"), stream.began_live);
                whole_is_sum(deltas, event, name, began_live, &stream.text, event.text("text"), violations);
            }
            "model.retrying" => {
                let stream = self.stream(event);
                *stream = Stream { is_closed: true, ..Stream::default() };
            }
            "turn.completed" | "run.completed" => self.thoughts_were_kept(event, violations),
            _ => (),
        }
    }

    fn stream(&mut self, event: &Event<'a>) -> &mut Stream<'a> {
        self.streams.entry(event.text("stream")).or_default()
    }

    fn take_snapshot(&mut self, event: &Event<'a>) {
        self.is_live = true;
        self.last = self.last.max(event.number("seq"));
        for item in event.data("openItems").as_array().into_iter().flatten() {
            let joined = |field: &str| Joined {
                text: item[field].as_str().unwrap_or("").to_owned(),
                was_received: true,
            };
            let stream = Stream {
                run: item["runId"].as_str(),
                opened_by: item["afterSeq"].as_i64().unwrap_or(0),
                text: joined("text"),
                thought: joined("thought"),
                ..Stream::default()
            };
            self.streams.insert(item["stream"].as_str().unwrap_or(""), stream);
        }
    }

    /// Calls that runs answer put something out, which the event that ends them has whole.
    fn take_call(&mut self, event: &Event<'a>, violations: &mut Violations) {
        let call = event.text("callId");
        if event.brings_call_to("executing") && event.data("childRunId").is_string() {
            let began = Stream {
                run: event.run_id(),
                opened_by: event.seq,
                began_live: self.is_live,
                ..Stream::default()
            };
            self.streams.insert(call, began);
        }
        if event.ends_call()
            && let Some(stream) = self.streams.get_mut(call)
        {
            stream.is_closed = true;
            let (began_live, output) = (stream.began_live, event.text("output"));
            whole_is_sum(self.deltas, event, call, began_live, &stream.text, output, violations);
        }
    }

    fn take_delta(&mut self, event: &Event<'a>, violations: &mut Violations) {
        let name = name_of(event);
        let after = event.number("afterSeq");
        if self.deltas == Deltas::Off {
            violations.add(event, format_args!("a delta of {name}, which nobody asked for"));
        }
        if after > self.last {
            violations.add(event, format_args!("a delta of {name} before seq {after}, which opens it"));
        }
        match self.streams.get(name) {
            None if self.attached == Attached::Now => {
                violations
                    .add(event, format_args!("a delta of {name}, which neither snapshot nor event opened"));
            }
            Some(stream) if stream.is_closed => {
                violations.add(event, format_args!("a delta of {name} after its end"));
            }
            Some(stream) if stream.opened_by != after && stream.opened_by != 0 => {
                let opened_by = stream.opened_by;
                violations.add(
                    event,
                    format_args!("a delta of {name} after {after}, but seq {opened_by} opened it"),
                );
            }
            _ => (),
        }
        let stream = self.streams.entry(name).or_default();
        let joined = if event.is("model.thoughtDelta") { &mut stream.thought } else { &mut stream.text };
        joined.was_received = true;
        if let Err(sentence) = joined.append(event.number("offset"), event.text("text")) {
            violations.add(event, format_args!("a delta of {name} {sentence}"));
        }
    }

    /// Thoughts that were shown are kept by `thought` events, before the turn is over.
    fn thoughts_were_kept(&self, event: &Event, violations: &mut Violations) {
        for (name, stream) in &self.streams {
            let is_due = stream.is_closed && stream.run == event.run_id() && self.deltas != Deltas::Off;
            if is_due && stream.thought.text.len() > stream.thoughts_kept.len() {
                violations.add(event, format_args!("thoughts of {name} were shown, but no event keeps them"));
            }
        }
    }
}

/// What a delta is of: a model's stream or a call.
fn name_of<'a>(delta: &Event<'a>) -> &'a str {
    if delta.is("tool.output") { delta.text("callId") } else { delta.text("stream") }
}

/// 01, "Deltas": concatenated deltas equal the final text, whenever the client joined.
fn whole_is_sum(
    deltas: Deltas,
    event: &Event,
    name: &str,
    began_live: bool,
    joined: &Joined,
    whole: &str,
    violations: &mut Violations,
) {
    let Joined { text, was_received } = joined;
    let must_be_equal = *was_received && deltas != Deltas::Off;
    if must_be_equal && text != whole {
        violations.add(event, format_args!("the text of {name} is {whole:?}, received was {text:?}"));
    }
    // Without deltas there is what the snapshot showed.
    if !must_be_equal && !whole.starts_with(text.as_str()) {
        violations.add(event, format_args!("the text of {name} is {whole:?}, the snapshot had {text:?}"));
    }
    if deltas == Deltas::Every && began_live && !was_received && !whole.is_empty() {
        violations.add(event, format_args!("the text of {name} came without a delta"));
    }
}

impl Joined {
    /// Overlaps are recognised by their offset and dropped; they must agree with what is there.
    fn append(&mut self, offset: i64, more: &str) -> Result<(), String> {
        let have = self.text.len();
        let offset = usize::try_from(offset).map_err(|_| format!("has offset {offset}"))?;
        if offset > have {
            return Err(format!("begins at byte {offset}, received were {have}"));
        }
        let overlap = more.len().min(have - offset);
        if self.text.as_bytes()[offset..offset + overlap] != more.as_bytes()[..overlap] {
            return Err(format!("says something else at byte {offset} than was received"));
        }
        let rest = more.get(overlap..).ok_or(format!("is cut inside a character at byte {offset}"))?;
        self.text.push_str(rest);
        Ok(())
    }
}
