//! A run's context as the model sees it: folded from events once, then extended (spec 04, "History").
//!
//! Invariant: well-formed whenever the model is asked. Every call has its result before the next message, in the
//! order of the calls, since results are gathered until the turn has ended and then joined as one message.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    protocol::{
        CallId, ContextId, EventBody, Message, Part, Private, Role, RunId, ToolCall, ToolResult, ToolState,
    },
    store::{Store, StoreError},
};

/// Messages, oldest first.
#[derive(Default)]
pub struct Transcript {
    messages: Vec<Arc<Message>>,
    /// Calls of the last model message, with their results so far.
    open: Vec<(ToolCall, Option<ToolResult>)>,
    /// Runs whose task joined the context, and that have not ended.
    begun: BTreeSet<RunId>,
    /// What was said to a run and has not been taken by a turn: name and text.
    untaken: BTreeMap<RunId, Vec<(String, String)>>,
}

impl Transcript {
    /// What is in a context.
    pub async fn of(store: &Store, context: &ContextId) -> Result<Transcript, StoreError> {
        let mut transcript = Transcript::default();
        for event in store.context_events(context).await? {
            if let Some(run) = &event.run {
                transcript.extend(run, &event.body, &event.private);
            }
        }
        Ok(transcript)
    }

    /// What the model is asked with.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// Takes in an event of a run in this context.
    pub fn extend(&mut self, run: &RunId, body: &EventBody, private: &Private) {
        match body {
            EventBody::RunStarted(_) => {
                self.begun.insert(run.clone());
                let seed = private.seed.iter().flat_map(|seed| &seed.messages);
                // In a context with a past only the task is new; the examples before it were for its beginning.
                let skipped = match self.messages.is_empty() {
                    true => 0,
                    false => seed.clone().count().saturating_sub(1),
                };
                for message in seed.skip(skipped) {
                    self.push(message.clone());
                }
            }
            EventBody::RunSteered(data) => match (data.turn, &private.message) {
                (Some(_), Some(message)) => {
                    if let Some(untaken) = self.untaken.get_mut(run) {
                        untaken.retain(|(id, _)| *id != data.steer_id);
                    }
                    self.push(message.clone());
                }
                _ => {
                    let untaken = self.untaken.entry(run.clone()).or_default();
                    untaken.push((data.steer_id.clone(), data.text.clone()));
                }
            },
            EventBody::RunCompleted(_) => {
                let untaken = self.untaken.remove(run).unwrap_or_default();
                // What was said too late for this run is there for the next; a run that never began leaves nothing.
                if self.begun.remove(run) {
                    for (_, text) in untaken {
                        self.push(Message::user(text));
                    }
                }
            }
            EventBody::ModelCompleted(_) => {
                let Some(message) = &private.message else { return };
                let calls = message.parts.iter().filter_map(|part| match part {
                    Part::ToolCall(call) => Some((call.clone(), None)),
                    _ => None,
                });
                self.open = calls.collect();
                self.push(message.clone());
            }
            EventBody::ToolState(data) if data.to.is_end() => self.end_call(data),
            EventBody::TurnStarted(_) | EventBody::ContextNudged(_) => {
                if let Some(message) = &private.message {
                    self.push(message.clone());
                }
            }
            _ => (),
        }
    }

    fn end_call(&mut self, data: &ToolState) {
        let Some(open) = self.open.iter_mut().find(|(call, _)| call.call_id == data.call_id) else { return };
        open.1 = data.result.clone();
        if self.open.iter().any(|(_, result)| result.is_none()) {
            return;
        }
        let parts = self.open.drain(..).filter_map(|(call, result)| Some(result_part(call, result?)));
        let message = Message { role: Role::Tool, parts: parts.collect(), raw: None };
        self.messages.push(Arc::new(message));
    }

    /// Neighbours of one role are joined: providers want roles to alternate.
    fn push(&mut self, message: Message) {
        match self.messages.last_mut() {
            Some(last) if last.role == message.role && message.role == Role::User => {
                let joined = Arc::make_mut(last);
                joined.parts.extend(message.parts);
                joined.raw = None;
            }
            _ => self.messages.push(Arc::new(message)),
        }
    }
}

fn result_part(call: ToolCall, result: ToolResult) -> Part {
    let call_id: CallId = call.call_id;
    Part::ToolResult {
        call_id,
        provider_call_id: call.provider_call_id,
        name: call.name,
        parts: result.llm_content,
        is_error: result.error.is_some(),
    }
}
