//! How is a path written for people and models, and read back?
//!
//! Ordinary names stand as they are. A name that is not UTF-8, or has control characters which would break the
//! line it stands in, is shown lossy plus `path-bytes:<base64url>`; that form is accepted wherever a path is.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use serde_json::Value;

const PREFIX: &str = "path-bytes:";

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// `path` for one line of output.
pub fn shown(path: &Path) -> String {
    shown_as(path.as_os_str(), path)
}

/// A name for one line of output; `path` is what the name must be called by when the name alone cannot be
/// written.
pub fn shown_as(name: &OsStr, path: &Path) -> String {
    match name.to_str() {
        Some(text) if !text.contains(char::is_control) => text.to_owned(),
        _ => {
            let lossy = name.to_string_lossy().replace(char::is_control, "\u{fffd}");
            // A key that somebody took for a path: hidden by its shape, which its bytes in base64 have no more.
            if lossy.contains("PRIVATE KEY-----") {
                return lossy;
            }
            format!("{lossy} [{PREFIX}{}]", BASE64.encode(path.as_os_str().as_bytes()))
        }
    }
}

/// The bytes behind `path-bytes:…`; `None` = `text` is an ordinary path.
pub fn bytes_of(text: &str) -> Option<Result<PathBuf, String>> {
    let encoded = text.strip_prefix(PREFIX)?;
    Some(match BASE64.decode(encoded.trim_end()) {
        Ok(bytes) => Ok(PathBuf::from(OsString::from_vec(bytes))),
        Err(error) => Err(format!("what follows `{PREFIX}` is not base64url: {error}")),
    })
}

/// Arguments in which a text is no path, whatever it begins with.
const TEXTS: &[&str] = &["command", "content", "description", "newString", "oldString", "pattern", "prompt"];

/// Arguments of a call with every path as a file system shows it: what has the form `path-bytes:…` stands there as the path it means,
/// lossy where that is no UTF-8. For who compares paths, and must not be passed by a second way to write one.
pub fn with_plain_paths(arguments: &Value) -> Value {
    let plain = |text: &str| match bytes_of(text) {
        Some(Ok(path)) => path.to_string_lossy().into_owned(),
        Some(Err(_)) | None => text.to_owned(),
    };
    let Value::Object(fields) = arguments else { return arguments.clone() };
    let told = fields.iter().map(|(name, value)| {
        let value = match value {
            Value::String(text) if !TEXTS.contains(&name.as_str()) => Value::String(plain(text)),
            Value::Array(all) => all
                .iter()
                .map(|one| one.as_str().map_or_else(|| one.clone(), |it| plain(it).into()))
                .collect(),
            other => other.clone(),
        };
        (name.clone(), value)
    });
    Value::Object(told.collect())
}

/// An absolute `path` so that [`bytes_of`], or the text itself, is the same path again.
pub fn written(path: &Path) -> String {
    match path.to_str() {
        Some(text) => text.to_owned(),
        None => format!("{PREFIX}{}", BASE64.encode(path.as_os_str().as_bytes())),
    }
}

/// `path` as UTF-8, for the log: components that are not are written `path-bytes:…`. Different paths stay
/// different.
pub fn utf8(path: &Path) -> PathBuf {
    if path.to_str().is_some() {
        return path.to_owned();
    }
    let component = |name: &OsStr| match name.to_str() {
        Some(text) => text.to_owned(),
        None => format!("{PREFIX}{}", BASE64.encode(name.as_bytes())),
    };
    path.components().map(|part| component(part.as_os_str())).collect()
}
