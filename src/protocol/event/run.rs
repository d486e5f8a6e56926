//! What happens to sessions and runs as a whole.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::is_default;
use crate::{
    AgentName, ApprovalMode, BudgetLimits, CallId, CompletionMode, ContextId, EventSeq, OnBudget,
    PromptSources, PruningReason, RunApproval, RunEndReason, RunError, RunId, RunTracing, SamplingSettings,
    TraceContext, Usage, UsageTotal, UsdAmount,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionCreated {
    /// Absolute; the first is where relative paths begin.
    pub roots: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The agent of runs that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// How freely calls run where no rule speaks.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mode: ApprovalMode,
    /// Everything is removed when the session is closed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ephemeral: bool,
    /// The mode is the one of the settings: nobody named another.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mode_of_settings: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionUpdated {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub mode: ApprovalMode,
    /// What the system prompts of its later root runs end with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_append: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionClosed {}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDeleted {
    /// Events that were removed with it.
    pub events: u64,
    /// The newest of them: who had read up to there has missed nothing. Missing when there were none, and on what older versions
    /// wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seq: Option<EventSeq>,
    /// The limit of the settings `retention` that it was removed for; missing when somebody removed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pruned: Option<PruningReason>,
}

/// Limits of one run, resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunLimits {
    pub max_turns: u32,
    /// Active time; missing = unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_time_ms: Option<u64>,
    /// Usage of the run and of all below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// In US dollars, by the run and all below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<UsdAmount>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_budget: OnBudget,
    /// What the run above had left when it called this one, which asks for no more than that.
    #[serde(default, skip_serializing_if = "is_default")]
    pub inherited: BudgetLimits,
    pub grace_ms: u64,
    /// How deep below its root a run may stand; 0 = agents cannot be called as tools.
    #[serde(default = "default_max_depth")]
    pub max_depth: u32,
}

/// Spec 03, "Subagent calls".
pub fn default_max_depth() -> u32 {
    4
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunStarted {
    pub agent: AgentName,
    pub title: String,
    /// SHA-256 of the definition the run carries, as `sha256:<hex>`.
    pub digest: String,
    pub model: String,
    pub context_id: ContextId,
    /// The first user message, templates filled.
    pub query: String,
    /// The prompt as it was given; missing when only inputs were, and on a run that another called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Values of the agent's inputs, defaults filled in.
    pub inputs: Value,
    pub limits: RunLimits,
    pub completion: CompletionMode,
    /// How its questions are put.
    #[serde(default, skip_serializing_if = "is_default")]
    pub approval: RunApproval,
    /// 0 for a root run.
    pub depth: u32,
    /// The call of the parent run that this run answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_call_id: Option<CallId>,
    /// The run at the root of the tree; missing on the root itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_run_id: Option<RunId>,
    /// Which run of the tree: each agent's name with the number of its call within the caller, from the root on, e.g.
    /// `lead#1/reader#2`. The same every time the same things happen.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The span that the root run is part of, as whoever started it said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<TraceContext>,
    /// What the run is for.
    #[serde(default, skip_serializing_if = "is_default")]
    pub task: RunTask,
    /// Tokens that fit the model; missing = unknown to the daemon that wrote this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// What is done beside the turns.
    #[serde(default, skip_serializing_if = "is_default")]
    pub safeguards: Box<RunSafeguards>,
    /// Destinations of its spans.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tracing: Box<RunTracing>,
    /// The sources of what it is told before its first message. Missing in events of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_sources: Option<Box<PromptSources>>,
}

/// What a run is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RunTask {
    /// What its agent is for.
    #[default]
    Work,
    /// To compress the context (`session/compact`).
    Compact,
    /// To let the context begin anew (`session/clear`).
    Clear,
}

/// What a run's daemon does beside its turns, as settings and agent said when it began (spec 04).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RunSafeguards {
    /// The context is compressed when a prompt takes this part of the window; missing = not by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compress_at: Option<f64>,
    /// The model that summarises; missing = the run's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summariser: Option<NamedModel>,
    /// The model for small questions; missing = they are not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub small: Option<NamedModel>,
    /// The models that take over when the run's own cannot go on, in that order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<NamedModel>,
    /// The run's model is chosen of these by what is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto: Option<ModelTiers>,
    /// What the alias of the run's own model says of sampling, else its provider's entry.
    #[serde(skip_serializing_if = "is_default")]
    pub sampling: SamplingSettings,
    pub loop_calls: bool,
    pub loop_text: bool,
    pub loop_judge: bool,
    pub next_speaker: bool,
}

/// A model by its name, and the tokens that fit it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamedModel {
    pub name: String,
    pub context_window: u64,
    /// What its alias says of sampling, else its provider's entry.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sampling: SamplingSettings,
}

/// Two models for one run to choose from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelTiers {
    /// For what is easily answered.
    pub fast: NamedModel,
    /// For what needs thought.
    pub strong: NamedModel,
}

/// What a run waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum QueuedFor {
    /// Another run of its agent in this session: they share a context, so one goes after the other.
    Context,
    /// One of the places for runs at work (`maxConcurrentRuns`).
    Place,
    /// Everything that hooks say to its prompt.
    Hooks,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunQueued {
    #[serde(rename = "for")]
    pub waits_for: QueuedFor,
    /// It goes before every other that waits for the context.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub front: bool,
    /// What `run.started` will say; set on the first event of a run that has not begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Box<RunStarted>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunSteered {
    /// Names the message.
    pub steer_id: String,
    pub text: String,
    /// Missing on the first event of a message; set on the second: the turn that began with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
}

/// The reason why a run holds still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ParkReason {
    /// The disk is full.
    StorageFull,
    /// A question waits, and nobody is there who could answer it.
    Unattended,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunParked {
    pub reason: ParkReason,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunResumed {
    /// The daemon did not stop by itself: it crashed, was killed, or the machine went down.
    pub unclean: bool,
    /// The most of the time before this in which there may have been no daemon; missing when nobody knows, or there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub away_ms: Option<u64>,
}

/// What follows when every open call has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StopThen {
    /// One last turn in which only `complete_task` is offered.
    Grace,
    /// A person is asked whether the run may use more (spec 03, `onBudget`).
    Ask,
    End,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunStopping {
    pub reason: RunEndReason,
    pub then: StopThen,
    /// Set when the reason is `ERROR`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
    /// One sentence for people.
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunCompleted {
    pub reason: RunEndReason,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
    /// Why, in one sentence for people; of a cancelled run what whoever cancelled it said. Missing when it reached its
    /// goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// What there was when a run ended without a result: the pending result, else the last text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial_result: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recovered: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovered_from: Option<RunEndReason>,
    pub usage: Usage,
    /// What the runs below it used.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub child_usage: Usage,
    /// What its own models cost, as far as their prices are known; missing when none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<UsdAmount>,
    /// The same of the runs below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_cost: Option<UsdAmount>,
    /// Tokens of its own whose price nobody told.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unpriced_tokens: u64,
    /// The same of the runs below it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub child_unpriced_tokens: u64,
    /// Its requests of which the daemon estimated the tokens, or some of them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub estimated_requests: u64,
    /// Its requests of which nobody knows what they used, since they were cut off before anything had come of them, or as the daemon
    /// ended: `usage` and `cost` are without them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub uncounted_requests: u64,
    /// The same of the runs below it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub child_estimated_requests: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub child_uncounted_requests: u64,
    pub turns: u32,
    pub tool_calls: u32,
    pub files_changed: Vec<String>,
    pub active_ms: u64,
}

impl RunCompleted {
    /// Usage of the run and of all below it.
    pub fn spent(&self) -> UsageTotal {
        let mut spent = UsageTotal {
            usage: self.usage,
            cost: self.cost,
            unpriced_tokens: self.unpriced_tokens,
            estimated_requests: self.estimated_requests,
            uncounted_requests: self.uncounted_requests,
        };
        spent += UsageTotal {
            usage: self.child_usage,
            cost: self.child_cost,
            unpriced_tokens: self.child_unpriced_tokens,
            estimated_requests: self.child_estimated_requests,
            uncounted_requests: self.child_uncounted_requests,
        };
        spent
    }
}

fn is_nothing(usage: &Usage) -> bool {
    *usage == Usage::default()
}
