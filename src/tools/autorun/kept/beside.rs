//! Who else watches over the same places, what was there before the first of them began, and what has come since by somebody who may?
//!
//! A command that begins while another goes on finds what that one has planted so far. If it took this for a person's, it would keep it.
//! So it counts as not there before; but to put it aside is left to the other's end, as long as that goes on.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, Weak, atomic::Ordering},
};

use super::{
    super::further::FurtherPlaces, AutorunFileState, MOST_BYTES, PlaceState, WatchedPlaces, WritesTold,
};
use crate::{digest, workspace_reports::WorkspaceReports};

/// All files that are watched over for commands that go on. A cheap handle.
#[derive(Clone, Default)]
pub struct AutorunGuards(Arc<Mutex<Vec<Weak<WatchedPlaces>>>>);

/// Everything that was there before a command began.
#[derive(Default)]
pub(super) struct NotedPlaces {
    /// Each by its place, as it was before the first of those that go on; `None` = a mount keeps it.
    pub before: BTreeMap<PathBuf, Option<PlaceState>>,
    /// The places over which others watched, as they were when the command began.
    pub begun: BTreeMap<PathBuf, PlaceState>,
    /// Guards that began before and went on then, oldest first.
    pub earlier: Vec<Arc<WatchedPlaces>>,
}

/// An earlier guard's knowledge of a place.
pub(super) enum KnownBefore {
    /// Nothing of it: it does not watch over it, or is over.
    Unknown,
    /// It came since.
    Missing,
    Was(PlaceState),
}

/// A note of what was there before a program began that may write such files, git alone or a hook, so that what it does is not taken for
/// the doing of a command beside it.
pub struct AllowedChanges {
    places: WatchedPlaces,
    guards: AutorunGuards,
}

impl AutorunGuards {
    /// Takes one in. Answers those that began before it and go on.
    pub(super) fn take_in(&self, watched: &Arc<WatchedPlaces>) -> Vec<Arc<WatchedPlaces>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|it| it.strong_count() > 0);
        let earlier = all.iter().filter_map(Weak::upgrade).filter(|it| it.goes_on()).collect();
        all.push(Arc::downgrade(watched));
        earlier
    }

    fn all(&self) -> Vec<Arc<WatchedPlaces>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter_map(Weak::upgrade).filter(|it| it.goes_on()).collect()
    }

    /// True if nobody watches over anything.
    pub fn is_empty(&self) -> bool {
        self.all().is_empty()
    }

    /// The files that the words of commands name that go on.
    pub(super) fn named(&self) -> Vec<PathBuf> {
        self.all().iter().flat_map(|it| it.told.named.clone()).collect()
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

impl AllowedChanges {
    /// Takes note where others go on that watch over something. Blocks for a moment.
    pub fn over(roots: &[PathBuf], further: FurtherPlaces, guards: &AutorunGuards) -> AllowedChanges {
        let places = WatchedPlaces::of(roots, further, WritesTold::default(), WorkspaceReports::default());
        let mut bytes_left = MOST_BYTES;
        let state = |path: PathBuf| (path.clone(), Some(PlaceState::of(&path, &mut bytes_left)));
        let before = places.places(&[]).into_iter().map(|(path, _)| path).map(state).collect();
        places.noted().before = before;
        AllowedChanges { places, guards: guards.clone() }
    }
}

impl Drop for AllowedChanges {
    /// Has what changed since count as there before.
    fn drop(&mut self) {
        let noted = self.places.noted();
        for (path, _) in self.places.places(&[]) {
            let now = PlaceState::of(&path, &mut 0);
            let before = noted.before.get(&path).and_then(Option::as_ref);
            let is_same = |file: &PathBuf, now: &AutorunFileState| {
                before.and_then(|before| before.files.get(file)).is_some_and(|it| it.is_same(now, file))
            };
            let changed = now.files.iter().filter(|(file, now)| !is_same(file, now));
            changed.for_each(|(file, _)| self.guards.allow(file, None));
        }
    }
}

impl NotedPlaces {
    /// The knowledge of the oldest of those that still go on and watch over a place. Note: of those alone that began before, so none waits
    /// in a circle.
    pub fn known_before(&self, path: &Path) -> KnownBefore {
        let mut known = self.earlier.iter().map(|it| it.known_before(path));
        known.find(|known| !matches!(known, KnownBefore::Unknown)).unwrap_or(KnownBefore::Unknown)
    }
}

impl WatchedPlaces {
    fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::Acquire)
    }

    fn allow(&self, path: &Path, written: Option<&str>) {
        // Words that name a whole folder of the workspace say nothing of what is in it.
        if !self.roots.iter().any(|root| path.starts_with(root)) || self.roots.iter().any(|root| root == path)
        {
            return;
        }
        let is_met = |place: &Path| self.covers(path, place);
        let places: Vec<PathBuf> =
            self.places(&[]).into_iter().map(|(place, _)| place).filter(|place| is_met(place)).collect();
        let mut noted = self.noted();
        if !self.goes_on() {
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
    fn known_before(&self, path: &Path) -> KnownBefore {
        let noted = self.noted();
        // What its words name it may write.
        if !self.goes_on() || self.is_named(path, &[]) {
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
