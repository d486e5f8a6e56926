//! What write_todos says and changes.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::tests::Bench;
use protocol::{ResourceAccess, TodoItem, TodoStatus, ToolEffect};

async fn check(todos: Value, expected: Expect) {
    let result = Bench::new(&[]).call("write_todos", json!({ "todos": todos })).await;
    let mut lines = vec![result.llm_content[0].as_text().unwrap().to_owned()];
    lines.extend(result.return_display);
    lines.extend(result.data.map(|data| data.to_string()));
    expected.assert_eq(&lines.join("\n"));
}

#[tokio::test]
async fn the_list_is_replaced_and_shown_as_a_plan() {
    check(
        json!([
            {"text": "Read the log", "status": "completed"},
            {"text": "Ask\nwhy\u{1b}", "status": "cancelled"},
            {"text": "Write the fix", "status": "in_progress"},
            {"text": "Test it", "status": "pending"}
        ]),
        expect![[r#"
            The list is replaced: 1 pending, 1 in_progress, 1 completed, 1 cancelled.
            - [x] Read the log
            - [x] ~~Ask why ~~
            - [ ] **Write the fix**
            - [ ] Test it
            {"pending":1,"inProgress":1,"completed":1,"cancelled":1}"#]],
    )
    .await;
    check(
        json!([]),
        expect![[r#"
            The list is empty now.
            {"pending":0,"inProgress":0,"completed":0,"cancelled":0}"#]],
    )
    .await;
}

#[tokio::test]
async fn habits_of_other_programs_are_understood() {
    let bench = Bench::new(&[]);
    let todos = json!([
        {"content": "a", "status": "in-progress", "activeForm": "Doing a", "id": 1},
        {"description": "b", "status": "Pending"},
        {"text": "c", "status": "COMPLETED"}
    ]);
    let result = bench.call("write_todos", json!({ "todos": todos })).await;
    let entry = |text: &str, status| TodoItem { text: text.to_owned(), status };
    let list = vec![
        entry("a", TodoStatus::InProgress),
        entry("b", TodoStatus::Pending),
        entry("c", TodoStatus::Completed),
    ];
    assert_eq!(result.effects, [ToolEffect::Todos(list)]);
    let camel = json!([{"text": "a", "status": "inProgress"}]);
    let invocation = bench.prepare("write_todos", json!({ "todos": camel })).await.unwrap();
    assert_eq!(invocation.accesses(), [ResourceAccess::Nothing]);
    assert_eq!(invocation.description(), "1 entry");
}

#[tokio::test]
async fn one_entry_at_most_is_in_progress() {
    check(
        json!([
            {"text": "a", "status": "in_progress"},
            {"text": " \n", "status": "in_progress"},
            {"text": "c", "status": "pending"},
            {"text": "d", "status": "in_progress"}
        ]),
        expect![[r#"
            INVALID_TOOL_PARAMS: /todos/1/text: blank; say what is to be done
            /todos/1/status: at most one entry is in_progress, and /todos/0 is already
            /todos/3/status: at most one entry is in_progress, and /todos/0 is already"#]],
    )
    .await;
}

#[tokio::test]
async fn every_wrong_type_is_told_with_its_place() {
    check(
        json!([
            {"text": 1, "status": "pending"},
            {"text": "b", "status": "done"},
            "c",
            {"text": "", "status": null},
            {"txet": "e", "status": ["pending"]}
        ]),
        expect![[r#"
            INVALID_TOOL_PARAMS: /todos/0/text: 1 is not of type "string"
            /todos/1/status: not one of "pending", "in_progress", "completed", "cancelled"
            /todos/2: "c" is not of type "object"
            /todos/3/text: "" is shorter than 1 character
            /todos/3/status: null is not of type "string"
            /todos/4/text: missing, but required
            /todos/4/status: ["pending"] is not of type "string""#]],
    )
    .await;
    check(json!("a list"), expect![[r#"INVALID_TOOL_PARAMS: /todos: "a list" is not of type "array""#]])
        .await;
}

#[tokio::test]
async fn a_list_without_end_is_refused_in_few_words() {
    let todos: Vec<Value> =
        (0..10_000).map(|n| json!({"text": n.to_string(), "status": "in_progress"})).collect();
    check(todos.into(), expect!["INVALID_TOOL_PARAMS: /todos: value has more than 100 items"]).await;
    check(
        json!([{"text": "x".repeat(1_001), "status": "pending"}]),
        expect!["INVALID_TOOL_PARAMS: /todos/0/text: value is longer than 1000 characters"],
    )
    .await;
}
