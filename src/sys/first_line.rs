//! The first line of a script, by which the kernel finds what runs it (execve(2)).

use std::{io::Read as _, path::Path};

use crate::regular_file;

/// Everything behind the `#!` of a script's first line, as far as the kernel looks at it. `None` = there is none, or nobody can read it.
pub fn whole_first_line(path: &Path) -> Option<String> {
    let mut beginning = Vec::new();
    // As much as the kernel looks at.
    regular_file::open(path).and_then(|file| file.take(256).read_to_end(&mut beginning)).ok()?;
    let text = String::from_utf8_lossy(&beginning);
    Some(text.strip_prefix("#!")?.lines().next().unwrap_or_default().to_owned())
}
