//! What a run keeps in mind so that it neither overflows nor goes round in circles nor costs without bound (spec 04).

use std::sync::Arc;

use super::{RunFacts, RunMachine, RunPhase, SideCall, TurnStage};
use crate::loops::{CallCycle, CallLoopDetector};
use protocol::{
    CompressionStatus, ContextCompressed, ContextNudged, LoopDetected, LoopKind, MessagePart, ModelCompleted,
    ModelFallback, ModelRouted, NamedModel, NudgeReason, PrivateEventFields, RunStarted, RunTask,
    SamplingSettings, SideCallCompleted, SideCallPurpose, SideCallStarted, Timestamp,
};

/// Turns before a model is asked for the first time whether the run goes round in circles (spec 04).
const JUDGED_AFTER: u32 = 30;
/// Turns from one such check to the next, when the last was sure and when it saw nothing (spec 04).
const JUDGED_EVERY: (u32, u32) = (5, 15);
/// Of a model about which nobody said more (spec 04, "Context window").
pub(super) const ASSUMED_WINDOW: u64 = 128_000;
/// Of the window: how much a prompt must grow before what came to little is tried again.
const GROWTH: u64 = 10;

/// What is known of a context.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ContextState {
    /// Of its last prompt, the rest of the request included; 0 = unknown.
    pub prompt_tokens: u64,
    /// A compression made it longer, and nobody has asked for one since.
    pub is_compression_off: bool,
    pub epoch: u32,
}

/// The model that a run asks, and how it came to be that one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ModelFacts {
    pub name: Arc<str>,
    /// Tokens that fit it.
    pub window: Option<u64>,
    /// What it says of sampling by its alias or entry; `None` = it is the one with which the run began.
    pub sampling: Option<SamplingSettings>,
    pub fallbacks: usize,
    pub is_routed: bool,
    /// The reason why the model was asked again last.
    pub last_failure: Arc<str>,
}

/// The context that a run's model reads, as far as the run changed it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ContextFacts {
    epoch: u32,
    /// Tokens of the last prompt; 0 = unknown.
    prompt_tokens: u64,
    /// True if nothing is compressed any more unless somebody asks for it; `None` = as earlier runs left it.
    is_compression_off: Option<bool>,
    /// A prompt of less than this is not compressed by itself.
    compress_beyond: u64,
    /// What was done in this turn so that the request fits.
    pub squeezed: ContextReduction,
    /// The task of a run that only changes its context is done.
    is_done: bool,
}

/// Questions of the daemon's own.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct SideCallFacts {
    /// So far; names the next.
    asked: u32,
    /// Calls of models that they took, whatever came of them.
    replies: u32,
}

/// Everything that says whether a run goes round in circles.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct LoopFacts {
    calls: CallLoopDetector,
    /// What the last reply's calls repeat.
    pub round: Option<CallCycle>,
    /// Circles so far.
    pub found: u32,
    /// The model is to be told of a circle.
    pub nudge: Option<LoopKind>,
    next_judged: u32,
}

/// How far a turn went to make its request fit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ContextReduction {
    #[default]
    Not,
    /// The context was compressed, at least that was tried.
    Compressed,
    /// All tool outputs were cut.
    Cut,
}

impl ModelFacts {
    /// The model with which a run begins.
    pub fn begin(start: &RunStarted) -> ModelFacts {
        ModelFacts {
            name: start.model.as_str().into(),
            window: start.context_window,
            sampling: None,
            fallbacks: 0,
            is_routed: false,
            last_failure: Arc::default(),
        }
    }
}

impl ContextFacts {
    pub fn begin_turn(&mut self) {
        self.squeezed = ContextReduction::Not;
    }

    pub fn replied(&mut self, data: &ModelCompleted) {
        if data.usage.prompt_tokens != 0 {
            self.prompt_tokens = data.usage.prompt_tokens;
        }
    }
}

impl LoopFacts {
    pub fn replied(&mut self, private: &PrivateEventFields) {
        let calls = private.message.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
            MessagePart::ToolCall(call) => Some((call.name.as_str(), &call.arguments)),
            _ => None,
        });
        self.round = self.calls.push(calls);
    }

    /// A run goes round in a circle.
    pub fn found(&mut self, data: &LoopDetected) {
        self.found += 1;
        self.calls.clear();
        self.round = None;
        self.nudge = (!data.stops).then_some(data.kind);
    }
}

impl RunMachine {
    /// What is known of the context: as the run left it, and before that, those before it.
    pub(super) fn context(&self) -> ContextState {
        let ContextFacts { epoch, prompt_tokens, is_compression_off, .. } = self.context;
        let past = self.now.past;
        ContextState {
            prompt_tokens: if prompt_tokens == 0 { past.prompt_tokens } else { prompt_tokens },
            is_compression_off: is_compression_off.unwrap_or(past.is_compression_off),
            epoch: epoch.max(past.epoch),
        }
    }

    /// What comes before the model is asked in this turn, if anything does.
    pub(super) fn next_side_call(&self) -> Option<SideCallStarted> {
        let consulting = |purpose, model: Option<&NamedModel>| SideCallStarted {
            purpose,
            model: model.map(|model| model.name.clone()),
            forced: false,
            outputs_only: false,
        };
        let (start, care) = (self.start(), &self.start().safeguards);
        if start.task == RunTask::Compact {
            let consulting = consulting(SideCallPurpose::Compression, Some(&self.summariser()));
            return (!self.context.is_done).then_some(SideCallStarted { forced: true, ..consulting });
        }
        if self.turn.grace.is_some() || start.task != RunTask::Work {
            return None;
        }
        if let (Some(_), Some(small), false) = (&care.auto, &care.small, self.model.is_routed) {
            return Some(consulting(SideCallPurpose::Routing, Some(small)));
        }
        if self.is_full() && self.context.squeezed == ContextReduction::Not {
            return Some(consulting(SideCallPurpose::Compression, Some(&self.summariser())));
        }
        let small = care.small.as_ref().filter(|_| care.loop_judge)?;
        let is_due = JUDGED_AFTER < self.turn.number && self.loops.next_judged <= self.turn.number;
        is_due.then(|| consulting(SideCallPurpose::LoopCheck, Some(small)))
    }

    /// True if the last prompt took so much of the window that the context is to be compressed.
    fn is_full(&self) -> bool {
        let (Some(part), Some(window)) = (self.start().safeguards.compress_at, self.window()) else {
            return false;
        };
        let ContextState { prompt_tokens, is_compression_off, .. } = self.context();
        // Tokens of a window are far fewer than a float tells apart.
        !is_compression_off
            && part * window as f64 <= prompt_tokens as f64
            && self.context.compress_beyond < prompt_tokens
    }
}

impl RunFacts {
    /// The model that is asked: the run's own, or the one that took over.
    pub fn model(&self) -> &str {
        &self.model.name
    }

    /// Tokens that fit that model; `None` = nobody knows.
    pub fn window(&self) -> Option<u64> {
        self.model.window
    }

    /// How that model samples by its alias or entry, where it is not the one with which the run began.
    pub fn sampling(&self) -> Option<SamplingSettings> {
        self.model.sampling
    }

    /// What models were asked of the daemon's own so far: the ordinal of the next reply.
    pub fn n_side_replies(&self) -> u32 {
        self.side_calls.replies
    }

    /// The question that is being asked.
    pub fn side_call(&self) -> Option<SideCall> {
        match &self.phase {
            RunPhase::Thinking { stage: TurnStage::SideCall(side_call), .. }
            | RunPhase::Considering(side_call) => Some(*side_call),
            _ => None,
        }
    }

    /// The model that would summarise the context: the one that was chosen for it, else the run's.
    pub fn summariser(&self) -> NamedModel {
        self.start().safeguards.summariser.clone().unwrap_or_else(|| self.own_model())
    }

    /// The model that is asked, with its window and what its own alias or entry says of sampling.
    pub fn own_model(&self) -> NamedModel {
        let context_window = self.model.window.unwrap_or(ASSUMED_WINDOW);
        let sampling = self.model.sampling.unwrap_or(self.start().safeguards.sampling);
        NamedModel { name: self.model.name.to_string(), context_window, sampling }
    }

    pub(super) fn apply_consulting(&mut self, data: &SideCallStarted) {
        self.side_calls.asked += 1;
        let SideCallStarted { purpose, forced, outputs_only, .. } = *data;
        let side_call = SideCall { n: self.side_calls.asked, about: purpose, forced, outputs_only };
        match &mut self.phase {
            RunPhase::Thinking { stage, .. } => *stage = TurnStage::SideCall(side_call),
            RunPhase::Acting => self.phase = RunPhase::Considering(side_call),
            _ => (),
        }
    }

    pub(super) fn apply_consulted(&mut self, data: &SideCallCompleted) {
        self.budget.spent += data.spent();
        if data.abandoned {
            return;
        }
        // Also what came to nothing: a recording may have a line of it.
        self.side_calls.replies += 1;
        match data.purpose {
            SideCallPurpose::NextSpeaker => {
                if let RunPhase::Considering(_) = self.phase {
                    self.phase = RunPhase::Acting;
                }
            }
            SideCallPurpose::LoopCheck => {
                self.loops.next_judged = self.turn.number + judged_again(data.confidence.unwrap_or(0.0));
                self.advised();
            }
            // Their ends have events of their own.
            SideCallPurpose::Compression | SideCallPurpose::Routing => (),
            // A tool asked, or a hook; the run waits for its call or the hook, and for nothing else.
            SideCallPurpose::WebFetch
            | SideCallPurpose::WebSearch
            | SideCallPurpose::McpSampling
            | SideCallPurpose::Hook => (),
        }
    }

    pub(super) fn apply_routed(&mut self, data: &ModelRouted) {
        let model = &mut self.model;
        model.is_routed = true;
        model.name = data.model.as_str().into();
        model.window = data.context_window.or(model.window);
        model.sampling = data.sampling;
        self.advised();
    }

    pub(super) fn apply_fallback(&mut self, data: &ModelFallback) {
        let model = &mut self.model;
        model.fallbacks += 1;
        model.name = data.to.as_str().into();
        model.window = data.context_window;
        model.sampling = data.sampling;
        if let RunPhase::Thinking { failures, .. } = &mut self.phase {
            *failures = 0;
        }
    }

    pub(super) fn apply_compressed(&mut self, data: &ContextCompressed) {
        let outputs_only = self.side_call().is_some_and(|side_call| side_call.outputs_only);
        let growth = self.model.window.unwrap_or(0) / GROWTH;
        let context = &mut self.context;
        context.squeezed = if outputs_only { ContextReduction::Cut } else { ContextReduction::Compressed };
        context.is_done = true;
        context.epoch = data.epoch;
        context.compress_beyond = data.tokens_before.saturating_add(growth);
        match data.status {
            CompressionStatus::Compressed => {
                context.prompt_tokens = data.tokens_after;
                context.compress_beyond = data.tokens_after.saturating_add(growth);
                if data.forced {
                    context.is_compression_off = Some(false);
                }
            }
            CompressionStatus::CompressionFailedInflatedTokenCount => context.is_compression_off = Some(true),
            CompressionStatus::Noop | CompressionStatus::CompressionFailedEmptySummary => (),
        }
        self.advised();
    }

    pub(super) fn apply_nudge(&mut self, data: &ContextNudged) {
        match data.reason {
            NudgeReason::CutShort => {
                let turn = &mut self.turn;
                turn.was_continued = true;
                turn.cut_text = format!("{}{}", turn.cut_text, turn.last_text).into();
            }
            NudgeReason::Loop => self.loops.nudge = None,
            NudgeReason::NextSpeaker | NudgeReason::Hook => (),
        }
    }

    /// What came before the model was to be asked is over.
    fn advised(&mut self) {
        if let RunPhase::Thinking { stage: stage @ TurnStage::SideCall(_), .. } = &mut self.phase {
            *stage = TurnStage::Waiting { not_before: Timestamp::default() };
        }
    }
}

/// Turns until the next check: the surer the last one was, the sooner.
fn judged_again(confidence: f64) -> u32 {
    let (soon, late) = JUDGED_EVERY;
    let turns = f64::from(late) - f64::from(late - soon) * confidence.clamp(0.0, 1.0);
    // Between the two bounds.
    turns.round() as u32
}
