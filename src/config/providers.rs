//! Which providers of models are there, where do they listen, and where does each one's key lie? (spec 04,
//! "Providers"; spec 12, `providers`)
//!
//! A settings file tells where a key is, never the key. What is wrong with an entry costs the whole entry: half of one
//! could send a key, or a workspace's files, to the wrong place.

use std::path::{Path, PathBuf};

use jsonc_parser::{
    ast::{ObjectProp, Value},
    common::Ranged,
};

use super::{
    entries::ObjectFields,
    mistake::{SettingMistake, kind_of},
    nearest, sampling,
};
use protocol::{FileProblemCode, ProblemSeverity, SamplingSettings};

mod shown;

pub(super) use shown::{schema, shown};

/// The key of this section.
pub(super) const SECTION: &str = "providers";

const FIELDS: &[&str] =
    &["kind", "baseUrl", "key", "models", "temperature", "topP", "maxOutputTokens", "thinkingBudget"];
/// Names that mean something else in front of a model's name.
const RESERVED: &[&str] = &["offline", "replay"];
/// An entry's name at most: it stands in messages and in the names of models.
const MAX_NAME_CHARS: usize = 64;
const KEY_SHAPES: &str =
    r#"{"env": "NAME"}, {"file": "/absolute/path"} or {"command": ["program", "argument"]}"#;

/// One entry of `providers`.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderSettings {
    pub kind: ProviderKind,
    /// `None` = the provider's own.
    pub base_url: Option<String>,
    /// `None` = where keys of this kind usually lie.
    pub key: Option<KeySource>,
    /// Bare names of models that mean this entry; `*` stands for any letters.
    pub models: Vec<String>,
    /// How its models sample where nobody says more.
    pub sampling: SamplingSettings,
}

impl ProviderSettings {
    /// At its usual address, with its usual key.
    pub fn usual(kind: ProviderKind) -> ProviderSettings {
        let sampling = SamplingSettings::default();
        ProviderSettings { kind, base_url: None, key: None, models: Vec::new(), sampling }
    }
}

/// The protocol that a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderKind {
    Gemini,
    /// Chat completions, of OpenAI and of many other servers.
    OpenAi,
    /// OpenAI's responses, where models that think keep their thoughts from call to call.
    OpenAiResponses,
    /// Anthropic's messages.
    Anthropic,
}

impl ProviderKind {
    pub const ALL: &[ProviderKind] =
        &[ProviderKind::Gemini, ProviderKind::OpenAi, ProviderKind::OpenAiResponses, ProviderKind::Anthropic];

    pub fn as_str(self) -> &'static str {
        match self {
            ProviderKind::Gemini => "gemini",
            ProviderKind::OpenAi => "openai",
            ProviderKind::OpenAiResponses => "openai-responses",
            ProviderKind::Anthropic => "anthropic",
        }
    }
}

/// Where a key lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// A variable of the daemon's environment.
    Env(String),
    /// Absolute; nobody but its owner may be able to read it.
    File(PathBuf),
    /// Run without a shell; what it prints is the key. Not empty.
    Command(Vec<String>),
}

/// One entry as it stands in a layer.
pub(super) struct LayerProvider {
    pub name: String,
    /// `None` = it has mistakes.
    pub settings: Option<ProviderSettings>,
    /// The byte where it begins.
    pub offset: usize,
}

/// The entries of one layer, and what is wrong with them; `None` when it cannot be told which there are.
pub(super) fn read(value: &Value<'_>) -> (Option<Vec<LayerProvider>>, Vec<SettingMistake>) {
    let mut mistakes = Vec::new();
    let Value::Object(object) = value else {
        let message = format!("`{SECTION}`: expected an object with entries, found {}", kind_of(value));
        return (None, vec![SettingMistake::error(value, FileProblemCode::WrongType, message)]);
    };
    let mut entries: Vec<LayerProvider> = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for property in &object.properties {
        let name = property.name.as_str();
        let path = format!("{SECTION}.{name}");
        if seen.contains(&name) {
            let message = format!("`{path}` is set twice; the first one counts");
            mistakes.push(SettingMistake::error(&property.value, FileProblemCode::BadValue, message));
            continue;
        }
        seen.push(name);
        if let Some(problem) = name_problem(name) {
            let message = format!("`{path}`: {problem}");
            mistakes.push(SettingMistake::error(&property.value, FileProblemCode::BadValue, message));
            continue;
        }
        let mut reading = ProviderEntryReader { path: &path, mistakes: Vec::new() };
        let entry = reading.entry(&property.value);
        let is_whole = reading.mistakes.iter().all(|mistake| mistake.severity != ProblemSeverity::Error);
        mistakes.append(&mut reading.mistakes);
        let settings = entry.filter(|_| is_whole);
        entries.push(LayerProvider { name: name.to_owned(), settings, offset: property.value.range().start });
    }
    (Some(entries), mistakes)
}

fn name_problem(name: &str) -> Option<String> {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if name.is_empty() || MAX_NAME_CHARS < name.len() || !name.chars().all(is_letter) {
        return Some(format!(
            "an entry's name is 1 to {MAX_NAME_CHARS} letters, digits, `-` or `_`, since models are named `entry/model`"
        ));
    }
    RESERVED.contains(&name).then(|| format!("`{name}` is no name for an entry: it means a model already"))
}

/// Reads one entry.
struct ProviderEntryReader<'a> {
    path: &'a str,
    mistakes: Vec<SettingMistake>,
}

impl ProviderEntryReader<'_> {
    fn entry(&mut self, value: &Value<'_>) -> Option<ProviderSettings> {
        let Value::Object(object) = value else {
            self.wrong_type("", "an object with `kind`", value);
            return None;
        };
        let (mut kind, mut base_url, mut key, mut models) = (None, None, None, Vec::new());
        for (position, property) in object.properties.iter().enumerate() {
            let (field, value) = (property.name.as_str(), &property.value);
            if object.properties[..position].iter().any(|earlier| earlier.name.as_str() == field) {
                self.bad_value(field, value, "is set twice");
                continue;
            }
            match field {
                "kind" => kind = self.kind(value),
                "baseUrl" => base_url = self.base_url(value),
                "key" => key = self.key(value),
                "models" => models = self.models(value),
                _ if sampling::FIELDS.contains(&field) => {}
                _ => self.unknown(property),
            }
        }
        if kind.is_none() && !object.properties.iter().any(|property| property.name.as_str() == "kind") {
            let message = format!("`{}`: `kind` is missing; there are {}", self.path, kinds());
            self.mistakes.push(SettingMistake::error(object, FileProblemCode::BadValue, message));
        }
        let sampling = sampling::read(&mut ObjectFields::of(self.path, object, &mut self.mistakes));
        Some(ProviderSettings { kind: kind?, base_url, key, models, sampling })
    }

    fn kind(&mut self, value: &Value<'_>) -> Option<ProviderKind> {
        let Some(word) = text(value) else {
            self.wrong_type("kind", "a kind of provider", value);
            return None;
        };
        let kind = ProviderKind::ALL.iter().find(|kind| kind.as_str() == word).copied();
        if kind.is_none() {
            self.bad_value(
                "kind",
                value,
                &format!("there is no provider of kind {word:?}; there are {}", kinds()),
            );
        }
        kind
    }

    fn base_url(&mut self, value: &Value<'_>) -> Option<String> {
        let Some(url) = text(value) else {
            self.wrong_type("baseUrl", "a URL", value);
            return None;
        };
        let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
        let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
        match (rest, host) {
            (_, None | Some("")) => {
                self.bad_value("baseUrl", value, "expected a URL that begins with https:// or http://");
            }
            // What stands there could be a password: it is not repeated.
            (_, Some(host)) if host.contains('@') => {
                self.bad_value("baseUrl", value, "a URL with a user or password in it is refused; use `key`");
            }
            (Some(rest), _) if rest.contains(['?', '#']) => {
                self.bad_value("baseUrl", value, "a base URL has no `?` or `#`; a key belongs into `key`");
            }
            _ => return Some(url.to_owned()),
        }
        None
    }

    fn key(&mut self, value: &Value<'_>) -> Option<KeySource> {
        let object = match value {
            Value::Object(object) => object,
            // Never repeated: it may be the key.
            Value::StringLit(_) => {
                let message = "a key itself does not belong into a settings file";
                self.bad_value("key", value, &format!("{message}: say where it lies, with {KEY_SHAPES}"));
                return None;
            }
            other => {
                self.wrong_type("key", KEY_SHAPES, other);
                return None;
            }
        };
        let source = match object.properties.as_slice() {
            [one] => source(one.name.as_str(), &one.value),
            _ => None,
        };
        if source.is_none() {
            self.bad_value("key", value, &format!("expected one of {KEY_SHAPES}"));
        }
        source
    }

    fn models(&mut self, value: &Value<'_>) -> Vec<String> {
        let patterns =
            value.as_array().map(|list| list.elements.iter().map(text).collect::<Option<Vec<&str>>>());
        match patterns {
            Some(Some(patterns)) => patterns.into_iter().map(str::to_owned).collect(),
            _ => {
                self.wrong_type("models", "a list of names of models, e.g. [\"gemini-*\"]", value);
                Vec::new()
            }
        }
    }

    fn wrong_type(&mut self, field: &str, expected: &str, value: &Value<'_>) {
        let message = format!("`{}`: expected {expected}, found {}", self.field_path(field), kind_of(value));
        self.mistakes.push(SettingMistake::error(value, FileProblemCode::WrongType, message));
    }

    fn bad_value(&mut self, field: &str, value: &Value<'_>, problem: &str) {
        let message = format!("`{}`: {problem}", self.field_path(field));
        self.mistakes.push(SettingMistake::error(value, FileProblemCode::BadValue, message));
    }

    fn unknown(&mut self, property: &ObjectProp<'_>) {
        let path = self.field_path(property.name.as_str());
        let fix = nearest(property.name.as_str(), FIELDS.iter().copied())
            .map(|field| format!("did you mean `{}`?", self.field_path(field)));
        self.mistakes.push(SettingMistake::unknown(property, &path, fix));
    }

    fn field_path(&self, field: &str) -> String {
        if field.is_empty() { self.path.to_owned() } else { format!("{}.{field}", self.path) }
    }
}

/// The place of a key, as one field of an entry names it.
pub(super) fn source(field: &str, value: &Value<'_>) -> Option<KeySource> {
    match field {
        "env" => text(value).filter(|name| !name.contains('=')).map(|name| KeySource::Env(name.to_owned())),
        "file" => text(value)
            .filter(|path| Path::new(path).is_absolute())
            .map(|path| KeySource::File(PathBuf::from(path))),
        "command" => {
            let words: Option<Vec<&str>> = value.as_array()?.elements.iter().map(string).collect();
            let words = words.filter(|words| words.first().is_some_and(|program| !program.is_empty()))?;
            Some(KeySource::Command(words.into_iter().map(str::to_owned).collect()))
        }
        _ => None,
    }
}

fn kinds() -> String {
    let kinds: Vec<String> = ProviderKind::ALL.iter().map(|kind| format!("{:?}", kind.as_str())).collect();
    kinds.join(", ")
}

/// Text that says something.
fn text<'a>(value: &'a Value<'_>) -> Option<&'a str> {
    string(value).map(str::trim).filter(|text| !text.is_empty())
}

fn string<'a>(value: &'a Value<'_>) -> Option<&'a str> {
    Some(value.as_string_lit()?.value.as_ref())
}

#[cfg(test)]
mod tests;
