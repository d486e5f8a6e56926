//! `tools/register`, `tools/result`: tools that clients lend, and their answers.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::json;

use super::{
    super::{
        once::KeyToken,
        rpc::{MethodHandlers, RpcCaller},
    },
    lookup::open_session,
    observers::{may_change, may_change_all},
    violation,
};
use crate::{
    client_connections::ClientConnections, daemon_services::DaemonServices,
    settings_in_force::SettingsInForce,
};
use protocol::{
    COMPLETE_TASK, CallId, ClientContent, ClientId, ClientToolParams, ConnectionTransport, DISCOVERED_PREFIX,
    ErrorKind, EventSeq, IdempotencyKey, MessagePart, RegisteredClientTool, Risk, RpcError, RpcMethod as _,
    SchemaViolation, ToolDeclaration, ToolErrorType, ToolKind, ToolName, ToolResult, ToolsRegister,
    ToolsRegisterParams, ToolsRegisterResult, ToolsResult, ToolsResultParams, ToolsResultResult,
};
use redact::Redactor;
use run::RunExecutor;
use store::{ClientCallRecord, EventStore};
use tools::{ClientToolRegistry, MAX_INLINE_BYTES, ToolRegistry, is_schema, whole_image};

/// Time for one call of a client that does not say: a person may be asked something meanwhile.
const USUAL_TIMEOUT_MS: u64 = 10 * 60 * 1_000;

/// Characters of a name: providers take no longer ones.
const LONGEST_NAME: usize = 64;

/// Bytes of descriptions and parameters of all tools of a set: each run keeps them with its first event.
const MOST_BYTES: usize = 1 << 20;

/// How the names of other sources begin; small letters, `_` for `-`.
const OTHERS: &[&str] = &[DISCOVERED_PREFIX, "mcp.", "mcp_", "handoff_to_"];

/// Names of the daemon's own tools that are not always there (spec 05).
const RESERVED: &[&str] = &[
    COMPLETE_TASK,
    "recall_memory",
    "store_memory",
    "forget_memory",
    "get_state",
    "set_state",
    "present_plan",
];

/// Bytes of `data` of one answer, as JSON. It stands in an event, which goes to everybody who follows the session.
const MOST_DATA: usize = 1 << 20;

/// The services that the methods of client tools use.
pub(super) struct LendingMethods {
    pub settings: Arc<SettingsInForce>,
    pub store: EventStore,
    pub executor: RunExecutor,
    pub clients: Arc<ClientConnections>,
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let DaemonServices { settings, store, executor, clients, .. } = services.clone();
    let mut api = api.given(Arc::new(LendingMethods { settings, store, executor, clients }));
    api.method::<ToolsRegister, _, _>(lend);
    api.method::<ToolsResult, _, _>(answer);
}

async fn lend(
    state: Arc<LendingMethods>,
    caller: RpcCaller,
    params: ToolsRegisterParams,
) -> Result<ToolsRegisterResult, RpcError> {
    let client = client(&caller)?;
    let ToolsRegisterParams { session_id, tools, on_disconnect } = params;
    let violations = violations(&tools, &state.executor.built_in());
    if !violations.is_empty() {
        let message = violations.iter().map(|it| format!("{}: {}", it.pointer, it.message));
        let message = message.collect::<Vec<_>>().join("; ");
        return Err(RpcError::new(ErrorKind::InvalidParams, message)
            .with_details(json!({ "violations": violations })));
    }
    match &session_id {
        Some(session) => {
            may_change(&state.clients, &caller, session)?;
            open_session(&state.store, session).await?;
        }
        None => may_change_all(&state.clients, &caller)?,
    }
    let redactor = state.settings.redactor.get();
    let lent = |tool: ClientToolParams| RegisteredClientTool {
        timeout_ms: tool.timeout_ms.unwrap_or(USUAL_TIMEOUT_MS),
        declaration: declaration(tool, &redactor),
        client: client.clone(),
        session: session_id.clone(),
        on_disconnect,
    };
    let tools: Vec<RegisteredClientTool> = tools.into_iter().map(lent).collect();
    let names = tools.iter().map(|tool| tool.declaration.name.clone()).collect();
    let connection = caller.connection();
    let lenders = state.executor.lenders();
    // Before it lends, so that nothing of it can stay.
    caller.keep_once(|| ClientToolLease { lenders: lenders.clone(), connection });
    lenders
        .lend(&client, session_id.as_ref(), connection, tools)
        .map_err(|error| RpcError::new(ErrorKind::LimitExceeded, error.to_string()))?;
    let calls = state.store.open_client_calls(&client).await?;
    Ok(ToolsRegisterResult { client_id: client, tools: names, calls })
}

/// What a connection lends ends with it.
struct ClientToolLease {
    lenders: ClientToolRegistry,
    connection: u64,
}

impl Drop for ClientToolLease {
    fn drop(&mut self) {
        self.lenders.leave(self.connection);
    }
}

/// Who lends or answers: only a client that said who it is, on a connection that stays.
fn client(caller: &RpcCaller) -> Result<ClientId, RpcError> {
    if caller.transport() == ConnectionTransport::Http {
        let message = "tools cannot be lent over HTTP, where each request stands alone; nothing was changed";
        return Err(RpcError::new(ErrorKind::NotInitialized, message)
            .with_hint("use the Unix socket or a WebSocket, say `initialize` there, and keep it open"));
    }
    let introduction = caller.introduction().ok_or_else(|| {
        RpcError::new(ErrorKind::NotInitialized, "this connection has not said `initialize`")
            .with_hint("say `initialize` with a `clientId` first: calls are told to that client, also after it reconnects")
    })?;
    Ok(introduction.client_id)
}

fn declaration(tool: ClientToolParams, redactor: &Redactor) -> ToolDeclaration {
    let ClientToolParams { name, title, description, mut parameters, kind, risk, .. } = tool;
    redactor.value(&mut parameters);
    ToolDeclaration {
        title: redactor.owned(title.unwrap_or_else(|| name.to_string())),
        description: redactor.owned(description),
        kind: kind.unwrap_or(ToolKind::Other),
        risk: risk.unwrap_or(Risk::Medium),
        parameters,
        name,
    }
}

/// All that is wrong with what a client wants to lend.
fn violations(tools: &[ClientToolParams], built_in: &ToolRegistry) -> Vec<SchemaViolation> {
    let mut violations = Vec::new();
    let mut bytes = 0;
    for (at, tool) in tools.iter().enumerate() {
        let mut wrong = |field: &str, message: &str| {
            let pointer = format!("/tools/{at}/{field}");
            violations.push(SchemaViolation { pointer, message: message.to_owned() });
        };
        if let Some(problem) = problem_of_name(&tool.name, built_in) {
            wrong("name", problem);
        } else if tools[..at].iter().any(|other| plain(&other.name) == plain(&tool.name)) {
            wrong("name", "is lent twice");
        }
        if tool.description.trim().is_empty() {
            wrong("description", "is blank: a model would not know when to call it");
        }
        if !tool.parameters.is_object() || !is_schema(&tool.parameters) {
            wrong("parameters", "is no JSON Schema (2020-12) of an object");
        }
        let reads = matches!(tool.kind, Some(ToolKind::Read | ToolKind::Search));
        if tool.risk.is_some_and(|risk| risk < Risk::Medium) && !reads {
            wrong("risk", "only tools of the kinds `read` and `search` may be `safe` or `low`");
        }
        bytes += tool.description.len() + tool.parameters.to_string().len();
    }
    if MOST_BYTES < bytes {
        let message =
            format!("have {bytes} bytes of descriptions and parameters; at most {MOST_BYTES} are taken");
        violations.push(SchemaViolation { pointer: "/tools".to_owned(), message });
    }
    violations
}

fn problem_of_name(name: &ToolName, built_in: &ToolRegistry) -> Option<&'static str> {
    let text = name.as_str();
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    let begins = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    if !begins || LONGEST_NAME < text.len() || !text.chars().all(is_letter) {
        Some("has 1 to 64 letters, digits, `_`, `-` and `.`, a letter or `_` first")
    } else if built_in.is_taken(name)
        || built_in.is_taken(&plain(name).as_str().into())
        || RESERVED.contains(&&*plain(name))
    {
        Some("is a name of a tool of the daemon's own")
    } else if OTHERS.iter().any(|begin| plain(name).starts_with(begin)) {
        Some("begins like the names of another source")
    } else {
        None
    }
}

/// What rules and models' habits take for the same name.
fn plain(name: &ToolName) -> String {
    name.as_str().replace('-', "_").to_ascii_lowercase()
}

async fn answer(
    state: Arc<LendingMethods>,
    caller: RpcCaller,
    params: ToolsResultParams,
) -> Result<ToolsResultResult, RpcError> {
    let client = client(&caller)?;
    let call = params.call_id.clone();
    let known = known(&state, &call).await?;
    if known.client != client {
        let message = format!("the call {call} is for the client {}, not for {client}", known.client);
        return Err(RpcError::new(ErrorKind::Forbidden, message));
    }
    may_change(&state.clients, &caller, &known.session)?;
    let result = result(&params)?;
    // A call is answered once, so it is its own key: the same again is answered as before.
    let key = IdempotencyKey(format!("{}:{call}", ToolsResult::NAME));
    let (answering, asked) = (Arc::clone(&state), params);
    let effect = move |token: Option<KeyToken>| async move {
        let told = ToolsResultResult { call_id: call.clone(), seq: EventSeq(0), replayed: false };
        let ClientCallRecord { session, run, .. } = known;
        let keyed = token.map(|token| token.keyed(&told, Some(run.clone())));
        let by = Some(client.to_string());
        let place = (&run, &session, &call);
        match answering.executor.finish_client_call(place, result, by, keyed).await? {
            Some(seq) => Ok(ToolsResultResult { seq, ..told }),
            None => Err(gone(&answering, &call).await?),
        }
    };
    state.clients.once.run(Some(key), ToolsResult::NAME, &asked, effect).await
}

async fn known(state: &LendingMethods, call: &CallId) -> Result<ClientCallRecord, RpcError> {
    state.store.client_call(call).await?.ok_or_else(|| {
        RpcError::new(ErrorKind::NotFound, format!("no client was told of a call {call}"))
            .with_hint("`tool.clientCall` tells the call's id")
    })
}

/// The reason why nobody waits for the answer.
async fn gone(state: &LendingMethods, call: &CallId) -> Result<RpcError, RpcError> {
    let ended = known(state, call).await?.state;
    let message = match &ended {
        Some(how) => format!("the call {call} has ended ({how}); the answer came too late and is not kept"),
        None => format!("the call {call} is not under way; the answer is not kept"),
    };
    Ok(RpcError::new(ErrorKind::Gone, message).with_details(json!({ "state": ended })))
}

/// What the model reads.
fn result(params: &ToolsResultParams) -> Result<ToolResult, RpcError> {
    if let Some(data) = &params.data {
        let bytes = data.to_string().len();
        if MOST_DATA < bytes {
            return Err(violation("/data", &format!("has {bytes} bytes; at most {MOST_DATA} are kept")));
        }
    }
    match (&params.content, &params.error) {
        (Some(content), None) => Ok(ToolResult {
            llm_content: parts(content)?,
            data: params.data.clone(),
            ..ToolResult::default()
        }),
        (None, Some(_)) if params.data.is_some() => Err(violation("/data", "stands beside `content` only")),
        (None, Some(error)) => Ok(ToolResult::failure(ToolErrorType::ExecutionFailed, error.message.clone())),
        (Some(_), Some(_)) => Err(violation("/error", "is not given beside `content`")),
        (None, None) => Err(violation("/content", "needed, or `error`")),
    }
}

/// What a model is given of an answer. A picture that is none would make the provider refuse the request, and every later one
/// in that context; other bytes are described, since not every model takes them.
fn parts(content: &[ClientContent]) -> Result<Vec<MessagePart>, RpcError> {
    let mut left = MAX_INLINE_BYTES;
    let read = |(at, content): (usize, &ClientContent)| {
        let (mime_type, data) = match content {
            ClientContent::Text { text } => return Ok(MessagePart::text(text.clone())),
            ClientContent::InlineData { mime_type, data } => (mime_type, data),
        };
        let wrong = |field: &str, message: &str| violation(&format!("/content/{at}/{field}"), message);
        let is_type =
            mime_type.split_once('/').is_some_and(|(kind, format)| is_token(kind) && is_token(format));
        if !is_type {
            return Err(wrong("mimeType", "is no media type, e.g. `image/png`"));
        }
        let bytes =
            STANDARD.decode(data).map_err(|error| wrong("data", &format!("is no base64: {error}")))?;
        if !mime_type.starts_with("image/") {
            return Ok(MessagePart::text(format!("[{mime_type}, {} bytes; it is not shown]", bytes.len())));
        }
        if whole_image(&bytes) != Some(mime_type.as_str()) {
            return Err(wrong(
                "data",
                &format!("is no whole {mime_type}; models take PNG, JPEG, GIF, WEBP and BMP"),
            ));
        }
        left = left.checked_sub(bytes.len()).ok_or_else(|| {
            wrong(
                "data",
                &format!("is too much: the images of an answer have {MAX_INLINE_BYTES} bytes at most"),
            )
        })?;
        Ok(MessagePart::InlineData { mime_type: mime_type.clone(), data: data.clone() })
    };
    content.iter().enumerate().map(read).collect()
}

/// A word of a media type (RFC 9110, 5.6.2).
fn is_token(word: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(letter);
    !word.is_empty() && word.chars().all(is_letter)
}
