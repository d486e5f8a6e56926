//! `errors.md`: what can go wrong with a request.

use std::fmt::Write as _;

use super::{
    examples::{self, ProtocolExamples},
    schemas::SchemaDefinitions,
    tables::{FieldDirection, PLACE, fields, one_line},
};
use protocol::{ErrorData, ErrorKind, SchemaViolation, answer_schema};

pub(super) fn page() -> String {
    let mut schemas = SchemaDefinitions::new(PLACE);
    let data = schemas.add(answer_schema::<ErrorData>());
    let violation = schemas.add(schemars::schema_for!(SchemaViolation));
    // The kinds are the table of this page.
    let data = fields(&data, FieldDirection::Received, &schemas)
        .replace("[ErrorKind](#errorkind)", "[kind](#kinds)");
    let violation = fields(&violation, FieldDirection::Received, &schemas);
    let examples = ProtocolExamples::read();
    let mut kinds = "| kind | code | retryable | meaning | what to do |\n|---|---|---|---|---|\n".to_owned();
    let mut shown = String::new();
    for &kind in ErrorKind::ALL {
        let retryable = if kind.is_retryable() { "yes" } else { "" };
        let (name, code, doc) = (kind.as_str(), kind.code(), one_line(kind.doc()));
        let _ = writeln!(kinds, "| `{name}` | {code} | {retryable} | {doc} | {} |", what_to_do(kind));
        if let Some(error) = examples.of_error(name) {
            let _ = write!(shown, "\n```json\n{}\n```\n", examples::text(error));
        }
    }
    format!(
        "# Errors\n\n\
         Generated from the daemon's types.\n\n\
         A request fails with `error: {{code, message, data}}`. Programs look at `data.kind`; the message is one \
         line for people and may change. Codes from −32768 to −32000 and −32800 mean what JSON-RPC and its \
         dialects say; the daemon's own lie in −31xxx. Neither codes nor kinds are ever reused. Failures inside \
         a run (of a tool, of a model) are events, not request errors: `ToolErrorType` and `RunErrorCode` in \
         [events.md](events.md). What is wrong with an agent's file is told as `FileProblemCode` in \
         [methods.md](methods.md).\n\n\
         A kind that you do not know is handled by `retryable` and shown with its message: newer daemons may have \
         more of them. Some kinds belong to parts that this version does not have yet; their names are fixed.\n\n\
         ## Data\n\n{data}\n\
         The `details` of `INVALID_PARAMS` are `{{violations}}`, an array of:\n\n{violation}\n\
         ## Kinds\n\n{kinds}\n\
         ## Examples\n\n\
         Of each kind the `error` of a response.\n{shown}"
    )
}

/// What a client does about an error of this kind.
fn what_to_do(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::ParseError | ErrorKind::InvalidRequest => {
            "Mend the client. The connection goes on with the next message."
        }
        ErrorKind::MethodNotFound => {
            "Ask `initialize` or `rpc/discover` what there is; an older daemon has fewer methods."
        }
        ErrorKind::InvalidParams => "Show each violation at the field its pointer names.",
        ErrorKind::InternalError => {
            "Show the id; look it up in the daemon's log. With an `idempotencyKey` the same request may be sent again."
        }
        ErrorKind::RequestCancelled => "Nothing: you asked for it.",
        ErrorKind::NotInitialized => "Send `initialize`, then the request.",
        ErrorKind::Unauthorized => "Ask for the token; do not repeat without one.",
        ErrorKind::Forbidden => "Tell the person; the daemon's owner decides.",
        ErrorKind::UnsupportedVersion => {
            "Choose one of `supported`, or say that client and daemon do not fit."
        }
        ErrorKind::Overloaded => "Wait `retryAfterMs`, or a moment that grows, and ask again.",
        ErrorKind::ShuttingDown => "Connect again when the daemon is back; runs go on by themselves.",
        ErrorKind::PayloadTooLarge => "Send less at once, or ask for a smaller page.",
        ErrorKind::RateLimited => "Wait `retryAfterMs`.",
        ErrorKind::LimitExceeded => {
            "Free what you hold (a subscription, a queued run), or send smaller batches."
        }
        ErrorKind::NotFound => "Show it; read the list anew.",
        ErrorKind::Gone => "Forget it; it does not come back.",
        ErrorKind::AlreadyExists => "Choose another name, or say that it may be replaced.",
        ErrorKind::Conflict => "Read it anew, and decide again.",
        ErrorKind::IdempotencyConflict => {
            "Use a fresh key for every new effect; a repeat has the same parameters."
        }
        ErrorKind::CursorGone => {
            "Begin anew without a cursor; when `logId` is another one, forget all ids and cursors."
        }
        ErrorKind::FileConflict => "Show both versions; force it only when a person says so.",
        ErrorKind::StorageFull => "Ask for room on the disk; runs are parked and go on by themselves.",
        ErrorKind::StorageError => "Ask again; when it stays, look into the daemon's log.",
        ErrorKind::WorkspaceNotTrusted => "Show the file and its digest to a person who may trust it.",
        ErrorKind::AgentNotReady => "Show why; choose another agent.",
        ErrorKind::InvalidDefinition => "Show each problem at its line of the file.",
        ErrorKind::InvalidInput => "Show each violation at the input its pointer names.",
        ErrorKind::MissingTemplateInput => "Ask for the values of `missing`.",
        ErrorKind::SessionClosed => "Start in a new session.",
        ErrorKind::RunNotActive => "Start another run in its session.",
        ErrorKind::Busy => "Wait for the run, or say by `ifBusy` what is to become of it.",
        ErrorKind::NoModel => "Let the person choose a model; `hint` names the ways.",
        ErrorKind::ProviderAuth => "Ask for another key.",
        ErrorKind::ProviderLimit => "Wait `retryAfterMs`, or choose another model.",
        ErrorKind::ProviderError => "Ask again later, or choose another model.",
        ErrorKind::ConfirmationAlreadyResolved => "Close the question and show who answered it.",
        ErrorKind::ConfirmationStale => "Show the question as it is now; never send the old answer again.",
        ErrorKind::OutcomeNotOffered => "Offer what is among the options.",
    }
}
