//! What does the line say in which a question is answered, at each stage of the answer?

use super::{ConfirmationDialog, DialogStage};
use crate::{
    asking::{
        ConfirmationView,
        line::{self, NOT_YET, POINTER},
    },
    ids, safe_text, width,
};

impl ConfirmationDialog {
    /// How the question that is at can be answered, where the line has no room to say so.
    pub(in crate::asking) fn legend(&self, columns: Option<usize>) -> Option<String> {
        let DialogStage::Answering { questions, answers, .. } = &self.stage else { return None };
        let (whole, _) = line::answer_labels(questions, answers.len());
        (columns? <= width::of(&whole) + width::of(POINTER)).then_some(whole)
    }

    /// The last line of the screen; `columns` of a terminal. `keeps_aside`: what does not count is for the person's next
    /// message.
    pub(in crate::asking) fn prompt(
        &self,
        asked: &ConfirmationView,
        has_draft: bool,
        keeps_aside: bool,
        columns: Option<usize>,
    ) -> String {
        let room = columns.unwrap_or(usize::MAX);
        if !self.takes_keys() {
            return self.not_yet(asked, has_draft, keeps_aside, columns);
        }
        let line = match &self.stage {
            DialogStage::Choosing | DialogStage::Alone { .. } if self.sight.is_too_small => {
                larger(asked, room)
            }
            DialogStage::Confirming { choices, .. }
                if self.sight.is_too_small && choices.iter().any(|choice| choice.outcome.is_consent()) =>
            {
                let whole = format!("make the terminal larger to read it · any other key goes back{POINTER}");
                if width::of(&whole) <= room { whole } else { format!("too small to read{POINTER}") }
            }
            DialogStage::Sending { .. } if self.sight.is_too_small => larger(asked, room),
            DialogStage::Choosing => format!("{}{POINTER}", last_row(asked, has_draft, columns)),
            DialogStage::Reading { has_more: true } => {
                let whole = format!("? shows more · other keys go back{POINTER}");
                if width::of(&whole) <= room { whole } else { format!("? on · else back{POINTER}") }
            }
            DialogStage::Reading { has_more: false } => format!("any key goes back{POINTER}"),
            DialogStage::Alone { choice, .. } => format!("{} {}", choice.key, choice.word),
            DialogStage::Confirming { choices, at, .. } => {
                let does = choices.get(*at).map_or("", |choice| choice.confirmed());
                let wider = match choices.first() {
                    Some(first) if 1 < choices.len() => format!(" · {} another extent", first.key),
                    _ => String::new(),
                };
                let whole = format!("Enter {does}{wider} · any other key goes back{POINTER}");
                let short = format!("Enter {does}{wider}{POINTER}");
                if width::of(&whole) <= room { whole } else { short }
            }
            DialogStage::Sending { .. } => {
                let whole = format!("Enter sends what you edited · any other key goes back{POINTER}");
                if width::of(&whole) <= room { whole } else { format!("Enter sends it{POINTER}") }
            }
            DialogStage::Denying { typed } => {
                line::typed_line("why not? Enter denies, Esc goes back", "why not?", typed, room)
            }
            DialogStage::Answering { questions, answers, typed, .. } => {
                let (whole, short) = line::answer_labels(questions, answers.len());
                line::typed_line(&whole, &short, typed, room)
            }
        };
        width::cut(&line, room)
    }

    fn not_yet(
        &self,
        asked: &ConfirmationView,
        has_draft: bool,
        keeps_aside: bool,
        columns: Option<usize>,
    ) -> String {
        let room = columns.unwrap_or(usize::MAX);
        let aside = safe_text::line(&self.aside, usize::MAX);
        let before = match &self.stage {
            _ if keeps_aside && !aside.is_empty() => format!("for your next message: {aside}"),
            DialogStage::Choosing if self.sight.is_too_small => String::new(),
            DialogStage::Choosing => last_row(asked, has_draft, columns),
            _ => String::new(),
        };
        let before = width::cut_front(&before, room.saturating_sub(width::of(NOT_YET)));
        width::cut(&format!("{before}{NOT_YET}"), room)
    }
}

/// Why no key allows anything, and what does: as much of it as there is room for.
fn larger(asked: &ConfirmationView, room: usize) -> String {
    let id = ids::shortest(asked.confirmation_id.as_str());
    let how = format!("make the terminal larger (at least 30×8), or answer with `subagent approve {id}`");
    let ways = [
        format!("{how} · n deny{POINTER}"),
        format!("{how}{POINTER}"),
        format!("make the terminal larger (at least 30×8) · n deny{POINTER}"),
        format!("at least 30×8 needed · n deny{POINTER}"),
        format!("30×8 needed{POINTER}"),
    ];
    let fits = ways.iter().find(|way| width::of(way) <= room);
    fits.or(ways.last()).cloned().unwrap_or_default()
}

/// The row of the choices in which one chooses.
fn last_row(asked: &ConfirmationView, has_draft: bool, columns: Option<usize>) -> String {
    line::choice_rows(asked, has_draft, columns).pop().unwrap_or_default()
}
