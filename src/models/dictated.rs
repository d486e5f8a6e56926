//! The model behind `tools/call`: it says what a client dictated, one call, and hands in that it was made.
//!
//! A pure function of the transcript, so that a call goes on after a restart like any run. What is dictated stands in the
//! first user message, as [`DictatedCall::message`] writes it.

use futures_util::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{LanguageModel, ModelError, ModelEvent, ModelReply, ModelRequest, ReplyPart};
use protocol::{COMPLETE_TASK, FinishReason, MessagePart, MessageRole, RunErrorCode, ToolName, Usage};

/// The model; the type is the call that it is told to make.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DictatedCall {
    pub tool: ToolName,
    pub arguments: Value,
}

impl DictatedCall {
    /// The first user message of such a run.
    pub fn message(&self) -> String {
        json!(self).to_string()
    }
}

/// The name of the model behind `tools/call`.
pub const DICTATED: &str = "dictated";

/// Says what it is told.
pub(super) struct DictatedModel;

impl LanguageModel for DictatedModel {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        stream::once(async move { reply(&request) }).boxed()
    }
}

fn reply(request: &ModelRequest) -> Result<ModelEvent, ModelError> {
    let parts = || request.messages.iter().flat_map(|message| message.parts.iter());
    let was_made = parts().any(|part| matches!(part, MessagePart::ToolCall(_)));
    let said = request.messages.iter().find(|message| message.role == MessageRole::User);
    let said = said.and_then(|message| message.parts.first());
    let dictated = match said {
        Some(MessagePart::Text { text }) => serde_json::from_str::<DictatedCall>(text).ok(),
        _ => None,
    };
    let Some(DictatedCall { tool, arguments }) = dictated else {
        let message = "this model only makes calls that a client dictates by `tools/call`".to_owned();
        return Err(ModelError::Final { code: RunErrorCode::ModelFailed, message });
    };
    let (name, arguments) = match was_made {
        false => (tool, arguments),
        true => (ToolName::from(COMPLETE_TASK), json!({ "result": format!("`{tool}` was called") })),
    };
    let call = ReplyPart::ToolCall { provider_call_id: None, name, arguments, signature: None };
    Ok(ModelEvent::Finished(ModelReply {
        parts: vec![call],
        raw: None,
        usage: Usage::default(),
        reason: FinishReason::Stop,
    }))
}
