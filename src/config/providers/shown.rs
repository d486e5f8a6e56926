//! How does an entry of `providers` look to those who ask, and to editors? Where a key lies is shown, a key never.

use serde_json::{Value as Json, json};

use super::{super::sampling, KeySource, MAX_NAME_CHARS, ProviderKind, ProviderSettings};

/// Stands for the arguments of a command, among which a secret may be.
const MORE_WORDS: &str = "…";

/// An entry as the file would say it, but for the arguments of commands; `null` for one with mistakes.
pub(crate) fn shown(settings: Option<&ProviderSettings>) -> Json {
    let Some(ProviderSettings { kind, base_url, key, models, sampling }) = settings else {
        return Json::Null;
    };
    let mut entry = json!({ "kind": kind.as_str() });
    if let Some(base_url) = base_url {
        entry["baseUrl"] = json!(base_url);
    }
    if let Some(key) = key {
        entry["key"] = match key {
            KeySource::Env(name) => json!({ "env": name }),
            KeySource::File(path) => json!({ "file": path.to_string_lossy() }),
            KeySource::Command(words) => {
                let more = (1 < words.len()).then_some(MORE_WORDS);
                let words: Vec<&str> = words.first().map(String::as_str).into_iter().chain(more).collect();
                json!({ "command": words })
            }
        };
    }
    if !models.is_empty() {
        entry["models"] = json!(models);
    }
    for (field, value) in sampling::shown(sampling) {
        entry[field] = value;
    }
    entry
}

/// The section as a JSON Schema.
pub(crate) fn schema() -> Json {
    let variable = json!({
        "type": "string", "pattern": "^[^=]*[^=\\s][^=]*$",
        "description": "A variable of the daemon's environment.",
    });
    let one = |name: &str, schema: Json| {
        json!({
            "type": "object", "properties": { name: schema }, "required": [name], "additionalProperties": false,
        })
    };
    let absolute = json!({
        "type": "string", "pattern": "^/",
        "description": "An absolute path. Nobody but its owner may be able to read the file.",
    });
    let command = json!({
        "type": "array", "items": { "type": "string" }, "minItems": 1, "prefixItems": [{ "minLength": 1 }],
        "description": "Run without a shell; what it prints is the key.",
    });
    let key = json!({
        "description": "Where the key lies; never the key itself.",
        "oneOf": [
            one("env", variable),
            one("file", absolute),
            one("command", command),
        ],
    });
    let kinds: Vec<&str> = ProviderKind::ALL.iter().map(|kind| kind.as_str()).collect();
    let models = json!({
        "type": "array", "items": { "type": "string", "pattern": "\\S" },
        "description": "Bare names of models that mean this entry; `*` stands for any letters.",
        "examples": [["gemini-*"]],
    });
    let mut entry = json!({
        "type": "object",
        "properties": {
            "kind": { "enum": kinds, "description": "The protocol that the provider speaks." },
            "baseUrl": {
                "type": "string",
                "pattern": "^\\s*https?://[^/?#@]+(/[^?#]*)?$",
                "description": "Where it listens, when not at its usual address.",
            },
            "key": key,
            "models": models,
        },
        "required": ["kind"],
        "additionalProperties": false,
    });
    for (field, schema) in sampling::schema() {
        entry["properties"][field] = schema;
    }
    json!({
        "type": "object",
        "description": "Providers of models, each under a name of your own; a model is then `name/model-id`.",
        "propertyNames": {
            "pattern": format!("^[A-Za-z0-9_-]{{1,{MAX_NAME_CHARS}}}$"), "not": { "enum": super::RESERVED },
        },
        "additionalProperties": entry,
        "default": {},
        "examples": [{
            "work": { "kind": "gemini", "key": { "command": ["pass", "show", "work-gemini"] }, "models": ["gemini-3-*"] },
        }],
    })
}
