//! `subagent status`: is the daemon there, and how is it?

use std::{path::Path, time::Duration};

use clap::Args;

use super::{Format, Surroundings, failure::Failure, human, link::Link};
use crate::{
    client::ConnectError,
    protocol::{DaemonState, DaemonStatus, DaemonStatusResult, NoParams},
};

#[derive(Args)]
pub(super) struct StatusArguments {
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(super) fn status(
    arguments: &StatusArguments,
    link: &mut Link,
    surroundings: &mut Surroundings,
) -> Result<u8, Failure> {
    let mut client = link.dialer().connect().map_err(not_running)?;
    let status = client.call::<DaemonStatus>(&NoParams {})?;
    match arguments.format {
        Format::Json => surroundings.stdout.write_json_of(&status)?,
        Format::Table => surroundings.stdout.write_text(&draw(&status, link.dialer().socket()))?,
    }
    Ok(0)
}

/// Asking how the daemon is starts none.
pub(super) fn not_running(error: ConnectError) -> Failure {
    match error {
        ConnectError::NobodyListens { ref socket } => {
            Failure::unavailable(format!("no daemon is running (nobody listens on {})", socket.display()))
                .or_hint("`subagent run` starts one, or run `subagentd`")
        }
        error => error.into(),
    }
}

fn draw(status: &DaemonStatusResult, socket: &Path) -> String {
    let daemon = &status.daemon;
    let runs = &status.runs;
    let counted = [
        (runs.running, "running"),
        (runs.waiting, "waiting"),
        (runs.queued, "queued"),
        (runs.parked, "parked"),
        (runs.ended, "ended"),
    ];
    let counted: Vec<String> = counted
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, state)| format!("{count} {state}"))
        .collect();
    let runs = if counted.is_empty() { "none".to_owned() } else { counted.join(", ") };
    let clients = human::count(status.clients.into(), "client");
    let subscriptions = human::count(status.subscriptions.into(), "subscription");
    let database = &status.database;
    let uptime = human::duration(Duration::from_millis(status.uptime_ms));
    let standing = match status.state {
        DaemonState::Running => "",
        DaemonState::Draining => ", draining: it takes no new runs",
        DaemonState::Stopping => ", stopping",
    };
    let mut lines = vec![
        format!("{} {}, pid {}, up {uptime}{standing}", daemon.name, daemon.version, daemon.pid),
        format!("socket    {}", socket.display()),
        format!(
            "database  {}, {}, head {}",
            database.path.display(),
            human::bytes(database.bytes),
            database.head
        ),
        format!("runs      {runs}"),
        format!("clients   {clients}, {subscriptions}"),
    ];
    lines.extend(status.rss_bytes.map(|bytes| format!("memory    {}", human::bytes(bytes))));
    lines.extend(status.degraded.iter().map(|sentence| format!("degraded  {sentence}")));
    lines.join("\n")
}
