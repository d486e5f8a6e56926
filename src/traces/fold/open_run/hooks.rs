//! Hooks: told when they have answered, so a span of one is there as a whole at once.

use protocol::{CallId, HookSpan, SpanError, SpanKind, SpanStatus, Timestamp};

use super::{
    super::{EventMoment, SpanEdge, end},
    OpenRun,
};
use crate::text;

/// Lanes of hooks, above those of calls: they run beside each other, and beside what they are about.
const FIRST_LANE: u32 = 1 << 16;

/// The time at which the last hook of each lane ended.
#[derive(Debug, Default)]
pub(super) struct HookLanes(Vec<Timestamp>);

impl HookLanes {
    /// The lowest lane that was free at that time, taken until then.
    fn take(&mut self, from: Timestamp, to: Timestamp) -> u32 {
        let free = self.0.iter().position(|ended| *ended <= from);
        let lane = free.unwrap_or(self.0.len());
        match self.0.get_mut(lane) {
            Some(ended) => *ended = to,
            None => self.0.push(to),
        }
        FIRST_LANE.saturating_add(u32::try_from(lane).unwrap_or(u32::MAX))
    }
}

impl OpenRun {
    pub(super) fn hook_fired(&mut self, moment: EventMoment<'_>, edges: &mut Vec<SpanEdge>) {
        let EventMoment { at, facts, .. } = moment;
        let call_id = facts.text("callId").map(CallId::from);
        let call = call_id.as_ref().and_then(|call| self.calls.get(call)).map(|call| &call.span);
        let around = call.or(self.turn.as_ref()).unwrap_or(&self.span);
        let took = facts.count("durationMs").and_then(|ms| i64::try_from(ms).ok()).unwrap_or_default();
        // A span lies within its parent, whatever a hook had to do with what was before.
        let from = at.0.saturating_sub(took.saturating_mul(1_000)).max(around.start_us);
        let mut span = self.span_below(&around.span_id, 0, moment, SpanKind::Hook, facts.word("event"));
        (span.started_at, span.start_us) = (Timestamp(from), from);
        span.lane = self.hook_lanes.take(Timestamp(from), at);
        span.output = facts.text("stderr").and_then(text::said);
        let outcome = facts.word("outcome");
        let is_well = outcome == "answered";
        let reason = facts.text("reason").map(text::line);
        if !is_well {
            let message = reason.clone().unwrap_or_default();
            span.error = Some(SpanError { kind: format!("HOOK_{}", upper(&outcome)), message });
        }
        span.hook = Some(Box::new(HookSpan {
            hook_id: facts.word("hookId"),
            source: facts.word("source"),
            call_id,
            outcome,
            decision: facts.owned("decision"),
            reason,
            exit_code: facts.value("exitCode").as_i64(),
            is_async: facts.flag("async"),
            changed: facts.flag("changed"),
            attempt: facts.count("attempt").filter(|attempt| *attempt != 1),
        }));
        edges.push(SpanEdge::Began(Box::new(span.clone())));
        end(&mut span, at, if is_well { SpanStatus::Ok } else { SpanStatus::Error });
        edges.push(SpanEdge::Ended(Box::new(span)));
    }
}

/// `timedOut` as `TIMED_OUT`.
fn upper(word: &str) -> String {
    let mut upper = String::with_capacity(word.len() + 1);
    for letter in word.chars() {
        if letter.is_ascii_uppercase() {
            upper.push('_');
        }
        upper.push(letter.to_ascii_uppercase());
    }
    upper
}
