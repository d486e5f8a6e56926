//! Is a place still behind the mount that kept it from a command?
//!
//! Whoever removes a file takes all mounts over it away, also those in what a command sees that goes on. git does so when it brings another
//! commit. What such a command writes there afterwards is held against what git has.

use std::{
    collections::HashSet,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::atomic::Ordering,
    time::SystemTime,
};

use super::{DoneAtEnd, PlaceState, WatchedPlaces};
use crate::repositories::{BroughtObjects, ObjectTimes, brought_by_git};

/// The file or folder over which something is mounted: another one has none.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MountPoint {
    device: u64,
    inode: u64,
    /// Numbers of files that are gone are given again.
    created: Option<SystemTime>,
}

impl MountPoint {
    pub fn at(path: &Path) -> Option<MountPoint> {
        let found = fs::symlink_metadata(path).ok()?;
        Some(MountPoint { device: found.dev(), inode: found.ino(), created: found.created().ok() })
    }
}

impl WatchedPlaces {
    /// Puts aside what lies at a place whose mount git took away, but for what git has there. `before`: the one that was mounted over. Where no git
    /// went on beside it, a person did it, and that stays.
    pub(super) fn look_behind_mount(
        &self,
        (path, why): (&Path, &'static str),
        before: Option<&MountPoint>,
        done: &mut DoneAtEnd,
    ) {
        if !self.has_git_beside.load(Ordering::Acquire)
            || before.is_none_or(|before| MountPoint::at(path).as_ref() == Some(before))
        {
            return;
        }
        let now: Vec<PathBuf> = PlaceState::of(path, &mut 0).files.into_keys().collect();
        let times = ObjectTimes::older_than(self.since());
        let brought = brought_by_git(&self.roots, &now, BroughtObjects::of_index(&times));
        let brought: HashSet<PathBuf> = brought.into_iter().map(|(file, _)| file).collect();
        now.iter()
            .filter(|file| !brought.contains(*file))
            .for_each(|file| self.put_aside(file, why, None, done));
    }
}
