//! Why did a provider give no reply, and is it worth asking again? (spec 04, "Retry")

use std::time::{Duration, UNIX_EPOCH};

use reqwest::{
    Response, StatusCode,
    header::{DATE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER},
};

use super::ModelEndpoint;
use crate::{ModelError, http};
use protocol::RunErrorCode;
use sys::clock::{Clock as _, SystemClock};

/// Of a refusal's body this much is read: a few KiB with all details.
const MAX_ERROR_BYTES: usize = 64 * 1024;
/// Of a provider's words this much is told; the rest is for nobody.
const MAX_WORDS_CHARS: usize = 500;

/// OpenAI's own, and of servers like it: the same wait, told more closely.
const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");

/// The status of a request that was called off. We did not, or we would not read it: something on the other side did.
pub(crate) const CANCELLED: u16 = 499;

/// What a provider says of a failure, read from its own form. All of it may be missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProviderError {
    /// The HTTP status that it has, or would have as an answer by itself.
    pub status: Option<u16>,
    /// The provider's name for it, e.g. `RESOURCE_EXHAUSTED`.
    pub kind: String,
    /// Its number or short word, told where there is nothing else.
    pub code: String,
    /// In the provider's words; may have the key in it.
    pub message: String,
    pub retry_after: Option<Duration>,
    pub is_about_key: bool,
}

/// The request did not get there, or no answer came back.
pub(crate) fn unreachable(endpoint: &ModelEndpoint, error: reqwest::Error) -> ModelError {
    let place = endpoint.url.host_str().unwrap_or_default();
    passing(format!("{place} cannot be reached: {}", http::reason(error)), None)
}

/// The connection broke within the answer.
pub(crate) fn broken(endpoint: &ModelEndpoint, error: reqwest::Error) -> ModelError {
    let place = endpoint.url.host_str().unwrap_or_default();
    passing(
        format!("the connection to {place} broke in the middle of the response: {}", http::reason(error)),
        None,
    )
}

/// The stream itself said that it failed. It means what it would as an answer by itself.
pub(super) fn in_stream(endpoint: &ModelEndpoint, error: &ProviderError) -> ModelError {
    let words = words(endpoint, error).unwrap_or_else(|| "no reason given".to_owned());
    let what = format!("the provider failed in the middle of the response: {words}");
    match error.status {
        Some(status) => by_status(endpoint, status, what, Some(error), error.retry_after),
        None if error.is_about_key => refused_key(endpoint, &what),
        // Nothing tells why; a stream that breaks is worth another try.
        None => passing(what, error.retry_after),
    }
}

/// A response with another status than 200.
pub(crate) async fn refusal(
    endpoint: &ModelEndpoint,
    mut response: Response,
    complaint: fn(&[u8]) -> Option<ProviderError>,
) -> ModelError {
    let status = response.status();
    let headers = std::mem::take(response.headers_mut());
    let body = read_some(response).await;
    classify(endpoint, status, &headers, &body, complaint(&body).as_ref())
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

fn classify(
    endpoint: &ModelEndpoint,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    error: Option<&ProviderError>,
) -> ModelError {
    let words = error.and_then(|error| words(endpoint, error));
    let words = words.or_else(|| unasked_words(body).map(|text| endpoint.hide_key(&text)));
    let known = match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_str()),
        None => status.as_str().to_owned(),
    };
    // A page's title is often the status once more.
    let what = match words.filter(|words| *words != known) {
        Some(words) => format!("the provider answered {known}: {words}"),
        None => format!("the provider answered {known}"),
    };
    let hints = [retry_after(headers), error.and_then(|error| error.retry_after)];
    by_status(endpoint, status.as_u16(), what, error, hints.into_iter().flatten().max())
}

/// `what` happened, as the status and the error's details tell it.
fn by_status(
    endpoint: &ModelEndpoint,
    status: u16,
    what: String,
    error: Option<&ProviderError>,
    retry_after: Option<Duration>,
) -> ModelError {
    match status {
        _ if error.is_some_and(|error| error.is_about_key) => refused_key(endpoint, &what),
        401 | 403 => refused_key(endpoint, &what),
        400..=499 if is_too_long(status, error, &what) => ModelError::TooLong { message: what },
        408 | 429 | CANCELLED | 500..=599 => passing(what, retry_after),
        300..=399 => {
            let message =
                format!("{what}; redirects are not followed, since the key would travel on: set `baseUrl`");
            ModelError::Final { code: RunErrorCode::ModelFailed, message }
        }
        // A provider says which model it does not have; whoever says nothing is asked at the wrong place.
        404 | 405 if error.is_none() => {
            let mut place = endpoint.url.clone();
            place.set_query(None);
            let message = format!(
                "{what}; nothing answers at {place}: is the `baseUrl` of the provider entry `{}` right? Many servers want `/v1` at \
                 its end, Anthropic's API does not",
                endpoint.key_place.entry
            );
            ModelError::Final { code: RunErrorCode::ModelFailed, message }
        }
        _ => ModelError::Final { code: RunErrorCode::ModelFailed, message: what },
    }
}

/// True if the request is refused for its length. No API has a status of its own for it; each has its words.
fn is_too_long(status: u16, error: Option<&ProviderError>, what: &str) -> bool {
    /// Of OpenAI, Anthropic, Gemini, llama.cpp, vLLM, and those who speak like them.
    const WORDS: &[&str] = &[
        "context_length_exceeded",
        "context length",
        "context limit",
        "context window",
        "context size",
        "prompt is too long",
        "exceeds the maximum number of tokens",
        "too many tokens",
        "maximum prompt length",
    ];
    // Too many requests are no long one, however many tokens they have together.
    if status == 408 || status == 429 {
        return false;
    }
    let said =
        error.map(|error| format!("{} {} {}", error.kind, error.code, error.message)).unwrap_or_default();
    let said = format!("{said} {what}").to_ascii_lowercase();
    status == StatusCode::PAYLOAD_TOO_LARGE.as_u16() || WORDS.iter().any(|words| said.contains(words))
}

fn refused_key(endpoint: &ModelEndpoint, what: &str) -> ModelError {
    let place = &endpoint.key_place;
    let message = match endpoint.key {
        Some(_) => format!("{what} (provider entry `{}`, key from {place})", place.entry),
        None => format!(
            "{what} (provider entry `{}`, asked without a key: its address is your own, and `providers.{}.key` names none)",
            place.entry, place.entry
        ),
    };
    ModelError::Final { code: RunErrorCode::ProviderAuth, message }
}

fn passing(message: String, retry_after: Option<Duration>) -> ModelError {
    let ms = |hint: Duration| u64::try_from(hint.as_millis()).unwrap_or(u64::MAX);
    ModelError::Passing { message, retry_after_ms: retry_after.map(ms) }
}

/// What the provider says for itself, without the key.
fn words(endpoint: &ModelEndpoint, error: &ProviderError) -> Option<String> {
    let message = short(&endpoint.hide_key(&error.message));
    let (kind, code) = (short(&error.kind), short(&error.code));
    match (message.is_empty(), kind.is_empty()) {
        (false, false) => Some(format!("{message} ({kind})")),
        (false, true) => Some(message),
        (true, _) => [code, kind].into_iter().find(|it| !it.is_empty()),
    }
}

/// Of a body that is no error of the provider's: a page's title, or the beginning of a text.
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
    let in_ms = headers.get(RETRY_AFTER_MS).and_then(text).and_then(|ms| ms.parse::<f64>().ok());
    if let Some(wait) = in_ms.and_then(|ms| Duration::try_from_secs_f64(ms / 1_000.0).ok()) {
        return Some(wait);
    }
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

pub(crate) fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.trim().parse().ok()?).ok()
}

#[cfg(test)]
mod tests;
