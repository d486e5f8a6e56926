//! Could a value in a command's words be a path, or name a file that is sent?

use super::tellers::{SENDERS, TELLERS};
use crate::plain_text::{DATA, OWN_VALUE, PlainWord};

/// Programs of which no word is a file.
const NO_FILES: &[&str] = &[
    "echo",
    "printf",
    "notify-send",
    "dunstify",
    "zenity",
    "kdialog",
    "spd-say",
    "espeak",
    "logger",
    "pass",
    "gopass",
    "secret-tool",
    "lpass",
    "printenv",
    "vault",
    "bw",
];
/// Options of curl's behind which nothing is read from a file (curl(1)).
const NEVER_A_FILE: &[&str] = &[
    "--data-raw",
    "--form-string",
    "-A",
    "--user-agent",
    "-u",
    "--user",
    "-e",
    "--referer",
    "-X",
    "--request",
    "--oauth2-bearer",
];
/// Options of curl's behind which a text is read from a file when it begins with `@`.
const FILE_BEHIND_AT: &[&str] =
    &["-d", "--data", "--data-ascii", "--data-binary", "--json", "-H", "--header", "--proxy-header"];

/// True if a value of which nobody knows what it is stands where a path begins.
pub(super) fn is_led_by_value(name: &str, words: &[PlainWord]) -> bool {
    let is_value = |letter: char| matches!(letter, DATA | OWN_VALUE);
    let is_begin = |before: Option<char>| before.is_none_or(|it| "@=<:".contains(it));
    if NO_FILES.contains(&name) {
        return false;
    }
    words.iter().any(|word| {
        let places = word.text.match_indices(is_value);
        places.map(|(at, value)| (&word.text[..at], &word.text[at + value.len()..])).any(
            |(before, behind)| {
                let is_path = behind.starts_with('/') && is_begin(before.chars().next_back());
                // curl sends the file.
                let is_file = name == "curl" && (before == "@" || before.ends_with("=@"));
                is_path || is_file
            },
        )
    })
}

/// True of a command that sends, if a word of it may name a file that an agent chose. `is_sent`: others send what it puts out.
pub(super) fn names_chosen_file(name: &str, given: &[PlainWord], is_sent: bool) -> bool {
    let has_chosen = |word: &PlainWord| word.text.contains(DATA);
    if NO_FILES.contains(&name) && name != "vault" && name != "bw" {
        return false;
    }
    if name != "curl" {
        let is_value = |word: &PlainWord| {
            word.text.starts_with(DATA)
                || ["=", "@"].iter().any(|it| word.text.contains(&format!("{it}{DATA}")))
        };
        let is_sender = SENDERS.contains(&name);
        return (is_sender && given.iter().any(is_value))
            || (is_sent && !is_sender && TELLERS.contains(&name) && given.iter().any(has_chosen));
    }
    let mut before = "";
    given.iter().any(|word| {
        let found = has_chosen(word) && !is_plain_for_curl(before, &word.text);
        before = word.literal().unwrap_or_default();
        found
    })
}

/// True of a word of curl's with values in it by which it reads no file, whatever they are.
fn is_plain_for_curl(before: &str, text: &str) -> bool {
    let begins_with_own = |text: &str| !text.starts_with([DATA, OWN_VALUE, '@']);
    let is_address = |text: &str| text.starts_with("https://") || text.starts_with("http://");
    // `-sSd`
    let is_short = before.starts_with('-') && !before.starts_with("--");
    let is_data = FILE_BEHIND_AT.contains(&before) || (is_short && before.ends_with(['d', 'H']));
    NEVER_A_FILE.contains(&before)
        || ["--data-raw=", "--form-string="].iter().any(|it| text.starts_with(it))
        || (is_data && begins_with_own(text))
        || (is_address(text) && !text.starts_with('-'))
}
