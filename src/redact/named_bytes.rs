//! Does a name whose bytes are written in letters, `path-bytes:<base64url>` (spec 05), hide a secret? Nothing else finds it there.

use std::borrow::Cow;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};

use super::{Redactor, marks};

/// Before the bytes.
const PREFIX: &str = "path-bytes:";

impl Redactor {
    /// The text with a mark in place of each such name that has a secret in it.
    pub(super) fn without_named_bytes<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if !text.contains(PREFIX) {
            return Cow::Borrowed(text);
        }
        let (mut written, mut rest) = (String::new(), text);
        while let Some(at) = rest.find(PREFIX) {
            let begin = at + PREFIX.len();
            let letters =
                rest[begin..].bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte));
            let end = begin + letters.count();
            match self.secret_in(&rest[begin..end]) {
                Some(mark) => written.extend([&rest[..begin], mark.as_str()]),
                None => written.push_str(&rest[..end]),
            }
            rest = &rest[end..];
        }
        written.push_str(rest);
        if written == text { Cow::Borrowed(text) } else { Cow::Owned(written) }
    }

    /// The mark of the first secret in these bytes.
    fn secret_in(&self, letters: &str) -> Option<String> {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(letters).ok()?;
        // Without what made a name of letters of it: a break, a tab, a byte that is no text.
        let redacted = self.hidden_in(&String::from_utf8_lossy(&bytes))?;
        marks(&redacted).next().map(str::to_owned)
    }
}
