//! The daemon: flags in, exit code out.

use clap::Parser as _;
use subagentd::{cli::DaemonFlags, daemon};

fn main() -> anyhow::Result<()> {
    let flags = DaemonFlags::parse();
    daemon::main(daemon::Options {
        config: flags.config,
        settings: flags.settings,
        check_config: flags.check_config,
        socket: flags.socket,
        state_dir: flags.state_dir,
        json_logs: flags.log_format.is_json(),
        ready_fd: flags.ready_fd,
        exit_when_idle: flags.exit_when_idle,
    })?;
    Ok(())
}
