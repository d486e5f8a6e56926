//! A call that is under way: what it is, and how much of that stands in its line.

use serde_json::Value;

use super::{INDENT, ROOM_LEAST, SIGN_COLUMNS, indent, is_child, views::CallChangedView};
use crate::{safe_text, screen::ProgressScreen, width};
use protocol::{Envelope, Timestamp, ToolName, ToolProgress};

/// A call's name and description, leaving room for how it went.
const LABEL_CHARACTERS: usize = 80;

/// Columns that stay of a search's pattern, so that one can still guess what was looked for.
const PATTERN_COLUMNS_LEAST: usize = 8;

pub(super) struct OpenCall {
    pub(super) label: String,
    pub(super) began_at: Option<Timestamp>,
    /// As whatever runs it says it, in words.
    pub(super) progress: Option<String>,
}

impl OpenCall {
    pub(super) fn first_seen(data: &CallChangedView) -> OpenCall {
        OpenCall::described(&data.name, &show_arguments(data.arguments.as_ref()))
    }

    /// A call that has not begun to run, or began before anybody looked.
    pub(super) fn described(name: &ToolName, description: &str) -> OpenCall {
        let mut call = OpenCall { label: String::new(), began_at: None, progress: None };
        call.describe(name, description);
        call
    }

    /// What goes on, and how far it is.
    pub(super) fn status(&self) -> String {
        match &self.progress {
            Some(progress) => format!("{} · {progress}", self.label),
            None => self.label.clone(),
        }
    }

    pub(super) fn describe(&mut self, name: &ToolName, description: &str) {
        // A tool without a title of its own calls itself by its name.
        let rest = description.strip_prefix(name.as_str()).filter(|it| it.is_empty() || it.starts_with(' '));
        let rest = rest.unwrap_or(description).trim_start();
        let label = safe_text::line(&format!("{name} {rest}"), usize::MAX);
        self.label = with_short_pattern(&label, LABEL_CHARACTERS)
            .unwrap_or_else(|| safe_text::line(&label, LABEL_CHARACTERS));
    }
}

impl OpenCall {
    /// Its arguments are other ones by now.
    pub(super) fn changed_into(&mut self, arguments: &Value) {
        let name = ToolName::from(self.label.split(' ').next().unwrap_or_default());
        self.describe(&name, &subject_of(arguments));
    }
}

/// The subject of a call with these arguments: a path, a command.
pub(super) fn subject_of(arguments: &Value) -> String {
    let told = |name: &&str| arguments.get(*name)?.as_str().map(str::to_owned);
    let told = ["path", "file_path", "command", "url"].iter().find_map(told);
    told.unwrap_or_else(|| show_arguments(Some(arguments)))
}

/// `3 of 10 · indexing`
pub(super) fn in_words(told: &ToolProgress) -> String {
    let of = told.total.map(|total| format!(" of {total}")).unwrap_or_default();
    let message = told.message.iter().map(|message| format!(" · {message}"));
    let words: String = std::iter::once(format!("{}{of}", told.progress)).chain(message).collect();
    safe_text::line(&words, LABEL_CHARACTERS)
}

/// What a call is, in as many columns as its line has before this, so that it is one row.
pub(super) fn fitting(label: &str, behind: &str, envelope: &Envelope, screen: &ProgressScreen<'_>) -> String {
    let below_name = if is_child(envelope) { INDENT.len() } else { 0 };
    let taken = indent(envelope).len() + below_name + SIGN_COLUMNS + width::of(behind);
    let room = screen.columns().map(|columns| columns.saturating_sub(taken));
    match room.filter(|room| ROOM_LEAST <= *room) {
        Some(room) => with_short_pattern(label, room).unwrap_or_else(|| width::cut_words(label, room)),
        None => label.to_owned(),
    }
}

/// The label of a search that is wider than this with less of its pattern, so that the place which is searched stays in sight.
fn with_short_pattern(label: &str, columns: usize) -> Option<String> {
    if width::of(label) <= columns || !label.starts_with("grep /") {
        return None;
    }
    let start = "grep /".len();
    let end =
        ["/ in ", "/ ("].iter().filter_map(|place| label.rfind(place)).filter(|end| start < *end).min()?;
    let around = start + width::of(&label[end..]);
    let room = columns.checked_sub(around).filter(|room| PATTERN_COLUMNS_LEAST <= *room)?;
    Some(format!("{}{}{}", &label[..start], width::cut(&label[start..end], room), &label[end..]))
}

/// The first text among the arguments (a path, a pattern, a command); else all of them.
fn show_arguments(arguments: Option<&Value>) -> String {
    let first_text =
        |arguments: &Value| arguments.as_object()?.values().find_map(Value::as_str).map(str::to_owned);
    arguments.map(|all| first_text(all).unwrap_or_else(|| all.to_string())).unwrap_or_default()
}
