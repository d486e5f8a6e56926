//! At which points of a run are hooks asked, and what has been settled? (spec 08, "Hooks", "Durable")
//!
//! That the run is at a point follows from its state, so a machine that is folded from the log after a crash is at the points at
//! which the living one was. What hooks said is an event; that there are none to be asked is none, and is found out anew.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;

use super::{RunMachine, RunPhase, SideCall, SteeringMessage, TrackedCall, TurnStage};
use protocol::{
    COMPLETE_TASK, CallId, CallState, CompletionMode, HookEffect, HookEventName, HookFired, HookPoint,
    HookStarted, JudgedCall, MessagePart, PrivateEventFields, QueuedFor, RUN_SHELL_COMMAND, ResourceAccess,
    RunTask, SideCallPurpose, StopThen, ToolCall, ToolErrorType, ToolResult, ToolState, aliased_tool,
};

/// The number of times that hooks may keep a run from its end (spec 08, the table).
const MOST_GOALS: u32 = 8;

/// A call of the turn that a hook made, in place of the result of another.
#[derive(Debug, Clone)]
pub struct HookMadeCall {
    pub call_id: CallId,
    /// Missing in logs of earlier versions.
    pub hook: Option<Arc<str>>,
    /// The call that it follows.
    pub after: Option<Arc<ToolCall>>,
}

/// Part of a run's state.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct HookProgress {
    /// True if the run stands still at points until somebody says that there are no hooks, or what they say. No fact.
    pub watches: bool,
    /// The same of the point before a run begins, and of what is said to it. No facts.
    pub watches_begin: bool,
    pub watches_steers: bool,
    /// Everything that the model is told with its first request.
    pub opening: Option<Arc<str>>,
    /// Only of the current turn, with those at which there were no hooks.
    settled: Arc<BTreeSet<HookPoint>>,
    /// The number of times that hooks kept the run from its end.
    goals: u32,
    /// Everything that the model is told with its next turn.
    later: Arc<Vec<Arc<str>>>,
    /// Points at which the run stood when the daemon was restarted, and how often.
    interrupted: Arc<BTreeMap<HookPoint, u32>>,
    /// Firings whose hooks were at work for so long that the log tells, and which have not been answered.
    at_work: Arc<BTreeSet<String>>,
    /// Firings that were so when the daemon was restarted, and how often.
    cut_off: Arc<BTreeMap<String, u32>>,
    /// Restarts since the run got further the last time. At which point it stood then nobody knows where the points before it had no
    /// hooks, so whoever is asked first may have been asked before.
    pub restarts: u32,
}

impl HookProgress {
    pub fn begin_turn(&mut self) {
        self.settled = Arc::default();
        self.later = Arc::default();
        self.interrupted = Arc::default();
        self.at_work = Arc::default();
        self.cut_off = Arc::default();
    }

    /// A hook has been at work for a while.
    pub fn started(&mut self, data: &HookStarted) {
        if !data.is_async {
            Arc::make_mut(&mut self.at_work).insert(data.firing_id.clone());
        }
    }

    /// The number of restarts in which this was the last of the firings that was at work, as far as the log tells.
    fn cut_off(&self, firing: &String) -> u32 {
        self.cut_off.get(firing).copied().unwrap_or(0)
    }
}

/// The way in which a call ended, as hooks are told it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CallEnd {
    event: HookEventName,
    /// The tool's own.
    result: ToolResult,
    /// The parts that the model reads behind it.
    beside: Vec<MessagePart>,
    duration_us: u64,
}

/// A call that has ended, and at which hooks are asked.
#[derive(Debug, Clone)]
pub struct EndedCall {
    pub request: Arc<ToolCall>,
    pub event: HookEventName,
    pub result: ToolResult,
    pub duration_ms: u64,
    /// Everything that it touched; empty where it was never prepared.
    pub accesses: Vec<ResourceAccess>,
}

impl CallEnd {
    /// `None` = no hook is asked when a call ends so.
    pub fn of(call: &TrackedCall, data: &ToolState, private: &PrivateEventFields) -> Option<CallEnd> {
        if call.request.name.as_str() == COMPLETE_TASK {
            return None;
        }
        let mut result = data.result.clone()?;
        let n_beside = usize::try_from(private.beside_result).unwrap_or(usize::MAX);
        let n_own = result.llm_content.len().saturating_sub(n_beside);
        let beside = result.llm_content.split_off(n_own);
        let error = result.error.as_ref().map(|error| error.kind);
        let event = match (call.state, error) {
            (CallState::Executing, None) if has_failed(&call.request, &result) => {
                HookEventName::PostToolUseFailure
            }
            (CallState::Executing, None) => HookEventName::PostToolUse,
            (_, Some(ToolErrorType::Cancelled)) => return None,
            (CallState::Executing, Some(_)) => HookEventName::PostToolUseFailure,
            (_, Some(ToolErrorType::PolicyDenied | ToolErrorType::NoClient)) => {
                HookEventName::PermissionDenied
            }
            _ => return None,
        };
        let duration_us = private.active_us.saturating_sub(call.began_us);
        Some(CallEnd { event, result, beside, duration_us })
    }
}

/// Programs for which exit code 1 says what they found, not that they failed: as Claude Code has it.
const SAYING_NO: &[&str] = &["[", "diff", "egrep", "fgrep", "find", "grep", "rg", "test"];

/// True of a command that ended as failed ones do: by a signal, or with another exit code than 0.
fn has_failed(request: &ToolCall, result: &ToolResult) -> bool {
    let tool = request.name.as_str();
    if tool != RUN_SHELL_COMMAND && aliased_tool(tool) != Some(RUN_SHELL_COMMAND) {
        return false;
    }
    let Some(data) = &result.data else { return false };
    match data.get("exitCode").and_then(Value::as_i64) {
        Some(0) => false,
        Some(1) => {
            let command = request.arguments.get("command").and_then(Value::as_str).unwrap_or_default();
            let last = command.split(['|', ';', '&', '\n']).map(str::trim).rfind(|part| !part.is_empty());
            let program = last.and_then(|part| part.split_whitespace().next()).unwrap_or_default();
            !SAYING_NO.contains(&program)
        }
        Some(_) => true,
        None => data.get("signal").is_some_and(Value::is_string),
    }
}

impl TrackedCall {
    /// Everything that was found out about it; where hooks changed its arguments, it is that call from now on.
    pub(super) fn take_prepared(&mut self, prepared: &JudgedCall) {
        let hooked = prepared.hooks.as_deref();
        if let Some((arguments, hooked)) = hooked.and_then(|it| Some((it.arguments.as_ref()?, it))) {
            let request = ToolCall {
                arguments: arguments.clone(),
                redacted: hooked.redacted,
                ..ToolCall::clone(&self.request)
            };
            let before = std::mem::replace(&mut self.request, Arc::new(request));
            self.asked_for.get_or_insert(before);
        }
        self.prepared = Some(Arc::new(prepared.clone()));
    }
}

impl RunMachine {
    /// True if the run has to stand still where a hook may have to be asked. No fact; the driver says it before each step.
    pub fn watch_hooks(&mut self, watches: bool) {
        self.hooks.watches = watches;
    }

    /// The points that the run has come to and that are not settled, in the order in which they count.
    pub fn due_points(&self) -> Vec<HookPoint> {
        let mut due = Vec::new();
        if self.is_parked() {
            return due;
        }
        if self.stopping().is_none() && self.has_begun() && self.phase != RunPhase::Finished {
            let uncleared = self.steers.iter().filter(|steer| !steer.is_cleared);
            due.extend(uncleared.map(|steer| HookPoint::Steer { id: steer.id.to_string() }));
        }
        match &self.phase {
            RunPhase::Queued { waits_for: QueuedFor::Hooks } => {
                due.extend(Some(HookPoint::Begin).filter(|point| !self.hooks.settled.contains(point)));
                return due;
            }
            RunPhase::Acting => (),
            RunPhase::Thinking { stage: TurnStage::SideCall(side_call), .. } => {
                due.extend(self.compaction_point(*side_call));
                return due;
            }
            // What the model still reads is shown to hooks before.
            RunPhase::Stopping { then: StopThen::Grace | StopThen::Ask, .. } => (),
            _ => return due,
        }
        let n_before = due.len();
        let ended = self.calls.iter().filter(|call| call.end.is_some() && self.turn_is_open);
        let points = ended.map(|call| HookPoint::CallEnded { call: call.request.call_id.clone() });
        due.extend(points.filter(|point| !self.hooks.settled.contains(point)));
        let is_over = self.turn_is_open && self.calls.open().all(|call| call.completion.is_some());
        if n_before < due.len()
            || !is_over
            || self.phase != RunPhase::Acting
            || self.start().task != RunTask::Work
        {
            return due;
        }
        let turn_ended = HookPoint::TurnEnded { turn: self.turn };
        if self.calls.iter().any(|call| call.request.name.as_str() != COMPLETE_TASK)
            && !self.hooks.settled.contains(&turn_ended)
        {
            due.push(turn_ended);
            return due;
        }
        let hands_in = self.calls.is_empty() && self.start().completion == CompletionMode::Message;
        let goal = HookPoint::Goal { n: self.hooks.goals + 1 };
        let may_go_on = self.grace.is_none() && self.hooks.goals < MOST_GOALS;
        if (hands_in || self.pending().is_some()) && may_go_on && !self.hooks.settled.contains(&goal) {
            due.push(goal);
        }
        due
    }

    /// The point before a context is compressed. To shorten outputs alone is no compression.
    fn compaction_point(&self, side_call: SideCall) -> Option<HookPoint> {
        let is_compression = side_call.about == SideCallPurpose::Compression && !side_call.outputs_only;
        let point = HookPoint::Compaction { n: side_call.n };
        (is_compression && !self.hooks.settled.contains(&point)).then_some(point)
    }

    /// True if the context must not be compressed before hooks have said something.
    pub(super) fn compression_waits(&self, side_call: SideCall) -> bool {
        self.hooks.watches && self.compaction_point(side_call).is_some()
    }

    /// True if hooks may keep the context from being compressed: somebody asked for it, or the run could go on without.
    pub(super) fn may_go_on_uncompressed(&self) -> bool {
        let is_asked_for = self.start().task == RunTask::Compact;
        self.side_call().is_some_and(|side_call| is_asked_for || !side_call.forced)
    }

    /// True if the run stands still until hooks have said something.
    pub(super) fn waits_for_hooks(&self) -> bool {
        let is_of_turn = |point: &HookPoint| !matches!(point, HookPoint::Steer { .. });
        self.hooks.watches && self.due_points().iter().any(is_of_turn)
    }

    /// True if what was said to the run is to be shown to hooks before its next turn begins.
    pub(super) fn waits_for_steers(&self) -> bool {
        self.hooks.watches_steers && self.steers.iter().any(|steer| !steer.is_cleared)
    }

    /// Says whether hooks are to be asked before the run begins, and about what is said to it while it works. No facts.
    pub fn watch_prompts(&mut self, begin: bool, steers: bool) {
        self.hooks.watches_begin = begin;
        self.hooks.watches_steers = steers;
    }

    /// True if hooks have to have their say before the run begins.
    pub(super) fn is_to_be_shown_to_hooks(&self) -> bool {
        let is_work = self.start().task == RunTask::Work;
        is_work && self.hooks.watches_begin && !self.hooks.settled.contains(&HookPoint::Begin)
    }

    /// Everything that is said to the run under this name, and not read yet.
    pub fn steer_text(&self, id: &str) -> Option<&str> {
        self.steers.iter().find(|steer| *steer.id == *id).map(|steer| &*steer.text)
    }

    /// Nobody is to be asked about this point any more.
    pub(super) fn settle(&mut self, point: &HookPoint) {
        match point {
            HookPoint::Steer { id } => {
                let of_id = |steer: &&mut SteeringMessage| *steer.id == **id;
                if let Some(steer) = self.steers.iter_mut().find(of_id) {
                    steer.is_cleared = true;
                }
            }
            _ => drop(Arc::make_mut(&mut self.hooks.settled).insert(point.clone())),
        }
    }

    /// The call that a point is about.
    pub fn ended_call(&self, call: &CallId) -> Option<EndedCall> {
        let call = self.call(call)?;
        let CallEnd { event, result, duration_us, .. } = &**call.end.as_ref()?;
        let (request, result) = (Arc::clone(&call.request), result.clone());
        let accesses = call.prepared.as_ref().map(|prepared| prepared.accesses.clone()).unwrap_or_default();
        Some(EndedCall { request, event: *event, result, duration_ms: duration_us / 1_000, accesses })
    }

    /// The parts that the model reads behind the result of a call that hooks are told of, whatever they make of that.
    pub(super) fn beside_result(&self, call: &CallId) -> &[MessagePart] {
        self.call(call).and_then(|call| call.end.as_ref()).map_or(&[][..], |end| &end.beside)
    }

    /// All calls of the turn that hooks are told of, in the order asked.
    pub fn ended_calls(&self) -> Vec<EndedCall> {
        let calls = self.calls.iter().map(|call| call.request.call_id.clone());
        calls.filter_map(|call| self.ended_call(&call)).collect()
    }

    /// Everything that a run is about to hand in, else what it said last.
    pub fn about_to_say(&self) -> String {
        let pending = self.pending().and_then(|call| call.completion.as_ref());
        pending.map_or_else(|| self.last_text.to_string(), |completion| completion.result.clone())
    }

    /// True if hooks have kept the run from its end before.
    pub fn was_kept_going(&self) -> bool {
        self.hooks.goals != 0
    }

    /// From 1; more when the daemon died before it was written down what hooks said of this call.
    pub fn attempt_at(&self, call: &CallId) -> u32 {
        1 + self.call(call).map_or(0, |call| call.restarts)
    }

    /// The same of the firings of a point, which are asked in this order. Where the log tells at which of them a daemon died, those after it
    /// had not been asked.
    pub fn attempts_at_point(&self, point: &HookPoint, firings: &[String]) -> Vec<u32> {
        let restarts = self.hooks.interrupted.get(point).copied().unwrap_or(0).max(self.hooks.restarts);
        let attempt = |at: usize| {
            let (before, from) = firings.split_at(at);
            let most =
                |firings: &[String]| firings.iter().map(|it| self.hooks.cut_off(it)).max().unwrap_or(0);
            1 + restarts.saturating_sub(most(before).saturating_sub(most(from)))
        };
        (0..firings.len()).map(attempt).collect()
    }

    /// Everything that asynchronous hooks have said that the model has not been told.
    pub(super) fn later_words(&self) -> Vec<Arc<str>> {
        self.hooks.later.to_vec()
    }

    /// Everything that was said to the run and waits for what hooks say: nobody may read it before. They are asked at the points of a run
    /// that goes on.
    pub(super) fn unheard_steers(&self) -> Vec<String> {
        let uncleared = self.steers.iter().filter(|steer| !steer.is_cleared && self.hooks.watches_steers);
        uncleared.map(|steer| steer.id.to_string()).collect()
    }

    pub(super) fn apply_hook(&mut self, data: &HookFired, private: &PrivateEventFields) {
        if let Some(call) = data.call_id.as_ref().and_then(|call| self.calls.get_mut(call)) {
            call.restarts = 0;
        }
        Arc::make_mut(&mut self.hooks.at_work).remove(&data.firing_id);
        if let Some(effect) = private.hooked.as_deref() {
            self.apply_hook_effect(effect);
        }
        // Of several answers the first one has the effect, and each says what it wants itself.
        if let Some(call) = data.follow_up.as_ref().and_then(|call| self.calls.get_mut(call)) {
            call.wanted_by = Some(data.hook_id.as_str().into());
        }
    }

    fn apply_hook_effect(&mut self, effect: &HookEffect) {
        if let Some(later) = &effect.later {
            Arc::make_mut(&mut self.hooks.later).push(later.as_str().into());
        }
        let Some(point) = &effect.settles else { return };
        self.settle(point);
        match point {
            HookPoint::Goal { .. } => self.hooks.goals += u32::from(effect.blocks),
            HookPoint::Begin => self.hooks.opening = effect.context.as_deref().map(Into::into),
            HookPoint::Steer { id } if effect.blocks => self.steers.retain(|steer| *steer.id != **id),
            HookPoint::Steer { id } => {
                let of_id = |steer: &&mut SteeringMessage| *steer.id == **id;
                if let Some(steer) = self.steers.iter_mut().find(of_id) {
                    steer.context = effect.context.as_deref().map(Into::into);
                }
            }
            HookPoint::CallEnded { call } => {
                let follows = Some(call.clone());
                if let Some(request) = effect.follow_up.clone() {
                    self.calls.push(TrackedCall { follows, ..TrackedCall::requested(request) });
                }
            }
            HookPoint::TurnEnded { .. } | HookPoint::Compaction { .. } => (),
        }
    }

    /// The calls of this turn that hooks made, in place of the results of others.
    pub fn calls_of_hooks(&self) -> Vec<HookMadeCall> {
        let made = self.calls.iter().filter_map(|call| {
            let after = self.call(call.follows.as_ref()?).map(|first| Arc::clone(&first.request));
            let call_id = call.request.call_id.clone();
            Some(HookMadeCall { call_id, hook: call.wanted_by.clone(), after })
        });
        made.collect()
    }

    /// Only of a call that a hook made, the one in whose place the model reads what came of it.
    pub(super) fn follows(&self, call: &CallId) -> Option<&CallId> {
        self.call(call)?.follows.as_ref()
    }

    /// Hooks that were asked when the daemon died are asked again.
    pub(super) fn restart_hooks(&mut self) {
        if matches!(self.phase, RunPhase::Queued { waits_for: QueuedFor::Context | QueuedFor::Place }) {
            // Nobody is asked while it waits for other runs.
            return;
        }
        let due = self.due_points();
        self.hooks.restarts += 1;
        let interrupted = Arc::make_mut(&mut self.hooks.interrupted);
        for point in due {
            *interrupted.entry(point).or_default() += 1;
        }
        let cut_off = Arc::make_mut(&mut self.hooks.cut_off);
        for firing in std::mem::take(&mut self.hooks.at_work).iter() {
            *cut_off.entry(firing.clone()).or_default() += 1;
        }
        for call in self.calls.iter_mut().filter(|it| it.state == CallState::Validating) {
            call.restarts += 1;
        }
        self.restart_edits();
    }
}
