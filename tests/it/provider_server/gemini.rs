//! Would Gemini take this request? Every rule that its documentation or its refusals tell of, and what a client owes it:
//! signatures come back on the parts that they came on, byte for byte.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    Asked, KEY,
    lists::{self, Rules},
};

mod tests;

#[derive(Default)]
pub struct Judge {
    /// The parts of each answer so far, verbatim.
    said: Vec<Vec<String>>,
    pub violations: Vec<String>,
    n_requests: usize,
}

#[derive(Deserialize)]
struct RawRequest {
    contents: Vec<RawContent>,
}

#[derive(Deserialize)]
struct RawContent {
    role: String,
    parts: Vec<Box<RawValue>>,
}

/// The fields of each kind of object. What is not here is refused, as Google refuses unknown names.
const FIELDS: &[(&str, &[&str])] = &[
    ("request", &["contents", "systemInstruction", "tools", "generationConfig"]),
    ("content", &["role", "parts"]),
    (
        "part",
        &[
            "text",
            "thought",
            "thoughtSignature",
            "functionCall",
            "functionResponse",
            "inlineData",
            "fileData",
        ],
    ),
    ("functionCall", &["id", "name", "args"]),
    ("functionResponse", &["id", "name", "response"]),
    ("inlineData", &["mimeType", "data"]),
    ("fileData", &["mimeType", "fileUri"]),
    ("tool", &["functionDeclarations", "urlContext", "googleSearch"]),
    ("urlContext", &[]),
    ("googleSearch", &[]),
    ("functionDeclaration", &["name", "description", "parametersJsonSchema"]),
    (
        "generationConfig",
        &[
            "temperature",
            "topP",
            "maxOutputTokens",
            "thinkingConfig",
            "responseMimeType",
            "responseJsonSchema",
        ],
    ),
    ("thinkingConfig", &["thinkingBudget", "includeThoughts"]),
];

/// A part has exactly one of these.
const DATA: &[&str] = &["text", "functionCall", "functionResponse", "inlineData", "fileData"];

/// How the line of a request ends that asks for a count.
const COUNT: &str = ":countTokens HTTP/1.1";

/// <https://ai.google.dev/api/models#method:-models.list>
const LIST: Rules = Rules {
    path: "/v1beta/models",
    query: &["pageSize", "pageToken"],
    headers: &[("x-goog-api-key", Some(KEY)), ("content-type", None)],
};

impl super::Judge for Judge {
    fn remember(&mut self, chunks: &[String]) {
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct Chunk {
            candidates: Vec<Candidate>,
        }
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct Candidate {
            content: Content,
        }
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct Content {
            parts: Vec<Box<RawValue>>,
        }
        let chunks = chunks.iter().filter_map(|chunk| serde_json::from_str::<Chunk>(chunk).ok());
        let candidates = chunks.flat_map(|chunk| chunk.candidates);
        let parts = candidates.flat_map(|candidate| candidate.content.parts);
        let parts: Vec<String> = parts.map(|part| part.get().to_owned()).collect();
        if !parts.is_empty() {
            self.said.push(parts);
        }
    }

    fn request(&mut self, asked: &Asked) {
        self.n_requests += 1;
        let before = self.violations.len();
        if let Some(violations) = lists::judge(asked, &LIST) {
            self.violations.extend(violations);
            return;
        }
        self.envelope(asked);
        let request = self.counted(asked).unwrap_or_else(|| asked.body.clone());
        match (serde_json::from_str::<Value>(&request), serde_json::from_str::<RawRequest>(&request)) {
            (Ok(body), Ok(raw)) => self.body(&body, &raw),
            (Err(error), _) | (_, Err(error)) => self.report(format!("the body is no request: {error}")),
        }
        let n_requests = self.n_requests;
        for violation in &mut self.violations[before..] {
            *violation = format!("request {n_requests}: {violation}");
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
        let line = &asked.line;
        let is_known = line.starts_with("POST /v1beta/models/")
            && (line.ends_with(":streamGenerateContent?alt=sse HTTP/1.1") || line.ends_with(COUNT));
        if !is_known {
            self.report(format!("no method answers `{line}`"));
        }
        if asked.header("x-goog-api-key") != Some(KEY) {
            self.report("x-goog-api-key is not the key");
        }
        if asked.header("content-type") != Some("application/json") {
            self.report("content-type is not application/json");
        }
        if line.contains(KEY) || asked.body.contains(KEY) {
            self.report("the key stands where logs would show it");
        }
    }

    /// The request that is to be counted, if that is what is asked (<https://ai.google.dev/api/tokens>). It is one of a turn
    /// that names its model.
    fn counted(&mut self, asked: &Asked) -> Option<String> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "camelCase")]
        struct Counted<'a> {
            #[serde(borrow)]
            generate_content_request: &'a RawValue,
        }
        let model = asked.line.strip_prefix("POST /v1beta/")?.strip_suffix(COUNT)?;
        let Ok(Counted { generate_content_request }) = serde_json::from_str(&asked.body) else {
            self.report("the body is no request that could be counted");
            return None;
        };
        let request = generate_content_request.get();
        let named = format!("\"model\":\"{model}\",");
        if !request.contains(&named) {
            self.report(format!("the request that is to be counted is not for {model}"));
        }
        Some(request.replacen(&named, "", 1))
    }

    fn body(&mut self, body: &Value, raw: &RawRequest) {
        self.fields("request", body);
        if let Some(system) = body.get("systemInstruction") {
            self.fields("content", system);
        }
        if let Some(config) = body.get("generationConfig") {
            self.fields("generationConfig", config);
            if let Some(thinking) = config.get("thinkingConfig") {
                self.fields("thinkingConfig", thinking);
            }
        }
        for tool in list(&body["tools"]) {
            self.fields("tool", tool);
            self.declarations(list(&tool["functionDeclarations"]));
            for name in ["urlContext", "googleSearch"] {
                if let Some(own) = tool.get(name) {
                    self.fields(name, own);
                    if body["tools"].as_array().is_some_and(|tools| 1 < tools.len())
                        || tool.as_object().unwrap().len() != 1
                    {
                        self.report(format!("{name} does not go with other tools"));
                    }
                }
            }
        }
        let contents = list(&body["contents"]);
        if contents.is_empty() {
            self.report("contents is empty");
        }
        for (n, content) in contents.iter().enumerate() {
            self.content(n, content);
            self.responses(n, contents);
        }
        if contents.last().is_some_and(|last| last["role"] != "user") {
            self.report("the last content is not the user's");
        }
        for content in raw.contents.iter().filter(|content| content.role == "model") {
            self.repeated(&content.parts);
        }
    }

    fn fields(&mut self, kind: &str, object: &Value) {
        let known = FIELDS.iter().find(|(known, _)| *known == kind).map_or(&[][..], |(_, fields)| fields);
        let Some(object) = object.as_object() else {
            return self.report(format!("a {kind} is no object: {object}"));
        };
        for name in object.keys().filter(|name| !known.contains(&name.as_str())) {
            self.report(format!("Unknown name \"{name}\" in {kind}"));
        }
    }

    fn declarations(&mut self, declarations: &[Value]) {
        let mut names: Vec<&str> = Vec::new();
        for declaration in declarations {
            self.fields("functionDeclaration", declaration);
            let name = declaration["name"].as_str().unwrap_or_default();
            if !is_legal(name) || names.contains(&name) {
                self.report(format!("`{name}` is no name for a function, or is taken"));
            }
            names.push(name);
            if declaration["description"].as_str().is_none_or(str::is_empty) {
                self.report(format!("`{name}` has no description"));
            }
            if declaration["parametersJsonSchema"]["type"] != "object" {
                self.report(format!("`{name}` has no schema of an object"));
            }
        }
    }

    fn content(&mut self, n: usize, content: &Value) {
        self.fields("content", content);
        let role = if n.is_multiple_of(2) { "user" } else { "model" };
        if content["role"] != role {
            self.report(format!("content {n} is not the {role}'s: roles alternate and begin with user"));
        }
        let parts = list(&content["parts"]);
        if parts.is_empty() {
            self.report(format!("content {n} has no parts"));
        }
        for part in parts {
            self.fields("part", part);
            let data: Vec<&&str> = DATA.iter().filter(|name| part.get(**name).is_some()).collect();
            if data.len() != 1 {
                self.report(format!("a part of content {n} has not exactly one kind of data: {part}"));
            }
            for name in data {
                if *name != "text" {
                    self.fields(name, &part[*name]);
                }
            }
        }
    }

    /// Each call has its response right after it, in order; there are no others, and nothing stands before them.
    fn responses(&mut self, n: usize, contents: &[Value]) {
        let of = |content: Option<&Value>, kind: &str| -> Vec<Value> {
            let parts = content.map_or(&[][..], |content| list(&content["parts"]));
            parts.iter().filter_map(|part| part.get(kind).cloned()).collect()
        };
        let calls = of(n.checked_sub(1).map(|before| &contents[before]), "functionCall");
        let responses = of(Some(&contents[n]), "functionResponse");
        if contents[n]["role"] == "model" && !responses.is_empty() {
            self.report(format!("content {n} is the model's and has responses"));
        }
        let named = |values: &[Value]| -> Vec<(Value, Value)> {
            values.iter().map(|value| (value["name"].clone(), value["id"].clone())).collect()
        };
        if named(&calls) != named(&responses) {
            let (calls, responses) = (named(&calls), named(&responses));
            self.report(format!("content {n} answers {responses:?}, and the calls before it are {calls:?}"));
        }
        let is_unanswered = n + 1 == contents.len() && !of(Some(&contents[n]), "functionCall").is_empty();
        if is_unanswered {
            self.report(format!("content {n} is the last and has calls"));
        }
        let parts = list(&contents[n]["parts"]);
        let first = parts.iter().take(responses.len());
        if first.into_iter().any(|part| part.get("functionResponse").is_none()) {
            self.report(format!("content {n} has something before its responses"));
        }
        for response in &responses {
            let keys: Vec<&str> = response["response"]
                .as_object()
                .map(|it| it.keys().map(String::as_str).collect())
                .unwrap_or_default();
            if keys != ["output"] && keys != ["error"] {
                self.report(format!(
                    "content {n} has a response that is neither output nor error: {response}"
                ));
            }
        }
    }

    /// What the model said comes back answer by answer, byte for byte; besides there is only text, e.g. of an answer
    /// that was cut, and calls that another model asked for.
    fn repeated(&mut self, mut parts: &[Box<RawValue>]) {
        while let Some(first) = parts.first() {
            let is_here = |answer: &&Vec<String>| {
                answer.len() <= parts.len() && answer.iter().zip(parts).all(|(said, part)| said == part.get())
            };
            let longest = self.said.iter().filter(is_here).map(Vec::len).max();
            if let Some(length) = longest {
                parts = &parts[length..];
                continue;
            }
            let part: Value = serde_json::from_str(first.get()).unwrap();
            let fields: Vec<&str> = part.as_object().unwrap().keys().map(String::as_str).collect();
            // The newest models want each call signed, and take this for one that they did not sign.
            let is_unsigned = part["thoughtSignature"] == "skip_thought_signature_validator";
            let is_foreign_call =
                fields == ["functionCall"] || (fields == ["functionCall", "thoughtSignature"] && is_unsigned);
            let is_plain = fields == ["text"] || (is_foreign_call && !self.has_called(&part["functionCall"]));
            if !is_plain {
                self.report(format!(
                    "a part is not as the model said it, or its neighbours are not: {first}"
                ));
            }
            parts = &parts[1..];
        }
    }
}

impl Judge {
    /// Whether the model asked for just this itself.
    fn has_called(&self, call: &Value) -> bool {
        let parts = self.said.iter().flatten();
        let calls =
            parts.filter_map(|part| serde_json::from_str::<Value>(part).ok()?.get("functionCall").cloned());
        calls.into_iter().any(|said| said["name"] == call["name"] && said["args"] == call["args"])
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn is_legal(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    (1..=64).contains(&name.len())
        && name.chars().all(is_letter)
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}
