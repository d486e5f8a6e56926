//! What does an error of Google's say? In the form of `google.rpc.Status`, in refusals and in streams
//! (<https://cloud.google.com/apis/design/errors>).

use std::time::Duration;

use serde::Deserialize;

use super::super::exchange::failure::{CANCELLED, ProviderError, seconds};

/// `error` of a response. All of it may be missing: proxies make their own.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct GoogleError {
    code: Option<u16>,
    message: String,
    status: String,
    details: Vec<Detail>,
}

/// One of `details`; fields of all the kinds that tell something.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Detail {
    /// Of `google.rpc.ErrorInfo`.
    reason: Option<String>,
    /// Of `google.rpc.RetryInfo`, e.g. `3.5s`.
    retry_delay: Option<String>,
}

impl From<GoogleError> for ProviderError {
    fn from(error: GoogleError) -> ProviderError {
        let delays = error.details.iter().filter_map(|detail| detail.retry_delay.as_deref());
        let retry_after: Option<Duration> =
            delays.filter_map(|delay| seconds(delay.strip_suffix('s')?)).max();
        let is_about_key =
            error.details.iter().any(|detail| detail.reason.as_deref() == Some("API_KEY_INVALID"));
        // Smaller codes are gRPC's, which the name repeats.
        let status = error.code.filter(|code| (400..=599).contains(code)).or_else(|| by_name(&error.status));
        let code = error.code.map(|code| code.to_string()).unwrap_or_default();
        ProviderError { status, kind: error.status, code, message: error.message, retry_after, is_about_key }
    }
}

/// The status that an error has as an answer, by its name (`google.rpc.Code`).
fn by_name(name: &str) -> Option<u16> {
    match name {
        "INVALID_ARGUMENT" | "FAILED_PRECONDITION" | "OUT_OF_RANGE" => Some(400),
        "UNAUTHENTICATED" => Some(401),
        "PERMISSION_DENIED" => Some(403),
        "NOT_FOUND" => Some(404),
        "ABORTED" | "ALREADY_EXISTS" => Some(409),
        "RESOURCE_EXHAUSTED" => Some(429),
        "CANCELLED" => Some(CANCELLED),
        "UNKNOWN" | "INTERNAL" | "DATA_LOSS" => Some(500),
        "UNIMPLEMENTED" => Some(501),
        "UNAVAILABLE" => Some(503),
        "DEADLINE_EXCEEDED" => Some(504),
        _ => None,
    }
}

/// The body is an object with `error`, or a list of such.
pub(super) fn read(body: &[u8]) -> Option<ProviderError> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Body {
        One { error: GoogleError },
        Many(Vec<Many>),
    }
    #[derive(Deserialize)]
    struct Many {
        error: GoogleError,
    }
    match serde_json::from_slice(body).ok()? {
        Body::One { error } => Some(error.into()),
        Body::Many(errors) => errors.into_iter().next().map(|it| it.error.into()),
    }
}
