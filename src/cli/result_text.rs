//! How does a typed result read, for a person at a terminal? Of any schema: its fields become headings, its lists lists, and
//! what names a place in a file begins with `path:line`, as editors and terminals understand it.

use serde_json::{Map, Value};

use super::{safe_text, text_color::TextColor, width};

/// Columns of a nested part.
const INDENT: usize = 2;

/// A text at the left edge that is longer, or of several lines, stands below its name.
const BESIDE_NAME: usize = 60;

/// Columns of the words of a list that stand one behind the other: some rows.
const WORDS_IN_A_ROW: usize = 240;

/// A terminal narrower than this wraps on its own.
const LEAST_COLUMNS: usize = 20;

/// Parts deeper than this are written as JSON: nobody reads them as headings any more.
const DEPTH_MAX: usize = 6;

/// Fields that name a file, and those that name a line of it; compared in lower case and without signs.
const PATHS: [&str; 6] = ["filepath", "path", "file", "filename", "location", "uri"];
const LINES: [&str; 6] = ["line", "lines", "linenumber", "startline", "lineno", "linerange"];

/// The result in words, harmless, where it is JSON that has parts; `columns` of the terminal.
pub(super) fn readable(text: &str, columns: Option<usize>, has_color: bool) -> Option<String> {
    let value: Value = serde_json::from_str(text).ok()?;
    let mut page = Page { rows: Vec::new(), columns, has_color };
    match &value {
        Value::Object(fields) if !fields.is_empty() => page.fields(fields, 0, 0),
        Value::Array(items) if !items.is_empty() => page.items(items, 0, 0),
        _ => return None,
    }
    while page.rows.last().is_some_and(String::is_empty) {
        page.rows.pop();
    }
    Some(page.rows.join("\n"))
}

/// What is written, row by row.
struct Page {
    rows: Vec<String>,
    columns: Option<usize>,
    has_color: bool,
}

impl Page {
    fn fields(&mut self, fields: &Map<String, Value>, margin: usize, depth: usize) {
        for (name, value) in fields {
            let name = title(name);
            match in_a_row(value, margin) {
                Some(text) => self.beside(&name, &text, margin),
                None => {
                    let heading = self.paint(TextColor::Bold, &name);
                    self.rows.push(format!("{}{heading}", " ".repeat(margin)));
                    // Below a heading that stands at the left edge, a text does, too.
                    let is_text = value.is_string();
                    let inner = if is_text && margin == 0 { 0 } else { margin + INDENT };
                    self.value(value, inner, depth + 1);
                    if margin == 0 {
                        self.rows.push(String::new());
                    }
                }
            }
        }
    }

    fn value(&mut self, value: &Value, margin: usize, depth: usize) {
        match value {
            Value::Object(_) | Value::Array(_) if DEPTH_MAX <= depth => {
                self.text(&safe_text::json(&format!("{value:#}")), margin, margin);
            }
            Value::Object(fields) => self.fields(fields, margin, depth),
            Value::Array(items) => self.items(items, margin, depth),
            Value::String(text) => self.text(&safe_text::lines(text), margin, margin),
            other => self.text(&in_a_row(other, margin).unwrap_or_default(), margin, margin),
        }
    }

    fn items(&mut self, items: &[Value], margin: usize, depth: usize) {
        for item in items {
            match item {
                Value::Object(fields) if depth < DEPTH_MAX && !fields.is_empty() => {
                    self.item(fields, margin, depth + 1);
                }
                Value::String(text) => self.listed(&safe_text::lines(text), margin),
                other => match in_a_row(other, margin) {
                    Some(text) => self.listed(&text, margin),
                    None => {
                        self.rows.push(format!("{}-", " ".repeat(margin)));
                        self.value(other, margin + INDENT, depth + 1);
                    }
                },
            }
        }
    }

    /// One of several: its place in a file or its first field stands behind the sign, all else below.
    fn item(&mut self, fields: &Map<String, Value>, margin: usize, depth: usize) {
        let at = self.rows.len();
        match place(fields) {
            Some((place, taken)) => {
                let place = self.paint(TextColor::Cyan, &place);
                self.rows.push(format!("{}{place}", " ".repeat(margin + INDENT)));
                let others = fields.iter().filter(|(name, _)| !taken.contains(name));
                let others = others.map(|(name, value)| (name.clone(), value.clone())).collect();
                self.fields(&others, margin + INDENT, depth);
            }
            None => self.fields(fields, margin + INDENT, depth),
        }
        self.mark(at, margin);
    }

    /// Puts the sign of an item before what stands in this row behind the margin.
    fn mark(&mut self, at: usize, margin: usize) {
        let Some(row) = self.rows.get_mut(at) else { return };
        match row.as_bytes().get(margin) {
            Some(b' ') => row.replace_range(margin..margin + 1, "-"),
            _ => *row = format!("{}-", " ".repeat(margin)),
        }
    }

    /// `- text`, later rows below the first one's words.
    fn listed(&mut self, text: &str, margin: usize) {
        let at = self.rows.len();
        self.text(text, margin + INDENT, margin + INDENT);
        self.mark(at, margin);
    }

    /// `Name: text`
    fn beside(&mut self, name: &str, text: &str, margin: usize) {
        let at = self.rows.len();
        self.text(&format!("{name}: {text}"), margin, margin + INDENT);
        let heading = self.paint(TextColor::Bold, &format!("{name}:"));
        if let Some(first) = self.rows.get_mut(at)
            && let Some(rest) = first[margin..].strip_prefix(&format!("{name}:"))
        {
            *first = format!("{}{heading}{rest}", " ".repeat(margin));
        }
    }

    /// A text of any number of lines, broken at words; `margin` of its first row, `below` of each later one.
    fn text(&mut self, text: &str, margin: usize, below: usize) {
        let mut margin = margin;
        for line in text.split('\n') {
            let line = line.trim_end();
            let wide = margin.max(below);
            let rows = match self.columns {
                // What is set in further stays so.
                Some(columns) => width::wrap_words(line, columns.max(LEAST_COLUMNS).saturating_sub(wide)),
                None => vec![line.to_owned()],
            };
            for row in rows {
                self.rows.push(format!("{}{row}", " ".repeat(margin)).trim_end().to_owned());
                margin = below;
            }
        }
    }

    fn paint(&self, ink: TextColor, text: &str) -> String {
        if self.has_color { ink.paint(text) } else { text.to_owned() }
    }
}

/// A value that stands beside its name, harmless: a number, a text of one line, a list of words. At the left edge a longer text
/// gets a heading.
fn in_a_row(value: &Value, margin: usize) -> Option<String> {
    let is_word = |item: &&str| !item.contains(char::is_whitespace) && !item.is_empty();
    let word = |item: &Value| match item {
        Value::Number(number) => Some(number.to_string()),
        other => other.as_str().filter(is_word).map(str::to_owned),
    };
    match value {
        Value::Null => Some("none".to_owned()),
        Value::Bool(is_so) => Some(if *is_so { "yes" } else { "no" }.to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) if text.trim_end().contains('\n') => None,
        Value::String(text) => {
            let text = safe_text::line(text, usize::MAX);
            (0 < margin || width::of(&text) <= BESIDE_NAME).then_some(text)
        }
        Value::Array(items) if items.is_empty() => Some("none".to_owned()),
        Value::Object(fields) if fields.is_empty() => Some("none".to_owned()),
        Value::Array(items) => {
            let words: Option<Vec<String>> = items.iter().map(word).collect();
            let text = safe_text::line(&words?.join(", "), usize::MAX);
            (width::of(&text) <= WORDS_IN_A_ROW).then_some(text)
        }
        Value::Object(_) => None,
    }
}

/// `src/a.rs:12` of an object that names a file, and the fields that say so.
fn place(fields: &Map<String, Value>) -> Option<(String, Vec<&String>)> {
    let is_one_of = |name: &str, names: &[&str]| {
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        names.contains(&plain.to_ascii_lowercase().as_str())
    };
    let (name, path) = PATHS.iter().find_map(|wanted| {
        let (name, value) = fields.iter().find(|(name, _)| is_one_of(name, &[*wanted]))?;
        Some((name, value.as_str().filter(|path| !path.is_empty() && !path.contains('\n'))?))
    })?;
    let path = safe_text::line(path, usize::MAX);
    let line = fields.iter().find_map(|(name, value)| {
        let text = match value {
            Value::Number(number) => number.to_string(),
            Value::String(text) => text.clone(),
            _ => return None,
        };
        let is_line = text.starts_with(|c: char| c.is_ascii_digit())
            && text.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | ':'));
        (is_one_of(name, &LINES) && is_line).then_some((name, text))
    });
    let has_line =
        path.rsplit_once(':').is_some_and(|(_, line)| line.starts_with(|c: char| c.is_ascii_digit()));
    match line.filter(|_| !has_line) {
        Some((line_name, line)) => Some((format!("{path}:{line}"), vec![name, line_name])),
        None => Some((path, vec![name])),
    }
}

/// `SummaryOfFindings`, `summary_of_findings` → `Summary of findings`.
fn title(name: &str) -> String {
    let name = safe_text::line(name, usize::MAX);
    let mut words: Vec<String> = Vec::new();
    let mut before = ' ';
    let mut characters = name.chars().peekable();
    while let Some(character) = characters.next() {
        let begins = character.is_uppercase()
            && (before.is_lowercase()
                || before.is_ascii_digit()
                || before.is_uppercase() && characters.peek().is_some_and(|next| next.is_lowercase()));
        if matches!(character, '_' | '-' | ' ') {
            words.push(String::new());
        } else if begins || words.is_empty() {
            words.push(character.to_string());
        } else if let Some(word) = words.last_mut() {
            word.push(character);
        }
        before = character;
    }
    words.retain(|word| !word.is_empty());
    let is_short_for =
        |word: &str| 1 < word.len() && word.chars().all(|c| c.is_uppercase() || c.is_ascii_digit());
    let words: Vec<String> = words
        .iter()
        .enumerate()
        .map(|(at, word)| {
            let mut letters = word.chars();
            match letters.next() {
                _ if is_short_for(word) => word.clone(),
                Some(first) if at == 0 => first.to_uppercase().chain(letters).collect(),
                _ => word.to_lowercase(),
            }
        })
        .collect();
    if words.is_empty() { name } else { words.join(" ") }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(json: &str, columns: usize, expected: Expect) {
        let text = readable(json, Some(columns), false).unwrap();
        assert!(text.lines().all(|row| width::of(row) <= columns), "{text}");
        expected.assert_eq(&text);
    }

    #[test]
    fn a_report_of_places_reads_as_text() {
        let report = r#"{
            "SummaryOfFindings": "Sessions are rows of the table `sessions`.\n\nThe store writes them, and nothing else does, so a reader has one place to look at.",
            "ExplorationTrace": ["Searched for `session`.", "Read the store, which has all of the SQL and is a page long."],
            "RelevantLocations": [
                {"FilePath": "src/store.rs:4", "Reasoning": "Writes the row.", "KeySymbols": ["save_session", "Session"]},
                {"FilePath": "src/a.rs", "line": 12, "Reasoning": "Calls it where a run begins, once for each session that is new."}
            ],
            "confidence": 0.5, "isComplete": true, "open_ends": []
        }"#;
        check(
            report,
            50,
            expect![[r#"
            Summary of findings
            Sessions are rows of the table `sessions`.

            The store writes them, and nothing else does, so a
            reader has one place to look at.

            Exploration trace
              - Searched for `session`.
              - Read the store, which has all of the SQL and
                is a page long.

            Relevant locations
              - src/store.rs:4
                Reasoning: Writes the row.
                Key symbols: save_session, Session
              - src/a.rs:12
                Reasoning: Calls it where a run begins, once
                  for each session that is new.

            Confidence: 0.5
            Is complete: yes
            Open ends: none"#]],
        );
    }

    #[test]
    fn any_schema_reads_as_text() {
        let other = r#"{"verdict": "ok", "HTTPStatus": 200, "nested": {"by": {"who": "ada", "why": null}}, "rows": [[1, 2], ["a b"]],
            "checks": [{"name": "build", "passed": true}, {"name": "tests", "passed": false, "log": "one\ntwo"}]}"#;
        check(
            other,
            40,
            expect![[r#"
            Verdict: ok
            HTTP status: 200
            Nested
              By
                Who: ada
                Why: none

            Rows
              - 1, 2
              -
                - a b

            Checks
              - Name: build
                Passed: yes
              - Name: tests
                Passed: no
                Log
                  one
                  two"#]],
        );
        check(
            r#"["one", {"file": "a.txt", "lines": "3-9"}, {}]"#,
            40,
            expect![[r#"
            - one
            - a.txt:3-9
            - none"#]],
        );
        assert_eq!(readable("{}", None, false), None);
        assert_eq!(readable("plain text", None, false), None);
        assert_eq!(readable("17", None, false), None);
    }

    #[test]
    fn no_word_of_others_steers_the_terminal() {
        let evil =
            r#"{"a\u001b[2Jb": "c\u001b]0;x\u0007", "path": ["\u001b[31m"], "l": [{"path": "\u001b[1A"}]}"#;
        let text = readable(evil, Some(80), false).unwrap();
        assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{text}");
    }
}
