//! A path as its text tells it, without a look at the disk.

use std::path::{Component, Path, PathBuf};

/// A path without `.` and `..`. What a link on the way would make of `..` is not looked at, and nothing of it need exist.
pub fn lexical(path: &Path) -> PathBuf {
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
