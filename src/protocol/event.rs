//! Events: what the log holds and what subscribers see (spec 01, "Events").
//!
//! An event has two faces. `data` is what clients see, byte for byte as stored. [`PrivateEventFields`] is what they never
//! see: provider blocks, accesses, the definition a run carries. Bodies only grow: new fields have defaults,
//! readers skip what they do not know.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    AgentName, CallId, CallState, ClientId, ConfirmationEdited, ConfirmationRequested, ConfirmationResolved,
    ConfirmationRevised, ExtensionChanged, ExtensionRef, FileChanged, FileRestored, FinishReason,
    FolderForgotten, MemorySaved, OnDisconnect, PolicyChanged, ProgramNoted, Risk, RuleOrigin, RunEndReason,
    RunId, RunWaiting, Timestamp, TodoItem, ToolError, ToolKind, ToolName, ToolResult, Usage, UsageTotal,
    UsdAmount, WorkspaceTrusted, reread,
};

mod agents;
mod hooks;
mod ide;
mod mcp;
mod private;
mod run;
mod safeguards;
mod skills;
mod told;

pub use agents::*;
pub use hooks::*;
pub use ide::*;
pub use mcp::*;
pub use private::*;
pub use run::*;
pub use safeguards::*;
pub use skills::*;
pub use told::{PromptFile, PromptSources, SystemPromptSource};

macro_rules! events {
    ($($(#[doc = $doc:literal])+ $text:literal => $name:ident;)+) => {
        /// What happened. Each variant's data is what clients see as `data`.
        #[derive(Debug, Clone, PartialEq)]
        pub enum EventBody { $($(#[doc = $doc])+ $name($name)),+ }

        impl EventBody {
            /// The event's `type`.
            pub fn type_name(&self) -> &'static str {
                match self { $(EventBody::$name(_) => $text),+ }
            }

            /// The bytes that are stored and sent as `data`.
            pub fn data_json(&self) -> serde_json::Result<String> {
                match self { $(EventBody::$name(data) => serde_json::to_string(data)),+ }
            }

            /// Reads stored bytes; `None` for a type this version does not know.
            pub fn parse(type_name: &str, data: &str) -> serde_json::Result<Option<EventBody>> {
                match type_name {
                    $($text => serde_json::from_str(data).map(|data| Some(EventBody::$name(data))),)+
                    _ => Ok(None),
                }
            }
        }

        $(impl From<$name> for EventBody {
            fn from(data: $name) -> EventBody {
                EventBody::$name(data)
            }
        })+

        /// Every durable event type, for the docs.
        pub const EVENTS: &[EventDoc] = &[$(EventDoc {
            name: $text,
            doc: concat!($($doc, "\n"),+),
            data: super::answer_schema::<$name>,
            reread: reread::<$name>,
        }),+];
    };
}

/// One row of the event table in proto-docs.
pub struct EventDoc {
    pub name: &'static str,
    pub doc: &'static str,
    pub data: fn() -> Schema,
    /// Reads a value as this data and writes it again.
    pub reread: fn(&Value) -> serde_json::Result<Value>,
}

events! {
    /// A session was opened.
    "session.created" => SessionCreated;
    /// What people call a session, or its default agent, changed; the data is how it is now.
    "session.updated" => SessionUpdated;
    /// A session takes no more work. Its runs have ended before.
    "session.closed" => SessionClosed;
    /// A session and everything in it was removed; of its events only this one is left.
    "session.deleted" => SessionDeleted;
    /// A run waits: for its turn in its context, or for one of the places that runs share. A run that waits before it
    /// begins carries everything it needs in this event.
    "run.queued" => RunQueued;
    /// A run began. Everything it needs is in this event; editing files changes nothing for it.
    "run.started" => RunStarted;
    /// Somebody said something to a living run. The first event of a message says that it is kept, the second in which
    /// turn the model got it.
    "run.steered" => RunSteered;
    /// The run holds still: nothing can be written. It goes on by itself, which `run.resumed` tells.
    "run.parked" => RunParked;
    /// The run goes on: the daemon was restarted while it was alive, or it was parked.
    "run.resumed" => RunResumed;
    /// The run stops: open calls end first, then comes the grace turn or the end.
    "run.stopping" => RunStopping;
    /// The run is over. Exactly one a run, and nothing of the run after it.
    "run.completed" => RunCompleted;
    /// The servers of the run's tools tell of other ones than they did when it began.
    "run.toolsChanged" => RunToolsChanged;
    /// A turn began: one model call and the tool calls it asks for.
    "turn.started" => TurnStarted;
    /// Every call of the turn has ended.
    "turn.completed" => TurnCompleted;
    /// The model was asked.
    "model.started" => ModelStarted;
    /// The model failed in passing and will be asked again; clients drop the partial text.
    "model.retrying" => ModelRetrying;
    /// The model answered; `text` is the whole.
    "model.completed" => ModelCompleted;
    /// What the model thought.
    "thought" => ModelThought;
    /// A message of the daemon's own was added to the context, to put the model back on its way.
    "context.nudged" => ContextNudged;
    /// The model was given the context of the editor (IDE) of the person who asks: what it shows, or what has changed there.
    "ide.contextShared" => IdeContextShared;
    /// A side call began: the daemon itself asks a model, for something beside the turns. One at a time; the run goes on once it is
    /// over.
    "sideCall.started" => SideCallStarted;
    /// A side call is over: what the model answered, and what that used. It may have taken several requests, or none.
    "sideCall.completed" => SideCallCompleted;
    /// The run's model cannot go on, and the next one of `models.fallback` takes over.
    "model.fallback" => ModelFallback;
    /// The run's model was to be chosen by what is asked for (`auto`), and is this one.
    "model.routed" => ModelRouted;
    /// The older part of a context was replaced by a summary for its model, or why not. The history keeps every message.
    "context.compressed" => ContextCompressed;
    /// The context begins anew for its model. The history keeps every message.
    "context.cleared" => ContextCleared;
    /// The run goes round in circles.
    "loop.detected" => LoopDetected;
    /// Four fifths of a budget are used up. Once a run and budget, and once more after it was raised.
    "budget.warning" => BudgetWarning;
    /// A person allowed the run more than its budget, and it goes on.
    "budget.raised" => BudgetRaised;
    /// A tool call changed its state. The descriptive fields are on the first, result or error on the last.
    "tool.state" => ToolState;
    /// A client that lends the tool is asked to answer a call by `tools/result`; stands right after `executing`. Everybody
    /// sees it, and the client under `clientId` acts on it. Told again when that client was away meanwhile, or the daemon:
    /// under its `callId` it is the same call.
    "tool.clientCall" => ToolClientCall;
    /// The run's plan was replaced as a whole; stands right before the end of the call that did it.
    "todos.updated" => TodosUpdated;
    /// A call waits for a person. Everything that is needed to answer is in it.
    "confirmation.requested" => ConfirmationRequested;
    /// The question is another one now: an answer to the older one is stale.
    "confirmation.revised" => ConfirmationRevised;
    /// A person has changed the call that is asked about, and hooks are asked about that first.
    "confirmation.edited" => ConfirmationEdited;
    /// The question is over, and this is who decided what. Exactly one each.
    "confirmation.resolved" => ConfirmationResolved;
    /// Every open call of the run waits for a person, directly or through a run it called; or not any more. Meanwhile its
    /// clock stands still.
    "run.waiting" => RunWaiting;
    /// A hook has been at work for a second and goes on; of one that answers sooner only `hook.fired` tells.
    "hook.started" => HookStarted;
    /// A hook was asked or told at a point of the run. What came of it stands in the same transaction.
    "hook.fired" => HookFired;
    /// A call changed a file. Stands right before the call's end.
    "file.changed" => FileChanged;
    /// A change was undone.
    "file.restored" => FileRestored;
    /// A fact was written to a memory file.
    "memory.saved" => MemorySaved;
    /// A model was given a skill. Stands right before the end of the call that asked for it, or behind the run's first event.
    "skill.activated" => SkillActivated;
    /// Other rules hold from now on.
    "policy.changed" => PolicyChanged;
    /// A person said whether a workspace's own agents, rules and settings count.
    "workspace.trusted" => WorkspaceTrusted;
    /// A program that the settings name may be run with these files, and with no others in their place: it is run for the first
    /// time, or a person has acknowledged what changed.
    "program.noted" => ProgramNoted;
    /// A person said that nothing in a folder is an agent's any more, though agents have worked there.
    "folder.forgotten" => FolderForgotten;
    /// A person installed, enabled, disabled or removed an extension. What it brings along counts from the next run and turn on.
    "extension.changed" => ExtensionChanged;
    /// Settings were read anew, and these have other values than before.
    "config.changed" => ConfigChanged;
    /// Agents' files were saved, came or went: the user's, or those of a workspace that is in use. What begins from now on is
    /// as they say; what has begun keeps what it began with. What people trust is told by `workspace.trusted`.
    "agents.changed" => AgentsChanged;
    /// A server of the Model Context Protocol is there now, or is not.
    "mcp.serverState" => McpServerStateChanged;
    /// A server told its tools, at first or because they changed.
    "mcp.toolsChanged" => McpToolsChanged;
    /// A prompt that named no agent went to one, by its triggers or because it is the usual one.
    "route.selected" => RouteSelected;
    /// Something is not as its author thinks, and the work goes on.
    "warning" => DaemonWarning;
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnStarted {
    /// 1-based.
    pub turn: u32,
    /// Set on the grace turn: the limit that was hit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace: Option<RunEndReason>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnCompleted {
    pub turn: u32,
    pub tool_calls: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelStarted {
    pub model: String,
    /// Names the text's stream in deltas; new at every attempt.
    pub stream: String,
    /// 1-based within the turn.
    pub attempt: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelRetrying {
    /// The stream whose text no longer counts.
    pub stream: String,
    /// The attempt that follows.
    pub attempt: u32,
    pub not_before: Timestamp,
    /// The daemon was restarted while the model answered; counts as no failure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restarted: bool,
    /// Text of the failed attempt was shown, or may have been (after a crash).
    pub discarded: bool,
    /// Why.
    pub message: String,
    /// The model of the failed attempt, where `usage` says what that took, or the daemon was restarted and nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the failed attempt took: counted like a reply's, and estimated where something of a reply had come that its provider
    /// had not counted. Missing = nothing had come, and it counts nothing, or nobody knows (`usageUnknown`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What that cost; missing = the model's price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<UsdAmount>,
    /// Some of `usage` is the daemon's estimate: the attempt failed before the provider had counted all of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// The response broke off before anything had come, or the daemon was restarted: nobody knows what the attempt took, and it may have
    /// cost something.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub usage_unknown: bool,
    /// The same as in `model.completed`, of the failed attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token_ms: Option<u64>,
}

impl ModelRetrying {
    /// By the failed attempt.
    pub fn spent(&self) -> UsageTotal {
        let counted = self.usage.map(|usage| UsageTotal::of(usage, self.cost)).unwrap_or_default();
        counted.marked(self.estimated, self.usage_unknown)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelCompleted {
    pub stream: String,
    pub model: String,
    /// The whole text; the stream's text deltas add up to it.
    pub text: String,
    /// The text was cut: the run was stopped while it streamed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    pub finish_reason: Option<FinishReason>,
    pub usage: Usage,
    /// The provider did not say what it counted, or not all of it as the reply was cut off: `usage` is the daemon's estimate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// The request was cut off before anything had come of it: `usage` is 0 and `cost` missing, and nobody knows what it cost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub usage_unknown: bool,
    /// Missing when nobody told the model's price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<UsdAmount>,
    /// Milliseconds from the request to the first that came of the reply: text, thoughts or calls. Missing when nothing came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token_ms: Option<u64>,
    /// Ids of the tool calls it asks for, in order.
    pub calls: Vec<CallId>,
    /// The failure of the request of a last turn, for which there is no further one: the run ends for the reason that it had before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl ModelCompleted {
    /// Usage of the reply.
    pub fn spent(&self) -> UsageTotal {
        UsageTotal::of(self.usage, self.cost).marked(self.estimated, self.usage_unknown)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelThought {
    pub stream: String,
    /// Its first `**bold**` span, else its first line.
    pub subject: String,
    /// The whole; the stream's thought deltas add up to it.
    pub text: String,
}

/// A place a call touches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallLocation {
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolState {
    pub call_id: CallId,
    /// Missing on the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<CallState>,
    pub to: CallState,
    pub name: ToolName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_call_id: Option<String>,
    /// On the first, and again when validation made them canonical.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// From `scheduled` on its first event only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<CallDetails>,
    /// On `executing` of a call that another agent answers: its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_run_id: Option<RunId>,
    /// On `executing` of a call that may put something out while it runs, as `tool.output`; one that an agent answers does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub streams: bool,
    /// On the end of a call that put something out while it ran: all that was streamed as `tool.output`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ToolResult>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ToolError>,
    /// On the end of a call that a rule forbade: that rule, named as in `details`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied_by: Option<String>,
    /// The word that this rule goes back to, where it stands in no file: that of a mode, say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied_origin: Option<RuleOrigin>,
    /// On the end of a call about whose result hooks are asked: the model reads it, or another text in its place, when they have
    /// answered. The last of their `hook.fired` says `settlesResult`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub awaits_hooks: bool,
}

impl ToolState {
    /// Of one that says `executing`: whether a text is open from here on, of what the call puts out.
    pub fn puts_out(&self) -> bool {
        self.streams || self.child_run_id.is_some()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolClientCall {
    pub call_id: CallId,
    /// The client that lends the tool.
    pub client_id: ClientId,
    pub name: ToolName,
    /// They fit the tool's parameters.
    pub arguments: Value,
    pub on_disconnect: OnDisconnect,
    /// How long the client may take.
    pub timeout_ms: u64,
    /// It was told before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redelivered: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TodosUpdated {
    /// The call of `write_todos`.
    pub call_id: CallId,
    /// The whole list; empty when there is no plan any more.
    pub todos: Vec<TodoItem>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DaemonWarning {
    /// What is wrong, where, and what to do.
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigChanged {
    /// Their keys; `config/get` has the values.
    pub changed: Vec<String>,
    /// Of these, what counts only when the daemon starts the next time.
    pub needs_restart: Vec<String>,
}

/// What validation found out about a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallDetails {
    /// Of the tool, for people.
    pub title: String,
    /// Of this call, for people, e.g. the path it reads.
    pub description: String,
    pub kind: ToolKind,
    pub risk: Risk,
    pub locations: Vec<CallLocation>,
    /// The rule that lets it run, or that has a person asked, e.g. `builtin:risk=safe`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The word that it goes back to, where the rule stands in no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_origin: Option<RuleOrigin>,
    /// The extension that brings its tool along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<ExtensionRef>,
}

/// What observers of subagents care about (spec 01); what belongs to it stands in `data`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SubagentActivity {
    ToolCallStart,
    ToolCallEnd,
    ThoughtChunk,
    Error,
}

/// Envelope fields beside `seq`, `at`, `type`, ids and `data`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EventHead {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_run_id: Option<RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// From the root run's agent to this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agent_path: Vec<AgentName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// `<runId>#<turn>`: the same in events, traces and logs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<SubagentActivity>,
    /// Who caused it, when it was a client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// True if a field says nothing that is not so without it.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
