//! `subagent undo`: takes back what an agent changed in files.

use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use super::{
    ProcessIo, ReportFormat, failure::CommandFailure, link::DaemonLink, paging, person,
    progress::people::FileRestoredView, safe_text, which_session,
};
use protocol::{SessionUndo, SessionUndoParams};

#[derive(Args)]
pub(super) struct UndoArguments {
    /// Undo everything from this call on, newest first; `subagent show RUN` lists the calls
    #[arg(long = "to", value_name = "CALL", conflicts_with = "last")]
    to_call: Option<String>,
    /// Undo the last turn that changed files (the default)
    #[arg(long)]
    last: bool,
    /// Also undo changes of files that were changed since; those later changes are lost
    #[arg(long)]
    force: bool,
    /// In this session; the beginning of its id is enough [default: the current one here]
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// What stdout gets: sentences, or the daemon's answer
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

/// The answer to `session/undo`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SessionUndoReply {
    restored: Vec<FileRestoredView>,
    not_restorable: Vec<NotRestorableView>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NotRestorableView {
    call_id: String,
    tool: String,
    reason: String,
}

pub(super) fn undo(
    arguments: &UndoArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    // So that the log says who did.
    link.open_as(person::answering(surroundings)?, &mut surroundings.stderr)?;
    let session_id = which_session::named_or_told(arguments.session.as_deref(), link, surroundings)?;
    let params = SessionUndoParams {
        session_id,
        to_call_id: arguments.to_call.as_deref().map(Into::into),
        last_turn: arguments.last || arguments.to_call.is_none(),
        force: arguments.force,
    };
    let answer = link.ask_value::<SessionUndo>(&params).map_err(CommandFailure::from)?;
    let told = told(&answer)?;
    paging::tell(&answer, arguments.format, || told, surroundings)?;
    Ok(0)
}

/// What an answer to `session/undo` says, in harmless lines.
pub(super) fn told(answer: &Value) -> Result<String, CommandFailure> {
    Ok(describe(&paging::view(answer)?))
}

fn describe(undone: &SessionUndoReply) -> String {
    let line = |text: &str| safe_text::line(text, usize::MAX);
    let restored = undone.restored.iter().map(|file| line(&file.describe()));
    let left = undone.not_restorable.iter().map(|left| {
        format!(
            "cannot be undone: {} (call {}): {}",
            line(&left.tool),
            line(&left.call_id),
            line(&left.reason)
        )
    });
    let lines: Vec<String> = restored.chain(left).collect();
    if lines.is_empty() { "there is nothing to undo".to_owned() } else { lines.join("\n") }
}
