//! One model call: streams into the open text and ends as one input for the machine.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt as _, stream::BoxStream};
use serde_json::Value;

use super::{
    alternates::ModelFallbacks,
    gate::CallGate,
    hooks::ModelHookLedger,
    loops,
    machine::{CompleteReply, FailureKind, HookEffects, ModelAsk, ModelEnd, ModelFailure, PartialReply},
    meter::UsageMeter,
};
use models::{ModelError, ModelEvent, ModelReply, ReplyPart};
use protocol::{
    COMPLETE_TASK, CallId, ContextMessage, FinishReason, MessagePart, MessageRole, RunErrorCode, ToolCall,
};
use redact::StreamRedactor;
use store::{LiveAppender, MAX_LIVE_BYTES, TooLong};
use sys::{clock::Clock, ids};
use tools::ToolLookup;

/// Without a sign of life for this long the call is given up and tried again (spec 04, "Retry").
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);

pub(super) struct ModelCall {
    pub ask: ModelAsk,
    pub model: String,
    pub stream: BoxStream<'static, Result<ModelEvent, ModelError>>,
    pub live: LiveAppender,
    pub gate: Arc<CallGate>,
    /// Knows what the model costs, once it has answered.
    pub alternates: Arc<ModelFallbacks>,
    pub clock: Arc<dyn Clock>,
    /// What it takes, as far as the provider has said it.
    pub meter: UsageMeter,
    /// Tokens that fit the model; `None` = nobody knows.
    pub window: Option<u64>,
    /// Set where a model that repeats itself is to be cut off.
    pub circles: Option<ReplyLoopDetectors>,
    /// Everything that hooks said of it.
    pub hooked: Option<ModelHookLedger>,
}

/// What it says and what it thinks, each looked at by itself.
#[derive(Default)]
pub(super) struct ReplyLoopDetectors {
    text: loops::TextLoopDetector,
    thought: loops::TextLoopDetector,
}

/// The end of a model call.
pub(super) struct ModelCallResult {
    pub ask: ModelAsk,
    pub end: ModelEnd,
    /// Arguments as the model wrote them, where they held secrets: for running the calls, and for nothing else.
    pub secret_arguments: Vec<(CallId, Value)>,
    /// Everything that hooks said of it.
    pub hooks: Box<HookEffects>,
}

impl ModelCallResult {
    pub fn of(ask: ModelAsk, end: ModelEnd) -> ModelCallResult {
        ModelCallResult { ask, end, secret_arguments: Vec::new(), hooks: Box::default() }
    }
}

impl ModelCall {
    pub async fn run(self) -> ModelCallResult {
        let hooked = self.hooked.clone();
        let result = self.answered().await;
        match hooked {
            Some(hooked) => ModelCallResult { hooks: Box::new(hooked.take()), ..result },
            None => result,
        }
    }

    async fn answered(mut self) -> ModelCallResult {
        // Nothing is shown before it is known to be no part of a secret.
        let redactor = &self.gate.supplies.redactor;
        let (mut text, mut thought) = (redactor.stream(), redactor.stream());
        let asked_at = self.clock.monotonic();
        loop {
            let item = tokio::select! {
                biased;
                item = self.stream.next() => item,
                () = self.clock.sleep(IDLE_TIMEOUT) => {
                    self.meter.hears(&ModelEvent::Broken);
                    let message = format!("the model was silent for {} s", IDLE_TIMEOUT.as_secs());
                    return self.failed(ModelError::Passing { message, retry_after_ms: None });
                }
            };
            if let Some(Ok(event)) = &item
                && !self.is_stood_in_for()
            {
                self.meter.hears(event);
            }
            if let Some(Ok(
                ModelEvent::TextDelta(_) | ModelEvent::ThoughtDelta(_) | ModelEvent::Finished(_),
            )) = &item
            {
                let took = self.hooked.as_ref().map(ModelHookLedger::took).unwrap_or_default();
                self.meter.speaks(self.clock.monotonic().saturating_sub(asked_at).saturating_sub(took));
            }
            let circles = self.circles.as_mut();
            let (pushed, circle) = match item {
                Some(Ok(ModelEvent::TextDelta(delta))) => (
                    self.live.push_text(&text.push(&delta)),
                    circles.and_then(|circles| circles.text.push(&delta)),
                ),
                Some(Ok(ModelEvent::ThoughtDelta(delta))) => (
                    self.live.push_thought(&thought.push(&delta)),
                    circles.and_then(|circles| circles.thought.push(&delta)),
                ),
                // Turns let no provider read the web.
                Some(Ok(
                    ModelEvent::Alive
                    | ModelEvent::Broken
                    | ModelEvent::Usage(_)
                    | ModelEvent::Unshown(_)
                    | ModelEvent::Grounded(_),
                )) => (Ok(()), None),
                Some(Ok(ModelEvent::Finished(reply))) => match self.push_rest(thought, text) {
                    Ok(()) => return self.responded(reply),
                    Err(TooLong) => return self.failed(too_long()),
                },
                Some(Err(error)) => return self.failed(error),
                None => {
                    let message = "the model's stream ended without a finish reason".to_owned();
                    return self.failed(ModelError::Unusable { message });
                }
            };
            if let Err(TooLong) = pushed {
                return self.failed(too_long());
            }
            if let Some(chunk) = circle {
                return match self.push_rest(thought, text) {
                    Ok(()) => self.babbled(&chunk),
                    Err(TooLong) => self.failed(too_long()),
                };
            }
        }
    }

    /// What was still held back is no part of a secret any more.
    fn push_rest(&self, thought: StreamRedactor, text: StreamRedactor) -> Result<(), TooLong> {
        self.live.push_thought(&thought.finish())?;
        self.live.push_text(&text.finish())
    }

    fn responded(self, reply: ModelReply) -> ModelCallResult {
        let ModelReply { parts, raw, usage: _, reason } = reply;
        let parts: Vec<MessagePart> = parts.into_iter().map(|part| self.part(part)).collect();
        let meant: Vec<(CallId, Value)> =
            calls(&parts).map(|it| (it.call_id.clone(), it.arguments.clone())).collect();
        let redactor = &self.gate.supplies.redactor;
        let mut message = redactor.message(ContextMessage { role: MessageRole::Model, parts, raw });
        let (shown, shown_thought) = self.live.freeze();
        if message.text() != shown {
            // Between two texts stood something else, and a secret went across: what was shown is what is kept.
            say_at_once(&mut message, shown);
        }
        if thought(&message) != shown_thought {
            think_at_once(&mut message, shown_thought);
        }
        let mut secret_arguments = Vec::new();
        let kept = message.parts.iter_mut().filter_map(|part| match part {
            MessagePart::ToolCall(call) => Some(call),
            _ => None,
        });
        for (call, (id, arguments)) in kept.zip(meant) {
            call.redacted = call.arguments != arguments;
            if call.redacted {
                secret_arguments.push((id, arguments));
            }
        }
        let finish = match reason {
            FinishReason::Refused { message: words } => {
                FinishReason::Refused { message: redactor.owned(words) }
            }
            other => other,
        };
        let metered = self.alternates.metered(&self.model, &self.meter);
        let reply = CompleteReply { model: self.model, message, metered, finish };
        ModelCallResult { secret_arguments, ..ModelCallResult::of(self.ask, ModelEnd::Responded(reply)) }
    }

    /// A hook answered in the model's place.
    fn is_stood_in_for(&self) -> bool {
        self.hooked.as_ref().is_some_and(ModelHookLedger::is_stand_in)
    }

    /// A call gets an id of ours and, where the model used an alias, the tool's canonical name.
    fn part(&self, part: ReplyPart) -> MessagePart {
        match part {
            ReplyPart::Text(text) => MessagePart::Text { text },
            ReplyPart::Thought { text, signature } => MessagePart::Thought { text, signature },
            ReplyPart::ToolCall { provider_call_id, name, arguments, signature } => {
                let redactor = &self.gate.supplies.redactor;
                let provider_call_id = provider_call_id.map(|id| redactor.owned(id));
                let mut name = self.gate.toolset.canonical(&name);
                // A model can make up any name; those that there are keep a call's way to its tool.
                let is_known = name.as_str() == COMPLETE_TASK
                    || !matches!(self.gate.toolset.lookup(&name), ToolLookup::Unknown);
                if !is_known {
                    name = redactor.text(name.as_str()).into_owned().into();
                }
                MessagePart::ToolCall(ToolCall {
                    call_id: ids::fresh(),
                    provider_call_id,
                    name,
                    arguments,
                    signature,
                    redacted: false,
                })
            }
        }
    }

    /// What there is of a reply that is none.
    fn partial(&self) -> PartialReply {
        let (text, thought) = self.live.freeze();
        PartialReply { text, thought, metered: self.alternates.failed(&self.model, &self.meter) }
    }

    fn babbled(self, chunk: &str) -> ModelCallResult {
        let partial = self.partial();
        let chunk = self.gate.supplies.redactor.text(chunk).into_owned();
        ModelCallResult::of(self.ask, ModelEnd::Babbled { partial, chunk })
    }

    fn failed(self, error: ModelError) -> ModelCallResult {
        let partial = self.partial();
        let mut message = self.gate.supplies.redactor.owned(error.to_string());
        if let (ModelError::TooLong { .. }, Some(window)) = (&error, self.window) {
            let (model, tokens) = (&self.model, self.meter.prompt_tokens());
            message.push_str(&format!(
                "; the request is about {tokens} tokens long by our own count, and the window of {model} takes {window}"
            ));
        }
        let kind = match error {
            ModelError::Passing { retry_after_ms, .. } => FailureKind::Passing { retry_after_ms },
            ModelError::Unusable { .. } => FailureKind::Unusable,
            ModelError::TooLong { .. } => FailureKind::TooLong,
            ModelError::Final { code, .. } => FailureKind::Final(code),
        };
        let failure = ModelFailure { message, kind, partial, now: self.clock.now(), jitter: ids::fraction() };
        ModelCallResult::of(self.ask, ModelEnd::Failed(failure))
    }
}

fn too_long() -> ModelError {
    let message = format!("the model's answer is longer than {MAX_LIVE_BYTES} bytes");
    ModelError::Final { code: RunErrorCode::ModelFailed, message }
}

fn calls(parts: &[MessagePart]) -> impl Iterator<Item = &ToolCall> {
    parts.iter().filter_map(|part| match part {
        MessagePart::ToolCall(call) => Some(call),
        _ => None,
    })
}

fn thought(message: &ContextMessage) -> String {
    let thoughts = message.parts.iter().filter_map(|part| match part {
        MessagePart::Thought { text, .. } => Some(text.as_str()),
        _ => None,
    });
    thoughts.collect()
}

/// As [`say_at_once`], for thoughts; signatures were made for what is not there any more.
fn think_at_once(message: &mut ContextMessage, text: String) {
    message.parts.retain(|part| !matches!(part, MessagePart::Thought { .. }));
    message.parts.insert(0, MessagePart::Thought { text, signature: None });
    message.raw = None;
}

/// Puts the whole text where the first piece of it stood.
fn say_at_once(message: &mut ContextMessage, text: String) {
    let first = message.parts.iter().position(|part| part.as_text().is_some()).unwrap_or(0);
    message.parts.retain(|part| part.as_text().is_none());
    message.parts.insert(first.min(message.parts.len()), MessagePart::text(text));
    message.raw = None;
}
