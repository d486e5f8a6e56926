//! Which files that a mount keeps have another name, by which a command may write them all the same?
//!
//! A mount keeps a name. Backups and stores make second names of files (hard links), and a command that finds one in the workspace writes to
//! it what the kept name shows from then on.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::super::states::AutorunFileState;
use crate::digest;
use sys::guarded::listed;

/// Entries that are looked at for one command. Places that mounts keep have some ten.
const MOST_ENTRIES: usize = 4_000;

/// Finds files with more than one name in these places, with their bytes as far as there are `bytes_left`. No link is followed. Blocks for a
/// look at each entry.
pub(super) fn files_with_more_names(
    places: impl IntoIterator<Item = PathBuf>,
    bytes_left: &mut u64,
) -> BTreeMap<PathBuf, AutorunFileState> {
    let mut found = BTreeMap::new();
    let mut entries = 0;
    let mut pending: Vec<PathBuf> = places.into_iter().collect();
    pending.reverse();
    while let Some(path) = pending.pop() {
        entries += 1;
        if MOST_ENTRIES < entries {
            break;
        }
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        if metadata.is_dir() {
            pending
                .extend(listed(&path).into_iter().flatten().flatten().map(|it| it.path()).take(MOST_ENTRIES));
        } else if metadata.is_file() && 1 < metadata.nlink() {
            let state = AutorunFileState::file(&path, &metadata, bytes_left);
            // What cannot be written again is left as it is.
            found.extend(state.bytes().is_some().then_some((path, state)));
        }
    }
    found
}

/// True if the very file that was noted has other bytes, or another mode, by now. One that was put in its place is no doing of another name's.
pub(super) fn was_changed(file: &Path, before: &AutorunFileState) -> bool {
    let Ok(metadata) = fs::symlink_metadata(file) else { return false };
    before.is_of(&metadata) && !before.is_same(&AutorunFileState::file(file, &metadata, &mut 0), file)
}

/// Has what is at a path, or below it, by now count as there before. `written`: the digest of what was written, so that nothing else counts.
pub(super) fn take_anew(noted: &mut BTreeMap<PathBuf, AutorunFileState>, path: &Path, written: Option<&str>) {
    let named = noted.range_mut(path.to_path_buf()..).take_while(|(file, _)| file.starts_with(path));
    for (file, before) in named {
        let mut bytes_left = u64::MAX;
        let now = fs::symlink_metadata(file).ok().filter(fs::Metadata::is_file);
        let Some(now) = now.map(|now| AutorunFileState::file(file, &now, &mut bytes_left)) else { continue };
        if written.is_none_or(|written| now.bytes().is_some_and(|bytes| digest::of(bytes) == written)) {
            *before = now;
        }
    }
}
