//! How are names resolved and machines reached?

use std::{
    io,
    net::{IpAddr, SocketAddr},
};

use futures_util::future::BoxFuture;
use tokio::net::{TcpStream, lookup_host};

use super::CheckedAddress;

/// Names and connections.
pub trait WebNetwork: Send + Sync + 'static {
    /// Every address of a name.
    fn resolve(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;

    /// A connection to an address that was checked, and to no other.
    fn connect(&self, to: CheckedAddress) -> BoxFuture<'static, io::Result<TcpStream>>;
}

/// What this system has: its resolver and its network.
pub struct SystemNetwork;

impl WebNetwork for SystemNetwork {
    fn resolve(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let name = name.to_owned();
        Box::pin(async move {
            // The port means nothing to a resolver.
            let found = lookup_host((name, 0)).await?;
            Ok(found.map(|address: SocketAddr| address.ip()).collect())
        })
    }

    fn connect(&self, to: CheckedAddress) -> BoxFuture<'static, io::Result<TcpStream>> {
        Box::pin(TcpStream::connect(to.socket()))
    }
}
