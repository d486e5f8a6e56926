//! What was said in a context? Folded from its events, one page at a time.

use std::collections::VecDeque;

use futures_util::TryStreamExt as _;
use sqlx::Row as _;

use super::{Listed, event};
use crate::{
    protocol::{ContextId, EventBody, HistoryMessage, Message, Part, Role, RunId, Seq, ToolCall, ToolResult},
    store::{Event, Store, StoreError},
};

/// Bytes of messages in one page, but for its last: answers have a limit.
const PAGE_BYTES: usize = 1 << 20;

/// What brings messages into a context. `+type` leaves the choice of the index to the context.
pub(in crate::store) const MESSAGES: &str = "
select seq, time_us, type, run_id, body, private from events
where context_id = ?1 and ?2 <= seq and +type in (
    'run.started', 'turn.started', 'model.completed', 'context.nudged', 'run.steered', 'tool.state'
) order by seq";

/// Where the turn of an event begins: results of tools are told by the reply that asked for them.
pub(in crate::store) const TURN_BEFORE: &str = "
select seq from events where context_id = ?1 and seq <= ?2 and +type = 'model.completed'
order by seq desc limit 1";

impl Store {
    /// The messages of a context, oldest first, from after `cursor` on.
    pub async fn history(
        &self,
        context: &ContextId,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Listed<HistoryMessage>, StoreError> {
        let after = cursor.map_or(Ok(Place::default()), Place::parse)?;
        let from: Option<i64> = sqlx::query_scalar(TURN_BEFORE)
            .bind(context.as_str())
            .bind(after.seq.0)
            .fetch_optional(&self.shared.readers)
            .await?;
        let mut rows =
            sqlx::query(MESSAGES).bind(context.as_str()).bind(from.unwrap_or(0)).fetch(&self.shared.readers);
        let mut fold = Fold::default();
        let mut messages: Vec<(Place, HistoryMessage)> = Vec::new();
        let mut bytes = 0;
        while messages.len() <= limit
            && bytes < PAGE_BYTES
            && let Some(row) = rows.try_next().await?
        {
            let Some(event) = event(&row)? else { continue };
            let (seq, Some(run)) = (event.seq, event.run.clone()) else { continue };
            // Perf: the row's length stands for the messages', which are made from it.
            let row_bytes = row.get::<Option<&str>, _>(5).map_or(0, str::len) + row.get::<&str, _>(4).len();
            for (n, (role, parts)) in fold.add(event).into_iter().enumerate() {
                let place = Place { seq, n };
                if after < place {
                    bytes += if n == 0 { row_bytes } else { 0 };
                    messages.push((place, HistoryMessage { seq, run_id: run.clone(), role, parts }));
                }
            }
        }
        // A page that its bytes filled may be the last one; the next is then empty.
        let is_full = PAGE_BYTES <= bytes && messages.len() <= limit;
        let listed = Listed::cut(messages, limit, |(place, _)| place.to_string());
        let next = match listed.items.last() {
            Some((place, _)) if is_full => Some(place.to_string()),
            _ => listed.next,
        };
        Ok(Listed { items: listed.items.into_iter().map(|(_, message)| message).collect(), next })
    }
}

/// A message's place: its event, and which of the event's messages it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    seq: Seq,
    n: usize,
}

impl Place {
    fn parse(text: &str) -> Result<Place, StoreError> {
        let (seq, n) = text.split_once('.').ok_or(StoreError::BadCursor)?;
        let seq = Seq(seq.parse().map_err(|_| StoreError::BadCursor)?);
        Ok(Place { seq, n: n.parse().map_err(|_| StoreError::BadCursor)? })
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.seq, self.n)
    }
}

/// The one place that says which messages clients read of which event.
#[derive(Default)]
struct Fold {
    /// Calls of the last reply with their results, which are told together, in the order of the calls.
    open: Vec<(RunId, ToolCall, Option<ToolResult>)>,
}

impl Fold {
    fn add(&mut self, event: Event) -> VecDeque<(Role, Vec<Part>)> {
        let Event { run, body, private, .. } = event;
        match body {
            EventBody::RunStarted(_) => {
                let seed = private.seed.into_iter().flat_map(|seed| seed.messages);
                seed.map(readable).collect()
            }
            EventBody::ModelCompleted(_) => {
                let Some(message) = private.message else { return VecDeque::new() };
                let calls = message.parts.iter().filter_map(|part| match part {
                    Part::ToolCall(call) => Some((run.clone()?, call.clone(), None)),
                    _ => None,
                });
                self.open = calls.collect();
                VecDeque::from([readable(message)])
            }
            EventBody::TurnStarted(_) | EventBody::ContextNudged(_) | EventBody::RunSteered(_) => {
                private.message.into_iter().map(readable).collect()
            }
            EventBody::ToolState(data) if data.to.is_end() => {
                let is_it =
                    |call: &ToolCall, of: &RunId| call.call_id == data.call_id && Some(of) == run.as_ref();
                let Some(open) = self.open.iter_mut().find(|(of, call, _)| is_it(call, of)) else {
                    return VecDeque::new();
                };
                open.2 = data.result;
                if self.open.iter().any(|(.., result)| result.is_none()) {
                    return VecDeque::new();
                }
                let results =
                    self.open.drain(..).filter_map(|(_, call, result)| Some(result_part(call, result?)));
                VecDeque::from([(Role::Tool, results.collect())])
            }
            _ => VecDeque::new(),
        }
    }
}

/// A message without what only its provider reads.
fn readable(message: Message) -> (Role, Vec<Part>) {
    let parts = message.parts.into_iter().map(|part| match part {
        Part::Thought { text, .. } => Part::Thought { text, signature: None },
        Part::ToolCall(call) => Part::ToolCall(ToolCall { signature: None, ..call }),
        other => other,
    });
    (message.role, parts.collect())
}

fn result_part(call: ToolCall, result: ToolResult) -> Part {
    Part::ToolResult {
        call_id: call.call_id,
        provider_call_id: call.provider_call_id,
        name: call.name,
        parts: result.llm_content,
        is_error: result.error.is_some(),
    }
}
