//! `subagent cancel`: stops a run.

use clap::Args;
use serde::Deserialize;

use super::{
    ProcessIo, ReportFormat, ending::RunOutcome, failure::CommandFailure, ids, link::DaemonLink, paging,
    person, safe_text, table,
};
use protocol::{EventSeq, RunCancel, RunCancelParams};

#[derive(Args)]
pub(super) struct CancelArguments {
    /// A run's id, or the beginning of it
    run: String,
    /// Why; kept in the log for people
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// What stdout gets: a sentence, or the daemon's answer
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

/// The answer to `run/cancel`, with open states and reasons.
#[derive(Deserialize)]
struct RunCancelReply {
    run: RunOutcome,
    seq: Option<EventSeq>,
}

pub(super) fn cancel(
    arguments: &CancelArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    // So that the log says who did.
    link.open_as(person::answering(surroundings)?, &mut surroundings.stderr)?;
    let run_id = ids::find_run(&arguments.run, link)?;
    let params = RunCancelParams { run_id: run_id.clone(), reason: arguments.reason.clone() };
    let answer = link.ask_value::<RunCancel>(&params)?;
    let RunCancelReply { run, seq } = paging::view(&answer)?;
    let agent = safe_text::line(&run.agent, table::NAME_CHARACTERS);
    let status = safe_text::line(run.status(), table::NAME_CHARACTERS);
    let words = || match (run.has_ended(), seq) {
        (true, None) => format!("run {run_id} of {agent} had ended before: {status}"),
        (true, Some(_)) => format!("cancelled run {run_id} of {agent}: {status}"),
        (false, Some(_)) => format!("cancelling run {run_id} of {agent}"),
        (false, None) => format!("run {run_id} of {agent} is being cancelled already"),
    };
    paging::tell(&answer, arguments.format, words, surroundings)?;
    Ok(0)
}
