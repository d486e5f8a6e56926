//! What does one session of the protocol answer? Who the client is, which tools there are, and their calls.

use std::{
    borrow::Cow,
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use hyper::http::request::Parts;
use rmcp::{
    Peer, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CancelledNotificationParam, ErrorData, Implementation,
        InitializeRequestParams, InitializeResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
        RequestId, ServerCapabilities, ServerConfig,
    },
    service::{NotificationContext, RequestContext},
};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    McpServerContext,
    bounded::OngoingRequests,
    calls::McpServerCall,
    link::{InProcessClient, SubscriptionEvents},
    open_session::{OpenMcpSession, protocol_error},
    origin::McpSessionOrigin,
    presence::{AWAY_AFTER, HttpPresence},
    tools::WorkspaceAgentTools,
    watch::RunWatches,
};
use crate::rpc::PeerCredentials;
use protocol::{
    AttachFrom, AttachFromKeyword, ClientCapabilities, ClientId, ClientInfo, ClientKind,
    ConfirmationCapability, ErrorKind, EventsSubscribe, EventsSubscribeParams, GoneCursorPolicy, Initialize,
    InitializeParams, Presence, RpcError,
};
use sys::clock::Clock;

/// Calls of one session at once; more are refused, and a client that asks so much at once can wait.
const MOST_CALLS: usize = 32;
/// Requests that are remembered as cancelled before they were heard of.
const MOST_EARLY: usize = 64;
/// What a client's name and version are cut to, as `initialize` takes them.
const NAME_CHARS: usize = 200;
const VERSION_CHARS: usize = 100;
/// What may make other agents the visible ones.
const CHANGES: [&str; 3] = ["agents.changed", "workspace.trusted", "config.changed"];
/// In which a client says once who it is. Later ones know no sessions.
const SPOKEN: &[ProtocolVersion] = &[
    ProtocolVersion::V_2024_11_05,
    ProtocolVersion::V_2025_03_26,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
];

const INSTRUCTIONS: &str = "Each agent of subagentd is a tool. A call starts a run and answers its result, or, when that takes long, \
    a handle with its runId: call run_wait with it until the run has ended. The run goes on whether anybody waits or not; \
    run_status looks at it, run_cancel ends it.";

/// One session.
pub(super) struct McpSession {
    house: Arc<McpServerContext>,
    /// `None` over HTTP, where each request says it.
    came: Option<(McpSessionOrigin, PeerCredentials)>,
    /// Set by `initialize`, which a client says once.
    opened: OnceLock<OpenMcpSession>,
    places: Semaphore,
    working: OngoingRequests,
    cancels: McpCancellations,
    gone: CancellationToken,
    _end: DropGuard,
}

impl McpSession {
    pub fn new(
        house: Arc<McpServerContext>,
        came: Option<(McpSessionOrigin, PeerCredentials)>,
    ) -> McpSession {
        let gone = CancellationToken::new();
        McpSession {
            house,
            came,
            opened: OnceLock::new(),
            places: Semaphore::new(MOST_CALLS),
            working: OngoingRequests::default(),
            cancels: McpCancellations::default(),
            _end: gone.clone().drop_guard(),
            gone,
        }
    }

    /// How many requests are being worked on.
    pub fn working(&self) -> OngoingRequests {
        self.working.clone()
    }

    fn opened(&self) -> Result<&OpenMcpSession, ErrorData> {
        self.opened.get().ok_or_else(|| ErrorData::invalid_request("say initialize first", None))
    }

    /// What a request came to. After a defect it is answered as well: the SDK would leave its client waiting.
    async fn answered<T>(&self, work: impl Future<Output = Result<T, ErrorData>>) -> Result<T, ErrorData> {
        let tasks = &self.house.reception.tasks;
        let done = tasks.caught("the answer to a session of MCP", work).await;
        done.unwrap_or_else(|panicked| {
            let error = RpcError::new(ErrorKind::InternalError, panicked.to_string());
            Err(protocol_error(error.with_details(json!({ "id": panicked.id }))))
        })
    }

    /// Becomes a client of the daemon.
    async fn open(
        &self,
        request: &InitializeRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), RpcError> {
        if self.opened.get().is_some() {
            return Err(RpcError::new(ErrorKind::InvalidRequest, "initialize is said once"));
        }
        let (origin, peer, presence) = match self.came.clone() {
            Some((origin, peer)) => (origin, peer, None),
            None => by_http(context)?,
        };
        let link = InProcessClient::open(&self.house, peer, self.gone.clone());
        let told = &request.client_info;
        let name = told.title.as_ref().unwrap_or(&told.name);
        let client = ClientInfo {
            name: name.chars().take(NAME_CHARS).collect(),
            version: told.version.chars().take(VERSION_CHARS).collect(),
            kind: ClientKind::Bridge,
        };
        let can_ask = request.capabilities.elicitation.as_ref();
        // Who says nothing of forms means them.
        let can_ask = can_ask.is_some_and(|it| it.form.is_some() || it.url.is_none());
        let confirmations = can_ask.then(ConfirmationCapability::default);
        let params = InitializeParams {
            protocol_version: protocol::PROTOCOL_VERSIONS[0].to_owned(),
            client,
            client_id: origin.bridge.as_deref().map(|bridge| ClientId::from(format!("mcp-{bridge}"))),
            capabilities: ClientCapabilities { confirmations, ..ClientCapabilities::default() },
            presence: Presence::default(),
            strict: false,
        };
        link.ask::<Initialize>(&params).await?;
        let params = EventsSubscribeParams {
            session_ids: Vec::new(),
            run_ids: Vec::new(),
            exact: false,
            types: CHANGES.map(str::to_owned).to_vec(),
            from: AttachFrom::Word(AttachFromKeyword::Now),
            log_id: None,
            consumer: None,
            on_gone: GoneCursorPolicy::default(),
            deltas: false,
        };
        let changes = link.follow::<EventsSubscribe>(&params).await?;
        let tasks = self.house.reception.tasks.clone();
        let (client, gone) = (context.peer.clone(), self.gone.clone());
        tasks.spawn("what tells a session of MCP of other agents", async move {
            gone.run_until_cancelled(tell_changes(changes, client)).await
        });
        let person = can_ask.then(|| context.peer.clone());
        let watches = RunWatches::new(link.clone(), person, tasks.clone(), self.gone.clone());
        if let Some(presence) = presence {
            let (watches, gone) = (watches.clone(), self.gone.clone());
            let clock = Arc::clone(&self.house.life.clock);
            tasks.spawn("what sees whether a client of MCP has left", async move {
                gone.run_until_cancelled(leave_with(presence, watches, clock)).await
            });
        }
        let has_roots = has_roots(request);
        self.opened
            .set(OpenMcpSession { link, origin, watches, has_roots })
            .map_err(|_| RpcError::new(ErrorKind::InvalidRequest, "initialize is said once"))
    }
}

fn has_roots(request: &InitializeRequestParams) -> bool {
    request.capabilities.roots.is_some()
}

/// What the request that begins a session says of it.
fn by_http(
    context: &RequestContext<RoleServer>,
) -> Result<(McpSessionOrigin, PeerCredentials, Option<HttpPresence>), RpcError> {
    let parts = context.extensions.get::<Parts>();
    let peer = parts.and_then(|parts| parts.extensions.get::<PeerCredentials>().copied());
    let (Some(parts), Some(peer)) = (parts, peer) else {
        return Err(RpcError::new(ErrorKind::InternalError, "it is not known who asks"));
    };
    let origin = McpSessionOrigin::read(parts.uri.query().unwrap_or_default())?;
    // Only a connection of its own is a bridge's.
    let presence = parts.extensions.get::<HttpPresence>().cloned();
    Ok((McpSessionOrigin { bridge: None, ..origin }, peer, presence))
}

/// Ends what a client that has left followed: nobody is there whom the questions could be put to. Its next call follows again.
async fn leave_with(presence: HttpPresence, watches: RunWatches, clock: Arc<dyn Clock>) {
    loop {
        let mut back = presence.left().await;
        // A call that is still waited for, though its answer cannot be sent, ends in a while.
        while watches.end_idle() && back.has_changed().is_ok_and(|has_changed| !has_changed) {
            clock.sleep(AWAY_AFTER).await;
        }
        // The sender lives as long as this does.
        let _ = back.changed().await;
    }
}

/// Says when other agents may be there, until the session ends. Several changes at once are one.
async fn tell_changes(mut changes: SubscriptionEvents, client: Peer<RoleServer>) {
    while let Some(envelope) = changes.next().await {
        let mut is_change = CHANGES.contains(&envelope.kind.as_str());
        while let Some(envelope) = changes.waiting() {
            is_change |= CHANGES.contains(&envelope.kind.as_str());
        }
        // What a subscription begins with is none.
        if is_change && client.notify_tool_list_changed().await.is_err() {
            return;
        }
    }
}

impl ServerHandler for McpSession {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        InitializeResult::new(capabilities)
            .with_server_info(
                Implementation::new("subagentd", env!("CARGO_PKG_VERSION")).with_title("subagentd's agents"),
            )
            .with_instructions(INSTRUCTIONS)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(SPOKEN)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        self.answered(async { self.open(&request, &context).await.map_err(protocol_error) }).await?;
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let _work = self.working.begin();
        let listing = async {
            let roots = self.opened()?.roots(&context).await.map_err(protocol_error)?;
            let tools =
                WorkspaceAgentTools::read(&self.house.workspaces, &roots).await.map_err(protocol_error)?;
            Ok(ListToolsResult::with_all_items(tools.declared()))
        };
        self.answered(listing).await
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let _work = self.working.begin();
        let opened = self.opened()?;
        let Ok(_place) = self.places.try_acquire() else {
            let error = RpcError::new(ErrorKind::Overloaded, "too many calls of this session are open");
            return Err(protocol_error(error.with_hint("wait for answers before asking more")));
        };
        let cancelling = self.cancels.begin(&context.id);
        let cancelled = cancelling.token.clone();
        let call = McpServerCall { house: &self.house, opened, context: &context, cancelled };
        self.answered(call.answer(request)).await.map(CallToolResponse::from)
    }

    async fn on_cancelled(
        &self,
        notification: CancelledNotificationParam,
        _: NotificationContext<RoleServer>,
    ) {
        if let Some(id) = &notification.request_id {
            self.cancels.cancel(id);
        }
    }
}

/// Which requests the client took back. That a session ends cancels none.
#[derive(Default)]
struct McpCancellations(Mutex<CancellableRequests>);

#[derive(Default)]
struct CancellableRequests {
    open: HashMap<RequestId, CancellationToken>,
    /// Cancelled before they were heard of: the two come by tasks of their own.
    early: VecDeque<RequestId>,
}

/// One request, as long as it is open.
struct CancellableRequest<'a> {
    cancels: &'a McpCancellations,
    id: RequestId,
    token: CancellationToken,
}

impl McpCancellations {
    fn begin(&self, id: &RequestId) -> CancellableRequest<'_> {
        let token = CancellationToken::new();
        let mut requests = self.lock();
        let known = requests.early.len();
        requests.early.retain(|early| early != id);
        if requests.early.len() != known {
            token.cancel();
        }
        requests.open.insert(id.clone(), token.clone());
        CancellableRequest { cancels: self, id: id.clone(), token }
    }

    fn cancel(&self, id: &RequestId) {
        let mut requests = self.lock();
        if let Some(token) = requests.open.get(id) {
            token.cancel();
            return;
        }
        requests.early.push_back(id.clone());
        if requests.early.len() > MOST_EARLY {
            requests.early.pop_front();
        }
    }

    fn lock(&self) -> MutexGuard<'_, CancellableRequests> {
        // Nothing panics while it holds the lock, so a poisoned one is whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CancellableRequest<'_> {
    fn drop(&mut self) {
        self.cancels.lock().open.remove(&self.id);
    }
}
