//! Is an answer an edit about which hooks have to be asked, and what does the log keep of it before they are?

use ::hooks::HookFacts;
use serde_json::Value;

use super::{
    CallGate, JudgeContext,
    answering::{AnswerRefusal, said},
};
use protocol::{Confirmation, ConfirmationAnswer, ConfirmationEdited, ConfirmationOutcome, ToolCall};

/// A valid edit of a person, about which hooks are to be asked.
pub(crate) struct EditToShow {
    /// The edit as the log has it.
    pub edited: ConfirmationEdited,
    /// The arguments that the call has by it, with the secrets in them.
    pub arguments: Value,
}

impl CallGate {
    /// The edit that this answer makes, where it is valid and a hook has to be asked about it; `None` where it makes none, or nobody is asked.
    pub(crate) async fn edit_to_show(
        &self,
        call: &ToolCall,
        open: &Confirmation,
        answer: &ConfirmationAnswer,
        judge_context: &JudgeContext,
    ) -> Result<Option<EditToShow>, AnswerRefusal> {
        let Some(scene) =
            judge_context.scene.as_ref().filter(|_| answer.outcome == ConfirmationOutcome::Modify)
        else {
            return Ok(None);
        };
        self.is_answerable(open, answer)?;
        if call.redacted {
            return Ok(None);
        }
        let (_, prepared) = self.as_edited(call, answer, false, judge_context).await?;
        let facts = HookFacts::PreToolUse { call: self.hooked(&call.call_id, &prepared) };
        if !self.hooks.may_decide(&facts, scene) {
            return Ok(None);
        }
        let redactor = &self.supplies.redactor;
        let mut written = prepared.arguments.clone();
        let redacted = redactor.value(&mut written);
        let edited = ConfirmationEdited {
            confirmation_id: open.confirmation_id.clone(),
            tool_call_id: call.call_id.clone(),
            digest: open.digest.clone(),
            edited: written,
            redacted,
            name: answer.name.clone(),
            message: answer.message.clone().map(|message| redactor.owned(message)),
            answer_digest: said(answer),
        };
        Ok(Some(EditToShow { edited, arguments: prepared.arguments }))
    }
}
