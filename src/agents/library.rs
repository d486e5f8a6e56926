//! Every agent file of every place: read once, and live at once. (spec 02, "Places and precedence")
//!
//! Keeps what was read of the user's folders and of those of the workspaces that were asked for last. Whoever asks gets what
//! is there at that moment: the system tells which folders changed since, and where it does not, they are looked at. Hides
//! when files are read; never knows who asks, and appends nothing.

use std::{
    collections::{BTreeSet, HashMap},
    io,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::sync::Notify;

mod changes;
mod reading;
mod shelf;
mod watching;

pub use changes::AgentFileChanges;
use shelf::FolderCache;

use self::watching::AgentFolderWatch;
use super::{
    builtin,
    catalog::{AgentCatalog, CatalogPart, WorkspaceRoot},
    folder_contents::{CachedAgentFile, FolderContents},
    places::{AgentPlace, AgentPlaces, PlaceSwitches},
};
use protocol::AgentName;
use sys::{current::HotSwap, folders::WatchWaker};
use trust::{TrustRecords, canonical};

/// Workspaces that are kept; the one that was not asked for longest is read anew when somebody asks again.
const MOST_WORKSPACES: usize = 64;

/// What was read, for whoever asks.
pub struct AgentFileCache {
    places: AgentPlaces,
    switches: HotSwap<PlaceSwitches>,
    watching: Option<Arc<AgentFolderWatch>>,
    builtin: Arc<FolderContents>,
    rooms: Mutex<WorkspaceEntries>,
    news: Notify,
    reads: AtomicU64,
}

/// What is kept. `None` is the user's.
#[derive(Default)]
struct WorkspaceEntries {
    folders: HashMap<Option<PathBuf>, WorkspaceEntry>,
    /// By the folders of a workspace as they were named; of no workspace by none.
    catalogs: HashMap<Vec<PathBuf>, CachedCatalog>,
    /// Counts questions, to tell who asked last.
    questions: u64,
}

#[derive(Default)]
struct WorkspaceEntry {
    shelves: Vec<Arc<FolderCache>>,
    asked: u64,
}

/// A catalogue and what it was made of.
struct CachedCatalog {
    catalog: Arc<AgentCatalog>,
    parts: Vec<CatalogPart>,
    trust: Arc<TrustRecords>,
    disabled: Arc<BTreeSet<AgentName>>,
    /// What those who follow the log know.
    told: Vec<CatalogPart>,
    asked: u64,
}

/// Who wants to know.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CacheReader {
    /// Somebody who uses the workspace.
    User,
    /// The daemon itself, which keeps nothing in use.
    Follower,
}

impl AgentFileCache {
    /// Watches what it keeps, as far as the system lets it.
    pub fn new(places: AgentPlaces, switches: PlaceSwitches) -> AgentFileCache {
        let watching = AgentFolderWatch::new();
        if let Err(error) = &watching {
            tracing::warn!(%error, "agents' folders cannot be watched; they are looked at whenever somebody asks");
        }
        AgentFileCache::with(places, switches, watching.ok())
    }

    /// Looks at every folder whenever somebody asks.
    pub fn unwatched(places: AgentPlaces, switches: PlaceSwitches) -> AgentFileCache {
        AgentFileCache::with(places, switches, None)
    }

    fn with(
        places: AgentPlaces,
        switches: PlaceSwitches,
        watching: Option<AgentFolderWatch>,
    ) -> AgentFileCache {
        let files = builtin::files().into_iter();
        let files =
            files.map(|file| CachedAgentFile { path: PathBuf::new(), file: Arc::new(file) }).collect();
        let builtin = FolderContents { place: AgentPlace::BUILT_IN, files, problems: Vec::new() };
        AgentFileCache {
            places,
            switches: HotSwap::new(switches),
            watching: watching.map(Arc::new),
            builtin: Arc::new(builtin),
            rooms: Mutex::default(),
            news: Notify::new(),
            reads: AtomicU64::new(0),
        }
    }

    /// The agents that are there now, in a workspace with these folders. As long as nothing changes it is the same catalogue.
    /// Blocks on the file system.
    pub fn catalog(&self, roots: &[PathBuf], trust: &Arc<TrustRecords>) -> Arc<AgentCatalog> {
        self.look(roots, trust, CacheReader::User).0
    }

    /// Where agents lie.
    pub fn places(&self) -> &AgentPlaces {
        &self.places
    }

    /// Other places count from now on.
    pub fn switch(&self, switches: PlaceSwitches) {
        if *self.switches.get() != switches {
            self.switches.replace(switches);
            self.news.notify_one();
        }
    }

    /// Reads the files of the user and of these folders again when somebody asks the next time, whatever is known of them.
    pub fn forget(&self, roots: &[PathBuf]) {
        let of_roots: Vec<Option<PathBuf>> = roots.iter().cloned().map(Some).chain([None]).collect();
        self.kept(|root| of_roots.contains(root)).iter().for_each(|shelf| shelf.forget());
    }

    /// Files that were read so far.
    pub fn files_read(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    /// The reason why changes of some folder are not told, so that it is looked at whenever somebody asks.
    pub fn silent(&self) -> Vec<String> {
        let shelves = self.kept(|_| true);
        let mut silent: Vec<String> = shelves.iter().filter_map(|shelf| shelf.silent()).collect();
        silent.sort();
        silent.dedup();
        silent
    }

    /// The shelves of some folders. A shelf waits while its files are read, so nobody holds the rooms while they ask one.
    fn kept(&self, is_meant: impl Fn(&Option<PathBuf>) -> bool) -> Vec<Arc<FolderCache>> {
        let rooms = lock(&self.rooms);
        let meant = rooms.folders.iter().filter(|(root, _)| is_meant(root));
        meant.flat_map(|(_, room)| room.shelves.iter().cloned()).collect()
    }

    /// Wakes a task when something may have changed. Within a runtime only; `None` where nothing is watched.
    pub fn alarm(&self) -> Option<io::Result<WatchWaker>> {
        self.watching.as_ref().map(|watching| watching.alarm())
    }

    /// Completes when somebody who asked met a change, or other places count. One wakes for all that came before. Cancel safe.
    pub async fn met_changes(&self) {
        self.news.notified().await;
    }

    /// Takes what the system tells; whether any of it concerns what is kept.
    pub fn take_notices(&self) -> bool {
        self.watching.as_ref().is_some_and(|watching| watching.take())
    }

    fn look(
        &self,
        roots: &[PathBuf],
        trust: &Arc<TrustRecords>,
        asker: CacheReader,
    ) -> (Arc<AgentCatalog>, Vec<CatalogPart>) {
        let switches = self.switches.get();
        self.take_notices();
        let mut parts = Vec::new();
        for (root, shelf) in self.shelves(roots, &switches, asker) {
            parts.push(CatalogPart { root, contents: shelf.contents(&self.reads) });
        }
        if switches.built_in {
            parts.push(CatalogPart { root: None, contents: Arc::clone(&self.builtin) });
        }
        if let Some(kept) = lock(&self.rooms).catalogs.get(roots)
            && kept.parts == parts
            && Arc::ptr_eq(&kept.trust, trust)
            && kept.disabled == switches.disabled
        {
            return (Arc::clone(&kept.catalog), parts);
        }
        let catalog = Arc::new(AgentCatalog::assemble(&parts, trust, &switches.disabled));
        self.keep(roots, Arc::clone(&catalog), &parts, (trust, &switches.disabled), asker);
        (catalog, parts)
    }

    fn keep(
        &self,
        roots: &[PathBuf],
        catalog: Arc<AgentCatalog>,
        parts: &[CatalogPart],
        (trust, disabled): (&Arc<TrustRecords>, &Arc<BTreeSet<AgentName>>),
        asker: CacheReader,
    ) {
        let mut rooms = lock(&self.rooms);
        let (parts, trust, disabled) = (parts.to_vec(), Arc::clone(trust), Arc::clone(disabled));
        let Some(kept) = rooms.catalogs.get_mut(roots) else {
            let (told, asked) = (parts.clone(), rooms.questions);
            rooms
                .catalogs
                .insert(roots.to_vec(), CachedCatalog { catalog, parts, trust, disabled, told, asked });
            return rooms.leave_out_oldest_catalog();
        };
        if kept.parts != parts && asker == CacheReader::User {
            self.news.notify_one();
        }
        (kept.catalog, kept.parts, kept.trust, kept.disabled) = (catalog, parts, trust, disabled);
    }

    /// The folders of these roots and of the user that count, in their order, each with the canonical path of its root.
    fn shelves(
        &self,
        roots: &[PathBuf],
        switches: &PlaceSwitches,
        asker: CacheReader,
    ) -> Vec<(Option<Arc<WorkspaceRoot>>, Arc<FolderCache>)> {
        // A root without a path of its own has nobody's trust, and no agents.
        let there = |given: &PathBuf| {
            let canonical = canonical(given)?;
            Some(Some(Arc::new(WorkspaceRoot { given: given.clone(), canonical })))
        };
        let named: Vec<Option<Arc<WorkspaceRoot>>> = roots.iter().filter_map(there).chain([None]).collect();
        let mut rooms = lock(&self.rooms);
        rooms.questions += 1;
        let asked = rooms.questions;
        if asker == CacheReader::User
            && let Some(kept) = rooms.catalogs.get_mut(roots)
        {
            kept.asked = asked;
        }
        let mut shelves = Vec::new();
        for root in named {
            let folders = match &root {
                Some(root) => self.places.of_project(&root.given, switches),
                None => self.places.of_the_user(switches),
            };
            let room = rooms.folders.entry(root.as_ref().map(|root| root.given.clone())).or_default();
            if asker == CacheReader::User {
                room.asked = asked;
            }
            // One that does not count any more is forgotten.
            room.shelves.retain(|shelf| folders.contains(&shelf.folder));
            for folder in folders {
                let known = room.shelves.iter().find(|shelf| shelf.folder == folder).cloned();
                let shelf = known.unwrap_or_else(|| {
                    let shelf = Arc::new(FolderCache::new(folder, self.watching.clone()));
                    room.shelves.push(Arc::clone(&shelf));
                    shelf
                });
                shelves.push((root.clone(), shelf));
            }
        }
        rooms.leave_out_oldest_folders();
        shelves
    }
}

impl AgentCatalog {
    /// Reads the built-in, the user's and the workspace's agents, for once. Blocks on the file system.
    pub fn load(
        places: &AgentPlaces,
        workspace_roots: &[PathBuf],
        trust: &TrustRecords,
    ) -> Arc<AgentCatalog> {
        let library = AgentFileCache::unwatched(places.clone(), PlaceSwitches::default());
        library.catalog(workspace_roots, &Arc::new(trust.clone()))
    }
}

impl WorkspaceEntries {
    fn leave_out_oldest_folders(&mut self) {
        // The user's are not counted and never leave.
        while MOST_WORKSPACES + 1 < self.folders.len() {
            let workspaces = self.folders.iter().filter(|(root, _)| root.is_some());
            let oldest = workspaces.min_by_key(|(_, room)| room.asked).map(|(root, _)| root.clone());
            let Some(oldest) = oldest else { return };
            self.folders.remove(&oldest);
        }
    }

    fn leave_out_oldest_catalog(&mut self) {
        while MOST_WORKSPACES + 1 < self.catalogs.len() {
            let workspaces = self.catalogs.iter().filter(|(roots, _)| !roots.is_empty());
            let oldest = workspaces.min_by_key(|(_, kept)| kept.asked).map(|(roots, _)| roots.clone());
            let Some(oldest) = oldest else { return };
            self.catalogs.remove(&oldest);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing is left half done where it is held, so a poisoned one is whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
