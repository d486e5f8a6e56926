//! What runs while a word is expanded? Substitutions, and names in what is computed.

use super::{CommandScope, ScriptWalk};
use crate::syntax::{ShellWord, WordPiece};

/// Operators of `[[` that compute both sides as numbers.
const NUMERIC: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

impl ScriptWalk<'_> {
    /// All that runs inside of a word.
    pub(super) fn inside(&mut self, word: &ShellWord, scope: &CommandScope) {
        self.pieces(&word.pieces, scope);
    }

    pub(super) fn pieces(&mut self, pieces: &[WordPiece], scope: &CommandScope) {
        for piece in pieces {
            match piece {
                WordPiece::Plain(_) | WordPiece::Quoted(_) | WordPiece::Variable { .. } => {}
                WordPiece::Expansion { name, parts, used, sets, .. } => {
                    self.computed(used, scope);
                    self.pieces(parts, scope);
                    if *sets {
                        self.numbers.assigned(name, None);
                        self.renamed_in_passing(name, scope);
                    }
                }
                WordPiece::Substitution { script, .. } | WordPiece::Process(script) => {
                    self.script(script, &mut scope.clone());
                }
                WordPiece::Arithmetic(computed) => self.computed(computed, scope),
                WordPiece::Document(text) => match text.get() {
                    Some(pieces) => self.pieces(pieces, scope),
                    None => self.draft.unknown("a here-document has no text"),
                },
            }
        }
    }

    /// `[[ … ]]`
    pub(super) fn test(&mut self, words: &[ShellWord], scope: &CommandScope) {
        for word in words {
            self.inside(word, scope);
        }
        for (at, word) in words.iter().enumerate() {
            let Some(operator) = word.plain() else { continue };
            if NUMERIC.contains(&operator) {
                let sides = [at.checked_sub(1), Some(at + 1)];
                sides
                    .into_iter()
                    .flatten()
                    .filter_map(|at| words.get(at))
                    .for_each(|side| self.numbers.word(side));
            }
            // A variable's name may have a computed index.
            if operator == "-v" || operator == "-R" {
                let side =
                    words.get(at + 1).filter(|side| side.plain().is_none_or(|name| name.contains('[')));
                side.into_iter().for_each(|side| self.numbers.word(side));
            }
        }
    }
}
