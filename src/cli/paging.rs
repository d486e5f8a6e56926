//! How much of a long list is shown, and how does one get at the rest?

use clap::Args;
use serde::Deserialize as _;
use serde_json::Value;

use super::{ProcessIo, ReportFormat, failure::CommandFailure, message::show_message, text_color::TextColor};

#[derive(Args)]
pub(super) struct PagingArguments {
    /// How many at most
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) limit: u32,
    /// Continue an earlier list: its `nextCursor`
    #[arg(long, value_name = "CURSOR")]
    pub(super) cursor: Option<String>,
}

/// The answer as the daemon sent it.
pub(super) fn print_json(answer: &Value, surroundings: &mut ProcessIo) -> Result<(), CommandFailure> {
    surroundings.stdout.write_json(&format!("{answer:#}"))
}

/// What was done: in words, or the answer as the daemon sent it.
pub(super) fn tell(
    answer: &Value,
    format: ReportFormat,
    words: impl FnOnce() -> String,
    surroundings: &mut ProcessIo,
) -> Result<(), CommandFailure> {
    match format {
        ReportFormat::Text => surroundings.stdout.write_text(&words()),
        ReportFormat::Json => print_json(answer, surroundings),
    }
}

/// A view of an answer, in which enums are open and fields may be missing.
pub(super) fn view<T: serde::de::DeserializeOwned>(answer: &Value) -> Result<T, CommandFailure> {
    T::deserialize(answer).map_err(|error| {
        CommandFailure::new(format!("the daemon's answer cannot be read: {error}")).or_hint(
            "daemon and `subagent` may be of different versions; `subagent rpc METHOD` prints any answer as it is",
        )
    })
}

/// Says so when the answer is not the whole list.
pub(super) fn note_more(answer: &Value, surroundings: &mut ProcessIo) {
    if let Some(cursor) = answer.get("nextCursor").and_then(Value::as_str) {
        let text = format!("there are more: raise --limit, or go on with --cursor {cursor}");
        show_message(&mut surroundings.stderr, TextColor::Dim, "note", &text);
    }
}

/// The entries of a list, read leniently; what cannot be read at all is an error, not an absence.
pub(super) fn entries<T: serde::de::DeserializeOwned>(
    answer: &Value,
    list: &str,
) -> Result<Vec<T>, CommandFailure> {
    // By reference, as everything here is read: each other way of reading is the same code once more.
    Vec::deserialize(answer.get(list).unwrap_or(&Value::Null)).map_err(|error| {
        CommandFailure::new(format!("the daemon's list of {list} cannot be read: {error}"))
            .or_hint("--format json prints it as it is")
    })
}
