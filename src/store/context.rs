//! Which messages does an event add to its context? The one rule for what a model is asked with and for what clients
//! read as history (spec 04, "History"). Pure: it knows neither database nor models.

use std::collections::{BTreeMap, BTreeSet};

use super::CommittedEvent;
use protocol::{
    CallId, ContextMessage, EventBody, HookPoint, MessagePart, MessageRole, PrivateEventFields, RunId,
    RunSteered, ToolCall, ToolResult, ToolState,
};

/// Folds the events of one context, oldest first, into its messages.
///
/// Hooks are asked when a call has ended, so what a message says of results may still change: whoever keeps messages puts the
/// [`replaced_results`] of later events into them.
///
/// Invariant: every call has its result before the next message, in the order of the calls, since results are gathered
/// until the last of them is there and then told as one message. Neighbours of one role are left apart; who sends them
/// to a provider joins them.
#[derive(Debug, Clone, Default)]
pub struct ContextFold {
    /// Something was said already.
    has_past: bool,
    /// Calls of the last reply, with their results so far.
    open: Vec<(ToolCall, Option<ToolResult>)>,
    /// Runs whose task joined the context, and that have not ended.
    begun: BTreeSet<RunId>,
    /// What was said to a run and has not been taken by a turn: name and text.
    untaken: BTreeMap<RunId, Vec<(String, String)>>,
    /// Results of the last reply's calls as hooks have them read.
    hooked: BTreeMap<CallId, Vec<MessagePart>>,
}

/// Beside its reply and the results for that, what a message depends on: a fold that begins at a `model.completed` needs
/// the events of these types before it.
pub(super) const LASTING: &str = "'run.started', 'run.steered', 'run.completed', 'hook.fired'";

impl ContextFold {
    /// The fold as it stands before a `model.completed`, of the [`LASTING`] events before that.
    pub(super) fn resumed(past: &[CommittedEvent]) -> ContextFold {
        let mut fold = ContextFold::default();
        for event in past {
            if let Some(run) = &event.run {
                fold.add(run, &event.body, &event.private);
            }
        }
        // Nobody replies to nothing.
        fold.has_past = true;
        fold
    }

    /// The messages that the next event of the context adds, in order; most events add none.
    pub fn add(
        &mut self,
        run: &RunId,
        body: &EventBody,
        private: &PrivateEventFields,
    ) -> Vec<ContextMessage> {
        if let Some(results) = replaced_results(private) {
            self.hooked.extend(results.clone());
        }
        let messages = match body {
            EventBody::RunStarted(_) => self.begin(run, private),
            EventBody::RunSteered(data) => self.steer(run, data, private),
            EventBody::RunCompleted(_) => self.end(run, private),
            EventBody::ModelCompleted(_) => self.reply(private),
            EventBody::ToolState(data) if data.to.is_end() => self.end_call(data).into_iter().collect(),
            EventBody::TurnStarted(_) | EventBody::ContextNudged(_) | EventBody::IdeContextShared(_) => {
                private.message.iter().cloned().collect()
            }
            EventBody::HookFired(_) => {
                self.take_back(run, private);
                Vec::new()
            }
            EventBody::ContextCleared(_) => {
                self.has_past = false;
                return Vec::new();
            }
            _ => Vec::new(),
        };
        self.has_past |= !messages.is_empty();
        messages
    }

    fn begin(&mut self, run: &RunId, private: &PrivateEventFields) -> Vec<ContextMessage> {
        self.begun.insert(run.clone());
        let messages = private.seed.as_ref().map_or(&[][..], |seed| &seed.messages);
        // In a context with a past only the task is new; the examples before it were for its beginning.
        let skipped = if self.has_past { messages.len().saturating_sub(1) } else { 0 };
        messages[skipped..].to_vec()
    }

    fn steer(&mut self, run: &RunId, data: &RunSteered, private: &PrivateEventFields) -> Vec<ContextMessage> {
        if data.turn.is_none() {
            let untaken = self.untaken.entry(run.clone()).or_default();
            untaken.push((data.steer_id.clone(), data.text.clone()));
            return Vec::new();
        }
        if let Some(untaken) = self.untaken.get_mut(run) {
            untaken.retain(|(id, _)| *id != data.steer_id);
        }
        private.message.iter().cloned().collect()
    }

    /// Everything that hooks did not let through was never said.
    fn take_back(&mut self, run: &RunId, private: &PrivateEventFields) {
        let Some(effect) = private.hooked.as_deref().filter(|effect| effect.blocks) else { return };
        if let (Some(HookPoint::Steer { id }), Some(untaken)) = (&effect.settles, self.untaken.get_mut(run)) {
            untaken.retain(|(name, _)| name != id);
        }
    }

    /// What was said too late for this run is there for the next; a run that never began leaves nothing.
    fn end(&mut self, run: &RunId, private: &PrivateEventFields) -> Vec<ContextMessage> {
        let mut untaken = self.untaken.remove(run).unwrap_or_default();
        let unheard = private.hooked.as_deref().map_or(&[][..], |effect| &effect.unheard);
        untaken.retain(|(id, _)| !unheard.contains(id));
        match self.begun.remove(run) {
            true => untaken.into_iter().map(|(_, text)| ContextMessage::user(text)).collect(),
            false => Vec::new(),
        }
    }

    fn reply(&mut self, private: &PrivateEventFields) -> Vec<ContextMessage> {
        let Some(message) = &private.message else { return Vec::new() };
        let calls = message.parts.iter().filter_map(|part| match part {
            MessagePart::ToolCall(call) => Some((call.clone(), None)),
            _ => None,
        });
        self.open = calls.collect();
        self.hooked.clear();
        vec![message.clone()]
    }

    fn end_call(&mut self, data: &ToolState) -> Option<ContextMessage> {
        let open = self.open.iter_mut().find(|(call, _)| call.call_id == data.call_id)?;
        open.1 = data.result.clone();
        if self.open.iter().any(|(_, result)| result.is_none()) {
            return None;
        }
        let parts = self.open.drain(..).filter_map(|(call, result)| Some(result_part(call, result?)));
        let mut message = ContextMessage { role: MessageRole::Tool, parts: parts.collect(), raw: None };
        // Hooks may have had their say on some results before the last one came.
        replace_results(&mut message, &self.hooked);
        Some(message)
    }
}

/// Everything that the model reads of the results of calls from this event on, by the word of hooks.
pub fn replaced_results(private: &PrivateEventFields) -> Option<&BTreeMap<CallId, Vec<MessagePart>>> {
    private.hooked.as_deref().map(|effect| &effect.outputs).filter(|outputs| !outputs.is_empty())
}

/// Puts results in the place of those that a message has.
pub fn replace_results(message: &mut ContextMessage, results: &BTreeMap<CallId, Vec<MessagePart>>) {
    if replace_in(&mut message.parts, results) {
        // What the provider would get verbatim has a result as it was.
        message.raw = None;
    }
}

/// The same of a message's parts; true if any of them is another one now.
pub(super) fn replace_in(parts: &mut [MessagePart], results: &BTreeMap<CallId, Vec<MessagePart>>) -> bool {
    let mut is_changed = false;
    for part in parts {
        if let MessagePart::ToolResult { call_id, parts, .. } = part
            && let Some(result) = results.get(call_id).filter(|result| *result != parts)
        {
            parts.clone_from(result);
            is_changed = true;
        }
    }
    is_changed
}

fn result_part(call: ToolCall, result: ToolResult) -> MessagePart {
    MessagePart::ToolResult {
        call_id: call.call_id,
        provider_call_id: call.provider_call_id,
        name: call.name,
        parts: result.llm_content,
        is_error: result.error.is_some(),
    }
}
