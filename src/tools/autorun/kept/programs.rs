//! Which programs had agents run in a folder, and when; what did git fetch there from elsewhere; and what stood at kept places?
//!
//! Everything is known of this daemon's time alone. What came while no such program ran is a person's.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    super::states::{AutorunFileStamp, AutorunFileState, PlaceState},
    MOST_BYTES,
};
use crate::{
    digest,
    repositories::{FileTime, ObjectTimes},
};
use sys::clock;

/// Programs that are remembered one by one; of more, the oldest ones that have ended count as one that ran all the time.
const MOST_PROGRAMS: usize = 4_096;
/// Times of fetches that are remembered.
const MOST_FETCHES: usize = 1_000;
/// Contents that are remembered, of all places.
const MOST_CONTENTS: usize = 20_000;
/// The time of what has not ended.
const NEVER: FileTime = (i64::MAX, 0);
/// Bits of a mode by which a file is run.
const RUN: u32 = 0o111;

/// A kind of program that an agent has run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentProgram {
    /// A line of git alone by which git runs no other program.
    Git,
    /// A server that agents call. It goes on for as long as anybody wants.
    Server,
    Other,
}

/// A program that goes on until this is dropped.
pub struct RunningProgram {
    programs: AgentPrograms,
    number: u64,
}

/// Everything that is remembered of them. A cheap handle.
#[derive(Clone, Default)]
pub struct AgentPrograms(Arc<Mutex<KnownPrograms>>);

struct KnownPrograms {
    started: FileTime,
    next: u64,
    ran: Vec<RanProgram>,
    fetched: Vec<(PathBuf, FileTime, FileTime)>,
    contents: BTreeMap<PathBuf, KnownContents>,
    count: usize,
}

/// The contents that a file has had, in short, and the state in which it was read last.
#[derive(Default)]
struct KnownContents {
    last: Option<AutorunFileStamp>,
    all: BTreeSet<String>,
}

struct RanProgram {
    number: u64,
    kind: AgentProgram,
    roots: Vec<PathBuf>,
    began: FileTime,
    ended: FileTime,
}

impl Default for KnownPrograms {
    fn default() -> KnownPrograms {
        KnownPrograms {
            started: clock::file_time(),
            next: 0,
            ran: Vec::new(),
            fetched: Vec::new(),
            contents: BTreeMap::new(),
            count: 0,
        }
    }
}

impl KnownPrograms {
    /// Those in folders that are these, lie in them or hold them.
    fn in_roots<'a>(&'a self, roots: &'a [PathBuf]) -> impl Iterator<Item = &'a RanProgram> {
        self.ran.iter().filter(move |ran| ran.roots.iter().any(|it| is_around_any(it, roots)))
    }

    /// Invariant: what is forgotten of one program makes nothing count that did not.
    fn forget_some(&mut self) {
        if self.ran.len() <= MOST_PROGRAMS {
            return;
        }
        let mut ended = self.ran.extract_if(.., |ran| ran.ended != NEVER);
        let (Some(mut one), Some(other)) = (ended.next(), ended.next()) else { return };
        drop(ended);
        one.kind = AgentProgram::Other;
        one.began = one.began.min(other.began);
        one.ended = one.ended.max(other.ended);
        one.roots
            .extend(other.roots.into_iter().filter(|root| !one.roots.contains(root)).collect::<Vec<_>>());
        self.ran.insert(0, one);
    }
}

fn is_around_any(folder: &Path, roots: &[PathBuf]) -> bool {
    roots.iter().any(|root| root.starts_with(folder) || folder.starts_with(root))
}

impl AgentPrograms {
    /// Has everybody know that a program begins that writes in these folders.
    pub fn begins(&self, roots: &[PathBuf], kind: AgentProgram) -> RunningProgram {
        let mut known = self.known();
        let number = known.next;
        known.next += 1;
        let began = clock::file_time();
        known.ran.push(RanProgram { number, kind, roots: roots.to_vec(), began, ended: NEVER });
        known.forget_some();
        RunningProgram { programs: self.clone(), number }
    }

    fn known(&self) -> MutexGuard<'_, KnownPrograms> {
        // Nothing panics while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The times at which objects came in repositories of these folders that no program of an agent made. `since`: when the session began.
    pub(super) fn object_times(&self, roots: &[PathBuf], since: FileTime) -> ObjectTimes {
        let known = self.known();
        let times = |is_server: bool| {
            let ran = known.in_roots(roots).filter(|ran| (ran.kind == AgentProgram::Server) == is_server);
            ran.map(|ran| (ran.began, ran.ended)).collect()
        };
        let fetched = known.fetched.iter().filter(|(root, ..)| roots.contains(root));
        ObjectTimes {
            before: since,
            after: Some(known.started),
            made: times(false),
            served: times(true),
            brought: fetched.map(|(_, from, to)| (*from, *to)).collect(),
        }
    }

    /// True if another program than this one has gone on in these folders since then, but for servers.
    pub(super) fn has_beside(&self, own: &RunningProgram, roots: &[PathBuf], since: FileTime) -> bool {
        let known = self.known();
        let mut others = known.in_roots(roots).filter(|ran| ran.number != own.number && since < ran.ended);
        others.any(|ran| ran.kind != AgentProgram::Server)
    }

    /// True if anything but git has gone on in these folders in any session, but for servers.
    pub(super) fn has_run_others(&self, roots: &[PathBuf]) -> bool {
        self.known().in_roots(roots).any(|ran| ran.kind == AgentProgram::Other)
    }

    /// Takes in that from then to then nothing came into a root's repository but what git fetched from elsewhere.
    pub(super) fn note_fetched(&self, root: &Path, from: FileTime, to: FileTime) {
        let mut known = self.known();
        known.fetched.push((root.to_owned(), from, to));
        let surplus = known.fetched.len().saturating_sub(MOST_FETCHES);
        known.fetched.drain(..surplus);
    }

    /// Takes in what stands at places where nobody but a person could have put it, or somebody who was allowed to. Of `others` it
    /// is read the first time alone.
    pub(super) fn note_contents(&self, places: &BTreeMap<PathBuf, Option<PlaceState>>, others: &[PathBuf]) {
        let mut known = self.known();
        let is_known = |place: &PathBuf| {
            known.contents.range(place.clone()..).next().is_some_and(|(file, _)| file.starts_with(place))
        };
        let mut bytes_left = MOST_BYTES;
        let unknown = others.iter().filter(|place| !is_known(place));
        let unknown: Vec<PlaceState> = unknown.map(|place| PlaceState::of(place, &mut bytes_left)).collect();
        let files = places.values().flatten().chain(&unknown).flat_map(|state| &state.files);
        for (file, state) in files {
            if MOST_CONTENTS <= known.count {
                return;
            }
            let stamp = state.stamp();
            let contents = known.contents.entry(file.clone()).or_default();
            // Perf: of what is as it was, no digest is made.
            if stamp.is_some() && contents.last == stamp {
                continue;
            }
            let Some(content) = content(state) else { continue };
            contents.last = stamp;
            let is_new = contents.all.insert(content);
            known.count += usize::from(is_new);
        }
    }

    /// True if a file has what stood there before.
    pub(super) fn knows_content(&self, file: &Path, state: &AutorunFileState) -> bool {
        let Some(content) = content(state) else { return false };
        self.known().contents.get(file).is_some_and(|known| known.all.contains(&content))
    }
}

/// A file's kind and bytes in short.
fn content(state: &AutorunFileState) -> Option<String> {
    let kind = match state {
        AutorunFileState::Link(_) => "link",
        AutorunFileState::File { mode, .. } if mode & RUN != 0 => "run",
        AutorunFileState::File { .. } => "file",
    };
    state.bytes().map(|bytes| format!("{kind} {}", digest::of(bytes)))
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        let mut known = self.programs.known();
        if let Some(ran) = known.ran.iter_mut().find(|ran| ran.number == self.number) {
            ran.ended = clock::file_time();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_many_programs_the_oldest_count_as_one_that_ran_all_the_time() {
        let programs = AgentPrograms::default();
        let root = PathBuf::from("/w");
        let roots = std::slice::from_ref(&root);
        let first = programs.begins(roots, AgentProgram::Git);
        let began = programs.object_times(roots, (0, 0)).made[0].0;
        drop(first);
        let goes_on = programs.begins(&[root.join("below")], AgentProgram::Git);
        for _ in 0..MOST_PROGRAMS + 10 {
            drop(programs.begins(&["/elsewhere".into()], AgentProgram::Git));
        }
        assert!(programs.known().ran.len() <= MOST_PROGRAMS);
        let times = programs.object_times(roots, (0, 0));
        assert!(times.made.iter().any(|(from, to)| *from == began && *to != NEVER), "{:?}", times.made);
        assert!(times.made.iter().any(|(_, to)| *to == NEVER), "{:?}", times.made);
        assert!(programs.has_run_others(roots), "nobody knows any more");
        drop(goes_on);
        assert!(programs.object_times(&["/other".into()], (0, 0)).made.is_empty());
    }
}
