//! What does the line say in which a question is answered? Pure: as much as fits the terminal.

use super::Asked;
use crate::{
    cli::width,
    protocol::{Outcome, Question},
};

/// What stands between what is asked and what is typed.
pub(super) const POINTER: &str = " › ";

/// What the line ends with while no key counts.
pub(super) const NOT_YET: &str = " … one moment";

/// `y once · s session · n deny · ? more`: all the choices, if they fit.
pub(super) fn choice_words(asked: &Asked, has_draft: bool) -> String {
    let mut words: Vec<String> = Vec::new();
    for choice in asked.choices() {
        let word = match (choice.outcome, has_draft) {
            (Outcome::Modify, true) => format!("{} edit on", choice.key),
            _ => format!("{} {}", choice.key, choice.word),
        };
        // One key may stand for several extents, which are told one after the other.
        if !words.iter().any(|it| it.starts_with(choice.key)) {
            words.push(word);
        }
    }
    words.push("? more".to_owned());
    words.join(" · ")
}

/// Whether the choices fit into the last line.
pub(super) fn choices_fit(asked: &Asked, columns: Option<usize>) -> bool {
    let length = width::of(&choice_words(asked, true)) + width::of(NOT_YET).max(width::of(POINTER));
    columns.is_none_or(|columns| length <= columns)
}

/// The choices in words where they fit, else their keys: the words stand above the line then.
pub(super) fn choices_line(asked: &Asked, has_draft: bool, columns: Option<usize>) -> String {
    if choices_fit(asked, columns) {
        return choice_words(asked, has_draft);
    }
    let mut keys: Vec<String> = asked.choices().iter().map(|choice| choice.key.to_string()).collect();
    keys.dedup();
    format!("{}/?", keys.join("/"))
}

/// How the next one of an agent's questions can be answered, in whole and in short.
pub(super) fn answer_labels(questions: &[Question], at: usize) -> (String, String) {
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
