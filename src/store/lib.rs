//! The log and its projections, in SQLite; the only module that writes SQL (DESIGN, "The store").
//!
//! One writer task owns the writing connection. Requests queue and are group-committed; each is answered after
//! the commit, and committed events are published to the tail ring in `seq` order, so cursors are gapless.
//! Tables that are no projections of the log: `meta`, `idempotency`, `consumers`.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock, atomic::AtomicBool},
    time::Duration,
};

use sqlx::sqlite::SqlitePool;
use tokio::sync::{mpsc, oneshot, watch};

use protocol::{EventSeq, SessionId, Timestamp};
use sys::{
    clock::Clock,
    histogram::{DurationCounts, DurationHistogram},
    tasks::TaskGroup,
    worked_folders::WorkedFolders,
};

mod alive;
mod consumer_rows;
mod consumers;
mod context;
mod event;
mod examine;
mod filter;
mod follow;
mod keys;
mod live;
mod minutes;
mod notes;
mod project;
mod read;
mod removals;
mod reserve;
mod retention;
mod schema;
mod tail;
mod wire_errors;
mod worked;
mod writer;

pub use consumer_rows::EventConsumer;
pub use context::{ContextFold, replace_results, replaced_results};
pub use event::{CommittedEvent, NewEvent, StoredEvent};
pub use filter::LogFilter;
pub use follow::Follower;
pub use keys::{KeptAnswer, KeyedAnswer};
pub use live::{LiveAppender, LiveText, LiveTexts, LiveWriter, MAX_LIVE_BYTES, TextWatch, TooLong};
pub use read::{
    AgentSession, ClientCallRecord, ConfirmationFilter, ContextEvents, EventPage, KeptOutput, ListPage,
    LiveView, OpenStream, RunFilter, RunPlace, SessionFilter, SessionView, StoredConfirmation, StoredTrust,
    TreeTotal, TriggerHits, UnfinishedRunRecord, UsageOf,
};
pub use retention::{PruningCandidate, StoreRoom};
pub use schema::MIGRATIONS;

/// A cheap handle; clones share the writer and the readers.
#[derive(Clone)]
pub struct EventStore {
    shared: Arc<StoreState>,
}

struct StoreState {
    path: PathBuf,
    log_id: String,
    stopped_cleanly: bool,
    requests: mpsc::Sender<writer::WriterRequest>,
    readers: SqlitePool,
    /// For short reads that must not wait behind long ones.
    control: SqlitePool,
    tail: Arc<tail::LogTail>,
    live: LiveTexts,
    is_full: watch::Receiver<bool>,
    missing_reserve: Option<String>,
    /// The folders of all sessions.
    worked: WorkedFolders,
    /// Deleted sessions whose events are being taken away.
    removals: Arc<removals::SessionRemovals>,
    commit_times: Arc<DurationHistogram>,
    clock: Arc<dyn Clock>,
    away: Option<Duration>,
    /// The time at which it was opened, and how long nobody had been at work when the first run was taken up.
    opened_at: Timestamp,
    away_until_work: OnceLock<Option<Duration>>,
    /// The newest event when it was opened.
    found_head: EventSeq,
    /// What the last daemon left has been taken up.
    is_at_work: AtomicBool,
    /// Held while the store lives: a second daemon on the same database is refused. Its time says when a daemon was at work last.
    lock: std::fs::File,
}

/// What came of asking to forget a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FolderForgettingOutcome {
    Gone {
        seq: EventSeq,
    },
    /// No agent is known to have worked there.
    Unknown,
    /// These sessions have it as one of their folders, the one that was active last first; not all of very many.
    InUse {
        sessions: Vec<SessionId>,
    },
}

/// What became of a session that was to be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionDeletionOutcome {
    /// It is removed; so many events went, and `seq` stands in their place.
    Gone { seq: EventSeq, events: u64 },
    /// So many of its runs live.
    Busy { live_runs: u64 },
    /// There is no such session.
    Missing,
}

/// Bounds by which commits are counted, in microseconds: from a page in memory to a disk that hardly answers.
const COMMIT_BOUNDS_US: &[u64] = &[
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    5_000_000,
];

/// Requests that may wait for the writer before senders wait too: more than one batch, so that the writer
/// never idles while work is there.
const REQUEST_QUEUE: usize = 1_024;

/// The reason why the store could not do it; variants by what the caller does next.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    #[error("the disk is full; nothing was written")]
    Full,
    #[error("another daemon uses {path}{}", .pid.as_ref().map(|pid| format!(" (pid {pid})")).unwrap_or_default())]
    Locked { path: PathBuf, pid: Option<String> },
    #[error(
        "{path} was written by a newer version: it has migration {found}, this version knows {known}; \
         start that newer version, or point --state-dir elsewhere"
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error(
        "{path} was written by a development version whose tables differ (migration {migration}); \
         move it away, or point --state-dir elsewhere"
    )]
    Incompatible { path: PathBuf, migration: i64 },
    #[error("database: {0}")]
    Database(Arc<sqlx::Error>),
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: Arc<std::io::Error> },
    #[error("{path} cannot be used as a database: {message}; move it away, or point --state-dir elsewhere")]
    Unusable { path: PathBuf, message: String },
    #[error("event {seq} cannot be read by this version: {message}")]
    Unreadable { seq: EventSeq, message: String },
    #[error("an event cannot be written as JSON: {0}")]
    Encode(Arc<serde_json::Error>),
    #[error("this idempotency key is used already")]
    KeyUsed,
    #[error("more consumers are remembered than there may be, and each was used lately")]
    TooManyConsumers,
    #[error("the session is gone; nothing was written")]
    SessionGone,
    #[error("this cursor was not made by this list")]
    BadCursor,
    #[error("the store is closed")]
    Closed,
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> StoreError {
        /// SQLite's primary result code for a full disk.
        const SQLITE_FULL: &str = "13";
        let is_full = error.as_database_error().and_then(|it| it.code()).is_some_and(|it| it == SQLITE_FULL);
        if is_full { StoreError::Full } else { StoreError::Database(Arc::new(error)) }
    }
}

impl EventStore {
    /// Opens the database in `state_dir`, made when it is missing (folder 0700, files 0600), takes the lock,
    /// and starts the writer on `tasks`.
    pub async fn open(
        state_dir: &Path,
        tasks: &TaskGroup,
        clock: Arc<dyn Clock>,
    ) -> Result<EventStore, StoreError> {
        let opened = schema::open(state_dir).await?;
        let opened_at = clock.now();
        let away = opened.touched.and_then(|touched| alive::away(touched, opened_at));
        let tail = Arc::new(tail::LogTail::new(opened.head));
        let (requests, receiver) = mpsc::channel(REQUEST_QUEUE);
        let (sender, is_full) = watch::channel(false);
        let (room, missing_reserve) = reserve::DiskSpace::new(state_dir, sender).await;
        let commit_times = Arc::new(DurationHistogram::new(COMMIT_BOUNDS_US));
        let mut connection = opened.writer;
        let removals = Arc::new(removals::SessionRemovals::load(&mut connection).await?);
        let worked = WorkedFolders::default();
        worked.add(worked::folders(&opened.readers).await?);
        let news = (Arc::clone(&tail), Arc::clone(&commit_times), Arc::clone(&removals), worked.clone());
        let writer =
            writer::StoreWriter::new(connection, opened.options, opened.head, news, Arc::clone(&clock), room);
        tasks.spawn_vital("the writer of the database", writer.run(receiver));
        let shared = StoreState {
            worked,
            path: opened.path,
            log_id: opened.log_id,
            stopped_cleanly: opened.stopped_cleanly,
            requests,
            readers: opened.readers,
            control: opened.control,
            live: LiveTexts::new(Arc::clone(&tail)),
            tail,
            is_full,
            missing_reserve,
            removals,
            commit_times,
            clock,
            away,
            opened_at,
            away_until_work: OnceLock::new(),
            found_head: opened.head,
            is_at_work: AtomicBool::new(false),
            lock: opened.lock,
        };
        Ok(EventStore { shared: Arc::new(shared) })
    }

    /// The folders of all sessions that there are, or were, those apart that a person had it forget.
    pub fn worked_folders(&self) -> &WorkedFolders {
        &self.shared.worked
    }

    /// Appends in one transaction, in order; answers once it is durable. Returns the `seq` of the first and of
    /// the last event. An empty append writes nothing and answers the head twice.
    pub async fn append(&self, events: Vec<NewEvent>) -> Result<(EventSeq, EventSeq), StoreError> {
        self.append_keyed(events, None).await
    }

    /// As [`EventStore::append`], for what must be written also when the disk is full: it may use the room that is kept for
    /// that time.
    pub async fn append_urgent(&self, events: Vec<NewEvent>) -> Result<(EventSeq, EventSeq), StoreError> {
        if events.is_empty() {
            let head = self.head();
            return Ok((head, head));
        }
        self.ask_writer(events, None, true).await
    }

    /// Appends events of a session whose work is over, unless it was deleted in the meantime: then nothing of it is to stay
    /// ([`StoreError::SessionGone`]).
    pub async fn append_within(
        &self,
        session: &SessionId,
        events: Vec<NewEvent>,
    ) -> Result<(EventSeq, EventSeq), StoreError> {
        let (reply, answer) = oneshot::channel();
        let request = writer::WriterRequest::append_within(session, events, reply)?;
        self.shared.requests.send(request).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    async fn ask_writer(
        &self,
        events: Vec<NewEvent>,
        keyed: Option<KeyedAnswer>,
        is_urgent: bool,
    ) -> Result<(EventSeq, EventSeq), StoreError> {
        let (reply, answer) = oneshot::channel();
        let request = writer::WriterRequest::append(events, keyed, is_urgent, reply)?;
        self.shared.requests.send(request).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Removes a session with its events, contexts and runs in one transaction, and leaves `tombstone`, a `session.deleted`, in its
    /// place. Nothing is removed while a run of it lives. Of a session with many events some stay in the file, where nobody reads
    /// them, until [`EventStore::remove_piece`] has taken them away.
    pub async fn delete_session(
        &self,
        session: &SessionId,
        tombstone: NewEvent,
    ) -> Result<SessionDeletionOutcome, StoreError> {
        let (reply, answer) = oneshot::channel();
        let deletion =
            writer::SessionDeletion { session: session.clone(), tombstone: Box::new(tombstone), reply };
        let request = writer::WriterRequest::Delete(deletion);
        self.shared.requests.send(request).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Finishes what was asked, remembers that the stop was a clean one, and closes the database. A daemon that took up nothing says
    /// of the one before it what that one said.
    pub async fn close(&self) {
        self.note_alive();
        // Readers first: the last connection to close folds the write-ahead log back, and it must be one that writes.
        self.shared.readers.close().await;
        self.shared.control.close().await;
        let (reply, answer) = oneshot::channel();
        let is_clean = self.is_at_work() || self.stopped_cleanly();
        let request = writer::WriterRequest::Close { is_clean, reply };
        if self.shared.requests.send(request).await.is_ok() {
            // An error means that the writer is gone, and then there is nothing left to finish.
            answer.await.unwrap_or_default();
        }
    }

    /// Waits until the writer has done what it was asked before this; false when there is no writer any more. Cancel
    /// safe.
    pub async fn writer_answers(&self) -> bool {
        let (reply, answer) = oneshot::channel();
        self.shared.requests.send(writer::WriterRequest::Ping(reply)).await.is_ok() && answer.await.is_ok()
    }

    /// The newest `seq` that is durable and published.
    pub fn head(&self) -> EventSeq {
        self.shared.tail.head()
    }

    /// Made with the database; cursors of another log mean nothing here.
    pub fn log_id(&self) -> &str {
        &self.shared.log_id
    }

    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// True if the daemon before this one stopped by itself. True for a new database.
    pub fn stopped_cleanly(&self) -> bool {
        self.shared.stopped_cleanly
    }

    /// The reason why nothing can be written at the moment; `None` when the last commit went well.
    pub fn failing(&self) -> Option<StoreError> {
        let is_full = *self.shared.is_full.borrow();
        if is_full { Some(StoreError::Full) } else { self.shared.tail.failing() }
    }

    /// Whether the disk is full: only urgent appends are tried then, and none other until there is room again.
    pub fn fullness(&self) -> watch::Receiver<bool> {
        self.shared.is_full.clone()
    }

    /// What is wrong when there was no room for the reserve at the start.
    pub fn missing_reserve(&self) -> Option<&str> {
        self.shared.missing_reserve.as_deref()
    }

    /// Durations of the transactions that this process committed.
    pub fn commit_times(&self) -> DurationCounts {
        self.shared.commit_times.counts()
    }

    /// Texts that are being written right now.
    pub fn live(&self) -> &LiveTexts {
        &self.shared.live
    }
}

#[cfg(test)]
mod tests;
