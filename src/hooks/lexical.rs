//! Where does a path lead, as far as its text tells?

use std::path::{Component, Path, PathBuf};

/// A path without `.` and `..`, as far as its text tells.
pub(crate) fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}
