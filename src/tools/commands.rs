//! How does a call run a command? In a sandbox, with its output shown while it runs and kept within bounds, and with an end
//! that nothing of it outlives.

use std::{
    ffi::OsString,
    fs, io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{
    ActiveSkills, CallContext, OwnFiles, PrepareContext, TemporaryFolders, Workspace,
    autorun::{AutorunGuards, WritesTold},
    repositories::{KnownRepositories, RepositoryGuards, RepositoryNotes},
    work,
};
use protocol::{CommandConfinement, SandboxProfile, SessionId, ToolErrorType, ToolResult, TraceContext};
use redact::{KnownSecrets, Redactor};
use sandbox::{
    CommandEnvironment, CommandLaunch, CommandStartError, NamedCommandParts, RunningCommand, Sandbox,
    SandboxMechanism, SandboxRules,
};
use sys::{guarded::FileIdentity, warden::TerminalSize};
use tokio_util::sync::CancellationToken;

mod attend;
mod background;
mod capture;
mod covers;
mod judging;
mod kept;
mod report;
mod server_calls;
mod settings_folder;
mod still;
#[cfg(test)]
mod tests;

pub use attend::{CommandBounds, CommandCutReason, CommandSupervision, FinishedCommand, attend};
pub use background::{BackgroundCommand, BackgroundCommands};
pub use capture::OutputCapture;
use covers::CoveredCommands;
pub use judging::JudgingTurns;
pub use kept::{ConfinedProgram, GitUse, KeptPlaces};
pub use report::{report, signal_name};
pub use server_calls::ServerCallWatch;
use settings_folder::settings_folder_among;
pub use still::{ServerFiles, StillFiles, StillHold};

/// The variable by which programs are told of the span that they are part of.
const TRACEPARENT: &str = "TRACEPARENT";

/// The shell of commands (spec 05, `run_shell_command`).
pub const SHELL: &str = "bash";

/// What commands of this daemon are run with. One a daemon.
#[derive(Debug)]
pub struct CommandRuntime {
    pub sandbox: Sandbox,
    /// The daemon's own, of which commands get what is no secret.
    environment: Vec<(OsString, OsString)>,
    pub background: BackgroundCommands,
    pub judging: JudgingTurns,
    temporary: TemporaryFolders,
    covered: CoveredCommands,
    repositories: KnownRepositories,
    guards: RepositoryGuards,
    autorun: AutorunGuards,
    notes: RepositoryNotes,
    still: StillFiles,
    /// The keys that are filled into servers' headers and variables.
    secrets: KnownSecrets,
}

/// What settings and agent say of a run's commands.
#[derive(Debug, Clone)]
pub struct CommandRules {
    pub confinement: SandboxRules,
    /// Variables that are passed on beside the usual ones.
    pub environment: Arc<[String]>,
    /// Socket files that commands may connect to, and folders with such in them.
    pub sockets: Arc<[PathBuf]>,
    /// How long a command may put out nothing.
    pub inactivity: Duration,
    /// How long a command may take.
    pub timeout: Duration,
    /// What a command may put out, in bytes.
    pub max_output: Option<u64>,
}

impl Default for CommandRules {
    /// As the settings' defaults.
    fn default() -> CommandRules {
        CommandRules {
            confinement: SandboxRules::default(),
            environment: Arc::default(),
            sockets: Arc::default(),
            inactivity: Duration::from_secs(5 * 60),
            timeout: Duration::from_secs(30 * 60),
            max_output: None,
        }
    }
}

impl CommandRules {
    /// For an agent that wants its commands confined so closely: never wider than the settings.
    #[must_use]
    pub fn for_agent(mut self, wanted: Option<SandboxProfile>) -> CommandRules {
        self.confinement.profile =
            wanted.map_or(self.confinement.profile, |it| it.min(self.confinement.profile));
        self
    }
}

/// What a call wants to run.
pub struct CommandRequest {
    pub words: Vec<String>,
    /// Of the words, those that settings name.
    pub named: NamedCommandParts,
    /// Absolute, inside the workspace.
    pub directory: PathBuf,
    pub terminal: Option<TerminalSize>,
    /// What it reads from its standard input, where it has no terminal.
    pub input: Vec<u8>,
    pub git: GitUse,
    pub writes: WritesTold,
    /// The span of the call that runs it; it gets that as `TRACEPARENT`.
    pub span: Option<TraceContext>,
    /// Fires when others have waited long enough for git, which changes settings, to be done.
    pub yields: CancellationToken,
}

impl CommandRequest {
    /// Without a terminal and without input.
    pub fn new(words: Vec<String>, directory: PathBuf) -> CommandRequest {
        CommandRequest {
            words,
            named: NamedCommandParts::default(),
            directory,
            terminal: None,
            input: Vec::new(),
            git: GitUse::default(),
            writes: WritesTold::default(),
            span: None,
            yields: CancellationToken::new(),
        }
    }
}

/// Where a command is at home.
pub struct CommandFolders {
    /// The workspace's folders: absolute, without links.
    pub roots: Vec<PathBuf>,
    /// What they are, of those that somebody holds open.
    pub known_roots: Vec<(PathBuf, FileIdentity)>,
    /// It is there, and nobody's but its owner's.
    pub temporary: PathBuf,
    /// What is readable although it lies in what is hidden.
    pub readable: Vec<PathBuf>,
}

/// By what a command would be confined.
pub struct EffectiveConfinement {
    /// For people, who are asked whether it may run.
    pub words: String,
    /// For rules.
    pub by: CommandConfinement,
}

/// What it takes to start commands of one run.
#[derive(Clone)]
pub struct CommandStarter {
    commands: Arc<CommandRuntime>,
    rules: CommandRules,
    own_files: Arc<OwnFiles>,
    redactor: Redactor,
    workspace: Arc<Workspace>,
    skills: ActiveSkills,
    roots: Vec<PathBuf>,
    /// The folder of the workspace for which commands only read, since programs of the home run what lies there.
    settings_folder: Option<PathBuf>,
}

impl CommandRuntime {
    pub fn new(
        sandbox: Sandbox,
        environment: Vec<(OsString, OsString)>,
        background: BackgroundCommands,
    ) -> CommandRuntime {
        CommandRuntime {
            sandbox,
            environment,
            background,
            judging: JudgingTurns::default(),
            temporary: TemporaryFolders::of_system(),
            covered: CoveredCommands::default(),
            repositories: KnownRepositories::default(),
            guards: RepositoryGuards::default(),
            autorun: AutorunGuards::default(),
            notes: RepositoryNotes::default(),
            still: StillFiles::default(),
            secrets: KnownSecrets::default(),
        }
    }

    /// With folders there for programs that are no session's.
    #[must_use]
    pub fn with_temporary(self, temporary: TemporaryFolders) -> CommandRuntime {
        CommandRuntime { temporary, ..self }
    }

    /// Where programs that are no session's put what is temporary.
    pub fn temporary(&self) -> &TemporaryFolders {
        &self.temporary
    }

    /// Has it noted there what repositories were before programs began.
    #[must_use]
    pub fn with_notes(self, notes: RepositoryNotes) -> CommandRuntime {
        CommandRuntime { repositories: notes.known(), notes, ..self }
    }

    /// Has these watch over files that other programs run by themselves.
    #[must_use]
    pub fn with_autorun_guards(self, autorun: AutorunGuards) -> CommandRuntime {
        CommandRuntime { autorun, ..self }
    }

    /// The watch over files that other programs run by themselves.
    pub fn autorun_guards(&self) -> &AutorunGuards {
        &self.autorun
    }

    /// Telling there which keys are read for programs and servers.
    #[must_use]
    pub fn telling_keys(self, secrets: KnownSecrets) -> CommandRuntime {
        CommandRuntime { secrets, ..self }
    }

    /// Keys that were read for programs and servers.
    pub fn secrets(&self) -> &KnownSecrets {
        &self.secrets
    }

    /// Files that servers are started with.
    pub fn still_files(&self) -> &StillFiles {
        &self.still
    }

    /// The daemon's own, secrets among it.
    pub fn environment(&self) -> &[(OsString, OsString)] {
        &self.environment
    }

    /// Those of a daemon that runs none.
    pub fn none() -> CommandRuntime {
        CommandRuntime::new(Sandbox::none(), Vec::new(), BackgroundCommands::default())
    }

    /// Starts a command on some ground.
    pub async fn start(
        &self,
        wanted: CommandRequest,
        ground: CommandFolders,
        rules: &CommandRules,
        redactor: &Redactor,
    ) -> Result<RunningCommand, CommandStartError> {
        let mut environment = CommandEnvironment::of(&self.environment, &rules.environment, redactor);
        if let Some(span) = wanted.span {
            environment.set(TRACEPARENT, &span.to_string());
        }
        if !environment.withheld.is_empty() {
            tracing::warn!(names = ?environment.withheld, "commands do not get these variables, which hold secrets");
        }
        let CommandFolders { roots, known_roots, temporary, readable } = ground;
        let profile = rules.confinement.profile;
        let program = ConfinedProgram::Command {
            temporary: &temporary,
            git: wanted.git,
            writes: wanted.writes,
            yields: wanted.yields,
        };
        let KeptPlaces { mut read_only, stays, hold } = self.kept_from(program, &roots, profile).await?;
        if profile == SandboxProfile::WorkspaceWrite {
            // What may be read although it is hidden is not written where it lies in a root.
            let is_within = |folder: &&PathBuf| roots.iter().any(|root| folder.starts_with(root));
            read_only.extend(readable.iter().filter(is_within).cloned());
        }
        let launch = CommandLaunch {
            words: wanted.words,
            named: wanted.named,
            directory: wanted.directory,
            environment,
            roots,
            known_roots,
            temporary,
            readable,
            own_data: None,
            read_only,
            stays,
            sockets: rules.sockets.to_vec(),
            rules: rules.confinement,
            terminal: wanted.terminal,
            input: wanted.input,
        };
        let mut running = self.sandbox.start(launch).await?;
        if let Some(hold) = hold {
            running.hold.keep_beside(hold).map_err(|source| CommandStartError::System {
                what: "the command cannot be watched",
                source,
            })?;
        }
        Ok(running)
    }
}

impl CommandStarter {
    pub fn of(cx: &PrepareContext) -> CommandStarter {
        let roots: Vec<PathBuf> = cx.workspace.roots().map(PathBuf::from).collect();
        let mut rules = cx.command_rules.clone();
        let is_written = rules.confinement.profile == SandboxProfile::WorkspaceWrite;
        let settings_folder = settings_folder_among(&roots).filter(|_| is_written);
        if settings_folder.is_some() {
            rules.confinement.profile = SandboxProfile::ReadOnly;
        }
        CommandStarter {
            commands: Arc::clone(&cx.commands),
            rules,
            own_files: Arc::clone(&cx.own_files),
            redactor: cx.redactor.clone(),
            workspace: Arc::clone(&cx.workspace),
            skills: cx.skills.clone(),
            roots,
            settings_folder,
        }
    }

    pub fn rules(&self) -> &CommandRules {
        &self.rules
    }

    /// For a program of the daemon's own choice, with rules of its own.
    #[must_use]
    pub fn confined(mut self, rules: SandboxRules) -> CommandStarter {
        self.rules.confinement = rules;
        self.rules.sockets = Arc::default();
        self
    }

    /// The folder for which commands only read, although the settings let them write in the workspace.
    pub fn settings_folder(&self) -> Option<&Path> {
        self.settings_folder.as_deref()
    }

    /// The workspace's first folder.
    pub fn first_root(&self) -> Option<PathBuf> {
        self.roots.first().cloned()
    }

    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    pub fn background(&self) -> &BackgroundCommands {
        &self.commands.background
    }

    /// What keeps a command from doing harm.
    pub async fn confinement(&self) -> EffectiveConfinement {
        let SandboxRules { profile, network, .. } = self.rules.confinement;
        let by_nothing = |words: String| EffectiveConfinement { words, by: CommandConfinement::none() };
        match profile {
            SandboxProfile::Full => by_nothing("no sandbox (profile full)".to_owned()),
            profile => match self.commands.sandbox.mechanism().await {
                SandboxMechanism::Nothing(why) => by_nothing(format!("no sandbox: {why}")),
                mechanism => {
                    let reached = if network { "network" } else { "no network" };
                    let since = match &self.settings_folder {
                        Some(folder) => format!(", since programs run what lies in {}", folder.display()),
                        None => String::new(),
                    };
                    let words = format!("{} ({}{since}, {reached})", mechanism.name(), profile.as_str());
                    EffectiveConfinement {
                        words,
                        by: CommandConfinement { profile, network, sockets: self.rules.sockets.to_vec() },
                    }
                }
            },
        }
    }

    /// The same as the settings want it; whether it can be had is found out when the command runs.
    pub fn wanted_confinement(&self) -> &'static str {
        self.rules.confinement.profile.as_str()
    }

    /// Starts a command of a session.
    pub async fn start(
        &self,
        wanted: CommandRequest,
        session: &SessionId,
    ) -> Result<RunningCommand, CommandStartError> {
        let workspace = Arc::clone(&self.workspace);
        // What confines it goes by paths.
        work::aside(move || workspace.check_roots()).await.map_err(|bad| CommandStartError::System {
            what: "the workspace is not where it was",
            source: io::Error::other(format!("{}: {}", bad.path.display(), bad.problem)),
        })?;
        let temporary = self.temporary(session).await?;
        let readable = self.own_files.artifacts().session_folder(session).map(|folder| folder.join("output"));
        let (skills, workspace) = (self.skills.clone(), Arc::clone(&self.workspace));
        let own_files = Arc::clone(&self.own_files);
        let skills = work::aside(move || {
            let mut folders = skills.folders_of_commands(&workspace);
            // What no tool reads does not open because somebody put a skill there.
            let hidden = own_files.hidden();
            folders.retain(|folder| !hidden.holds(folder));
            folders
        });
        let skills = skills.await;
        let readable = readable.into_iter().chain(skills).collect();
        let known_roots = self.workspace.known_roots();
        let ground = CommandFolders { roots: self.roots.clone(), known_roots, temporary, readable };
        self.commands.start(wanted, ground, &self.rules, &self.redactor).await
    }

    /// Where commands of a session put what is temporary; it goes with the session.
    pub async fn temporary(&self, session: &SessionId) -> Result<PathBuf, CommandStartError> {
        let failed = |source| CommandStartError::System {
            what: "the folder for temporary files cannot be made",
            source,
        };
        let folder = self.own_files.artifacts().session_folder(session);
        let folder =
            folder.ok_or_else(|| failed(io::Error::other("the session's id is no name")))?.join("tmp");
        work::aside(move || make_private(&folder).map(|()| folder)).await.map_err(failed)
    }

    /// Runs a command to its end, in the bounds that a call has.
    pub async fn run(
        &self,
        wanted: CommandRequest,
        bounds: CommandBounds,
        cx: &CallContext,
    ) -> Result<FinishedCommand, ToolResult> {
        let supervision = CommandSupervision { yields: wanted.yields.clone(), ..CommandSupervision::of(cx) };
        let running = self.start(wanted, &cx.session).await.map_err(|error| refused(&error))?;
        attend(running, &bounds, &supervision, &self.redactor).await.map_err(|error| refused(&error))
    }
}

/// Nothing was run, or nobody knows how far, as the model learns it.
pub fn refused(error: &CommandStartError) -> ToolResult {
    if let CommandStartError::Lost = error {
        let message = format!(
            "{error}; the command may have run in part, and was ended. Look what it has done before you run it again"
        );
        return ToolResult::failure(ToolErrorType::ShellExecuteError, message);
    }
    if let CommandStartError::Ended(why) = error {
        return ToolResult::failure(ToolErrorType::SandboxDenied, format!("the command was run, and {why}"));
    }
    let kind = match error {
        CommandStartError::Required(_) => ToolErrorType::SandboxDenied,
        CommandStartError::NoWarden
        | CommandStartError::System { .. }
        | CommandStartError::NotSeen(_)
        | CommandStartError::NotRun(_)
        | CommandStartError::Settings
        | CommandStartError::ServerBegins
        | CommandStartError::Ended(_)
        | CommandStartError::Lost => ToolErrorType::ShellExecuteError,
    };
    ToolResult::failure(kind, format!("the command was not run: {error}"))
}

/// Nobody but its owner looks into it.
fn make_private(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
