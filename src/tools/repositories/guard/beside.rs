//! Who else watches over the same folders, and what was there before the first of them began?
//!
//! A command that begins while another goes on finds what that one has made so far. If it took this for a person's, it would put it
//! back when the other's end has taken it away; if it took it for its own, it would take away what the other was allowed to make. So it
//! leaves that to the other's end, and goes by what that left afterwards.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{GuardedSettings, WatchedFolders, WatchedState};
use crate::repositories::state::{BegunState, RepositoryState, WatchedRepository};

/// All that is watched over, so that whoever did harm is ended, whoever sees it. A cheap handle.
#[derive(Clone, Default)]
pub struct RepositoryGuards(Arc<KnownGuards>);

#[derive(Default)]
struct KnownGuards {
    /// Guards in the order in which they began.
    all: Mutex<Vec<Weak<WatchedFolders>>>,
    ended: AtomicU64,
}

/// The state of repositories that a command left, and how many had ended before.
pub(super) struct SettledState {
    number: u64,
    repositories: Vec<RepositoryState>,
}

/// Commands that began before, oldest first, and went on then.
#[derive(Default)]
pub(super) struct EarlierGuards(Vec<Arc<WatchedFolders>>);

impl RepositoryGuards {
    /// Takes one in. Answers those that began before it and may write where it may.
    pub(super) fn take_in(&self, watched: &Arc<WatchedFolders>) -> Vec<Arc<WatchedFolders>> {
        let mut all = self.0.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|it| it.strong_count() > 0);
        let earlier: Vec<_> =
            all.iter().filter_map(Weak::upgrade).filter(|it| it.is_around(&watched.paths)).collect();
        for it in &earlier {
            it.named_later().extend_from_slice(watched.settings.named());
        }
        all.push(Arc::downgrade(watched));
        earlier
    }

    /// Guards of what may write in one of these folders.
    pub(super) fn around(&self, paths: &[PathBuf]) -> Vec<Arc<WatchedFolders>> {
        let all = self.0.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter_map(Weak::upgrade).filter(|it| it.is_around(paths)).collect()
    }

    pub(super) fn settle(&self, repositories: Vec<RepositoryState>) -> SettledState {
        SettledState { number: self.0.ended.fetch_add(1, Ordering::Relaxed), repositories }
    }
}

impl std::fmt::Debug for RepositoryGuards {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("RepositoryGuards").finish_non_exhaustive()
    }
}

impl EarlierGuards {
    /// Takes note of those that still go on, and has the repositories count as they were before them.
    pub fn take_note(
        earlier: Vec<Arc<WatchedFolders>>,
        repositories: &mut [WatchedRepository],
    ) -> EarlierGuards {
        let mut before: Vec<RepositoryState> = Vec::new();
        let noted = |it: &Arc<WatchedFolders>| {
            let mut state = it.state();
            state.go_by_earlier();
            before.extend(state.changeable(it.may_write()).map(|it| it.state.clone()));
            state.settled.is_none()
        };
        let earlier = earlier.into_iter().filter(noted).collect();
        for repository in repositories {
            // The first that tells of it is the oldest.
            if let Some(oldest) = before.iter().find(|it| repository.state.is_of_same(it)) {
                repository.begun = Some(BegunState { state: repository.state.clone(), goes_on: true });
                repository.state.take_changeable(oldest);
            }
        }
        EarlierGuards(earlier)
    }

    /// Has the repositories count as those left them that have ended. Answers the settings that the words of those name that go on.
    pub fn go_by(&mut self, repositories: &mut [WatchedRepository]) -> Vec<String> {
        let (mut going_on, mut ended, mut named) = (Vec::new(), Vec::new(), Vec::new());
        for earlier in &self.0 {
            let state = earlier.state();
            match &state.settled {
                Some(settled) => {
                    ended.extend(settled.repositories.iter().map(|it| (settled.number, it.clone())));
                }
                None => {
                    going_on.extend(state.changeable(earlier.may_write()).map(|it| it.state.clone()));
                    named.extend(earlier.named());
                }
            }
        }
        // The last one that ended found what the others left.
        ended.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
        for repository in repositories {
            let Some(begun) = &mut repository.begun else { continue };
            begun.goes_on = going_on.iter().any(|it| begun.state.is_of_same(it));
            if !begun.goes_on
                && let Some((_, left)) = ended.iter().find(|(_, it)| repository.state.is_of_same(it))
            {
                repository.state.take_changeable(left);
            }
        }
        if going_on.is_empty() && named.is_empty() {
            self.0.clear();
        }
        named
    }
}

impl WatchedState {
    /// Repositories whose settings and hooks may be changed meanwhile. `may_write`: of those that were there, too.
    pub fn changeable(&self, may_write: bool) -> impl Iterator<Item = &WatchedRepository> {
        self.repositories.iter().filter(move |it| may_write || it.is_new)
    }

    /// Goes by what those left that began before. Answers the settings that the words of those name that go on.
    pub fn go_by_earlier(&mut self) -> Vec<String> {
        self.earlier.go_by(&mut self.repositories)
    }
}

impl WatchedFolders {
    fn is_around(&self, paths: &[PathBuf]) -> bool {
        let meets =
            |one: &PathBuf| paths.iter().any(|other| one.starts_with(other) || other.starts_with(one));
        self.paths.iter().any(meets)
    }

    /// Waits until one that begins has taken note. Note: held while the state of those is taken that began before, never of later ones,
    /// so none waits in a circle.
    pub(super) fn state(&self) -> MutexGuard<'_, WatchedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It may write settings and hooks of repositories that were there.
    pub(super) fn may_write(&self) -> bool {
        matches!(self.settings, GuardedSettings::Written { .. })
    }

    fn named_later(&self) -> MutexGuard<'_, Vec<String>> {
        self.named_later.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Settings that its own words name, or those of a command that began while it went on.
    pub(super) fn named(&self) -> Vec<String> {
        self.settings.named().iter().chain(self.named_later().iter()).cloned().collect()
    }
}
