//! A step of many events leaves its thread to others now and then.

use tokio::task;

use super::{EventDraft, RunDriver, RunIdentity, later};
use protocol::{EventSeq, Timestamp};
use store::NewEvent;

/// Events that are decided between two such moments: some milliseconds' work where it is much. A usual turn has fewer.
const AT_ONCE: usize = 128;

/// The place that a step has come to.
#[derive(Debug, Default)]
pub(super) struct StepPace {
    left_at: usize,
}

impl StepPace {
    /// Leaves the thread to others when the step has come to so many events since it did so last.
    pub async fn reached(&mut self, n_events: usize) {
        if AT_ONCE <= n_events - self.left_at {
            self.left_at = n_events;
            task::yield_now().await;
        }
    }
}

/// The drafts of a step with who and when; `before` is the turn in which it began.
pub(super) async fn events(
    identity: &RunIdentity,
    drafts: &[EventDraft],
    at: Timestamp,
    before: u32,
) -> Vec<NewEvent> {
    let mut turn = before;
    let mut events = Vec::with_capacity(drafts.len());
    for some in drafts.chunks(AT_ONCE) {
        if !events.is_empty() {
            task::yield_now().await;
        }
        events.extend(identity.events_from(some, at, &mut turn));
    }
    events
}

impl RunDriver {
    /// Takes in what a step committed, the first of it under `first`.
    pub(super) async fn absorb_paced(&mut self, first: EventSeq, drafts: &[EventDraft]) {
        for (n, some) in drafts.chunks(AT_ONCE).enumerate() {
            if n > 0 {
                task::yield_now().await;
            }
            self.absorb_all(later(first, n * AT_ONCE), some);
        }
    }
}
