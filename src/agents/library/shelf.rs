//! What lies in one folder? Read once; what changed since is read again, and nothing else.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{
    lock,
    reading::{in_one_state, on_threads},
    watching::{AgentFolderWatch, DirtyPaths, StaleEntries, WalkedFolders},
};
use crate::{
    discovery::{FoundAgentFiles, FoundFile, agent_files},
    file::{AgentFile, LARGEST_FILE},
    file_stamp::{AgentFileStamp, UnwatchedPath},
    folder_contents::{CachedAgentFile, FolderContents},
    places::{AgentFolder, AgentPlace},
};
use config::{problem, read_bounded};
use protocol::{
    FileProblem,
    FileProblemCode::{TooLarge, Unreadable},
};
use sys::folders::WatchId;
use trust::digest;

/// What all agent files below one folder may hold together. A collection of thousands is a few MiB; a folder that somebody
/// filled to harm the reader is left where this ends.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// One folder that is kept.
pub struct FolderCache {
    pub folder: AgentFolder,
    watching: Option<Arc<AgentFolderWatch>>,
    dirt: Arc<DirtyPaths>,
    known: Mutex<FolderState>,
}

struct FolderState {
    contents: Arc<FolderContents>,
    /// Which state of each file was read; `None` when another one might look the same, so that it is read again.
    stamps: Vec<Option<AgentFileStamp>>,
    loose: Vec<UnwatchedPath>,
    watches: HashSet<WatchId>,
    /// The reason why changes are not told, so that all of it is looked at whenever somebody asks.
    silent: Option<String>,
}

impl FolderCache {
    pub fn new(folder: AgentFolder, watching: Option<Arc<AgentFolderWatch>>) -> FolderCache {
        let contents = FolderContents { place: folder.place, files: Vec::new(), problems: Vec::new() };
        let known = FolderState {
            contents: Arc::new(contents),
            stamps: Vec::new(),
            loose: Vec::new(),
            watches: HashSet::new(),
            silent: None,
        };
        let dirt = Arc::<DirtyPaths>::default();
        dirt.mark_all();
        FolderCache { folder, watching, dirt, known: Mutex::new(known) }
    }

    /// What lies there now. The system's notices must have been taken. Counts the files that it reads; blocks on the file
    /// system.
    pub fn contents(&self, reads: &AtomicU64) -> Arc<FolderContents> {
        let mut known = lock(&self.known);
        let is_current = known.silent.is_none()
            && self.dirt.is_clean()
            && known.loose.iter().all(UnwatchedPath::is_as_it_was);
        if !is_current {
            self.look(&mut known, reads);
        }
        Arc::clone(&known.contents)
    }

    /// Reads all of it again when somebody asks the next time.
    pub fn forget(&self) {
        lock(&self.known).stamps.fill(None);
        self.dirt.mark_all();
    }

    /// The reason why changes are not told, if they are not.
    pub fn silent(&self) -> Option<String> {
        lock(&self.known).silent.clone()
    }

    fn look(&self, known: &mut FolderState, reads: &AtomicU64) {
        // Whatever happens from here on marks it again.
        let stale = self.dirt.take();
        let mut met = WalkedFolders::new(self.watching.as_deref(), &self.dirt);
        let found = agent_files(&self.folder.path, &mut |folder| met.enter(folder));
        if found.is_missing {
            met.miss(&self.folder.path);
            // It may have come before it was waited for.
            if self.folder.path.exists() {
                self.dirt.mark_all();
            }
        }
        let WalkedFolders { watches, silent, .. } = met;
        let FoundAgentFiles { files, problems, loose, .. } = found;
        let old = Arc::clone(&known.contents);
        let glance =
            FolderRereadState { before: before(&old, &known.stamps), stale, is_told: silent.is_none() };
        let mut left_bytes = MOST_BYTES;
        let plans: Vec<FileReadPlan<'_>> = files
            .into_iter()
            .map(|met| {
                let bytes = met.stamp.bytes();
                // One that is too large by itself is not read either, and takes no room from others.
                if bytes <= LARGEST_FILE && left_bytes < bytes {
                    return FileReadPlan::LeaveOut(met.path);
                }
                left_bytes -= if bytes <= LARGEST_FILE { bytes } else { 0 };
                match glance.kept(&met) {
                    Some((file, stamp)) => FileReadPlan::Keep(met.path, file, stamp),
                    None => FileReadPlan::Read(met),
                }
            })
            .collect();
        let read = |plan: &FileReadPlan<'_>| match plan {
            FileReadPlan::Keep(path, file, stamp) => (path.clone(), Arc::clone(file), Some(*stamp)),
            FileReadPlan::LeaveOut(path) => {
                let mib = MOST_BYTES >> 20;
                let message =
                    format!("is not read: the files of this folder hold more than {mib} MiB together");
                (path.clone(), self.unread(path, problem(path, None, TooLarge, message), &glance), None)
            }
            FileReadPlan::Read(met) => {
                reads.fetch_add(1, Ordering::Relaxed);
                let (file, stamp) = self.read(met, &glance);
                (met.path.clone(), file, stamp)
            }
        };
        let read = match plans.iter().any(|plan| matches!(plan, FileReadPlan::Read(_))) {
            true => on_threads(&plans, read),
            false => plans.iter().map(read).collect(),
        };
        let mut files = Vec::new();
        known.stamps.clear();
        for (path, file, stamp) in read {
            files.push(CachedAgentFile { path, file });
            known.stamps.push(stamp);
        }
        let is_same = |(old, new): (&CachedAgentFile, &CachedAgentFile)| {
            Arc::ptr_eq(&old.file, &new.file) && old.path == new.path
        };
        let are_same = old.files.len() == files.len() && old.files.iter().zip(&files).all(is_same);
        if !are_same || old.problems != problems {
            known.contents = Arc::new(FolderContents { place: self.folder.place, files, problems });
        }
        if let Some(watching) = &self.watching {
            watching.release(known.watches.difference(&watches).copied(), &self.dirt);
        }
        (known.watches, known.loose, known.silent) = (watches, loose, silent);
    }

    fn read(
        &self,
        met: &FoundFile,
        glance: &FolderRereadState<'_>,
    ) -> (Arc<AgentFile>, Option<AgentFileStamp>) {
        let (path, AgentPlace { scope, format }) = (&met.path, self.folder.place);
        let Some((bytes, stamp)) = in_one_state(path, met.stamp, || read_bounded(path, LARGEST_FILE)) else {
            // Whether or not somebody tells.
            self.dirt.mark_all();
            let message = "changes while it is read; it is read again once it holds still";
            return (self.unread(path, problem(path, None, Unreadable, message), glance), None);
        };
        // Who is told of every change need not know whether another state would look the same.
        let stamp = stamp.filter(|stamp| glance.is_told && !met.is_loose || stamp.is_settled());
        let file = match bytes {
            Ok(Some(bytes)) => {
                let is_same = |file: &&&Arc<AgentFile>| !file.is_unread && file.digest == digest(&bytes);
                match glance.file(path).as_ref().filter(is_same) {
                    Some(file) => Arc::clone(file),
                    None => Arc::new(AgentFile::read(path, &bytes, scope, format)),
                }
            }
            Ok(None) => self.unread(path, problem(path, None, Unreadable, "is gone"), glance),
            Err(found) => self.unread(path, found, glance),
        };
        (file, stamp)
    }

    /// The same mistake is no news.
    fn unread(&self, path: &Path, found: FileProblem, glance: &FolderRereadState<'_>) -> Arc<AgentFile> {
        let is_same = |file: &&Arc<AgentFile>| file.is_unread && file.problems == [found.clone()];
        match glance.file(path).filter(is_same) {
            Some(file) => Arc::clone(file),
            None => Arc::new(AgentFile::unreadable(path, found, self.folder.place.format)),
        }
    }
}

/// What is known before a folder is looked at again.
struct FolderRereadState<'a> {
    before: HashMap<&'a Path, (&'a Arc<AgentFile>, Option<AgentFileStamp>)>,
    stale: StaleEntries,
    /// From now on each change is told.
    is_told: bool,
}

impl<'a> FolderRereadState<'a> {
    fn file(&self, path: &Path) -> Option<&'a Arc<AgentFile>> {
        self.before.get(path).map(|(file, _)| *file)
    }

    /// What is known of a file that is surely what it was.
    fn kept(&self, met: &FoundFile) -> Option<(&'a Arc<AgentFile>, AgentFileStamp)> {
        let (file, stamp) = self.before.get(met.path.as_path())?;
        let was_told = matches!(&self.stale, StaleEntries::Entries(paths) if paths.contains(&met.path));
        (*stamp == Some(met.stamp) && !was_told).then_some((*file, met.stamp))
    }
}

fn before<'a>(
    contents: &'a FolderContents,
    stamps: &[Option<AgentFileStamp>],
) -> HashMap<&'a Path, (&'a Arc<AgentFile>, Option<AgentFileStamp>)> {
    let files = contents.files.iter().map(|it| (it.path.as_path(), &it.file));
    files.zip(stamps).map(|((path, file), stamp)| (path, (file, *stamp))).collect()
}

/// What becomes of a file that was met.
enum FileReadPlan<'a> {
    /// It is what it was.
    Keep(PathBuf, &'a Arc<AgentFile>, AgentFileStamp),
    Read(FoundFile),
    /// The folder holds too much.
    LeaveOut(PathBuf),
}

impl Drop for FolderCache {
    fn drop(&mut self) {
        if let Some(watching) = &self.watching {
            let watches = std::mem::take(&mut lock(&self.known).watches);
            watching.release(watches, &self.dirt);
        }
    }
}
