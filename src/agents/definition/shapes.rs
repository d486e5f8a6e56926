//! What may a field hold? A shape reads it with a word on what is wrong, describes it for editors, and writes it.

use serde_json::{Value, json};

use crate::{
    fields::{self, KnownFields},
    findings::FileFindings,
    yaml::YamlContent,
};
use protocol::{
    FileProblemCode::{BadValue, UnknownField, WrongType},
    UsdAmount,
};

/// The edition of JSON Schema that a file's schemas are written in.
pub(super) const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// A name of an input or of a result, as `template::is_name` has it.
pub(super) const WORD: &str = r"^[\p{Alphabetic}\p{N}_]+$";

/// A way in which values of one kind are written in a file.
pub(super) trait FieldShape {
    type Value;

    /// The JSON Schema; an empty field counts as missing.
    fn schema(&self) -> Value;

    /// The field's value; `None` where it is missing or mistaken.
    fn read(&self, name: &str, fields: &KnownFields<'_>, findings: &mut FileFindings) -> Option<Self::Value>;

    /// The value as a file says it.
    fn write(&self, value: &Self::Value) -> Value;
}

/// The place in which such a value is kept.
pub(super) trait FieldSlot<V> {
    fn put(&mut self, value: V);

    /// The value, if it is another than that of a file that says nothing.
    fn said(&self) -> Option<V>;
}

impl<V: Clone> FieldSlot<V> for Option<V> {
    fn put(&mut self, value: V) {
        *self = Some(value);
    }

    fn said(&self) -> Option<V> {
        self.clone()
    }
}

impl<V: Clone> FieldSlot<Vec<V>> for Vec<V> {
    fn put(&mut self, value: Vec<V>) {
        *self = value;
    }

    fn said(&self) -> Option<Vec<V>> {
        (!self.is_empty()).then(|| self.clone())
    }
}

/// False is what a file means that says nothing.
impl FieldSlot<bool> for bool {
    fn put(&mut self, value: bool) {
        *self = value;
    }

    fn said(&self) -> Option<bool> {
        self.then_some(true)
    }
}

/// Zero is what a file means that says nothing.
impl FieldSlot<i64> for i64 {
    fn put(&mut self, value: i64) {
        *self = value;
    }

    fn said(&self) -> Option<i64> {
        (*self != 0).then_some(*self)
    }
}

/// The shape bounds the number.
impl FieldSlot<i64> for Option<u32> {
    fn put(&mut self, value: i64) {
        *self = u32::try_from(value).ok();
    }

    fn said(&self) -> Option<i64> {
        self.map(i64::from)
    }
}

/// The shape bounds the number.
impl FieldSlot<i64> for Option<u64> {
    fn put(&mut self, value: i64) {
        *self = u64::try_from(value).ok();
    }

    fn said(&self) -> Option<i64> {
        self.and_then(|value| i64::try_from(value).ok())
    }
}

/// A number of dollars; what is written is read to the same amount.
impl FieldSlot<f64> for Option<UsdAmount> {
    fn put(&mut self, value: f64) {
        *self = UsdAmount::limit_from_dollars(value);
    }

    fn said(&self) -> Option<f64> {
        self.map(UsdAmount::dollars)
    }
}

/// A text; numbers and booleans need quotes to be one.
pub(super) struct FieldTextShape;

impl FieldShape for FieldTextShape {
    type Value = String;

    fn schema(&self) -> Value {
        text()
    }

    fn read(&self, name: &str, fields: &KnownFields<'_>, findings: &mut FileFindings) -> Option<String> {
        fields.text(name, findings)
    }

    fn write(&self, value: &String) -> Value {
        value.as_str().into()
    }
}

/// True or false.
pub(super) struct FlagShape;

impl FieldShape for FlagShape {
    type Value = bool;

    fn schema(&self) -> Value {
        json!({ "type": ["boolean", "null"] })
    }

    fn read(&self, name: &str, fields: &KnownFields<'_>, findings: &mut FileFindings) -> Option<bool> {
        fields.flag(name, findings)
    }

    fn write(&self, value: &bool) -> Value {
        (*value).into()
    }
}

/// A whole number from `least` to `most`; `i64::MAX` is no bound.
pub(super) struct WholeShape {
    pub least: i64,
    pub most: i64,
}

impl FieldShape for WholeShape {
    type Value = i64;

    fn schema(&self) -> Value {
        let mut schema = json!({ "type": ["integer", "null"], "minimum": self.least });
        if self.most != i64::MAX {
            schema["maximum"] = json!(self.most);
        }
        schema
    }

    fn read(&self, name: &str, fields: &KnownFields<'_>, findings: &mut FileFindings) -> Option<i64> {
        fields.whole(name, self.least, self.most, findings)
    }

    fn write(&self, value: &i64) -> Value {
        (*value).into()
    }
}

/// A number from zero, or above it, to `most`.
pub(super) struct FieldNumberShape<N> {
    pub is_above_zero: bool,
    pub most: N,
    /// Words for the message about another one.
    pub expected: &'static str,
}

impl<N: Copy + Into<f64> + Into<Value>> FieldShape for FieldNumberShape<N> {
    type Value = f64;

    fn schema(&self) -> Value {
        let least = if self.is_above_zero { "exclusiveMinimum" } else { "minimum" };
        let most: Value = self.most.into();
        json!({ "type": ["number", "null"], least: 0, "maximum": most })
    }

    fn read(&self, name: &str, fields: &KnownFields<'_>, findings: &mut FileFindings) -> Option<f64> {
        let most: f64 = self.most.into();
        let is_fine = |number: f64| number <= most && (number > 0.0 || number == 0.0 && !self.is_above_zero);
        fields.number(name, self.expected, is_fine, findings)
    }

    fn write(&self, value: &f64) -> Value {
        (*value).into()
    }
}

/// One of a few words.
pub(super) struct WordShape<T: 'static>(pub &'static [(&'static str, T)]);

impl<T: Copy + PartialEq> FieldShape for WordShape<T> {
    type Value = T;

    fn schema(&self) -> Value {
        let words = self.0.iter().map(|(word, _)| Value::from(*word));
        json!({ "enum": words.chain([Value::Null]).collect::<Vec<_>>() })
    }

    fn read(&self, name: &str, fields: &KnownFields<'_>, findings: &mut FileFindings) -> Option<T> {
        fields.one_of(name, self.0, findings)
    }

    fn write(&self, value: &T) -> Value {
        self.0.iter().find(|(_, choice)| choice == value).map(|(word, _)| *word).into()
    }
}

/// Words in a list, or one alone; each once. One that means nothing yet (`None`) is told and left out.
pub(super) struct WordListShape<T: 'static>(pub &'static [(&'static str, Option<T>)]);

impl<T: Copy + PartialEq> WordListShape<T> {
    /// The words that mean something in this version.
    fn known(&self) -> Vec<&'static str> {
        self.0.iter().filter(|(_, choice)| choice.is_some()).map(|(word, _)| *word).collect()
    }
}

impl<T: Copy + PartialEq> FieldShape for WordListShape<T> {
    type Value = Vec<T>;

    fn schema(&self) -> Value {
        json!({ "type": ["array", "null"], "items": { "enum": self.known() } })
    }

    fn read(&self, name: &str, fields: &KnownFields<'_>, findings: &mut FileFindings) -> Option<Vec<T>> {
        let node = fields.get(name)?;
        let path = fields.path(name);
        let expected = format!("a list of {}", fields::listed(&self.known()));
        let nodes = match &node.content {
            YamlContent::List(nodes) => nodes.iter().collect(),
            YamlContent::Scalar { .. } => vec![node],
            YamlContent::Map(_) => {
                findings.expected(node, &path, WrongType, &expected);
                return None;
            }
        };
        let mut chosen = Vec::new();
        for node in nodes {
            let word = node.as_raw_text();
            match word.and_then(|text| self.0.iter().find(|(word, _)| *word == text.trim())) {
                Some((_, Some(choice))) if chosen.contains(choice) => {}
                Some((_, Some(choice))) => chosen.push(*choice),
                Some((word, None)) => {
                    let message = format!("`{path}`: `{word}` has no effect in this version");
                    findings.warning(Some(node.mark), UnknownField, message, None);
                }
                None => {
                    let code = if word.is_some() { BadValue } else { WrongType };
                    findings.expected(node, &path, code, &expected);
                }
            }
        }
        Some(chosen)
    }

    fn write(&self, value: &Vec<T>) -> Value {
        let word =
            |choice: &T| self.0.iter().find(|(_, known)| *known == Some(*choice)).map(|(word, _)| *word);
        value.iter().filter_map(word).collect()
    }
}

pub(super) fn text() -> Value {
    json!({ "type": ["string", "null"] })
}

/// The schema of a map, or nothing.
pub(super) fn or_null(mut schema: Value) -> Value {
    schema["type"] = json!([schema["type"], "null"]);
    schema
}

/// The schema of one of these words, which must stand there.
pub(super) fn word_schema<T>(choices: &[(&str, T)]) -> Value {
    json!({ "enum": choices.iter().map(|(word, _)| *word).collect::<Vec<_>>() })
}

/// The schema of a JSON Schema.
pub(super) fn json_schema() -> Value {
    json!({ "type": "object", "$ref": DIALECT })
}
