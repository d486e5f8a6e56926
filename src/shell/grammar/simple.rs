//! A command that is words, assignments and redirections.

use super::{ParseResult, Parser};
use crate::syntax::{CommandNode, ShellAssignment, ShellWord, SimpleCommand, WordPiece};

/// Builtins whose arguments may be assignments of lists.
const DECLARING: &[&str] = &["declare", "typeset", "local", "export", "readonly"];

impl Parser<'_> {
    pub(super) fn simple(&mut self) -> ParseResult<CommandNode> {
        let mut simple = SimpleCommand::default();
        loop {
            self.skip_blanks();
            if let Some(redirect) = self.redirect()? {
                simple.redirects.push(redirect);
                continue;
            }
            let may_assign = simple.words.is_empty();
            let declares =
                simple.words.first().and_then(ShellWord::plain).is_some_and(|name| DECLARING.contains(&name));
            if may_assign || declares {
                let before = self.at;
                match self.assignment()? {
                    Some(assignment) if may_assign => {
                        simple.assignments.push(assignment);
                        continue;
                    }
                    // A list that is declared is kept as a word, too, so that the command is whole.
                    Some(assignment) if self.text[before..self.at].ends_with(')') => {
                        let raw = self.text[before..self.at].to_owned();
                        simple
                            .words
                            .push(ShellWord { raw: raw.clone(), pieces: vec![WordPiece::Quoted(raw)] });
                        simple.assignments.push(assignment);
                        continue;
                    }
                    _ => self.at = before,
                }
            }
            let Some(word) = self.word()? else { break };
            simple.words.push(word);
        }
        let is_bare = simple.assignments.is_empty() && simple.redirects.is_empty();
        if self.looks_at("(") {
            return match simple.words.as_slice() {
                [name] if is_bare => {
                    let Some(name) = name.plain().map(str::to_owned) else {
                        return self.fail("the name of a function is computed");
                    };
                    self.take("(");
                    self.skip_blanks();
                    self.expect(")")?;
                    self.function_body(name)
                }
                _ => self.fail("there is a `(` where none can be"),
            };
        }
        if is_bare && simple.words.is_empty() {
            return self.fail("a command is missing");
        }
        Ok(CommandNode::Simple(simple))
    }

    /// `name=value` and its kin, if one stands here.
    fn assignment(&mut self) -> ParseResult<Option<ShellAssignment>> {
        let before = self.at;
        let name = self.name_letters();
        if name.is_empty() {
            return Ok(None);
        }
        let mut index = None;
        if self.looks_at("[") {
            // A pattern or an element: only an assignment has `]=` behind.
            self.take("[");
            match self.index()? {
                Some(computed) if self.looks_at("=") || self.looks_at("+=") => {
                    self.bash_only("arrays")?;
                    index = Some(computed);
                }
                _ => {
                    self.at = before;
                    return Ok(None);
                }
            }
        }
        if !self.take("=") {
            if !self.take("+=") {
                self.at = before;
                return Ok(None);
            }
            self.bash_only("`+=`")?;
        }
        let is_list = self.take("(");
        let values = if is_list {
            self.bash_only("arrays")?;
            self.list_values()?
        } else {
            self.word()?.into_iter().collect()
        };
        let raw = self.text[before..self.at].to_owned();
        Ok(Some(ShellAssignment { name, index, is_list, values, raw }))
    }

    fn list_values(&mut self) -> ParseResult<Vec<ShellWord>> {
        let mut values = Vec::new();
        loop {
            self.skip_lines()?;
            if self.take(")") {
                return Ok(values);
            }
            if self.looks_at("[") {
                return self.fail("the elements of a list have computed places");
            }
            match self.word()? {
                Some(word) => values.push(word),
                None => return self.fail("a list of values is not closed"),
            }
        }
    }

    /// A variable's name and nothing else, as a word.
    pub(super) fn name(&mut self) -> ParseResult<Option<String>> {
        let before = self.at;
        let word = self.word()?;
        let name = word.as_ref().and_then(ShellWord::plain).filter(|text| is_name(text)).map(str::to_owned);
        if name.is_none() {
            self.at = before;
        }
        Ok(name)
    }

    /// As many letters of a name as stand here.
    pub(super) fn name_letters(&mut self) -> String {
        let rest = self.rest();
        let end = rest
            .find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))
            .unwrap_or(rest.len());
        let name = &rest[..end];
        if !is_name(name) {
            return String::new();
        }
        self.go_past(end);
        name.to_owned()
    }
}

pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// A letter that names have.
pub(crate) fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// True if the letters at its end are a name, and no number.
pub(crate) fn ends_with_name(text: &str) -> bool {
    let begin = text.rfind(|letter| !is_of_name(letter)).map_or(0, |at| at + 1);
    // `16#` and digits are a number of another base.
    is_name(&text[begin..]) && !text[..begin].ends_with('#')
}
