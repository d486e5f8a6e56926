//! Over which streams do we speak, and how does one tell that its peer is gone?

use std::{
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, DuplexStream, Interest, ReadBuf, ReadHalf, WriteHalf},
    net::{TcpStream, UnixStream, tcp, unix},
    time::{Sleep, sleep},
};

/// How often a half-closed socket is looked at. The kernel reports the hang-up only together with "writable",
/// which is nearly always true, so it cannot be waited for without stealing the writer's readiness.
const HANG_UP_POLL: Duration = Duration::from_millis(250);

/// A two-way stream of bytes.
///
/// The end of what the peer sends is not the end of the connection: `printf … | nc -N -U` closes its sending
/// half at once and then reads the answers.
pub trait RpcStream: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    type Reader: AsyncRead + Unpin + Send + Sync + 'static;
    type Writer: AsyncWrite + Unpin + Send + 'static;

    /// True if subscriptions go on after the peer has sent its last byte.
    const OUTLIVES_LAST_BYTE: bool;

    fn split(self) -> (Self::Reader, Self::Writer);

    /// Completes when the peer can no longer receive. Asked only after its last byte; cancel safe.
    fn gone(reader: &Self::Reader) -> impl Future<Output = ()> + Send;
}

impl RpcStream for UnixStream {
    type Reader = unix::OwnedReadHalf;
    type Writer = unix::OwnedWriteHalf;

    const OUTLIVES_LAST_BYTE: bool = true;

    fn split(self) -> (Self::Reader, Self::Writer) {
        self.into_split()
    }

    async fn gone(reader: &Self::Reader) {
        // An error means that the runtime stops; the connection ends with it.
        loop {
            // A socket that takes nothing is not ready, and then nothing is known yet.
            let has_hung_up = tokio::select! { biased;
                ready = reader.ready(Interest::WRITABLE) => ready.map_or(true, |ready| ready.is_write_closed()),
                () = std::future::ready(()) => false,
            };
            if has_hung_up {
                return;
            }
            sleep(HANG_UP_POLL).await;
        }
    }
}

/// Speaks HTTP and WebSocket only, whose own rules say when a conversation is over.
impl RpcStream for TcpStream {
    type Reader = tcp::OwnedReadHalf;
    type Writer = tcp::OwnedWriteHalf;

    const OUTLIVES_LAST_BYTE: bool = false;

    fn split(self) -> (Self::Reader, Self::Writer) {
        self.into_split()
    }

    async fn gone(_: &Self::Reader) {
        std::future::pending().await
    }
}

/// Within the same process. A duplex stream does not tell a half-closed peer from one that is gone, so its
/// subscriptions end with what the peer sends.
impl RpcStream for DuplexStream {
    type Reader = ReadHalf<DuplexStream>;
    type Writer = WriteHalf<DuplexStream>;

    const OUTLIVES_LAST_BYTE: bool = false;

    fn split(self) -> (Self::Reader, Self::Writer) {
        tokio::io::split(self)
    }

    async fn gone(_: &Self::Reader) {
        std::future::pending().await
    }
}

/// A stream of which the first bytes were read already, and are read again.
pub(super) struct RewoundStream<S> {
    inner: S,
    kept: Vec<u8>,
    /// Bytes of `kept` that were given out again.
    taken: usize,
    /// How long a write may make no progress, and the end of the one that makes none.
    stall: Option<Duration>,
    stuck: Option<Pin<Box<Sleep>>>,
}

impl<S> RewoundStream<S> {
    pub(super) fn new(inner: S, kept: Vec<u8>) -> RewoundStream<S> {
        RewoundStream { inner, kept, taken: 0, stall: None, stuck: None }
    }

    /// Fails writes to a client that takes nothing for so long; for whoever writes without a bound of their own.
    pub(super) fn cut_when_stuck(self, stall: Duration) -> RewoundStream<S> {
        RewoundStream { stall: Some(stall), ..self }
    }

    /// A write's outcome, or its failure when it has been waiting too long.
    fn within_stall<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        let Some(stall) = self.stall else { return written };
        if written.is_ready() {
            self.stuck = None;
            return written;
        }
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(sleep(stall)));
        stuck.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }

    pub(super) fn get_ref(&self) -> &S {
        &self.inner
    }

    /// With these bytes to be read again as well, before those that are still kept.
    pub(super) fn rewound(self, mut earlier: Vec<u8>) -> RewoundStream<S> {
        earlier.extend_from_slice(&self.kept[self.taken..]);
        RewoundStream::new(self.inner, earlier)
    }
}

impl<W: RpcStream> RewoundStream<W> {
    pub(super) fn split(self) -> (RewoundStream<W::Reader>, W::Writer) {
        let (reader, writer) = self.inner.split();
        (RewoundStream { taken: self.taken, ..RewoundStream::new(reader, self.kept) }, writer)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for RewoundStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let kept = &self.kept[self.taken..];
        if kept.is_empty() {
            return Pin::new(&mut self.inner).poll_read(cx, buffer);
        }
        let taken = kept.len().min(buffer.remaining());
        buffer.put_slice(&kept[..taken]);
        self.taken += taken;
        if self.taken == self.kept.len() {
            (self.kept, self.taken) = (Vec::new(), 0);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for RewoundStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.within_stall(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, bytes);
        self.within_stall(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

/// How a connection begins: its first byte tells the framing (spec 01, "Transports").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionOpening {
    /// `{` or `[`: one JSON value a line.
    Lines,
    /// `C`: `Content-Length` headers before each message.
    Headers,
    /// Another capital letter: HTTP, which WebSocket begins as.
    Http,
    Garbage,
    Nothing,
}

/// Bytes read at once while the first one that is no blank is looked for.
const OPENING_BYTES: usize = 1 << 10;

/// Skips blanks and looks at the first byte that is none. Answers the wire with that byte and all after it unread.
pub(super) async fn opening<W: RpcStream>(mut wire: W) -> io::Result<(ConnectionOpening, RewoundStream<W>)> {
    let mut bytes = vec![0; OPENING_BYTES];
    loop {
        let read = wire.read(&mut bytes).await?;
        if read == 0 {
            return Ok((ConnectionOpening::Nothing, RewoundStream::new(wire, Vec::new())));
        }
        let Some(first) = bytes[..read].iter().position(|byte| !byte.is_ascii_whitespace()) else { continue };
        let opening = match bytes[first] {
            b'{' | b'[' => ConnectionOpening::Lines,
            b'C' => ConnectionOpening::Headers,
            b'A'..=b'Z' => ConnectionOpening::Http,
            _ => ConnectionOpening::Garbage,
        };
        bytes.truncate(read);
        bytes.drain(..first);
        return Ok((opening, RewoundStream::new(wire, bytes)));
    }
}
