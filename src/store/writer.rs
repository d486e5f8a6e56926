//! The one task that writes: whatever waits goes into one transaction, one fsync.

use std::sync::Arc;

use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, SqlSafeStr as _,
    sqlite::{SqliteConnectOptions, SqliteConnection},
};
use tokio::sync::{mpsc, oneshot};

use super::{
    Keyed, NewEvent, StoreError,
    event::{Encoded, Row},
    keys::{self, Sweeper},
    project::{Projections, Statement},
    schema,
    tail::Tail,
};
use crate::{protocol::Seq, sys::clock::Clock};

/// Requests that go into one transaction. Bounds the memory of a batch and the wait of its first.
const BATCH: usize = 256;

type Reply = oneshot::Sender<Result<(Seq, Seq), StoreError>>;

pub(super) enum Request {
    Append(Append),
    Close(oneshot::Sender<()>),
}

pub(super) struct Append {
    events: Vec<(Encoded, Row)>,
    keyed: Option<Keyed>,
    reply: Reply,
}

impl Request {
    /// Encodes on the caller's task, so that the writer only writes.
    pub fn append(events: Vec<NewEvent>, keyed: Option<Keyed>, reply: Reply) -> Result<Request, StoreError> {
        let events: Result<Vec<_>, serde_json::Error> = events.into_iter().map(Encoded::new).collect();
        let events = events.map_err(|error| StoreError::Encode(Arc::new(error)))?;
        Ok(Request::Append(Append { events, keyed, reply }))
    }
}

pub(super) struct Writer {
    connection: SqliteConnection,
    options: SqliteConnectOptions,
    /// A commit failed. SQLite may have rolled back on its own, and then the connection's idea of its transaction is
    /// wrong for ever; a fresh one is right.
    is_suspect: bool,
    /// The last `seq` that was committed.
    head: Seq,
    tail: Arc<Tail>,
    clock: Arc<dyn Clock>,
    sweeper: Sweeper,
}

impl Writer {
    pub fn new(
        connection: SqliteConnection,
        options: SqliteConnectOptions,
        head: Seq,
        tail: Arc<Tail>,
        clock: Arc<dyn Clock>,
    ) -> Writer {
        Writer { connection, options, is_suspect: false, head, tail, clock, sweeper: Sweeper::new() }
    }

    /// Ends when it is told to close, or when every handle is gone.
    pub async fn run(mut self, mut requests: mpsc::Receiver<Request>) {
        let mut batch = Vec::with_capacity(BATCH);
        self.sweep().await;
        while requests.recv_many(&mut batch, BATCH).await != 0 {
            let mut appends = Vec::with_capacity(batch.len());
            let mut close = None;
            for request in batch.drain(..) {
                match request {
                    Request::Append(append) => appends.push(append),
                    Request::Close(reply) => close = Some(reply),
                }
            }
            self.commit_all(appends).await;
            if let Some(reply) = close {
                if let Err(error) = schema::leave_clean_mark(&mut self.connection).await {
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

    async fn commit_all(&mut self, appends: Vec<Append>) {
        let has_keys = appends.iter().any(|append| append.keyed.is_some());
        let appends = if has_keys { self.refuse_used_keys(appends).await } else { appends };
        if appends.is_empty() {
            return;
        }
        match self.commit(&appends).await {
            Ok(seqs) => answer(appends, seqs),
            // One bad request must not hurt its neighbours.
            Err(error) if 1 < appends.len() && !matches!(error, StoreError::Full) => {
                tracing::warn!(%error, "a batch failed; its requests are committed one by one");
                for append in appends {
                    let append = vec![append];
                    match self.commit(&append).await {
                        Ok(seqs) => answer(append, seqs),
                        Err(error) => refuse(append, &error),
                    }
                }
            }
            Err(error) => refuse(appends, &error),
        }
        if has_keys {
            self.sweep().await;
        }
    }

    /// What is left to be committed when those whose key was used before have been told.
    async fn refuse_used_keys(&mut self, appends: Vec<Append>) -> Vec<Append> {
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

    async fn sweep(&mut self) {
        // What cannot be removed now is removed later.
        if let Err(error) = self.sweeper.sweep(&mut self.connection, self.clock.now()).await {
            tracing::warn!(%error, "old idempotency keys could not be removed");
        }
    }

    async fn commit(&mut self, appends: &[Append]) -> Result<Vec<(Seq, Seq)>, StoreError> {
        if self.is_suspect {
            self.connection = self.options.connect().await?;
        }
        let committed = self.try_commit(appends).await;
        let failure = committed.as_ref().err().cloned();
        if self.is_suspect || failure.is_some() {
            self.tail.set_failing(failure.clone());
        }
        self.is_suspect = failure.is_some();
        committed
    }

    /// Writes all of `appends` in one transaction and publishes them.
    async fn try_commit(&mut self, appends: &[Append]) -> Result<Vec<(Seq, Seq)>, StoreError> {
        let mut seq = self.head;
        let mut rows = String::from("[");
        let mut stored = Vec::new();
        let mut seqs = Vec::with_capacity(appends.len());
        let mut projections = Projections::default();
        let (mut kept, now) = (Vec::new(), self.clock.now());
        for append in appends {
            let first = Seq(seq.0 + 1);
            for (event, row) in &append.events {
                seq = Seq(seq.0 + 1);
                row.push_to(&mut rows, seq);
                projections.add(seq, event);
                stored.push(Arc::new(event.stored(seq)));
            }
            let session = append.events.first().and_then(|(event, _)| event.session.as_ref());
            kept.extend(append.keyed.as_ref().map(|keyed| keys::row(keyed, seq, session, now)));
            seqs.push((first.min(seq), seq));
        }
        rows.push(']');
        let mut statements = vec![(INSERT_EVENTS, rows)];
        if !kept.is_empty() {
            statements.push((keys::INSERT_KEYS, serde_json::Value::from(kept).to_string()));
        }
        statements.extend(projections.statements());
        self.execute(statements).await?;
        self.head = seq;
        self.tail.publish(stored);
        Ok(seqs)
    }

    /// All in one transaction.
    async fn execute(&mut self, statements: Vec<Statement>) -> Result<(), StoreError> {
        // Perf: each request to the connection's thread costs two wake-ups, so the whole transaction is one. The few
        // combinations of statements there are stay prepared.
        let mut text = String::from("begin immediate;");
        let mut rows = Vec::with_capacity(statements.len());
        for (statement, its_rows) in statements {
            text.push_str(statement);
            text.push(';');
            rows.push(its_rows);
        }
        text.push_str("commit");
        // The parts are constants of this module and of `project`.
        let query = sqlx::query(AssertSqlSafe(text).into_sql_str());
        let query = rows.into_iter().fold(query, |query, rows| query.bind(rows));
        match query.execute(&mut self.connection).await {
            Ok(_) => Ok(()),
            Err(error) => {
                // Fails when the transaction never began, or SQLite rolled back by itself: then nothing is open, as
                // it should be.
                let _none_open = sqlx::raw_sql("rollback").execute(&mut self.connection).await;
                Err(error.into())
            }
        }
    }
}

const INSERT_EVENTS: &str = "
insert into events (seq, time_us, type, session_id, run_id, context_id, head, body, private)
select value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8
from jsonb_each(?)";

fn answer(appends: Vec<Append>, seqs: Vec<(Seq, Seq)>) {
    for (append, seqs) in appends.into_iter().zip(seqs) {
        // Whoever asked may have been cancelled meanwhile; the events are true all the same.
        let _gone = append.reply.send(Ok(seqs));
    }
}

fn refuse(appends: Vec<Append>, error: &StoreError) {
    for append in appends {
        let _gone = append.reply.send(Err(error.clone()));
    }
}
