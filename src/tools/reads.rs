//! What has the model of this run seen of which file? So that it does not edit what somebody changed behind its back.
//!
//! One memory belongs to one run: it lives in the run's [`PrepareContext`](super::PrepareContext), is shared by the tools
//! that read and those that write, and ends with it. After a restart of the daemon it is empty, and a file that is not in
//! it counts as never read: it may be edited, but only where the text stands there as given.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// Files remembered. A run that reads more begins to forget; what is forgotten counts as never read.
const MAX_FILES: usize = 10_000;

/// Digests of files as the model last saw or wrote them. A cheap handle.
#[derive(Debug, Clone, Default)]
pub struct SeenFileDigests {
    seen: Arc<Mutex<HashMap<PathBuf, String>>>,
}

impl SeenFileDigests {
    /// The model knows this content of the file at this absolute path.
    pub fn note(&self, path: PathBuf, digest: String) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if MAX_FILES <= seen.len() && !seen.contains_key(&path) {
            let forgotten = seen.keys().next().cloned();
            forgotten.and_then(|path| seen.remove(&path));
        }
        seen.insert(path, digest);
    }

    /// There is no such file any more, as the model knows.
    pub fn forget(&self, path: &Path) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).remove(path);
    }

    /// The digest of what the model knows of a file; `None` = nothing.
    pub fn of(&self, path: &Path) -> Option<String> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
    }
}
