//! What can go wrong between a client and the daemon, told by what the caller does next.

use std::{fmt, io, path::PathBuf, process::ExitStatus, time::Duration};

use serde::Deserialize;
use serde_json::Value;

use protocol::{ErrorKind, EventSeq};

/// No connection came about.
#[derive(Debug)]
pub enum ConnectError {
    /// Nobody listens there. The one case in which starting a daemon helps.
    NobodyListens { socket: PathBuf },
    /// Somebody may listen there, but not for us, or it is not ours to trust.
    NotOurs { socket: PathBuf, why: String },
    /// The path cannot be a socket's, or the system refused in another way.
    Unusable { socket: PathBuf, error: io::Error },
    /// The daemon could not be executed.
    ProgramMissing { program: PathBuf, error: io::Error },
    /// The daemon ended before it was ready; `tail` is the last it said.
    DaemonDied { status: Option<ExitStatus>, log: PathBuf, tail: String },
    /// The daemon runs, but was not ready in time.
    NotReady { waited: Duration, log: PathBuf },
    /// The log of the daemon's start cannot be written.
    LogUnusable { log: PathBuf, error: io::Error },
}

impl ConnectError {
    /// One line: what to do.
    pub fn hint(&self) -> String {
        match self {
            ConnectError::NobodyListens { .. } => "start one with `subagentd`".into(),
            ConnectError::NotOurs { .. } => {
                "set XDG_RUNTIME_DIR, or name another socket with --socket PATH".into()
            }
            ConnectError::Unusable { .. } => "name another socket with --socket PATH".into(),
            ConnectError::ProgramMissing { .. } => {
                "`cargo build` builds it; else put `subagentd` beside `subagent` or into PATH, or start it yourself".into()
            }
            ConnectError::DaemonDied { log, .. } => format!("the whole log is {}", log.display()),
            ConnectError::NotReady { log, .. } => {
                format!("try again in a moment; its log is {}", log.display())
            }
            ConnectError::LogUnusable { .. } => {
                "make that folder writable, set XDG_STATE_HOME, or start `subagentd` yourself".into()
            }
        }
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConnectError::NobodyListens { socket } => write!(f, "no daemon listens on {}", socket.display()),
            ConnectError::NotOurs { socket, why } => write!(f, "{} is not used: {why}", socket.display()),
            ConnectError::Unusable { socket, error } => {
                write!(f, "cannot connect to {}: {error}", socket.display())
            }
            ConnectError::ProgramMissing { program, error } => {
                write!(f, "cannot start {}: {error}", program.display())
            }
            ConnectError::DaemonDied { status, tail, .. } => {
                write!(f, "the daemon ended before it was ready")?;
                if let Some(status) = status {
                    write!(f, " ({status})")?;
                }
                match tail.trim_end() {
                    "" => Ok(()),
                    tail => write!(f, "; it said:\n{tail}"),
                }
            }
            ConnectError::NotReady { waited, .. } => {
                write!(f, "the daemon was started, but is not ready after {} s", waited.as_secs())
            }
            ConnectError::LogUnusable { log, error } => write!(f, "cannot write {}: {error}", log.display()),
        }
    }
}

impl std::error::Error for ConnectError {}

/// A request came to nothing.
#[derive(Debug)]
pub enum CallError {
    /// The daemon answered with an error; the request had no effect.
    Refused(Box<ErrorReply>),
    /// The connection ended before the answer: whether the request took effect is unknown.
    Closed,
    /// No answer came in time; likewise unknown.
    NoAnswer { method: String, waited: Duration },
    /// The request is longer than the daemon takes; it was not sent.
    TooLarge { bytes: usize, limit: usize },
    /// The answer is not what the method promises: the daemon is of another version, or broken.
    Unreadable { method: String, error: String },
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Refused(refusal) => refusal.message.fmt(f),
            CallError::Closed => f.write_str("the daemon closed the connection before it answered"),
            CallError::NoAnswer { method, waited } => {
                write!(f, "the daemon has not answered `{method}` within {} s", waited.as_secs())
            }
            CallError::TooLarge { bytes, limit } => {
                write!(f, "the request has {bytes} bytes; the daemon takes at most {limit}")
            }
            CallError::Unreadable { method, error } => {
                write!(f, "the daemon's answer to `{method}` cannot be read: {error}")
            }
        }
    }
}

impl std::error::Error for CallError {}

/// An error answer. Kinds are open: one that this client does not know is kept as text (spec 01).
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorReply {
    pub code: i64,
    /// One line: what happened.
    pub message: String,
    /// As the daemon spells it; empty when it gave none.
    pub kind: String,
    pub retryable: bool,
    /// One line: what to do.
    pub hint: Option<String>,
    pub details: Option<Value>,
    /// The whole error object as it came.
    pub raw: Value,
}

impl ErrorReply {
    /// Reads an error object, forgiving whatever is missing.
    pub(super) fn read(raw: Value) -> ErrorReply {
        let lenient = LenientError::deserialize(&raw).unwrap_or_default();
        let data = lenient.data.unwrap_or_default();
        let known_by_code = || ErrorKind::ALL.iter().find(|kind| i64::from(kind.code()) == lenient.code);
        let kind = data.kind.or_else(|| known_by_code().map(|kind| kind.as_str().to_owned()));
        ErrorReply {
            code: lenient.code,
            message: lenient.message,
            kind: kind.unwrap_or_default(),
            retryable: data.retryable,
            hint: data.hint,
            details: data.details,
            raw,
        }
    }

    /// True if the kind is this one.
    pub fn is(&self, kind: ErrorKind) -> bool {
        self.kind == kind.as_str()
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LenientError {
    code: i64,
    message: String,
    data: Option<LenientErrorDetails>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LenientErrorDetails {
    kind: Option<String>,
    retryable: bool,
    hint: Option<String>,
    details: Option<Value>,
}

/// Following a session ended before its time.
#[derive(Debug)]
pub enum FollowError {
    /// The daemon did not come back in time; `last` is what the latest attempt said.
    Lost { waited: Duration, last: ConnectError },
    /// The daemon does not let us follow, e.g. there is no such session.
    Call(CallError),
    /// Events stay missing however often we ask again.
    Gap { last: EventSeq, prev: EventSeq },
}

impl fmt::Display for FollowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FollowError::Lost { waited, last } => {
                write!(f, "the daemon has been gone for {} s: {last}", waited.as_secs())
            }
            FollowError::Call(error) => error.fmt(f),
            FollowError::Gap { last, prev } => {
                write!(f, "events between {last} and {prev} are missing, also after asking for them again")
            }
        }
    }
}

impl std::error::Error for FollowError {}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_error_of_an_unknown_kind_keeps_its_name_and_hint() {
        let raw = json!({"code": -31999, "message": "no", "data": {"kind": "TOO_BLUE", "hint": "paint it"}});
        let refusal = ErrorReply::read(raw);
        assert_eq!((refusal.kind.as_str(), refusal.hint.as_deref()), ("TOO_BLUE", Some("paint it")));
    }

    #[test]
    fn an_error_without_data_gets_its_kind_from_the_code() {
        let refusal = ErrorReply::read(json!({"code": -32601, "message": "Method not found"}));
        assert!(refusal.is(ErrorKind::MethodNotFound));
    }
}
