//! What lies in a workspace and is none of its business: the daemon's state, and people's keys.
//!
//! It is known by its paths and, should it have been moved, by what it is: whoever opens something in a workspace that holds
//! any of it looks at each folder above.

use std::{
    collections::HashSet,
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Mode, OFlags, Stat, fstat, openat},
    io::Errno,
};

use super::Workspace;
use crate::sys::guarded::{GuardedPlaces, Id};

/// Folders above a file at most: Linux's `PATH_MAX` in names of one letter.
const MOST_ABOVE: usize = 2_048;

/// What no tool reads or changes.
#[derive(Debug, Default)]
pub(super) struct Closed {
    paths: Vec<PathBuf>,
    /// Empty where the roots hold none of it.
    ids: HashSet<Id>,
}

impl Workspace {
    /// Without these places: no tool reads or changes them, wherever the roots are. Blocks for a moment.
    #[must_use]
    pub fn closed_to(mut self, places: &GuardedPlaces) -> Workspace {
        let look = places.look();
        let concerns = |path: &PathBuf| {
            self.roots.iter().any(|root| path.starts_with(&root.path) || root.path.starts_with(path))
        };
        let paths: Vec<PathBuf> = look.present.into_iter().chain(look.missing).filter(concerns).collect();
        let ids = if paths.is_empty() { HashSet::new() } else { look.ids };
        self.closed = Closed { paths, ids };
        self
    }

    /// Whether an absolute path without links is closed to tools.
    pub fn is_closed(&self, path: &Path) -> bool {
        self.closed.paths.iter().any(|closed| path.starts_with(closed))
    }
}

impl Closed {
    /// Whether there is anything to look for.
    pub fn is_any(&self) -> bool {
        !self.ids.is_empty()
    }

    /// Whether it is closed itself.
    pub fn holds(&self, stat: &Stat) -> bool {
        self.ids.contains(&Id::of_stat(stat))
    }

    /// Refuses what is closed itself.
    pub fn check(&self, opened: impl AsFd) -> Result<(), Errno> {
        if self.is_any() && self.holds(&fstat(opened)?) { Err(Errno::ACCESS) } else { Ok(()) }
    }

    /// Refuses a folder that is closed or lies in what is.
    pub fn check_with_all_above(&self, folder: &OwnedFd) -> Result<(), Errno> {
        let mut id = Id::of_stat(&fstat(folder)?);
        let mut above: Option<OwnedFd> = None;
        for _ in 0..MOST_ABOVE {
            if self.ids.contains(&id) {
                return Err(Errno::ACCESS);
            }
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let next = openat(above.as_ref().unwrap_or(folder), "..", flags, Mode::empty())?;
            let next_id = Id::of_stat(&fstat(&next)?);
            // The root of all is above itself.
            if next_id == id {
                return Ok(());
            }
            (id, above) = (next_id, Some(next));
        }
        Err(Errno::NAMETOOLONG)
    }
}
