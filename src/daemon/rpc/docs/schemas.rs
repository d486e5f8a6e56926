//! Where do the definitions of many schemas stand together? Each in one place, under its name.

use std::collections::BTreeMap;

use schemars::Schema;
use serde_json::{Map, Value, json};

/// Where schemars puts a schema's own definitions.
const OWN_DEFINITIONS: &str = "#/$defs/";

/// Definitions of many schemas, by name.
pub(super) struct SchemaDefinitions {
    place: &'static str,
    definitions: BTreeMap<String, Value>,
    /// Names that mean two things; a test asserts that there are none.
    ambiguous: Vec<String>,
}

impl SchemaDefinitions {
    /// `place` is what stands before a name in references.
    pub(super) fn new(place: &'static str) -> SchemaDefinitions {
        SchemaDefinitions { place, definitions: BTreeMap::new(), ambiguous: Vec::new() }
    }

    /// Defines a schema under its title, with all it refers to, and answers a reference to it.
    pub(super) fn add(&mut self, schema: Schema) -> Value {
        let schema = schema.to_value();
        self.lift_definitions(&schema);
        let Value::Object(mut words) = schema else { return json!(true) };
        for word in ["$schema", "$defs"] {
            words.remove(word);
        }
        let title = words.remove("title");
        match title.as_ref().and_then(Value::as_str) {
            // What any value matches needs no name.
            Some(title) if !words.is_empty() => {
                self.define(title, Value::Object(words));
                json!({ "$ref": format!("{}{title}", self.place) })
            }
            _ => json!(true),
        }
    }

    /// Takes over the definitions that a schema brings along.
    pub(super) fn lift_definitions(&mut self, schema: &Value) {
        for (name, definition) in schema.get("$defs").and_then(Value::as_object).into_iter().flatten() {
            self.define(name, definition.clone());
        }
    }

    /// A schema whose references lead here.
    pub(super) fn relocated(&self, mut schema: Value) -> Value {
        relocate(&mut schema, self.place);
        schema
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.definitions.get(name)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.definitions.iter()
    }

    pub(super) fn into_definitions(self) -> Map<String, Value> {
        self.definitions.into_iter().collect()
    }

    #[cfg(test)]
    pub(super) fn ambiguous(&self) -> &[String] {
        &self.ambiguous
    }

    fn define(&mut self, name: &str, schema: Value) {
        let schema = self.relocated(schema);
        let known = self.definitions.entry(name.to_owned()).or_insert_with(|| schema.clone());
        if *known != schema {
            self.ambiguous.push(name.to_owned());
        }
    }
}

fn relocate(schema: &mut Value, place: &str) {
    match schema {
        Value::Object(words) => {
            for (word, value) in words {
                match value {
                    Value::String(target) if word == "$ref" => {
                        *target = target.replacen(OWN_DEFINITIONS, place, 1);
                    }
                    value => relocate(value, place),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| relocate(item, place)),
        _ => {}
    }
}
