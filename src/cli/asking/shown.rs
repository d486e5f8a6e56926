//! The question on the screen: where it stands there, and whether it is still in sight.

use std::{process::Command, time::Duration};

use super::{dialog::Dialog, line};
use crate::{
    cli::{
        Environment, editor,
        question::{
            Asked,
            card::{self, Look, Panel},
        },
        safe_text,
        screen::{Ink, Screen},
        width,
    },
    client::Stopwatch,
};

/// Columns and rows of a terminal, as far as they are known.
pub(super) type Size = (Option<usize>, Option<usize>);

pub(super) struct Shown {
    pub(super) asked: Asked,
    pub(super) dialog: Dialog,
    /// When the others were told last that somebody reads it.
    pub(super) claimed: Stopwatch,
    size: Size,
    /// Rows from its heading down to the line in which it is answered.
    rows: usize,
}

impl Shown {
    pub(super) fn of(asked: Asked, now: Duration) -> Shown {
        let dialog = Dialog::of(&asked, now);
        Shown { asked, dialog, claimed: Stopwatch::start(), size: (None, None), rows: 0 }
    }

    pub(super) fn columns(&self) -> Option<usize> {
        self.size.0
    }

    /// Whether it has to be drawn anew, since it is not where it was, or was pushed out.
    pub(super) fn is_out_of_sight(&self, size: Size, was_stopped: bool) -> bool {
        was_stopped || self.size != size || size.1.is_some_and(|rows| rows < self.rows + 1)
    }

    /// So many rows were put between it and the line in which it is answered.
    pub(super) fn count_rows(&mut self, rows: usize) {
        self.rows = self.rows.saturating_add(rows);
    }

    pub(super) fn draw_panel(
        &mut self,
        place: Option<&str>,
        has_draft: bool,
        size: Size,
        now: Duration,
        screen: &mut Screen<'_>,
    ) {
        self.size = size;
        let choices = line::choice_words(&self.asked, has_draft);
        let is_choosing = self.dialog.is_choosing();
        let panel = Panel {
            asked: &self.asked,
            place,
            at_question: (!is_choosing).then(|| self.dialog.at_question()),
            choices: (is_choosing && !line::choices_fit(&self.asked, size.0)).then_some(&choices),
        };
        let rows = card::draw_panel(&panel, self.look(screen, false));
        rows.iter().for_each(|row| screen.line_now(row));
        self.rows = rows.len();
        self.dialog.shown_again(now);
    }

    fn look(&self, screen: &Screen<'_>, is_whole: bool) -> Look {
        Look { columns: self.size.0, rows: self.size.1, has_color: screen.has_color(), is_whole }
    }

    /// What a second key would confirm.
    pub(super) fn tell_choice(&mut self, key: char, text: &str, screen: &mut Screen<'_>) {
        let columns = self.size.0.unwrap_or(usize::MAX);
        let text = safe_text::line(text, usize::MAX);
        let rows = width::wrap(&format!("{key}  {text}"), columns.saturating_sub(2).max(1));
        self.count_rows(rows.len());
        rows.iter().for_each(|row| screen.line_now(&screen.paint(Ink::Cyan, &format!("  {row}"))));
    }

    /// Why it is asked, and what each choice allows.
    pub(super) fn tell_why(&self, screen: &mut Screen<'_>) {
        card::draw_why(&self.asked, self.look(screen, true)).iter().for_each(|row| screen.line_now(row));
    }

    /// All of the subject, however long it is.
    pub(super) fn tell_whole(&self, screen: &mut Screen<'_>) {
        card::draw(&self.asked, None, self.look(screen, true)).iter().for_each(|row| screen.line_now(row));
    }

    /// The same in the person's own pager; false where they have none, or it fails.
    pub(super) fn page(&self, environment: &Environment) -> bool {
        let pager = environment("PAGER").filter(|pager| !pager.is_empty());
        let look = Look { columns: self.size.0, rows: None, has_color: false, is_whole: true };
        let text = card::draw(&self.asked, None, look).join("\n") + "\n";
        let Some((pager, draft)) = pager.zip(editor::Draft::of(&text, "question.txt", environment).ok())
        else {
            return false;
        };
        // May have arguments, e.g. `less -R`; a shell takes it apart.
        let mut shell = Command::new("sh");
        shell.args(["-c", "eval \"$SUBAGENT_PAGER\" '\"$1\"'", "sh"]).arg(draft.path());
        shell.env("SUBAGENT_PAGER", pager).status().is_ok_and(|status| status.success())
    }
}
