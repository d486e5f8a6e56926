//! How is a person told a line, and how a failure? Words of others are made harmless, and rows are broken where the terminal ends.

use serde_json::{Value, json};

use super::{
    OutputWriter,
    failure::{CommandFailure, EXIT_FAILED, EXIT_PIPE_CLOSED, EXIT_TIMED_OUT, EXIT_UNAVAILABLE, EXIT_USAGE},
    safe_text,
    text_color::TextColor,
    width,
};

/// A message longer than this is cut, line by line; the rest would push the hint off the screen.
const LINE_CHARACTERS: usize = 2_000;

/// What sets off the rows of a line that is broken.
const INDENT: &str = "  ";

/// A terminal that is narrower than this breaks lines by itself.
const NARROW: usize = 20;

impl CommandFailure {
    /// Prints it and answers the exit code.
    pub(super) fn report(&self, stderr: &mut OutputWriter) -> u8 {
        // When stderr is gone too, the exit code is all that can be said.
        match self {
            CommandFailure::Told { exit_code, what, hint, error } if stderr.is_for_programs => {
                let own = || own_error(*exit_code, what, hint.as_deref());
                let _ = stderr.write_json(&error.clone().unwrap_or_else(own).to_string());
                *exit_code
            }
            CommandFailure::Told { exit_code, what, hint, .. } => {
                show_message(stderr, TextColor::Red, "error", what);
                if let Some(hint) = hint {
                    show_message(stderr, TextColor::Yellow, "hint", hint);
                }
                *exit_code
            }
            CommandFailure::ErrorObject(error) => {
                let _ = stderr.write_json(&format!("{error:#}"));
                EXIT_FAILED
            }
            CommandFailure::PipeClosed => EXIT_PIPE_CLOSED,
        }
    }
}

/// What went wrong on this side of the wire, in the shape of the daemon's error objects but without a `code`, which only
/// answers have.
fn own_error(exit_code: u8, what: &str, hint: Option<&str>) -> Value {
    let kind = match exit_code {
        EXIT_USAGE => "USAGE",
        EXIT_UNAVAILABLE => "UNAVAILABLE",
        EXIT_TIMED_OUT => "TIMED_OUT",
        _ => "FAILED",
    };
    let retryable = matches!(exit_code, EXIT_UNAVAILABLE | EXIT_TIMED_OUT);
    let mut data = json!({ "kind": kind, "retryable": retryable });
    if let Some(hint) = hint {
        data["hint"] = json!(hint);
    }
    json!({ "message": what, "data": data })
}

/// Prints `label: message` for people; words of others are made harmless.
pub(super) fn show_message(stderr: &mut OutputWriter, ink: TextColor, label: &str, message: &str) {
    if stderr.is_for_programs {
        return;
    }
    let whole = message.lines().map(|text| cut(text, LINE_CHARACTERS)).collect::<Vec<_>>().join("\n");
    let rows = in_rows(&format!("{label}: {whole}"), stderr.width);
    let painted = stderr.paint(ink, label);
    let rows = rows.strip_prefix(label).map_or_else(|| rows.clone(), |rest| format!("{painted}{rest}"));
    // A closed stderr changes nothing about what the command does.
    let _ = stderr.write(&format!("{rows}\n"));
}

/// Lines as a terminal of so many columns shows them, broken between words; what is broken goes on below the words before it.
pub(super) fn in_rows(text: &str, columns: Option<usize>) -> String {
    let Some(columns) = columns.filter(|columns| NARROW < *columns) else { return text.to_owned() };
    let end = if text.ends_with('\n') { "\n" } else { "" };
    let rows = text.lines().map(|line| {
        let blanks: String = line.chars().take_while(|character| *character == ' ').collect();
        let rows = width::wrap_words(line.trim_start(), columns.saturating_sub(blanks.len() + INDENT.len()));
        format!("{blanks}{}", rows.join(&format!("\n{blanks}{INDENT}")))
    });
    rows.collect::<Vec<_>>().join("\n") + end
}

fn cut(text: &str, limit: usize) -> String {
    let safe = safe_text::lines(text);
    match safe.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &safe[..end]),
        None => safe,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_broken_between_words_and_goes_on_below_them() {
        let text = "note: the session is not over yet; --new opens a new one\n  - listed below, and longer than the row";
        let rows = in_rows(text, Some(30));
        let expected = "note: the session is not\n  over yet; --new opens a new\n  one\n  - listed below, and longer\n    than the row";
        assert_eq!(rows, expected);
        assert!(rows.lines().all(|row| width::of(row) <= 30), "{rows}");
        // A pipe gets it as it is.
        assert_eq!(in_rows(text, None), text);
    }
}
