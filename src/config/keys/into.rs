//! How does what stands in a file become what a setting holds?

use std::time::Duration;

use serde_json::Value as Json;

use super::super::shapes::Refusal;

pub(super) fn narrow<N: TryFrom<u64>>(number: u64) -> Result<N, Refusal> {
    N::try_from(number).map_err(|_| Refusal::BadValue)
}

/// One of the words that the shape lets through.
pub(super) fn word<T: serde::de::DeserializeOwned>(text: String) -> Result<T, Refusal> {
    serde_json::from_value(Json::String(text)).map_err(|_| Refusal::BadValue)
}

/// An empty list is no command.
pub(super) fn program_first(words: Vec<String>) -> Result<Vec<String>, Refusal> {
    match words.first().is_none_or(|program| !program.is_empty()) {
        true => Ok(words),
        false => Err(Refusal::BadValue),
    }
}

pub(super) fn time(seconds: f64) -> Result<Duration, Refusal> {
    Duration::try_from_secs_f64(seconds).map_err(|_| Refusal::BadValue)
}

/// A time so short that it is none is refused.
pub(super) fn above_zero(time: Duration) -> Result<Duration, Refusal> {
    if time.is_zero() { Err(Refusal::BadValue) } else { Ok(time) }
}
