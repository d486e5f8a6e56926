//! Forgetting that agents worked in a folder, which a person asked for: not while a session is there that works in it.

use sqlx::Row as _;
use tokio::sync::oneshot;

use super::{AppendRequest, StoreWriter};
use crate::{FolderForgettingOutcome, NewEvent, StoreError, event::EncodedEvent};
use protocol::SessionId;
use std::{path::Path, sync::Arc};

const IS_KNOWN: &str = "select 1 from worked_folders where folder = ?1";

/// The newest of the sessions that work there.
const WORKING_THERE: &str = "
select session_id from sessions
where exists (select 1 from json_each(sessions.roots) as root where root.value = ?1)
order by last_active_us desc, session_id desc limit ?2";

/// Sessions that a refusal names at most.
const MOST_NAMED: i64 = 20;

/// A folder that is to be forgotten.
pub(in super::super) struct FolderForgetting {
    pub folder: String,
    /// A `folder.forgotten`: the row goes by it, as in a rebuild.
    pub event: Box<NewEvent>,
    pub reply: oneshot::Sender<Result<FolderForgettingOutcome, StoreError>>,
}

impl StoreWriter {
    /// Sessions are made here as well, so none comes between the look and the commit.
    pub(super) async fn forget_folder(&mut self, forgetting: FolderForgetting) {
        let FolderForgetting { folder, event, reply } = forgetting;
        let forgotten = async {
            if self.room.is_full() {
                return Err(StoreError::Full);
            }
            self.heal().await?;
            if sqlx::query(IS_KNOWN).bind(&folder).fetch_optional(&mut self.connection).await?.is_none() {
                return Ok(FolderForgettingOutcome::Unknown);
            }
            let working = sqlx::query(WORKING_THERE).bind(&folder).bind(MOST_NAMED);
            let working = working.fetch_all(&mut self.connection).await?;
            if !working.is_empty() {
                let sessions = working.iter().map(|row| SessionId::from(row.get::<String, _>("session_id")));
                return Ok(FolderForgettingOutcome::InUse { sessions: sessions.collect() });
            }
            let event = EncodedEvent::new(*event).map_err(|error| StoreError::Encode(Arc::new(error)))?;
            // Nobody waits for it: the answer is the forgetting's.
            let (reply, _) = oneshot::channel();
            let append = AppendRequest {
                events: vec![event],
                keyed: None,
                acknowledged: None,
                is_urgent: false,
                within: None,
                reply,
            };
            let seqs = self.commit(&[append]).await?;
            self.worked.remove(Path::new(&folder));
            Ok(FolderForgettingOutcome::Gone { seq: seqs.last().map_or(self.head, |(_, last)| *last) })
        };
        // Whoever asked may be gone; the folder is forgotten all the same.
        let _gone = reply.send(forgotten.await);
    }
}
