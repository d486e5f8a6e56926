//! Questions to people.

use protocol::{
    CallDecision, CallId, ConfirmationId, ConfirmationSpan, SpanKind, SpanStatus, SpanText, Timestamp,
    TraceSpan,
};

use super::{
    super::{EventMoment, SpanEdge, end, millis},
    OpenRun, OpenToolSpan,
    edited::MODIFY,
};
use crate::{
    facts::EventFacts,
    rule,
    said::{EDITED, PERSON, decider},
    text,
};

/// A question that is not over.
#[derive(Debug)]
pub(super) struct OpenQuestion {
    pub(super) span: TraceSpan,
    /// A person changed the call at that time, and guards are asked about the change.
    answered_at: Option<Timestamp>,
    /// The same of an answer that a daemon before this one took: no guard has been asked anew about it yet.
    answered_before: Option<AnsweredBefore>,
    /// The change of a person that the log has, about which hooks are asked.
    edit: Option<LoggedChange>,
}

/// A change of a call by a person, which no restart takes back.
#[derive(Debug)]
struct LoggedChange {
    at: Timestamp,
    name: Option<String>,
    made: Option<SpanText>,
}

/// The answer to a question that was there as the daemon ended.
#[derive(Debug)]
struct AnsweredBefore {
    at: Timestamp,
    /// The time without a daemon since then.
    down_ms: u64,
}

impl OpenQuestion {
    /// True while it is guards that are waited for, and no person.
    pub(super) fn is_answered(&self) -> bool {
        self.answered_at.is_some() || self.edit.is_some()
    }

    /// The time from which on guards are waited for.
    pub(super) fn answered_since(&self) -> Timestamp {
        let logged = self.edit.as_ref().map(|edit| edit.at);
        logged.or(self.answered_at).unwrap_or(self.span.started_at)
    }

    /// A guard is asked about what a person made of the call, from then on.
    pub(super) fn answered_by(&mut self, asked_at: Timestamp) {
        // Only in logs of earlier versions nothing but the guard tells of the answer.
        if self.edit.is_some() {
            return;
        }
        let before = self.answered_before.take().map(|before| before.at);
        let known = [self.answered_at, before, Some(asked_at)].into_iter().flatten().min();
        self.answered_at = known.map(|at| at.max(self.span.started_at));
    }

    /// The time of its answer, where it is over or asked anew at that time.
    pub(super) fn settle(&mut self, at: Timestamp) -> Timestamp {
        if let Some(edit) = &self.edit {
            return edit.at.min(at);
        }
        // The answer was lost with the daemon that took it, and came once more.
        if let (Some(before), Some(asked)) = (self.answered_before.take(), &mut self.span.confirmation) {
            asked.down_ms = asked.down_ms.saturating_add(before.down_ms);
        }
        self.answered_at.map_or(at, |answered| answered.min(at))
    }

    /// The daemon was away for so long: nobody could answer meanwhile.
    fn was_down(&mut self, down_ms: u64) {
        // Nobody waited for the person any more.
        if self.edit.is_some() {
            return;
        }
        let taken = self.answered_at.take().map(|at| AnsweredBefore { at, down_ms: 0 });
        self.answered_before = taken.or(self.answered_before.take());
        let asked = self.span.confirmation.as_mut().map(|asked| &mut asked.down_ms);
        let down = self.answered_before.as_mut().map(|before| &mut before.down_ms).or(asked);
        if let Some(down) = down {
            *down = down.saturating_add(down_ms);
        }
    }

    /// The decision of a person who changed the call, and whose question was over before hooks had answered.
    fn unguarded(&self, message: Option<&str>) -> Option<CallDecision> {
        let (edit, asked) = (self.edit.as_ref()?, self.span.confirmation.as_ref()?);
        Some(CallDecision {
            outcome: EDITED.to_owned(),
            source: PERSON.to_owned(),
            rule: Some(asked.rule.clone()),
            version: asked.version,
            name: edit.name.clone(),
            message: message.map(text::line),
            waited_ms: Some(millis(self.span.started_at, edit.at)),
            down_ms: asked.down_ms,
            ..CallDecision::default()
        })
    }

    /// Its span while it is open. In logs of earlier versions nobody can tell who has answered before the guards are done.
    pub(super) fn so_far(&self) -> TraceSpan {
        let mut span = self.span.clone();
        if let (Some(edit), Some(asked)) = (&self.edit, &mut span.confirmation) {
            asked.decision = self.unguarded(None);
            asked.edited_input.clone_from(&edit.made);
        } else if let (Some(at), Some(asked)) = (self.answered_at, &mut span.confirmation) {
            asked.decision = Some(CallDecision {
                outcome: EDITED.to_owned(),
                source: PERSON.to_owned(),
                rule: Some(asked.rule.clone()),
                version: asked.version,
                waited_ms: Some(millis(span.started_at, at)),
                down_ms: asked.down_ms,
                ..CallDecision::default()
            });
        }
        span
    }
}

/// The version of a question that is asked.
#[derive(Debug, Default)]
pub(super) struct QuestionVersion {
    /// From 2 on.
    pub(super) number: Option<u64>,
    pub(super) revisions: u64,
}

impl OpenRun {
    pub(super) fn apply_question(&mut self, moment: EventMoment<'_>, edges: &mut Vec<SpanEdge>) {
        match moment.event.kind.as_str() {
            "confirmation.requested" => self.asked(moment, edges),
            "confirmation.revised" => self.revised(moment, edges),
            "confirmation.edited" => self.changed_by_person(moment),
            _ => self.resolved(moment, edges),
        }
    }

    pub(super) fn asked(&mut self, moment: EventMoment<'_>, edges: &mut Vec<SpanEdge>) {
        if let Some(id) = confirmation_id(moment) {
            self.ask(id, moment, QuestionVersion::default(), edges);
        }
    }

    /// A person has changed the call: from here on it is hooks that are waited for.
    fn changed_by_person(&mut self, moment: EventMoment<'_>) {
        let EventMoment { at, facts, event, .. } = moment;
        let id = facts.text("confirmationId").map(ConfirmationId::from);
        let Some(question) = id.and_then(|id| self.questions.get_mut(&id)) else { return };
        let name = event.head.by.clone().or_else(|| facts.owned("name"));
        question.edit = Some(LoggedChange { at, name, made: text::of_value(facts.value("edited")) });
        self.count_waiting(at);
    }

    /// A person is asked a question, or anew.
    pub(super) fn ask(
        &mut self,
        id: ConfirmationId,
        moment: EventMoment<'_>,
        version: QuestionVersion,
        edges: &mut Vec<SpanEdge>,
    ) {
        let asked = moment.facts.within("confirmation");
        let call_id = asked.text("toolCallId").map(CallId::from);
        let caller = call_id.as_ref().and_then(|call| self.calls.get(call)).map(OpenToolSpan::innermost);
        let title = text::line(asked.text("title").unwrap_or_default());
        let mut span = match caller {
            Some(call) => self.span_below(&call.span_id, call.lane, moment, SpanKind::Confirmation, title),
            None => self.span_within(moment, SpanKind::Confirmation, title),
        };
        span.input = text::said(&about(asked));
        span.confirmation = Some(Box::new(ConfirmationSpan {
            confirmation_id: id.clone(),
            call_id,
            asks: asked.within("details").word("type"),
            rule: asked.word("rule"),
            reason: asked.word("reason"),
            risk: asked.word("risk"),
            version: version.number,
            edited_input: None,
            down_ms: 0,
            restarts: 0,
            edited_restarts: 0,
            revisions: version.revisions,
            decision: None,
        }));
        edges.push(SpanEdge::Began(Box::new(span.clone())));
        let question = OpenQuestion { span, answered_at: None, answered_before: None, edit: None };
        self.questions.insert(id, question);
        self.count_waiting(moment.at);
    }

    /// The daemon was away for so long: nobody could answer meanwhile.
    pub(super) fn questions_were_down(&mut self, down_ms: u64) {
        self.questions.values_mut().for_each(|question| question.was_down(down_ms));
    }

    /// The questions that a daemon left open which ended, as they were then; the next one asks them again.
    pub(super) fn questions_left_open(&mut self) -> Vec<TraceSpan> {
        let open = |it: &OpenQuestion| if it.edit.is_some() { it.so_far() } else { it.span.clone() };
        let open = self.questions.values().map(open).collect();
        for question in self.questions.values_mut() {
            let is_edited = question.edit.is_some();
            let Some(asked) = &mut question.span.confirmation else { continue };
            let restarts = if is_edited { &mut asked.edited_restarts } else { &mut asked.restarts };
            *restarts = restarts.saturating_add(1);
        }
        open
    }

    fn resolved(&mut self, moment: EventMoment<'_>, edges: &mut Vec<SpanEdge>) {
        let EventMoment { at, facts, .. } = moment;
        let question = facts.text("confirmationId").and_then(|id| self.questions.remove(id));
        let Some(mut question) = question else { return };
        self.count_waiting(at);
        let at = question.settle(at);
        let source = facts.word("by");
        let is_over_by_itself = source == "system";
        let message = facts.text("message");
        let is_of_nobody = matches!(source.as_str(), "system" | "deadline") && !facts.has("name");
        let unguarded =
            question.unguarded(message.or(Some("the question was over"))).filter(|_| is_of_nobody);
        let made = question.edit.take().and_then(|edit| edit.made);
        let mut span = question.span;
        let mut decision = CallDecision {
            outcome: facts.word("outcome"),
            source: source.clone(),
            rule: None,
            origin: None,
            name: facts.owned("name"),
            message: facts.text("message").map(text::line),
            waited_ms: Some(millis(span.started_at, at)),
            down_ms: span.confirmation.as_ref().map_or(0, |asked| asked.down_ms),
            version: span.confirmation.as_ref().and_then(|asked| asked.version),
            allows: facts.text("allows").map(text::line),
            remembers: rule_said(&source, facts),
            mode: facts.owned("mode"),
        };
        span.output = text::said(&decision.outcome);
        if let Some(confirmation) = &mut span.confirmation {
            // Of a rule that forbids it by now, the call's end says which.
            decision.rule = match decision.source.as_str() {
                "policy" => facts.within("rule").owned("id"),
                _ => Some(confirmation.rule.clone()),
            };
            confirmation.decision = Some(decision.clone());
            if let Some(unguarded) = unguarded {
                // The person has answered; nobody's answer is the end of the call.
                span.output = text::said(&unguarded.outcome);
                (confirmation.edited_input, confirmation.decision) = (made, Some(unguarded));
                decision.waited_ms = None;
            }
            // What a tool asks decides nothing about the tool.
            if let Some(call_id) = confirmation.call_id.clone().filter(|_| confirmation.asks != "question") {
                if decision.outcome == MODIFY {
                    self.modified(&call_id, decider(&decision), at);
                } else if let (Some(by), true) = (&decision.name, facts.has("edited")) {
                    confirmation.edited_input = text::of_value(facts.value("edited"));
                    self.edited.describe(facts.value("edited"));
                    self.edited_by(&call_id, (by, at), facts);
                }
                self.decided(&call_id, decision);
            }
        }
        end(&mut span, at, if is_over_by_itself { SpanStatus::Cancelled } else { SpanStatus::Ok });
        edges.push(SpanEdge::Ended(Box::new(span)));
    }

    /// Ends the questions that a call's end leaves open.
    pub(super) fn end_questions_of(&mut self, call: &CallId, at: Timestamp, edges: &mut Vec<SpanEdge>) {
        let is_of = |question: &OpenQuestion| {
            question.span.confirmation.as_ref().and_then(|it| it.call_id.as_ref()) == Some(call)
        };
        let ids = self.questions.iter().filter(|(_, question)| is_of(question)).map(|(id, _)| id.clone());
        let ids: Vec<ConfirmationId> = ids.collect();
        for question in ids.iter().filter_map(|id| self.questions.remove(id)).collect::<Vec<_>>() {
            cut_off(question, at, edges);
        }
        self.count_waiting(at);
    }

    /// Ends the questions that the run's end leaves open.
    pub(super) fn end_questions(&mut self, at: Timestamp, edges: &mut Vec<SpanEdge>) {
        for question in std::mem::take(&mut self.questions).into_values() {
            cut_off(question, at, edges);
        }
        self.count_waiting(at);
    }
}

/// The rule that a person's answer saved.
fn rule_said(source: &str, resolved: EventFacts<'_>) -> Option<String> {
    let saved = resolved.within("rule");
    let id = saved.text("id").filter(|_| source == "client")?;
    // What narrows it stands at the end: it is cut as whole texts are, not as lines.
    text::said(&format!("{id}: {}", rule::matches(saved))).map(|said| said.text)
}

fn cut_off(question: OpenQuestion, at: Timestamp, edges: &mut Vec<SpanEdge>) {
    let mut span = question.span;
    end(&mut span, at, SpanStatus::Cancelled);
    edges.push(SpanEdge::Ended(Box::new(span)));
}

/// The subject of the question: the change, the command, the words.
fn about(asked: EventFacts<'_>) -> String {
    let details = asked.within("details");
    let whole = ["diff", "command", "prompt"].iter().find_map(|key| details.owned(key));
    let listed = || {
        let urls: Vec<&str> = details.list("urls").iter().filter_map(|url| url.as_str()).collect();
        (!urls.is_empty()).then(|| urls.join("\n"))
    };
    let questions = || {
        let texts =
            details.list("questions").iter().filter_map(|question| question.get("question")?.as_str());
        let texts: Vec<&str> = texts.collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    };
    let arguments = || details.has("arguments").then(|| details.value("arguments").to_string());
    whole.or_else(listed).or_else(questions).or_else(arguments).unwrap_or_default()
}

/// The question that is asked, or asked anew.
pub(super) fn confirmation_id(moment: EventMoment<'_>) -> Option<ConfirmationId> {
    moment.facts.within("confirmation").text("confirmationId").map(ConfirmationId::from)
}
