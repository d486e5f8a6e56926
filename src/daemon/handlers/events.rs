//! `events/list`, `events/subscribe`, `events/unsubscribe`, `events/ack`.

use std::{sync::Arc, time::Duration};

use super::{
    super::{
        feed::{EventPump, LogFeed, checked},
        rpc::{MethodHandlers, PendingSubscription, RpcCaller},
    },
    internal, violation,
};
use crate::{
    client_connections::ClientConnections, daemon_life::DaemonLife, daemon_services::DaemonServices,
};
use protocol::{
    Envelope, ErrorKind, EventsAck, EventsAckParams, EventsAckResult, EventsList, EventsListParams,
    EventsListResult, EventsSubscribe, EventsSubscribeParams, EventsUnsubscribe, EventsUnsubscribeParams,
    RpcError, UnsubscribeResult,
};
use store::{EventPage, EventStore, LogFilter, StoredEvent};

/// The most events of one page; the schema says the same.
const MAX_PAGE: usize = 1_000;

/// The services that the methods of events use.
pub(super) struct EventMethods {
    pub life: Arc<DaemonLife>,
    pub store: EventStore,
    pub clients: Arc<ClientConnections>,
    pub feed: Arc<LogFeed>,
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let DaemonServices { life, store, clients, .. } = services.clone();
    let mut api =
        api.given(Arc::new(EventMethods { life, store, clients, feed: Arc::new(LogFeed::of(services)) }));
    api.subscription::<EventsSubscribe, _, _>(subscribe);
    api.method::<EventsUnsubscribe, _, _>(unsubscribe);
    api.method::<EventsAck, _, _>(ack);
    api.cancellable::<EventsList, _, _>(list);
}

async fn subscribe(
    state: Arc<EventMethods>,
    caller: RpcCaller,
    params: EventsSubscribeParams,
    feed: PendingSubscription,
) -> Result<(), RpcError> {
    for session in &params.session_ids {
        state.clients.open_sessions.note(&caller, session);
    }
    let pump = EventPump::subscribe(Arc::clone(&state.feed), caller, params).await?;
    pump.run(feed.accept().await?).await;
    Ok(())
}

async fn unsubscribe(
    _: Arc<EventMethods>,
    caller: RpcCaller,
    params: EventsUnsubscribeParams,
) -> Result<UnsubscribeResult, RpcError> {
    Ok(UnsubscribeResult { unsubscribed: caller.detach(&params.subscription) })
}

async fn ack(
    state: Arc<EventMethods>,
    caller: RpcCaller,
    params: EventsAckParams,
) -> Result<EventsAckResult, RpcError> {
    let EventsAckParams { subscription, seq } = params;
    // Of others' subscriptions nothing is said, not even that there are such.
    if !caller.holds(&subscription) {
        let message = format!("this connection has no subscription {subscription}");
        return Err(RpcError::new(ErrorKind::NotFound, message)
            .with_hint("acknowledge on the connection that subscribed; after a reconnect, subscribe first"));
    }
    let Some(receipt) = state.clients.receipts.get(&subscription) else {
        let violation = violation("/subscription", "was opened without a consumer");
        return Err(violation.with_hint("give `consumer` when you subscribe: it is what remembers"));
    };
    let told = receipt.told();
    if told < seq {
        let message = format!("{seq} is beyond {told}, the last place that this subscription told of");
        return Err(violation("/seq", &message).with_hint("acknowledge what came on this subscription"));
    }
    Ok(EventsAckResult { seq: state.store.acknowledge(&receipt.consumer, seq).await? })
}

async fn list(
    state: Arc<EventMethods>,
    _: RpcCaller,
    params: EventsListParams,
) -> Result<EventsListResult, RpcError> {
    let EventsListParams { filter, from, log_id, limit, wait_ms } = params;
    let cursor = checked(&state.feed, from, log_id.as_deref()).await?;
    if filter.run_id.is_some() && !filter.run_ids.is_empty() {
        return Err(violation("/filter/runId", "not together with `runIds`"));
    }
    let filter = LogFilter::from(filter);
    let limit = usize::try_from(limit).unwrap_or(MAX_PAGE).clamp(1, MAX_PAGE);
    // Followed from before the page is read, so an event in between ends the wait.
    let mut more = state.store.follow(filter.clone(), state.store.head());
    let mut page = state.store.page(&filter, cursor, limit).await?;
    if page.events.is_empty() && wait_ms != 0 {
        tokio::select! {
            waited = more.next() => drop(waited?),
            () = state.life.clock.sleep(Duration::from_millis(wait_ms)) => (),
            () = state.life.stop.cancelled() => (),
        }
        page = state.store.page(&filter, cursor, limit).await?;
    }
    let EventPage { events, head, .. } = page;
    let envelopes: Result<Vec<Envelope>, serde_json::Error> = events.iter().map(|it| envelope(it)).collect();
    let events = envelopes.map_err(|error| internal("an event could not be read", &error))?;
    Ok(EventsListResult { events, head, log_id: state.store.log_id().to_owned() })
}

fn envelope(event: &StoredEvent) -> serde_json::Result<Envelope> {
    serde_json::from_str(&event.envelope(None))
}
