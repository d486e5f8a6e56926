//! Spans of a run, made of the events of its log (spec 10): what did it do, how long did it take, what did it cost, and who
//! allowed it? And what is a trace written as, for whom?
//!
//! Pure: events and spans in, spans and text out. [`SpanFold`] reads events one after the other, and holds nothing but the
//! spans that are open; [`TraceWriter`] writes a document piece by piece, on a [`TraceTimeline`]. Reads events leniently, as any client does: what a
//! newer daemon says otherwise is left out, and no log makes it panic.

mod clock;
mod export;
mod facts;
mod fold;
mod names;
mod rule;
mod said;
mod text;
mod thinning;
mod timeline;

pub use export::{OtlpEvent, OtlpSpan, TraceWriter};
pub use fold::{SpanEdge, SpanFold, interrupt, was_queued};
pub use names::{AttributeValue, CONVENTIONS, provider};
pub use rule::access_said;
pub use said::{
    answer_said, asked_about, at_least, changers_said, confinement_said, decided, decided_briefly, decider,
    granted, hook_said, hook_said_naming, interrupted_said, lets_run, moved_ahead_said, queued_said,
    requested_said, result_said, rule_said, standing_said, stated_reason, told_said, undone_said, wait_said,
    without_daemon,
};
pub use text::{duration, numbered, output_beside_error, person};
pub use thinning::{thin, without_calls};
pub use timeline::{SpanPlace, TraceTimeline};

#[cfg(test)]
mod tests;
