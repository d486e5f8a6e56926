//! Questions of the daemon's own, of tools and of hooks to models: what do they take of the run's budget, and which of them has nobody
//! told yet? What was asked is told whatever becomes of it, also of a question that is dropped with whoever asked it.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::{
    alternates::ModelFallbacks,
    machine::{AskingHook, SideCallReply, ToolSideCall},
    meter::UsageMeter,
};
use protocol::{ModelConsulted, SideCallPurpose, Timestamp, Usage, UsageTotal, UsdAmount};
use sys::clock::Clock;

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

/// Questions under way, and those of which nobody will hear who asked.
#[derive(Default)]
struct UntoldSideCalls {
    n_begun: u64,
    open: BTreeMap<u64, OpenSideCall>,
    /// The second: told by the step that is being committed.
    lost: Vec<(ToolSideCall, bool)>,
}

/// A question under way.
#[derive(Clone)]
struct OpenSideCall {
    what: AskedSideCall,
    asked_at: Timestamp,
    /// Measured by the clock that never jumps.
    since: Duration,
    meter: UsageMeter,
    alternates: Arc<ModelFallbacks>,
    clock: Arc<dyn Clock>,
    /// The step that is being committed tells it as given up.
    is_given_up: bool,
}

/// Who asks which model.
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
        matches!(
            self.purpose,
            SideCallPurpose::WebFetch | SideCallPurpose::WebSearch | SideCallPurpose::McpSampling
        )
    }

    /// Drawn from what calls have left.
    fn is_of_call(&self) -> bool {
        self.is_of_tool() || self.hook.is_some()
    }
}

impl OpenSideCall {
    /// As told with this answer.
    fn ended(&self, call: SideCallReply) -> ToolSideCall {
        let AskedSideCall { purpose, hook, .. } = self.what.clone();
        let took = self.clock.monotonic().saturating_sub(self.since);
        let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        ToolSideCall { purpose, call, asked_at: self.asked_at, duration_ms, hook }
    }

    fn cut_off(&self, why: &str) -> ToolSideCall {
        let model = self.what.model.clone();
        let metered = self.alternates.cut_off(&model, &self.meter);
        self.ended(SideCallReply { model, metered, text: String::new(), error: Some(why.to_owned()) })
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
    pub fn count(&self, told: &ModelConsulted) {
        // The others are the run's own.
        if told.call_id.is_some() || told.purpose == SideCallPurpose::Hook {
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

    /// A question is about to be asked.
    pub(super) fn begin(
        self: &Arc<SideCallLedger>,
        what: AskedSideCall,
        meter: UsageMeter,
        (alternates, clock): (&Arc<ModelFallbacks>, &Arc<dyn Clock>),
    ) -> SideCallGuard {
        let open = OpenSideCall {
            what,
            asked_at: clock.now(),
            since: clock.monotonic(),
            meter,
            alternates: Arc::clone(alternates),
            clock: Arc::clone(clock),
            is_given_up: false,
        };
        let mut untold = self.untold();
        untold.n_begun += 1;
        let id = untold.n_begun;
        untold.open.insert(id, open);
        drop(untold);
        SideCallGuard { ledger: Arc::clone(self), id }
    }

    /// Whoever asked these is gone.
    pub(super) fn lose(&self, asked: Vec<ToolSideCall>) {
        self.untold().lost.extend(asked.into_iter().map(|asked| (asked, false)));
    }

    /// A step begins. What one before it told that was not committed is untold.
    pub fn begin_step(&self) {
        let mut untold = self.untold();
        untold.open.values_mut().for_each(|open| open.is_given_up = false);
        untold.lost.iter_mut().for_each(|(_, is_told)| *is_told = false);
    }

    /// Everything that this step is to tell of questions that nobody else tells: those that are lost, and with `ends` those that end with
    /// what the run does now.
    pub fn give_up(&self, ends: bool) -> Vec<ToolSideCall> {
        let mut untold = self.untold();
        let mut told = Vec::new();
        for (asked, is_told) in untold.lost.iter_mut().filter(|(_, is_told)| !is_told) {
            *is_told = true;
            told.push(asked.clone());
        }
        let ended = |open: &&mut OpenSideCall| ends && !open.what.is_of_tool() && !open.is_given_up;
        for open in untold.open.values_mut().filter(ended) {
            open.is_given_up = true;
            told.push(open.cut_off("the run was stopped before the model had answered"));
        }
        told
    }

    /// The step is committed, with what it told.
    pub fn end_step(&self) {
        let mut untold = self.untold();
        untold.lost.retain(|(_, is_told)| !is_told);
        untold.open.retain(|_, open| !open.is_given_up);
    }

    fn untold(&self) -> MutexGuard<'_, UntoldSideCalls> {
        // What is changed under the lock is whole at each moment.
        self.untold.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question that was begun. Dropped without an answer, it is lost.
pub(super) struct SideCallGuard {
    ledger: Arc<SideCallLedger>,
    id: u64,
}

impl SideCallGuard {
    /// Ends with this answer. `None` = it is told as given up already, and nobody tells it again.
    pub fn answered(self, call: SideCallReply) -> Option<ToolSideCall> {
        self.end(|open| open.ended(call))
    }

    /// Ends without one, and whoever asked tells it.
    pub fn cut_off(&self, why: &str) -> Option<ToolSideCall> {
        self.end(|open| open.cut_off(why))
    }

    fn end(&self, told: impl FnOnce(&OpenSideCall) -> ToolSideCall) -> Option<ToolSideCall> {
        let open = {
            let mut untold = self.ledger.untold();
            let open = untold.open.remove(&self.id)?;
            if open.is_given_up {
                // Whether that is committed is not known yet; if it is not, it is told with the next step.
                let cut = open.cut_off("the run was stopped before the model had answered");
                untold.lost.push((cut, true));
            }
            open
        };
        let told = told(&open);
        if open.what.is_of_call() {
            self.ledger.asked.add(told.call.metered.usage, told.call.metered.cost);
        }
        (!open.is_given_up).then_some(told)
    }
}

impl Drop for SideCallGuard {
    fn drop(&mut self) {
        if let Some(cut) = self.cut_off("given up before the model had answered") {
            self.ledger.lose(vec![cut]);
        }
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
