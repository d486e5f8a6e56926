//! How long are sessions kept? (spec 10, "Retention")

mod age_clock;

use std::sync::{Mutex, PoisonError};

use tokio::sync::{Notify, Semaphore};

pub(super) use self::age_clock::AgeClock;
use config::RetentionSettings;
use protocol::{PruningReason, RetentionLimits, Timestamp};
use store::PruningCandidate;

const DAY_US: i64 = 24 * 60 * 60 * 1_000_000;

/// Whoever prunes, and who wakes them.
pub(super) struct SessionPruning {
    /// One permit.
    pub turn: Semaphore,
    limits: Notify,
    /// `None` until somebody looks.
    clock: Mutex<Option<AgeClock>>,
}

impl Default for SessionPruning {
    fn default() -> SessionPruning {
        SessionPruning { turn: Semaphore::new(1), limits: Notify::new(), clock: Mutex::new(None) }
    }
}

impl SessionPruning {
    /// The settings were read anew.
    pub fn limits_changed(&self) {
        self.limits.notify_one();
    }

    /// The clock by which sessions grow old, once somebody has looked.
    pub fn age_clock(&self) -> Option<AgeClock> {
        // Poisoned or not: it is replaced whole.
        *self.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Goes on from this look the next time.
    pub fn keep_age_clock(&self, clock: AgeClock) {
        *self.clock.lock().unwrap_or_else(PoisonError::into_inner) = Some(clock);
    }

    /// Waits until they were. Cancel safe.
    pub async fn met_new_limits(&self) {
        self.limits.notified().await;
    }
}

/// The limits, as answers tell them.
pub(super) fn limits(settings: &RetentionSettings) -> RetentionLimits {
    RetentionLimits {
        max_age_days: settings.max_age_days.value,
        max_sessions: settings.max_sessions.value,
        max_bytes: settings.max_bytes.value,
    }
}

/// Sessions that are there, and the room they take.
pub(super) struct KeptSessions {
    pub limits: RetentionLimits,
    pub now: Timestamp,
    pub count: u64,
    pub bytes: u64,
}

impl KeptSessions {
    /// The limit that the session goes for which was idle longest; `None` = all that are there may stay.
    pub fn reason(&self, candidate: &PruningCandidate) -> Option<PruningReason> {
        let RetentionLimits { max_age_days, max_sessions, max_bytes } = self.limits;
        let idle = self.now.0.saturating_sub(candidate.last_active.0);
        let age = |days: u64| i64::try_from(days).unwrap_or(i64::MAX).saturating_mul(DAY_US);
        if max_age_days.is_some_and(|days| age(days) < idle) {
            Some(PruningReason::Age)
        } else if max_sessions.is_some_and(|most| most < self.count) {
            Some(PruningReason::Count)
        } else if max_bytes.is_some_and(|most| most < self.bytes) {
            Some(PruningReason::Bytes)
        } else {
            None
        }
    }
}
