//! What was read of hooks, kept until a file, the trust or the places change.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use super::{AgentHooks, HookPlaces, HookPlacesRead, read_hooks};
use trust::TrustRecords;

/// Workspaces whose hooks are kept; the one that was asked for longest ago goes first.
const MOST_KEPT: usize = 64;

/// Hooks of all workspaces. A cheap handle. Asked at each firing, so that hooks are live.
#[derive(Clone, Default)]
pub struct HookLibrary {
    kept: Arc<Mutex<Vec<KeptHooks>>>,
}

/// What one question was answered, and what that depends on.
struct KeptHooks {
    places: HookPlaces,
    agents: Vec<AgentHooks>,
    trust: Arc<TrustRecords>,
    files: Vec<(PathBuf, HookFileStamp)>,
    read: Arc<HookPlacesRead>,
}

/// What tells a file from another one, or from itself before it was written. The time of the last change of its inode cannot be
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

    /// Whether the file may change once more and look like this all the same: the system's clock moves by leaps.
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
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            let is_asked = |it: &KeptHooks| {
                it.places == *places
                    && it.agents == agents
                    && (Arc::ptr_eq(&it.trust, trust) || it.trust == *trust)
            };
            let at = kept.iter().position(is_asked);
            at.map(|at| {
                let found = kept.remove(at);
                let answer = (Arc::clone(&found.read), found.files.clone());
                kept.push(found);
                answer
            })
        };
        if let Some((read, files)) = known
            && files.iter().all(|(path, stamp)| HookFileStamp::of(path) == *stamp)
        {
            return read;
        }
        // Before the files are read: what changes meanwhile is seen the next time.
        let mut files = stamped(looked_at(places, agents));
        let read = Arc::new(read_hooks(places, agents, trust));
        files.extend(stamped(programs_of(&read)));
        let is_settled = files.iter().all(|(_, stamp)| stamp.is_settled());
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|it| it.places != *places || it.agents != agents);
        if is_settled {
            if MOST_KEPT <= kept.len() {
                kept.remove(0);
            }
            let trust = Arc::clone(trust);
            let read = Arc::clone(&read);
            kept.push(KeptHooks { places: places.clone(), agents: agents.to_vec(), trust, files, read });
        }
        read
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
