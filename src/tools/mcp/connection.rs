//! One connection to a server: what is asked over it, in what time, and what the server says unasked.
//!
//! Every request has a bound by the daemon's clock, and is taken back (`notifications/cancelled`) when nobody waits for it any
//! more. Answers are handed on as plain JSON: who reads them decides what to make of what they do not know.

#![allow(deprecated, reason = "the protocol will drop roots some day; the servers of today ask for them")]

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        CallToolRequest, CallToolRequestParams, ClientCapabilities, ClientConfig, ClientRequest,
        CreateMessageRequestParams, CreateMessageResult, CustomRequest, CustomResult, ElicitRequestParams,
        ElicitResult, ElicitationCapability, ErrorCode, FormElicitationCapability, GetPromptRequest,
        GetPromptRequestParams, Implementation, JsonObject, ListPromptsRequest, ListResourcesRequest,
        ListRootsResult, ListToolsRequest, PaginatedRequestParams, PingRequest, ProgressNotificationParam,
        ReadResourceRequest, ReadResourceRequestParams, RequestMetaObject, Root, RootsCapabilities,
        SamplingCapability, ServerResult, UrlElicitationCapability,
    },
    service::{NotificationContext, Peer, PeerRequestOptions, RequestContext, ServiceError},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::asking::{McpCaller, OpenRequestGuard, OpenRequests};
use sys::clock::Clock;

/// How long a server may take for anything but a call: listing, reading, an answer to a ping.
pub const REQUEST_TIME: Duration = Duration::from_secs(30);
/// However often a server tells of its progress, a call ends by then: a day, as of a call that a client answers.
const LONGEST_CALL: Duration = Duration::from_secs(24 * 3_600);
/// How long telling a server that nobody waits any more may take.
const TAKE_BACK_TIME: Duration = Duration::from_secs(1);
/// Pages of one list: more is a server that turns in circles.
const MOST_PAGES: usize = 200;
/// Entries of one list.
const MOST_LISTED: usize = 20_000;

/// Why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpRequestError {
    /// In the server's words.
    #[error("{0}")]
    Refused(String),
    #[error("the connection ended before it answered")]
    Gone,
    #[error("it did not answer within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    #[error("nobody waits for its answer any more")]
    Cancelled,
    #[error("what it listed has no end")]
    Endless,
}

/// What can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpListKind {
    Tools,
    Prompts,
    Resources,
}

impl McpListKind {
    fn field(self) -> &'static str {
        match self {
            McpListKind::Tools => "tools",
            McpListKind::Prompts => "prompts",
            McpListKind::Resources => "resources",
        }
    }

    fn request(self, cursor: Option<String>) -> ClientRequest {
        let params = cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
        match self {
            McpListKind::Tools => {
                ClientRequest::ListToolsRequest(ListToolsRequest { params, ..Default::default() })
            }
            McpListKind::Prompts => {
                ClientRequest::ListPromptsRequest(ListPromptsRequest { params, ..Default::default() })
            }
            McpListKind::Resources => {
                ClientRequest::ListResourcesRequest(ListResourcesRequest { params, ..Default::default() })
            }
        }
    }
}

/// In what time, and for whom.
pub struct RequestBounds<'a> {
    /// Without a word about progress.
    pub silence: Duration,
    /// In all; `None` = a day.
    pub total: Option<Duration>,
    pub cancel: &'a CancellationToken,
}

/// A cheap handle on a connection.
#[derive(Clone)]
pub struct McpConnection {
    peer: Peer<RoleClient>,
    ears: McpClientHandler,
    clock: Arc<dyn Clock>,
}

impl McpConnection {
    pub fn new(peer: Peer<RoleClient>, ears: McpClientHandler, clock: Arc<dyn Clock>) -> McpConnection {
        McpConnection { peer, ears, clock }
    }

    /// Calls a tool by the server's own name. Meanwhile the server may ask the caller.
    pub async fn call(
        &self,
        arguments: Value,
        bounds: &RequestBounds<'_>,
        caller: McpCaller,
    ) -> Result<Value, McpRequestError> {
        let arguments = match arguments {
            Value::Object(arguments) => arguments,
            _ => JsonObject::new(),
        };
        let params = CallToolRequestParams::new(caller.tool.clone()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let mut options = PeerRequestOptions::no_options();
        if let Some(span) = caller.span {
            let mut meta = RequestMetaObject::default();
            meta.set_traceparent(span.to_string());
            options = options.with_meta(meta);
        }
        // Before it is sent: what the server asks at once is asked for it.
        let entry = self.ears.requests().enter(Some(caller));
        let answer = self.ask_as((request, options), bounds, &entry).await;
        entry.ends().await;
        answer
    }

    /// Every page of a list.
    pub async fn list(
        &self,
        list: McpListKind,
        cancel: &CancellationToken,
    ) -> Result<Vec<Value>, McpRequestError> {
        let bounds = RequestBounds { silence: REQUEST_TIME, total: Some(REQUEST_TIME), cancel };
        let (mut listed, mut cursor) = (Vec::new(), None);
        for _ in 0..MOST_PAGES {
            let mut answer = self.ask(list.request(cursor.take()), &bounds).await?;
            if let Some(Value::Array(page)) = answer.get_mut(list.field()) {
                listed.append(page);
            }
            cursor = answer.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
            if MOST_LISTED < listed.len() {
                return Err(McpRequestError::Endless);
            }
            if cursor.is_none() {
                return Ok(listed);
            }
        }
        Err(McpRequestError::Endless)
    }

    pub async fn read(&self, uri: &str, cancel: &CancellationToken) -> Result<Value, McpRequestError> {
        let request = ReadResourceRequest::new(ReadResourceRequestParams::new(uri));
        let bounds = RequestBounds { silence: REQUEST_TIME, total: None, cancel };
        self.ask(ClientRequest::ReadResourceRequest(request), &bounds).await
    }

    pub async fn prompt(
        &self,
        name: &str,
        arguments: JsonObject,
        cancel: &CancellationToken,
    ) -> Result<Value, McpRequestError> {
        let request = GetPromptRequest::new(GetPromptRequestParams::new(name).with_arguments(arguments));
        let bounds = RequestBounds { silence: REQUEST_TIME, total: None, cancel };
        self.ask(ClientRequest::GetPromptRequest(request), &bounds).await
    }

    /// Whether it is there.
    pub async fn ping(&self, cancel: &CancellationToken) -> Result<(), McpRequestError> {
        let bounds = RequestBounds { silence: REQUEST_TIME, total: None, cancel };
        match self.ask(ClientRequest::PingRequest(PingRequest::default()), &bounds).await {
            // Whoever says that it does not know the question is there.
            Ok(_) | Err(McpRequestError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn ask(
        &self,
        request: ClientRequest,
        bounds: &RequestBounds<'_>,
    ) -> Result<Value, McpRequestError> {
        let options = PeerRequestOptions::no_options();
        self.ask_as((request, options), bounds, &self.ears.requests().enter(None)).await
    }

    async fn ask_as(
        &self,
        (request, options): (ClientRequest, PeerRequestOptions),
        bounds: &RequestBounds<'_>,
        entry: &OpenRequestGuard<'_>,
    ) -> Result<Value, McpRequestError> {
        let total = bounds.total.unwrap_or(LONGEST_CALL);
        let mut left = total;
        let mut since = self.clock.monotonic();
        let mut over = self.clock.sleep(left);
        // A server that reads nothing keeps its requests waiting.
        let sending = self.peer.send_request_with_option(request, options);
        let mut handle = tokio::select! {
            biased;
            handle = sending => handle.map_err(unanswered)?,
            () = bounds.cancel.cancelled() => return Err(McpRequestError::Cancelled),
            () = &mut over => return Err(McpRequestError::TimedOut(total)),
        };
        entry.is_sent_as(&handle.progress_token);
        let underway = &entry.request;
        let mut was_asking = false;
        let mut silence = self.clock.sleep(bounds.silence.min(total));
        let why = loop {
            tokio::select! {
                biased;
                answer = &mut handle.rx => {
                    return match answer {
                        Ok(Ok(result)) => Ok(plain(result)),
                        Ok(Err(error)) => Err(unanswered(error)),
                        Err(_) => Err(McpRequestError::Gone),
                    };
                }
                () = bounds.cancel.cancelled() => break McpRequestError::Cancelled,
                () = &mut over, if !was_asking => break McpRequestError::TimedOut(total),
                () = underway.heard.notified() => silence = self.clock.sleep(bounds.silence),
                () = &mut silence, if !was_asking => break McpRequestError::TimedOut(bounds.silence),
            }
            // A server that waits for a person is not late.
            let (asks, now) = (underway.is_asking(), self.clock.monotonic());
            match (was_asking, asks) {
                (false, true) => left = left.saturating_sub(now.saturating_sub(since)),
                (true, false) => over = self.clock.sleep(left),
                (false, false) | (true, true) => (),
            }
            if was_asking != asks {
                (was_asking, since) = (asks, now);
            }
        };
        let reason = match &why {
            McpRequestError::Cancelled => "the call was stopped",
            _ => "it took too long",
        };
        tokio::select! {
            // One that is gone needs not be told.
            _told = handle.cancel(Some(reason.to_owned())) => (),
            () = self.clock.sleep(TAKE_BACK_TIME) => (),
        }
        Err(why)
    }
}

fn plain(result: ServerResult) -> Value {
    // It was read from JSON, so it can be written as such.
    serde_json::to_value(result).unwrap_or(Value::Null)
}

fn unanswered(error: ServiceError) -> McpRequestError {
    match error {
        ServiceError::McpError(ErrorData { code, message, .. }) => {
            McpRequestError::Refused(format!("{message} (code {})", code.0))
        }
        ServiceError::TransportClosed => McpRequestError::Gone,
        other => McpRequestError::Refused(other.to_string()),
    }
}

/// A question of a server's as plain JSON, of which what nobody knows costs only itself.
fn asked(request: &impl Serialize) -> Result<Value, ErrorData> {
    serde_json::to_value(request).map_err(unwritten)
}

fn answer<T: DeserializeOwned>(answer: Value) -> Result<T, ErrorData> {
    serde_json::from_value(answer).map_err(unwritten)
}

fn unwritten(error: serde_json::Error) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// What hears what a server says unasked. A cheap handle.
#[derive(Clone)]
pub struct McpClientHandler(Arc<McpClientHandlerInner>);

struct McpClientHandlerInner {
    /// Of the workspace, as URIs.
    roots: Vec<Root>,
    /// Those whose progress somebody waits for, and on whose behalf a server may ask.
    requests: OpenRequests,
    /// Its tools are others now.
    tools_changed: Notify,
}

impl McpClientHandler {
    pub fn new(roots: &[String]) -> McpClientHandler {
        let root = |path: &String| {
            let uri = url::Url::from_file_path(path).ok()?;
            let name = std::path::Path::new(path).file_name()?.to_string_lossy().into_owned();
            Some(Root::new(uri.to_string()).with_name(name))
        };
        let roots = roots.iter().filter_map(root).collect();
        McpClientHandler(Arc::new(McpClientHandlerInner {
            roots,
            requests: OpenRequests::default(),
            tools_changed: Notify::new(),
        }))
    }

    /// Completes when the server says that its tools are others.
    pub async fn tools_changed(&self) {
        self.0.tools_changed.notified().await;
    }

    /// What it said of that up to now has been seen.
    pub fn forget_tools_changed(&self) {
        let _was_told = self.0.tools_changed.notified().now_or_never();
    }

    fn requests(&self) -> &OpenRequests {
        &self.0.requests
    }
}

impl ClientHandler for McpClientHandler {
    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(self.0.roots.clone()))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        answer(self.requests().elicit(&asked(&request)?, &context.ct).await?)
    }

    async fn create_message(
        &self,
        request: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        answer(self.requests().sample(&asked(&request)?, &context.ct).await?)
    }

    /// What the SDK does not understand of a server's question comes as one that it does not know: here more is understood, and
    /// what is wrong is told.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        let params = request.params.unwrap_or_default();
        let answer = match request.method.as_str() {
            "elicitation/create" => self.requests().elicit(&params, &context.ct).await?,
            "sampling/createMessage" => self.requests().sample(&params, &context.ct).await?,
            _ => return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None)),
        };
        Ok(CustomResult::new(answer))
    }

    async fn on_progress(&self, told: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.requests().progress(told);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.tools_changed.notify_one();
    }

    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        // Of sampling neither tools nor context: the model is asked with what the person was shown, or was told is more than
        // that, and nothing else.
        capabilities.sampling = Some(SamplingCapability::default());
        let (form, url) = (FormElicitationCapability::new(), UrlElicitationCapability::default());
        let form = form.with_schema_validation(true);
        capabilities.elicitation = Some(ElicitationCapability::new().with_form(form).with_url(url));
        ClientConfig::new(capabilities, Implementation::new("subagentd", env!("CARGO_PKG_VERSION")))
    }
}
