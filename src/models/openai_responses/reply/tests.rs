//! Replies of OpenAI and of servers that speak like it: whole, in pieces, and broken.

use expect_test::{Expect, expect};

use super::{super::super::sse::SseDecoder, *};

/// Every delta, then the reply or why there is none.
fn told<S: AsRef<str>>(events: &[S]) -> String {
    let mut reply = ItemReply::default();
    let mut told = String::new();
    let (mut text, mut thought) = (String::new(), String::new());
    for event in events {
        for delta in reply.push(event.as_ref()).unwrap() {
            told.push_str(&format!("{delta:?}\n"));
            match delta {
                ModelEvent::TextDelta(delta) => text.push_str(&delta),
                ModelEvent::ThoughtDelta(delta) => thought.push_str(&delta),
                ModelEvent::Alive
                | ModelEvent::Unshown(_)
                | ModelEvent::Broken
                | ModelEvent::Usage(_)
                | ModelEvent::Grounded(_)
                | ModelEvent::Finished(_) => {
                    panic!("too early")
                }
            }
        }
        if let Some(error) = reply.take_error() {
            told.push_str(&format!("{error:?}\n"));
        }
    }
    match reply.finish() {
        Ok(ModelReply { parts, raw, usage, reason }) => {
            let (mut whole_text, mut whole_thought) = (String::new(), String::new());
            for part in parts {
                told.push_str(&format!("{part:?}\n"));
                match part {
                    ReplyPart::Text(part) => whole_text.push_str(&part),
                    ReplyPart::Thought { text, .. } => whole_thought.push_str(&text),
                    ReplyPart::ToolCall { .. } => {}
                }
            }
            // What every adapter keeps to.
            assert_eq!((text, thought), (whole_text, whole_thought));
            let raw = raw.map(|raw| format!("{} {}", raw.provider, raw.raw.get()));
            told.push_str(&format!("{reason:?} {usage:?}\n{}\n", raw.unwrap_or_default()));
        }
        Err(error) => told.push_str(&format!("{error:?}\n")),
    }
    told
}

fn check(events: &[&str], expected: Expect) {
    expected.assert_eq(&told(events));
}

/// As the provider's documentation shows them, with a thought, text and two calls.
const STREAM: &[&str] = &[
    r#"{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","error":null,"incomplete_details":null,"output":[],"usage":null}}"#,
    r#"{"type":"response.in_progress","sequence_number":1,"response":{"id":"resp_1","status":"in_progress","output":[]}}"#,
    r#"{"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"rs_1","type":"reasoning","encrypted_content":"gAAA","summary":[]}}"#,
    r#"{"type":"response.reasoning_summary_part.added","sequence_number":3,"item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}"#,
    r#"{"type":"response.reasoning_summary_text.delta","sequence_number":4,"item_id":"rs_1","output_index":0,"summary_index":0,"delta":"**Plan"}"#,
    r#"{"type":"response.reasoning_summary_text.delta","sequence_number":5,"item_id":"rs_1","output_index":0,"summary_index":0,"delta":"** é"}"#,
    r#"{"type":"response.reasoning_summary_text.done","sequence_number":6,"item_id":"rs_1","output_index":0,"summary_index":0,"text":"**Plan** é"}"#,
    r#"{"type":"response.reasoning_summary_text.delta","sequence_number":7,"item_id":"rs_1","output_index":0,"summary_index":1,"delta":"then"}"#,
    r#"{"type":"response.output_item.done","sequence_number":8,"output_index":0,"item":{"id":"rs_1","type":"reasoning","encrypted_content":"gAAAx=","summary":[{"type":"summary_text","text":"**Plan** é"},{"type":"summary_text","text":"then"}]}}"#,
    r#"{"type":"response.output_item.added","sequence_number":9,"output_index":1,"item":{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}}"#,
    r#"{"type":"response.content_part.added","sequence_number":10,"item_id":"msg_1","output_index":1,"content_index":0,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}}"#,
    r#"{"type":"response.output_text.delta","sequence_number":11,"item_id":"msg_1","output_index":1,"content_index":0,"delta":"Hel","logprobs":[]}"#,
    r#"{"type":"response.output_text.delta","sequence_number":12,"item_id":"msg_1","output_index":1,"content_index":0,"delta":"lo","logprobs":[]}"#,
    r#"{"type":"response.output_text.done","sequence_number":13,"item_id":"msg_1","output_index":1,"content_index":0,"text":"Hello","logprobs":[]}"#,
    r#"{"type":"response.output_item.done","sequence_number":14,"output_index":1,"item":{"id":"msg_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"Hello"}],"role":"assistant"}}"#,
    r#"{"type":"response.output_item.added","sequence_number":15,"output_index":2,"item":{"id":"fc_1","type":"function_call","status":"in_progress","arguments":"","call_id":"call_1","name":"glob"}}"#,
    r#"{"type":"response.function_call_arguments.delta","sequence_number":16,"item_id":"fc_1","output_index":2,"delta":"{\"pattern\":"}"#,
    r#"{"type":"response.function_call_arguments.delta","sequence_number":17,"item_id":"fc_1","output_index":2,"delta":"\"*\"}"}"#,
    r#"{"type":"response.function_call_arguments.done","sequence_number":18,"item_id":"fc_1","output_index":2,"arguments":"{\"pattern\":\"*\"}"}"#,
    r#"{"type":"response.output_item.done","sequence_number":19,"output_index":2,"item":{"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"pattern\":\"*\"}","call_id":"call_1","name":"glob"}}"#,
    r#"{"type":"response.output_item.added","sequence_number":20,"output_index":3,"item":{"id":"fc_2","type":"function_call","status":"in_progress","arguments":"","call_id":"call_2","name":"grep"}}"#,
    r#"{"type":"response.output_item.done","sequence_number":21,"output_index":3,"item":{"id":"fc_2","type":"function_call", "status":"completed","arguments":"","call_id":"call_2","name":"grep"}}"#,
    r#"{"type":"response.completed","sequence_number":22,"response":{"id":"resp_1","status":"completed","output":[{},{},{},{}],"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":60},"output_tokens":30,"output_tokens_details":{"reasoning_tokens":12},"total_tokens":130}}}"#,
];

#[test]
fn thoughts_text_and_parallel_calls_come_in_pieces() {
    check(
        STREAM,
        expect![[r#"
            ThoughtDelta("**Plan")
            ThoughtDelta("** é")
            ThoughtDelta("\n\nthen")
            TextDelta("Hel")
            TextDelta("lo")
            Thought { text: "**Plan** é\n\nthen", signature: None }
            Text("Hello")
            ToolCall { provider_call_id: Some("call_1"), name: ToolName("glob"), arguments: Object {"pattern": String("*")}, signature: None }
            ToolCall { provider_call_id: Some("call_2"), name: ToolName("grep"), arguments: Object {}, signature: None }
            Stop Usage { prompt_tokens: 100, cached_tokens: 60, cache_write_tokens: 0, output_tokens: 18, thought_tokens: 12 }
            openai-responses {"output":[{"id":"rs_1","type":"reasoning","encrypted_content":"gAAAx=","summary":[{"type":"summary_text","text":"**Plan** é"},{"type":"summary_text","text":"then"}]},{"id":"msg_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"Hello"}],"role":"assistant"},{"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"pattern\":\"*\"}","call_id":"call_1","name":"glob"},{"name":"grep","type":"function_call","status":"completed","arguments":"{}","call_id":"call_2"}]}
        "#]],
    );
}

#[test]
fn a_stream_says_the_same_wherever_it_is_cut() {
    let body: String =
        STREAM.iter().map(|event| format!("event: of a kind\r\ndata: {event}\r\n\r\n")).collect();
    for at in 0..=body.len() {
        let mut decoder = SseDecoder::default();
        let mut events = Vec::new();
        let (begin, rest) = body.as_bytes().split_at(at);
        for mut piece in [begin, rest] {
            while let Some(event) = decoder.next(&mut piece).unwrap() {
                events.push(event.to_owned());
            }
        }
        events.extend(decoder.finish().unwrap().map(str::to_owned));
        // The same events make the same reply.
        assert_eq!(events, STREAM, "cut at {at}");
    }
}

#[test]
fn servers_that_say_less_are_understood() {
    // No pieces: every item at once.
    check(
        &[
            r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"},{"type":"reasoning_text","text":"so"}]}}"#,
            r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"output_text","text":"b"}]}}"#,
            r#"{"type":"response.completed","response":{"output":null,"usage":null}}"#,
            "[DONE]",
        ],
        expect![[r#"
            ThoughtDelta("hm")
            ThoughtDelta("\n\nso")
            TextDelta("ab")
            Thought { text: "hm\n\nso", signature: None }
            Text("ab")
            Stop Usage { prompt_tokens: 0, cached_tokens: 0, cache_write_tokens: 0, output_tokens: 0, thought_tokens: 0 }
            openai-responses {"output":[{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"},{"type":"reasoning_text","text":"so"}]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"output_text","text":"b"}]}]}
        "#]],
    );
    // Pieces, and the whole only at the end, in which there is a little more.
    check(
        &[
            r#"{"type":"response.reasoning_text.delta","output_index":0,"content_index":0,"delta":"hm"}"#,
            r#"{"type":"response.output_text.delta","output_index":1,"delta":"We"}"#,
            r#"{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{"}"#,
            r#"{"type":"response.completed","response":{"output":[{"type":"reasoning","content":[{"type":"reasoning_text","text":"hm"}]},{"type":"message","content":[{"type":"output_text","text":"Well"}]},{"type":"function_call","call_id":"","name":"glob","arguments":"{}"},{"type":"web_search_call","action":{"query":"x"},"arguments":{}}]}}"#,
        ],
        expect![[r#"
            ThoughtDelta("hm")
            TextDelta("We")
            TextDelta("ll")
            Thought { text: "hm", signature: None }
            Text("Well")
            ToolCall { provider_call_id: None, name: ToolName("glob"), arguments: Object {}, signature: None }
            Stop Usage { prompt_tokens: 0, cached_tokens: 0, cache_write_tokens: 0, output_tokens: 0, thought_tokens: 0 }
            openai-responses {"output":[{"type":"reasoning","content":[{"type":"reasoning_text","text":"hm"}]},{"type":"message","content":[{"type":"output_text","text":"Well"}]},{"type":"function_call","call_id":"","name":"glob","arguments":"{}"},{"type":"web_search_call","action":{"query":"x"},"arguments":{}}]}
        "#]],
    );
    // No whole at all: nothing can go back as it came.
    check(
        &[
            r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"c2","name":"grep","arguments":"{\"a\": 1}"}}"#,
            r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c1","name":"glob","arguments":null}}"#,
            r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"b\":"}"#,
            r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":" 2}"}"#,
            r#"{"type":"response.completed","response":{}}"#,
        ],
        expect![[r#"
            ToolCall { provider_call_id: Some("c1"), name: ToolName("glob"), arguments: Object {"b": Number(2)}, signature: None }
            ToolCall { provider_call_id: Some("c2"), name: ToolName("grep"), arguments: Object {"a": Number(1)}, signature: None }
            Stop Usage { prompt_tokens: 0, cached_tokens: 0, cache_write_tokens: 0, output_tokens: 0, thought_tokens: 0 }

        "#]],
    );
    // All items at one place.
    check(
        &[
            r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c1","name":"glob"}}"#,
            r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{}"}"#,
            r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"c1","name":"glob","arguments":"{}"}}"#,
            r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c2","name":"grep"}}"#,
            r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"c2","name":"grep","arguments":"{}"}}"#,
            r#"{"type":"response.completed","response":{"output":[{"type":"function_call","call_id":"c1","name":"glob","arguments":"{}"},{"type":"function_call","call_id":"c2","name":"grep","arguments":"{}"}]}}"#,
        ],
        expect![[r#"
            ToolCall { provider_call_id: Some("c1"), name: ToolName("glob"), arguments: Object {}, signature: None }
            ToolCall { provider_call_id: Some("c2"), name: ToolName("grep"), arguments: Object {}, signature: None }
            Stop Usage { prompt_tokens: 0, cached_tokens: 0, cache_write_tokens: 0, output_tokens: 0, thought_tokens: 0 }
            openai-responses {"output":[{"type":"function_call","call_id":"c1","name":"glob","arguments":"{}"},{"type":"function_call","call_id":"c2","name":"grep","arguments":"{}"}]}
        "#]],
    );
    // Four calls whose pieces come in any order; one of them is broken, and goes back as one that can be read.
    let added = |index: u32| {
        format!(
            r#"{{"type":"response.output_item.added","output_index":{index},"item":{{"type":"function_call","call_id":"c{index}","name":"glob"}}}}"#
        )
    };
    let piece = |index: u32, piece: &str| {
        format!(
            r#"{{"type":"response.function_call_arguments.delta","output_index":{index},"delta":{}}}"#,
            json!(piece)
        )
    };
    let done = |index: u32, arguments: &str| {
        format!(
            r#"{{"type":"response.output_item.done","output_index":{index},"item":{{"type":"function_call","call_id":"c{index}","name":"glob","arguments":{}}}}}"#,
            json!(arguments)
        )
    };
    let events = [
        added(0),
        added(1),
        added(2),
        added(3),
        piece(3, "{\"n\""),
        piece(0, "{}"),
        piece(1, "{\"n\":"),
        piece(3, ":3}"),
        piece(1, "1"),
        done(3, "{\"n\":3}"),
        done(0, "{}"),
        done(1, "{\"n\":1"),
        done(2, "[2]"),
        r#"{"type":"response.completed","response":{}}"#.to_owned(),
    ];
    expect![[r#"
        ToolCall { provider_call_id: Some("c0"), name: ToolName("glob"), arguments: Object {}, signature: None }
        ToolCall { provider_call_id: Some("c1"), name: ToolName("glob"), arguments: String("{\"n\":1"), signature: None }
        ToolCall { provider_call_id: Some("c2"), name: ToolName("glob"), arguments: Array [Number(2)], signature: None }
        ToolCall { provider_call_id: Some("c3"), name: ToolName("glob"), arguments: Object {"n": Number(3)}, signature: None }
        Stop Usage { prompt_tokens: 0, cached_tokens: 0, cache_write_tokens: 0, output_tokens: 0, thought_tokens: 0 }
        openai-responses {"output":[{"type":"function_call","call_id":"c0","name":"glob","arguments":"{}"},{"type":"function_call","call_id":"c1","name":"glob","arguments":"{\"arguments\":\"{\\\"n\\\":1\"}"},{"type":"function_call","call_id":"c2","name":"glob","arguments":"{\"arguments\":[2]}"},{"type":"function_call","call_id":"c3","name":"glob","arguments":"{\"n\":3}"}]}
    "#]].assert_eq(&told(&events));
}

#[test]
fn every_end_is_told_for_what_it_is() {
    let completed = r#"{"type":"response.completed","response":{}}"#;
    let incomplete = |reason: &str| {
        format!(r#"{{"type":"response.incomplete","response":{{"incomplete_details":{reason}}}}}"#)
    };
    let (length, filter) =
        (incomplete(r#"{"reason":"max_output_tokens"}"#), incomplete(r#"{"reason":"content_filter"}"#));
    let (other, none) = (incomplete(r#"{"reason":"new"}"#), incomplete("null"));
    let text = r#"{"type":"response.output_text.delta","output_index":0,"delta":"x"}"#;
    let thought =
        r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"x"}"#;
    let refusal =
        r#"{"type":"response.refusal.delta","output_index":0,"content_index":0,"delta":"I will not."}"#;
    let refused = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"refusal","refusal":"I will not."}]}}"#;
    let nameless = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"c","name":"","arguments":"{}"}}"#;
    let unknown = r#"{"type":"response.function_call_arguments.done","output_index":4,"arguments":"{}"}"#;
    let cases: [&[&str]; 15] = [
        &[text, completed],
        &[completed],
        &[thought, completed],
        &[text, &length],
        &[thought, &length],
        &[&length],
        &[text, &filter],
        &[text, &other],
        &[text, &none],
        &[refusal, completed],
        &[refusal, refused, completed],
        &[refused, &length],
        &[text, nameless, completed],
        &[unknown, completed],
        &[text],
    ];
    let told: String = cases
        .iter()
        .map(|events| {
            let mut reply = ItemReply::default();
            events.iter().for_each(|event| drop(reply.push(event).unwrap()));
            format!("{} {:?}\n", reply.is_whole(), reply.finish().map(|reply| reply.reason))
        })
        .collect();
    expect![[r#"
        true Ok(Stop)
        true Err(Unusable { message: "the response is empty" })
        true Err(Unusable { message: "the response is empty" })
        true Ok(Length)
        true Ok(Length)
        true Ok(Length)
        true Ok(Refused { message: "content_filter" })
        true Err(Unusable { message: "the response is incomplete for a reason of its own: \"new\"" })
        true Err(Unusable { message: "the response is incomplete for a reason of its own: \"\"" })
        true Ok(Refused { message: "I will not." })
        true Ok(Refused { message: "I will not." })
        true Ok(Refused { message: "I will not." })
        true Err(Unusable { message: "the response is malformed: it calls a tool without a name" })
        true Err(Unusable { message: "the response is malformed: it calls a tool without a name" })
        false Err(Unusable { message: "the response ended before it was complete" })
    "#]]
    .assert_eq(&told);
}

#[test]
fn an_error_in_the_stream_is_one_and_other_json_is_none_of_ours() {
    check(
        &[
            r#"{"type":"response.output_text.delta","output_index":0,"delta":"x"}"#,
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"Limit 3. Please try again in 1.898s."}}}"#,
            r#"{"type":"error","code":"server_error","message":"oops","param":null,"sequence_number":3}"#,
            r#"{"type":"response.failed","response":{"error":null}}"#,
        ],
        expect![[r#"
            TextDelta("x")
            ProviderError { status: Some(429), kind: "", code: "rate_limit_exceeded", message: "Limit 3. Please try again in 1.898s.", retry_after: Some(1.898s), is_about_key: false }
            ProviderError { status: Some(500), kind: "", code: "server_error", message: "oops", retry_after: None, is_about_key: false }
            ProviderError { status: None, kind: "", code: "", message: "", retry_after: None, is_about_key: false }
            Unusable { message: "the response ended before it was complete" }
        "#]],
    );
    let wrong = [
        "",
        "x",
        "[1]",
        "{}",
        r#"{"type":1}"#,
        r#"{"type":"response.output_text.delta","delta":"x"}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":5}}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{}}"#,
        r#"{"type":"response.completed"}"#,
    ];
    for wrong in wrong {
        assert!(ItemReply::default().push(wrong).is_err(), "{wrong}");
    }
    let new = [
        r#"{"type":"response.new_thing.delta","delta":{"x":1}}"#,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"new_call","call_id":5}}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"new_call","content":5}}"#,
    ];
    for new in new {
        assert_eq!(ItemReply::default().push(new).unwrap().len(), 0, "{new}");
    }
}

#[test]
fn a_call_that_the_limit_cut_is_none() {
    const WHOLE: &str = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"c1","name":"pwd","arguments":"{}"}}"#;
    const BEGUN: &str = r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"c2","name":"glob","arguments":""}}"#;
    const CUT: &str = r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"c2","name":"glob","arguments":"{\"pat","status":"incomplete"}}"#;
    const END: &str =
        r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}"#;
    for rest in [&[BEGUN][..], &[BEGUN, CUT]] {
        check(
            &[&[WHOLE], rest, &[END]].concat(),
            expect![[r#"
                ToolCall { provider_call_id: Some("c1"), name: ToolName("pwd"), arguments: Object {}, signature: None }
                Length Usage { prompt_tokens: 0, cached_tokens: 0, cache_write_tokens: 0, output_tokens: 0, thought_tokens: 0 }
                openai-responses {"output":[{"type":"function_call","call_id":"c1","name":"pwd","arguments":"{}"}]}
            "#]],
        );
    }
    check(
        &[BEGUN, CUT, END],
        expect![[r#"
            Length Usage { prompt_tokens: 0, cached_tokens: 0, cache_write_tokens: 0, output_tokens: 0, thought_tokens: 0 }

        "#]],
    );
}
