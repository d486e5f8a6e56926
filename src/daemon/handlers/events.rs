//! `events/list`.

use std::{sync::Arc, time::Duration};

use super::{
    super::{
        rpc::{Api, Caller},
        state::State,
    },
    internal,
};
use crate::{
    protocol::{Envelope, EventsList, EventsListParams, EventsListResult, RpcError},
    store::{Filter, Page, Stored},
};

/// The most events of one page; the schema says the same.
const MAX_PAGE: usize = 1_000;

pub fn register(api: &mut Api<State>) {
    api.cancellable::<EventsList, _, _>(list);
}

async fn list(state: Arc<State>, _: Caller, params: EventsListParams) -> Result<EventsListResult, RpcError> {
    let EventsListParams { filter, from, limit, wait_ms } = params;
    let cursor = super::super::attach::checked(&state, from).await?;
    let filter = Filter::from(filter);
    let limit = usize::try_from(limit).unwrap_or(MAX_PAGE).clamp(1, MAX_PAGE);
    // Followed from before the page is read, so an event in between ends the wait.
    let mut more = state.store.follow(filter.clone(), state.store.head());
    let mut page = state.store.page(&filter, cursor, limit).await?;
    if page.events.is_empty() && wait_ms != 0 {
        tokio::select! {
            waited = more.next() => drop(waited?),
            () = state.clock.sleep(Duration::from_millis(wait_ms)) => (),
            () = state.stop.cancelled() => (),
        }
        page = state.store.page(&filter, cursor, limit).await?;
    }
    let Page { events, head, .. } = page;
    let envelopes: Result<Vec<Envelope>, serde_json::Error> = events.iter().map(|it| envelope(it)).collect();
    let events = envelopes.map_err(|error| internal("an event could not be read", &error))?;
    Ok(EventsListResult { events, head })
}

fn envelope(event: &Stored) -> serde_json::Result<Envelope> {
    serde_json::from_str(&event.envelope(None))
}
