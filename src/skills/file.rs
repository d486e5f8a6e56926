//! What does a `SKILL.md` say? Read with patience: only without front matter or description it is none.

use std::path::Path;

use serde_json::Value;

use super::rules::{self, find};
use agents::{FrontMatterReading, PlainFrontMatterField};
use config::{TextPosition, problem};
use protocol::{
    FileProblem,
    FileProblemCode::{BadValue, MissingField, UnknownField},
    ProblemSeverity,
};

/// Largest `SKILL.md`, in bytes: as large as an agent's file may be.
pub(super) const LARGEST_FILE: u64 = 1024 * 1024;
/// Most problems told of one file.
const MOST_PROBLEMS: usize = 100;

/// The content of a skill's file.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillFile {
    /// The name by which people and models call it: in one line, of bounded length.
    pub name: String,
    /// Empty for a file that is none.
    pub description: String,
    pub license: Option<String>,
    pub compatibility: Option<String>,
    /// `allowed-tools` as it stands there. It neither gives nor takes a tool.
    pub allowed_tools: Option<String>,
    /// `null` where there is none.
    pub metadata: Value,
    /// Only a person has it used.
    pub is_for_people: bool,
    /// The text below the front matter.
    pub body: String,
    /// An error among them keeps it from being a skill.
    pub problems: Vec<FileProblem>,
}

impl SkillFile {
    /// Reads a file; its folder's name serves where it has none of its own.
    pub fn read(path: &Path, bytes: &[u8]) -> SkillFile {
        let FrontMatterReading { fields, body, mut problems, is_yaml: _ } =
            FrontMatterReading::of(path, bytes);
        let folder = folder_name(path);
        let Some(fields) = fields else {
            return SkillFile { problems, ..SkillFile::nothing(&folder) };
        };
        // What the published rules forbid is no reason to do without it.
        let warn = |it: FileProblem| FileProblem { severity: ProblemSeverity::Warning, ..it };
        problems.iter_mut().for_each(|it| *it = warn(it.clone()));
        // What is carried out, or told by a word of its own, is no riddle here.
        let is_known =
            |name: &str| name == "hooks" || name == "disable-model-invocation" || IDLE.contains(&name);
        let known: Vec<_> = fields.iter().filter(|field| !is_known(&field.name)).cloned().collect();
        problems.extend(rules::violations(path, &known, &folder).into_iter().map(warn));
        problems.extend(idle(path, &fields, &body));
        let text =
            |name: &str| find(&fields, name).and_then(|field| shown(&field.value, field.text.as_deref()));
        let description = text("description").map(|it| in_one_line(&it)).unwrap_or_default();
        if description.is_empty() {
            let at = find(&fields, "description").map(|field| field.position);
            let message = "has no description: nobody could tell when to use it";
            let fix = Some("add `description: …`".to_owned());
            problems.retain(|it| !it.message.starts_with("`description`"));
            problems.push(FileProblem { fix, ..problem(path, at, MissingField, message) });
        }
        problems.sort_by_key(|it| {
            (it.severity != ProblemSeverity::Error, it.line.unwrap_or(u32::MAX), it.column)
        });
        problems.truncate(MOST_PROBLEMS);
        let is_set = |name: &str| find(&fields, name).is_some_and(|field| is_true(&field.value));
        SkillFile {
            name: plain_name(text("name").as_deref(), &folder),
            description,
            license: text("license"),
            compatibility: text("compatibility"),
            allowed_tools: text("allowed-tools"),
            metadata: find(&fields, "metadata").map(|field| field.value.clone()).unwrap_or_default(),
            is_for_people: is_set("disable-model-invocation"),
            body,
            problems,
        }
    }

    /// One that could not be read.
    pub(super) fn unreadable(path: &Path, found: FileProblem) -> SkillFile {
        SkillFile { problems: vec![found], ..SkillFile::nothing(&folder_name(path)) }
    }

    /// True if it is a skill at all.
    pub fn is_sound(&self) -> bool {
        self.problems.iter().all(|it| it.severity != ProblemSeverity::Error)
    }

    fn nothing(folder: &str) -> SkillFile {
        SkillFile {
            name: plain_name(None, folder),
            description: String::new(),
            license: None,
            compatibility: None,
            allowed_tools: None,
            metadata: Value::Null,
            is_for_people: false,
            body: String::new(),
            problems: Vec::new(),
        }
    }
}

/// Fields of other products that do nothing here.
const IDLE: &[&str] = &[
    "agent",
    "argument-hint",
    "arguments",
    "context",
    "effort",
    "model",
    "paths",
    "shell",
    "user-invocable",
    "when_to_use",
];

/// Warns of what the file has that is carried out elsewhere and not here.
fn idle(path: &Path, fields: &[PlainFrontMatterField], body: &str) -> Vec<FileProblem> {
    let mut found = Vec::new();
    let mut warn = |at: Option<TextPosition>, code, message: String| {
        found.push(FileProblem { severity: ProblemSeverity::Warning, ..problem(path, at, code, message) });
    };
    for field in fields {
        let at = Some(field.position);
        match field.name.as_str() {
            "hooks" => warn(at, UnknownField, "`hooks` do nothing: a skill brings no hooks along".to_owned()),
            "allowed-tools" => warn(
                at,
                BadValue,
                "`allowed-tools` is shown, and neither gives nor takes a tool: rules decide".to_owned(),
            ),
            name if IDLE.contains(&name) => warn(at, UnknownField, format!("`{name}` has no effect here")),
            _ => {}
        }
    }
    if runs_inline(body) {
        warn(None, BadValue, INLINE.to_owned());
    }
    found
}

/// The note about commands in a body.
pub(super) const INLINE: &str = "commands written as !`command` are not run: they stay as they are written";

/// True if it has commands that other products run when they load it.
pub(super) fn runs_inline(body: &str) -> bool {
    let begins = |at: usize| body[..at].chars().next_back().is_none_or(char::is_whitespace);
    body.match_indices("!`").any(|(at, _)| begins(at)) || body.contains("```!")
}

/// A field as one text: a list with blanks between.
fn shown(value: &Value, text: Option<&str>) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        _ => text?.to_owned(),
    };
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn is_true(value: &Value) -> bool {
    match value {
        Value::Bool(value) => *value,
        Value::String(text) => text.eq_ignore_ascii_case("true"),
        _ => false,
    }
}

fn folder_name(path: &Path) -> String {
    let name = path.parent().and_then(Path::file_name).unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Characters that could end a line, a quotation or a word in the places where names are shown.
fn plain_name(written: Option<&str>, folder: &str) -> String {
    let plain = |text: &str| -> String {
        let safe = |it: char| {
            if it.is_control() || it.is_whitespace() || "`\"'<>/\\,".contains(it) { '-' } else { it }
        };
        text.trim().chars().map(safe).take(rules::LONGEST_NAME).collect()
    };
    let written = written.map(plain).filter(|name| !name.is_empty());
    written.unwrap_or_else(|| plain(folder))
}

/// Without ends of lines and what else moves a cursor.
fn in_one_line(text: &str) -> String {
    let plain = text.replace(char::is_control, " ");
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}
