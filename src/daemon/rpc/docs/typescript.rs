//! `types.ts`: the protocol as types of TypeScript, from the same schemas as everything else here.
//!
//! Enums that the daemon sends are open, as the protocol says: a value nobody knows is a `string` to a client. Those
//! that only clients send are closed, so that a slip does not compile.

use std::{collections::BTreeSet, fmt::Write as _};

use serde_json::{Map, Value, json};

use super::{
    events::SIGNALS,
    schemas::SchemaDefinitions,
    tables::{PLACE, one_line},
};
use protocol::{
    EVENTS, Envelope, ErrorKind, EventDoc, EventNotification, METHODS, PROTOCOL_VERSIONS, RpcError,
    SchemaViolation,
};

/// What does not follow from any schema: requests, answers, and how envelopes and their data go together.
const FRAME: &str = include_str!("frame.ts");

/// Longest line of a comment, in characters.
const COMMENT: usize = 110;

/// What stands behind the known values of an enum that may grow.
const OTHERS: &str = "(string & {})";

pub(super) fn page() -> String {
    let mut schemas = SchemaDefinitions::new(PLACE);
    let mut methods = String::new();
    let mut received = Vec::new();
    for method in METHODS {
        let params = schemas.add((method.params)());
        let result = schemas.add((method.result)());
        comment(method.doc, 2, &mut methods);
        let (params_type, result_type) = (reference(&params), reference(&result));
        let _ =
            writeln!(methods, "  \"{}\": {{ params: {params_type}; result: {result_type} }};", method.name);
        received.push(result);
    }
    let mut events = |docs: &[EventDoc]| {
        let mut fields = String::new();
        for event in docs {
            let data = schemas.add((event.data)());
            comment(event.doc, 2, &mut fields);
            let _ = writeln!(fields, "  \"{}\": {};", event.name, reference(&data));
            received.push(data);
        }
        fields
    };
    let (events, signals) = (events(EVENTS), events(SIGNALS));
    received.push(schemas.add(schemars::schema_for!(Envelope)));
    received.push(schemas.add(schemars::schema_for!(EventNotification)));
    received.push(schemas.add(schemars::schema_for!(RpcError)));
    received.push(schemas.add(schemars::schema_for!(SchemaViolation)));
    let printer = TypeScriptPrinter { received: reachable(&received, &schemas) };
    let types: String = schemas.iter().map(|(name, schema)| printer.declaration(name, schema)).collect();
    let subscriptions: Vec<String> = METHODS
        .iter()
        .filter(|method| method.is_subscription)
        .map(|method| format!("\"{}\"", method.name))
        .collect();
    let mut codes = String::new();
    for kind in ErrorKind::ALL {
        let _ = writeln!(codes, "  {}: {};", kind.as_str(), kind.code());
    }
    let version = PROTOCOL_VERSIONS.last().copied().unwrap_or_default();
    format!(
        "// The protocol of subagentd, version {version}. Generated from the daemon's types; README.md explains it.\n\
         // Enums that the daemon sends are open, and objects grow: skip what you do not know.\n\
         {types}\n\
         /** Every method: what it takes and what it answers. */\n\
         export interface Methods {{\n{methods}}}\n\n\
         /** Methods that answer with a subscription's id; `event` notifications follow. */\n\
         export type SubscriptionMethod = {};\n\n\
         /** Every fact by its `type`: what its `data` is. */\n\
         export interface Events {{\n{events}}}\n\n\
         /** Everything else that is sent as `event`, by its `type`: deltas, snapshots, signals. Not stored. */\n\
         export interface Signals {{\n{signals}}}\n\n\
         /** The code of each kind of error. */\n\
         export interface ErrorCodes {{\n{codes}}}\n{FRAME}",
        subscriptions.join(" | "),
    )
}

/// The names of all types that lie behind these references.
fn reachable(references: &[Value], schemas: &SchemaDefinitions) -> BTreeSet<String> {
    fn names<'a>(schema: &'a Value, found: &mut Vec<&'a str>) {
        match schema {
            Value::Object(words) => {
                found.extend(name_behind(schema));
                words.values().for_each(|value| names(value, found));
            }
            Value::Array(items) => items.iter().for_each(|item| names(item, found)),
            _ => {}
        }
    }
    let mut open = Vec::new();
    references.iter().for_each(|reference| names(reference, &mut open));
    let mut reached = BTreeSet::new();
    while let Some(name) = open.pop() {
        if reached.insert(name.to_owned()) {
            names(schemas.get(name).unwrap_or(&Value::Null), &mut open);
        }
    }
    reached
}

struct TypeScriptPrinter {
    /// Types that the daemon sends.
    received: BTreeSet<String>,
}

impl TypeScriptPrinter {
    fn declaration(&self, name: &str, schema: &Value) -> String {
        let scope = TypeScriptScope { is_received: self.received.contains(name) };
        let mut text = "\n".to_owned();
        comment(description(schema), 0, &mut text);
        match schema.get("properties").and_then(Value::as_object) {
            Some(properties) if schema.get("$ref").is_none() => {
                let _ =
                    writeln!(text, "export interface {name} {{\n{}}}", scope.fields(properties, schema, 2));
            }
            _ => {
                let kind = scope.type_of(schema, 0);
                let space = if kind.starts_with('\n') { "" } else { " " };
                let _ = writeln!(text, "export type {name} ={space}{kind};");
            }
        }
        text
    }
}

#[derive(Clone, Copy)]
struct TypeScriptScope {
    is_received: bool,
}

impl TypeScriptScope {
    fn fields(self, properties: &Map<String, Value>, schema: &Value, indent: usize) -> String {
        let required = schema.get("required").and_then(Value::as_array);
        let mut text = String::new();
        for (name, property) in properties {
            let is_required = required.is_some_and(|required| required.iter().any(|field| field == name));
            let mark = if is_required { "" } else { "?" };
            comment(description(property), indent, &mut text);
            let space = " ".repeat(indent);
            let _ = writeln!(text, "{space}{name}{mark}: {};", self.type_of(property, indent));
        }
        text
    }

    fn type_of(self, schema: &Value, indent: usize) -> String {
        if let Some(name) = name_behind(schema) {
            return match schema.get("properties").and_then(Value::as_object) {
                Some(properties) => format!("{name} & {}", self.object(properties, schema, indent)),
                None => name.to_owned(),
            };
        }
        if let Some(value) = schema.get("const") {
            return value.to_string();
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            let known = values.iter().map(Value::to_string).collect();
            return union(known, self.is_received && values.iter().any(Value::is_string));
        }
        if let Some(variants) = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Value::as_array)
        {
            // A reference to an enum, or any text: the enum's own type is open already, and a plain `string` beside it
            // would take the known words from editors.
            if let [known, any] = variants.as_slice()
                && known.get("$ref").is_some()
                && *any == json!({ "type": "string" })
                && self.is_received
            {
                return self.type_of(known, indent);
            }
            return self.variants(variants, indent);
        }
        match schema.get("type") {
            Some(Value::Array(kinds)) => {
                let of = |kind: &Value| self.of_kind(kind.as_str().unwrap_or_default(), schema, indent);
                union(kinds.iter().map(of).collect(), false)
            }
            Some(Value::String(kind)) => self.of_kind(kind, schema, indent),
            _ => "unknown".to_owned(),
        }
    }

    /// Variants with words of their own stand on lines of their own.
    fn variants(self, variants: &[Value], indent: usize) -> String {
        let is_text = |it: &Value| it.get("const").is_some_and(Value::is_string) || it.get("enum").is_some();
        let is_open = self.is_received && variants.iter().any(is_text);
        let of = |variant: &Value| match variant.get("enum").and_then(Value::as_array) {
            // The whole is open, not each part of it.
            Some(values) => union(values.iter().map(Value::to_string).collect(), false),
            None => self.type_of(variant, indent + 2),
        };
        let types = variants.iter().map(of);
        if variants.iter().all(|variant| description(variant).is_empty()) {
            return union(types.collect(), is_open);
        }
        let mut text = String::new();
        for (variant, kind) in variants.iter().zip(types) {
            text.push('\n');
            comment(description(variant), indent + 2, &mut text);
            let _ = write!(text, "{}| {kind}", " ".repeat(indent + 2));
        }
        if is_open {
            let _ = write!(text, "\n{}| {OTHERS}", " ".repeat(indent + 2));
        }
        text
    }

    fn of_kind(self, kind: &str, schema: &Value, indent: usize) -> String {
        match kind {
            "string" | "boolean" | "null" => kind.to_owned(),
            "integer" | "number" => "number".to_owned(),
            "array" => {
                let items = schema.get("items").map_or("unknown".to_owned(), |it| self.type_of(it, indent));
                if items.contains([' ', '\n']) { format!("({items})[]") } else { format!("{items}[]") }
            }
            "object" => match schema.get("properties").and_then(Value::as_object) {
                Some(properties) => self.object(properties, schema, indent),
                None => match schema.get("additionalProperties") {
                    Some(values) => format!("Record<string, {}>", self.type_of(values, indent)),
                    // The daemon may come to say more; what a client sends has no fields.
                    None if self.is_received => "Record<string, unknown>".to_owned(),
                    None => "Record<string, never>".to_owned(),
                },
            },
            _ => "unknown".to_owned(),
        }
    }

    fn object(self, properties: &Map<String, Value>, schema: &Value, indent: usize) -> String {
        format!("{{\n{}{}}}", self.fields(properties, schema, indent + 2), " ".repeat(indent))
    }
}

fn union(mut kinds: Vec<String>, is_open: bool) -> String {
    if is_open {
        kinds.push(OTHERS.to_owned());
    }
    kinds.join(" | ")
}

fn name_behind(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix(PLACE)
}

/// The type behind what `SchemaDefinitions::add` answered.
fn reference(added: &Value) -> &str {
    name_behind(added).unwrap_or("unknown")
}

fn description(schema: &Value) -> &str {
    schema.get("description").and_then(Value::as_str).unwrap_or_default()
}

/// A doc comment, nothing for no words.
fn comment(words: &str, indent: usize, text: &mut String) {
    let words = one_line(words).replace("*/", "*\u{200b}/");
    if words.is_empty() {
        return;
    }
    let space = " ".repeat(indent);
    if indent + words.chars().count() + "/** */".len() < COMMENT {
        let _ = writeln!(text, "{space}/** {words} */");
        return;
    }
    let _ = writeln!(text, "{space}/**");
    let mut line = format!("{space} *");
    for word in words.split(' ') {
        if line.chars().count() + 1 + word.chars().count() > COMMENT {
            let _ = writeln!(text, "{line}");
            line = format!("{space} *");
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(text, "{line}\n{space} */");
}
