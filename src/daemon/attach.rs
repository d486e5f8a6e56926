//! Following a session: a snapshot or a cursor, then every event, with texts as they are written.
//!
//! The log is the feed: an attachment holds a cursor and a number of bytes for each open text, and pulls. A slow
//! client costs no memory and no run waits for it; deltas of one text are merged while it is slow.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde_json::{Value, json, value::RawValue};
use tokio::time::{Instant, sleep_until};

use super::{
    handlers::no_session,
    rpc::{Gone, Sink},
    state::State,
};
use crate::protocol::{
    AttachFrom, CallId, CallState, CaughtUp, Delta, Envelope, ErrorKind, EventBody, EventHead, FromWord,
    OpenItem, OutputDelta, RpcError, RunId, Seq, SessionAttachParams, SessionId, Snapshot,
};
use crate::store::{Filter, Follower, OpenStream, Stored, TextWatch};

/// Runs a snapshot shows besides the live ones; older ones are found through the log.
const SNAPSHOT_RUNS: u32 = 20;
/// The least time between two looks at growing texts; what was written meanwhile goes out as one delta. Below what
/// an eye tells apart, and a burst costs each client a hundred messages a second instead of thousands.
const DELTA_PAUSE: Duration = Duration::from_millis(10);

/// Between tries to read the log for an attachment when reading fails.
const READ_RETRY: Duration = Duration::from_secs(1);

/// One client's view of one session.
pub(super) struct Attachment {
    state: Arc<State>,
    session: SessionId,
    follower: Follower,
    /// Tells of growing texts; `None` for a client that wants no deltas.
    texts: Option<TextWatch>,
    /// When texts are looked at again. On the system's clock even where a test holds the daemon's: the pause spares
    /// the wire and means nothing to runs.
    next_look: Instant,
    /// A look was put off until then.
    look_is_due: bool,
    /// The `seq` sent last on this subscription.
    prev: Seq,
    snapshot: Option<Snapshot>,
    /// The head when the attachment began; once it is passed, the client is told.
    catch_up: Option<Seq>,
    /// Texts that are open, by stream.
    open: BTreeMap<String, Progress>,
}

/// How much of a text was sent, in bytes.
struct Progress {
    run: RunId,
    /// The call that puts it out; `None` for what a model writes.
    call: Option<CallId>,
    after_seq: Seq,
    text: usize,
    thought: usize,
}

/// A cursor that lies inside of the log.
pub(super) async fn checked(state: &State, from: Seq) -> Result<Seq, RpcError> {
    if (Seq(0)..=state.store.head()).contains(&from) {
        return Ok(from);
    }
    // Whoever read the database may be ahead of what is published.
    let head = state.store.newest().await?;
    if (Seq(0)..=head).contains(&from) {
        return Ok(from);
    }
    let details = json!({ "oldest": 1, "head": head, "logId": state.store.log_id() });
    Err(RpcError::new(ErrorKind::CursorGone, format!("the log has no event {from}; its newest is {head}"))
        .with_details(details)
        .with_hint("this is another log than the one the cursor came from; attach anew without a cursor"))
}

impl Attachment {
    /// Finds the session and the place to begin; nothing is sent yet.
    pub async fn open(state: &Arc<State>, params: SessionAttachParams) -> Result<Attachment, RpcError> {
        let SessionAttachParams { session_id, from, deltas } = params;
        let view = match state.store.session_view(&session_id, SNAPSHOT_RUNS).await? {
            Some(view) => view,
            None => return Err(no_session(state, &session_id).await),
        };
        let (from, snapshot, catch_up) = match from {
            AttachFrom::Word(FromWord::Now) => (view.seq, true, None),
            AttachFrom::Word(FromWord::Start) => (Seq(0), false, Some(view.seq)),
            AttachFrom::Seq(seq) => (checked(state, seq).await?, false, Some(view.seq)),
        };
        let mut open = BTreeMap::new();
        let mut open_items = Vec::new();
        // With a cursor, texts that are open begin at offset 0, also those that were announced before it.
        for item in view.open {
            let live = state.store.live().get(&item.stream).filter(|_| snapshot);
            let text = live.as_ref().map(|live| live.text_after(0)).unwrap_or_default();
            let thought = live.as_ref().map(|live| live.thought_after(0)).unwrap_or_default();
            let progress = Progress {
                run: item.run.clone(),
                call: item.call.clone(),
                after_seq: item.after_seq,
                text: text.len(),
                thought: thought.len(),
            };
            open.insert(item.stream.clone(), progress);
            let OpenStream { run, stream, call, after_seq } = item;
            open_items.push(OpenItem { run_id: run, stream, call_id: call, after_seq, text, thought });
        }
        let snapshot = snapshot.then(|| Snapshot {
            seq: view.seq,
            session: view.session,
            runs: view.runs,
            open_items,
            open_calls: view.calls,
            queue: view.queue,
        });
        Ok(Attachment {
            state: Arc::clone(state),
            follower: state.store.follow(Filter::session(session_id.clone()), from),
            // Watched from before the first look, so that no growth is missed.
            texts: deltas.then(|| state.store.live().watch(session_id.clone())),
            session: session_id,
            next_look: Instant::now(),
            look_is_due: false,
            prev: from,
            snapshot,
            catch_up,
            open,
        })
    }

    /// Sends until the client, its subscription or the daemon is gone.
    pub async fn pump(mut self, sink: Sink) {
        if let Some(snapshot) = self.snapshot.take() {
            let data = json!(snapshot);
            if self.signal(&sink, "signal.snapshot", data).await.is_err() {
                return;
            }
        }
        loop {
            let events = match self.follower.poll().await {
                Ok(events) => events,
                Err(error) => {
                    // The place in the log is kept, so nothing is lost; the client waits as for a slow disk.
                    tracing::warn!(session = %self.session, %error, "the log cannot be read; tried again");
                    tokio::select! {
                        () = self.state.clock.sleep(READ_RETRY) => continue,
                        () = sink.closed() => return,
                        () = self.state.stop.cancelled() => return,
                    }
                }
            };
            let is_idle = events.is_empty();
            if self.send_events(&sink, events).await.is_err() {
                return;
            }
            if self.follower.position() >= self.catch_up.unwrap_or(Seq(i64::MAX)) {
                self.catch_up = None;
                let data = json!(CaughtUp { head: self.follower.position() });
                if self.signal(&sink, "signal.caughtUp", data).await.is_err() {
                    return;
                }
            }
            if !is_idle {
                continue;
            }
            if self.look_at_texts(&sink).await.is_err() {
                return;
            }
            tokio::select! {
                () = self.follower.wait() => (),
                () = self.more_text() => (),
                () = sink.closed() => return,
                () = self.state.stop.cancelled() => return,
            }
        }
    }

    async fn send_events(&mut self, sink: &Sink, events: Vec<Arc<Stored>>) -> Result<(), Gone> {
        for event in events {
            if self.texts.is_some() {
                self.follow_text(sink, &event).await?;
            }
            send(sink, event.envelope(Some(self.prev))).await?;
            self.prev = event.seq;
        }
        Ok(())
    }

    /// Opens and closes texts as their events pass. Before the event that ends a text goes out, what the client
    /// has not yet seen of it does: concatenated deltas equal the final text for every client.
    async fn follow_text(&mut self, sink: &Sink, event: &Stored) -> Result<(), Gone> {
        let Some(run) = event.run.clone().filter(|_| self.may_concern_text(event)) else { return Ok(()) };
        // An event that cannot be read is still sent as it is; its text then has no deltas.
        let Ok(Some(body)) = event.parse() else { return Ok(()) };
        match body {
            EventBody::ModelStarted(data) => {
                let progress = Progress { run, call: None, after_seq: event.seq, text: 0, thought: 0 };
                self.open.insert(data.stream, progress);
            }
            EventBody::ModelRetrying(data) => {
                self.open.remove(&data.stream);
            }
            EventBody::Thought(data) => {
                if let Some(progress) = self.open.get_mut(&data.stream) {
                    let rest = data.text.get(progress.thought..).unwrap_or_default().to_owned();
                    let delta = progress.thought_delta(&data.stream, rest);
                    self.delta(sink, &run, delta).await?;
                }
            }
            EventBody::ModelCompleted(data) => {
                if let Some(mut progress) = self.open.remove(&data.stream) {
                    let rest = data.text.get(progress.text..).unwrap_or_default().to_owned();
                    let delta = progress.text_delta(&data.stream, rest);
                    self.delta(sink, &run, delta).await?;
                }
            }
            EventBody::ToolState(data) if data.to == CallState::Executing && data.child_run_id.is_some() => {
                let (stream, call) = (data.call_id.as_str().to_owned(), Some(data.call_id));
                let progress = Progress { run, call, after_seq: event.seq, text: 0, thought: 0 };
                self.open.insert(stream, progress);
            }
            EventBody::ToolState(data) if data.to.is_end() => {
                if let Some(mut progress) = self.open.remove(data.call_id.as_str()) {
                    let output = data.output.unwrap_or_default();
                    let rest = output.get(progress.text..).unwrap_or_default().to_owned();
                    let delta = progress.text_delta(data.call_id.as_str(), rest);
                    self.delta(sink, &run, delta).await?;
                }
            }
            _ => (),
        }
        Ok(())
    }

    /// Whether the event may open or close a text.
    ///
    /// Perf: most calls have no open text, and what they returned may be long, so that each client would read much
    /// for nothing. Their events are only searched for what those have that matter.
    fn may_concern_text(&self, event: &Stored) -> bool {
        let mut outputs = self.open.iter().filter(|(_, progress)| progress.call.is_some());
        match &*event.kind {
            "model.started" | "model.retrying" | "model.completed" | "thought" => true,
            "tool.state" => {
                outputs.any(|(call, _)| event.body.contains(call.as_str()))
                    || event.body.contains(r#""childRunId":"#)
            }
            _ => false,
        }
    }

    /// Sends what has been written since the last look, unless that was just now.
    async fn look_at_texts(&mut self, sink: &Sink) -> Result<(), Gone> {
        let now = Instant::now();
        self.look_is_due = now < self.next_look;
        if !self.look_is_due && self.send_deltas(sink).await? {
            self.next_look = now + DELTA_PAUSE;
        }
        Ok(())
    }

    /// Waits until a look at the texts may show something new. Cancel safe.
    async fn more_text(&self) {
        let Some(texts) = &self.texts else { return std::future::pending().await };
        // Growth during the pause wakes nobody.
        sleep_until(self.next_look).await;
        if !self.look_is_due {
            texts.grown().await;
        }
    }

    /// What has been written since; true when there was something.
    async fn send_deltas(&mut self, sink: &Sink) -> Result<bool, Gone> {
        if self.texts.is_none() {
            return Ok(false);
        }
        let mut due = Vec::new();
        for (stream, progress) in &mut self.open {
            let Some(live) = self.state.store.live().get(stream) else { continue };
            let thought = live.thought_after(progress.thought);
            due.extend(progress.thought_delta(stream, thought).map(|delta| (progress.run.clone(), delta)));
            let text = live.text_after(progress.text);
            due.extend(progress.text_delta(stream, text).map(|delta| (progress.run.clone(), delta)));
        }
        let is_any = !due.is_empty();
        for (run, delta) in due {
            self.delta(sink, &run, Some(delta)).await?;
        }
        Ok(is_any)
    }

    async fn delta(
        &self,
        sink: &Sink,
        run: &RunId,
        delta: Option<(&'static str, Value)>,
    ) -> Result<(), Gone> {
        let Some((kind, delta)) = delta else { return Ok(()) };
        self.notify(sink, kind, Some(run.clone()), delta).await
    }

    async fn signal(&self, sink: &Sink, kind: &str, data: Value) -> Result<(), Gone> {
        self.notify(sink, kind, None, data).await
    }

    async fn notify(&self, sink: &Sink, kind: &str, run: Option<RunId>, data: Value) -> Result<(), Gone> {
        let envelope = Envelope {
            seq: None,
            prev: None,
            at: Some(self.state.clock.now()),
            kind: kind.to_owned(),
            session_id: Some(self.session.clone()),
            run_id: run,
            head: EventHead::default(),
            data,
        };
        send(sink, json!(envelope).to_string()).await
    }
}

async fn send(sink: &Sink, envelope: String) -> Result<(), Gone> {
    // An envelope that is no JSON would be a defect of ours; the subscription then ends rather than skip one.
    let envelope = RawValue::from_string(envelope).map_err(|error| {
        tracing::error!(%error, "an envelope is no JSON");
        Gone
    })?;
    sink.send(envelope).await
}

impl Progress {
    /// More of a model's text, or of what a call puts out.
    fn text_delta(&mut self, stream: &str, text: String) -> Option<(&'static str, Value)> {
        let before = self.text;
        self.text += text.len();
        match &self.call {
            None => self.delta(stream, before, text).map(|delta| ("model.textDelta", delta)),
            Some(_) if text.is_empty() => None,
            Some(call) => {
                let (call_id, after_seq, offset) = (call.clone(), self.after_seq, offset(before));
                Some(("tool.output", json!(OutputDelta { call_id, after_seq, offset, text })))
            }
        }
    }

    fn thought_delta(&mut self, stream: &str, text: String) -> Option<(&'static str, Value)> {
        let before = self.thought;
        self.thought += text.len();
        self.delta(stream, before, text).map(|delta| ("model.thoughtDelta", delta))
    }

    fn delta(&self, stream: &str, before: usize, text: String) -> Option<Value> {
        let (stream, after_seq, offset) = (stream.to_owned(), self.after_seq, offset(before));
        (!text.is_empty()).then(|| json!(Delta { stream, after_seq, offset, text }))
    }
}

/// Bytes, as the wire counts them.
fn offset(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
