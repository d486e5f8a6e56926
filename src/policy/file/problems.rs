//! Collects what is wrong with one rule file, in words and with places.

use std::path::Path;

use toml::{Spanned, de::DeValue};

use super::{FileProblem, FileProblemCode, ProblemSeverity, TextPosition, UnknownField, nearest, problem};

/// Most problems told of one file: more help nobody.
const MOST_PROBLEMS: usize = 100;

/// Longest piece of the file that is repeated in a message, in characters.
const LONGEST_ECHO: usize = 60;

pub(super) struct RuleProblems<'a> {
    path: &'a Path,
    text: &'a str,
    /// Of every line, where it begins.
    // Perf: counting from the top for each of 10,000 rules takes seconds.
    line_starts: Vec<usize>,
    told: Vec<FileProblem>,
    is_closed: bool,
}

impl<'a> RuleProblems<'a> {
    pub fn of(path: &'a Path, text: &'a str) -> RuleProblems<'a> {
        let line_starts = [0].into_iter().chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        RuleProblems { path, text, line_starts, told: Vec::new(), is_closed: false }
    }

    pub fn mark(&self, offset: usize) -> TextPosition {
        let line = self.line_starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let start = self.line_starts.get(line).copied().unwrap_or(0);
        let in_line =
            TextPosition::at(self.text.get(start..).unwrap_or_default(), offset.saturating_sub(start));
        TextPosition { line: sys::mark::one_based(line), column: in_line.column }
    }

    /// An error at a byte of the text; `None` means the file as a whole.
    pub fn error(&mut self, offset: Option<usize>, code: FileProblemCode, message: String) {
        let mark = offset.map(|offset| self.mark(offset));
        self.add(problem(self.path, mark, code, message));
    }

    pub fn error_with_fix(&mut self, offset: usize, code: FileProblemCode, message: String, fix: String) {
        let mark = Some(self.mark(offset));
        self.add(FileProblem { fix: Some(fix), ..problem(self.path, mark, code, message) });
    }

    pub fn warning(&mut self, offset: usize, code: FileProblemCode, message: String) {
        let mark = Some(self.mark(offset));
        self.add(FileProblem {
            severity: ProblemSeverity::Warning,
            ..problem(self.path, mark, code, message)
        });
    }

    /// A warning that is told whatever else was.
    pub fn of_whole_file(&mut self, code: FileProblemCode, message: String) {
        self.told.push(FileProblem {
            severity: ProblemSeverity::Warning,
            ..problem(self.path, None, code, message)
        });
    }

    /// A key that nobody knows: an error here, since it may have been the condition that mattered.
    pub fn unknown_key(&mut self, offset: usize, key: &str, known: &[&str], place: &str) {
        let message = format!("unknown key `{}` {place}", shortened(key));
        match nearest(key, known.iter().copied()) {
            Some(near) => {
                self.error_with_fix(offset, UnknownField, message, format!("did you mean `{near}`?"));
            }
            None => self.error(Some(offset), UnknownField, message),
        }
    }

    /// The value is not what the key needs.
    pub fn expected(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        key: &str,
        code: FileProblemCode,
        expected: &str,
    ) {
        let found = match value.get_ref() {
            DeValue::String(text) => format!("the text {:?}", shortened(text)),
            DeValue::Integer(_) | DeValue::Float(_) | DeValue::Datetime(_) | DeValue::Boolean(_) => {
                shortened(self.text.get(value.span()).unwrap_or_default())
            }
            DeValue::Array(elements) if elements.is_empty() => "an empty list".to_owned(),
            DeValue::Array(_) => "a list".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
        };
        self.error(Some(value.span().start), code, format!("`{key}`: expected {expected}, found {found}"));
    }

    /// Nothing further is told.
    pub fn close(&mut self) {
        self.is_closed = true;
    }

    /// In the order of the file.
    pub fn into_told(mut self) -> Vec<FileProblem> {
        self.told.sort_by_key(|problem| (problem.line.unwrap_or(u32::MAX), problem.column));
        self.told
    }

    fn add(&mut self, problem: FileProblem) {
        if !self.is_closed && self.told.len() < MOST_PROBLEMS {
            self.told.push(problem);
        }
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_ECHO) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
