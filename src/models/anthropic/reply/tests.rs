//! Replies: whole, in pieces, and broken.

use expect_test::{Expect, expect};

use super::*;

/// Every delta, then the reply or why there is none.
fn check(events: &[&str], expected: Expect) {
    let mut reply = MessageReply::default();
    let mut told = String::new();
    for event in events {
        for delta in reply.push(event).unwrap() {
            told.push_str(&format!("{delta:?}\n"));
        }
        if let Some(error) = reply.take_error() {
            told.push_str(&format!("{error:?}\n"));
        }
    }
    match reply.finish() {
        Ok(ModelReply { parts, raw, usage, reason }) => {
            for part in parts {
                told.push_str(&format!("{part:?}\n"));
            }
            let raw = raw.map(|raw| raw.raw.get().to_owned());
            told.push_str(&format!("{reason:?} {usage:?}\n{}\n", raw.unwrap_or_default()));
        }
        Err(error) => told.push_str(&format!("{error:?}\n")),
    }
    expected.assert_eq(&told);
}

#[test]
fn thoughts_text_and_parallel_calls_come_in_pieces() {
    check(
        &[
            r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"claude","stop_reason":null,"usage":{"input_tokens":25,"cache_creation_input_tokens":10,"cache_read_input_tokens":65,"output_tokens":1}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
            r#"{"type":"ping"}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"I "}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"think"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"b3BhcXVl"}}"#,
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"","citations":null}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Hel"}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"lo"}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"new_delta","x":1}}"#,
            r#"{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"glob","input":{}}}"#,
            r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}"#,
            r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"pattern\":"}}"#,
            r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"\"*\"}"}}"#,
            r#"{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_2","name":"grep","input":{}}}"#,
            r#"{"type":"content_block_start","index":5,"content_block":{"type":"tool_use","id":"toolu_3","name":"grep","input":{}}}"#,
            r#"{"type":"content_block_delta","index":5,"delta":{"type":"input_json_delta","partial_json":"{\"a\": "}}"#,
            r#"{"type":"new_event","x":1}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}}"#,
            r#"{"type":"message_stop"}"#,
        ],
        expect![[r#"
            ThoughtDelta("I ")
            ThoughtDelta("think")
            TextDelta("Hel")
            TextDelta("lo")
            Thought { text: "I think", signature: Some("c2ln") }
            Text("Hello")
            ToolCall { provider_call_id: Some("toolu_1"), name: ToolName("glob"), arguments: Object {"pattern": String("*")}, signature: None }
            ToolCall { provider_call_id: Some("toolu_2"), name: ToolName("grep"), arguments: Object {}, signature: None }
            ToolCall { provider_call_id: Some("toolu_3"), name: ToolName("grep"), arguments: String("{\"a\": "), signature: None }
            Stop Usage { prompt_tokens: 100, cached_tokens: 65, cache_write_tokens: 10, output_tokens: 89, thought_tokens: 0 }
            {"role":"assistant","content":[{"type":"thinking","thinking":"I think","signature":"c2ln"},{"type":"redacted_thinking","data":"b3BhcXVl"},{"type":"text","text":"Hello","citations":null},{"type":"tool_use","id":"toolu_1","name":"glob","input":{"pattern":"*"}},{"type":"tool_use","id":"toolu_2","name":"grep","input":{}},{"type":"tool_use","id":"toolu_3","name":"grep","input":{"arguments":"{\"a\": "}}]}
        "#]],
    );
}

#[test]
fn a_call_that_the_limit_cut_is_none() {
    const WHOLE: &str = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"pwd","input":{}}}"#;
    const CUT: &str = r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_2","name":"glob","input":{}}}"#;
    const TEXT: &str =
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"I lo"}}"#;
    const PIECE: &str = r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"pat"}}"#;
    const END: &str = r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}"#;
    check(
        &[WHOLE, CUT, PIECE, END],
        expect![[r#"
            ToolCall { provider_call_id: Some("toolu_1"), name: ToolName("pwd"), arguments: Object {}, signature: None }
            Length Usage { prompt_tokens: 0, cached_tokens: 0, cache_write_tokens: 0, output_tokens: 0, thought_tokens: 0 }
            {"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"pwd","input":{}}]}
        "#]],
    );
    check(
        &[CUT, END],
        expect![[r#"
            Length Usage { prompt_tokens: 0, cached_tokens: 0, cache_write_tokens: 0, output_tokens: 0, thought_tokens: 0 }

        "#]],
    );
    // Nothing is left for what was thought.
    let thought = r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"hm","signature":"c2ln"}}"#;
    check(
        &[thought, CUT, END],
        expect![[r#"
            ThoughtDelta("hm")
            Thought { text: "hm", signature: Some("c2ln") }
            Length Usage { prompt_tokens: 0, cached_tokens: 0, cache_write_tokens: 0, output_tokens: 0, thought_tokens: 0 }

        "#]],
    );
    // What stands before something else was whole.
    check(
        &[WHOLE, TEXT, END],
        expect![[r#"
            TextDelta("I lo")
            ToolCall { provider_call_id: Some("toolu_1"), name: ToolName("pwd"), arguments: Object {}, signature: None }
            Text("I lo")
            Length Usage { prompt_tokens: 0, cached_tokens: 0, cache_write_tokens: 0, output_tokens: 0, thought_tokens: 0 }
            {"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"pwd","input":{}},{"type":"text","text":"I lo"}]}
        "#]],
    );
}

#[test]
fn every_end_is_told_for_what_it_is() {
    let text = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"x"}}"#;
    let thought =
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"x"}}"#;
    let cases = [
        (text, "\"end_turn\""),
        (text, "\"stop_sequence\""),
        (thought, "\"end_turn\""),
        (text, "\"max_tokens\""),
        (thought, "\"model_context_window_exceeded\""),
        (text, "\"refusal\""),
        (text, "\"pause_turn\""),
        (text, "null"),
    ];
    let mut told = String::new();
    for (block, reason) in cases {
        let mut reply = MessageReply::default();
        reply.push(block).unwrap();
        reply.push(&format!(r#"{{"type":"message_delta","delta":{{"stop_reason":{reason}}}}}"#)).unwrap();
        let outcome = reply.finish().map(|reply| reply.reason);
        told.push_str(&format!("{reason}: {outcome:?}\n"));
    }
    expect![[r#"
        "end_turn": Ok(Stop)
        "stop_sequence": Ok(Stop)
        "end_turn": Err(Unusable { message: "the response is empty" })
        "max_tokens": Ok(Length)
        "model_context_window_exceeded": Ok(Length)
        "refusal": Ok(Refused { message: "refusal" })
        "pause_turn": Err(Unusable { message: "the response is malformed: it stopped for \"pause_turn\"" })
        null: Err(Unusable { message: "the response ended without a stop reason" })
    "#]]
    .assert_eq(&told);
}

#[test]
fn an_error_in_the_stream_is_one_and_other_json_is_none_of_ours() {
    check(
        &[r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#],
        expect![[r#"
            ProviderError { status: Some(529), kind: "overloaded_error", code: "", message: "Overloaded", retry_after: None, is_about_key: false }
            Unusable { message: "the response ended without a stop reason" }
        "#]],
    );
    for wrong in
        ["", "x", "[1]", "{}", r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta"}}"#]
    {
        assert!(MessageReply::default().push(wrong).is_err(), "{wrong}");
    }
    // Of a block that never began.
    let stray = r#"{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"x"}}"#;
    assert_eq!(MessageReply::default().push(stray).unwrap().len(), 0);
}

#[test]
fn what_would_be_refused_when_it_goes_back_is_no_reply() {
    let begin =
        |block: &str| format!(r#"{{"type":"content_block_start","index":0,"content_block":{block}}}"#);
    let cases = [
        r#"{"type":"tool_use","id":"toolu_1","input":{}}"#,
        r#"{"type":"tool_use","id":"toolu_1","name":"","input":{}}"#,
        r#"{"text":"x"}"#,
        r#"{"type":"","text":"x"}"#,
    ];
    let told: String = cases
        .iter()
        .map(|block| {
            let mut reply = MessageReply::default();
            reply
                .push(
                    r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"x"}}"#,
                )
                .unwrap();
            reply.push(&begin(block)).unwrap();
            reply.push(r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#).unwrap();
            format!("{:?}\n", reply.finish().map(|reply| reply.raw.map(|raw| raw.raw)))
        })
        .collect();
    expect![[r#"
        Err(Unusable { message: "the response is malformed: it calls a tool without a name" })
        Err(Unusable { message: "the response is malformed: it calls a tool without a name" })
        Err(Unusable { message: "the response is malformed: it has a block without a type" })
        Err(Unusable { message: "the response is malformed: it has a block without a type" })
    "#]]
    .assert_eq(&told);
    // A thought that the output limit cut off before it was signed.
    let mut reply = MessageReply::default();
    reply.push(&begin(r#"{"type":"thinking","thinking":"h","signature":""}"#)).unwrap();
    reply
        .push(r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"x"}}"#)
        .unwrap();
    reply.push(r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}"#).unwrap();
    let raw = reply.finish().unwrap().raw.unwrap();
    assert_eq!(raw.raw.get(), r#"{"role":"assistant","content":[{"type":"text","text":"x"}]}"#);
}
