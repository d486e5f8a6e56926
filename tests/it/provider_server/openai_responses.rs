//! Would OpenAI take this request for a response? (<https://platform.openai.com/docs/api-reference/responses/create>) And
//! does what it said come back as it was?

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{Asked, KEY, openai};

mod tests;

#[derive(Default)]
pub struct Judge {
    violations: Vec<String>,
    /// What was put out, byte for byte, by the id of its item, with the thought that led to it.
    said: BTreeMap<String, Said>,
    n_requests: usize,
}

struct Said {
    item: String,
    /// The id of the thought right in front of it.
    thought: Option<String>,
}

/// The fields of each kind of object. What is not here is refused, as OpenAI refuses unknown names.
const FIELDS: &[(&str, &[&str])] = &[
    (
        "request",
        &[
            "model",
            "stream",
            "store",
            "include",
            "instructions",
            "temperature",
            "top_p",
            "max_output_tokens",
            "reasoning",
            "text",
            "input",
            "tools",
        ],
    ),
    ("reasoning settings", &["effort", "summary"]),
    ("text settings", &["format"]),
    ("format", &["type", "name", "schema", "strict"]),
    ("tool", &["type", "name", "description", "parameters", "strict"]),
    ("message", &["type", "id", "role", "status", "content"]),
    ("reasoning", &["type", "id", "summary", "content", "encrypted_content", "status"]),
    ("function_call", &["type", "id", "call_id", "name", "arguments", "status"]),
    ("function_call_output", &["type", "call_id", "output"]),
    ("input_text", &["type", "text"]),
    ("input_image", &["type", "image_url", "detail"]),
    ("input_file", &["type", "filename", "file_data", "file_url"]),
    ("output_text", &["type", "text", "annotations", "logprobs"]),
    ("refusal", &["type", "refusal"]),
];

/// The longest id of a call.
const MAX_ID_CHARS: usize = 64;
/// The longest name of a function.
const MAX_NAME_CHARS: usize = 64;
/// The fewest tokens that may be asked for.
const LEAST_OUTPUT: u64 = 16;

#[derive(Deserialize)]
struct Input {
    #[serde(default)]
    input: Vec<Box<RawValue>>,
}

impl super::Judge for Judge {
    fn request(&mut self, asked: &Asked) {
        self.n_requests += 1;
        let before = self.violations.len();
        self.envelope(asked);
        match serde_json::from_str::<Value>(&asked.body) {
            Ok(body) => self.body(&body),
            Err(error) => self.report(format!("the body is no JSON: {error}")),
        }
        match serde_json::from_str::<Input>(&asked.body) {
            Ok(Input { input }) if !input.is_empty() => self.input(&input),
            _ => self.report("there is no input"),
        }
        let n_requests = self.n_requests;
        for violation in &mut self.violations[before..] {
            *violation = format!("request {n_requests}: {violation}");
        }
    }

    fn remember(&mut self, events: &[String]) {
        #[derive(Deserialize)]
        struct Done {
            #[serde(rename = "type")]
            kind: String,
            item: Option<Box<RawValue>>,
        }
        let mut thought = None;
        for event in events {
            let Ok(Done { kind, item: Some(item) }) = serde_json::from_str(event) else { continue };
            let value: Value = serde_json::from_str(item.get()).unwrap();
            let Some(id) = value["id"].as_str().filter(|_| kind == "response.output_item.done") else {
                continue;
            };
            let led_to_it = thought.take();
            if value["type"] == "reasoning" {
                thought = Some(id.to_owned());
            }
            self.said.insert(id.to_owned(), Said { item: item.get().to_owned(), thought: led_to_it });
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
        if asked.line != "POST /v1/responses HTTP/1.1" {
            self.report(format!("no method answers `{}`", asked.line));
        }
        if asked.header("authorization") != Some(&format!("Bearer {KEY}")) {
            self.report("authorization is not the key");
        }
        if asked.header("content-type") != Some("application/json") {
            self.report("the content type is not JSON");
        }
    }

    /// The object's fields are those of its kind.
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

    fn body(&mut self, body: &Value) {
        self.fields("request", body);
        self.violations.extend(openai::sampling_violation(body));
        if body["stream"] != true || !body["model"].is_string() {
            self.report("no stream of a model is asked for");
        }
        // Nothing of a run may stay there, so what is thought must come in a form that can go back.
        if body["store"] != false || body["include"] != serde_json::json!(["reasoning.encrypted_content"]) {
            self.report("it is kept, or its thoughts are");
        }
        if body["instructions"].as_str().is_some_and(str::is_empty) {
            self.report("the instructions are empty");
        }
        if body["max_output_tokens"].as_u64().is_some_and(|most| most < LEAST_OUTPUT) {
            self.report("max_output_tokens is below the minimum");
        }
        if !body["reasoning"].is_null() {
            self.fields("reasoning settings", &body["reasoning"]);
        }
        if !body["text"].is_null() {
            self.fields("text settings", &body["text"]);
            let format = &body["text"]["format"];
            self.fields("format", format);
            self.name(&format["name"]);
            if format["type"] != "json_schema" || !format["schema"].is_object() {
                self.report("the format is no schema");
            }
        }
        for tool in body["tools"].as_array().into_iter().flatten() {
            self.fields("tool", tool);
            self.name(&tool["name"]);
            if tool["type"] != "function" || tool["parameters"]["type"] != "object" {
                self.report(format!("the parameters of {} are no object's", tool["name"]));
            }
            // A strict one wants every field required, and no others.
            if tool["strict"] != false {
                self.report(format!("{} is strict", tool["name"]));
            }
        }
        if body["tools"].as_array().is_some_and(Vec::is_empty) {
            self.report("the list of tools is empty");
        }
    }

    fn name(&mut self, name: &Value) {
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
        let is_name = name.as_str().is_some_and(|name| {
            !name.is_empty() && name.len() <= MAX_NAME_CHARS && name.chars().all(is_letter)
        });
        if !is_name {
            self.report(format!("{name} is no name of a function"));
        }
    }

    fn input(&mut self, input: &[Box<RawValue>]) {
        let items: Vec<Value> = input.iter().map(|item| serde_json::from_str(item.get()).unwrap()).collect();
        // Calls that have no result yet, and all that there were.
        let mut open: BTreeSet<String> = BTreeSet::new();
        let mut known: BTreeSet<String> = BTreeSet::new();
        for (at, item) in items.iter().enumerate() {
            let kind = item["type"].as_str().unwrap_or_default();
            self.fields(kind, item);
            if let Some(id) = item["id"].as_str() {
                self.as_it_was_said(id, &input[at], at.checked_sub(1).map(|before| &items[before]));
            }
            if !matches!(kind, "function_call" | "function_call_output" | "reasoning")
                && !open.is_empty()
                && item["role"] != "assistant"
            {
                self.report(format!("item {at} stands between calls and their results: {open:?}"));
                open.clear();
            }
            let id = item["call_id"].as_str().unwrap_or_default().to_owned();
            match kind {
                "message" => self.message(at, item),
                "reasoning" => self.thought(at, item, items.get(at + 1)),
                "function_call" => {
                    self.name(&item["name"]);
                    let arguments = item["arguments"].as_str().map(serde_json::from_str::<Value>);
                    if !matches!(arguments, Some(Ok(Value::Object(_)))) {
                        self.report(format!("the arguments of `{id}` are no object in a text"));
                    }
                    if id.is_empty() || MAX_ID_CHARS < id.len() || !known.insert(id.clone()) {
                        self.report(format!("`{id}` is no id of a call, or another's"));
                    }
                    open.insert(id);
                }
                "function_call_output" => {
                    if !open.remove(&id) {
                        self.report(format!("item {at} is the result of no call: `{id}`"));
                    }
                    match &item["output"] {
                        Value::String(_) => {}
                        Value::Array(parts) if !parts.is_empty() => {
                            parts.iter().for_each(|part| self.content(at, "input", part));
                        }
                        other => self.report(format!("the output {at} is none: {other}")),
                    }
                }
                _ => {}
            }
        }
        if !open.is_empty() {
            self.report(format!("calls have no results: {open:?}"));
        }
    }

    /// An item with an id is one that was put out, and nothing of it is changed or torn from its thought.
    fn as_it_was_said(&mut self, id: &str, item: &RawValue, before: Option<&Value>) {
        let Some(said) = self.said.get(id) else {
            return self.report(format!("nobody said `{id}`"));
        };
        let thought = said.thought.as_deref();
        let is_torn = thought.is_some() && before.and_then(|before| before["id"].as_str()) != thought;
        let is_changed = said.item != item.get();
        if is_torn {
            self.report(format!("`{id}` comes without its thought"));
        }
        if is_changed {
            self.report(format!("`{id}` is not what was said: {item}"));
        }
    }

    fn thought(&mut self, at: usize, item: &Value, next: Option<&Value>) {
        let is_encrypted = item["encrypted_content"].as_str().is_some_and(|text| !text.is_empty());
        if !is_encrypted || !item["id"].is_string() || !item["summary"].is_array() {
            self.report(format!("the thought {at} cannot be found: nothing is kept"));
        }
        let is_followed = next.is_some_and(|next| {
            next["type"] == "function_call" || (next["type"] == "message" && next["role"] == "assistant")
        });
        if !is_followed {
            self.report(format!("the thought {at} led to nothing"));
        }
    }

    fn message(&mut self, at: usize, item: &Value) {
        let direction = match item["role"].as_str() {
            Some("user") => "input",
            Some("assistant") => "output",
            _ => return self.report(format!("item {at} has the role {}", item["role"])),
        };
        match item["content"].as_array() {
            Some(content) if !content.is_empty() => {
                content.iter().for_each(|part| self.content(at, direction, part));
            }
            _ => self.report(format!("item {at} says nothing")),
        }
    }

    fn content(&mut self, at: usize, direction: &str, part: &Value) {
        let kind = part["type"].as_str().unwrap_or_default();
        self.fields(kind, part);
        let is_data = |field: &str, begin: &str| part[field].as_str().is_some_and(|it| it.starts_with(begin));
        let is_good = match (direction, kind) {
            ("input", "input_text") | ("output", "output_text") => {
                part["text"].as_str().is_some_and(|text| !text.is_empty())
            }
            ("input", "input_image") => {
                let known = [
                    "data:image/png;base64,",
                    "data:image/jpeg;base64,",
                    "data:image/gif;base64,",
                    "data:image/webp;base64,",
                    "https://",
                ];
                known.iter().any(|begin| is_data("image_url", begin)) && part["detail"].is_string()
            }
            ("input", "input_file") => {
                let is_inline =
                    is_data("file_data", "data:application/pdf;base64,") && part["filename"].is_string();
                is_inline || is_data("file_url", "https://")
            }
            ("output", "refusal") => part["refusal"].is_string(),
            _ => false,
        };
        if !is_good {
            self.report(format!("the content of item {at} is none: {part}"));
        }
    }
}
