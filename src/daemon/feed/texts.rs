//! Which part of a growing text has this subscriber seen? Deltas that always add up to the final text.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use protocol::{
    CallId, CallState, EventBody, EventSeq, OutputDelta, ProgressSignal, RunId, SessionId, StreamDelta,
};
use store::{LiveText, LiveTexts, LogFilter, OpenStream, StoredEvent, TextWatch};

/// The least time between two looks at growing texts; what was written meanwhile goes out as one delta. Below what
/// an eye tells apart, and a burst costs each client a hundred messages a second instead of thousands.
const DELTA_PAUSE: Duration = Duration::from_millis(10);

const TEXT: &str = "model.textDelta";
const THOUGHT: &str = "model.thoughtDelta";
const OUTPUT: &str = "tool.output";
const PROGRESS: &str = "signal.progress";
/// In the body of the event that opens a call's output.
const PUTS_OUT: [&str; 2] = [r#""childRunId":"#, r#""streams":true"#];
/// Every kind of what comes while something goes on.
pub(super) const DELTAS: [&str; 4] = [TEXT, THOUGHT, OUTPUT, PROGRESS];
/// The events that open, end or void a text: without them nobody knows what there is to say.
pub(super) const MARKS: [&str; 5] =
    ["model.started", "model.retrying", "model.completed", "thought", "tool.state"];

/// The open texts of one subscription.
pub(super) struct OpenTexts {
    live: LiveTexts,
    watch: TextWatch,
    /// Those that are open, by stream.
    open: BTreeMap<String, TextProgress>,
    /// When texts are looked at again. On the system's clock even where a test holds the daemon's: the pause spares
    /// the wire and means nothing to runs.
    next_look: Instant,
    /// A look was put off until then.
    look_is_due: bool,
    /// Its types say which deltas are wanted.
    filter: LogFilter,
}

/// How much of a text was sent, in bytes.
struct TextProgress {
    session: SessionId,
    run: RunId,
    /// The call that puts it out; `None` for what a model writes.
    call: Option<CallId>,
    after_seq: EventSeq,
    text: usize,
    thought: usize,
    /// How often how far the call is was said, when that was sent last.
    told: u64,
}

/// A delta that is to be sent.
pub(super) struct DueDelta {
    pub session: SessionId,
    pub run: RunId,
    pub kind: &'static str,
    pub data: Value,
}

/// A text that is open when a subscription begins, and how much of it is in its snapshot.
pub(super) struct SnapshotText {
    pub stream: OpenStream,
    pub text: usize,
    pub thought: usize,
}

impl OpenTexts {
    /// Watches the texts of some sessions, of none = of all.
    pub fn watch(live: &LiveTexts, sessions: &[SessionId], filter: LogFilter) -> OpenTexts {
        let watch = live.watch(sessions);
        let (open, next_look, look_is_due) = (BTreeMap::new(), Instant::now(), false);
        OpenTexts { live: live.clone(), watch, open, next_look, look_is_due, filter }
    }

    /// Texts that were announced before the subscription's first event.
    pub fn begin(&mut self, shown: Vec<SnapshotText>) {
        for SnapshotText { stream, text, thought } in shown {
            let OpenStream { session, run, stream, call, after_seq } = stream;
            self.open.insert(stream, TextProgress { session, run, call, after_seq, text, thought, told: 0 });
        }
    }

    /// Opens and closes texts as their events pass. Before the event that ends a text goes out, what the client
    /// has not yet seen of it does: concatenated deltas equal the final text for every client.
    pub fn pass(&mut self, event: &StoredEvent) -> Option<DueDelta> {
        let run = event.run.clone().filter(|_| self.may_concern_text(event))?;
        let session = event.session.clone()?;
        let begun =
            |call| TextProgress { session, run, call, after_seq: event.seq, text: 0, thought: 0, told: 0 };
        // An event that cannot be read is still sent as it is; its text then has no deltas.
        match event.parse().ok()?? {
            EventBody::ModelStarted(data) => {
                self.open.insert(data.stream, begun(None));
                None
            }
            EventBody::ModelRetrying(data) => {
                self.open.remove(&data.stream);
                None
            }
            EventBody::ModelThought(data) => {
                let progress = self.open.get_mut(&data.stream)?;
                let rest = data.text.get(progress.thought..).unwrap_or_default().to_owned();
                progress.more_thought(&data.stream, rest)
            }
            EventBody::ModelCompleted(data) => {
                let mut progress = self.open.remove(&data.stream)?;
                let rest = data.text.get(progress.text..).unwrap_or_default().to_owned();
                progress.more_text(&data.stream, rest)
            }
            EventBody::ToolState(data) if data.to == CallState::Executing && data.puts_out() => {
                let stream = data.call_id.as_str().to_owned();
                self.open.insert(stream, begun(Some(data.call_id)));
                None
            }
            EventBody::ToolState(data) if data.to.is_end() => {
                let mut progress = self.open.remove(data.call_id.as_str())?;
                let output = data.output.unwrap_or_default();
                let rest = output.get(progress.text..).unwrap_or_default().to_owned();
                progress.more_text(data.call_id.as_str(), rest)
            }
            _ => None,
        }
        .filter(|due| self.filter.has_type(due.kind))
    }

    /// True if the event may open or close a text.
    ///
    /// Perf: most calls have no open text, and what they returned may be long, so that each client would read much
    /// for nothing. Their events are only searched for what those have that matter.
    fn may_concern_text(&self, event: &StoredEvent) -> bool {
        let mut outputs = self.open.iter().filter(|(_, progress)| progress.call.is_some());
        match &*event.kind {
            "tool.state" => {
                PUTS_OUT.iter().any(|mark| event.body.contains(mark))
                    || outputs.any(|(call, _)| event.body.contains(call.as_str()))
            }
            kind => MARKS.contains(&kind),
        }
    }

    /// What has been written since the last look, unless that was just now.
    pub fn look(&mut self) -> Vec<DueDelta> {
        let now = Instant::now();
        self.look_is_due = now < self.next_look;
        if self.look_is_due {
            return Vec::new();
        }
        let mut due = Vec::new();
        for (stream, progress) in &mut self.open {
            let Some(live) = self.live.get(stream) else { continue };
            due.extend(progress.more_thought(stream, live.thought_after(progress.thought)));
            due.extend(progress.more_text(stream, live.text_after(progress.text)));
            due.extend(progress.news(&live));
        }
        due.retain(|due| self.filter.has_type(due.kind));
        if !due.is_empty() {
            self.next_look = now + DELTA_PAUSE;
        }
        due
    }

    /// Waits until a look may show something new. Cancel safe.
    pub async fn grown(&self) {
        // Growth during the pause wakes nobody.
        sleep_until(self.next_look).await;
        if !self.look_is_due {
            self.watch.grown().await;
        }
    }
}

impl TextProgress {
    /// More of a model's text, or of what a call puts out.
    fn more_text(&mut self, stream: &str, text: String) -> Option<DueDelta> {
        let before = self.text;
        self.text += text.len();
        let Some(call) = &self.call else { return self.delta(TEXT, stream, before, text) };
        if text.is_empty() {
            return None;
        }
        let (call_id, after_seq, offset) = (call.clone(), self.after_seq, offset(before));
        Some(self.due_delta(OUTPUT, json!(OutputDelta { call_id, after_seq, offset, text })))
    }

    /// How far the call is, if that was said again.
    fn news(&mut self, live: &LiveText) -> Option<DueDelta> {
        let call_id = self.call.clone()?;
        let (told, progress) = live.progress_after(self.told)?;
        self.told = told;
        Some(self.due_delta(PROGRESS, json!(ProgressSignal { call_id, progress })))
    }

    fn more_thought(&mut self, stream: &str, text: String) -> Option<DueDelta> {
        let before = self.thought;
        self.thought += text.len();
        self.delta(THOUGHT, stream, before, text)
    }

    fn delta(&self, kind: &'static str, stream: &str, before: usize, text: String) -> Option<DueDelta> {
        let (stream, after_seq, offset) = (stream.to_owned(), self.after_seq, offset(before));
        (!text.is_empty())
            .then(|| self.due_delta(kind, json!(StreamDelta { stream, after_seq, offset, text })))
    }

    fn due_delta(&self, kind: &'static str, data: Value) -> DueDelta {
        DueDelta { session: self.session.clone(), run: self.run.clone(), kind, data }
    }
}

/// Bytes, as the wire counts them.
fn offset(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
