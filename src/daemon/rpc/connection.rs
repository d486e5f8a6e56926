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
    caller::{Caller, PeerInfo},
    exchange::{Begun, Exchange, too_long},
    flight::Admission,
    framing::{FrameReader, Framing, Inbound, Read},
    http::{self, Gate, McpDoor},
    message::{self, Line, Message, WireId},
    outgoing,
    wire::{Opening, Rewound, Wire, opening},
};
use crate::{
    protocol::{ErrorKind, MAX_IN_FLIGHT, RpcError, Transport},
    sys::tasks::Tasks,
};

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

/// What every connection of a daemon needs.
#[derive(Clone)]
pub struct Reception {
    pub table: Arc<MethodTable>,
    /// Calls with effects stand here when the client that asked for them may vanish first.
    pub tasks: Tasks,
    /// Whether the daemon can do its work, and why not.
    pub readiness: Arc<dyn Fn() -> Result<(), String> + Send + Sync>,
    /// Who speaks the Model Context Protocol at `/mcp`, if somebody does.
    pub mcp: Option<Arc<dyn McpDoor>>,
    /// Everything ends.
    pub stop: CancellationToken,
}

/// Who is at the other end, and what that allows.
#[derive(Clone)]
pub(super) struct Guest {
    pub(super) peer: PeerInfo,
    pub(super) admission: Admission,
    /// What an HTTP request must show; `None` where the connection itself says who it is.
    pub(super) gate: Option<Arc<Gate>>,
    /// Where they come from, if that is looked at only after they have shown something.
    pub(super) origin: Option<Arc<Origin>>,
}

/// Looks where a guest comes from; blocks.
pub(super) type Look = Box<dyn FnOnce() -> Result<(), RpcError> + Send>;

/// Where a guest comes from, looked at once and only when it is asked for: whoever reaches the port without a token must not
/// make the daemon read through all processes.
pub(super) struct Origin {
    look: std::sync::Mutex<Option<Look>>,
    outcome: tokio::sync::OnceCell<Result<(), RpcError>>,
}

impl Origin {
    pub(super) fn new(look: Look) -> Arc<Origin> {
        Arc::new(Origin { look: std::sync::Mutex::new(Some(look)), outcome: tokio::sync::OnceCell::new() })
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
pub async fn serve_connection<W: Wire>(wire: W, peer: PeerInfo, reception: Reception) {
    let guest = Guest { peer, admission: Admission::Everything, gate: None, origin: None };
    serve_guest(wire, guest, reception).await;
}

/// The same for a client that may have to show who it is, or is let in for little.
pub(super) async fn serve_guest<W: Wire>(wire: W, guest: Guest, reception: Reception) {
    // Counted from the first moment, also while it says nothing.
    let caller = Caller::new(guest.peer, Arc::clone(&reception.table.load));
    let opened = tokio::select! { biased;
        () = reception.stop.cancelled() => return,
        opened = opening(wire) => opened,
        // Nobody has shown a token yet, and whoever can reach the port could hold all the room there is.
        () = sleep(FIRST_BYTE), if guest.gate.is_some() => return,
    };
    let Ok((opening, wire)) = opened else { return };
    // Nobody has shown a token when the bytes are no HTTP request; only HTTP carries one.
    let is_http = opening == Opening::Http || guest.gate.is_some();
    match opening {
        Opening::Nothing => {}
        _ if is_http => http::serve(wire, caller, guest, reception).await,
        Opening::Headers => serve_stream(wire, Framing::Headers, None, caller, guest, reception).await,
        Opening::Lines | Opening::Http => {
            serve_stream(wire, Framing::Lines, None, caller, guest, reception).await;
        }
        Opening::Garbage => {
            let words = "neither JSON, `Content-Length` nor HTTP; send one JSON value a line";
            serve_stream(wire, Framing::Lines, Some(words), caller, guest, reception).await;
        }
    }
}

async fn serve_stream<W: Wire>(
    wire: Rewound<W>,
    framing: Framing,
    refused: Option<&str>,
    caller: Caller,
    guest: Guest,
    reception: Reception,
) {
    caller.speaks(match framing {
        Framing::Lines => Transport::Lines,
        Framing::Headers => Transport::ContentLength,
    });
    let (reader, writer) = wire.split();
    let inbound = FrameReader::<W>::new(reader, framing);
    let (outgoing, queue) = outgoing::queue();
    let exchange = Exchange::new(caller, reception.table, outgoing, guest.admission);
    let mut connection = Connection::new(inbound, exchange);
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
pub(super) async fn converse<I: Inbound>(
    mut connection: Connection<I>,
    writing: impl Future<Output = io::Result<I::Written>> + Send,
    stop: &CancellationToken,
) {
    let mut writing = Box::pin(writing);
    let end = tokio::select! {
        end = connection.converse(stop) => end,
        // The client was cut off, or its socket broke.
        _ = &mut writing => End::Lost,
    };
    match end {
        End::Lost => {
            // Nothing can be delivered any more, and nobody may wait for room in the queue.
            drop(writing);
            connection.finish_effects().await;
        }
        End::Done => {
            // With the last sender gone the writer ends when all is written.
            drop(connection);
            // A failure means that the client left before the last byte: nobody is left to tell.
            let _ = timeout(FLUSH, writing).await;
        }
        End::Refused => finish(connection.into_inbound(), writing).await,
    }
}

/// Writes what is left, and lets the client read it.
async fn finish<I: Inbound>(inbound: I, writing: impl Future<Output = io::Result<I::Written>> + Send) {
    // A failure means that the client left before the last byte: nobody is left to tell.
    if let Ok(Ok(written)) = timeout(FLUSH, writing).await {
        let _ = timeout(LINGER, inbound.linger(written)).await;
    }
}

enum End {
    /// All that was to be said is said.
    Done,
    /// The same to a client that may still be sending.
    Refused,
    /// The client receives nothing more.
    Lost,
}

pub(super) struct Connection<I> {
    inbound: I,
    exchange: Exchange,
    messages: FuturesUnordered<BoxFuture<'static, Begun>>,
    subscriptions: FuturesUnordered<BoxFuture<'static, ()>>,
}

impl<I: Inbound> Connection<I> {
    pub(super) fn new(inbound: I, exchange: Exchange) -> Connection<I> {
        let (messages, subscriptions) = (FuturesUnordered::new(), FuturesUnordered::new());
        Connection { inbound, exchange, messages, subscriptions }
    }

    /// Ends what belongs to the connection but its stream.
    fn into_inbound(self) -> I {
        self.inbound
    }

    async fn converse(&mut self, stop: &CancellationToken) -> End {
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
                Ok(Read::Message(text)) => self.begin(message::parse(&text)),
                Ok(Read::TooLong) => self.begin(error_line(too_long())),
                Ok(Read::Broken(words)) => {
                    return self.refuse(RpcError::new(ErrorKind::ParseError, words)).await;
                }
                Ok(Read::End) => return self.say_the_rest(stop).await,
                Ok(Read::Gone) | Err(_) => return End::Lost,
            }
        }
    }

    fn begin(&mut self, line: Line) {
        self.messages.push(self.exchange.begin(line));
    }

    /// One error for a client that cannot be understood any more; what it asked before is answered, and the
    /// connection ends.
    async fn refuse(&mut self, error: RpcError) -> End {
        self.begin(error_line(error));
        self.exchange.abort_all(ErrorKind::RequestCancelled);
        if timeout(DRAIN, self.finish_messages()).await.is_err() {
            tracing::debug!("a refused client's calls did not end in time");
        }
        End::Refused
    }

    /// The client has sent its last byte. It gets its answers, and its subscriptions go on while it listens.
    async fn say_the_rest(&mut self, stop: &CancellationToken) -> End {
        loop {
            let has_subscriptions = I::OUTLIVES_LAST_BYTE && !self.subscriptions.is_empty();
            if self.messages.is_empty() && !has_subscriptions {
                return End::Done;
            }
            tokio::select! { biased;
                () = stop.cancelled() => return self.stop().await,
                Some(begun) = self.messages.next(), if !self.messages.is_empty() => {
                    self.subscriptions.extend(begun);
                }
                Some(()) = self.subscriptions.next(), if !self.subscriptions.is_empty() => {}
                () = self.inbound.gone() => return End::Lost,
            }
        }
    }

    /// The daemon stops: calls are finished, those that only wait are told so. A subscription ends here; its
    /// client goes on by cursor when the daemon is back.
    async fn stop(&mut self) -> End {
        if timeout(READ_DRAIN, self.finish_messages()).await.is_err() {
            self.exchange.abort_all(ErrorKind::ShuttingDown);
            // Over the time: a handler that does not end holds up nothing any more.
            let _ = timeout(DRAIN, self.finish_messages()).await;
        }
        End::Done
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
pub(super) fn error_line(error: RpcError) -> Line {
    Line::One(Message::Invalid { id: WireId::Null, error })
}
