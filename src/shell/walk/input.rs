//! What does a command read, and which files do its redirections touch?

use super::{Scope, Walk};
use crate::shell::{
    syntax::{Operator, Piece, Redirect},
    value,
};

/// What stands in a command's input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::shell) enum Input {
    /// Whatever the whole text was given.
    Outside,
    /// This text.
    Text(String),
    /// What only running it would tell: another command's output, a file.
    Pipe,
}

impl Walk<'_> {
    /// Follows redirections; answers with the input that they leave.
    pub(super) fn redirects(&mut self, redirects: &[Redirect], scope: &Scope) -> Input {
        let mut input = scope.input.clone();
        for redirect in redirects {
            if let Some(next) = self.redirect(redirect, scope) {
                input = next;
            }
        }
        input
    }

    fn redirect(&mut self, redirect: &Redirect, scope: &Scope) -> Option<Input> {
        let Redirect { operator, fd, target } = redirect;
        if let Some(name) = fd.as_deref().and_then(|fd| fd.strip_prefix('{')?.strip_suffix('}')) {
            self.descriptors.push(name.to_owned());
        }
        let is_input = fd.as_deref().is_none_or(|fd| fd == "0");
        self.inside(target, scope);
        let is_process = matches!(target.pieces.as_slice(), [Piece::Process(_)]);
        let value = match operator {
            Operator::Document | Operator::Text => value::value(target, &scope.known()),
            _ => match value::values(target, &scope.known()).as_slice() {
                [one] => one.clone(),
                // bash refuses several.
                _ => value::Value::unknown(&target.raw),
            },
        };
        match operator {
            Operator::Document | Operator::Text => {
                let text = value.known().map(str::to_owned);
                return is_input.then_some(text.map_or(Input::Pipe, Input::Text));
            }
            _ if is_process => {}
            Operator::In => self.reads(&value, scope),
            Operator::Out | Operator::Both | Operator::OutAndErrors => self.writes(&value, scope),
            Operator::InLike => {}
            Operator::OutLike => {
                let is_descriptor = match value.known() {
                    Some(text) => {
                        let number = text.strip_suffix('-').unwrap_or(text);
                        number.chars().all(|digit| digit.is_ascii_digit())
                    }
                    None => {
                        matches!(target.pieces.as_slice(), [Piece::Variable { name, .. }] if self.descriptors.contains(name))
                    }
                };
                if !is_descriptor {
                    self.writes(&value, scope);
                }
            }
        }
        let feeds = matches!(operator, Operator::In | Operator::Both | Operator::InLike);
        let is_nothing = value.is("/dev/null");
        (feeds && is_input).then_some(if is_nothing { Input::Text(String::new()) } else { Input::Pipe })
    }
}
