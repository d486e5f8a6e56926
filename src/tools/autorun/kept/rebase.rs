//! Does git run something by a file with which it goes on?

use std::{collections::HashSet, fs, path::Path};

use super::super::{
    further::REBASE_TODO,
    states::{AutorunFileState, LONGEST},
};
use sys::regular_file;

/// True if it is a link, or lies in a folder of git's that is one.
pub(super) fn is_link(path: &Path) -> bool {
    let is_one = |path: &Path| fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink());
    is_one(path) || path.parent().is_some_and(is_one)
}

/// True if the list of a rebase has lines that run something and were not there before; also where that cannot be told.
pub(super) fn runs_more(path: &Path, before: Option<&AutorunFileState>) -> bool {
    if is_link(path) {
        return true;
    }
    let Some(now) = regular_file::read_bounded(path, LONGEST).ok().flatten() else { return true };
    let before: &[u8] = match before {
        Some(AutorunFileState::File { bytes: Some(bytes), .. }) => bytes,
        Some(_) => return true,
        None => &[],
    };
    let (now, before) = (String::from_utf8_lossy(&now), String::from_utf8_lossy(before));
    // The strategies that git has of its own have no `/` in their names, and others are looked for where git's own programs are.
    let is_run = |line: &&str| match path.ends_with(REBASE_TODO) {
        true => matches!(line.split_whitespace().next(), Some("exec" | "x")),
        false => line.contains('/'),
    };
    let known: HashSet<&str> = before.lines().map(str::trim).collect();
    now.lines().map(str::trim).filter(is_run).any(|line| !known.contains(line))
}
