//! What keeps the commands of agents in their place here? Told by trying to get out.

use std::{
    fs::{self, DirBuilder},
    io,
    os::{
        fd::OwnedFd,
        unix::fs::{DirBuilderExt as _, MetadataExt as _},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FlockOperation, Mode, OFlags, flock, openat},
    process::geteuid,
};

use super::{DaemonExamination, DoctorFinding};
use protocol::{CheckState, SandboxProfile};
use sandbox::{SandboxMechanism, SandboxProof, SandboxTrial, SandboxTrialPlaces, TEMPORARY};
use sys::{guarded::open_without_links, ids};

pub(super) async fn check(state: &DaemonExamination) -> DoctorFinding {
    let config = &state.settings.get().config.sandbox;
    let (profile, is_required) = (config.profile.value, config.required.value);
    if let (SandboxProfile::Full, true) = (profile, is_required) {
        let message = "no command can be run: `sandbox.required` is true, and with `sandbox.profile` `full` there is no sandbox";
        return DoctorFinding::failed(message)
            .with_hint("set `sandbox.profile` to `workspaceWrite`, or `sandbox.required` to false");
    }
    let ground = match tokio::task::spawn_blocking(SandboxProbeFolder::make).await {
        Ok(Ok(ground)) => ground,
        Ok(Err(error)) => return DoctorFinding::failed(format!("there is no folder to try it in: {error}")),
        Err(error) => return DoctorFinding::failed(format!("it could not be tried: {error}")),
    };
    let places = ground.places(state);
    let proof = state.programs.commands.sandbox.prove(&places).await;
    drop(ground);
    match proof {
        Err(problem) => DoctorFinding::failed(format!("it could not be tried: {problem}")),
        Ok(SandboxProof { mechanism, trials }) => {
            let finding = match judge(&mechanism, &trials, is_required) {
                DoctorFinding { state: CheckState::Ok, message, .. } if let Some(home) = unseen_home(&mechanism) => {
                    DoctorFinding::warning(format!(
                        "{message}; but your home {} lies below a folder of which commands of agents see an empty one of their own",
                        home.display()
                    ))
                    .with_hint(
                        "programs and settings in it are not found by commands; start the daemon with a HOME that does not lie below \
                         /tmp or /var/tmp",
                    )
                }
                finding => finding,
            };
            match profile {
                SandboxProfile::Full => DoctorFinding::warning(format!(
                    "commands of agents are not confined, since `sandbox.profile` is `full` ({})",
                    finding.message
                )),
                _ => finding,
            }
        }
    }
}

fn judge(mechanism: &SandboxMechanism, trials: &[SandboxTrial], is_required: bool) -> DoctorFinding {
    let open: Vec<&str> = trials.iter().filter(|it| it.refused.is_none()).map(|it| it.what).collect();
    if !open.is_empty() {
        let message = format!("{} lets commands {}", mechanism.name(), open.join(", "));
        return DoctorFinding::failed(message)
            .with_hint("do not let agents run commands unseen; report this with the kernel's version");
    }
    let tried = format!("self-test of the sandbox: all {} ways out of it are blocked", trials.len());
    match mechanism {
        SandboxMechanism::Bubblewrap { program } => {
            DoctorFinding::ok(format!("{}: {tried}", program.display()))
        }
        SandboxMechanism::Landlock { version, instead } => DoctorFinding::ok(format!(
            "Landlock (version {version}) and seccomp: {tried}"
        ))
        .with_hint(format!(
            "{instead}; with the package `bubblewrap` commands also get a /tmp and processes of their own"
        )),
        SandboxMechanism::Nothing(why) if is_required => {
            DoctorFinding::failed(format!("no command can be run: {why}"))
                .with_hint("install the package `bubblewrap`, or set `sandbox.required` to false")
        }
        SandboxMechanism::Nothing(why) => {
            DoctorFinding::warning(format!("commands of agents are not confined: {why}"))
                .with_hint("install the package `bubblewrap`")
        }
    }
}

/// The person's home, where a view of its own hides it from commands.
fn unseen_home(mechanism: &SandboxMechanism) -> Option<PathBuf> {
    if !matches!(mechanism, SandboxMechanism::Bubblewrap { .. }) {
        return None;
    }
    std::env::home_dir().filter(|home| TEMPORARY.iter().any(|temporary| home.starts_with(temporary)))
}

/// Folders to try it in; gone when this is dropped, and when the next one is made where a daemon was killed meanwhile.
struct SandboxProbeFolder {
    path: PathBuf,
    /// Locked while it is used.
    _lock: OwnedFd,
}

/// Beginning of the names of such folders, in the system's folder for what is temporary: a workspace cannot lie in the daemon's own state.
const PREFIX: &str = "subagentd-doctor-";
/// Entries of that folder that are looked at.
const MOST_ENTRIES: usize = 10_000;

impl SandboxProbeFolder {
    fn make() -> io::Result<SandboxProbeFolder> {
        remove_left();
        // Another daemon may take one for left over before it is locked.
        SandboxProbeFolder::try_make().or_else(|_| SandboxProbeFolder::try_make())
    }

    fn try_make() -> io::Result<SandboxProbeFolder> {
        let folder = std::env::temp_dir().join(format!("{PREFIX}{}", ids::fresh::<String>()));
        let make = |path: &Path| DirBuilder::new().mode(0o700).create(path);
        make(&folder)?;
        // A workspace is known by a path without links.
        let path = folder.canonicalize()?;
        let lock = locked(&path)?;
        let ground = SandboxProbeFolder { path, _lock: lock };
        for name in ["workspace", "outside", "temporary"] {
            make(&ground.path.join(name))?;
        }
        Ok(ground)
    }

    fn places(&self, state: &DaemonExamination) -> SandboxTrialPlaces {
        // The home is what matters most; without one another folder has to do.
        // One below a folder of which commands see another one of their own is not what they would write to.
        let is_seen = |home: &PathBuf| !TEMPORARY.iter().any(|temporary| home.starts_with(temporary));
        let home = std::env::home_dir().filter(|home| home.is_dir() && is_seen(home));
        SandboxTrialPlaces {
            workspace: self.path.join("workspace"),
            outside: home.unwrap_or_else(|| self.path.join("outside")),
            socket: state.life.socket.get().cloned(),
            state: state.store.path().to_owned(),
            temporary: self.path.join("temporary"),
        }
    }
}

impl Drop for SandboxProbeFolder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            tracing::warn!(%error, folder = %self.path.display(), "what was made to try the sandbox is left over");
        }
    }
}

/// A handle of a folder that nobody else has locked.
fn locked(folder: &Path) -> io::Result<OwnedFd> {
    let handle = open_without_links(folder)?;
    // What can be looked at only cannot be locked.
    let handle = openat(&handle, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    flock(&handle, FlockOperation::NonBlockingLockExclusive)?;
    Ok(handle)
}

/// Takes away what daemons of this user left that were killed while they tried. Blocks on the file system.
pub(in super::super) fn remove_left() {
    let entries = fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten().take(MOST_ENTRIES);
    for entry in entries.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes())) {
        let path = entry.path();
        let is_own =
            fs::symlink_metadata(&path).is_ok_and(|it| it.is_dir() && it.uid() == geteuid().as_raw());
        if !is_own {
            continue;
        }
        // One that is locked is somebody's who tries at this moment.
        if let Ok(_lock) = locked(&path)
            && let Err(error) = tools::remove_tree(&path)
        {
            tracing::warn!(%error, folder = %path.display(), "what a killed daemon tried the sandbox in is left over");
        }
    }
}
