//! How does a command tell that it failed? One line what, one line what to do, and an exit code (spec 12).

use serde_json::Value;

use client::{CallError, ConnectError, ErrorReply, FollowError};
use protocol::{ErrorKind, PROTOCOL_VERSIONS};

/// The command line makes no sense.
pub(super) const EXIT_USAGE: u8 = 2;
/// No daemon can be reached (`EX_UNAVAILABLE` of sysexits).
pub(super) const EXIT_UNAVAILABLE: u8 = 69;
/// Whoever read our output is gone; what a shell reports for SIGPIPE.
pub(super) const EXIT_PIPE_CLOSED: u8 = 141;
/// The person left with Ctrl-C; what a shell reports for SIGINT.
pub(super) const EXIT_INTERRUPTED: u8 = 130;
/// What was waited for did not happen in time; what `timeout` of coreutils answers.
pub(super) const EXIT_TIMED_OUT: u8 = 124;
/// Anything else.
pub(super) const EXIT_FAILED: u8 = 1;

/// Of an error in a line: what to do about it stands at its end, so it is not cut before.
pub(super) const ERROR_CHARACTERS: usize = 400;

/// A line about something that failed: what it was, how long it took, the error's kind, and the error.
pub(super) const ERROR_LINE_CHARACTERS: usize = 180 + ERROR_CHARACTERS;

/// Why a command ends early.
#[derive(Debug)]
pub(super) enum CommandFailure {
    /// Told to whoever asked; `error` is the daemon's error object, when it refused.
    Told { exit_code: u8, what: String, hint: Option<String>, error: Option<Value> },
    /// Told to a program: the daemon's error object as it came.
    ErrorObject(Value),
    /// Nobody reads any more, so nothing is told.
    PipeClosed,
}

impl CommandFailure {
    pub(super) fn new(what: impl Into<String>) -> CommandFailure {
        CommandFailure::with_code(EXIT_FAILED, what)
    }

    pub(super) fn usage(what: impl Into<String>) -> CommandFailure {
        CommandFailure::with_code(EXIT_USAGE, what)
    }

    pub(super) fn unavailable(what: impl Into<String>) -> CommandFailure {
        CommandFailure::with_code(EXIT_UNAVAILABLE, what)
    }

    pub(super) fn with_code(exit_code: u8, what: impl Into<String>) -> CommandFailure {
        CommandFailure::Told { exit_code, what: what.into(), hint: None, error: None }
    }

    /// What the daemon said when it refused.
    pub(super) fn from_refusal(refusal: &ErrorReply) -> CommandFailure {
        refused(refusal)
    }

    /// Says what to do, unless that was said.
    #[must_use]
    pub(super) fn or_hint(self, text: impl Into<String>) -> CommandFailure {
        match self {
            CommandFailure::Told { exit_code, what, hint, error } => {
                CommandFailure::Told { exit_code, what, hint: hint.or_else(|| Some(text.into())), error }
            }
            other => other,
        }
    }
}

impl From<ConnectError> for CommandFailure {
    fn from(error: ConnectError) -> CommandFailure {
        CommandFailure::unavailable(error.to_string()).or_hint(error.hint())
    }
}

impl From<CallError> for CommandFailure {
    fn from(error: CallError) -> CommandFailure {
        match error {
            CallError::Refused(refusal) => refused(&refusal),
            CallError::Closed | CallError::NoAnswer { .. } => CommandFailure::unavailable(error.to_string())
                .or_hint("`subagent status` shows whether it is back"),
            CallError::TooLarge { .. } => CommandFailure::new(error.to_string())
                .or_hint("put long material into a file of the workspace"),
            CallError::Unreadable { .. } => CommandFailure::new(error.to_string()).or_hint(
                "daemon and `subagent` may be of different versions: `subagent stop`, then try again",
            ),
        }
    }
}

impl From<FollowError> for CommandFailure {
    fn from(error: FollowError) -> CommandFailure {
        match error {
            FollowError::Call(error) => error.into(),
            FollowError::Lost { ref last, .. } => {
                let hint = match last {
                    ConnectError::NobodyListens { .. } => {
                        "`subagent runs` starts it, then `subagent attach` follows on".to_owned()
                    }
                    other => other.hint(),
                };
                CommandFailure::unavailable(error.to_string()).or_hint(hint)
            }
            FollowError::Gap { .. } => CommandFailure::new(error.to_string())
                .or_hint("the run goes on; `subagent attach` shows it afresh"),
        }
    }
}

fn refused(refusal: &ErrorReply) -> CommandFailure {
    if let Some(failure) = of_another_version(refusal) {
        return failure;
    }
    let mut what = match refusal.message.is_empty() {
        true => format!("the daemon refused: {}", refusal.kind),
        false => refusal.message.clone(),
    };
    for violation in violations(refusal) {
        what.push_str(&format!("\n  {violation}"));
    }
    // Of a defect the daemon tells nothing else.
    let text_of = |key: &str| refusal.details.as_ref()?.get(key)?.as_str();
    if let Some(id) = text_of("id").filter(|_| refusal.is(ErrorKind::InternalError)) {
        what.push_str(&format!(" (id {id})"));
    }
    let failure =
        CommandFailure::Told { exit_code: EXIT_FAILED, what, hint: None, error: Some(refusal.raw.clone()) };
    failure.or_hint(refusal.hint.clone().unwrap_or_else(|| hint_for(refusal)))
}

/// Two installations on one machine: the daemon began before the programs were replaced, or they are another build's. What either
/// says of a question, the other could pass over, so nothing is asked; what the daemon itself advises is meant for whoever writes
/// clients.
fn of_another_version(refusal: &ErrorReply) -> Option<CommandFailure> {
    let (what, hint) = other_version(refusal)?;
    let error = Some(refusal.raw.clone());
    Some(CommandFailure::Told { exit_code: EXIT_FAILED, what, hint: Some(hint), error })
}

/// What is told of a daemon that speaks another version of the protocol, and what to do; `None` of any other refusal.
pub(super) fn other_version(refusal: &ErrorReply) -> Option<(String, String)> {
    let supported = refusal.details.as_ref().and_then(|details| details.get("supported")?.as_array());
    let supported = supported.filter(|_| refusal.is(ErrorKind::UnsupportedVersion))?;
    let spoken: Vec<&str> = supported.iter().filter_map(Value::as_str).collect();
    let newest = |versions: &[&str]| versions.iter().filter_map(|it| it.parse::<u32>().ok()).max();
    let what = format!(
        "the running daemon speaks version {} of the protocol, this `subagent` version {}",
        spoken.join(", "),
        PROTOCOL_VERSIONS.join(", ")
    );
    let hint = match newest(PROTOCOL_VERSIONS) < newest(&spoken) {
        true => "this `subagent` is the older of the two: use the one that was installed with the daemon",
        false => {
            "end it with `subagent stop`, and start the daemon that belongs to this `subagent` (the next command does, where it \
             may start one); runs go on there"
        }
    };
    Some((what, hint.to_owned()))
}

/// What breaks the schema, `pointer: message` each; empty for errors of another kind.
fn violations(refusal: &ErrorReply) -> Vec<String> {
    let Some(details) = &refusal.details else { return Vec::new() };
    let listed = details.get("violations").unwrap_or(details);
    let text_of = |violation: &Value, key: &str| violation.get(key)?.as_str().map(str::to_owned);
    let show = |violation: &Value| -> Option<String> {
        // What is the whole refusal has been said.
        let message = text_of(violation, "message").filter(|message| *message != refusal.message)?;
        let told = match text_of(violation, "pointer")?.as_str() {
            "" => message,
            pointer => format!("{pointer}: {message}"),
        };
        (told != refusal.message).then_some(told)
    };
    listed.as_array().map(|all| all.iter().filter_map(show).collect()).unwrap_or_default()
}

/// What to do when the daemon does not say.
fn hint_for(refusal: &ErrorReply) -> String {
    if let Some(suggestion) = refusal.details.as_ref().and_then(|details| details.get("didYouMean")?.as_str())
    {
        return format!("did you mean `{suggestion}`?");
    }
    let kind = ErrorKind::ALL.iter().copied().find(|kind| refusal.is(*kind));
    kind.map_or("this daemon is newer than `subagent`; its documentation knows more", hint_of).to_owned()
}

fn hint_of(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::AgentNotReady | ErrorKind::InvalidDefinition => {
            "`subagent list --all` shows what is wrong"
        }
        ErrorKind::InvalidInput | ErrorKind::MissingTemplateInput => "give inputs with --input NAME=VALUE",
        ErrorKind::InvalidParams => "fix the value above; `subagent COMMAND --help` lists what is allowed",
        ErrorKind::NoModel => "name one with --model; `--model offline` needs no key",
        ErrorKind::UnsupportedVersion | ErrorKind::MethodNotFound => {
            "the running daemon is of another version: `subagent stop`, then try again"
        }
        ErrorKind::ShuttingDown
        | ErrorKind::Overloaded
        | ErrorKind::RateLimited
        | ErrorKind::RequestCancelled => "try again in a moment",
        ErrorKind::Forbidden | ErrorKind::Unauthorized => "the daemon of another user? see --socket",
        ErrorKind::StorageFull => "make room on the disk that holds the daemon's state",
        ErrorKind::SessionClosed => "`--new` opens another session; `subagent sessions` lists them",
        ErrorKind::Busy => "leave --if-busy out, and it waits for its turn",
        ErrorKind::RunNotActive => "`subagent runs --active` lists the runs that are not over",
        ErrorKind::NotFound | ErrorKind::Gone => "`subagent list`, `runs` and `sessions` show what there is",
        ErrorKind::AlreadyExists => "choose another name",
        ErrorKind::Conflict | ErrorKind::FileConflict => "look at how it is now, then try again",
        ErrorKind::CursorGone => "leave --cursor out to begin again",
        ErrorKind::PayloadTooLarge => "put long material into a file of the workspace",
        ErrorKind::WorkspaceNotTrusted => "`subagent trust AGENT` shows what it may do, and asks",
        ErrorKind::ProviderAuth => "check the provider's key, or try `--model offline`, which needs none",
        ErrorKind::ProviderLimit | ErrorKind::ProviderError => "try again in a moment, or another --model",
        ErrorKind::ConfirmationAlreadyResolved => {
            "nothing is left to answer; `subagent approvals` lists what is"
        }
        ErrorKind::ConfirmationStale | ErrorKind::OutcomeNotOffered => {
            "the same command shows the question as it is now; nothing was decided"
        }
        // Not of a person's making.
        ErrorKind::InternalError
        | ErrorKind::StorageError
        | ErrorKind::ParseError
        | ErrorKind::InvalidRequest
        | ErrorKind::NotInitialized
        | ErrorKind::LimitExceeded
        | ErrorKind::IdempotencyConflict => "see `subagent logs`",
    }
}
