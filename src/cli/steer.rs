//! `subagent steer`: says something to a run that is not over.

use clap::Args;

use super::{Surroundings, failure::Failure, ids, inputs, key::new_key, link::Link};
use crate::protocol::{RunSteer, RunSteerParams};

#[derive(Args)]
pub(super) struct SteerArguments {
    /// A run's id, or the beginning of it
    run: String,
    /// What to say; without it, and not from a terminal, standard input is read
    text: Option<String>,
}

pub(super) fn steer(
    arguments: &SteerArguments,
    link: &mut Link,
    surroundings: &mut Surroundings,
) -> Result<u8, Failure> {
    let text = match &arguments.text {
        Some(text) => Some(text.clone()).filter(|text| !text.trim().is_empty()),
        None => inputs::read_text("the text", &mut surroundings.stdin)?,
    };
    let Some(text) = text else {
        return Err(Failure::usage("there is nothing to say")
            .or_hint("give the text as the last argument, or on standard input"));
    };
    let idempotency_key = Some(new_key()?);
    link.open(&mut surroundings.stderr)?;
    let run_id = ids::find_run(&arguments.run, link)?;
    let params = RunSteerParams { run_id, text, idempotency_key };
    let Surroundings { stdout, stderr, interrupts, .. } = surroundings;
    let steered = link.ask_for_effect::<RunSteer>(&params, stderr, &mut || interrupts() > 0)?;
    stdout.write_text(&format!("said to run {}; its model reads it at the next turn", steered.run_id))?;
    Ok(0)
}
