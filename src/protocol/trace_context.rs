//! How does a trace go on in another process? By the `traceparent` of W3C Trace Context, which names a trace and a span in it.

use std::{error::Error, fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EventSeq, RunId};

/// A span of a trace, written as `00-<trace>-<span>-<flags>` in hexadecimal digits (W3C Trace Context).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct TraceContext {
    trace: u128,
    span: u64,
    flags: u8,
}

/// Flags of a trace that is kept: every run has one.
const SAMPLED: u8 = 1;

/// The error of a text that is no `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidTraceContext;

impl TraceContext {
    /// A span of a run's own trace: of the tree below `root`, begun by the event `span`.
    pub fn of_run(root: &RunId, span: EventSeq) -> TraceContext {
        TraceContext { trace: trace_of(root), span: span_of(root, span.0.unsigned_abs()), flags: SAMPLED }
    }

    /// Another span of the same trace: of the tree below `root`, begun by the event `span`.
    #[must_use]
    pub fn with_span(self, root: &RunId, span: EventSeq) -> TraceContext {
        TraceContext { span: span_of(root, span.0.unsigned_abs()), ..self }
    }

    /// The trace, in 32 hexadecimal digits.
    pub fn trace_digits(self) -> String {
        format!("{:032x}", self.trace)
    }

    /// The span, in 16 hexadecimal digits.
    pub fn span_digits(self) -> String {
        format!("{:016x}", self.span)
    }
}

/// The number of a run's own trace: the digits of its id, which is a UUID; of any other a digest.
fn trace_of(run: &RunId) -> u128 {
    let digits: String = run.as_str().chars().filter(|it| *it != '-').collect();
    let number = (digits.len() == 32).then(|| u128::from_str_radix(&digits, 16).ok()).flatten();
    number.filter(|number| *number != 0).unwrap_or_else(|| fnv(run.as_str().as_bytes()))
}

/// The number that others know a span by, which begins with this event of the tree below `root`.
///
/// Numbers of events are small, and every daemon has the same ones, while a trace may have spans of several daemons, and some
/// backends know spans by this number alone. So it is mixed with that of the root run, which no other daemon has; of one
/// root run no two are the same.
pub fn span_of(root: &RunId, event: u64) -> u64 {
    let trace = trace_of(root);
    let (upper, lower) = (trace >> 64, trace & u128::from(u64::MAX));
    let key = u64::try_from(upper ^ lower).unwrap_or_default();
    // Zero is no span. Mixed first, so that numbers of roots that are close are far from each other.
    mixed(event ^ mixed(key)).max(1)
}

/// splitmix64
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// FNV-1a of 128 bits: no secret hangs on it.
fn fnv(bytes: &[u8]) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(BASIS, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME))
}

impl FromStr for TraceContext {
    type Err = InvalidTraceContext;

    fn from_str(text: &str) -> Result<TraceContext, InvalidTraceContext> {
        let mut parts = text.trim().split('-');
        let mut number =
            |digits| parts.next().and_then(|part| hexadecimal(part, digits)).ok_or(InvalidTraceContext);
        let (version, trace, span, flags) = (number(2)?, number(32)?, number(16)?, number(2)?);
        // A later version may say more behind the flags; the last one is none.
        let has_more = parts.next().is_some();
        let is_of_a_version = version != 0xff && (version != 0 || !has_more);
        if !is_of_a_version || trace == 0 || span == 0 {
            return Err(InvalidTraceContext);
        }
        let (span, flags) = (u64::try_from(span), u8::try_from(flags));
        let (Ok(span), Ok(flags)) = (span, flags) else { return Err(InvalidTraceContext) };
        Ok(TraceContext { trace, span, flags })
    }
}

/// A number of lower-case hexadecimal digits.
fn hexadecimal(text: &str, digits: usize) -> Option<u128> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (text.len() == digits && text.bytes().all(is_digit))
        .then(|| u128::from_str_radix(text, 16).ok())
        .flatten()
}

impl fmt::Display for TraceContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "00-{:032x}-{:016x}-{:02x}", self.trace, self.span, self.flags)
    }
}

impl TryFrom<String> for TraceContext {
    type Error = InvalidTraceContext;

    fn try_from(text: String) -> Result<TraceContext, InvalidTraceContext> {
        text.parse()
    }
}

impl From<TraceContext> for String {
    fn from(context: TraceContext) -> String {
        context.to_string()
    }
}

impl fmt::Display for InvalidTraceContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(
            "not a traceparent: `00-`, 32 hexadecimal digits, `-`, 16 of them, `-`, 2 of them, not all zeros",
        )
    }
}

impl Error for InvalidTraceContext {}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_traceparent_is_read_as_it_is_written() {
        let read: TraceContext = TEXT.parse().unwrap();
        assert_eq!(read.to_string(), TEXT);
        assert_eq!(read.trace_digits(), "4bf92f3577b34da6a3ce929d0e0e4736");
        let other = read.with_span(&RunId::from("r1"), EventSeq(10)).to_string();
        assert!(other.starts_with(&TEXT[..36]) && other.ends_with("-01") && other != TEXT, "{other}");
        assert!(format!(" {TEXT}\n").parse::<TraceContext>().is_ok());
        assert!(
            format!("01{}-more", &TEXT[2..]).parse::<TraceContext>().is_ok(),
            "a later version may say more"
        );
    }

    #[test]
    fn daemons_that_count_alike_have_other_spans() {
        let spans =
            |run: &str| (1..=1_000).map(|event| span_of(&RunId::from(run), event)).collect::<Vec<_>>();
        let mut all = spans("019aa1b2-c3d4-7001-8000-00000000000a");
        all.extend(spans("019aa1b2-c3d4-7001-8000-00000000000b"));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 2_000);
        assert!(!all.contains(&0));
    }

    #[test]
    fn nonsense_is_none() {
        let zeros = "00-00000000000000000000000000000000-00f067aa0ba902b7-01";
        let no_span = "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01";
        let more = format!("{TEXT}-more");
        let last = format!("ff{}", &TEXT[2..]);
        let upper = TEXT.to_uppercase();
        for text in ["", "00", "00-1-2-3", zeros, no_span, &more, &last, &upper, "日本-語"] {
            assert_eq!(text.parse::<TraceContext>(), Err(InvalidTraceContext), "{text}");
        }
    }

    #[test]
    fn a_run_has_a_trace_of_its_own() {
        let id = RunId::from("019aa1b2-c3d4-7001-8000-00000000000A");
        let told = TraceContext::of_run(&id, EventSeq(7)).to_string();
        assert!(told.starts_with("00-019aa1b2c3d47001800000000000000a-") && told.ends_with("-01"), "{told}");
        for other in ["r1", "", "00000000-0000-0000-0000-000000000000"] {
            let digits = TraceContext::of_run(&RunId::from(other), EventSeq(1)).trace_digits();
            assert!(digits.len() == 32 && digits.contains(|it| it != '0'), "{other}: {digits}");
        }
    }
}
