//! How does a question look, from which a person decides?
//!
//! Whatever others wrote stands behind a bar at the left, so that no title, diff or prompt can pass for a line of ours. What
//! is asked in place is drawn with the same strokes, but fits the terminal: see [`panel`](super::panel).

use super::{ConfirmationView, Details, OutcomeChoice, answers, choice};
use crate::{human, palette, safe_text, text_color::TextColor, width};
use protocol::{OnDeadline, UserQuestion};

/// What stands before the words of others.
pub(super) const BAR: &str = "│ ";

/// Columns of what stands around the names of agents in the heading's first row.
const AROUND_AGENTS: usize = 9;

/// A terminal narrower than this wraps on its own.
pub(super) const LEAST_COLUMNS: usize = 12;

/// Where and how much is drawn.
#[derive(Clone, Copy)]
pub(crate) struct CardLayout {
    /// Of the terminal; `None` = none, so nothing is wrapped.
    pub(crate) columns: Option<usize>,
    /// Of the terminal; `None` = nobody knows, so only very long subjects are cut.
    pub(crate) rows: Option<usize>,
    pub(crate) has_color: bool,
}

/// Why it is asked, and until when.
pub(crate) fn draw_reason(asked: &ConfirmationView, look: CardLayout) -> Vec<String> {
    let mut card = ConfirmationCard { look, rows: Vec::new() };
    card.why(asked);
    card.deadline(asked);
    card.rows
}

/// Why it is asked, and all that the panel leaves out but the subject itself.
pub(crate) fn draw_why(asked: &ConfirmationView, look: CardLayout) -> Vec<String> {
    let mut card = ConfirmationCard { look, rows: Vec::new() };
    card.why(asked);
    match asked.details() {
        Details::Edit { path, .. } => card.name(&path, Some(TextColor::Cyan)),
        Details::Exec { place, manner, reasons, .. } => {
            card.exactly(&place.in_words(usize::MAX), None);
            card.hidden_places(asked);
            manner.iter().for_each(|manner| card.theirs(manner, Some(TextColor::Yellow)));
            reasons.iter().for_each(|reason| card.theirs(&format!("! {reason}"), Some(TextColor::Yellow)));
        }
        _ => {}
    }
    card.deadline(asked);
    card.rows.extend(draw_choices(asked, &asked.choices(), look));
    card.rows
}

/// A question being drawn.
pub(super) struct ConfirmationCard {
    pub(super) look: CardLayout,
    pub(super) rows: Vec<String>,
}

/// What is to be decided, whole, row by row; `place` is said of several questions, `2 of 3`.
pub(crate) fn draw(asked: &ConfirmationView, place: Option<&str>, look: CardLayout) -> Vec<String> {
    let mut card = ConfirmationCard { look, rows: Vec::new() };
    card.head(asked, place);
    card.name(&asked.title, Some(TextColor::Bold));
    card.why(asked);
    match asked.details() {
        Details::Edit { path, diff, cut_bytes, .. } => card.edit(&path, &diff, cut_bytes),
        Details::Exec { command, place, manner, reasons } => {
            card.all(safe_text::command_rows(&command), |_| None);
            card.exactly(&place.in_words(usize::MAX), None);
            card.hidden_places(asked);
            manner.iter().for_each(|manner| card.theirs(manner, Some(TextColor::Yellow)));
            reasons.iter().for_each(|reason| card.theirs(&format!("! {reason}"), Some(TextColor::Yellow)));
        }
        Details::Info(prompt) | Details::Budget(prompt) => {
            card.all(safe_text::rows(&prompt), |_| None);
        }
        Details::Questions(questions) => card.questions(&questions),
        Details::Other(details) => card.all(safe_text::rows(&format!("{details:#}")), |_| None),
    }
    card.deadline(asked);
    card.rows
}

/// The ways to answer, each with what it would allow from then on.
pub(crate) fn draw_choices(
    asked: &ConfirmationView,
    choices: &[OutcomeChoice],
    look: CardLayout,
) -> Vec<String> {
    let mut card = ConfirmationCard { look, rows: Vec::new() };
    let is_repeated = |at: usize| choices[..at].iter().any(|choice| choice.key == choices[at].key);
    for (at, choice) in choices.iter().enumerate() {
        // Of a key that stands for several extents, pressing it again tells the next one.
        let sign =
            if is_repeated(at) { format!("{0} {0}  ", choice.key) } else { format!("{}  ", choice.key) };
        card.indented(&sign, &choice.in_words(), Some(TextColor::Cyan));
    }
    for (key, why) in choice::missing(asked, choices) {
        card.indented("-  ", &format!("{key} {why}"), Some(TextColor::Dim));
    }
    for line in asked.unusable() {
        card.indented("-  ", &line, Some(TextColor::Dim));
    }
    card.rows
}

impl ConfirmationCard {
    fn why(&mut self, asked: &ConfirmationView) {
        let rule = if asked.rule.is_empty() { String::new() } else { format!(" ({})", asked.rule) };
        if !asked.reason().is_empty() || !rule.is_empty() {
            self.theirs(&format!("asked because {}{rule}", asked.reason()), None);
        }
        if let Some(why) = asked.bars_consent() {
            self.theirs(&format!("! {why}"), Some(TextColor::Yellow));
        }
    }

    /// Of a command, whose title, which tells it of everything else, is not drawn in place.
    fn hidden_places(&mut self, asked: &ConfirmationView) {
        if let Some(hidden) = asked.hidden() {
            self.theirs(&format!("! {hidden}"), Some(TextColor::Yellow));
        }
    }

    fn deadline(&mut self, asked: &ConfirmationView) {
        let Some(deadline_at) = asked.deadline_at else { return };
        let then = match asked.on_deadline.known() {
            Some(OnDeadline::Deny) => "it is denied",
            Some(OnDeadline::CancelRun) => "the run is cancelled",
            Some(OnDeadline::Park) => "the run is parked",
            None => asked.on_deadline.as_str(),
        };
        let text =
            format!("while nobody is here, it waits until {}; then {then}", human::moment(deadline_at));
        self.theirs(&text, Some(TextColor::Dim));
    }

    /// A line of others in one row, cut.
    pub(super) fn one_row(&mut self, text: &str, ink: TextColor) {
        let text = safe_text::line(text, usize::MAX);
        let columns = self.look.columns.map_or(usize::MAX, |columns| columns.max(LEAST_COLUMNS));
        let row = width::cut(&text, columns.saturating_sub(width::of(BAR)));
        self.put(&row, Some(ink));
    }

    /// `? scout › reader asks · edit_file · risk low · 2 of 3`
    pub(super) fn head(&mut self, asked: &ConfirmationView, place: Option<&str>) {
        // However deep the calls, the root and the one that asks are told.
        let agents = safe_text::line(&asked.agents(), usize::MAX);
        let columns = self.look.columns.map_or(usize::MAX, |columns| columns.max(LEAST_COLUMNS));
        let agents = width::cut_middle(&agents, columns.saturating_sub(AROUND_AGENTS));
        let who = if agents.is_empty() { "a run" } else { &agents };
        let mut parts = vec![format!("{who} asks"), asked.tool.clone(), format!("risk {}", asked.risk)];
        // One about the run itself is of no tool.
        parts.retain(|part| !part.is_empty());
        parts.extend(place.map(str::to_owned));
        let text = safe_text::line(&parts.join(" · "), usize::MAX);
        let ink = palette::ink(&asked.risk).unwrap_or(TextColor::Yellow);
        for (at, row) in self.wrap_words(&text, 2).into_iter().enumerate() {
            let sign = if at == 0 { self.paint(Some(ink), "?") } else { " ".to_owned() };
            let row = self.paint(Some(ink), &row);
            self.rows.push(format!("{sign} {row}"));
        }
    }

    /// The same in one row, in place of it: `? reader asks · risk low`. What does not fit is told by `?`.
    /// Answers whether the risk is to be read.
    pub(super) fn head_in_a_row(&mut self, asked: &ConfirmationView, place: Option<&str>) -> bool {
        let columns = self.look.columns.map_or(usize::MAX, |columns| columns.max(LEAST_COLUMNS));
        let ink = palette::ink(&asked.risk).unwrap_or(TextColor::Yellow);
        let agents = safe_text::line(&asked.agents(), usize::MAX);
        let rest: String = std::iter::once(format!("risk {}", asked.risk))
            .chain(place.map(str::to_owned))
            .map(|part| format!(" · {}", safe_text::line(&part, usize::MAX)))
            .collect();
        let room = columns.saturating_sub(width::of("?  asks") + width::of(&rest));
        let who =
            if agents.is_empty() { "a run".to_owned() } else { width::cut_middle(&agents, room.max(4)) };
        let text = width::cut(&format!("{who} asks{rest}"), columns.saturating_sub(2));
        self.rows = vec![format!("{} {}", self.paint(Some(ink), "?"), self.paint(Some(ink), &text))];
        let risk = format!("{who} asks · risk {}", safe_text::line(&asked.risk, usize::MAX));
        text.starts_with(&risk)
    }

    fn edit(&mut self, path: &str, diff: &str, cut_bytes: u64) {
        self.name(path, Some(TextColor::Cyan));
        if diff.is_empty() {
            self.theirs(NO_DIFF, Some(TextColor::Yellow));
        }
        self.all(safe_text::rows(diff), diff_ink);
        self.cut_diff(cut_bytes);
    }

    pub(super) fn cut_diff(&mut self, cut_bytes: u64) {
        if 0 < cut_bytes {
            let text = format!("{} more of the diff are not shown: it is too long", human::bytes(cut_bytes));
            self.theirs(&text, Some(TextColor::Yellow));
        }
    }

    fn questions(&mut self, questions: &[UserQuestion]) {
        for (at, question) in questions.iter().enumerate() {
            if 1 < questions.len() {
                self.theirs(&format!("question {} of {}", at + 1, questions.len()), Some(TextColor::Dim));
            }
            self.question(question);
        }
    }

    fn question(&mut self, question: &UserQuestion) {
        self.all(safe_text::rows(&question.question), |_| None);
        self.options(question);
    }

    /// What can be chosen, and what it means to choose nothing.
    pub(super) fn options(&mut self, question: &UserQuestion) {
        for (at, option) in question.options.iter().enumerate() {
            self.theirs(&format!("{:>3}  {}", at + 1, safe_text::line(option, usize::MAX)), None);
        }
        self.when_left_out(question);
    }

    /// What it means to answer nothing.
    fn when_left_out(&mut self, question: &UserQuestion) {
        let default = question.default.as_ref().map(answers::in_words);
        match default {
            Some(default) => self.theirs(&format!("nothing means: {default}"), Some(TextColor::Dim)),
            None if question.optional => self.theirs("may be left out", Some(TextColor::Dim)),
            None => (),
        }
    }

    /// All rows of others, each in its colour.
    pub(super) fn all(
        &mut self,
        rows: impl Iterator<Item = String>,
        ink: impl Fn(&str) -> Option<TextColor>,
    ) {
        for row in rows {
            let ink = ink(&row);
            for part in self.wrap(&row, width::of(BAR)) {
                self.put(&part, ink);
            }
        }
    }

    /// One paragraph of others, as one line that is wrapped. Leading blanks stay.
    pub(super) fn theirs(&mut self, text: &str, ink: Option<TextColor>) {
        let blanks: String = text.chars().take_while(|character| *character == ' ').collect();
        let text = format!("{blanks}{}", safe_text::line(text, usize::MAX));
        for row in self.wrap_words(&text, width::of(BAR)) {
            self.put(&row, ink);
        }
    }

    /// A title or a file's name, told apart from all that look like it.
    pub(super) fn name(&mut self, name: &str, ink: Option<TextColor>) {
        self.exactly(&safe_text::exact(name), ink);
    }

    /// The same of a text that is harmless already.
    pub(super) fn exactly(&mut self, text: &str, ink: Option<TextColor>) {
        // Blanks at the end of a row are not to be seen.
        let rows = match text.contains("  ") {
            true => self.wrap(text, width::of(BAR)),
            false => self.wrap_words(text, width::of(BAR)),
        };
        rows.iter().for_each(|row| self.put(row, ink));
    }

    pub(super) fn put(&mut self, row: &str, ink: Option<TextColor>) {
        let bar = self.paint(Some(TextColor::Dim), BAR);
        let row = self.paint(ink, row);
        self.rows.push(format!("{bar}{row}").trim_end().to_owned());
    }

    /// A line of ours, whose later rows stand under the first one's words.
    fn indented(&mut self, sign: &str, text: &str, ink: Option<TextColor>) {
        let text = safe_text::line(text, usize::MAX);
        let margin = "  ";
        for (at, row) in self.wrap_words(&text, margin.len() + sign.len()).into_iter().enumerate() {
            let sign = if at == 0 { self.paint(ink, sign) } else { " ".repeat(sign.len()) };
            self.rows.push(format!("{margin}{sign}{row}"));
        }
    }

    /// What is judged by how it is written, character by character.
    pub(super) fn wrap(&self, text: &str, taken: usize) -> Vec<String> {
        match self.look.columns {
            Some(columns) => width::wrap(text, columns.max(LEAST_COLUMNS).saturating_sub(taken)),
            None => vec![text.to_owned()],
        }
    }

    fn wrap_words(&self, text: &str, taken: usize) -> Vec<String> {
        match self.look.columns {
            Some(columns) => width::wrap_words(text, columns.max(LEAST_COLUMNS).saturating_sub(taken)),
            None => vec![text.to_owned()],
        }
    }

    pub(super) fn paint(&self, ink: Option<TextColor>, text: &str) -> String {
        match ink.filter(|_| self.look.has_color && !text.is_empty()) {
            Some(ink) => ink.paint(text),
            None => text.to_owned(),
        }
    }
}

/// Said where a change is no text.
pub(super) const NO_DIFF: &str = "nothing of it can be shown line by line";

pub(super) fn is_file_name(row: &str) -> bool {
    row.starts_with("+++") || row.starts_with("---")
}

pub(super) fn diff_ink(row: &str) -> Option<TextColor> {
    match row.as_bytes() {
        _ if is_file_name(row) => Some(TextColor::Bold),
        [b'@', b'@', ..] => Some(TextColor::Cyan),
        [b'+', ..] => Some(TextColor::Green),
        [b'-', ..] => Some(TextColor::Red),
        [b'\\', ..] => Some(TextColor::Dim),
        _ => None,
    }
}

/// What a call touches, one a line.
pub(crate) fn accesses(accesses: &[serde_json::Value]) -> Vec<String> {
    accesses.iter().map(|access| safe_text::line(&traces::access_said(access), usize::MAX)).collect()
}
