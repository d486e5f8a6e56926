//! Which lines of a text are shown, and what is said about the others?

use std::{borrow::Cow, fmt::Write as _};

use memchr::memchr_iter;

use redact::Redactor;

/// Characters of one line (spec 05); more is data, not text.
const MAX_LINE_CHARS: usize = 2_000;
/// Room kept for the mark at the end of a cut line.
const MARK_CHARS: usize = 50;
/// Room kept for the note.
pub const NOTE_CHARS: usize = 300;

/// What was asked for.
#[derive(Debug, Clone, Copy)]
pub struct LineRange {
    /// The first line, from 0.
    pub offset: u64,
    pub limit: u64,
    pub max_chars: usize,
}

/// The lines shown.
#[derive(Debug)]
pub struct TextExcerpt {
    pub text: String,
    /// Lines of the whole text.
    pub total: u64,
    /// The first line shown, from 0.
    pub from: u64,
    /// The line after the last shown.
    pub to: u64,
    asked_from: u64,
    /// Whether the budget ended it, not `limit`.
    is_cut_by_budget: bool,
    cut_lines: u64,
}

impl TextExcerpt {
    /// Perf: two passes over the bytes and one copy of what is shown; lines that are cut are read once more, for
    /// secrets.
    pub fn of(text: &str, range: LineRange, redactor: &Redactor) -> TextExcerpt {
        let total = count_lines(text);
        let mut excerpt = TextExcerpt {
            text: String::new(),
            total,
            from: range.offset.min(total),
            to: range.offset.min(total),
            asked_from: range.offset,
            is_cut_by_budget: false,
            cut_lines: 0,
        };
        let skip = usize::try_from(excerpt.from).unwrap_or(usize::MAX);
        let take = usize::try_from(range.limit).unwrap_or(usize::MAX);
        let mut left = range.max_chars.saturating_sub(NOTE_CHARS);
        for line in text.split_inclusive('\n').skip(skip).take(take) {
            let (plain, end_of_line) = line.split_at(line.trim_end_matches(['\n', '\r']).len());
            let mut content = Cow::Borrowed(plain);
            let mut chars = plain.chars().count();
            if MAX_LINE_CHARS < chars || left < chars + end_of_line.len() {
                content = redactor.text(plain);
                chars = content.chars().count();
            }
            let mut shown = chars.min(MAX_LINE_CHARS);
            let around = if shown < chars { MARK_CHARS } else { end_of_line.len() };
            if left < shown + around {
                if excerpt.from < excerpt.to {
                    excerpt.is_cut_by_budget = true;
                    break;
                }
                // At least something of the first line, or reading on would never get past it.
                shown = shown.min(left.saturating_sub(MARK_CHARS));
                left = 0;
            }
            left = left.saturating_sub(shown + around);
            excerpt.to += 1;
            if shown == chars {
                excerpt.text.push_str(&content);
                excerpt.text.push_str(end_of_line);
                continue;
            }
            excerpt.cut_lines += 1;
            let end = content.char_indices().nth(shown).map_or(content.len(), |(end, _)| end);
            excerpt.text.push_str(&content[..end]);
            let _ = writeln!(excerpt.text, "[… cut: {shown} of {chars} characters]");
        }
        excerpt
    }

    /// Whether the whole text is shown.
    pub fn is_whole(&self) -> bool {
        self.from == 0 && self.to == self.total && self.cut_lines == 0
    }

    /// The first line of the result, when there is something to say.
    pub fn note(&self, encoding: Option<&str>) -> Option<String> {
        if self.total == 0 {
            return Some("[the file is empty]".to_owned());
        }
        if self.from == self.total {
            return Some(format!(
                "[nothing from offset {} on: the file has {} lines]",
                self.asked_from, self.total
            ));
        }
        let mut facts = Vec::new();
        if self.from != 0 || self.to != self.total {
            let mut fact = format!("lines {}-{} of {}", self.from + 1, self.to, self.total);
            if self.is_cut_by_budget {
                fact.push_str(", as many as fit the output limit");
            }
            facts.push(fact);
        }
        if self.cut_lines != 0 {
            facts.push(format!("long lines cut: {}; grep shows parts of them", self.cut_lines));
        }
        if let Some(encoding) = encoding {
            facts.push(format!("decoded from {encoding}"));
        }
        if self.to < self.total {
            facts.push(format!("read on with offset: {}", self.to));
        }
        (!facts.is_empty()).then(|| format!("[{}]", facts.join("; ")))
    }
}

fn count_lines(text: &str) -> u64 {
    let ends = memchr_iter(b'\n', text.as_bytes()).count();
    let has_open_line = !text.is_empty() && !text.ends_with('\n');
    u64::try_from(ends + usize::from(has_open_line)).unwrap_or(u64::MAX)
}
