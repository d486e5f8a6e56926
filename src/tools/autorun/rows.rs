//! The places in a folder that rows of the table keep from commands.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use super::{MOST_NAMES, candidates};
use shell::{AUTOMATIC, AutorunPath};
use sys::guarded::listed;

/// Files of hooks lie in this folder, and what their runner makes anew in folders below it.
const HUSKY: &str = ".husky";
/// A folder in which jj keeps everything; a file in its place leads to another one.
const JJ_REPOSITORY: &str = ".jj/repo";

/// Paths that are there of the rows that no build writes, with who runs them.
pub(super) fn kept_in(root: &Path) -> Vec<(PathBuf, &'static str)> {
    let entries = listed(root).into_iter().flatten().flatten().take(MOST_NAMES);
    let names: HashSet<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let mut places: Vec<(PathBuf, &'static str)> = Vec::new();
    for row in AUTOMATIC.iter().filter(|row| row.is_kept) {
        let first = row.path.split('/').next().unwrap_or(row.path);
        let found: Vec<PathBuf> = match (first.contains('*'), first == row.path) {
            // Perf: the folder is listed once for all rows.
            (true, _) => names.iter().filter(|name| row.ends_in(name)).map(|name| root.join(name)).collect(),
            // Looked up by its name: whoever fills the folder hides nothing.
            (false, true) => vec![root.join(first)],
            (false, false) => below(root, row),
        };
        places.extend(found.into_iter().map(|path| (path, row.why)));
    }
    let is_there = |path: &PathBuf| fs::symlink_metadata(path).is_ok();
    places.retain(|(path, _)| is_there(path));
    places
}

fn below(root: &Path, row: &AutorunPath) -> Vec<PathBuf> {
    let mut found = candidates(root, row);
    let is_there = |path: &PathBuf| fs::symlink_metadata(path).is_ok();
    let is_kept = |path: &PathBuf| {
        let is_of_files =
            path.parent().is_some_and(|folder| folder.ends_with(HUSKY)) || path.ends_with(JJ_REPOSITORY);
        !is_of_files || fs::symlink_metadata(path).is_ok_and(|it| !it.is_dir())
    };
    found.retain(|path| is_there(path) && is_kept(path));
    found
}
