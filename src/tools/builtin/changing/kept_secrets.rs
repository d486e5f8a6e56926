//! A model is shown `[redacted:kind]` in place of a secret. Written back into the file, the mark would take the secret's place, and
//! nobody would have meant it.

use std::collections::BTreeMap;

use super::text::TextFile;
use protocol::{ToolError, ToolErrorType};
use redact::{Redactor, marks};

/// Refuses to write marks into a file that holds the secrets which they stand for. `given`: the texts that the call is made of, in
/// which a mark says that a hidden place is meant; `new`: what the file would be.
pub fn keeps_secrets<'a>(
    shown: &str,
    (old, new): (Option<&TextFile>, &TextFile),
    given: impl Iterator<Item = &'a str>,
    redactor: &Redactor,
) -> Result<(), ToolError> {
    let Some(old) = old.and_then(TextFile::as_str) else { return Ok(()) };
    let written = counts(new.as_str().unwrap_or_default());
    let given: BTreeMap<&str, usize> = given.flat_map(marks).map(|mark| (mark, 1)).collect();
    if written.is_empty() && given.is_empty() {
        return Ok(());
    }
    let plain = counts(old);
    // What the model may have been shown of the file.
    let told = redactor.text(old);
    let told = counts(&told);
    let of = |counts: &BTreeMap<&str, usize>, mark: &str| counts.get(mark).copied().unwrap_or(0);
    let is_more = |(mark, times): &(&&str, &usize)| of(&plain, mark) < **times;
    let suspects = written.iter().chain(&given).filter(is_more).map(|(mark, _)| *mark);
    let stands_for_secret = |mark: &&str| of(&plain, mark) < of(&told, mark);
    let Some(mark) = suspects.into_iter().find(stands_for_secret) else { return Ok(()) };
    let message = format!(
        "`{shown}` holds a secret where you were shown `{mark}`, and the mark would be written in its place; nothing was changed. \
         Change other lines with edit_file, without the line that holds the mark in oldString, or have the person change that line"
    );
    Err(ToolError { kind: ToolErrorType::EditPreparationFailure, message })
}

/// The number of times that each mark stands in a text.
fn counts(text: &str) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for mark in marks(text) {
        *counts.entry(mark).or_insert(0) += 1;
    }
    counts
}
