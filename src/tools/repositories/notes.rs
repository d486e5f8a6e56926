//! What was there before programs of agents began? On the disk, so that a daemon that was killed meanwhile has its next one look at it.
//!
//! A note is named by what it says, and stays for a moment after the last program that it counts for, since the next one usually finds
//! the same. So most programs wait for no disk.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::known::KnownRepositories;
use crate::{
    artifacts::{make_folders, replace_durably},
    digest, work,
    workspace_reports::WorkspaceReports,
};
use sys::clock::Clock;

/// Below the state folder.
const FOLDER: &str = "repositories";
/// The time that a note stays that counts for nothing any more.
const STAYS: Duration = Duration::from_secs(3);
/// Bytes of a note that are read: settings of some repositories, and their hooks.
const LONGEST_NOTE: u64 = 64 << 20;
/// A note's name while it is written.
const DRAFT: &str = "draft";

/// The place where notes are kept, and what else is known of repositories over restarts. A cheap handle.
#[derive(Debug, Clone, Default)]
pub struct RepositoryNotes(Option<Arc<NotesFolder>>);

#[derive(Debug)]
struct NotesFolder {
    folder: PathBuf,
    /// The programs that each counts for, by name.
    notes: Mutex<HashMap<String, u32>>,
    unused: Notify,
    /// None stays any more.
    is_closing: AtomicBool,
    reports: WorkspaceReports,
    known: KnownRepositories,
}

/// A note that is on the disk until this is dropped, or a little longer.
pub struct NoteHold {
    notes: Arc<NotesFolder>,
    name: String,
}

impl RepositoryNotes {
    pub fn new(state_dir: &Path) -> RepositoryNotes {
        let reports = WorkspaceReports::new(state_dir);
        RepositoryNotes(Some(Arc::new(NotesFolder {
            known: KnownRepositories::kept_in(state_dir, reports.clone()),
            reports,
            folder: state_dir.join(FOLDER),
            notes: Mutex::default(),
            unused: Notify::new(),
            is_closing: AtomicBool::new(false),
        })))
    }

    /// The words that the person is told of repositories.
    pub fn reports(&self) -> WorkspaceReports {
        self.0.as_ref().map(|notes| notes.reports.clone()).unwrap_or_default()
    }

    /// Folders in which repositories were found.
    pub fn known(&self) -> KnownRepositories {
        self.0.as_ref().map(|notes| notes.known.clone()).unwrap_or_default()
    }

    /// Has it on the disk, durably. `None` = nobody keeps a state here. Blocks.
    pub fn keep(&self, text: &[u8]) -> io::Result<Option<NoteHold>> {
        let Some(notes) = &self.0 else { return Ok(None) };
        if LONGEST_NOTE < text.len() as u64 {
            return Err(io::Error::other(
                "there is more to be noted of them than would be read again after a crash",
            ));
        }
        let name = digest::of(text).replace(':', "-");
        // Note: held while it is written, so that nobody goes by one that is not there yet.
        let mut all = notes.notes();
        if !all.contains_key(&name) {
            make_folders(&notes.folder)?;
            replace_durably(&notes.folder.join(&name), &notes.folder.join(DRAFT), text)?;
        }
        *all.entry(name.clone()).or_default() += 1;
        Ok(Some(NoteHold { notes: Arc::clone(notes), name }))
    }

    /// Takes away notes that count for nothing any more, until the daemon stops.
    pub async fn attend(self, clock: Arc<dyn Clock>, stop: CancellationToken) {
        let Some(notes) = self.0 else { return };
        loop {
            tokio::select! { biased;
                () = stop.cancelled() => break,
                () = notes.unused.notified() => (),
            }
            tokio::select! { biased;
                () = stop.cancelled() => break,
                () = clock.sleep(STAYS) => (),
            }
            let notes = Arc::clone(&notes);
            work::aside(move || notes.remove_unused()).await;
        }
        notes.is_closing.store(true, Ordering::Release);
        work::aside(move || notes.remove_unused()).await;
    }

    /// Has `look` take the notes that a daemon left which was killed, each with what is said of all of them. Nothing may have been
    /// started yet. Answers what it says, and which are none. Blocks.
    pub fn take_left<N, A>(
        &self,
        read: impl Fn(&[u8]) -> Option<N>,
        of_all: impl FnOnce(&[N]) -> A,
        look: impl Fn(N, &A) -> Vec<String>,
    ) -> Vec<String> {
        let Some(notes) = &self.0 else { return Vec::new() };
        let (mut done, mut paths, mut left) = (Vec::new(), Vec::new(), Vec::new());
        for entry in fs::read_dir(&notes.folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let text = sys::regular_file::read_bounded(&path, LONGEST_NOTE);
            if let Some(note) = text.ok().flatten().and_then(|text| read(&text)) {
                left.push(note);
                paths.push(path);
                continue;
            }
            if entry.file_name() != DRAFT {
                done.push(format!("`{}` cannot be read", path.display()));
            }
            remove(&path);
        }
        let all = of_all(&left);
        for (note, path) in left.into_iter().zip(paths) {
            done.extend(look(note, &all));
            remove(&path);
        }
        done
    }
}

fn remove(note: &Path) {
    if let Err(error) = fs::remove_file(note) {
        tracing::warn!(path = %note.display(), %error, "what was noted of repositories cannot be removed");
    }
}

impl NotesFolder {
    fn notes(&self) -> MutexGuard<'_, HashMap<String, u32>> {
        // Nothing panics while it is held.
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove_unused(&self) {
        self.notes().retain(|name, programs| {
            if *programs == 0 {
                // One that stays is looked at once more than need be.
                let _gone = fs::remove_file(self.folder.join(name));
            }
            *programs != 0
        });
    }
}

impl Drop for NoteHold {
    fn drop(&mut self) {
        if let Some(programs) = self.notes.notes().get_mut(&self.name) {
            *programs -= 1;
        }
        match self.notes.is_closing.load(Ordering::Acquire) {
            true => self.notes.remove_unused(),
            false => self.notes.unused.notify_one(),
        }
    }
}
