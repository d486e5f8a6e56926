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
use sys::guarded::{FileIdentity, GuardedPlacesView};

/// Folders above a file at most: Linux's `PATH_MAX` in names of one letter.
const MOST_ABOVE: usize = 2_048;

/// What no tool reads or changes.
#[derive(Debug, Default)]
pub(super) struct WorkspaceHiddenPlaces {
    paths: Vec<PathBuf>,
    /// Empty where the roots hold none of it.
    ids: HashSet<FileIdentity>,
}

impl Workspace {
    /// Without these places: no tool reads or changes them, wherever the roots are.
    #[must_use]
    pub fn closed_to(mut self, look: GuardedPlacesView) -> Workspace {
        let concerns = |path: &PathBuf| {
            self.roots.iter().any(|root| path.starts_with(&root.path) || root.path.starts_with(path))
        };
        let paths: Vec<PathBuf> = look.present.into_iter().chain(look.missing).filter(concerns).collect();
        let ids = if paths.is_empty() { HashSet::new() } else { look.ids };
        self.closed = WorkspaceHiddenPlaces { paths, ids };
        self
    }

    /// Whether an absolute path without links is closed to tools.
    pub fn is_closed(&self, path: &Path) -> bool {
        self.closed.paths.iter().any(|closed| path.starts_with(closed))
    }
}

impl WorkspaceHiddenPlaces {
    /// Whether there is anything to look for.
    pub fn is_any(&self) -> bool {
        !self.ids.is_empty()
    }

    /// Whether it is closed itself.
    pub fn holds(&self, stat: &Stat) -> bool {
        self.ids.contains(&FileIdentity::of_stat(stat))
    }

    /// Refuses what is closed itself.
    pub fn check(&self, opened: impl AsFd) -> Result<(), Errno> {
        if self.is_any() && self.holds(&fstat(opened)?) { Err(Errno::ACCESS) } else { Ok(()) }
    }

    /// Refuses a folder that is closed or lies in what is.
    pub fn check_with_all_above(&self, folder: &OwnedFd) -> Result<(), Errno> {
        let mut id = FileIdentity::of_stat(&fstat(folder)?);
        let mut above: Option<OwnedFd> = None;
        for _ in 0..MOST_ABOVE {
            if self.ids.contains(&id) {
                return Err(Errno::ACCESS);
            }
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let next = openat(above.as_ref().unwrap_or(folder), "..", flags, Mode::empty())?;
            let next_id = FileIdentity::of_stat(&fstat(&next)?);
            // The root of all is above itself.
            if next_id == id {
                return Ok(());
            }
            (id, above) = (next_id, Some(next));
        }
        Err(Errno::NAMETOOLONG)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;
    use crate::{OwnFiles, workspace::WriteRequest};
    use protocol::{Risk, ToolErrorType};
    use sys::guarded::{GuardKind, GuardedPlaces};

    struct Home {
        _folder: tempfile::TempDir,
        at: PathBuf,
        places: GuardedPlaces,
    }

    impl Home {
        fn new() -> Home {
            let folder = tempfile::tempdir().unwrap();
            let at = folder.path().canonicalize().unwrap();
            for name in [".local/state/own", ".keys", "work"] {
                fs::create_dir_all(at.join(name)).unwrap();
                fs::write(at.join(name).join("token"), "secret").unwrap();
            }
            let names = [(".local/state/own", GuardKind::Always), (".keys", GuardKind::Present)];
            let places = GuardedPlaces::new(names.map(|(name, guard)| (at.join(name), guard)));
            Home { _folder: folder, at, places }
        }

        fn workspace(&self) -> Workspace {
            Workspace::open(std::slice::from_ref(&self.at)).unwrap().closed_to(self.places.look())
        }
    }

    /// What a tool gets that reads a path, or writes to it.
    fn both(workspace: &Workspace, path: &str) -> [Option<ToolErrorType>; 2] {
        let place = match workspace.resolve(path) {
            Ok(place) => place,
            Err(error) => return [Some(error.kind), Some(error.kind)],
        };
        let wish = WriteRequest { bytes: b"mine", over: None, attributes: None };
        let stop = tokio_util::sync::CancellationToken::new();
        let beside = place.relative.with_file_name("made/by/a/tool");
        let beside = workspace.place_at(&workspace.root_of(&place).join(beside)).unwrap();
        let written = workspace.put(&beside, &wish, &stop, &mut || true);
        [
            workspace.open_place(&place).map(drop).err().map(|it| it.kind),
            written.map(drop).err().map(|it| it.kind),
        ]
    }

    #[test]
    fn what_is_closed_stays_so_under_another_name() {
        let home = Home::new();
        let workspace = home.workspace();
        let (outside, refused) =
            (Some(ToolErrorType::PathNotInWorkspace), Some(ToolErrorType::PermissionDenied));
        for path in [".local/state/own/token", ".keys/token"] {
            assert_eq!(both(&workspace, path), [outside, outside], "{path}");
        }
        assert_eq!(both(&workspace, "work/token"), [None, None]);
        // The workspace was opened before.
        fs::rename(home.at.join(".local"), home.at.join(".l2")).unwrap();
        fs::rename(home.at.join(".keys"), home.at.join("keys")).unwrap();
        symlink(".l2/state/own", home.at.join("link")).unwrap();
        for path in [".l2/state/own/token", "keys/token", "link/token"] {
            assert_eq!(both(&workspace, path), [refused, refused], "{path}");
            let place = workspace.resolve(path).unwrap();
            assert!(workspace.neighbours().open(&place).is_err(), "{path}");
            assert!(workspace.neighbours().facts(&place).is_err(), "{path}");
        }
        assert_eq!(both(&workspace, "work/token"), [None, None]);
        // And one that is opened afterwards.
        let workspace = home.workspace();
        for path in [".l2/state/own/token", "keys/token", "link/token", ".local/state/own/made"] {
            assert_eq!(both(&workspace, path), [outside, outside], "{path}");
        }
        assert_eq!(fs::read_dir(home.at.join(".l2/state/own")).unwrap().count(), 1);
    }

    #[test]
    fn what_is_guarded_is_critical_under_another_name_and_where_it_is_missing() {
        let home = Home::new();
        for name in ["config", "dotfiles", "state"] {
            fs::create_dir(home.at.join(name)).unwrap();
        }
        symlink("dotfiles", home.at.join(".products")).unwrap();
        let own = OwnFiles::new(
            &home.at.join("config"),
            &home.at.join("state"),
            [home.at.join(".products/agents")],
        );
        let workspace = home.workspace();
        let risk = |path: &str| own.risk(&workspace, &home.at.join(path));
        for path in ["config/a", "state/a", "dotfiles/agents/a.md", "dotfiles/agents", ".products"] {
            assert_eq!(risk(path), Some(Risk::Critical), "{path}");
        }
        assert_eq!(risk("dotfiles/other"), None);
        fs::rename(home.at.join("config"), home.at.join("moved")).unwrap();
        assert_eq!(risk("moved/policies/a.toml"), Some(Risk::Critical));
        assert_eq!(risk("config/policies/a.toml"), Some(Risk::Critical));
    }
}
