//! What may a command touch that an agent runs, and how is it started so that it touches nothing else? (spec 11)
//!
//! A command gets a warden ([`sys::warden`]), and around it what this system has: bubblewrap, which gives it a view
//! of its own of files, processes and network; else Landlock and seccomp, which refuse. Which one it is, is found out by
//! trying, not by looking for a program. The same rules hold for both: the workspace and a temporary folder can be written,
//! the rest can be read, secrets and what is the daemon's own cannot, and there is no network unless somebody allowed it.

use std::{path::PathBuf, sync::Arc};

use tokio::sync::OnceCell;

use protocol::SandboxProfile;
use sys::{
    children::ChildProcesses,
    guarded::FileIdentity,
    warden::{CommandLimits, FileAccess, FixedPlace, SocketAccess, TerminalSize, WardenOrder},
};

mod allowed;
mod bubblewrap;
mod environment;
mod hidden;
mod named;
mod own_program;
mod proof;
mod running;
mod spare;
mod stairs;
mod walls;

pub use environment::{CommandEnvironment, MARKER};
pub use hidden::{HiddenPlaces, TEMPORARY, secrets, secrets_elsewhere, secrets_of_system};
pub use named::{NamedCommandParts, NamedPathError};
pub use proof::{SandboxProof, SandboxTrial, SandboxTrialPlaces};
pub use running::{CommandEnder, CommandHandle, CommandStartError, KeptBeside, RunningCommand};

use own_program::OwnProgram;
use running::IdleWarden;
use spare::SpareWarden;

/// What this daemon confines commands with. A cheap handle.
#[derive(Debug, Clone)]
pub struct Sandbox(Arc<SandboxInner>);

#[derive(Debug)]
struct SandboxInner {
    /// `None` = commands cannot be run.
    warden: Option<OwnProgram>,
    hidden: HiddenPlaces,
    children: ChildProcesses,
    mechanism: OnceCell<SandboxMechanism>,
    spare: SpareWarden,
}

/// By what commands are confined on this system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SandboxMechanism {
    Bubblewrap {
        program: PathBuf,
    },
    Landlock {
        /// The kernel's version of it; more is refused with each.
        version: u32,
        /// The reason why it is not bubblewrap.
        instead: String,
    },
    /// There is nothing; why.
    Nothing(String),
}

impl SandboxMechanism {
    /// For people and models.
    pub fn name(&self) -> &'static str {
        match self {
            SandboxMechanism::Bubblewrap { .. } => "bubblewrap",
            SandboxMechanism::Landlock { .. } => "Landlock",
            SandboxMechanism::Nothing(_) => "none",
        }
    }
}

/// What a command is allowed, by settings and agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SandboxRules {
    pub profile: SandboxProfile,
    /// True if it reaches other machines, and programs on this one.
    pub network: bool,
    /// Without a sandbox nothing is run.
    pub required: bool,
    pub limits: CommandLimits,
}

/// A command to be started.
#[derive(Debug, Clone)]
pub struct CommandLaunch {
    /// A program and its arguments.
    pub words: Vec<String>,
    /// What settings name of it, which is seen where it lies; by default nothing.
    pub named: NamedCommandParts,
    /// Absolute.
    pub directory: PathBuf,
    pub environment: CommandEnvironment,
    /// The workspace's folders: absolute, without links.
    pub roots: Vec<PathBuf>,
    /// What they are, of those that somebody holds open: another folder in the place of one is refused. Of others counts what
    /// they are when the command is started.
    pub known_roots: Vec<(PathBuf, FileIdentity)>,
    /// Of the session; it is there. Where the mechanism can, it is `/tmp`.
    pub temporary: PathBuf,
    /// What is readable although it lies in what is hidden.
    pub readable: Vec<PathBuf>,
    /// A folder of the program's own, which it has as it has the roots although it lies in what is hidden: absolute, without links.
    pub own_data: Option<PathBuf>,
    /// What cannot be written although it lies in a root: existing paths without links. Where the mechanism has no way to take
    /// back what it allowed (Landlock), it can, unless nothing new is made in the folder around it anyway.
    pub read_only: Vec<PathBuf>,
    /// Places that stay where they are although they and what lies in them can be written, where the mechanism can see to that: existing paths
    /// without links.
    pub stays: Vec<PathBuf>,
    /// Socket files that it may connect to, and folders with such in them.
    pub sockets: Vec<PathBuf>,
    pub rules: SandboxRules,
    pub terminal: Option<TerminalSize>,
    /// What it reads from its standard input, where it has no terminal.
    pub input: Vec<u8>,
}

impl CommandLaunch {
    /// Everything that is readable beside the roots. A folder with a root in it is none: the root is not to be covered by it.
    fn readable_alone(&self) -> impl Iterator<Item = &PathBuf> {
        self.readable.iter().filter(|path| !self.roots.iter().any(|root| root.starts_with(path)))
    }

    /// What is readable, where it really lies. In a root, where a command may have put a link, it is what it is called or nothing.
    fn really_readable(&self) -> impl Iterator<Item = PathBuf> {
        let is_in_root = |path: &PathBuf| self.roots.iter().any(|root| path.starts_with(root));
        let holds_root = |path: &PathBuf| self.roots.iter().any(|root| root.starts_with(path));
        self.readable.iter().filter_map(move |path| {
            let real = path.canonicalize().ok().filter(|real| !holds_root(real))?;
            (real == *path || !is_in_root(path)).then_some(real)
        })
    }
}

impl Sandbox {
    /// `warden`: this daemon's own program. It is opened here, and what lies there later is not what is started.
    pub fn new(warden: PathBuf, hidden: HiddenPlaces, children: ChildProcesses) -> Sandbox {
        Sandbox(Arc::new(SandboxInner {
            warden: OwnProgram::open(&warden),
            hidden,
            children,
            mechanism: OnceCell::new(),
            spare: SpareWarden::default(),
        }))
    }

    /// One that runs nothing: for judging calls, and for tests of what needs no command.
    pub fn none() -> Sandbox {
        let mechanism =
            OnceCell::new_with(Some(SandboxMechanism::Nothing("no command can be run here".to_owned())));
        let (hidden, children) = (HiddenPlaces::default(), ChildProcesses::default());
        Sandbox(Arc::new(SandboxInner {
            warden: None,
            hidden,
            children,
            mechanism,
            spare: SpareWarden::default(),
        }))
    }

    /// One that has just this mechanism, to try it where a better one is there.
    pub fn with(warden: PathBuf, hidden: HiddenPlaces, mechanism: SandboxMechanism) -> Sandbox {
        let (children, mechanism) = (ChildProcesses::default(), OnceCell::new_with(Some(mechanism)));
        Sandbox(Arc::new(SandboxInner {
            warden: OwnProgram::open(&warden),
            hidden,
            children,
            mechanism,
            spare: SpareWarden::default(),
        }))
    }

    /// What is kept from commands.
    pub fn hidden(&self) -> &HiddenPlaces {
        &self.0.hidden
    }

    /// What commands are confined with; the first time it is tried out.
    pub async fn mechanism(&self) -> &SandboxMechanism {
        self.0.mechanism.get_or_init(|| proof::find(self)).await
    }

    /// What was found out, if it was tried.
    pub fn known_mechanism(&self) -> Option<&SandboxMechanism> {
        self.0.mechanism.get()
    }

    /// The folders below `/tmp` that a command sees of what settings name for it there, where it has a `/tmp` of its own. Empty
    /// where nothing is named there, where it sees what everybody sees, and before it is known which of both. Blocks on the file system.
    pub fn seen_below_temporary(&self, launch: &CommandLaunch) -> Vec<PathBuf> {
        let is_view = matches!(self.known_mechanism(), Some(SandboxMechanism::Bubblewrap { .. }));
        match is_view && launch.rules.profile != SandboxProfile::Full {
            true => named::seen_below_temporary(launch, &self.0.hidden.present()),
            false => Vec::new(),
        }
    }

    /// Starts a command, as closely confined as its rules want.
    pub async fn start(&self, launch: CommandLaunch) -> Result<RunningCommand, CommandStartError> {
        let mechanism = match launch.rules.profile {
            SandboxProfile::Full => None,
            SandboxProfile::ReadOnly | SandboxProfile::WorkspaceWrite => Some(self.mechanism().await),
        };
        if launch.rules.required
            && !matches!(mechanism, Some(it) if !matches!(it, SandboxMechanism::Nothing(_)))
        {
            return Err(CommandStartError::Required(match mechanism {
                Some(SandboxMechanism::Nothing(why)) => why.clone(),
                _ => "the profile is `full`".to_owned(),
            }));
        }
        self.start_with(launch, mechanism).await
    }

    async fn start_with(
        &self,
        launch: CommandLaunch,
        mechanism: Option<&SandboxMechanism>,
    ) -> Result<RunningCommand, CommandStartError> {
        let warden = self.0.warden.as_ref().ok_or(CommandStartError::NoWarden)?.path();
        let launch = launch.with_real_sockets().await?;
        let (files, fixed, sockets) = match mechanism {
            Some(SandboxMechanism::Bubblewrap { program }) => {
                // What it sees is made for this one command, so no spare one can have it.
                let (idle, fixed, seen) = self.hire_inside(program.clone(), launch.clone(), warden).await?;
                let order = WardenOrder {
                    seen: Some(seen),
                    ..launch.order(None, fixed, SocketAccess::Internet, true)
                };
                return idle.run((order, &launch.input), mechanism).await;
            }
            Some(SandboxMechanism::Landlock { .. }) => {
                let (hidden, for_files) = (self.0.hidden.clone(), launch.clone());
                let looked = tokio::task::spawn_blocking(move || {
                    let fixed = for_files.fixed_roots(false)?;
                    Ok((allowed::files(&for_files, &hidden), fixed))
                });
                let looked: Result<(FileAccess, Vec<FixedPlace>), CommandStartError> =
                    looked.await.map_err(|_| CommandStartError::NoWarden)?;
                let (files, fixed) = looked?;
                let sockets = if launch.rules.network { SocketAccess::Internet } else { SocketAccess::None };
                (Some(files), fixed, sockets)
            }
            Some(SandboxMechanism::Nothing(_)) | None => (None, Vec::new(), SocketAccess::All),
        };
        let order = launch.order(files, fixed, sockets, false);
        let idle = match self.0.spare.take() {
            Some(idle) => idle,
            None => self.hire(warden.clone()).await?,
        };
        let running = idle.run((order, &launch.input), mechanism).await;
        self.have_a_spare(warden);
        running
    }

    /// A warden in a view of its own.
    async fn hire_inside(
        &self,
        program: PathBuf,
        launch: CommandLaunch,
        warden: PathBuf,
    ) -> Result<(IdleWarden, Vec<FixedPlace>, Vec<PathBuf>), CommandStartError> {
        let (children, hidden) = (self.0.children.clone(), self.0.hidden.clone());
        hired(move || {
            let view = bubblewrap::view(&launch, &hidden, &program, &warden)?;
            Ok((IdleWarden::hire(&children, &program, &view.arguments)?, view.fixed, view.seen))
        })
        .await
    }

    async fn hire(&self, warden: PathBuf) -> Result<IdleWarden, CommandStartError> {
        let children = self.0.children.clone();
        hired(move || IdleWarden::hire(&children, &warden, &running::as_warden())).await
    }

    /// Sees to it that a warden waits for the next command. The thread that starts it lets go of this when it is there.
    fn have_a_spare(&self, warden: PathBuf) {
        let inner = Arc::downgrade(&self.0);
        let _ends_by_itself = tokio::task::spawn_blocking(move || {
            let Some(inner) = inner.upgrade().filter(|inner| inner.spare.is_missing()) else { return };
            match IdleWarden::hire(&inner.children, &warden, &running::as_warden()) {
                Ok(idle) => inner.spare.keep(idle),
                Err(error) => tracing::debug!(%error, "the next command starts a warden of its own"),
            }
        });
    }
}

/// What a thread that may block has started.
async fn hired<T: Send + 'static>(
    hire: impl FnOnce() -> Result<T, CommandStartError> + Send + 'static,
) -> Result<T, CommandStartError> {
    tokio::task::spawn_blocking(hire).await.unwrap_or_else(|error| {
        Err(CommandStartError::System {
            what: "the command's warden cannot be started",
            source: error.into(),
        })
    })
}
