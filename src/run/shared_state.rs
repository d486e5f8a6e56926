//! What do all runs of a daemon share, whoever drives them?

use std::sync::Arc;

use super::{
    editors::EditorContexts,
    hooks::{HookWatchers, SessionStarts},
    lanes::ContextQueue,
    live_runs::LiveRuns,
    modes::SessionModes,
    resources::RunResources,
    slots::RunSlots,
};
use sys::current::HotSwap;

/// The state that runs of a daemon have in common; each part guards itself.
pub struct SharedRunState {
    /// The resources of new runs; those that have begun keep what they began with.
    pub supplies: HotSwap<RunResources>,
    /// The editors of those who work in sessions, and what they show.
    pub editors: EditorContexts,
    pub slots: RunSlots,
    pub lanes: ContextQueue,
    pub modes: SessionModes,
    pub session_starts: SessionStarts,
    /// Tells hooks what has happened.
    pub hook_watchers: HookWatchers,
    pub live_runs: LiveRuns,
}

impl SharedRunState {
    pub fn supplies(&self) -> Arc<RunResources> {
        self.supplies.get()
    }
}
