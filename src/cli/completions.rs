//! `subagent completions`: how does a shell complete our commands?

use clap::{Args, CommandFactory as _};
use clap_complete::{Shell, generate};

use super::{CliArguments, ProcessIo, failure::CommandFailure};

#[derive(Args)]
pub(super) struct CompletionsArguments {
    /// Prints the script that this shell reads, e.g. `source <(subagent completions bash)`
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn completions(
    arguments: &CompletionsArguments,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let mut script = Vec::new();
    generate(arguments.shell, &mut CliArguments::command(), "subagent", &mut script);
    // Written by the generator from our own words, which are UTF-8.
    surroundings.stdout.write(&String::from_utf8_lossy(&script))?;
    Ok(0)
}
