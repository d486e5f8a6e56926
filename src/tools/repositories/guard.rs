//! What keeps the repositories of a workspace as they were while something of an agent's goes on there?
//!
//! What can be mounted over is; this looks at the rest, whenever something happens in the folders and at the end. What was there is
//! put back, what came is put aside where git would run something by it, and whoever did it is ended: a race of putting back would
//! be won by whoever goes on.

use std::{
    io,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::{
    below::RepositoriesBelow,
    notes::{NoteHold, RepositoryNotes},
    roots::{RootState, WatchedRoot},
    state::{MendedPart, MendedPlace, RepositoryState, WatchedRepository},
};
use sandbox::CommandEnder;
use sys::{
    folders::{FolderChange, FolderWatch, WatchScope},
    tasks::TaskGroup,
};

/// The task's name in the log.
const TASK: &str = "what watches repositories while a command runs";
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
    /// The workspace's folders.
    paths: Vec<PathBuf>,
    state: Mutex<WatchedState>,
    ending: Mutex<CommandEnding>,
}

struct WatchedState {
    roots: Vec<WatchedRoot>,
    repositories: Vec<WatchedRepository>,
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
        notes.take_left(|text| {
            serde_json::from_slice::<RepositoryNote>(text).ok().map(RepositoryNote::look_again)
        })
    }

    fn look_again(self) -> Vec<String> {
        let RepositoryNote { settings, roots, repositories } = self;
        let paths = roots.iter().map(|root| root.path.clone()).collect();
        let state = WatchedState {
            roots: roots.into_iter().filter_map(WatchedRoot::again).collect(),
            repositories: repositories.into_iter().filter_map(WatchedRepository::again).collect(),
        };
        let (state, ending) = (Mutex::new(state), Mutex::default());
        let watched = WatchedFolders { settings, paths, state, ending };
        watched.mend(true).iter().map(words).collect()
    }
}

impl RepositoryGuard {
    /// Takes note of the repositories that were found in these folders. Blocks for a moment.
    pub fn over(roots: &[PathBuf], found: &RepositoriesBelow, settings: GuardedSettings) -> RepositoryGuard {
        let state = WatchedState {
            roots: roots.iter().filter_map(|root| WatchedRoot::of(root)).collect(),
            repositories: found.repositories.iter().filter_map(WatchedRepository::of).collect(),
        };
        let (paths, state, ending) = (roots.to_vec(), Mutex::new(state), Mutex::default());
        RepositoryGuard {
            watched: Arc::new(WatchedFolders { settings, paths, state, ending }),
            stop: CancellationToken::new(),
            note: None,
        }
    }

    fn note(&self) -> RepositoryNote {
        let state = self.watched.state.lock().unwrap_or_else(PoisonError::into_inner);
        RepositoryNote {
            settings: self.watched.settings.clone(),
            roots: state.roots.iter().map(|root| root.state.clone()).collect(),
            repositories: state.repositories.iter().map(|it| it.state.clone()).collect(),
        }
    }

    /// Keeps a note of it on the disk until the last look is over, and is durable before this returns. Blocks.
    pub fn note_in(&mut self, notes: &RepositoryNotes) -> io::Result<()> {
        let text = serde_json::to_vec(&self.note()).map_err(io::Error::other)?;
        self.note = notes.keep(&text)?;
        Ok(())
    }

    /// Takes what is to be ended when something is changed that was there.
    pub fn begins(&self, ender: CommandEnder) {
        let mut ending = self.watched.ending.lock().unwrap_or_else(PoisonError::into_inner);
        match &ending.why {
            Some(why) => ender.end(why.clone()),
            None => ending.ender = Some(ender),
        }
    }

    /// Puts right at once what is changed from now on. Where nothing is told of changes, at the end.
    pub fn watch(&self, tasks: &TaskGroup) {
        let Ok(watch) = FolderWatch::new() else { return };
        let state = self.watched.state.lock().unwrap_or_else(PoisonError::into_inner);
        for repository in &state.repositories {
            // What cannot be watched is looked at in the end.
            let _unwatched = watch.add(&repository.state.path, WatchScope::Everything);
        }
        let mut plain = Vec::new();
        for root in &state.roots {
            plain.extend(watch.add(&root.state.path, WatchScope::Arrivals));
            watch_more(&watch, root);
        }
        drop(state);
        let Ok(waker) = watch.alarm() else { return };
        let (watched, stop) = (Arc::clone(&self.watched), self.stop.clone());
        tasks.spawn(TASK, async move {
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    rung = waker.rings() => if rung.is_err() { return },
                }
                let mut is_any = false;
                watch.take(|change| {
                    // Of a root, which others fill, these names alone.
                    is_any |= match change {
                        FolderChange::Entry(id, name) if plain.contains(&id) => {
                            OF_ROOT.iter().any(|of_root| name == *of_root)
                        }
                        _ => true,
                    };
                });
                if is_any {
                    watched.look(&watch);
                }
            }
        });
    }
}

/// Watches what is written into files by which a root may become a repository.
fn watch_more(watch: &FolderWatch, root: &WatchedRoot) {
    if root.may_become_bare() {
        let _unwatched = watch.add(&root.state.path, WatchScope::Everything);
    }
    if let Some(folder) = root.loose_folder() {
        let _unwatched = watch.add(&folder, WatchScope::Everything);
    }
}

impl Drop for RepositoryGuard {
    fn drop(&mut self) {
        self.stop.cancel();
        // Note: some calls of the system for each repository, which wait for nothing but a local disk.
        for mended in self.watched.mend(true) {
            tell(&mended);
        }
        drop(self.note.take());
    }
}

impl WatchedFolders {
    /// While it goes on.
    fn look(&self, watch: &FolderWatch) {
        let mended = self.mend(false);
        for mended in &mended {
            tell(mended);
        }
        if let Some(attack) = mended.iter().find(|it| it.is_attack) {
            self.end(format!(
                "it was ended, with all that it started: {}. git itself changes no such thing in this way; what was there is there again",
                words(attack)
            ));
        }
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for root in &state.roots {
            watch_more(watch, root);
        }
        for repository in state.repositories.iter().filter(|it| it.is_new) {
            let _unwatched = watch.add(&repository.state.path, WatchScope::Everything);
        }
    }

    fn end(&self, why: String) {
        let mut ending = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ender) = &ending.ender {
            ender.end(why.clone());
        }
        ending.why.get_or_insert(why);
    }

    fn mend(&self, is_end: bool) -> Vec<MendedPlace> {
        let named: &[String] = match &self.settings {
            GuardedSettings::Covered => &[],
            GuardedSettings::Written { named, .. } => named,
        };
        let is_due = match self.settings {
            GuardedSettings::Covered => false,
            GuardedSettings::Written { is_at_once, .. } => is_end || is_at_once,
        };
        // Nothing panics while it is held.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let WatchedState { roots, repositories } = &mut *state;
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
        mended
    }
}

/// Words for the log, and for whoever is told why something was ended.
fn words(mended: &MendedPlace) -> String {
    let path = mended.path.display();
    let what = match &mended.what {
        MendedPart::Way => format!("`{path}`, by which git tells which repository it has, was changed"),
        MendedPart::Setting(danger) => {
            format!("settings by which git runs something came into `{path}` ({danger})")
        }
        MendedPart::Hook => format!("`{path}`, a hook that git runs, was changed"),
        MendedPart::NewRepository => {
            format!("`{path}` made a repository of a folder, and git would run something by it")
        }
    };
    match &mended.done {
        Ok(()) => what,
        Err(error) => format!("{what}, and could not be put right: {error}"),
    }
}

fn tell(mended: &MendedPlace) {
    match &mended.done {
        Ok(()) => tracing::warn!("a program of an agent was not let have its way: {}", words(mended)),
        Err(_) => tracing::error!("a program of an agent did harm: {}", words(mended)),
    }
}

#[cfg(test)]
mod tests;
