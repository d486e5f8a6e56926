//! What is there when a subscription begins?

use std::collections::BTreeSet;

use super::{super::wire_errors::no_session, LogFeed, texts::SnapshotText};
use protocol::{Confirmation, EventSeq, OpenStreamText, RpcError, RunId, SessionId, Snapshot};
use store::{LiveTexts, LiveView, OpenStream, SessionView};

/// Runs that the snapshot of one session shows besides the live ones; older ones are found through the log.
const ENDED_RUNS: u32 = 20;

/// Live runs that the snapshot of several sessions shows. Each works, waits or stands in a queue; more than this nobody
/// looks at, and a snapshot must fit into a message.
const LIVE_RUNS: u32 = 1_000;

/// Bytes of open texts in one snapshot; the rest of them comes as deltas. A quarter of what a message may have.
const TEXT_BYTES: usize = 4 << 20;

/// What is there as of one `seq`.
pub(super) struct LogSnapshot {
    pub seq: EventSeq,
    /// Without open texts.
    snapshot: Snapshot,
    open: Vec<OpenStream>,
    /// Questions that wait, oldest first.
    asked: Vec<Confirmation>,
}

impl LogSnapshot {
    /// One session: what lives in it, and what it did lately.
    pub async fn of_session(state: &LogFeed, session: &SessionId) -> Result<LogSnapshot, RpcError> {
        let Some(view) = state.store.session_view(session, ENDED_RUNS).await? else {
            return Err(no_session(&state.store, session).await);
        };
        let SessionView { seq, session, runs, open, calls, queue, confirmations } = view;
        let snapshot = Snapshot {
            seq,
            session: Some(session),
            sessions: Vec::new(),
            runs,
            live_runs: None,
            open_items: Vec::new(),
            open_calls: calls,
            open_confirmations: Vec::new(),
            queue,
        };
        Ok(LogSnapshot { seq, snapshot, open, asked: confirmations })
    }

    /// What lives in these sessions; in all when none is named.
    pub async fn of_living(state: &LogFeed, sessions: &[SessionId]) -> Result<LogSnapshot, RpcError> {
        let view = state.store.live_view(sessions, LIVE_RUNS).await?;
        let LiveView { seq, sessions, runs, live_runs, open, calls, queue, confirmations } = view;
        let is_cut = u64::try_from(runs.len()).is_ok_and(|shown| shown < live_runs);
        let snapshot = Snapshot {
            seq,
            session: None,
            sessions,
            live_runs: is_cut.then_some(live_runs),
            runs,
            open_items: Vec::new(),
            open_calls: calls,
            open_confirmations: Vec::new(),
            queue,
        };
        Ok(LogSnapshot { seq, snapshot, open, asked: confirmations })
    }

    /// Nothing but the place, for who wants neither a snapshot nor texts.
    pub fn head(state: &LogFeed) -> LogSnapshot {
        let seq = state.store.head();
        let snapshot = Snapshot {
            seq,
            session: None,
            sessions: Vec::new(),
            runs: Vec::new(),
            live_runs: None,
            open_items: Vec::new(),
            open_calls: Vec::new(),
            open_confirmations: Vec::new(),
            queue: Vec::new(),
        };
        LogSnapshot { seq, snapshot, open: Vec::new(), asked: Vec::new() }
    }

    /// Only what is about these runs.
    #[must_use]
    pub fn only(mut self, runs: &BTreeSet<RunId>) -> LogSnapshot {
        let Snapshot { sessions, runs: records, live_runs, open_calls, queue, .. } = &mut self.snapshot;
        records.retain(|record| runs.contains(&record.run_id));
        sessions.retain(|session| records.iter().any(|record| record.session_id == session.session_id));
        open_calls.retain(|call| runs.contains(&call.run_id));
        queue.retain(|queued| runs.contains(&queued.run_id));
        // It counts others too.
        *live_runs = None;
        self.open.retain(|stream| runs.contains(&stream.run));
        self.asked.retain(|asked| runs.contains(&asked.run_id));
        self
    }

    /// The snapshot, how much of each open text is in it, and the questions that are still to be put into it.
    pub fn shown(self, live: &LiveTexts) -> (Snapshot, Vec<SnapshotText>, Vec<Confirmation>) {
        let LogSnapshot { mut snapshot, open, asked, .. } = self;
        let mut room = TEXT_BYTES;
        let mut shown = Vec::new();
        for stream in open {
            let live = live.get(&stream.stream);
            let mut beginning = |text: String| {
                let end = text.floor_char_boundary(room);
                room -= end;
                text[..end].to_owned()
            };
            let text = beginning(live.as_ref().map(|live| live.text_after(0)).unwrap_or_default());
            let thought = beginning(live.as_ref().map(|live| live.thought_after(0)).unwrap_or_default());
            let (text_shown, thought_shown) = (text.len(), thought.len());
            snapshot.open_items.push(OpenStreamText {
                run_id: stream.run.clone(),
                stream: stream.stream.clone(),
                call_id: stream.call.clone(),
                after_seq: stream.after_seq,
                text,
                thought,
            });
            shown.push(SnapshotText { stream, text: text_shown, thought: thought_shown });
        }
        (snapshot, shown, asked)
    }

    /// The open texts, of which nothing is shown.
    pub fn unseen(self) -> Vec<SnapshotText> {
        self.open.into_iter().map(|stream| SnapshotText { stream, text: 0, thought: 0 }).collect()
    }
}
