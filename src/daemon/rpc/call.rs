//! What is the answer to one request? Looks up the handler, calls it through jsonrpsee, and brings back the
//! response with what has to follow it.

use std::sync::Arc;

use futures_util::{FutureExt as _, future::BoxFuture};
use jsonrpsee::{
    ConnectionId, Extensions, MethodCallback, MethodResponse, MethodSink, SubscriptionState, types::Params,
};
use serde::Serialize;
use serde_json::{
    json,
    value::{RawValue, to_raw_value},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::{
    api::MethodTable,
    caller::{RpcCaller, RpcRequestContext, RunningSubscription},
    errors::{error_response, internal_error, translated},
    message::{RpcRequest, WireId},
    outgoing::OutgoingSender,
    subscription::{NOTIFICATION, SubscriptionIds},
    suggest,
};
use protocol::{
    Envelope, ErrorKind, EventHead, EventNotification, MAX_SUBSCRIPTIONS, RpcError, UnknownField,
};

/// The longest answer. Four times what a client may send: a full page of the log must fit.
const MAX_ANSWER_BYTES: u32 = 16 << 20;
/// Notifications that wait between a handler and the connection's queue. Small: what matters is that the handler
/// waits, the buffer is the database.
const SUBSCRIPTION_QUEUE: usize = 4;

/// Methods whose answers can be large.
const LARGE_ANSWERS: [&str; 6] =
    ["events/list", "confirmation/list", "rpc/discover", "rpc.discover", "agents/list", "tools/list"];
/// Large answers of one connection that are being made or wait to be read: a client that asks and never reads costs
/// this many pages, not as many as it asks for.
pub(super) const LARGE_AT_ONCE: usize = 8;

/// What every request of a connection needs.
pub(super) struct RpcDispatcher {
    pub(super) table: Arc<MethodTable>,
    pub(super) caller: RpcCaller,
    pub(super) outgoing: OutgoingSender,
    /// Room for them; `None` where nothing can follow an answer.
    pub(super) subscriptions: Option<Arc<Semaphore>>,
    /// For large answers.
    pub(super) turns: Arc<Semaphore>,
}

/// A response and what follows it.
#[derive(Default)]
pub(super) struct RpcAnswer {
    /// Missing for a notification.
    pub(super) response: Option<Box<RawValue>>,
    /// Reported once the response is out.
    unknown_fields: Vec<UnknownField>,
    /// Sends a subscription's notifications, until it ends.
    pub(super) subscription: Option<BoxFuture<'static, ()>>,
    /// Held until the answer is out.
    _turn: Option<OwnedSemaphorePermit>,
}

impl RpcAnswer {
    pub(super) fn error(id: Option<&WireId>, error: &RpcError) -> RpcAnswer {
        RpcAnswer { response: id.map(|id| error_response(id, error)), ..RpcAnswer::default() }
    }

    /// The answer to what has no result.
    pub(super) fn null(id: Option<&WireId>) -> RpcAnswer {
        #[derive(Serialize)]
        struct Response<'a> {
            jsonrpc: &'static str,
            id: &'a WireId,
            result: (),
        }
        let response = id.and_then(|id| to_raw_value(&Response { jsonrpc: "2.0", id, result: () }).ok());
        RpcAnswer { response, ..RpcAnswer::default() }
    }

    /// Reports unknown fields, each as a notification of its own that belongs to no subscription.
    pub(super) async fn report_unknown_fields(&mut self, outgoing: &OutgoingSender) {
        for field in self.unknown_fields.drain(..) {
            let Some(notification) = unknown_field_signal(&field) else { continue };
            if outgoing.send(notification).await.is_err() {
                return;
            }
        }
    }
}

fn unknown_field_signal(field: &UnknownField) -> Option<Box<RawValue>> {
    let result = Envelope {
        seq: None,
        prev: None,
        at: None,
        kind: "signal.unknownField".to_owned(),
        session_id: None,
        run_id: None,
        head: EventHead::default(),
        offered: None,
        data: serde_json::to_value(field).ok()?,
    };
    let params = EventNotification { subscription: None, result };
    to_raw_value(&json!({ "jsonrpc": "2.0", "method": NOTIFICATION, "params": params })).ok()
}

impl RpcDispatcher {
    /// Answers one request. Dropping the future drops the handler; `given_up` tells one that listens that nobody wants it.
    pub(super) async fn answer(
        &self,
        request: RpcRequest,
        in_batch: bool,
        given_up: CancellationToken,
    ) -> RpcAnswer {
        let methods = &self.table.methods;
        let Some(callback) = methods.method(&request.method) else {
            return RpcAnswer::error(request.id.as_ref(), &self.unknown_method(&request.method));
        };
        let turn = match LARGE_ANSWERS.contains(&request.method.as_str()) {
            // It is closed by nobody; without a permit the answer is made all the same.
            true => Arc::clone(&self.turns).acquire_owned().await.ok(),
            false => None,
        };
        let params = Params::new(request.params.as_deref().map(RawValue::get));
        let call = RpcRequestContext::new(self.caller.clone(), given_up);
        let mut extensions = Extensions::new();
        extensions.insert(call.clone());
        let id = request.id.as_ref().map_or(WireId::Null, Clone::clone).for_jsonrpsee();
        let max_bytes = MAX_ANSWER_BYTES as usize;
        let response = match callback {
            MethodCallback::Async(handle) => {
                handle(id, params.into_owned(), self.connection_id(), max_bytes, extensions).await
            }
            MethodCallback::Sync(handle) => handle(id, params, max_bytes, extensions),
            MethodCallback::Unsubscription(handle) => {
                handle(id, params, self.connection_id(), max_bytes, extensions)
            }
            MethodCallback::Subscription(_) if in_batch => {
                let error =
                    RpcError::new(ErrorKind::InvalidRequest, "a subscription cannot be part of a batch")
                        .with_hint("ask for it in a message of its own");
                return RpcAnswer::error(request.id.as_ref(), &error);
            }
            MethodCallback::Subscription(subscribe) => {
                // Nobody would know the name of a subscription that was asked for without an id.
                let Some(wire_id) = &request.id else { return RpcAnswer::default() };
                let Some(room) = &self.subscriptions else {
                    let error = RpcError::new(
                        ErrorKind::InvalidRequest,
                        "a subscription needs a connection that lasts",
                    )
                    .with_hint("open a WebSocket, or ask `events/list` with `waitMs`");
                    return RpcAnswer::error(Some(wire_id), &error);
                };
                let Ok(permit) = Arc::clone(room).try_acquire_owned() else {
                    return RpcAnswer::error(Some(wire_id), &too_many_subscriptions());
                };
                let (notifications, received) = mpsc::channel(SUBSCRIPTION_QUEUE);
                let sink = MethodSink::new_with_limit(notifications, MAX_ANSWER_BYTES);
                let state = SubscriptionState {
                    conn_id: self.connection_id(),
                    id_provider: &SubscriptionIds,
                    subscription_permit: permit,
                };
                let accepted = subscribe(id, params, sink, state, extensions);
                return self.follow(wire_id, &call, accepted, received).await;
            }
        };
        let is_error = response.is_error();
        let unknown_fields = call.take().unknown_fields;
        let response = request.id.map(|id| {
            let json = response.into_json();
            id.readdress(if is_error { translated(json, &id) } else { json })
        });
        // A batch goes out as one, so its parts cannot wait for each other's turns.
        let turn = turn.filter(|_| !in_batch);
        RpcAnswer { response, unknown_fields, subscription: None, _turn: turn }
    }

    /// Drives a subscription until its handler has accepted or refused, which is the first thing it sends.
    async fn follow(
        &self,
        id: &WireId,
        call: &RpcRequestContext,
        accepted: BoxFuture<'static, MethodResponse>,
        mut received: mpsc::Receiver<Box<RawValue>>,
    ) -> RpcAnswer {
        let aftermath = call.take();
        let Some(RunningSubscription { mut work, ended }) = aftermath.subscription else {
            return RpcAnswer::error(Some(id), &internal_error(&"a subscription without a handler at work"));
        };
        let mut is_working = true;
        let first = loop {
            tokio::select! { biased;
                first = received.recv() => break first,
                () = &mut work, if is_working => is_working = false,
            }
        };
        let Some(response) = first else {
            return RpcAnswer::error(Some(id), &internal_error(&"a subscription that was never answered"));
        };
        let outgoing = self.outgoing.clone();
        let subscription = async move {
            // jsonrpsee reports the acceptance here; dropped earlier, accepting would fail.
            let _accepted = accepted;
            loop {
                let notification = tokio::select! { biased;
                    () = ended.cancelled() => return,
                    notification = received.recv() => notification,
                    () = &mut work, if is_working => {
                        is_working = false;
                        continue;
                    }
                };
                let Some(notification) = notification else { return };
                // While this waits the handler is not polled: it is not to run ahead of its client.
                match ended.run_until_cancelled(outgoing.send(notification)).await {
                    Some(Ok(())) => {}
                    Some(Err(_)) | None => return,
                }
            }
        };
        RpcAnswer {
            response: Some(id.readdress(translated(response, id))),
            unknown_fields: aftermath.unknown_fields,
            subscription: Some(subscription.boxed()),
            _turn: None,
        }
    }

    fn connection_id(&self) -> ConnectionId {
        // Only jsonrpsee's own unsubscribing looks at it, which we do not use.
        ConnectionId(usize::try_from(self.caller.connection()).unwrap_or(usize::MAX))
    }

    fn unknown_method(&self, method: &str) -> RpcError {
        let error = RpcError::new(ErrorKind::MethodNotFound, "there is no such method");
        match suggest::nearest(method, self.table.methods.method_names()) {
            Some(known) => error
                .with_details(json!({ "didYouMean": known }))
                .with_hint(format!("did you mean `{known}`?")),
            None => error.with_hint("`rpc/discover` lists the methods"),
        }
    }
}

fn too_many_subscriptions() -> RpcError {
    let message = format!("a connection holds at most {MAX_SUBSCRIPTIONS} subscriptions");
    RpcError::new(ErrorKind::LimitExceeded, message)
        .with_hint("end one with `session/detach` or `events/unsubscribe`")
}
