//! Where are people told who are not there? The shapes of `approval.webhook` (spec 06, "Routing", 5).

use std::net::IpAddr;

use jsonc_parser::ast::Value;
use serde_json::{Value as Json, json};

use super::{
    KeySource,
    providers::source,
    shapes::{SettingShape, ShapeError},
};

/// An address that may be told what agents do: by TLS, or without on this machine.
pub(super) struct WebAddress;

impl SettingShape for WebAddress {
    type Out = String;

    fn read(&self, value: &Value<'_>) -> Result<String, ShapeError> {
        let (url, is_plain, authority) = web_address(value)?;
        match !is_plain || is_loopback(authority) {
            true => Ok(url.to_owned()),
            false => Err(ShapeError::BadValue),
        }
    }

    fn schema(&self) -> Json {
        let local = "http://(localhost|127\\.[0-9]+\\.[0-9]+\\.[0-9]+|\\[::1\\])(:[0-9]+)?";
        let pattern = format!("^\\s*(https://[^/?#@\\s\\\\]+|{local})([/?#]\\S*)?\\s*$");
        json!({ "type": "string", "pattern": pattern })
    }

    fn is_text(&self) -> bool {
        true
    }
}

/// An address, whether it is one without TLS, and its host and port.
pub(super) fn web_address<'a>(value: &'a Value<'_>) -> Result<(&'a str, bool, &'a str), ShapeError> {
    let url = value.as_string_lit().ok_or(ShapeError::WrongType)?.value.trim();
    let (is_plain, rest) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
        (Some(rest), _) => (false, rest),
        (None, Some(rest)) => (true, rest),
        (None, None) => return Err(ShapeError::BadValue),
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // A password would be shown wherever the settings are, and what a person reads as the host would not be it.
    let is_fit = !authority.is_empty()
        && !authority.contains(['@', '\\'])
        && !url.contains(|letter: char| letter.is_whitespace() || letter.is_control());
    if is_fit { Ok((url, is_plain, authority)) } else { Err(ShapeError::BadValue) }
}

fn is_loopback(authority: &str) -> bool {
    let host = match authority.rsplit_once(':') {
        // `[::1]` has colons of its own.
        Some((host, port)) if !port.ends_with(']') => host,
        _ => authority,
    };
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// Where a secret lies: in a variable, or in a file.
pub(super) struct SecretPlace;

impl SettingShape for SecretPlace {
    type Out = KeySource;

    fn read(&self, value: &Value<'_>) -> Result<KeySource, ShapeError> {
        let Value::Object(object) = value else { return Err(ShapeError::WrongType) };
        match object.properties.as_slice() {
            [only] if ["env", "file"].contains(&only.name.as_str()) => {
                source(only.name.as_str(), &only.value).ok_or(ShapeError::BadValue)
            }
            _ => Err(ShapeError::BadValue),
        }
    }

    fn schema(&self) -> Json {
        let one = |name: &str, pattern: &str| {
            json!({
                "type": "object", "properties": { name: { "type": "string", "pattern": pattern } },
                "required": [name], "additionalProperties": false,
            })
        };
        json!({ "oneOf": [one("env", "^[^=]*[^=\\s][^=]*$"), one("file", "^/")] })
    }
}

/// As a file says it.
pub(super) fn secret_shown(place: Option<&KeySource>) -> Json {
    match place {
        None => Json::Null,
        Some(KeySource::Env(name)) => json!({ "env": name }),
        Some(KeySource::File(path)) => json!({ "file": path.to_string_lossy() }),
        // The shape takes none; what it would print is not shown.
        Some(KeySource::Command(_)) => json!({ "command": [] }),
    }
}
