//! What does a reader do with a value that only a newer writer knows? (Spec 01: "Enums are open".)
//!
//! The daemon's own types are exact: it matches on what it says, and refuses parameters that it does not know. Who reads
//! what it says reads enums through [`OpenEnum`], and [`answer_schema`] tells everybody else that they may grow.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Map, Value, json};

/// A value of an enum as a client reads it: one that it knows, or the text of one that it does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenEnum<T> {
    text: String,
    known: Option<T>,
}

impl<T: Copy> OpenEnum<T> {
    /// The value; `None` when only a newer daemon knows it, or it was missing.
    pub fn known(&self) -> Option<T> {
        self.known
    }
}

impl<T> OpenEnum<T> {
    /// As it stands on the wire, known or not; empty when it was missing.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// What is missing is unknown.
impl<T> Default for OpenEnum<T> {
    fn default() -> OpenEnum<T> {
        OpenEnum { text: String::new(), known: None }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for OpenEnum<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OpenEnum<T>, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let text = match &value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Ok(OpenEnum { text, known: T::deserialize(value).ok() })
    }
}

/// The schema of what the daemon says: wherever an enum stands, a newer daemon may say something else. The enum's own
/// definition lists the values there are.
pub fn answer_schema<T: JsonSchema>() -> Schema {
    let mut schema = schemars::schema_for!(T);
    let Some(words) = schema.as_object_mut() else { return schema };
    let definitions = words.get("$defs").and_then(Value::as_object);
    let enums: Map<String, Value> = definitions
        .into_iter()
        .flatten()
        .filter_map(|(name, definition)| Some((format!("#/$defs/{name}"), newcomer(definition)?)))
        .collect();
    words.values_mut().for_each(|value| open(value, &enums));
    schema
}

/// What a value looks like that an enum may get later; `None` when the schema is no enum.
fn newcomer(definition: &Value) -> Option<Value> {
    if definition.get("enum").is_some() {
        return Some(json!({ "type": "string" }));
    }
    let variants = definition.get("oneOf")?.as_array()?;
    let kinds: Vec<&str> = variants.iter().filter_map(|variant| variant.get("type")?.as_str()).collect();
    match (kinds.contains(&"string"), kinds.contains(&"object")) {
        (true, false) => Some(json!({ "type": "string" })),
        (false, true) => Some(json!({ "type": "object" })),
        (true, true) => Some(json!({ "type": ["string", "object"] })),
        (false, false) => None,
    }
}

fn open(schema: &mut Value, enums: &Map<String, Value>) {
    match schema {
        Value::Array(items) => {
            let newcomers: Vec<Value> = items.iter().filter_map(|item| newcomer_of(item, enums)).collect();
            // Alternatives already, of which "nothing" is one: the newcomer is one more.
            for item in items.iter_mut().filter(|item| newcomer_of(item, enums).is_none()) {
                open(item, enums);
            }
            items.extend(newcomers);
        }
        Value::Object(words) => {
            words.values_mut().for_each(|value| match newcomer_of(value, enums) {
                None => open(value, enums),
                Some(_) => reference_opened(value, enums),
            });
        }
        _ => {}
    }
}

/// What may stand in place of the enum that the schema refers to; `None` when it refers to none.
fn newcomer_of(schema: &Value, enums: &Map<String, Value>) -> Option<Value> {
    let is_variant = schema.get("properties").is_some();
    let reference = schema.get("$ref").and_then(Value::as_str).filter(|_| !is_variant)?;
    enums.get(reference).cloned()
}

/// `{$ref, …}` becomes `{anyOf: [{$ref}, newcomer], …}`.
fn reference_opened(schema: &mut Value, enums: &Map<String, Value>) {
    let newcomer = newcomer_of(schema, enums);
    let Some(words) = schema.as_object_mut() else { return };
    if let (Some(newcomer), Some(reference)) = (newcomer, words.remove("$ref")) {
        words.insert("anyOf".to_owned(), json!([{ "$ref": reference }, newcomer]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EVENTS, FinishReason, METHODS, RunEndReason, RunRecord};

    #[test]
    fn a_known_value_is_known_and_any_other_is_its_text() {
        let read = |value: Value| serde_json::from_value::<OpenEnum<RunEndReason>>(value).unwrap();
        assert_eq!(read(json!("MAX_TURNS")).known(), Some(RunEndReason::MaxTurns));
        let new = read(json!("BORED"));
        assert_eq!((new.known(), new.as_str()), (None, "BORED"));
        assert_eq!(read(json!({"BORED": {"by": "rain"}})).as_str(), r#"{"BORED":{"by":"rain"}}"#);
        let refused: Value = json!({"refused": {"message": "no"}});
        assert!(serde_json::from_value::<FinishReason>(refused).is_ok());
    }

    /// Enums that `schema` lets a value come from and nothing else.
    fn closed(schema: &Value) -> Vec<String> {
        let definitions = schema.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
        let is_enum = |reference: &str| {
            let name = reference.strip_prefix("#/$defs/").unwrap_or_default();
            definitions.get(name).is_some_and(|definition| newcomer(definition).is_some())
        };
        fn walk(value: &Value, is_enum: &dyn Fn(&str) -> bool, found: &mut Vec<String>) {
            match value {
                Value::Array(items) => {
                    let has_newcomer = items.iter().any(|item| {
                        item.get("$ref").is_none() && item.get("type").is_some_and(|it| it != "null")
                    });
                    for item in items {
                        let reference = item.get("$ref").and_then(Value::as_str);
                        if !(has_newcomer && reference.is_some_and(is_enum)) {
                            walk(item, is_enum, found);
                        }
                    }
                }
                Value::Object(words) => {
                    let reference = words.get("$ref").and_then(Value::as_str);
                    let is_variant = words.contains_key("properties");
                    found.extend(reference.filter(|it| is_enum(it) && !is_variant).map(str::to_owned));
                    words.values().for_each(|value| walk(value, is_enum, found));
                }
                _ => {}
            }
        }
        let mut found = Vec::new();
        walk(schema, &is_enum, &mut found);
        found
    }

    #[test]
    fn every_enum_that_the_daemon_says_is_open_and_every_one_it_is_told_is_not() {
        assert!(!closed(&schemars::schema_for!(RunRecord).to_value()).is_empty(), "nothing is looked at");
        for method in METHODS {
            assert_eq!(closed(&(method.result)().to_value()), [] as [String; 0], "{}", method.name);
        }
        for event in EVENTS {
            assert_eq!(closed(&(event.data)().to_value()), [] as [String; 0], "{}", event.name);
        }
        let list = METHODS.iter().find(|method| method.name == "run/list").unwrap();
        assert_eq!(closed(&(list.params)().to_value()), ["#/$defs/RunState"]);
    }

    #[test]
    fn an_open_enum_keeps_its_values_its_words_and_its_absence() {
        let schema = answer_schema::<RunRecord>().to_value();
        let reference = json!({"$ref": "#/$defs/RunEndReason"});
        let text = json!({"type": "string"});
        assert_eq!(schema["properties"]["state"]["anyOf"], json!([{"$ref": "#/$defs/RunState"}, text]));
        let reason = &schema["properties"]["reason"];
        assert_eq!(reason["anyOf"], json!([reference, {"type": "null"}, text]));
        assert_eq!(reason["description"], "Set when `state` is `ended`.");
        assert!(schema["$defs"]["RunEndReason"]["enum"].as_array().unwrap().len() > 9);
    }
}
