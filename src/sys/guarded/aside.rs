//! Which secrets lie beside their own names, since something of theirs was put aside there?

use std::{
    collections::{BTreeMap, HashMap},
    ffi::OsString,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use crate::clock;

/// It stands in a name under which something was put aside that other programs would run, or read, by themselves.
pub const ASIDE: &str = ".not-run-";
/// Entries of a folder that are looked at.
const MOST_ENTRIES: usize = 20_000;
/// A folder may change again within so many seconds and have the same time.
const UNSURE_FOR: i64 = 2;

/// The names of some secrets, by their folders.
#[derive(Debug, Default)]
pub(super) struct AsideNames {
    folders: BTreeMap<PathBuf, Vec<OsString>>,
    /// Paths that were found in a folder that had this number, and this time of its last change.
    seen: Mutex<HashMap<PathBuf, (FolderStamp, Vec<PathBuf>)>>,
}

type FolderStamp = (u64, u64, i64, i64);

impl AsideNames {
    pub fn of<'a>(secrets: impl Iterator<Item = &'a Path>) -> AsideNames {
        let mut folders: BTreeMap<PathBuf, Vec<OsString>> = BTreeMap::new();
        for (folder, name) in secrets.filter_map(|path| Some((path.parent()?, path.file_name()?))) {
            folders.entry(folder.to_owned()).or_default().push(name.to_owned());
        }
        AsideNames { folders, seen: Mutex::default() }
    }

    /// The paths of all that are there. Blocks for one look at each folder that is as it was, and for one that is not reads its names.
    pub fn look(&self) -> Vec<PathBuf> {
        let (now, _) = clock::file_time();
        // Nothing panics while it is locked.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = Vec::new();
        for (folder, names) in &self.folders {
            let Ok(at) = fs::metadata(folder) else { continue };
            let stamp = (at.dev(), at.ino(), at.mtime(), at.mtime_nsec());
            if let Some((_, paths)) = seen.get(folder).filter(|(then, _)| *then == stamp) {
                found.extend(paths.iter().cloned());
                continue;
            }
            let paths = aside_in(folder, names);
            found.extend(paths.iter().cloned());
            if at.mtime() < now - UNSURE_FOR {
                seen.insert(folder.clone(), (stamp, paths));
            }
        }
        found
    }
}

fn aside_in(folder: &Path, names: &[OsString]) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_ENTRIES);
    let is_aside = |entry: &fs::DirEntry| {
        let entry = entry.file_name();
        let behind = |name: &OsString| entry.as_bytes().strip_prefix(name.as_bytes());
        names.iter().filter_map(behind).any(|behind| behind.starts_with(ASIDE.as_bytes()))
    };
    entries.filter(is_aside).map(|entry| entry.path()).collect()
}
