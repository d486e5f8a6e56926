//! The folders in which agents work, or have worked: whatever lies there, an agent may have written.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

/// A cheap handle; all clones know the same. Folders are absolute and without links.
#[derive(Debug, Clone, Default)]
pub struct WorkedFolders(Arc<RwLock<BTreeSet<PathBuf>>>);

impl WorkedFolders {
    /// From now on agents may work in these, too.
    pub fn add(&self, folders: impl IntoIterator<Item = PathBuf>) {
        // Poisoned or not: each insertion leaves it whole.
        self.0.write().unwrap_or_else(PoisonError::into_inner).extend(folders);
    }

    /// From now on nothing there counts as theirs, unless it does by a folder above or below it.
    pub fn remove(&self, folder: &Path) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(folder);
    }

    /// The folder of agents that a path without links lies in, the innermost; the folder itself lies in none but those above it.
    pub fn holding(&self, path: &Path) -> Option<PathBuf> {
        let folders = self.0.read().unwrap_or_else(PoisonError::into_inner);
        path.ancestors().skip(1).find(|above| folders.contains(*above)).map(Path::to_owned)
    }

    /// All folders of agents that a path without links lies in, the innermost first.
    pub fn all_holding(&self, path: &Path) -> Vec<PathBuf> {
        let folders = self.0.read().unwrap_or_else(PoisonError::into_inner);
        path.ancestors().skip(1).filter(|above| folders.contains(*above)).map(Path::to_owned).collect()
    }

    /// True of a folder in which agents work as a whole.
    pub fn is_one(&self, folder: &Path) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).contains(folder)
    }

    /// All of them, in order.
    pub fn all(&self) -> Vec<PathBuf> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_lies_in_the_innermost_folder() {
        let worked = WorkedFolders::default();
        worked.clone().add(["/h/me", "/h/me/src/x"].map(PathBuf::from));
        for (path, expected) in [
            ("/h/me/a", Some("/h/me")),
            ("/h/me/src/x/y/z", Some("/h/me/src/x")),
            ("/h/me/src/x", Some("/h/me")),
            ("/h/me", None),
            ("/h/mew", None),
        ] {
            assert_eq!(worked.holding(Path::new(path)).as_deref(), expected.map(Path::new), "{path}");
        }
        assert!(worked.is_one(Path::new("/h/me")) && !worked.is_one(Path::new("/h/me/src")));
    }
}
