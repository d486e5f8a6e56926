//! `subagent sessions mode`: how freely do a session's calls run, and how else shall they?

use clap::Args;

use super::OneSession;
use crate::cli::{
    Surroundings,
    failure::Failure,
    link::Link,
    mode::{self, ModeWord},
};

#[derive(Args)]
pub(super) struct ModeArguments {
    #[command(flatten)]
    session: OneSession,
    /// The mode from now on [default: show the one it has]
    #[arg(value_enum)]
    mode: Option<ModeWord>,
}

pub(super) fn mode(
    arguments: &ModeArguments,
    link: &mut Link,
    surroundings: &mut Surroundings,
) -> Result<(), Failure> {
    let session_id = arguments.session.find(link)?.session_id;
    let told = match arguments.mode.map(ModeWord::mode) {
        Some(wanted) => {
            mode::set(&session_id, wanted, link)?;
            mode::in_words(wanted)
        }
        None => mode::of_session(&session_id, link)?
            .map_or("a mode that only a newer `subagent` knows", mode::in_words),
    };
    surroundings.stdout.write_text(told)
}
