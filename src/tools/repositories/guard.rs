//! What keeps the repositories of a workspace as they were while something of an agent's goes on there?
//!
//! What can be mounted over is; this looks at the rest, whenever something happens in the folders and at the end. What was there is
//! put back, what came is put aside where git would run something by it, and whoever did it is ended: a race of putting back would
//! be won by whoever goes on.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio_util::sync::CancellationToken;

use super::{
    below::RepositoriesBelow,
    notes::{NoteHold, RepositoryNotes},
    roots::{RootState, WatchedRoot, linked_repository},
    state::{MendedPlace, RepositoryState, WatchedRepository},
};
use crate::{work, workspace_reports::WorkspaceReports};
use sandbox::CommandEnder;
use sys::{
    folders::{FolderChange, FolderWatch, WatchId, WatchScope, WatchWaker},
    tasks::TaskGroup,
};

mod beside;
mod exchanged;
mod telling;

pub use beside::RepositoryGuards;
use beside::{EarlierGuards, SettledState};
use telling::{tell, words};

/// The task's name in the log.
const TASK: &str = "what watches repositories while a command runs";
/// The time between two looks where the system tells of no changes, or not of all: it may have no more watches left, as whoever uses up
/// what a user has of them is a program of that user's.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// A look that takes longer is followed by a pause as long as it.
const LONG_LOOK: Duration = Duration::from_millis(10);
/// Names in a root by which git may take it, or what is in it, for a repository.
const OF_ROOT: &[&str] =
    &[".git", "HEAD", "objects", "refs", "commondir", "config", "config.worktree", "hooks"];

/// The fate of settings and hooks that are there, at the end of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum GuardedSettings {
    /// It could not write them.
    Covered,
    /// It could: those of these names may run something.
    Written {
        named: Vec<String>,
        /// It is looked at while it goes on, too: nothing but git writes them.
        is_at_once: bool,
    },
}

impl GuardedSettings {
    fn named(&self) -> &[String] {
        match self {
            GuardedSettings::Covered => &[],
            GuardedSettings::Written { named, .. } => named,
        }
    }
}

/// Everything that was there before something of an agent's began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RepositoryNote {
    settings: GuardedSettings,
    roots: Vec<RootState>,
    repositories: Vec<RepositoryState>,
}

/// Watches over the repositories of some folders until it is dropped.
pub struct RepositoryGuard {
    watched: Arc<WatchedFolders>,
    stop: CancellationToken,
    /// Let go of after the last look.
    note: Option<NoteHold>,
}

struct WatchedFolders {
    settings: GuardedSettings,
    /// The others.
    guards: RepositoryGuards,
    /// Settings that the words of commands name which began while this one went on.
    named_later: Mutex<Vec<String>>,
    /// The place where the person is told what was done.
    reports: OnceLock<WorkspaceReports>,
    /// The workspace's folders.
    paths: Vec<PathBuf>,
    /// The moment before which what came to be is a person's.
    since: SystemTime,
    state: Mutex<WatchedState>,
    ending: Mutex<CommandEnding>,
}

#[derive(Default)]
struct WatchedState {
    roots: Vec<WatchedRoot>,
    repositories: Vec<WatchedRepository>,
    /// Those that were noted, and whose folders a new daemon did not find.
    gone: Vec<RepositoryState>,
    earlier: EarlierGuards,
    /// `Some` = the last look is over: what changes from now on is a person's doing.
    settled: Option<SettledState>,
}

#[derive(Default)]
struct CommandEnding {
    ender: Option<CommandEnder>,
    /// It is to be ended.
    why: Option<String>,
}

impl RepositoryNote {
    /// Puts right what programs did that a daemon did not live to see the end of. Answers in words what was done. Nothing may have been
    /// started yet. Blocks.
    pub fn look_at_left(notes: &RepositoryNotes) -> Vec<String> {
        let read = |text: &[u8]| serde_json::from_slice::<RepositoryNote>(text).ok();
        let named = |all: &[RepositoryNote]| -> Vec<String> {
            all.iter().flat_map(|it| it.settings.named()).cloned().collect()
        };
        let done = notes.take_left(read, named, |note, named| note.look_again(named));
        let told = |done: &String| {
            format!(
                "the daemon ended while commands or servers of agents went on, and what they had done since was put right at its next \
                 start, or what you had done yourself meanwhile: {done}; what was there lies beside it"
            )
        };
        notes.reports().add(done.iter().map(told));
        done
    }

    /// `named`: settings that others were allowed to change meanwhile.
    fn look_again(self, named: &[String]) -> Vec<String> {
        let RepositoryNote { settings, roots, repositories } = self;
        let paths: Vec<PathBuf> = roots.iter().map(|root| root.path.clone()).collect();
        let mut state = WatchedState {
            roots: roots.into_iter().filter_map(WatchedRoot::again).collect(),
            ..WatchedState::default()
        };
        for noted in repositories {
            match WatchedRepository::again(noted.clone()) {
                Some(repository) => state.repositories.push(repository),
                None => state.gone.push(noted),
            }
        }
        let (state, ending) = (Mutex::new(state), Mutex::default());
        let watched = WatchedFolders {
            settings,
            guards: RepositoryGuards::default(),
            named_later: Mutex::new(named.to_vec()),
            reports: OnceLock::new(),
            paths,
            since: files_now(),
            state,
            ending,
        };
        watched.mend(true).iter().map(words).collect()
    }
}

/// The time that a file would have that came to be now.
fn files_now() -> SystemTime {
    let (seconds, nanoseconds) = sys::clock::file_time();
    let seconds = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
    UNIX_EPOCH + seconds + Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or_default())
}

impl RepositoryGuard {
    /// Takes note of the repositories that were found in these folders, and has it known to the others; `since`: what came to be later
    /// may be an agent's work. Where another goes on that may have changed settings and hooks, they count as before that one. Blocks
    /// for a moment.
    pub fn over(
        roots: &[PathBuf],
        found: &RepositoriesBelow,
        settings: GuardedSettings,
        since: Option<SystemTime>,
        guards: &RepositoryGuards,
    ) -> RepositoryGuard {
        let watched = Arc::new(WatchedFolders {
            settings,
            guards: guards.clone(),
            named_later: Mutex::default(),
            reports: OnceLock::new(),
            paths: roots.to_vec(),
            since: since.unwrap_or_else(files_now),
            state: Mutex::default(),
            ending: Mutex::default(),
        });
        // Note: held from before it is known, so that whoever begins later waits for the note.
        let mut state = watched.state();
        let earlier = guards.take_in(&watched);
        // Where a repository lies below, or is led to from below, it is `.git` that says so.
        let pointed = found.pointers.iter().filter_map(|pointer| pointer.parent());
        let bases = found.repositories.iter().map(|it| it.base.as_path()).chain(pointed);
        let bases: BTreeSet<&Path> = bases.collect();
        let is_nested = |base: &&&Path| {
            !roots.iter().any(|root| root == **base)
                && !found.repositories.iter().any(|it| it.folder == **base)
        };
        let nested = bases.iter().filter(is_nested).filter_map(|base| WatchedRoot::nested(base));
        state.roots = roots.iter().filter_map(|root| WatchedRoot::of(root)).chain(nested).collect();
        state.repositories = found.repositories.iter().filter_map(WatchedRepository::of).collect();
        state.earlier = EarlierGuards::take_note(earlier, &mut state.repositories);
        drop(state);
        RepositoryGuard { watched, stop: CancellationToken::new(), note: None }
    }

    fn note(&self) -> RepositoryNote {
        let mut state = self.watched.state();
        let mut settings = self.watched.settings.clone();
        if let GuardedSettings::Written { named, .. } = &mut settings {
            named.extend(state.go_by_earlier());
        }
        RepositoryNote {
            settings,
            roots: state.roots.iter().map(|root| root.state.clone()).collect(),
            repositories: state.repositories.iter().map(|it| it.state.clone()).collect(),
        }
    }

    /// Keeps a note of it on the disk until the last look is over, and is durable before this returns. Blocks.
    pub fn note_in(&mut self, notes: &RepositoryNotes) -> io::Result<()> {
        let text = serde_json::to_vec(&self.note()).map_err(io::Error::other)?;
        self.note = notes.keep(&text)?;
        // It is told once.
        let _told = self.watched.reports.set(notes.reports());
        Ok(())
    }

    /// Takes what is to be ended when something is changed that was there.
    pub fn begins(&self, ender: CommandEnder) {
        let mut ending = self.watched.ending();
        match &ending.why {
            Some(why) => ender.end(why.clone()),
            None => ending.ender = Some(ender),
        }
    }

    /// Puts right at once what is changed from now on, or a moment later where nothing is told of changes.
    pub fn watch(&self, tasks: &TaskGroup) {
        let (watched, stop) = (Arc::clone(&self.watched), self.stop.clone());
        let mut watching = FolderWatching::begin(&watched);
        // What earlier commands of the session began is watched, too.
        watching.is_any = true;
        watching.is_due = true;
        tasks.spawn(TASK, async move {
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = std::future::ready(()), if std::mem::take(&mut watching.is_due) => (),
                    () = watching.rings() => (),
                    () = tokio::time::sleep(LOOK_EVERY), if !watching.is_whole => watching.is_any = true,
                }
                if !watching.has_change() {
                    continue;
                }
                let (looked, begun) = (Arc::clone(&watched), tokio::time::Instant::now());
                // An agent says how much there is to be read.
                let more = work::aside(move || looked.look()).await;
                watching.add_whole(&more);
                let took = begun.elapsed();
                if LONG_LOOK < took {
                    // Who has it look again and again does not keep a processor busy.
                    tokio::select! {
                        () = stop.cancelled() => return,
                        () = tokio::time::sleep(took) => (),
                    }
                }
            }
        });
    }
}

/// A watch that tells that something happened.
struct FolderWatching {
    /// `None` = nothing does.
    watch: Option<(FolderWatch, WatchWaker)>,
    /// Folders which others fill, so that a few names alone count.
    plain: Vec<WatchId>,
    /// All of it is told.
    is_whole: bool,
    is_any: bool,
    /// It is to be looked at once, whatever happens.
    is_due: bool,
}

impl FolderWatching {
    fn begin(watched: &WatchedFolders) -> FolderWatching {
        let watch = FolderWatch::new().and_then(|watch| watch.alarm().map(|waker| (watch, waker))).ok();
        let is_whole = watch.is_some();
        let mut watching =
            FolderWatching { watch, plain: Vec::new(), is_whole, is_any: false, is_due: false };
        let state = watched.state();
        for repository in &state.repositories {
            watching.add(&repository.state.path, WatchScope::Everything);
        }
        for root in &state.roots {
            let plain = watching.add(&root.state.path, WatchScope::Arrivals);
            watching.plain.extend(plain);
            watching.add_whole(&more_of(root));
        }
        watching
    }

    fn add(&mut self, folder: &Path, scope: WatchScope) -> Option<WatchId> {
        let added = self.watch.as_ref().map(|(watch, _)| watch.add(folder, scope));
        let id = added.and_then(Result::ok);
        self.is_whole &= id.is_some();
        id
    }

    fn add_whole(&mut self, folders: &[PathBuf]) {
        for folder in folders {
            // Which one it is counts for nothing: whatever happens there is looked at.
            let _id = self.add(folder, WatchScope::Everything);
        }
    }

    /// Completes when something happened; where nothing tells, never. Cancel safe.
    async fn rings(&mut self) {
        match &self.watch {
            Some((_, waker)) => {
                if waker.rings().await.is_err() {
                    (self.watch, self.is_whole, self.is_any) = (None, false, true);
                }
            }
            None => std::future::pending().await,
        }
    }

    /// True if something happened since the last time that is to be looked at.
    fn has_change(&mut self) -> bool {
        let mut is_any = std::mem::take(&mut self.is_any);
        if let Some((watch, _)) = &self.watch {
            watch.take(|change| {
                is_any |= match change {
                    FolderChange::Entry(id, name) if self.plain.contains(&id) => {
                        OF_ROOT.iter().any(|of_root| name == *of_root)
                    }
                    _ => true,
                };
            });
        }
        is_any
    }
}

/// Folders in which something may be written by which a root, or a folder that its index names, becomes a repository.
fn more_of(root: &WatchedRoot) -> Vec<PathBuf> {
    let itself = root.may_become_bare().then(|| root.state.path.clone());
    let links = root.known_gitlinks().iter().filter(|folder| folder.is_dir()).cloned();
    let hooks = root.loose_folder().map(|folder| folder.join("hooks")).filter(|hooks| hooks.is_dir());
    itself.into_iter().chain(root.loose_folder()).chain(hooks).chain(links).collect()
}

impl Drop for RepositoryGuard {
    fn drop(&mut self) {
        self.stop.cancel();
        let mut end = || {
            self.watched.tell(&self.watched.mend(true));
            // Others may know it for longer.
            self.watched.ending().ender = None;
            drop(self.note.take());
        };
        // Whoever dropped it goes on when it is done; others of its thread need not wait.
        let is_beside_others =
            Handle::try_current().is_ok_and(|it| it.runtime_flavor() == RuntimeFlavor::MultiThread);
        if is_beside_others { tokio::task::block_in_place(end) } else { end() }
    }
}

impl WatchedFolders {
    /// While it goes on. Answers which folders are to be watched from now on. Blocks.
    fn look(&self) -> Vec<PathBuf> {
        let mended = self.mend(false);
        self.tell(&mended);
        if let Some(attack) = mended.iter().find(|it| it.is_attack) {
            let why = format!(
                "it was ended, with all that it started: {}. git itself changes no such thing in this way; what was there is there again",
                words(attack)
            );
            // Nobody knows which of those that go on there it was.
            self.guards.around(&self.paths).iter().for_each(|other| other.end(why.clone()));
            self.end(why);
        }
        let state = self.state();
        let mut more: Vec<PathBuf> = state.roots.iter().flat_map(more_of).collect();
        for repository in state.repositories.iter().filter(|it| it.is_new) {
            let path = &repository.state.path;
            more.push(path.clone());
            more.extend(Some(path.join("hooks")).filter(|hooks| hooks.is_dir()));
        }
        more
    }

    /// Has the log and the person know of it.
    fn tell(&self, mended: &[MendedPlace]) {
        mended.iter().for_each(tell);
        if let Some(reports) = self.reports.get() {
            reports.add(mended.iter().map(|it| format!("a command or server of an agent: {}", words(it))));
        }
    }

    fn ending(&self) -> MutexGuard<'_, CommandEnding> {
        self.ending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, why: String) {
        let mut ending = self.ending();
        if let Some(ender) = &ending.ender {
            ender.end(why.clone());
        }
        ending.why.get_or_insert(why);
    }

    fn mend(&self, is_end: bool) -> Vec<MendedPlace> {
        let is_due = match self.settings {
            GuardedSettings::Covered => false,
            GuardedSettings::Written { is_at_once, .. } => is_end || is_at_once,
        };
        // Nothing panics while it is held.
        let mut state = self.state();
        // One that was begun before the end may come to it late.
        if state.settled.is_some() {
            return Vec::new();
        }
        let mut named = self.named();
        named.extend(state.go_by_earlier());
        let named = named.as_slice();
        let WatchedState { roots, repositories, .. } = &mut *state;
        let mut mended = Vec::new();
        repositories.retain_mut(|repository| {
            mended.extend(repository.put_way_back(&self.paths));
            if !repository.is_new && !is_due {
                return true;
            }
            let settings = repository.put_settings_back(named, &self.paths);
            // A folder of the workspace that became one itself is none again.
            let is_undone =
                repository.is_new && !settings.is_empty() && self.paths.contains(&repository.state.path);
            mended.extend(settings);
            if is_undone {
                mended.extend(roots.iter_mut().find_map(|root| root.is_bare_no_more(&repository.state.path)));
            }
            !is_undone
        });
        for root in roots.iter_mut() {
            let look = root.look(&self.paths, named);
            mended.extend(look.mended);
            repositories.extend(look.new.into_iter().filter_map(WatchedRepository::anew));
        }
        for folder in roots.iter_mut().flat_map(WatchedRoot::gitlinks) {
            match linked_repository(&folder, self.since, named) {
                // As it is from now on.
                Some(Ok(new)) if !repositories.iter().any(|it| it.state.path == new.path) => {
                    repositories.extend(WatchedRepository::anew(new));
                }
                Some(Err(put_aside)) => mended.push(put_aside),
                Some(Ok(_)) | None => (),
            }
        }
        if is_due {
            mended.extend(state.put_exchanged_right(named, &self.paths));
        }
        if is_end {
            let left = std::mem::take(&mut *state).repositories.into_iter();
            let left = left.filter(|it| self.may_write() || it.is_new).map(|it| it.settled(named));
            state.settled = Some(self.guards.settle(left.collect()));
        }
        mended
    }
}

#[cfg(test)]
mod tests;
