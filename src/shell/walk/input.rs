//! What does a command read, and which files do its redirections touch?

use crate::{
    scope::{CommandInput, CommandScope, ScriptWalk},
    syntax::{RedirectOperator, ShellRedirect, ShellWord, WordPiece},
    value::{self, WordValue},
};

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
            self.descriptors.insert(name.to_owned());
            self.renamed_in_passing(name, scope);
        }
        let is_input = fd.as_deref().is_none_or(|fd| fd == "0");
        self.inside(target, scope);
        if !matches!(operator, RedirectOperator::Document | RedirectOperator::Text) {
            self.is_read_alike(target, scope);
        }
        let is_process = matches!(target.pieces.as_slice(), [WordPiece::Process(_)]);
        let value = match operator {
            RedirectOperator::Document | RedirectOperator::Text => value::value(target, &scope.known()),
            _ => match value::values(target, &scope.known()).as_slice() {
                [one] => one.clone(),
                // bash refuses several.
                _ => WordValue::unknown(&target.raw),
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
                if !self.is_descriptor(target, &value) {
                    if !value.known().is_some_and(is_expanded_to_itself) {
                        let word = &target.raw;
                        self.draft
                            .unknown(format!("bash expands the word of `>&{word}` once more, and runs it"));
                    }
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
    /// True if the word of `>&` is the number of an open file.
    fn is_descriptor(&mut self, target: &ShellWord, value: &WordValue) -> bool {
        match (value.known(), target.pieces.as_slice()) {
            (Some(text), _) => {
                let number = text.strip_suffix('-').unwrap_or(text);
                number.chars().all(|digit| digit.is_ascii_digit())
            }
            (None, [WordPiece::Variable { name, .. }]) if self.descriptors.contains(name) => {
                self.numbers.descriptor(name);
                true
            }
            (None, _) => false,
        }
    }
}

/// True if these letters stay what they are when they are expanded, each one of a usual file name.
fn is_expanded_to_itself(text: &str) -> bool {
    text.chars().all(|letter| letter.is_alphanumeric() || "_./-+,:=@%".contains(letter))
}
