//! How is the daemon reached, and may it be started when nobody listens?

use std::path::{Path, PathBuf};

use super::{ConnectError, DaemonStarter, RpcClient};

/// Where the daemon listens, and how to start one. Kept for a command's life, since reconnecting asks the same.
#[derive(Debug, Clone)]
pub struct DaemonDialer {
    socket: PathBuf,
    starter: Option<DaemonStarter>,
}

impl DaemonDialer {
    /// Without a `starter` no daemon is ever started.
    pub fn new(socket: PathBuf, starter: Option<DaemonStarter>) -> DaemonDialer {
        DaemonDialer { socket, starter }
    }

    /// Where the daemon listens.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// True if a daemon that is gone was told to stop: then it took its socket away, and one that died left it.
    pub fn was_stopped(&self) -> bool {
        !self.socket.exists()
    }

    /// How a daemon would be started; `None` = it will not be.
    pub fn starter(&self) -> Option<&DaemonStarter> {
        self.starter.as_ref()
    }

    /// Connects to a daemon that is there.
    pub fn connect(&self) -> Result<RpcClient, ConnectError> {
        RpcClient::connect(&self.socket)
    }

    /// Starts a daemon and connects to it. Call it when [`DaemonDialer::connect`] has said `NobodyListens`; without a
    /// starter it says the same.
    pub fn start(&self) -> Result<RpcClient, ConnectError> {
        match &self.starter {
            Some(starter) => starter.start(&self.socket),
            None => Err(ConnectError::NobodyListens { socket: self.socket.clone() }),
        }
    }
}
