//! What does it look like on the wire? An example of everything the documents name, a line each in `examples/`.
//!
//! All of them tell one story: a session in `/home/ada/shop`, the runs in it, and its log from the first event to the
//! last. Tests hold them to the schemas and the types, the log to the laws, and demand that none is missing.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};

/// Every example of the documents.
pub struct ProtocolExamples {
    methods: Vec<MethodExample>,
    /// The log, in order.
    events: Vec<Value>,
    /// Deltas and signals.
    signals: Vec<Value>,
    errors: Vec<Value>,
}

/// What a client asked, and what it was answered.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MethodExample {
    pub method: String,
    /// What it is an example of, in a few words.
    pub title: String,
    pub params: Map<String, Value>,
    pub result: Value,
}

impl ProtocolExamples {
    pub fn read() -> ProtocolExamples {
        ProtocolExamples {
            methods: lines(include_str!("examples/methods.jsonl")),
            events: numbered(lines(include_str!("examples/events.jsonl"))),
            signals: lines(include_str!("examples/signals.jsonl")),
            errors: lines(include_str!("examples/errors.jsonl")),
        }
    }

    pub fn methods(&self) -> &[MethodExample] {
        &self.methods
    }

    /// The calls of one method.
    pub fn of_method(&self, name: &str) -> impl Iterator<Item = &MethodExample> {
        self.methods.iter().filter(move |example| example.method == name)
    }

    /// Envelopes of facts, as a subscription from the beginning of the log receives them.
    pub fn events(&self) -> &[Value] {
        &self.events
    }

    /// Envelopes of deltas and signals.
    pub fn signals(&self) -> &[Value] {
        &self.signals
    }

    /// Whole errors, as they stand in a response.
    pub fn errors(&self) -> &[Value] {
        &self.errors
    }

    /// The error of one kind.
    pub fn of_error(&self, kind: &str) -> Option<&Value> {
        self.errors.iter().find(|error| error["data"]["kind"] == kind)
    }

    /// The envelopes of one type: the first, and each that has fields which none before it has.
    pub fn of_event(&self, name: &str) -> Vec<&Value> {
        let mut told: Vec<Vec<&String>> = Vec::new();
        let of_type = self.events.iter().chain(&self.signals).filter(|envelope| envelope["type"] == name);
        of_type
            .filter(|envelope| {
                let data = envelope["data"].as_object();
                let fields: Vec<&String> = data.into_iter().flat_map(Map::keys).collect();
                let is_news =
                    told.is_empty() || fields.iter().any(|field| !told.iter().any(|it| it.contains(field)));
                if is_news {
                    told.push(fields);
                }
                is_news
            })
            .collect()
    }
}

/// Events are numbered as they stand in the file, so that one can be put between others.
fn numbered(events: Vec<Map<String, Value>>) -> Vec<Value> {
    let number = |(before, event): (usize, Map<String, Value>)| {
        let mut envelope = Map::new();
        envelope.insert("seq".to_owned(), Value::from(before + 1));
        envelope.insert("prev".to_owned(), Value::from(before));
        envelope.extend(event);
        Value::Object(envelope)
    };
    events.into_iter().enumerate().map(number).collect()
}

fn lines<T: DeserializeOwned>(text: &str) -> Vec<T> {
    let read = |line| {
        serde_json::from_str(line)
            .expect("the examples are part of the program, and the tests of the documents read every line")
    };
    text.lines().map(read).collect()
}

/// A value as people read it: what fits stands on one line, what does not is broken up.
pub(super) fn text(value: &Value) -> String {
    let mut text = String::new();
    write(value, 0, 0, &mut text);
    text
}

/// Longest line of an example, in characters.
const LINE: usize = 100;

/// `before` is what stands on the line already.
fn write(value: &Value, indent: usize, before: usize, text: &mut String) {
    let flat = on_one_line(value);
    let inner = indent + 2;
    let (open, close, parts): (_, _, Vec<(String, &Value)>) = match value {
        Value::Object(fields) if indent + before + flat.chars().count() > LINE && !fields.is_empty() => {
            ('{', '}', fields.iter().map(|(name, value)| (format!("{}: ", quoted(name)), value)).collect())
        }
        Value::Array(items) if indent + before + flat.chars().count() > LINE && !items.is_empty() => {
            ('[', ']', items.iter().map(|item| (String::new(), item)).collect())
        }
        _ => return text.push_str(&flat),
    };
    text.push(open);
    for (number, (name, part)) in parts.iter().enumerate() {
        text.push_str(if number == 0 { "\n" } else { ",\n" });
        text.push_str(&" ".repeat(inner));
        text.push_str(name);
        write(part, inner, name.chars().count() + 1, text);
    }
    text.push('\n');
    text.push_str(&" ".repeat(indent));
    text.push(close);
}

fn on_one_line(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields =
                fields.iter().map(|(name, value)| format!("{}: {}", quoted(name), on_one_line(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(on_one_line).collect::<Vec<_>>().join(", "))
        }
        scalar => scalar.to_string(),
    }
}

fn quoted(name: &str) -> String {
    Value::from(name).to_string()
}
