//! What must a request over TCP show? (spec 11, "Who may talk to it")

use std::{net::SocketAddr, path::Path};

use sys::key_file::{self, KeyFileError};

/// What requests over TCP must show lies in this file of the state folder.
pub const TOKEN_FILE: &str = "token";

/// What a request over TCP must show.
pub struct TcpGate {
    pub(super) token: String,
    /// Where the daemon listens.
    pub(super) address: SocketAddr,
}

impl TcpGate {
    /// Reads the token, or makes one when there is none: a file of this user with mode 0600.
    pub fn open(token_file: &Path, address: SocketAddr) -> Result<TcpGate, KeyFileError> {
        Ok(TcpGate { token: key_file::read_or_make(token_file)?, address })
    }

    /// Where the daemon listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}
