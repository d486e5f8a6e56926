//! The files that the owner's settings name: programs that nobody but the owner may change, and secrets that no agent may read.
//! One value that is swapped whole whenever the settings are read.

use std::{path::PathBuf, sync::Arc};

use super::current::HotSwap;

/// A cheap handle; all clones know the same.
#[derive(Clone)]
pub struct NamedFiles(Arc<HotSwap<(Vec<PathBuf>, Vec<PathBuf>)>>);

impl Default for NamedFiles {
    fn default() -> NamedFiles {
        NamedFiles(Arc::new(HotSwap::new((Vec::new(), Vec::new()))))
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
    pub fn replace(&self, programs: Vec<PathBuf>, secrets: Vec<PathBuf>) {
        self.0.replace((programs, secrets));
    }

    /// To be changed by nobody but the owner.
    pub fn programs(&self) -> Vec<PathBuf> {
        self.0.get().0.clone()
    }

    /// To be neither read nor changed.
    pub fn secrets(&self) -> Vec<PathBuf> {
        self.0.get().1.clone()
    }
}
