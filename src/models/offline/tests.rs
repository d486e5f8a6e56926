//! What the offline model promises.

use std::sync::Arc;

use expect_test::{Expect, expect};
use futures_util::{FutureExt, StreamExt};
use serde_json::json;

use super::OfflineModel;
use crate::{LanguageModel, ModelRequest, ReplyPart, RequestPurpose, tests::stream_to_end};
use protocol::{ContextMessage, MessagePart, MessageRole, ToolCall};

mod conversation;

use conversation::{
    Conversation, READ_ONLY, TREE, answer, ask, calls, investigation_schema, refused, reply, request,
    text_schema, tools,
};

fn check(objective: &str, expected: Expect) {
    expected.assert_eq(&Conversation::about(objective).told());
}

#[test]
fn a_question_is_surveyed_looked_into_read_and_reported() {
    check(
        "Where is the retry back-off computed?",
        expect![[r#"
            list_directory  .
            glob
            grep count
            grep count
            grep count
            grep count
            grep count
            grep count

            grep content src/backoff.rs
            grep content src/parcel.rs
            grep content src/lib.rs
            grep content tests/sending.rs
            grep content README.md
            grep content
            grep content

            read_file  src/backoff.rs
            read_file  tests/sending.rs
            read_file  src/parcel.rs
            read_file  README.md
            read_file  src/lib.rs

            {
              "SummaryOfFindings": "Best match: `src/backoff.rs:1` (`//! How long to wait before a retry.`), defining MAX_DELAY, delay_before; these words of the question stand together there: retry, computed. Next: `tests/sending.rs:3` (`fn retry_back_off_computed() {}`); `src/parcel.rs:9-14` (`pub fn send(&self) {`); `README.md:3` (`Sends parcels. A retry waits for a back-off.`).\n\nNo language model was involved: rules searched for the question's words and ranked the places where they are defined and stand together, so check the places before relying on them.",
              "ExplorationTrace": [
                "Counted the files that have the question's words: retry (4), back (5), computed (2), retry back (2), back off (5), off computed (2).",
                "Looked into the likeliest files for those words and for definitions: README.md, src/backoff.rs, src/lib.rs, src/parcel.rs, tests/sending.rs.",
                "Read the places where rare words and definitions stand together, best file first: src/backoff.rs (18 lines), tests/sending.rs (3 lines), src/parcel.rs (14 lines), README.md (3 lines), src/lib.rs (4 lines)."
              ],
              "RelevantLocations": [
                {
                  "FilePath": "src/backoff.rs:1",
                  "Reasoning": "Line 1 reads `//! How long to wait before a retry.`; close together here: retry, computed.",
                  "KeySymbols": [
                    "MAX_DELAY",
                    "delay_before"
                  ]
                },
                {
                  "FilePath": "tests/sending.rs:3",
                  "Reasoning": "Line 3 reads `fn retry_back_off_computed() {}`; close together here: retry, back, computed, retry back, back off, off computed.",
                  "KeySymbols": [
                    "retry_back_off_computed"
                  ]
                },
                {
                  "FilePath": "src/parcel.rs:9-14",
                  "Reasoning": "Line 10 reads `pub fn send(&self) {`; close together here: retry.",
                  "KeySymbols": [
                    "send"
                  ]
                },
                {
                  "FilePath": "README.md:3",
                  "Reasoning": "Line 3 reads `Sends parcels. A retry waits for a back-off.`; close together here: retry, back, back off.",
                  "KeySymbols": []
                }
              ]
            }"#]],
    );
}

#[test]
fn a_question_without_telling_words_is_answered_from_the_entry_points() {
    check(
        "What does this do?",
        expect![[r#"
            list_directory  .
            glob

            read_file  README.md
            read_file  Cargo.toml

            {
              "SummaryOfFindings": "The question has no word to search for; these are places to begin: `README.md:1-3` (`# courier`); `Cargo.toml:1-3` (`[package]`).\n\nNo language model was involved: rules searched for the question's words and ranked the places where they are defined and stand together, so check the places before relying on them.",
              "ExplorationTrace": [
                "Found no word in the question to search for."
              ],
              "RelevantLocations": [
                {
                  "FilePath": "README.md:1-3",
                  "Reasoning": "Line 1 reads `# courier`.",
                  "KeySymbols": []
                },
                {
                  "FilePath": "Cargo.toml:1-3",
                  "Reasoning": "Line 1 reads `[package]`.",
                  "KeySymbols": []
                }
              ]
            }"#]],
    );
}

#[test]
fn the_defining_file_comes_before_tests_and_mentions() {
    let conversation = Conversation::about("Where is the retry back-off computed?");
    assert!(conversation.locations()[0].starts_with("src/backoff.rs:"), "{:?}", conversation.locations());
}

#[test]
fn every_location_was_read() {
    for objective in
        ["Where is the retry back-off computed?", "`Parcel::send` in src/parcel.rs", "What is here?"]
    {
        let conversation = Conversation::about(objective);
        assert!(!conversation.locations().is_empty(), "{objective}");
        for location in conversation.locations() {
            let (path, lines) = location.rsplit_once(':').unwrap();
            let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
            for line in first.parse::<u32>().unwrap()..=last.parse::<u32>().unwrap() {
                assert!(conversation.read.contains(&format!("{path}:{line}")), "{path}:{line} was not read");
            }
        }
    }
}

#[test]
fn what_cannot_be_read_is_no_location() {
    let conversation = Conversation::hold(
        "Where is the retry?",
        tools(READ_ONLY, investigation_schema()),
        |tool, arguments| match tool {
            "read_file" => Err("PERMISSION_DENIED: no".to_owned()),
            _ => answer(TREE, tool, arguments),
        },
    );
    assert!(conversation.locations().is_empty(), "{:?}", conversation.locations());
    assert!(conversation.report()["SummaryOfFindings"].as_str().unwrap().contains("PERMISSION_DENIED"));
}

#[test]
fn nonsense_from_tools_leads_to_an_honest_report() {
    let nonsense = [
        "",
        "\u{0}\u{fffd}:::",
        "4294967296: x\n99999999999: y\n-: z",
        "]\n[\n[lines 1",
        "a: 3\n\n1: fn retry()",
        "a: 4294967295\n\na\n0: fn retry()\n4294967294: #[cfg(test)]\n4294967295: fn retry()",
        "🦀".repeat(50).leak(),
    ];
    for answer in nonsense {
        let tools = tools(READ_ONLY, investigation_schema());
        let conversation = Conversation::hold("Where is `retry()`?", tools, |_, _| Ok(answer.to_owned()));
        assert!(
            conversation.report()["SummaryOfFindings"]
                .as_str()
                .unwrap()
                .contains("No language model was involved")
        );
    }
}

#[test]
fn the_same_request_gets_the_same_reply() {
    let mut conversation = Conversation::about("Where is the retry back-off computed?");
    while !conversation.messages.is_empty() {
        let request = request(conversation.messages.clone(), tools(READ_ONLY, investigation_schema()));
        let replies =
            [request.clone(), request].map(|request| format!("{:?}", stream_to_end(&OfflineModel, request)));
        assert_eq!(replies[0], replies[1]);
        conversation.messages.truncate(conversation.messages.len() - 1);
    }
}

#[test]
fn a_reply_does_not_wait() {
    let request = request(ask("Where is the retry?"), tools(READ_ONLY, investigation_schema()));
    assert!(OfflineModel.stream(request).count().now_or_never().is_some());
}

#[test]
fn an_agent_without_output_gets_a_text() {
    let conversation =
        Conversation::hold("retry back-off", tools(READ_ONLY, text_schema()), |tool, arguments| {
            answer(TREE, tool, arguments)
        });
    let calls = calls(&conversation.last);
    let result = calls[0].1["result"].as_str().unwrap();
    assert!(
        result.contains("`src/backoff.rs:") && result.contains("No language model was involved"),
        "{result}"
    );
}

#[test]
fn other_tools_and_outputs_are_refused_in_one_sentence() {
    let odd = json!({"type": "object", "properties": {"verdict": {"type": "boolean"}}});
    let two =
        json!({"type": "object", "properties": {"result": {"type": "string"}, "mood": {"type": "string"}}});
    let cases = [
        tools(&["write_file", "run_shell_command"], text_schema()),
        tools(&[], text_schema()),
        tools(READ_ONLY, odd),
        tools(READ_ONLY, two),
    ];
    for tools in cases {
        assert_eq!(refused(request(ask("Where is the retry?"), tools)), super::CANNOT_SERVE);
    }
    let utility = ModelRequest {
        purpose: RequestPurpose::Utility,
        ..request(ask("Which model?"), tools(READ_ONLY, text_schema()))
    };
    let said = reply(utility).parts;
    assert!(matches!(said.as_slice(), [ReplyPart::Text(text)] if text == super::CANNOT_SERVE), "{said:?}");
}

#[test]
fn the_grace_turn_reports_what_is_known() {
    let mut conversation = Conversation::about("Where is the retry back-off computed?");
    let whole = conversation.locations().len();
    assert!(whole > 0);
    conversation
        .messages
        .push(Arc::new(ContextMessage::user("The turn limit was reached. Call complete_task now.")));
    conversation.last = reply(request(conversation.messages.clone(), tools(&[], investigation_schema())));
    assert_eq!(conversation.locations().len(), whole);
}

#[test]
fn a_result_that_was_refused_is_not_sent_again() {
    let mut conversation = Conversation::about("Where is the retry?");
    let call = ToolCall {
        call_id: "end".into(),
        provider_call_id: None,
        name: "complete_task".into(),
        arguments: json!({}),
        signature: None,
        redacted: false,
    };
    let refused = MessagePart::ToolResult {
        call_id: "end".into(),
        provider_call_id: None,
        name: "complete_task".into(),
        parts: vec![MessagePart::text("INVALID_TOOL_PARAMS")],
        is_error: true,
    };
    conversation.messages.push(Arc::new(ContextMessage {
        role: MessageRole::Model,
        parts: vec![MessagePart::ToolCall(call)],
        raw: None,
    }));
    conversation.messages.push(Arc::new(ContextMessage {
        role: MessageRole::Tool,
        parts: vec![refused],
        raw: None,
    }));
    let told =
        conversation::refused(request(conversation.messages, tools(READ_ONLY, investigation_schema())));
    assert_eq!(told, super::CANNOT_SERVE);
}

#[test]
fn a_second_question_of_a_session_is_a_new_one() {
    let mut messages = Conversation::about("Where is the retry?").messages;
    messages.push(Arc::new(ContextMessage::user("Who has an address?")));
    let reply = reply(request(messages, tools(READ_ONLY, investigation_schema())));
    let asked = calls(&reply);
    assert!(
        asked
            .iter()
            .any(|(tool, arguments)| *tool == "grep"
                && arguments["pattern"].as_str().unwrap().contains("addr"))
    );
    assert!(asked.iter().all(|(tool, _)| *tool != "complete_task"));
}
