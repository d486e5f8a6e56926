//! Every method the daemon answers, in one table: dispatch, client and proto-docs all read it (spec 01).

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{RunRecord, SubscriptionId};

mod agent_files;
mod agents;
mod attachments;
mod confirmations;
mod connection;
mod daemon;
mod events;
mod extensions;
mod hooks;
mod ide;
mod mcp;
mod memory;
mod models;
mod programs;
mod prompts;
mod retention;
mod runs;
mod sessions;
mod settings;
mod skills;
mod tools;
mod traces;
mod usage;
mod worked_folders;

pub use agent_files::*;
pub use agents::*;
pub use attachments::*;
pub use confirmations::*;
pub use connection::*;
pub use daemon::*;
pub use events::*;
pub use extensions::*;
pub use hooks::*;
pub use ide::*;
pub use mcp::*;
pub use memory::*;
pub use models::*;
pub use programs::*;
pub use prompts::*;
pub use retention::*;
pub use runs::*;
pub use sessions::*;
pub use settings::*;
pub use skills::*;
pub use tools::*;
pub use traces::*;
pub use usage::*;
pub use worked_folders::*;

/// The protocol versions this daemon speaks; within one, only additions happen. Version 1 had other names for many fields, so
/// that a client of either would pass over what the other says, what a person is asked to agree to among it.
pub const PROTOCOL_VERSIONS: &[&str] = &["2"];

/// The longest message a client may send, in bytes (spec 11).
pub const MAX_MESSAGE_BYTES: usize = 4 << 20;
/// Requests a connection may have in flight (spec 11).
pub const MAX_IN_FLIGHT: usize = 1_000;
/// Subscriptions a connection may hold (spec 11).
pub const MAX_SUBSCRIPTIONS: usize = 64;
/// Requests of one connection that change something and may come at once, before they are limited by
/// [`MAX_EFFECTS_PER_SECOND`] (spec 11). Far above what a person or a plugin does, and below what fills a disk within
/// a minute.
pub const MAX_EFFECTS_AT_ONCE: u32 = 5_000;
/// Requests of one connection a second that change something, in the long run (spec 11).
pub const MAX_EFFECTS_PER_SECOND: u32 = 1_000;
/// Requests in one batch (spec 01).
pub const MAX_BATCH: usize = 100;

/// A method's name and types.
pub trait RpcMethod {
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
    /// Reads a value as these parameters and writes it again.
    pub reread_params: fn(&Value) -> serde_json::Result<Value>,
    /// Reads a value as this result and writes it again.
    pub reread_result: fn(&Value) -> serde_json::Result<Value>,
}

/// What a type keeps of a value: reads it and writes it again.
pub fn reread<T: Serialize + DeserializeOwned>(value: &Value) -> serde_json::Result<Value> {
    serde_json::to_value(T::deserialize(value)?)
}

macro_rules! methods {
    (@subscription subscription) => { true };
    (@subscription call) => { false };
    ($( $(#[doc = $doc:literal])+ $style:ident $name:literal => $method:ident($params:ty) -> $result:ty; )+) => {
        $(
            $(#[doc = $doc])+
            pub enum $method {}
            impl RpcMethod for $method {
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
            result: super::answer_schema::<$result>,
            reread_params: reread::<$params>,
            reread_result: reread::<$result>,
        }),+];

        /// True if a method answers with a subscription. Beside the table, which holds on to the schema of every
        /// method: a client that asks only this stays small.
        pub fn is_subscription(method: &str) -> bool {
            match method {
                $($name => methods!(@subscription $style),)+
                _ => false,
            }
        }
    };
}

methods! {
    /// Says who the client is and what it can do, and learns the same of the daemon. Optional: a script may
    /// call any method without it.
    call "initialize" => Initialize(InitializeParams) -> InitializeResult;
    /// Changes what the client said of itself in `initialize`, which must have been said.
    call "client/update" => ClientUpdate(ClientUpdateParams) -> ClientUpdateResult;
    /// Who is there: connections that said `initialize` or are attached to something, one entry each.
    call "client/list" => ClientList(ClientListParams) -> ClientListResult;
    /// Answers at once.
    call "ping" => Ping(NoParams) -> PingResult;
    /// The OpenRPC document of this daemon.
    call "rpc/discover" => RpcDiscover(NoParams) -> Value;
    /// How the daemon is: version, uptime, runs by state, clients, database, memory, what is degraded.
    call "daemon/status" => DaemonStatus(NoParams) -> DaemonStatusResult;
    /// Looks whether the daemon and its surroundings are as they should be: the database page by page, disk, settings,
    /// agents, keys, who may come in. Takes seconds when the database is large.
    call "daemon/doctor" => DaemonDoctor(DoctorParams) -> DoctorResult;
    /// Stops the daemon. A turn that is under way may end (setting `shutdown.graceSeconds`); live runs go on at the next
    /// start.
    call "daemon/shutdown" => DaemonShutdown(NoParams) -> ShutdownResult;
    /// Takes no new runs from now on, and brings those there are to rest. Answers when none is at work any more, or at
    /// the deadline.
    call "daemon/drain" => DaemonDrain(DrainParams) -> DrainResult;
    /// The daemon's own log, the newest lines first kept: what it would print, with secrets taken out.
    call "daemon/logs" => DaemonLogs(LogsParams) -> LogsResult;
    /// Removes the sessions that the settings `retention` do not keep, the one that was idle longest first, and gives their room back to
    /// the disk; or says which these are. Never one with a live run, an open question, or a client that is attached to it. The daemon does
    /// the same by itself every hour.
    call "daemon/gc" => DaemonGc(GcParams) -> GcResult;
    /// Reads the settings anew. What can be changed in a daemon that runs is changed, for whatever begins from now on.
    call "daemon/reload" => DaemonReload(NoParams) -> ReloadResult;
    /// Says how much the daemon logs, until it ends.
    call "daemon/setLogLevel" => DaemonSetLogLevel(SetLogLevelParams) -> SetLogLevelResult;
    /// The settings in force, each with where it was set.
    call "config/get" => ConfigGet(ConfigGetParams) -> ConfigGetResult;
    /// What models used, and what that cost: of a run with all below it, of a session, or since a moment; by model and by
    /// agent. What `models/test` uses stands in no log and is not counted.
    call "usage/get" => UsageGet(UsageGetParams) -> UsageGetResult;
    /// The models there are, as their providers tell them, each within seconds; and the names that the settings give to
    /// models. What one provider does not tell costs the others nothing.
    call "models/list" => ModelsList(ModelsListParams) -> ModelsListResult;
    /// Asks a model one short question, once, and for real: does it answer, how fast, and does it call a tool? What goes
    /// wrong on the way is data; `NO_MODEL` when the name means none.
    call "models/test" => ModelsTest(ModelsTestParams) -> ModelsTestResult;
    /// The servers of the Model Context Protocol that are configured, each in one line. None is started.
    call "mcp/list" => McpList(McpListParams) -> McpListResult;
    /// All that is known of them: errors, tools, restarts, the last that they complained of, how calls went.
    call "mcp/status" => McpStatus(McpStatusParams) -> McpStatusResult;
    /// Starts a server, or tries it at once when it waits to be tried. Answers when it is ready or away, which is data.
    call "mcp/connect" => McpConnect(McpServerParams) -> McpServerStatus;
    /// Stops a server, until somebody needs it. Calls that are under way fail.
    call "mcp/disconnect" => McpDisconnect(McpServerParams) -> McpServerStatus;
    /// Stops a server and starts it. Answers when it is ready or away.
    call "mcp/restart" => McpRestart(McpServerParams) -> McpServerStatus;
    /// Switches a server off in every workspace, or on again; also for the next daemon.
    call "mcp/setEnabled" => McpSetEnabled(McpSetEnabledParams) -> McpSetEnabledResult;
    /// Writes a server's entry into your settings, or into a workspace's, where the rest of the file stays as it is. In your
    /// settings it is in force when this is answered; in a workspace's it counts as acknowledged only when all of the file
    /// before was. A file with errors is not touched: `CONFLICT`; `ALREADY_EXISTS` without `force` when there is another entry
    /// of the name.
    call "mcp/add" => McpAdd(McpAddParams) -> McpWrittenResult;
    /// Takes a server's entry out of your settings, or of a workspace's, where the rest of the file stays as it is.
    call "mcp/remove" => McpRemove(McpRemoveParams) -> McpWrittenResult;
    /// Begins to sign in to a server over HTTP: answers where a person has to go with a browser of this machine, within ten
    /// minutes. With `waitMs` it begins nothing, and answers how it is with what was begun: as soon as that is over, or after
    /// this time. `CONFLICT` when the server does not ask for a sign-in, or its authorization server cannot be trusted.
    call "mcp/login" => McpLogin(McpLoginParams) -> McpLoginResult;
    /// Signs out of a server over HTTP: deletes its tokens and revokes them at the authorization server. Runs that use it are cut off.
    call "mcp/logout" => McpLogout(McpServerParams) -> McpLogoutResult;
    /// The prompts that a server has, or what one of them says. The server is started if it must be; `CONFLICT` when it is
    /// away.
    call "mcp/prompts" => McpPrompts(McpPromptsParams) -> McpPromptsResult;
    /// The resources that a server lists. The server is started if it must be; `CONFLICT` when it is away.
    call "mcp/resources" => McpResources(McpServerParams) -> McpResourcesResult;
    /// What one resource of a server holds. The server is started if it must be; `CONFLICT` when it is away.
    call "mcp/readResource" => McpReadResource(McpReadResourceParams) -> McpReadResourceResult;
    /// A small server that works, for whoever writes one, and its entry for the settings. With a `path` it is written there;
    /// `ALREADY_EXISTS` without `force` when there is another file.
    call "mcp/template" => McpTemplate(McpTemplateParams) -> McpTemplateResult;
    /// The agents there are, with where they come from and what is wrong with those that cannot be used.
    call "agents/list" => AgentsList(AgentsListParams) -> AgentsListResult;
    /// One agent: its definition, where it comes from, and what is wrong with it.
    call "agents/get" => AgentsGet(AgentsGetParams) -> AgentsGetResult;
    /// Writes a new agent's file: from a text, from fields, or from a template. It is live when this is answered, and a
    /// project's file that was written so counts as acknowledged.
    call "agents/create" => AgentsCreate(AgentsCreateParams) -> AgentWrittenResult;
    /// Changes an agent's file. What it said before goes to the trash.
    call "agents/update" => AgentsUpdate(AgentsUpdateParams) -> AgentWrittenResult;
    /// Puts an agent's file into the trash. Its runs and contexts stay readable, unless `contexts` says otherwise.
    call "agents/delete" => AgentsDelete(AgentsDeleteParams) -> AgentsDeleteResult;
    /// What agents can be made from: the daemon's own templates, and the user's.
    call "agents/templates" => AgentsTemplates(AgentsTemplatesParams) -> AgentsTemplatesResult;
    /// Brings in files of this and of other products, from paths or from a URL, written anew in the format of this one. Tells
    /// of each file what became of it; one that holds no agent keeps none of the others out. What a URL does not give is told by
    /// `details.reason`: `noGit`, `noSuchHost`, `unreachable`, `timedOut`, `notFound`, `needsPassword`, `refused`, `moved`,
    /// `tooLarge`, `noAgents`.
    call "agents/import" => AgentsImport(AgentsImportParams) -> AgentsImportResult;
    /// Writes agents in another product's words, and tells what that product cannot express. Nothing is saved.
    call "agents/export" => AgentsExport(AgentsExportParams) -> AgentsExportResult;
    /// Checks agents, one line a check.
    call "agents/validate" => AgentsValidate(AgentsValidateParams) -> AgentsValidateResult;
    /// A person has read this agent of a project: it may be started as it is now.
    call "agents/acknowledge" => AgentsAcknowledge(AgentsAcknowledgeParams) -> AgentsAcknowledgeResult;
    /// Which agent a prompt would go to that names none, and why.
    call "agents/route" => AgentsRoute(AgentsRouteParams) -> AgentRoute;
    /// Reads all files of agents anew, whatever is known of them: the user's, and those of a workspace. Saved files are live
    /// without it; this is for file systems that do not tell what changes.
    call "agents/reload" => AgentsReload(AgentsReloadParams) -> AgentsReloadResult;
    /// What the next run of an agent would be told before its first message, part by part. Nothing is started. `AGENT_NOT_READY`
    /// when a file that replaces the system prompt cannot be used.
    call "prompt/render" => PromptRender(PromptRenderParams) -> PromptRenderResult;
    /// The memory files that are there, of the user and of a workspace, and which of them runs are told of.
    call "memory/files" => MemoryFiles(MemoryFilesParams) -> MemoryFilesResult;
    /// The skills there are, those that do not count among them.
    call "skills/list" => SkillsList(SkillsListParams) -> SkillsListResult;
    /// One skill: what its file says, and which files it has.
    call "skills/get" => SkillsGet(SkillsGetParams) -> SkillsGetResult;
    /// Checks a skill's folder by the published rules (<https://agentskills.io/specification>). Nothing is used of it.
    call "skills/validate" => SkillsValidate(SkillsValidateParams) -> SkillsValidateResult;
    /// Switches a skill off everywhere, or on again: writes the setting `skills.disabled` of the user.
    call "skills/setEnabled" => SkillsSetEnabled(SkillsSetEnabledParams) -> SkillsSetEnabledResult;
    /// The extensions that are installed, and whether each counts.
    call "extension/list" => ExtensionList(NoParams) -> ExtensionListResult;
    /// One extension, and what it brings along.
    call "extension/get" => ExtensionGet(ExtensionNameParams) -> ExtensionGetResult;
    /// Installs an extension, or puts another version into the place of one: a folder in the format Agent Plugins 1.0.0
    /// (<https://github.com/agentplugins/agent-plugins-spec>). It is copied, and counts only as it was copied. By a person: first asked with
    /// `dryRun`, and then with the digest of what they were shown.
    call "extension/install" => ExtensionInstall(ExtensionInstallParams) -> ExtensionInstallResult;
    /// Enables an extension: its skills count from the next run on, its MCP servers as soon as somebody needs them.
    call "extension/enable" => ExtensionEnable(ExtensionNameParams) -> ExtensionSwitchResult;
    /// Disables an extension: from the next turn on, runs have none of its skills and tools.
    call "extension/disable" => ExtensionDisable(ExtensionNameParams) -> ExtensionSwitchResult;
    /// Removes an extension, with all that its programs wrote into their folder.
    call "extension/remove" => ExtensionRemove(ExtensionNameParams) -> ExtensionRemoveResult;
    /// Keeps what the editor of a person shows who works in a session: its root runs are told before their model is asked, all of it at
    /// first and later what has changed. It is gone with the connection, so not over HTTP. What is not told stands in the answer.
    call "ide/contextUpdate" => IdeContextUpdate(IdeContextUpdateParams) -> IdeContextUpdateResult;
    /// The tools there are, or those one agent gets.
    call "tools/list" => ToolsList(ToolsListParams) -> ToolsListResult;
    /// Runs a tool for a client, as a run of its own: by the same rules, questions and records as an agent's call.
    /// Refusals and failures are a result.
    call "tools/call" => ToolsCall(ToolsCallParams) -> ToolsCallResult;
    /// Lends tools of the client's own to agents, until its connection ends. They are called by the event
    /// `tool.clientCall`, so the client follows the sessions that they are lent to. Needs `initialize`, and a connection
    /// that stays: not HTTP.
    call "tools/register" => ToolsRegister(ToolsRegisterParams) -> ToolsRegisterResult;
    /// The client's answer to a `tool.clientCall`; it ends the call. `FORBIDDEN` to every other client, `GONE` when the
    /// call has ended otherwise.
    call "tools/result" => ToolsResult(ToolsResultParams) -> ToolsResultResult;
    /// All of an output of which the model got only head and tail, by page: whole characters from a place in bytes on.
    /// `NOT_FOUND` when nothing is kept of the call's output, `GONE` when what was kept has been removed since.
    call "tools/output" => ToolsOutput(ToolsOutputParams) -> ToolsOutputResult;
    /// The rules in force, and what is wrong with the files they come from.
    call "policy/list" => PolicyList(PolicyListParams) -> PolicyListResult;
    /// What would become of a call, and which rule says so. Nothing is run.
    call "policy/check" => PolicyCheck(PolicyCheckParams) -> PolicyCheckResult;
    /// Forgets a rule that was remembered from an answer.
    call "policy/remove" => PolicyRemove(PolicyRemoveParams) -> PolicyRemoveResult;
    /// The hooks of system, user and project: where each stands, what it runs, and whether it does.
    call "hooks/list" => HooksList(HooksListParams) -> HooksListResult;
    /// Switches a hook on or off for all runs from now on; also after a restart. `FORBIDDEN` for the system's.
    call "hooks/setEnabled" => HooksSetEnabled(HooksSetEnabledParams) -> HooksSetEnabledResult;
    /// Runs one hook by hand, with an event that is made up, and says what its answer would mean. It really runs; a file that
    /// nobody acknowledged does not.
    call "hooks/test" => HooksTest(HooksTestParams) -> HooksTestResult;
    /// A workspace, what it brings along, and whether a person has acknowledged that.
    call "workspace/open" => WorkspaceOpen(WorkspaceOpenParams) -> WorkspaceOpenResult;
    /// The workspaces about whose trust a person has spoken.
    call "workspace/list" => WorkspaceList(NoParams) -> WorkspaceListResult;
    /// Says whether a workspace's own agents, rules and settings count, as they are now.
    call "workspace/trust" => WorkspaceTrust(WorkspaceTrustParams) -> WorkspaceTrustResult;
    /// The programs that settings name (`approval.notifyCommand`, key commands, hooks and MCP servers of the user's own), with the
    /// files that they were first run with. One whose files changed since is not run, also after a restart.
    call "programs/list" => ProgramsList(NoParams) -> ProgramsListResult;
    /// A person has looked at a program that changed: it may be run as it is now.
    call "programs/acknowledge" => ProgramsAcknowledge(ProgramsAcknowledgeParams) -> ProgramsAcknowledgeResult;
    /// The folders in which agents work, or have worked, whatever became of their sessions. A program of the settings that is a script
    /// there is not run, and a hook of the user's own that has to do with files there runs in the sandbox.
    call "workedFolders/list" => WorkedFoldersList(NoParams) -> WorkedFoldersListResult;
    /// A person says that nothing in a folder is an agent's any more: what lies there may run with that person's rights. Refused
    /// (`CONFLICT`) while a session that is not deleted has it as one of its folders; `details.sessions` names the newest of them.
    call "workedFolders/forget" => WorkedFoldersForget(WorkedFoldersForgetParams) -> WorkedFoldersForgetResult;
    /// Starts a run, or queues it, or says something to the run that is busy. Answers when that is durable: the run
    /// will end exactly once, whatever dies. Without `sessionId` in a new session.
    call "run/start" => RunStart(RunStartParams) -> RunStartResult;
    /// One run's record.
    call "run/get" => RunGet(RunIdParams) -> RunRecord;
    /// Runs, newest first.
    call "run/list" => RunList(RunListParams) -> RunListResult;
    /// Waits until the run has ended, or with `until` until it or a run below it asks a person something, or until the
    /// time is over; a time-out is a normal answer. An answer of a run that goes on has its open questions, at most 32.
    call "run/wait" => RunWait(RunWaitParams) -> RunWaitResult;
    /// Stops a run: its tools and the runs below it end first. Answers when that is durable; cancelling a run that has
    /// ended answers its end state.
    call "run/cancel" => RunCancel(RunCancelParams) -> RunCancelResult;
    /// Says something to a living run; the model reads it at the next turn.
    call "run/steer" => RunSteer(RunSteerParams) -> RunSteerResult;
    /// Runs that wait for their turn in a context, in their order.
    call "queue/list" => QueueList(QueueListParams) -> QueueListResult;
    /// Takes a run out of its queue; it ends `ABORTED`.
    call "queue/remove" => QueueRemove(QueueRunParams) -> QueueRunResult;
    /// Puts a run before all others that wait for the same context.
    call "queue/promote" => QueuePromote(QueueRunParams) -> QueueRunResult;
    /// A parked run goes on; `CONFLICT` when it is not parked.
    call "run/unpark" => RunUnpark(RunIdParams) -> QueueRunResult;
    /// Questions to people that wait for an answer, oldest first; with `resolved` also those that are over. A page of long
    /// ones is shorter than `limit`.
    call "confirmation/list" => ConfirmationList(ConfirmationListParams) -> ConfirmationListResult;
    /// One question, by its id or by the token of a notification.
    call "confirmation/get" => ConfirmationGet(ConfirmationGetParams) -> ConfirmationGetResult;
    /// Tells others that somebody reads the question. A courtesy: anybody may still answer.
    call "confirmation/claim" => ConfirmationClaim(ConfirmationClaimParams) -> ConfirmationClaimResult;
    /// Takes that back.
    call "confirmation/release" => ConfirmationRelease(ConfirmationReleaseParams) -> ConfirmationReleaseResult;
    /// Answers a question. The first valid answer counts, and what it allows begins in the same transaction; a later one is
    /// `CONFIRMATION_ALREADY_RESOLVED` with the resolution, and the same client that says the same again gets its first
    /// answer. A connection that only looks on at the session (`observe`) is `FORBIDDEN`; one that is attached to nothing
    /// may answer, since the socket has proved whose user it is, or the bearer token has. With a `token`, which also
    /// `POST /confirm/<token>` over TCP takes, everything may be answered that is offered but `modify`. Never refused for
    /// load.
    call "confirmation/respond" => ConfirmationRespond(ConfirmationRespondParams) -> ConfirmationRespondResult;
    /// Opens a session in a workspace.
    call "session/create" => SessionCreate(SessionCreateParams) -> SessionCreateResult;
    /// Sessions, the one that was active last first.
    call "session/list" => SessionList(SessionListParams) -> SessionListResult;
    /// One session with its contexts.
    call "session/get" => SessionGet(SessionIdParams) -> SessionGetResult;
    /// What the agent of a context has been told and has said, in order.
    call "session/history" => SessionHistory(SessionHistoryParams) -> SessionHistoryResult;
    /// Lets the models of a session's contexts read a summary of what lies long back, without `agent` of all contexts. Waits
    /// for the runs before it, and for the end. The history keeps every message.
    call "session/compact" => SessionCompact(SessionContextParams) -> SessionCompactResult;
    /// Lets them begin anew. The history keeps every message.
    call "session/clear" => SessionClear(SessionContextParams) -> SessionClearResult;
    /// Changes what a session is called, or its default agent.
    call "session/update" => SessionUpdate(SessionUpdateParams) -> SessionChangeResult;
    /// Ends a session's runs and takes no more; its history stays readable, but an ephemeral session is removed.
    call "session/close" => SessionClose(SessionIdParams) -> SessionChangeResult;
    /// Removes a session and everything in it. Refused while a run of it lives.
    call "session/delete" => SessionDelete(SessionIdParams) -> SessionDeleteResult;
    /// Follows a session, or with `"*"` all: what is (a snapshot, or the events from a cursor on), then what happens,
    /// without gap or repeat. Those who are attached to the same session are told of it by `signal.presence`.
    subscription "session/attach" => SessionAttach(SessionAttachParams) -> SubscriptionId;
    /// Ends an attachment.
    call "session/detach" => SessionDetach(SessionDetachParams) -> DetachResult;
    /// Puts back files that calls of the session changed, byte for byte.
    call "session/undo" => SessionUndo(SessionUndoParams) -> SessionUndoResult;
    /// Follows the log: the events from a place on, `signal.caughtUp`, then what happens, without gap or repeat. A session
    /// or run that never was is refused, so that a slip of the pen is not waited for.
    subscription "events/subscribe" => EventsSubscribe(EventsSubscribeParams) -> SubscriptionId;
    /// Ends a subscription.
    call "events/unsubscribe" => EventsUnsubscribe(EventsUnsubscribeParams) -> UnsubscribeResult;
    /// Acknowledges everything up to a `seq` for the subscription's consumer. Answers when that is durable.
    call "events/ack" => EventsAck(EventsAckParams) -> EventsAckResult;
    /// The log by page.
    call "events/list" => EventsList(EventsListParams) -> EventsListResult;
    /// Traces, newest first: each is a run that a client started, with all runs below it.
    call "trace/list" => TraceList(TraceListParams) -> TraceListResult;
    /// The spans of a run and of all below it, in the order in which they ended; those that are still open come last. They
    /// are computed from the log, so every run has them.
    call "trace/get" => TraceGet(TraceGetParams) -> TraceGetResult;
    /// A trace as a document, piece by piece: the texts of all pages, one after the other, are it.
    call "trace/export" => TraceExport(TraceExportParams) -> TraceExportResult;
}

/// No parameters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoParams {}

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

/// Names one effect across repeats of a request: 8 to 128 characters, kept for 24 hours and as long as its run. The
/// same key with the same parameters answers the first result with `replayed: true`, with others
/// `IDEMPOTENCY_CONFLICT`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct IdempotencyKey(#[schemars(length(min = 8, max = 128))] pub String);

/// True if an answer is that of an earlier request with the same `idempotencyKey`.
fn is_not(replayed: &bool) -> bool {
    !replayed
}

fn default_page() -> u32 {
    100
}

/// Tells `null` from a missing field.
fn given<'de, D: serde::Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// True if a field says nothing that is not so without it; such a one is not sent, e.g. to an older daemon.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
