//! What does every connection need, and who is at its other end?

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::{
    api::MethodTable, caller::PeerCredentials, flight::ConnectionAdmission, mcp_acceptor::McpAcceptor,
    tcp_gate::TcpGate,
};
use protocol::{ErrorKind, RpcError};
use sys::tasks::TaskGroup;

/// The daemon's metrics as text, in the making.
pub type MetricsAnswer = BoxFuture<'static, Result<String, RpcError>>;

/// What every connection of a daemon needs.
#[derive(Clone)]
pub struct ServerContext {
    pub table: Arc<MethodTable>,
    /// Calls with effects stand here when the client that asked for them may vanish first.
    pub tasks: TaskGroup,
    /// Whether the daemon can do its work, and why not.
    pub readiness: Arc<dyn Fn() -> Result<(), String> + Send + Sync>,
    /// Prometheus' text, made when somebody asks for it.
    pub metrics: Arc<dyn Fn() -> MetricsAnswer + Send + Sync>,
    /// Who speaks the Model Context Protocol at `/mcp`, if somebody does.
    pub mcp: Option<Arc<dyn McpAcceptor>>,
    /// Everything ends.
    pub stop: CancellationToken,
}

/// Who is at the other end, and what that allows.
#[derive(Clone)]
pub(super) struct RpcPeer {
    pub(super) peer: PeerCredentials,
    pub(super) admission: ConnectionAdmission,
    /// What an HTTP request must show; `None` where the connection itself says who it is.
    pub(super) gate: Option<Arc<TcpGate>>,
    /// Where they come from, if that is looked at only after they have shown something.
    pub(super) origin: Option<Arc<PeerOrigin>>,
}

/// Looks where a guest comes from; blocks.
pub(super) type OriginCheck = Box<dyn FnOnce() -> Result<(), RpcError> + Send>;

/// Where a guest comes from, looked at once and only when it is asked for: whoever reaches the port without a token must not
/// make the daemon read through all processes.
pub(super) struct PeerOrigin {
    look: std::sync::Mutex<Option<OriginCheck>>,
    outcome: tokio::sync::OnceCell<Result<(), RpcError>>,
}

impl PeerOrigin {
    pub(super) fn new(look: OriginCheck) -> Arc<PeerOrigin> {
        Arc::new(PeerOrigin {
            look: std::sync::Mutex::new(Some(look)),
            outcome: tokio::sync::OnceCell::new(),
        })
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
