//! How are many places looked at fast, and none less carefully than one alone?
//!
//! The folder of the last place stays open. It was opened below its root without a link on the way, and one name in it leads
//! nowhere else, so what is opened lies where the kernel would have found it by the whole path; but it looks up one name
//! for each place and not all of them.

use std::{
    ffi::OsStr,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, FileType, OFlags, Stat, statat},
    io::Errno,
};

use super::{OpenedPath, PathMetadata, Workspace, WorkspacePath, special};

/// Looks at places one after the other, best in the order of their paths.
pub struct PlaceScanner<'a> {
    workspace: &'a Workspace,
    folder: Option<OpenFolder>,
}

struct OpenFolder {
    root: usize,
    relative: PathBuf,
    handle: OwnedFd,
}

impl Workspace {
    /// For a walk through many places.
    pub fn neighbours(&self) -> PlaceScanner<'_> {
        PlaceScanner { workspace: self, folder: None }
    }
}

impl PlaceScanner<'_> {
    /// As [`Workspace::open_quietly`].
    pub fn open(&mut self, place: &WorkspacePath) -> Result<OpenedPath, Errno> {
        let opener = self.workspace.opener;
        // Opening a FIFO or a device can wait or act, so it is looked at first.
        let (folder, name, stat) = match self.look_at(place)? {
            Some(seen) => seen,
            None => return self.workspace.open_quietly(place),
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => return self.workspace.open_folder(place).map(OpenedPath::Folder),
            other => return Ok(OpenedPath::Special(special(other))),
        }
        OpenedPath::of(opener.open(folder, Path::new(name), OFlags::RDONLY | OFlags::NONBLOCK)?)
    }

    /// As [`Workspace::facts`].
    pub fn facts(&mut self, place: &WorkspacePath) -> Result<PathMetadata, Errno> {
        match self.look_at(place)? {
            Some((_, _, stat)) => Ok(PathMetadata::of(&stat)),
            None => self.workspace.facts(place),
        }
    }

    /// The folder of a place, its name there and what it is; `None` for a root, which lies in no folder.
    fn look_at<'p>(
        &mut self,
        place: &'p WorkspacePath,
    ) -> Result<Option<(&OwnedFd, &'p OsStr, Stat)>, Errno> {
        let (Some(parent), Some(name)) = (place.relative.parent(), place.relative.file_name()) else {
            return Ok(None);
        };
        let is_open = self.folder.as_ref().is_some_and(|it| it.root == place.root && it.relative == parent);
        if !is_open {
            let folder = WorkspacePath { root: place.root, relative: parent.to_owned() };
            let handle = self.workspace.open_raw(&folder, OFlags::PATH | OFlags::DIRECTORY)?;
            self.folder = Some(OpenFolder { root: folder.root, relative: folder.relative, handle });
        }
        // It was opened just now where it was not.
        let Some(folder) = &self.folder else { return Ok(None) };
        let stat = statat(&folder.handle, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if self.workspace.closed.holds(&stat) {
            return Err(Errno::ACCESS);
        }
        match FileType::from_raw_mode(stat.st_mode) {
            // Places have no links, so it is a race.
            FileType::Symlink => Err(Errno::LOOP),
            _ => Ok(Some((&folder.handle, name, stat))),
        }
    }
}
