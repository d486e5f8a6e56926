//! How freely a session's calls run, in words: as it is given, as it is told, and how it is changed (spec 06, "Approval modes").

use clap::ValueEnum;
use serde::Deserialize as _;
use serde_json::Value;

use super::link::{DaemonCallError, DaemonLink};
use protocol::{
    ApprovalMode, OpenEnum, SessionGet, SessionId, SessionIdParams, SessionUpdate, SessionUpdateParams,
};

/// A mode, as it is given on the command line and in a conversation.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum ModeWord {
    /// Refuse everything that is not safe
    Plan,
    /// Ask about everything that is not safe
    Default,
    /// Allow small edits inside the workspace
    #[value(name = "autoEdit", alias = "auto-edit")]
    AutoEdit,
    /// Allow everything that is not critical; needs the setting approval.allowYolo
    Yolo,
}

impl ModeWord {
    pub(super) fn mode(self) -> ApprovalMode {
        match self {
            ModeWord::Plan => ApprovalMode::Plan,
            ModeWord::Default => ApprovalMode::Default,
            ModeWord::AutoEdit => ApprovalMode::AutoEdit,
            ModeWord::Yolo => ApprovalMode::Yolo,
        }
    }
}

/// What a mode lets happen, in one line.
pub(super) fn in_words(mode: ApprovalMode) -> &'static str {
    match mode {
        ApprovalMode::Plan => "what is not safe is refused (mode plan)",
        ApprovalMode::Default => "what is not safe is asked about (mode default)",
        ApprovalMode::AutoEdit => "edits of low risk run without asking in this session (mode autoEdit)",
        ApprovalMode::Yolo => {
            "everything that is not critical runs without asking in this session (mode yolo)"
        }
    }
}

/// The mode of a session; `None` when only a newer daemon knows it.
pub(super) fn of_session(
    session_id: &SessionId,
    link: &mut DaemonLink,
) -> Result<Option<ApprovalMode>, DaemonCallError> {
    let answer = link.ask_value::<SessionGet>(&SessionIdParams { session_id: session_id.clone() })?;
    Ok(of_answer(&answer))
}

/// The same of what `session/get` answered.
pub(super) fn of_answer(answer: &Value) -> Option<ApprovalMode> {
    match answer.pointer("/session/mode") {
        Some(mode) => OpenEnum::<ApprovalMode>::deserialize(mode).ok()?.known(),
        None => Some(ApprovalMode::Default),
    }
}

/// Sets the mode of a session, from its next call on.
pub(super) fn set(
    session_id: &SessionId,
    mode: ApprovalMode,
    link: &mut DaemonLink,
) -> Result<Value, DaemonCallError> {
    let params = SessionUpdateParams {
        session_id: session_id.clone(),
        title: None,
        agent: None,
        mode: Some(mode),
        system_append: None,
    };
    link.ask_value::<SessionUpdate>(&params)
}
