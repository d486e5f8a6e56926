//! What comes of an answer to a question of the agent's own?

use super::{
    CallGate, JudgeContext, PreparedToolCall, PreparedWork,
    answering::{AnswerRefusal, failure, violation},
    secret_lost,
};
use crate::machine::CallAnswer;
use protocol::{
    Confirmation, ConfirmationAnswer, ConfirmationDetails, QuestionAnswer, ToolCall, ToolError, ToolErrorType,
};

impl CallGate {
    /// A question of the agent's, and what was answered.
    pub(super) async fn answered(
        &self,
        call: &ToolCall,
        open: &Confirmation,
        answer: &ConfirmationAnswer,
        judge_context: &JudgeContext,
    ) -> Result<(CallAnswer, Option<PreparedWork>), AnswerRefusal> {
        let ConfirmationDetails::Question { questions } = &open.details else {
            return Err(AnswerRefusal::NotOffered(
                open.options.iter().map(|option| option.outcome).collect(),
            ));
        };
        let mut violations = Vec::new();
        if answer.answers.len() != questions.len() {
            let told =
                format!("one answer a question: {} needed, {} given", questions.len(), answer.answers.len());
            violations.push(violation("/answers", &told));
        }
        for (at, (question, said)) in questions.iter().zip(&answer.answers).enumerate() {
            if said.is_blank() {
                violations
                    .push(violation(&format!("/answers/{at}"), "an answer is needed; `deny` gives none"));
            }
            if !question.multi_select && matches!(said, QuestionAnswer::Several(texts) if texts.len() != 1) {
                violations.push(violation(&format!("/answers/{at}"), "one answer, not several"));
            }
        }
        if !violations.is_empty() {
            return Err(AnswerRefusal::Invalid(violations));
        }
        let resolved = self.resolved(open, answer, None);
        let result = match call.redacted {
            true => failure(secret_lost()),
            false => match self.prepare(call, judge_context).await {
                Ok(PreparedToolCall { work: PreparedWork::Tool(invocation), .. }) => {
                    invocation.answered(&answer.answers)
                }
                Ok(_) => failure(ToolError {
                    kind: ToolErrorType::ExecutionFailed,
                    message: "what asked is an agent now; ask again if you still need it".to_owned(),
                }),
                Err(refusal) => refusal.into(),
            },
        };
        let result = self.supplies.redactor.tool_result(result);
        Ok((CallAnswer::Result { resolved, result }, None))
    }
}
