//! A word: letters, quotes and expansions up to the next blank or operator.

use super::{ParseResult, Parser, is_name};
use crate::syntax::{ShellWord, WordPiece};

/// The work that each word is beside its letters.
const WORD_WORK: usize = 100;

/// Where a word ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordEnd {
    /// A blank or an operator.
    Blank,
    /// As above, but parentheses and `|` belong to it: what stands behind `=~` or `==` in `[[`.
    Pattern,
}

impl Parser<'_> {
    /// The word that begins here, if one does.
    pub(super) fn word(&mut self) -> ParseResult<Option<ShellWord>> {
        self.word_until(WordEnd::Blank)
    }

    pub(super) fn pattern(&mut self) -> ParseResult<Option<ShellWord>> {
        self.word_until(WordEnd::Pattern)
    }

    fn word_until(&mut self, until: WordEnd) -> ParseResult<Option<ShellWord>> {
        self.step()?;
        let begin = self.at;
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut open = 0_usize;
        while let Some(letter) = self.peek() {
            match letter {
                '(' | ')' | '|' if until == WordEnd::Pattern && (letter != ')' || open > 0) => {
                    // `||` ends it as `&&` does.
                    if open == 0 && self.looks_at("||") {
                        break;
                    }
                    open = if letter == '(' { open + 1 } else { open - usize::from(letter == ')') };
                    plain.push(letter);
                    self.bump();
                }
                ' ' | '\t' if open > 0 => {
                    plain.push(letter);
                    self.bump();
                }
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' => break,
                '<' | '>' => {
                    if !(self.looks_at("<(") || self.looks_at(">(")) {
                        break;
                    }
                    self.bash_only("`<(`")?;
                    self.bump();
                    let script = self.parenthesised()?;
                    flush(&mut plain, &mut pieces);
                    pieces.push(WordPiece::Process(script));
                }
                '\\' => {
                    self.bump();
                    match self.bump() {
                        Some('\n') => {}
                        Some(escaped) => {
                            flush(&mut plain, &mut pieces);
                            pieces.push(WordPiece::Quoted(escaped.to_string()));
                        }
                        None => return self.fail("the text ends with a `\\`"),
                    }
                }
                '\'' => {
                    flush(&mut plain, &mut pieces);
                    pieces.push(WordPiece::Quoted(self.single_quoted()?));
                }
                '"' => {
                    flush(&mut plain, &mut pieces);
                    self.bump();
                    self.double_quoted(&mut pieces)?;
                }
                '$' | '`' => match self.dollar(false)? {
                    Some(piece) => {
                        flush(&mut plain, &mut pieces);
                        pieces.push(piece);
                    }
                    None => plain.push('$'),
                },
                _ => {
                    plain.push(letter);
                    self.bump();
                }
            }
        }
        if open > 0 {
            return self.fail("a `(` in a pattern is not closed");
        }
        flush(&mut plain, &mut pieces);
        let raw = self.text[begin..self.at].to_owned();
        if (self.looks_at("<") || self.looks_at(">")) && is_element_in_braces(&raw) {
            return self.fail("a redirection keeps its number in an element of an array");
        }
        // Joined lines alone are no word.
        let is_word = !pieces.is_empty();
        Ok(is_word.then_some(ShellWord { raw, pieces }))
    }

    pub(super) fn step(&mut self) -> ParseResult<()> {
        if self.fuel.burn(WORD_WORK) { Ok(()) } else { self.fail("it takes too long to read") }
    }

    pub(super) fn single_quoted(&mut self) -> ParseResult<String> {
        self.expect("'")?;
        let Some(length) = self.rest().find('\'') else { return self.fail("a `'` is not closed") };
        let text = self.rest()[..length].to_owned();
        self.go_past(length + 1);
        Ok(text)
    }

    /// From behind the first `"` to behind the second.
    pub(super) fn double_quoted(&mut self, pieces: &mut Vec<WordPiece>) -> ParseResult<()> {
        let mut text = String::new();
        // An empty text is a word, too.
        let count = pieces.len();
        loop {
            match self.peek() {
                None => return self.fail("a `\"` is not closed"),
                Some('"') => {
                    self.bump();
                    if !text.is_empty() || pieces.len() == count {
                        pieces.push(WordPiece::Quoted(text));
                    }
                    return Ok(());
                }
                Some('\\') => {
                    self.bump();
                    match self.bump() {
                        Some('\n') => {}
                        Some(escaped @ ('$' | '`' | '"' | '\\')) => text.push(escaped),
                        Some(other) => text.extend(['\\', other]),
                        None => return self.fail("a `\"` is not closed"),
                    }
                }
                Some('$' | '`') => match self.dollar(true)? {
                    Some(piece) => {
                        quoted_flush(&mut text, pieces);
                        pieces.push(piece);
                    }
                    None => text.push('$'),
                },
                Some(letter) => {
                    text.push(letter);
                    self.bump();
                }
            }
        }
    }

    /// The text of a here-document in which expansions count.
    pub(super) fn document(&mut self) -> ParseResult<Vec<WordPiece>> {
        let mut pieces = Vec::new();
        let mut text = String::new();
        while let Some(letter) = self.peek() {
            match letter {
                '\\' => {
                    self.bump();
                    match self.bump() {
                        Some('\n') => {}
                        Some(escaped @ ('$' | '`' | '\\')) => text.push(escaped),
                        Some(other) => text.extend(['\\', other]),
                        None => text.push('\\'),
                    }
                }
                '$' | '`' => match self.dollar(true)? {
                    Some(piece) => {
                        quoted_flush(&mut text, &mut pieces);
                        pieces.push(piece);
                    }
                    None => text.push('$'),
                },
                _ => {
                    text.push(letter);
                    self.bump();
                }
            }
        }
        quoted_flush(&mut text, &mut pieces);
        Ok(pieces)
    }
}

/// `{name[…]}`: before a redirection it is no word, and its index is computed.
fn is_element_in_braces(raw: &str) -> bool {
    let whole = raw.replace("\\\n", "");
    let inner = whole.strip_prefix('{').and_then(|rest| rest.strip_suffix("]}"));
    inner.and_then(|inner| inner.split_once('[')).is_some_and(|(name, _)| is_name(name))
}

pub(super) fn flush(plain: &mut String, pieces: &mut Vec<WordPiece>) {
    if !plain.is_empty() {
        pieces.push(WordPiece::Plain(std::mem::take(plain)));
    }
}

fn quoted_flush(text: &mut String, pieces: &mut Vec<WordPiece>) {
    if !text.is_empty() {
        pieces.push(WordPiece::Quoted(std::mem::take(text)));
    }
}
