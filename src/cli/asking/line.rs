//! What does the line say in which a question is answered? Pure: as much as fits the terminal.

use super::ConfirmationView;
use crate::{
    cli::width,
    protocol::{ConfirmationOutcome, UserQuestion},
};

/// What stands between what is asked and what is typed.
pub(super) const POINTER: &str = " › ";

/// What stands between two choices.
const BETWEEN: &str = " · ";

/// What the line ends with while no key counts.
pub(super) const NOT_YET: &str = " … one moment";

/// The choices in words, in as many rows as they take; one answers in the last of them.
pub(super) fn choice_rows(asked: &ConfirmationView, has_draft: bool, columns: Option<usize>) -> Vec<String> {
    let room = columns.unwrap_or(usize::MAX);
    let choices = asked.choices();
    let mut words: Vec<String> = Vec::new();
    // One key may stand for several extents, which are told one after the other.
    let mut keys: Vec<char> = Vec::new();
    let (mut brief, mut lasting): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for choice in &choices {
        if keys.contains(&choice.key) {
            continue;
        }
        keys.push(choice.key);
        let word = match (choice.outcome, has_draft) {
            (ConfirmationOutcome::Modify, true) => format!("{} edit on", choice.key),
            _ => format!("{} {}", choice.key, choice.word),
        };
        match choice.outcome {
            ConfirmationOutcome::AllowSession
            | ConfirmationOutcome::AllowProject
            | ConfirmationOutcome::AllowUser => {
                lasting.push(choice.key.to_string());
            }
            _ => brief.push(word.clone()),
        }
        words.push(word);
    }
    let more = format!("? more{POINTER}");
    let whole: Vec<String> = words.iter().cloned().chain([more.clone()]).collect();
    let rows = wrap(&whole, room);
    if rows.len() <= CHOICE_ROWS {
        return without_pointer(rows);
    }
    // Of what outlives the call, the keys: each says what it allows before it does.
    let shorter: Vec<String> =
        brief.into_iter().chain([format!("{} allow more", lasting.join("/")), more]).collect();
    let rows = wrap(&shorter, room);
    if !lasting.is_empty() && rows.len() <= CHOICE_ROWS {
        return without_pointer(rows);
    }
    let keys: Vec<String> = keys.iter().map(char::to_string).collect();
    let mut rows = wrap(&words, room);
    rows.push(format!("{}/?", keys.join("/")));
    rows
}

/// Rows of choices that are told in words, the line in which one chooses included.
const CHOICE_ROWS: usize = 2;

/// Words in rows, as wide as there is room.
fn wrap(words: &[String], room: usize) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for word in words {
        match rows.last_mut() {
            Some(row) if width::of(row) + width::of(BETWEEN) + width::of(word) <= room => {
                row.push_str(BETWEEN);
                row.push_str(word);
            }
            _ => rows.push(word.clone()),
        }
    }
    rows
}

fn without_pointer(mut rows: Vec<String>) -> Vec<String> {
    if let Some(last) = rows.last_mut() {
        last.truncate(last.trim_end_matches(POINTER).len());
    }
    rows
}

/// How the next one of an agent's questions can be answered, in whole and in short.
pub(super) fn answer_labels(questions: &[UserQuestion], at: usize) -> (String, String) {
    let question = questions.get(at);
    let how = match question {
        Some(question) if question.closed && question.multi_select => "numbers",
        Some(question) if question.closed => "a number",
        Some(question) if question.options.is_empty() => "your answer",
        Some(question) if question.multi_select => "numbers, or your own words",
        _ => "a number, or your own words",
    };
    let may_be_blank = question.is_some_and(|it| it.optional || it.default.is_some());
    let how = if may_be_blank { format!("{how}, or just Enter") } else { how.to_owned() };
    let which = match questions.len() {
        1 => String::new(),
        count => format!("{} of {count}: ", at + 1),
    };
    (format!("{which}{how}; Esc to deny or cancel"), format!("{which}answer"))
}

/// What is typed behind what is asked, both as long as there is room: the end of it stays in sight.
pub(super) fn typed_line(whole: &str, short: &str, typed: &str, room: usize) -> String {
    // Half of a narrow line is for what is typed.
    let fits = |label: &str| {
        let taken = width::of(label) + width::of(POINTER);
        taken <= room / 2 || (typed.is_empty() && taken < room)
    };
    let label = if fits(whole) { whole } else { short };
    let label = if fits(label) {
        label.to_owned()
    } else {
        width::cut(label, (room / 2).saturating_sub(width::of(POINTER)))
    };
    let rest = room.saturating_sub(width::of(&label) + width::of(POINTER) + 1);
    format!("{label}{POINTER}{}", width::cut_front(typed, rest))
}
