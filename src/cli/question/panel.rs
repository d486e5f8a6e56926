//! How does a question look while it is answered in place? It fits the terminal, so that who asks, what it is about and how
//! it can be answered are seen at once: of a long command or change the middle is left out, with a note and a key for all of
//! it.

use super::{
    ConfirmationView, Details,
    card::{self, BAR, CardLayout, ConfirmationCard, LEAST_COLUMNS, NO_DIFF, diff_ink, is_file_name},
};
use crate::{human, safe_text, text_color::TextColor, width};

/// Rows of the terminal that are not the panel's: the line in which one answers, and one that stays free above it all.
const ROWS_AROUND: usize = 2;

/// Rows of a panel's subject where nobody knows how high the terminal is: some screens.
const ROWS_MAX: usize = 200;

/// Where there is room, so many rows of a command, a change or a text are shown before anything else is.
const BODY_ROWS_LEAST: usize = 3;

/// However low a terminal is, so many rows of a subject are shown.
const SUBJECT_ROWS_LEAST: usize = 2;

/// With fewer rows for a subject, its title and who asks are told in a row each.
const SUBJECT_ROWS_LOW: usize = 7;

/// Rows of a title that only sums up what stands below it: a longer one loses its middle.
const TITLE_ROWS_MAX: usize = 2;

/// However low a terminal is, so many rows are shown of a title that is the subject: its first one, how many are left out, and
/// its last one.
const SUBJECT_TITLE_ROWS_LEAST: usize = 3;

/// Things that are dangerous that are named at once; `?` names all.
const REASONS_SHOWN: usize = 2;

/// Which part of what belongs to a question is on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PanelPage {
    /// The subject: all of it, or both ends.
    Subject,
    /// A page of the subject, from 0.
    Page(usize),
    /// A page of why it is asked and what each answer allows.
    Why(usize),
}

/// What is asked in place.
pub(crate) struct ConfirmationPanel<'a> {
    pub(crate) asked: &'a ConfirmationView,
    /// `1 of 3`, when it is not the only one.
    pub(crate) place: Option<&'a str>,
    /// Which of an agent's questions is being answered.
    pub(crate) at_question: usize,
    /// Rows of ours that stand below, as wide as the terminal already.
    pub(crate) below: &'a [String],
    pub(crate) view: PanelPage,
    /// What shows all of the subject, where keys do not.
    pub(crate) flag: Option<&'static str>,
}

/// The rows of a panel, and what of the subject they show.
pub(crate) struct PanelRows {
    pub(crate) rows: Vec<String>,
    /// A page follows the one that they show.
    pub(crate) has_next: bool,
    /// Rows of the subject that say something and are not among them.
    pub(crate) unseen: usize,
    /// Which rows of the subject they are, of a page: from, to.
    pub(crate) page: Option<(usize, usize)>,
    /// The terminal has no room for who asks, a row of the subject and the choices. Nothing can be allowed there.
    pub(crate) is_too_small: bool,
}

/// The question that is being answered, as high as the terminal at most.
pub(crate) fn draw(panel: &ConfirmationPanel<'_>, look: CardLayout) -> PanelRows {
    let mut card = ConfirmationCard { look, rows: Vec::new() };
    card.head(panel.asked, panel.place);
    let room = |head: usize| {
        let taken = head + panel.below.len() + ROWS_AROUND;
        look.rows.map_or(ROWS_MAX, |rows| rows.saturating_sub(taken)).max(SUBJECT_ROWS_LEAST)
    };
    let has_risk = room(card.rows.len()) >= SUBJECT_ROWS_LOW || card.head_in_a_row(panel.asked, panel.place);
    let room = room(card.rows.len());
    let subject = PanelSubject::of(panel, look);
    let (mut unseen, mut shown) = (0, None);
    let has_next = match panel.view {
        PanelPage::Subject => {
            unseen = subject.draw(&mut card, room);
            true
        }
        PanelPage::Page(page) => {
            let rows = subject.whole();
            let count = rows.len();
            let (from, to) = draw_page(&mut card, rows, page, room, 'v');
            (unseen, shown) = (count - to, Some((from, to)));
            to < count
        }
        PanelPage::Why(page) => {
            let rows = card::draw_why(panel.asked, look);
            let count = rows.len();
            draw_page(&mut card, rows, page, room, '?').1 < count
        }
    };
    card.rows.extend(panel.below.iter().cloned());
    let is_too_small = !has_risk
        || look.columns.is_some_and(|columns| columns < LEAST_COLUMNS)
        || look.rows.is_some_and(|rows| rows <= card.rows.len());
    if let Some(rows) = look.rows.filter(|_| is_too_small) {
        card.rows.truncate(rows.saturating_sub(1));
    }
    PanelRows { rows: card.rows, has_next, unseen, page: shown, is_too_small }
}

/// Draws one page of these rows. Answers which they are: from, to.
fn draw_page(
    card: &mut ConfirmationCard,
    rows: Vec<String>,
    page: usize,
    room: usize,
    key: char,
) -> (usize, usize) {
    let count = rows.len();
    if count <= room {
        card.rows.extend(rows);
        return (0, count);
    }
    let height = room.saturating_sub(1).max(1);
    let first = page.saturating_mul(height).min(count);
    let last = (first + height).min(count);
    card.rows.extend(rows.into_iter().skip(first).take(height));
    let then = if last < count { "shows more" } else { "ends it" };
    card.one_row(&format!("… rows {} to {last} of {count}; {key} {then}", first + 1), TextColor::Yellow);
    (first, last)
}

/// What a question is about, as rows that are as wide as the terminal.
struct PanelSubject {
    /// What it is, where that is not plain from the rest.
    title: Vec<String>,
    /// The same in one row.
    title_in_short: Vec<String>,
    /// Rows of the subject that are missing then.
    title_cut: usize,
    /// All of it.
    title_whole: Vec<String>,
    /// The command, the change or the text.
    body: Vec<String>,
    /// The rows of the body that say most, where others can be left out first.
    body_in_short: Vec<String>,
    /// What the rows are that are left out then.
    left_out: LeftOut,
    /// What has to be known of it, the same in fewer rows, and in as few as can be.
    notes: Vec<String>,
    notes_in_short: Vec<String>,
    note: Vec<String>,
    /// Rows that tell where a command runs, and how many of them are missing where that is told in one.
    place_rows: usize,
    place_cut: usize,
    /// What shows all of it.
    keys: &'static str,
}

/// Rows of a part of a subject, of which some may have been left out.
struct PanelSection {
    rows: Vec<String>,
    left_out: LeftOut,
}

/// Rows that say less than the others.
#[derive(Default)]
struct LeftOut {
    rows: usize,
    /// So many of them may say something all the same.
    telling: usize,
    /// What they are, and the same in short.
    what: &'static str,
    in_short: &'static str,
}

/// What is left out of a change first.
const AROUND_CHANGES: &str = "more around it";

impl PanelSubject {
    fn of(panel: &ConfirmationPanel<'_>, look: CardLayout) -> PanelSubject {
        let asked = panel.asked;
        let mut title = ConfirmationCard { look, rows: Vec::new() };
        let mut body = ConfirmationCard { look, rows: Vec::new() };
        let (mut body_in_short, mut left_out) = (Vec::new(), LeftOut::default());
        let mut note = ConfirmationCard { look, rows: Vec::new() };
        let mut notes = ConfirmationCard { look, rows: Vec::new() };
        let mut notes_in_short = ConfirmationCard { look, rows: Vec::new() };
        let mut keys = panel.flag.unwrap_or("v shows all");
        let (mut place_rows, mut place_cut) = (0, 0);
        let mut is_subject = false;
        if let Some(told) = asked.told_of_hooks() {
            let text = format!("! {told}");
            notes.theirs(&text, Some(TextColor::Yellow));
            notes_in_short.one_row(&text, TextColor::Yellow);
            note.one_row(&text, TextColor::Yellow);
        }
        match asked.details() {
            Details::Edit { path, diff, cut_bytes, .. } => {
                // What a change is about is its file: of its path nothing is left out unseen.
                is_subject = true;
                title.name(&asked.title, Some(TextColor::Bold));
                if !asked.names_in_title(&path) {
                    title.name(&path, Some(TextColor::Cyan));
                }
                body_in_short = body.change(&diff);
                let rows = body.rows.len().saturating_sub(body_in_short.len());
                left_out = LeftOut { rows, telling: 0, what: AROUND_CHANGES, in_short: AROUND_CHANGES };
                notes.cut_diff(cut_bytes);
                notes_in_short.rows.clone_from(&notes.rows);
            }
            Details::Exec { command, place, manner, reasons } => {
                if let Some(hidden) = asked.hidden() {
                    let text = format!("! {hidden}");
                    notes.theirs(&text, Some(TextColor::Yellow));
                    notes_in_short.one_row(&text, TextColor::Yellow);
                    note.one_row(&text, TextColor::Yellow);
                }
                for reason in reasons.iter().take(REASONS_SHOWN) {
                    notes.theirs(&format!("! {reason}"), Some(TextColor::Yellow));
                    notes_in_short.one_row(&format!("! {reason}"), TextColor::Yellow);
                }
                let more = reasons.len().saturating_sub(REASONS_SHOWN);
                if 0 < more {
                    let text = format!("! and {more} more; ? tells them");
                    notes.one_row(&text, TextColor::Yellow);
                    notes_in_short.one_row(&text, TextColor::Yellow);
                }
                match reasons.as_slice() {
                    [] => {}
                    [reason] => note.one_row(&format!("! {reason}"), TextColor::Yellow),
                    _ => {
                        note.one_row(&format!("! {} dangers; ? tells them", reasons.len()), TextColor::Yellow)
                    }
                }
                for manner in &manner {
                    note.one_row(manner, TextColor::Yellow);
                    notes.theirs(manner, Some(TextColor::Yellow));
                    notes_in_short.one_row(manner, TextColor::Yellow);
                }
                let columns = look.columns.map_or(usize::MAX, |columns| columns.max(LEAST_COLUMNS));
                let (whole, in_short) =
                    (place.in_words(usize::MAX), place.in_words(columns.saturating_sub(width::of(BAR))));
                let before = notes.rows.len();
                notes.exactly(&whole, Some(TextColor::Dim));
                place_rows = notes.rows.len() - before;
                place_cut = if whole == in_short { 0 } else { (place_rows - 1).max(1) };
                notes_in_short.one_row(&in_short, TextColor::Dim);
                (body_in_short, left_out) = body.command(&command);
            }
            Details::Questions(questions) => {
                // Keys are text as long as an answer is typed.
                keys = "Esc, then v shows all";
                let at = panel.at_question.min(questions.len().saturating_sub(1));
                if 1 < questions.len() {
                    title
                        .theirs(&format!("question {} of {}", at + 1, questions.len()), Some(TextColor::Dim));
                }
                if let Some(question) = questions.get(at) {
                    safe_text::rows(&question.question)
                        .for_each(|row| body.theirs(&row, Some(TextColor::Bold)));
                    notes.options(question);
                    for (at, option) in question.options.iter().enumerate() {
                        notes_in_short.one_row(&format!("{}  {option}", at + 1), TextColor::Bold);
                    }
                }
            }
            Details::Info(text) | Details::Budget(text) => {
                title.title(&asked.title);
                body.all(safe_text::rows(&text), |_| None);
            }
            Details::Other(details) => {
                title.title(&asked.title);
                body.all(safe_text::rows(&format!("{details:#}")), |_| None);
            }
        }
        let title_in_short = title.first_row(&asked.title);
        let mut title_whole = title.rows.clone();
        if !title.rows.is_empty() && !is_subject && asked.details().has_title() {
            let mut whole = ConfirmationCard { look, rows: Vec::new() };
            whole.name(&asked.title, Some(TextColor::Bold));
            title_whole = whole.rows;
        }
        PanelSubject {
            title_cut: if is_subject { title.rows.len() - title_in_short.len() } else { 0 },
            title_in_short,
            title_whole,
            title: title.rows,
            body: body.rows,
            body_in_short,
            left_out,
            notes: notes.rows,
            notes_in_short: notes_in_short.rows,
            note: note.rows,
            place_rows,
            place_cut,
            keys,
        }
    }

    /// All of it, however long.
    fn whole(self) -> Vec<String> {
        [self.title_whole, self.body, self.notes].concat()
    }

    /// As much of it as there is room for. Answers how many rows that say something are left out.
    fn draw(mut self, card: &mut ConfirmationCard, room: usize) -> usize {
        let mut unseen = 0;
        let mut title = ConfirmationCard { look: card.look, rows: Vec::new() };
        let is_whole = self.title.len() + self.body.len() + self.notes.len() <= room;
        if room < SUBJECT_ROWS_LOW && !self.body.is_empty() {
            title.rows = self.title_in_short;
            unseen += self.title_cut;
        } else if is_whole || self.title.len() <= TITLE_ROWS_MAX {
            title.rows = self.title;
        } else {
            let part = PanelSection { rows: self.title, left_out: LeftOut::default() };
            unseen += title.fit(part, (room / 2).max(SUBJECT_TITLE_ROWS_LEAST), self.keys);
        }
        if room < title.rows.len() + BODY_ROWS_LEAST.min(self.body.len()) + 1 {
            // `?` tells them as well.
            (self.notes, self.notes_in_short) = (self.note.clone(), self.note.clone());
            unseen += self.place_rows;
            (self.place_rows, self.place_cut) = (0, 0);
        }
        let room = room.saturating_sub(title.rows.len());
        card.rows.append(&mut title.rows);
        let is_tight = room < self.body.len() + self.notes.len() && room < 3 * self.notes.len();
        let place_in_short = self.notes_in_short.last().filter(|_| 0 < self.place_rows).cloned();
        let mut notes = if is_tight { self.notes_in_short } else { self.notes };
        let mut place_cut = if is_tight { self.place_cut } else { 0 };
        let least = BODY_ROWS_LEAST.min(self.body.len()).min(room.max(1));
        let room_for_body = room.saturating_sub(notes.len()).max(least);
        let body = if self.body.len() <= room_for_body || self.body_in_short.is_empty() {
            PanelSection { rows: self.body, left_out: LeftOut::default() }
        } else {
            PanelSection { rows: self.body_in_short, left_out: self.left_out }
        };
        let taken = body.rows.len().min(room_for_body);
        unseen += card.fit(body, room_for_body, self.keys);
        if notes.is_empty() {
            return unseen;
        }
        let room = room.saturating_sub(taken).max(1);
        if room < notes.len() && !self.note.is_empty() {
            // Where it runs comes last.
            notes = self.note;
            let place = place_in_short.filter(|_| notes.len() < room);
            place_cut = if place.is_some() { self.place_cut } else { self.place_rows };
            notes.extend(place);
        }
        let notes = PanelSection { rows: notes, left_out: LeftOut::default() };
        unseen + place_cut + card.fit(notes, room, self.keys)
    }
}

impl ConfirmationCard {
    /// Of a title that is shown in several rows, both ends in one.
    fn first_row(&self, title: &str) -> Vec<String> {
        if self.rows.len() < 2 {
            return self.rows.clone();
        }
        let mut card = ConfirmationCard { look: self.look, rows: Vec::new() };
        let columns =
            self.look.columns.map_or(usize::MAX, |columns| columns.max(LEAST_COLUMNS) - width::of(BAR));
        card.exactly(&width::cut_middle(&safe_text::exact(title), columns), Some(TextColor::Bold));
        card.rows
    }

    /// A title in a few rows: of a longer one both ends.
    fn title(&mut self, title: &str) {
        let title = safe_text::exact(title);
        let columns = self.look.columns.map(|columns| columns.max(LEAST_COLUMNS) - width::of(BAR));
        let most = columns.map_or(usize::MAX, |columns| TITLE_ROWS_MAX * columns);
        // A wide character that does not fit at the end of a row leaves a column free.
        let most = most.saturating_sub(TITLE_ROWS_MAX - 1);
        self.exactly(&width::cut_middle(&title, most), Some(TextColor::Bold));
    }

    /// What a change does, without the names of the files, which the title has. Answers the rows that change.
    fn change(&mut self, diff: &str) -> Vec<String> {
        if diff.is_empty() {
            self.theirs(NO_DIFF, Some(TextColor::Yellow));
            return Vec::new();
        }
        let heads = safe_text::rows(diff).take(2).filter(|row| is_file_name(row)).count();
        let rows = || safe_text::rows(diff).skip(heads);
        self.all(rows(), diff_ink);
        let mut changes = ConfirmationCard { look: self.look, rows: Vec::new() };
        changes.all(rows().filter(|row| row.starts_with(['+', '-'])), diff_ink);
        changes.rows
    }

    /// A command. Answers the rows of it that are no blanks and no comments, and what the others are.
    fn command(&mut self, command: &str) -> (Vec<String>, LeftOut) {
        let (mut acting, mut telling) = (Vec::new(), 0);
        let mut goes_on = false;
        for row in safe_text::command_rows(command) {
            // What stands behind a line that goes on is part of that.
            let is_comment = !goes_on && row.trim_start_matches(' ').starts_with('#');
            goes_on = row.ends_with('\\');
            for part in self.wrap(&row, width::of(BAR)) {
                let is_blank = part.bytes().all(|byte| byte == b' ');
                self.put(&part, Some(TextColor::Bold));
                let drawn = self.rows.last().cloned().filter(|_| !is_comment && !is_blank);
                // To a program that is given it, e.g. by `<<END`, it may be no comment.
                telling += usize::from(is_comment && !is_blank);
                acting.extend(drawn);
            }
        }
        let rows = self.rows.len().saturating_sub(acting.len());
        (acting, LeftOut { rows, telling, what: "of blanks or comments", in_short: "more" })
    }

    /// So many of the rows as there is room for: the first ones and the last, since both ends of a command or a change say
    /// most of what it does. Answers how many of those that are left out say something.
    fn fit(&mut self, part: PanelSection, room: usize, keys: &str) -> usize {
        let PanelSection { rows, left_out } = part;
        let note = usize::from(0 < left_out.rows);
        if rows.len() + note <= room {
            self.rows.extend(rows);
            if 0 < left_out.rows {
                let text = |what: &str| format!("… {}; {keys}", words(left_out.rows, what));
                self.hidden(&[text(left_out.what), text(left_out.in_short)]);
            }
            return left_out.telling;
        }
        let shown = room.saturating_sub(1);
        let last = (shown / 2).max(1);
        let first = shown.saturating_sub(last);
        let hidden = rows.len().saturating_sub(first + last);
        let mut rows = rows.into_iter();
        self.rows.extend(rows.by_ref().take(first));
        let all = words(hidden + left_out.rows, "more here");
        let LeftOut { rows: count, what, in_short, .. } = left_out;
        let apart = if count == 0 || what == in_short { String::new() } else { format!(", {count} {what}") };
        self.hidden(&[format!("… {all}{apart}; {keys}"), format!("… {all}; {keys}")]);
        self.rows.extend(rows.skip(hidden));
        hidden + left_out.telling
    }

    /// The first of these texts that fits, or the last.
    fn hidden(&mut self, texts: &[String]) {
        let columns = self.look.columns.map_or(usize::MAX, |columns| columns.max(LEAST_COLUMNS));
        let fits = |text: &&String| width::of(BAR) + width::of(text) <= columns;
        if let Some(text) = texts.iter().find(fits).or(texts.last()) {
            self.one_row(text, TextColor::Yellow);
        }
    }
}

/// `3 rows more here`: so many rows, and what they are.
fn words(count: usize, what: &str) -> String {
    format!("{} {what}", human::count(count as u64, "row"))
}
