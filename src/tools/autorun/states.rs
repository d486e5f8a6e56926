//! What lies at a place that other programs run by themselves, so that it can be compared later and written again?

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{MetadataExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::{MOST_ENTRIES, MOST_NAMES};
use sys::{guarded::listed, regular_file};

/// Entries of one such folder that are noted.
const MOST_NOTED: usize = 10_000;
/// Deepest folder of one that is noted.
const DEEPEST: usize = 6;
/// Bytes of a file that are noted, to be written again.
pub(super) const LONGEST: u64 = 256 << 10;

/// Everything that there is at one place.
#[derive(Debug, Clone, Default)]
pub(super) struct PlaceState {
    pub files: BTreeMap<PathBuf, AutorunFileState>,
    /// There was more than is noted, and nobody knows what.
    pub is_cut: bool,
    /// There were files deeper than any that are noted.
    pub is_deep: bool,
}

/// Device, inode, size and the time of the last change, which nobody sets.
pub(super) type AutorunFileStamp = (u64, u64, u64, i64, i64);

/// One entry that is no folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AutorunFileState {
    Link(PathBuf),
    File { stamp: AutorunFileStamp, mode: u32, bytes: Option<Vec<u8>> },
}

impl PlaceState {
    /// No link is followed. `bytes_left`: of which the bytes of files are noted.
    pub fn of(path: &Path, bytes_left: &mut u64) -> PlaceState {
        let mut state = PlaceState::default();
        let mut pending = vec![(path.to_owned(), 0)];
        while let Some((path, depth)) = pending.pop() {
            let found = match fs::symlink_metadata(&path) {
                Ok(found) => found,
                Err(error) => {
                    // In a folder that nobody may enter there may be anything.
                    state.is_cut |= error.kind() != std::io::ErrorKind::NotFound;
                    continue;
                }
            };
            if found.is_dir() {
                if DEEPEST <= depth {
                    state.is_deep |= holds_any(&path, 0, &mut { MOST_ENTRIES });
                    continue;
                }
                let Ok(entries) = listed(&path) else {
                    state.is_cut = true;
                    continue;
                };
                for entry in entries.flatten().take(MOST_NAMES) {
                    pending.push((entry.path(), depth + 1));
                }
                continue;
            }
            if MOST_NOTED <= state.files.len() {
                state.is_cut = true;
                break;
            }
            let noted = match found.is_symlink() {
                true => fs::read_link(&path).ok().map(AutorunFileState::Link),
                false => Some(AutorunFileState::file(&path, &found, bytes_left)),
            };
            state.files.extend(noted.map(|noted| (path, noted)));
        }
        state
    }
}

/// The time of the last change, which nobody sets.
pub(super) fn changed_at(found: &fs::Metadata) -> SystemTime {
    let seconds = u64::try_from(found.ctime()).unwrap_or_default();
    let nanoseconds = u64::try_from(found.ctime_nsec()).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_nanos(nanoseconds)
}

/// False of a folder in which there is nothing but folders. One with more folders than there is `room` for counts as one with files.
pub(super) fn holds_any(path: &Path, depth: usize, room: &mut usize) -> bool {
    if !fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) || DEEPEST <= depth || *room == 0 {
        return true;
    }
    *room -= 1;
    let Ok(mut entries) = fs::read_dir(path) else { return true };
    entries.any(|entry| match entry {
        Ok(entry) => holds_any(&entry.path(), depth + 1, room),
        Err(_) => true,
    })
}

impl PlaceState {
    /// The part of it at a path in it; `None` = nothing was there.
    pub fn below(&self, path: &Path) -> Option<PlaceState> {
        let files = self.files.iter().filter(|(file, _)| file.starts_with(path));
        let files: BTreeMap<_, _> = files.map(|(file, state)| (file.clone(), state.clone())).collect();
        (!files.is_empty() || self.is_cut).then_some(PlaceState { files, ..*self })
    }

    /// Takes what is at a path in it, or around it, for what was there.
    pub fn take_anew(&mut self, path: &Path) {
        // Perf: git may bring thousands, one after the other. What lies in a folder stands behind it.
        let within = self.files.range(path.to_path_buf()..).take_while(|(file, _)| file.starts_with(path));
        let within: Vec<PathBuf> = within.map(|(file, _)| file.clone()).collect();
        within.iter().for_each(|file| drop(self.files.remove(file)));
        let mut bytes_left = LONGEST;
        self.files.extend(PlaceState::of(path, &mut bytes_left).files);
    }
}

impl AutorunFileState {
    pub fn file(path: &Path, found: &fs::Metadata, bytes_left: &mut u64) -> AutorunFileState {
        let stamp = (found.dev(), found.ino(), found.size(), found.ctime(), found.ctime_nsec());
        let longest = LONGEST.min(*bytes_left);
        let is_read = found.is_file() && 0 < longest && found.size() <= longest;
        let bytes = is_read.then(|| regular_file::read_bounded(path, longest).ok().flatten()).flatten();
        *bytes_left -= bytes.as_ref().map_or(0, |bytes| bytes.len() as u64).min(*bytes_left);
        AutorunFileState::File { stamp, mode: found.permissions().mode() & 0o7777, bytes }
    }

    /// True if the file is what it was, also where it was written anew.
    pub fn is_same(&self, now: &AutorunFileState, path: &Path) -> bool {
        match (self, now) {
            (AutorunFileState::Link(before), AutorunFileState::Link(now)) => before == now,
            (
                AutorunFileState::File { stamp, bytes, mode },
                AutorunFileState::File { stamp: stamp_now, mode: mode_now, .. },
            ) => {
                let is_as_it_was = || {
                    let now = regular_file::read_bounded(path, LONGEST).ok().flatten();
                    mode == mode_now && bytes.is_some() && *bytes == now
                };
                stamp == stamp_now || is_as_it_was()
            }
            _ => false,
        }
    }

    /// `None` of a link.
    pub fn stamp(&self) -> Option<AutorunFileStamp> {
        match self {
            AutorunFileState::Link(_) => None,
            AutorunFileState::File { stamp, .. } => Some(*stamp),
        }
    }

    /// True if it is the state of this very file, whatever is in that by now.
    pub fn is_of(&self, found: &fs::Metadata) -> bool {
        match self {
            AutorunFileState::Link(_) => false,
            AutorunFileState::File { stamp: (device, inode, ..), .. } => {
                (*device, *inode) == (found.dev(), found.ino())
            }
        }
    }

    /// The bytes of a file, as far as they are noted, and where a link leads.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            AutorunFileState::Link(to) => Some(to.as_os_str().as_bytes()),
            AutorunFileState::File { bytes, .. } => bytes.as_deref(),
        }
    }

    /// True if both are the same link, or files of the same bytes and mode, as far as these are noted.
    pub fn has_bytes_of(&self, other: &AutorunFileState) -> bool {
        match (self, other) {
            (AutorunFileState::Link(one), AutorunFileState::Link(other)) => one == other,
            (
                AutorunFileState::File { bytes: Some(one), mode, .. },
                AutorunFileState::File { bytes: Some(other), mode: other_mode, .. },
            ) => one == other && mode == other_mode,
            _ => false,
        }
    }
}
