//! How long are sessions kept? (spec 10, "Retention")

mod age_clock;

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex as TurnMutex, Notify};

pub(super) use self::age_clock::{AgeClock, usual_gap};
use config::RetentionSettings;
use protocol::{PruningReason, RetentionLimits, Timestamp};
use store::PruningCandidate;

const DAY_US: i64 = 24 * 60 * 60 * 1_000_000;

/// Whoever prunes, and who wakes them.
pub(super) struct SessionPruning {
    /// Held by whoever prunes.
    pub turn: TurnMutex<()>,
    limits: Notify,
    /// `None` until somebody looks.
    clock: Mutex<Option<AgeClock>>,
}

impl Default for SessionPruning {
    fn default() -> SessionPruning {
        SessionPruning { turn: TurnMutex::default(), limits: Notify::new(), clock: Mutex::new(None) }
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

/// For how long limits have held while daemons were at work, since they were set or kept to the last time. Noted for the next
/// daemon: one that a command starts may live for minutes only.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HeldLimits {
    pub limits: RetentionLimits,
    held_us: u64,
}

impl HeldLimits {
    /// Limits that have just been set.
    pub fn new(limits: RetentionLimits) -> HeldLimits {
        HeldLimits { limits, held_us: 0 }
    }

    /// The same as a daemon before has noted, if they are the same.
    pub fn from_note(note: Option<&str>, limits: RetentionLimits) -> HeldLimits {
        let noted: Option<HeldLimits> = note.and_then(|text| serde_json::from_str(text).ok());
        noted.filter(|noted| noted.limits == limits).unwrap_or_else(|| HeldLimits::new(limits))
    }

    pub fn note(&self) -> String {
        serde_json::json!(self).to_string()
    }

    pub fn held(&self) -> Duration {
        Duration::from_micros(self.held_us)
    }

    pub fn hold_for(&mut self, time: Duration) {
        let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.held_us = self.held_us.saturating_add(us);
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
