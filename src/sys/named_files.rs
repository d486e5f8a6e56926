//! The files that the owner's settings name: programs that nobody but the owner may change, and secrets that no agent may read.
//! One value that is swapped whole whenever the settings are read.

use std::{path::PathBuf, sync::Arc};

use super::current::HotSwap;

/// A cheap handle; all clones know the same.
#[derive(Clone)]
pub struct NamedFiles(Arc<HotSwap<NamedFileLists>>);

/// Absolute paths, as they are when the settings are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedFileLists {
    /// To be changed by nobody but the owner.
    pub programs: Vec<PathBuf>,
    /// The folders around programs, from which those load what nobody names.
    pub folders: Vec<PathBuf>,
    /// To be neither read nor changed.
    pub secrets: Vec<PathBuf>,
}

impl Default for NamedFiles {
    fn default() -> NamedFiles {
        NamedFiles(Arc::new(HotSwap::new(NamedFileLists::default())))
    }
}

impl std::fmt::Debug for NamedFiles {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("NamedFiles").field(&*self.0.get()).finish()
    }
}

impl PartialEq for NamedFiles {
    fn eq(&self, other: &NamedFiles) -> bool {
        *self.0.get() == *other.0.get()
    }
}

impl Eq for NamedFiles {}

impl NamedFiles {
    pub fn replace(&self, lists: NamedFileLists) {
        self.0.replace(lists);
    }

    /// To be changed by nobody but the owner.
    pub fn programs(&self) -> Vec<PathBuf> {
        self.0.get().programs.clone()
    }

    /// Folders in which nobody but the owner is to put anything unasked.
    pub fn folders(&self) -> Vec<PathBuf> {
        self.0.get().folders.clone()
    }

    /// To be neither read nor changed.
    pub fn secrets(&self) -> Vec<PathBuf> {
        self.0.get().secrets.clone()
    }
}
