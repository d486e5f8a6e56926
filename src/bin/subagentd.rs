//! The daemon: flags in, exit code out.

use std::process::ExitCode;

use clap::Parser as _;
use subagentd::{
    cli::{DaemonFlags, pump},
    daemon,
    sys::warden,
};

fn main() -> ExitCode {
    if let Some(exit) = warden::run_if_asked() {
        return exit;
    }
    let flags = DaemonFlags::parse();
    if flags.stdio {
        return pump(&flags);
    }
    let ran = daemon::main(daemon::DaemonOptions {
        config: flags.config,
        settings: flags.settings,
        check_config: flags.check_config,
        socket: flags.socket,
        state_dir: flags.state_dir,
        listen: flags.listen,
        json_logs: flags.log_format.is_json(),
        ready_fd: flags.ready_fd,
        exit_when_idle: flags.exit_when_idle,
    });
    // Not by returning the error, which would show a person's slip with a backtrace.
    ran.map_or_else(|error| (eprintln!("Error: {error}"), ExitCode::FAILURE).1, |()| ExitCode::SUCCESS)
}
