//! What does a person's answer come to? The call is prepared and judged anew before anything is allowed: what runs is
//! what the person saw, and what no rule forbids by now.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{CallGate, JudgeContext, PreparedToolCall, PreparedWork, secret_lost, shown::EditFiring};
use crate::{
    machine::{CallAnswer, CallRefusal, HookEffects},
    unblocked,
};
use protocol::{
    ApprovalMode, Confirmation, ConfirmationAnswer, ConfirmationDetails, ConfirmationOption,
    ConfirmationOutcome, ConfirmationResolved, ConfirmationRevised, DecidedBy, GrantScope, Resolution,
    RevisionReason, Risk, SchemaViolation, ToolCall, ToolError, ToolErrorType, ToolResult,
};

/// The reason why an answer decides nothing. The question stays open.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerRefusal {
    /// The subject is another one now.
    Stale,
    /// The outcome is not among these.
    NotOffered(Vec<ConfirmationOutcome>),
    /// What was changed, or answered, does not fit.
    Invalid(Vec<SchemaViolation>),
    /// The policy denies what was changed.
    Denied(ToolError),
}

/// An answer that decides nothing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RefusedAnswer {
    pub why: AnswerRefusal,
    /// Everything that they said who were asked about it before that was known.
    pub hooks: Box<HookEffects>,
}

impl From<AnswerRefusal> for RefusedAnswer {
    fn from(why: AnswerRefusal) -> RefusedAnswer {
        RefusedAnswer { why, hooks: Box::default() }
    }
}

impl CallGate {
    /// Decides on an answer to an open question. Reads, never writes. `firing`: where it is an edit, how hooks are asked about that.
    pub(crate) async fn answer(
        &self,
        call: &ToolCall,
        open: &Confirmation,
        answer: &ConfirmationAnswer,
        firing: EditFiring,
        judge_context: &JudgeContext,
    ) -> Result<(CallAnswer, Option<PreparedWork>), RefusedAnswer> {
        let option = self.is_answerable(open, answer)?;
        let resolved = self.resolved(open, answer, None);
        match answer.outcome {
            ConfirmationOutcome::Deny => {
                let why = answer.message.as_deref().filter(|it| !it.trim().is_empty());
                let message = match why {
                    Some(why) => format!("a person denied the call: {why}"),
                    None => {
                        "a person denied the call and did not say why; do not repeat it unasked".to_owned()
                    }
                };
                let error = ToolError { kind: ToolErrorType::UserDenied, message };
                let (refusal, hooks) = (error.into(), Box::default());
                Ok((CallAnswer::Refuse { resolved, refusal, hooks }, None))
            }
            ConfirmationOutcome::CancelRun => Ok((CallAnswer::CancelRun { resolved }, None)),
            ConfirmationOutcome::Answer => Ok(self.answered(call, open, answer, judge_context).await?),
            ConfirmationOutcome::AllowOnce => Ok(self.allowed(call, open, resolved, judge_context).await?),
            ConfirmationOutcome::AllowSession
            | ConfirmationOutcome::AllowProject
            | ConfirmationOutcome::AllowUser => {
                let mut resolved = resolved;
                resolved.resolution.allows = option.allows.clone();
                resolved.resolution.mode =
                    (option.grant == Some(GrantScope::Edits)).then_some(ApprovalMode::AutoEdit);
                resolved.resolution.rule = option.remembers.clone().map(|rule| protocol::PolicyRule {
                    created_by: answer.name.clone(),
                    created_at: Some(judge_context.now),
                    ..rule
                });
                Ok(self.allowed(call, open, resolved, judge_context).await?)
            }
            ConfirmationOutcome::Modify => self.modified(call, (open, answer), firing, judge_context).await,
        }
    }

    /// Checks what can be told of an answer without knowing what the question is about; answers the option that it takes.
    pub(super) fn is_answerable<'a>(
        &self,
        open: &'a Confirmation,
        answer: &ConfirmationAnswer,
    ) -> Result<&'a ConfirmationOption, AnswerRefusal> {
        let Some(option) = open.option(answer.outcome, answer.grant) else {
            return Err(AnswerRefusal::NotOffered(
                open.options.iter().map(|option| option.outcome).collect(),
            ));
        };
        if answer.digest != open.digest {
            return Err(AnswerRefusal::Stale);
        }
        let is_of_budget = matches!(open.details, ConfirmationDetails::Budget { .. });
        let modifies = answer.outcome == ConfirmationOutcome::Modify;
        let (changes_call, changes_budget) = (modifies && !is_of_budget, modifies && is_of_budget);
        let extra = [
            (answer.arguments.is_some() && !changes_call, "/arguments"),
            (answer.content.is_some() && !changes_call, "/content"),
            (answer.limits.is_some() && !changes_budget, "/limits"),
            (!answer.answers.is_empty() && answer.outcome != ConfirmationOutcome::Answer, "/answers"),
        ];
        let extra = extra.into_iter().filter(|(is_wrong, _)| *is_wrong);
        let violations: Vec<SchemaViolation> =
            extra.map(|(_, pointer)| violation(pointer, "means nothing with this answer")).collect();
        match violations.is_empty() {
            true => Ok(option),
            false => Err(AnswerRefusal::Invalid(violations)),
        }
    }

    /// The call as it was shown.
    async fn allowed(
        &self,
        call: &ToolCall,
        open: &Confirmation,
        resolved: ConfirmationResolved,
        judge_context: &JudgeContext,
    ) -> Result<(CallAnswer, Option<PreparedWork>), AnswerRefusal> {
        if call.redacted {
            let result = failure(secret_lost());
            return Ok((CallAnswer::Result { resolved, result }, None));
        }
        let prepared = match self.prepare(call, judge_context).await {
            Ok(prepared) => prepared,
            // A rule that holds by now decides, not the person.
            Err(refusal) if refusal.error.kind == ToolErrorType::PolicyDenied => {
                let mut resolved = resolved;
                let resolution = &mut resolved.resolution;
                resolution.outcome = ConfirmationOutcome::Deny;
                resolution.by = DecidedBy::Policy;
                resolution.rule = None;
                (resolution.allows, resolution.mode) = (None, None);
                resolution.message = Some(refusal.error.message.clone());
                return Ok((CallAnswer::Refuse { resolved, refusal, hooks: Box::default() }, None));
            }
            // It is not possible any more, e.g. the file is gone. Nothing is remembered of a call that never was.
            Err(CallRefusal { error, .. }) => {
                let mut resolved = resolved;
                resolved.resolution.rule = None;
                (resolved.resolution.allows, resolved.resolution.mode) = (None, None);
                return Ok((CallAnswer::Result { resolved, result: failure(error) }, None));
            }
        };
        let now = self.shown(self.question(call, &prepared, judge_context, Some(open)));
        if now.digest != open.digest {
            let revised = ConfirmationRevised {
                confirmation: Box::new(now),
                reason: RevisionReason::Changed,
                difference: None,
                edited: None,
                arguments: None,
            };
            return Ok((
                CallAnswer::Revise { revised, prepared: prepared.call, hooks: Box::default() },
                None,
            ));
        }
        Ok(run(resolved, None, prepared, Box::default()))
    }

    /// The call as an answer changes it. `is_logged`: the answer was looked at for marks before it came into the log.
    pub(super) async fn as_edited(
        &self,
        call: &ToolCall,
        answer: &ConfirmationAnswer,
        is_logged: bool,
        judge_context: &JudgeContext,
    ) -> Result<(&'static str, PreparedToolCall), AnswerRefusal> {
        let (pointer, arguments) = match (&answer.arguments, &answer.content) {
            (Some(arguments), None) => {
                if !is_logged {
                    refuse_marks("/arguments", &arguments.to_string(), &call.arguments.to_string())?;
                }
                ("/arguments", arguments.clone())
            }
            (None, Some(content)) => ("/content", self.with_content(call, content, judge_context).await?),
            (Some(_), Some(_)) => return invalid("/content", "not together with `arguments`"),
            (None, None) => return invalid("/arguments", "needed with `modify`, or `content`"),
        };
        match self.prepare_with(&call.name, arguments, judge_context).await {
            Ok(prepared) => Ok((pointer, prepared)),
            Err(CallRefusal { error, .. }) if error.kind == ToolErrorType::PolicyDenied => {
                Err(AnswerRefusal::Denied(error))
            }
            Err(refusal) => invalid(pointer, &refusal.error.message),
        }
    }

    /// Arguments by which the call leaves its file with this content, or runs this command.
    async fn with_content(
        &self,
        call: &ToolCall,
        content: &str,
        judge_context: &JudgeContext,
    ) -> Result<Value, AnswerRefusal> {
        // Rules are asked about what comes of it, not about what it was.
        let valid = match self.validate(&call.name, call.arguments.clone(), judge_context).await {
            Ok(valid) => valid,
            Err(CallRefusal { error, .. }) if error.kind == ToolErrorType::PolicyDenied => {
                return Err(AnswerRefusal::Denied(error));
            }
            Err(refusal) => return invalid("/content", &refusal.error.message),
        };
        let mut known = call.arguments.to_string();
        let invocation = valid.invocation;
        if let Some(ConfirmationDetails::Edit { old_content, new_content, .. }) = &invocation.confirmation() {
            known.extend([old_content, new_content].into_iter().flatten().map(String::as_str));
        }
        refuse_marks("/content", content, &known)?;
        let content = content.to_owned();
        // It may compare long texts.
        let arguments = unblocked(move || invocation.with_content(&content)).await;
        arguments.map_or_else(
            || invalid("/content", "this call writes no file and runs no command; give `arguments`"),
            Ok,
        )
    }

    /// A value as it may be written down. What is cut is cut afterwards: half a secret is none that anybody knows.
    pub(super) fn without_secrets(&self, value: &Value) -> Value {
        let mut value = value.clone();
        self.supplies.redactor.value(&mut value);
        value
    }

    pub(super) fn resolved(
        &self,
        open: &Confirmation,
        answer: &ConfirmationAnswer,
        difference: Option<String>,
    ) -> ConfirmationResolved {
        ConfirmationResolved {
            confirmation_id: open.confirmation_id.clone(),
            tool_call_id: open.tool_call_id.clone(),
            resolution: Resolution {
                outcome: answer.outcome,
                by: DecidedBy::Client,
                name: answer.name.clone(),
                message: answer.message.clone().map(|message| self.supplies.redactor.owned(message)),
                rule: None,
                allows: None,
                mode: None,
                digest: open.digest.clone(),
                answer_digest: said(answer),
                at: None,
            },
            difference,
            edited: None,
        }
    }

    /// A question as the log keeps it and people see it.
    ///
    /// What marks hide from them is counted in its title, and such a question wants the deliberate answer of a high risk: nobody
    /// can tell by looking what they would allow.
    pub(crate) fn shown(&self, question: Confirmation) -> Confirmation {
        let redactor = &self.supplies.redactor;
        let (title, details) =
            (redactor.owned(question.title), redactor.confirmation_details(question.details));
        let hidden_places = redact::hidden_places(&details) as u64;
        let (title, risk) = match hidden_places {
            0 => (title, question.risk),
            1 => (format!("{title} (1 place hidden, like a secret)"), question.risk.max(Risk::High)),
            more => (format!("{title} ({more} places hidden, like secrets)"), question.risk.max(Risk::High)),
        };
        let reason = redactor.owned(question.reason);
        Confirmation { title, risk, hidden_places, reason, details, ..question }
    }
}

/// A digest of what comes with an outcome; `None` when nothing does.
pub fn said(answer: &ConfirmationAnswer) -> Option<String> {
    let ConfirmationAnswer { message, arguments, content, limits, answers, .. } = answer;
    let said = match limits {
        // As it always was, so that an answer of an earlier version is known again.
        None => json!([message, arguments, content, answers]),
        Some(limits) => json!([message, limits]),
    };
    let is_anything = message.is_some()
        || arguments.is_some()
        || content.is_some()
        || limits.is_some()
        || !answers.is_empty();
    let said = said.to_string();
    is_anything.then(|| format!("sha256:{:x}", Sha256::digest(said)))
}

pub(super) fn run(
    resolved: ConfirmationResolved,
    revised: Option<ConfirmationRevised>,
    prepared: PreparedToolCall,
    hooks: Box<HookEffects>,
) -> (CallAnswer, Option<PreparedWork>) {
    let PreparedToolCall { work, details, arguments, call, .. } = prepared;
    let (details, prepared) = (Box::new(details), Box::new(call));
    (CallAnswer::Run { resolved, revised, details, arguments, prepared, hooks }, Some(work))
}

/// Refuses a change that would write the marks which a person was shown in place of secrets. `known` is what the call
/// itself has of such texts.
fn refuse_marks(pointer: &str, given: &str, known: &str) -> Result<(), AnswerRefusal> {
    match redact::marks(given).find(|mark| !known.contains(*mark)) {
        None => Ok(()),
        Some(mark) => {
            let told = format!(
                "`{mark}` stands for a secret that is not shown, and would be written as it reads; leave that part as it \
                 is by changing only what the call names, or deny the call and say what to do"
            );
            invalid(pointer, &told)
        }
    }
}

pub(super) fn failure(error: ToolError) -> ToolResult {
    ToolResult::failure(error.kind, error.message)
}

pub(super) fn violation(pointer: &str, message: &str) -> SchemaViolation {
    SchemaViolation { pointer: pointer.to_owned(), message: message.to_owned() }
}

pub(super) fn invalid<T>(pointer: &str, message: &str) -> Result<T, AnswerRefusal> {
    Err(unfit(pointer, message))
}

pub(crate) fn unfit(pointer: &str, message: &str) -> AnswerRefusal {
    AnswerRefusal::Invalid(vec![violation(pointer, message)])
}
