//! Would OpenAI take this request for a chat completion? (<https://platform.openai.com/docs/api-reference/chat/create>)

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    Asked, KEY,
    lists::{self, Rules},
};

mod tests;

pub struct Judge {
    wants_key: bool,
    violations: Vec<String>,
    /// Thoughts that were told, one a reply.
    thoughts: BTreeSet<String>,
    n_requests: usize,
}

/// The fields of each kind of object. What is not here is refused, as OpenAI refuses unknown names.
const FIELDS: &[(&str, &[&str])] = &[
    (
        "request",
        &[
            "model",
            "stream",
            "stream_options",
            "temperature",
            "top_p",
            "max_completion_tokens",
            "max_tokens",
            "reasoning_effort",
            "response_format",
            "messages",
            "tools",
        ],
    ),
    ("system", &["role", "content"]),
    ("user", &["role", "content"]),
    // The last is not OpenAI's own: servers that think want it back.
    ("assistant", &["role", "content", "tool_calls", "reasoning_content"]),
    ("tool", &["role", "tool_call_id", "content"]),
    ("call", &["id", "type", "function"]),
    ("function of a call", &["name", "arguments"]),
    ("tool declaration", &["type", "function"]),
    ("function", &["name", "description", "parameters"]),
];

/// <https://platform.openai.com/docs/api-reference/models/list>
const LIST: Rules = Rules {
    path: "/v1/models",
    query: &[],
    headers: &[("authorization", Some(BEARER)), ("content-type", None)],
};
const LIST_WITHOUT_KEY: Rules =
    Rules { path: "/v1/models", query: &[], headers: &[("authorization", None), ("content-type", None)] };
/// With [`KEY`].
const BEARER: &str = "Bearer AIza-test-key-that-must-not-show";

impl super::Judge for Judge {
    fn request(&mut self, asked: &Asked) {
        self.n_requests += 1;
        let before = self.violations.len();
        let rules = if self.wants_key { &LIST } else { &LIST_WITHOUT_KEY };
        if let Some(violations) = lists::judge(asked, rules) {
            self.violations.extend(violations);
            return;
        }
        self.envelope(asked);
        match serde_json::from_str::<Value>(&asked.body) {
            Ok(body) => self.body(&body),
            Err(error) => self.report(format!("the body is no JSON: {error}")),
        }
        let n_requests = self.n_requests;
        for violation in &mut self.violations[before..] {
            *violation = format!("request {n_requests}: {violation}");
        }
    }

    fn remember(&mut self, events: &[String]) {
        let events = events.iter().filter_map(|event| serde_json::from_str::<Value>(event).ok());
        let thought = events.map(|event| {
            event["choices"][0]["delta"]["reasoning_content"].as_str().unwrap_or_default().to_owned()
        });
        self.thoughts.insert(thought.collect());
    }

    fn violations(&mut self) -> &mut Vec<String> {
        &mut self.violations
    }
}

/// Models that think have no other temperature than theirs
/// (<https://platform.openai.com/docs/guides/latest-model>, "GPT-5 parameter compatibility").
pub fn sampling_violation(body: &Value) -> Option<String> {
    let model = body["model"].as_str().unwrap_or_default();
    let thinks = ["o1", "o3", "o4", "gpt-5"].iter().any(|it| model.starts_with(it));
    let thinks = thinks && !model.contains("chat");
    let said = ["temperature", "top_p"].into_iter().find(|name| !body[*name].is_null())?;
    thinks.then(|| format!("{model} does not take `{said}`"))
}

impl Judge {
    pub fn new(wants_key: bool) -> Judge {
        Judge { wants_key, violations: Vec::new(), thoughts: BTreeSet::new(), n_requests: 0 }
    }

    fn report(&mut self, violation: impl Into<String>) {
        self.violations.push(violation.into());
    }

    fn envelope(&mut self, asked: &Asked) {
        if asked.line != "POST /v1/chat/completions HTTP/1.1" {
            self.report(format!("no method answers `{}`", asked.line));
        }
        let expected = self.wants_key.then(|| format!("Bearer {KEY}"));
        if asked.header("authorization") != expected.as_deref() {
            self.report("authorization is not the key");
        }
        if asked.header("content-type") != Some("application/json") {
            self.report("the content type is not JSON");
        }
    }

    /// The object's fields are those of its kind.
    fn fields(&mut self, kind: &str, object: &Value) {
        let known = FIELDS.iter().find(|(name, _)| *name == kind).unwrap().1;
        match object.as_object() {
            Some(fields) => {
                for name in fields.keys().filter(|name| !known.contains(&name.as_str())) {
                    self.report(format!("{kind} has an unknown field `{name}`"));
                }
            }
            None => self.report(format!("{kind} is no object: {object}")),
        }
    }

    fn body(&mut self, body: &Value) {
        self.fields("request", body);
        self.violations.extend(sampling_violation(body));
        if body["stream"] != true || body["stream_options"]["include_usage"] != true {
            self.report("no stream with its usage is asked for");
        }
        if !body["model"].is_string() {
            self.report("there is no model");
        }
        for tool in body["tools"].as_array().into_iter().flatten() {
            self.fields("tool declaration", tool);
            self.fields("function", &tool["function"]);
            self.name(&tool["function"]["name"]);
            if tool["function"]["parameters"]["type"] != "object" {
                self.report(format!("the parameters of {} are no object's", tool["function"]["name"]));
            }
        }
        if body["tools"].as_array().is_some_and(Vec::is_empty) {
            self.report("the list of tools is empty");
        }
        match body["messages"].as_array() {
            Some(messages) if !messages.is_empty() => self.messages(messages),
            _ => self.report("there are no messages"),
        }
    }

    fn name(&mut self, name: &Value) {
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
        let is_name = name
            .as_str()
            .is_some_and(|name| !name.is_empty() && name.len() <= 64 && name.chars().all(is_letter));
        if !is_name {
            self.report(format!("{name} is no name of a function"));
        }
    }

    fn messages(&mut self, messages: &[Value]) {
        // Calls that have no result yet.
        let mut open: BTreeSet<String> = BTreeSet::new();
        let mut known: BTreeSet<String> = BTreeSet::new();
        for (at, message) in messages.iter().enumerate() {
            let role = message["role"].as_str().unwrap_or_default().to_owned();
            if !["system", "user", "assistant", "tool"].contains(&role.as_str()) {
                self.report(format!("message {at} has the role `{role}`"));
                continue;
            }
            self.fields(&role, message);
            if role != "tool" && !open.is_empty() {
                self.report(format!("message {at} stands between calls and their results: {open:?}"));
                open.clear();
            }
            match role.as_str() {
                "tool" => {
                    let id = message["tool_call_id"].as_str().unwrap_or_default();
                    if !open.remove(id) {
                        self.report(format!("message {at} is the result of no call: `{id}`"));
                    }
                    if !message["content"].is_string() {
                        self.report(format!("the result {at} is no text"));
                    }
                }
                "assistant" => {
                    let calls = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
                    if !message["content"].is_string() && calls.is_empty() {
                        self.report(format!("message {at} says nothing"));
                    }
                    let thought = message["reasoning_content"].as_str();
                    if thought.is_some_and(|thought| !self.thoughts.contains(thought)) {
                        self.report(format!("message {at} gives back a thought that nobody had"));
                    }
                    for call in calls {
                        self.call(call);
                        let id = call["id"].as_str().unwrap_or_default().to_owned();
                        if id.is_empty() || 40 < id.len() || !known.insert(id.clone()) {
                            self.report(format!("`{id}` is no id of a call, or another's"));
                        }
                        open.insert(id);
                    }
                }
                _ => self.content(at, &message["content"]),
            }
        }
        if !open.is_empty() {
            self.report(format!("calls have no results: {open:?}"));
        }
    }

    fn call(&mut self, call: &Value) {
        self.fields("call", call);
        self.fields("function of a call", &call["function"]);
        self.name(&call["function"]["name"]);
        let arguments = call["function"]["arguments"].as_str().map(serde_json::from_str::<Value>);
        if !matches!(arguments, Some(Ok(Value::Object(_)))) {
            self.report(format!("the arguments of {} are no object in a text", call["id"]));
        }
    }

    fn content(&mut self, at: usize, content: &Value) {
        let is_part = |part: &Value| match part["type"].as_str() {
            Some("text") => part["text"].as_str().is_some_and(|text| !text.is_empty()),
            Some("image_url") => part["image_url"]["url"].is_string(),
            // Sound is for models that are made for it, documents for OpenAI's own server: this is neither.
            _ => false,
        };
        let is_good = match content {
            Value::String(text) => !text.is_empty(),
            Value::Array(parts) => !parts.is_empty() && parts.iter().all(is_part),
            _ => false,
        };
        if !is_good {
            self.report(format!("the content of message {at} is none: {content}"));
        }
    }
}
