//! Which calls are clients to answer who lend the tools, and which have they not answered?

use sqlx::Row as _;

use crate::{EventStore, StoreError};
use protocol::{CallId, ClientId, EventSeq, OpenClientCall, RunId, SessionId, ToolClientCall};

/// Open calls of one client that are listed: each belongs to a run at work, of which there are not that many.
const MOST_LISTED: u32 = 1_000;

/// A call that a client was told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCallRecord {
    pub session: SessionId,
    pub run: RunId,
    pub client: ClientId,
    /// How it ended, as on the wire; `None` = it is open.
    pub state: Option<String>,
}

impl EventStore {
    /// `None`: no client was ever told of such a call.
    pub async fn client_call(&self, call: &CallId) -> Result<Option<ClientCallRecord>, StoreError> {
        let text = "select session_id, run_id, client_id, state from client_calls where call_id = ?1";
        let row = sqlx::query(text).bind(call.as_str()).fetch_optional(&self.shared.readers).await?;
        Ok(row.map(|row| ClientCallRecord {
            session: row.get::<&str, _>("session_id").into(),
            run: row.get::<&str, _>("run_id").into(),
            client: row.get::<&str, _>("client_id").into(),
            state: row.get("state"),
        }))
    }

    /// What one client has not answered, the oldest first.
    pub async fn open_client_calls(&self, client: &ClientId) -> Result<Vec<OpenClientCall>, StoreError> {
        let text = "
select client_calls.session_id, client_calls.run_id, events.seq, events.body
from client_calls join events on events.seq = client_calls.told_seq
where client_calls.client_id = ?1 and client_calls.state is null
order by client_calls.told_seq limit ?2";
        let rows =
            sqlx::query(text).bind(client.as_str()).bind(MOST_LISTED).fetch_all(&self.shared.readers).await?;
        let open = rows.iter().map(|row| {
            let seq = EventSeq(row.get("seq"));
            let told: ToolClientCall = serde_json::from_str(row.get("body"))
                .map_err(|error| StoreError::Unreadable { seq, message: error.to_string() })?;
            Ok(OpenClientCall {
                call_id: told.call_id,
                session_id: row.get::<&str, _>("session_id").into(),
                run_id: row.get::<&str, _>("run_id").into(),
                name: told.name,
                arguments: told.arguments,
            })
        });
        open.collect()
    }
}
