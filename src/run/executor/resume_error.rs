//! Why could a run that another process left not be taken up, and when is it tried again?

use std::time::Duration;

use store::StoreError;

/// The reason why nobody drives a run. It is tried again, and by the next start as well.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ResumeError {
    /// It cannot be read back.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its model cannot be asked: what is missing, and what to do.
    #[error("{0}")]
    Model(String),
    /// A defect.
    #[error("it could not be taken up; the daemon's log has more under {0}")]
    Panic(String),
}

impl ResumeError {
    /// How long to wait before the next try, and at most: what the disk does passes soon; a key is something that
    /// somebody must bring, and a command that asks a person for it must not do so all the time.
    fn pauses(&self) -> (Duration, Duration) {
        match self {
            ResumeError::Store(_) | ResumeError::Panic(_) => {
                (Duration::from_secs(1), Duration::from_secs(60))
            }
            ResumeError::Model(_) => (Duration::from_secs(60), Duration::from_secs(3_600)),
        }
    }

    /// The pause after so many tries; it doubles.
    pub(super) fn pause(&self, tries: u32) -> Duration {
        let (first, most) = self.pauses();
        first.saturating_mul(2_u32.saturating_pow(tries.saturating_sub(1))).min(most)
    }
}
