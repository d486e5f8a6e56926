//! Would Anthropic take this request? (<https://docs.anthropic.com/en/api/messages>) And do thoughts come back as they were
//! signed?

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    Asked, KEY,
    lists::{self, Rules},
};

mod tests;

#[derive(Default)]
pub struct Judge {
    violations: Vec<String>,
    /// Signatures that were given.
    signed: BTreeSet<(String, String)>,
    n_requests: usize,
}

/// The fields of each kind of object. What is not here is refused, as Anthropic refuses unknown names.
const FIELDS: &[(&str, &[&str])] = &[
    (
        "request",
        &[
            "model",
            "max_tokens",
            "stream",
            "system",
            "temperature",
            "top_p",
            "thinking",
            "output_config",
            "messages",
            "tools",
        ],
    ),
    ("enabled", &["type", "budget_tokens"]),
    ("adaptive", &["type", "display"]),
    ("output_config", &["effort"]),
    ("message", &["role", "content"]),
    ("text", &["type", "text", "cache_control"]),
    ("image", &["type", "source"]),
    ("document", &["type", "source"]),
    ("thinking", &["type", "thinking", "signature"]),
    ("redacted_thinking", &["type", "data"]),
    ("tool_use", &["type", "id", "name", "input"]),
    ("tool_result", &["type", "tool_use_id", "content", "is_error"]),
    ("tool", &["name", "description", "input_schema", "cache_control"]),
];

/// The line of a request that asks for a count (<https://docs.anthropic.com/en/api/messages-count-tokens>).
const COUNT: &str = "POST /v1/messages/count_tokens HTTP/1.1";

/// <https://docs.anthropic.com/en/api/models-list>
const LIST: Rules = Rules {
    path: "/v1/models",
    query: &["limit", "after_id", "before_id"],
    headers: &[("x-api-key", Some(KEY)), ("anthropic-version", Some("2023-06-01")), ("content-type", None)],
};

impl super::Judge for Judge {
    fn request(&mut self, asked: &Asked) {
        self.n_requests += 1;
        let before = self.violations.len();
        if let Some(violations) = lists::judge(asked, &LIST) {
            self.violations.extend(violations);
            return;
        }
        self.envelope(asked);
        match serde_json::from_str::<Value>(&asked.body) {
            Ok(body) if asked.line == COUNT => self.counted(body),
            Ok(body) => self.body(&body),
            Err(error) => self.report(format!("the body is no JSON: {error}")),
        }
        let n_requests = self.n_requests;
        for violation in &mut self.violations[before..] {
            *violation = format!("request {n_requests}: {violation}");
        }
    }

    /// Thoughts of one block, with the signature that closes it.
    fn remember(&mut self, events: &[String]) {
        let mut open = String::new();
        for event in events.iter().filter_map(|event| serde_json::from_str::<Value>(event).ok()) {
            let delta = &event["delta"];
            open.push_str(delta["thinking"].as_str().unwrap_or_default());
            if let Some(signature) = delta["signature"].as_str() {
                self.signed.insert((std::mem::take(&mut open), signature.to_owned()));
            }
        }
    }

    fn violations(&mut self) -> &mut Vec<String> {
        &mut self.violations
    }
}

impl Judge {
    fn report(&mut self, violation: impl Into<String>) {
        self.violations.push(violation.into());
    }

    fn envelope(&mut self, asked: &Asked) {
        if !["POST /v1/messages HTTP/1.1", COUNT].contains(&&*asked.line) {
            self.report(format!("no method answers `{}`", asked.line));
        }
        let expected =
            [("x-api-key", KEY), ("anthropic-version", "2023-06-01"), ("content-type", "application/json")];
        for (name, value) in expected {
            if asked.header(name) != Some(value) {
                self.report(format!("{name} is not what it must be"));
            }
        }
    }

    fn fields(&mut self, kind: &str, object: &Value) {
        let Some((_, known)) = FIELDS.iter().find(|(name, _)| *name == kind) else {
            return self.report(format!("there is no `{kind}`"));
        };
        match object.as_object() {
            Some(fields) => {
                for name in fields.keys().filter(|name| !known.contains(&name.as_str())) {
                    self.report(format!("{kind} has an unknown field `{name}`"));
                }
            }
            None => self.report(format!("{kind} is no object: {object}")),
        }
    }

    /// A request that is to be counted says nothing of the answer; else it is one of a turn.
    fn counted(&mut self, mut body: Value) {
        for name in ["max_tokens", "stream", "temperature", "top_p", "output_config"] {
            if !body[name].is_null() {
                self.report(format!("{name}: Extra inputs are not permitted"));
            }
        }
        // As much as any thoughts may take.
        (body["max_tokens"], body["stream"]) = (64_000.into(), true.into());
        self.body(&body);
    }

    fn body(&mut self, body: &Value) {
        self.fields("request", body);
        if body["stream"] != true || !body["model"].is_string() {
            self.report("no stream of a model is asked for");
        }
        let most = body["max_tokens"].as_u64().unwrap_or(0);
        if most == 0 {
            self.report("max_tokens is missing");
        }
        self.thinking_and_sampling(body);
        for block in body["system"].as_array().into_iter().flatten() {
            self.block(block, &mut BTreeSet::new(), &mut BTreeSet::new());
        }
        let mut cached = body["system"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|it| it["cache_control"].is_object())
            .count();
        for tool in body["tools"].as_array().into_iter().flatten() {
            self.fields("tool", tool);
            self.name(&tool["name"]);
            if tool["input_schema"]["type"] != "object" {
                self.report(format!("the schema of {} is no object's", tool["name"]));
            }
            cached += usize::from(tool["cache_control"].is_object());
        }
        if 4 < cached {
            self.report("there are more than four cache breakpoints");
        }
        match body["messages"].as_array() {
            Some(messages) if !messages.is_empty() => self.messages(messages),
            _ => self.report("there are no messages"),
        }
    }

    /// Models up to 4.6 take a budget for thoughts and one sampling setting, those up to 4.0 both; later ones neither.
    fn thinking_and_sampling(&mut self, body: &Value) {
        let model = body["model"].as_str().unwrap_or_default();
        let is_of = |names: &[&str]| names.iter().any(|name| model.contains(name));
        let is_first = is_of(&["-3-", "-4-0", "-4-20"]) || !is_of(&["claude-"]);
        let takes_one = is_of(&["-4-1", "-4-5", "-4-6"]);
        let n_sampling = ["temperature", "top_p"].iter().filter(|name| !body[**name].is_null()).count();
        let n_taken = if is_first { 2 } else { usize::from(takes_one) };
        if n_taken < n_sampling {
            self.report(format!("{model} does not take {n_sampling} sampling settings"));
        }
        if !body["output_config"].is_null() {
            self.fields("output_config", &body["output_config"]);
            let efforts = ["low", "medium", "high", "xhigh", "max"];
            if n_taken != 0 || !efforts.iter().any(|effort| body["output_config"]["effort"] == *effort) {
                self.report(format!("{model} does not know this effort"));
            }
        }
        let thinking = &body["thinking"];
        if thinking.is_null() {
            return;
        }
        let kind = thinking["type"].as_str().unwrap_or_default();
        self.fields(kind, thinking);
        let budget = thinking["budget_tokens"].as_u64().unwrap_or(0);
        let most = body["max_tokens"].as_u64().unwrap_or(0);
        let is_taken = match kind {
            "enabled" => n_taken != 0 && n_sampling == 0 && 1_024 <= budget && budget < most,
            "adaptive" => n_taken == 0,
            _ => false,
        };
        if !is_taken {
            self.report(format!("{model} refuses to think like this: {thinking}"));
        }
    }

    fn name(&mut self, name: &Value) {
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
        let is_name = name
            .as_str()
            .is_some_and(|name| !name.is_empty() && name.len() <= 64 && name.chars().all(is_letter));
        if !is_name {
            self.report(format!("{name} is no name of a tool"));
        }
    }

    fn messages(&mut self, messages: &[Value]) {
        // Calls of the message before.
        let mut open: BTreeSet<String> = BTreeSet::new();
        for (at, message) in messages.iter().enumerate() {
            self.fields("message", message);
            let expected = if at % 2 == 0 { "user" } else { "assistant" };
            if message["role"] != expected {
                self.report(format!("message {at} has the role {}", message["role"]));
            }
            let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
            if blocks.is_empty() {
                self.report(format!("message {at} is empty"));
            }
            let mut calls = BTreeSet::new();
            let mut is_after_results = false;
            for block in blocks {
                let is_result = block["type"] == "tool_result";
                if is_result && is_after_results {
                    self.report(format!("a result stands behind other blocks in message {at}"));
                }
                is_after_results |= !is_result;
                self.block(block, &mut open, &mut calls);
            }
            if !open.is_empty() {
                self.report(format!("message {at} has no results of {open:?}"));
            }
            open = calls;
        }
        if messages.last().is_some_and(|last| last["role"] != "user") {
            self.report("the last message is not the user's");
        }
    }

    fn block(&mut self, block: &Value, open: &mut BTreeSet<String>, calls: &mut BTreeSet<String>) {
        let kind = block["type"].as_str().unwrap_or_default();
        self.fields(kind, block);
        match kind {
            "text" if block["text"].as_str().is_none_or(|text| text.trim().is_empty()) => {
                self.report("a text is blank");
            }
            "image" | "document" => {
                let source = &block["source"];
                let types: &[&str] = match kind {
                    "image" => &["image/jpeg", "image/png", "image/gif", "image/webp"],
                    _ => &["application/pdf"],
                };
                let is_inline = source["type"] == "base64" && source["data"].is_string();
                let is_known = types.iter().any(|known| source["media_type"] == *known);
                if source["type"] != "url" && !(is_inline && is_known) {
                    self.report(format!("the source of a block is none: {source}"));
                }
            }
            "thinking" => {
                let of = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
                if !self.signed.contains(&(of("thinking"), of("signature"))) {
                    self.report("a thought is not what was signed");
                }
            }
            "tool_use" => {
                self.name(&block["name"]);
                let id = block["id"].as_str().unwrap_or_default();
                let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
                if id.is_empty() || !id.chars().all(is_letter) || !calls.insert(id.to_owned()) {
                    self.report(format!("`{id}` is no id of a call, or another's"));
                }
                if !block["input"].is_object() {
                    self.report(format!("the input of {id} is no object"));
                }
            }
            "tool_result" => {
                let id = block["tool_use_id"].as_str().unwrap_or_default();
                if !open.remove(id) {
                    self.report(format!("`{id}` is the result of no call"));
                }
                for inner in block["content"].as_array().into_iter().flatten() {
                    self.block(inner, &mut BTreeSet::new(), &mut BTreeSet::new());
                }
            }
            _ => (),
        }
    }
}
