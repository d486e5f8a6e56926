//! Which files at kept places did git bring, so that they are no program's doing?
//!
//! git writes what its index names. An agent's command, and a program that git runs by a hook or a setting, may write the index as well, and
//! make objects. So only objects count that none of them can have made: those of before the session, those that came while none of them ran, and
//! those that git fetched from elsewhere; and they count where such a commit has them, not at another path. What stood at the very place before
//! may come back as well.

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::{
    super::{
        direnv,
        states::{AutorunFileState, LONGEST, PlaceState},
    },
    AutorunGuard, WatchedPlaces,
};
use crate::{
    digest,
    repositories::{BroughtObjects, FileTime, ObjectTimes, brought_by_git, fetched_at},
};
use sys::clock;

/// The file that direnv evaluates in a folder (direnv(1)).
const ENVRC: &str = ".envrc";

/// A command line of git alone that may bring files of commits, by its words.
#[derive(Debug, Clone, Copy)]
pub struct GitBrings {
    /// git runs no program by it.
    pub is_plain: bool,
    /// It begins with fetching from where no agent's command writes. Only where it is plain.
    pub fetches: bool,
    /// It may bring what the index does not name: of a stash, or of another commit.
    pub puts_back: bool,
}

impl AutorunGuard {
    /// Has what git brought count as there before, for this command and for those that go on beside it. Answers those of these files that
    /// do not, with what they read. Blocks.
    pub(super) fn leave_brought(&self) -> BTreeMap<PathBuf, Vec<PathBuf>> {
        let Some(brings) = self.watched.told.git else { return BTreeMap::new() };
        let (changed, has_earlier) = {
            let noted = self.watched.noted();
            (self.watched.changed_since(&noted.before), !noted.earlier.is_empty())
        };
        let (roots, since) = (&self.watched.roots, self.watched.since());
        let mut times = self.guards.programs.object_times(roots, since);
        let is_alone = brings.is_plain
            && !has_earlier
            && !self.guards.programs.has_beside(&self.program, roots, self.watched.begun_at);
        if is_alone && brings.fetches {
            times.brought.extend(self.fetched_meanwhile());
        }
        // What git merges then, it merges of what counts.
        let merged = (is_alone && !self.guards.programs.has_run_others(roots))
            .then(|| (self.watched.begun_at, clock::file_time_at_most()));
        let stashed = &self.watched.stashed;
        let objects = BroughtObjects { times: &times, merged, others: brings.puts_back, stashed };
        let mut brought = brought_by_git(roots, &changed, objects);
        brought.extend(self.known_among(&changed, &brought));
        let withheld = self.watched.that_read_what_was_written(&brought, objects, since);
        brought.retain(|(file, _)| !withheld.contains_key(file));
        let brought: Vec<_> =
            brought.iter().map(|(file, digest)| (file.as_path(), Some(digest.as_str()))).collect();
        self.guards.allow_all(&brought);
        withheld
    }

    /// The files among them that have what stood there before, but for those that were `brought`, with the digests of their bytes.
    fn known_among(&self, changed: &[PathBuf], brought: &[(PathBuf, String)]) -> Vec<(PathBuf, String)> {
        let brought: HashSet<&PathBuf> = brought.iter().map(|(file, _)| file).collect();
        let others = changed.iter().filter(|file| !brought.contains(file));
        let known = others.filter_map(|file| {
            let found = PlaceState::of(file, &mut { LONGEST }).files.remove(file);
            let state = found.filter(|state| self.guards.programs.knows_content(file, state))?;
            Some((file.clone(), digest::of(state.bytes()?)))
        });
        known.collect()
    }

    /// The times, since this line of git alone began, at which nothing came but what was fetched.
    fn fetched_meanwhile(&self) -> Vec<(FileTime, FileTime)> {
        let begun_at = self.watched.begun_at;
        let mut times = Vec::new();
        for root in &self.watched.roots {
            if let Some(fetched) = fetched_at(root).filter(|fetched| begun_at < *fetched) {
                self.guards.programs.note_fetched(root, begun_at, fetched);
                times.push((begun_at, fetched));
            }
        }
        times
    }
}

impl WatchedPlaces {
    /// The second and nanosecond at which the session's commands began, or if nobody knows, this one.
    pub(super) fn since(&self) -> FileTime {
        let born = fs::symlink_metadata(&self.session).and_then(|session| session.created()).ok();
        let born = born.and_then(|born| born.duration_since(SystemTime::UNIX_EPOCH).ok());
        let seconds = |born: std::time::Duration| i64::try_from(born.as_secs()).unwrap_or(0);
        let born = born.map(|born| (seconds(born), i64::from(born.subsec_nanos())));
        born.map_or(self.begun_at, |born| born.min(self.begun_at))
    }

    /// The files among those that git brought by which direnv evaluates what somebody wrote since then, with what that is. While such a file
    /// was away, nobody watched over what it reads; and direnv asks nobody about a file that it knows. Blocks.
    pub(super) fn that_read_what_was_written(
        &self,
        brought: &[(PathBuf, String)],
        objects: BroughtObjects<'_>,
        since: FileTime,
    ) -> BTreeMap<PathBuf, Vec<PathBuf>> {
        let mut found = BTreeMap::new();
        for root in &self.roots {
            let envrc = root.join(ENVRC);
            if !brought.iter().any(|(file, _)| *file == envrc) {
                continue;
            }
            let read = direnv::named_texts(root).into_iter().map(|place| place.path);
            let mut written: Vec<PathBuf> = read
                .filter(|file| *file != envrc && !self.watches(file) && !self.is_named(file, &[]))
                .filter(|file| changed_at(file).is_some_and(|changed| since <= changed))
                .collect();
            // What was there before a line of git began, that line did not bring.
            let (before, meanwhile): (Vec<PathBuf>, Vec<PathBuf>) = written
                .iter()
                .cloned()
                .partition(|file| changed_at(file).is_some_and(|at| at < self.begun_at));
            let times = ObjectTimes::older_than(since);
            let mut own = brought_by_git(&self.roots, &before, BroughtObjects::of_index(&times));
            own.extend(brought_by_git(&self.roots, &meanwhile, objects));
            written.retain(|file| !own.iter().any(|(own, _)| own == file));
            written.dedup();
            if !written.is_empty() {
                found.insert(envrc, written);
            }
        }
        found
    }

    /// The files at its places that are not what they were. Blocks.
    pub(super) fn changed_since(&self, before: &BTreeMap<PathBuf, Option<PlaceState>>) -> Vec<PathBuf> {
        let mut changed = Vec::new();
        for (path, _) in self.places(&[]) {
            let before = match before.get(&path) {
                // A mount keeps it.
                Some(None) => continue,
                before => before.and_then(Option::as_ref),
            };
            let is_same = |file: &PathBuf, now: &AutorunFileState| {
                before.and_then(|before| before.files.get(file)).is_some_and(|it| it.is_same(now, file))
            };
            let now = PlaceState::of(&path, &mut 0).files.into_iter();
            changed.extend(now.filter(|(file, now)| !is_same(file, now)).map(|(file, _)| file));
        }
        changed
    }
}

/// The second and nanosecond at which something of the file was changed for the last time. Nobody sets it.
fn changed_at(file: &Path) -> Option<FileTime> {
    fs::symlink_metadata(file).ok().map(|found| (found.ctime(), found.ctime_nsec()))
}

#[cfg(test)]
mod tests;
