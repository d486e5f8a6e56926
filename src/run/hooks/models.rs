//! What do hooks say of a request to a model, and of its answer? They change it, answer in the model's place, leave fewer tools to
//! choose among, or keep it back. What they said goes into the log with what became of the request, in one commit.
//!
//! While a hook may change an answer nobody sees a part of it.

use std::{
    collections::VecDeque,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{
    StreamExt as _,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use hooks::{HookFacts, HookVerdict, ModelVerdict};

use super::{
    super::machine::HookEffects,
    asking::{FiringName, RunHooks, effects_of},
    model_forms::{changed_reply, changed_request, shown_reply, shown_request, stand_in},
    reasons::said,
    scene::HookScene,
};
use models::{ModelError, ModelEvent, ModelReply, ModelRequest, ReplyPart};
use protocol::{COMPLETE_TASK, HookDecision, HookEventName, RunErrorCode, ToolName};
use redact::Redactor;
use sys::clock::Clock;

/// The events about requests to models.
pub const MODEL_EVENTS: &[HookEventName] =
    &[HookEventName::BeforeModel, HookEventName::BeforeToolSelection, HookEventName::AfterModel];

/// Whoever waits for the model hears so often that hooks are still asked.
const SIGN_OF_LIFE: Duration = Duration::from_secs(20);

type ModelEventStream = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// Asks the model itself.
pub(crate) type AskModel = Arc<dyn Fn(ModelRequest) -> ModelEventStream + Send + Sync>;

/// A request that hooks have a say in.
#[derive(Clone)]
pub(crate) struct HookedRequest {
    pub hooks: RunHooks,
    pub scene: HookScene,
    pub redactor: Redactor,
    pub clock: Arc<dyn Clock>,
    pub asked: AskModel,
    pub model: String,
    /// Names it within the run.
    pub about: String,
    /// The tools by any of their names.
    pub canonical: Arc<dyn Fn(&str) -> ToolName + Send + Sync>,
    pub said: ModelHookLedger,
}

/// Everything that hooks said of one request. A cheap handle.
#[derive(Clone, Default)]
pub(crate) struct ModelHookLedger {
    kept: Arc<Mutex<ModelHookState>>,
}

#[derive(Default)]
struct ModelHookState {
    effects: HookEffects,
    is_stand_in: bool,
    /// The time in which hooks were waited for, and not the model.
    took: Duration,
}

impl ModelHookLedger {
    /// All of it, once.
    pub fn take(&self) -> HookEffects {
        mem::take(&mut self.state().effects)
    }

    /// The time that hooks took of the request so far.
    pub fn took(&self) -> Duration {
        self.state().took
    }

    /// True if no model was asked.
    pub fn is_stand_in(&self) -> bool {
        self.state().is_stand_in
    }

    fn state(&self) -> MutexGuard<'_, ModelHookState> {
        // Each change leaves it whole.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HookedRequest {
    /// The answer, or what stands in its place.
    pub fn stream(self, request: ModelRequest) -> ModelEventStream {
        let clock = Arc::clone(&self.clock);
        let begun = StreamStage::Asking(Box::pin(async move { self.before(request).await }));
        stream::unfold(begun, move |stage| next_event(stage, Arc::clone(&clock))).boxed()
    }

    async fn before(self, mut request: ModelRequest) -> StreamStage {
        let facts = HookFacts::BeforeModel { request: shown_request(&self.model, &request) };
        if let Some(verdict) = self.ask(facts).await {
            if let Some(refusal) = self.refused(&verdict, "keeps the request to the model back") {
                return failing(refusal);
            }
            let ModelVerdict { request: changes, response, .. } = &verdict.model;
            if let Some(response) = response {
                return match stand_in(response, &self.redactor) {
                    Ok(text) => {
                        self.said.state().is_stand_in = true;
                        whole(ModelReply {
                            parts: vec![ReplyPart::Text(text)],
                            raw: None,
                            usage: Default::default(),
                            reason: protocol::FinishReason::Stop,
                        })
                    }
                    Err(why) => failing(self.cannot(&format!("answers in the model's place, and {why}"))),
                };
            }
            if let Some(changes) = changes {
                match changed_request(&self.model, &mut request, changes, &self.redactor) {
                    Ok(warnings) => {
                        let warnings = warnings.into_iter().map(|text| self.redactor.owned(text));
                        self.said.state().effects.warnings.extend(warnings);
                    }
                    // It wanted something else to be sent, so this is not sent.
                    Err(why) => return failing(self.cannot(&format!("changes the request, and {why}"))),
                }
            }
        }
        let facts = HookFacts::BeforeToolSelection { request: shown_request(&self.model, &request) };
        if let Some(verdict) = self.ask(facts).await {
            self.restrict(&mut request, &verdict.model);
        }
        let shown = shown_request(&self.model, &request);
        let after = HookFacts::AfterModel { request: shown.clone(), response: serde_json::Value::Null };
        let withheld_for = self.hooks.may_match(&after, &self.scene).then_some(shown);
        let inner = (self.asked)(request);
        StreamStage::Streaming(inner, withheld_for.map(|request| Box::new((self, request))))
    }

    async fn after(self, request: serde_json::Value, reply: ModelReply) -> StreamStage {
        let usage = reply.usage;
        let facts = HookFacts::AfterModel { request, response: shown_reply(&reply) };
        let Some(verdict) = self.ask(facts).await else { return whole(reply) };
        let refused = match self.refused(&verdict, "keeps the model's answer back") {
            Some(refusal) => Err(refusal),
            None => match &verdict.model.response {
                None => Ok(reply),
                Some(response) => changed_reply(reply, response, &self.redactor)
                    .map_err(|why| self.cannot(&format!("changes the model's answer, and {why}"))),
            },
        };
        match refused {
            Ok(reply) => whole(reply),
            // What it took counts all the same.
            Err(refusal) => StreamStage::Ending([Ok(ModelEvent::Usage(usage)), Err(refusal)].into()),
        }
    }

    /// `None` = no hook matches.
    async fn ask(&self, facts: HookFacts) -> Option<HookVerdict> {
        let id = format!("{}:{}:{}", self.scene.subject(), facts.event().as_str(), self.about);
        let name = FiringName { id, attempt: 1, call: None };
        let asked_at = self.clock.monotonic();
        let asked = self.hooks.ask(facts, &self.scene, name, (None, &self.redactor)).await;
        self.said.state().took += self.clock.monotonic().saturating_sub(asked_at);
        let asked = asked?;
        let mut effects = effects_of(&asked).unread();
        if effects.context.take().is_some() {
            effects
                .warnings
                .push("`additionalContext` of a hook means nothing at requests to models".to_owned());
        }
        self.said.state().effects.add(effects.redacted(&self.redactor));
        Some(asked.verdict)
    }

    /// The reason why it goes no further, if there is one; it ends the run.
    fn refused(&self, verdict: &HookVerdict, what: &str) -> Option<ModelError> {
        if verdict.stop.is_none() && verdict.decision != Some(HookDecision::Deny) {
            return None;
        }
        let message = self.redactor.owned(said(verdict, what));
        let mut state = self.said.state();
        if state.effects.stop.is_none() {
            state.effects.block = Some(message.clone());
        }
        Some(ModelError::Final { code: RunErrorCode::HookStopped, message })
    }

    /// A hook wants what cannot be done: what it would not have gone ahead does not.
    fn cannot(&self, why: &str) -> ModelError {
        let message = self.redactor.owned(format!("a hook {why}, so the run ends"));
        self.said.state().effects.block = Some(message.clone());
        ModelError::Final { code: RunErrorCode::HookStopped, message }
    }

    /// Leaves out what no hook wants the model to choose. A run can always hand in its result.
    fn restrict(&self, request: &mut ModelRequest, verdict: &ModelVerdict) {
        let allowed = match (verdict.no_tools, &verdict.allowed_tools) {
            (true, _) => Vec::new(),
            (false, Some(allowed)) => allowed.iter().map(|name| (self.canonical)(name)).collect(),
            (false, None) => return,
        };
        let tools = request.tools.iter();
        let stays = |name: &ToolName| name.as_str() == COMPLETE_TASK || allowed.contains(name);
        request.tools = tools.filter(|tool| stays(&tool.name)).cloned().collect();
    }
}

/// The stage of an answer.
enum StreamStage {
    /// Hooks are asked.
    Asking(BoxFuture<'static, StreamStage>),
    /// The model answers; with a request, hooks are asked about the answer before anybody sees it.
    Streaming(ModelEventStream, Option<Box<(HookedRequest, serde_json::Value)>>),
    Ending(VecDeque<Result<ModelEvent, ModelError>>),
}

fn failing(error: ModelError) -> StreamStage {
    StreamStage::Ending([Err(error)].into())
}

/// An answer that comes all at once.
fn whole(reply: ModelReply) -> StreamStage {
    let mut events: VecDeque<Result<ModelEvent, ModelError>> = reply
        .parts
        .iter()
        .filter_map(|part| match part {
            ReplyPart::Text(text) => Some(Ok(ModelEvent::TextDelta(text.clone()))),
            ReplyPart::Thought { text, .. } => Some(Ok(ModelEvent::ThoughtDelta(text.clone()))),
            ReplyPart::ToolCall { .. } => None,
        })
        .collect();
    events.push_back(Ok(ModelEvent::Finished(reply)));
    StreamStage::Ending(events)
}

async fn next_event(
    mut stage: StreamStage,
    clock: Arc<dyn Clock>,
) -> Option<(Result<ModelEvent, ModelError>, StreamStage)> {
    loop {
        match stage {
            StreamStage::Asking(mut asking) => {
                let next = tokio::select! {
                    biased;
                    next = &mut asking => Some(next),
                    () = clock.sleep(SIGN_OF_LIFE) => None,
                };
                match next {
                    Some(next) => stage = next,
                    None => return Some((Ok(ModelEvent::Alive), StreamStage::Asking(asking))),
                }
            }
            StreamStage::Streaming(mut inner, withheld) => {
                let event = inner.next().await?;
                match (event, withheld) {
                    (Ok(ModelEvent::Finished(reply)), Some(hooked)) => {
                        let (hooked, request) = *hooked;
                        stage =
                            StreamStage::Asking(Box::pin(async move { hooked.after(request, reply).await }));
                    }
                    (Ok(ModelEvent::TextDelta(text) | ModelEvent::ThoughtDelta(text)), Some(hooked)) => {
                        let held_back = ModelEvent::Unshown(text.len());
                        return Some((Ok(held_back), StreamStage::Streaming(inner, Some(hooked))));
                    }
                    (event, withheld) => return Some((event, StreamStage::Streaming(inner, withheld))),
                }
            }
            StreamStage::Ending(mut events) => {
                let event = events.pop_front()?;
                return Some((event, StreamStage::Ending(events)));
            }
        }
    }
}
