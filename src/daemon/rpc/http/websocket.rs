//! How does a WebSocket carry a conversation? One JSON value a message, in either direction (RFC 6455).

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
    },
    time::Duration,
};

use futures_util::{
    SinkExt as _, StreamExt as _,
    stream::{SplitSink, SplitStream},
};
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, body::Bytes, upgrade::OnUpgrade};
use hyper_util::rt::TokioIo;
use tokio::{
    io::AsyncReadExt as _,
    time::{Instant, timeout, timeout_at},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Error, Message,
        handshake::server::create_response_with_body,
        protocol::{CloseFrame, Role, WebSocketConfig, frame::coding::CloseCode},
    },
};

use super::{
    super::{
        caller::RpcCaller,
        context::{RpcPeer, ServerContext},
        conversation::{RpcConnection, converse},
        exchange::MessageExchange,
        framing::{FramedRead, InboundMessages},
        outgoing::{self, OutgoingReceiver, WRITE_STALL},
        wire::{RewoundStream, RpcStream},
    },
    HttpAnswer,
};
use protocol::{ConnectionTransport, ErrorKind, MAX_MESSAGE_BYTES, RpcError};

/// What is read at once; allocated for each connection.
const READ_BUFFER_BYTES: usize = 8 << 10;
/// As much as is put into one write.
const WRITE_BYTES: usize = 64 << 10;
/// How often a silent client is asked whether it is there.
const PING_PAUSE: Duration = Duration::from_secs(30);
/// A client that has not answered for this long is gone, though its network never said so: three pings.
const SILENCE: Duration = Duration::from_secs(95);

type RpcWebSocket<W> = WebSocketStream<RewoundStream<W>>;

/// The answer that makes a WebSocket of a connection, or what is missing from the request.
pub(super) fn accept<B>(request: &Request<B>) -> Result<HttpAnswer, RpcError> {
    let response: Result<HttpAnswer, Error> = create_response_with_body(request, || Full::default().boxed());
    response.map_err(|error| {
        RpcError::new(ErrorKind::InvalidRequest, format!("no WebSocket handshake: {error}"))
            .with_hint("messages are sent by POST; a WebSocket begins with an upgrade request")
    })
}

/// Speaks over a connection that has been upgraded.
pub(super) async fn serve<W: RpcStream>(
    upgrade: OnUpgrade,
    caller: RpcCaller,
    guest: RpcPeer,
    reception: ServerContext,
) {
    // Fails only when the client left within the handshake.
    let Ok(upgraded) = upgrade.await else { return };
    let Ok(parts) = upgraded.downcast::<TokioIo<RewoundStream<W>>>() else {
        tracing::error!("an upgraded connection is of another type than the one that was upgraded");
        return;
    };
    let wire = parts.io.into_inner().rewound(parts.read_buf.into());
    caller.speaks(ConnectionTransport::WebSocket);
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BYTES)
        .max_message_size(Some(MAX_MESSAGE_BYTES))
        .max_frame_size(Some(MAX_MESSAGE_BYTES));
    let (sink, stream) = WebSocketStream::from_raw_socket(wire, Role::Server, Some(config)).await.split();
    let close_code = Arc::new(AtomicU16::new(CloseCode::Away.into()));
    let inbound = WebSocketMessages {
        stream,
        heard: Instant::now(),
        broken: None,
        close_code: Arc::clone(&close_code),
    };
    let (outgoing, queue) = outgoing::queue();
    let exchange = MessageExchange::new(caller, reception.table, outgoing, guest.admission);
    converse(RpcConnection::new(inbound, exchange), write(queue, sink, close_code), &reception.stop).await;
}

/// What a client sends.
struct WebSocketMessages<W: RpcStream> {
    stream: SplitStream<RpcWebSocket<W>>,
    /// When anything last came, pongs included.
    heard: Instant,
    /// Said next: why nothing more can be read.
    broken: Option<String>,
    /// What the writer says when it closes.
    close_code: Arc<AtomicU16>,
}

impl<W: RpcStream> WebSocketMessages<W> {
    fn breaks(&mut self, code: CloseCode, words: String) {
        self.close_code.store(code.into(), Ordering::Relaxed);
        self.broken = Some(words);
    }
}

impl<W: RpcStream> InboundMessages for WebSocketMessages<W> {
    // Who has said goodbye hears nothing more, by the protocol.
    const OUTLIVES_LAST_BYTE: bool = false;

    async fn next(&mut self) -> io::Result<FramedRead> {
        loop {
            if let Some(words) = self.broken.take() {
                return Ok(FramedRead::Broken(words));
            }
            let Ok(arrived) = timeout_at(self.heard + SILENCE, self.stream.next()).await else {
                return Ok(FramedRead::Gone);
            };
            self.heard = Instant::now();
            match arrived {
                Some(Ok(Message::Text(text))) => return Ok(FramedRead::Message(Bytes::from(text).into())),
                Some(Ok(Message::Binary(bytes))) => return Ok(FramedRead::Message(bytes.into())),
                // Pings are answered by the stream itself; after a goodbye it says its own and ends.
                Some(Ok(_)) => {}
                Some(Err(Error::Capacity(_))) => {
                    self.breaks(
                        CloseCode::Size,
                        "the rest of a message that long cannot be told from the next".into(),
                    );
                    return Ok(FramedRead::TooLong);
                }
                Some(Err(Error::Utf8(_))) => {
                    self.breaks(CloseCode::Invalid, "a text that is not UTF-8".into())
                }
                Some(Err(Error::Protocol(error))) => self.breaks(CloseCode::Protocol, error.to_string()),
                Some(Err(_)) | None => return Ok(FramedRead::Gone),
            }
        }
    }

    type Written = SplitSink<RpcWebSocket<W>, Message>;

    async fn linger(self, sink: Self::Written) {
        // The halves are of one socket.
        let Ok(mut socket) = self.stream.reunite(sink) else { return };
        let mut bytes = vec![0; READ_BUFFER_BYTES];
        while socket.get_mut().read(&mut bytes).await.is_ok_and(|read| read != 0) {}
    }

    async fn gone(&self) {
        std::future::pending().await
    }
}

/// Writes until every sender is dropped and the queue is empty, says goodbye, or gives up on a client that takes
/// nothing.
async fn write<W: RpcStream>(
    mut queue: OutgoingReceiver,
    mut sink: SplitSink<RpcWebSocket<W>, Message>,
    close_code: Arc<AtomicU16>,
) -> io::Result<SplitSink<RpcWebSocket<W>, Message>> {
    // On a clock of its own: a client that only listens says nothing by itself, however much it is sent.
    let mut ping_at = Instant::now() + PING_PAUSE;
    loop {
        if ping_at <= Instant::now() {
            within_stall(sink.send(Message::Ping(Bytes::new()))).await?;
            ping_at = Instant::now() + PING_PAUSE;
        }
        let Ok(next) = timeout_at(ping_at, queue.next()).await else { continue };
        let Some((json, room)) = next else { break };
        let mut written = vec![room];
        let mut bytes = json.get().len();
        within_stall(sink.feed(text(json))).await?;
        // What waits already goes along: one system call for many small messages.
        while bytes < WRITE_BYTES
            && let Some((json, room)) = queue.next_waiting()
        {
            bytes += json.get().len();
            written.push(room);
            within_stall(sink.feed(text(json))).await?;
        }
        within_stall(sink.flush()).await?;
        // Room is given back only now, so that it counts what the socket has not taken.
        drop(written);
    }
    let code = CloseCode::from(close_code.load(Ordering::Relaxed));
    let goodbye = CloseFrame { code, reason: "".into() };
    within_stall(sink.send(Message::Close(Some(goodbye)))).await?;
    Ok(sink)
}

fn text(json: Box<serde_json::value::RawValue>) -> Message {
    let text: Box<str> = json.into();
    Message::text(String::from(text))
}

async fn within_stall(writing: impl Future<Output = Result<(), Error>>) -> io::Result<()> {
    match timeout(WRITE_STALL, writing).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(io::Error::other(error)),
        Err(elapsed) => Err(elapsed.into()),
    }
}
