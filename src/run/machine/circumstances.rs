//! What does this process know of a run that its log does not say?

use std::{collections::BTreeMap, sync::Arc};

use super::{ContextState, RunFacts, RunMachine, hook_watch::HookWatch};
use protocol::{CallId, EventBody, PrivateEventFields, UsageTotal};

/// The state of a run in this process. None of it is a fact: a new process finds it out anew, or goes on without.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunCircumstances {
    /// True if the run may ask models and run tools now.
    pub(super) has_slot: bool,
    /// The daemon is closing, and no model is asked any more.
    pub(super) is_closing: bool,
    /// Microseconds, with those since the last event.
    active_us: u64,
    /// Everything that earlier runs left in the context.
    pub(super) past: ContextState,
    /// Runs that answer calls, while these go on.
    pub(super) children: Arc<BTreeMap<CallId, ChildProgress>>,
    pub(super) hooks: HookWatch,
}

/// The state of a run that answers a call, as far as it has said it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ChildProgress {
    /// True if it only waits for a person; `None` = not known to this process.
    pub waits: Option<bool>,
    /// Usage of it and of those below.
    pub spent: UsageTotal,
}

impl RunCircumstances {
    /// Takes in an event before the facts do: what belongs to a call or a turn goes with it.
    pub(super) fn follow(&mut self, facts: &RunFacts, body: &EventBody, private: &PrivateEventFields) {
        match body {
            EventBody::TurnStarted(_) | EventBody::ModelCompleted(_) if !self.children.is_empty() => {
                self.children = Arc::default();
            }
            // Whatever it came to is counted for good.
            EventBody::ToolState(data) if data.to.is_end() && self.children.contains_key(&data.call_id) => {
                Arc::make_mut(&mut self.children).remove(&data.call_id);
            }
            _ => (),
        }
        self.hooks.follow(facts, body, private);
    }

    /// What is known of the run that answers a call.
    pub(super) fn child(&self, call: &CallId) -> ChildProgress {
        self.children.get(call).copied().unwrap_or_default()
    }

    pub(super) fn child_mut(&mut self, call: &CallId) -> &mut ChildProgress {
        Arc::make_mut(&mut self.children).entry(call.clone()).or_default()
    }
}

impl RunMachine {
    /// Active time, with what was charged since the last event.
    pub fn active_us(&self) -> u64 {
        self.facts.active_us.max(self.now.active_us)
    }

    /// Adds active time; the driver measures it with a monotonic clock. The clock of a run stands still
    /// once it has finished.
    pub fn charge(&mut self, elapsed_us: u64) {
        if self.is_ticking() {
            self.now.active_us = self.active_us().saturating_add(elapsed_us);
        }
    }

    pub(super) fn is_time_spent(&self) -> bool {
        self.due_us().is_some_and(|due| due <= self.active_us())
    }

    /// From now on no model is asked: that is left to the next process.
    pub fn close(&mut self) {
        self.now.is_closing = true;
    }

    /// The driver has a slot for the run.
    pub fn hold_slot(&mut self) {
        self.now.has_slot = true;
    }

    /// The driver has given the run's slot back.
    pub fn leave_slot(&mut self) {
        self.now.has_slot = false;
    }

    /// Takes in what the context's earlier runs left. The driver tells it before the run's first step.
    pub fn remember(&mut self, past: ContextState) {
        let ContextState { prompt_tokens, is_compression_off, epoch } = past;
        let past = &mut self.now.past;
        if past.prompt_tokens == 0 {
            past.prompt_tokens = prompt_tokens;
        }
        past.is_compression_off |= is_compression_off;
        past.epoch = past.epoch.max(epoch);
    }

    /// Says whether the run has to stand still where a hook may have to be asked; the driver says it before each step.
    pub fn watch_hooks(&mut self, watches: bool) {
        self.now.hooks.watches = watches;
    }

    /// Says whether hooks are to be asked before the run begins, and about what is said to it while it works.
    pub fn watch_prompts(&mut self, begin: bool, steers: bool) {
        self.now.hooks.watches_begin = begin;
        self.now.hooks.watches_steers = steers;
    }
}
