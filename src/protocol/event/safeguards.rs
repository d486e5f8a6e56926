//! What the daemon does beside a run's turns, so that it neither overflows nor goes round in circles nor costs without
//! bound (spec 04).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_false;
use crate::{BudgetLimits, CallId, SamplingSettings, Timestamp, Usage, UsageTotal, UsdAmount};

/// What a model is asked for by the daemon itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SideCallPurpose {
    /// A summary of a history that got too long, and a second look at it.
    Compression,
    /// Whether a run goes round in circles.
    LoopCheck,
    /// Whether the model has said all that it wanted.
    NextSpeaker,
    /// Which model fits what was asked for.
    Routing,
    /// What pages of the web say that a call of `web_fetch` was asked about.
    WebFetch,
    /// What a provider finds on the web for a call of `web_search`.
    WebSearch,
    /// What a server asks that is at a call, and a person has allowed.
    McpSampling,
    /// Everything that a hook asks about an event.
    Hook,
}

impl SideCallPurpose {
    /// For people.
    pub fn as_str(self) -> &'static str {
        match self {
            SideCallPurpose::Compression => "compression",
            SideCallPurpose::LoopCheck => "loop check",
            SideCallPurpose::NextSpeaker => "next speaker",
            SideCallPurpose::Routing => "routing",
            SideCallPurpose::WebFetch => "web fetch",
            SideCallPurpose::WebSearch => "web search",
            SideCallPurpose::McpSampling => "sampling for a server",
            SideCallPurpose::Hook => "hook",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SideCallStarted {
    pub purpose: SideCallPurpose,
    /// Missing where none is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Of a compression: it was asked for, or there is no other way to go on.
    #[serde(default, skip_serializing_if = "is_false")]
    pub forced: bool,
    /// Of a compression: no summary, but tool outputs are cut, all but the ends of them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub outputs_only: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SideCallCompleted {
    pub purpose: SideCallPurpose,
    /// Of a question that a tool asked: its call, with whose end this is told. No `sideCall.started` came before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    pub model: String,
    pub usage: Usage,
    /// The provider did not say what the answer took, or not all of it as the answer was cut off: `usage` is the daemon's estimate.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub estimated: bool,
    /// A request was cut off before anything had come of it: `usage` is without it, and nobody knows what it cost.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub usage_unknown: bool,
    /// Nobody waited for the answer any more: the run was stopped, or came to its end, or asks the same once more after a restart.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub abandoned: bool,
    /// Missing when nobody told the model's price, or `usageUnknown` says that nothing was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<UsdAmount>,
    /// What it answered, whole.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Of a loop check: how sure the model is that the run goes round in circles, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// The reason why there is no answer that counts; nothing came of it then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The time of the request, and how long it took: only where a tool or a hook asked or it was given up, and not in events of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The firing and the id of the hook that asked, as in the `hook.fired` that follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firing_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook_id: Option<String>,
}

impl SideCallCompleted {
    /// Usage of the question, all its tries together.
    pub fn spent(&self) -> UsageTotal {
        UsageTotal::of(self.usage, self.cost).marked(self.estimated, self.usage_unknown)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelFallback {
    pub from: String,
    /// The run goes on with this one, to its end.
    pub to: String,
    /// What was wrong with the one before.
    pub message: String,
    /// Tokens that fit the new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// What the new one's alias or entry says of sampling; missing = it samples as the run's first model did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingSettings>,
}

/// Who said which model serves a run whose model is `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RoutedBy {
    Classifier,
    /// The classifier said nothing that counts.
    Default,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelRouted {
    pub model: String,
    pub by: RoutedBy,
    /// The classifier's, or why it has no say.
    pub reason: String,
    /// Tokens that fit the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// What its alias or entry says of sampling; missing = it samples as the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingSettings>,
}

/// What a compression came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum CompressionStatus {
    Compressed,
    /// There was nothing that could be left out; or a hook kept it from that, and `message` says so.
    Noop,
    /// It would have been longer than before. Nothing is compressed by itself in this context until somebody asks for it.
    CompressionFailedInflatedTokenCount,
    /// The summariser gave no summary.
    CompressionFailedEmptySummary,
}

impl CompressionStatus {
    /// The spelling on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            CompressionStatus::Compressed => "COMPRESSED",
            CompressionStatus::Noop => "NOOP",
            CompressionStatus::CompressionFailedInflatedTokenCount => {
                "COMPRESSION_FAILED_INFLATED_TOKEN_COUNT"
            }
            CompressionStatus::CompressionFailedEmptySummary => "COMPRESSION_FAILED_EMPTY_SUMMARY",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextCompressed {
    pub status: CompressionStatus,
    /// Of the context from here on; it rises with each compression that counts.
    pub epoch: u32,
    /// As in `sideCall.started`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub forced: bool,
    /// Tokens of a request before and after, instructions and tools included; estimated unless they were `counted`.
    pub tokens_before: u64,
    pub tokens_after: u64,
    /// Both are the provider's own count.
    #[serde(default, skip_serializing_if = "is_false")]
    pub counted: bool,
    /// Messages that a model reads, before and after. All of them stay in the history.
    pub messages_before: u32,
    pub messages_after: u32,
    /// Tool outputs of which only the ends were kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub outputs_cut: u32,
    /// Why, when it came to nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextCleared {
    /// Of the context from here on.
    pub epoch: u32,
}

/// How a run goes round in circles (spec 04, "Loop detection").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LoopKind {
    /// The same tool calls, with the same arguments.
    Calls,
    /// The same text.
    Text,
    /// A model looked at what was done, and says so.
    Judge,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopDetected {
    pub kind: LoopKind,
    /// What is repeated.
    pub message: String,
    /// The model is told once; the second time the run stops.
    pub stops: bool,
}

/// What a budget counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum BudgetKind {
    Tokens,
    Cost,
}

/// How much of what a budget counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum BudgetAmount {
    Tokens(u64),
    Cost(UsdAmount),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BudgetWarning {
    pub kind: BudgetKind,
    /// By the run and the runs below it.
    pub used: BudgetAmount,
    pub limit: BudgetAmount,
}

/// A person gave the run more than it had (spec 03, `onBudget: ask`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BudgetRaised {
    /// What holds from now on; what is missing stays as it was.
    pub limits: BudgetLimits,
}

/// The reason why the daemon added a message of its own to a context.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NudgeReason {
    /// The answer was cut by the output limit, and the model is to go on.
    #[default]
    CutShort,
    /// It goes round in circles.
    Loop,
    /// It stopped and had not said all.
    NextSpeaker,
    /// A hook has something to say to it.
    Hook,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextNudged {
    pub text: String,
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub reason: NudgeReason,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}
