//! In which folders were repositories found, also by the daemons before this one?
//!
//! An agent makes as many repositories and files as it likes, and a search has bounds; so what was found earlier is looked at first, the
//! oldest knowledge before all else.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    artifacts::{make_folders, replace_durably},
    workspace_reports::WorkspaceReports,
};
use sys::regular_file;

/// Below the state folder.
const FILE: &str = "known-repositories.json";
const DRAFT: &str = "known-repositories.draft";
/// Bytes of the file that are read.
const LONGEST: u64 = 32 << 20;
/// Folders that are remembered.
const MOST: usize = 10_000;
/// Folders that are remembered below one folder of a workspace.
const MOST_BELOW: usize = 500;

/// A cheap handle.
#[derive(Debug, Clone, Default)]
pub struct KnownRepositories(Arc<KnownState>);

#[derive(Debug, Default)]
struct KnownState {
    /// `None` = they are kept in memory alone.
    state_dir: Option<PathBuf>,
    list: Mutex<KnownList>,
    reports: WorkspaceReports,
}

#[derive(Debug, Default)]
struct KnownList {
    is_read: bool,
    /// The first that was found stands first.
    folders: Vec<PathBuf>,
    is_in: HashSet<PathBuf>,
    /// Folders of workspaces that this daemon has searched far and wide.
    searched: HashSet<PathBuf>,
}

impl KnownRepositories {
    /// Those that daemons with this state found.
    pub fn kept_in(state_dir: &Path, reports: WorkspaceReports) -> KnownRepositories {
        let (state_dir, list) = (Some(state_dir.to_owned()), Mutex::default());
        KnownRepositories(Arc::new(KnownState { state_dir, list, reports }))
    }

    /// The folders below these, the first that was found first. Blocks for a moment.
    pub fn below(&self, roots: &[PathBuf]) -> Vec<PathBuf> {
        let is_below = |folder: &&PathBuf| roots.iter().any(|root| folder.starts_with(root));
        self.list().folders.iter().filter(is_below).cloned().collect()
    }

    /// True if one of these folders was not searched far and wide by this daemon. From now on they count as searched.
    pub fn is_first_search(&self, roots: &[PathBuf]) -> bool {
        let mut list = self.list();
        let mut is_first = false;
        for root in roots {
            is_first |= list.searched.insert(root.clone());
        }
        is_first
    }

    /// Remembers folders in which repositories were found, also for the next daemon. Blocks.
    pub fn remember(&self, roots: &[PathBuf], folders: impl Iterator<Item = PathBuf>) {
        let mut list = self.list();
        let before = list.folders.len();
        for folder in folders {
            let is_full = MOST <= list.folders.len() || {
                let root = roots.iter().find(|root| folder.starts_with(root));
                let below = |known: &&PathBuf| root.is_some_and(|root| known.starts_with(root));
                !list.is_in.contains(&folder) && MOST_BELOW <= list.folders.iter().filter(below).count()
            };
            // Those that were there first were there before a command that makes many.
            if !is_full && list.is_in.insert(folder.clone()) {
                list.folders.push(folder);
            }
        }
        if before < list.folders.len()
            && let Some(state_dir) = &self.0.state_dir
        {
            // One whose name is no text cannot be written; it is found again, or not.
            let texts: Vec<&str> = list.folders.iter().filter_map(|folder| folder.to_str()).collect();
            let written = serde_json::to_vec(&texts).map_err(std::io::Error::other).and_then(|bytes| {
                make_folders(state_dir)?;
                replace_durably(&state_dir.join(FILE), &state_dir.join(DRAFT), &bytes)
            });
            if let Err(error) = written {
                tracing::warn!(%error, "the next daemon will not know which repositories were found");
            }
        }
    }

    /// Tells the person what is not watched. Blocks.
    pub fn tell(&self, text: String) {
        tracing::warn!("{text}");
        self.0.reports.add([text]);
    }

    fn list(&self) -> MutexGuard<'_, KnownList> {
        // Nothing panics while it is held.
        let mut list = self.0.list.lock().unwrap_or_else(PoisonError::into_inner);
        if !list.is_read {
            list.is_read = true;
            let read = self.0.state_dir.as_ref().map(|folder| folder.join(FILE));
            let read = read.filter(|path| fs::symlink_metadata(path).is_ok());
            if let Some(path) = read {
                let bytes = regular_file::read_bounded(&path, LONGEST).ok().flatten();
                match bytes.and_then(|bytes| serde_json::from_slice::<Vec<PathBuf>>(&bytes).ok()) {
                    Some(folders) => {
                        let folders = folders.into_iter().take(MOST);
                        // A workspace that is gone takes no room.
                        list.folders = folders.filter(|folder| folder.is_dir()).collect();
                        list.is_in = list.folders.iter().cloned().collect();
                    }
                    None => self.tell(format!(
                        "`{}`, which says where repositories were found, cannot be read; they are searched for anew",
                        path.display()
                    )),
                }
            }
        }
        list
    }
}
