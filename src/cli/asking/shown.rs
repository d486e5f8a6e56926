//! The question on the screen: what is to be seen of it, and whether it still is.

use std::{process::Command, time::Duration};

use super::{
    dialog::{ConfirmationDialog, Sight},
    line,
};
use crate::{
    EnvironmentLookup, editor,
    question::{
        ConfirmationView, answers,
        card::{self, CardLayout},
        panel::{self, ConfirmationPanel, PanelPage, PanelRows},
    },
    safe_text,
    screen::ProgressScreen,
    text_color::TextColor,
    width,
};
use client::MonotonicStopwatch;

/// Columns and rows of a terminal, as far as they are known.
pub(super) type ScreenSize = (Option<usize>, Option<usize>);

/// What a second key would confirm is told in at most a half of the screen, and this where nobody knows how high it is.
const TOLD_ROWS_MAX: usize = 12;

pub(super) struct DisplayedConfirmation {
    pub(super) asked: ConfirmationView,
    pub(super) dialog: ConfirmationDialog,
    /// When the others were told last that somebody reads it.
    pub(super) claimed: MonotonicStopwatch,
    size: ScreenSize,
    view: PanelPage,
    /// Why what was typed does not fit, until something else is typed.
    complaint: Option<String>,
    /// Who else reads it.
    other: Option<String>,
    drawn: Option<PanelSnapshot>,
    /// A page follows the one that was drawn.
    has_next: bool,
    /// All rows of the subject before this one have been seen, page by page; `None` = all there are.
    read_to: Option<usize>,
}

/// What is to be seen besides the question itself. When it changes, the panel is drawn anew in its place.
#[derive(PartialEq)]
struct PanelSnapshot {
    place: Option<String>,
    at_question: usize,
    view: PanelPage,
    below: Vec<String>,
    /// What a second key would confirm is not told whole.
    is_cut: bool,
}

impl DisplayedConfirmation {
    pub(super) fn of(asked: ConfirmationView, now: Duration) -> DisplayedConfirmation {
        DisplayedConfirmation {
            dialog: ConfirmationDialog::of(&asked, now),
            asked,
            claimed: MonotonicStopwatch::start(),
            size: (None, None),
            view: PanelPage::Subject,
            complaint: None,
            other: None,
            drawn: None,
            has_next: false,
            read_to: Some(0),
        }
    }

    pub(super) fn columns(&self) -> Option<usize> {
        self.size.0
    }

    /// Whether the terminal is another size since it was drawn.
    pub(super) fn is_resized(&self, size: ScreenSize) -> bool {
        self.size != size
    }

    /// Says why what was typed does not fit.
    pub(super) fn complain(&mut self, complaint: Option<String>) {
        self.complaint = complaint;
    }

    /// Says that somebody else reads it.
    pub(super) fn note_other(&mut self, other: String) {
        self.other = Some(other);
    }

    /// Draws it as something that is looked at for the first time: keys are for it from a while later on.
    pub(super) fn draw(
        &mut self,
        place: Option<&str>,
        has_draft: bool,
        size: ScreenSize,
        now: Duration,
        screen: &mut ProgressScreen<'_>,
    ) {
        if self.size != size {
            // Rows are others now.
            self.read_to = self.read_to.map(|_| 0);
        }
        self.size = size;
        self.view = PanelPage::Subject;
        self.dialog.shown_again(now);
        self.drawn = None;
        self.refresh(place, has_draft, now, screen);
    }

    /// Draws it anew where something changed around the subject.
    pub(super) fn refresh(
        &mut self,
        place: Option<&str>,
        has_draft: bool,
        now: Duration,
        screen: &mut ProgressScreen<'_>,
    ) {
        if matches!(self.view, PanelPage::Why(_)) && !self.dialog.is_reading() {
            // The subject comes back into sight.
            return self.draw(place, has_draft, self.size, now, screen);
        }
        let (below, is_cut) = self.below(has_draft, screen);
        let at_question = self.dialog.at_question();
        let face =
            PanelSnapshot { place: place.map(str::to_owned), at_question, view: self.view, below, is_cut };
        // A terminal that cannot erase gets it once, and not again for what changes around it.
        if self.drawn.as_ref() == Some(&face) || (self.drawn.is_some() && !screen.is_live()) {
            return;
        }
        let panel = ConfirmationPanel {
            asked: &self.asked,
            place: face.place.as_deref(),
            at_question: face.at_question,
            below: &face.below,
            view: face.view,
            flag: None,
        };
        let drawn = panel::draw(&panel, self.look(screen));
        self.note_sight(&drawn, is_cut);
        screen.panel(drawn.rows);
        self.has_next = drawn.has_next;
        if self.dialog.is_reading() {
            self.dialog.read(drawn.has_next);
        }
        self.drawn = Some(face);
    }

    /// Takes note of how much of the subject is before the person's eyes.
    fn note_sight(&mut self, drawn: &PanelRows, is_cut: bool) {
        let mut unseen = drawn.unseen;
        if let (Some((from, to)), Some(read_to)) = (drawn.page, self.read_to) {
            let read_to = if from <= read_to { read_to.max(to) } else { read_to };
            unseen = (to + drawn.unseen).saturating_sub(read_to);
            self.read_to = Some(read_to).filter(|_| 0 < unseen);
        }
        if self.read_to.is_none() || matches!(self.view, PanelPage::Why(_)) {
            // No key decides while reasons are read.
            unseen = 0;
        }
        self.dialog.sees(Sight { unseen, is_too_small: drawn.is_too_small || is_cut });
    }

    /// All of the subject was shown elsewhere.
    pub(super) fn has_read_all(&mut self) {
        self.read_to = None;
    }

    /// What stands between the subject and the line in which one answers, and whether what a second key would confirm is cut.
    fn below(&self, has_draft: bool, screen: &ProgressScreen<'_>) -> (Vec<String>, bool) {
        let columns = self.size.0.unwrap_or(usize::MAX);
        let mut is_cut = false;
        let exactly = |ink, text: &str, rows: usize| {
            let room = columns.saturating_sub(2).max(1);
            let text = width::cut_middle(text, room.saturating_mul(rows));
            let rows = width::wrap_words(&text, room).into_iter();
            rows.map(|row| screen.paint(ink, &format!("  {row}"))).collect::<Vec<String>>()
        };
        let words = |ink, text: &str, rows: usize| exactly(ink, &safe_text::line(text, usize::MAX), rows);
        let mut rows: Vec<String> = Vec::new();
        let most = self.size.1.map_or(TOLD_ROWS_MAX, |rows| (rows / 2).saturating_sub(1).max(1));
        if let Some(other) = &self.other {
            rows.extend(words(TextColor::Dim, other, 2));
        }
        let answered: Vec<String> = self.dialog.answers().iter().map(answers::in_words).collect();
        if !answered.is_empty() {
            rows.extend(words(TextColor::Dim, &format!("answered: {}", answered.join(" · ")), 2));
        }
        if let Some((key, text)) = self.dialog.to_confirm() {
            // As it is written: it may name files.
            let text = safe_text::exact(&format!("{key}  {text}"));
            let told = exactly(TextColor::Cyan, &text, most);
            // On a terminal that cannot erase it stands there whole already.
            is_cut = screen.is_live() && told != exactly(TextColor::Cyan, &text, usize::MAX);
            rows.extend(told);
        } else if let Some(legend) = self.dialog.legend(self.size.0) {
            rows.extend(words(TextColor::Dim, &legend, most));
        } else if self.dialog.is_choosing() {
            let mut choices = line::choice_rows(&self.asked, has_draft, self.size.0);
            choices.pop();
            rows.append(&mut choices);
        }
        if let Some(complaint) = &self.complaint {
            rows.extend(words(TextColor::Yellow, &format!("! {complaint}"), most));
        }
        (rows, is_cut)
    }

    fn look(&self, screen: &ProgressScreen<'_>) -> CardLayout {
        CardLayout { columns: self.size.0, rows: self.size.1, has_color: screen.has_color() }
    }

    /// What a second key would confirm, where the panel cannot be drawn anew.
    pub(super) fn tell_choice(&mut self, key: char, text: &str, screen: &mut ProgressScreen<'_>) {
        if !screen.is_live() {
            let room = self.size.0.map_or(usize::MAX, |columns| columns.saturating_sub(2).max(1));
            let text = safe_text::exact(&format!("{key}  {text}"));
            width::wrap_words(&text, room).iter().for_each(|row| screen.line_now(&format!("  {row}")));
        }
    }

    /// Turns to why it is asked and what each choice allows, or to the next page of that. False where it was told for good,
    /// since the panel cannot be drawn anew.
    pub(super) fn turn_to_why(&mut self, screen: &mut ProgressScreen<'_>) -> bool {
        if !screen.is_live() {
            let rows = card::draw_why(&self.asked, self.look(screen));
            rows.iter().for_each(|row| screen.line_now(row));
            return false;
        }
        match self.view {
            PanelPage::Why(page) if self.has_next => self.view = PanelPage::Why(page + 1),
            PanelPage::Why(_) => self.dialog.stop_reading(),
            PanelPage::Subject | PanelPage::Page(_) => {
                self.view = PanelPage::Why(0);
                self.dialog.read(false);
            }
        }
        true
    }

    /// Turns to the next page of the subject, behind the last one to both its ends. False where all of it was told, since
    /// the panel cannot be drawn anew.
    pub(super) fn turn_page(&mut self, screen: &mut ProgressScreen<'_>) -> bool {
        if !screen.is_live() {
            let rows = card::draw(&self.asked, None, self.look(screen));
            rows.iter().for_each(|row| screen.line_now(row));
            self.has_read_all();
            return false;
        }
        self.view = match self.view {
            PanelPage::Page(page) if self.has_next => PanelPage::Page(page + 1),
            PanelPage::Page(_) => PanelPage::Subject,
            PanelPage::Subject | PanelPage::Why(_) => PanelPage::Page(0),
        };
        true
    }

    /// All of the subject in the person's own pager; `None` where they have none, else whether it was shown.
    pub(super) fn page(&self, environment: &EnvironmentLookup) -> Option<bool> {
        let pager = environment("PAGER").filter(|pager| !pager.is_empty())?;
        let look = CardLayout { columns: self.size.0, rows: None, has_color: false };
        let text = card::draw(&self.asked, None, look).join("\n") + "\n";
        let Ok(draft) = editor::EditorTempFile::of(&text, "question.txt", environment) else {
            return Some(false);
        };
        // May have arguments, e.g. `less -R`; a shell takes it apart.
        let mut shell = Command::new("sh");
        shell.args(["-c", "eval \"$SUBAGENT_PAGER\" '\"$1\"'", "sh"]).arg(draft.path());
        shell.env("SUBAGENT_PAGER", pager);
        Some(shell.status().is_ok_and(|status| status.success()))
    }
}
