//! A text of JSON with comments, or a value from elsewhere, as one tree that knows its lines.

use std::path::Path;

use jsonc_parser::{CollectOptions, ParseOptions, ast::Value as Parsed, common::Ranged as _, parse_to_ast};
use serde_json::{Map, Number, Value};

use protocol::{FileProblem, FileProblemCode};
use sys::mark::{TextPosition, one_based, problem};

/// Comments and commas before a closing bracket are what people write; nothing else is taken that JSON does not have.
const DIALECT: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// A value, and the line that it begins in; 0 = not known.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DocumentNode {
    pub line: u32,
    pub content: DocumentContent,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum DocumentContent {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<DocumentNode>),
    /// Sorted in the order of the text. The line is the key's.
    Map(Vec<(String, u32, DocumentNode)>),
}

impl DocumentNode {
    /// Reads a file's bytes; `None` = it is empty.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Option<DocumentNode>, FileProblem> {
        let text = config::decode(path, bytes)?;
        match parse_to_ast(text, &CollectOptions::default(), &DIALECT) {
            Ok(parsed) => Ok(parsed.value.map(|value| DocumentNode::of_parsed(&value, text))),
            Err(error) => {
                let mark = TextPosition {
                    line: one_based(error.line_display().saturating_sub(1)),
                    column: one_based(error.column_display().saturating_sub(1)),
                };
                let message = format!("is not JSON with comments: {}", error.kind());
                Err(problem(path, Some(mark), FileProblemCode::BadJson, message))
            }
        }
    }

    /// The depth is bounded by the parser.
    fn of_parsed(value: &Parsed<'_>, text: &str) -> DocumentNode {
        let line_of = |offset| TextPosition::at(text, offset).line;
        let content = match value {
            Parsed::NullKeyword(_) => DocumentContent::Null,
            Parsed::BooleanLit(it) => DocumentContent::Bool(it.value),
            // What is no number of JSON stays visible as what it is.
            Parsed::NumberLit(it) => match it.value.parse::<Number>() {
                Ok(number) => DocumentContent::Number(number),
                Err(_) => DocumentContent::Text(it.value.to_owned()),
            },
            Parsed::StringLit(it) => DocumentContent::Text(it.value.to_string()),
            Parsed::Array(it) => DocumentContent::List(
                it.elements.iter().map(|it| DocumentNode::of_parsed(it, text)).collect(),
            ),
            Parsed::Object(it) => {
                let properties = it.properties.iter().map(|property| {
                    let line = line_of(property.range.start);
                    (property.name.as_str().to_owned(), line, DocumentNode::of_parsed(&property.value, text))
                });
                DocumentContent::Map(properties.collect())
            }
        };
        DocumentNode { line: line_of(value.range().start), content }
    }

    /// Only of a value that was read by somebody else: nobody knows its lines.
    pub fn of_value(value: &Value) -> DocumentNode {
        let content = match value {
            Value::Null => DocumentContent::Null,
            Value::Bool(it) => DocumentContent::Bool(*it),
            Value::Number(it) => DocumentContent::Number(it.clone()),
            Value::String(it) => DocumentContent::Text(it.clone()),
            Value::Array(it) => DocumentContent::List(it.iter().map(DocumentNode::of_value).collect()),
            Value::Object(it) => {
                let entries = it.iter().map(|(key, value)| (key.clone(), 0, DocumentNode::of_value(value)));
                DocumentContent::Map(entries.collect())
            }
        };
        DocumentNode { line: 0, content }
    }

    pub fn get(&self, key: &str) -> Option<&DocumentNode> {
        let DocumentContent::Map(entries) = &self.content else { return None };
        entries.iter().find(|(name, ..)| name == key).map(|(.., node)| node)
    }

    pub fn text(&self) -> Option<&str> {
        match &self.content {
            DocumentContent::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Without its lines.
    pub fn value(&self) -> Value {
        match &self.content {
            DocumentContent::Null => Value::Null,
            DocumentContent::Bool(it) => Value::Bool(*it),
            DocumentContent::Number(it) => Value::Number(it.clone()),
            DocumentContent::Text(it) => Value::String(it.clone()),
            DocumentContent::List(it) => Value::Array(it.iter().map(DocumentNode::value).collect()),
            DocumentContent::Map(it) => Value::Object(
                it.iter().map(|(key, _, node)| (key.clone(), node.value())).collect::<Map<_, _>>(),
            ),
        }
    }

    /// A word for messages.
    pub fn kind(&self) -> &'static str {
        match self.content {
            DocumentContent::Null => "null",
            DocumentContent::Bool(_) => "a boolean",
            DocumentContent::Number(_) => "a number",
            DocumentContent::Text(_) => "a text",
            DocumentContent::List(_) => "a list",
            DocumentContent::Map(_) => "an object",
        }
    }
}
