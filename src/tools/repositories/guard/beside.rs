//! Who else watches over the same folders, and what was there before the first of them began?
//!
//! A command that begins while another goes on finds what that one has made so far. If it took this for a person's, it would put it
//! back when the other's end has taken it away.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use super::{GuardedSettings, WatchedFolders, WatchedState};
use crate::repositories::state::RepositoryState;

/// All that is watched over, so that whoever did harm is ended, whoever sees it. A cheap handle.
#[derive(Clone, Default)]
pub struct RepositoryGuards(Arc<Mutex<Vec<Weak<WatchedFolders>>>>);

impl RepositoryGuards {
    /// Takes one in. Answers those that began before it and may write where it may.
    pub(super) fn take_in(&self, watched: &Arc<WatchedFolders>) -> Vec<Arc<WatchedFolders>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|it| it.strong_count() > 0);
        let earlier =
            all.iter().filter_map(Weak::upgrade).filter(|it| it.is_around(&watched.paths)).collect();
        all.push(Arc::downgrade(watched));
        earlier
    }

    /// Guards of what may write in one of these folders.
    pub(super) fn around(&self, paths: &[PathBuf]) -> Vec<Arc<WatchedFolders>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter_map(Weak::upgrade).filter(|it| it.is_around(paths)).collect()
    }
}

impl std::fmt::Debug for RepositoryGuards {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("RepositoryGuards").finish_non_exhaustive()
    }
}

impl WatchedFolders {
    fn is_around(&self, paths: &[PathBuf]) -> bool {
        let meets =
            |one: &PathBuf| paths.iter().any(|other| one.starts_with(other) || other.starts_with(one));
        self.paths.iter().any(meets)
    }

    /// How repositories were before it began whose settings and hooks it may have changed since; nothing where it is over and has put
    /// them right. Waits until one that begins has taken note.
    pub(super) fn noted_of_changeable(&self) -> Vec<RepositoryState> {
        let may_write = matches!(self.settings, GuardedSettings::Written { .. });
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let WatchedState { repositories, is_over: false, .. } = &*state else { return Vec::new() };
        repositories.iter().filter(|it| may_write || it.is_new).map(|it| it.state.clone()).collect()
    }
}
