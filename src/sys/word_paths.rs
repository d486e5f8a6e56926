//! Which paths may a word of a command mean?

use std::path::{Path, PathBuf};

use crate::lexical::lexical;

/// Letters that stand between the names of files in a word.
const BETWEEN: &str = "=:,;|&()<>'\"`{}[]#?@";

/// A word, and the parts of it that may be names of files.
pub fn pieces(word: &str) -> impl Iterator<Item = &str> {
    let parts = word.split(|letter: char| letter.is_whitespace() || BETWEEN.contains(letter));
    // `-I~/x`
    let attached = parts.clone().filter_map(|part| {
        let at = part.find(['/', '~', '$']).filter(|_| part.starts_with('-'))?;
        Some(&part[at..])
    });
    // A folder's name may have blanks.
    std::iter::once(word).chain(parts).chain(attached)
}

/// The absolute path that a piece names, if it is one.
pub fn absolute(piece: &str, home: Option<&Path>) -> Option<PathBuf> {
    let below = ["~", "$HOME"].iter().find_map(|it| piece.strip_prefix(it));
    let path = match (below.filter(|rest| rest.is_empty() || rest.starts_with('/')), home) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(piece),
    };
    path.is_absolute().then(|| lexical(&path))
}
