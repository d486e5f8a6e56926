//! How is a server's program started, and how is it spoken to?
//!
//! It runs in the sandbox like any command of an agent, so whoever descends from it cannot answer a question, and nothing of
//! it outlives it. What the sandbox runs has a standard input that is known beforehand; a server is spoken to while it runs,
//! so it reads from a named pipe in its own temporary folder instead.

use std::{
    ffi::OsString,
    fs, io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use tokio::net::unix::pipe::{Receiver, Sender};

use crate::{CommandRules, CommandRuntime, TemporaryFolder, TemporaryFolders, Workspace, work};
use config::expand;
use protocol::McpTransport;
use redact::Redactor;
use sandbox::{CommandEnvironment, CommandHandle, CommandLaunch, NamedCommandParts, RunningCommand};

/// The pipe that the program reads, in its temporary folder.
const INPUT: &str = "mcp-input";

/// Puts the pipe in the place of standard input and becomes the program. It opens the pipe for reading alone, so the program
/// reads its end when the daemon lets go of it.
const WRAPPER: &str = r#"exec "$@" <"$TMPDIR/mcp-input""#;

/// The same in the program's own temporary folder.
const ASIDE: &str = r#"cd "$TMPDIR" && exec "$@" <"$TMPDIR/mcp-input""#;

/// Of the words with which a program is started, those before its own: a shell, and the wrapper.
const WRAPPER_WORDS: usize = 4;

/// A program that runs.
pub struct McpServerProcess {
    pub input: Sender,
    pub output: Receiver,
    pub complaints: Receiver,
    /// Dropping it ends the program.
    pub hold: CommandHandle,
    /// Dropped after the program has gone.
    pub folder: TemporaryFolder,
}

/// Where and with what it is started.
pub struct LaunchContext<'a> {
    pub commands: &'a CommandRuntime,
    pub rules: &'a CommandRules,
    pub redactor: &'a Redactor,
    /// Canonical.
    pub roots: &'a [String],
    /// It runs in the workspace's first folder where the entry says nothing. What stands there may be code of its own accord:
    /// many programs load what they find in their folder.
    pub in_workspace: bool,
}

/// Starts the program of an entry; what is wrong is told in words.
pub async fn launch(
    transport: &McpTransport,
    network: bool,
    ground: &LaunchContext<'_>,
) -> Result<McpServerProcess, String> {
    let McpTransport::Stdio { command, args, env, cwd } = transport else {
        return Err("it has no program".to_owned());
    };
    let all = ground.commands.environment();
    let fill = |text: &String| expand(text, all).map_err(|error| error.to_string());
    let wrapper = if cwd.is_none() && !ground.in_workspace { ASIDE } else { WRAPPER };
    let mut words: Vec<String> = ["/bin/sh", "-c", wrapper, "sh"].map(str::to_owned).to_vec();
    words.push(fill(command)?);
    for argument in args {
        words.push(fill(argument)?);
    }
    let mut environment = CommandEnvironment::of(all, &ground.rules.environment, ground.redactor);
    let mut values = Vec::new();
    for (name, text) in env {
        let value = fill(text)?;
        environment.set(name, &value);
        // As PYTHONPATH: parts of programs lie there. Others may name what is to be written, in a `/tmp` of its own.
        if name.ends_with("PATH") {
            values.push(value);
        }
    }
    let cwd = cwd.as_ref().map(fill).transpose()?;
    let folders = ground.commands.temporary().clone();
    let (folder, input) = work::aside(move || make_folder(&folders))
        .await
        .map_err(|error| format!("the folder for its temporary files cannot be made: {error}"))?;
    let directory = directory(ground.roots, cwd.as_deref())?;
    // Where the sandbox shows it elsewhere, it says where.
    environment.set("TMPDIR", &folder.path().to_string_lossy());
    let mut confinement = ground.rules.confinement;
    confinement.network |= network;
    let roots: Vec<PathBuf> = ground.roots.iter().map(PathBuf::from).collect();
    let known = roots.clone();
    let known_roots = work::aside(move || match known.is_empty() {
        true => Ok(Vec::new()),
        false => Workspace::open_known(&known).map(|workspace| workspace.known_roots()),
    });
    let known_roots = known_roots.await.map_err(|error| error.to_string())?;
    let ticket = ground.commands.cover(&roots, confinement.profile, None).await;
    let ticket = ticket.map_err(|error| error.to_string())?;
    let read_only = ground
        .commands
        .read_only(&roots, confinement.profile, false, None)
        .await
        .map_err(|error| error.to_string())?;
    let launch = CommandLaunch {
        named: NamedCommandParts { words: words[WRAPPER_WORDS..].to_vec(), values, directory: cwd.is_some() },
        words,
        directory,
        environment,
        roots,
        known_roots,
        temporary: folder.path().to_owned(),
        readable: Vec::new(),
        read_only,
        sockets: ground.rules.sockets.to_vec(),
        rules: confinement,
        terminal: None,
        input: Vec::new(),
    };
    let running = ground.commands.sandbox.start(launch).await.map_err(|error| error.to_string())?;
    let RunningCommand { stdout, stderr, mut hold, .. } = running;
    hold.keep_beside(Box::new(ticket));
    let input = Sender::from_file(input).map_err(|error| format!("it cannot be written to: {error}"))?;
    Ok(McpServerProcess { input, output: stdout, complaints: stderr, hold, folder })
}

fn directory(roots: &[String], cwd: Option<&str>) -> Result<PathBuf, String> {
    let first = roots.first().map(PathBuf::from);
    let directory = match (first, cwd) {
        (Some(first), Some(cwd)) => first.join(cwd),
        (Some(first), None) => first,
        (None, Some(cwd)) if Path::new(cwd).is_absolute() => PathBuf::from(cwd),
        (None, Some(_)) => return Err("its `cwd` is relative, and there is no workspace".to_owned()),
        (None, None) => std::env::temp_dir(),
    };
    if directory.is_dir() {
        Ok(directory)
    } else {
        Err(format!("its folder {} is not there", directory.display()))
    }
}

/// The folder of one program, with the pipe in it, and our end of that.
fn make_folder(folders: &TemporaryFolders) -> io::Result<(TemporaryFolder, fs::File)> {
    let folder = folders.make("mcp")?;
    let pipe = folder.path().join(INPUT);
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    // For both, so that opening it does not wait for the program; only writing is done here.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let input = fs::OpenOptions::new().read(true).write(true).custom_flags(flags).open(&pipe)?;
    Ok((folder, input))
}

/// The values of an entry's headers.
pub fn headers(
    transport: &McpTransport,
    environment: &[(OsString, OsString)],
) -> Result<(String, Vec<(String, String)>), String> {
    let McpTransport::Http { url, headers } = transport else {
        return Err("it has no address".to_owned());
    };
    let fill = |text: &str| expand(text, environment).map_err(|error| error.to_string());
    let filled = headers.iter().map(|(name, text)| Ok((name.clone(), fill(text)?)));
    Ok((fill(url)?, filled.collect::<Result<_, String>>()?))
}
