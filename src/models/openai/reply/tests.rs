//! Replies of many servers: whole, in pieces, and broken.

use expect_test::{Expect, expect};

use super::*;

/// Every delta, then the reply or why there is none.
fn check(chunks: &[&str], expected: Expect) {
    let mut reply = ChatReply::default();
    let mut told = String::new();
    for chunk in chunks {
        for delta in reply.push(chunk).unwrap() {
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
            told.push_str(&format!("{reason:?} {usage:?} {raw:?}\n"));
        }
        Err(error) => told.push_str(&format!("{error:?}\n")),
    }
    expected.assert_eq(&told);
}

#[test]
fn text_thoughts_and_parallel_calls_come_in_pieces() {
    check(
        &[
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}"#,
            r#"{"choices":[{"index":0,"delta":{"reasoning_content":"I "}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"reasoning_content":"think","reasoning":"think","reasoning_details":[{"a":1}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"Hel"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"lo","reasoning_details":[{"b":1}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"glob","arguments":""}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"pattern\":"}},{"index":1,"id":"c2","function":{"name":"grep","arguments":"{\"pat"}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"*\"}"}},{"index":1,"function":{"arguments":"tern\":\"x\"}"}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":30,"total_tokens":130,"prompt_tokens_details":{"cached_tokens":60},"completion_tokens_details":{"reasoning_tokens":12}}}"#,
            "[DONE]",
        ],
        expect![[r#"
            ThoughtDelta("I ")
            ThoughtDelta("think")
            TextDelta("Hel")
            TextDelta("lo")
            Thought { text: "I think", signature: None }
            Text("Hello")
            ToolCall { provider_call_id: Some("c1"), name: ToolName("glob"), arguments: Object {"pattern": String("*")}, signature: None }
            ToolCall { provider_call_id: Some("c2"), name: ToolName("grep"), arguments: Object {"pattern": String("x")}, signature: None }
            Stop Usage { prompt_tokens: 100, cached_tokens: 60, cache_write_tokens: 0, output_tokens: 18, thought_tokens: 12 } Some("{\"reasoning_content\":\"I think\",\"reasoning\":\"think\",\"reasoning_details\":[{\"a\":1},{\"b\":1}]}")
        "#]],
    );
}

#[test]
fn calls_of_servers_that_number_them_badly_are_told_apart() {
    // All with the same index; without any; the arguments as an object; broken ones.
    check(
        &[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":"{}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"two","arguments":"{}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"id":"c","function":{"name":"three","arguments":{"x":1}}},{"id":"d","function":{"name":"four","arguments":"{\"y\""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":":2}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":7,"id":"","function":{"name":"five"}},{"index":8,"id":"e","function":{"name":"six","arguments":"{\"a\": "}}]}}]}"#,
            r#"{"choices":[{"delta":{"content":null,"tool_calls":null},"finish_reason":"stop"}]}"#,
        ],
        expect![[r#"
            ToolCall { provider_call_id: Some("a"), name: ToolName("one"), arguments: Object {}, signature: None }
            ToolCall { provider_call_id: Some("b"), name: ToolName("two"), arguments: Object {}, signature: None }
            ToolCall { provider_call_id: Some("c"), name: ToolName("three"), arguments: Object {"x": Number(1)}, signature: None }
            ToolCall { provider_call_id: Some("d"), name: ToolName("four"), arguments: Object {"y": Number(2)}, signature: None }
            ToolCall { provider_call_id: None, name: ToolName("five"), arguments: Object {}, signature: None }
            ToolCall { provider_call_id: Some("e"), name: ToolName("six"), arguments: String("{\"a\": "), signature: None }
            Stop Usage { prompt_tokens: 0, cached_tokens: 0, cache_write_tokens: 0, output_tokens: 0, thought_tokens: 0 } None
        "#]],
    );
}

#[test]
fn a_call_that_the_limit_cut_is_none() {
    let call = |index: u8, name: &str, arguments: &str| {
        let function = serde_json::json!({ "name": name, "arguments": arguments });
        serde_json::json!({ "choices": [{ "delta": { "tool_calls": [
            { "index": index, "id": format!("c{index}"), "function": function },
        ] } }] })
        .to_string()
    };
    let whole = call(0, "glob", r#"{"pattern":"*"}"#);
    let cases = [
        vec![call(0, "list_directory", "")],
        vec![call(0, "list_directory", "{\"pa")],
        vec![whole.clone(), call(1, "", "")],
        vec![whole.clone(), call(1, "glob", " ")],
        // This one needs none, or was there before the limit: another began after it.
        vec![call(0, "list_directory", ""), call(1, "glob", "{}")],
        vec![whole],
    ];
    let mut told = String::new();
    for calls in cases {
        let mut reply = ChatReply::default();
        let end = r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#.to_owned();
        for chunk in calls.into_iter().chain([end]) {
            reply.push(&chunk).unwrap();
        }
        let ModelReply { parts, reason, .. } = reply.finish().unwrap();
        let calls = parts.iter().map(|part| match part {
            ReplyPart::ToolCall { name, arguments, .. } => format!(" {}{arguments}", name.as_str()),
            other => panic!("{other:?}"),
        });
        told.push_str(&format!("{reason:?}:{}\n", calls.collect::<String>()));
    }
    expect![[r#"
        Length:
        Length:
        Length: glob{"pattern":"*"}
        Length: glob{"pattern":"*"}
        Length: list_directory{} glob{}
        Length: glob{"pattern":"*"}
    "#]]
    .assert_eq(&told);
}

#[test]
fn every_end_is_told_for_what_it_is() {
    let end = |reason: &str| format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":{reason}}}]}}"#);
    let text = r#"{"choices":[{"delta":{"content":"x"}}]}"#;
    let refusal = r#"{"choices":[{"delta":{"refusal":"I will not."}}]}"#;
    let nameless =
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{}"}}]}}]}"#;
    let cases: [(&[&str], &str); 9] = [
        (&[text], "\"stop\""),
        (&[], "\"stop\""),
        (&[text], "\"length\""),
        (&[text], "\"content_filter\""),
        (&[refusal], "\"stop\""),
        (&[text], "\"error\""),
        (&[text], "null"),
        (&[text], "\"\""),
        (&[text, nameless], "\"tool_calls\""),
    ];
    let mut told = String::new();
    for (chunks, reason) in cases {
        let mut reply = ChatReply::default();
        for chunk in chunks.iter().copied().chain([end(reason).as_str()]) {
            reply.push(chunk).unwrap();
        }
        let outcome = reply.finish().map(|reply| reply.reason);
        told.push_str(&format!("{reason}: {outcome:?}\n"));
    }
    expect![[r#"
        "stop": Ok(Stop)
        "stop": Err(Unusable { message: "the response is empty" })
        "length": Ok(Length)
        "content_filter": Ok(Refused { message: "content_filter" })
        "stop": Ok(Refused { message: "I will not." })
        "error": Err(Unusable { message: "the response is malformed: it ended with \"error\"" })
        null: Err(Unusable { message: "the response ended without a finish reason" })
        "": Err(Unusable { message: "the response ended without a finish reason" })
        "tool_calls": Err(Unusable { message: "the response is malformed: it calls a function without a name" })
    "#]]
    .assert_eq(&told);
}

#[test]
fn an_error_in_the_stream_is_one_and_other_json_is_none_of_ours() {
    check(
        &[r#"{"error":{"message":"Overloaded","type":"server_error","code":503}}"#],
        expect![[r#"
            ProviderError { status: Some(503), kind: "server_error", code: "503", message: "Overloaded", retry_after: None, is_about_key: false }
            Unusable { message: "the response ended without a finish reason" }
        "#]],
    );
    for wrong in ["", "x", "[1]", r#"{"choices":1}"#, r#"{"choices":[{"delta":{"content":5}}]}"#] {
        assert!(ChatReply::default().push(wrong).is_err(), "{wrong}");
    }
    // Whatever else a server puts in.
    assert_eq!(ChatReply::default().push(r#"{"id":"x","choices":null,"x_groq":{}}"#).unwrap().len(), 0);
}
