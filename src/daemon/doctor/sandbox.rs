//! What keeps the commands of agents in their place here? Told by trying to get out.

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use super::{super::state::DaemonContext, DoctorFinding};
use protocol::{CheckState, SandboxProfile};
use sandbox::{SandboxMechanism, SandboxProof, SandboxTrial, SandboxTrialPlaces, TEMPORARY};
use sys::ids;

pub(super) async fn check(state: &DaemonContext) -> DoctorFinding {
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
    let proof = state.commands.sandbox.prove(&places).await;
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
    let tried = format!("{} escape attempts, all blocked", trials.len());
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

/// Folders to try it in; gone when this is dropped.
struct SandboxProbeFolder(PathBuf);

impl SandboxProbeFolder {
    fn make() -> io::Result<SandboxProbeFolder> {
        let folder = std::env::temp_dir().join(format!("subagentd-doctor-{}", ids::fresh::<String>()));
        let make = |path: &Path| DirBuilder::new().mode(0o700).create(path);
        make(&folder)?;
        // A workspace is known by a path without links.
        let ground = SandboxProbeFolder(folder.canonicalize()?);
        for name in ["workspace", "outside", "temporary"] {
            make(&ground.0.join(name))?;
        }
        Ok(ground)
    }

    fn places(&self, state: &DaemonContext) -> SandboxTrialPlaces {
        // The home is what matters most; without one another folder has to do.
        let home = std::env::home_dir().filter(|home| home.is_dir());
        SandboxTrialPlaces {
            workspace: self.0.join("workspace"),
            outside: home.unwrap_or_else(|| self.0.join("outside")),
            socket: state.socket.get().cloned(),
            state: state.store.path().to_owned(),
            temporary: self.0.join("temporary"),
        }
    }
}

impl Drop for SandboxProbeFolder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, folder = %self.0.display(), "what was made to try the sandbox is left over");
        }
    }
}
