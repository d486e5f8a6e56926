//! What do the published rules say of a skill? (<https://agentskills.io/specification>, and the verdicts of `skills-ref` 0.1.1)

use std::path::Path;

use serde_json::Value;
use unicode_normalization::{UnicodeNormalization as _, char::is_combining_mark};

use agents::PlainFrontMatterField;
use config::{TextPosition, nearest, problem};
use protocol::{
    FileProblem,
    FileProblemCode::{self, BadValue, MissingField, UnknownField, WrongType},
};

/// The fields that a skill may have.
const FIELDS: [&str; 6] = ["name", "description", "license", "allowed-tools", "metadata", "compatibility"];
/// Keeps models from using a skill: no field of the published rules, but one that counts here.
pub(super) const FOR_PEOPLE: &str = "disable-model-invocation";
/// Characters of a name.
pub(super) const LONGEST_NAME: usize = 64;
/// Characters of a description.
pub(super) const LONGEST_DESCRIPTION: usize = 1_024;
/// Characters of what it says of compatibility.
const LONGEST_COMPATIBILITY: usize = 500;
/// The file of a skill, and how it may be spelled.
pub(super) const FILE_NAMES: [&str; 2] = ["SKILL.md", "skill.md"];

/// Everything in the fields that is against the rules, each as an error.
pub(super) fn violations(path: &Path, fields: &[PlainFrontMatterField], folder: &str) -> Vec<FileProblem> {
    let unknown = fields.iter().filter(|field| !FIELDS.contains(&field.name.as_str()));
    let mut found: Vec<FileProblem> = unknown.map(|field| unknown_field(path, field)).collect();
    let mut add = |at: Option<TextPosition>, code: FileProblemCode, message: String| {
        found.push(problem(path, at, code, message));
    };
    for name in ["name", "description"] {
        if find(fields, name).is_none() {
            add(None, MissingField, format!("`{name}` is missing"));
        }
    }
    if let Some(field) = find(fields, "name") {
        let at = Some(field.position);
        match field.text.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
            None => add(at, WrongType, "`name` must be a text that is not blank".to_owned()),
            Some(text) => {
                for message in faults_of_name(&text.nfkc().collect::<String>(), folder) {
                    add(at, BadValue, message);
                }
            }
        }
    }
    if let Some(field) = find(fields, "description") {
        let at = Some(field.position);
        match field.text.as_deref().filter(|text| !text.trim().is_empty()) {
            None => add(at, WrongType, "`description` must be a text that is not blank".to_owned()),
            Some(text) => {
                add_if_long(&mut add, at, ("description", text), LONGEST_DESCRIPTION);
            }
        }
    }
    if let Some(field) = find(fields, "metadata") {
        for message in faults_of_metadata(&field.value) {
            add(Some(field.position), WrongType, message);
        }
    }
    if let Some(field) = find(fields, "compatibility") {
        let at = Some(field.position);
        match field.text.as_deref() {
            None => add(at, WrongType, "`compatibility` must be a text".to_owned()),
            Some(text) => add_if_long(&mut add, at, ("compatibility", text), LONGEST_COMPATIBILITY),
        }
    }
    found
}

/// A field that means nothing. What it nearly is called stands apart: whoever wrote it so relies on it.
fn unknown_field(path: &Path, field: &PlainFrontMatterField) -> FileProblem {
    let meant = nearest(&field.name, FIELDS.into_iter().chain([FOR_PEOPLE]));
    let message = format!("unknown field `{}`", field.name);
    let found = problem(path, Some(field.position), UnknownField, message);
    FileProblem { fix: meant.map(|it| format!("did you mean `{it}`?")), ..found }
}

/// Tells what is wrong with `metadata`: by the published rules a map of texts. A number or the like is one as it is written.
fn faults_of_metadata(value: &Value) -> Vec<String> {
    match value {
        Value::Null => Vec::new(),
        Value::Object(entries) => {
            let is_no_text = |value: &Value| value.is_array() || value.is_object();
            let faulty = entries.iter().filter(|(_, value)| is_no_text(value));
            faulty.map(|(name, _)| format!("`metadata`: `{name}` must be a text")).collect()
        }
        _ => vec!["`metadata` must be a map of texts".to_owned()],
    }
}

fn add_if_long(
    add: &mut impl FnMut(Option<TextPosition>, FileProblemCode, String),
    at: Option<TextPosition>,
    (field, text): (&str, &str),
    most: usize,
) {
    let length = text.chars().count();
    if most < length {
        add(at, BadValue, format!("`{field}` has {length} characters; at most {most} are allowed"));
    }
}

/// Tells what is wrong with a name, in its normal form.
fn faults_of_name(name: &str, folder: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let length = name.chars().count();
    if LONGEST_NAME < length {
        faults.push(format!("`name` has {length} characters; at most {LONGEST_NAME} are allowed"));
    }
    if name != name.to_lowercase() {
        faults.push("`name` must have small letters only".to_owned());
    }
    if name.starts_with('-') || name.ends_with('-') {
        faults.push("`name` must neither begin nor end with a dash".to_owned());
    }
    if name.contains("--") {
        faults.push("`name` must not have two dashes side by side".to_owned());
    }
    let is_allowed = |it: char| it == '-' || it.is_alphanumeric() && !is_combining_mark(it);
    if !name.chars().all(is_allowed) {
        faults.push("`name` may have letters, digits and dashes only".to_owned());
    }
    if folder.nfkc().collect::<String>() != name {
        faults.push(format!("`name` is not that of its folder, `{}`", folder.replace(char::is_control, " ")));
    }
    faults
}

pub(super) fn find<'a>(fields: &'a [PlainFrontMatterField], name: &str) -> Option<&'a PlainFrontMatterField> {
    fields.iter().find(|field| field.name == name)
}
