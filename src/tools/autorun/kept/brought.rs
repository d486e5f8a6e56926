//! Which files at kept places did git bring, so that they are no program's doing?
//!
//! git writes what its index names. A program that git runs, by a hook or a setting, may write the index as well, and make objects. So only what
//! git had before any command of an agent counts, unless git runs no program, and nobody else is there to write.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::{
    super::{
        direnv,
        states::{AutorunFileState, PlaceState},
    },
    AutorunGuard, WatchedPlaces,
};
use crate::repositories::{BroughtObjects, brought_by_git};

/// The file that direnv evaluates in a folder (direnv(1)).
const ENVRC: &str = ".envrc";

/// A command line of git alone that may bring files of commits, by its words.
#[derive(Debug, Clone, Copy)]
pub struct GitBrings {
    /// git runs no program by it, so what is fetched or merged counts, too.
    pub may_be_new: bool,
    /// It may bring what the index does not name: of a stash, or of another commit.
    pub puts_back: bool,
}

impl AutorunGuard {
    /// Has what git brought count as there before, for this command and for those that go on beside it. Answers those of these files that
    /// do not, with what they read. Blocks.
    pub(super) fn leave_brought(&self) -> BTreeMap<PathBuf, Vec<PathBuf>> {
        let Some(brings) = self.watched.told.git else { return BTreeMap::new() };
        let others = self.guards.others_begun_at(&self.watched);
        let (changed, is_beside) = {
            let noted = self.watched.noted();
            (self.watched.changed_since(&noted.before), others.is_some() || !noted.earlier.is_empty())
        };
        let since = self.watched.since();
        let since = others.map_or(since, |others| since.min(others));
        let is_new = brings.may_be_new && !is_beside;
        let others = if is_new { self.watched.begun_at } else { since };
        let objects =
            BroughtObjects { named: (!is_new).then_some(since), others: brings.puts_back.then_some(others) };
        let mut brought = brought_by_git(&self.watched.roots, &changed, objects);
        let withheld = self.watched.that_read_what_was_written(&brought, objects, since);
        brought.retain(|(file, _)| !withheld.contains_key(file));
        let brought: Vec<_> =
            brought.iter().map(|(file, digest)| (file.as_path(), Some(digest.as_str()))).collect();
        self.guards.allow_all(&brought);
        withheld
    }
}

impl WatchedPlaces {
    /// The second and nanosecond at which the session's commands began, or if nobody knows, this one.
    pub(super) fn since(&self) -> (i64, i64) {
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
        objects: BroughtObjects,
        since: (i64, i64),
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
            let mut own = brought_by_git(&self.roots, &before, BroughtObjects::older_than(since));
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
fn changed_at(file: &Path) -> Option<(i64, i64)> {
    fs::symlink_metadata(file).ok().map(|found| (found.ctime(), found.ctime_nsec()))
}

#[cfg(test)]
mod tests;
