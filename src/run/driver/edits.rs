//! Edits of people about which hooks are asked: asked as the machine wants it, so that a new daemon goes on with them by itself.

use std::sync::Arc;

use serde_json::Value;

use super::{
    super::{
        gate::{AnswerRefusal, EditFiring, RefusedAnswer, unfit},
        machine::{AnswerEffect, CallAnswer, HookEffects, LoggedEdit, MachineInput, WantedTask},
    },
    RunDriver, RunMessage, RunMessageOutcome, TaskOutput,
    under_way::{AnswerCheck, CheckedCallAnswer, EditUnderWay, is_same},
};
use crate::live_runs::{AnswerMessage, RunInput, tell};
use protocol::{
    CallId, ConfirmationAnswer, ConfirmationEdited, ConfirmationId, ConfirmationOutcome, RevisionReason,
};

impl RunDriver {
    /// Asks the hooks about an edit that is in the log.
    pub(super) fn begin_edit(&mut self, call: &CallId, want: WantedTask) {
        let Some(edit) = self.machine.edit(call).cloned() else { return };
        let edited = &edit.edited;
        let Some((_, question)) = self.machine.asking(&edited.confirmation_id) else { return };
        let question = Arc::clone(question);
        let Some(request) = self.machine.request(call) else { return };
        let known = self.answers.edited_arguments(call).cloned();
        let Some(arguments) = known.or_else(|| (!edited.redacted).then(|| edited.edited.clone())) else {
            let why = "the change had a secret that was not kept when the daemon ended; make it again";
            let outcome = Err(unfit("", why).into());
            let message = as_answered(edited, None);
            let lost = CheckedCallAnswer { message, call: call.clone(), outcome };
            return self.launch(want, async move { TaskOutput::Shown(Box::new(lost)) }, None);
        };
        let message = as_answered(edited, Some(arguments));
        let (meant, judge_context) = (self.work.meant(request), self.answer_context(call));
        let (gate, call) = (Arc::clone(&self.gate), call.clone());
        let showing = async move {
            let firing = EditFiring { number: edit.number, attempt: edit.attempt, is_logged: true };
            let outcome = gate.answer(&meant, &question, &message.answer, firing, &judge_context).await;
            let outcome = outcome.map(|(mut settled, work)| {
                if let Some(resolved) = settled.resolved_mut() {
                    // The same answer is known again by what was said, however it was said.
                    resolved.resolution.answer_digest.clone_from(&edit.edited.answer_digest);
                }
                AnswerCheck::Settled(Box::new(settled), work)
            });
            TaskOutput::Shown(Box::new(CheckedCallAnswer { message, call, outcome }))
        };
        self.launch(want, showing, None);
    }

    /// Hooks had their say on an edit. Where nothing can come of it any more, it is asked as it was.
    pub(super) fn edit_shown(&mut self, shown: CheckedCallAnswer, ready: &mut Vec<RunMessage>) {
        let CheckedCallAnswer { outcome, call, message } = shown;
        let RefusedAnswer { why: refusal, hooks } = match outcome {
            Ok(check) => {
                if let AnswerCheck::Settled(answer, _) = &check
                    && let CallAnswer::Revise { revised, .. } = &**answer
                    && revised.reason == RevisionReason::AskedByHook
                {
                    // It may be about the same as before, and nobody else has read what the hook says.
                    self.refuse_yes(&message.answer.confirmation, None);
                }
                return self.checked_call(CheckedCallAnswer { outcome: Ok(check), call, message }, ready);
            }
            Err(refused) => refused,
        };
        let call = &call;
        let Some(edit) = self.machine.edit(call).cloned() else { return };
        let who = edit.edited.name.as_deref().unwrap_or("a person");
        let cause = refusal_said(&refusal);
        let cause = self.gate.supplies.redactor.owned(cause);
        let why = format!("{who} changed the call, and that cannot be done any more: {cause}");
        let known = self.answers.edited_arguments(call).is_some();
        let is_lost = edit.edited.redacted && !known;
        tell(self.answers.take_replies(call), Ok(RunMessageOutcome::Refused(refusal)));
        // Whoever had said yes to the call as it was did so before anybody knew what becomes of the change: they are asked again.
        // Who makes a change again whose secret was lost has it.
        let lost = Some(&edit.edited).filter(|_| is_lost);
        self.refuse_yes(&edit.edited.confirmation_id, lost);
        let hooks = hooks.redacted(&self.gate.supplies.redactor);
        ready.push(RunMessage::internal(self.dropped(&edit, why, hooks)));
    }

    /// Answers that wait and by which the call would run count no more: the question was not what it is now.
    fn refuse_yes(&mut self, question: &ConfirmationId, spared: Option<&ConfirmationEdited>) {
        let is_spared = |answer: &ConfirmationAnswer| spared.is_some_and(|edited| is_same(edited, answer));
        self.answers.refuse_waiting(|answer| {
            answer.confirmation == *question && lets_run(answer.outcome) && !is_spared(answer)
        });
    }

    fn dropped(&self, edit: &LoggedEdit, why: String, hooks: HookEffects) -> MachineInput {
        let (confirmation, digest) = (edit.edited.confirmation_id.clone(), edit.edited.digest.clone());
        MachineInput::EditDropped { confirmation, digest, why, hooks: Box::new(hooks) }
    }

    /// Tells whoever asked what came of a committed step. Whoever made an edit about which hooks are asked is told when they have answered.
    pub(super) fn give_outcome(&mut self, message: RunInput, outcome: RunMessageOutcome) {
        let RunInput { input, reply, answers, .. } = message;
        let call = answers.as_ref().map(|it| it.call.clone());
        let asked_again = match &input {
            MachineInput::Settled { settled, .. } => match &**settled {
                AnswerEffect::Call(CallAnswer::Revise { revised, .. }) => Some(revised.reason),
                _ => None,
            },
            _ => None,
        };
        match (&input, outcome, call) {
            (MachineInput::Edited(_), RunMessageOutcome::Done(_), Some(call)) => {
                let arguments = answers.and_then(|it| it.edited);
                let replies = reply.into_iter().collect();
                self.answers.begin_edit(call, EditUnderWay { arguments, replies });
            }
            (MachineInput::Settled { .. }, RunMessageOutcome::Done(seq), Some(call)) => {
                let editors = self.answers.end_edit(&call);
                let outcome = asked_again.map_or(RunMessageOutcome::Done(seq), RunMessageOutcome::AskedAgain);
                tell(reply.into_iter().chain(editors), Ok(outcome));
            }
            (_, outcome, _) => tell(reply, Ok(outcome)),
        }
    }

    /// Forgets edits that are over, and tells those who made them: the question has ended otherwise, or is asked as it was.
    pub(super) fn end_edits(&mut self) {
        let machine = &self.machine;
        let ended = self.answers.end_edits(|call| machine.edit(call).is_none());
        tell(ended, Ok(RunMessageOutcome::Refused(AnswerRefusal::Stale)));
    }
}

/// An edit that is in the log, as it was answered. Nobody waits for what comes of it here.
fn as_answered(edited: &ConfirmationEdited, arguments: Option<Value>) -> AnswerMessage {
    let answer = ConfirmationAnswer {
        confirmation: edited.confirmation_id.clone(),
        digest: edited.digest.clone(),
        outcome: ConfirmationOutcome::Modify,
        grant: None,
        message: edited.message.clone(),
        arguments,
        content: None,
        limits: None,
        answers: Vec::new(),
        name: edited.name.clone(),
    };
    AnswerMessage { answer: Box::new(answer), reply: None }
}

/// True of an answer by which the call would run.
fn lets_run(outcome: ConfirmationOutcome) -> bool {
    !matches!(outcome, ConfirmationOutcome::Deny | ConfirmationOutcome::CancelRun)
}

fn refusal_said(refusal: &AnswerRefusal) -> String {
    match refusal {
        AnswerRefusal::Stale => "it is another question now".to_owned(),
        AnswerRefusal::NotOffered(_) => "the question does not offer it".to_owned(),
        AnswerRefusal::Denied(error) => error.message.clone(),
        AnswerRefusal::Invalid(violations) => {
            violations.iter().map(|it| it.message.as_str()).collect::<Vec<_>>().join("; ")
        }
    }
}
