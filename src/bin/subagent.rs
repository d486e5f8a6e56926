//! `subagent`, the companion of the daemon.

use std::process::ExitCode;

fn main() -> ExitCode {
    subagentd::cli::main()
}
