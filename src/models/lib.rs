//! Language models: one port, many providers (spec 04). Adapters translate at the edge and nowhere else.

use std::sync::Arc;

use futures_util::{future::BoxFuture, stream::BoxStream};
use serde_json::Value;

use protocol::{
    ContextMessage, FinishReason, ProviderMessage, RunErrorCode, SamplingSettings, ToolDeclaration, ToolName,
    Usage,
};

mod anthropic;
mod dictated;
mod encoder;
mod exchange;
mod gemini;
mod grounding;
mod http;
mod key;
mod listing;
mod model_id;
mod offline;
mod openai;
mod openai_responses;
mod pattern;
mod provider_defaults;
mod providers;
mod recorder;
mod registry;
mod replay;
mod resolve_error;
mod resolved_model;
mod sse;
mod tool_names;
mod window;

pub use dictated::{DICTATED, DictatedCall};
pub use grounding::{GroundedSpan, GroundingSource, PageVisit, ProviderTool, ReplyGrounding};
pub use http::patient_client;
pub use listing::{ClockReading, ModelList, ModelLister, ProviderModel};
pub use offline::OFFLINE;
pub use providers::{EntryKey, KeyState, ProviderEntry, usual_key_variables};
pub use recorder::{NotRecordable, OpenRecordings, RecordingWriter};
pub use registry::ModelRegistry;
pub use resolve_error::ResolveError;
pub use resolved_model::ResolvedModel;
pub use sse::{SseDecoder, SseError};
pub use window::ContextWindow;

/// A provider's streaming endpoint for one model.
///
/// Contract: the stream yields any number of deltas and then exactly one `Ok(Finished)` or one `Err`, which is
/// last. The text of `Finished` is the concatenation of the text deltas, likewise for thoughts. Dropping the
/// stream aborts the request.
pub trait LanguageModel: Send + Sync + 'static {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>>;

    /// How many tokens the provider counts in a request: what it would bill for the prompt of it as a turn. `ordinal` is which
    /// count of its run this will be, from 0, for recordings. `None` = it does not count. Dropping the future aborts it.
    fn count(
        &self,
        _request: ModelRequest,
        _ordinal: u32,
    ) -> Option<BoxFuture<'static, Result<u64, ModelError>>> {
        None
    }

    /// What messages to it may have as inline data, beside images.
    fn media(&self) -> MediaSupport {
        MediaSupport::default()
    }

    /// True if its provider lets it do this by itself, when [`ModelRequest::provider_tool`] says so.
    fn has(&self, _tool: ProviderTool) -> bool {
        false
    }
}

/// Kinds of files that a model takes as they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MediaSupport {
    pub audio: bool,
    pub pdf: bool,
}

/// What a model is asked; neutral to any provider. Cheap to clone and to build: everything long is shared.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    pub purpose: RequestPurpose,
    pub system: Arc<str>,
    /// Well-formed: roles alternate as curated history does, results stand right after their calls. In front may stand a message
    /// of the user in which the workspace speaks.
    pub messages: Vec<Arc<ContextMessage>>,
    /// In the order of declaration.
    pub tools: Arc<[ToolDeclaration]>,
    pub sampling: SamplingSettings,
    /// JSON Schema the reply's text must follow; for `Utility` calls.
    pub schema: Option<Arc<Value>>,
    /// What the provider may do for it; nothing else is declared then. For models that [have](LanguageModel::has) it.
    pub provider_tool: Option<ProviderTool>,
    /// Which reply to its purpose in its run this will be, from 0: how many of these the run has committed. Makes
    /// recorded replies a function of the request, also after a crash. A question counts whatever came of it.
    pub ordinal: u32,
    /// The same of the other purpose.
    pub others: u32,
    /// The run's path within its tree, as `run.started` says it; recordings that know paths answer by it.
    pub path: Arc<str>,
    /// Which reply of the whole tree of runs this will be, from 0, for recordings that know no paths. A reply that is
    /// asked for again keeps its number. The daemon's own questions are counted by run.
    pub tree_ordinal: u32,
    /// Tokens that this leaves of the model's window, about: `None` = nobody looked. For providers that refuse what leaves
    /// less than the longest answer.
    pub room: Option<u64>,
}

/// What a call is for; recordings keep the two apart (spec 04, "replay and recording").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestPurpose {
    /// A turn of a run.
    Turn,
    /// The daemon's own: classifier, summariser, checks.
    Utility,
}

#[derive(Debug, Clone)]
pub enum ModelEvent {
    TextDelta(String),
    ThoughtDelta(String),
    /// Something came that is not to be shown, e.g. a piece of a call's arguments: whoever waits may go on waiting.
    Alive,
    /// Bytes came, so many, that are not to be shown: of a call's arguments, or held back. They are part of what the reply takes.
    Unshown(usize),
    /// What this has taken so far, as the provider says. The newest counts, and `Finished` has the last; of a call that ends
    /// otherwise it is all that is known.
    Usage(Usage),
    /// The response had begun well and broke off, whatever came of it: its provider was at work. The failure follows.
    Broken,
    /// What the reply stands on, where its provider read the web for it. What comes later adds to it.
    Grounded(ReplyGrounding),
    Finished(ModelReply),
}

/// A whole reply.
#[derive(Debug, Clone)]
pub struct ModelReply {
    /// In the order in which the model gave them.
    pub parts: Vec<ReplyPart>,
    /// The same in the provider's own form, to be sent back verbatim.
    pub raw: Option<ProviderMessage>,
    pub usage: Usage,
    pub reason: FinishReason,
}

/// Like [`protocol::MessagePart`], but a call has no id of ours yet.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplyPart {
    Text(String),
    Thought { text: String, signature: Option<String> },
    ToolCall { provider_call_id: Option<String>, name: ToolName, arguments: Value, signature: Option<String> },
}

/// The reason why a model gave no reply; variants by what the run does next.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// Passing: network, overload, silence. Asked again with back-off.
    #[error("{message}")]
    Passing { message: String, retry_after_ms: Option<u64> },
    /// There was a reply, and it is cut, empty or malformed. Asked again, but not as often: a model that answers so
    /// tends to do it again.
    #[error("{message}")]
    Unusable { message: String },
    /// The request is longer than what the model takes. A shorter one may be answered.
    #[error("{message}")]
    TooLong { message: String },
    /// Asking again cannot help; the run ends `ERROR` with this code.
    #[error("{message}")]
    Final { code: RunErrorCode, message: String },
}

#[cfg(test)]
mod tests;
