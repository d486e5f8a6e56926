//! A command that runs, as its starter sees it: what it puts out, how it ends, and the ways to end it.

use std::{
    io,
    os::unix::process::CommandExt as _,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::net::UnixStream as StdStream,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, OnceLock},
};

use rustix::pipe::{PipeFlags, pipe_with};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::{UnixStream, unix::pipe::Receiver},
};

use super::{CommandLaunch, NamedPathError, SandboxMechanism};
use sys::{
    children::{ChildProcesses, OwnChild, SpawnOrigin},
    guarded::FileIdentity,
    warden::{
        self, CommandExit, FileAccess, FixedPlace, SocketAccess, WardenOrder, WardenReport, WardenSignal,
    },
};

/// Bytes of a warden's report: names of processes and numbers.
const MAX_REPORT: usize = 64 << 10;

/// The reason why a command was not started.
#[derive(Debug, thiserror::Error)]
pub enum CommandStartError {
    #[error("the setting `sandbox.required` wants a sandbox, and there is none: {0}")]
    Required(String),
    #[error("this daemon runs no commands")]
    NoWarden,
    #[error("{what}: {source}")]
    System { what: &'static str, source: io::Error },
    #[error(transparent)]
    NotSeen(#[from] NamedPathError),
    /// The warden's words.
    #[error("{0}")]
    NotRun(String),
    #[error(
        "a git command that may change the settings of the workspace's repositories has not ended, and no other command begins \
         meanwhile; end it, or call again when it has ended"
    )]
    Settings,
    #[error(
        "an MCP server is being started with a file of the workspace, and no command that could change it begins meanwhile; call again \
         in a moment"
    )]
    ServerBegins,
    /// It was run, and nobody knows how far.
    #[error("what watches over the command ended before the command did")]
    Lost,
    /// It was run, and then ended for what it did.
    #[error("{0}")]
    Ended(String),
}

/// A command that was started. Dropping it ends the command and all that it started.
pub struct RunningCommand {
    pub stdout: Receiver,
    pub stderr: Receiver,
    /// By what it is confined; `None` = by nothing.
    pub confined_by: Option<&'static str>,
    pub hold: CommandHandle,
}

/// The hold on a command. Dropping it ends the command.
pub struct CommandHandle {
    control: BufReader<UnixStream>,
    report: Vec<u8>,
    /// It ends when `control` does. `None` = it was let go.
    child: Option<OwnChild>,
    /// It is let go of when all of the command has ended.
    beside: Option<Box<dyn KeptBeside>>,
    ended_for: Arc<OnceLock<String>>,
    /// Its warden said how it ended, or is gone.
    is_over: bool,
}

/// Something that is kept until all of a command has ended.
pub trait KeptBeside: Send + Sync {
    /// The command has begun; this ends it.
    fn begins(&self, _ender: CommandEnder) {}

    /// All of the command has ended. Answers what whoever ran it is told. Blocks for a moment.
    fn finish(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// Ends a command for what it did, from wherever that is seen.
pub struct CommandEnder {
    control: OwnedFd,
    ended_for: Arc<OnceLock<String>>,
}

impl CommandEnder {
    /// Ends it at once, with all that it started, if it has not ended. Whoever waits for it is told the first `why`.
    pub fn end(&self, why: String) {
        let _was_ended = self.ended_for.set(why);
        // The warden reads the end, and whoever waits still reads how it went.
        let _gone = rustix::net::shutdown(&self.control, rustix::net::Shutdown::Write);
    }
}

impl CommandHandle {
    /// The number of its warden, in whose group it is; `None` = it was let go.
    pub fn pid(&self) -> Option<i32> {
        self.child.as_ref().map(|child| child.pid().as_raw_nonzero().get())
    }

    /// How it ended. Cancel safe: what was read is kept.
    pub async fn ended(&mut self) -> Result<CommandExit, CommandStartError> {
        let failed = |source| CommandStartError::System { what: "the command cannot be waited for", source };
        while !self.report.ends_with(b"\n") && self.report.len() < MAX_REPORT {
            let length = {
                let more = self.control.fill_buf().await.map_err(failed)?;
                self.report.extend_from_slice(more);
                more.len()
            };
            if length == 0 {
                break;
            }
            self.control.consume(length);
        }
        self.is_over = true;
        if let Some(why) = self.ended_for.get() {
            return Err(CommandStartError::Ended(why.clone()));
        }
        match serde_json::from_slice(&self.report) {
            Ok(WardenReport::Ended(ended)) => Ok(ended),
            Ok(WardenReport::NotRun(problem)) => Err(CommandStartError::NotRun(problem)),
            Err(_) => Err(CommandStartError::Lost),
        }
    }

    /// Ends the warden, which does not answer. What it watched over is an orphan then, and ended like one.
    pub fn give_up(&mut self) {
        if let Some(child) = &self.child {
            child.kill();
        }
    }

    /// Keeps something until all of the command has ended.
    pub fn keep_beside(&mut self, kept: Box<dyn KeptBeside>) -> io::Result<()> {
        let control = self.control.get_ref().as_fd().try_clone_to_owned()?;
        kept.begins(CommandEnder { control, ended_for: Arc::clone(&self.ended_for) });
        self.beside = Some(kept);
        Ok(())
    }

    /// Lets go of what was kept, if all of the command has ended. Nobody has looked at it then.
    pub fn let_go(&mut self) -> Option<Box<dyn KeptBeside>> {
        if self.is_over { self.beside.take() } else { None }
    }

    /// Lets go of what was kept, if all of the command has ended. Answers what whoever ran it is told. Blocks for a moment.
    pub fn finish(&mut self) -> Vec<String> {
        self.let_go().map(|mut kept| kept.finish()).unwrap_or_default()
    }

    /// Asks for something. Nobody hears it any more when the command has ended.
    pub fn wish(&self, wish: WardenSignal) {
        let _ended = self.control.get_ref().try_write(&[wish.byte()]);
    }
}

impl Drop for CommandHandle {
    fn drop(&mut self) {
        // Both ways, so that the warden reads the end whoever else might have the socket.
        let _gone = rustix::net::shutdown(self.control.get_ref(), rustix::net::Shutdown::Both);
        if let Some(child) = self.child.take() {
            // Without a sandbox the command may have stopped it.
            child.wake();
            match self.beside.take().filter(|_| !self.is_over) {
                // What goes on for a moment is watched until it is gone.
                Some(beside) => child.let_go_with(Box::new(beside)),
                None => child.let_go(),
            }
        }
    }
}

impl CommandLaunch {
    /// The workspace's folders, as they are to be found when the command begins. Blocks for a moment.
    pub(super) fn fixed_roots(&self, are_mounted: bool) -> Result<Vec<FixedPlace>, CommandStartError> {
        let fixed = |path: &PathBuf| {
            let known = self.known_roots.iter().find(|(known, _)| known == path).map(|(_, id)| *id);
            let id = known.map_or_else(|| FileIdentity::without_links(path), Ok).map_err(|error| {
                CommandStartError::System {
                    what: "a folder of the workspace is not there any more, or became a link",
                    source: io::Error::other(format!("{}: {error}", path.display())),
                }
            })?;
            // The root of all is there.
            let is_mounted = are_mounted && path.parent().is_some();
            Ok(FixedPlace { path: path.clone(), id, is_mounted })
        };
        self.roots.iter().map(fixed).collect()
    }

    /// The same with sockets where they really lie. What a command could have put a link in the place of leads nowhere: a place in the workspace
    /// is what it is called.
    pub(super) async fn with_real_sockets(self) -> Result<CommandLaunch, CommandStartError> {
        if self.sockets.is_empty() {
            return Ok(self);
        }
        super::hired(move || {
            let (sockets, roots) = (&self.sockets, &self.roots);
            let is_in_root = |place: &Path| roots.iter().any(|root| place.starts_with(root));
            let real = sockets.iter().filter_map(|place| Some((place, place.canonicalize().ok()?)));
            let real =
                real.filter(|(place, real)| !is_in_root(place) || place == &real).map(|(_, real)| real);
            let sockets = real.collect();
            Ok(CommandLaunch { sockets, ..self })
        })
        .await
    }

    pub(super) fn order(
        &self,
        files: Option<FileAccess>,
        fixed: Vec<FixedPlace>,
        sockets: SocketAccess,
        is_first: bool,
    ) -> WardenOrder {
        let mut environment = self.environment.clone();
        let temporary =
            if is_first { "/tmp".to_owned() } else { self.temporary.to_string_lossy().into_owned() };
        if files.is_some() || is_first {
            environment.set("TMPDIR", &temporary);
            // The home cannot be written.
            environment.set("XDG_CACHE_HOME", &format!("{temporary}/.cache"));
        }
        environment.set("TERM", if self.terminal.is_some() { "xterm-256color" } else { "dumb" });
        WardenOrder {
            words: self.words.clone(),
            directory: self.directory.clone(),
            environment: environment.variables,
            limits: self.rules.limits,
            files,
            seen: None,
            fixed,
            sockets,
            sockets_at: self.sockets.clone(),
            input_bytes: self.input.len(),
            terminal: self.terminal,
            is_first,
            daemon: std::process::id(),
        }
    }
}

/// The arguments of the daemon's program that make it a warden.
pub fn as_warden() -> Vec<String> {
    vec![warden::ARGUMENT.to_owned()]
}

/// A warden that waits for its order. Dropping it ends it.
pub(super) struct IdleWarden {
    control: StdStream,
    stdout: OwnedFd,
    stderr: OwnedFd,
    child: OwnChild,
}

impl IdleWarden {
    /// Starts a warden. Blocks until it is executed, or cannot be.
    pub fn hire(
        children: &ChildProcesses,
        program: &Path,
        arguments: &[String],
    ) -> Result<IdleWarden, CommandStartError> {
        let (control, theirs) = StdStream::pair().map_err(no_pipe)?;
        let (stdout, out_end) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| no_pipe(error.into()))?;
        let (stderr, err_end) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| no_pipe(error.into()))?;
        control.set_nonblocking(true).map_err(no_pipe)?;
        // With its sides of the pipes it is dropped here.
        let mut command = Command::new(program);
        command.args(arguments).env_clear().current_dir("/").process_group(0);
        command
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::from(out_end))
            .stderr(Stdio::from(err_end));
        let is_itself = arguments == as_warden();
        let child = children
            .spawn(&mut command, if is_itself { SpawnOrigin::Warden } else { SpawnOrigin::AroundWarden })
            .map_err(|source| CommandStartError::System {
                what: "the command's warden cannot be started",
                source,
            })?;
        Ok(IdleWarden { control, stdout, stderr, child })
    }

    pub fn is_there(&self) -> bool {
        self.child.has_ended().is_ok_and(|has_ended| !has_ended)
    }

    /// Tells it what to run, and what that reads.
    pub async fn run(
        self,
        (order, input): (WardenOrder, &[u8]),
        mechanism: Option<&SandboxMechanism>,
    ) -> Result<RunningCommand, CommandStartError> {
        let IdleWarden { control, stdout, stderr, child } = self;
        let message = order
            .message(input)
            .map_err(|source| CommandStartError::System { what: "the order cannot be written", source })?;
        let mut control = UnixStream::from_std(control).map_err(no_pipe)?;
        // A warden that could not be started says why on its standard error; it does not read.
        let _told_by_its_end = control.write_all(&message).await;
        let receiver = |end| Receiver::from_owned_fd(end).map_err(no_pipe);
        Ok(RunningCommand {
            stdout: receiver(stdout)?,
            stderr: receiver(stderr)?,
            confined_by: match mechanism {
                Some(SandboxMechanism::Nothing(_)) | None => None,
                Some(mechanism) => Some(mechanism.name()),
            },
            hold: CommandHandle {
                control: BufReader::new(control),
                report: Vec::new(),
                child: Some(child),
                beside: None,
                ended_for: Arc::default(),
                is_over: false,
            },
        })
    }
}

fn no_pipe(source: io::Error) -> CommandStartError {
    CommandStartError::System { what: "there are no pipes for the command", source }
}
