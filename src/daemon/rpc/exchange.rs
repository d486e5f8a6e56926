//! What becomes of one message? Requests are let in or refused, put to work side by side, and answered; the same for
//! every framing.

use std::sync::Arc;

use futures_util::{
    FutureExt as _,
    future::{AbortHandle, Abortable, BoxFuture, join_all},
};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{
    api::MethodTable,
    call::{LARGE_AT_ONCE, RpcAnswer, RpcDispatcher},
    caller::RpcCaller,
    errors::internal_error,
    flight::{ConnectionAdmission, ConnectionRequests, RequestCancellation, RequestSlot},
    message::{RpcLine, RpcMessage, RpcRequest, WireId},
    outgoing::OutgoingSender,
};
use protocol::{ErrorKind, MAX_MESSAGE_BYTES, MAX_SUBSCRIPTIONS, RpcError};

/// What a finished message leaves: subscriptions that begin.
pub(super) type BegunSubscriptions = Vec<BoxFuture<'static, ()>>;

/// One client's requests: what answers them, and how many there are.
#[derive(Clone)]
pub(super) struct MessageExchange {
    desk: Arc<RpcDispatcher>,
    flight: ConnectionRequests,
}

impl MessageExchange {
    /// Of a connection that lasts.
    pub(super) fn new(
        caller: RpcCaller,
        table: Arc<MethodTable>,
        outgoing: OutgoingSender,
        admission: ConnectionAdmission,
    ) -> MessageExchange {
        let subscriptions = Some(Arc::new(Semaphore::new(MAX_SUBSCRIPTIONS)));
        let turns = Arc::new(Semaphore::new(LARGE_AT_ONCE));
        let desk = RpcDispatcher { table, caller, outgoing, subscriptions, turns };
        MessageExchange { desk: Arc::new(desk), flight: ConnectionRequests::new(admission) }
    }

    /// Of one message that stands alone: nothing can follow its answer. It counts among those of its connection.
    pub(super) fn passing(
        caller: RpcCaller,
        table: Arc<MethodTable>,
        outgoing: OutgoingSender,
        flight: ConnectionRequests,
    ) -> MessageExchange {
        let turns = Arc::new(Semaphore::new(LARGE_AT_ONCE));
        let desk = RpcDispatcher { table, caller, outgoing, subscriptions: None, turns };
        MessageExchange { desk: Arc::new(desk), flight }
    }

    /// Drops what only reads; what has effects goes on.
    pub(super) fn abort_all(&self, reason: ErrorKind) {
        self.flight.abort_all(reason);
    }

    /// Puts a message's requests to work. They are admitted at once, in order; the future answers them.
    pub(super) fn begin(&self, line: RpcLine) -> BoxFuture<'static, BegunSubscriptions> {
        let desk = Arc::clone(&self.desk);
        match line {
            RpcLine::One(message) => {
                let (answer, slot) = self.admit(message, false);
                async move {
                    let mut answer = answer.await;
                    deliver(&desk.outgoing, answer.response.take(), std::slice::from_mut(&mut answer)).await;
                    drop(slot);
                    answer.subscription.into_iter().collect()
                }
                .boxed()
            }
            RpcLine::Batch(messages) => {
                let admitted = messages.into_iter().map(|message| self.admit(message, true));
                let (answers, slots): (Vec<_>, Vec<_>) = admitted.unzip();
                async move {
                    let mut answers = join_all(answers).await;
                    let responses: Vec<_> =
                        answers.iter_mut().filter_map(|answer| answer.response.take()).collect();
                    deliver(&desk.outgoing, together(&responses), &mut answers).await;
                    drop(slots);
                    BegunSubscriptions::new()
                }
                .boxed()
            }
        }
    }

    /// The answer to come, and the place the request takes until that answer is out.
    fn admit(
        &self,
        message: RpcMessage,
        in_batch: bool,
    ) -> (BoxFuture<'static, RpcAnswer>, Option<RequestSlot>) {
        let at_once = |answer: RpcAnswer| (std::future::ready(answer).boxed(), None);
        let request = match message {
            RpcMessage::Request(request) => request,
            RpcMessage::Response => return at_once(RpcAnswer::default()),
            RpcMessage::Invalid { id, error } => return at_once(RpcAnswer::error(Some(&id), &error)),
        };
        if let Some(target) = cancelled_request(&request) {
            if self.desk.subscriptions.is_none() {
                let error =
                    RpcError::new(ErrorKind::MethodNotFound, "there is no other request to cancel here")
                        .with_hint("each HTTP request stands alone; `run/cancel` ends a run");
                return at_once(RpcAnswer::error(request.id.as_ref(), &error));
            }
            self.flight.abort(&target);
            return at_once(RpcAnswer::null(request.id.as_ref()));
        }
        let bytes = request.params.as_ref().map_or(0, |params| params.get().len());
        let is_cancellable = self.desk.table.cancellable.contains(request.method.as_str());
        // What is no method of the table changes nothing.
        let has_effects = !is_cancellable && self.desk.table.methods.method(&request.method).is_some();
        let mut slot = match self.flight.admit(&request.method, has_effects, bytes) {
            Ok(slot) => slot,
            Err(error) => return at_once(RpcAnswer::error(request.id.as_ref(), &error)),
        };
        let desk = Arc::clone(&self.desk);
        let (id, given_up) = (request.id.clone(), CancellationToken::new());
        if !is_cancellable {
            if let Some(id) = id {
                slot.abort_by(id, RequestCancellation::Told(given_up.clone()));
            }
            return (async move { desk.answer(request, in_batch, given_up).await }.boxed(), Some(slot));
        }
        let (handle, registration) = AbortHandle::new_pair();
        slot.abort_by(id.clone().unwrap_or(WireId::Null), RequestCancellation::Dropped(handle));
        let answer =
            Abortable::new(async move { desk.answer(request, in_batch, given_up).await }, registration);
        let flight = self.flight.clone();
        let answer = async move {
            answer.await.unwrap_or_else(|_| RpcAnswer::error(id.as_ref(), &flight.abort_error()))
        };
        (answer.boxed(), Some(slot))
    }
}

/// The response first, then what it gave reason to report.
async fn deliver(outgoing: &OutgoingSender, response: Option<Box<RawValue>>, answers: &mut [RpcAnswer]) {
    if let Some(response) = response
        && outgoing.send(response).await.is_err()
    {
        return;
    }
    for answer in answers {
        answer.report_unknown_fields(outgoing).await;
    }
}

/// A batch's responses as one message; nothing when it held notifications only.
fn together(responses: &[Box<RawValue>]) -> Option<Box<RawValue>> {
    if responses.is_empty() {
        return None;
    }
    match to_raw_value(responses) {
        Ok(response) => Some(response),
        Err(error) => RpcAnswer::error(Some(&WireId::Null), &internal_error(&error)).response,
    }
}

/// What is answered to a message that was not read whole.
pub(super) fn too_long() -> RpcError {
    longer_than(MAX_MESSAGE_BYTES)
}

pub(super) fn longer_than(most: usize) -> RpcError {
    RpcError::new(
        ErrorKind::PayloadTooLarge,
        format!("a message has at most {most} bytes; this one was skipped"),
    )
}

/// The request that this message wants cancelled. Both spellings are in use among editors.
fn cancelled_request(request: &RpcRequest) -> Option<WireId> {
    #[derive(Deserialize)]
    struct Target {
        id: WireId,
    }
    if !matches!(request.method.as_str(), "$/cancelRequest" | "$/cancel_request") {
        return None;
    }
    let target =
        request.params.as_deref().and_then(|params| serde_json::from_str::<Target>(params.get()).ok());
    // A cancellation of nothing readable cancels nothing.
    Some(target.map_or(WireId::Null, |target| target.id))
}
