//! How is a server's program started, and how is it spoken to?
//!
//! It runs in the sandbox like any command of an agent, so whoever descends from it cannot answer a question, and nothing of
//! it outlives it. What the sandbox runs has a standard input that is known beforehand; a server is spoken to while it runs,
//! so it reads from a named pipe in its own temporary folder instead.

use std::{
    ffi::OsString,
    fs, io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use tokio::net::unix::pipe::{Receiver, Sender};

use super::{keys::heard_in_variable, origin::ExtensionServerOrigin};
use crate::{
    CommandRules, CommandRuntime, ConfinedProgram, KeptPlaces, TemporaryFolder, TemporaryFolders, Workspace,
    work,
};
use config::expand;
use protocol::{McpServerConfig, McpTransport};
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
    /// All that it sees below `/tmp`, if something of it lies there and the sandbox shows it another one.
    pub seen_below_temporary: Vec<PathBuf>,
}

/// Where and with what it is started.
pub struct LaunchContext<'a> {
    /// The entry's.
    pub name: &'a str,
    pub commands: &'a CommandRuntime,
    pub rules: &'a CommandRules,
    pub redactor: &'a Redactor,
    /// Canonical.
    pub roots: &'a [String],
    /// It runs in the workspace's first folder where the entry says nothing. What stands there may be code of its own accord:
    /// many programs load what they find in their folder.
    pub in_workspace: bool,
    /// The extension that it is of: its program reads that folder, and writes the one for its data.
    pub extension: Option<&'a ExtensionServerOrigin>,
}

/// Starts the program of an entry; what is wrong is told in words.
pub async fn launch(entry: &McpServerConfig, ground: &LaunchContext<'_>) -> Result<McpServerProcess, String> {
    let McpTransport::Stdio { command, args, env, cwd } = &entry.transport else {
        return Err("it has no program".to_owned());
    };
    let all = ground.commands.environment();
    let fill = |text: &String| filled(text, entry, all);
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
        heard_in_variable(ground.commands.secrets(), ground.name, name, &value);
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
    let mut directory = directory(ground.roots, cwd.as_deref());
    if let Some(extension) = ground.extension {
        let (extension, cwd) = (extension.clone(), cwd.clone());
        directory = work::aside(move || directory_of_extension(&extension, cwd.as_deref())).await;
    }
    let directory = directory?;
    // Where the sandbox shows it elsewhere, it says where.
    environment.set("TMPDIR", &folder.path().to_string_lossy());
    let mut confinement = ground.rules.confinement;
    confinement.network |= entry.network;
    let roots: Vec<PathBuf> = ground.roots.iter().map(PathBuf::from).collect();
    let known = roots.clone();
    let known_roots = work::aside(move || match known.is_empty() {
        true => Ok(Vec::new()),
        false => Workspace::open_known(&known).map(|workspace| workspace.known_roots()),
    });
    let known_roots = known_roots.await.map_err(|error| error.to_string())?;
    let kept = ground.commands.kept_from(ConfinedProgram::Server, &roots, confinement.profile).await;
    let KeptPlaces { read_only, stays, hold: keeper } = kept.map_err(|error| error.to_string())?;
    let readable = ground.extension.map(|extension| extension.root.clone());
    let named = match ground.extension {
        // Its folders are shown whole, and it knows no others.
        Some(_) => NamedCommandParts::default(),
        None => {
            NamedCommandParts { words: words[WRAPPER_WORDS..].to_vec(), values, directory: cwd.is_some() }
        }
    };
    let launch = CommandLaunch {
        named,
        words,
        directory,
        environment,
        roots,
        known_roots,
        temporary: folder.path().to_owned(),
        readable: readable.into_iter().collect(),
        own_data: ground.extension.map(|extension| extension.data.clone()),
        read_only,
        stays,
        sockets: ground.rules.sockets.to_vec(),
        rules: confinement,
        terminal: None,
        input: Vec::new(),
    };
    let (sandbox, started) = (ground.commands.sandbox.clone(), launch.clone());
    let running = ground.commands.sandbox.start(launch).await.map_err(|error| error.to_string())?;
    let seen_below_temporary = work::aside(move || sandbox.seen_below_temporary(&started)).await;
    let RunningCommand { stdout, stderr, mut hold, .. } = running;
    if let Some(keeper) = keeper {
        hold.keep_beside(keeper).map_err(|error| format!("it cannot be watched: {error}"))?;
    }
    let input = Sender::from_file(input).map_err(|error| format!("it cannot be written to: {error}"))?;
    Ok(McpServerProcess { input, output: stdout, complaints: stderr, hold, folder, seen_below_temporary })
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

/// The folder in which a program of an extension runs: in the extension's own, or in the one for its data, which is made. Blocks on the
/// file system.
fn directory_of_extension(extension: &ExtensionServerOrigin, cwd: Option<&str>) -> Result<PathBuf, String> {
    let ExtensionServerOrigin { root, data, .. } = extension;
    let unmade =
        |error: io::Error| format!("the folder for its data, {}, cannot be made: {error}", data.display());
    fs::DirBuilder::new().recursive(true).mode(0o700).create(data).map_err(unmade)?;
    // What is written there must not lead elsewhere.
    if fs::canonicalize(data).map_err(unmade)? != *data {
        return Err(format!("the folder for its data, {}, is a link", data.display()));
    }
    let directory = cwd.map_or_else(|| root.clone(), PathBuf::from);
    match fs::canonicalize(&directory) {
        Ok(end) if !(end.starts_with(root) || end.starts_with(data)) => {
            Err(format!("its folder {} leads out of its extension", directory.display()))
        }
        Ok(end) if end.is_dir() => Ok(end),
        _ => Err(format!("its folder {} is not there", directory.display())),
    }
}

/// A text of an entry with the environment filled in, where that is to be.
fn filled(
    text: &str,
    entry: &McpServerConfig,
    environment: &[(OsString, OsString)],
) -> Result<String, String> {
    match entry.literal {
        true => Ok(text.to_owned()),
        false => expand(text, environment).map_err(|error| error.to_string()),
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
    entry: &McpServerConfig,
    environment: &[(OsString, OsString)],
) -> Result<(String, Vec<(String, String)>), String> {
    let McpTransport::Http { url, headers } = &entry.transport else {
        return Err("it has no address".to_owned());
    };
    let fill = |text: &str| filled(text, entry, environment);
    let filled = headers.iter().map(|(name, text)| Ok((name.clone(), fill(text)?)));
    Ok((fill(url)?, filled.collect::<Result<_, String>>()?))
}
