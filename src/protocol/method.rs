//! Every method the daemon answers, in one table: dispatch, client and proto-docs all read it (spec 01).

use std::path::PathBuf;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{
    AgentName, AgentSummary, ClientId, Envelope, LimitsParams, ModelRef, RunId, RunRecord, Seq, SessionId,
    SubscriptionId, Timestamp, ToolDeclaration,
};

/// The protocol versions this daemon speaks; within one, only additions happen.
pub const PROTOCOL_VERSIONS: &[&str] = &["1"];

/// The longest message a client may send, in bytes (spec 11).
pub const MAX_MESSAGE_BYTES: usize = 4 << 20;
/// Requests a connection may have in flight (spec 11).
pub const MAX_IN_FLIGHT: usize = 1_000;
/// Subscriptions a connection may hold (spec 11).
pub const MAX_SUBSCRIPTIONS: usize = 64;
/// Requests in one batch (spec 01).
pub const MAX_BATCH: usize = 100;

/// A method's name and types.
pub trait Method {
    const NAME: &'static str;
    type Params: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
    type Result: Serialize + DeserializeOwned + JsonSchema + Clone + Send + 'static;
}

/// One row of the method table in proto-docs.
pub struct MethodDoc {
    pub name: &'static str,
    pub doc: &'static str,
    /// Answers with a subscription whose notifications are called `event`.
    pub is_subscription: bool,
    pub params: fn() -> Schema,
    pub result: fn() -> Schema,
}

macro_rules! methods {
    (@subscription subscription) => { true };
    (@subscription call) => { false };
    ($( $(#[doc = $doc:literal])+ $style:ident $name:literal => $method:ident($params:ty) -> $result:ty; )+) => {
        $(
            $(#[doc = $doc])+
            pub enum $method {}
            impl Method for $method {
                const NAME: &'static str = $name;
                type Params = $params;
                type Result = $result;
            }
        )+
        /// Every method, in the order of the docs.
        pub const METHODS: &[MethodDoc] = &[$(MethodDoc {
            name: $name,
            doc: concat!($($doc, "\n"),+),
            is_subscription: methods!(@subscription $style),
            params: || schemars::schema_for!($params),
            result: || schemars::schema_for!($result),
        }),+];
    };
}

methods! {
    /// Says who the client is and what it can do, and learns the same of the daemon. Optional: a script may
    /// call any method without it.
    call "initialize" => Initialize(InitializeParams) -> InitializeResult;
    /// Answers at once.
    call "ping" => Ping(NoParams) -> PingResult;
    /// The OpenRPC document of this daemon.
    call "rpc/discover" => RpcDiscover(NoParams) -> Value;
    /// How the daemon is: version, uptime, runs by state, clients, database, memory, what is degraded.
    call "daemon/status" => DaemonStatus(NoParams) -> DaemonStatusResult;
    /// Stops the daemon. Live runs are marked and go on at the next start.
    call "daemon/shutdown" => DaemonShutdown(NoParams) -> ShutdownResult;
    /// The agents there are, with where they come from and what is wrong with those that cannot be used.
    call "agents/list" => AgentsList(AgentsListParams) -> AgentsListResult;
    /// The tools there are, or those one agent gets.
    call "tools/list" => ToolsList(ToolsListParams) -> ToolsListResult;
    /// Starts a run in a new session. Answers when the run is durable: it will end exactly once, whatever dies.
    call "run/start" => RunStart(RunStartParams) -> RunStartResult;
    /// One run's record.
    call "run/get" => RunGet(RunIdParams) -> RunRecord;
    /// Waits until the run has ended or the time is over; a time-out is a normal answer.
    call "run/wait" => RunWait(RunWaitParams) -> RunWaitResult;
    /// Stops a run: its tools end first. Answers when that is durable; cancelling a run that has ended answers
    /// its end state.
    call "run/cancel" => RunCancel(RunCancelParams) -> RunCancelResult;
    /// Follows a session: what is (a snapshot, or the events from a cursor on), then what happens, without gap
    /// or repeat.
    subscription "session/attach" => SessionAttach(SessionAttachParams) -> SubscriptionId;
    /// Ends an attachment.
    call "session/detach" => SessionDetach(SessionDetachParams) -> DetachResult;
    /// The log by page.
    call "events/list" => EventsList(EventsListParams) -> EventsListResult;
}

/// No parameters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoParams {}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// `"1"`.
    pub protocol_version: String,
    pub client: ClientInfo,
    /// The client's own stable id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<ClientId>,
    /// Unknown parameter fields are errors instead of being ignored and reported.
    #[serde(default)]
    pub strict: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientInfo {
    pub name: String,
    #[serde(default)]
    pub version: String,
    pub kind: ClientKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ClientKind {
    Editor,
    Cli,
    Phone,
    Bot,
    Bridge,
    Script,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    pub protocol_version: String,
    pub daemon: DaemonInfo,
    pub client_id: ClientId,
    pub limits: WireLimits,
    /// The methods this daemon answers.
    pub methods: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DaemonInfo {
    pub name: String,
    pub version: String,
    pub pid: u32,
    /// New at every start.
    pub instance: String,
    /// Made with the database; cursors of another log mean nothing here.
    pub log_id: String,
    pub started_at: Timestamp,
}

/// What a connection may do; more is answered by an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WireLimits {
    pub max_message_bytes: usize,
    pub max_in_flight: usize,
    pub max_subscriptions: usize,
    pub max_batch: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PingResult {
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DaemonStatusResult {
    pub daemon: DaemonInfo,
    pub uptime_ms: u64,
    /// By state; `ended` counts the whole log's.
    pub runs: RunCounts,
    pub clients: u32,
    pub subscriptions: u32,
    pub database: DatabaseStatus,
    /// Resident memory; missing where the system does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rss_bytes: Option<u64>,
    /// What does not work as it should, one sentence each.
    pub degraded: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunCounts {
    pub queued: u64,
    pub running: u64,
    pub waiting: u64,
    pub parked: u64,
    pub ended: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatabaseStatus {
    pub path: PathBuf,
    pub bytes: u64,
    pub head: Seq,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShutdownResult {
    /// Runs that will go on at the next start.
    pub suspended_runs: u64,
}

/// One root, or several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum WorkspaceParam {
    Path(String),
    Roots { roots: Vec<String> },
}

impl WorkspaceParam {
    pub fn roots(&self) -> &[String] {
        match self {
            WorkspaceParam::Path(path) => std::slice::from_ref(path),
            WorkspaceParam::Roots { roots } => roots,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentsListParams {
    /// Lists this workspace's project agents too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceParam>,
    /// Also agents that another of the same name hides.
    pub include_hidden: bool,
    /// Also files that could not be loaded.
    pub include_invalid: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentsListResult {
    pub agents: Vec<AgentSummary>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolsListParams {
    /// Only the tools this agent's runs get.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolsListResult {
    /// In the order in which they are declared to models.
    pub tools: Vec<ListedTool>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedTool {
    #[serde(flatten)]
    pub declaration: ToolDeclaration,
    /// `builtin`, later `agent`, `discovered`, `mcp`, `client`.
    pub source: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunStartParams {
    /// Where the agent works: the boundary of its file tools.
    pub workspace: WorkspaceParam,
    pub agent: AgentName,
    /// The value of the input `prompt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Values of the agent's inputs by name.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub inputs: Map<String, Value>,
    #[serde(default)]
    pub limits: LimitsParams,
    /// Instead of the agent's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRef>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunStartResult {
    pub disposition: Disposition,
    pub run_id: RunId,
    pub session_id: SessionId,
    pub agent: AgentName,
    /// The last event the request caused. Attach with `from` one below the first to see it all, or `start`.
    pub seq: Seq,
}

/// What became of a request to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Disposition {
    Started,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunIdParams {
    pub run_id: RunId,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunWaitParams {
    pub run_id: RunId,
    /// At most 600,000; longer waits are repeated.
    #[schemars(range(max = 600_000))]
    pub timeout_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunWaitResult {
    pub run: RunRecord,
    /// The run has ended.
    pub done: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunCancelParams {
    pub run_id: RunId,
    /// For people, kept in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunCancelResult {
    pub run: RunRecord,
    /// The last event the request caused; missing when it caused none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<Seq>,
}

/// Where a subscription begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AttachFrom {
    /// After this `seq`.
    Seq(Seq),
    Word(FromWord),
}

impl Default for AttachFrom {
    fn default() -> AttachFrom {
        AttachFrom::Word(FromWord::Now)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum FromWord {
    /// A snapshot, then what happens.
    #[default]
    Now,
    /// Everything the log has, then what happens.
    Start,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionAttachParams {
    pub session_id: SessionId,
    /// A `seq` (exclusive), `"now"` or `"start"`.
    #[serde(default)]
    pub from: AttachFrom,
    /// Text while it is being written.
    #[serde(default)]
    pub deltas: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDetachParams {
    pub subscription: SubscriptionId,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DetachResult {
    /// False when there was no such subscription on this connection.
    pub detached: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventsListParams {
    #[serde(default)]
    pub filter: EventFilter,
    /// Exclusive; 0 = from the beginning.
    #[serde(default)]
    pub from: Seq,
    #[serde(default = "default_page")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: u32,
    /// When nothing matches yet: waits this long for the first. At most 60,000.
    #[serde(default)]
    #[schemars(range(max = 60_000))]
    pub wait_ms: u64,
}

fn default_page() -> u32 {
    100
}

/// Which events; an empty filter matches all.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EventFilter {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Types of events, e.g. `tool.state`; empty = all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventsListResult {
    /// A page of large events is shorter than `limit`. The next page begins after the last of these; an empty one says
    /// that nothing up to `head` matches any more.
    pub events: Vec<Envelope>,
    /// The newest `seq` of the whole log.
    pub head: Seq,
}
