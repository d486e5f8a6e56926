//! What is remembered of what the workspaces' own commands told of tools? (spec 05, "Discovery by command")

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::sync::Semaphore;

use project::{Project, ProjectProgram};
use protocol::{DiscoveryCommands, Timestamp};
use tools::DiscoveryResult;

/// Workspaces whose tools are remembered; the one that was not needed for longest is asked anew when it is needed.
const MOST_WORKSPACES: usize = 256;

/// What was found out about all workspaces.
#[derive(Default)]
pub(super) struct ToolDiscoveries {
    /// By their canonical roots, in the order in which they are named: the first is where commands run.
    pub workspaces: Mutex<BTreeMap<Vec<String>, Arc<DiscoveryWorkspace>>>,
    /// Whose own settings name a command that no person has acknowledged.
    pub unread: Mutex<BTreeSet<Vec<String>>>,
    /// Counts whoever wants to know anew.
    pub wishes: AtomicU64,
}

/// One workspace.
pub(super) struct DiscoveryWorkspace {
    /// One permit, for whoever asks it.
    pub turn: Semaphore,
    pub known: Mutex<CachedDiscovery>,
}

#[derive(Default)]
pub(super) struct CachedDiscovery {
    pub found: Option<Arc<DiscoveryOutcome>>,
    /// When it was needed last, in wishes.
    pub used: u64,
}

/// What one workspace told.
pub(super) struct DiscoveryOutcome {
    /// What it was asked with.
    pub commands: DiscoveryCommands,
    /// The files of the workspace that these run, as they were.
    pub programs: Vec<ProjectProgram>,
    /// When; `None` = it may not be asked.
    pub at: Option<Timestamp>,
    pub discovery: DiscoveryResult,
    /// The last wish that it fulfils.
    pub wish: u64,
}

impl ToolDiscoveries {
    pub fn place(&self, roots: &[String]) -> Arc<DiscoveryWorkspace> {
        let now = self.wishes.load(Ordering::Acquire);
        let mut workspaces = lock(&self.workspaces);
        if !workspaces.contains_key(roots) && MOST_WORKSPACES <= workspaces.len() {
            let oldest = workspaces.iter().min_by_key(|(_, place)| lock(&place.known).used);
            if let Some(oldest) = oldest.map(|(roots, _)| roots.clone()) {
                workspaces.remove(&oldest);
            }
        }
        let place = workspaces.entry(roots.to_vec()).or_insert_with(|| {
            Arc::new(DiscoveryWorkspace { turn: Semaphore::new(1), known: Mutex::default() })
        });
        lock(&place.known).used = now;
        Arc::clone(place)
    }

    /// What is known of a workspace; nobody is asked.
    pub fn known(&self, roots: &[String]) -> Option<Arc<DiscoveryOutcome>> {
        let place = Arc::clone(lock(&self.workspaces).get(roots)?);
        lock(&place.known).found.clone()
    }

    /// Whose own command nobody has acknowledged, as they were when they were needed last.
    pub fn unread(&self) -> Vec<Vec<String>> {
        lock(&self.unread).iter().cloned().collect()
    }

    pub fn mark(&self, project: &Project) {
        let mut unread = lock(&self.unread);
        if !project.names_unread_command {
            unread.remove(&project.roots);
        } else if unread.insert(project.roots.clone()) && MOST_WORKSPACES < unread.len() {
            unread.pop_first();
        }
    }

    /// Every workspace that was asked, or would have been.
    pub fn all(&self) -> Vec<(Vec<String>, Arc<DiscoveryOutcome>)> {
        let workspaces = lock(&self.workspaces);
        let found = |(roots, place): (&Vec<String>, &Arc<DiscoveryWorkspace>)| {
            Some((roots.clone(), lock(&place.known).found.clone()?))
        };
        workspaces.iter().filter_map(found).collect()
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it holds one of these locks, so a poisoned one is whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
