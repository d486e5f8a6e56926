//! How does one conversation go, from the first byte to the last?
//!
//! A connection is one task: it reads, lets handlers run side by side, and writes, all as parts of one future.
//! Dropping that future ends everything that belongs to the connection. Reading never waits for a handler or for
//! the writer, so a request to stop something is always heard.

use std::{future::Future, io, pin::pin, sync::Arc, time::Duration};

use futures_util::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::{
    api::MethodTable,
    caller::{PeerCredentials, RpcCaller},
    exchange::{BegunSubscriptions, MessageExchange, too_long},
    flight::ConnectionAdmission,
    framing::{FrameReader, FramedRead, InboundMessages, MessageFraming},
    http::{self, McpAcceptor, TcpGate},
    message::{self, RpcLine, RpcMessage, WireId},
    outgoing,
    wire::{ConnectionOpening, RewoundStream, RpcStream, opening},
};
use protocol::{ConnectionTransport, ErrorKind, MAX_IN_FLIGHT, RpcError};
use sys::tasks::TaskGroup;

/// Messages whose answers are not out yet, refusals included. Only a client that does not read gets here; then
/// we do not read either.
const MAX_UNANSWERED: usize = 2 * MAX_IN_FLIGHT;
/// How long calls with effects go on when the daemon stops or the client is gone.
pub(super) const DRAIN: Duration = Duration::from_secs(5);
/// How long calls that only read go on when the daemon stops. What takes longer waits for something that may not
/// happen, e.g. `run/wait`, and must not hold up the end.
pub(super) const READ_DRAIN: Duration = Duration::from_millis(500);
/// How long whoever must show a token may take to begin.
const FIRST_BYTE: Duration = Duration::from_secs(5);
/// How long the last bytes may take.
const FLUSH: Duration = Duration::from_secs(2);
/// How long a client that was told something last may take to hang up.
const LINGER: Duration = Duration::from_secs(1);

/// The daemon's metrics as text, in the making.
pub type MetricsAnswer = BoxFuture<'static, Result<String, RpcError>>;

/// What every connection of a daemon needs.
#[derive(Clone)]
pub struct ServerContext {
    pub table: Arc<MethodTable>,
    /// Calls with effects stand here when the client that asked for them may vanish first.
    pub tasks: TaskGroup,
    /// Whether the daemon can do its work, and why not.
    pub readiness: Arc<dyn Fn() -> Result<(), String> + Send + Sync>,
    /// Prometheus' text, made when somebody asks for it.
    pub metrics: Arc<dyn Fn() -> MetricsAnswer + Send + Sync>,
    /// Who speaks the Model Context Protocol at `/mcp`, if somebody does.
    pub mcp: Option<Arc<dyn McpAcceptor>>,
    /// Everything ends.
    pub stop: CancellationToken,
}

/// Who is at the other end, and what that allows.
#[derive(Clone)]
pub(super) struct RpcPeer {
    pub(super) peer: PeerCredentials,
    pub(super) admission: ConnectionAdmission,
    /// What an HTTP request must show; `None` where the connection itself says who it is.
    pub(super) gate: Option<Arc<TcpGate>>,
    /// Where they come from, if that is looked at only after they have shown something.
    pub(super) origin: Option<Arc<PeerOrigin>>,
}

/// Looks where a guest comes from; blocks.
pub(super) type OriginCheck = Box<dyn FnOnce() -> Result<(), RpcError> + Send>;

/// Where a guest comes from, looked at once and only when it is asked for: whoever reaches the port without a token must not
/// make the daemon read through all processes.
pub(super) struct PeerOrigin {
    look: std::sync::Mutex<Option<OriginCheck>>,
    outcome: tokio::sync::OnceCell<Result<(), RpcError>>,
}

impl PeerOrigin {
    pub(super) fn new(look: OriginCheck) -> Arc<PeerOrigin> {
        Arc::new(PeerOrigin {
            look: std::sync::Mutex::new(Some(look)),
            outcome: tokio::sync::OnceCell::new(),
        })
    }

    /// Whether they may come in.
    pub(super) async fn admits(&self) -> Result<(), RpcError> {
        let unknown = || RpcError::new(ErrorKind::Forbidden, "it could not be told who you are");
        let outcome = self.outcome.get_or_init(|| async {
            // Nothing panics while it is held. Whoever took it and was dropped has told nobody, so it stays unknown.
            let look = self.look.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
            let Some(look) = look else { return Err(unknown()) };
            tokio::task::spawn_blocking(look).await.unwrap_or_else(|error| {
                tracing::error!(%error, "cannot tell who connects");
                Err(unknown())
            })
        });
        outcome.await.clone()
    }
}

/// Speaks with one client until it hangs up, is cut off, or the daemon stops; then open calls are finished,
/// as far as they have effects or somebody still listens, for at most a few seconds.
pub async fn serve_connection<W: RpcStream>(wire: W, peer: PeerCredentials, reception: ServerContext) {
    let guest = RpcPeer { peer, admission: ConnectionAdmission::Everything, gate: None, origin: None };
    serve_guest(wire, guest, reception).await;
}

/// The same for a client that may have to show who it is, or is let in for little.
pub(super) async fn serve_guest<W: RpcStream>(wire: W, guest: RpcPeer, reception: ServerContext) {
    // Counted from the first moment, also while it says nothing.
    let caller = RpcCaller::new(guest.peer, Arc::clone(&reception.table.load));
    let opened = tokio::select! { biased;
        () = reception.stop.cancelled() => return,
        opened = opening(wire) => opened,
        // Nobody has shown a token yet, and whoever can reach the port could hold all the room there is.
        () = sleep(FIRST_BYTE), if guest.gate.is_some() => return,
    };
    let Ok((opening, wire)) = opened else { return };
    // Nobody has shown a token when the bytes are no HTTP request; only HTTP carries one.
    let is_http = opening == ConnectionOpening::Http || guest.gate.is_some();
    match opening {
        ConnectionOpening::Nothing => {}
        _ if is_http => http::serve(wire, caller, guest, reception).await,
        ConnectionOpening::Headers => {
            serve_stream(wire, MessageFraming::Headers, None, caller, guest, reception).await
        }
        ConnectionOpening::Lines | ConnectionOpening::Http => {
            serve_stream(wire, MessageFraming::Lines, None, caller, guest, reception).await;
        }
        ConnectionOpening::Garbage => {
            let words = "neither JSON, `Content-Length` nor HTTP; send one JSON value a line";
            serve_stream(wire, MessageFraming::Lines, Some(words), caller, guest, reception).await;
        }
    }
}

async fn serve_stream<W: RpcStream>(
    wire: RewoundStream<W>,
    framing: MessageFraming,
    refused: Option<&str>,
    caller: RpcCaller,
    guest: RpcPeer,
    reception: ServerContext,
) {
    caller.speaks(match framing {
        MessageFraming::Lines => ConnectionTransport::Lines,
        MessageFraming::Headers => ConnectionTransport::ContentLength,
    });
    let (reader, writer) = wire.split();
    let inbound = FrameReader::<W>::new(reader, framing);
    let (outgoing, queue) = outgoing::queue();
    let exchange = MessageExchange::new(caller, reception.table, outgoing, guest.admission);
    let mut connection = RpcConnection::new(inbound, exchange);
    let writing = queue.write_to(writer, framing);
    match refused {
        Some(words) => {
            let error = RpcError::new(ErrorKind::ParseError, words);
            let _ = connection.refuse(error).await;
            finish(connection.into_inbound(), writing).await;
        }
        None => converse(connection, writing, &reception.stop).await,
    }
}

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
async fn finish<I: InboundMessages>(
    inbound: I,
    writing: impl Future<Output = io::Result<I::Written>> + Send,
) {
    // A failure means that the client left before the last byte: nobody is left to tell.
    if let Ok(Ok(written)) = timeout(FLUSH, writing).await {
        let _ = timeout(LINGER, inbound.linger(written)).await;
    }
}

enum RpcConnectionEnd {
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
    fn into_inbound(self) -> I {
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
    async fn refuse(&mut self, error: RpcError) -> RpcConnectionEnd {
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
