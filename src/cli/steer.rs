//! `subagent steer`: says something to a run that is not over.

use clap::Args;

use super::{
    ProcessIo, ReportFormat, failure::CommandFailure, ids, inputs, key::new_key, link::DaemonLink, paging,
    person,
};
use protocol::{RunSteer, RunSteerParams};

#[derive(Args)]
pub(super) struct SteerArguments {
    /// A run's id, or the beginning of it
    run: String,
    /// What to say; if missing, read from standard input unless that is a terminal
    text: Option<String>,
    /// What stdout gets: a sentence, or the daemon's answer
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

pub(super) fn steer(
    arguments: &SteerArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let text = match &arguments.text {
        Some(text) => Some(text.clone()).filter(|text| !text.trim().is_empty()),
        None => inputs::read_text("the text", &mut surroundings.stdin)?,
    };
    let Some(text) = text else {
        return Err(CommandFailure::usage("there is nothing to say")
            .or_hint("give the text as the last argument, or on standard input"));
    };
    let idempotency_key = Some(new_key()?);
    // So that the log says who did.
    link.open_as(person::answering(surroundings)?, &mut surroundings.stderr)?;
    let run_id = ids::find_run(&arguments.run, link)?;
    let params = RunSteerParams { run_id, text, idempotency_key };
    let ProcessIo { stderr, interrupts, .. } = surroundings;
    let answer = link.ask_for_effect::<RunSteer>(&params, stderr, &mut || interrupts() > 0)?;
    let words = || format!("said to run {}; its model reads it at the next turn", params.run_id);
    paging::tell(&answer, arguments.format, words, surroundings)?;
    Ok(0)
}
