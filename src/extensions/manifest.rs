//! What does a `plugin.json` say? Read strictly, as Agent Plugins 1.0.0 has it (§5).

use std::path::Path;

use serde_json::{Map, Value};

use super::PackageFault;
use config::nearest;
use sys::regular_file;

/// The file, at the top of the folder.
pub(super) const FILE: &str = "plugin.json";
/// Largest one: larger ones are slips.
pub(super) const LARGEST_FILE: u64 = 1024 * 1024;
/// The version of the format that is read here; there is no other yet. It is a name, and never fetched.
const SCHEMA: &str = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json";
const FIELDS: [&str; 10] = [
    "$schema",
    "name",
    "version",
    "description",
    "author",
    "homepage",
    "repository",
    "license",
    "keywords",
    "extensions",
];
/// Characters of a name (§5.5).
const LONGEST_NAME: usize = 64;
/// Characters that are kept of a text: it is shown, and stands in the log.
const LONGEST_TEXT: usize = 1_000;
/// Unknown fields that are told one by one.
const MOST_UNKNOWN: usize = 20;

/// The front of an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginManifest {
    /// `a-z`, `0-9`, `-` and `.`, so it is a folder's name as well.
    pub name: String,
    /// These are in one line and of bounded length.
    pub version: Option<String>,
    pub description: Option<String>,
    pub author: Option<String>,
    pub homepage: Option<String>,
    pub repository: Option<String>,
    pub license: Option<String>,
}

impl PluginManifest {
    /// Reads the one of this folder, in which no link leads out. With it comes what is ignored, a sentence each. Blocks on the file system.
    pub fn read(folder: &Path) -> Result<(PluginManifest, Vec<String>), PackageFault> {
        let path = folder.join(FILE);
        let refused = |message: String| PackageFault::Refused(message);
        if !path.is_file() {
            let other = ["gemini-extension.json", ".claude-plugin/plugin.json"];
            let other = other.into_iter().find(|other| folder.join(other).is_file());
            return Err(refused(match other {
                Some(other) => {
                    format!("has no {FILE}; it has {other}, and extensions of that kind are not read here")
                }
                None => format!("has no {FILE} at its top"),
            }));
        }
        let bytes = match regular_file::read_bounded(&path, LARGEST_FILE) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                return Err(refused(format!("has a {FILE} of more than {} KiB", LARGEST_FILE / 1024)));
            }
            Err(error) => {
                return Err(PackageFault::Unreadable(format!("has a {FILE} that cannot be read: {error}")));
            }
        };
        PluginManifest::of(&bytes).map_err(refused)
    }

    /// An error is the end of a sentence that begins with the folder.
    pub(super) fn of(bytes: &[u8]) -> Result<(PluginManifest, Vec<String>), String> {
        let value: Value = serde_json::from_slice(bytes)
            .map_err(|error| format!("has a {FILE} that is no JSON: {error}"))?;
        let Value::Object(fields) = value else { return Err(format!("has a {FILE} that is no object")) };
        let mut ignored = unknown(&fields);
        let wrong = |field: &str, what: &str| format!("has a {FILE} in which `{field}` {what}");
        match fields.get("$schema") {
            None => return Err(wrong("$schema", &format!("is missing; it must be `{SCHEMA}`"))),
            Some(Value::String(schema)) if schema == SCHEMA => {}
            Some(Value::String(schema)) => {
                let what = format!("names a version that is not known here: {}", quoted(schema));
                return Err(wrong("$schema", &what));
            }
            Some(_) => return Err(wrong("$schema", "must be a text")),
        }
        let name = match fields.get("name") {
            None => return Err(wrong("name", "is missing")),
            Some(Value::String(name)) => name.clone(),
            Some(_) => return Err(wrong("name", "must be a text")),
        };
        if let Some(what) = fault_of_name(&name) {
            return Err(wrong("name", &what));
        }
        let text = |field: &str| match fields.get(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(shortened(text)).filter(|text| !text.is_empty())),
            Some(_) => Err(wrong(field, "must be a text")),
        };
        let author = match fields.get("author") {
            None => None,
            Some(Value::Object(author)) => {
                if let Some(other) = author.keys().find(|it| !matches!(it.as_str(), "name" | "email" | "url"))
                {
                    return Err(wrong(
                        "author",
                        &format!("has a field that there is not: {}", quoted(other)),
                    ));
                }
                if author.values().any(|value| !value.is_string()) {
                    return Err(wrong("author", "must have texts only"));
                }
                author.get("name").and_then(Value::as_str).map(shortened).filter(|name| !name.is_empty())
            }
            Some(_) => return Err(wrong("author", "must be an object")),
        };
        match fields.get("keywords") {
            None => {}
            Some(Value::Array(words)) if words.iter().all(Value::is_string) => {}
            Some(_) => return Err(wrong("keywords", "must be a list of texts")),
        }
        match fields.get("extensions") {
            None => {}
            // What is none of ours is not looked at, but for its kind.
            Some(Value::Object(spaces)) if spaces.values().all(Value::is_object) => {}
            Some(Value::Object(_)) => return Err(wrong("extensions", "must have objects only")),
            Some(_) => ignored.push("`extensions` in plugin.json is no object; it is ignored".to_owned()),
        }
        let manifest = PluginManifest {
            version: text("version")?,
            description: text("description")?,
            author,
            homepage: text("homepage")?,
            repository: text("repository")?,
            license: text("license")?,
            name,
        };
        Ok((manifest, ignored))
    }
}

fn unknown(fields: &Map<String, Value>) -> Vec<String> {
    let unknown = || fields.keys().filter(|name| !FIELDS.contains(&name.as_str()));
    let told = |name: &String| {
        let meant = nearest(name, FIELDS).map(|it| format!("; did you mean `{it}`?")).unwrap_or_default();
        format!("{} in {FILE} is a field that there is not; it is ignored{meant}", quoted(name))
    };
    let mut told: Vec<String> = unknown().take(MOST_UNKNOWN).map(told).collect();
    let more = unknown().count().saturating_sub(MOST_UNKNOWN);
    told.extend((more != 0).then(|| format!("{more} more unknown fields in {FILE} are ignored")));
    told
}

/// The reason why nothing can be called so: the end of a sentence that begins with the name.
pub(super) fn fault_of_name(name: &str) -> Option<String> {
    let is_letter = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let length = name.chars().count();
    let what = if length == 0 || LONGEST_NAME < length {
        format!("must have 1 to {LONGEST_NAME} characters")
    } else if !name.chars().all(|letter| is_letter(letter) || matches!(letter, '-' | '.')) {
        "may have small letters, digits, dashes and dots only".to_owned()
    } else if !name.starts_with(is_letter) || !name.ends_with(is_letter) {
        "must begin and end with a letter or a digit".to_owned()
    } else if name.contains("--") || name.contains("..") {
        "must have no two dashes or dots side by side".to_owned()
    } else {
        return None;
    };
    Some(format!("{what}: {}", quoted(name)))
}

/// Words of somebody else's, in one line of bounded length.
pub(super) fn shortened(text: &str) -> String {
    let text: String = text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The same, short and between quotes.
pub(super) fn quoted(text: &str) -> String {
    let text: String = shortened(text).chars().take(100).collect();
    format!("`{text}`")
}
