//! One model call: streams into the open text and ends as one input for the machine.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt as _, stream::BoxStream};

use super::{
    gate::Gate,
    machine::{FailureKind, Input, ModelAsk, ModelFailure, Partial, Reply},
};
use crate::{
    models::{ModelError, ModelEvent, ModelReply, ReplyPart},
    protocol::{Message, Part, Role, RunErrorCode, ToolCall, Usage},
    store::{LiveAppender, MAX_LIVE_BYTES},
    sys::{clock::Clock, ids},
};

/// Without a sign of life for this long the call is given up and tried again (spec 04, "Retry").
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);

pub(super) struct Thinking {
    pub ask: ModelAsk,
    pub model: String,
    pub stream: BoxStream<'static, Result<ModelEvent, ModelError>>,
    pub live: LiveAppender,
    pub gate: Arc<Gate>,
    pub clock: Arc<dyn Clock>,
}

impl Thinking {
    pub async fn run(mut self) -> Input {
        loop {
            let item = tokio::select! {
                biased;
                item = self.stream.next() => item,
                () = self.clock.sleep(IDLE_TIMEOUT) => {
                    let message = format!("the model was silent for {} s", IDLE_TIMEOUT.as_secs());
                    return self.failed(ModelError::Passing { message, retry_after_ms: None });
                }
            };
            let pushed = match item {
                Some(Ok(ModelEvent::TextDelta(text))) => self.live.push_text(&text),
                Some(Ok(ModelEvent::ThoughtDelta(text))) => self.live.push_thought(&text),
                Some(Ok(ModelEvent::Finished(reply))) => return self.responded(reply),
                Some(Err(error)) => return self.failed(error),
                None => {
                    let message = "the model's stream ended without a finish reason".to_owned();
                    return self.failed(ModelError::Unusable { message });
                }
            };
            if pushed.is_err() {
                let message = format!("the model's answer is longer than {MAX_LIVE_BYTES} bytes");
                return self.failed(ModelError::Final { code: RunErrorCode::ModelFailed, message });
            }
        }
    }

    fn responded(self, reply: ModelReply) -> Input {
        let ModelReply { parts, raw, usage, reason } = reply;
        let parts = parts.into_iter().map(|part| self.part(part)).collect();
        let message = Message { role: Role::Model, parts, raw };
        let usage = plausible(usage);
        let reply = Reply { model: self.model, message, usage, finish: reason };
        Input::ModelResponded { ask: self.ask, reply }
    }

    /// A call gets an id of ours and, where the model used an alias, the tool's canonical name.
    fn part(&self, part: ReplyPart) -> Part {
        match part {
            ReplyPart::Text(text) => Part::Text { text },
            ReplyPart::Thought { text, signature } => Part::Thought { text, signature },
            ReplyPart::ToolCall { provider_call_id, name, arguments, signature } => {
                let name = self.gate.toolset.canonical(&name);
                Part::ToolCall(ToolCall {
                    call_id: ids::fresh(),
                    provider_call_id,
                    name,
                    arguments,
                    signature,
                })
            }
        }
    }

    fn failed(self, error: ModelError) -> Input {
        let (text, thought) = self.live.freeze();
        let message = error.to_string();
        let kind = match error {
            ModelError::Passing { retry_after_ms, .. } => FailureKind::Passing { retry_after_ms },
            ModelError::Unusable { .. } => FailureKind::Unusable,
            ModelError::Final { code, .. } => FailureKind::Final(code),
        };
        let failure = ModelFailure {
            message,
            kind,
            partial: Partial { text, thought },
            now: self.clock.now(),
            jitter: ids::fraction(),
        };
        Input::ModelFailed { ask: self.ask, failure }
    }
}

/// Counts as a provider may really give them. What is beyond is a provider's defect, and sums of it would not fit the
/// store.
fn plausible(usage: Usage) -> Usage {
    /// More than any model can read or write in one call.
    const MOST: u64 = 1 << 40;
    Usage {
        prompt_tokens: usage.prompt_tokens.min(MOST),
        cached_tokens: usage.cached_tokens.min(MOST),
        output_tokens: usage.output_tokens.min(MOST),
        thought_tokens: usage.thought_tokens.min(MOST),
    }
}
