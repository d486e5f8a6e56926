//! What did hooks answer before this daemon began? The log knows it.

use protocol::{EventBody, EventSeq, HookFired, Timestamp};
use store::{EventStore, LogFilter, StoreError};

/// Events of the log, the newest, among which answers of hooks are looked for: who asks for the list waits for this.
const MOST_EVENTS: i64 = 20_000;

/// Answers that are read at once.
const PAGE: usize = 500;

/// Answers of hooks in the newest part of the log, oldest first.
pub(super) async fn earlier_answers(store: &EventStore) -> Result<Vec<(Timestamp, HookFired)>, StoreError> {
    let filter = LogFilter { types: vec!["hook.fired".to_owned()], ..LogFilter::default() };
    let head = store.head();
    let mut read_to = EventSeq((head.0 - MOST_EVENTS).max(0));
    let mut answers = Vec::new();
    while read_to < head {
        let page = store.page(&filter, read_to, PAGE).await?;
        for event in &page.events {
            if let Some(EventBody::HookFired(fired)) = event.parse()? {
                answers.push((event.at, fired));
            }
        }
        read_to = page.searched_to;
    }
    Ok(answers)
}
