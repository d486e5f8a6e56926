//! The settings file as a JSON Schema, for editors.

use serde_json::{Map, Value as Json, json};

use super::{DaemonConfig, environment::variable_of, hooks, keys::KEYS, providers};

/// The schema: every setting with its meaning, its default and an example. What it does not know is no setting.
pub fn schema() -> Json {
    let defaults = DaemonConfig::default();
    let mut root = section("Settings of subagentd.");
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("subagentd settings");
    root["properties"]["$schema"] =
        json!({ "type": "string", "description": "Where an editor finds this schema." });
    for key in KEYS {
        let mut schema = (key.schema)();
        schema["description"] = json!(format!("{} Environment: `{}`.", key.meaning, variable_of(key.path)));
        schema["default"] = (key.get)(&defaults).0;
        if let Ok(example) = serde_json::from_str::<Json>(key.example) {
            schema["examples"] = json!([example]);
        }
        let mut place = &mut root;
        let mut words = key.path.split('.').peekable();
        while let Some(word) = words.next() {
            let properties = &mut place["properties"];
            if words.peek().is_none() {
                properties[word] = schema;
                break;
            }
            if properties[word].is_null() {
                properties[word] = section("");
            }
            place = &mut properties[word];
        }
    }
    root["properties"][providers::SECTION] = providers::schema();
    // Beside its settings the section has lists of hooks by their events.
    root["properties"][hooks::SECTION]["additionalProperties"] = json!({
        "type": "array",
        "description": "Hooks of this event, as Claude Code writes them.",
        "items": {
            "type": "object",
            "properties": {
                "matcher": { "type": "string", "description": "What it is about, e.g. a tool: names with `|` between them, or a regular expression." },
                "sequential": { "type": "boolean", "description": "Whether the hooks run one after the other." },
                "hooks": { "type": "array", "items": { "type": "object" } },
            },
            "required": ["hooks"],
        },
    });
    allow_null_defaults(&mut root);
    root
}

fn section(meaning: &str) -> Json {
    let mut section = json!({ "type": "object", "properties": Map::new(), "additionalProperties": false });
    if !meaning.is_empty() {
        section["description"] = json!(meaning);
    }
    section
}

/// A default of `null` stands for "nobody set it": where `null` is no value, there is no default to be told.
fn allow_null_defaults(schema: &mut Json) {
    let Some(words) = schema.as_object_mut() else { return };
    let has = |word: &str, what: &Json| {
        words.get(word).and_then(Json::as_array).is_some_and(|among| among.contains(what))
    };
    let takes_null = has("type", &json!("null")) || has("anyOf", &json!({ "type": "null" }));
    if words.get("default").is_some_and(Json::is_null) && !takes_null {
        words.remove("default");
    }
    if let Some(properties) = words.get_mut("properties").and_then(Json::as_object_mut) {
        properties.values_mut().for_each(allow_null_defaults);
    }
}
