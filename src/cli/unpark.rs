//! `subagent unpark`: lets a parked run go on.

use clap::Args;

use super::{ProcessIo, ReportFormat, failure::CommandFailure, ids, link::DaemonLink, paging, person};
use protocol::{RunIdParams, RunUnpark};

#[derive(Args)]
pub(super) struct UnparkArguments {
    /// A run's id, or the beginning of it
    run: String,
    /// What stdout gets: a sentence, or the daemon's answer
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

pub(super) fn unpark(
    arguments: &UnparkArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    // So that the log says who did.
    link.open_as(person::answering(surroundings)?, &mut surroundings.stderr)?;
    let run_id = ids::find_run(&arguments.run, link)?;
    let answer = link.ask_value::<RunUnpark>(&RunIdParams { run_id: run_id.clone() })?;
    let words = || match answer.get("seq").is_some_and(|seq| !seq.is_null()) {
        true => format!("run {run_id} goes on"),
        false => format!("run {run_id} is not parked"),
    };
    paging::tell(&answer, arguments.format, words, surroundings)?;
    Ok(0)
}
