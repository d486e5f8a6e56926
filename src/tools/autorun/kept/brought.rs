//! Which files at kept places did git bring, so that they are no program's doing?
//!
//! git writes what its index names. A program that git runs, by a hook or a setting, may write the index as well, and make objects. So only what
//! git had before any command of an agent counts, unless git runs no program, and nobody else is there to write.

use std::{collections::BTreeMap, fs, path::PathBuf, time::SystemTime};

use super::{
    super::states::{AutorunFileState, PlaceState},
    AutorunGuard, WatchedPlaces,
};
use crate::repositories::{BroughtObjects, brought_by_git};

/// A command line of git alone that may bring files of commits, by its words.
#[derive(Debug, Clone, Copy)]
pub struct GitBrings {
    /// git runs no program by it, so what is fetched or merged counts, too.
    pub may_be_new: bool,
    /// It may bring what the index does not name: of a stash, or of another commit.
    pub puts_back: bool,
}

impl AutorunGuard {
    /// Has what git brought count as there before, for this command and for those that go on beside it. Blocks.
    pub(super) fn leave_brought(&self) {
        let Some(brings) = self.watched.told.git else { return };
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
        let brought = brought_by_git(&self.watched.roots, &changed, objects);
        let brought: Vec<_> =
            brought.iter().map(|(file, digest)| (file.as_path(), Some(digest.as_str()))).collect();
        self.guards.allow_all(&brought);
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

#[cfg(test)]
mod tests;
