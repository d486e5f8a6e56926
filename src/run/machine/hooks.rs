//! At which points of a run are hooks asked, and what has been settled? (spec 08, "Hooks", "Durable")
//!
//! That the run is at a point follows from its state, so a machine that is folded from the log after a crash is at the points at
//! which the living one was. What hooks said is an event; that there are none to be asked is none, and is found out anew.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{RunFacts, RunMachine, RunPhase, SideCall, SteeringMessage, TrackedCall, TurnStage};
use protocol::{
    COMPLETE_TASK, CallId, CallState, CompletionMode, HookEffect, HookEventName, HookFired, HookPoint,
    HookStarted, JudgedCall, MessagePart, PrivateEventFields, QueuedFor, ResourceAccess, RunTask,
    SideCallPurpose, StopThen, ToolCall, ToolResult,
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
    /// Everything that the model is told with its first request.
    pub opening: Option<Arc<str>>,
    /// Only of the current turn, and only those at which hooks said something.
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
    /// The points that the run has come to and that are not settled, in the order in which they count.
    pub fn due_points(&self) -> Vec<HookPoint> {
        let is_watched = |call: &TrackedCall| self.now.hooks.end(&call.request.call_id).is_some();
        self.points(|point| self.is_settled(point), is_watched)
    }

    /// True if nobody is to be asked about this point any more, or there is nobody.
    fn is_settled(&self, point: &HookPoint) -> bool {
        self.is_answered(point) || self.now.hooks.has_passed(point)
    }

    /// True if the model may read this: hooks have had their say on it, or there are none.
    fn is_cleared(&self, steer: &SteeringMessage) -> bool {
        steer.is_cleared || self.now.hooks.has_passed_steer(&steer.id)
    }

    /// Nobody is to be asked about this point in this process.
    pub(super) fn pass(&mut self, point: &HookPoint) {
        if !self.is_settled(point) {
            self.now.hooks.pass(point);
        }
    }

    /// True if the context must not be compressed before hooks have said something.
    pub(super) fn compression_waits(&self, side_call: SideCall) -> bool {
        self.now.hooks.watches && compaction_point(side_call).is_some_and(|point| !self.is_settled(&point))
    }

    /// True if hooks may keep the context from being compressed: somebody asked for it, or the run could go on without.
    pub(super) fn may_go_on_uncompressed(&self) -> bool {
        let is_asked_for = self.start().task == RunTask::Compact;
        self.side_call().is_some_and(|side_call| is_asked_for || !side_call.forced)
    }

    /// True if the run stands still until hooks have said something.
    pub(super) fn waits_for_hooks(&self) -> bool {
        let is_of_turn = |point: &HookPoint| !matches!(point, HookPoint::Steer { .. });
        self.now.hooks.watches && self.due_points().iter().any(is_of_turn)
    }

    /// True if what was said to the run is to be shown to hooks before its next turn begins.
    pub(super) fn waits_for_steers(&self) -> bool {
        self.now.hooks.watches_steers && self.steers.iter().any(|steer| !self.is_cleared(steer))
    }

    /// True if hooks have to have their say before the run begins.
    pub(super) fn is_to_be_shown_to_hooks(&self) -> bool {
        let is_work = self.start().task == RunTask::Work;
        is_work && self.now.hooks.watches_begin && !self.is_settled(&HookPoint::Begin)
    }

    /// The call that a point is about.
    pub fn ended_call(&self, call: &CallId) -> Option<EndedCall> {
        let end = self.now.hooks.end(call)?;
        let call = self.call(call)?;
        let (request, event, result) = (Arc::clone(&call.request), call.end?, end.result.clone());
        let accesses = call.prepared.as_ref().map(|prepared| prepared.accesses.clone()).unwrap_or_default();
        Some(EndedCall { request, event, result, duration_ms: end.duration_us / 1_000, accesses })
    }

    /// The parts that the model reads behind the result of a call that hooks are told of, whatever they make of that.
    pub(super) fn beside_result(&self, call: &CallId) -> &[MessagePart] {
        self.now.hooks.end(call).map_or(&[][..], |end| &end.beside)
    }

    /// All calls of the turn that hooks are told of, in the order asked.
    pub fn ended_calls(&self) -> Vec<EndedCall> {
        let calls = self.calls.iter().map(|call| call.request.call_id.clone());
        calls.filter_map(|call| self.ended_call(&call)).collect()
    }

    /// Everything that was said to the run and waits for what hooks say: nobody may read it before. They are asked at the points of a run
    /// that goes on.
    pub(super) fn unheard_steers(&self) -> Vec<String> {
        let watches = self.now.hooks.watches_steers;
        let uncleared = self.steers.iter().filter(|steer| watches && !self.is_cleared(steer));
        uncleared.map(|steer| steer.id.to_string()).collect()
    }

    /// Messages that the model may be given now: those on which hooks have had their say, or are not to be asked.
    pub(super) fn readable_steers(&self) -> Vec<SteeringMessage> {
        let watches = self.now.hooks.watches_steers;
        self.steers.iter().filter(|steer| !watches || self.is_cleared(steer)).cloned().collect()
    }
}

impl RunFacts {
    /// The points that the run has come to, without those that are settled and the ends of calls that nobody watched.
    fn points(
        &self,
        is_settled: impl Fn(&HookPoint) -> bool,
        is_watched: impl Fn(&TrackedCall) -> bool,
    ) -> Vec<HookPoint> {
        let mut due = Vec::new();
        if self.is_parked() {
            return due;
        }
        if self.stopping().is_none() && self.has_begun() && self.phase != RunPhase::Finished {
            let uncleared = self.steers.iter().filter(|steer| !steer.is_cleared);
            let points = uncleared.map(|steer| HookPoint::Steer { id: steer.id.to_string() });
            due.extend(points.filter(|point| !is_settled(point)));
        }
        match &self.phase {
            RunPhase::Queued { waits_for: QueuedFor::Hooks } => {
                due.extend(Some(HookPoint::Begin).filter(|point| !is_settled(point)));
                return due;
            }
            RunPhase::Acting => (),
            RunPhase::Thinking { stage: TurnStage::SideCall(side_call), .. } => {
                due.extend(compaction_point(*side_call).filter(|point| !is_settled(point)));
                return due;
            }
            // What the model still reads is shown to hooks before.
            RunPhase::Stopping { then: StopThen::Grace | StopThen::Ask, .. } => (),
            _ => return due,
        }
        let n_before = due.len();
        let ended =
            self.calls.iter().filter(|call| self.turn.is_open && call.end.is_some() && is_watched(call));
        let points = ended.map(|call| HookPoint::CallEnded { call: call.request.call_id.clone() });
        due.extend(points.filter(|point| !is_settled(point)));
        let is_over = self.turn.is_open && self.calls.open().all(|call| call.completion.is_some());
        if n_before < due.len()
            || !is_over
            || self.phase != RunPhase::Acting
            || self.start().task != RunTask::Work
        {
            return due;
        }
        let turn_ended = HookPoint::TurnEnded { turn: self.turn.number };
        if self.calls.iter().any(|call| call.request.name.as_str() != COMPLETE_TASK)
            && !is_settled(&turn_ended)
        {
            due.push(turn_ended);
            return due;
        }
        let hands_in = self.calls.is_empty() && self.start().completion == CompletionMode::Message;
        let goal = HookPoint::Goal { n: self.hooks.goals + 1 };
        let may_go_on = self.turn.grace.is_none() && self.hooks.goals < MOST_GOALS;
        if (hands_in || self.pending().is_some()) && may_go_on && !is_settled(&goal) {
            due.push(goal);
        }
        due
    }

    /// True if hooks have said all that they have to say at this point.
    fn is_answered(&self, point: &HookPoint) -> bool {
        match point {
            // One that is gone has been read, or was kept from the model.
            HookPoint::Steer { id } => {
                !self.steers.iter().any(|steer| *steer.id == **id && !steer.is_cleared)
            }
            _ => self.hooks.settled.contains(point),
        }
    }

    /// Everything that is said to the run under this name, and not read yet.
    pub fn steer_text(&self, id: &str) -> Option<&str> {
        self.steers.iter().find(|steer| *steer.id == *id).map(|steer| &*steer.text)
    }

    /// Hooks have had their say at this point.
    fn settle(&mut self, point: &HookPoint) {
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

    /// Everything that a run is about to hand in, else what it said last.
    pub fn about_to_say(&self) -> String {
        let pending = self.pending().and_then(|call| call.completion.as_ref());
        pending.map_or_else(|| self.turn.last_text.to_string(), |completion| completion.result.clone())
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
        let due = self.points(|point| self.is_answered(point), |_| true);
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

/// The point before a context is compressed. To shorten outputs alone is no compression.
fn compaction_point(side_call: SideCall) -> Option<HookPoint> {
    let is_compression = side_call.about == SideCallPurpose::Compression && !side_call.outputs_only;
    is_compression.then_some(HookPoint::Compaction { n: side_call.n })
}
