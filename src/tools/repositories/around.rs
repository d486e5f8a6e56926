//! Which repositories is a folder a part of: one whose working tree begins there or above, a linked worktree's, a submodule's and its
//! superproject's?
//!
//! It walks up as git does, but does not end at the first: whoever stands higher up and asks git for its state has the repository
//! there run what it names, also where that lies in another one below.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use rustix::process::geteuid;

use super::{LONGEST_POINTER, below::is_repository};
use crate::git_settings::{GitNames, LONGEST_CONFIG};
use sys::{guarded::ResolvedPath, regular_file};

/// Folders that are looked at, from the inside to the outside; nobody works deeper.
const MOST_FOLDERS: usize = 64;

/// A repository that a folder is a part of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryAround {
    /// The folder that `.git` leads to. Of a linked worktree that with its `config.worktree`. It may not be there yet.
    pub folder: PathBuf,
    /// The folder with the settings and the hooks: the same but of a linked worktree.
    pub common: PathBuf,
    /// Tops of its working tree: paths of its settings begin there, and its hooks run there.
    pub tops: Vec<PathBuf>,
    /// It is this user's, as git demands of one (git-config(1), `safe.directory`).
    pub is_own: bool,
}

impl RepositoryAround {
    /// All of a folder, the nearest first. Links are followed; what is no regular file is not waited for. Blocks for a bounded look.
    pub fn all(folder: &Path) -> Vec<RepositoryAround> {
        let mut found = Vec::new();
        for top in folder.ancestors().take(MOST_FOLDERS) {
            found.extend(RepositoryAround::named_in(top));
            // A bare one, or the folder is one of a repository's own.
            if is_repository(top) {
                found.push(RepositoryAround::at(top.to_owned(), top, is_own(top)));
            }
        }
        found
    }

    /// The one that `.git` in this folder leads to.
    fn named_in(top: &Path) -> Option<RepositoryAround> {
        let git = top.join(".git");
        let is_own = is_own(&git);
        let real = ResolvedPath::to(&git).end;
        let kind = fs::symlink_metadata(&git).ok()?.file_type();
        let folder = match fs::metadata(&real) {
            // A linked worktree, a submodule.
            Ok(found) if found.is_file() => pointed(&real, "gitdir:", top)?,
            Ok(found) if found.is_dir() => real,
            // A link to what is not there yet.
            Err(_) if kind.is_symlink() => real,
            Ok(_) | Err(_) => return None,
        };
        Some(RepositoryAround::at(folder, top, is_own))
    }

    /// One whose folder and working tree are known.
    pub fn at(folder: PathBuf, top: &Path, is_own: bool) -> RepositoryAround {
        let common = pointed(&folder.join("commondir"), "", &folder).unwrap_or_else(|| folder.clone());
        let mut tops = vec![top.to_owned()];
        for file in [common.join("config"), folder.join("config.worktree")] {
            let bytes = regular_file::read_bounded(&file, LONGEST_CONFIG).ok().flatten().unwrap_or_default();
            let named = GitNames::of(&String::from_utf8_lossy(&bytes)).worktrees;
            tops.extend(named.into_iter().map(|path| ResolvedPath::to(&folder.join(path)).end));
        }
        tops.dedup();
        RepositoryAround { folder, common, tops, is_own }
    }

    /// Its files of settings.
    pub fn settings(&self) -> [PathBuf; 2] {
        [self.common.join("config"), self.folder.join("config.worktree")]
    }
}

/// The place that a file names behind a prefix; a path in it begins at `from`.
fn pointed(file: &Path, prefix: &str, from: &Path) -> Option<PathBuf> {
    let bytes = regular_file::read_bounded(file, LONGEST_POINTER).ok()??;
    let text = String::from_utf8_lossy(&bytes);
    let path = text.strip_prefix(prefix)?.trim();
    (!path.is_empty()).then(|| ResolvedPath::to(&from.join(path)).end)
}

fn is_own(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.uid() == geteuid().as_raw())
}
