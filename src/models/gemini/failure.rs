//! Why did Gemini give no reply, and is it worth asking again? (spec 04, "Retry";
//! <https://cloud.google.com/apis/design/errors>)

use std::time::{Duration, UNIX_EPOCH};

use reqwest::{
    Response, StatusCode,
    header::{DATE, HeaderMap, HeaderValue, RETRY_AFTER},
};
use serde::Deserialize;

use super::Endpoint;
use crate::{
    models::{ModelError, http},
    protocol::RunErrorCode,
    sys::clock::{Clock as _, SystemClock},
};

/// Of a refusal's body this much is read: Google's are a few KiB with all details.
const MAX_ERROR_BYTES: usize = 64 * 1024;
/// Of a provider's words this much is told; the rest is for nobody.
const MAX_WORDS_CHARS: usize = 500;

/// Google's status for a request that was called off. We did not, or we would not read it: something on its side did.
const CANCELLED: u16 = 499;

/// `error` of a response, in the form of `google.rpc.Status`. All of it may be missing: proxies make their own.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(in crate::models) struct ProviderError {
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

impl ProviderError {
    fn retry_delay(&self) -> Option<Duration> {
        let delays = self.details.iter().filter_map(|detail| detail.retry_delay.as_deref());
        delays.filter_map(|delay| seconds(delay.strip_suffix('s')?)).max()
    }

    fn is_about_key(&self) -> bool {
        self.details.iter().any(|detail| detail.reason.as_deref() == Some("API_KEY_INVALID"))
    }

    /// The status that this error has as an answer: its code, else what its name stands for (`google.rpc.Code`).
    fn http_status(&self) -> Option<u16> {
        let by_name = || match &*self.status {
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
        };
        // Smaller codes are gRPC's, which the name repeats.
        self.code.filter(|code| (400..=599).contains(code)).or_else(by_name)
    }
}

/// The request did not get there, or no answer came back.
pub(super) fn unreachable(endpoint: &Endpoint, error: reqwest::Error) -> ModelError {
    let place = endpoint.url.host_str().unwrap_or_default();
    passing(format!("{place} cannot be reached: {}", http::reason(error)), None)
}

/// The connection broke within the answer.
pub(super) fn broken(endpoint: &Endpoint, error: reqwest::Error) -> ModelError {
    let place = endpoint.url.host_str().unwrap_or_default();
    passing(
        format!("the connection to {place} broke in the middle of the response: {}", http::reason(error)),
        None,
    )
}

/// The stream itself said that it failed. It means what it would as an answer by itself.
pub(super) fn in_stream(endpoint: &Endpoint, error: &ProviderError) -> ModelError {
    let words = words(endpoint, error).unwrap_or_else(|| "no reason given".to_owned());
    let what = format!("the provider failed in the middle of the response: {words}");
    match error.http_status() {
        Some(status) => by_status(endpoint, status, what, Some(error), error.retry_delay()),
        None if error.is_about_key() => refused_key(endpoint, &what),
        // Nothing tells why; a stream that breaks is worth another try.
        None => passing(what, error.retry_delay()),
    }
}

/// A response with another status than 200.
pub(super) async fn refusal(endpoint: &Endpoint, mut response: Response) -> ModelError {
    let status = response.status();
    let headers = std::mem::take(response.headers_mut());
    let body = read_some(response).await;
    classify(endpoint, status, &headers, &body)
}

/// As much of the body as came, up to the bound: what is lost of a refusal changes nothing about it.
async fn read_some(mut response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(bytes)) = response.chunk().await {
        body.extend_from_slice(&bytes);
        if MAX_ERROR_BYTES <= body.len() {
            body.truncate(MAX_ERROR_BYTES);
            break;
        }
    }
    body
}

fn classify(endpoint: &Endpoint, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> ModelError {
    let error = parse(body);
    let words = error.as_ref().and_then(|error| words(endpoint, error));
    let words = words.or_else(|| unasked_words(body).map(|text| endpoint.key.hide_in(&text)));
    // A page's title is often the status once more.
    let what = match words.filter(|words| *words != status.to_string()) {
        Some(words) => format!("the provider answered {status}: {words}"),
        None => format!("the provider answered {status}"),
    };
    let hints = [retry_after(headers), error.as_ref().and_then(ProviderError::retry_delay)];
    by_status(endpoint, status.as_u16(), what, error.as_ref(), hints.into_iter().flatten().max())
}

/// `what` happened, as the status and the error's details tell it.
fn by_status(
    endpoint: &Endpoint,
    status: u16,
    what: String,
    error: Option<&ProviderError>,
    retry_after: Option<Duration>,
) -> ModelError {
    match status {
        _ if error.is_some_and(ProviderError::is_about_key) => refused_key(endpoint, &what),
        401 | 403 => refused_key(endpoint, &what),
        408 | 429 | CANCELLED | 500..=599 => passing(what, retry_after),
        300..=399 => {
            let message =
                format!("{what}; redirects are not followed, since the key would travel on: set `baseUrl`");
            ModelError::Final { code: RunErrorCode::ModelFailed, message }
        }
        _ => ModelError::Final { code: RunErrorCode::ModelFailed, message: what },
    }
}

fn refused_key(endpoint: &Endpoint, what: &str) -> ModelError {
    let place = &endpoint.key_place;
    let message = format!("{what} (provider entry `{}`, key from {place})", place.entry);
    ModelError::Final { code: RunErrorCode::ProviderAuth, message }
}

fn passing(message: String, retry_after: Option<Duration>) -> ModelError {
    let ms = |hint: Duration| u64::try_from(hint.as_millis()).unwrap_or(u64::MAX);
    ModelError::Passing { message, retry_after_ms: retry_after.map(ms) }
}

/// The body is an object with `error`, or a list of such.
fn parse(body: &[u8]) -> Option<ProviderError> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Body {
        One { error: ProviderError },
        Many(Vec<Many>),
    }
    #[derive(Deserialize)]
    struct Many {
        error: ProviderError,
    }
    match serde_json::from_slice(body).ok()? {
        Body::One { error } => Some(error),
        Body::Many(errors) => errors.into_iter().next().map(|it| it.error),
    }
}

/// What the provider says for itself, without the key.
fn words(endpoint: &Endpoint, error: &ProviderError) -> Option<String> {
    let message = short(&endpoint.key.hide_in(&error.message));
    let code = error.code.map(|code| code.to_string());
    let status = [code.unwrap_or_default(), short(&error.status)].into_iter().find(|it| !it.is_empty());
    match (message.is_empty(), status) {
        (false, _) if !error.status.is_empty() => Some(format!("{message} ({})", short(&error.status))),
        (false, _) => Some(message),
        (true, status) => status,
    }
}

/// Of a body that is no error of Gemini's: a page's title, or the beginning of a text.
fn unasked_words(body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let is_page = text.trim_start().starts_with('<');
    let told = match is_page {
        true => {
            // ASCII only, so that every byte keeps its place.
            let lower = text.to_ascii_lowercase();
            let begin = lower.find("<title")?;
            let begin = begin + lower[begin..].find('>')? + 1;
            let end = begin + lower[begin..].find("</title")?;
            short(&text[begin..end])
        }
        false => short(&text),
    };
    Some(told).filter(|told| !told.is_empty())
}

/// One line that a person can read: white space folded, control characters out, cut.
pub(super) fn short(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line: String = words.join(" ").chars().filter(|letter| !letter.is_control()).collect();
    match line.char_indices().nth(MAX_WORDS_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// `Retry-After`: seconds, also with fractions, or a date (RFC 9110, 10.2.3).
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |value: &HeaderValue| value.to_str().map(|text| text.trim().to_owned()).ok();
    let wait = text(headers.get(RETRY_AFTER)?)?;
    if let Some(wait) = seconds(&wait) {
        return Some(wait);
    }
    let until = httpdate::parse_http_date(&wait).ok()?;
    // By the server's own clock where it tells the time: ours may differ.
    let now = headers.get(DATE).and_then(text).and_then(|date| httpdate::parse_http_date(&date).ok());
    let now = now.unwrap_or_else(|| {
        let micros = u64::try_from(SystemClock::new().now().0).unwrap_or(0);
        UNIX_EPOCH + Duration::from_micros(micros)
    });
    Some(until.duration_since(now).unwrap_or_default())
}

fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.trim().parse().ok()?).ok()
}

#[cfg(test)]
mod tests;
