//! What was read of hooks, kept until a file, the trust or the places change.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{
    AgentHooks, HookPlaces, HookPlacesRead,
    places::{GuardedEvents, read_hooks_after},
};
use trust::TrustRecords;

/// Workspaces whose hooks are kept; the one that was asked for longest ago goes first.
const MOST_KEPT: usize = 64;

/// Hooks of all workspaces. A cheap handle. Asked at each firing, so that hooks are live.
#[derive(Clone, Default)]
pub struct HookLibrary {
    kept: Arc<Mutex<Vec<KeptHooks>>>,
    /// Events that files of the person's own guarded. There are four of those files at most.
    guarded: Arc<Mutex<GuardedEvents>>,
    /// Rises whenever something was read, or forgotten since it may be another thing now.
    version: Arc<AtomicU64>,
}

/// Everything that one question was answered, and what that depends on.
struct KeptHooks {
    places: HookPlaces,
    agents: Vec<AgentHooks>,
    trust: Arc<TrustRecords>,
    files: Vec<(PathBuf, HookFileStamp)>,
    /// Nobody can write a file so that it looks as it did when it was read.
    is_settled: bool,
    read: Arc<HookPlacesRead>,
}

impl KeptHooks {
    fn is_current(&self) -> bool {
        self.is_settled && self.files.iter().all(|(path, stamp)| HookFileStamp::of(path) == *stamp)
    }
}

/// A stamp that tells a file from another one, or from itself before it was written. The time of the last change of its inode cannot be
/// set back by whoever writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HookFileStamp {
    Missing,
    Present { device: u64, inode: u64, size: u64, changed: (i64, i64) },
}

impl HookFileStamp {
    fn of(path: &Path) -> HookFileStamp {
        match fs::metadata(path) {
            Ok(it) => HookFileStamp::Present {
                device: it.dev(),
                inode: it.ino(),
                size: it.size(),
                changed: (it.ctime(), it.ctime_nsec()),
            },
            Err(_) => HookFileStamp::Missing,
        }
    }

    /// True if the file may change once more and look like this all the same: the system's clock moves by leaps.
    fn is_settled(self) -> bool {
        match self {
            HookFileStamp::Missing => true,
            HookFileStamp::Present { changed: (seconds, nanoseconds), .. } => {
                let (now, now_nanoseconds) = sys::clock::file_time();
                (seconds, nanoseconds) < (now, now_nanoseconds)
            }
        }
    }
}

impl HookLibrary {
    /// The hooks that hold in a workspace now; where nothing changed, a look at each file. Blocks on the file system.
    pub fn current(
        &self,
        places: &HookPlaces,
        agents: &[AgentHooks],
        trust: &Arc<TrustRecords>,
    ) -> Arc<HookPlacesRead> {
        let known = {
            let mut kept = self.kept();
            let is_asked = |it: &KeptHooks| {
                it.places == *places
                    && it.agents == agents
                    && (Arc::ptr_eq(&it.trust, trust) || it.trust == *trust)
            };
            let at = kept.iter().position(is_asked);
            at.map(|at| {
                let found = kept.remove(at);
                let answer = (Arc::clone(&found.read), found.is_settled, found.files.clone());
                kept.push(found);
                answer
            })
        };
        if let Some((read, is_settled, files)) = known
            && is_settled
            && files.iter().all(|(path, stamp)| HookFileStamp::of(path) == *stamp)
        {
            return read;
        }
        // Before the files are read: what changes meanwhile is seen the next time.
        let mut files = stamped(looked_at(places, agents));
        let guarded = self.guarded().clone();
        let read = Arc::new(read_hooks_after(&guarded, places, agents, trust));
        read.note_guarded(&mut self.guarded());
        files.extend(stamped(programs_of(&read)));
        let is_settled = files.iter().all(|(_, stamp)| stamp.is_settled());
        let mut kept = self.kept();
        kept.retain(|it| it.places != *places || it.agents != agents);
        if MOST_KEPT <= kept.len() {
            kept.remove(0);
        }
        let (trust, read_too) = (Arc::clone(trust), Arc::clone(&read));
        let (places, agents) = (places.clone(), agents.to_vec());
        kept.push(KeptHooks { places, agents, trust, files, is_settled, read: read_too });
        self.version.fetch_add(1, Ordering::Release);
        read
    }

    /// Forgets what files do not say any more. Blocks on the file system.
    pub fn forget_outdated(&self) {
        // Taken out while their files are looked at, so that nobody waits for a slow disk.
        let known = std::mem::take(&mut *self.kept());
        let n_known = known.len();
        let current: Vec<KeptHooks> = known.into_iter().filter(KeptHooks::is_current).collect();
        let is_any_outdated = current.len() < n_known;
        let mut kept = self.kept();
        let read_meanwhile = std::mem::replace(&mut *kept, current);
        for newer in read_meanwhile {
            kept.retain(|it| it.places != newer.places || it.agents != newer.agents);
            kept.push(newer);
        }
        let n_too_many = kept.len().saturating_sub(MOST_KEPT);
        kept.drain(..n_too_many);
        if is_any_outdated {
            self.version.fetch_add(1, Ordering::Release);
        }
    }

    /// Another number than before where what was read under that one may not hold any more.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    fn guarded(&self) -> MutexGuard<'_, GuardedEvents> {
        // Only whole entries are put in, so a poisoned lock guards whole data.
        self.guarded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> MutexGuard<'_, Vec<KeptHooks>> {
        // Only whole entries are put in, so a poisoned lock guards whole data.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn stamped(paths: Vec<PathBuf>) -> Vec<(PathBuf, HookFileStamp)> {
    paths.into_iter().map(|path| (path.clone(), HookFileStamp::of(&path))).collect()
}

fn looked_at(places: &HookPlaces, agents: &[AgentHooks]) -> Vec<PathBuf> {
    let own = places.system_file.iter().chain(&places.user_file).cloned();
    let home = super::places::HOME_FILES.iter().map(|(path, ..)| places.home.join(path));
    let of_roots = places.roots.iter().flat_map(|root| {
        super::places::PROJECT_FILES.iter().map(move |(path, _)| Path::new(root).join(path))
    });
    own.chain(home).chain(of_roots).chain(agents.iter().map(|agent| agent.file.clone())).collect()
}

/// Files that hooks run, or would if they were there.
fn programs_of(read: &HookPlacesRead) -> Vec<PathBuf> {
    let found = read.project_files.iter().map(|file| Path::new(&file.root).join(&file.path));
    found.chain(read.missing.iter().cloned()).collect()
}
