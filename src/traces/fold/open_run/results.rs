//! Results of calls about which hooks are asked: others are told of a result what the model read, and no more.

use std::collections::BTreeMap;

use protocol::{CallId, ResultReplacement, SpanText, ToolSpan, TraceSpan};

use super::{super::SpanEdge, calls::EndedToolSpan};
use crate::facts::EventFacts;

/// The message of an error that nobody was given to read: the model of a run, or the client of a call of its own.
const NOT_READ: &str = "what it said was kept back";

/// The text in place of a result that hooks were asked about when the run ended.
const NOT_SETTLED: &str = "the run ended before hooks had said whether the model may read the result";

/// Calls that have ended, and about whose results hooks have not said all that they have to say.
#[derive(Debug, Default)]
pub(super) struct UnsettledResults(BTreeMap<CallId, UnsettledResult>);

#[derive(Debug)]
struct UnsettledResult {
    call: EndedToolSpan,
    /// Spans of the hooks that have answered, which are told after the call.
    later: Vec<SpanEdge>,
    /// The call whose result is read in place of this one: it begins next, and what it is about is told with this one.
    next: Option<CallId>,
    is_settled: bool,
}

impl EndedToolSpan {
    /// The model reads this in place of the result.
    fn keep_back(&mut self, by: Option<String>, read: Option<SpanText>, is_withheld: bool) {
        let span = &mut self.call.span;
        span.output = read;
        if let Some(error) = span.error.as_mut().filter(|_| self.has_its_words) {
            NOT_READ.clone_into(&mut error.message);
        }
        if let Some(tool) = &mut span.tool {
            (tool.result_changed_by, tool.result_withheld) = (by, is_withheld);
        }
    }

    /// Takes in what a hook says of the result.
    fn hooked(&mut self, facts: EventFacts<'_>) {
        let by = Some(facts.word("hookId"));
        if let Some(ResultReplacement { text, bytes, withheld }) = facts.read("replacement") {
            let read = Some(SpanText { text, bytes }).filter(|read| !read.text.is_empty());
            self.keep_back(by.clone(), read, withheld);
        }
        if facts.has("followUp") {
            self.read_of_next(by, "that the hook wants");
        }
    }

    /// The result of another call is read in place of this one's.
    fn read_of_next(&mut self, by: Option<String>, which: &str) {
        let text = format!("in place of this result the model reads that of the call {which}");
        self.keep_back(by, Some(SpanText { text, bytes: None }), false);
    }
}

impl UnsettledResults {
    /// The result of a call is told when hooks have answered.
    pub(super) fn wait(&mut self, call_id: CallId, call: EndedToolSpan) {
        self.0.insert(call_id, UnsettledResult { call, later: Vec::new(), next: None, is_settled: false });
    }

    /// A hook has answered, and this is to be told of it.
    pub(super) fn hooked(&mut self, facts: EventFacts<'_>, told: Vec<SpanEdge>, edges: &mut Vec<SpanEdge>) {
        let call_id = facts.text("callId").unwrap_or_default();
        let Some(unsettled) = self.0.get_mut(call_id) else { return edges.extend(told) };
        unsettled.call.hooked(facts);
        unsettled.later.extend(told);
        unsettled.next = facts.text("followUp").map(CallId::from).or(unsettled.next.take());
        unsettled.is_settled = facts.flag("settlesResult");
        if unsettled.is_settled
            && unsettled.next.is_none()
            && let Some(settled) = self.0.remove(call_id)
        {
            settled.tell(edges);
        }
    }

    /// A call begins: the one that it follows says now whose result is read.
    pub(super) fn begun(&mut self, call: &ToolSpan, edges: &mut Vec<SpanEdge>) {
        let Some(followed) = call.follows.as_ref() else { return };
        let is_it = |it: &UnsettledResult| it.is_settled && it.next.as_ref() == Some(&call.call_id);
        if !self.0.get(followed).is_some_and(is_it) {
            return;
        }
        let Some(mut settled) = self.0.remove(followed) else { return };
        let about = call.description.as_deref().map(|about| format!(" {about}")).unwrap_or_default();
        settled.call.read_of_next(call.requested_by.clone(), &format!("{}{about}", call.tool));
        settled.tell(edges);
    }

    /// The turn is over. Where the run goes on, there were no hooks any more, and the model reads the results.
    pub(super) fn end(&mut self, is_ending: bool, edges: &mut Vec<SpanEdge>) {
        for mut unsettled in std::mem::take(&mut self.0).into_values() {
            if is_ending && !unsettled.call.is_refused && !unsettled.is_settled {
                let read = SpanText { text: NOT_SETTLED.to_owned(), bytes: None };
                unsettled.call.keep_back(None, Some(read), true);
            }
            unsettled.tell(edges);
        }
    }

    /// The calls as far as others may know of them.
    pub(super) fn so_far(&self) -> impl Iterator<Item = TraceSpan> {
        self.0.values().map(|unsettled| {
            let mut span = unsettled.call.call.span.clone();
            span.output = None;
            if let Some(error) = span.error.as_mut().filter(|_| unsettled.call.has_its_words) {
                error.message.clear();
            }
            span
        })
    }
}

impl UnsettledResult {
    fn tell(self, edges: &mut Vec<SpanEdge>) {
        self.call.tell(edges);
        edges.extend(self.later);
    }
}
