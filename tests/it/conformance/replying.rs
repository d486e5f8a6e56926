//! Rows: what models say, and what they ask for.

use expect_test::expect;
use serde_json::json;

use super::{check, check_in_turn, row};
use crate::provider_server::{Call, Said, Why, call};

#[tokio::test]
async fn words_and_thoughts() {
    check(vec![
        row(
            "text",
            "talker",
            expect![[r#"
            says "Grüße, — 🦀", 0 calls
            ends GOAL "Grüße, — 🦀"
            used 100, 30 of it cached, for 27
        "#]],
            |wire| vec![wire.text("Grüße, — 🦀")],
        ),
        row(
            "text of a model that is told how to choose its words, where it can be",
            "chooser",
            expect![[r#"
            says "Well.", 0 calls
            ends GOAL "Well."
            used 100, 30 of it cached, for 27
        "#]],
            |wire| vec![wire.text("Well.")],
        ),
        row(
            "text, byte by byte",
            "talker",
            expect![[r#"
            says "Grüße, — 🦀", 0 calls
            ends GOAL "Grüße, — 🦀"
            used 100, 30 of it cached, for 27
        "#]],
            |wire| vec![wire.text("Grüße, — 🦀").pieces_of(1)],
        ),
        row(
            "thoughts, which go back",
            "thinker",
            expect![[r#"
            thinks "**Plan** é"
            says "I read it.", 1 calls
            says "", 1 calls
            complete_task "success": "accepted"
            read_file "success": "hello\n"
            request 2 gives back [("**Plan** é", true)]
            ends GOAL "finished"
            used 200, 60 of it cached, for 54
            but gemini:
              thinks "**Plan** é"
              says "I read it.", 1 calls
              says "", 1 calls
              complete_task "success": "accepted"
              read_file "success": "hello\n"
              request 2 gives back [("**Plan** é", false), ("", true)]
              ends GOAL "finished"
              used 200, 60 of it cached, for 54
            but openai:
              thinks "**Plan** é"
              says "I read it.", 1 calls
              says "", 1 calls
              complete_task "success": "accepted"
              read_file "success": "hello\n"
              request 2 gives back [("**Plan** é", false)]
              ends GOAL "finished"
              used 200, 60 of it cached, for 54
        "#]],
            |wire| {
                let first = Said {
                    thought: "**Plan** é",
                    text: "I read it.".to_owned(),
                    calls: vec![call("call_1", "read_file", &json!({ "path": "a.txt" }))],
                    ..Said::default()
                };
                vec![wire.says(&first), wire.done()]
            },
        ),
        row(
            "thoughts before words alone",
            "talker",
            expect![[r#"
            thinks "Hm."
            says "Well.", 0 calls
            ends GOAL "Well."
            used 100, 30 of it cached, for 27
        "#]],
            |wire| vec![wire.says(&Said { thought: "Hm.", text: "Well.".to_owned(), ..Said::default() })],
        ),
        row(
            "cut by the limit",
            "talker",
            expect![[r#"
            says "It is a long ", 0 calls
            says "story.", 0 calls
            ends GOAL "It is a long story."
            used 200, 60 of it cached, for 54
        "#]],
            |wire| {
                let half = Said { text: "It is a long ".to_owned(), why: Why::Length, ..Said::default() };
                vec![wire.says(&half), wire.text("story.")]
            },
        ),
        row(
            "withheld",
            "talker",
            expect![[r#"
            says "I ", 0 calls
            ends ERROR MODEL_FAILED: "the model refused to answer: content_filter"
            used 100, 30 of it cached, for 27
            but gemini:
              says "I ", 0 calls
              ends ERROR MODEL_FAILED: "the model refused to answer: SAFETY"
              used 100, 30 of it cached, for 27
            but anthropic:
              says "I ", 0 calls
              ends ERROR MODEL_FAILED: "the model refused to answer: refusal"
              used 100, 30 of it cached, for 27
        "#]],
            |wire| vec![wire.says(&Said { text: "I ".to_owned(), why: Why::Withheld, ..Said::default() })],
        ),
    ])
    .await;
}

/// On one wire after the other: side by side, what each has to do is not done within the others' deadlines on a busy machine.
#[tokio::test]
async fn long_words() {
    check_in_turn(vec![row(
        "10 MB of text",
        "talker",
        expect![[r#"
            says 10000000 letters, 0 calls
            ends GOAL 10000000 letters
            used 100, 30 of it cached, for 27
        "#]],
        |wire| vec![wire.text(&"ten bytes.".repeat(1_000_000))],
    )])
    .await;
}

#[tokio::test]
async fn calls() {
    check(vec![
        row(
            "one call",
            "reader",
            expect![[r#"
            says "", 1 calls
            says "", 1 calls
            complete_task "success": "accepted"
            read_file "success": "hello\n"
            ends GOAL "finished"
            used 200, 60 of it cached, for 54
        "#]],
            |wire| vec![wire.calls([call("call_1", "read_file", &json!({ "path": "a.txt" }))]), wire.done()],
        ),
        row(
            "four parallel calls",
            "reader",
            expect![[r#"
                says "", 4 calls
                says "", 1 calls
                complete_task "success": "accepted"
                glob "success": "1 file matches.\n<work>/dot.png"
                glob "success": "No file matches *.none.\n[this pattern means files directly t"
                read_file "error": "FILE_NOT_FOUND: there is no `b.txt`"
                read_file "success": "hello\n"
                ends GOAL "finished"
                used 200, 60 of it cached, for 54
            "#]],
            |wire| {
                let calls = [
                    call("call_1", "read_file", &json!({ "path": "a.txt" })),
                    call("call_2", "glob", &json!({ "pattern": "*.png" })),
                    call("call_3", "read_file", &json!({ "path": "b.txt" })),
                    call("call_4", "glob", &json!({ "pattern": "*.none" })),
                ];
                vec![wire.calls(calls), wire.done()]
            },
        ),
        row(
            "calls with fragments, byte by byte",
            "reader",
            expect![[r#"
            says "Both.", 2 calls
            says "", 1 calls
            complete_task "success": "accepted"
            read_file "error": "FILE_NOT_FOUND: there is no `größe.txt`"
            read_file "success": "hello\n"
            ends GOAL "finished"
            used 200, 60 of it cached, for 54
        "#]],
            |wire| {
                let calls = [
                    call("call_1", "read_file", &json!({ "path": "größe.txt" })),
                    call("call_2", "read_file", &json!({ "path": "a.txt", "limit": 2 })),
                ];
                let first = Said { text: "Both.".to_owned(), calls: calls.into(), ..Said::default() };
                vec![wire.says(&first).pieces_of(1), wire.done()]
            },
        ),
        row(
            "typed output, at the second go",
            "reporter",
            expect![[r#"
            says "", 1 calls
            says "", 1 calls
            complete_task "error": "INVALID_TOOL_PARAMS: the result was not accepted:\n- /report/"
            complete_task "success": "accepted"
            ends GOAL {"title":"Häfen","line":7}
            used 200, 60 of it cached, for 54
        "#]],
            |wire| {
                let bad = json!({ "report": { "title": "x", "line": "seven" } });
                let good = json!({ "report": { "title": "Häfen", "line": 7 } });
                vec![
                    wire.calls([call("call_1", "complete_task", &bad)]),
                    wire.calls([call("call_2", "complete_task", &good)]),
                ]
            },
        ),
        row(
            "image in",
            "reader",
            expect![[r#"
            says "", 1 calls
            says "", 1 calls
            complete_task "success": "accepted"
            read_file "success": "[`dot.png` is an image: image/png, 67 bytes]"
            request 2 has the picture
            ends GOAL "finished"
            used 200, 60 of it cached, for 54
        "#]],
            |wire| {
                vec![wire.calls([call("call_1", "read_file", &json!({ "path": "dot.png" }))]), wire.done()]
            },
        ),
        row(
            "arguments that are no JSON",
            "reader",
            expect![[r#"
            says "", 1 calls
            says "", 1 calls
            complete_task "success": "accepted"
            read_file "error": "INVALID_TOOL_PARAMS: \"{\\\"path\\\": \" is not of type \"object\""
            ends GOAL "finished"
            used 200, 60 of it cached, for 54
        "#]],
            |wire| {
                let broken = Call { id: "call_1", name: "read_file", arguments: "{\"path\": ".to_owned() };
                vec![wire.calls([broken]), wire.done()]
            },
        ),
        row(
            "a call that the limit cut",
            "reader",
            expect![[r#"
            says "I look.", 0 calls
            says "", 1 calls
            says "", 1 calls
            complete_task "success": "accepted"
            read_file "success": "hello\n"
            ends GOAL "finished"
            used 300, 90 of it cached, for 81
        "#]],
            |wire| {
                let cut = Call { id: "call_1", name: "read_file", arguments: "{\"path\": \"a.tx".to_owned() };
                let whole = call("call_2", "read_file", &json!({ "path": "a.txt" }));
                vec![wire.says(&cut_short("I look.", [cut])), wire.calls([whole]), wire.done()]
            },
        ),
        row(
            "a call that the limit cut before its arguments, behind a whole one",
            "reader",
            expect![[r#"
            says "", 1 calls
            says "", 1 calls
            complete_task "success": "accepted"
            read_file "success": "hello\n"
            ends GOAL "finished"
            used 200, 60 of it cached, for 54
        "#]],
            |wire| {
                let whole = call("call_1", "read_file", &json!({ "path": "a.txt" }));
                let cut = Call { id: "call_2", name: "glob", arguments: String::new() };
                vec![wire.says(&cut_short("", [whole, cut])), wire.done()]
            },
        ),
        row(
            "a tool that does not exist",
            "reader",
            expect![[r#"
            says "", 1 calls
            says "", 1 calls
            complete_task "success": "accepted"
            read_fil "error": "TOOL_NOT_REGISTERED: there is no tool `read_fil`; did you me"
            ends GOAL "finished"
            used 200, 60 of it cached, for 54
        "#]],
            |wire| vec![wire.calls([call("call_1", "read_fil", &json!({ "path": "a.txt" }))]), wire.done()],
        ),
        row(
            "ids that are there twice",
            "reader",
            expect![[r#"
                says "", 2 calls
                says "", 1 calls
                complete_task "success": "accepted"
                glob "success": "1 file matches.\n<work>/dot.png"
                read_file "success": "hello\n"
                ends GOAL "finished"
                used 200, 60 of it cached, for 54
            "#]],
            |wire| {
                let calls = [
                    call("call_1", "read_file", &json!({ "path": "a.txt" })),
                    call("call_1", "glob", &json!({ "pattern": "*.png" })),
                ];
                vec![wire.calls(calls), wire.done()]
            },
        ),
    ])
    .await;
}

/// A reply that the limit ended within the last of these calls, or right after it.
fn cut_short<const N: usize>(text: &str, calls: [Call; N]) -> Said {
    Said { text: text.to_owned(), calls: calls.into(), why: Why::Length, ..Said::default() }
}
