//! A question that is asked again is another one: about something else, and whoever answers it need not have seen the one before.

use protocol::{CallDecision, ConfirmationId, SpanStatus};

use super::{
    super::{EventMoment, SpanEdge, end, millis},
    OpenRun,
    people::{QuestionVersion, confirmation_id},
    push_event,
};
use crate::{
    said::{EDIT_DROPPED, EDITED, PERSON, STALE},
    text,
};

impl OpenRun {
    /// The question is another one now, or has only another deadline.
    pub(super) fn revised(&mut self, moment: EventMoment<'_>, edges: &mut Vec<SpanEdge>) {
        let Some(id) = confirmation_id(moment) else { return };
        match moment.facts.text("reason") {
            Some("changedByHook" | "askedByHook") => self.asked_again(id, EDITED, moment, edges),
            Some("editDropped") => self.asked_again(id, EDIT_DROPPED, moment, edges),
            Some("changed") => self.asked_again(id, STALE, moment, edges),
            why => {
                let Some(question) = self.questions.get_mut(&id) else { return };
                if let Some(confirmation) = &mut question.span.confirmation {
                    confirmation.revisions += 1;
                }
                push_event(&mut question.span, moment, why.unwrap_or_default());
            }
        }
    }

    /// Somebody answered, and it is asked again: of `EDITED` since a hook changed what they had made of the call or wants that asked, of `STALE` since what it would
    /// touch was not what they had seen, of `EDIT_DROPPED` since nothing came of their change.
    fn asked_again(
        &mut self,
        id: ConfirmationId,
        outcome: &str,
        moment: EventMoment<'_>,
        edges: &mut Vec<SpanEdge>,
    ) {
        let Some(mut question) = self.questions.remove(&id) else { return };
        let facts = moment.facts;
        let at = question.settle(moment.at);
        let mut span = question.span;
        let by = moment.event.head.by.clone();
        let mut version = QuestionVersion { number: Some(2), revisions: 1 };
        if let Some(asked) = &mut span.confirmation {
            version.number = Some(asked.version.unwrap_or(1).saturating_add(1));
            version.revisions = asked.revisions.saturating_add(1);
            asked.decision = Some(CallDecision {
                outcome: outcome.to_owned(),
                version: asked.version,
                source: PERSON.to_owned(),
                rule: Some(asked.rule.clone()),
                name: by.clone(),
                waited_ms: Some(millis(span.started_at, at)),
                down_ms: asked.down_ms,
                message: (outcome == EDIT_DROPPED)
                    .then(|| dropped_for(&asked.reason, facts.within("confirmation").text("reason")))
                    .flatten()
                    .map(text::line),
                ..CallDecision::default()
            });
            if matches!(outcome, EDITED | EDIT_DROPPED) {
                asked.edited_input = text::of_value(facts.value("edited"));
                self.edited.describe(facts.value("edited"));
            }
            if let (EDITED, Some(by), Some(call)) = (outcome, &by, &asked.call_id) {
                self.edited_by(&call.clone(), (by, at), facts);
            }
        }
        span.output = text::said(outcome);
        end(&mut span, at, if outcome != STALE { SpanStatus::Ok } else { SpanStatus::Cancelled });
        edges.push(SpanEdge::Ended(Box::new(span)));
        self.tell_edited(edges);
        self.ask(id, moment, version, edges);
    }
}

/// The part of a question's reason that says why nothing came of a change: it stands behind what both reasons have, or in the place of what
/// was said of the change before.
fn dropped_for<'now>(before: &str, now: Option<&'now str>) -> Option<&'now str> {
    let now = now?;
    let ends = now.match_indices("; ").map(|(at, mark)| at + mark.len());
    let own = ends.filter(|at| before.get(..*at - 2) == now.get(..*at - 2)).last();
    own.map(|at| &now[at..]).filter(|why| !why.is_empty())
}
