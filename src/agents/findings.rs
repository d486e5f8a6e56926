//! Collects all that is wrong with one file, so that it is told at once.

use std::path::{Path, PathBuf};

use super::yaml::YamlNode;
use config::{TextPosition, problem};
use protocol::{FileProblem, FileProblemCode, ProblemSeverity};

/// Most problems told of one file: more help nobody, and a hostile file could make millions.
const MOST_PROBLEMS: usize = 100;

/// Longest message, in characters: names and keys stand in it as they were written.
const LONGEST_MESSAGE: usize = 500;

/// Longest value repeated in a message, in characters.
const LONGEST_ECHO: usize = 60;

/// What was found in one file.
#[derive(Debug)]
pub(super) struct FileFindings {
    path: PathBuf,
    problems: Vec<FileProblem>,
    has_error: bool,
}

impl FileFindings {
    pub fn of(path: &Path) -> FileFindings {
        FileFindings { path: path.to_owned(), problems: Vec::new(), has_error: false }
    }

    /// An error: the file will not be loaded.
    pub fn error(&mut self, mark: Option<TextPosition>, code: FileProblemCode, message: impl Into<String>) {
        self.add(problem(&self.path, mark, code, message));
    }

    /// An error that knows what to write instead.
    pub fn error_with_fix(
        &mut self,
        mark: Option<TextPosition>,
        code: FileProblemCode,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) {
        self.add(FileProblem { fix: Some(fix.into()), ..problem(&self.path, mark, code, message) });
    }

    /// A warning: the file is loaded all the same.
    pub fn warning(
        &mut self,
        mark: Option<TextPosition>,
        code: FileProblemCode,
        message: impl Into<String>,
        fix: Option<String>,
    ) {
        let severity = ProblemSeverity::Warning;
        self.add(FileProblem { severity, fix, ..problem(&self.path, mark, code, message) });
    }

    /// The node does not hold what the field at `field` needs.
    pub fn expected(&mut self, node: &YamlNode, field: &str, code: FileProblemCode, expected: &str) {
        let message = format!("`{field}`: expected {expected}, found {}", found(node));
        self.error(Some(node.mark), code, message);
    }

    pub fn add(&mut self, problem: FileProblem) {
        let is_first_error = problem.severity == ProblemSeverity::Error && !self.has_error;
        self.has_error |= is_first_error;
        // What decides whether the agent is started is told, however much else there is.
        if self.are_full() && (is_first_error || problem.code == FileProblemCode::Unsupported) {
            let decides = |it: &FileProblem| it.severity == ProblemSeverity::Error || it.code == problem.code;
            if let Some(other) = self.problems.iter().rposition(|it| !decides(it)) {
                self.problems.remove(other);
            }
        }
        if !self.are_full() {
            let FileProblem { message, fix, .. } = problem;
            self.problems.push(FileProblem {
                message: shortened(message),
                fix: fix.map(shortened),
                ..problem
            });
        }
    }

    /// True if further problems would not be told.
    pub fn are_full(&self) -> bool {
        self.problems.len() == MOST_PROBLEMS
    }

    pub fn have_error(&self) -> bool {
        self.has_error
    }

    /// All problems in the order of the file, those of the whole file last; if any was an error, at least one error is among them.
    pub fn into_problems(mut self) -> Vec<FileProblem> {
        self.problems.sort_by_key(|problem| (problem.line.unwrap_or(u32::MAX), problem.column));
        self.problems
    }
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// What stands there, in words: short values as they are.
fn found(node: &YamlNode) -> String {
    use serde_json::Value;
    match node.to_scalar() {
        Some(Value::Null) => "nothing".to_owned(),
        Some(Value::Bool(value)) => format!("`{value}`"),
        Some(Value::Number(number)) => format!("the number {number}"),
        Some(Value::String(text)) if text.chars().count() <= LONGEST_ECHO => format!("the text {text:?}"),
        Some(_) => "a long text".to_owned(),
        None if matches!(node.content, super::yaml::YamlContent::List(_)) => "a list".to_owned(),
        None => "a map".to_owned(),
    }
}
