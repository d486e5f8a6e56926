//! How is a person asked in place, while what they follow goes on?
//!
//! Questions come one after the other: each is drawn so that it fits the terminal, and below it stands one line in which it is
//! answered. What happens meanwhile is shown when it is over, so that nothing pushes it out of sight. Nothing but a key that
//! was pressed for the question on the screen decides: not what was typed before or for something else, not the end of the
//! input, not an error. Hides the keyboard, the editor, the pager and the claims.

mod answering;
mod claiming;
mod dialog;
mod drawing;
mod line;
mod shown;

use std::{
    collections::{BTreeSet, VecDeque},
    time::Duration,
};

use serde::Deserialize;

#[cfg(test)]
pub(super) use self::line::choice_rows;
use self::{
    dialog::{ConfirmationDecision, DialogAction},
    shown::DisplayedConfirmation,
};
use super::{
    EnvironmentLookup, MonotonicClock,
    interrupts::InterruptWatch,
    keyboard::KeyboardInput,
    line_editor::strokes::KeyStrokeDecoder,
    link::DaemonLink,
    question::{ConfirmationClaimView, ConfirmationView},
    safe_text,
    screen::ProgressScreen,
    table,
    text_color::TextColor,
};
use protocol::{ConfirmationGet, ConfirmationGetParams, ConfirmationId, Envelope, OpenEnum, RevisionReason};

/// Between two looks at the keyboard while something is asked: as quick as typing is seen.
pub(super) const KEY_PAUSE: Duration = Duration::from_millis(30);

/// Questions that wait for their turn here; `subagent approvals` has those beyond.
const WAITING_MAX: usize = 10_000;

/// The rest of a key that sends several bytes is there by then; an Escape that stands alone is one.
const KEY_REST: Duration = Duration::from_millis(50);

/// What is needed to ask: taken from the command for as long as it watches.
pub(super) struct QuestionContext<'a, 'output, 'source> {
    pub(super) link: &'a mut DaemonLink,
    pub(super) screen: &'a mut ProgressScreen<'output>,
    /// Ctrl-C; what it means is for whoever watches.
    pub(super) interrupted: &'a mut InterruptWatch<'source>,
}

/// Where that goes which is typed while something is asked, and is no answer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TypeaheadTarget {
    Nowhere,
    /// It stands at the next prompt of a conversation, unsent.
    ForNextPrompt,
}

/// The questions that are put to whoever sits here.
pub(super) struct InlineConfirmations<'person> {
    keyboard: &'person mut dyn KeyboardInput,
    environment: &'person EnvironmentLookup,
    clock: &'person MonotonicClock,
    aside: TypeaheadTarget,
    /// As whom the daemon knows us.
    me: String,
    strokes: KeyStrokeDecoder,
    /// Since when the rest of a key is awaited.
    key_began: Option<Duration>,
    /// Those that are offered here and not shown yet, oldest first.
    waiting: VecDeque<ConfirmationId>,
    /// Those that the person put away; a revised one comes back.
    put_away: BTreeSet<ConfirmationId>,
    /// Questions that somebody else has answered with a change that hooks are asked about.
    answered: BTreeSet<ConfirmationId>,
    shown: Option<DisplayedConfirmation>,
    /// What was edited and not taken: of the question that was shown last.
    draft: Option<(ConfirmationId, String)>,
    /// Nothing of the past is asked: what was answered long ago would flash by.
    is_caught_up: bool,
    /// It was said that nobody can type here now.
    has_told_background: bool,
}

/// What is read of the events about questions.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ConfirmationEventView {
    confirmation: ConfirmationReference,
    confirmation_id: Option<ConfirmationId>,
    reason: OpenEnum<RevisionReason>,
    offered: bool,
    claim: Option<ConfirmationClaimView>,
    open_confirmations: Vec<ConfirmationReference>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ConfirmationReference {
    confirmation_id: Option<ConfirmationId>,
    offered: bool,
}

impl<'person> InlineConfirmations<'person> {
    pub(super) fn new(
        me: String,
        keyboard: &'person mut dyn KeyboardInput,
        environment: &'person EnvironmentLookup,
        clock: &'person MonotonicClock,
    ) -> InlineConfirmations<'person> {
        InlineConfirmations {
            keyboard,
            environment,
            clock,
            aside: TypeaheadTarget::Nowhere,
            me,
            strokes: KeyStrokeDecoder::default(),
            key_began: None,
            waiting: VecDeque::new(),
            put_away: BTreeSet::new(),
            answered: BTreeSet::new(),
            shown: None,
            draft: None,
            is_caught_up: false,
            has_told_background: false,
        }
    }

    /// Says where that goes which is typed and is no answer.
    pub(super) fn keep_aside(&mut self, aside: TypeaheadTarget) {
        self.aside = aside;
    }

    /// How wide the terminal is now.
    pub(super) fn columns(&self) -> Option<usize> {
        self.keyboard.columns()
    }

    /// Whether a question is on the screen.
    pub(super) fn is_asking(&self) -> bool {
        self.shown.is_some()
    }

    /// Takes note of what an event says about questions; it has been shown already.
    pub(super) fn learn(&mut self, envelope: &Envelope, here: &mut QuestionContext<'_, '_, '_>) {
        let is_about_questions = envelope.kind.starts_with("confirmation.")
            || matches!(envelope.kind.as_str(), "signal.snapshot" | "signal.claim" | "signal.confirmation");
        if envelope.kind == "signal.caughtUp" {
            self.is_caught_up = true;
        }
        if !is_about_questions {
            return;
        }
        let told = ConfirmationEventView::deserialize(&envelope.data).unwrap_or_default();
        let id = told.confirmation.confirmation_id.or(told.confirmation_id);
        match (envelope.kind.as_str(), id) {
            ("signal.snapshot", _) => {
                self.is_caught_up = true;
                let offered = told.open_confirmations.into_iter().filter(|named| named.offered);
                offered.filter_map(|named| named.confirmation_id).for_each(|id| self.expect(id));
            }
            ("confirmation.requested", Some(id)) if envelope.offered == Some(true) => self.expect(id),
            ("confirmation.revised", Some(id)) => {
                if told.reason.known() != Some(RevisionReason::Deadline) {
                    self.answered.remove(&id);
                    self.put_away.remove(&id);
                    self.withdraw(&id, here);
                }
                match envelope.offered {
                    Some(true) => self.expect_first(id),
                    _ => self.forget(&id, here),
                }
            }
            ("confirmation.resolved", Some(id)) => {
                self.put_away.remove(&id);
                self.answered.remove(&id);
                self.draft.take_if(|(of, _)| *of == id);
                self.forget(&id, here);
            }
            ("signal.confirmation", Some(id)) => match told.offered {
                true => self.expect(id),
                false => self.forget(&id, here),
            },
            ("signal.claim", Some(id)) => self.note_claim(&id, told.claim.as_ref(), here),
            _ => {}
        }
    }

    /// Nothing came for a moment, so whatever was to be caught up with is there.
    pub(super) fn is_quiet(&mut self) {
        self.is_caught_up = true;
    }

    /// The daemon is gone: what stands there cannot be answered, so it is taken away and asked again when the daemon is back.
    /// Whether there was a question.
    pub(super) fn lose_daemon(&mut self, here: &mut QuestionContext<'_, '_, '_>) -> bool {
        self.is_caught_up = false;
        // Who has answered says so again, or is asked again.
        self.answered.clear();
        let Some(id) = self.shown.as_ref().map(|shown| shown.asked.confirmation_id.clone()) else {
            return false;
        };
        self.withdraw(&id, here);
        self.expect_first(id);
        true
    }

    fn expect(&mut self, id: ConfirmationId) {
        if !self.knows(&id) && self.waiting.len() < WAITING_MAX {
            self.waiting.push_back(id);
        }
    }

    fn expect_first(&mut self, id: ConfirmationId) {
        if !self.knows(&id) {
            self.waiting.push_front(id);
        }
    }

    fn knows(&self, id: &ConfirmationId) -> bool {
        self.waiting.contains(id)
            || self.put_away.contains(id)
            || self.answered.contains(id)
            || self.is_shown(id)
    }

    fn is_shown(&self, id: &ConfirmationId) -> bool {
        self.shown.as_ref().is_some_and(|shown| shown.asked.confirmation_id == *id)
    }

    /// It is not to be answered here any more.
    fn forget(&mut self, id: &ConfirmationId, here: &mut QuestionContext<'_, '_, '_>) {
        self.waiting.retain(|waiting| waiting != id);
        self.withdraw(id, here);
    }

    /// Takes the question from the screen, if it stands there.
    fn withdraw(&mut self, id: &ConfirmationId, here: &mut QuestionContext<'_, '_, '_>) {
        if self.is_shown(id) {
            self.keep_what_was_typed();
            let has_taken_keys = self.shown.as_ref().is_some_and(|shown| shown.dialog.has_taken_keys());
            self.shown = None;
            if has_taken_keys {
                // What was pressed for the question is for nothing else.
                self.keyboard.read();
            }
            self.keyboard.close();
            here.screen.prompt(None);
        }
    }

    /// Between events: shows the next question, or hears what was pressed for the one that is shown.
    pub(super) fn tick(&mut self, here: &mut QuestionContext<'_, '_, '_>) {
        if self.shown.is_none() {
            return self.show_next(here);
        }
        self.renew_claim(here);
        let before = (self.clock)();
        let bytes = self.keyboard.read();
        // See `answer_guard`.
        let now = if bytes.is_empty() { before } else { (self.clock)() };
        let was_stopped = self.keyboard.was_stopped();
        let size = (self.keyboard.columns(), self.keyboard.rows());
        if was_stopped {
            here.screen.leave_panel();
        }
        if was_stopped || self.shown.as_ref().is_some_and(|shown| shown.is_resized(size)) {
            self.draw_panel(here);
        }
        self.hear(&bytes, now, here);
        self.refresh_panel(now, here);
        self.draw_prompt(here);
    }

    /// Makes deeds of what came from the keyboard by now, if anything did.
    fn hear(&mut self, bytes: &[u8], now: Duration, here: &mut QuestionContext<'_, '_, '_>) {
        let strokes = if bytes.is_empty() { Vec::new() } else { self.strokes.look(bytes) };
        let waits_since = self.key_began.filter(|_| self.strokes.is_waiting() && bytes.is_empty());
        self.key_began = self.strokes.is_waiting().then(|| waits_since.unwrap_or(now));
        let has_no_rest = waits_since.is_some_and(|since| KEY_REST <= now.saturating_sub(since));
        let is_escape = has_no_rest && self.strokes.take_escape();
        if has_no_rest {
            // A key whose end does not come is none.
            self.strokes.decode(&[]);
        }
        let Some(shown) = &mut self.shown else { return };
        shown.dialog.looks(now, bytes.is_empty());
        if is_escape || !strokes.is_empty() {
            shown.complain(None);
        }
        if is_escape {
            shown.dialog.escape(now);
        } else if strokes.is_empty() && !bytes.is_empty() {
            shown.dialog.disturb(now);
        }
        let deeds = shown.dialog.press(strokes, &shown.asked, now);
        let is_heard = !deeds.is_empty();
        for deed in deeds {
            self.act(deed, here);
        }
        if !is_heard && let Some(shown) = &mut self.shown {
            let deed = shown.dialog.tick(now);
            deed.into_iter().for_each(|deed| self.act(deed, here));
        }
    }

    fn show_next(&mut self, here: &mut QuestionContext<'_, '_, '_>) {
        while self.is_caught_up && self.shown.is_none() {
            let Some(id) = self.waiting.front().cloned() else { return };
            if !self.keyboard.open_for_question() {
                if !std::mem::replace(&mut self.has_told_background, true) {
                    let text = "! there is a question; bring this command to the foreground to answer it, or \
                                use `subagent approvals`";
                    here.screen.line(&here.screen.paint(TextColor::Yellow, text));
                }
                return;
            }
            let params = ConfirmationGetParams { confirmation_id: Some(id.clone()), token: None };
            match here.link.ask_value::<ConfirmationGet>(&params) {
                Ok(answer) => {
                    self.waiting.pop_front();
                    let asked = answer.get("confirmation").map(ConfirmationView::deserialize);
                    match asked {
                        Some(Ok(asked)) if asked.is_resolved() => {}
                        Some(Ok(asked)) => {
                            let claim = asked.claim.clone().filter(|claim| self.is_of_others(claim));
                            match claim.filter(|claim| claim.answered) {
                                Some(claim) => {
                                    self.tell_answered(&claim, &asked.title, here);
                                    self.answered.insert(id);
                                }
                                None => self.show(asked, here),
                            }
                        }
                        Some(Err(_)) | None => here.screen.line(&format!(
                            "! question {} cannot be read; `subagent rpc confirmation/get` shows it",
                            super::ids::shortest(id.as_str())
                        )),
                    }
                }
                // The daemon is away; it is asked again when it is back.
                Err(error) if error.is_passing() => break,
                Err(error) => {
                    self.waiting.pop_front();
                    answering::complain(error, here.screen);
                }
            }
        }
        if self.shown.is_none() {
            self.keyboard.close();
        }
    }

    fn show(&mut self, asked: ConfirmationView, here: &mut QuestionContext<'_, '_, '_>) {
        self.has_told_background = false;
        let now = (self.clock)();
        self.strokes = KeyStrokeDecoder::default();
        self.shown = Some(DisplayedConfirmation::of(asked, now));
        // What was typed before it was asked is no answer to it.
        let before = self.keyboard.typed_before();
        self.hear(&before, now, here);
        self.claim(here);
        self.draw_panel(here);
        if let Some(shown) = &mut self.shown {
            shown.dialog.begins();
        }
        self.draw_prompt(here);
    }

    fn act(&mut self, deed: DialogAction, here: &mut QuestionContext<'_, '_, '_>) {
        let Some(shown) = &mut self.shown else { return };
        match deed {
            DialogAction::TellChoice { key, text } => shown.tell_choice(key, &text, here.screen),
            DialogAction::TellWhy => {
                if !shown.turn_to_why(here.screen) {
                    self.draw_panel(here);
                }
            }
            DialogAction::ShowWhole => self.show_whole(here),
            DialogAction::ShowNextQuestion => self.draw_panel(here),
            DialogAction::Complain(text) if here.screen.is_live() => shown.complain(Some(text)),
            DialogAction::Complain(text) => {
                here.screen.line_now(&format!("! {}", safe_text::line(&text, usize::MAX)));
            }
            DialogAction::PutAway => self.put_away(here),
            DialogAction::Edit => self.edit(here),
            DialogAction::Decide(decision) => self.decide(decision, here),
        }
    }

    /// What was typed and was no answer is not lost.
    fn keep_what_was_typed(&mut self) {
        if let Some(shown) = &mut self.shown {
            self.keyboard.set_aside(&shown.dialog.take_aside());
        }
    }

    /// The person decides nothing here: it stays open, and others may answer it.
    fn put_away(&mut self, here: &mut QuestionContext<'_, '_, '_>) {
        let Some(shown) = &self.shown else { return };
        let id = shown.asked.confirmation_id.clone();
        let title = safe_text::line(&shown.asked.title, table::TEXT_CHARACTERS);
        self.release(&id, here);
        self.withdraw(&id, here);
        let short = super::ids::shortest(id.as_str());
        let text = format!(
            "  left open; `subagent approve {short}` or `deny` answers it, from any terminal: {title}"
        );
        here.screen.line(&here.screen.paint(TextColor::Dim, &text));
        self.put_away.insert(id);
    }
}

impl Drop for InlineConfirmations<'_> {
    fn drop(&mut self) {
        self.keep_what_was_typed();
        self.keyboard.close();
    }
}
