//! Answers to the run's questions: checked beside the run, one at a time for each call, then decided like any input.

use std::sync::Arc;

use super::{
    super::{
        gate::{EditFiring, JudgeContext, edit_to_show::EditToShow},
        machine::{AnswerEffect, CallAnswer, ConfirmationAsker, MachineInput},
    },
    RunDriver, RunMessage, RunMessageOutcome, TaskOutput,
    identity::logged,
    under_way::{AnswerCheck, CheckedAnswer, CheckedCallAnswer},
};
use crate::{
    live_runs::{AnswerMessage, AnsweredCall, RunInput},
    machine::EventDraft,
};
use protocol::{
    ApprovalMode, CallId, Confirmation, ConfirmationAnswer, EventBody, EventHead, PolicyChanged, PolicyRule,
    PrivateEventFields, RevisionReason, RuleOrigin, RuleOriginSource, Timestamp, ToolCall,
};
use serde_json::Value;
use store::NewEvent;

impl RunDriver {
    /// Has an answer checked, unless another one to the same call is under way: the first valid one counts.
    pub(super) fn check_answer(&mut self, message: AnswerMessage) {
        let answer = &message.answer;
        let Some((asker, question)) = self.machine.asking(&answer.confirmation) else {
            return message.end(RunMessageOutcome::Nothing);
        };
        let question = Arc::clone(question);
        let outcome = match asker {
            ConfirmationAsker::Run => self.gate.answer_budget(&question, answer).map(AnswerEffect::Budget),
            ConfirmationAsker::Tool => match self.checks(&answer.confirmation) {
                Some(check) => self.gate.answer_tool(&question, answer, &check).map(AnswerEffect::Tool),
                // Nobody waits for it: what says so is on its way.
                None => return message.end(RunMessageOutcome::Nothing),
            },
            ConfirmationAsker::Call(call) => return self.check_anew(message, call, question),
        };
        self.flights
            .launch_beside(async move { TaskOutput::Checked(Box::new(CheckedAnswer { message, outcome })) });
    }

    /// Has the call prepared and judged anew, as the answer would have it.
    fn check_anew(&mut self, message: AnswerMessage, call: Arc<ToolCall>, question: Arc<Confirmation>) {
        let edit = self.machine.edit(&call.call_id).cloned();
        if edit.is_some() || self.answers.is_answering(&call.call_id) {
            if let Some(message) = self.answers.wait(edit.as_deref(), message) {
                message.end(RunMessageOutcome::TooManyAnswers);
            }
            return;
        }
        self.answers.begin_check(call.call_id.clone());
        let meant = self.work.meant(&call);
        let judge_context = self.answer_context(&call.call_id);
        let number = self.machine.edits_so_far(&call.call_id).saturating_add(1);
        let firing = EditFiring { number, attempt: 1, is_logged: false };
        let gate = Arc::clone(&self.gate);
        let span = self.turn_span();
        let checking = async move {
            let answer = &message.answer;
            let outcome = match gate.edit_to_show(&meant, &question, answer, &judge_context).await {
                Ok(Some(edit)) => Ok(AnswerCheck::ToShow(Box::new(edit))),
                Ok(None) => {
                    let settled = gate.answer(&meant, &question, answer, firing, &judge_context).await;
                    settled.map(|(settled, work)| AnswerCheck::Settled(Box::new(settled), work))
                }
                Err(refusal) => Err(refusal.into()),
            };
            let call = call.call_id.clone();
            TaskOutput::CheckedCall(Box::new(CheckedCallAnswer { message, call, outcome }))
        };
        self.flights.launch_beside(logged(span, checking));
    }

    /// The place where the run stands, for judging what an answer makes of a call.
    pub(super) fn answer_context(&self, call: &CallId) -> JudgeContext {
        let (hooked, scene) = (self.machine.hooked(call), self.call_scene(&self.machine));
        JudgeContext { hooked, scene, ..self.judge_context(&self.machine) }
    }

    /// What came of checking becomes an input, or goes back to whoever answered.
    pub(super) fn checked(&mut self, checked: CheckedAnswer, ready: &mut Vec<RunMessage>) {
        let CheckedAnswer { message, outcome } = checked;
        match outcome {
            Err(why) => {
                message.end(RunMessageOutcome::Refused(why));
                self.check_next();
            }
            Ok(effect) => {
                let settled = settled_by(&message, effect);
                ready.push(message.into_input(settled, None));
            }
        }
    }

    /// The same of the question about a call.
    pub(super) fn checked_call(&mut self, checked: CheckedCallAnswer, ready: &mut Vec<RunMessage>) {
        let CheckedCallAnswer { message, call, outcome } = checked;
        match outcome {
            Err(refused) => {
                message.end(RunMessageOutcome::Refused(refused.why));
                if !refused.hooks.fired.is_empty() {
                    let hooks = Box::new(refused.hooks.redacted(&self.gate.supplies.redactor));
                    // Nobody waits for what they said.
                    let told = MachineInput::HooksAsked { question: String::new(), hooks };
                    ready.push(RunMessage::internal(told));
                }
                self.answers.end_check(&call);
                self.check_next();
            }
            Ok(AnswerCheck::ToShow(edit)) => {
                let EditToShow { edited, arguments } = *edit;
                let answers = AnsweredCall { call, work: None, meant: None, edited: Some(arguments) };
                ready.push(message.into_input(MachineInput::Edited(Box::new(edited)), Some(answers)));
            }
            Ok(AnswerCheck::Settled(answer, work)) => {
                let answers = AnsweredCall { call, work, meant: changed_by_hooks(&answer), edited: None };
                let settled = settled_by(&message, AnswerEffect::Call(self.without_secrets(*answer)));
                ready.push(message.into_input(settled, Some(answers)));
            }
        }
    }

    /// A step is over, committed or not: answers that waited for those in it are checked now.
    pub(super) fn check_next(&mut self) {
        for message in self.answers.take_waiting() {
            self.check_answer(message);
        }
    }

    /// An answer counts, if its step can be committed: the work that it allows is the call's from now on. Answers the call.
    pub(super) fn take_work(&mut self, message: &mut RunInput) -> Option<CallId> {
        let AnsweredCall { call, work, .. } = message.answers.as_mut()?;
        let work = work.take()?;
        self.work.keep(call.clone(), work);
        Some(call.clone())
    }

    /// The step could not be committed: the work is the answers' again, which may be decided once more.
    pub(super) fn take_work_back(&mut self, inputs: &mut [RunInput], allowed: &[CallId]) {
        for AnsweredCall { call, work, .. } in inputs.iter_mut().filter_map(|it| it.answers.as_mut()) {
            if allowed.contains(call) {
                *work = self.work.take(call);
            }
        }
    }

    /// Goes by what hooks made of the calls that answers of a committed step changed.
    pub(super) fn take_meant(&mut self, inputs: &mut [RunInput], ends: &[Result<usize, RunMessageOutcome>]) {
        for (message, _) in inputs.iter_mut().zip(ends).filter(|(_, end)| end.is_ok()) {
            if let Some(AnsweredCall { call, meant, .. }) = &mut message.answers
                && let Some(meant) = meant.take()
            {
                self.work.mean(call.clone(), meant);
            }
        }
    }

    /// What becomes of an answer is decided, whatever it is: the next one to its call may be checked.
    pub(super) fn is_decided(&mut self, message: &RunInput) {
        if let Some(AnsweredCall { call, .. }) = &message.answers {
            self.answers.end_check(call);
        }
    }
}

/// The input that a checked answer becomes.
fn settled_by(message: &AnswerMessage, effect: AnswerEffect) -> MachineInput {
    let ConfirmationAnswer { confirmation, digest, name, .. } = &*message.answer;
    MachineInput::Settled {
        confirmation: confirmation.clone(),
        digest: digest.clone(),
        by: name.clone(),
        settled: Box::new(effect),
    }
}

/// The arguments of a call that an answer leaves open, where hooks or a person changed it; with the secrets in them.
fn changed_by_hooks(settled: &CallAnswer) -> Option<Value> {
    match settled {
        // In every other case they come from the log, without the secrets.
        CallAnswer::Revise { revised, prepared, .. }
            if matches!(revised.reason, RevisionReason::ChangedByHook | RevisionReason::AskedByHook) =>
        {
            prepared.hooks.as_deref()?.arguments.clone()
        }
        _ => None,
    }
}

/// Rules that answers made.
pub(super) fn remembered(drafts: &[EventDraft]) -> Vec<PolicyRule> {
    let of_draft = |draft: &EventDraft| match &draft.body {
        EventBody::ConfirmationResolved(resolved) if resolved.resolution.outcome.is_consent() => {
            resolved.resolution.rule.clone()
        }
        _ => None,
    };
    drafts.iter().filter_map(of_draft).collect()
}

/// The session's mode that the last of these answers gave it, and whose word that is.
pub(super) fn new_mode(drafts: &[EventDraft], at: Timestamp) -> Option<(ApprovalMode, RuleOrigin)> {
    let of_draft = |draft: &EventDraft| match &draft.body {
        EventBody::ConfirmationResolved(resolved) => {
            let by = resolved.resolution.name.clone();
            let origin = RuleOrigin { source: RuleOriginSource::Answer, by, at: Some(at) };
            Some((resolved.resolution.mode?, origin))
        }
        _ => None,
    };
    drafts.iter().filter_map(of_draft).next_back()
}

/// Of no session: the rule may hold beyond the one in which it was made.
pub(super) fn policy_changed(rule: &PolicyRule, at: Timestamp) -> NewEvent {
    NewEvent {
        at,
        session: None,
        run: None,
        context: None,
        head: EventHead { by: rule.created_by.clone(), ..EventHead::default() },
        body: PolicyChanged { added: vec![rule.clone()], ..PolicyChanged::default() }.into(),
        private: PrivateEventFields::default(),
    }
}
