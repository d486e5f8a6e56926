//! How are settings read whose names are the user's own, and objects within a setting?
//!
//! What is wrong with an entry costs that entry, is told with its place, and leaves the others.

use std::collections::BTreeMap;

use jsonc_parser::{
    ast::{Object, Value},
    common::Ranged,
};
use serde_json::{Map, Value as Json, json};

use super::{
    mistake::{SettingMistake, found, kind_of},
    nearest,
    shapes::{SettingShape, ShapeError},
};
use protocol::{FileProblemCode, ProblemSeverity};

/// What one entry may hold.
pub(super) trait EntryShape {
    type Out;

    /// The reason why nothing can be called so.
    fn name_problem(&self, name: &str) -> Option<String>;

    /// Reads the entry; whatever is wrong goes to the mistakes, and `None` needs one.
    fn read(
        &self,
        entry: &EntryLocation<'_>,
        value: &Value<'_>,
        mistakes: &mut Vec<SettingMistake>,
    ) -> Option<Self::Out>;

    /// What stands for an entry with mistakes, where nothing else may take the place of its name.
    fn stand_in(&self) -> Option<Self::Out> {
        None
    }

    fn schema(&self) -> Json;

    /// What names look like, as a JSON Schema.
    fn schema_of_names(&self) -> Json;
}

/// Where an entry stands.
pub(super) struct EntryLocation<'a> {
    /// With dots and its name.
    pub path: String,
    /// All names of the setting, its own among them.
    pub names: &'a [&'a str],
}

/// Entries by name. Those of a later place take the place of all of an earlier one.
pub(super) struct MapOf<E> {
    /// Of the setting, with dots.
    pub path: &'static str,
    pub entry: E,
}

impl<E: EntryShape> SettingShape for MapOf<E> {
    type Out = (BTreeMap<String, E::Out>, Vec<SettingMistake>);

    fn read(&self, value: &Value<'_>) -> Result<Self::Out, ShapeError> {
        let Value::Object(object) = value else { return Err(ShapeError::WrongType) };
        let names: Vec<&str> = object.properties.iter().map(|property| property.name.as_str()).collect();
        let (mut entries, mut mistakes) = (BTreeMap::new(), Vec::new());
        for property in &object.properties {
            let name = property.name.as_str();
            let path = format!("{}.{name}", self.path);
            if entries.contains_key(name) {
                let message = format!("`{path}` is set twice; the first one counts");
                mistakes.push(SettingMistake::error(property, FileProblemCode::BadValue, message));
                continue;
            }
            if let Some(problem) = self.entry.name_problem(name) {
                let message = format!("`{path}`: {problem}");
                mistakes.push(SettingMistake::error(property, FileProblemCode::BadValue, message));
                continue;
            }
            let mut own = Vec::new();
            let entry = self.entry.read(&EntryLocation { path, names: &names }, &property.value, &mut own);
            let is_whole = own.iter().all(|mistake| mistake.severity != ProblemSeverity::Error);
            mistakes.append(&mut own);
            let entry = entry.filter(|_| is_whole).or_else(|| self.entry.stand_in());
            if let Some(entry) = entry {
                entries.insert(name.to_owned(), entry);
            }
        }
        Ok((entries, mistakes))
    }

    fn schema(&self) -> Json {
        json!({
            "type": "object",
            "propertyNames": self.entry.schema_of_names(),
            "additionalProperties": self.entry.schema(),
        })
    }
}

/// The fields of one object.
pub(super) struct ObjectFields<'a, 'v> {
    path: &'a str,
    object: &'a Object<'v>,
    mistakes: &'a mut Vec<SettingMistake>,
}

impl<'a, 'v> ObjectFields<'a, 'v> {
    /// Opens an object and tells which of its fields mean nothing, and which stand there twice; the first of them counts.
    pub fn open(
        path: &'a str,
        value: &'a Value<'v>,
        (known, expected): (&[&str], &str),
        mistakes: &'a mut Vec<SettingMistake>,
    ) -> Option<ObjectFields<'a, 'v>> {
        let Value::Object(object) = value else {
            let message = format!("`{path}`: expected {expected}, found {}", kind_of(value));
            mistakes.push(SettingMistake::error(value, FileProblemCode::WrongType, message));
            return None;
        };
        for (position, property) in object.properties.iter().enumerate() {
            let name = property.name.as_str();
            let field = format!("{path}.{name}");
            if object.properties[..position].iter().any(|earlier| earlier.name.as_str() == name) {
                let message = format!("`{field}` is set twice; the first one counts");
                mistakes.push(SettingMistake::error(property, FileProblemCode::BadValue, message));
            } else if !known.contains(&name) {
                let fix =
                    nearest(name, known.iter().copied()).map(|near| format!("did you mean `{path}.{near}`?"));
                mistakes.push(SettingMistake::unknown(property, &field, fix));
            }
        }
        Some(ObjectFields { path, object, mistakes })
    }

    /// Of an object whose fields somebody else looks at.
    pub fn of(
        path: &'a str,
        object: &'a Object<'v>,
        mistakes: &'a mut Vec<SettingMistake>,
    ) -> ObjectFields<'a, 'v> {
        ObjectFields { path, object, mistakes }
    }

    pub fn get(&self, field: &str) -> Option<&'a Value<'v>> {
        let property = self.object.properties.iter().find(|property| property.name.as_str() == field)?;
        Some(&property.value)
    }

    /// A field, when it is there and right.
    pub fn take<S: SettingShape>(&mut self, field: &str, shape: &S, expected: &str) -> Option<S::Out> {
        let value = self.get(field)?;
        match shape.read(value) {
            Ok(read) => Some(read),
            Err(refusal) => {
                let code = match refusal {
                    ShapeError::WrongType => FileProblemCode::WrongType,
                    _ => FileProblemCode::BadValue,
                };
                self.refuse(field, value, code, &format!("expected {expected}, found {}", found(value)));
                None
            }
        }
    }

    /// The same; that it is not there is a mistake.
    pub fn need<S: SettingShape>(&mut self, field: &str, shape: &S, expected: &str) -> Option<S::Out> {
        if self.get(field).is_none() {
            let message = format!("`{}`: `{field}` is missing; expected {expected}", self.path);
            self.mistakes.push(SettingMistake::error(self.object, FileProblemCode::BadValue, message));
            return None;
        }
        self.take(field, shape, expected)
    }

    pub fn refuse(&mut self, field: &str, place: &impl Ranged, code: FileProblemCode, problem: &str) {
        let message = format!("`{}.{field}`: {problem}", self.path);
        self.mistakes.push(SettingMistake::error(place, code, message));
    }

    /// Where the mistakes of an object within this one go.
    pub fn mistakes(&mut self) -> &mut Vec<SettingMistake> {
        self.mistakes
    }
}

/// An object with these fields, some of which must be there.
pub(super) fn object_schema(properties: Map<String, Json>, required: &[&str]) -> Json {
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}
