//! In which session does a run go on? (Spec 12, "Which session".)

use clap::Args;
use serde::Deserialize;

use super::{
    ProcessIo, failure::CommandFailure, ids, link::DaemonLink, message::show_message, paging, safe_text,
    text_color::TextColor,
};
use protocol::{SessionId, SessionList, SessionListParams, SessionState, WorkspaceParam};

/// A session's title is cut here; the line tells more.
const TITLE_CHARACTERS: usize = 60;

#[derive(Args)]
#[group(multiple = false)]
pub(super) struct SessionArguments {
    /// Continue the workspace's current session (the default on a terminal)
    #[arg(long = "continue")]
    goes_on: bool,
    /// Open a new session (the default in a pipe and with --detach)
    #[arg(long = "new")]
    is_new: bool,
    /// Continue this session; the beginning of the id is enough
    #[arg(long, value_name = "ID", conflicts_with = "workspace")]
    session: Option<String>,
}

impl SessionArguments {
    /// The session to go on in; `None` = a new one. `is_at_hand`: a person sits there and waits.
    pub(super) fn choose(
        &self,
        workspace: &WorkspaceParam,
        is_at_hand: bool,
        link: &mut DaemonLink,
        surroundings: &mut ProcessIo,
    ) -> Result<Option<SessionId>, CommandFailure> {
        if let Some(text) = &self.session {
            return ids::find_session(text, link).map(Some);
        }
        let goes_on = self.goes_on || (is_at_hand && !self.is_new);
        if !goes_on {
            return Ok(None);
        }
        match find_current(workspace, link)? {
            Some(session) => {
                let text = format!("continuing session {}; --new opens a new one", session.describe());
                show_message(&mut surroundings.stderr, TextColor::Dim, "note", &text);
                Ok(Some(session.session_id))
            }
            None if self.goes_on => {
                let roots = workspace.roots().join(", ");
                Err(CommandFailure::new(format!("there is no open session in {roots} to continue"))
                    .or_hint("leave --continue out to open one; `subagent sessions` lists those there are"))
            }
            None => Ok(None),
        }
    }
}

/// What is read of a session to name it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CurrentSession {
    session_id: SessionId,
    #[serde(default)]
    title: Option<String>,
}

impl CurrentSession {
    fn describe(&self) -> String {
        let id = ids::shortest(self.session_id.as_str());
        match &self.title {
            Some(title) => format!("{id} ({})", safe_text::line(title, TITLE_CHARACTERS)),
            None => id,
        }
    }
}

/// The session that is named, else the workspace's current one.
pub(super) fn named_or_current(
    named: Option<&str>,
    link: &mut DaemonLink,
    surroundings: &ProcessIo,
) -> Result<SessionId, CommandFailure> {
    if let Some(text) = named {
        return ids::find_session(text, link);
    }
    let current = match surroundings.workspace() {
        Some(workspace) => find_current(&workspace, link)?,
        None => None,
    };
    current.map(|session| session.session_id).ok_or_else(|| {
        CommandFailure::new(format!("there is no open session in {}", surroundings.working_folder.display()))
            .or_hint("name one with --session ID; `subagent sessions` lists those there are")
    })
}

/// The same, and says in a note which one that is where nobody named it.
pub(super) fn named_or_told(
    named: Option<&str>,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<SessionId, CommandFailure> {
    let current = match (named, surroundings.workspace()) {
        (None, Some(workspace)) => find_current(&workspace, link)?,
        _ => None,
    };
    let Some(session) = current else { return named_or_current(named, link, surroundings) };
    let text = format!("in session {}; --session ID names another", session.describe());
    show_message(&mut surroundings.stderr, TextColor::Dim, "note", &text);
    Ok(session.session_id)
}

/// The open session of exactly this workspace that was active last.
fn find_current(
    workspace: &WorkspaceParam,
    link: &mut DaemonLink,
) -> Result<Option<CurrentSession>, CommandFailure> {
    #[derive(Deserialize)]
    struct Found {
        sessions: Vec<CurrentSession>,
    }
    let params = SessionListParams {
        workspace: Some(workspace.clone()),
        state: Some(SessionState::Open),
        limit: 1,
        ..SessionListParams::default()
    };
    let answer = link.ask_value::<SessionList>(&params)?;
    let found: Found = paging::view(&answer)?;
    Ok(found.sessions.into_iter().next())
}
