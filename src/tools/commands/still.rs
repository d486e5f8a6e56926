//! Which files of a workspace stay what they are while a server is started with them?
//!
//! They are looked at before the server's program reads them, and whoever may write there meanwhile could exchange them for the
//! moment between the two: the program would be another one, with the keys of the first. So commands do not write them where a
//! mount keeps them, and where none does, the server begins only while no command goes on there, and commands wait for it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::timeout};

/// The longest wait of a command for a server that begins; it is longer than a server may take.
const PATIENCE: Duration = Duration::from_secs(45);

/// Files that servers are started with, and who may write there. A cheap handle.
#[derive(Debug, Clone, Default)]
pub struct StillFiles(Arc<StillState>);

#[derive(Debug, Default)]
struct StillState {
    lists: Mutex<StillLists>,
    begun: Notify,
}

#[derive(Debug, Default)]
struct StillLists {
    next: u64,
    /// Files that each server is started with.
    kept: BTreeMap<u64, ServerFiles>,
    /// Servers that begin.
    beginning: BTreeMap<u64, Vec<PathBuf>>,
    writers: BTreeMap<u64, FileWriter>,
}

/// The places of workspaces that a server's words lead to. Absolute.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerFiles {
    /// Files, without links.
    pub files: Vec<PathBuf>,
    /// Links on the way to a file, which no mount keeps.
    pub links: Vec<PathBuf>,
}

impl ServerFiles {
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.links.is_empty()
    }

    fn all(&self) -> Vec<PathBuf> {
        self.files.iter().chain(&self.links).cloned().collect()
    }
}

#[derive(Debug)]
struct FileWriter {
    /// Folders in which it writes.
    roots: Vec<PathBuf>,
    /// Files there that it does not.
    kept: Vec<PathBuf>,
}

impl FileWriter {
    fn may_write(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root)) && !self.kept.iter().any(|kept| kept == path)
    }
}

/// The list that an entry is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StillList {
    Kept,
    Beginning,
    Writers,
}

/// An entry, until this is dropped.
#[derive(Debug)]
pub struct StillHold {
    files: StillFiles,
    list: StillList,
    id: u64,
}

impl StillFiles {
    /// Has commands that begin from now on keep from writing the files of a server.
    pub fn keep(&self, files: ServerFiles) -> StillHold {
        let mut lists = self.lists();
        let id = lists.fresh();
        lists.kept.insert(id, files);
        self.hold(StillList::Kept, id)
    }

    /// Files that commands in these folders are to be kept from, as far as they are there without links by now. Blocks for a moment.
    pub fn kept_in(&self, roots: &[PathBuf]) -> Vec<PathBuf> {
        let mut kept = self.lists().kept_in(roots);
        kept.retain(|path| path.canonicalize().is_ok_and(|real| real == *path));
        kept
    }

    /// Has a server begin, of which commands know by [`StillFiles::keep`]: no other command begins that could write what it is
    /// started with, until this is dropped. `None` = one goes on that could.
    pub fn begin(&self, files: &ServerFiles) -> Option<StillHold> {
        let mut lists = self.lists();
        let all = files.all();
        if lists.writers.values().any(|writer| all.iter().any(|path| writer.may_write(path))) {
            return None;
        }
        let id = lists.fresh();
        lists.beginning.insert(id, all);
        Some(self.hold(StillList::Beginning, id))
    }

    /// Enters a command that writes in these folders but not these files, until the answer is dropped. It waits for servers that begin with
    /// something that it could write. `None` = it waited too long.
    pub async fn enter(&self, roots: &[PathBuf], kept: &[PathBuf]) -> Option<StillHold> {
        let waiting = async {
            loop {
                let begun = self.0.begun.notified();
                if let Some(entered) = self.entered(roots, kept) {
                    return entered;
                }
                begun.await;
            }
        };
        timeout(PATIENCE, waiting).await.ok()
    }

    fn entered(&self, roots: &[PathBuf], kept: &[PathBuf]) -> Option<StillHold> {
        let mut lists = self.lists();
        let writer = FileWriter { roots: roots.to_vec(), kept: kept.to_vec() };
        if lists.beginning.values().flatten().any(|path| writer.may_write(path)) {
            return None;
        }
        let id = lists.fresh();
        lists.writers.insert(id, writer);
        Some(self.hold(StillList::Writers, id))
    }

    fn hold(&self, list: StillList, id: u64) -> StillHold {
        StillHold { files: self.clone(), list, id }
    }

    fn lists(&self) -> MutexGuard<'_, StillLists> {
        // Nothing panics while it is held.
        self.0.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StillLists {
    fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn kept_in(&self, roots: &[PathBuf]) -> Vec<PathBuf> {
        let all = self.kept.values().flat_map(|server| &server.files);
        let mut kept: Vec<PathBuf> =
            all.filter(|path| roots.iter().any(|root| path.starts_with(root))).cloned().collect();
        kept.sort();
        kept.dedup();
        kept
    }
}

impl Drop for StillHold {
    fn drop(&mut self) {
        let mut lists = self.files.lists();
        match self.list {
            StillList::Kept => drop(lists.kept.remove(&self.id)),
            StillList::Beginning => drop(lists.beginning.remove(&self.id)),
            StillList::Writers => drop(lists.writers.remove(&self.id)),
        }
        drop(lists);
        if self.list == StillList::Beginning {
            self.files.0.begun.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_begins_while_nobody_can_write_its_files_and_who_could_waits() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (work, file) = ([root.clone()], root.join("s.py"));
        std::fs::write(&file, "").unwrap();
        let still = StillFiles::default();
        let files = ServerFiles { files: vec![file.clone()], links: Vec::new() };
        let before = still.enter(&work, &still.kept_in(&work)).await.unwrap();
        let _elsewhere = still.enter(&[PathBuf::from("/o")], &[]).await.unwrap();
        let kept = still.keep(files.clone());
        assert!(still.begin(&files).is_none(), "who began before may write it");
        drop(before);
        // Who is kept from it neither waits nor is waited for.
        assert_eq!(still.kept_in(&work), files.files);
        let _covered = still.enter(&work, &files.files).await.unwrap();
        let begun = still.begin(&files).unwrap();
        let _more = still.enter(&work, &files.files).await.unwrap();
        let mut loose = std::pin::pin!(still.enter(&work, &[]));
        let is_waiting = futures_util::poll!(loose.as_mut()).is_pending();
        assert!(is_waiting, "it could write the file while the server reads it");
        drop(begun);
        let loose = loose.await.unwrap();
        assert!(still.begin(&files).is_none());
        drop(loose);
        // No mount keeps a link, nor a file that became one.
        let linked = ServerFiles { files: Vec::new(), links: vec![root.join("python")] };
        assert!(still.begin(&linked).is_none());
        std::fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("other", &file).unwrap();
        assert!(still.kept_in(&work).is_empty());
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, "").unwrap();
        drop(kept);
        assert!(still.kept_in(&work).is_empty(), "nobody starts it any more");
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_too_long_for_a_server_does_not_begin() {
        let still = StillFiles::default();
        let files = ServerFiles { files: vec![PathBuf::from("/w/s.py")], links: Vec::new() };
        let _begun = still.begin(&files).unwrap();
        assert!(still.enter(&[PathBuf::from("/w")], &[]).await.is_none());
    }
}
