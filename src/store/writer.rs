//! The one task that writes: whatever waits goes into one transaction, one fsync.

use std::{future::pending, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use sqlx::{
    Connection as _,
    sqlite::{SqliteConnectOptions, SqliteConnection},
};
use tokio::sync::{mpsc, oneshot};

use super::{
    EventConsumer, KeyedAnswer, NewEvent, SessionDeletionOutcome, StoreError,
    event::{EncodedEvent, EventRow},
    keys::{self, AnswerSweeper},
    removals::SessionRemovals,
    reserve::DiskSpace,
    schema,
    tail::LogTail,
};
use protocol::{EventSeq, SessionId};
use sys::{clock::Clock, histogram::DurationHistogram, worked_folders::WorkedFolders};

mod commit;
mod consumers;
mod delete;
mod forget;

pub(super) use forget::FolderForgetting;

/// Requests that go into one transaction. Bounds the memory of a batch and the wait of its first.
const BATCH: usize = 256;

/// Bytes of events that go into one transaction, but for its first request: they are one statement's value, for which
/// SQLite has a bound of 1 GB, and they are held in memory twice.
const BATCH_BYTES: usize = 64 << 20;

/// How often a full disk is looked at again (spec 11, promise 8).
const PROBE_PAUSE: Duration = Duration::from_secs(1);

type AppendReply = oneshot::Sender<Result<(EventSeq, EventSeq), StoreError>>;

pub(super) enum WriterRequest {
    Append(AppendRequest),
    Delete(SessionDeletion),
    ForgetFolder(FolderForgetting),
    /// Answered when what was asked before is done.
    Ping(oneshot::Sender<()>),
    OpenConsumer(consumers::ConsumerOpening),
    Remember(DaemonNote),
    /// One more piece of what deleted sessions left; answers whether there may be more.
    RemovePiece(oneshot::Sender<Result<bool, StoreError>>),
    /// Gives so many empty pages back to the disk, but for those that are kept; answers whether there are more.
    GiveBack {
        pages: u32,
        kept: u64,
        reply: oneshot::Sender<Result<bool, StoreError>>,
    },
    Close {
        is_clean: bool,
        reply: oneshot::Sender<()>,
    },
}

pub(super) struct AppendRequest {
    events: Vec<(EncodedEvent, EventRow)>,
    keyed: Option<KeyedAnswer>,
    /// A consumer and how far it has come.
    acknowledged: Option<(String, EventSeq)>,
    /// May use the room that is kept for the time when there is none.
    is_urgent: bool,
    /// Nothing is written once this session is gone.
    within: Option<SessionId>,
    reply: AppendReply,
}

/// What the next daemon is to find, and no client is told of.
pub(super) struct DaemonNote {
    pub key: &'static str,
    pub value: String,
    pub reply: oneshot::Sender<Result<(), StoreError>>,
}

/// A session that is to be removed.
pub(super) struct SessionDeletion {
    pub session: SessionId,
    /// What stands in its place; its body's number is not known yet.
    pub tombstone: Box<NewEvent>,
    pub reply: oneshot::Sender<Result<SessionDeletionOutcome, StoreError>>,
}

impl WriterRequest {
    /// Encodes on the caller's task, so that the writer only writes.
    pub fn append(
        events: Vec<NewEvent>,
        keyed: Option<KeyedAnswer>,
        is_urgent: bool,
        reply: AppendReply,
    ) -> Result<WriterRequest, StoreError> {
        let events: Result<Vec<_>, serde_json::Error> = events.into_iter().map(EncodedEvent::new).collect();
        let events = events.map_err(|error| StoreError::Encode(Arc::new(error)))?;
        Ok(WriterRequest::Append(AppendRequest {
            events,
            keyed,
            acknowledged: None,
            is_urgent,
            within: None,
            reply,
        }))
    }

    /// The same for events of a session that may be deleted in the meantime.
    pub fn append_within(
        session: &SessionId,
        events: Vec<NewEvent>,
        reply: AppendReply,
    ) -> Result<WriterRequest, StoreError> {
        let request = WriterRequest::append(events, None, false, reply)?;
        Ok(match request {
            WriterRequest::Append(append) => {
                WriterRequest::Append(AppendRequest { within: Some(session.clone()), ..append })
            }
            other => other,
        })
    }

    pub fn acknowledge(name: &str, seq: EventSeq, reply: AppendReply) -> WriterRequest {
        let acknowledged = Some((name.to_owned(), seq));
        WriterRequest::Append(AppendRequest {
            events: Vec::new(),
            keyed: None,
            acknowledged,
            is_urgent: false,
            within: None,
            reply,
        })
    }

    pub fn open_consumer(
        name: &str,
        at: EventSeq,
        reply: oneshot::Sender<Result<EventConsumer, StoreError>>,
    ) -> WriterRequest {
        WriterRequest::OpenConsumer(consumers::ConsumerOpening { name: name.to_owned(), at, reply })
    }
}

pub(super) struct StoreWriter {
    connection: SqliteConnection,
    options: SqliteConnectOptions,
    /// A commit failed. SQLite may have rolled back on its own, and then the connection's idea of its transaction is
    /// wrong for ever; a fresh one is right.
    is_suspect: bool,
    /// The last `seq` that was committed.
    head: EventSeq,
    tail: Arc<LogTail>,
    commit_times: Arc<DurationHistogram>,
    removals: Arc<SessionRemovals>,
    /// The folders of sessions.
    worked: WorkedFolders,
    clock: Arc<dyn Clock>,
    sweeper: AnswerSweeper,
    room: DiskSpace,
    /// Runs while the disk is full.
    next_probe: Option<BoxFuture<'static, ()>>,
}

impl StoreWriter {
    pub fn new(
        connection: SqliteConnection,
        options: SqliteConnectOptions,
        head: EventSeq,
        (tail, commit_times, removals, worked): (
            Arc<LogTail>,
            Arc<DurationHistogram>,
            Arc<SessionRemovals>,
            WorkedFolders,
        ),
        clock: Arc<dyn Clock>,
        room: DiskSpace,
    ) -> StoreWriter {
        StoreWriter {
            connection,
            options,
            is_suspect: false,
            head,
            tail,
            commit_times,
            removals,
            worked,
            clock,
            sweeper: AnswerSweeper::new(),
            room,
            next_probe: None,
        }
    }

    /// Ends when it is told to close, or when every handle is gone.
    pub async fn run(mut self, mut requests: mpsc::Receiver<WriterRequest>) {
        let mut batch = Vec::with_capacity(BATCH);
        self.sweep().await;
        loop {
            let probe = async {
                match &mut self.next_probe {
                    Some(pause) => pause.await,
                    None => pending().await,
                }
            };
            let received = tokio::select! {
                received = requests.recv_many(&mut batch, BATCH) => Some(received),
                () = probe => None,
            };
            match received {
                Some(0) => return,
                Some(_) => (),
                None => {
                    self.look_for_room().await;
                    continue;
                }
            }
            let mut appends = Vec::with_capacity(batch.len());
            let mut pings = Vec::new();
            let mut close = None;
            for request in batch.drain(..) {
                match request {
                    WriterRequest::Append(append) => appends.push(append),
                    WriterRequest::Delete(deletion) => {
                        // In the order of asking: what was appended before is removed with the rest.
                        self.commit_all(std::mem::take(&mut appends)).await;
                        self.delete(deletion).await;
                    }
                    WriterRequest::ForgetFolder(forgetting) => {
                        // Sessions that were asked for before are there.
                        self.commit_all(std::mem::take(&mut appends)).await;
                        self.forget_folder(forgetting).await;
                    }
                    WriterRequest::Ping(reply) => pings.push(reply),
                    WriterRequest::OpenConsumer(opening) => {
                        // What was acknowledged before counts.
                        self.commit_all(std::mem::take(&mut appends)).await;
                        self.open_consumer(opening).await;
                    }
                    WriterRequest::Remember(note) => self.remember(note).await,
                    WriterRequest::RemovePiece(reply) => {
                        self.commit_all(std::mem::take(&mut appends)).await;
                        // Whoever asked may be gone.
                        let _gone = reply.send(self.remove_piece().await);
                    }
                    WriterRequest::GiveBack { pages, kept, reply } => {
                        self.commit_all(std::mem::take(&mut appends)).await;
                        let _gone = reply.send(self.give_back(pages, kept).await);
                    }
                    WriterRequest::Close { is_clean, reply } => close = Some((is_clean, reply)),
                }
            }
            self.commit_all(appends).await;
            for reply in pings {
                // Whoever asked may have stopped waiting.
                let _gone = reply.send(());
            }
            if let Some((is_clean, reply)) = close {
                if is_clean && let Err(error) = schema::leave_clean_mark(&mut self.connection).await {
                    tracing::warn!(%error, "the clean stop could not be recorded");
                }
                if let Err(error) = self.connection.close().await {
                    tracing::warn!(%error, "the database was not closed cleanly");
                }
                // Whoever closes may have gone meanwhile.
                let _gone = reply.send(());
                return;
            }
        }
    }

    async fn commit_all(&mut self, appends: Vec<AppendRequest>) {
        let has_keys = appends.iter().any(|append| append.keyed.is_some());
        let appends = if has_keys { self.refuse_used_keys(appends).await } else { appends };
        let has_sessions = appends.iter().any(|append| append.within.is_some());
        let appends = if has_sessions { self.refuse_of_deleted(appends).await } else { appends };
        for appends in batches(BATCH_BYTES, appends) {
            self.commit_together(appends).await;
        }
        if has_keys {
            self.sweep().await;
        }
    }

    async fn commit_together(&mut self, appends: Vec<AppendRequest>) {
        // The disk may have turned out to be full under the one before.
        let appends = if self.room.is_full() { refuse_ordinary(appends) } else { appends };
        if appends.is_empty() {
            return;
        }
        match self.commit(&appends).await {
            Ok(seqs) => answer(appends, seqs),
            Err(StoreError::Full) => self.commit_urgent(appends).await,
            // One bad request must not hurt its neighbours.
            Err(error) if 1 < appends.len() => {
                tracing::warn!(%error, "a batch failed; its requests are committed one by one");
                for append in appends {
                    self.commit_alone(append).await;
                }
            }
            Err(error) => refuse(appends, &error),
        }
    }

    /// Boxed, since it is what a batch comes back to.
    fn commit_alone(&mut self, append: AppendRequest) -> BoxFuture<'_, ()> {
        Box::pin(self.commit_together(vec![append]))
    }

    /// The disk turned out to be full: the kept room is for those that must be written all the same.
    async fn commit_urgent(&mut self, appends: Vec<AppendRequest>) {
        let is_news = self.room.use_reserve().await;
        self.next_probe.get_or_insert_with(|| self.clock.sleep(PROBE_PAUSE));
        let urgent = refuse_ordinary(appends);
        if urgent.is_empty() {
            return;
        }
        // When the reserve is used up as well, there is nothing left to try.
        let committed = if is_news { self.commit(&urgent).await } else { Err(StoreError::Full) };
        match committed {
            Ok(seqs) => answer(urgent, seqs),
            Err(error) => refuse(urgent, &error),
        }
    }

    async fn look_for_room(&mut self) {
        self.next_probe = match self.room.refill().await {
            true => None,
            false => Some(self.clock.sleep(PROBE_PAUSE)),
        };
    }

    /// What is left to be committed when those whose key was used before have been told.
    async fn refuse_used_keys(&mut self, appends: Vec<AppendRequest>) -> Vec<AppendRequest> {
        let keys: Vec<_> = appends.iter().filter_map(|it| Some(&it.keyed.as_ref()?.key)).collect();
        let mut used = match keys::used(&mut self.connection, &keys).await {
            Ok(used) => used,
            // The commit fails as well then, and says why.
            Err(error) => {
                tracing::warn!(%error, "used keys could not be looked up");
                Vec::new()
            }
        };
        let mut fresh = Vec::with_capacity(appends.len());
        for append in appends {
            let key = append.keyed.as_ref().map(|keyed| keyed.key.0.clone());
            match key {
                Some(key) if used.contains(&key) => refuse(vec![append], &StoreError::KeyUsed),
                key => {
                    // The first of two in one batch has it.
                    used.extend(key);
                    fresh.push(append);
                }
            }
        }
        fresh
    }

    async fn remember(&mut self, note: DaemonNote) {
        let DaemonNote { key, value, reply } = note;
        let written = match self.heal().await {
            Ok(_) if self.room.is_full() => Err(StoreError::Full),
            Ok(_) => schema::remember(&mut self.connection, key, &value).await.map_err(StoreError::from),
            Err(error) => Err(error),
        };
        // Whoever asked may have stopped waiting.
        let _gone = reply.send(written);
    }

    async fn sweep(&mut self) {
        // What cannot be removed now is removed later.
        if let Err(error) = self.sweeper.sweep(&mut self.connection, self.clock.now()).await {
            tracing::warn!(%error, "old idempotency keys could not be removed");
        }
    }
}

/// In order, each as large as may be.
fn batches(bytes: usize, appends: Vec<AppendRequest>) -> Vec<Vec<AppendRequest>> {
    let mut batches: Vec<Vec<AppendRequest>> = Vec::new();
    let mut sum = 0;
    for append in appends {
        let weight: usize = append.events.iter().map(|(_, row)| row.bytes()).sum();
        sum += weight;
        match batches.last_mut() {
            Some(batch) if sum <= bytes => batch.push(append),
            _ => {
                batches.push(vec![append]);
                sum = weight;
            }
        }
    }
    batches
}

/// The urgent ones; the others are told that the disk is full.
fn refuse_ordinary(appends: Vec<AppendRequest>) -> Vec<AppendRequest> {
    let (urgent, ordinary) = appends.into_iter().partition(|append| append.is_urgent);
    refuse(ordinary, &StoreError::Full);
    urgent
}

fn answer(appends: Vec<AppendRequest>, seqs: Vec<(EventSeq, EventSeq)>) {
    for (append, seqs) in appends.into_iter().zip(seqs) {
        // Whoever asked may have been cancelled meanwhile; the events are true all the same.
        let _gone = append.reply.send(Ok(seqs));
    }
}

fn refuse(appends: Vec<AppendRequest>, error: &StoreError) {
    for append in appends {
        let _gone = append.reply.send(Err(error.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{DaemonWarning, EventBody, EventHead, PrivateEventFields, RunResumed, Timestamp};

    fn append(bytes: usize) -> AppendRequest {
        let body = match bytes {
            0 => EventBody::from(RunResumed::default()),
            _ => DaemonWarning { message: "x".repeat(bytes) }.into(),
        };
        let event = NewEvent {
            at: Timestamp(0),
            session: None,
            run: None,
            context: None,
            head: EventHead::default(),
            body,
            private: PrivateEventFields::default(),
        };
        let (reply, _) = oneshot::channel();
        AppendRequest {
            events: vec![EncodedEvent::new(event).unwrap()],
            keyed: None,
            is_urgent: false,
            acknowledged: None,
            within: None,
            reply,
        }
    }

    #[test]
    fn what_is_too_much_for_one_transaction_goes_into_several_in_order() {
        let sizes = |appends: Vec<AppendRequest>| -> Vec<usize> {
            batches(1_500, appends).iter().map(Vec::len).collect()
        };
        assert_eq!(sizes([500, 500, 5_000, 0, 0, 1_200].map(append).into()), [2, 1, 3]);
        assert_eq!(sizes(Vec::new()), Vec::<usize>::new());
    }
}
