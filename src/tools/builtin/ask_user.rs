//! `ask_user`: what does the user want? (spec 05) The call is a question itself: it is asked, and what is answered is its
//! result.

use futures_util::future::{BoxFuture, ready};
use serde::Deserialize;
use serde_json::json;

use super::{BuiltInDefinition, safe};
use crate::{CallContext, Invocation, Permit, PrepareContext, parameters::refusal};
use protocol::{
    CallLocation, ConfirmationDetails, QuestionAnswer, ResourceAccess, SchemaViolation, ToolDeclaration,
    ToolError, ToolErrorType, ToolKind, ToolResult, UserQuestion,
};

/// Questions of one call; more is an interview.
const MAX_QUESTIONS: usize = 10;
/// Choices of one question; more do not fit a small screen.
const MAX_OPTIONS: usize = 20;
/// Characters of a question and of a choice.
const MAX_QUESTION_CHARS: usize = 2_000;
const MAX_OPTION_CHARS: usize = 500;

const DESCRIPTION: &str = "\
Asks the user and waits for the answer, however long that takes. Ask when requirements are unclear or a decision is the \
user's to make, not for what you can find out yourself or for permission to use a tool.
- Ask everything you need to know in one call. Each question stands alone and is short.
- `options` are the choices, if there are likely ones; the user may always answer something else. `multiSelect` allows \
several.";

pub struct AskUserTool;

impl BuiltInDefinition for AskUserTool {
    type Arguments = AskUserArguments;

    fn declaration() -> ToolDeclaration {
        let parameters = json!({
            "type": "object",
            "properties": {
                "questions": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": MAX_QUESTIONS,
                    "description": "What to ask.",
                    // Open for more: other programs' questions have headers, which do no harm.
                    "items": {
                        "type": "object",
                        "properties": {
                            "question": {
                                "type": "string",
                                "minLength": 1,
                                "maxLength": MAX_QUESTION_CHARS,
                                "description": "The question, as the user reads it."
                            },
                            "options": {
                                "type": "array",
                                "maxItems": MAX_OPTIONS,
                                "items": { "type": "string", "minLength": 1, "maxLength": MAX_OPTION_CHARS },
                                "description": "Choices. Default: none, any text."
                            },
                            "multiSelect": {
                                "type": "boolean",
                                "description": "Whether several may be chosen. Default: false."
                            }
                        },
                        "required": ["question"]
                    }
                }
            },
            "required": ["questions"],
            "additionalProperties": false
        });
        safe("ask_user", "Ask", ToolKind::Other, DESCRIPTION, parameters)
    }

    fn check(arguments: AskUserArguments, _: &PrepareContext) -> Result<Box<dyn Invocation>, ToolError> {
        let questions: Vec<UserQuestion> =
            arguments.questions.into_iter().map(AskUserQuestion::into_question).collect();
        let violations = violations(&questions);
        if !violations.is_empty() {
            return Err(refusal(&violations));
        }
        Ok(Box::new(AskUserInvocation { questions }))
    }
}

#[derive(Deserialize)]
pub struct AskUserArguments {
    questions: Vec<AskUserQuestion>,
}

/// A question as models write it. What else they write into it, e.g. headers, means nothing here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AskUserQuestion {
    question: String,
    #[serde(default)]
    options: Vec<String>,
    #[serde(default)]
    multi_select: bool,
}

impl AskUserQuestion {
    fn into_question(self) -> UserQuestion {
        let AskUserQuestion { question, options, multi_select } = self;
        UserQuestion { question, options, multi_select, ..UserQuestion::default() }
    }
}

fn violations(questions: &[UserQuestion]) -> Vec<SchemaViolation> {
    let mut violations = Vec::new();
    for (number, question) in questions.iter().enumerate() {
        let at = |field: &str| format!("/questions/{number}/{field}");
        if question.question.trim().is_empty() {
            let message = "blank; say what you want to know".to_owned();
            violations.push(SchemaViolation { pointer: at("question"), message });
        }
        for (index, option) in question.options.iter().enumerate() {
            if question.options[..index].contains(option) {
                let message = "given twice; an answer could not be told apart".to_owned();
                violations.push(SchemaViolation { pointer: at(&format!("options/{index}")), message });
            }
        }
        if question.multi_select && question.options.is_empty() {
            let message = "several of nothing cannot be chosen; give options".to_owned();
            violations.push(SchemaViolation { pointer: at("multiSelect"), message });
        }
    }
    violations
}

struct AskUserInvocation {
    questions: Vec<UserQuestion>,
}

impl Invocation for AskUserInvocation {
    fn accesses(&self) -> &[ResourceAccess] {
        &[ResourceAccess::Nothing]
    }

    fn description(&self) -> String {
        match &self.questions[..] {
            [only] => only.question.trim().replace(char::is_control, " "),
            questions => format!("{} questions", questions.len()),
        }
    }

    fn locations(&self) -> Vec<CallLocation> {
        Vec::new()
    }

    fn confirmation(&self) -> Option<ConfirmationDetails> {
        Some(ConfirmationDetails::Question { questions: self.questions.clone() })
    }

    fn answered(&self, answers: &[QuestionAnswer]) -> ToolResult {
        if answers.len() != self.questions.len() {
            let message =
                format!("{} questions were asked, and {} answered", self.questions.len(), answers.len());
            return ToolResult::failure(ToolErrorType::ExecutionFailed, message);
        }
        let lines: Vec<String> = self.questions.iter().zip(answers).map(line).collect();
        ToolResult {
            data: Some(json!({ "answers": answers })),
            ..ToolResult::text(format!("The user answered:\n{}", lines.join("\n")))
        }
    }

    fn run(self: Box<Self>, _permit: Permit, _: CallContext) -> BoxFuture<'static, ToolResult> {
        let message = "a question is answered by a person, never run";
        Box::pin(ready(ToolResult::failure(ToolErrorType::ExecutionFailed, message)))
    }
}

fn line((question, answer): (&UserQuestion, &QuestionAnswer)) -> String {
    let answer = match answer {
        QuestionAnswer::One(answer) => answer.clone(),
        QuestionAnswer::Several(answers) if answers.is_empty() => "(none of them)".to_owned(),
        QuestionAnswer::Several(answers) => answers.join(", "),
    };
    format!("- {}\n  {}", question.question.trim(), answer.trim().replace('\n', "\n  "))
}
