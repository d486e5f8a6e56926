//! `subagent sessions mode`: how freely do a session's calls run, and how else shall they?

use clap::Args;

use super::SessionSelector;
use crate::{
    ProcessIo, ReportFormat,
    failure::CommandFailure,
    link::DaemonLink,
    mode::{self, ModeWord},
    paging,
};
use protocol::SessionGet;

#[derive(Args)]
pub(super) struct ModeArguments {
    #[command(flatten)]
    session: SessionSelector,
    /// The mode from now on [default: show the one it has]
    #[arg(value_enum)]
    mode: Option<ModeWord>,
    /// What stdout gets: a sentence, or the daemon's answer
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

pub(super) fn mode(
    arguments: &ModeArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<(), CommandFailure> {
    let params = arguments.session.find(link)?;
    let (answer, mode) = match arguments.mode.map(ModeWord::mode) {
        Some(wanted) => (mode::set(&params.session_id, wanted, link)?, Some(wanted)),
        None => {
            let answer = link.ask_value::<SessionGet>(&params)?;
            let mode = mode::of_answer(&answer);
            (answer, mode)
        }
    };
    let words = || mode.map_or("a mode that only a newer `subagent` knows", mode::in_words).to_owned();
    paging::tell(&answer, arguments.format, words, surroundings)
}
