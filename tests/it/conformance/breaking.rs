//! Rows: streams that end too early, say nothing, or come too slowly.

use expect_test::expect;
use serde_json::json;

use super::{Act, check, row};
use crate::provider_server::{Answer, Said, Wire, call};

#[tokio::test]
async fn streams_that_are_cut() {
    check(vec![
        row("within a character", "talker", expect![[r#"
            again, what was shown is dropped: "the connection to 127.0.0.1 broke in the middle of the response: unexpected EOF during chunk size line"
            says "Well.", 0 calls
            ends GOAL "Well."
            used what is estimated
        "#]], |wire| {
            vec![wire.text("Half an é and more").cut_within("é"), wire.text("Well.")]
        }),
        row("within arguments", "reader", expect![[r#"
            again, what was shown is dropped: "the connection to 127.0.0.1 broke in the middle of the response: unexpected EOF during chunk size line"
            says "", 1 calls
            complete_task "success": "accepted"
            ends GOAL "finished"
            used what is estimated
        "#]], |wire| {
            let calls = [call("call_1", "complete_task", &json!({ "result": "never" }))];
            let first = Said { text: "I hand in".to_owned(), calls: calls.into(), ..Said::default() };
            vec![wire.says(&first).cut_within("neve"), wire.done()]
        }),
        row("after the reason", "talker", expect![[r#"
            says "Whole.", 0 calls
            ends GOAL "Whole."
            used 100, 30 of it cached, for 27
            but openai:
              says "Whole.", 0 calls
              ends GOAL "Whole."
              used what is estimated
        "#]], |wire| {
            let said = Said { text: "Whole.".to_owned(), ..Said::default() };
            vec![wire.up_to_its_reason(&said).then_cut()]
        }),
        row("within an event after the reason", "talker", expect![[r#"
            says "Whole.", 0 calls
            ends GOAL "Whole."
            used 100, 30 of it cached, for 27
            but openai:
              says "Whole.", 0 calls
              ends GOAL "Whole."
              used what is estimated
        "#]], |wire| {
            let said = Said { text: "Whole.".to_owned(), ..Said::default() };
            vec![wire.up_to_its_reason(&said).then_bytes(b"data: {\"type\": \"mess").then_cut()]
        }),
        row("within a character after the reason, and the stream ends as it should", "talker", expect![[r#"
            says "Whole.", 0 calls
            ends GOAL "Whole."
            used 100, 30 of it cached, for 27
            but openai:
              says "Whole.", 0 calls
              ends GOAL "Whole."
              used what is estimated
        "#]], |wire| {
            let said = Said { text: "Whole.".to_owned(), ..Said::default() };
            vec![wire.up_to_its_reason(&said).then_bytes(b"data: {\"type\": \"\xC3")]
        }),
        row("after the reason, a call", "reader", expect![[r#"
            says "", 1 calls
            complete_task "success": "accepted"
            ends GOAL "finished"
            used 100, 30 of it cached, for 27
            but openai:
              says "", 1 calls
              complete_task "success": "accepted"
              ends GOAL "finished"
              used what is estimated
        "#]], |wire| {
            let calls = [call("call_1", "complete_task", &json!({ "result": "finished" }))];
            let said = Said { calls: calls.into(), ..Said::default() };
            vec![wire.up_to_its_reason(&said).then_cut()]
        }),
        row("an end without a reason", "talker", expect![[r#"
            again, what was shown is dropped: "the response ended without a finish reason"
            says "Well.", 0 calls
            ends GOAL "Well."
            used what is estimated
            but openai-responses:
              again, what was shown is dropped: "the response ended before it was complete"
              says "Well.", 0 calls
              ends GOAL "Well."
              used what is estimated
            but anthropic:
              again, what was shown is dropped: "the response ended without a stop reason"
              says "Well.", 0 calls
              ends GOAL "Well."
              used what is estimated
        "#]], |wire| {
            let half = Said { text: "Half an answer".to_owned(), ..Said::default() };
            vec![wire.before_its_reason(&half), wire.text("Well.")]
        }),
        row("a call without a reason", "reader", expect![[r#"
            again: "the connection to 127.0.0.1 broke in the middle of the response: unexpected EOF during chunk size line"
            says "", 1 calls
            complete_task "success": "accepted"
            ends GOAL "finished"
            used what is estimated
            but gemini:
              again: "the connection to 127.0.0.1 broke in the middle of the response: unexpected EOF during chunk size line"
              says "", 1 calls
              complete_task "success": "accepted"
              ends GOAL "finished"
              used 100, 30 of it cached, for 27
        "#]], |wire| {
            let calls = [call("call_1", "complete_task", &json!({ "result": "never" }))];
            let half = Said { calls: calls.into(), ..Said::default() };
            vec![wire.before_its_reason(&half).then_cut(), wire.done()]
        }),
    ])
    .await;
}

#[tokio::test]
async fn streams_that_say_nothing() {
    check(vec![
        row(
            "empty choices",
            "talker",
            expect![[r#"
                again: "the response ended without a finish reason"
                says "Well.", 0 calls
                ends GOAL "Well."
                used 101, 30 of it cached, for 27
                but openai-responses:
                  again: "the response is empty"
                  says "Well.", 0 calls
                  ends GOAL "Well."
                  used 200, 60 of it cached, for 54
                but anthropic:
                  again: "the response is empty"
                  says "Well.", 0 calls
                  ends GOAL "Well."
                  used 200, 60 of it cached, for 54
            "#]],
            |wire| vec![wire.empty(), wire.text("Well.")],
        ),
        row(
            "empty choices for good",
            "talker",
            expect![[r#"
                again: "the response ended without a finish reason"
                again: "the response ended without a finish reason"
                ends ERROR MODEL_FAILED: "the response ended without a finish reason (after 3 tries)"
                used 3, 0 of it cached, for 0
                but openai-responses:
                  again: "the response is empty"
                  again: "the response is empty"
                  ends ERROR MODEL_FAILED: "the response is empty (after 3 tries)"
                  used 300, 90 of it cached, for 81
                but anthropic:
                  again: "the response is empty"
                  again: "the response is empty"
                  ends ERROR MODEL_FAILED: "the response is empty (after 3 tries)"
                  used 300, 90 of it cached, for 81
            "#]],
            |wire| vec![wire.empty(), wire.empty(), wire.empty()],
        ),
        row(
            "a reason alone",
            "talker",
            expect![[r#"
                again: "the response is empty"
                says "Well.", 0 calls
                ends GOAL "Well."
                used 200, 60 of it cached, for 54
            "#]],
            |wire| vec![wire.says(&Said::default()), wire.text("Well.")],
        ),
        row(
            "no event",
            "talker",
            expect![[r#"
                again: "the response has no events; it is text/event-stream"
                says "Well.", 0 calls
                ends GOAL "Well."
                used 100, 30 of it cached, for 27
            "#]],
            |wire| vec![Answer::stream(""), wire.text("Well.")],
        ),
        row(
            "a page instead",
            "talker",
            expect![[r#"
                again: "the response has no events; it is text/html"
                says "Well.", 0 calls
                ends GOAL "Well."
                used 100, 30 of it cached, for 27
            "#]],
            |wire| {
                let page = Answer::status(200, "<html>Log in</html>").header("content-type", "text/html");
                vec![page, wire.text("Well.")]
            },
        ),
        row(
            "an event that is no JSON",
            "talker",
            expect![[r#"
                again: "the response has an event that is not the provider's: expected value at line 1 column 1"
                says "Well.", 0 calls
                ends GOAL "Well."
                used 100, 30 of it cached, for 27
            "#]],
            |wire| vec![Answer::stream("data: <html>\n\n"), wire.text("Well.")],
        ),
        row(
            "bytes that are no text",
            "talker",
            expect![[r#"
                again: "the response is cut or broken: an event of the stream is not UTF-8"
                says "Well.", 0 calls
                ends GOAL "Well."
                used 100, 30 of it cached, for 27
            "#]],
            |wire| vec![Answer::stream(*b"data: \xff\xfe\n\n"), wire.text("Well.")],
        ),
    ])
    .await;
}

#[tokio::test]
async fn streams_that_take_their_time() {
    check(vec![
        row(
            "cancelled in the middle",
            "talker",
            expect![[r#"
                says "Half an answer", 0 calls
                ends ABORTED null
                used what is estimated
            "#]],
            |wire| vec![half_of(wire)],
        )
        .act(Act::Cancel),
        row(
            "silent in the middle",
            "talker",
            expect![[r#"
                again, what was shown is dropped: "the model was silent for 120 s"
                says "Well.", 0 calls
                ends GOAL "Well."
                used what is estimated
            "#]],
            |wire| vec![half_of(wire), wire.text("Well.")],
        )
        .act(Act::Silence),
        // Longer than a model may be silent, and nothing in it can be shown before it is whole.
        row(
            "a byte a second",
            "reader",
            expect![[r#"
            says "", 1 calls
            complete_task "success": "accepted"
            ends GOAL 260 letters
            used 100, 30 of it cached, for 27
        "#]],
            |wire| {
                let result = "one byte after the other, ".repeat(10);
                vec![wire.calls([call("call_1", "complete_task", &json!({ "result": result }))]).when_told()]
            },
        )
        .act(Act::Drip),
    ])
    .await;
}

/// The beginning of a reply, and then nothing.
fn half_of(wire: Wire) -> Answer {
    wire.before_its_reason(&Said { text: "Half an answer".to_owned(), ..Said::default() }).then_stall()
}
