//! Redirections, and the texts of here-documents.

use std::{cell::OnceCell, rc::Rc};

use super::{ParseResult, Parser};
use crate::syntax::{RedirectOperator, ShellRedirect, ShellWord, WordPiece};

/// A here-document whose text begins after the line's end.
#[derive(Debug)]
pub(super) struct PendingHereDocument {
    end: String,
    /// Its end was quoted, so nothing in it is expanded.
    is_literal: bool,
    /// `<<-`
    strips_tabs: bool,
    /// Where its text goes.
    text: Rc<OnceCell<Vec<WordPiece>>>,
}

/// What bash reads as one operator, longest first.
const OPERATORS: &[(&str, RedirectOperator)] = &[
    ("&>>", RedirectOperator::OutAndErrors),
    ("<<<", RedirectOperator::Text),
    ("<<-", RedirectOperator::Document),
    ("&>", RedirectOperator::OutAndErrors),
    ("<<", RedirectOperator::Document),
    ("<&", RedirectOperator::InLike),
    ("<>", RedirectOperator::Both),
    (">>", RedirectOperator::Out),
    (">&", RedirectOperator::OutLike),
    (">|", RedirectOperator::Out),
    ("<", RedirectOperator::In),
    (">", RedirectOperator::Out),
];

impl Parser<'_> {
    /// The redirection that begins here, if one does.
    pub(super) fn redirect(&mut self) -> ParseResult<Option<ShellRedirect>> {
        let before = self.at;
        let fd = self.descriptor()?;
        let is_process = self.looks_at("<(") || self.looks_at(">(");
        let found = OPERATORS.iter().find(|(operator, _)| self.looks_at(operator));
        let Some((spelling, operator)) = found.filter(|_| !is_process) else {
            self.at = before;
            return Ok(None);
        };
        if *operator == RedirectOperator::OutAndErrors {
            if fd.is_some() {
                // `2&>x` is the word `2` and `&>x`.
                self.at = before;
                return Ok(None);
            }
            self.bash_only("`&>`")?;
        }
        if *operator == RedirectOperator::Text {
            self.bash_only("`<<<`")?;
        }
        self.take(spelling);
        if *operator == RedirectOperator::Document {
            return self.document_begins(fd, *spelling == "<<-").map(Some);
        }
        self.skip_blanks();
        let Some(target) = self.word()? else {
            return self.fail(&format!("`{spelling}` has no target"));
        };
        Ok(Some(ShellRedirect { operator: *operator, fd, target }))
    }

    /// `2` or `{name}` directly before an operator.
    fn descriptor(&mut self) -> ParseResult<Option<String>> {
        let before = self.at;
        let is_name = self.looks_at("{");
        if !is_name && !self.peek().is_some_and(|letter| letter.is_ascii_digit()) {
            return Ok(None);
        }
        // Over lines that are joined.
        let ends = |at: usize, letter: char| {
            "<> \t\n;&|()".contains(letter) && !(letter == '\n' && self.rest()[..at].ends_with('\\'))
        };
        let length = self.rest().char_indices().find(|(at, letter)| ends(*at, *letter)).map(|(at, _)| at);
        let word: String = self.rest()[..length.unwrap_or(self.rest().len())].replace("\\\n", "");
        let stands_before = length.is_some_and(|length| self.rest()[length..].starts_with(['<', '>']));
        let is_number = word.chars().all(|digit| digit.is_ascii_digit());
        let inner = word.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let is_fd = is_number || inner.is_some_and(super::simple::is_name);
        match length {
            Some(length) if stands_before && is_fd => {
                if inner.is_some() {
                    self.bash_only("`{name}>`")?;
                } else if word.len() > 1 {
                    self.bash_only("a redirection of two digits")?;
                }
                self.go_past(length);
                Ok(Some(word))
            }
            _ => {
                self.at = before;
                Ok(None)
            }
        }
    }

    fn document_begins(&mut self, fd: Option<String>, strips_tabs: bool) -> ParseResult<ShellRedirect> {
        self.skip_blanks();
        let Some(word) = self.word()? else { return self.fail("a here-document has no end") };
        let mut end = String::new();
        let mut is_literal = false;
        for piece in &word.pieces {
            match piece {
                WordPiece::Plain(text) => end.push_str(text),
                WordPiece::Quoted(text) => {
                    is_literal = true;
                    end.push_str(text);
                }
                _ => return self.fail("the end of a here-document is computed"),
            }
        }
        if end.contains('\n') || word.raw.contains("\\\n") {
            return self.fail("the end of a here-document has a line end in it");
        }
        let text = Rc::new(OnceCell::new());
        self.documents.push(PendingHereDocument { end, is_literal, strips_tabs, text: Rc::clone(&text) });
        let target = ShellWord { raw: word.raw, pieces: vec![WordPiece::Document(text)] };
        Ok(ShellRedirect { operator: RedirectOperator::Document, fd, target })
    }

    /// At the beginning of a line: the texts of all here-documents that wait for it.
    pub(super) fn read_documents(&mut self) -> ParseResult<()> {
        let begin = self.at;
        for pending in std::mem::take(&mut self.documents) {
            let mut text = String::new();
            loop {
                if self.rest().is_empty() {
                    return self.fail(&format!("a here-document does not end: `{}` is missing", pending.end));
                }
                let mut line = self.document_line();
                if !pending.is_literal {
                    while ends_joined(&line) && !self.rest().is_empty() {
                        line.push('\n');
                        line.push_str(&self.document_line());
                        if pending.strips_tabs {
                            // Some shells join lines before they take the tabs away, others afterwards.
                            return self.fail("a line of a `<<-` here-document goes on in the next one");
                        }
                    }
                }
                let line = if pending.strips_tabs { line.trim_start_matches('\t') } else { &line };
                let whole = if pending.is_literal { line.to_owned() } else { line.replace("\\\n", "") };
                if whole == pending.end {
                    break;
                }
                // Within `$(…)` bash takes such a line for the end, too, and goes on behind it.
                if self.substitutions > 0 && whole.starts_with(&pending.end) && whole.contains(')') {
                    return self.fail(&format!(
                        "a line of a here-document in a substitution begins with its end, `{}`",
                        pending.end
                    ));
                }
                text.push_str(line);
                text.push('\n');
            }
            let pieces =
                if pending.is_literal { vec![WordPiece::Quoted(text)] } else { self.expand_document(&text)? };
            if pending.text.set(pieces).is_err() {
                return self.fail("a here-document is read twice");
            }
        }
        if begin < self.at {
            self.texts.push(begin..self.at);
        }
        Ok(())
    }

    fn expand_document(&self, text: &str) -> ParseResult<Vec<WordPiece>> {
        let mut parser = self.inner(text)?;
        let pieces = parser.document()?;
        // Here-documents in substitutions of this one.
        if parser.documents.is_empty() { Ok(pieces) } else { self.fail("a here-document does not begin") }
    }

    fn document_line(&mut self) -> String {
        let rest = self.rest();
        let length = rest.find('\n').unwrap_or(rest.len());
        self.go_past((length + 1).min(rest.len()));
        rest[..length].to_owned()
    }
}

/// An odd number of backslashes at its end.
fn ends_joined(line: &str) -> bool {
    line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}
