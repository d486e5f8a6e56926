//! What was said in a context? Folded from its events, one page at a time.

use futures_util::TryStreamExt as _;
use sqlx::{AssertSqlSafe, Row as _, SqlSafeStr as _};

use super::{ListPage, event, events, of_context_where};
use crate::{
    CommittedEvent, EventStore, StoreError,
    context::{ContextFold, LASTING, replace_in, replaced_results},
};
use protocol::{
    ContextChange, ContextChangeKind, ContextId, ContextMessage, EventBody, EventSeq, HistoryMessage,
    MessagePart, MessageRole, ToolCall,
};

/// Changes of a context that one page tells; there is a model's work between two of them, or a person's. The docs say the
/// same.
const CHANGES: i64 = 1_000;

/// Bytes of messages in one page, but for its last: answers have a limit.
const PAGE_BYTES: usize = 1 << 20;

/// What brings messages into a context, in events from `?2` on.
pub(crate) fn messages() -> String {
    of_context(
        "seq, time_us, type, run_id, body, private",
        "?2 <= seq",
        "'run.started', 'turn.started', 'model.completed', 'context.nudged', 'run.steered', 'tool.state', 'hook.fired', 'run.completed', 'context.cleared'",
    )
}

/// Where the turn of an event begins: results of tools are told by the reply that asked for them.
pub(crate) fn turn_before() -> String {
    of_context("seq", "seq <= ?2", "'model.completed'") + " desc limit 1"
}

/// The statement for what still matters of the events before a turn; of what it made the model read that is only what hooks did not let
/// through.
pub(crate) fn past() -> String {
    let private = "iif(type = 'hook.fired', private, null) as private";
    of_context(&format!("seq, time_us, type, run_id, body, {private}"), "seq < ?2", LASTING)
}

/// What a context's model reads something else after, on a page of its history.
pub(crate) fn changes() -> String {
    let types = "'context.compressed', 'context.cleared'";
    of_context("seq, time_us, type, run_id, body, private", "?2 < seq and seq <= ?3", types) + " limit ?4"
}

/// Events of a context of some types, oldest first. `+type` leaves the choice of the index to the context.
fn of_context(columns: &str, range: &str, types: &str) -> String {
    let of_context = of_context_where(range);
    format!("select {columns} from events where {of_context} and +type in ({types}) order by seq")
}

impl EventStore {
    /// The messages of a context, oldest first, from after `cursor` on.
    pub async fn history(
        &self,
        context: &ContextId,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<ListPage<HistoryMessage>, StoreError> {
        let after = cursor.map_or(Ok(MessagePosition::default()), MessagePosition::parse)?;
        let from: Option<i64> = sqlx::query_scalar(AssertSqlSafe(turn_before()).into_sql_str())
            .bind(context.as_str())
            .bind(after.seq.0)
            .fetch_optional(&self.shared.readers)
            .await?;
        let mut fold = match from {
            Some(from) => self.fold_before(context, EventSeq(from)).await?,
            None => ContextFold::default(),
        };
        let query = sqlx::query(AssertSqlSafe(messages()).into_sql_str());
        let mut rows = query.bind(context.as_str()).bind(from.unwrap_or(0)).fetch(&self.shared.readers);
        let mut messages: Vec<(MessagePosition, HistoryMessage)> = Vec::new();
        let mut bytes = 0;
        while messages.len() <= limit
            && let Some(row) = rows.try_next().await?
        {
            let Some(event) = event(&row)? else { continue };
            let (seq, Some(run)) = (event.seq, event.run.clone()) else { continue };
            // Perf: the row's length stands for the messages', which are made from it.
            let row_bytes = row.get::<Option<&str>, _>(5).map_or(0, str::len) + row.get::<&str, _>(4).len();
            let added = fold.add(&run, &event.body, &event.private);
            if let Some(results) = replaced_results(&event.private) {
                for (_, message) in &mut messages {
                    replace_in(&mut message.parts, results);
                }
            }
            // Hooks are asked about results until the next message comes.
            if PAGE_BYTES <= bytes && !added.is_empty() {
                break;
            }
            for (n, message) in added.into_iter().enumerate() {
                let place = MessagePosition { seq, n };
                if place <= after {
                    continue;
                }
                if PAGE_BYTES <= bytes {
                    break;
                }
                bytes += match &event.body {
                    // Said in other rows.
                    EventBody::RunCompleted(_) => message.text().len(),
                    _ if n == 0 => row_bytes,
                    _ => 0,
                };
                let (role, parts) = readable(message);
                messages.push((place, HistoryMessage { seq, run_id: run.clone(), role, parts }));
            }
        }
        // A page that its bytes filled may be the last one; the next is then empty.
        let is_full = PAGE_BYTES <= bytes && messages.len() <= limit;
        let listed = ListPage::cut(messages, limit, |(place, _)| place.to_string());
        let next = match listed.items.last() {
            Some((place, _)) if is_full => Some(place.to_string()),
            _ => listed.next,
        };
        Ok(ListPage { items: listed.items.into_iter().map(|(_, message)| message).collect(), next })
    }

    /// How many messages a context has, of every epoch: as many as the pages of its history have together.
    pub(super) async fn message_count(&self, context: &ContextId) -> Result<u64, StoreError> {
        let query = sqlx::query(AssertSqlSafe(messages()).into_sql_str());
        let mut rows = query.bind(context.as_str()).bind(0).fetch(&self.shared.readers);
        let (mut fold, mut count) = (ContextFold::default(), 0);
        while let Some(row) = rows.try_next().await? {
            let Some(event) = event(&row)? else { continue };
            let Some(run) = &event.run else { continue };
            count += fold.add(run, &event.body, &event.private).len() as u64;
        }
        Ok(count)
    }

    /// Where a context was compressed or cleared, oldest first, on the page of its history from after `cursor` up to `next`.
    pub async fn context_changes(
        &self,
        context: &ContextId,
        cursor: Option<&str>,
        next: Option<&str>,
    ) -> Result<Vec<ContextChange>, StoreError> {
        let after = cursor.map_or(Ok(MessagePosition::default()), MessagePosition::parse)?;
        let last = next.map(MessagePosition::parse).transpose()?.map_or(i64::MAX, |place| place.seq.0);
        let rows = sqlx::query(AssertSqlSafe(changes()).into_sql_str())
            .bind(context.as_str())
            .bind(after.seq.0)
            .bind(last)
            .bind(CHANGES)
            .fetch_all(&self.shared.readers)
            .await?;
        Ok(events(&rows)?.into_iter().filter_map(change).collect())
    }

    async fn fold_before(&self, context: &ContextId, turn: EventSeq) -> Result<ContextFold, StoreError> {
        let query = sqlx::query(AssertSqlSafe(past()).into_sql_str());
        let rows = query.bind(context.as_str()).bind(turn.0).fetch_all(&self.shared.readers).await?;
        Ok(ContextFold::resumed(&events(&rows)?))
    }
}

/// A message's place: its event, and which of the event's messages it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct MessagePosition {
    seq: EventSeq,
    n: usize,
}

impl MessagePosition {
    fn parse(text: &str) -> Result<MessagePosition, StoreError> {
        let (seq, n) = text.split_once('.').ok_or(StoreError::BadCursor)?;
        let seq = EventSeq(seq.parse().map_err(|_| StoreError::BadCursor)?);
        Ok(MessagePosition { seq, n: n.parse().map_err(|_| StoreError::BadCursor)? })
    }
}

impl std::fmt::Display for MessagePosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.seq, self.n)
    }
}

fn change(event: CommittedEvent) -> Option<ContextChange> {
    let CommittedEvent { seq, at, run, body, .. } = event;
    let run_id = run?;
    match body {
        EventBody::ContextCompressed(told) => Some(ContextChange {
            seq,
            at,
            run_id,
            kind: ContextChangeKind::Compressed,
            epoch: told.epoch,
            status: Some(told.status),
            tokens_before: Some(told.tokens_before),
            tokens_after: Some(told.tokens_after),
            message: told.message,
        }),
        EventBody::ContextCleared(told) => Some(ContextChange {
            seq,
            at,
            run_id,
            kind: ContextChangeKind::Cleared,
            epoch: told.epoch,
            status: None,
            tokens_before: None,
            tokens_after: None,
            message: None,
        }),
        _ => None,
    }
}

/// A message without what only its provider reads.
fn readable(message: ContextMessage) -> (MessageRole, Vec<MessagePart>) {
    let parts = message.parts.into_iter().map(|part| match part {
        MessagePart::Thought { text, .. } => MessagePart::Thought { text, signature: None },
        MessagePart::ToolCall(call) => MessagePart::ToolCall(ToolCall { signature: None, ..call }),
        other => other,
    });
    (message.role, parts.collect())
}
