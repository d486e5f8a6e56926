//! Questions of the daemon's own to models, beside the turns (spec 04): one at a time, each ends as one input for the
//! machine, whatever becomes of it. Nobody waits for a person here, and nothing that goes wrong ends a run.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use serde_json::Value;
use tokio::sync::mpsc;

use super::{
    alternates::ModelFallbacks,
    compaction::{TokenEstimator, weigh, weigh_text},
    machine::{MachineInput, RemainingBudget, SideCall, SideCallReply, SideCallResult},
    meter::UsageMeter,
};
use ledger::{AskedSideCall, AskerId};
use models::{
    ModelError, ModelEvent, ModelReply, ModelRequest, ProviderTool, ReplyGrounding, ReplyPart, RequestPurpose,
};
use protocol::{
    ContextMessage, FinishReason, MessagePart, MessageRole, NamedModel, RunSafeguards, SamplingSettings,
    SideCallPurpose, ToolCall, ToolDeclaration, Usage, UsageTotal,
};
use redact::Redactor;
use sys::{clock::Clock, ids};

mod by_tool;
mod compress;
mod ledger;
mod small;

pub(super) use by_tool::ToolSideCallContext;
pub(super) use compress::{CompressionContext, RequestLength};
pub(super) use ledger::{EndingSideCalls, SideCallLedger};

/// Tries of one question when a model fails in passing.
const MAX_TRIES: u32 = 3;
/// The wait before the second try; it doubles.
const BACKOFF: Duration = Duration::from_secs(1);
/// Of a model's answer this much is kept: more than any snapshot has.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// What every question needs.
pub(super) struct SideCallRunner {
    pub side_call: SideCall,
    pub care: RunSafeguards,
    pub means: SideCallContext,
    /// Knows what is being asked.
    pub ledger: Arc<SideCallLedger>,
    /// Calls of models that questions of the run took so far: which reply each gets from a recording.
    pub n_side_replies: u32,
    /// What the run's model reads, oldest first.
    pub messages: Vec<Arc<ContextMessage>>,
    /// Set for a compression.
    pub compressing: Option<CompressionContext>,
    /// Where each call of a compression, which may take many, is told at once: what it cost counts whatever becomes of the
    /// rest.
    pub news: mpsc::Sender<MachineInput>,
}

/// How a run asks a model anything beside its turns.
#[derive(Clone)]
pub(super) struct SideCallContext {
    pub alternates: Arc<ModelFallbacks>,
    pub clock: Arc<dyn Clock>,
    pub redactor: Redactor,
    /// Of the run.
    pub path: Arc<str>,
    /// The run's turns' replies so far; recordings count questions apart from them.
    pub replies: u32,
}

/// A question being asked, and the calls of models that it took so far.
struct OngoingSideCall<'a> {
    with: &'a SideCallRunner,
    asker: AskerId,
    /// Those that were not told yet.
    calls: Vec<SideCallReply>,
    /// Whatever came of them: of some a recording has a line although nothing could be made of the answer.
    n_asked: u32,
    spent: UsageTotal,
}

/// One question to a model.
struct SideCallRequest {
    system: String,
    messages: Vec<Arc<ContextMessage>>,
    schema: Option<Value>,
    provider_tool: Option<ProviderTool>,
    /// Everything that it may call before it answers.
    tools: Arc<[ToolDeclaration]>,
    /// Of the answer, which may then be cut; `None` = as the model's entry says, and what is cut is no answer.
    max_tokens: Option<u64>,
    /// For the whole of it, other tries included.
    deadline: Duration,
    /// Everything that the run may spend, and what it has spent of that by now.
    budget: (RemainingBudget, UsageTotal),
}

impl SideCallRequest {
    /// Tokens of it, about.
    fn tokens(&self) -> u64 {
        let said = self.messages.iter().map(|it| weigh(it)).sum();
        TokenEstimator::default().tokens(weigh_text(&self.system) + said)
    }

    fn plain(system: String, messages: Vec<Arc<ContextMessage>>, deadline: Duration) -> SideCallRequest {
        SideCallRequest {
            system,
            messages,
            schema: None,
            provider_tool: None,
            tools: Arc::default(),
            max_tokens: None,
            deadline,
            budget: (RemainingBudget::default(), UsageTotal::default()),
        }
    }
}

/// What came of a question.
struct SideCallAnswer {
    call: SideCallReply,
    /// What the answer stands on, as its provider says it.
    grounding: ReplyGrounding,
    /// The model had more to say than it might.
    is_cut: bool,
    /// Only of a model that may call tools: all that it said, without secrets.
    said: Option<ContextMessage>,
}

impl SideCallRunner {
    /// Becomes what the machine is told.
    pub async fn run(self) -> MachineInput {
        let mut asking = OngoingSideCall {
            with: &self,
            asker: self.ledger.asker(),
            calls: Vec::new(),
            n_asked: 0,
            spent: UsageTotal::default(),
        };
        let advice = match self.side_call.about {
            SideCallPurpose::Compression => asking.compress().await,
            SideCallPurpose::LoopCheck => asking.check_loop().await,
            SideCallPurpose::NextSpeaker => asking.next_speaker().await,
            SideCallPurpose::Routing => asking.route().await,
            // Asked by its call, and never wanted by the machine.
            SideCallPurpose::WebFetch
            | SideCallPurpose::WebSearch
            | SideCallPurpose::McpSampling
            | SideCallPurpose::Hook => nothing("a tool or a hook asks this by itself"),
        };
        let calls = std::mem::take(&mut asking.calls);
        MachineInput::SideCallEnded { side_call: self.side_call, calls, advice: Box::new(advice) }
    }
}

impl OngoingSideCall<'_> {
    /// What the model answers, without secrets, or why it does not.
    async fn ask(&mut self, model: &NamedModel, question: SideCallRequest) -> Result<String, String> {
        let ordinal = self.with.n_side_replies + self.n_asked;
        let (means, meter) = (&self.with.means, UsageMeter::of_request(question.tokens()));
        let (purpose, model_name) = (self.with.side_call.about, model.name.clone());
        let what = AskedSideCall { purpose, hook: None, model: model_name };
        let around = (&means.alternates, &means.clock);
        let guard = self.with.ledger.begin((self.asker, what), meter.clone(), around);
        let SideCallAnswer { call, .. } = means.ask(model, question, ordinal, &meter).await;
        self.n_asked += 1;
        self.spent += UsageTotal::of(call.metered.usage, call.metered.cost);
        guard.answered(call.clone());
        let (text, error) = (call.text.clone(), call.error.clone());
        match self.with.compressing {
            Some(_) => {
                let told =
                    MachineInput::SideCallReplied { side_call: self.with.side_call, call: Box::new(call) };
                // Nobody hears it any more when the driver has ended.
                let _gone = self.with.news.send(told).await;
            }
            None => self.calls.push(call),
        }
        error.map_or(Ok(text), Err)
    }
}

impl SideCallContext {
    /// What the model answers, without secrets, or why it does not, with what that took. `ordinal`: which reply to a question of the run this will be.
    async fn ask(
        &self,
        model: &NamedModel,
        question: SideCallRequest,
        ordinal: u32,
        meter: &UsageMeter,
    ) -> SideCallAnswer {
        let (deadline, may_be_cut) = (question.deadline, question.max_tokens.is_some());
        let may_call = !question.tools.is_empty();
        let answered = tokio::select! {
            biased;
            answered = self.try_to_ask(model, question, ordinal, meter) => Some(answered),
            () = self.clock.sleep(deadline) => None,
        };
        // Whatever came of it, other tries included.
        let metered = match &answered {
            Some(Ok(_)) => self.alternates.metered(&model.name, meter),
            Some(Err(_)) => self.alternates.failed(&model.name, meter),
            None => self.alternates.cut_off(&model.name, meter),
        };
        let is_late = || Err(format!("no answer within {} s", deadline.as_secs()));
        let answered = answered.unwrap_or_else(is_late);
        let is_cut =
            matches!(&answered, Ok((reply, _)) if may_be_cut && reply.reason == FinishReason::Length);
        let said = match &answered {
            Ok((reply, _)) if may_call => Some(self.redactor.message(message_of(reply))),
            _ => None,
        };
        let (answered, grounding) = match answered {
            Ok((reply, grounding)) => (answer(reply, may_be_cut, may_call), grounding),
            Err(why) => (Err(why), ReplyGrounding::default()),
        };
        let (text, error) = match answered {
            Ok(text) => (self.redactor.owned(grounding.cited(&text)), None),
            Err(why) => (String::new(), Some(self.redactor.owned(why))),
        };
        let call = SideCallReply { model: model.name.clone(), metered, text, error };
        SideCallAnswer { call, grounding, is_cut, said }
    }

    async fn try_to_ask(
        &self,
        model: &NamedModel,
        question: SideCallRequest,
        ordinal: u32,
        meter: &UsageMeter,
    ) -> Result<(ModelReply, ReplyGrounding), String> {
        let request = ModelRequest {
            purpose: RequestPurpose::Utility,
            system: question.system.into(),
            messages: question.messages,
            tools: question.tools,
            // What run and agent say is for the run's turns.
            sampling: SamplingSettings {
                max_output_tokens: match (question.max_tokens, model.sampling.max_output_tokens) {
                    (Some(asked), Some(most)) => Some(asked.min(most)),
                    (asked, most) => asked.or(most),
                },
                ..model.sampling
            },
            schema: question.schema.map(Arc::new),
            provider_tool: question.provider_tool,
            ordinal,
            others: self.replies,
            path: Arc::clone(&self.path),
            tree_ordinal: ordinal,
            room: None,
        };
        let (left, spent) = question.budget;
        let (mut n, mut backoff) = (0, BACKOFF);
        loop {
            n += 1;
            let (message, wait) = match self.reply(&model.name, request.clone(), meter).await {
                Ok(reply) => return Ok(reply),
                Err(ModelError::Passing { message, retry_after_ms }) => {
                    let hint = Duration::from_millis(retry_after_ms.unwrap_or(0));
                    (message, hint.max(backoff.mul_f64(ids::fraction())))
                }
                Err(ModelError::Unusable { message }) => (message, Duration::ZERO),
                Err(error @ (ModelError::Final { .. } | ModelError::TooLong { .. })) => {
                    return Err(error.to_string());
                }
            };
            if MAX_TRIES <= n {
                return Err(format!("{message} (after {n} tries)"));
            }
            let failed = self.alternates.failed(&model.name, meter);
            // The same request is sent once more.
            let prompt = Usage { prompt_tokens: meter.prompt_tokens(), ..Usage::default() };
            let mut spent = spent;
            spent += UsageTotal::of(failed.usage, failed.cost);
            spent += UsageTotal::of(prompt, self.alternates.cost(&model.name, &prompt));
            if failed.usage != Usage::default() && left.is_used_up_by(spent) {
                return Err(format!("{message} (too little is left of the run's budget to ask again)"));
            }
            meter.try_again();
            self.clock.sleep(wait).await;
            backoff *= 2;
        }
    }

    async fn reply(
        &self,
        model: &str,
        request: ModelRequest,
        meter: &UsageMeter,
    ) -> Result<(ModelReply, ReplyGrounding), ModelError> {
        let mut stream = self.alternates.stream_apart(model, request).await;
        meter.asks();
        let mut grounding = ReplyGrounding::default();
        while let Some(event) = stream.next().await {
            let event = event?;
            meter.hears(&event);
            match event {
                ModelEvent::Finished(reply) => return Ok((reply, grounding)),
                ModelEvent::Grounded(more) => grounding.absorb(more),
                ModelEvent::TextDelta(_)
                | ModelEvent::Usage(_)
                | ModelEvent::Broken
                | ModelEvent::ThoughtDelta(_)
                | ModelEvent::Alive
                | ModelEvent::Unshown(_) => (),
            }
        }
        Err(ModelError::Unusable { message: "the model's stream ended without a finish reason".to_owned() })
    }
}

/// A reply as the model is shown it when it goes on.
fn message_of(reply: &ModelReply) -> ContextMessage {
    let part = |part: &ReplyPart| match part.clone() {
        ReplyPart::Text(text) => MessagePart::Text { text },
        ReplyPart::Thought { text, signature } => MessagePart::Thought { text, signature },
        ReplyPart::ToolCall { provider_call_id, name, arguments, signature } => {
            MessagePart::ToolCall(ToolCall {
                call_id: ids::fresh(),
                provider_call_id,
                name,
                arguments,
                signature,
                redacted: false,
            })
        }
    };
    let parts = reply.parts.iter().map(part).collect();
    ContextMessage { role: MessageRole::Model, parts, raw: reply.raw.clone() }
}

fn answer(reply: ModelReply, may_be_cut: bool, may_call: bool) -> Result<String, String> {
    match reply.reason {
        FinishReason::Refused { message: words } => {
            return Err(format!("the model refused to answer: {words}"));
        }
        FinishReason::Length if may_be_cut => (),
        FinishReason::Length => return Err("the answer was cut off by the output limit".to_owned()),
        FinishReason::Stop => (),
    }
    let mut text = String::new();
    let mut calls = false;
    for part in reply.parts {
        match part {
            ReplyPart::Text(more) => text.push_str(&more),
            ReplyPart::ToolCall { .. } => calls = may_call,
            ReplyPart::Thought { .. } => (),
        }
    }
    match text.len() {
        0 if calls => Ok(text),
        0 => Err("the answer is empty".to_owned()),
        n if MAX_ANSWER_BYTES < n => Err(format!("the answer is longer than {MAX_ANSWER_BYTES} bytes")),
        _ => Ok(text),
    }
}

/// What nothing came of.
fn nothing(message: impl Into<String>) -> SideCallResult {
    SideCallResult::Nothing { message: message.into() }
}
