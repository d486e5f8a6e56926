//! Who speaks the Model Context Protocol with clients that come in here? (spec 07, "As a server")

use std::convert::Infallible;

use futures_util::future::BoxFuture;
use http_body_util::{Full, combinators::BoxBody};
use hyper::{Request, Response, body::Bytes};
use tokio::io::{AsyncRead, AsyncWrite};

use super::caller::PeerCredentials;
use protocol::RpcError;

/// An answer over HTTP that may come piece by piece.
pub type HttpReply = Response<BoxBody<Bytes, Infallible>>;

/// Bytes in both directions, whatever carries them.
pub trait ByteStream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<P: AsyncRead + AsyncWrite + Unpin + Send> ByteStream for P {}

/// Who speaks the protocol.
pub trait McpAcceptor: Send + Sync {
    /// Whether a session may begin with this query in its URL.
    fn admits(&self, query: &str) -> Result<(), RpcError>;

    /// Answers one request.
    fn answer(&self, request: Request<Full<Bytes>>, peer: PeerCredentials) -> BoxFuture<'static, HttpReply>;

    /// Speaks by lines until either side ends.
    fn converse(
        &self,
        wire: Box<dyn ByteStream>,
        query: String,
        peer: PeerCredentials,
    ) -> BoxFuture<'static, ()>;
}
