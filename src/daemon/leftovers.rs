//! What did a daemon leave that was killed, and that nothing points to any more?
//!
//! The folders of programs that ended with it, those in which it tried the sandbox, and those of sessions whose removal was
//! committed before their files were gone.

use std::{
    io,
    path::Path,
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use tokio_util::sync::CancellationToken;

use super::{alive, doctor};
use protocol::SessionId;
use store::EventStore;
use sys::{clock::Clock, tasks::TaskGroup};
use tools::{
    ArtifactFolder, AutorunGuards, CommandRuntime, OwnFiles, RepositoryNote, RepositoryNotes,
    TemporaryFolders,
};

/// A cheap handle of the places where leftovers may lie.
pub(super) struct Leftovers {
    temporary: TemporaryFolders,
    artifacts: ArtifactFolder,
    notes: RepositoryNotes,
    autorun: AutorunGuards,
}

impl Leftovers {
    pub fn of(state_dir: &Path, own_files: &OwnFiles) -> Leftovers {
        let (temporary, artifacts) = (TemporaryFolders::new(state_dir), own_files.artifacts().clone());
        let autorun = AutorunGuards::noting_in(state_dir);
        Leftovers { temporary, artifacts, notes: RepositoryNotes::new(state_dir), autorun }
    }

    /// Has commands leave nothing but what is found here.
    pub fn known_to(&self, commands: CommandRuntime) -> CommandRuntime {
        let commands = commands.with_temporary(self.temporary.clone()).with_notes(self.notes.clone());
        commands.with_autorun_guards(self.autorun.clone())
    }

    /// Takes away notes that count for nothing any more, until the daemon stops.
    pub fn attend_notes(&self, tasks: &TaskGroup, (clock, stop): (&Arc<dyn Clock>, &CancellationToken)) {
        tasks.spawn(
            "what takes away notes of repositories",
            self.notes.clone().attend(Arc::clone(clock), stop.clone()),
        );
    }

    /// Before any program is started. The store's lock says that no other daemon is at work there. What programs of agents did to
    /// repositories, and planted where other programs run it, when the daemon was killed is put right. `away`: the time since its last sign
    /// of life.
    pub async fn put_aside(&self, away: Option<Duration>) {
        let notes = self.notes.clone();
        match tokio::task::spawn_blocking(move || RepositoryNote::look_at_left(&notes)).await {
            Ok(done) => done.iter().for_each(|done| {
                tracing::warn!("the daemon ended while programs of agents went on, and one was not let have its way: {done}");
            }),
            Err(error) => tracing::error!(%error, "what programs of agents did to repositories is not looked at"),
        }
        // It may have been at work until the next sign was due, and for as long again where the machine was busy.
        let (seconds, _) = sys::clock::file_time();
        let now = UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
        let until = away.and_then(|away| now.checked_sub(away)).map(|last| last + 2 * alive::PERIOD);
        let (autorun, reports) = (self.autorun.clone(), self.notes.reports());
        match tokio::task::spawn_blocking(move || autorun.look_at_left(until, &reports)).await {
            Ok(done) => done.iter().for_each(|done| tracing::warn!("{done}")),
            Err(error) => {
                tracing::error!(%error, "what commands of agents planted when the daemon was killed is not looked at")
            }
        }
        let temporary = self.temporary.clone();
        let done = tokio::task::spawn_blocking(move || temporary.put_aside()).await;
        told(flattened(done), "what programs left before the last stop cannot be put aside");
    }

    /// Takes them away, which may take as long as there are files. Ends when the daemon stops.
    pub async fn remove(self, store: EventStore, closing: CancellationToken) {
        let temporary = self.temporary.clone();
        let removing = tokio::task::spawn_blocking(move || temporary.remove_left());
        tokio::select! { biased;
            () = closing.cancelled() => return,
            done = removing => told(flattened(done), "what programs left before the last stop cannot be taken away"),
        }
        let tried = tokio::task::spawn_blocking(doctor::remove_left);
        tokio::select! { biased;
            () = closing.cancelled() => return,
            done = tried => told(done.map_err(io::Error::from), "where the sandbox was tried is not looked for"),
        }
        let artifacts = self.artifacts.clone();
        let listed = tokio::task::spawn_blocking(move || artifacts.sessions()).await;
        let sessions = match listed.unwrap_or_else(|error| Err(error.into())) {
            Ok(sessions) => sessions,
            Err(error) => return told(Err(error), "the files of sessions cannot be listed"),
        };
        for session in sessions {
            // A session is in the log before anything of it is on the disk, so one that is not there was removed.
            match store.session(&session).await {
                Ok(None) if !closing.is_cancelled() => self.forget(session).await,
                Ok(_) => {}
                Err(error) => return tracing::warn!(%error, "leftovers of sessions are not looked for"),
            }
        }
    }

    async fn forget(&self, session: SessionId) {
        tracing::info!(%session, "takes away the files of a session that was removed");
        let artifacts = self.artifacts.clone();
        let done = tokio::task::spawn_blocking(move || artifacts.forget_session(&session)).await;
        told(flattened(done), "the files of a session that was removed cannot be taken away");
    }
}

fn flattened(done: Result<io::Result<()>, tokio::task::JoinError>) -> io::Result<()> {
    done.unwrap_or_else(|error| Err(error.into()))
}

fn told(done: io::Result<()>, problem: &'static str) {
    if let Err(error) = done {
        tracing::warn!(%error, "{problem}");
    }
}
