//! Which files in the folder of an agent's product are only data, that its hooks keep there: logs, caches, states?
//!
//! The product runs or obeys none of them: they lie in a folder of its own for them, or are logs by their ends, and none can be run.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::{self, DirEntry},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::{AutorunFileState, MOST_ENTRIES, PlaceState, WatchedPlaces};
use shell::AUTOMATIC;

/// Folders for data, right below the product's own, by the end of their names.
const FOLDERS: &[&str] = &[
    "log",
    "logs",
    "cache",
    "caches",
    "state",
    "states",
    "tmp",
    "temp",
    "data",
    "sessions",
    "session-context",
    "history",
    "metrics",
    "telemetry",
    "audit",
    "backups",
    "reports",
];

/// Ends of names of files with data, wherever they lie below the product's folder.
const ENDS_OF_LOGS: &[&str] = &["log", "jsonl", "ndjson", "lock", "pid", "tmp", "csv", "tsv"];

/// Further ones, which count in a folder for data.
const ENDS_OF_DATA: &[&str] = &["json", "txt", "out", "md", "db", "sqlite", "sqlite3", "html"];

/// Folders within folders that are looked at.
const DEEPEST: usize = 8;

/// Bits of a mode by which a file is run.
const RUN: u32 = 0o111;

impl WatchedPlaces {
    /// True if all that lies there is such data, and the command may keep it there. Blocks.
    pub(super) fn is_kept_data(&self, path: &Path) -> bool {
        if !self.told.keeps_data {
            return false;
        }
        let Some(below) = self.roots.iter().find_map(|root| path.strip_prefix(root).ok()) else {
            return false;
        };
        let Some(product) = below.iter().next().filter(|name| is_of_product(name)) else { return false };
        let rest: Vec<&OsStr> =
            below.strip_prefix(product).map(|rest| rest.iter().collect()).unwrap_or_default();
        holds_only_data(path, &rest, &mut { MOST_ENTRIES })
    }
}

impl WatchedPlaces {
    /// The files of a place but those in its folders for data and its logs, as far as they are looked at. Blocks.
    pub(super) fn beside_data(&self, place: &Path) -> BTreeMap<PathBuf, AutorunFileState> {
        let entries = fs::read_dir(place).into_iter().flatten().flatten().take(MOST_ENTRIES);
        let beside = entries.filter(|entry| {
            let name = entry.file_name();
            !is_for_data(&name) && !is_data(&[name.as_os_str()])
        });
        beside.flat_map(|entry| PlaceState::of(&entry.path(), &mut 0).files).collect()
    }
}

/// True of a folder at the top of a workspace in which an agent's product keeps its settings.
fn is_of_product(name: &OsStr) -> bool {
    AUTOMATIC.iter().any(|row| row.is_of_product() && name == row.path)
}

/// `names`: those between the product's folder and the path.
fn holds_only_data(path: &Path, names: &[&OsStr], left: &mut usize) -> bool {
    let Ok(found) = fs::symlink_metadata(path) else { return false };
    if !found.is_dir() {
        return found.is_file() && found.mode() & RUN == 0 && found.nlink() == 1 && is_data(names);
    }
    if DEEPEST < names.len() {
        return false;
    }
    let Ok(entries) = fs::read_dir(path) else { return false };
    entries.into_iter().all(|entry| {
        let Some(rest) = left.checked_sub(1) else { return false };
        *left = rest;
        entry.is_ok_and(|entry: DirEntry| {
            let name = entry.file_name();
            let names: Vec<&OsStr> = names.iter().copied().chain([name.as_os_str()]).collect();
            holds_only_data(&entry.path(), &names, left)
        })
    })
}

fn is_data(names: &[&OsStr]) -> bool {
    let Some((name, around)) = names.split_last() else { return false };
    let end = Path::new(name).extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
    let has_end = |ends: &[&str]| end.as_deref().is_some_and(|end| ends.contains(&end));
    let is_in_folder = around.first().is_some_and(|folder| is_for_data(folder));
    has_end(ENDS_OF_LOGS) || is_in_folder && (end.is_none() || has_end(ENDS_OF_DATA))
}

/// `logs`, `.state`, `tsc-cache`
fn is_for_data(folder: &OsStr) -> bool {
    let name = folder.to_string_lossy().to_ascii_lowercase();
    let is_end = |end: &&str| {
        let before = name.strip_suffix(*end);
        before.is_some_and(|before| before.is_empty() || before.ends_with(['-', '_', '.']))
    };
    FOLDERS.iter().any(is_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_and_states_are_data_and_what_a_product_reads_is_none() {
        let is = |text: &str| is_data(&Path::new(text).iter().collect::<Vec<_>>());
        for data in [
            "hook.log",
            "logs/a.json",
            "logs/2026/a.txt",
            ".state/last",
            "tsc-cache/1/edited-files.log",
            "audit.jsonl",
            "hooks/guard.log",
            "state/x.sqlite3",
        ] {
            assert!(is(data), "{data}");
        }
        for none in [
            "settings.json",
            "settings.local.json",
            "hooks/x.sh",
            "hooks/state/x.json",
            "agents/a.md",
            "CLAUDE.md",
            "logs/run.sh",
            "logs/x.py",
            "skills/a/data/x.md",
            "catalogs/x.json",
            "rules/a.txt",
            "x",
            "plugins/cache/x.json",
        ] {
            assert!(!is(none), "{none}");
        }
    }
}
