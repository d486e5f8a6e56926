//! What has a call of a model taken so far? Whoever cuts it off, or finds that it failed, still knows what it cost.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::compaction::{TokenEstimate, TokenEstimator, weigh_text};
use models::{ModelEvent, ModelReply, ReplyPart};
use protocol::Usage;

/// Shared by whoever reads a model's stream and whoever may drop that. It knows what the provider has counted, and what came
/// beyond that.
#[derive(Debug, Clone, Default)]
pub(super) struct UsageMeter(Arc<Mutex<Tries>>);

/// Usage of requests that may not have been counted to the end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CutUsage {
    pub usage: Usage,
    /// Some of it is an estimate.
    pub is_estimate: bool,
    /// A request was made, and nothing had come of it when it broke off: it may have cost something.
    pub is_unknown: bool,
}

/// A question may be asked several times until it is answered.
#[derive(Debug, Default)]
struct Tries {
    /// Of those that are over.
    past: CutUsage,
    /// Of the one that goes on, as it was said last.
    current: Usage,
    /// Milliseconds until the model said something; of a question with several tries the first time that it did.
    first_token_ms: Option<u64>,
    /// Tokens of each request, about.
    prompt_tokens: u64,
    heard: HeardReply,
}

/// The extent of a reply to one request, as far as it came.
#[derive(Debug, Clone, Copy, Default)]
struct HeardReply {
    /// The request was made: hooks before it have let it pass.
    was_asked: bool,
    /// The provider was at work: it has counted something, or written.
    has_begun: bool,
    /// The model has written something.
    has_written: bool,
    /// The provider has counted the reply since the model has written last: what it says is not only of its beginning.
    is_counted: bool,
    /// The response broke off that had begun well.
    is_broken: bool,
    /// Text and thoughts that came.
    shown: TokenEstimate,
    /// Bytes of what was written beside them: calls, and text that hooks hold back.
    unshown_bytes: usize,
}

impl HeardReply {
    /// Tokens of what was written, about; what was not shown counts a quarter of its letters, as ASCII does.
    fn written_tokens(&self) -> u64 {
        let unshown = u64::try_from(self.unshown_bytes.div_ceil(4)).unwrap_or(u64::MAX);
        TokenEstimator::default().tokens(self.shown).saturating_add(unshown)
    }
}

impl Tries {
    /// Usage of the newest request if it ends here: what its provider has not counted by then is estimated.
    fn cut_off(&self) -> Usage {
        let (mut usage, heard) = (self.current, self.heard);
        if !heard.has_begun {
            return usage;
        }
        if usage.prompt_tokens == 0 && usage.cached_tokens == 0 && usage.cache_write_tokens == 0 {
            usage.prompt_tokens = self.prompt_tokens;
        }
        if !heard.is_counted {
            let told = usage.output_tokens.saturating_add(usage.thought_tokens);
            let beyond = heard.written_tokens().saturating_sub(told);
            usage.output_tokens = usage.output_tokens.saturating_add(beyond);
        }
        usage
    }

    /// All tries, the newest of which took so much.
    fn with(&self, newest: Usage, is_unknown: bool) -> CutUsage {
        let mut usage = self.past.usage;
        usage += newest;
        let is_estimate = self.past.is_estimate || newest != self.current;
        CutUsage { usage, is_estimate, is_unknown: self.past.is_unknown || is_unknown }
    }

    /// The same where the newest failed. Whoever refuses asks nothing for it, and neither does one that nobody reaches.
    fn failed(&self) -> CutUsage {
        self.with(self.cut_off(), self.heard.is_broken && !self.heard.has_begun)
    }
}

impl UsageMeter {
    /// For a request of about so many tokens.
    pub fn of_request(prompt_tokens: u64) -> UsageMeter {
        UsageMeter(Arc::new(Mutex::new(Tries { prompt_tokens, ..Tries::default() })))
    }

    /// Tokens of the request, about.
    pub fn prompt_tokens(&self) -> u64 {
        self.tries().prompt_tokens
    }

    /// The request is made.
    pub fn asks(&self) {
        self.tries().heard.was_asked = true;
    }

    /// This came from the provider; its newest count takes the place of those before. Signs of life alone say nothing: a refusal
    /// may follow.
    pub fn hears(&self, event: &ModelEvent) {
        let mut tries = self.tries();
        let told = tries.current;
        let heard = &mut tries.heard;
        match event {
            ModelEvent::TextDelta(text) | ModelEvent::ThoughtDelta(text) => {
                (heard.has_begun, heard.has_written, heard.is_counted) = (true, true, false);
                heard.shown += weigh_text(text);
            }
            ModelEvent::Unshown(bytes) => {
                (heard.has_begun, heard.has_written, heard.is_counted) = (true, true, false);
                heard.unshown_bytes = heard.unshown_bytes.saturating_add(*bytes);
            }
            ModelEvent::Finished(reply) => {
                if !heard.has_written {
                    heard.shown += weigh_reply(reply);
                }
                (heard.has_begun, heard.has_written) = (true, true);
                if reply.usage != Usage::default() {
                    heard.is_counted = true;
                    tries.current = plausible(reply.usage);
                }
            }
            ModelEvent::Usage(usage) => {
                heard.has_begun = true;
                let is_of_reply = usage.output_tokens != 0 || usage.thought_tokens != 0;
                // The same again, as with a failure, is no newer count.
                heard.is_counted |= heard.has_written && is_of_reply && plausible(*usage) != told;
                tries.current = plausible(*usage);
            }
            ModelEvent::Broken => heard.is_broken = true,
            ModelEvent::Alive | ModelEvent::Grounded(_) => (),
        }
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

    /// The reply that was heard so far has failed, and stays counted; the model is asked again.
    pub fn try_again(&self) {
        let mut tries = self.tries();
        tries.past = tries.failed();
        (tries.current, tries.heard) = (Usage::default(), HeardReply::default());
    }

    /// Usage of all tries, as far as they were counted, and an estimate of the others that failed.
    pub fn counted(&self) -> CutUsage {
        let tries = self.tries();
        tries.with(tries.current, false)
    }

    /// The same where the newest is cut off.
    pub fn cut_off(&self) -> CutUsage {
        let tries = self.tries();
        tries.with(tries.cut_off(), tries.heard.was_asked && !tries.heard.has_begun)
    }

    /// The same where it failed.
    pub fn failed(&self) -> CutUsage {
        self.tries().failed()
    }

    /// True if the provider has counted nothing of the newest.
    pub fn is_uncounted(&self) -> bool {
        self.tries().current.total() == 0
    }

    fn tries(&self) -> MutexGuard<'_, Tries> {
        // Nothing panics while it holds the lock, so a poisoned one is whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The weight of a reply that came at once.
fn weigh_reply(reply: &ModelReply) -> TokenEstimate {
    let weigh = |part: &ReplyPart| match part {
        ReplyPart::Text(text) | ReplyPart::Thought { text, .. } => weigh_text(text),
        ReplyPart::ToolCall { name, arguments, .. } => {
            weigh_text(name.as_str()) + weigh_text(&arguments.to_string())
        }
    };
    reply.parts.iter().map(weigh).sum()
}

/// Counts as a provider may really give them. What is beyond is a provider's defect, and sums of it would not fit the
/// store.
fn plausible(usage: Usage) -> Usage {
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

    fn said(prompt_tokens: u64, output_tokens: u64) -> Usage {
        Usage { prompt_tokens, output_tokens, ..Usage::default() }
    }

    fn counts(meter: &UsageMeter, usage: Usage) {
        meter.hears(&ModelEvent::Usage(usage));
    }

    fn writes(meter: &UsageMeter, letters: usize) {
        meter.hears(&ModelEvent::TextDelta("x".repeat(letters)));
    }

    #[test]
    fn the_newest_count_of_each_try_counts() {
        let meter = UsageMeter::default();
        assert_eq!(meter.counted(), CutUsage::default());
        counts(&meter, said(10, 1));
        counts(&meter, said(10, 4));
        assert_eq!(meter.counted().usage, said(10, 4));
        meter.try_again();
        counts(&meter.clone(), said(12, 2));
        assert_eq!(meter.counted(), CutUsage { usage: said(22, 6), ..CutUsage::default() });
    }

    #[test]
    fn a_try_that_failed_counts_what_had_come_of_it() {
        let meter = UsageMeter::of_request(50);
        meter.asks();
        writes(&meter, 400);
        meter.try_again();
        // Refused at once, so it took nothing; the third is not answered.
        meter.asks();
        meter.try_again();
        let failed = CutUsage { usage: said(50, 100), is_estimate: true, is_unknown: false };
        assert_eq!(meter.counted(), failed);
        meter.asks();
        assert_eq!(meter.cut_off(), CutUsage { is_unknown: true, ..failed });
    }

    #[test]
    fn thoughts_that_the_provider_has_counted_are_not_estimated_beside_that() {
        let meter = UsageMeter::of_request(50);
        meter.hears(&ModelEvent::ThoughtDelta("x".repeat(640)));
        counts(&meter, Usage { thought_tokens: 160, ..said(100, 0) });
        let counted = Usage { thought_tokens: 160, ..said(100, 0) };
        assert_eq!(meter.cut_off(), CutUsage { usage: counted, ..CutUsage::default() });
        // What came since was not counted when it broke off.
        let meter = UsageMeter::of_request(50);
        counts(&meter, Usage { thought_tokens: 160, ..said(100, 0) });
        writes(&meter, 800);
        let usage = Usage { thought_tokens: 160, ..said(100, 40) };
        assert_eq!(meter.cut_off(), CutUsage { usage, is_estimate: true, is_unknown: false });
    }

    #[test]
    fn signs_of_life_before_a_refusal_take_nothing() {
        let meter = UsageMeter::of_request(50);
        meter.asks();
        meter.hears(&ModelEvent::Alive);
        meter.try_again();
        assert_eq!(meter.counted(), CutUsage::default());
    }

    #[test]
    fn a_count_is_of_what_was_written_by_then() {
        let meter = UsageMeter::of_request(50);
        writes(&meter, 400);
        // Of the prompt alone.
        counts(&meter, said(100, 0));
        let estimated = |output_tokens| {
            let usage = said(100, output_tokens);
            CutUsage { usage, is_estimate: true, is_unknown: false }
        };
        assert_eq!(meter.cut_off(), estimated(100));
        counts(&meter, said(100, 90));
        assert_eq!(meter.cut_off(), CutUsage { usage: said(100, 90), ..CutUsage::default() });
        writes(&meter, 400);
        assert_eq!(meter.cut_off(), estimated(200));
    }

    #[test]
    fn response_that_breaks_off_before_anything_came_may_have_cost_something() {
        let meter = UsageMeter::of_request(50);
        meter.asks();
        meter.hears(&ModelEvent::Broken);
        assert_eq!(meter.failed(), CutUsage { is_unknown: true, ..CutUsage::default() });
        meter.try_again();
        meter.asks();
        counts(&meter, said(100, 27));
        let usage = said(100, 27);
        assert_eq!(meter.counted(), CutUsage { usage, is_estimate: false, is_unknown: true });
    }

    #[test]
    fn final_count_of_the_provider_holds_against_an_estimate() {
        let meter = UsageMeter::of_request(50);
        counts(&meter, said(100, 1));
        writes(&meter, 4_000);
        counts(&meter, said(100, 27));
        assert_eq!(meter.cut_off(), CutUsage { usage: said(100, 27), ..CutUsage::default() });
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
