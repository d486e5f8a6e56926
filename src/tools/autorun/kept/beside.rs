//! Who else watches over the same places, what was there before the first of them began, and what has come since by somebody who may?
//!
//! A command that begins while another goes on finds what that one has planted so far. If it took this for a person's, it would keep it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, Weak},
};

use super::{AutorunFileState, PlaceState, WatchedPlaces};
use crate::digest;

/// All files that are watched over for commands that go on. A cheap handle.
#[derive(Clone, Default)]
pub struct AutorunGuards(Arc<Mutex<Vec<Weak<WatchedPlaces>>>>);

/// Everything that was there before a command began.
#[derive(Default)]
pub(super) struct NotedPlaces {
    /// Each by its place; `None` = a mount keeps it.
    pub before: BTreeMap<PathBuf, Option<PlaceState>>,
    /// The last look is over: what changes from now on is somebody else's doing.
    pub is_over: bool,
}

/// An earlier guard's knowledge of a place.
pub(super) enum KnownBefore {
    /// Nothing of it: it does not watch over it, or is over.
    Unknown,
    /// It came since.
    Missing,
    Was(PlaceState),
}

impl AutorunGuards {
    /// Takes one in. Answers those that began before it.
    pub(super) fn take_in(&self, watched: &Arc<WatchedPlaces>) -> Vec<Arc<WatchedPlaces>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|it| it.strong_count() > 0);
        let earlier = all.iter().filter_map(Weak::upgrade).collect();
        all.push(Arc::downgrade(watched));
        earlier
    }

    fn all(&self) -> Vec<Arc<WatchedPlaces>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter_map(Weak::upgrade).collect()
    }

    /// True if nobody watches over anything.
    pub fn is_empty(&self) -> bool {
        self.all().is_empty()
    }

    /// Has what is at this path by now count as there before, for all commands that go on: whoever wrote it was allowed to by this name.
    /// `written`: the digest of what was written, so that nothing else counts. Blocks.
    pub fn allow(&self, path: &Path, written: Option<&str>) {
        self.all().iter().for_each(|it| it.allow(path, written));
    }
}

impl std::fmt::Debug for AutorunGuards {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("AutorunGuards").finish_non_exhaustive()
    }
}

impl WatchedPlaces {
    fn allow(&self, path: &Path, written: Option<&str>) {
        if !self.roots.iter().any(|root| path.starts_with(root)) {
            return;
        }
        let is_met = |place: &Path| path.starts_with(place) || place.starts_with(path);
        let places: Vec<PathBuf> =
            self.places().into_iter().map(|(place, _)| place).filter(|place| is_met(place)).collect();
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.is_over {
            return;
        }
        for place in places {
            let path = if path.starts_with(&place) { path } else { place.as_path() };
            let Some(state) =
                noted.before.entry(place.clone()).or_insert_with(|| Some(PlaceState::default()))
            else {
                continue;
            };
            state.take_anew(path);
            let is_other = |state: &AutorunFileState| match (state, written) {
                (AutorunFileState::File { bytes: Some(bytes), .. }, Some(written)) => {
                    digest::of(bytes) != written
                }
                _ => false,
            };
            state.files.retain(|file, state| file != path || !is_other(state));
        }
    }

    /// Waits until one that begins has taken note.
    pub(super) fn known_before(&self, path: &Path) -> KnownBefore {
        let noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        // What its words name it may write.
        if noted.is_over || self.is_named(path) {
            return KnownBefore::Unknown;
        }
        match path.ancestors().find_map(|place| noted.before.get(place)) {
            Some(None) => KnownBefore::Unknown,
            Some(Some(state)) => state.below(path).map_or(KnownBefore::Missing, KnownBefore::Was),
            None if self.watches(path) => KnownBefore::Missing,
            None => KnownBefore::Unknown,
        }
    }
}
