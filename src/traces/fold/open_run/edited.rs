//! Guards that are asked about a call as a person changed it: their answers are in the log before the person's, which came first.

use protocol::{CallId, ConfirmationId, Timestamp, TraceSpan};
use serde_json::Value;

use super::{
    super::{EventMoment, SpanEdge},
    OpenRun,
    calls::description,
};
use crate::facts::EventFacts;

/// The event whose hooks may change the arguments of a call.
pub(super) const BEFORE_CALLS: &str = "PreToolUse";

/// The answer of a person who changed the call.
pub(super) const MODIFY: &str = "modify";

/// Spans of such guards, which are told after the question.
#[derive(Debug, Default)]
pub(super) struct EditedCallHooks {
    /// The beginnings and ends, in their order.
    edges: Vec<SpanEdge>,
    call: Option<CallId>,
}

impl EditedCallHooks {
    /// Says what the person made of the call: the first ones were asked about that.
    pub(super) fn describe(&mut self, edited: &Value) {
        let about = description(edited);
        for span in self.edges.iter_mut().map(SpanEdge::span_mut) {
            if let Some(hook) = span.hook.as_mut().filter(|hook| hook.edited && hook.round.is_none()) {
                hook.description.clone_from(&about);
            }
        }
    }
}

/// The question whose answer a guard is asked about: its firing is named by that, too, from the second change on with the number of it.
fn edited_question(facts: EventFacts<'_>) -> Option<ConfirmationId> {
    let firing = facts.text("firingId").filter(|_| facts.text("event") == Some(BEFORE_CALLS))?;
    let (_, last) = firing.rsplit_once(':')?;
    Some(ConfirmationId::from(last.split_once('.').map_or(last, |(question, _)| question)))
}

/// True of the span of such a guard.
pub(super) fn is_edited(span: &TraceSpan) -> bool {
    span.hook.as_deref().is_some_and(|hook| hook.edited)
}

impl OpenRun {
    /// True if an event is of a guard that is asked about a change.
    pub(super) fn is_of_edit(&self, facts: EventFacts<'_>) -> bool {
        edited_question(facts).is_some_and(|id| self.questions.contains_key(&id))
    }

    /// A guard is asked about a change since then: the person has answered, and it is the guard that is waited for.
    pub(super) fn guard_of_edit(&mut self, facts: EventFacts<'_>, asked_at: Timestamp) {
        let Some(question) = edited_question(facts).and_then(|id| self.questions.get_mut(&id)) else {
            return;
        };
        question.answered_by(asked_at);
        self.count_waiting(asked_at);
    }

    /// Keeps what is told of such a guard until the question is over.
    pub(super) fn keep_edited(&mut self, facts: EventFacts<'_>, told: Vec<SpanEdge>) {
        self.edited.call = facts.text("callId").map(CallId::from);
        self.edited.edges.extend(told);
    }

    /// Before an event: whatever says nothing of the change comes after these guards.
    pub(super) fn tell_edited_before(&mut self, moment: EventMoment<'_>, edges: &mut Vec<SpanEdge>) {
        let kind = moment.event.kind.as_str();
        let is_about = ["hook.", "confirmation.", "sideCall."].iter().any(|area| kind.starts_with(area));
        if !is_about && !matches!(kind, "warning" | "tool.state" | "run.waiting") {
            self.tell_edited(edges);
        }
    }

    /// After an event: the question is over or asked anew, or the call runs as it was changed.
    pub(super) fn tell_edited_after(&mut self, moment: EventMoment<'_>, edges: &mut Vec<SpanEdge>) {
        let (kind, facts) = (moment.event.kind.as_str(), moment.facts);
        match kind {
            "tool.state" => {
                let call = self.edited.call.as_ref().and_then(|call| self.calls.get(call));
                let description = call.and_then(|call| call.span.tool.as_ref()?.description.clone());
                for span in self.edited.edges.iter_mut().map(SpanEdge::span_mut) {
                    if let Some(hook) = span.hook.as_mut().filter(|hook| hook.edited && hook.round.is_none())
                    {
                        hook.description.clone_from(&description);
                    }
                }
                self.tell_edited(edges);
            }
            // What the call is by now is told next.
            "confirmation.resolved" if facts.text("outcome") == Some(MODIFY) => {}
            "confirmation.revised" if facts.text("reason") == Some("modified") => {}
            "confirmation.resolved" | "confirmation.revised" => self.tell_edited(edges),
            _ => {}
        }
    }

    pub(super) fn tell_edited(&mut self, edges: &mut Vec<SpanEdge>) {
        edges.append(&mut std::mem::take(&mut self.edited).edges);
    }
}
