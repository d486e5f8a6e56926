//! What must not be shown, stored or logged, and what stands in its place? (spec 10, "Redaction")
//!
//! Three sorts of secrets are found: values of secret environment variables in any writing, configured patterns,
//! and keys whose makers gave them a shape. Each becomes `[redacted:kind]`. Pure: a text in, a text out; who asks,
//! and when, is not known here. Signed blocks of a provider are never rewritten: they stay or go as a whole.

use std::{borrow::Cow, sync::Arc};

use serde_json::Value;

use self::{
    needle::NeedleIndex,
    pattern::PatternAutomaton,
    scan::{OutputPiece, RedactionScan},
    shapes::SHAPES,
    trigger::ScanTriggers,
    window::TextWindow,
};

mod environment;
mod events;
mod hidden;
mod known;
mod named_bytes;
mod needle;
mod pattern;
mod scan;
mod shapes;
mod stream;
mod trigger;
mod window;

pub use environment::names_a_secret;
pub use hidden::hidden_places;
pub use known::KnownSecrets;
pub use pattern::{MOST_HELD_BYTES, PatternError, RedactionPattern};
pub use stream::StreamRedactor;

/// Texts within texts are looked into this deep: JSON in JSON in JSON.
const MOST_NESTED_TEXTS: u32 = 4;

/// What a redactor is made from.
pub struct RedactorParts<E> {
    /// Names and values. Which of them are secret, their names say.
    pub environment: E,
    pub patterns: Vec<RedactionPattern>,
}

/// Finds secrets. Cheap to clone.
#[derive(Clone)]
pub struct Redactor {
    rules: Arc<RedactionRules>,
}

/// What is looked for.
struct RedactionRules {
    triggers: ScanTriggers,
    needles: NeedleIndex,
    patterns: Option<PatternAutomaton>,
    /// Names of all kinds: the shapes', the variables', the patterns'.
    labels: Vec<String>,
}

impl RedactionRules {
    /// Known values have the lowest, then shapes, then patterns.
    fn rank(&self, label: u32) -> u8 {
        let is_shape = (label as usize) < SHAPES.len();
        let is_pattern = self.patterns.as_ref().is_some_and(|patterns| label >= patterns.first_label);
        u8::from(is_shape) + 2 * u8::from(is_pattern)
    }

    /// Stretches of a whole text that stay, and where marks stand.
    fn pieces(&self, text: &str) -> Vec<OutputPiece> {
        let window = TextWindow::new(text, true);
        let has_matches = self.patterns.as_ref().is_some_and(|patterns| !patterns.hide_nothing_of(text));
        let mut scan =
            if has_matches { RedactionScan::new(self) } else { RedactionScan::without_patterns(self) };
        scan.advance(self, &window)
    }
}

/// A stretch of text that is hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HiddenSpan {
    start: usize,
    end: usize,
    label: u32,
}

impl HiddenSpan {
    /// Counts from `by` bytes later. False when nothing of the block is left.
    fn shift(&mut self, by: usize) -> bool {
        self.start = self.start.saturating_sub(by);
        self.end = self.end.saturating_sub(by);
        self.end > 0
    }
}

impl std::fmt::Debug for Redactor {
    /// Nothing of what is looked for.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Redactor").finish_non_exhaustive()
    }
}

impl Redactor {
    pub fn new(parts: RedactorParts<impl Iterator<Item = (String, String)>>) -> Redactor {
        let secrets = environment::secrets(parts.environment);
        let mut labels: Vec<String> = SHAPES.iter().map(|shape| shape.kind.to_owned()).collect();
        let next_label = |labels: &Vec<String>| u32::try_from(labels.len()).expect("kinds are few");
        let needles = NeedleIndex::new(&secrets, next_label(&labels));
        labels.extend(secrets.iter().map(|secret| format!("env:{}", secret.name)));
        let patterns = PatternAutomaton::new(&parts.patterns, next_label(&labels));
        labels.push("pattern".to_owned());
        labels.extend((1..=parts.patterns.len()).map(|number| format!("pattern:{number}")));
        let triggers = ScanTriggers::new(&needles, true);
        Redactor { rules: Arc::new(RedactionRules { triggers, needles, patterns, labels }) }
    }

    /// Finds nothing at all: for tests that are about something else.
    pub fn none() -> Redactor {
        let needles = NeedleIndex::new(&[], 0);
        let triggers = ScanTriggers::new(&needles, false);
        Redactor { rules: Arc::new(RedactionRules { triggers, needles, patterns: None, labels: Vec::new() }) }
    }

    /// The text without its secrets.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let pieces = self.pieces(text);
        match pieces.iter().any(|piece| matches!(piece, OutputPiece::Mark { .. })) {
            true => Cow::Owned(self.written(text, &pieces)),
            false => Cow::Borrowed(text),
        }
    }

    /// Hides secrets in all texts and names within `value`, also in JSON within a text. Whether there were any.
    pub fn value(&self, value: &mut Value) -> bool {
        self.nested_value(value, MOST_NESTED_TEXTS)
    }

    /// A line of a log. What is not UTF-8 stays as it is.
    pub fn bytes_line<'a>(&self, line: &'a [u8]) -> Cow<'a, [u8]> {
        if let Ok(text) = std::str::from_utf8(line) {
            return match self.text(text) {
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            };
        }
        let mut redacted = Vec::with_capacity(line.len());
        for chunk in line.utf8_chunks() {
            redacted.extend_from_slice(self.text(chunk.valid()).as_bytes());
            redacted.extend_from_slice(chunk.invalid());
        }
        Cow::Owned(redacted)
    }

    /// For a text that arrives in pieces.
    pub fn stream(&self) -> StreamRedactor {
        StreamRedactor::new(self.clone())
    }

    fn nested_value(&self, value: &mut Value, depth: u32) -> bool {
        match value {
            Value::String(text) => self.nested_text(text, depth),
            Value::Array(values) => {
                values.iter_mut().fold(false, |changed, value| self.nested_value(value, depth) | changed)
            }
            Value::Object(fields) => {
                let mut changed = false;
                for value in fields.values_mut() {
                    changed |= self.nested_value(value, depth);
                }
                if fields.keys().any(|name| matches!(self.text(name), Cow::Owned(_))) {
                    *fields = self.renamed(std::mem::take(fields));
                    changed = true;
                }
                changed
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    fn nested_text(&self, text: &mut String, depth: u32) -> bool {
        let mut changed = false;
        if let Cow::Owned(redacted) = self.text(text) {
            (*text, changed) = (redacted, true);
        }
        // Escapes can hide a shape or a pattern; known values are found through them anyway.
        let is_nested = depth > 0 && text.trim_start().starts_with(['{', '[']) && text.contains('\\');
        if is_nested
            && let Ok(mut inner) = serde_json::from_str::<Value>(text)
            && self.nested_value(&mut inner, depth - 1)
        {
            (*text, changed) = (inner.to_string(), true);
        }
        changed
    }

    /// Names that become the same are counted, so that no field is lost.
    fn renamed(&self, fields: serde_json::Map<String, Value>) -> serde_json::Map<String, Value> {
        let mut renamed = serde_json::Map::new();
        for (name, value) in fields {
            let plain = self.text(&name).into_owned();
            let mut unique = plain.clone();
            let mut count = 2_usize;
            while renamed.contains_key(&unique) {
                unique = format!("{plain} ({count})");
                count += 1;
            }
            renamed.insert(unique, value);
        }
        renamed
    }

    fn pieces(&self, text: &str) -> Vec<OutputPiece> {
        self.rules.pieces(text)
    }

    fn written(&self, text: &str, pieces: &[OutputPiece]) -> String {
        let mut written = String::with_capacity(text.len());
        for piece in pieces {
            match *piece {
                OutputPiece::Plain { start, end } => written.push_str(&text[start..end]),
                OutputPiece::Mark { label, .. } => written.push_str(&self.mark(label)),
            }
        }
        written
    }

    fn mark(&self, label: u32) -> String {
        let kind = self.rules.labels.get(label as usize).map_or("secret", String::as_str);
        format!("{MARK}{kind}]")
    }
}

/// True if a value that stands under this name is one that should not be shown: its name says so, or its shape.
pub fn looks_secret(name: &str, value: &str) -> bool {
    let variable = std::iter::once((name.to_owned(), value.to_owned()));
    let has_shape = || {
        let parts = RedactorParts { environment: std::iter::empty(), patterns: Vec::new() };
        matches!(Redactor::new(parts).text(value), Cow::Owned(_))
    };
    !environment::secrets(variable).is_empty() || has_shape()
}

/// How what stands for a secret begins.
const MARK: &str = "[redacted:";

/// The marks in a text, that stand where secrets were.
pub fn marks(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(MARK).filter_map(|(at, _)| Some(&text[at..=at + text[at..].find(']')?]))
}

#[cfg(test)]
mod tests;
