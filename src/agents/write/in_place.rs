//! How do single fields of an agent's file change, so that all else stays as somebody wrote it?
//!
//! Line by line: in block style each field at the top has lines of its own, and only those are written anew. What the lines
//! mean is the reader's to say, before and after: an edit that would change anything else is refused, not made.

use std::ops::Range;

use serde_json::{Map, Value};

use super::{
    super::{
        definition::FIELD_NAMES,
        field_names::camel_case,
        file_sections::{PromptBody, split},
        yaml::{self, YamlContent},
    },
    field,
};

/// Fields of front matter by their names, in any spelling; `null` takes one away. `prompt` is the text below the front matter.
pub type NewFields = Map<String, Value>;

/// Stands for the text below the front matter.
const PROMPT: &str = "prompt";

/// The reason why a file was not edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CannotEdit {
    /// The file itself is broken, so nobody can tell what an edit would keep.
    #[error("line {line}: {message}; fix that first")]
    Broken { line: u32, message: String },
    /// The fields have no lines of their own.
    #[error(
        "line {line}: {why}; fields can be replaced where each begins a line of its own, like `name: my-agent`"
    )]
    NotByLines { line: u32, why: String },
    /// Another field hangs on one that is to be replaced, as by an alias of YAML.
    #[error("something else would change beside these fields ({why}); edit the file by hand")]
    Entangled { why: String },
    /// What was asked for makes no sense.
    #[error("`{field}`: {message}")]
    BadField { field: String, message: String },
}

/// The text of an agent's file of ours with these fields in the place of its own, and every other byte as it was: comments,
/// order, blank lines, line ends. A field that is new stands where its neighbours in the schema do. Whether the fields are
/// right is not looked at; read the result for that.
pub fn with_fields(text: &str, fields: &NewFields) -> Result<String, CannotEdit> {
    let wanted = WantedChange::of(fields)?;
    let sheet = FileLines::read(text)?;
    let edited = sheet.edited(&wanted)?;
    sheet.check(&edited, &wanted)?;
    Ok(edited)
}

/// What is to change.
struct WantedChange<'a> {
    /// In the order in which new ones are written.
    fields: Vec<WantedField<'a>>,
    prompt: Option<&'a str>,
}

struct WantedField<'a> {
    /// In camelCase.
    name: String,
    /// As a file that does not have it is to spell it.
    key: String,
    /// `None` takes it away.
    value: Option<&'a Value>,
}

impl<'a> WantedChange<'a> {
    fn of(given: &'a NewFields) -> Result<WantedChange<'a>, CannotEdit> {
        let bad = |field: &str, message: &str| CannotEdit::BadField {
            field: field.to_owned(),
            message: message.to_owned(),
        };
        let mut wanted = WantedChange { fields: Vec::new(), prompt: None };
        for (key, value) in given {
            let value = Some(value).filter(|value| !value.is_null());
            if key == PROMPT {
                let text = value.map_or(Some(""), Value::as_str);
                wanted.prompt = Some(text.ok_or_else(|| bad(key, "expected a text"))?);
                continue;
            }
            let name = camel_case(key);
            if name.trim().is_empty() {
                return Err(bad(key, "expected the name of a field"));
            }
            if wanted.fields.iter().any(|earlier| earlier.name == name) {
                return Err(bad(key, "is given a second time, in another spelling"));
            }
            let key = if FIELD_NAMES.contains(&name.as_str()) { name.clone() } else { key.clone() };
            wanted.fields.push(WantedField { name, key, value });
        }
        wanted.fields.sort_by_key(|field| rank(&field.name));
        Ok(wanted)
    }
}

/// Where a reader expects the field among others; unknown ones come last.
fn rank(name: &str) -> usize {
    FIELD_NAMES.iter().position(|field| *field == name).unwrap_or(FIELD_NAMES.len())
}

/// A file by its lines.
struct FileLines<'a> {
    /// A byte order mark.
    head: &'a str,
    /// With their line ends.
    lines: Vec<&'a str>,
    line_end: &'static str,
    /// Those of the front matter, without its fences.
    front_matter: Range<usize>,
    /// Blanks before each key.
    indent: usize,
    fields: Vec<FrontMatterField>,
    prompt: String,
}

/// One field at the top.
struct FrontMatterField {
    /// In camelCase.
    name: String,
    /// As it is written.
    key: String,
    value: Value,
    /// Without the blank lines and comments below it.
    lines: Range<usize>,
}

impl<'a> FileLines<'a> {
    fn read(text: &'a str) -> Result<FileLines<'a>, CannotEdit> {
        let lines_of_text = text.trim_start_matches('\u{feff}');
        let head = &text[..text.len() - lines_of_text.len()];
        let is_macintosh = lines_of_text.contains('\r') && !lines_of_text.contains('\n');
        if is_macintosh {
            let why = "the lines of the file end with carriage returns alone".to_owned();
            return Err(CannotEdit::NotByLines { line: 1, why });
        }
        // As the reader does; each line keeps its number.
        let plain = lines_of_text.replace("\r\n", "\n");
        let (front_matter, body) = split(&plain)
            .map_err(|fence| CannotEdit::Broken { line: fence.line, message: fence.message.to_owned() })?;
        let first = usize::try_from(front_matter.first_line.saturating_sub(1)).unwrap_or_default();
        let n_lines = front_matter.text.split_inclusive('\n').count();
        if front_matter.text.contains('\r') {
            let why = "carriage returns end lines of the front matter".to_owned();
            return Err(CannotEdit::NotByLines { line: front_matter.first_line, why });
        }
        let lines: Vec<&str> = lines_of_text.split_inclusive('\n').collect();
        let fence = lines.get(first.saturating_sub(1)).copied().unwrap_or_default();
        let mut sheet = FileLines {
            head,
            line_end: if fence.ends_with("\r\n") { "\r\n" } else { "\n" },
            lines,
            front_matter: first..first + n_lines,
            indent: 0,
            fields: Vec::new(),
            prompt: body.text.to_owned(),
        };
        sheet.read_fields(front_matter.text, front_matter.first_line)?;
        Ok(sheet)
    }

    fn read_fields(&mut self, front_matter: &str, first_line: u32) -> Result<(), CannotEdit> {
        let (root, errors) = yaml::parse(front_matter, first_line);
        if let Some(error) = errors.into_iter().next() {
            return Err(CannotEdit::Broken { line: error.mark.line, message: error.message });
        }
        let Some(root) = root.filter(|root| !root.is_null()) else { return Ok(()) };
        let YamlContent::Map(entries) = &root.content else {
            let message = "the front matter has no fields".to_owned();
            return Err(CannotEdit::Broken { line: root.mark.line, message });
        };
        let mut begun = self.front_matter.start;
        for (at, (key, node)) in entries.iter().enumerate() {
            let not_by_lines =
                |why: &str| CannotEdit::NotByLines { line: key.mark.line, why: why.to_owned() };
            let line = usize::try_from(key.mark.line.saturating_sub(1)).unwrap_or_default();
            let before = usize::try_from(key.mark.column.saturating_sub(1)).unwrap_or_default();
            // What YAML takes for the end of a line, other readers may not.
            let Some(text) = self.lines.get(begun..=line).and_then(<[&str]>::last) else {
                return Err(not_by_lines("its lines cannot be told apart"));
            };
            let is_first_in_line = text.chars().take(before).all(|it| it == ' ');
            if at == 0 {
                self.indent = before;
                let is_blank = |line: &&str| line.trim().is_empty() || line.trim_start().starts_with('#');
                if !is_first_in_line || !self.lines[begun..line].iter().all(is_blank) {
                    return Err(not_by_lines(
                        "the front matter is written in braces, or begins with a mark of YAML",
                    ));
                }
            }
            if !is_first_in_line || before != self.indent {
                return Err(not_by_lines(&format!(
                    "`{}` does not begin its line as its neighbours do",
                    key.text
                )));
            }
            begun = line + 1;
            let next = entries.get(at + 1).map(|(next, _)| next.mark.line.saturating_sub(1));
            let limit = next.and_then(|it| usize::try_from(it).ok()).unwrap_or(self.front_matter.end);
            let lines = line..self.end_of_field(line, limit.clamp(line + 1, self.lines.len()));
            let (name, key) = (camel_case(&key.text), key.text.clone());
            self.fields.push(FrontMatterField { name, key, value: node.to_json(), lines });
        }
        Ok(())
    }

    /// What stands between a field and the next one belongs to neither, unless blank lines are part of the value (`|+`).
    fn end_of_field(&self, start: usize, limit: usize) -> usize {
        let says_keep = |line: &&str| {
            let line = line.trim_end_matches(['\r', '\n']);
            let line = line[..line.len() - comment(line).len()].trim_end();
            let sign = line.trim_end_matches(|it: char| it.is_ascii_digit());
            let sign = sign.strip_suffix('+').map(|it| it.trim_end_matches(|it: char| it.is_ascii_digit()));
            sign.is_some_and(|it| it.ends_with(['|', '>']))
        };
        let keeps_blank_lines = self.lines[start..limit].iter().any(says_keep);
        let is_between = |line: &str| {
            let text = line.trim_start_matches(' ');
            text.trim().is_empty() && !keeps_blank_lines
                || text.starts_with('#') && line.len() - text.len() <= self.indent
        };
        let mut end = limit;
        while start + 1 < end && is_between(self.lines[end - 1]) {
            end -= 1;
        }
        end
    }

    fn edited(&self, wanted: &WantedChange<'_>) -> Result<String, CannotEdit> {
        let mut changes: Vec<(Range<usize>, String)> = Vec::new();
        for WantedField { name, key, value } in &wanted.fields {
            let mut found = self.fields.iter().filter(|field| field.name == *name);
            match (found.next(), value) {
                (Some(_), _) if let Some(second) = found.next() => {
                    let line = u32::try_from(second.lines.start + 1).unwrap_or(u32::MAX);
                    let message = format!("`{name}` stands here a second time, spelled `{}`", second.key);
                    return Err(CannotEdit::Broken { line, message });
                }
                // What says so already keeps its way of saying it.
                (Some(field), Some(value)) if field.value == **value => {}
                (Some(field), Some(value)) => {
                    let comment = comment(self.lines[field.lines.start]);
                    changes.push((field.lines.clone(), self.written(&field.key, value, comment)));
                }
                (Some(field), None) => changes.push((field.lines.clone(), String::new())),
                (None, Some(value)) => {
                    let place = self.place_of(name, wanted);
                    changes.push((place..place, self.written(key, value, "")));
                }
                (None, None) => {}
            }
        }
        // Stable: of what is new in one place, the order is that of the schema.
        changes.sort_by_key(|(lines, _)| (lines.start, lines.end));
        let mut text = self.head.to_owned();
        let mut at = 0;
        for (lines, written) in changes {
            text.extend(self.lines[at..lines.start].iter().copied());
            text.push_str(&written);
            at = lines.end;
        }
        let body_start = (self.front_matter.end + 1).min(self.lines.len());
        text.extend(self.lines[at..body_start].iter().copied());
        let below = self.lines[body_start..].concat();
        match wanted.prompt.map(prompt_as_read).filter(|prompt| *prompt != self.prompt) {
            None => text.push_str(&below),
            Some(prompt) => self.write_prompt(&prompt, &below, &mut text),
        }
        Ok(text)
    }

    /// The line before which a new field goes: behind the last of those that the schema has before it.
    fn place_of(&self, name: &str, wanted: &WantedChange<'_>) -> usize {
        let goes = |field: &FrontMatterField| {
            wanted.fields.iter().any(|it| it.name == field.name && it.value.is_none())
        };
        let rank_of_new = rank(name);
        let is_unknown = rank_of_new == FIELD_NAMES.len();
        let before = self.fields.iter().filter(|field| !goes(field));
        let before = before.filter(|field| is_unknown || rank(&field.name) < rank_of_new);
        let last = before.max_by_key(|field| if is_unknown { field.lines.start } else { rank(&field.name) });
        last.map_or(self.front_matter.start, |field| field.lines.end)
    }

    /// The field's lines, with the comment that stood behind its first one.
    fn written(&self, key: &str, value: &Value, comment: &str) -> String {
        let mut text = String::new();
        for (at, line) in field(key, value).lines().enumerate() {
            if !line.is_empty() {
                text.extend(std::iter::repeat_n(' ', self.indent));
            }
            text.push_str(line);
            text.push_str(if at == 0 { comment } else { "" });
            text.push_str(self.line_end);
        }
        text
    }

    /// `below` is what stood below the front matter; blank lines around the old text stay around the new one.
    fn write_prompt(&self, prompt: &str, below: &str, text: &mut String) {
        if prompt.is_empty() {
            return;
        }
        let prompt = prompt.replace('\n', self.line_end);
        if !text.ends_with('\n') {
            text.push_str(self.line_end);
        }
        match PromptBody::of(below) {
            old if old.text.is_empty() => {
                *text += &format!("{end}{prompt}{end}", end = self.line_end);
            }
            old => {
                *text += &below[..old.offset];
                *text += &prompt;
                *text += &below[old.offset + old.text.len()..];
            }
        }
    }

    /// Whether the edited text says what it should, and nothing else than before.
    fn check(&self, edited: &str, wanted: &WantedChange<'_>) -> Result<(), CannotEdit> {
        let now = FileLines::read(edited).map_err(|error| match error {
            CannotEdit::Broken { line, message } => {
                CannotEdit::Entangled { why: format!("line {line} of the result: {message}") }
            }
            other => other,
        })?;
        let is_wanted = |name: &str| wanted.fields.iter().any(|it| it.name == name);
        let kept = self.fields.iter().filter(|field| !is_wanted(&field.name));
        let mut expected: Vec<(&str, &Value)> = kept.map(|it| (it.name.as_str(), &it.value)).collect();
        expected.extend(wanted.fields.iter().filter_map(|it| Some((it.name.as_str(), it.value?))));
        let mut found: Vec<(&str, &Value)> =
            now.fields.iter().map(|it| (it.name.as_str(), &it.value)).collect();
        expected.sort_by_key(|(name, _)| *name);
        found.sort_by_key(|(name, _)| *name);
        let prompt = wanted.prompt.map_or_else(|| self.prompt.clone(), prompt_as_read);
        if found != expected || now.prompt != prompt {
            let why = "the result says other things than it should".to_owned();
            return Err(CannotEdit::Entangled { why });
        }
        Ok(())
    }
}

/// What the reader makes of a prompt: no blank lines around it.
fn prompt_as_read(prompt: &str) -> String {
    PromptBody::of(&prompt.replace("\r\n", "\n")).text.to_owned()
}

/// The comment behind a key and what stands beside it, with the blanks before it; empty when there is none.
fn comment(line: &str) -> &str {
    let line = line.trim_end_matches(['\r', '\n']);
    let value = behind_key(line);
    let text = value.trim_start();
    // Where there are no quotes or brackets, `#` behind a blank always begins a comment.
    let has_marks = text.starts_with(['"', '\'', '[', '{', '&', '!']);
    let (mut quote, mut before, mut escaped) = (None, ' ', false);
    for (at, character) in value.char_indices() {
        match quote {
            _ if escaped => escaped = false,
            Some('"') if character == '\\' => escaped = true,
            Some(open) if character == open => quote = None,
            Some(_) => {}
            None if character == '#' && before.is_whitespace() => {
                return &value[value[..at].trim_end().len()..];
            }
            None if has_marks && matches!(character, '"' | '\'') && is_before_a_word(before) => {
                quote = Some(character);
            }
            None => {}
        }
        before = character;
    }
    ""
}

/// True if what follows begins a text of its own.
fn is_before_a_word(character: char) -> bool {
    character.is_whitespace() || matches!(character, '[' | '{' | ',' | ':')
}

/// What stands behind the colon of the key that begins the line; the whole line where no key does.
fn behind_key(line: &str) -> &str {
    let text = line.trim_start();
    let key_end = match text.chars().next() {
        Some(quote @ ('"' | '\'')) => text[1..].find(quote).map_or(0, |at| at + 2),
        _ => 0,
    };
    let is_colon = |(at, _): &(usize, &str)| {
        let behind = text[at + 1..].chars().next();
        *at >= key_end && behind.is_none_or(char::is_whitespace)
    };
    text.match_indices(':').find(is_colon).map_or(line, |(at, _)| &text[at + 1..])
}
