//! The socket file that is in a new daemon's way: is there somebody behind it?

use std::{fs, io, os::unix::fs::FileTypeExt as _, path::Path, time::Duration};

use sys::process::has_ended;
use tokio::{
    net::UnixStream,
    time::{Instant, sleep, timeout_at},
};

use super::BindError;

/// How long a socket that accepts may take to do so before it counts as somebody's.
const PROBE_TIME: Duration = Duration::from_secs(1);
/// How long the socket of a daemon that has ended may go on accepting.
const LEFTOVER_TIME: Duration = Duration::from_secs(5);
/// The time between two looks at it.
const LEFTOVER_INTERVAL: Duration = Duration::from_millis(10);

/// What an attempt to connect found behind a socket file.
enum SocketOwner {
    /// Nobody listens.
    Nobody,
    /// The daemon that listened has ended, and a process that it was just starting still holds the socket: until that
    /// process becomes another program, it has all that the daemon had open.
    Ended,
    /// Somebody listens, or is too busy to accept.
    Alive,
}

/// Removes the socket file of a daemon that has ended. Another daemon's is left, and so is what is no socket.
pub(super) async fn remove_stale(socket: &Path) -> Result<(), BindError> {
    let fail = |action| move |source| BindError::System { action, path: socket.to_owned(), source };
    match fs::symlink_metadata(socket) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(fail("look at")(error)),
        Ok(metadata) if !metadata.file_type().is_socket() => {
            return Err(BindError::NotASocket { path: socket.to_owned() });
        }
        Ok(_) => {}
    }
    let patience = Instant::now() + LEFTOVER_TIME;
    loop {
        match socket_owner(socket).await.map_err(fail("probe"))? {
            SocketOwner::Nobody => return fs::remove_file(socket).map_err(fail("remove the stale socket")),
            SocketOwner::Ended if Instant::now() < patience => sleep(LEFTOVER_INTERVAL).await,
            // A socket that outlives whoever opened it for so long was handed on to another process on purpose.
            SocketOwner::Ended | SocketOwner::Alive => {
                return Err(BindError::AlreadyRunning { socket: socket.to_owned() });
            }
        }
    }
}

async fn socket_owner(socket: &Path) -> io::Result<SocketOwner> {
    match timeout_at(Instant::now() + PROBE_TIME, UnixStream::connect(socket)).await {
        Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(SocketOwner::Nobody),
        Ok(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => Ok(SocketOwner::Alive),
        Ok(Err(error)) => Err(error),
        Err(_too_busy) => Ok(SocketOwner::Alive),
        Ok(Ok(connection)) => {
            // Of a listening socket the system names the process that began to listen.
            let listened = connection.peer_cred()?.pid();
            Ok(if listened.is_some_and(has_ended) { SocketOwner::Ended } else { SocketOwner::Alive })
        }
    }
}
