//! What does a `SKILL.md` say? Read with patience: only without front matter or description it is none.

use std::path::Path;

use serde_json::Value;

use super::rules::{self, find};
use agents::{FrontMatterReading, PlainFrontMatterField};
use config::{TextPosition, problem};
use protocol::{
    FileProblem,
    FileProblemCode::{BadValue, MissingField, TooLarge, UnknownField},
    ProblemSeverity,
};

/// Largest `SKILL.md`, in bytes: as large as an agent's file may be.
pub(super) const LARGEST_FILE: u64 = 1024 * 1024;
/// Bytes of a text that a model gets at once. With the words around it, it stays below what a compression tells again.
pub const LARGEST_TEXT: usize = 60 * 1024;
/// Characters of a description: as many as the published rules allow. The rest is not kept.
const LONGEST_DESCRIPTION: usize = rules::LONGEST_DESCRIPTION;
/// Characters of a field that is only shown.
const LONGEST_FACT: usize = 1_000;
/// Most problems told of one file.
const MOST_PROBLEMS: usize = 100;
/// Problems that are kept of a file that nobody may have asked for, and characters of each: a stranger's folder has thousands.
const MOST_KEPT_PROBLEMS: usize = 8;
const MOST_KEPT_CHARS: usize = 300;

/// The front of a skill's file: all that is kept of it. Its size has a bound, whatever the file's is.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillFile {
    /// The name by which people and models call it: in one line, of bounded length.
    pub name: String,
    /// One line of bounded length. Empty for a file that is none.
    pub description: String,
    /// Only a person has it used.
    pub is_for_people: bool,
    /// The first of them. An error among them keeps it from being a skill.
    pub problems: Vec<FileProblem>,
}

/// The whole of a skill's file, for whoever asked for just this one.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillText {
    /// The front, with more of its problems than are kept.
    pub file: SkillFile,
    pub license: Option<String>,
    pub compatibility: Option<String>,
    /// `allowed-tools` as it stands there. It neither gives nor takes a tool.
    pub allowed_tools: Option<String>,
    /// `null` where there is none.
    pub metadata: Value,
    /// The text below the front matter.
    pub body: String,
}

impl SkillText {
    /// Reads a file; its folder's name serves where it has none of its own.
    pub fn read(path: &Path, bytes: &[u8]) -> SkillText {
        if LARGEST_FILE < bytes.len() as u64 {
            let message = format!("is larger than {} KiB", LARGEST_FILE / 1024);
            return SkillText::unreadable(path, problem(path, None, TooLarge, message));
        }
        let FrontMatterReading { fields, body, mut problems, is_yaml: _ } =
            FrontMatterReading::of(path, bytes);
        let folder = folder_name(path);
        let Some(fields) = fields else {
            return SkillText {
                file: SkillFile { problems, ..SkillFile::nothing(&folder) },
                ..SkillText::nothing(&folder)
            };
        };
        // What the published rules forbid is no reason to do without it.
        let warn = |it: FileProblem| FileProblem { severity: ProblemSeverity::Warning, ..it };
        problems.iter_mut().for_each(|it| *it = warn(it.clone()));
        // What is carried out, or told by a word of its own, is no riddle here.
        let is_known = |name: &str| name == "hooks" || name == rules::FOR_PEOPLE || IDLE.contains(&name);
        let known: Vec<_> = fields.iter().filter(|field| !is_known(&field.name)).cloned().collect();
        problems.extend(rules::violations(path, &known, &folder).into_iter().map(warn));
        problems.extend(idle(path, &fields, &body));
        let text =
            |name: &str| find(&fields, name).and_then(|field| shown(&field.value, field.text.as_deref()));
        let written = text("description").map(|it| in_one_line(&it)).unwrap_or_default();
        let description = shortened(&visible(&written), LONGEST_DESCRIPTION);
        if description.is_empty() {
            let at = find(&fields, "description").map(|field| field.position);
            let message = "has no description: nobody could tell when to use it";
            let fix = Some("add `description: …`".to_owned());
            problems.retain(|it| !it.message.starts_with("`description`"));
            problems.push(FileProblem { fix, ..problem(path, at, MissingField, message) });
        }
        let (name, at) = (text("name"), find(&fields, "name").map(|field| field.position));
        problems.extend(odd_letters(path, at, name.as_deref().unwrap_or(&folder)).map(warn));
        if visible(&written) != written {
            let at = find(&fields, "description").map(|field| field.position);
            let message = "`description` has characters that nobody sees; they are left out";
            problems.push(warn(problem(path, at, BadValue, message)));
        }
        let switch = find(&fields, rules::FOR_PEOPLE);
        let is_for_people = switch.is_some_and(|field| is_switched_on(&field.value, field.text.as_deref()));
        if let Some(field) = switch.filter(|field| !field.value.is_boolean()) {
            let message =
                format!("`disable-model-invocation` must be true or false; it counts as {is_for_people}");
            problems.push(warn(problem(path, Some(field.position), BadValue, message)));
        }
        if body.trim().is_empty() {
            problems.push(warn(problem(path, None, BadValue, "says nothing below its front matter")));
        }
        if LARGEST_TEXT < body.len() {
            let message = format!(
                "has a text of {} KiB: a model that asks for it gets the first {} KiB, and it cannot be given by name",
                body.len() / 1024,
                LARGEST_TEXT / 1024
            );
            problems.push(warn(problem(path, None, TooLarge, message)));
        }
        problems.sort_by_key(|it| {
            (it.severity != ProblemSeverity::Error, it.line.unwrap_or(u32::MAX), it.column)
        });
        problems.truncate(MOST_PROBLEMS);
        let fact = |name: &str| text(name).map(|it| shortened(&in_one_line(&it), LONGEST_FACT));
        SkillText {
            file: SkillFile {
                name: plain_name(name.as_deref(), &folder),
                description,
                is_for_people,
                problems,
            },
            license: fact("license"),
            compatibility: fact("compatibility"),
            allowed_tools: fact("allowed-tools"),
            metadata: find(&fields, "metadata").map(|field| field.value.clone()).unwrap_or_default(),
            body,
        }
    }

    /// One that could not be read.
    pub(super) fn unreadable(path: &Path, found: FileProblem) -> SkillText {
        let folder = folder_name(path);
        SkillText {
            file: SkillFile { problems: vec![found], ..SkillFile::nothing(&folder) },
            ..SkillText::nothing(&folder)
        }
    }

    fn nothing(folder: &str) -> SkillText {
        SkillText {
            file: SkillFile::nothing(folder),
            license: None,
            compatibility: None,
            allowed_tools: None,
            metadata: Value::Null,
            body: String::new(),
        }
    }
}

impl SkillFile {
    /// All that is kept of a file.
    pub(super) fn of(text: SkillText) -> SkillFile {
        let mut file = text.file;
        // Kept before others: somebody relies on it.
        file.problems.sort_by_key(|it| (it.severity != ProblemSeverity::Error, !is_misspelled(it)));
        file.problems.truncate(MOST_KEPT_PROBLEMS);
        for problem in &mut file.problems {
            problem.message = shortened(&problem.message, MOST_KEPT_CHARS);
            problem.fix = problem.fix.take().map(|fix| shortened(&fix, MOST_KEPT_CHARS));
        }
        file.problems.shrink_to_fit();
        file
    }

    /// About how many bytes it takes.
    pub(super) fn weight(&self) -> usize {
        let problem =
            |it: &FileProblem| it.message.len() + it.path.as_os_str().len() + size_of::<FileProblem>();
        self.name.len() + self.description.len() + self.problems.iter().map(problem).sum::<usize>()
    }

    /// Its fields that are nearly called like one that counts, and do not count.
    pub fn misspelled(&self) -> impl Iterator<Item = &FileProblem> {
        self.problems.iter().filter(|it| is_misspelled(it))
    }

    /// True if it is a skill at all.
    pub fn is_sound(&self) -> bool {
        self.problems.iter().all(|it| it.severity != ProblemSeverity::Error)
    }

    fn nothing(folder: &str) -> SkillFile {
        SkillFile {
            name: plain_name(None, folder),
            description: String::new(),
            is_for_people: false,
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

/// True of a field that is nearly called like one that counts.
fn is_misspelled(problem: &FileProblem) -> bool {
    problem.code == UnknownField && problem.fix.is_some()
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

/// A switch that keeps models away fails closed: all that does not say no means yes.
fn is_switched_on(value: &Value, text: Option<&str>) -> bool {
    match value {
        Value::Bool(value) => *value,
        Value::Null => false,
        _ => {
            let text = text.unwrap_or_default().trim().to_ascii_lowercase();
            !["false", "no", "n", "off", "0"].contains(&text.as_str())
        }
    }
}

pub(super) fn folder_name(path: &Path) -> String {
    let name = path.parent().and_then(Path::file_name).unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The name by which a skill is called: without what could end a line, a quotation or a word where names are shown, and without
/// what nobody sees.
pub(super) fn plain_name(written: Option<&str>, folder: &str) -> String {
    let plain = |text: &str| -> String {
        let acts = |it: char| it.is_control() || it.is_whitespace() || is_unseen(it) || joins(it);
        let safe = |it: char| if acts(it) || "`\"'<>/\\,".contains(it) { '-' } else { it };
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

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Without characters that nobody sees. Joiners stay between the signs of a script that needs them.
fn visible(text: &str) -> String {
    let mut seen = String::with_capacity(text.len());
    for character in text.chars() {
        let is_needed = || seen.chars().next_back().is_some_and(|it| !it.is_ascii());
        if !is_unseen(character) && (!joins(character) || is_needed()) {
            seen.push(character);
        }
    }
    seen
}

/// True if a character shows nothing, or changes how others are read: what Unicode lets a program leave out
/// (`Default_Ignorable_Code_Point`), and marks of direction.
fn is_unseen(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e00ff}'
            | '\u{e01f0}'..='\u{e0fff}'
    )
}

/// True for joiners, and for what selects a variant.
fn joins(character: char) -> bool {
    matches!(character, '\u{200c}'..='\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// A name that looks like another one: its letters are of several scripts that look alike.
fn odd_letters(path: &Path, at: Option<TextPosition>, name: &str) -> Option<FileProblem> {
    let has = |is_of: fn(char) -> bool| name.chars().any(is_of);
    let scripts = [
        has(|it| it.is_ascii_alphabetic() || matches!(it, '\u{c0}'..='\u{24f}')),
        has(|it| matches!(it, '\u{370}'..='\u{3ff}')),
        has(|it| matches!(it, '\u{400}'..='\u{52f}')),
    ];
    let is_mixed = 1 < scripts.iter().filter(|is_there| **is_there).count();
    let message = "`name` has letters of several scripts: it may look like the name of another skill";
    is_mixed.then(|| problem(path, at, BadValue, message))
}
