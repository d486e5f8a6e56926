//! What may a setting hold? Each shape reads values and describes itself as a JSON Schema, so that the two agree.

use std::marker::PhantomData;

use jsonc_parser::{ast::Value, common::Ranged};
use regex_automata::nfa::thompson;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use super::mistake::SettingMistake;

/// Largest automaton of a pattern, which every text will be read with; larger ones are slips like `\w{1000}`.
const MOST_PATTERN_BYTES: usize = 2 * 1024 * 1024;

/// From here on a floating-point number stands for several whole ones (2^53).
const MOST_EXACT: f64 = 9_007_199_254_740_992.0;

/// The reason why a value is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ShapeError {
    WrongType,
    BadValue,
    /// Some elements of a list; the others were taken.
    BadElements(Vec<BadElement>),
    /// Some entries of a map; the others were taken.
    Mistakes(Vec<SettingMistake>),
}

/// What is wrong with an element, and the byte where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BadElement {
    pub offset: usize,
    pub reason: String,
}

/// What a setting may hold.
pub(super) trait SettingShape {
    type Out;
    fn read(&self, value: &Value<'_>) -> Result<Self::Out, ShapeError>;
    fn schema(&self) -> Json;
    /// A text, so that the environment needs no quotes around it.
    fn is_text(&self) -> bool {
        false
    }
}

/// A name: a text that says something. Blanks around it do not count.
pub(super) struct NameShape;

impl SettingShape for NameShape {
    type Out = String;

    fn read(&self, value: &Value<'_>) -> Result<String, ShapeError> {
        let text = value.as_string_lit().ok_or(ShapeError::WrongType)?.value.trim();
        if text.is_empty() { Err(ShapeError::BadValue) } else { Ok(text.to_owned()) }
    }

    fn schema(&self) -> Json {
        json!({ "type": "string", "pattern": "\\S" })
    }

    fn is_text(&self) -> bool {
        true
    }
}

/// A path from the root, or from the home (`~/`).
pub(super) struct PathShape;

impl SettingShape for PathShape {
    type Out = String;

    fn read(&self, value: &Value<'_>) -> Result<String, ShapeError> {
        let text = &value.as_string_lit().ok_or(ShapeError::WrongType)?.value;
        match text.starts_with('/') || text.starts_with("~/") {
            true => Ok(text.clone().into_owned()),
            false => Err(ShapeError::BadValue),
        }
    }

    fn schema(&self) -> Json {
        json!({ "type": "string", "pattern": "^~?/" })
    }

    fn is_text(&self) -> bool {
        true
    }
}

/// Any text, as it stands.
pub(super) struct TextShape;

impl SettingShape for TextShape {
    type Out = String;

    fn read(&self, value: &Value<'_>) -> Result<String, ShapeError> {
        Ok(value.as_string_lit().ok_or(ShapeError::WrongType)?.value.clone().into_owned())
    }

    fn schema(&self) -> Json {
        json!({ "type": "string" })
    }

    fn is_text(&self) -> bool {
        true
    }
}

/// One of these words.
pub(super) struct OneOf(pub &'static [&'static str]);

impl SettingShape for OneOf {
    type Out = String;

    fn read(&self, value: &Value<'_>) -> Result<String, ShapeError> {
        let text = value.as_string_lit().ok_or(ShapeError::WrongType)?.value.trim();
        let known = self.0.iter().find(|word| **word == text).ok_or(ShapeError::BadValue)?;
        Ok((*known).to_owned())
    }

    fn schema(&self) -> Json {
        json!({ "type": "string", "enum": self.0 })
    }

    fn is_text(&self) -> bool {
        true
    }
}

/// Yes or no.
pub(super) struct BoolShape;

impl SettingShape for BoolShape {
    type Out = bool;

    fn read(&self, value: &Value<'_>) -> Result<bool, ShapeError> {
        match value {
            Value::BooleanLit(flag) => Ok(flag.value),
            _ => Err(ShapeError::WrongType),
        }
    }

    fn schema(&self) -> Json {
        json!({ "type": "boolean" })
    }
}

/// What a type of the protocol takes, as it takes it.
pub(super) struct ProtocolShape<T>(PhantomData<T>);

impl<T> ProtocolShape<T> {
    pub fn new() -> ProtocolShape<T> {
        ProtocolShape(PhantomData)
    }
}

impl<T: DeserializeOwned + JsonSchema> SettingShape for ProtocolShape<T> {
    type Out = T;

    fn read(&self, value: &Value<'_>) -> Result<T, ShapeError> {
        let value = Json::from(value.clone());
        serde_json::from_value(value).map_err(|_| ShapeError::BadValue)
    }

    fn schema(&self) -> Json {
        // Whole, with nothing to be looked up elsewhere: it stands in the middle of another schema.
        let settings = SchemaSettings::draft2020_12().with(|it| {
            it.inline_subschemas = true;
            it.meta_schema = None;
        });
        let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
        if let Some(words) = schema.as_object_mut() {
            words.remove("title");
        }
        schema
    }
}

/// A whole number within bounds; both belong to it.
pub(super) struct IntegerShape {
    pub least: u64,
    pub most: u64,
}

impl SettingShape for IntegerShape {
    type Out = u64;

    fn read(&self, value: &Value<'_>) -> Result<u64, ShapeError> {
        let digits = value.as_number_lit().ok_or(ShapeError::WrongType)?.value;
        let number = digits.parse::<u64>().ok().or_else(|| whole(digits.parse::<f64>().ok()?));
        number.filter(|number| (self.least..=self.most).contains(number)).ok_or(ShapeError::BadValue)
    }

    fn schema(&self) -> Json {
        let mut schema = json!({ "type": "integer", "minimum": self.least });
        // Bounds that only the machine has say nothing to a person.
        if self.most < u64::from(u32::MAX) {
            schema["maximum"] = json!(self.most);
        }
        schema
    }
}

/// `5.0` and `5e3` are whole numbers too, in JSON as in its schemas.
fn whole(number: f64) -> Option<u64> {
    // In these bounds the conversion is exact.
    (number.fract() == 0.0 && (0.0..=MOST_EXACT).contains(&number)).then_some(number as u64)
}

/// A number within bounds; both belong to it.
pub(super) struct NumberShape {
    pub least: f64,
    /// Zero does not belong to it.
    pub is_above_zero: bool,
    pub most: f64,
}

impl SettingShape for NumberShape {
    type Out = f64;

    fn read(&self, value: &Value<'_>) -> Result<f64, ShapeError> {
        let digits = value.as_number_lit().ok_or(ShapeError::WrongType)?.value;
        let number = digits.parse::<f64>().map_err(|_| ShapeError::BadValue)?;
        let is_in = (self.least..=self.most).contains(&number) && (!self.is_above_zero || 0.0 < number);
        if is_in { Ok(number) } else { Err(ShapeError::BadValue) }
    }

    fn schema(&self) -> Json {
        let least = if self.is_above_zero { "exclusiveMinimum" } else { "minimum" };
        json!({ "type": "number", least: plain(self.least), "maximum": plain(self.most) })
    }
}

/// Written without a fraction when it has none.
pub(super) fn plain(number: f64) -> Json {
    whole(number).map_or_else(|| json!(number), |whole| json!(whole))
}

/// The shape, or `null`.
pub(super) struct OrNull<S>(pub S);

impl<S: SettingShape> SettingShape for OrNull<S> {
    type Out = Option<S::Out>;

    fn read(&self, value: &Value<'_>) -> Result<Option<S::Out>, ShapeError> {
        match value {
            Value::NullKeyword(_) => Ok(None),
            value => self.0.read(value).map(Some),
        }
    }

    fn schema(&self) -> Json {
        let mut schema = self.0.schema();
        if schema["type"].is_null() {
            return json!({ "anyOf": [schema, { "type": "null" }] });
        }
        schema["type"] = json!([schema["type"], "null"]);
        if let Some(words) = schema.get_mut("enum").and_then(Json::as_array_mut) {
            words.push(Json::Null);
        }
        schema
    }
}

/// Any number of them. One that does not fit refuses all.
pub(super) struct ListOf<S>(pub S);

impl<S: SettingShape> SettingShape for ListOf<S> {
    type Out = Vec<S::Out>;

    fn read(&self, value: &Value<'_>) -> Result<Vec<S::Out>, ShapeError> {
        let elements = &value.as_array().ok_or(ShapeError::WrongType)?.elements;
        elements.iter().map(|element| self.0.read(element).map_err(|_| ShapeError::BadValue)).collect()
    }

    fn schema(&self) -> Json {
        json!({ "type": "array", "items": self.0.schema() })
    }
}

/// Regular expressions that match no empty text. What is wrong with one does not cost the others.
pub(super) struct RegexListShape;

impl SettingShape for RegexListShape {
    type Out = (Vec<String>, Vec<BadElement>);

    fn read(&self, value: &Value<'_>) -> Result<Self::Out, ShapeError> {
        let elements = &value.as_array().ok_or(ShapeError::WrongType)?.elements;
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for element in elements {
            match pattern(element) {
                Ok(pattern) => good.push(pattern),
                Err(reason) => bad.push(BadElement { offset: element.range().start, reason }),
            }
        }
        Ok((good, bad))
    }

    fn schema(&self) -> Json {
        json!({ "type": "array", "items": { "type": "string", "minLength": 1 } })
    }
}

/// A file's name, without a folder.
pub(super) struct FileNameShape;

impl SettingShape for FileNameShape {
    type Out = String;

    fn read(&self, value: &Value<'_>) -> Result<String, ShapeError> {
        let name = value.as_string_lit().ok_or(ShapeError::WrongType)?.value.trim();
        let says_something = name.chars().any(|letter| !letter.is_whitespace() && letter != '.');
        let is_name = says_something && !name.contains('/');
        if is_name { Ok(name.to_owned()) } else { Err(ShapeError::BadValue) }
    }

    fn schema(&self) -> Json {
        json!({ "type": "string", "pattern": r"^[^/]*[^/\s.][^/]*$" })
    }

    fn is_text(&self) -> bool {
        true
    }
}

/// A regular expression that can be searched for in linear time, or what is wrong with it.
fn pattern(value: &Value<'_>) -> Result<String, String> {
    let text = value.as_string_lit().ok_or("is not a text")?.value.as_ref();
    let parsed = regex_syntax::parse(text).map_err(|error| match error {
        regex_syntax::Error::Parse(error) => format!("is no regular expression: {}", error.kind()),
        regex_syntax::Error::Translate(error) => format!("is no regular expression: {}", error.kind()),
        _ => "is no regular expression".to_owned(),
    })?;
    if parsed.properties().minimum_len() == Some(0) {
        return Err("matches the empty text, so it would match everywhere".to_owned());
    }
    let limit = thompson::Config::new().nfa_size_limit(Some(MOST_PATTERN_BYTES));
    let built = thompson::Compiler::new().configure(limit).build(text);
    built.map(|_| text.to_owned()).map_err(|_| "is too large; use smaller repetitions".to_owned())
}
