//! The events of one reply, as each provider streams them.

use serde_json::{Value, json};

use super::{Call, Said, Why};

const SIGNATURE: &str = "c2lnbmVk";
/// A long text comes in about so many pieces, a short one in pieces of a few letters.
const PIECES: usize = 1_000;
const LEAST_LETTERS: usize = 5;

fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks((letters.len() / PIECES).max(LEAST_LETTERS)).map(|piece| piece.iter().collect()).collect()
}

pub fn gemini(said: &Said) -> Vec<String> {
    let chunk = |parts: Value| json!({ "candidates": [{ "content": { "role": "model", "parts": parts } }] });
    let mut chunks = Vec::new();
    if !said.thought.is_empty() {
        chunks.push(chunk(json!([{ "text": said.thought, "thought": true }])));
    }
    let mut signature = (!said.thought.is_empty()).then_some(SIGNATURE);
    // What thoughts led to is signed: the first call, or else the text.
    for piece in pieces(&said.text) {
        let mut part = json!({ "text": piece });
        if let Some(signature) = signature.take_if(|_| said.calls.is_empty()) {
            part["thoughtSignature"] = signature.into();
        }
        chunks.push(chunk(json!([part])));
    }
    // Calls come whole or not at all.
    let has_come =
        |call: &&Call| said.why != Why::Length || serde_json::from_str::<Value>(&call.arguments).is_ok();
    let parts: Vec<Value> = said
        .calls
        .iter()
        .filter(has_come)
        .map(|call| {
            // There is no such thing as arguments in pieces here; what is no JSON can only be a text.
            let arguments = serde_json::from_str(&call.arguments);
            let arguments = arguments.unwrap_or_else(|_| Value::String(call.arguments.clone()));
            let mut part = json!({ "functionCall": { "id": call.id, "name": call.name, "args": arguments } });
            if let Some(signature) = signature.take() {
                part["thoughtSignature"] = signature.into();
            }
            part
        })
        .collect();
    if !parts.is_empty() {
        chunks.push(chunk(Value::Array(parts)));
    }
    let reason = match said.why {
        Why::Done => "STOP",
        Why::Length => "MAX_TOKENS",
        Why::Withheld => "SAFETY",
    };
    chunks.push(json!({
        "candidates": [{ "content": { "role": "model" }, "finishReason": reason }],
        "usageMetadata": {
            "promptTokenCount": 100, "cachedContentTokenCount": 30, "candidatesTokenCount": 20,
            "thoughtsTokenCount": 7, "totalTokenCount": 127,
        },
    }));
    chunks.iter().map(Value::to_string).collect()
}

pub fn openai(said: &Said) -> Vec<String> {
    let chunk = |delta: Value, reason: Option<&str>| {
        json!({ "id": "x", "object": "chat.completion.chunk", "choices": [
            { "index": 0, "delta": delta, "finish_reason": reason },
        ] })
        .to_string()
    };
    let mut chunks = vec![chunk(json!({ "role": "assistant", "content": "" }), None)];
    if !said.thought.is_empty() {
        chunks.push(chunk(json!({ "reasoning_content": said.thought }), None));
    }
    chunks.extend(pieces(&said.text).iter().map(|piece| chunk(json!({ "content": piece }), None)));
    for (index, call) in said.calls.iter().enumerate() {
        let function = json!({ "name": call.name, "arguments": "" });
        let begun = json!({ "index": index, "id": call.id, "type": "function", "function": function });
        chunks.push(chunk(json!({ "tool_calls": [begun] }), None));
    }
    // All calls grow at the same time.
    let arguments: Vec<Vec<String>> = said.calls.iter().map(|call| pieces(&call.arguments)).collect();
    for at in 0..arguments.iter().map(Vec::len).max().unwrap_or(0) {
        for (index, pieces) in arguments.iter().enumerate() {
            if let Some(piece) = pieces.get(at) {
                let more = json!({ "index": index, "function": { "arguments": piece } });
                chunks.push(chunk(json!({ "tool_calls": [more] }), None));
            }
        }
    }
    let reason = match said.why {
        Why::Done if said.calls.is_empty() => "stop",
        Why::Done => "tool_calls",
        Why::Length => "length",
        Why::Withheld => "content_filter",
    };
    chunks.push(chunk(json!({}), Some(reason)));
    chunks.push(
        json!({ "choices": [], "usage": {
            "prompt_tokens": 100, "completion_tokens": 27, "total_tokens": 127,
            "prompt_tokens_details": { "cached_tokens": 30 },
            "completion_tokens_details": { "reasoning_tokens": 7 },
        } })
        .to_string(),
    );
    chunks.push("[DONE]".to_owned());
    chunks
}

pub fn openai_responses(said: &Said) -> Vec<String> {
    // Each item whole, and the events in which it grows.
    let mut items: Vec<(Value, Vec<Value>)> = Vec::new();
    let status = if said.why == Why::Done { "completed" } else { "incomplete" };
    if !said.thought.is_empty() {
        let item = json!({
            "type": "reasoning", "id": "rs_1", "encrypted_content": SIGNATURE,
            "summary": [{ "type": "summary_text", "text": said.thought }],
        });
        let delta = json!({
            "type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": said.thought,
        });
        items.push((item, vec![delta]));
    }
    if !said.text.is_empty() {
        let item = json!({
            "type": "message", "id": "msg_1", "role": "assistant", "status": status,
            "content": [{ "type": "output_text", "text": said.text, "annotations": [], "logprobs": [] }],
        });
        let delta = |piece: &String| json!({ "type": "response.output_text.delta", "content_index": 0, "delta": piece });
        items.push((item, pieces(&said.text).iter().map(delta).collect()));
    }
    for (n, Call { id, name, arguments }) in said.calls.iter().enumerate() {
        let item = json!({
            "type": "function_call", "id": format!("fc_{n}_{id}"), "call_id": id, "name": name,
            "arguments": arguments, "status": status,
        });
        let delta =
            |piece: &String| json!({ "type": "response.function_call_arguments.delta", "delta": piece });
        items.push((item, pieces(arguments).iter().map(delta).collect()));
    }
    let mut events =
        vec![json!({ "type": "response.created", "response": { "id": "resp_1", "output": [] } })];
    for (index, (item, deltas)) in items.iter().enumerate() {
        let mut begun = item.clone();
        for (field, empty) in [("content", json!([])), ("summary", json!([])), ("arguments", json!(""))] {
            if begun.get(field).is_some() {
                begun[field] = empty;
            }
        }
        events.push(json!({ "type": "response.output_item.added", "output_index": index, "item": begun }));
        events.extend(deltas.iter().cloned().map(|mut delta| {
            delta["output_index"] = index.into();
            delta
        }));
        events.push(json!({ "type": "response.output_item.done", "output_index": index, "item": item }));
    }
    let (kind, details) = match said.why {
        Why::Done => ("response.completed", Value::Null),
        Why::Length => ("response.incomplete", json!({ "reason": "max_output_tokens" })),
        Why::Withheld => ("response.incomplete", json!({ "reason": "content_filter" })),
    };
    let output: Vec<&Value> = items.iter().map(|(item, _)| item).collect();
    events.push(json!({ "type": kind, "response": {
        "id": "resp_1", "output": output, "incomplete_details": details, "usage": {
            "input_tokens": 100, "input_tokens_details": { "cached_tokens": 30 },
            "output_tokens": 27, "output_tokens_details": { "reasoning_tokens": 7 }, "total_tokens": 127,
        },
    } }));
    events.iter().map(Value::to_string).collect()
}

pub fn anthropic(said: &Said) -> Vec<String> {
    let mut blocks: Vec<(Value, Vec<Value>)> = Vec::new();
    if !said.thought.is_empty() {
        let deltas = vec![
            json!({ "type": "thinking_delta", "thinking": said.thought }),
            json!({ "type": "signature_delta", "signature": SIGNATURE }),
        ];
        blocks.push((json!({ "type": "thinking", "thinking": "", "signature": "" }), deltas));
    }
    if !said.text.is_empty() {
        let delta = |piece: &String| json!({ "type": "text_delta", "text": piece });
        blocks.push((json!({ "type": "text", "text": "" }), pieces(&said.text).iter().map(delta).collect()));
    }
    for Call { id, name, arguments } in &said.calls {
        let delta = |piece: &String| json!({ "type": "input_json_delta", "partial_json": piece });
        blocks.push((
            json!({ "type": "tool_use", "id": id, "name": name, "input": {} }),
            pieces(arguments).iter().map(delta).collect(),
        ));
    }
    let mut events = vec![json!({ "type": "message_start", "message": { "usage": {
        "input_tokens": 70, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 30, "output_tokens": 1,
    } } })];
    for (index, (block, deltas)) in blocks.iter().enumerate() {
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": block }));
        events.push(json!({ "type": "ping" }));
        let delta = |delta: &Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
        events.extend(deltas.iter().map(delta));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let reason = match said.why {
        Why::Done if said.calls.is_empty() => "end_turn",
        Why::Done => "tool_use",
        Why::Length => "max_tokens",
        Why::Withheld => "refusal",
    };
    events.push(json!({
        "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": 27 },
    }));
    events.push(json!({ "type": "message_stop" }));
    events.iter().map(Value::to_string).collect()
}
