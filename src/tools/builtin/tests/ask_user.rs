//! What ask_user asks, and what the model learns of the answers.

use expect_test::expect;
use serde_json::json;

use crate::tests::Bench;
use protocol::{ConfirmationDetails, QuestionAnswer, ResourceAccess, ToolErrorType, UserQuestion};

#[tokio::test]
async fn a_call_is_a_question_and_its_answers_the_result() {
    let bench = Bench::new(&[]);
    let arguments = json!({"questions": [
        {"question": "Which port?", "header": "Port", "options": [{"label": "80", "description": "usual"}, {"label": "8080"}]},
        {"question": "Which tests?", "options": ["unit", "end to end"], "multiSelect": true},
        {"question": "Why?"}
    ]});
    let invocation = bench.prepare("AskUserQuestion", arguments).await.unwrap();
    let question = |question: &str, options: &[&str], multi_select| UserQuestion {
        question: question.to_owned(),
        options: options.iter().map(|option| (*option).to_owned()).collect(),
        multi_select,
        ..UserQuestion::default()
    };
    let questions = vec![
        question("Which port?", &["80: usual", "8080"], false),
        question("Which tests?", &["unit", "end to end"], true),
        question("Why?", &[], false),
    ];
    assert_eq!(invocation.confirmation(), Some(ConfirmationDetails::Question { questions }));
    assert_eq!(invocation.accesses(), [ResourceAccess::Nothing]);
    assert_eq!(invocation.description(), "3 questions");
    let one = |answer: &str| QuestionAnswer::One(answer.to_owned());
    let several =
        |answers: &[&str]| QuestionAnswer::Several(answers.iter().map(|it| (*it).to_owned()).collect());
    let result =
        invocation.answered(&[one("8080"), several(&["unit", "end to end"]), one("Because\nof that")]);
    expect![[r#"
        The user answered:
        - Which port?
          8080
        - Which tests?
          unit, end to end
        - Why?
          Because
          of that"#]]
    .assert_eq(result.llm_content[0].as_text().unwrap());
    assert_eq!(result.data.unwrap()["answers"][1], json!(["unit", "end to end"]));
    assert_eq!(invocation.answered(&[one("x")]).error.unwrap().kind, ToolErrorType::ExecutionFailed);
    assert_eq!(bench.run(invocation).await.error.unwrap().kind, ToolErrorType::ExecutionFailed);
}

#[tokio::test]
async fn questions_that_cannot_be_answered_are_refused() {
    let bench = Bench::new(&[]);
    let mut said = Vec::new();
    for arguments in [
        json!({"questions": [{"question": " "}, {"question": "a", "options": ["x", "x"]}, {"question": "b", "multiSelect": true}]}),
        json!({"questions": []}),
        json!({"question": "a"}),
        json!({"questions": [{"question": "a", "options": [1, {"name": "x"}]}]}),
    ] {
        said.push(bench.text("ask_user", arguments).await);
    }
    expect![[r#"
        INVALID_TOOL_PARAMS: /questions/0/question: blank; say what you want to know
        /questions/1/options/1: given twice; an answer could not be told apart
        /questions/2/multiSelect: several of nothing cannot be chosen; give options
        INVALID_TOOL_PARAMS: /questions: [] has less than 1 item
        INVALID_TOOL_PARAMS: /question: unknown argument; did you mean `questions`?
        /questions: missing, but required
        INVALID_TOOL_PARAMS: /questions/0/options/0: 1 is not of type "string"
        /questions/0/options/1: {"name":"x"} is not of type "string""#]]
    .assert_eq(&said.join("\n"));
}
