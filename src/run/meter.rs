//! What has a call of a model taken so far? Whoever cuts it off, or finds that it failed, still knows what it cost.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use protocol::Usage;

/// Shared by whoever reads a model's stream and whoever may drop that. It knows what the provider has counted, and whether
/// anything came at all.
#[derive(Debug, Clone, Default)]
pub(super) struct UsageMeter(Arc<Mutex<Tries>>);

/// A question may be asked several times until it is answered.
#[derive(Debug, Default)]
struct Tries {
    /// Of those that are over.
    past: Usage,
    /// Of the one that goes on, as it was said last.
    current: Usage,
    /// Milliseconds until the model said something; of a question with several tries the first time that it did.
    first_token_ms: Option<u64>,
    /// Of the request, about.
    prompt_tokens: u64,
    /// Something came from the provider, so it was at work.
    has_begun: bool,
}

impl UsageMeter {
    /// For a request of about so many tokens.
    pub fn of_request(prompt_tokens: u64) -> UsageMeter {
        UsageMeter(Arc::new(Mutex::new(Tries { prompt_tokens, ..Tries::default() })))
    }

    /// Something came from the provider.
    pub fn begins(&self) {
        self.tries().has_begun = true;
    }

    /// Tokens of the request, about; `None` = nothing has come from the provider.
    pub fn begun(&self) -> Option<u64> {
        let tries = self.tries();
        tries.has_begun.then_some(tries.prompt_tokens)
    }

    /// The provider's newest count takes the place of those before.
    pub fn say(&self, usage: Usage) {
        self.tries().current = plausible(usage);
    }

    /// Something came of the reply, so long after the request; only the first time counts.
    pub fn speaks(&self, after: Duration) {
        let ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
        self.tries().first_token_ms.get_or_insert(ms);
    }

    /// `None` = nothing came of the reply yet.
    pub fn first_token_ms(&self) -> Option<u64> {
        self.tries().first_token_ms
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

/// Counts as a provider may really give them. What is beyond is a provider's defect, and sums of it would not fit the
/// store.
pub(super) fn plausible(usage: Usage) -> Usage {
    /// More than any model can read or write in one call.
    const MOST: u64 = 1 << 40;
    Usage {
        prompt_tokens: usage.prompt_tokens.min(MOST),
        cached_tokens: usage.cached_tokens.min(MOST),
        cache_write_tokens: usage.cache_write_tokens.min(MOST),
        output_tokens: usage.output_tokens.min(MOST),
        thought_tokens: usage.thought_tokens.min(MOST),
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

    #[test]
    fn only_the_first_that_came_says_how_long_it_took() {
        let meter = UsageMeter::default();
        assert_eq!(meter.first_token_ms(), None);
        meter.speaks(Duration::from_micros(7_900));
        meter.clone().speaks(Duration::from_secs(9));
        assert_eq!(meter.first_token_ms(), Some(7));
    }
}
