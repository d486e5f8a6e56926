//! The daemon: flags in, exit code out.

use clap::Parser as _;
use subagentd::{cli::DaemonFlags, daemon};

fn main() -> anyhow::Result<()> {
    let DaemonFlags { config, socket, state_dir, log_format, ready_fd, exit_when_idle } =
        DaemonFlags::parse();
    let json_logs = log_format.is_json();
    daemon::main(daemon::Options { config, socket, state_dir, json_logs, ready_fd, exit_when_idle })?;
    Ok(())
}
