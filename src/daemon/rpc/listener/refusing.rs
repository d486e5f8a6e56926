//! What is somebody told who may not connect?

use std::time::Duration;

use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use protocol::{ErrorKind, RpcError};
use sys::children::BarredPeer;

/// How long a refused peer may take to read its error.
const REFUSAL_TIME: Duration = Duration::from_secs(1);

/// What who may not come in is told.
pub(super) fn refusal_of(barred: &BarredPeer) -> RpcError {
    tracing::warn!(%barred, "refused a connection");
    let error = RpcError::new(ErrorKind::Forbidden, barred.to_string());
    match barred {
        BarredPeer::Descends { .. } | BarredPeer::OfOurService { .. } => {
            error.with_hint("an agent that should start runs gets other agents as tools")
        }
        BarredPeer::Unnamed | BarredPeer::Unknown { .. } => {
            error.with_hint("connect from where the daemon runs, and wait for the answer")
        }
    }
}

/// One error, then the end. What a peer is still saying is heard to its end: a connection that is closed before takes the
/// error back from whoever has not read it yet.
pub(super) async fn refuse(
    mut wire: impl AsyncRead + AsyncWrite + Unpin,
    words: String,
    stop: CancellationToken,
) {
    // A peer that does not read its refusal gets none.
    let refusing = timeout(REFUSAL_TIME, async {
        wire.write_all(words.as_bytes()).await?;
        wire.shutdown().await?;
        tokio::io::copy(&mut wire, &mut tokio::io::sink()).await
    });
    let _ = stop.run_until_cancelled(refusing).await;
}
