//! What is kept from something that an agent or a workspace has run, and what keeps it so while that goes on? Nothing that can write is
//! started without.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use tokio_util::sync::CancellationToken;

use super::{CommandRuntime, covers::CoverTicket, still::StillHold};
use crate::{
    autorun::{
        self, AgentProgram, AutorunGuard, AutorunGuards, GitBrings, GitCommits, RunningProgram, WritesTold,
    },
    repositories::{self, GitLeave, GuardedSettings, KeptOfRepositories, RepositoriesBelow, RepositoryGuard},
    work,
};
use protocol::SandboxProfile;
use sandbox::{CommandEnder, CommandStartError, KeptBeside, SandboxMechanism};
use shell::ShellEnvironment;
use sys::guarded::ResolvedPath;

/// A program that would be run.
pub enum ConfinedProgram<'a> {
    /// A command of a session. `temporary`: the session's folder.
    Command { temporary: &'a Path, git: GitUse, writes: WritesTold, yields: CancellationToken },
    /// A hook, beside the commands of a session. `temporary`: the session's folder for hooks; `text`: what a shell is given of it, in the
    /// first folder.
    Hook { temporary: &'a Path, text: &'a str },
    /// It goes on for as long as anybody wants.
    Server,
}

/// A command's use of git, by its words.
#[derive(Debug, Clone, Default)]
pub struct GitUse {
    /// Nothing runs but git, so it may be at another branch afterwards.
    pub is_alone: bool,
    /// It is git alone, judged as such, so it may change the settings of the workspace's repositories.
    pub may_configure: bool,
    /// It may bring files of commits, which other programs run by themselves; `None` = it does not.
    pub brings: Option<GitBrings>,
    /// The remotes from which it fetches first of all, none = those of the settings; `None` = it does not.
    pub fetches: Option<Vec<String>>,
    /// The folder in which it begins: absolute, `..` and links as they are written.
    pub directory: PathBuf,
    /// It runs the hooks of these.
    pub commits: GitCommits,
    /// Its words go on with a rebase that waits, in the workspace's own repository.
    pub goes_on: bool,
    /// Settings of git's by which it may run something, and which its words set: whoever allowed it was told so.
    pub settings: Vec<String>,
    /// Addresses of repositories that it clones; `None` = it does not.
    pub cloned: Option<Vec<String>>,
}

/// The places that are kept from it.
#[derive(Default)]
pub struct KeptPlaces {
    /// It is not written, although it lies in a root.
    pub read_only: Vec<PathBuf>,
    /// It stays where it is.
    pub stays: Vec<PathBuf>,
    /// To be kept until all of it has ended.
    pub hold: Option<Box<dyn KeptBeside>>,
}

/// Dropped in this order: what goes by the ticket may go on when the last look is over.
struct KeptWhileRunning {
    guard: RepositoryGuard,
    _ticket: Option<CoverTicket>,
    _writer: Option<StillHold>,
    autorun: Option<AutorunGuard>,
    /// A server, of which nothing is put aside.
    _program: Option<RunningProgram>,
    /// Tells what was found at the start of this daemon, and whose.
    found: Option<(AutorunGuards, PathBuf)>,
}

impl KeptBeside for KeptWhileRunning {
    fn begins(&self, ender: CommandEnder) {
        self.guard.begins(ender);
    }

    fn finish(&mut self) -> Vec<String> {
        let found = self.found.take().map(|(guards, session)| guards.take_found(&session));
        let mut told = found.unwrap_or_default();
        told.extend(self.autorun.as_mut().map(AutorunGuard::finish).unwrap_or_default());
        told
    }
}

impl CommandRuntime {
    /// Answers what is kept from a program in these folders, absolute and without links. What is there is noted on the disk first.
    pub async fn kept_from(
        &self,
        program: ConfinedProgram<'_>,
        roots: &[PathBuf],
        profile: SandboxProfile,
    ) -> Result<KeptPlaces, CommandStartError> {
        // It writes nothing there, or all that it likes.
        if roots.is_empty() || profile != SandboxProfile::WorkspaceWrite {
            return Ok(KeptPlaces::default());
        }
        let is_server = matches!(program, ConfinedProgram::Server);
        let is_hook = matches!(program, ConfinedProgram::Hook { .. });
        let session = match &program {
            ConfinedProgram::Command { temporary, .. } | ConfinedProgram::Hook { temporary, .. } => {
                Some(temporary.to_path_buf())
            }
            ConfinedProgram::Server => None,
        };
        let found = session.clone().map(|session| (self.autorun.clone(), session));
        let (since, git, yields, writes) = match program {
            ConfinedProgram::Command { temporary, git, writes, yields } => {
                (born(temporary), git, yields, Some(writes))
            }
            // A person named it, and it runs code of the folder, which an agent may have written: a build, a formatter with its plugins. So but for
            // what its own words name, what it writes is a command's.
            ConfinedProgram::Hook { temporary, text } => {
                let (text, roots) = (text.to_owned(), roots.to_vec());
                let writes = work::aside(move || written_by_hook(&text, &roots)).await;
                (born(temporary), GitUse::default(), CancellationToken::new(), Some(writes))
            }
            ConfinedProgram::Server => (None, GitUse::default(), CancellationToken::new(), None),
        };
        let has_covers = matches!(self.sandbox.mechanism().await, SandboxMechanism::Bubblewrap { .. });
        let ticket = match has_covers {
            true => {
                let ticket = self.covered.enter(roots, git.may_configure, yields).await;
                Some(ticket.ok_or(CommandStartError::Settings)?)
            }
            false => None,
        };
        // git puts new files in the place of what it checks out.
        let still = match has_covers && !git.is_alone {
            true => {
                let (files, roots) = (self.still.clone(), roots.to_vec());
                work::aside(move || files.kept_in(&roots)).await
            }
            false => Vec::new(),
        };
        // A server is no agent's, and goes on for as long as others do.
        let writer = match is_server {
            true => None,
            false => Some(self.still.enter(roots, &still).await.ok_or(CommandStartError::ServerBegins)?),
        };
        // From here on nobody else changes what it takes note of.
        let settings = match git.may_configure || (!has_covers && !is_server) {
            true => {
                let mut named = git.settings.clone();
                // A push to it runs hooks that no agent's command writes.
                let is_elsewhere = |cloned: &Vec<String>| {
                    cloned.iter().all(|it| repositories::is_elsewhere(it, &git.directory, roots))
                };
                let clones = git.may_configure && git.cloned.as_ref().is_some_and(is_elsewhere);
                named.extend(clones.then(|| "remote.origin.url".to_owned()));
                GuardedSettings::Written { named, is_at_once: git.may_configure }
            }
            // What a person does meanwhile is not told from what a server does.
            false => GuardedSettings::Covered,
        };
        let leave = GitLeave {
            may_configure: ticket.as_ref().map_or(git.may_configure, |it| it.changes_settings),
            may_go_on: ticket.as_ref().map_or(git.may_configure, |it| it.changes_settings) && git.goes_on,
            // Servers are there for git, too, and say nothing of what they do.
            may_move_head: git.is_alone || is_server,
            may_bring: false,
        };
        let (roots, known, notes) = (roots.to_vec(), self.repositories.clone(), self.notes.clone());
        let (guards, watched) = (self.guards.clone(), self.autorun.clone());
        let hidden = self.sandbox.hidden().clone();
        let looked = work::aside(move || {
            let found = RepositoriesBelow::find(&roots, since, &known);
            let mut guard = RepositoryGuard::over(&roots, &found, settings, since, &guards);
            guard.note_in(&notes)?;
            let below = found.repositories.clone();
            // git, too, runs what is not its own.
            let is_plain = git.brings.is_some_and(|brings| brings.is_plain)
                && !autorun::git_runs_programs(&roots, &git.directory, git.commits)?;
            let leave = GitLeave { may_bring: is_plain && writes.is_some(), ..leave };
            let mut kept = repositories::kept_from_commands(&roots, leave, found)?;
            // Scripts of hooks run from there outside of any sandbox. A hook itself keeps its data there.
            if !has_covers && !is_hook {
                kept.read_only.extend(own_folder(&roots));
            }
            if git.is_alone {
                watched.git_begins();
            }
            let (secrets, names) = (hidden.names_of_secrets(), hidden.names());
            let secrets = secrets.iter().map(PathBuf::as_path);
            let mut further =
                autorun::further_places(&roots, &below, secrets, (&names, has_covers && !is_plain))?;
            let Some(mut writes) = writes else {
                if has_covers {
                    kept.read_only.extend(AutorunGuard::covers(&roots, further));
                }
                return Ok((guard, kept, Err(watched.program_begins(&roots, AgentProgram::Server))));
            };
            let is_fetched =
                |remotes: &Vec<String>| repositories::fetches_from_elsewhere(&roots, &git.directory, remotes);
            let fetches = is_plain && git.fetches.as_ref().is_some_and(is_fetched);
            writes.git = git.brings.map(|brings| GitBrings { is_plain, fetches, ..brings });
            if git.may_configure {
                further.leave_settings();
            }
            if has_covers {
                further.mounted.clone_from(&kept.read_only);
            }
            let session = session.unwrap_or_default();
            let records = (notes.reports(), &watched, session.as_path());
            // git puts other files in the place of those that a mount would keep, and a hook keeps data beside them.
            let has_mounts = has_covers && !git.is_alone && !is_hook;
            let autorun = AutorunGuard::over(&roots, further, writes, has_mounts, records)?;
            Ok((guard, kept, Ok(autorun)))
        });
        let (guard, kept, autorun) = looked.await.map_err(|source| CommandStartError::System {
            what: "the workspace's repositories cannot be looked at, or noted",
            source,
        })?;
        guard.watch(self.background.tasks());
        let KeptOfRepositories { mut read_only, stays } = kept;
        read_only.extend(still);
        let (autorun, program) = match autorun {
            Ok((autorun, covered)) => {
                read_only.extend(covered);
                (Some(autorun), None)
            }
            Err(program) => (None, Some(program)),
        };
        let hold: Box<dyn KeptBeside> = Box::new(KeptWhileRunning {
            guard,
            _ticket: ticket,
            _writer: writer,
            autorun,
            _program: program,
            found,
        });
        Ok(KeptPlaces { read_only, stays, hold: Some(hold) })
    }
}

/// The folder of a home in these folders that is the person's own although agents work in the home. Blocks on the file system.
fn own_folder(roots: &[PathBuf]) -> Option<PathBuf> {
    let home = std::env::home_dir()?.canonicalize().ok()?;
    let folder = home.join(".claude");
    let is_folder = fs::symlink_metadata(&folder).is_ok_and(|it| it.is_dir());
    (is_folder && roots.iter().any(|root| home.starts_with(root))).then_some(folder)
}

/// Since when the commands of a session may have made something: their folder is made for the first of them.
fn born(temporary: &Path) -> Option<SystemTime> {
    fs::symlink_metadata(temporary).and_then(|it| it.created()).ok()
}

/// Tells which files a hook's text says that it writes. A person wrote it, and nothing of an agent's words stands in it.
fn written_by_hook(text: &str, roots: &[PathBuf]) -> WritesTold {
    let Some(directory) = roots.first() else { return WritesTold::default() };
    let home = std::env::home_dir();
    let reading = shell::read(
        text,
        &ShellEnvironment {
            directory,
            home: home.as_deref(),
            roots,
            autorun: &[],
            guarded: &[],
            secret: &[],
            resolve: &|path: &Path| ResolvedPath::to(path).end,
            entries: &|_: &Path| None,
            is_wanted: &|| true,
        },
    );
    WritesTold { keeps_data: true, ..WritesTold::of(&reading) }
}
