//! A run's context as the model sees it: folded from events once, then extended (spec 04, "History").
//!
//! Invariant: well-formed whenever the model is asked. Every call has its result before the next message, in the
//! order of the calls, since the fold gathers results until the turn has ended and then joins them as one message. A
//! compression replaces the older messages by a few; the history that people read keeps them.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    compaction::{
        ActiveSkill, ActiveSkillOrigin, TokenEstimate, surviving, weigh, with_replaced, without_outdated,
    },
    machine::ContextState,
    near_memory::NearMemory,
    unblocked, unhurried,
};
use protocol::{
    CallId, Compaction, CompressionStatus, ContextCompressed, ContextId, ContextMessage, EventBody,
    IdeContext, MessagePart, MessageRole, PrivateEventFields, RunId, SkillActivated, ToolState,
};
use store::{ContextFold, EventStore, StoreError, replaced_results};

/// Messages, oldest first.
#[derive(Default)]
pub struct ContextTranscript {
    messages: Vec<Arc<ContextMessage>>,
    fold: ContextFold,
    /// Of the messages.
    weight: TokenEstimate,
    past: ContextState,
    near: NearMemory,
    /// Active skills, in the order in which they were activated.
    skills: Vec<ActiveSkill>,
    /// Skills of calls that have not ended.
    activated: Vec<(SkillActivated, (RunId, u32))>,
    /// The turn that its newest run is in.
    turn: u32,
    /// The editor as the context was told of it last, if it still has that.
    editor: Option<IdeContext>,
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

    /// The editor of whoever asks, as it knows it.
    pub fn editor(&self) -> Option<&IdeContext> {
        self.editor.as_ref()
    }

    /// What the context's next run should know.
    pub fn past(&self) -> ContextState {
        self.past
    }

    /// The skills that its model was given.
    pub fn skills(&self) -> &[ActiveSkill] {
        &self.skills
    }

    /// Takes in an event of a run in this context.
    pub fn extend(&mut self, run: &RunId, body: &EventBody, private: &PrivateEventFields) {
        for message in self.fold.add(run, body, private) {
            self.push(message);
        }
        if let Some(results) = replaced_results(private) {
            self.messages = with_replaced(&self.messages, results);
            self.weight = self.messages.iter().map(|message| weigh(message)).sum();
            self.replace_skill_texts(results);
        }
        match body {
            EventBody::ModelCompleted(data) if data.usage.prompt_tokens != 0 => {
                self.past.prompt_tokens = data.usage.prompt_tokens;
            }
            EventBody::TurnStarted(data) => self.turn = data.turn,
            EventBody::SkillActivated(data) => self.activate(run, data),
            // What it was given went with it.
            EventBody::RunCompleted(_) => {
                let was_given =
                    |skill: &ActiveSkill| matches!(&skill.origin, ActiveSkillOrigin::Given(to) if to == run);
                self.skills.retain(|skill| !was_given(skill));
            }
            EventBody::ToolState(data) if data.to.is_end() => {
                self.near.take_in(&data.call_id, private.memory.as_ref());
                self.take_skill_text(data);
            }
            // Its text was never told.
            EventBody::HookFired(data) if data.replacement.as_ref().is_some_and(|it| it.withheld) => {
                self.skills.retain(|skill| skill.call().is_none() || skill.call() != data.call_id.as_ref());
            }
            EventBody::ContextCompressed(data) => self.compress(data, private.compaction.as_deref()),
            EventBody::IdeContextShared(_) => self.editor.clone_from(&private.editor),
            EventBody::ContextCleared(data) => {
                self.near.forget();
                self.skills.retain(|skill| matches!(skill.origin, ActiveSkillOrigin::Given(_)));
                self.editor = None;
                self.messages.clear();
                self.weight = TokenEstimate::default();
                self.past = ContextState { epoch: data.epoch, ..ContextState::default() };
            }
            _ => (),
        }
    }

    fn activate(&mut self, run: &RunId, data: &SkillActivated) {
        if data.call_id.is_some() {
            return self.activated.push((data.clone(), (run.clone(), self.turn)));
        }
        // Its text stands in each request of the run, from the first one on.
        let (origin, since) = (ActiveSkillOrigin::Given(run.clone()), (run.clone(), 1));
        self.skills.push(ActiveSkill::of(data.clone(), since, origin));
    }

    /// The text of a skill is what its call returned.
    fn take_skill_text(&mut self, end: &ToolState) {
        let is_its = |(data, _): &(SkillActivated, (RunId, u32))| data.call_id.as_ref() == Some(&end.call_id);
        let Some(at) = self.activated.iter().position(is_its) else { return };
        let (activated, since) = self.activated.swap_remove(at);
        let text = end.result.as_ref().map(|result| joined(&result.llm_content)).unwrap_or_default();
        let origin = ActiveSkillOrigin::Asked { call: end.call_id.clone(), text };
        let stays = |known: &ActiveSkill| {
            known.name != activated.name || matches!(known.origin, ActiveSkillOrigin::Given(_))
        };
        self.skills.retain(stays);
        self.skills.push(ActiveSkill::of(activated, since, origin));
    }

    /// Takes hooks' words for what a skill says, where they changed the result of its call.
    fn replace_skill_texts(&mut self, results: &BTreeMap<CallId, Vec<MessagePart>>) {
        for skill in &mut self.skills {
            if let ActiveSkillOrigin::Asked { call, text } = &mut skill.origin
                && let Some(parts) = results.get(call)
            {
                *text = joined(parts);
            }
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
                self.editor = None;
                self.past.prompt_tokens = data.tokens_after;
                self.past.epoch = data.epoch;
                self.past.is_compression_off &= !data.forced;
            }
            CompressionStatus::CompressionFailedInflatedTokenCount => self.past.is_compression_off = true,
            CompressionStatus::Noop | CompressionStatus::CompressionFailedEmptySummary => (),
        }
        if let Some(compaction) = compaction {
            // One whose text was cut is active no longer, wherever the rest of it stands.
            let is_cut =
                |skill: &ActiveSkill| skill.call().is_some_and(|call| compaction.outputs.contains_key(call));
            self.skills.retain(|skill| !is_cut(skill));
            self.skills = without_outdated(&self.skills, &compaction.outdated_skills);
            if !compaction.opening.is_empty() {
                let kept = self.messages.len().saturating_sub(compaction.kept);
                self.skills = surviving(&self.skills, &self.messages[kept..]);
            }
            self.messages = compacted(&self.messages, compaction);
            self.weight = self.messages.iter().map(|message| weigh(message)).sum();
        }
    }
}

/// The texts of parts, as one.
fn joined(parts: &[MessagePart]) -> String {
    parts.iter().filter_map(MessagePart::as_text).collect::<Vec<_>>().join("\n")
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The rest of it may still stand somewhere, and is not what the skill says.
    #[test]
    fn a_skill_whose_text_was_cut_is_active_no_longer() {
        let skill = |name: &str| {
            let origin = ActiveSkillOrigin::Asked { call: CallId::from(name), text: name.to_owned() };
            let activated = SkillActivated {
                call_id: None,
                name: name.to_owned(),
                folder: "/s".to_owned(),
                file: None,
                file_digest: None,
                digest: None,
                extension: None,
            };
            ActiveSkill::of(activated, (RunId::from("r"), 1), origin)
        };
        let mut transcript =
            ContextTranscript { skills: vec![skill("cut"), skill("whole")], ..ContextTranscript::default() };
        let told = ContextCompressed {
            status: CompressionStatus::Compressed,
            epoch: 1,
            forced: false,
            tokens_before: 2,
            tokens_after: 1,
            counted: false,
            messages_before: 1,
            messages_after: 1,
            outputs_cut: 1,
            message: None,
        };
        let outputs = [(CallId::from("cut"), vec![MessagePart::text("…")])].into();
        transcript.compress(&told, Some(&Compaction { outputs, ..Compaction::default() }));
        assert_eq!(transcript.skills(), [skill("whole")]);
    }
}
