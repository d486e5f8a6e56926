//! `subagent stop`: ends the daemon and waits until it is gone.

use std::{fs, path::Path, thread, time::Duration};

use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use super::{
    ProcessIo, ReportFormat, failure::CommandFailure, human, link::DaemonLink, paging, status::not_running,
};
use client::MonotonicStopwatch;
use protocol::{DaemonShutdown, DaemonStatus, NoParams};

/// How long the daemon may take: its grace time of 10 s, and as much again to flush.
const STOP_PATIENCE: Duration = Duration::from_secs(20);

/// Pause between two looks.
const LOOK_PAUSE: Duration = Duration::from_millis(50);

/// How long a daemon that is still there may take to say who it is.
const LOOK_PATIENCE: Duration = Duration::from_secs(1);

#[derive(Args)]
pub(super) struct StopArguments {
    /// What stdout gets: a sentence, or the answer of `daemon/shutdown`
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

/// What is read of the answer to `daemon/status`.
#[derive(Deserialize)]
struct StopStatusReply {
    daemon: StoppingDaemon,
}

#[derive(Deserialize)]
struct StoppingDaemon {
    instance: String,
    pid: u32,
}

/// The answer to `daemon/shutdown`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ShutdownReply {
    suspended_runs: u64,
}

pub(super) fn stop(
    arguments: &StopArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let dialer = link.dialer();
    let mut client = dialer.connect().map_err(not_running)?;
    let StopStatusReply { daemon: StoppingDaemon { instance, pid } } =
        client.call_as::<DaemonStatus, _>(&NoParams {})?;
    let is_seen = is_daemon(pid);
    let answer: Value = client.call_as::<DaemonShutdown, _>(&NoParams {})?;
    let ShutdownReply { suspended_runs } = paging::view(&answer)?;
    drop(client);
    let told = |surroundings: &mut ProcessIo, text: &str| {
        paging::tell(&answer, arguments.format, || text.to_owned(), surroundings).map(|()| 0)
    };

    let stopwatch = MonotonicStopwatch::start();
    // Whoever is seen to end is not asked whether it is there: where systemd listens, asking starts the next one.
    while is_seen && is_daemon(pid) {
        if stopwatch.left_of(STOP_PATIENCE).is_none() {
            return Err(still_there());
        }
        thread::sleep(LOOK_PAUSE);
    }
    while !is_seen && let Ok(client) = dialer.connect() {
        let status =
            client.with_patience(LOOK_PATIENCE).call_as::<DaemonStatus, StopStatusReply>(&NoParams {});
        // A client that follows a run may have started the next one by now.
        if status.is_ok_and(|status| status.daemon.instance != instance) {
            return told(surroundings, "stopped; another client has started a new daemon since");
        }
        if stopwatch.left_of(STOP_PATIENCE).is_none() {
            return Err(still_there());
        }
        thread::sleep(LOOK_PAUSE);
    }
    match suspended_runs {
        0 => told(surroundings, "stopped"),
        runs => {
            let runs = human::count(runs, "run");
            told(surroundings, &format!("stopped; {runs} will go on when the daemon starts again"))
        }
    }
}

fn still_there() -> CommandFailure {
    let waited = STOP_PATIENCE.as_secs();
    CommandFailure::new(format!("the daemon was told to stop, but is still there after {waited} s"))
        .or_hint("`subagent logs` says what it waits for")
}

/// Whether a daemon of this id is seen from here; one in a container may have another id outside of it. One that has
/// ended and that its parent has not looked after yet is none.
fn is_daemon(pid: u32) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).unwrap_or_default();
    stat.split_once(" (subagentd) ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}
