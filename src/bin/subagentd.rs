//! The daemon: flags in, exit code out.

use std::process::ExitCode;

use clap::Parser as _;
use subagentd::{
    cli::{DaemonFlags, pump},
    daemon,
};

fn main() -> anyhow::Result<ExitCode> {
    let flags = DaemonFlags::parse();
    if flags.stdio {
        return Ok(pump(&flags));
    }
    let json_logs = flags.log_format.is_json();
    let DaemonFlags { config, socket, state_dir, listen, ready_fd, exit_when_idle, .. } = flags;
    daemon::main(daemon::Options { config, socket, state_dir, listen, json_logs, ready_fd, exit_when_idle })?;
    Ok(ExitCode::SUCCESS)
}
