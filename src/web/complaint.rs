//! What is wrong with an exchange, in words for people.

use std::io;

use super::WebError;

/// Bytes of an answer's head. Browsers take more, and servers that need more are broken.
pub(super) const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Lines of an answer's head.
pub(super) const MAX_HEADERS: usize = 128;

/// What is wrong with an answer, for people.
pub(super) fn broken(error: &hyper::Error) -> WebError {
    let what = match error {
        _ if error.is_parse_too_large() => {
            format!("has a head of more than {MAX_HEAD_BYTES} bytes or {MAX_HEADERS} lines")
        }
        _ if error.is_parse() || error.is_parse_status() => "is no HTTP".to_owned(),
        _ if error.is_incomplete_message() || error.is_body_write_aborted() || error.is_canceled() => {
            "was cut off".to_owned()
        }
        _ if ended_early(error) => "was cut off".to_owned(),
        _ => format!("cannot be read: {}", innermost(error)),
    };
    WebError::Broken(what)
}

fn ended_early(error: &hyper::Error) -> bool {
    use io::ErrorKind as E;
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        if let Some(error) = inner.downcast_ref::<io::Error>() {
            return [E::UnexpectedEof, E::ConnectionReset, E::ConnectionAborted, E::BrokenPipe]
                .contains(&error.kind());
        }
        source = inner.source();
    }
    false
}

fn innermost(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(inner) = innermost.source() {
        innermost = inner;
    }
    without_number(&innermost.to_string())
}

pub(super) fn plain(error: &io::Error) -> String {
    without_number(&error.to_string())
}

fn without_number(text: &str) -> String {
    text.split(" (os error").next().unwrap_or(text).to_owned()
}
