//! The question that is at, drawn where it stands: whole and for the first time, or anew where something changed around it.

use std::time::Duration;

use super::{InlineConfirmations, QuestionContext, TypeaheadTarget};
use crate::text_color::TextColor;

impl InlineConfirmations<'_> {
    /// Draws the question as something that is looked at for the first time: keys are for it from a while later on.
    pub(super) fn draw_panel(&mut self, here: &mut QuestionContext<'_, '_, '_>) {
        let size = (self.keyboard.columns(), self.keyboard.rows());
        let (place, has_draft) = (self.place(), self.has_draft());
        let now = (self.clock)();
        if let Some(shown) = &mut self.shown {
            shown.draw(place.as_deref(), has_draft, size, now, here.screen);
        }
    }

    /// Draws the question anew where something changed around its subject.
    pub(super) fn refresh_panel(&mut self, now: Duration, here: &mut QuestionContext<'_, '_, '_>) {
        let (place, has_draft) = (self.place(), self.has_draft());
        if let Some(shown) = &mut self.shown {
            shown.refresh(place.as_deref(), has_draft, now, here.screen);
        }
    }

    /// `1 of 3`, when others wait for their turn.
    fn place(&self) -> Option<String> {
        (!self.waiting.is_empty()).then(|| format!("1 of {}", self.waiting.len() + 1))
    }

    /// Whether the question that is shown was edited, and that was not taken.
    fn has_draft(&self) -> bool {
        let shown = self.shown.as_ref().map(|shown| &shown.asked.confirmation_id);
        self.draft.as_ref().is_some_and(|(id, _)| Some(id) == shown)
    }

    pub(super) fn draw_prompt(&mut self, here: &mut QuestionContext<'_, '_, '_>) {
        let draft = self.has_draft();
        if let Some(shown) = &self.shown {
            let prompt = shown.dialog.prompt(
                &shown.asked,
                draft,
                self.aside == TypeaheadTarget::ForNextPrompt,
                shown.columns(),
            );
            let prompt = match shown.dialog.takes_keys() {
                true => prompt,
                false => here.screen.paint(TextColor::Dim, &prompt),
            };
            here.screen.prompt(Some(prompt));
        }
    }

    /// Shows all of the subject: in the person's pager where they have one, else page by page.
    pub(super) fn show_whole(&mut self, here: &mut QuestionContext<'_, '_, '_>) {
        let Some(shown) = &mut self.shown else { return };
        here.screen.prompt(None);
        self.keyboard.close();
        let paged = shown.page(self.environment);
        // Ctrl-C in the pager was meant for the pager.
        here.interrupted.take();
        let is_there = self.keyboard.open_for_question();
        match paged {
            _ if !is_there => self.put_away(here),
            Some(true) => {
                shown.has_read_all();
                self.draw_panel(here);
            }
            Some(false) | None => {
                if !shown.turn_page(here.screen) {
                    self.draw_panel(here);
                }
            }
        }
    }
}
