//! Which folders have changed since they were read? Whoever asks takes what the system has told by then, so no answer is older
//! than its question.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    ffi::{OsStr, OsString},
    io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use super::lock;
use sys::folders::{FolderChange, FolderWatch, WatchId, WatchScope, WatchWaker};

/// Changed files that are kept by name; of more than that nobody needs to know which.
const MOST_NAMES: usize = 1_000;

/// What became stale of one shelf.
#[derive(Default)]
pub struct DirtyPaths(Mutex<StaleEntries>);

/// What must be looked at again.
#[derive(Default)]
pub enum StaleEntries {
    #[default]
    Nothing,
    /// At the least these, which are not what they were whatever their stamps say.
    Entries(BTreeSet<PathBuf>),
    /// Anything.
    All,
}

impl DirtyPaths {
    pub fn is_clean(&self) -> bool {
        matches!(*lock(&self.0), StaleEntries::Nothing)
    }

    pub fn take(&self) -> StaleEntries {
        std::mem::take(&mut *lock(&self.0))
    }

    pub fn mark_all(&self) {
        *lock(&self.0) = StaleEntries::All;
    }

    fn mark(&self, path: PathBuf) {
        let mut stale = lock(&self.0);
        match &mut *stale {
            StaleEntries::Nothing => *stale = StaleEntries::Entries(BTreeSet::from([path])),
            StaleEntries::Entries(paths) if paths.len() < MOST_NAMES => drop(paths.insert(path)),
            StaleEntries::Entries(_) | StaleEntries::All => *stale = StaleEntries::All,
        }
    }
}

/// What the system tells, and whom it concerns.
pub struct AgentFolderWatch {
    folders: FolderWatch,
    wanted: Mutex<HashMap<WatchId, Vec<FolderInterest>>>,
}

struct FolderInterest {
    dirt: Arc<DirtyPaths>,
    /// As the shelf calls it.
    folder: PathBuf,
    /// Nothing but the entry of this name.
    only: Option<OsString>,
}

impl AgentFolderWatch {
    pub fn new() -> io::Result<AgentFolderWatch> {
        Ok(AgentFolderWatch { folders: FolderWatch::new()?, wanted: Mutex::default() })
    }

    pub fn alarm(&self) -> io::Result<WatchWaker> {
        self.folders.alarm()
    }

    /// Marks what has changed until now; whether anything did that somebody wants to know.
    pub fn take(&self) -> bool {
        // Held until all of it is marked: whoever comes meanwhile waits, and then sees the marks.
        let mut wanted = lock(&self.wanted);
        let mut is_any = false;
        self.folders.take(|notice| match notice {
            FolderChange::Entry(watch, name) => {
                // What editors keep beside a file while it is open.
                if name.as_bytes().starts_with(b".") && !is_awaited(&wanted, watch, name) {
                    return;
                }
                let concerns = |it: &&FolderInterest| it.only.as_deref().is_none_or(|only| only == name);
                for it in wanted.get(&watch).into_iter().flatten().filter(concerns) {
                    it.dirt.mark(it.folder.join(name));
                    is_any = true;
                }
            }
            FolderChange::Folder(watch) => {
                for it in wanted.get(&watch).into_iter().flatten() {
                    it.dirt.mark(it.folder.clone());
                    is_any = true;
                }
            }
            FolderChange::Ended(watch) => {
                for it in wanted.remove(&watch).into_iter().flatten() {
                    it.dirt.mark(it.folder);
                    is_any = true;
                }
            }
            FolderChange::Lost => {
                wanted.values().flatten().for_each(|it| it.dirt.mark_all());
                is_any = true;
            }
        });
        is_any
    }

    /// Marks `dirt` from now on when anything happens in the folder.
    pub fn watch(&self, folder: &Path, dirt: &Arc<DirtyPaths>) -> io::Result<WatchId> {
        self.want(folder, WatchScope::Everything, dirt, None)
    }

    /// Marks `dirt` when something of this name comes into the folder.
    pub fn wait_for(&self, folder: &Path, name: &OsStr, dirt: &Arc<DirtyPaths>) -> io::Result<WatchId> {
        self.want(folder, WatchScope::Arrivals, dirt, Some(name.to_owned()))
    }

    fn want(
        &self,
        folder: &Path,
        watched: WatchScope,
        dirt: &Arc<DirtyPaths>,
        only: Option<OsString>,
    ) -> io::Result<WatchId> {
        // Held before the system begins, so that nothing it tells is taken by others who know of nobody it concerns.
        let mut wanted = lock(&self.wanted);
        let watch = self.folders.add(folder, watched)?;
        let by_folder = wanted.entry(watch).or_default();
        by_folder.retain(|it| !Arc::ptr_eq(&it.dirt, dirt));
        by_folder.push(FolderInterest { dirt: Arc::clone(dirt), folder: folder.to_owned(), only });
        Ok(watch)
    }

    /// `dirt` has no part in these folders any more.
    pub fn release(&self, watches: impl IntoIterator<Item = WatchId>, dirt: &Arc<DirtyPaths>) {
        let mut wanted = lock(&self.wanted);
        for watch in watches {
            let Some(by_folder) = wanted.get_mut(&watch) else { continue };
            by_folder.retain(|it| !Arc::ptr_eq(&it.dirt, dirt));
            if by_folder.is_empty() {
                wanted.remove(&watch);
                self.folders.remove(watch);
            }
        }
    }
}

fn is_awaited(wanted: &HashMap<WatchId, Vec<FolderInterest>>, watch: WatchId, name: &OsStr) -> bool {
    wanted.get(&watch).into_iter().flatten().any(|it| it.only.as_deref() == Some(name))
}

/// The folders that one walk met.
pub struct WalkedFolders<'a> {
    watching: Option<&'a AgentFolderWatch>,
    dirt: &'a Arc<DirtyPaths>,
    pub watches: HashSet<WatchId>,
    /// The reason why not all of them tell what changes.
    pub silent: Option<String>,
}

impl<'a> WalkedFolders<'a> {
    pub fn new(watching: Option<&'a AgentFolderWatch>, dirt: &'a Arc<DirtyPaths>) -> WalkedFolders<'a> {
        let silent = watching.is_none().then(|| "the system has no inotify instance left".to_owned());
        WalkedFolders { watching, dirt, watches: HashSet::new(), silent }
    }

    /// A folder that is going to be read.
    pub fn enter(&mut self, folder: &Path) {
        let Some(watching) = self.watching else { return };
        if let Some(kind) = sys::folders::is_told_nothing(folder) {
            self.silent = Some(format!("{} lies on {kind}", folder.display()));
        }
        self.keep(folder, watching.watch(folder, self.dirt));
    }

    /// A folder that is not there: the next one above it tells when it comes.
    pub fn miss(&mut self, folder: &Path) {
        let Some(watching) = self.watching else { return };
        let above = folder.ancestors().zip(folder.ancestors().skip(1));
        let there = above.into_iter().find(|(_, above)| above.is_dir());
        if let Some((missing, above)) = there
            && let Some(name) = missing.file_name()
        {
            self.keep(above, watching.wait_for(above, name, self.dirt));
        }
    }

    fn keep(&mut self, folder: &Path, watch: io::Result<WatchId>) {
        match watch {
            Ok(watch) => drop(self.watches.insert(watch)),
            Err(error) if is_about_the_folder(&error) => (),
            Err(error) => self.silent = Some(format!("{} cannot be watched: {error}", folder.display())),
        }
    }
}

/// Whoever watches the folder above is told when that changes.
fn is_about_the_folder(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    matches!(error.kind(), NotFound | PermissionDenied | NotADirectory)
}
