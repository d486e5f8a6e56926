//! What has a call of a model taken so far? Whoever cuts it off, or finds that it failed, still knows what it cost.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::think::plausible;
use protocol::Usage;

/// Shared by whoever reads a model's stream and whoever may drop that. Of a call whose provider has said nothing it knows
/// nothing, and nothing is counted.
#[derive(Debug, Clone, Default)]
pub(super) struct UsageMeter(Arc<Mutex<Tries>>);

/// A question may be asked several times until it is answered.
#[derive(Debug, Default)]
struct Tries {
    /// Of those that are over.
    past: Usage,
    /// Of the one that goes on, as it was said last.
    current: Usage,
}

impl UsageMeter {
    /// The provider's newest count takes the place of those before.
    pub fn say(&self, usage: Usage) {
        self.tries().current = plausible(usage);
    }

    /// What was said so far has failed and stays counted; the model is asked again.
    pub fn try_again(&self) {
        let mut tries = self.tries();
        let failed = std::mem::take(&mut tries.current);
        tries.past += failed;
    }

    /// By all tries.
    pub fn total(&self) -> Usage {
        let tries = self.tries();
        let mut total = tries.past;
        total += tries.current;
        total
    }

    fn tries(&self) -> MutexGuard<'_, Tries> {
        // Nothing panics while it holds the lock, so a poisoned one is whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_count_of_each_try_counts() {
        let meter = UsageMeter::default();
        assert_eq!(meter.total(), Usage::default());
        let said = |prompt_tokens, output_tokens| Usage { prompt_tokens, output_tokens, ..Usage::default() };
        meter.say(said(10, 1));
        meter.say(said(10, 4));
        assert_eq!(meter.total(), said(10, 4));
        meter.try_again();
        meter.clone().say(said(12, 2));
        assert_eq!(meter.total(), said(22, 6));
    }
}
