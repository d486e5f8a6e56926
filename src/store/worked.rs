//! In which folders do agents work, or have they worked, and how is one forgotten?

use std::path::PathBuf;

use sqlx::{Row as _, SqlitePool};
use tokio::sync::oneshot;

use super::{
    EventStore, FolderForgettingOutcome, NewEvent, StoreError,
    writer::{FolderForgetting, WriterRequest},
};
use protocol::{SessionId, Timestamp, WorkedFolder};

const ALL: &str = "select folder from worked_folders";

const NEWEST: &str = "
select worked_folders.folder as folder, worked_folders.session_id as session_id,
    coalesce(sessions.last_active_us, worked_folders.last_us) as last_us, coalesce(present.sessions, 0) as sessions
from worked_folders
left join sessions on sessions.session_id = worked_folders.session_id
left join (
    select root.value as folder, count(*) as sessions
    from sessions, json_each(sessions.roots) as root
    group by root.value
) as present on present.folder = worked_folders.folder
order by last_us desc nulls last, folder limit ?1";

/// The folders of all sessions, also of deleted ones.
pub(crate) async fn folders(readers: &SqlitePool) -> Result<Vec<PathBuf>, StoreError> {
    let rows = sqlx::query(ALL).fetch_all(readers).await?;
    Ok(rows.iter().map(|row| PathBuf::from(row.get::<String, _>("folder"))).collect())
}

impl EventStore {
    /// The folders in which agents work, or have worked, those in which they worked last first.
    pub async fn newest_worked_folders(&self, most: u32) -> Result<Vec<WorkedFolder>, StoreError> {
        let rows = sqlx::query(NEWEST).bind(most).fetch_all(&self.shared.readers).await?;
        let worked = rows.iter().map(|row| WorkedFolder {
            folder: row.get("folder"),
            last_session_id: row.get::<Option<String>, _>("session_id").map(SessionId::from),
            last_at: row.get::<Option<i64>, _>("last_us").map(Timestamp),
            sessions: row.get::<i64, _>("sessions").unsigned_abs(),
        });
        Ok(worked.collect())
    }

    /// Forgets a folder in one transaction with its event, a `folder.forgotten`, unless a session works there that is not deleted. Whoever
    /// asks [`EventStore::worked_folders`] from then on hears of it.
    pub async fn forget_worked_folder(
        &self,
        folder: &str,
        event: NewEvent,
    ) -> Result<FolderForgettingOutcome, StoreError> {
        let (reply, answer) = oneshot::channel();
        let forgetting = FolderForgetting { folder: folder.to_owned(), event: Box::new(event), reply };
        let request = WriterRequest::ForgetFolder(forgetting);
        self.shared.requests.send(request).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }
}
