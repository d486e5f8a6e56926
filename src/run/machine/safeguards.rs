//! What a run keeps in mind so that it neither overflows nor goes round in circles nor costs without bound (spec 04).

use std::{collections::BTreeSet, sync::Arc};

use super::{RunMachine, RunPhase, SideCall, TurnStage};
use crate::loops::{CallCycle, CallLoopDetector};
use protocol::{
    BudgetKind, BudgetLimits, CompressionStatus, Confirmation, ContextCompressed, ContextNudged,
    LoopDetected, LoopKind, MessagePart, ModelCompleted, ModelFallback, ModelRouted, NamedModel, NudgeReason,
    PrivateEventFields, RunTask, SamplingSettings, SideCallCompleted, SideCallPurpose, SideCallStarted,
    Timestamp,
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

/// Part of a run's state.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct SafeguardState {
    /// Questions of the daemon's own so far; names the next.
    pub n_side_calls: u32,
    /// Calls of models that they took, whatever came of them.
    pub n_side_replies: u32,
    /// Of the context.
    pub epoch: u32,
    /// Tokens of the last prompt in the context; 0 = unknown.
    pub prompt_tokens: u64,
    /// Nothing is compressed any more unless somebody asks for it.
    pub is_compression_off: bool,
    /// A prompt of less than this is not compressed by itself.
    pub compress_beyond: u64,
    /// What was done in this turn so that the request fits.
    pub squeezed: ContextReduction,
    /// The reason why the model was asked again last.
    pub last_failure: Arc<str>,
    pub fallbacks: usize,
    /// What the model that is asked says of sampling by its alias or entry; `None` = it is the one with which the run began.
    pub sampling: Option<SamplingSettings>,
    pub is_routed: bool,
    /// The task of a run that only changes its context is done.
    pub is_done: bool,
    calls: CallLoopDetector,
    /// What the last reply's calls repeat.
    pub round: Option<CallCycle>,
    pub n_loops: u32,
    /// The model is to be told of a circle.
    pub nudge: Option<LoopKind>,
    pub next_judged: u32,
    pub warned: BTreeSet<BudgetKind>,
    /// Limits that people gave the run instead of those that were used up.
    pub raised: BudgetLimits,
    /// What a person is asked about the budget.
    pub question: Option<Arc<Confirmation>>,
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

impl SafeguardState {
    pub fn begin_turn(&mut self) {
        self.squeezed = ContextReduction::Not;
    }

    pub fn apply_reply(&mut self, data: &ModelCompleted, private: &PrivateEventFields) {
        if data.usage.prompt_tokens != 0 {
            self.prompt_tokens = data.usage.prompt_tokens;
        }
        let calls = private.message.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
            MessagePart::ToolCall(call) => Some((call.name.as_str(), &call.arguments)),
            _ => None,
        });
        self.round = self.calls.push(calls);
    }

    pub fn apply_loop(&mut self, data: &LoopDetected) {
        self.n_loops += 1;
        self.calls.clear();
        self.round = None;
        self.nudge = (!data.stops).then_some(data.kind);
    }
}

impl RunMachine {
    /// The model that is asked: the run's own, or the one that took over.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Tokens that fit that model; `None` = nobody knows.
    pub fn window(&self) -> Option<u64> {
        self.window
    }

    /// How that model samples by its alias or entry, where it is not the one with which the run began.
    pub fn sampling(&self) -> Option<SamplingSettings> {
        self.safeguards.sampling
    }

    /// What the context's earlier runs left. No facts of this run; the driver tells them before the run's first step.
    pub fn remember(&mut self, past: ContextState) {
        let ContextState { prompt_tokens, is_compression_off, epoch } = past;
        if self.safeguards.prompt_tokens == 0 {
            self.safeguards.prompt_tokens = prompt_tokens;
        }
        self.safeguards.is_compression_off |= is_compression_off;
        self.safeguards.epoch = self.safeguards.epoch.max(epoch);
    }

    /// What models were asked of the daemon's own so far: the ordinal of the next reply.
    pub fn n_side_replies(&self) -> u32 {
        self.safeguards.n_side_replies
    }

    /// The question that is being asked.
    pub fn side_call(&self) -> Option<SideCall> {
        match &self.phase {
            RunPhase::Thinking { stage: TurnStage::SideCall(side_call), .. }
            | RunPhase::Considering(side_call) => Some(*side_call),
            _ => None,
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
            return (!self.safeguards.is_done).then_some(SideCallStarted { forced: true, ..consulting });
        }
        if self.grace.is_some() || start.task != RunTask::Work {
            return None;
        }
        if let (Some(_), Some(small), false) = (&care.auto, &care.small, self.safeguards.is_routed) {
            return Some(consulting(SideCallPurpose::Routing, Some(small)));
        }
        if self.is_full() && self.safeguards.squeezed == ContextReduction::Not {
            return Some(consulting(SideCallPurpose::Compression, Some(&self.summariser())));
        }
        let small = care.small.as_ref().filter(|_| care.loop_judge)?;
        let is_due = JUDGED_AFTER < self.turn && self.safeguards.next_judged <= self.turn;
        is_due.then(|| consulting(SideCallPurpose::LoopCheck, Some(small)))
    }

    /// The model that would summarise the context: the one that was chosen for it, else the run's.
    pub fn summariser(&self) -> NamedModel {
        self.start().safeguards.summariser.clone().unwrap_or_else(|| self.own_model())
    }

    /// The model that is asked, with its window and what its own alias or entry says of sampling.
    pub fn own_model(&self) -> NamedModel {
        let context_window = self.window.unwrap_or(ASSUMED_WINDOW);
        let sampling = self.safeguards.sampling.unwrap_or(self.start().safeguards.sampling);
        NamedModel { name: self.model.to_string(), context_window, sampling }
    }

    /// True if the last prompt took so much of the window that the context is to be compressed.
    fn is_full(&self) -> bool {
        let (Some(part), Some(window)) = (self.start().safeguards.compress_at, self.window) else {
            return false;
        };
        let SafeguardState { prompt_tokens, is_compression_off, compress_beyond, .. } = self.safeguards;
        // Tokens of a window are far fewer than a float tells apart.
        !is_compression_off && part * window as f64 <= prompt_tokens as f64 && compress_beyond < prompt_tokens
    }

    pub(super) fn apply_consulting(&mut self, data: &SideCallStarted) {
        self.safeguards.n_side_calls += 1;
        let SideCallStarted { purpose, forced, outputs_only, .. } = *data;
        let side_call = SideCall { n: self.safeguards.n_side_calls, about: purpose, forced, outputs_only };
        match &mut self.phase {
            RunPhase::Thinking { stage, .. } => *stage = TurnStage::SideCall(side_call),
            RunPhase::Acting => self.phase = RunPhase::Considering(side_call),
            _ => (),
        }
    }

    pub(super) fn apply_consulted(&mut self, data: &SideCallCompleted) {
        self.spent += data.spent();
        if data.abandoned {
            return;
        }
        // Also what came to nothing: a recording may have a line of it.
        self.safeguards.n_side_replies += 1;
        match data.purpose {
            SideCallPurpose::NextSpeaker => {
                if let RunPhase::Considering(_) = self.phase {
                    self.phase = RunPhase::Acting;
                }
            }
            SideCallPurpose::LoopCheck => {
                self.safeguards.next_judged = self.turn + judged_again(data.confidence.unwrap_or(0.0));
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
        self.safeguards.is_routed = true;
        self.model = data.model.as_str().into();
        self.window = data.context_window.or(self.window);
        self.safeguards.sampling = data.sampling;
        self.advised();
    }

    pub(super) fn apply_fallback(&mut self, data: &ModelFallback) {
        self.safeguards.fallbacks += 1;
        self.model = data.to.as_str().into();
        self.window = data.context_window;
        self.safeguards.sampling = data.sampling;
        if let RunPhase::Thinking { failures, .. } = &mut self.phase {
            *failures = 0;
        }
    }

    pub(super) fn apply_compressed(&mut self, data: &ContextCompressed) {
        let outputs_only = self.side_call().is_some_and(|side_call| side_call.outputs_only);
        let safeguards = &mut self.safeguards;
        safeguards.squeezed = if outputs_only { ContextReduction::Cut } else { ContextReduction::Compressed };
        safeguards.is_done = true;
        safeguards.epoch = data.epoch;
        let growth = self.window.unwrap_or(0) / GROWTH;
        safeguards.compress_beyond = data.tokens_before.saturating_add(growth);
        match data.status {
            CompressionStatus::Compressed => {
                safeguards.prompt_tokens = data.tokens_after;
                safeguards.compress_beyond = data.tokens_after.saturating_add(growth);
                safeguards.is_compression_off &= !data.forced;
            }
            CompressionStatus::CompressionFailedInflatedTokenCount => safeguards.is_compression_off = true,
            CompressionStatus::Noop | CompressionStatus::CompressionFailedEmptySummary => (),
        }
        self.advised();
    }

    pub(super) fn apply_nudge(&mut self, data: &ContextNudged) {
        match data.reason {
            NudgeReason::CutShort => {
                self.was_continued = true;
                self.cut_text = format!("{}{}", self.cut_text, self.last_text).into();
            }
            NudgeReason::Loop => self.safeguards.nudge = None,
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
