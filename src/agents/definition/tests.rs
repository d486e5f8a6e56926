//! What the table of fields promises: each row says all that is asked of it, and what it reads it writes, and reads again the same.

use std::{collections::HashSet, path::Path};

use super::{
    field_row::FieldRow,
    front_matter_schema,
    inputs::INPUT_FIELDS,
    messages::MESSAGE_FIELDS,
    own_fields,
    table::{FIELDS, IMPORTED_FROM, strays},
    triggers::TRIGGER_FIELDS,
};
use crate::{AgentFile, unsupported, write, yaml};
use protocol::{AgentFormat, AgentScope};

/// Fields that are read and written as another, by another, or not at all.
const WRITTEN_ELSEWHERE: &[&str] = &["scope", IMPORTED_FROM, "inputs.type"];

/// What a row says of itself, whatever it is read into.
struct WalkedRow {
    path: String,
    meaning: String,
    example: &'static str,
    is_required: bool,
}

fn walk<T>(section: &str, rows: &'static [FieldRow<T>], walked: &mut Vec<WalkedRow>) {
    let mut names = HashSet::new();
    for row in rows {
        assert!(names.insert(row.name), "two rows are called {section}{}", row.name);
        if let Some(before) = row.written_behind {
            let is_there = rows.iter().any(|other| other.name == before && other.written_behind.is_none());
            assert!(is_there, "{section}{} is written behind `{before}`", row.name);
        }
        let path = format!("{section}{}", row.name);
        walk(&format!("{path}."), row.below, walked);
        let meaning = (row.meaning)();
        walked.push(WalkedRow { path, meaning, example: row.example, is_required: row.required.is_some() });
    }
}

fn all_rows() -> Vec<WalkedRow> {
    let mut walked = Vec::new();
    walk("", FIELDS, &mut walked);
    walk("inputs.", INPUT_FIELDS, &mut walked);
    walk("initialMessages.", MESSAGE_FIELDS, &mut walked);
    walk("triggers.", TRIGGER_FIELDS, &mut walked);
    walked
}

fn front_matter_of(example: &str) -> String {
    let description = if example.starts_with("description:") { "" } else { "description: d\n" };
    format!("kind: agent\nname: a\n{description}{example}\n")
}

fn read(text: &str) -> AgentFile {
    AgentFile::read(Path::new("a.md"), text.as_bytes(), AgentScope::User, AgentFormat::Own)
}

/// The rows with something to read in them: the others are in every file, or not carried out.
fn rows_with_examples() -> Vec<WalkedRow> {
    let mut rows = all_rows();
    rows.retain(|row| !row.example.is_empty());
    assert!(rows.len() > 50, "{}", rows.len());
    rows
}

#[test]
fn every_row_is_whole() {
    for row in all_rows() {
        assert!(!row.meaning.is_empty(), "{} has no meaning", row.path);
        let needs_no_example =
            row.is_required && !row.path.contains('.') || unsupported::named(&row.path).is_some();
        assert!(needs_no_example || !row.example.is_empty(), "{} has no example", row.path);
    }
    let mut names = HashSet::new();
    assert!(strays().iter().all(|(name, _)| names.insert(*name)), "which section is meant?");
}

#[test]
fn every_field_is_read_and_written_and_read_again_the_same() {
    for WalkedRow { path, example, .. } in rows_with_examples() {
        let file = read(&format!("---\n{}---\n\nDo it.\n", front_matter_of(example)));
        assert_eq!(file.problems, [], "{path}");
        let definition = file.definition.unwrap();
        let fields = own_fields(&definition);
        if WRITTEN_ELSEWHERE.contains(&path.as_str()) {
            continue;
        }
        let (section, name) = path.split_once('.').unwrap_or(("", &path));
        let said = match section {
            "" => fields.contains_key(name),
            // Those of items lie deeper.
            section => fields.get(section).is_some_and(|it| it.to_string().contains(&format!("\"{name}\":"))),
        };
        assert!(said, "{path} is not written: {fields:?}");
        let text = write::file(fields.iter().map(|(key, value)| (key.as_str(), value)), &definition.prompt);
        let again = read(&text);
        assert_eq!(again.problems, [], "{path}\n{text}");
        assert_eq!(again.definition.as_deref(), Some(&*definition), "{path}\n{text}");
    }
}

#[test]
fn every_field_fits_the_schema() {
    let schema = front_matter_schema();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    for WalkedRow { path, example, .. } in rows_with_examples() {
        let (root, errors) = yaml::parse(&front_matter_of(example), 1);
        assert_eq!(errors, [], "{path}");
        let value = root.unwrap().to_json();
        let found: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert_eq!(found, [""; 0], "{path}");
    }
}
