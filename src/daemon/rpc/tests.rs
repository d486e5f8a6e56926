//! Does the transport keep its promises? A table of small handlers, and a client that speaks raw lines.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};
use tokio::{
    io::{
        AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf,
        duplex,
    },
    sync::{Semaphore, watch},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use super::{
    ConnectionLoad, MethodHandlers, MethodTable, PeerCredentials, PendingSubscription, RpcCaller,
    ServerContext, serve_connection,
};
use protocol::*;
use sys::tasks::TaskGroup;

mod batches;
mod calls;
mod framing;
mod headers;
mod http;
mod sockets;
mod subscriptions;
mod tcp;
mod websocket;

const PEER: PeerCredentials = PeerCredentials { uid: 1, pid: Some(1) };

/// What the handlers of the tests do, seen from outside.
struct Bed {
    /// How many handlers of `run/start` and `run/wait` have begun.
    begun: watch::Sender<usize>,
    /// How many of `run/start` have come to their end.
    effects: watch::Sender<usize>,
    /// What `run/start` and `run/wait` wait for.
    gate: Semaphore,
    /// Events that `session/attach` got rid of.
    sent: watch::Sender<usize>,
    /// Handlers of `session/attach` that live.
    attached: watch::Sender<usize>,
    events: AtomicUsize,
}

impl Bed {
    fn new() -> Arc<Bed> {
        Arc::new(Bed {
            begun: watch::Sender::new(0),
            effects: watch::Sender::new(0),
            gate: Semaphore::new(0),
            sent: watch::Sender::new(0),
            attached: watch::Sender::new(0),
            events: AtomicUsize::new(3),
        })
    }

    async fn wait_at_gate(&self) {
        self.begun.send_modify(|begun| *begun += 1);
        self.gate.acquire().await.unwrap().forget();
    }
}

/// Waits until a counter has reached a value.
async fn until(counter: &watch::Sender<usize>, reached: impl FnMut(&usize) -> bool) {
    counter.subscribe().wait_for(reached).await.unwrap();
}

fn not_found<T>() -> Result<T, RpcError> {
    Err(RpcError::new(ErrorKind::NotFound, "nothing here"))
}

fn api(bed: Arc<Bed>) -> MethodHandlers {
    let mut all = MethodHandlers::new();
    let mut api = all.given(bed);
    api.method::<Initialize, _, _>(async |_, caller: RpcCaller, params: InitializeParams| {
        let client_id = params.client_id.unwrap_or_else(|| "client".into());
        caller.introduce(params.client, client_id, params.strict);
        not_found()
    });
    api.method::<Ping, _, _>(async |_, _, NoParams {}| Ok(PingResult { at: Timestamp(0) }));
    api.cancellable::<DaemonStatus, _, _>(async |_, _, _| not_found());
    api.cancellable::<DaemonDoctor, _, _>(async |_, _, _| not_found());
    api.method::<DaemonShutdown, _, _>(async |_, _, _| not_found());
    api.cancellable::<AgentsList, _, _>(async |_, _, _| {
        Ok(AgentsListResult { agents: Vec::new(), problems: Vec::new() })
    });
    api.cancellable::<ToolsList, _, _>(async |_, _, _| panic!("a tool list that cannot be"));
    api.method::<RunStart, _, _>(async |bed: Arc<Bed>, _, params: RunStartParams| {
        bed.wait_at_gate().await;
        bed.effects.send_modify(|effects| *effects += 1);
        let disposition = RunDisposition::Started;
        Ok(RunStartResult {
            disposition,
            run_id: "r".into(),
            session_id: "s".into(),
            agent: params.agent.unwrap(),
            replayed: false,
            interrupts: None,
            routed: None,
            seq: EventSeq(1),
        })
    });
    api.cancellable::<RunGet, _, _>(async |_, _, _| not_found());
    api.cancellable::<RunWait, _, _>(async |bed: Arc<Bed>, _, _| {
        bed.wait_at_gate().await;
        not_found()
    });
    api.method::<RunCancel, _, _>(async |_, _, _| not_found());
    // What these tests are not about.
    api.method::<ClientUpdate, _, _>(async |_, _, _| not_found());
    api.cancellable::<ClientList, _, _>(async |_, _, _| not_found());
    api.subscription::<EventsSubscribe, _, _>(async |_, _, _, _| not_found());
    api.method::<EventsUnsubscribe, _, _>(async |_, _, _| not_found());
    api.method::<EventsAck, _, _>(async |_, _, _| not_found());
    api.method::<DaemonDrain, _, _>(async |_, _, _| not_found());
    api.cancellable::<DaemonLogs, _, _>(async |_, _, _| not_found());
    api.method::<DaemonReload, _, _>(async |_, _, _| not_found());
    api.method::<DaemonSetLogLevel, _, _>(async |_, _, _| not_found());
    api.cancellable::<ConfigGet, _, _>(async |_, _, _| not_found());
    api.cancellable::<UsageGet, _, _>(async |_, _, _| not_found());
    api.cancellable::<TraceList, _, _>(async |_, _, _| not_found());
    api.cancellable::<TraceGet, _, _>(async |_, _, _| not_found());
    api.cancellable::<TraceExport, _, _>(async |_, _, _| not_found());
    api.cancellable::<AgentsGet, _, _>(async |_, _, _| not_found());
    api.method::<AgentsCreate, _, _>(async |_, _, _| not_found());
    api.method::<AgentsUpdate, _, _>(async |_, _, _| not_found());
    api.method::<AgentsDelete, _, _>(async |_, _, _| not_found());
    api.method::<AgentsTemplates, _, _>(async |_, _, _| not_found());
    api.heeding::<AgentsImport, _, _>(async |bed: Arc<Bed>, _, _, given_up: CancellationToken| {
        bed.begun.send_modify(|begun| *begun += 1);
        given_up.cancelled().await;
        bed.effects.send_modify(|effects| *effects += 1);
        Err(RpcError::new(ErrorKind::RequestCancelled, "it had no effect yet"))
    });
    api.method::<AgentsExport, _, _>(async |_, _, _| not_found());
    api.cancellable::<AgentsValidate, _, _>(async |_, _, _| not_found());
    api.method::<AgentsReload, _, _>(async |_, _, _| not_found());
    api.method::<AgentsRoute, _, _>(async |_, _, _| not_found());
    api.cancellable::<ConfirmationList, _, _>(async |_, _, _| not_found());
    api.cancellable::<ConfirmationGet, _, _>(known);
    api.method::<ConfirmationClaim, _, _>(async |_, _, _| not_found());
    api.method::<ConfirmationRelease, _, _>(async |_, _, _| not_found());
    api.method::<RunUnpark, _, _>(async |_, _, _| not_found());
    api.method::<SessionUndo, _, _>(async |_, _, _| not_found());
    api.method::<ToolsCall, _, _>(async |_, _, _| not_found());
    api.cancellable::<ToolsOutput, _, _>(async |_, _, _| not_found());
    api.cancellable::<PromptRender, _, _>(async |_, _, _| not_found());
    api.cancellable::<HooksList, _, _>(async |_, _, _| not_found());
    api.method::<HooksSetEnabled, _, _>(async |_, _, _| not_found());
    api.cancellable::<HooksTest, _, _>(async |_, _, _| not_found());
    api.cancellable::<MemoryFiles, _, _>(async |_, _, _| not_found());
    api.cancellable::<SkillsList, _, _>(async |_, _, _| not_found());
    api.cancellable::<SkillsGet, _, _>(async |_, _, _| not_found());
    api.cancellable::<SkillsValidate, _, _>(async |_, _, _| not_found());
    api.method::<SkillsSetEnabled, _, _>(async |_, _, _| not_found());
    api.cancellable::<ExtensionList, _, _>(async |_, _, _| not_found());
    api.cancellable::<ExtensionGet, _, _>(async |_, _, _| not_found());
    api.method::<ExtensionInstall, _, _>(async |_, _, _| not_found());
    api.method::<ExtensionEnable, _, _>(async |_, _, _| not_found());
    api.method::<ExtensionDisable, _, _>(async |_, _, _| not_found());
    api.method::<ExtensionRemove, _, _>(async |_, _, _| not_found());
    api.method::<IdeContextUpdate, _, _>(async |_, _, _| not_found());
    api.method::<DaemonGc, _, _>(async |_, _, _| not_found());
    api.cancellable::<ProgramsList, _, _>(async |_, _, _| not_found());
    api.method::<ProgramsAcknowledge, _, _>(async |_, _, _| not_found());
    api.cancellable::<WorkedFoldersList, _, _>(async |_, _, _| not_found());
    api.method::<WorkedFoldersForget, _, _>(async |_, _, _| not_found());
    api.method::<ToolsRegister, _, _>(async |_, _, _| not_found());
    api.method::<ToolsResult, _, _>(async |_, _, _| not_found());
    api.method::<AgentsAcknowledge, _, _>(async |_, _, _| not_found());
    api.cancellable::<PolicyList, _, _>(async |_, _, _| not_found());
    api.cancellable::<PolicyCheck, _, _>(async |_, _, _| not_found());
    api.method::<PolicyRemove, _, _>(async |_, _, _| not_found());
    api.cancellable::<WorkspaceOpen, _, _>(async |_, _, _| not_found());
    api.cancellable::<WorkspaceList, _, _>(async |_, _, _| not_found());
    api.method::<WorkspaceTrust, _, _>(async |_, _, _| not_found());
    api.cancellable::<RunList, _, _>(async |_, _, _| not_found());
    api.method::<RunSteer, _, _>(async |_, _, _| not_found());
    api.cancellable::<QueueList, _, _>(async |_, _, _| not_found());
    api.method::<QueueRemove, _, _>(async |_, _, _| not_found());
    api.method::<QueuePromote, _, _>(async |_, _, _| not_found());
    api.method::<ConfirmationRespond, _, _>(answer);
    api.method::<SessionCreate, _, _>(async |_, _, _| not_found());
    api.cancellable::<SessionList, _, _>(async |_, _, _| not_found());
    api.cancellable::<SessionGet, _, _>(async |_, _, _| not_found());
    api.cancellable::<SessionHistory, _, _>(async |_, _, _| not_found());
    api.cancellable::<SessionCompact, _, _>(async |_, _, _| not_found());
    api.cancellable::<SessionClear, _, _>(async |_, _, _| not_found());
    api.cancellable::<ModelsList, _, _>(async |_, _, _| not_found());
    api.cancellable::<ModelsTest, _, _>(async |_, _, _| not_found());
    api.cancellable::<McpList, _, _>(async |_, _, _| not_found());
    api.cancellable::<McpStatus, _, _>(async |_, _, _| not_found());
    api.cancellable::<McpConnect, _, _>(async |_, _, _| not_found());
    api.cancellable::<McpDisconnect, _, _>(async |_, _, _| not_found());
    api.cancellable::<McpRestart, _, _>(async |_, _, _| not_found());
    api.method::<McpSetEnabled, _, _>(async |_, _, _| not_found());
    api.method::<McpAdd, _, _>(async |_, _, _| not_found());
    api.method::<McpRemove, _, _>(async |_, _, _| not_found());
    api.method::<McpLogin, _, _>(async |_, _, _| not_found());
    api.method::<McpLogout, _, _>(async |_, _, _| not_found());
    api.cancellable::<McpPrompts, _, _>(async |_, _, _| not_found());
    api.cancellable::<McpResources, _, _>(async |_, _, _| not_found());
    api.cancellable::<McpReadResource, _, _>(async |_, _, _| not_found());
    api.cancellable::<McpTemplate, _, _>(async |_, _, _| not_found());
    api.method::<SessionUpdate, _, _>(async |_, _, _| not_found());
    api.method::<SessionClose, _, _>(async |_, _, _| not_found());
    api.method::<SessionDelete, _, _>(async |_, _, _| not_found());
    api.subscription::<SessionAttach, _, _>(attach);
    api.method::<SessionDetach, _, _>(async |_, caller: RpcCaller, params: SessionDetachParams| {
        Ok(DetachResult { detached: caller.detach(&params.subscription) })
    });
    api.cancellable::<EventsList, _, _>(async |_, _, params: EventsListParams| {
        // As long as the limit says, so that a test can ask for too much.
        let kind = "x".repeat(20 << 10);
        let event = Envelope {
            seq: None,
            prev: None,
            at: None,
            kind,
            session_id: None,
            run_id: None,
            head: EventHead::default(),
            offered: None,
            data: Value::Null,
        };
        Ok(EventsListResult {
            events: vec![event; params.limit as usize],
            head: EventSeq(0),
            log_id: "l".into(),
        })
    });
    all
}

/// The question of a token that there is.
async fn known(
    _: Arc<Bed>,
    _: RpcCaller,
    params: ConfirmationGetParams,
) -> Result<ConfirmationGetResult, RpcError> {
    let is_known =
        params.token.is_some_and(|token| ["good", "old", "used", "full"].contains(&token.as_str()));
    if !is_known {
        return Err(RpcError::new(ErrorKind::Forbidden, "no"));
    }
    let question = json!({
        "confirmationId": "q", "runId": "r", "sessionId": "s", "path": ["a"], "risk": "low", "title": "t", "rule": "r",
        "reason": "r", "details": { "type": "info", "prompt": "p" }, "digest": "d", "options": [], "audience": "all",
        "onDetached": "wait", "createdAt": "2025-11-20T11:04:00.000Z", "onDeadline": "deny", "state": "offered",
    });
    Ok(ConfirmationGetResult { confirmation: serde_json::from_value(question).unwrap() })
}

/// Takes the token `good`, with any outcome.
async fn answer(
    _: Arc<Bed>,
    _: RpcCaller,
    params: ConfirmationRespondParams,
) -> Result<ConfirmationRespondResult, RpcError> {
    let kind = match params.token.as_deref() {
        Some("good") => {
            let resolution = Resolution {
                outcome: params.outcome,
                by: DecidedBy::Client,
                name: None,
                message: params.message,
                rule: None,
                allows: None,
                mode: None,
                digest: "d".to_owned(),
                answer_digest: None,
                at: Some(Timestamp(0)),
            };
            let (confirmation_id, run_id, seq) = ("q".into(), "r".into(), EventSeq(1));
            return Ok(ConfirmationRespondResult {
                confirmation_id,
                run_id,
                resolution,
                seq,
                replayed: false,
            });
        }
        Some("old") => ErrorKind::ConfirmationStale,
        Some("used") => ErrorKind::ConfirmationAlreadyResolved,
        Some("full") => ErrorKind::StorageFull,
        _ => ErrorKind::Forbidden,
    };
    Err(RpcError::new(kind, "no"))
}

/// Sends events for ever when the session is called `endless`, waits for ever when it is `silent`, else ends.
async fn attach(
    bed: Arc<Bed>,
    _: RpcCaller,
    params: SessionAttachParams,
    feed: PendingSubscription,
) -> Result<(), RpcError> {
    struct Attached(Arc<Bed>);
    impl Drop for Attached {
        fn drop(&mut self) {
            self.0.attached.send_modify(|attached| *attached -= 1);
        }
    }
    let session = params.session_id.as_str().to_owned();
    match session.as_str() {
        "missing" => return not_found(),
        "forgetful" => return Ok(()),
        "panics" => panic!("no session can be like this"),
        _ => {}
    }
    bed.attached.send_modify(|attached| *attached += 1);
    let _attached = Attached(Arc::clone(&bed));
    let sink = feed.accept().await?;
    let events = if session == "endless" { usize::MAX } else { bed.events.load(Ordering::Relaxed) };
    for number in 0..events {
        sink.send(event(number)).await?;
        bed.sent.send_modify(|sent| *sent += 1);
    }
    if session == "silent" {
        sink.closed().await;
    }
    Ok(())
}

fn event(number: usize) -> Box<RawValue> {
    to_raw_value(&json!({ "seq": number, "type": "test", "data": "x".repeat(200) })).unwrap()
}

fn table(bed: &Arc<Bed>) -> Arc<MethodTable> {
    api(Arc::clone(bed)).build(ConnectionLoad::new()).unwrap()
}

fn reception(table: &Arc<MethodTable>, stop: &CancellationToken) -> ServerContext {
    ServerContext {
        table: Arc::clone(table),
        tasks: TaskGroup::new(),
        readiness: Arc::new(|| Ok(())),
        metrics: Arc::new(|| Box::pin(async { Ok("# nothing\n".to_owned()) })),
        mcp: None,
        stop: stop.clone(),
    }
}

/// A client of one connection.
struct Client<R, W> {
    reader: BufReader<R>,
    writer: Option<W>,
    connection: JoinSet<()>,
}

type MemoryClient = Client<ReadHalf<DuplexStream>, WriteHalf<DuplexStream>>;

/// Connects in memory.
fn connect(table: &Arc<MethodTable>, stop: &CancellationToken) -> MemoryClient {
    let (near, far) = duplex(64 << 10);
    let (reader, writer) = tokio::io::split(near);
    let mut connection = JoinSet::new();
    connection.spawn(serve_connection(far, PEER, reception(table, stop)));
    Client { reader: BufReader::new(reader), writer: Some(writer), connection }
}

/// A client with nothing particular around it.
fn client() -> (MemoryClient, Arc<Bed>) {
    let bed = Bed::new();
    (connect(&table(&bed), &CancellationToken::new()), bed)
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Client<R, W> {
    async fn send(&mut self, line: impl AsRef<[u8]>) {
        let writer = self.writer.as_mut().unwrap();
        writer.write_all(line.as_ref()).await.unwrap();
        writer.write_all(b"\n").await.unwrap();
    }

    async fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let request = json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params });
        self.send(request.to_string()).await;
    }

    /// The next message, or null at the end.
    async fn receive(&mut self) -> Value {
        let mut line = String::new();
        match self.reader.read_line(&mut line).await.unwrap() {
            0 => Value::Null,
            _ => serde_json::from_str(&line).unwrap(),
        }
    }

    async fn ask(&mut self, line: impl AsRef<[u8]>) -> Value {
        self.send(line).await;
        self.receive().await
    }

    /// The connection still answers, and nothing else is on its way.
    async fn assert_alive(&mut self) {
        self.request("alive", "ping", json!({})).await;
        assert_eq!(self.receive().await["id"], "alive");
    }

    async fn stop_writing(&mut self) {
        self.writer.take().unwrap().shutdown().await.unwrap();
    }

    /// Waits until the server's side of the connection has ended.
    async fn ended(&mut self) {
        self.connection.join_next().await.unwrap().unwrap();
    }
}

/// The kind of an error, or what came instead.
fn kind(response: &Value) -> String {
    match response["error"]["data"]["kind"].as_str() {
        Some(kind) => kind.to_owned(),
        None => response.to_string(),
    }
}
