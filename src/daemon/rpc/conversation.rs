//! How does one conversation go, from the first byte to the last?
//!
//! A connection is one task: it reads, lets handlers run side by side, and writes, all as parts of one future.
//! Dropping that future ends everything that belongs to the connection. Reading never waits for a handler or for
//! the writer, so a request to stop something is always heard.

use std::{future::Future, io, pin::pin, time::Duration};

use futures_util::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{
    exchange::{BegunSubscriptions, MessageExchange, too_long},
    framing::{FramedRead, InboundMessages},
    message::{self, RpcLine, RpcMessage, WireId},
};
use protocol::{ErrorKind, MAX_IN_FLIGHT, RpcError};

/// Messages whose answers are not out yet, refusals included. Only a client that does not read gets here; then
/// we do not read either.
const MAX_UNANSWERED: usize = 2 * MAX_IN_FLIGHT;
/// How long calls with effects go on when the daemon stops or the client is gone.
pub(super) const DRAIN: Duration = Duration::from_secs(5);
/// How long calls that only read go on when the daemon stops. What takes longer waits for something that may not
/// happen, e.g. `run/wait`, and must not hold up the end.
pub(super) const READ_DRAIN: Duration = Duration::from_millis(500);
/// How long the last bytes may take.
const FLUSH: Duration = Duration::from_secs(2);
/// How long a client that was told something last may take to hang up.
const LINGER: Duration = Duration::from_secs(1);

/// Drives a conversation and its writer to their end.
pub(super) async fn converse<I: InboundMessages>(
    mut connection: RpcConnection<I>,
    writing: impl Future<Output = io::Result<I::Written>> + Send,
    stop: &CancellationToken,
) {
    let mut writing = Box::pin(writing);
    let end = tokio::select! {
        end = connection.converse(stop) => end,
        // The client was cut off, or its socket broke.
        _ = &mut writing => RpcConnectionEnd::Lost,
    };
    match end {
        RpcConnectionEnd::Lost => {
            // Nothing can be delivered any more, and nobody may wait for room in the queue.
            drop(writing);
            connection.finish_effects().await;
        }
        RpcConnectionEnd::Done => {
            // With the last sender gone the writer ends when all is written.
            drop(connection);
            // A failure means that the client left before the last byte: nobody is left to tell.
            let _ = timeout(FLUSH, writing).await;
        }
        RpcConnectionEnd::Refused => finish(connection.into_inbound(), writing).await,
    }
}

/// Writes what is left, and lets the client read it.
pub(super) async fn finish<I: InboundMessages>(
    inbound: I,
    writing: impl Future<Output = io::Result<I::Written>> + Send,
) {
    // A failure means that the client left before the last byte: nobody is left to tell.
    if let Ok(Ok(written)) = timeout(FLUSH, writing).await {
        let _ = timeout(LINGER, inbound.linger(written)).await;
    }
}

pub(super) enum RpcConnectionEnd {
    /// All that was to be said is said.
    Done,
    /// The same to a client that may still be sending.
    Refused,
    /// The client receives nothing more.
    Lost,
}

pub(super) struct RpcConnection<I> {
    inbound: I,
    exchange: MessageExchange,
    messages: FuturesUnordered<BoxFuture<'static, BegunSubscriptions>>,
    subscriptions: FuturesUnordered<BoxFuture<'static, ()>>,
}

impl<I: InboundMessages> RpcConnection<I> {
    pub(super) fn new(inbound: I, exchange: MessageExchange) -> RpcConnection<I> {
        let (messages, subscriptions) = (FuturesUnordered::new(), FuturesUnordered::new());
        RpcConnection { inbound, exchange, messages, subscriptions }
    }

    /// Ends what belongs to the connection but its stream.
    pub(super) fn into_inbound(self) -> I {
        self.inbound
    }

    async fn converse(&mut self, stop: &CancellationToken) -> RpcConnectionEnd {
        loop {
            let has_room = self.messages.len() < MAX_UNANSWERED;
            let read = tokio::select! { biased;
                () = stop.cancelled() => return self.stop().await,
                Some(begun) = self.messages.next(), if !self.messages.is_empty() => {
                    self.subscriptions.extend(begun);
                    continue;
                }
                Some(()) = self.subscriptions.next(), if !self.subscriptions.is_empty() => continue,
                read = self.inbound.next(), if has_room => read,
            };
            match read {
                Ok(FramedRead::Message(text)) => self.begin(message::parse(&text)),
                Ok(FramedRead::TooLong) => self.begin(error_line(too_long())),
                Ok(FramedRead::Broken(words)) => {
                    return self.refuse(RpcError::new(ErrorKind::ParseError, words)).await;
                }
                Ok(FramedRead::End) => return self.say_the_rest(stop).await,
                Ok(FramedRead::Gone) | Err(_) => return RpcConnectionEnd::Lost,
            }
        }
    }

    fn begin(&mut self, line: RpcLine) {
        self.messages.push(self.exchange.begin(line));
    }

    /// One error for a client that cannot be understood any more; what it asked before is answered, and the
    /// connection ends.
    pub(super) async fn refuse(&mut self, error: RpcError) -> RpcConnectionEnd {
        self.begin(error_line(error));
        self.exchange.abort_all(ErrorKind::RequestCancelled);
        if timeout(DRAIN, self.finish_messages()).await.is_err() {
            tracing::debug!("a refused client's calls did not end in time");
        }
        RpcConnectionEnd::Refused
    }

    /// The client has sent its last byte. It gets its answers, and its subscriptions go on while it listens.
    async fn say_the_rest(&mut self, stop: &CancellationToken) -> RpcConnectionEnd {
        loop {
            let has_subscriptions = I::OUTLIVES_LAST_BYTE && !self.subscriptions.is_empty();
            if self.messages.is_empty() && !has_subscriptions {
                return RpcConnectionEnd::Done;
            }
            tokio::select! { biased;
                () = stop.cancelled() => return self.stop().await,
                Some(begun) = self.messages.next(), if !self.messages.is_empty() => {
                    self.subscriptions.extend(begun);
                }
                Some(()) = self.subscriptions.next(), if !self.subscriptions.is_empty() => {}
                () = self.inbound.gone() => return RpcConnectionEnd::Lost,
            }
        }
    }

    /// The daemon stops: calls are finished, those that only wait are told so. A subscription ends here; its
    /// client goes on by cursor when the daemon is back.
    async fn stop(&mut self) -> RpcConnectionEnd {
        if timeout(READ_DRAIN, self.finish_messages()).await.is_err() {
            self.exchange.abort_all(ErrorKind::ShuttingDown);
            // Over the time: a handler that does not end holds up nothing any more.
            let _ = timeout(DRAIN, self.finish_messages()).await;
        }
        RpcConnectionEnd::Done
    }

    async fn finish_messages(&mut self) {
        while !self.messages.is_empty() {
            // Subscriptions are driven on, since they may hold the queue's room.
            tokio::select! { biased;
                Some(begun) = self.messages.next() => self.subscriptions.extend(begun),
                Some(()) = self.subscriptions.next(), if !self.subscriptions.is_empty() => {}
            }
        }
    }

    /// Nobody listens: what only reads is dropped, what has effects gets time to complete them.
    async fn finish_effects(mut self) {
        self.subscriptions.clear();
        self.exchange.abort_all(ErrorKind::RequestCancelled);
        let mut messages = pin!(self.messages);
        // Over the time: the effects are somebody's who does not end, e.g. a full disk's.
        let _ = timeout(DRAIN, async { while messages.next().await.is_some() {} }).await;
    }
}

/// An error that answers no request in particular.
pub(super) fn error_line(error: RpcError) -> RpcLine {
    RpcLine::One(RpcMessage::Invalid { id: WireId::Null, error })
}
