//! What does the line say in which a question is answered? Pure: as much as fits the terminal.

use super::ConfirmationView;
use crate::{question::OutcomeChoice, width};
use protocol::{ConfirmationOutcome, UserQuestion};

/// What stands between what is asked and what is typed.
pub(super) const POINTER: &str = " › ";

/// What stands between two choices.
const BETWEEN: &str = " · ";

/// The same where there is little room.
const BETWEEN_SHORT: &str = "·";

/// What the line ends with while no key counts.
pub(super) const NOT_YET: &str = " … one moment";

/// The choices in words, in as many rows as they take; one answers in the last of them.
pub(crate) fn choice_rows(asked: &ConfirmationView, has_draft: bool, columns: Option<usize>) -> Vec<String> {
    let room = columns.unwrap_or(usize::MAX);
    // One key may stand for several extents, which are told one after the other.
    let mut choices: Vec<OutcomeChoice> = Vec::new();
    for choice in asked.choices() {
        if !choices.iter().any(|other| other.key == choice.key) {
            choices.push(choice);
        }
    }
    let word = |choice: &OutcomeChoice, word: &str| match (choice.outcome, has_draft) {
        (ConfirmationOutcome::Modify, true) => format!("{} edit on", choice.key),
        _ => format!("{} {word}", choice.key),
    };
    let words: Vec<String> = choices.iter().map(|choice| word(choice, choice.word)).collect();
    // Where there is less room, what is for this call alone comes first, and shorter words do.
    let (brief, lasting): (Vec<&OutcomeChoice>, Vec<&OutcomeChoice>) =
        choices.iter().partition(|choice| !choice.outlives_call());
    let shorter: Vec<String> =
        brief.into_iter().chain(lasting).map(|choice| word(choice, choice.short_word())).collect();
    let ways = [
        (&words, BETWEEN, "? more", CHOICE_ROWS),
        (&shorter, BETWEEN_SHORT, "? more", CHOICE_ROWS),
        (&shorter, BETWEEN_SHORT, "?", CHOICE_ROWS),
        (&shorter, BETWEEN_SHORT, "?", CHOICE_ROWS_NARROW),
    ];
    for (words, between, more, most) in ways {
        let whole: Vec<String> = words.iter().cloned().chain([format!("{more}{POINTER}")]).collect();
        let rows = wrap(&whole, between, room);
        if rows.len() <= most && rows.iter().all(|row| width::of(row) <= room) {
            return without_pointer(rows);
        }
    }
    let keys: Vec<String> = choices.iter().map(|choice| choice.key.to_string()).collect();
    let mut rows = wrap(&shorter, BETWEEN_SHORT, room);
    rows.push(format!("{}/?", keys.join("/")));
    rows
}

/// Rows of choices that are told in words, the line in which one chooses included.
const CHOICE_ROWS: usize = 2;

/// The same in a terminal that is so narrow that two do not do.
const CHOICE_ROWS_NARROW: usize = 3;

/// Words in rows, as wide as there is room.
fn wrap(words: &[String], between: &str, room: usize) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for word in words {
        match rows.last_mut() {
            Some(row) if width::of(row) + width::of(between) + width::of(word) <= room => {
                row.push_str(between);
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
