//! Questions of the daemon's own, of tools and of hooks to models: what do they take of the run's budget, and which of them has nobody
//! told yet? What was asked is told whatever becomes of it, also of a question that is dropped with whoever asked it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::{
    alternates::ModelFallbacks,
    machine::{AskingHook, EventDraft, MachineInput, SideCallReply, ToolSideCall},
    meter::UsageMeter,
};
use protocol::{EventBody, SideCallCompleted, SideCallPurpose, Timestamp, Usage, UsageTotal, UsdAmount};
use sys::clock::Clock;

/// The reason why a question has no answer for which nobody waits any more.
const GIVEN_UP: &str = "given up: nobody waits for the answer any more";

/// The questions that a run asks models beside its turns.
#[derive(Default)]
pub(crate) struct SideCallLedger {
    /// Which reply to a question of the run is the next one.
    next: AtomicU32,
    /// Calls of tools and hooks ask one after the other.
    pub(super) turn: tokio::sync::Mutex<()>,
    /// By all of them in this life of the daemon.
    asked: Sum,
    /// Of that what the run's log tells, so that it is counted in what the run has left.
    told: Sum,
    untold: Mutex<UntoldSideCalls>,
}

/// Tokens, and billionths of a dollar.
#[derive(Default)]
struct Sum {
    tokens: AtomicU64,
    nanos: AtomicU64,
}

impl Sum {
    fn add(&self, usage: Usage, cost: Option<UsdAmount>) {
        self.tokens.fetch_add(usage.total(), Ordering::Relaxed);
        self.nanos.fetch_add(cost.unwrap_or_default().nanos(), Ordering::Relaxed);
    }

    fn get(&self) -> (u64, u64) {
        (self.tokens.load(Ordering::Relaxed), self.nanos.load(Ordering::Relaxed))
    }
}

/// Questions that the log does not tell yet.
#[derive(Default)]
struct UntoldSideCalls {
    n_begun: u64,
    by_id: BTreeMap<u64, UntoldSideCall>,
    /// Questions that the step tells which is being committed.
    given_up: BTreeSet<u64>,
}

struct UntoldSideCall {
    what: AskedSideCall,
    /// Whoever asked: it hands over what came of its questions when it ends.
    asker: AskerId,
    asked_at: Timestamp,
    /// Measured by the clock that never jumps.
    since: Duration,
    meter: UsageMeter,
    alternates: Arc<ModelFallbacks>,
    clock: Arc<dyn Clock>,
    state: SideCallState,
}

enum SideCallState {
    Open,
    Ended(Box<ToolSideCall>),
    /// The same; whoever asked has told it the run, which has not written it down yet.
    Handed(Box<ToolSideCall>),
    /// The same; whoever asked is gone.
    Lost(Box<ToolSideCall>),
}

impl SideCallState {
    fn ended(&self) -> Option<&ToolSideCall> {
        match self {
            SideCallState::Open => None,
            SideCallState::Ended(ended) | SideCallState::Handed(ended) | SideCallState::Lost(ended) => {
                Some(ended)
            }
        }
    }
}

/// The questions that end with what a run does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndingSideCalls {
    None,
    /// The run is told to stop: calls of tools end by themselves after that, and tell what they asked.
    AllButOfTools,
    /// The daemon ends.
    All,
}

/// Names one who asks, among those of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AskerId(u64);

/// The one who asks, and the model.
#[derive(Clone)]
pub(super) struct AskedSideCall {
    pub purpose: SideCallPurpose,
    /// Only of a question of a hook's.
    pub hook: Option<AskingHook>,
    pub model: String,
}

impl AskedSideCall {
    /// A tool asks: its call tells it, which ends after the run was told to stop.
    fn is_of_tool(&self) -> bool {
        is_of_tool(self.purpose)
    }

    /// Drawn from what calls have left.
    fn is_of_call(&self) -> bool {
        self.is_of_tool() || self.hook.is_some()
    }
}

impl UntoldSideCall {
    /// The question as it is told with this answer.
    fn ended(&self, call: SideCallReply) -> ToolSideCall {
        let AskedSideCall { purpose, hook, .. } = self.what.clone();
        let took = self.clock.monotonic().saturating_sub(self.since);
        let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        ToolSideCall { purpose, call, asked_at: self.asked_at, duration_ms, hook, given_up: false }
    }

    fn cut_off(&self, why: &str) -> ToolSideCall {
        let model = self.what.model.clone();
        let metered = self.alternates.cut_off(&model, &self.meter);
        self.ended(SideCallReply { model, metered, text: String::new(), error: Some(why.to_owned()) })
    }

    /// The question as it is told where nobody waits for it: an answer of the daemon's own question comes to nothing then, too.
    fn given_up(&self) -> ToolSideCall {
        match self.state.ended() {
            None => ToolSideCall { given_up: true, ..self.cut_off(GIVEN_UP) },
            Some(told) => ToolSideCall { given_up: !self.what.is_of_call(), ..told.clone() },
        }
    }

    /// True if this event tells it, as whoever asked hands it over.
    fn is_told_by(&self, told: &SideCallCompleted) -> bool {
        let Some(ended) = self.state.ended() else { return false };
        let is_this_hook = || {
            let hook = self.what.hook.as_ref();
            told.hook_id.as_ref() == hook.map(|it| &it.hook_id)
                && told.firing_id.as_ref() == hook.map(|it| &it.firing_id)
        };
        let is_then = told.asked_at.is_none_or(|at| at == self.asked_at);
        let is_same = told.text == ended.call.text && told.usage == ended.call.metered.usage;
        !told.abandoned && told.purpose == self.what.purpose && is_this_hook() && is_then && is_same
    }
}

impl SideCallLedger {
    /// So many questions of the run were told. Those of calls that go on come on top.
    pub fn told(&self, n_replies: u32) {
        self.next.fetch_max(n_replies, Ordering::Relaxed);
    }

    /// The number of the next question among the run's.
    pub(super) fn next_ordinal(&self) -> u32 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// What a question took stands in the log.
    pub fn count(&self, told: &SideCallCompleted) {
        // The others are the run's own.
        if told.purpose == SideCallPurpose::Hook || is_of_tool(told.purpose) {
            self.told.add(told.usage, told.cost);
        }
    }

    /// For a call that begins: how much of what was asked the log tells by now.
    pub fn counted(&self) -> (u64, u64) {
        self.told.get()
    }

    /// What was asked beyond that.
    pub(super) fn since(&self, counted: (u64, u64)) -> UsageTotal {
        let (tokens, nanos) = self.asked.get();
        let usage = Usage { prompt_tokens: tokens.saturating_sub(counted.0), ..Usage::default() };
        UsageTotal::of(usage, Some(UsdAmount::from_nanos(nanos.saturating_sub(counted.1))))
    }

    /// Somebody who may ask.
    pub fn asker(&self) -> AskerId {
        let mut untold = self.untold();
        untold.n_begun += 1;
        AskerId(untold.n_begun)
    }

    /// A question is about to be asked.
    pub(super) fn begin(
        self: &Arc<SideCallLedger>,
        (asker, what): (AskerId, AskedSideCall),
        meter: UsageMeter,
        (alternates, clock): (&Arc<ModelFallbacks>, &Arc<dyn Clock>),
    ) -> SideCallGuard {
        let begun = UntoldSideCall {
            what,
            asker,
            asked_at: clock.now(),
            since: clock.monotonic(),
            meter,
            alternates: Arc::clone(alternates),
            clock: Arc::clone(clock),
            state: SideCallState::Open,
        };
        let mut untold = self.untold();
        untold.n_begun += 1;
        let id = untold.n_begun;
        untold.by_id.insert(id, begun);
        drop(untold);
        SideCallGuard { ledger: Arc::clone(self), id }
    }

    /// Everything that this one asked and nobody has told yet; only once.
    pub(super) fn hand_over(&self, asker: AskerId) -> Vec<ToolSideCall> {
        let mut untold = self.untold();
        let UntoldSideCalls { by_id, given_up, .. } = &mut *untold;
        let mut handed = Vec::new();
        for (_, call) in by_id.iter_mut().filter(|(id, it)| it.asker == asker && !given_up.contains(id)) {
            if let SideCallState::Ended(ended) = &call.state {
                handed.push((**ended).clone());
                call.state = SideCallState::Handed(ended.clone());
            }
        }
        handed
    }

    /// Whoever asked these is gone, and told nobody.
    pub(super) fn lose(&self, asker: AskerId) {
        for call in self.untold().by_id.values_mut().filter(|it| it.asker == asker && !it.what.is_of_tool()) {
            if let SideCallState::Ended(ended) = &call.state {
                call.state = SideCallState::Lost(ended.clone());
            }
        }
    }

    /// True if something was asked that the log does not tell.
    pub fn has_untold(&self) -> bool {
        !self.untold().by_id.is_empty()
    }

    /// A step begins. What one before it was to tell was not committed.
    pub fn begin_step(&self) {
        self.untold().given_up.clear();
    }

    /// Everything that this step is to tell of questions that nobody else tells: those that are lost, and those that end with what the
    /// run does now. `drafts` are what it tells already.
    pub fn give_up(&self, ending: EndingSideCalls, drafts: &[EventDraft]) -> Vec<ToolSideCall> {
        let mut untold = self.untold();
        if untold.by_id.is_empty() {
            return Vec::new();
        }
        let told = told_by(&untold.by_id, drafts);
        let UntoldSideCalls { by_id, given_up, .. } = &mut *untold;
        let is_untold = |id: &u64, call: &UntoldSideCall| {
            let is_nobodys = matches!(call.state, SideCallState::Lost(_));
            let ends = match ending {
                EndingSideCalls::None => false,
                EndingSideCalls::AllButOfTools => !call.what.is_of_tool(),
                EndingSideCalls::All => true,
            };
            (is_nobodys || ends) && !told.contains(id) && !given_up.contains(id)
        };
        let ids: Vec<u64> = by_id.iter().filter(|(id, it)| is_untold(id, it)).map(|(id, _)| *id).collect();
        given_up.extend(&ids);
        ids.iter().filter_map(|id| by_id.get(id)).map(UntoldSideCall::given_up).collect()
    }

    /// Everything that came with this input, and that no event of its step tells: the machine waits for it no more. Nobody else tells it.
    pub fn passed_over(&self, input: &MachineInput, drafts: &[EventDraft]) -> Vec<ToolSideCall> {
        let mut untold = self.untold();
        if untold.by_id.is_empty() {
            return Vec::new();
        }
        let told = told_by(&untold.by_id, drafts);
        let UntoldSideCalls { by_id, given_up, .. } = &mut *untold;
        let mut passed = Vec::new();
        for (id, call) in by_id.iter().filter(|(id, _)| !told.contains(*id)) {
            let is_here = call.state.ended().is_some_and(|ended| input.hands_over(ended));
            if is_here && given_up.insert(*id) {
                passed.push(call.given_up());
            }
        }
        passed
    }

    /// The step is committed, with what it told.
    pub fn end_step(&self, drafts: &[EventDraft]) {
        let mut untold = self.untold();
        let mut told = std::mem::take(&mut untold.given_up);
        told.extend(told_by(&untold.by_id, drafts));
        untold.by_id.retain(|id, _| !told.contains(id));
    }

    fn untold(&self) -> MutexGuard<'_, UntoldSideCalls> {
        // What is changed under the lock is whole at each moment.
        self.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_of_tool(purpose: SideCallPurpose) -> bool {
    matches!(purpose, SideCallPurpose::WebFetch | SideCallPurpose::WebSearch | SideCallPurpose::McpSampling)
}

/// The questions that these events tell, each once.
fn told_by(untold: &BTreeMap<u64, UntoldSideCall>, drafts: &[EventDraft]) -> BTreeSet<u64> {
    let mut told = BTreeSet::new();
    for draft in drafts {
        if let EventBody::SideCallCompleted(data) = &draft.body {
            let this = untold.iter().find(|(id, call)| !told.contains(*id) && call.is_told_by(data));
            told.extend(this.map(|(id, _)| *id));
        }
    }
    told
}

/// A question that was begun. Dropped without an answer, it was given up by whoever asked.
pub(super) struct SideCallGuard {
    ledger: Arc<SideCallLedger>,
    id: u64,
}

impl SideCallGuard {
    /// Ends with this answer.
    pub fn answered(self, call: SideCallReply) {
        self.end(|open| SideCallState::Ended(Box::new(open.ended(call))));
    }

    fn end(&self, state: impl FnOnce(&UntoldSideCall) -> SideCallState) {
        let mut untold = self.ledger.untold();
        let Some(open) = untold.by_id.get_mut(&self.id) else { return };
        if !matches!(open.state, SideCallState::Open) {
            return;
        }
        open.state = state(open);
        if let (true, Some(ended)) = (open.what.is_of_call(), open.state.ended()) {
            self.ledger.asked.add(ended.call.metered.usage, ended.call.metered.cost);
        }
    }
}

impl Drop for SideCallGuard {
    fn drop(&mut self) {
        self.end(|open| match open.what.is_of_call() {
            true => {
                let why = "the call was stopped before the model had answered";
                SideCallState::Ended(Box::new(open.cut_off(why)))
            }
            false => SideCallState::Lost(Box::new(open.cut_off(GIVEN_UP))),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_side_by_side_draw_on_the_same_budget() {
        let questions = SideCallLedger::default();
        let usage = |prompt_tokens| Usage { prompt_tokens, ..Usage::default() };
        let first = questions.counted();
        questions.asked.add(usage(70), Some(UsdAmount::from_nanos(7)));
        // The log does not tell of it yet, so neither does what a call that begins now has left.
        let second = questions.counted();
        let since = |counted| (questions.since(counted).usage.total(), questions.since(counted).cost);
        assert_eq!(since(first), (70, Some(UsdAmount::from_nanos(7))));
        assert_eq!(since(second), since(first));
        questions.told.add(usage(70), Some(UsdAmount::from_nanos(7)));
        questions.asked.add(usage(5), None);
        assert_eq!(since(questions.counted()), (5, Some(UsdAmount::ZERO)));
        assert_eq!(since(first), (75, Some(UsdAmount::from_nanos(7))));
    }
}
