//! What does a command read, and which files do its redirections touch?

use super::{CommandScope, ScriptWalk};
use crate::{
    syntax::{RedirectOperator, ShellRedirect, WordPiece},
    value,
};

/// What stands in a command's input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CommandInput {
    /// Whatever the whole text was given.
    Outside,
    /// This text.
    Text(String),
    /// What only running it would tell: another command's output, a file.
    Pipe,
}

impl ScriptWalk<'_> {
    /// Follows redirections; answers with the input that they leave.
    pub(super) fn redirects(&mut self, redirects: &[ShellRedirect], scope: &CommandScope) -> CommandInput {
        let mut input = scope.input.clone();
        for redirect in redirects {
            if let Some(next) = self.redirect(redirect, scope) {
                input = next;
            }
        }
        input
    }

    fn redirect(&mut self, redirect: &ShellRedirect, scope: &CommandScope) -> Option<CommandInput> {
        let ShellRedirect { operator, fd, target } = redirect;
        if let Some(name) = fd.as_deref().and_then(|fd| fd.strip_prefix('{')?.strip_suffix('}')) {
            self.descriptors.push(name.to_owned());
        }
        let is_input = fd.as_deref().is_none_or(|fd| fd == "0");
        self.inside(target, scope);
        let is_process = matches!(target.pieces.as_slice(), [WordPiece::Process(_)]);
        let value = match operator {
            RedirectOperator::Document | RedirectOperator::Text => value::value(target, &scope.known()),
            _ => match value::values(target, &scope.known()).as_slice() {
                [one] => one.clone(),
                // bash refuses several.
                _ => value::WordValue::unknown(&target.raw),
            },
        };
        match operator {
            RedirectOperator::Document | RedirectOperator::Text => {
                let text = value.known().map(str::to_owned);
                return is_input.then_some(text.map_or(CommandInput::Pipe, CommandInput::Text));
            }
            _ if is_process => {}
            RedirectOperator::In => self.reads(&value, scope),
            RedirectOperator::Out | RedirectOperator::Both | RedirectOperator::OutAndErrors => {
                self.writes(&value, scope)
            }
            RedirectOperator::InLike => {}
            RedirectOperator::OutLike => {
                let is_descriptor = match value.known() {
                    Some(text) => {
                        let number = text.strip_suffix('-').unwrap_or(text);
                        number.chars().all(|digit| digit.is_ascii_digit())
                    }
                    None => {
                        matches!(target.pieces.as_slice(), [WordPiece::Variable { name, .. }] if self.descriptors.contains(name))
                    }
                };
                if !is_descriptor {
                    self.writes(&value, scope);
                }
            }
        }
        let feeds =
            matches!(operator, RedirectOperator::In | RedirectOperator::Both | RedirectOperator::InLike);
        let is_nothing = value.is("/dev/null");
        (feeds && is_input).then_some(if is_nothing {
            CommandInput::Text(String::new())
        } else {
            CommandInput::Pipe
        })
    }
}
