//! What may a tool ask a model, and how is it told the answer? Tools know neither runs nor models: whoever runs them hands
//! them somebody to ask, who also counts what it costs.

use futures_util::future::BoxFuture;

use models::{ProviderTool, ReplyGrounding};
use protocol::{ContextMessage, SideCallPurpose};

/// Answers what a call has to ask. One a call.
pub trait ModelAccess: Send + Sync {
    /// The answer, without secrets, or why there is none, for the model that called the tool. What it used is counted, and told
    /// with the call's end. Nothing that a stranger said may go into it unmarked. Cancel safe: dropping it ends the request.
    fn ask(&self, question: ModelQuestion) -> BoxFuture<'_, Result<ModelAnswer, String>>;

    /// Has the run's own model go on with a conversation that a server began. What [`ModelAccess::ask`] promises holds.
    fn go_on(&self, conversation: ModelConversation) -> BoxFuture<'_, Result<ModelAnswer, String>>;

    /// Whether there is a model for which its provider does this.
    fn has(&self, tool: ProviderTool) -> BoxFuture<'_, bool>;

    /// As much of a text as a question has room for that has so many of its kind.
    fn beginning<'a>(&self, text: &'a str, parts: usize) -> &'a str;
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelQuestion {
    /// How the log calls it.
    pub purpose: SideCallPurpose,
    /// What the model is to do, and what is data in the text.
    pub system: String,
    pub text: String,
    /// What the model's provider is to do for it.
    pub provider_tool: Option<ProviderTool>,
}

/// What a server would have a model say.
#[derive(Debug, Clone)]
pub struct ModelConversation {
    pub system: String,
    pub messages: Vec<ContextMessage>,
    /// Tokens that the answer may have.
    pub max_tokens: u64,
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelAnswer {
    pub model: String,
    /// With the numbers of its sources, from 1, where the provider tells what each is for.
    pub text: String,
    pub grounding: ReplyGrounding,
    /// It had more to say than it might.
    pub is_cut: bool,
}
