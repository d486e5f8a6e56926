//! Which sessions may be pruned, how much room does the database take, and how is it given back? (spec 10, "Retention")

use sqlx::{Row as _, sqlite::SqliteRow};
use tokio::sync::oneshot;

use super::{EventStore, StoreError, schema, writer::WriterRequest};
use protocol::{SessionId, Timestamp};

/// Pages that are given back to the disk in one transaction.
const PIECE_PAGES: u32 = 128;

/// Empty pages that the file keeps, since the next events take them: a MiB.
const KEPT_PAGES: u64 = 256;

/// A session that may be pruned: none of its runs live, and nobody is asked anything in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PruningCandidate {
    pub session: SessionId,
    /// Its title, or what was asked in it first.
    pub title: Option<String>,
    pub last_active: Timestamp,
}

/// The room that the database takes on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreRoom {
    /// Bytes of the file.
    pub file: u64,
    /// Bytes of it that hold nothing.
    pub free: u64,
    /// Bytes of outputs of tools that are kept beside the database.
    pub outputs: u64,
    /// The file can give `free` back to the disk.
    pub is_shrinkable: bool,
}

impl StoreRoom {
    /// Bytes that hold something.
    pub fn used(&self) -> u64 {
        self.file.saturating_sub(self.free) + self.outputs
    }
}

const CANDIDATES: &str = "
select session_id,
    coalesce(title, (select prompt from runs where runs.session_id = sessions.session_id order by first_seq limit 1)),
    last_active_us
from sessions
where (last_active_us, session_id) > (?1, ?2)
    and not exists (
        select 1 from runs where runs.session_id = sessions.session_id and state <> 'ended'
    )
    and not exists (
        select 1 from confirmations
        where confirmations.session_id = sessions.session_id and resolved_seq is null
    )
order by last_active_us, session_id limit ?3";

const BYTES: &str = "
select count(*), coalesce(sum(octet_length(body) + octet_length(head) + coalesce(octet_length(private), 0)), 0)
from events where session_id = ?1";

impl EventStore {
    /// Sessions that may be pruned, the one that was idle longest first, from after `after` on.
    pub async fn pruning_candidates(
        &self,
        after: Option<&PruningCandidate>,
        limit: usize,
    ) -> Result<Vec<PruningCandidate>, StoreError> {
        let (active, session) = after.map_or((i64::MIN, ""), |it| (it.last_active.0, it.session.as_str()));
        let query =
            sqlx::query(CANDIDATES).bind(active).bind(session).bind(i64::try_from(limit).unwrap_or(i64::MAX));
        let rows = query.fetch_all(&self.shared.readers).await?;
        let candidate = |row: &SqliteRow| PruningCandidate {
            session: row.get::<&str, _>(0).into(),
            title: row.get(1),
            last_active: Timestamp(row.get(2)),
        };
        Ok(rows.iter().map(candidate).collect())
    }

    /// The time at which something happened last in any session, before this one; `None` = nothing did.
    pub async fn last_active_before(&self, before: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        let newest: Option<i64> =
            sqlx::query_scalar("select max(last_active_us) from sessions where last_active_us < ?1")
                .bind(before.0)
                .fetch_one(&self.shared.readers)
                .await?;
        Ok(newest.map(Timestamp))
    }

    /// Events of a session, and the bytes of them and of what is kept of its tools' outputs.
    pub async fn session_weight(&self, session: &SessionId) -> Result<(u64, u64), StoreError> {
        let (events, bytes): (i64, i64) =
            sqlx::query_as(BYTES).bind(session.as_str()).fetch_one(&self.shared.readers).await?;
        let outputs: i64 =
            sqlx::query_scalar("select coalesce(sum(bytes), 0) from outputs where session_id = ?1")
                .bind(session.as_str())
                .fetch_one(&self.shared.readers)
                .await?;
        Ok((events.unsigned_abs(), bytes.unsigned_abs() + outputs.unsigned_abs()))
    }

    /// The number of sessions.
    pub async fn session_count(&self) -> Result<u64, StoreError> {
        let count: i64 =
            sqlx::query_scalar("select count(*) from sessions").fetch_one(&self.shared.readers).await?;
        Ok(count.unsigned_abs())
    }

    /// The room that the database takes, and what is kept beside it.
    pub async fn room(&self) -> Result<StoreRoom, StoreError> {
        let mut connection = self.shared.control.acquire().await?;
        let (pages, free, size): (i64, i64, i64) = sqlx::query_as(
            "select page_count, freelist_count, page_size
             from pragma_page_count(), pragma_freelist_count(), pragma_page_size()",
        )
        .fetch_one(&mut *connection)
        .await?;
        let outputs: i64 = sqlx::query_scalar("select coalesce(sum(bytes), 0) from outputs")
            .fetch_one(&mut *connection)
            .await?;
        let is_shrinkable = schema::is_shrinkable(&mut connection).await?;
        Ok(StoreRoom {
            file: (pages * size).unsigned_abs(),
            free: (free * size).unsigned_abs(),
            outputs: outputs.unsigned_abs(),
            is_shrinkable,
        })
    }

    /// Has the next start rewrite the file, so that it can shrink from then on.
    pub async fn shrink_at_next_start(&self) -> Result<(), StoreError> {
        self.leave_note(schema::REWRITE_ASKED, "yes".to_owned()).await
    }

    /// Takes away one more piece of what deleted sessions left. False when there is nothing more to be taken away.
    pub async fn remove_piece(&self) -> Result<bool, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.shared.requests.send(WriterRequest::RemovePiece(reply)).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Gives some of the file's empty pages back to the disk. False when there are no more than it keeps.
    pub async fn give_back_piece(&self) -> Result<bool, StoreError> {
        let (reply, answer) = oneshot::channel();
        let request = WriterRequest::GiveBack { pages: PIECE_PAGES, kept: KEPT_PAGES, reply };
        self.shared.requests.send(request).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Waits until a session was deleted that left events behind. May wake without cause. Cancel safe.
    pub async fn met_removal(&self) {
        self.shared.removals.met_one().await;
    }
}
