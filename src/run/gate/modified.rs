//! What does a person's change of a call come to? Hooks have their say on it, and it runs, is refused, or is asked about again.

use super::{
    CallGate, JudgeContext, PreparedToolCall, PreparedWork,
    answering::{AnswerRefusal, RefusedAnswer, failure, invalid, run, unfit},
    asking::briefly,
    edited::EditedCall,
    secret_lost,
    shown::{EditFiring, ShownCall},
};
use crate::machine::{CallAnswer, CallRefusal, HookEffects};
use protocol::{
    Confirmation, ConfirmationAnswer, ConfirmationOutcome, ConfirmationRevised, DecidedBy, HookAsk,
    RevisionReason, ToolCall, ToolErrorType,
};

/// The reason why nothing comes of a person's change of what they were shown.
const CHANGED_MEANWHILE: &str = "what the call is about has changed since the question was asked";

impl CallGate {
    /// The call as a person changed it.
    pub(super) async fn modified(
        &self,
        call: &ToolCall,
        (open, answer): (&Confirmation, &ConfirmationAnswer),
        firing: EditFiring,
        judge_context: &JudgeContext,
    ) -> Result<(CallAnswer, Option<PreparedWork>), RefusedAnswer> {
        if call.redacted {
            // Nobody knows which parts of it the marks stand for that the person was shown.
            let resolved = self.resolved(open, answer, None);
            return Ok((CallAnswer::Result { resolved, result: failure(secret_lost()) }, None));
        }
        let (pointer, prepared) = self.as_edited(call, answer, firing.is_logged, judge_context).await?;
        let made = self.without_secrets(&prepared.arguments);
        let edit = self.edit_of(call, made, judge_context).await;
        let asked = (open, firing);
        let (prepared, hooks) = match self
            .show_modified(call, answer.name.as_deref(), asked, prepared, judge_context)
            .await
        {
            ShownCall::Same(prepared, hooks) => (prepared, Box::new(hooks)),
            ShownCall::Changed(prepared, mut hooks) => {
                let mut now = self.question(call, &prepared, judge_context, Some(open));
                let person = answer.name.as_deref().unwrap_or("a person");
                let hook = hooks.fired.iter().rev().find(|fired| fired.changed);
                let hook = hook.map_or_else(|| "a hook".to_owned(), |it| format!("the hook {}", it.hook_id));
                let made = briefly(&edit.made);
                now.reason =
                    format!("{}; {person} changed the call into {made}, and {hook} changed that", now.reason);
                let asked = self.hooked(&call.call_id, &prepared);
                let refusal = self.advise_again(call, &mut now, asked, &mut hooks, judge_context).await;
                if let Some(refusal) = refusal {
                    // It is the person's version of which the record speaks.
                    let arguments = self.without_secrets(&prepared.arguments);
                    hooks.drop_change(Some(&arguments), &refusal.error.message);
                    return Ok((self.edit_refused((open, answer), edit, refusal, hooks), None));
                }
                let now = self.shown(now);
                let arguments = self.without_secrets(&prepared.arguments);
                let revised = ConfirmationRevised {
                    confirmation: Box::new(now),
                    reason: RevisionReason::ChangedByHook,
                    difference: Some(edit.changed_again(&arguments, &hook)),
                    edited: Some(edit.made),
                    arguments: Some(arguments),
                };
                let (prepared, hooks) = (prepared.call, Box::new(hooks));
                return Ok((CallAnswer::Revise { revised, prepared, hooks }, None));
            }
            ShownCall::Asked(prepared, hooks, ask) => {
                let shown = (prepared, hooks, ask);
                return Ok((self.asked_about(call, (open, answer), edit, shown, judge_context).await, None));
            }
            ShownCall::Refused(refusal, hooks) => {
                return Ok((self.edit_refused((open, answer), edit, refusal, hooks), None));
            }
            ShownCall::Impossible(CallRefusal { error, .. }, hooks) => {
                let why = match error.kind {
                    ToolErrorType::PolicyDenied => AnswerRefusal::Denied(error),
                    _ => unfit(pointer, &error.message),
                };
                return Err(RefusedAnswer { why, hooks: Box::new(hooks) });
            }
        };
        // They changed what they were shown: where that is another file's content by now, nobody has seen what would be overwritten.
        let asked = self.asked_now(call, open, judge_context).await;
        match asked.map_err(|why| RefusedAnswer { why, hooks: hooks.clone() })? {
            Some(_) if firing.is_logged => {
                let why = unfit(pointer, CHANGED_MEANWHILE);
                return Err(RefusedAnswer { why, hooks });
            }
            Some((now, prepared)) => {
                let revised = ConfirmationRevised {
                    confirmation: Box::new(now),
                    reason: RevisionReason::Changed,
                    difference: None,
                    edited: None,
                    arguments: None,
                };
                return Ok((CallAnswer::Revise { revised, prepared: prepared.call, hooks }, None));
            }
            None => (),
        }
        let now = self.shown(self.question(call, &prepared, judge_context, Some(open)));
        let resolved = self.resolved(open, answer, Some(edit.allowed()));
        let revised = ConfirmationRevised {
            confirmation: Box::new(now),
            reason: RevisionReason::Modified,
            difference: None,
            edited: None,
            arguments: None,
        };
        Ok(run(resolved, Some(revised), prepared, hooks))
    }

    /// The question about the call as a person made it, which a hook wants asked.
    async fn asked_about(
        &self,
        call: &ToolCall,
        (open, answer): (&Confirmation, &ConfirmationAnswer),
        edit: EditedCall,
        (prepared, mut hooks, ask): (PreparedToolCall, HookEffects, HookAsk),
        judge_context: &JudgeContext,
    ) -> CallAnswer {
        let mut now = self.question(call, &prepared, judge_context, Some(open));
        // A rule that asks as well is named before.
        if !now.reason.contains(&ask.reason) {
            now.reason = format!("{}; {}", now.reason, ask.reason);
        }
        let asked = self.hooked(&call.call_id, &prepared);
        if let Some(refusal) = self.advise_again(call, &mut now, asked, &mut hooks, judge_context).await {
            return self.edit_refused((open, answer), edit, refusal, hooks);
        }
        let revised = ConfirmationRevised {
            confirmation: Box::new(self.shown(now)),
            reason: RevisionReason::AskedByHook,
            difference: Some(edit.asked_again()),
            arguments: Some(edit.made.clone()),
            edited: Some(edit.made),
        };
        CallAnswer::Revise { revised, prepared: prepared.call, hooks: Box::new(hooks) }
    }

    /// The question about the call as it was asked for, where it would be another one now.
    async fn asked_now(
        &self,
        call: &ToolCall,
        open: &Confirmation,
        judge_context: &JudgeContext,
    ) -> Result<Option<(Confirmation, PreparedToolCall)>, AnswerRefusal> {
        match self.prepare(call, judge_context).await {
            Ok(prepared) => {
                let now = self.shown(self.question(call, &prepared, judge_context, Some(open)));
                Ok((now.digest != open.digest).then_some((now, prepared)))
            }
            // Rules forbid what was asked about, and not what came of it. What the person was shown has to be there all the same.
            Err(CallRefusal { error, .. }) if error.kind == ToolErrorType::PolicyDenied => {
                let valid = self.validate(&call.name, call.arguments.clone(), judge_context).await;
                let Ok(valid) = valid else { return Err(AnswerRefusal::Denied(error)) };
                let now = valid.invocation.confirmation();
                let now = now.map(|details| self.supplies.redactor.confirmation_details(details));
                match now.is_none_or(|now| now == open.details) {
                    true => Ok(None),
                    false => invalid("", CHANGED_MEANWHILE),
                }
            }
            Err(refusal) => {
                let why = refusal.error.message;
                invalid("", &format!("the call that was asked about cannot be made any more: {why}"))
            }
        }
    }

    /// The end of a question about a call that a person edited and hooks refused as it was then.
    fn edit_refused(
        &self,
        (open, answer): (&Confirmation, &ConfirmationAnswer),
        edit: EditedCall,
        refusal: CallRefusal,
        hooks: HookEffects,
    ) -> CallAnswer {
        let mut resolved = self.resolved(open, answer, Some(edit.refused()));
        resolved.edited = Some(edit.made);
        let resolution = &mut resolved.resolution;
        (resolution.outcome, resolution.by) = (ConfirmationOutcome::Deny, DecidedBy::Hook);
        resolution.message = Some(self.supplies.redactor.owned(refusal.error.message.clone()));
        CallAnswer::Refuse { resolved, refusal, hooks: Box::new(hooks) }
    }
}
