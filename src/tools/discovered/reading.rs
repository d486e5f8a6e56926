//! What does the output of a discovery command tell?

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::parameters::ParameterSchema;
use protocol::DiscoveredTool;
use redact::Redactor;

/// Tools of one workspace. Models are lost among fewer, and each is declared with every request.
const MOST_TOOLS: usize = 500;

/// Bytes of all their descriptions and schemas: each run keeps them with its first event.
const MOST_BYTES: usize = 1 << 20;

/// Characters of a name. Longer ones are slips; on the wire to a model it is cut anyway.
const LONGEST_NAME: usize = 128;

/// Characters of an odd value that a warning shows.
const LONGEST_SHOWN: usize = 60;

/// Characters of what is no JSON that a warning shows, and bytes of it that are looked at for secrets before.
const BEGINNING: usize = 80;
const LOOKED_AT: usize = 64 << 10;

/// What the output told, and what of it is odd.
#[derive(Debug, Default, PartialEq)]
pub struct DiscoveredDeclarations {
    pub tools: Vec<DiscoveredTool>,
    pub warnings: Vec<String>,
}

/// Reads a JSON array whose items are `{function_declarations: […]}`, `{functionDeclarations: […]}` or declarations. Fails
/// when it is none; whatever is wrong with one item costs that item.
pub fn read(output: &[u8], redactor: &Redactor) -> Result<DiscoveredDeclarations, String> {
    let parsed: Value = serde_json::from_slice(output).map_err(|error| match output.trim_ascii() {
        b"" => "put out nothing; a JSON array of function declarations was expected".to_owned(),
        _ => format!("put out no JSON: {error}; it begins \"{}\"", beginning(output, redactor)),
    })?;
    let Value::Array(items) = parsed else {
        return Err(format!(
            "put out {}; a JSON array of function declarations was expected",
            kind_of(&parsed)
        ));
    };
    let mut reader = DeclarationReader::default();
    for (at, mut item) in items.into_iter().enumerate() {
        let place = format!("[{at}]");
        let list = ["function_declarations", "functionDeclarations"]
            .into_iter()
            .find_map(|key| Some((key, item.get_mut(key).filter(|it| it.is_array())?.take())));
        match list {
            Some((key, Value::Array(declarations))) => {
                for (n, declaration) in declarations.into_iter().enumerate() {
                    reader.declaration(declaration, &format!("{place}.{key}[{n}]"));
                }
            }
            _ => reader.declaration(item, &place),
        }
    }
    Ok(reader.finish())
}

/// How an output begins, in one line. Secrets are taken out before it is cut, so that no part of one is left.
fn beginning(output: &[u8], redactor: &Redactor) -> String {
    let text = String::from_utf8_lossy(&output[..output.len().min(LOOKED_AT)]);
    let text = redactor.text(text.trim());
    let mut letters = text.chars();
    let shown: String = letters.by_ref().take(BEGINNING).flat_map(char::escape_debug).collect();
    if letters.next().is_some() { format!("{shown}…") } else { shown }
}

#[derive(Default)]
struct DeclarationReader {
    told: DiscoveredDeclarations,
    /// Where each name stands.
    by_name: HashMap<String, usize>,
    bytes: usize,
    left_out: usize,
}

impl DeclarationReader {
    fn declaration(&mut self, declaration: Value, place: &str) {
        let Value::Object(mut declaration) = declaration else {
            return self.warn(format!("{place} is {}, no declaration", kind_of(&declaration)));
        };
        let name = match declaration.get("name") {
            Some(Value::String(name)) if !name.trim().is_empty() => name.trim().to_owned(),
            None | Some(Value::Null | Value::String(_)) => {
                return self.warn(format!("{place} has no name"));
            }
            Some(other) => return self.warn(format!("the name of {place} is {}", kind_of(other))),
        };
        if let Some(problem) = problem_of_name(&name) {
            return self.warn(format!("`{}` {problem}", shortened(&name)));
        }
        let description = match declaration.remove("description") {
            Some(Value::String(description)) => description.trim().to_owned(),
            _ => String::new(),
        };
        let parameters = self.parameters(&mut declaration, &name);
        let bytes = self.bytes + name.len() + description.len() + parameters.to_string().len();
        let is_new = !self.by_name.contains_key(&name);
        if MOST_BYTES < bytes || (is_new && self.told.tools.len() == MOST_TOOLS) {
            self.left_out += 1;
            return;
        }
        self.bytes = bytes;
        let tool = DiscoveredTool { name: name.clone(), description, parameters };
        match self.by_name.get(&name) {
            Some(at) => {
                self.told.tools[*at] = tool;
                self.warn(format!("`{name}` is told twice; the second took the place of the first"));
            }
            None => {
                self.by_name.insert(name, self.told.tools.len());
                self.told.tools.push(tool);
            }
        }
    }

    /// The schema of its arguments; what is none counts as `{}`.
    fn parameters(&mut self, declaration: &mut Map<String, Value>, name: &str) -> Value {
        let schema = match declaration.remove("parametersJsonSchema") {
            Some(schema) => schema,
            None => {
                let mut schema = declaration.remove("parameters").unwrap_or_else(|| json!({}));
                lower_types(&mut schema);
                schema
            }
        };
        if !schema.is_object() {
            if !schema.is_null() {
                self.warn(format!(
                    "the parameters of `{name}` are {}; any arguments are passed on",
                    kind_of(&schema)
                ));
            }
            return json!({});
        }
        if ParameterSchema::compile(&schema).is_none() {
            self.warn(format!("the parameters of `{name}` are no JSON Schema; any arguments are passed on"));
            return json!({});
        }
        schema
    }

    fn warn(&mut self, text: String) {
        self.told.warnings.push(text);
    }

    fn finish(mut self) -> DiscoveredDeclarations {
        if 0 < self.left_out {
            self.told.warnings.push(format!(
                "{} of its tools were left out: {MOST_TOOLS} are taken, with descriptions and parameters of {} KiB in all",
                self.left_out,
                MOST_BYTES >> 10
            ));
        }
        self.told
    }
}

fn problem_of_name(name: &str) -> Option<&'static str> {
    // A person reads it in a question, as a word of a command: nothing that is invisible, turns the line around, or means
    // something to a shell.
    let is_odd = |letter: char| !letter.is_alphanumeric() && !"_-.:/@+".contains(letter);
    if LONGEST_NAME < name.chars().count() {
        Some("is too long for a name")
    } else if name.starts_with('-') {
        Some("begins like an option, so the call command would take it for one")
    } else if name.contains(is_odd) {
        Some("is no name: it has something else than letters, digits and `_-.:/@+`")
    } else {
        None
    }
}

/// Gemini's own schemas have the names of types in capitals. Recursion ends with the value, whose depth the JSON reader
/// bounds.
fn lower_types(schema: &mut Value) {
    const TYPES: &[&str] = &["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"];
    match schema {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(kind) if key == "type" && TYPES.contains(&kind.as_str()) => {
                        *kind = kind.to_ascii_lowercase();
                    }
                    other => lower_types(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(lower_types),
        _ => {}
    }
}

fn kind_of(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "a truth value".to_owned(),
        Value::Number(_) => "a number".to_owned(),
        Value::String(text) => format!("the text \"{}\"", shortened(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

fn shortened(text: &str) -> String {
    let shown: String =
        text.chars().take(LONGEST_SHOWN).map(|it| if it.is_control() { ' ' } else { it }).collect();
    if shown.len() < text.len() { format!("{shown}…") } else { shown }
}
