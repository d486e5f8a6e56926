//! The text that a hook printed, without what a printer or an encoder put around it.

use std::borrow::Cow;

use anstream::adapter::strip_str;

/// An output as it is read: without colours, as `jq -C` prints an answer, and of an answer that was encoded twice what the outer text says.
/// `Err`: it is no text, and why.
pub(super) fn plain(stdout: &str) -> Result<Cow<'_, str>, String> {
    if stdout.contains('\0') {
        return Err("printed what is no text: it has a zero byte, as UTF-16 and binary files have".to_owned());
    }
    let text = match stdout.contains('\u{1b}') {
        true => Cow::Owned(strip_str(stdout).to_string()),
        false => Cow::Borrowed(stdout),
    };
    let inner = serde_json::from_str::<String>(text.trim()).ok();
    Ok(inner.filter(|inner| inner.trim_start().starts_with('{')).map_or(text, Cow::Owned))
}
