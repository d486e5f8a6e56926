//! Which sessions are there, and what is in one?

use futures_util::TryStreamExt as _;
use sqlx::{Row as _, sqlite::SqliteRow};

use super::{
    ListPage, calls, newest, people,
    runs::{OpenStream, open_stream, queue, record},
};
use crate::{EventStore, StoreError};
use protocol::{
    AgentName, ApprovalMode, Confirmation, ContextId, ContextMetadata, ContextSummary, EventSeq,
    OpenToolCall, QueuedRun, RunId, RunRecord, SessionContext, SessionId, SessionState, SessionSummary,
    Timestamp,
};

/// Which sessions; an empty filter matches all.
#[derive(Debug, Clone, Default)]
pub struct SessionFilter {
    /// Exactly these, in this order.
    pub roots: Option<Vec<String>>,
    pub state: Option<SessionState>,
    /// In the title or a root, whatever the letter case.
    pub text: Option<String>,
}

impl SessionFilter {
    fn matches(&self, session: &SessionSummary, lowered: Option<&str>) -> bool {
        let contains = |text: &str, part: &str| text.to_lowercase().contains(part);
        let text_fits = lowered
            .is_none_or(|part| session.title.iter().chain(&session.roots).any(|text| contains(text, part)));
        let roots_fit = self.roots.as_ref().is_none_or(|roots| *roots == session.roots);
        let state_fits = self.state.is_none_or(|state| state == session.state);
        text_fits && roots_fit && state_fits
    }
}

/// A session as of one moment.
pub struct SessionView {
    pub seq: EventSeq,
    pub session: SessionSummary,
    pub runs: Vec<RunRecord>,
    pub open: Vec<OpenStream>,
    pub calls: Vec<OpenToolCall>,
    pub queue: Vec<QueuedRun>,
    /// Questions that wait, oldest first.
    pub confirmations: Vec<Confirmation>,
}

pub(crate) const SESSIONS_BEFORE: &str = "
select * from sessions where (last_active_us, session_id) < (?1, ?2)
order by last_active_us desc, session_id desc";

/// Live ones always, however old; of the others the newest.
pub(crate) const SESSION_RUNS: &str = "
select * from runs where run_id in (
    select run_id from runs where session_id = ?1 and state <> 'ended'
    union
    select run_id from (select run_id from runs where session_id = ?1 order by first_seq desc limit ?2)
) order by first_seq";

impl EventStore {
    pub async fn session(&self, session: &SessionId) -> Result<Option<SessionSummary>, StoreError> {
        let row = sqlx::query("select * from sessions where session_id = ?1")
            .bind(session.as_str())
            .fetch_optional(&self.shared.readers)
            .await?;
        row.as_ref().map(summary).transpose()
    }

    /// What the system prompts of its root runs end with.
    pub async fn system_append(&self, session: &SessionId) -> Result<Option<String>, StoreError> {
        let found: Option<Option<String>> =
            sqlx::query_scalar("select system_append from sessions where session_id = ?1")
                .bind(session.as_str())
                .fetch_optional(&self.shared.readers)
                .await?;
        Ok(found.flatten())
    }

    /// True if there was such a session, and it was removed.
    pub async fn was_deleted(&self, session: &SessionId) -> Result<bool, StoreError> {
        let tombstone: Option<i64> = sqlx::query_scalar(
            "select seq from events where session_id = ?1 and +type = 'session.deleted' order by seq desc limit 1",
        )
        .bind(session.as_str())
        .fetch_optional(&self.shared.readers)
        .await?;
        Ok(tombstone.is_some())
    }

    /// Ephemeral sessions that are closed: their removal is still to come, or was cut off.
    pub async fn closed_ephemeral_sessions(&self) -> Result<Vec<SessionId>, StoreError> {
        let query = sqlx::query_scalar::<_, String>(
            "select session_id from sessions where ephemeral and state = ?1 order by session_id",
        );
        let query = query.bind(SessionState::Closed.as_str());
        let ids = query.fetch_all(&self.shared.readers).await?;
        Ok(ids.into_iter().map(SessionId::from).collect())
    }

    /// Matching sessions, the one that was active last first, from after `cursor` on. A session that becomes active
    /// between two pieces moves to the front of the list, and is not in the later ones.
    pub async fn session_list(
        &self,
        filter: &SessionFilter,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<ListPage<SessionSummary>, StoreError> {
        let (active_us, id) = match cursor {
            None => (i64::MAX, ""),
            Some(cursor) => {
                let (active_us, id) = cursor.split_once('.').ok_or(StoreError::BadCursor)?;
                (active_us.parse().map_err(|_| StoreError::BadCursor)?, id)
            }
        };
        let lowered = filter.text.as_ref().map(|text| text.to_lowercase());
        let mut sessions = Vec::new();
        let mut rows = sqlx::query(SESSIONS_BEFORE).bind(active_us).bind(id).fetch(&self.shared.readers);
        while sessions.len() <= limit
            && let Some(row) = rows.try_next().await?
        {
            let session = summary(&row)?;
            if filter.matches(&session, lowered.as_deref()) {
                sessions.push(session);
            }
        }
        Ok(ListPage::cut(sessions, limit, |last| format!("{}.{}", last.last_active_at.0, last.session_id)))
    }

    /// The contexts of a session, oldest first.
    pub async fn session_contexts(&self, session: &SessionId) -> Result<Vec<ContextSummary>, StoreError> {
        let rows =
            sqlx::query("select * from contexts where session_id = ?1 order by created_us, context_id")
                .bind(session.as_str())
                .fetch_all(&self.shared.readers)
                .await?;
        let contexts = rows.iter().map(|row| ContextSummary {
            context_id: row.get::<&str, _>("context_id").into(),
            session_id: session.clone(),
            agent: row.get::<&str, _>("agent").into(),
            parent_run_id: row.get::<Option<&str>, _>("parent_run_id").map(RunId::from),
            started_at: Timestamp(row.get("created_us")),
            last_active_at: Timestamp(row.get("last_active_us")),
            epoch: u32::try_from(row.get::<i64, _>("epoch")).unwrap_or(u32::MAX),
            tokens: row.get::<i64, _>("tokens").unsigned_abs(),
        });
        Ok(contexts.collect())
    }

    /// The same, each with what is in it. Its events are read for that.
    pub async fn described_contexts(&self, session: &SessionId) -> Result<Vec<SessionContext>, StoreError> {
        let mut described = Vec::new();
        for context in self.session_contexts(session).await? {
            let messages = self.message_count(&context.context_id).await?;
            let metadata = self.context_metadata(&context.context_id).await?;
            described.push(SessionContext { context, messages, metadata });
        }
        Ok(described)
    }

    /// What a context came about by; `None` when no run is known of it.
    async fn context_metadata(&self, context: &ContextId) -> Result<Option<ContextMetadata>, StoreError> {
        let row = sqlx::query(
            "select run_id, model, digest, count(*) over () as runs from runs where context_id = ?1
             order by first_seq desc limit 1",
        )
        .bind(context.as_str())
        .fetch_optional(&self.shared.readers)
        .await?;
        Ok(row.map(|row| ContextMetadata {
            runs: row.get::<i64, _>("runs").unsigned_abs(),
            last_run_id: row.get::<&str, _>("run_id").into(),
            model: row.get("model"),
            digest: row.get("digest"),
        }))
    }

    /// The context in which this agent's own runs of the session stand, not those that others called.
    pub async fn root_context(
        &self,
        session: &SessionId,
        agent: &AgentName,
    ) -> Result<Option<ContextId>, StoreError> {
        let context: Option<String> = sqlx::query_scalar(
            "select context_id from contexts where session_id = ?1 and agent = ?2 and parent_run_id is null
             order by created_us desc, context_id desc limit 1",
        )
        .bind(session.as_str())
        .bind(agent.as_str())
        .fetch_optional(&self.shared.readers)
        .await?;
        Ok(context.map(ContextId::from))
    }

    /// The session with its newest runs, as of one `seq`; `None` when there is no such session.
    pub async fn session_view(
        &self,
        session: &SessionId,
        runs: u32,
    ) -> Result<Option<SessionView>, StoreError> {
        let mut transaction = self.shared.readers.begin().await?;
        let seq = newest(&mut transaction).await?;
        let row = sqlx::query("select * from sessions where session_id = ?1")
            .bind(session.as_str())
            .fetch_optional(&mut *transaction)
            .await?;
        let Some(row) = row else { return Ok(None) };
        let rows =
            sqlx::query(SESSION_RUNS).bind(session.as_str()).bind(runs).fetch_all(&mut *transaction).await?;
        let (calls, outputs) = calls::open_calls(&mut transaction, session).await?;
        let queue = queue(&mut transaction, Some(session)).await?;
        let only = format!("[\"{session}\"]");
        let confirmations = people::open_within(&mut transaction, Some(&only), people::SHOWN).await?;
        transaction.commit().await?;
        let open = rows.iter().filter_map(open_stream).chain(outputs).collect();
        let runs = rows.iter().map(record).collect::<Result<_, _>>()?;
        Ok(Some(SessionView { seq, session: summary(&row)?, runs, open, calls, queue, confirmations }))
    }
}

pub(super) fn summary(row: &SqliteRow) -> Result<SessionSummary, StoreError> {
    let roots = serde_json::from_str(row.get("roots"))
        .map_err(|error: serde_json::Error| StoreError::Encode(std::sync::Arc::new(error)))?;
    Ok(SessionSummary {
        session_id: row.get::<&str, _>("session_id").into(),
        roots,
        title: row.get("title"),
        agent: row.get::<Option<&str>, _>("agent").map(Into::into),
        state: match row.get("state") {
            "closed" => SessionState::Closed,
            _ => SessionState::Open,
        },
        mode: mode(row.get("mode")),
        ephemeral: row.get("ephemeral"),
        created_at: Timestamp(row.get("created_us")),
        last_active_at: Timestamp(row.get("last_active_us")),
    })
}

/// As [`ApprovalMode::as_str`] wrote it. What a newer daemon may have written is read as the strictest.
fn mode(text: &str) -> ApprovalMode {
    ApprovalMode::ALL.into_iter().find(|mode| mode.as_str() == text).unwrap_or(ApprovalMode::Plan)
}
