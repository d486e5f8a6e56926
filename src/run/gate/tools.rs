//! What does the tool of a call ask a person while it runs, and what does the answer come to? (Spec 06; 07, elicitation and
//! sampling.) Nothing is judged here: the call was, and no rule speaks of what is said within it.

use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{
    CallGate, JudgeContext,
    answering::AnswerRefusal,
    asking::{after, hex},
};
use crate::machine::ToolAnswer;
use protocol::{
    Confirmation, ConfirmationAnswer, ConfirmationDetails, ConfirmationOption, ConfirmationOutcome,
    JudgedCall, ToolCall,
};
use sys::ids;
use tools::{AnswerValidator, ElicitationRequest};

impl CallGate {
    /// The question of a tool, as the log keeps it.
    pub(crate) fn tool_question(
        &self,
        call: &ToolCall,
        prepared: &JudgedCall,
        subject: &ElicitationRequest,
        judge_context: &JudgeContext,
    ) -> Confirmation {
        let (asking, approval) = (&judge_context.asking, &judge_context.asking.approval);
        let option = |outcome, label: &str| {
            let (label, remembers) = (label.to_owned(), None);
            ConfirmationOption { outcome, grant: None, label, allows: None, remembers }
        };
        let consent = match subject.details {
            ConfirmationDetails::Question { .. } => ConfirmationOutcome::Answer,
            _ => ConfirmationOutcome::AllowOnce,
        };
        let options = vec![
            option(consent, subject.consent),
            option(ConfirmationOutcome::Deny, "Decline"),
            option(ConfirmationOutcome::CancelRun, "Cancel the run"),
        ];
        let about = json!([asking.run, call.call_id, subject.title, subject.details]);
        self.shown(Confirmation {
            confirmation_id: ids::fresh(),
            run_id: asking.run.clone(),
            session_id: asking.session.clone(),
            path: asking.path.clone(),
            tool_call_id: Some(call.call_id.clone()),
            tool: Some(self.toolset.canonical(&call.name)),
            kind: Some(prepared.kind),
            risk: subject.risk,
            hidden_places: 0,
            title: subject.title.clone(),
            rule: subject.rule.to_owned(),
            reason: subject.reason.clone(),
            digest: hex(&Sha256::digest(about.to_string())),
            options,
            details: subject.details.clone(),
            audience: approval.audience.clone(),
            initiator: approval.initiator.clone(),
            headless: approval.headless,
            on_detached: approval.on_detached,
            created_at: judge_context.now,
            deadline_at: approval.deadline_ms.map(|ms| after(judge_context.now, ms)),
            on_deadline: approval.on_deadline,
            edited_by: None,
        })
    }

    /// What an answer to a tool's open question comes to.
    pub(crate) fn answer_tool(
        &self,
        open: &Confirmation,
        answer: &ConfirmationAnswer,
        check: &AnswerValidator,
    ) -> Result<ToolAnswer, AnswerRefusal> {
        self.is_answerable(open, answer)?;
        let mut resolved = self.resolved(open, answer, None);
        if answer.outcome == ConfirmationOutcome::Answer {
            // What is answered is for the tool alone, and others read the log: a name, a date or a PIN is found from its digest
            // by trying. That the same client answers once more is seen without.
            resolved.resolution.answer_digest = None;
        }
        match answer.outcome {
            ConfirmationOutcome::CancelRun => Ok(ToolAnswer::CancelRun { resolved }),
            ConfirmationOutcome::Answer => {
                let content = check(&answer.answers).map_err(AnswerRefusal::Invalid)?;
                Ok(ToolAnswer::Told { resolved, content: Some(content) })
            }
            ConfirmationOutcome::AllowOnce | ConfirmationOutcome::Deny => {
                Ok(ToolAnswer::Told { resolved, content: None })
            }
            // Never offered.
            ConfirmationOutcome::AllowSession
            | ConfirmationOutcome::AllowProject
            | ConfirmationOutcome::AllowUser
            | ConfirmationOutcome::Modify => {
                Err(AnswerRefusal::NotOffered(open.options.iter().map(|option| option.outcome).collect()))
            }
        }
    }
}
