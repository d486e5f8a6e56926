//! `subagent cancel`: stops a run.

use clap::Args;
use serde::Deserialize;

use super::{
    Surroundings, Telling, ending::Ending, failure::Failure, ids, link::Link, paging, safe_text, table,
};
use crate::protocol::{RunCancel, RunCancelParams, Seq};

#[derive(Args)]
pub(super) struct CancelArguments {
    /// A run's id, or the beginning of it
    run: String,
    /// Why; kept in the log for people
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// What stdout gets: a sentence, or the daemon's answer
    #[arg(long, value_enum, default_value_t = Telling::Text)]
    format: Telling,
}

/// The answer to `run/cancel`, with open states and reasons.
#[derive(Deserialize)]
struct Cancelled {
    run: Ending,
    seq: Option<Seq>,
}

pub(super) fn cancel(
    arguments: &CancelArguments,
    link: &mut Link,
    surroundings: &mut Surroundings,
) -> Result<u8, Failure> {
    link.open(&mut surroundings.stderr)?;
    let run_id = ids::find_run(&arguments.run, link)?;
    let params = RunCancelParams { run_id: run_id.clone(), reason: arguments.reason.clone() };
    let answer = link.ask_value::<RunCancel>(&params)?;
    let Cancelled { run, seq } = paging::view(&answer)?;
    let agent = safe_text::line(&run.agent, table::NAME_CHARACTERS);
    let standing = safe_text::line(run.standing(), table::NAME_CHARACTERS);
    let words = || match (run.has_ended(), seq) {
        (true, None) => format!("run {run_id} of {agent} had ended before: {standing}"),
        (true, Some(_)) => format!("cancelled run {run_id} of {agent}: {standing}"),
        (false, Some(_)) => format!("cancelling run {run_id} of {agent}"),
        (false, None) => format!("run {run_id} of {agent} is being cancelled already"),
    };
    paging::tell(&answer, arguments.format, words, surroundings)?;
    Ok(0)
}
