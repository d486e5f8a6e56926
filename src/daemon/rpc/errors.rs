//! How do errors look on the wire? Ours and jsonrpsee's become one table of kinds (spec 01, "Errors").

use jsonrpsee::types::{ErrorObjectOwned, error};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::message::WireId;
use protocol::{ErrorData, ErrorKind, RpcError};
use sys::ids;

/// A defect of ours: `cause` goes into the log under an id, the client gets the id and nothing else.
pub fn internal_error(cause: &dyn std::fmt::Display) -> RpcError {
    let id: String = ids::fresh();
    tracing::error!(%id, %cause, "internal error");
    RpcError::new(ErrorKind::InternalError, "the daemon failed to answer this request")
        .with_details(serde_json::json!({ "id": id }))
        .with_hint("the daemon's log has the cause under this id")
}

/// For jsonrpsee, which carries a handler's error to the response.
pub(super) fn error_object(error: RpcError) -> ErrorObjectOwned {
    ErrorObjectOwned::owned(error.code, error.message, Some(error.data))
}

/// Reads an error that jsonrpsee hands back: one of ours keeps its data, one of its own gets our kind.
pub(super) fn rpc_error(object: &ErrorObjectOwned) -> RpcError {
    if let Some(data) = our_data(object) {
        return RpcError { code: object.code(), message: object.message().to_owned(), data };
    }
    match kind_of_code(object.code()) {
        Some(ErrorKind::InternalError) | None => internal_error(object),
        Some(ErrorKind::PayloadTooLarge) => {
            RpcError::new(ErrorKind::PayloadTooLarge, "the answer would be larger than a message may be")
                .with_hint("ask for less, e.g. with a smaller limit or a narrower filter")
        }
        Some(kind) => RpcError::new(kind, object.message()),
    }
}

fn our_data(object: &ErrorObjectOwned) -> Option<ErrorData> {
    object.data().and_then(|data| serde_json::from_str(data.get()).ok())
}

/// What a code means here, jsonrpsee's own included.
fn kind_of_code(code: i32) -> Option<ErrorKind> {
    match code {
        error::OVERSIZED_REQUEST_CODE
        | error::OVERSIZED_RESPONSE_CODE
        | error::TOO_BIG_BATCH_RESPONSE_CODE => Some(ErrorKind::PayloadTooLarge),
        error::TOO_MANY_SUBSCRIPTIONS_CODE | error::TOO_BIG_BATCH_REQUEST_CODE => {
            Some(ErrorKind::LimitExceeded)
        }
        error::SERVER_IS_BUSY_CODE => Some(ErrorKind::Overloaded),
        _ => ErrorKind::ALL.iter().copied().find(|kind| kind.code() == code),
    }
}

#[derive(Serialize)]
struct ErrorResponse<'a> {
    jsonrpc: &'static str,
    id: &'a WireId,
    error: &'a RpcError,
}

/// A whole response that says what went wrong.
pub(super) fn error_response(id: &WireId, error: &RpcError) -> Box<RawValue> {
    let response = ErrorResponse { jsonrpc: "2.0", id, error };
    to_raw_value(&response).expect("strings, numbers and JSON values always serialize")
}

/// Replaces an error response that jsonrpsee made up itself; one that carries our data stays as it is.
pub(super) fn translated(response: Box<RawValue>, id: &WireId) -> Box<RawValue> {
    #[derive(Deserialize)]
    struct Failed {
        error: ErrorObjectOwned,
    }
    match serde_json::from_str::<Failed>(response.get()) {
        Ok(failed) if our_data(&failed.error).is_none() => error_response(id, &rpc_error(&failed.error)),
        _ => response,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    /// Codes and spellings are for ever (spec 01): a line of this table may be added, never changed.
    #[test]
    fn kinds_and_codes_never_change() {
        let table: String =
            ErrorKind::ALL.iter().map(|kind| format!("{} {}\n", kind.code(), kind.as_str())).collect();
        expect![[r#"
            -32700 PARSE_ERROR
            -32600 INVALID_REQUEST
            -32601 METHOD_NOT_FOUND
            -32602 INVALID_PARAMS
            -32603 INTERNAL_ERROR
            -32800 REQUEST_CANCELLED
            -31001 NOT_INITIALIZED
            -31002 UNAUTHORIZED
            -31003 FORBIDDEN
            -31004 UNSUPPORTED_VERSION
            -31005 OVERLOADED
            -31006 SHUTTING_DOWN
            -31007 PAYLOAD_TOO_LARGE
            -31008 RATE_LIMITED
            -31009 LIMIT_EXCEEDED
            -31010 NOT_FOUND
            -31011 GONE
            -31012 ALREADY_EXISTS
            -31013 CONFLICT
            -31014 IDEMPOTENCY_CONFLICT
            -31015 CURSOR_GONE
            -31016 FILE_CONFLICT
            -31017 STORAGE_FULL
            -31018 STORAGE_ERROR
            -31019 WORKSPACE_NOT_TRUSTED
            -31020 AGENT_NOT_READY
            -31021 INVALID_DEFINITION
            -31022 INVALID_INPUT
            -31023 MISSING_TEMPLATE_INPUT
            -31024 SESSION_CLOSED
            -31025 RUN_NOT_ACTIVE
            -31026 BUSY
            -31027 NO_MODEL
            -31028 PROVIDER_AUTH
            -31029 PROVIDER_LIMIT
            -31030 PROVIDER_ERROR
            -31031 CONFIRMATION_ALREADY_RESOLVED
            -31032 CONFIRMATION_STALE
            -31033 OUTCOME_NOT_OFFERED
        "#]]
        .assert_eq(&table);
    }

    #[test]
    fn errors_survive_the_way_through_jsonrpsee() {
        for &kind in ErrorKind::ALL {
            let error = RpcError::new(kind, "words").with_hint("hint").with_details(serde_json::json!([1]));
            assert_eq!(rpc_error(&error_object(error.clone())), error);
        }
    }

    #[test]
    fn errors_of_jsonrpsee_get_our_kinds() {
        let check = |code: i32, kind: ErrorKind| {
            let error = rpc_error(&ErrorObjectOwned::owned(code, "words", None::<()>));
            assert_eq!((error.code, error.data.kind), (kind.code(), kind), "{code}");
        };
        check(error::OVERSIZED_RESPONSE_CODE, ErrorKind::PayloadTooLarge);
        check(error::TOO_MANY_SUBSCRIPTIONS_CODE, ErrorKind::LimitExceeded);
        check(error::SERVER_IS_BUSY_CODE, ErrorKind::Overloaded);
        check(error::METHOD_NOT_FOUND_CODE, ErrorKind::MethodNotFound);
        check(error::CALL_EXECUTION_FAILED_CODE, ErrorKind::InternalError);
    }
}
