//! Replies in Gemini's shape: whole, in pieces, and broken.

use expect_test::{Expect, expect};

use super::{GeminiReply, ReplyAssembler as _};
use crate::{ModelError, ModelEvent};

/// Every delta, then the reply or why there is none.
fn check(chunks: &[&str], expected: Expect) {
    let mut reply = GeminiReply::default();
    let mut told = String::new();
    for chunk in chunks {
        for delta in reply.push(chunk).unwrap() {
            told.push_str(&format!("{delta:?}\n"));
        }
    }
    match reply.finish() {
        Ok(reply) => {
            for part in &reply.parts {
                told.push_str(&format!("{part:?}\n"));
            }
            let raw = reply.raw.unwrap();
            told.push_str(&format!("{} {}\n{:?}\n{:?}\n", raw.provider, raw.raw, reply.usage, reply.reason));
        }
        Err(error) => told.push_str(&format!("{error:?}\n")),
    }
    expected.assert_eq(&told);
}

#[test]
fn thoughts_text_and_calls_become_parts_and_stay_verbatim() {
    check(
        &[
            r#"{"candidates":[{"content":{"parts":[{"text":"**Plan**","thought":true}],"role":"model"}}],"usageMetadata":{"promptTokenCount":10,"thoughtsTokenCount":4}}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":" on","thought":true},{"text":"I read "}]}}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"two."},{"functionCall":{"id":"7","name":"read_file","args":{"file_path": "a","n":1.50}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"glob"}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":3,"candidatesTokenCount":6,"thoughtsTokenCount":4}}"#,
        ],
        expect![[r#"
            ThoughtDelta("**Plan**")
            ThoughtDelta(" on")
            TextDelta("I read ")
            TextDelta("two.")
            Thought { text: "**Plan** on", signature: None }
            Text("I read two.")
            ToolCall { provider_call_id: Some("7"), name: ToolName("read_file"), arguments: Object {"file_path": String("a"), "n": Number(1.5)}, signature: Some("c2ln") }
            ToolCall { provider_call_id: None, name: ToolName("glob"), arguments: Object {}, signature: None }
            gemini {"role":"model","parts":[{"text":"**Plan**","thought":true},{"text":" on","thought":true},{"text":"I read "},{"text":"two."},{"functionCall":{"id":"7","name":"read_file","args":{"file_path": "a","n":1.50}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"glob"}}]}
            Usage { prompt_tokens: 10, cached_tokens: 3, cache_write_tokens: 0, output_tokens: 6, thought_tokens: 4 }
            Stop
        "#]],
    );
}

#[test]
fn a_signature_closes_a_thought() {
    check(
        &[
            r#"{"candidates":[{"content":{"parts":[{"text":"a","thought":true,"thoughtSignature":"eA=="},{"text":"b","thought":true},{"text":"","thoughtSignature":"eQ=="},{"text":"done"}]},"finishReason":"MAX_TOKENS"}]}"#,
        ],
        expect![[r#"
            ThoughtDelta("a")
            ThoughtDelta("b")
            TextDelta("done")
            Thought { text: "a", signature: Some("eA==") }
            Thought { text: "b", signature: None }
            Text("done")
            gemini {"role":"model","parts":[{"text":"a","thought":true,"thoughtSignature":"eA=="},{"text":"b","thought":true},{"text":"","thoughtSignature":"eQ=="},{"text":"done"}]}
            Usage { prompt_tokens: 0, cached_tokens: 0, cache_write_tokens: 0, output_tokens: 0, thought_tokens: 0 }
            Length
        "#]],
    );
}

#[test]
fn withheld_answers_carry_the_providers_words() {
    check(
        &[
            r#"{"candidates":[{"content":{"parts":[{"text":"I"}]},"finishReason":"SAFETY","finishMessage":"too sharp"}]}"#,
        ],
        expect![[r#"
            TextDelta("I")
            Text("I")
            gemini {"role":"model","parts":[{"text":"I"}]}
            Usage { prompt_tokens: 0, cached_tokens: 0, cache_write_tokens: 0, output_tokens: 0, thought_tokens: 0 }
            Refused { message: "SAFETY: too sharp" }
        "#]],
    );
    check(
        &[r#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}"#],
        expect![[r#"
        gemini {"role":"model","parts":[]}
        Usage { prompt_tokens: 0, cached_tokens: 0, cache_write_tokens: 0, output_tokens: 0, thought_tokens: 0 }
        Refused { message: "PROHIBITED_CONTENT" }
    "#]],
    );
}

#[test]
fn empty_cut_and_malformed_replies_are_unusable() {
    let cases: &[&[&str]] = &[
        &[],
        &["{}"],
        &[r#"{"candidates":[]}"#],
        &[r#"{"candidates":[{"content":{"parts":[{"text":"cut"}]}}]}"#],
        &[r#"{"candidates":[{"content":{"role":"model"},"finishReason":"STOP"}]}"#],
        &[r#"{"candidates":[{"content":{"parts":[{"text":"hm","thought":true}]},"finishReason":"STOP"}]}"#],
        &[r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}"#],
        &[
            r#"{"candidates":[{"content":{"parts":[{"text":"I"},{"functionCall":{"name":""}}]},"finishReason":"STOP"}]}"#,
        ],
    ];
    for chunks in cases {
        let mut reply = GeminiReply::default();
        for chunk in *chunks {
            reply.push(chunk).unwrap();
        }
        assert!(matches!(reply.finish(), Err(ModelError::Unusable { .. })), "{chunks:?}");
    }
}

#[test]
fn a_finish_reason_that_says_nothing_makes_no_reply_whole() {
    for (reason, expected) in
        [("", false), ("FINISH_REASON_UNSPECIFIED", false), ("STOP", true), ("NEW", true)]
    {
        let mut reply = GeminiReply::default();
        assert!(!reply.is_whole());
        reply.push(&format!(r#"{{"candidates":[{{"finishReason":"{reason}"}}]}}"#)).unwrap();
        assert_eq!(reply.is_whole(), expected, "{reason}");
    }
}

#[test]
fn parts_without_data_do_not_go_back() {
    check(
        &[
            r#"{"candidates":[{"content":{"parts":[{"thought":true},{"text":"a"},{},{"thoughtSignature":"eA=="},{"text":""},{"newKind":{}}]},"finishReason":"STOP"}]}"#,
        ],
        expect![[r#"
            TextDelta("a")
            Text("a")
            gemini {"role":"model","parts":[{"text":"a"},{"text":""},{"newKind":{}}]}
            Usage { prompt_tokens: 0, cached_tokens: 0, cache_write_tokens: 0, output_tokens: 0, thought_tokens: 0 }
            Stop
        "#]],
    );
}

#[test]
fn a_call_that_the_limit_cut_is_none() {
    check(
        &[
            r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"pwd"},"thoughtSignature":"eA=="},{"functionCall":{"name":"glob","args":"{\"pat"}}]},"finishReason":"MAX_TOKENS"}]}"#,
        ],
        expect![[r#"
            ToolCall { provider_call_id: None, name: ToolName("pwd"), arguments: Object {}, signature: Some("eA==") }
            gemini {"role":"model","parts":[{"functionCall":{"name":"pwd"},"thoughtSignature":"eA=="}]}
            Usage { prompt_tokens: 0, cached_tokens: 0, cache_write_tokens: 0, output_tokens: 0, thought_tokens: 0 }
            Length
        "#]],
    );
}

#[test]
fn what_an_answer_stands_on_is_read_and_what_cannot_be_is_left_out() {
    let chunk = |fields: &str| {
        format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"text":"é"}}]}},"finishReason":"STOP",{fields}}}]}}"#
        )
    };
    let whole = chunk(
        r#""urlContextMetadata":{"urlMetadata":[{"retrievedUrl":"https://a.example","urlRetrievalStatus":"URL_RETRIEVAL_STATUS_SUCCESS"},{"retrievedUrl":"https://b.example","urlRetrievalStatus":"URL_RETRIEVAL_STATUS_UNSAFE"}]},
           "groundingMetadata":{"searchEntryPoint":{"renderedContent":"<p>"},"groundingChunks":[{"web":{"uri":"https://a.example","title":"A"}},{"maps":{}}],"groundingSupports":[{"segment":{"endIndex":2,"text":"é"},"groundingChunkIndices":[0]},{}]}"#,
    );
    let mut reply = GeminiReply::default();
    let events = reply.push(&whole).unwrap();
    let [ModelEvent::Grounded(grounding), ModelEvent::TextDelta(_)] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(grounding.visits.iter().map(|it| it.is_read).collect::<Vec<_>>(), [true, false]);
    assert_eq!(grounding.sources.iter().map(|it| &*it.url).collect::<Vec<_>>(), ["https://a.example", ""]);
    assert_eq!(grounding.cited("é and so on"), "é [1] and so on");
    assert_eq!(grounding.cited("an answer that was changed"), "an answer that was changed");

    for bad in [
        r#""groundingMetadata":7"#,
        r#""urlContextMetadata":{"urlMetadata":"x"}"#,
        r#""groundingMetadata":{}"#,
    ] {
        let mut reply = GeminiReply::default();
        assert_eq!(reply.push(&chunk(bad)).unwrap().len(), 1, "{bad}");
        assert!(reply.finish().is_ok());
    }
}
