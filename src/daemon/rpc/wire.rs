//! Over which streams do we speak, and how does one tell that its peer is gone?

use std::{future::Future, io, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream, Interest, ReadHalf, WriteHalf},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    time::sleep,
};

/// How often a half-closed socket is looked at. The kernel reports the hang-up only together with "writable",
/// which is nearly always true, so it cannot be waited for without stealing the writer's readiness.
const HANG_UP_POLL: Duration = Duration::from_millis(250);

/// A two-way stream of bytes.
///
/// The end of what the peer sends is not the end of the connection: `printf … | nc -N -U` closes its sending
/// half at once and then reads the answers.
pub trait Wire: Send + 'static {
    type Reader: AsyncRead + Unpin + Send + Sync + 'static;
    type Writer: AsyncWrite + Unpin + Send + 'static;

    /// Whether subscriptions go on after the peer has sent its last byte.
    const OUTLIVES_LAST_BYTE: bool;

    fn split(self) -> (Self::Reader, Self::Writer);

    /// Completes when the peer can no longer receive. Asked only after its last byte; cancel safe.
    fn gone(reader: &Self::Reader) -> impl Future<Output = ()> + Send;
}

impl Wire for UnixStream {
    type Reader = OwnedReadHalf;
    type Writer = OwnedWriteHalf;

    const OUTLIVES_LAST_BYTE: bool = true;

    fn split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        self.into_split()
    }

    async fn gone(reader: &OwnedReadHalf) {
        // An error means that the runtime stops; the connection ends with it.
        while !has_hung_up(reader).await.unwrap_or(true) {
            sleep(HANG_UP_POLL).await;
        }
    }
}

/// Both halves are closed, not only the one the peer sends on.
async fn has_hung_up(reader: &OwnedReadHalf) -> io::Result<bool> {
    // A socket that takes nothing is not ready, and then nothing is known yet.
    tokio::select! { biased;
        ready = reader.ready(Interest::WRITABLE) => Ok(ready?.is_write_closed()),
        () = std::future::ready(()) => Ok(false),
    }
}

/// For tests in the same process. A duplex stream does not tell a half-closed peer from one that is gone, so its
/// subscriptions end with what the peer sends.
impl Wire for DuplexStream {
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
