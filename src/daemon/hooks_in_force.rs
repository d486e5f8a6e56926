//! Which hooks count when the daemon begins, what runs them, and where do they read what was said? (spec 08, "Hooks")

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use config::ConfigSources;
use hooks::{HookLibrary, HookRunner};
use project::ProjectReader;
use run::{HookConfiguration, HooksInForce, RunExecutor};
use store::EventStore;
use sys::{clock::Clock, tasks::TaskGroup};

/// Below the user's cache: what hooks read of what was said.
const TRANSCRIPTS: &str = "subagentd/transcripts";

/// Digits of the digest of a state folder: enough to tell those of one user apart.
const DIGITS: usize = 8;

/// The time after which a change of a file counts in runs that go on.
const LOOKED_EVERY: Duration = Duration::from_secs(1);

/// The place where hooks of all daemons of a user read what was said.
pub(super) fn transcripts(environment: &[(OsString, OsString)], home: &Path, state_dir: &Path) -> PathBuf {
    let named = |(name, _): &&(OsString, OsString)| name == "XDG_CACHE_HOME";
    let cache = environment.iter().find(named).map(|(_, value)| PathBuf::from(value));
    let cache = cache.into_iter().chain([home.join(".cache")]).find(|path| path.is_absolute());
    // Whoever has no home has the daemon's own folder.
    cache.unwrap_or_else(|| state_dir.to_owned()).join(TRANSCRIPTS)
}

/// The part of it that belongs to the daemon with this state folder, which knows which sessions there are.
fn own_transcripts(all: &Path, state_dir: &Path) -> PathBuf {
    let digest = trust::digest(state_dir.as_os_str().as_encoded_bytes());
    all.join(digest.trim_start_matches("sha256:").get(..DIGITS).unwrap_or("own"))
}

/// Takes away transcripts of sessions that were removed while the daemon was killed. Ends when the daemon stops.
async fn remove_left(hooks: HooksInForce, store: EventStore, closing: CancellationToken) {
    let kept = hooks.clone();
    let sessions = match tokio::task::spawn_blocking(move || kept.kept_sessions()).await {
        Ok(Ok(sessions)) => sessions,
        Ok(Err(error)) => return tracing::warn!(%error, "transcripts of removed sessions are not looked for"),
        Err(error) => return tracing::error!(%error, "transcripts of removed sessions are not looked for"),
    };
    for session in sessions {
        // A session is in the log before anything of it is on the disk, so one that is not there was removed.
        match store.session(&session).await {
            Ok(None) if !closing.is_cancelled() => {
                tracing::info!(%session, "takes away the transcripts of a session that was removed");
                let hooks = hooks.clone();
                let removing = tokio::task::spawn_blocking(move || hooks.forget_session(&session));
                if let Err(error) = removing.await.unwrap_or_else(|error| Err(error.into())) {
                    tracing::warn!(%error, "the transcripts of a session that was removed cannot be taken away");
                }
            }
            Ok(_) => {}
            Err(error) => {
                return tracing::warn!(%error, "transcripts of removed sessions are not looked for");
            }
        }
    }
}

/// Keeps a task that has runs look anew when a file of hooks is not what it was, until the daemon stops.
pub(super) fn keep(
    tasks: &TaskGroup,
    closing: &CancellationToken,
    (hooks, store): (&HooksInForce, &EventStore),
    (runs, clock): (&RunExecutor, &Arc<dyn Clock>),
) {
    let (hooks, runs, clock) = (hooks.clone(), runs.clone(), Arc::clone(clock));
    let removing = remove_left(hooks.clone(), store.clone(), closing.clone());
    tasks.spawn("what takes away transcripts of removed sessions", removing);
    let until = closing.clone();
    let following = move || follow(hooks.clone(), runs.clone(), Arc::clone(&clock), until.clone());
    tasks.keep("what looks for changed hooks", closing.clone(), following);
}

async fn follow(hooks: HooksInForce, runs: RunExecutor, clock: Arc<dyn Clock>, closing: CancellationToken) {
    loop {
        tokio::select! {
            () = closing.cancelled() => return,
            () = clock.sleep(LOOKED_EVERY) => (),
        }
        // A run that begins looks by itself.
        if runs.live_runs() == 0 {
            continue;
        }
        let hooks = hooks.clone();
        if let Err(error) = tokio::task::spawn_blocking(move || hooks.look_again()).await {
            tracing::warn!(%error, "the files of hooks could not be looked at");
        }
    }
}

/// The hooks in force when the daemon begins.
pub(super) fn in_force(
    configuration: HookConfiguration,
    (sources, state_dir): (&ConfigSources, &Path),
    projects: &ProjectReader,
    (library, runner): (&HookLibrary, &HookRunner),
) -> HooksInForce {
    let transcripts = transcripts(&sources.environment, &configuration.places.home, state_dir);
    let transcripts = own_transcripts(&transcripts, state_dir);
    let hooks =
        HooksInForce::new((library.clone(), runner.clone()), configuration, projects.clone(), transcripts);
    // Guards that are there now are in force, though no run has asked them yet: their file may be lost before the first one does.
    drop(hooks.read(&[], &[]));
    hooks
}
