//! What has a call of a model taken so far? Whoever cuts it off, or finds that it failed, still knows what it cost.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use models::ModelEvent;
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
    heard: HeardReply,
}

/// The extent of a reply to one request, as far as it came.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HeardReply {
    /// Tokens of the request, about.
    pub prompt_tokens: u64,
    /// The request was made: hooks before it have let it pass.
    pub was_asked: bool,
    /// The provider was at work: it has counted something, or written.
    pub has_begun: bool,
    /// The model has written something.
    has_written: bool,
    /// The provider has counted since the model had written: what it says is of the reply and not of its beginning.
    pub is_counted: bool,
    /// Bytes of what was written and not shown.
    unshown_bytes: usize,
}

impl HeardReply {
    /// Tokens of what was written and not shown, about: a quarter of its letters, as ASCII is estimated.
    pub fn unshown_tokens(&self) -> u64 {
        u64::try_from(self.unshown_bytes.div_ceil(4)).unwrap_or(u64::MAX)
    }
}

impl UsageMeter {
    /// For a request of about so many tokens.
    pub fn of_request(prompt_tokens: u64) -> UsageMeter {
        let heard = HeardReply { prompt_tokens, ..HeardReply::default() };
        UsageMeter(Arc::new(Mutex::new(Tries { heard, ..Tries::default() })))
    }

    /// The request is made.
    pub fn asks(&self) {
        self.tries().heard.was_asked = true;
    }

    /// This came from the provider. Signs of life alone say nothing: a refusal may follow.
    pub fn hears(&self, event: &ModelEvent) {
        let mut tries = self.tries();
        let told = tries.current;
        let heard = &mut tries.heard;
        match event {
            ModelEvent::TextDelta(_) | ModelEvent::ThoughtDelta(_) | ModelEvent::Finished(_) => {
                (heard.has_begun, heard.has_written) = (true, true);
            }
            ModelEvent::Unshown(bytes) => {
                (heard.has_begun, heard.has_written) = (true, true);
                heard.unshown_bytes = heard.unshown_bytes.saturating_add(*bytes);
            }
            // The same again, as with a failure, is no newer count.
            ModelEvent::Usage(usage) => {
                heard.has_begun = true;
                heard.is_counted |= heard.has_written && plausible(*usage) != told;
            }
            ModelEvent::Alive | ModelEvent::Grounded(_) => (),
        }
    }

    /// The reply to the newest request, as far as it came.
    pub fn heard(&self) -> HeardReply {
        self.tries().heard
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
