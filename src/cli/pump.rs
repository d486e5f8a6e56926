//! `subagentd --stdio`: how does an editor that starts its servers itself reach the one daemon there is? Bytes from
//! standard input go to the daemon's socket, bytes from it to standard output, in whatever framing the editor speaks
//! (spec 01, "Transports"). The daemon outlives the editor.

use std::{
    env,
    ffi::OsString,
    io::{self, Read, Write},
    net::Shutdown,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use super::{ProcessIo, daemon_flags::DaemonFlags, failure::CommandFailure};
use client::{self, ConnectError, DaemonDialer, DaemonStarter};

/// Bytes carried at once: about one burst of deltas.
const PIECE_BYTES: usize = 64 << 10;

/// Connects standard input and output with the daemon, starting one when none listens, until either side ends.
pub fn main(flags: &DaemonFlags) -> ExitCode {
    let mut stderr = ProcessIo::of_this_process().stderr;
    match pump(flags) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => ExitCode::from(failure.report(&mut stderr)),
    }
}

fn pump(flags: &DaemonFlags) -> Result<(), CommandFailure> {
    let socket = dial(flags)?;
    let sending = socket.try_clone().map_err(lost)?;
    let has_said_all = Arc::new(AtomicBool::new(false));
    let said = Arc::clone(&has_said_all);
    // Not joined: it may wait for input that never comes, and ends with the process.
    thread::spawn(move || {
        // What goes wrong here ends the answers as well, where it is told.
        if carry(io::stdin().lock(), &mut &sending).is_ok() {
            said.store(true, Ordering::Relaxed);
        }
        // The daemon still answers what was asked, and then hangs up.
        let _gone = sending.shutdown(Shutdown::Write);
    });
    match carry(&socket, &mut io::stdout().lock()) {
        Ok(()) if has_said_all.load(Ordering::Relaxed) => Ok(()),
        Ok(()) => Err(CommandFailure::unavailable("the daemon ended the connection")
            .or_hint("start this again: it connects to the next daemon, or starts one")),
        Err(CopyFailure::Reading(error)) => Err(lost(error)),
        // Whoever started us has closed our output: there is nobody to tell.
        Err(CopyFailure::Writing) => Ok(()),
    }
}

fn lost(error: io::Error) -> CommandFailure {
    CommandFailure::unavailable(format!("the connection to the daemon is lost: {error}"))
        .or_hint("start this again: it connects to the next daemon, or starts one")
}

/// Connects to the daemon of these flags, or starts one with them.
fn dial(flags: &DaemonFlags) -> Result<UnixStream, CommandFailure> {
    let environment = |name: &str| env::var_os(name);
    let folder = env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let whole = |path: &Path| folder.join(path);
    let socket = match &flags.socket {
        Some(socket) => whole(socket),
        None => client::default_socket(&environment).map_err(|error| {
            CommandFailure::unavailable(format!("cannot find the daemon's socket: {error}"))
                .or_hint("name it with --socket")
        })?,
    };
    let state_dir = flags.state_dir.as_deref().map(whole);
    let mut arguments: Vec<OsString> = Vec::new();
    for (flag, path) in [("--state-dir", state_dir.clone()), ("--config", flags.config.as_deref().map(whole))]
    {
        arguments.extend(path.into_iter().flat_map(|path| [flag.into(), path.into()]));
    }
    let starter = state_dir.or_else(|| client::state_folder(&environment)).map(|state_folder| {
        let mut starter = DaemonStarter::beside(env::current_exe().ok().as_deref(), &state_folder);
        starter.arguments = arguments;
        starter
    });
    let dialer = DaemonDialer::new(socket, starter);
    let client = match dialer.connect() {
        Err(ConnectError::NobodyListens { .. }) if dialer.starter().is_some() => dialer.start()?,
        other => other?,
    };
    Ok(client.into_stream())
}

/// Which side of a copy failed.
enum CopyFailure {
    Reading(io::Error),
    /// Nobody reads any more.
    Writing,
}

/// Carries bytes until there are no more, each piece as soon as it is there.
fn carry(mut from: impl Read, to: &mut impl Write) -> Result<(), CopyFailure> {
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let read = match from.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CopyFailure::Reading(error)),
        };
        to.write_all(&piece[..read]).and_then(|()| to.flush()).map_err(|_| CopyFailure::Writing)?;
    }
}
