//! How does a question look, from which a person decides?
//!
//! Whatever others wrote stands behind a bar at the left, so that no title, diff or prompt can pass for a line of ours. What
//! is asked in place fits the terminal's height, so that who asks, what it is about and the choices are seen at once: of a
//! long command or change the middle is left out, with a note and a key for all of it.

use super::{Asked, Choice, Details};
use crate::{
    cli::{human, palette, rule, safe_text, screen::Ink, width},
    protocol::{OnDeadline, Question, QuestionAnswer},
};

/// Rows of a diff, prompt or unknown details that are shown at once: some screens. The rest comes on demand.
pub(in crate::cli) const ROWS_MAX: usize = 200;

/// What stands before the words of others.
const BAR: &str = "│ ";

/// A terminal narrower than this wraps on its own.
const LEAST_COLUMNS: usize = 12;

/// Where and how much is drawn.
#[derive(Clone, Copy)]
pub(in crate::cli) struct Look {
    /// Of the terminal; `None` = none, so nothing is wrapped.
    pub(in crate::cli) columns: Option<usize>,
    /// Of the terminal; `None` = nobody knows, so only very long subjects are cut.
    pub(in crate::cli) rows: Option<usize>,
    pub(in crate::cli) has_color: bool,
    /// However many rows it has.
    pub(in crate::cli) is_whole: bool,
}

/// Rows below the subject that must find room on the same screen: the line in which one answers, what a second key would
/// confirm, and a row that stays free.
const ROWS_BELOW: usize = 4;

/// However low a terminal is, so many rows of the subject are shown.
const SUBJECT_ROWS_LEAST: usize = 3;

/// Rows about what is dangerous that are shown at once; `?` shows all.
const REASONS_SHOWN: usize = 2;

/// What is asked in place.
pub(in crate::cli) struct Panel<'a> {
    pub(in crate::cli) asked: &'a Asked,
    /// `1 of 3`, when it is not the only one.
    pub(in crate::cli) place: Option<&'a str>,
    /// Which of an agent's questions is being answered; `None` where the choices are what it is about.
    pub(in crate::cli) at_question: Option<usize>,
    /// The choices in words, where the last line has no room for them.
    pub(in crate::cli) choices: Option<&'a str>,
}

/// The question that is being answered, as high as the terminal at most.
pub(in crate::cli) fn draw_panel(panel: &Panel<'_>, look: Look) -> Vec<String> {
    let mut card = Card { look, rows: Vec::new() };
    card.head(panel.asked, panel.place);
    let mut below = Card { look, rows: Vec::new() };
    if let Some(choices) = panel.choices {
        below.words(choices);
    }
    let taken = card.rows.len() + below.rows.len() + ROWS_BELOW;
    let room = match look.rows {
        Some(rows) if !look.is_whole => rows.saturating_sub(taken).max(SUBJECT_ROWS_LEAST),
        Some(_) => usize::MAX,
        None if look.is_whole => usize::MAX,
        None => ROWS_MAX,
    };
    card.subject(panel, room);
    card.rows.append(&mut below.rows);
    card.rows
}

/// Why it is asked, and all that the panel leaves out but the subject itself.
pub(in crate::cli) fn draw_why(asked: &Asked, look: Look) -> Vec<String> {
    let mut card = Card { look, rows: Vec::new() };
    card.why(asked);
    match asked.details() {
        Details::Edit { path, .. } => card.theirs(&path, Some(Ink::Cyan)),
        Details::Exec { surroundings, reasons, .. } => {
            card.theirs(&surroundings, None);
            reasons.iter().for_each(|reason| card.theirs(&format!("! {reason}"), Some(Ink::Yellow)));
        }
        _ => {}
    }
    card.deadline(asked);
    card.rows.extend(draw_choices(asked, &asked.choices(), look));
    card.rows
}

/// A question being drawn.
struct Card {
    look: Look,
    rows: Vec<String>,
}

/// What is to be decided, whole, row by row; `place` is said of several questions, `2 of 3`.
pub(in crate::cli) fn draw(asked: &Asked, place: Option<&str>, look: Look) -> Vec<String> {
    let mut card = Card { look, rows: Vec::new() };
    card.head(asked, place);
    card.theirs(&asked.title, Some(Ink::Bold));
    card.why(asked);
    match asked.details() {
        Details::Edit { path, diff, cut_bytes, .. } => card.edit(&path, &diff, cut_bytes),
        Details::Exec { command, surroundings, reasons } => {
            card.several(safe_text::rows(&command), |_| None);
            card.theirs(&surroundings, None);
            reasons.iter().for_each(|reason| card.theirs(&format!("! {reason}"), Some(Ink::Yellow)));
        }
        Details::Info(prompt) | Details::Budget(prompt) => {
            card.several(safe_text::rows(&prompt), |_| None);
        }
        Details::Questions(questions) => card.questions(&questions),
        Details::Other(details) => card.several(safe_text::rows(&format!("{details:#}")), |_| None),
    }
    card.deadline(asked);
    card.rows
}

/// The ways to answer, each with what it would allow from then on.
pub(in crate::cli) fn draw_choices(asked: &Asked, choices: &[Choice], look: Look) -> Vec<String> {
    let mut card = Card { look, rows: Vec::new() };
    for choice in choices {
        card.indented(&format!("{}  ", choice.key), &choice.in_words(), Some(Ink::Cyan));
    }
    for line in asked.unusable() {
        card.indented("-  ", &line, Some(Ink::Dim));
    }
    card.rows
}

impl Card {
    /// The subject in at most so many rows.
    fn subject(&mut self, panel: &Panel<'_>, room: usize) {
        let asked = panel.asked;
        let before = self.rows.len();
        let mut subject = Card { look: self.look, rows: Vec::new() };
        match (asked.details(), panel.at_question) {
            (Details::Edit { diff, cut_bytes, .. }, _) => {
                self.theirs(&asked.title, Some(Ink::Bold));
                subject.change(&diff, cut_bytes);
            }
            (Details::Exec { command, surroundings, reasons }, _) => {
                let mut notes = Card { look: self.look, rows: Vec::new() };
                for reason in reasons.iter().take(REASONS_SHOWN) {
                    notes.theirs(&format!("! {reason}"), Some(Ink::Yellow));
                }
                notes.one_row(&surroundings, Ink::Dim);
                subject.all(safe_text::rows(&command), |_| Some(Ink::Bold));
                let room = room.saturating_sub(notes.rows.len()).max(SUBJECT_ROWS_LEAST);
                self.fit(subject.rows, room);
                self.rows.append(&mut notes.rows);
                return;
            }
            (Details::Questions(questions), at) => {
                let question = questions.get(at.unwrap_or(0)).or(questions.last());
                question.into_iter().for_each(|question| subject.question(question));
            }
            (Details::Info(prompt) | Details::Budget(prompt), _) => {
                self.theirs(&asked.title, Some(Ink::Bold));
                subject.all(safe_text::rows(&prompt), |_| None);
            }
            (Details::Other(details), _) => {
                self.theirs(&asked.title, Some(Ink::Bold));
                subject.all(safe_text::rows(&format!("{details:#}")), |_| None);
            }
        }
        let title_rows = self.rows.len().saturating_sub(before);
        self.fit(subject.rows, room.saturating_sub(title_rows).max(SUBJECT_ROWS_LEAST));
    }

    /// So many of the rows as there is room for: the first ones and the last, since both ends of a command or a change say
    /// most of what it does.
    fn fit(&mut self, rows: Vec<String>, room: usize) {
        if rows.len() <= room {
            return self.rows.extend(rows);
        }
        let shown = room.saturating_sub(1);
        let last = (shown / 3).max(1);
        let first = shown.saturating_sub(last);
        let hidden = rows.len() - first - last;
        let mut rows = rows.into_iter();
        self.rows.extend(rows.by_ref().take(first));
        self.theirs(
            &format!("… {} more here; v shows all", human::count(hidden as u64, "row")),
            Some(Ink::Yellow),
        );
        self.rows.extend(rows.skip(hidden));
    }

    fn why(&mut self, asked: &Asked) {
        let rule = if asked.rule.is_empty() { String::new() } else { format!(" ({})", asked.rule) };
        if !asked.reason.is_empty() || !rule.is_empty() {
            self.theirs(&format!("asked because {}{rule}", asked.reason), None);
        }
    }

    fn deadline(&mut self, asked: &Asked) {
        let Some(deadline_at) = asked.deadline_at else { return };
        let then = match asked.on_deadline.known() {
            Some(OnDeadline::Deny) => "it is denied",
            Some(OnDeadline::CancelRun) => "the run is cancelled",
            Some(OnDeadline::Park) => "the run is parked",
            None => asked.on_deadline.as_str(),
        };
        let text =
            format!("while nobody is here, it waits until {}; then {then}", human::moment(deadline_at));
        self.theirs(&text, Some(Ink::Dim));
    }

    /// Words of ours, wrapped between them.
    fn words(&mut self, text: &str) {
        let columns = self.look.columns.unwrap_or(usize::MAX).max(LEAST_COLUMNS);
        let mut row = String::new();
        for part in text.split(" · ") {
            let longer = if row.is_empty() { part.to_owned() } else { format!("{row} · {part}") };
            if columns < width::of(&longer) && !row.is_empty() {
                self.rows.push(std::mem::replace(&mut row, part.to_owned()));
            } else {
                row = longer;
            }
        }
        self.rows.push(row);
    }

    /// A line of others in one row, cut.
    fn one_row(&mut self, text: &str, ink: Ink) {
        let text = safe_text::line(text, usize::MAX);
        let columns = self.look.columns.map_or(usize::MAX, |columns| columns.max(LEAST_COLUMNS));
        let row = width::cut(&text, columns.saturating_sub(width::of(BAR)));
        self.put(&row, Some(ink));
    }

    /// `? scout › reader asks · edit_file · risk low · 2 of 3`
    fn head(&mut self, asked: &Asked, place: Option<&str>) {
        let agents = asked.agents();
        let who = if agents.is_empty() { "a run" } else { &agents };
        let mut parts = vec![format!("{who} asks"), asked.tool.clone(), format!("risk {}", asked.risk)];
        // One about the run itself is of no tool.
        parts.retain(|part| !part.is_empty());
        parts.extend(place.map(str::to_owned));
        let text = safe_text::line(&parts.join(" · "), usize::MAX);
        let ink = palette::ink(&asked.risk).unwrap_or(Ink::Yellow);
        for (at, row) in self.wrap(&text, 2).into_iter().enumerate() {
            let sign = if at == 0 { self.paint(Some(ink), "?") } else { " ".to_owned() };
            let row = self.paint(Some(ink), &row);
            self.rows.push(format!("{sign} {row}"));
        }
    }

    fn edit(&mut self, path: &str, diff: &str, cut_bytes: u64) {
        self.theirs(path, Some(Ink::Cyan));
        if diff.is_empty() {
            self.theirs(NO_DIFF, Some(Ink::Yellow));
        }
        self.several(safe_text::rows(diff), diff_ink);
        self.cut_diff(cut_bytes);
    }

    /// What a change does, without the names of the files, which the title has.
    fn change(&mut self, diff: &str, cut_bytes: u64) {
        if diff.is_empty() {
            self.theirs(NO_DIFF, Some(Ink::Yellow));
        }
        let heads = safe_text::rows(diff).take(2).filter(|row| is_file_name(row)).count();
        self.all(safe_text::rows(diff).skip(heads), diff_ink);
        self.cut_diff(cut_bytes);
    }

    fn cut_diff(&mut self, cut_bytes: u64) {
        if 0 < cut_bytes {
            let text = format!("{} more of the diff are not shown: it is too long", human::bytes(cut_bytes));
            self.theirs(&text, Some(Ink::Yellow));
        }
    }

    fn questions(&mut self, questions: &[Question]) {
        for (at, question) in questions.iter().enumerate() {
            if 1 < questions.len() {
                self.theirs(&format!("question {} of {}", at + 1, questions.len()), Some(Ink::Dim));
            }
            self.question(question);
        }
    }

    fn question(&mut self, question: &Question) {
        self.several(safe_text::rows(&question.question), |_| None);
        self.options(question);
        self.when_left_out(question);
    }

    /// What it means to answer nothing.
    fn when_left_out(&mut self, question: &Question) {
        let default = question.default.as_ref().map(|default| match default {
            QuestionAnswer::One(text) => text.clone(),
            QuestionAnswer::Several(texts) => texts.join(", "),
        });
        match default {
            Some(default) => self.theirs(&format!("nothing means: {default}"), Some(Ink::Dim)),
            None if question.optional => self.theirs("may be left out", Some(Ink::Dim)),
            None => (),
        }
    }

    fn options(&mut self, question: &Question) {
        for (at, option) in question.options.iter().enumerate() {
            self.theirs(&format!("{:>3}  {}", at + 1, safe_text::line(option, usize::MAX)), None);
        }
    }

    /// Many rows of others, each in its colour; of very many only the first.
    fn several(&mut self, rows: impl Iterator<Item = String>, ink: impl Fn(&str) -> Option<Ink>) {
        let limit = if self.look.is_whole { usize::MAX } else { ROWS_MAX };
        let (mut shown, mut left) = (0, 0);
        for row in rows {
            let ink = ink(&row);
            for part in self.wrap(&row, width::of(BAR)) {
                if shown == limit {
                    left += 1;
                    continue;
                }
                shown += 1;
                self.put(&part, ink);
            }
        }
        if 0 < left {
            self.theirs(
                &format!("… {} not shown; `v` shows all", human::count(left, "row")),
                Some(Ink::Yellow),
            );
        }
    }

    /// All rows of others, each in its colour.
    fn all(&mut self, rows: impl Iterator<Item = String>, ink: impl Fn(&str) -> Option<Ink>) {
        for row in rows {
            let ink = ink(&row);
            for part in self.wrap(&row, width::of(BAR)) {
                self.put(&part, ink);
            }
        }
    }

    /// One paragraph of others, as one line that is wrapped. Leading blanks stay.
    fn theirs(&mut self, text: &str, ink: Option<Ink>) {
        let blanks: String = text.chars().take_while(|character| *character == ' ').collect();
        let text = format!("{blanks}{}", safe_text::line(text, usize::MAX));
        for row in self.wrap(&text, width::of(BAR)) {
            self.put(&row, ink);
        }
    }

    fn put(&mut self, row: &str, ink: Option<Ink>) {
        let bar = self.paint(Some(Ink::Dim), BAR);
        let row = self.paint(ink, row);
        self.rows.push(format!("{bar}{row}").trim_end().to_owned());
    }

    /// A line of ours, whose later rows stand under the first one's words.
    fn indented(&mut self, sign: &str, text: &str, ink: Option<Ink>) {
        let text = safe_text::line(text, usize::MAX);
        let margin = "  ";
        for (at, row) in self.wrap(&text, margin.len() + sign.len()).into_iter().enumerate() {
            let sign = if at == 0 { self.paint(ink, sign) } else { " ".repeat(sign.len()) };
            self.rows.push(format!("{margin}{sign}{row}"));
        }
    }

    fn wrap(&self, text: &str, taken: usize) -> Vec<String> {
        match self.look.columns {
            Some(columns) => width::wrap(text, columns.max(LEAST_COLUMNS).saturating_sub(taken)),
            None => vec![text.to_owned()],
        }
    }

    fn paint(&self, ink: Option<Ink>, text: &str) -> String {
        match ink.filter(|_| self.look.has_color && !text.is_empty()) {
            Some(ink) => ink.paint(text),
            None => text.to_owned(),
        }
    }
}

/// Said where a change is no text.
const NO_DIFF: &str = "nothing of it can be shown line by line";

fn is_file_name(row: &str) -> bool {
    row.starts_with("+++") || row.starts_with("---")
}

fn diff_ink(row: &str) -> Option<Ink> {
    match row.as_bytes() {
        _ if is_file_name(row) => Some(Ink::Bold),
        [b'@', b'@', ..] => Some(Ink::Cyan),
        [b'+', ..] => Some(Ink::Green),
        [b'-', ..] => Some(Ink::Red),
        [b'\\', ..] => Some(Ink::Dim),
        _ => None,
    }
}

/// What a call touches, one a line.
pub(in crate::cli) fn accesses(accesses: &[serde_json::Value]) -> Vec<String> {
    accesses.iter().map(|access| safe_text::line(&rule::access(access), usize::MAX)).collect()
}
