//! A run's context as the model sees it: folded from events once, then extended (spec 04, "History").
//!
//! Invariant: well-formed whenever the model is asked. Every call has its result before the next message, in the
//! order of the calls, since the fold gathers results until the turn has ended and then joins them as one message.

use std::sync::Arc;

use crate::{
    protocol::{ContextId, EventBody, Message, Private, Role, RunId},
    store::{ContextFold, Store, StoreError},
};

/// Messages, oldest first.
#[derive(Default)]
pub struct Transcript {
    messages: Vec<Arc<Message>>,
    fold: ContextFold,
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
        for message in self.fold.add(run, body, private) {
            self.push(message);
        }
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
