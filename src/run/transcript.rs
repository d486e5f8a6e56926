//! A run's context as the model sees it: folded from events once, then extended (spec 04, "History").
//!
//! Invariant: well-formed whenever the model is asked. Every call has its result before the next message, in the
//! order of the calls, since the fold gathers results until the turn has ended and then joins them as one message. A
//! compression replaces the older messages by a few; the history that people read keeps them.

use std::sync::Arc;

use super::{
    compaction::{TokenEstimate, weigh, with_replaced},
    machine::ContextState,
    near_memory::NearMemory,
    unblocked, unhurried,
};
use protocol::{
    Compaction, CompressionStatus, ContextCompressed, ContextId, ContextMessage, EventBody, MessageRole,
    PrivateEventFields, RunId,
};
use store::{ContextFold, EventStore, StoreError};

/// Messages, oldest first.
#[derive(Default)]
pub struct ContextTranscript {
    messages: Vec<Arc<ContextMessage>>,
    fold: ContextFold,
    /// Of the messages.
    weight: TokenEstimate,
    past: ContextState,
    near: NearMemory,
}

impl ContextTranscript {
    /// What is in a context.
    pub async fn of(store: &EventStore, context: &ContextId) -> Result<ContextTranscript, StoreError> {
        let events = store.context_events(context).await?;
        let fold = move || {
            let mut transcript = ContextTranscript::default();
            for event in unhurried(events.iter()) {
                let event = event?;
                if let Some(run) = &event.run {
                    transcript.extend(run, &event.body, &event.private);
                }
            }
            Ok(transcript)
        };
        unblocked(fold).await
    }

    /// What the model is asked with.
    pub fn messages(&self) -> &[Arc<ContextMessage>] {
        &self.messages
    }

    /// About how much they take of a window.
    pub fn weight(&self) -> TokenEstimate {
        self.weight
    }

    /// The folders of whose memory files it was told.
    pub fn near_memory(&self) -> &NearMemory {
        &self.near
    }

    /// What the context's next run should know.
    pub fn past(&self) -> ContextState {
        self.past
    }

    /// Takes in an event of a run in this context.
    pub fn extend(&mut self, run: &RunId, body: &EventBody, private: &PrivateEventFields) {
        for message in self.fold.add(run, body, private) {
            self.push(message);
        }
        match body {
            EventBody::ModelCompleted(data) if data.usage.prompt_tokens != 0 => {
                self.past.prompt_tokens = data.usage.prompt_tokens;
            }
            EventBody::ToolState(data) if data.to.is_end() => {
                self.near.take_in(&data.call_id, private.memory.as_ref())
            }
            EventBody::ContextCompressed(data) => self.compress(data, private.compaction.as_deref()),
            EventBody::ContextCleared(data) => {
                self.near.forget();
                self.messages.clear();
                self.weight = TokenEstimate::default();
                self.past = ContextState { epoch: data.epoch, ..ContextState::default() };
            }
            _ => (),
        }
    }

    /// Neighbours of one role are joined: providers want roles to alternate.
    fn push(&mut self, message: ContextMessage) {
        self.weight += weigh(&message);
        match self.messages.last_mut() {
            Some(last) if last.role == message.role && message.role == MessageRole::User => {
                let joined = Arc::make_mut(last);
                joined.parts.extend(message.parts);
                joined.raw = None;
            }
            _ => self.messages.push(Arc::new(message)),
        }
    }

    fn compress(&mut self, data: &ContextCompressed, compaction: Option<&Compaction>) {
        match data.status {
            CompressionStatus::Compressed => {
                self.near.forget();
                self.past.prompt_tokens = data.tokens_after;
                self.past.epoch = data.epoch;
                self.past.is_compression_off &= !data.forced;
            }
            CompressionStatus::CompressionFailedInflatedTokenCount => self.past.is_compression_off = true,
            CompressionStatus::Noop | CompressionStatus::CompressionFailedEmptySummary => (),
        }
        if let Some(compaction) = compaction {
            self.messages = compacted(&self.messages, compaction);
            self.weight = self.messages.iter().map(|message| weigh(message)).sum();
        }
    }
}

/// What a compression makes of messages.
pub fn compacted(messages: &[Arc<ContextMessage>], compaction: &Compaction) -> Vec<Arc<ContextMessage>> {
    let replaced = with_replaced(messages, &compaction.outputs);
    if compaction.opening.is_empty() {
        return replaced;
    }
    let kept = replaced.len().saturating_sub(compaction.kept);
    compaction.opening.iter().cloned().map(Arc::new).chain(replaced[kept..].iter().cloned()).collect()
}
