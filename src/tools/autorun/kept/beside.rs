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
    super::hard_links::FileOfHome,
    AutorunFileState, PlaceState, WatchedPlaces,
    mounts::MountPoint,
    notes::{AutorunNoteFile, AutorunNotes},
    of_home::NotedFileOfHome,
    programs::{AgentProgram, AgentPrograms, RunningProgram},
    second_names,
};
use crate::{digest, repositories::LONGEST_BROUGHT};
use sys::regular_file;

/// All files that are watched over for commands that go on. A cheap handle.
#[derive(Clone, Default)]
pub struct AutorunGuards {
    going_on: Arc<Mutex<Vec<Weak<WatchedPlaces>>>>,
    pub(super) notes: AutorunNotes,
    pub(super) programs: AgentPrograms,
    /// The words that the next command of each session tells, by the session's folder for what is temporary.
    pub(super) left: Arc<Mutex<BTreeMap<PathBuf, Vec<String>>>>,
}

/// Everything that was there before a command began.
#[derive(Default)]
pub(super) struct NotedPlaces {
    /// Each by its place, as it was before the first of those that go on; `None` = a mount keeps it.
    pub before: BTreeMap<PathBuf, Option<PlaceState>>,
    /// Files in places that mounts keep which have further names, as they were before the first of those that go on.
    pub second_names: BTreeMap<PathBuf, AutorunFileState>,
    /// Files of the home that have names in the workspace, as they were before the first of those that go on.
    pub of_home: BTreeMap<PathBuf, NotedFileOfHome>,
    /// The places over which others watched, as they were when the command began.
    pub begun: BTreeMap<PathBuf, PlaceState>,
    /// Guards that began before and went on then, oldest first.
    pub earlier: Vec<Arc<WatchedPlaces>>,
    /// The places that mounts keep, as they were when the command began.
    pub mounted: BTreeMap<PathBuf, MountPoint>,
    /// The note of all this on the disk.
    pub note: Option<AutorunNoteFile>,
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
    /// The guards of a daemon that keeps its state there, in which notes are left for the next one.
    pub fn noting_in(state_dir: &Path) -> AutorunGuards {
        AutorunGuards { notes: AutorunNotes::new(state_dir), ..AutorunGuards::default() }
    }

    /// Takes one in. Answers those that began before it and go on.
    pub(super) fn take_in(&self, watched: &Arc<WatchedPlaces>) -> Vec<Arc<WatchedPlaces>> {
        let mut all = self.going_on.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|it| it.strong_count() > 0);
        let earlier = all.iter().filter_map(Weak::upgrade).filter(|it| it.goes_on()).collect();
        all.push(Arc::downgrade(watched));
        earlier
    }

    fn all(&self) -> Vec<Arc<WatchedPlaces>> {
        let all = self.going_on.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter_map(Weak::upgrade).filter(|it| it.goes_on()).collect()
    }

    /// Has everybody know that a program begins that writes in these folders.
    pub fn program_begins(&self, roots: &[PathBuf], kind: AgentProgram) -> RunningProgram {
        self.programs.begins(roots, kind)
    }

    /// Has those who go on know that git begins beside them, and may remove files.
    pub fn git_begins(&self) {
        self.all().iter().for_each(|it| it.has_git_beside.store(true, Ordering::Release));
    }

    /// The files that the words of commands name that go on.
    pub(super) fn named(&self) -> Vec<PathBuf> {
        self.all().iter().flat_map(|it| it.told.named.clone()).collect()
    }

    /// Has what is at this path by now count as there before, for all commands that go on: whoever wrote it was allowed to by this name.
    /// `written`: the digest of what was written, so that nothing else counts. Blocks.
    pub fn allow(&self, path: &Path, written: Option<&str>) {
        self.allow_all(&[(path, written)]);
    }

    /// The same of many.
    pub(super) fn allow_all(&self, written: &[(&Path, Option<&str>)]) {
        self.all().iter().for_each(|it| it.allow(written));
    }
}

impl std::fmt::Debug for AutorunGuards {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("AutorunGuards").finish_non_exhaustive()
    }
}

impl NotedPlaces {
    /// The knowledge of the oldest of those that still go on and watch over a place. Note: of those alone that began before, so none waits
    /// in a circle.
    pub fn known_before(&self, path: &Path) -> KnownBefore {
        let mut known = self.earlier.iter().map(|it| it.known_before(path));
        known.find(|known| !matches!(known, KnownBefore::Unknown)).unwrap_or(KnownBefore::Unknown)
    }

    /// Has what lies in a place at a path, or around it, count as there before. `written`: the digest of what may count.
    fn take_anew(&mut self, place: &PathBuf, path: &Path, written: Option<&str>) {
        let path = if path.starts_with(place) { path } else { place.as_path() };
        let mounted = self.mounted.get(place);
        // Another file has come in its place, and over that one there is no mount.
        let is_open = mounted.is_some() && MountPoint::at(place).as_ref() != mounted;
        let before = self.before.entry(place.clone()).or_insert_with(|| Some(PlaceState::default()));
        if is_open && before.is_none() {
            *before = Some(PlaceState::default());
        }
        let Some(state) = before else { return };
        state.take_anew(path);
        // Somebody may have put something else there since. What is read now is no newer than the stamp, or that is another one at the end.
        let is_other = |file: &Path, state: &AutorunFileState| {
            let read = || regular_file::read_bounded(file, LONGEST_BROUGHT).ok().flatten();
            written.is_some_and(|written| match state.bytes() {
                Some(bytes) => digest::of(bytes) != written,
                None => read().is_none_or(|bytes| digest::of(&bytes) != written),
            })
        };
        if state.files.get(path).is_some_and(|state| is_other(path, state)) {
            state.files.remove(path);
        }
    }

    /// Takes these files in, each as the oldest of those knows it that still go on.
    pub fn note_second_names(&mut self, found: BTreeMap<PathBuf, AutorunFileState>) {
        let of_earlier = |file: &Path| {
            let mut earlier = self.earlier.iter().filter(|it| it.goes_on() && !it.is_named(file, &[]));
            earlier.find_map(|it| it.noted().second_names.get(file).cloned())
        };
        let found = found.into_iter().map(|(file, state)| {
            let state = of_earlier(&file).unwrap_or(state);
            (file, state)
        });
        self.second_names = found.collect();
    }

    /// Takes these files of the home in, each as the oldest of those knows it that still go on.
    pub fn note_files_of_home(&mut self, files: &[FileOfHome], bytes_left: &mut u64) {
        let of_earlier = |path: &Path| {
            let mut earlier = self.earlier.iter().filter(|it| it.goes_on());
            earlier.find_map(|it| it.noted().of_home.get(path).map(|file| file.before().clone()))
        };
        let found = files.iter().filter_map(|file| {
            let noted = NotedFileOfHome::of(file, of_earlier(&file.path), bytes_left)?;
            Some((file.path.clone(), noted))
        });
        self.of_home = found.collect();
    }
}

impl WatchedPlaces {
    fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::Acquire)
    }

    fn allow(&self, written: &[(&Path, Option<&str>)]) {
        // Words that name a whole folder of the workspace say nothing of what is in it.
        let is_below = |path: &Path| self.roots.iter().any(|root| path.starts_with(root) && path != root);
        let written: Vec<_> = written.iter().filter(|(path, _)| is_below(path)).collect();
        if written.is_empty() {
            return;
        }
        let all: Vec<PathBuf> = self.places(&[]).into_iter().map(|(place, _)| place).collect();
        let mut noted = self.noted();
        if !self.goes_on() {
            return;
        }
        let mut is_any = false;
        for (path, written) in written {
            second_names::take_anew(&mut noted.second_names, path, *written);
            noted.of_home.values_mut().for_each(|file| file.take_anew(path, *written));
            let is_of = |place: &&PathBuf| path.starts_with(place) || self.covers(path, place);
            for place in all.iter().filter(is_of) {
                is_any = true;
                noted.take_anew(place, path, *written);
            }
        }
        if is_any && let Err(error) = self.note(&mut noted) {
            tracing::warn!(%error, "if the daemon is killed now, a file that may stay is put aside");
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
