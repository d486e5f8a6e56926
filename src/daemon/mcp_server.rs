//! How does another program use our agents as tools? As a server of the Model Context Protocol (spec 07, "As a server").
//!
//! A session of that protocol is an ordinary client of the daemon: [`InProcessClient`](link::InProcessClient) speaks the daemon's own protocol with it,
//! over a pipe within the process. So what a session begins is seen by everybody, is attributed, asked about and cancelled like
//! what any client begins, and there is no second way in.
//!
//! ```text
//! `subagent mcp` --GET /mcp, Upgrade: mcp--> lines --\
//!                                                     McpSession --Link--> methods of the daemon
//! any client -----streamable HTTP, /mcp-------------/     |
//!                                                         `-- Watch, one a run: progress, questions
//! ```
//!
//! A call of an agent's tool starts a run in a session of its own and waits for it, for less time than clients usually do; then its
//! result is the tool's, or a handle with which `run_wait` goes on. Who leaves cancels nothing. A question of a run that is
//! followed becomes an elicitation, where the client can do that: the [`RunWatch`](watch) is attached, says so, and takes the
//! elicitation back when somebody else was quicker.
//!
//! Spoken are the versions up to 2025-11-25, in which a client says once who it is. One that speaks only those without sessions is
//! told which ones there are.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Method, Request, Response, StatusCode,
    body::Bytes,
    header::{self, HeaderValue},
};
use rmcp::{
    RoleServer, Service,
    service::serve_server_with_ct,
    transport::{
        Transport, TransportAdapterIdentity,
        async_rw::AsyncRwTransport,
        streamable_http_server::{
            StreamableHttpServerConfig, StreamableHttpService,
            session::{SessionManager as _, local::LocalSessionManager},
        },
    },
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::rpc::{self, ByteStream, HttpReply, McpAcceptor, PeerCredentials};
use crate::{daemon_life::DaemonLife, daemon_services::DaemonServices, workspace_sources::WorkspaceSources};
use protocol::{MAX_MESSAGE_BYTES, RpcError};
use sys::tasks::TaskGroup;

mod arguments;
mod asking;
mod bounded;
mod calls;
mod link;
mod open_session;
mod origin;
mod presence;
mod session;
mod telling;
mod tools;
mod watch;

use bounded::BoundedTransport;
use origin::McpSessionOrigin;
use presence::{HttpPresence, HttpPresences, OpenBody};
use session::McpSession;

/// Sessions over HTTP at once: more than one person's programs have, and each holds a connection of the daemon. Whose client has
/// left makes room for one more.
const MOST_SESSIONS: usize = 64;
/// How long a session over HTTP may be silent in both directions: a program that was left open over lunch finds it again.
const IDLE: Duration = Duration::from_secs(60 * 60);
/// When a client may look again that found too many sessions. Nobody knows when one ends: whoever began it ends it.
const RETRY_SECONDS: &str = "30";
/// What names a session in requests over HTTP.
const SESSION_HEADER: &str = "mcp-session-id";

/// What every session needs.
pub(super) struct McpServerContext {
    pub life: Arc<DaemonLife>,
    pub workspaces: Arc<WorkspaceSources>,
    /// Serves the connections of sessions to the daemon itself.
    pub reception: rpc::ServerContext,
}

/// The server, behind the listeners' `/mcp`.
pub(super) struct AgentMcpServer {
    house: Arc<McpServerContext>,
    sessions: Arc<LocalSessionManager>,
    presences: Arc<HttpPresences>,
    http: StreamableHttpService<McpSession, LocalSessionManager>,
}

impl AgentMcpServer {
    pub fn new(services: &DaemonServices, reception: rpc::ServerContext) -> AgentMcpServer {
        let mut config = StreamableHttpServerConfig::default()
            // The listener's gate has looked at the host; over the Unix socket it says nothing.
            .disable_allowed_hosts()
            .with_cancellation_token(reception.stop.child_token())
            .with_max_request_body_bytes(MAX_MESSAGE_BYTES);
        // A stream that broke is begun again by the client when it likes.
        config.sse_retry = None;
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(IDLE);
        sessions.session_config.sse_retry = None;
        let DaemonServices { life, workspaces, .. } = services.clone();
        let (house, sessions) =
            (Arc::new(McpServerContext { life, workspaces, reception }), Arc::new(sessions));
        let of_sessions = Arc::clone(&house);
        let begin = move || Ok(McpSession::new(Arc::clone(&of_sessions), None));
        let http = StreamableHttpService::new(begin, Arc::clone(&sessions), config);
        AgentMcpServer { house, sessions, presences: Arc::default(), http }
    }
}

impl McpAcceptor for AgentMcpServer {
    fn admits(&self, query: &str) -> Result<(), RpcError> {
        McpSessionOrigin::read(query).map(drop)
    }

    fn answer(
        &self,
        mut request: Request<Full<Bytes>>,
        peer: PeerCredentials,
    ) -> BoxFuture<'static, HttpReply> {
        request.extensions_mut().insert(peer);
        let (http, sessions) = (self.http.clone(), Arc::clone(&self.sessions));
        let (presences, clock) = (Arc::clone(&self.presences), Arc::clone(&self.house.life.clock));
        Box::pin(async move {
            let named = request.headers().get(SESSION_HEADER).and_then(|id| id.to_str().ok());
            let begins = request.method() == Method::POST && named.is_none();
            let known = named.and_then(|session| presences.of(session));
            if begins && sessions.sessions.read().await.len() >= MOST_SESSIONS {
                let Some(left) = presences.longest_left() else { return too_many() };
                presences.forget(&left);
                // A failure means that it has ended meanwhile.
                let _ = sessions.close_session(&left.into()).await;
            }
            let presence = known.unwrap_or_else(|| HttpPresence::new(clock));
            let open = presence.begin();
            request.extensions_mut().insert(presence.clone());
            let reply = http.handle(request).await;
            let begun = reply.headers().get(SESSION_HEADER).and_then(|id| id.to_str().ok());
            if let Some(session) = begun.filter(|_| begins) {
                let open = sessions.sessions.read().await;
                presences.keep(session, presence, |session| open.contains_key(session));
            }
            reply.map(|body| OpenBody { body, _open: open }.boxed())
        })
    }

    fn converse(
        &self,
        wire: Box<dyn ByteStream>,
        query: String,
        peer: PeerCredentials,
    ) -> BoxFuture<'static, ()> {
        // It was read when the connection was let in.
        let Ok(origin) = McpSessionOrigin::read(&query) else { return Box::pin(std::future::ready(())) };
        let (reader, writer) = tokio::io::split(wire);
        let lines = AsyncRwTransport::new_server(reader, writer).with_max_line_length(MAX_MESSAGE_BYTES);
        let session = McpSession::new(Arc::clone(&self.house), Some((origin, peer)));
        let lines = BoundedTransport::new(lines, session.working());
        let rpc::ServerContext { tasks, stop, .. } = &self.house.reception;
        let served = serve(session, lines, tasks, stop.clone());
        // A failure means that it panicked, and is told; the connection ends with it.
        Box::pin(async move { drop(served.await) })
    }
}

/// Serves one session until either side ends. Generic, since of the types themselves the compiler cannot tell that they may go
/// from thread to thread.
fn serve<S, T>(session: S, transport: T, tasks: &TaskGroup, stop: CancellationToken) -> JoinHandle<()>
where
    S: Service<RoleServer> + Send + Sync + 'static,
    T: Transport<RoleServer> + Send + 'static,
{
    tasks.spawn("a session of MCP", async move {
        let ending = stop.child_token();
        let begun =
            serve_server_with_ct::<S, T, _, TransportAdapterIdentity>(session, transport, ending).await;
        match begun {
            Ok(running) => drop(running.waiting().await),
            Err(error) => tracing::debug!(%error, "a session of MCP did not begin"),
        }
    })
}

fn too_many() -> HttpReply {
    let mut reply = Response::new(Full::from("too many sessions are open; end one, or wait\n").boxed());
    *reply.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    reply.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_SECONDS));
    reply
}
