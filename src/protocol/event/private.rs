//! What the log keeps and clients never see.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AgentDefinition, CallId, ClientToolCall, ContextMessage, ForeignTools, HookSource, IdeContext,
    McpServerTools, MessagePart, ReplaySafety, ResourceAccess, RunId, SamplingSettings, ToolCall, ToolKind,
    Usage, UsdAmount,
};

/// The face of an event that clients never see. A field is set on the types its comment names.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PrivateEventFields {
    /// Every event of a run: its active time so far, in microseconds.
    #[serde(skip_serializing_if = "is_zero")]
    pub active_us: u64,
    /// `run.started`, and a `run.queued` before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<Box<RunSeed>>,
    /// `model.completed`, `context.nudged`, `run.steered` with its turn, and `turn.started` of a grace turn: what joins
    /// the context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<ContextMessage>,
    /// `tool.state` to `scheduled`: what `fold` needs to know of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<JudgedCall>,
    /// `tool.state` of an accepted `complete_task` to `scheduled`: the result that ends the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion: Option<CompletionResult>,
    /// `tool.state` that ends a call which another agent answered: what its run used, with all below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child_usage: Option<Usage>,
    /// The same: what it cost as far as prices are known, and the tokens whose price is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child_cost: Option<UsdAmount>,
    #[serde(skip_serializing_if = "is_zero")]
    pub child_unpriced_tokens: u64,
    /// The same: its requests whose tokens are estimated, and those of which nobody knows what they used.
    #[serde(skip_serializing_if = "is_zero")]
    pub child_estimated_requests: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub child_uncounted_requests: u64,
    /// `run.toolsChanged`: what the run's servers told of their tools, in place of what its first event says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served: Option<Vec<McpServerTools>>,
    /// `tool.state` that ends a call: what its result tells of memory files of sub-folders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<FolderMemory>,
    /// `tool.state` that ends a call: parts at the end of its result that are none of the tool's: memory files of sub-folders, and what hooks
    /// added before the call ran. Hooks that read or replace the result leave them.
    #[serde(skip_serializing_if = "is_zero")]
    pub beside_result: u64,
    /// `ide.contextShared`: what the context knows of the editor from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub editor: Option<IdeContext>,
    /// `context.compressed`: what became of the context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compaction: Option<Box<Compaction>>,
    /// `hook.fired`, and `run.completed`: what hooks led to, beside the events that follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hooked: Option<Box<HookEffect>>,
}

/// A point of a run at which hooks are asked, once. Each is known from the run's state, so that what was asked when the daemon died
/// is asked again under the same name, and what was answered is not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "at", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum HookPoint {
    /// The run is about to begin: its session's start, and its prompt.
    Begin,
    /// Something was said to the run while it worked.
    Steer { id: String },
    /// A call has ended, and its model has not read the result.
    CallEnded { call: CallId },
    /// All calls of the turn have ended.
    TurnEnded { turn: u32 },
    /// The run is about to reach its goal, for the n-th time, from 1.
    Goal { n: u32 },
    /// The context is about to be compressed, before the n-th question of the daemon's own, from 1.
    Compaction { n: u32 },
}

/// Everything that hooks did at a point of a run, as the machine folds it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookEffect {
    /// Every hook of this point has answered. Missing at a call that is judged: the call's next state says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settles: Option<HookPoint>,
    /// Everything that the model reads of the results of these calls.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<CallId, Vec<MessagePart>>,
    /// The call that is made next, and whose result the model reads in place of the one that has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow_up: Option<ToolCall>,
    /// Set if it does not happen after all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blocks: bool,
    /// Everything that the model is told as soon as it is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Everything that it is told with its next turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub later: Option<String>,
    /// `run.completed`: what was said to the run and hooks had no say on. It joins no context.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unheard: Vec<String>,
}

/// A prompt of an MCP server, or a skill, that a person named for a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptExpansion {
    pub kind: PromptExpansionKind,
    /// The prompt's or the skill's name.
    pub name: String,
    /// The arguments of a prompt, each as `NAME=VALUE`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// The server of a prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PromptExpansionKind {
    McpPrompt,
    Skill,
}

/// Memory files of sub-folders of which a context was told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FolderMemory {
    pub folders: Vec<String>,
    /// The files themselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The length of what they say.
    pub bytes: u64,
}

/// What a compression makes of a context, as its model reads it. The messages themselves stay where they are said.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Compaction {
    /// What stands in place of the older messages; empty = all of them stay.
    pub opening: Vec<ContextMessage>,
    /// With an opening: how many of the newest messages stay.
    pub kept: usize,
    /// What the model reads of the results of these calls.
    pub outputs: BTreeMap<CallId, Vec<MessagePart>>,
    /// The calls by which skills were activated that count no longer: they are not told again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outdated_skills: Vec<CallId>,
}

/// What a valid `complete_task` hands in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompletionResult {
    /// As text, formatted as the agent's `output` says.
    pub result: String,
    /// Typed, for an agent with `output`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// What a run carries from its first event on.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunSeed {
    pub definition: AgentDefinition,
    /// Templates filled.
    pub system: String,
    /// What the workspace says, before the history in each request; of the run alone, so its context's history does not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextMessage>,
    /// The initial messages and the query, templates filled.
    pub messages: Vec<ContextMessage>,
    pub roots: Vec<String>,
    pub sampling: SamplingSettings,
    /// Of the tools from elsewhere those that it was planned with.
    #[serde(default, skip_serializing_if = "ForeignTools::is_empty")]
    pub foreign: ForeignTools,
    /// The file into which its model's replies are recorded, so that they still are after a restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
    /// Everything that its prompt was made of, or came with, that a person named instead of writing it: hooks are asked about each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expansions: Vec<PromptExpansion>,
    /// The files of workspaces that its agent, and those that called it, come from.
    #[serde(default, skip_serializing_if = "AgentProvenance::is_of_no_workspace")]
    pub provenance: AgentProvenance,
}

/// Files of workspaces that the agents of a run come from; what they let a run do unasked counts while people trust them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentProvenance {
    /// The file of the run's agent; missing of one that is built in, or a person's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<AcknowledgedAgentFile>,
    /// The files of the agents that called it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<AcknowledgedAgentFile>,
}

impl AgentProvenance {
    /// True if neither the agent nor any that called it is a workspace's.
    pub fn is_of_no_workspace(&self) -> bool {
        self.own.is_none() && self.callers.is_empty()
    }

    /// All of them.
    pub fn files(&self) -> impl Iterator<Item = &AcknowledgedAgentFile> {
        self.own.iter().chain(&self.callers)
    }
}

/// A workspace's file, in the state in which an agent was started from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AcknowledgedAgentFile {
    /// Canonical.
    pub root: String,
    /// Below the root.
    pub path: String,
    /// `sha256:…`
    pub digest: String,
}

/// What judging found out about a call, kept so that the machine folds from events alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JudgedCall {
    pub kind: ToolKind,
    pub accesses: Vec<ResourceAccess>,
    pub replay: ReplaySafety,
    /// A digest of what the call would change, as it is and as it would be, where the arguments do not say it all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<String>,
    /// It puts something out while it runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub streams: bool,
    /// The run that answers the call, when the tool is an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<RunId>,
    /// What the client is told that answers the call, when a client lends the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lent: Option<ClientToolCall>,
    /// Everything that hooks said of the call before it was judged; they are not asked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hooks: Option<Arc<CallHooks>>,
}

/// Everything that hooks said of a call before it was judged (spec 08, "Hooks").
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CallHooks {
    /// A person is to be asked, also where the rules would let the call run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<HookAsk>,
    /// The arguments that it has now, where hooks changed them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// The person who made these arguments; missing where a hook did, or changed what a person had made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edited_by: Option<String>,
    /// These held a secret, so that the call cannot be prepared from here.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// Meant for the model, with the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// They were asked about the question, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advised: Option<HookAdvice>,
}

/// A hook wants a person to be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookAsk {
    /// The id in `hooks/list`.
    pub hook: String,
    pub source: HookSource,
    pub reason: String,
}

/// Hooks were asked about a question before it was put to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookAdvice {
    /// Only of the question's subject: about another one they are asked again.
    pub digest: String,
    /// The hook that may answer the question in the person's place, and does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_by: Option<String>,
}
