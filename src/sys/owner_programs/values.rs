//! Could a value in a command's words be a path, or begin one?

use crate::plain_text::{DATA, OWN_VALUE, PlainWord};

/// True if a value of which nobody knows what it is stands where a path may begin.
pub(super) fn is_led_by_value(words: &[PlainWord]) -> bool {
    let is_value = |letter: char| matches!(letter, DATA | OWN_VALUE);
    let is_begin = |before: Option<char>| before.is_none_or(|it| "@=<:".contains(it));
    words.iter().any(|word| {
        let places = word.text.match_indices(is_value);
        places.map(|(at, value)| (&word.text[..at], &word.text[at + value.len()..])).any(
            |(before, behind)| {
                let is_path = behind.starts_with('/') && is_begin(before.chars().next_back());
                is_path || (before.ends_with('@') && word.text.contains(OWN_VALUE))
            },
        )
    })
}

/// True of curl's words if one that it takes for data, or for a part of a form, may begin with an `@` of an agent's (curl(1), `--data`, `--form`).
pub(super) fn names_chosen_file(given: &[PlainWord]) -> bool {
    let is_raw = |word: Option<&PlainWord>| {
        word.and_then(PlainWord::literal).is_some_and(|it| matches!(it, "--data-raw" | "--form-string"))
    };
    let mut before = None;
    given.iter().any(|word| {
        let is_chosen = word.text.starts_with(DATA)
            || ["@", "=", "<"].iter().any(|it| {
                let at = format!("{it}{DATA}");
                // `text=…` of --data is text, and only a form's is a file.
                word.text.contains(&at) && (*it != "=" || is_of_form(before) || word.text.starts_with('-'))
            });
        let found = is_chosen && !is_raw(before) && !is_raw_itself(word);
        before = Some(word);
        found
    })
}

/// True of the option of a form's part.
fn is_of_form(word: Option<&PlainWord>) -> bool {
    let text = word.and_then(PlainWord::literal).unwrap_or_default();
    text == "--form" || (text.starts_with('-') && !text.starts_with("--") && text.ends_with('F'))
}

/// True of `--data-raw=…` and `--form-string=…`.
fn is_raw_itself(word: &PlainWord) -> bool {
    ["--data-raw=", "--form-string="].iter().any(|it| word.text.starts_with(it))
}
