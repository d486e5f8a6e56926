//! How does what stands in a file become what a setting holds?

use std::time::Duration;

use serde_json::Value as Json;

use super::super::shapes::ShapeError;

pub(super) fn narrow<N: TryFrom<u64>>(number: u64) -> Result<N, ShapeError> {
    N::try_from(number).map_err(|_| ShapeError::BadValue)
}

/// One of the words that the shape lets through.
pub(super) fn word<T: serde::de::DeserializeOwned>(text: String) -> Result<T, ShapeError> {
    serde_json::from_value(Json::String(text)).map_err(|_| ShapeError::BadValue)
}

/// An empty list is no command.
pub(super) fn program_first(words: Vec<String>) -> Result<Vec<String>, ShapeError> {
    match words.first().is_none_or(|program| !program.is_empty()) {
        true => Ok(words),
        false => Err(ShapeError::BadValue),
    }
}

pub(super) fn time(seconds: f64) -> Result<Duration, ShapeError> {
    Duration::try_from_secs_f64(seconds).map_err(|_| ShapeError::BadValue)
}

/// A time so short that it is none is refused.
pub(super) fn above_zero(time: Duration) -> Result<Duration, ShapeError> {
    if time.is_zero() { Err(ShapeError::BadValue) } else { Ok(time) }
}
