//! What providers' streams of one long text look like, byte by byte, each piece of it in an HTTP chunk of its own, which is
//! how they come.

use serde_json::{Value, json};
use subagentd::config::ProviderKind;

/// What ends every response.
const END: &[u8] = b"\r\n0\r\n\r\n";

/// So many pieces of text, each of a few tokens.
pub fn pieces(n: usize) -> Vec<String> {
    (0..n).map(|n| format!("a few words {n} ")).collect()
}

/// A response that says a text piece by piece, head and all.
pub fn response(kind: ProviderKind, pieces: &[String]) -> Vec<u8> {
    let mut response =
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n".to_vec();
    for frame in frames(kind, pieces) {
        response.extend_from_slice(format!("\r\n{:x}\r\n{frame}", frame.len()).as_bytes());
    }
    response.extend_from_slice(END);
    response
}

/// The same as its frames alone.
pub fn frames(kind: ProviderKind, pieces: &[String]) -> Vec<String> {
    let (begin, end) = match kind {
        ProviderKind::Gemini => (Vec::new(), vec![gemini("", json!("STOP"))]),
        ProviderKind::OpenAi => openai_ends(),
        ProviderKind::OpenAiResponses => responses_ends(&pieces.concat()),
        ProviderKind::Anthropic => anthropic_ends(),
    };
    let delta = |(n, piece): (usize, &String)| match kind {
        ProviderKind::Gemini => gemini(piece, Value::Null),
        ProviderKind::OpenAi => openai(json!({ "content": piece }), Value::Null),
        ProviderKind::OpenAiResponses => named(json!({
            "type": "response.output_text.delta", "sequence_number": n + 4, "item_id": RESPONSE_ITEM,
            "output_index": 0, "content_index": 0, "delta": piece, "logprobs": [], "obfuscation": "kq3XbT0w",
        })),
        ProviderKind::Anthropic => named(json!({
            "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": piece },
        })),
    };
    begin.into_iter().chain(pieces.iter().enumerate().map(delta)).chain(end).collect()
}

const RESPONSE_ITEM: &str = "msg_68a1f0c2b3d48191a5e6f70812345678";

fn plain(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// With the event's name in a line of its own.
fn named(data: Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
}

fn gemini(text: &str, reason: Value) -> String {
    let mut candidate = json!({ "content": { "parts": [{ "text": text }], "role": "model" }, "index": 0 });
    if !reason.is_null() {
        candidate["finishReason"] = reason;
    }
    let event = json!({
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15,
            "promptTokensDetails": [{ "modality": "TEXT", "tokenCount": 10 }],
        },
        "modelVersion": "gemini-2.5-flash",
        "responseId": "q7yhaOTYI4uM1MkP-bench",
    });
    format!("data: {event}\r\n\r\n")
}

fn openai(delta: Value, reason: Value) -> String {
    plain(&json!({
        "id": "chatcmpl-C5bench0000000000000000000000", "object": "chat.completion.chunk", "created": 1_755_000_000,
        "model": "gpt-4.1-2025-04-14", "service_tier": "default", "system_fingerprint": "fp_bench00000",
        "choices": [{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": reason }],
        "usage": null, "obfuscation": "kq3XbT0w",
    }))
}

fn openai_ends() -> (Vec<String>, Vec<String>) {
    let begin = openai(json!({ "role": "assistant", "content": "", "refusal": null }), Value::Null);
    let usage = plain(&json!({ "choices": [], "usage": { "prompt_tokens": 10, "completion_tokens": 5 } }));
    (vec![begin], vec![openai(json!({}), json!("stop")), usage, "data: [DONE]\n\n".to_owned()])
}

fn responses_ends(text: &str) -> (Vec<String>, Vec<String>) {
    let content = json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] });
    let item = |content: Value| {
        json!({
            "type": "message", "id": RESPONSE_ITEM, "role": "assistant", "status": "completed",
            "content": content,
        })
    };
    let whole = item(json!([content]));
    let begin = vec![
        named(json!({ "type": "response.created", "response": { "id": "resp_1", "output": [] } })),
        named(json!({ "type": "response.output_item.added", "output_index": 0, "item": item(json!([])) })),
    ];
    let response = json!({
        "id": "resp_1", "output": [whole], "usage": { "input_tokens": 10, "output_tokens": 5 },
    });
    let end = vec![
        named(json!({ "type": "response.output_item.done", "output_index": 0, "item": whole })),
        named(json!({ "type": "response.completed", "response": response })),
    ];
    (begin, end)
}

fn anthropic_ends() -> (Vec<String>, Vec<String>) {
    let usage = json!({ "input_tokens": 10, "output_tokens": 1 });
    let begin = vec![
        named(json!({ "type": "message_start", "message": { "usage": usage } })),
        named(json!({
            "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" },
        })),
    ];
    let delta = json!({ "stop_reason": "end_turn" });
    let end = vec![
        named(json!({ "type": "content_block_stop", "index": 0 })),
        named(json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 5 } })),
        named(json!({ "type": "message_stop" })),
    ];
    (begin, end)
}
