//! How is a person asked in place, while what they follow goes on?
//!
//! Questions come one after the other: each is drawn once, and below it stands one line in which it is answered. Events go
//! on being shown above that line. Nothing but a key that was pressed for the question on the screen decides: not what was
//! typed before, not the end of the input, not an error. Hides the keyboard, the editor and the claims.

mod answering;
mod dialog;

use std::{
    collections::{BTreeSet, VecDeque},
    time::Duration,
};

use serde::Deserialize;

use self::dialog::{Dialog, Pressed};
use super::{
    Environment,
    keyboard::{Key, Keyboard, Keys},
    link::Link,
    question::{
        Asked, AskedClaim, Details,
        card::{self, Look},
        read_answer,
    },
    safe_text,
    screen::{Ink, Screen},
    table,
    watch::Interrupted,
};
use crate::{
    client::Stopwatch,
    protocol::{
        ConfirmationClaim, ConfirmationClaimParams, ConfirmationGet, ConfirmationGetParams, ConfirmationId,
        ConfirmationRelease, ConfirmationReleaseParams, Envelope, Open, Outcome, RevisedBecause,
    },
};

/// Between two looks at the keyboard while something is asked: as quick as typing is seen.
pub(super) const KEY_PAUSE: Duration = Duration::from_millis(30);

/// Questions that wait for their turn here; `subagent approvals` has those beyond.
const WAITING_MAX: usize = 10_000;

/// How long a claim is asked for: the longest the daemon gives, since a person may read for long, or edit.
const CLAIM: Duration = Duration::from_secs(600);

/// After this it is asked for anew.
const CLAIM_RENEWED: Duration = Duration::from_secs(300);

/// What is needed to ask: taken from the command for as long as it watches.
pub(super) struct Here<'a, 'output, 'source> {
    pub(super) link: &'a mut Link,
    pub(super) screen: &'a mut Screen<'output>,
    /// Ctrl-C; what it means is for whoever watches.
    pub(super) interrupted: &'a mut Interrupted<'source>,
}

/// The questions that are put to whoever sits here.
pub(super) struct Asking<'person> {
    keyboard: &'person mut dyn Keyboard,
    environment: &'person Environment,
    /// As whom the daemon knows us.
    me: String,
    keys: Keys,
    /// Those that are offered here and not shown yet, oldest first.
    waiting: VecDeque<ConfirmationId>,
    /// Those that the person put away; a revised one comes back.
    put_away: BTreeSet<ConfirmationId>,
    shown: Option<Shown>,
    /// What was edited and not taken: of the question that was shown last.
    draft: Option<(ConfirmationId, String)>,
    /// Nothing of the past is asked: what was answered long ago would flash by.
    is_caught_up: bool,
    /// It was said that nobody can type here now.
    has_told_background: bool,
}

/// The question on the screen.
struct Shown {
    asked: Asked,
    dialog: Dialog,
    columns: Option<usize>,
    claimed: Stopwatch,
}

/// What is read of the events about questions.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Told {
    confirmation: Named,
    confirmation_id: Option<ConfirmationId>,
    why: Open<RevisedBecause>,
    offered: bool,
    claim: Option<AskedClaim>,
    open_confirmations: Vec<Named>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Named {
    confirmation_id: Option<ConfirmationId>,
    offered: bool,
}

impl<'person> Asking<'person> {
    pub(super) fn new(
        me: String,
        keyboard: &'person mut dyn Keyboard,
        environment: &'person Environment,
    ) -> Asking<'person> {
        Asking {
            keyboard,
            environment,
            me,
            keys: Keys::default(),
            waiting: VecDeque::new(),
            put_away: BTreeSet::new(),
            shown: None,
            draft: None,
            is_caught_up: false,
            has_told_background: false,
        }
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
    pub(super) fn learn(&mut self, envelope: &Envelope, here: &mut Here<'_, '_, '_>) {
        let is_about_questions = envelope.kind.starts_with("confirmation.")
            || matches!(envelope.kind.as_str(), "signal.snapshot" | "signal.claim" | "signal.confirmation");
        if envelope.kind == "signal.caughtUp" {
            self.is_caught_up = true;
        }
        if !is_about_questions {
            return;
        }
        let told = Told::deserialize(&envelope.data).unwrap_or_default();
        let id = told.confirmation.confirmation_id.or(told.confirmation_id);
        match (envelope.kind.as_str(), id) {
            ("signal.snapshot", _) => {
                self.is_caught_up = true;
                let offered = told.open_confirmations.into_iter().filter(|named| named.offered);
                offered.filter_map(|named| named.confirmation_id).for_each(|id| self.expect(id));
            }
            ("confirmation.requested", Some(id)) if envelope.offered == Some(true) => self.expect(id),
            ("confirmation.revised", Some(id)) => {
                if told.why.known() != Some(RevisedBecause::Deadline) {
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
        self.waiting.contains(id) || self.put_away.contains(id) || self.is_shown(id)
    }

    fn is_shown(&self, id: &ConfirmationId) -> bool {
        self.shown.as_ref().is_some_and(|shown| shown.asked.confirmation_id == *id)
    }

    /// It is not to be answered here any more.
    fn forget(&mut self, id: &ConfirmationId, here: &mut Here<'_, '_, '_>) {
        self.waiting.retain(|waiting| waiting != id);
        self.withdraw(id, here);
    }

    /// Takes the question from the screen, if it stands there.
    fn withdraw(&mut self, id: &ConfirmationId, here: &mut Here<'_, '_, '_>) {
        if self.is_shown(id) {
            self.shown = None;
            self.keyboard.close();
            here.screen.prompt(None);
        }
    }

    fn note_claim(&mut self, id: &ConfirmationId, claim: Option<&AskedClaim>, here: &mut Here<'_, '_, '_>) {
        let others = claim.filter(|claim| claim.client_id.as_deref() != Some(self.me.as_str()));
        if let (Some(claim), true) = (others, self.is_shown(id)) {
            let who = safe_text::line(claim.who(), table::NAME_CHARACTERS);
            let note = format!("  {who} reads this question, too; the first answer counts");
            here.screen.line(&here.screen.paint(Ink::Dim, &note));
        }
    }

    /// Between events: shows the next question, or hears what was pressed for the one that is shown.
    pub(super) fn tick(&mut self, here: &mut Here<'_, '_, '_>) {
        if self.shown.is_none() {
            return self.show_next(here);
        }
        self.renew_claim(here);
        let columns = self.keyboard.columns();
        let bytes = self.keyboard.read();
        if let Some(shown) = &mut self.shown {
            shown.columns = columns;
        }
        for key in self.keys.decode(&bytes) {
            self.press(key, here);
            if self.shown.is_none() {
                // What was pressed beyond it was not meant for the next question.
                break;
            }
        }
        self.draw_prompt(here);
    }

    fn show_next(&mut self, here: &mut Here<'_, '_, '_>) {
        while self.is_caught_up && self.shown.is_none() {
            let Some(id) = self.waiting.front().cloned() else { return };
            if !self.keyboard.open() {
                if !std::mem::replace(&mut self.has_told_background, true) {
                    let text = "! there is a question; bring this command to the foreground to answer it, or \
                                use `subagent approvals`";
                    here.screen.line(&here.screen.paint(Ink::Yellow, text));
                }
                return;
            }
            let params = ConfirmationGetParams { confirmation_id: Some(id.clone()), token: None };
            match here.link.ask_value::<ConfirmationGet>(&params) {
                Ok(answer) => {
                    self.waiting.pop_front();
                    let asked = answer.get("confirmation").map(Asked::deserialize);
                    match asked {
                        Some(Ok(asked)) if asked.is_resolved() => {}
                        Some(Ok(asked)) => self.show(asked, here),
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

    fn show(&mut self, asked: Asked, here: &mut Here<'_, '_, '_>) {
        self.has_told_background = false;
        let dialog = Dialog::of(&asked);
        let columns = self.keyboard.columns();
        self.keys = Keys::default();
        self.shown = Some(Shown { asked, dialog, columns, claimed: Stopwatch::start() });
        self.claim(here);
        self.draw_card(false, here);
        self.draw_prompt(here);
    }

    /// Tells others that somebody reads it. A courtesy: without it one can answer all the same.
    fn claim(&mut self, here: &mut Here<'_, '_, '_>) {
        let Some(shown) = &mut self.shown else { return };
        let for_ms = u64::try_from(CLAIM.as_millis()).ok();
        let params = ConfirmationClaimParams { confirmation_id: shown.asked.confirmation_id.clone(), for_ms };
        let _ = here.link.ask_value::<ConfirmationClaim>(&params);
        shown.claimed = Stopwatch::start();
    }

    fn renew_claim(&mut self, here: &mut Here<'_, '_, '_>) {
        if self.shown.as_ref().is_some_and(|shown| CLAIM_RENEWED <= shown.claimed.elapsed()) {
            self.claim(here);
        }
    }

    /// Draws the question, and how it may be answered.
    fn draw_card(&mut self, is_whole: bool, here: &mut Here<'_, '_, '_>) {
        let Some(shown) = &self.shown else { return };
        let look = Look { columns: shown.columns, has_color: here.screen.has_color(), is_whole };
        let place = (!self.waiting.is_empty()).then(|| format!("{} more after it", self.waiting.len()));
        here.screen.prompt(None);
        for row in card::draw(&shown.asked, place.as_deref(), look) {
            here.screen.line(&row);
        }
        for row in card::draw_choices(&shown.asked, &shown.asked.choices(), look) {
            here.screen.line(&row);
        }
    }

    fn draw_prompt(&mut self, here: &mut Here<'_, '_, '_>) {
        if let Some(shown) = &self.shown {
            let draft = self.draft.as_ref().is_some_and(|(id, _)| *id == shown.asked.confirmation_id);
            here.screen.prompt(Some(shown.dialog.prompt(&shown.asked, draft, shown.columns)));
        }
    }

    fn press(&mut self, key: Key, here: &mut Here<'_, '_, '_>) {
        let Some(shown) = &mut self.shown else { return };
        match shown.dialog.press(key, &shown.asked) {
            Pressed::Nothing => {}
            Pressed::ShowAgain { is_whole } => self.draw_card(is_whole, here),
            Pressed::Complain(text) => here.screen.line(&format!("! {}", safe_text::line(&text, usize::MAX))),
            Pressed::PutAway => self.put_away(here),
            Pressed::Edit => self.edit(here),
            Pressed::Decide { outcome, message } => self.decide(outcome, message, Vec::new(), None, here),
            Pressed::Answers(answers) => self.decide(Outcome::Answer, None, answers, None, here),
        }
    }

    /// The person decides nothing here: it stays open, and others may answer it.
    fn put_away(&mut self, here: &mut Here<'_, '_, '_>) {
        let Some(shown) = &self.shown else { return };
        let id = shown.asked.confirmation_id.clone();
        self.release(&id, here);
        self.withdraw(&id, here);
        let short = super::ids::shortest(id.as_str());
        let text = format!("  left open; `subagent approve {short}` or `deny` answers it, from any terminal");
        here.screen.line(&here.screen.paint(Ink::Dim, &text));
        self.put_away.insert(id);
    }

    fn release(&mut self, id: &ConfirmationId, here: &mut Here<'_, '_, '_>) {
        // It ends with time and with the connection as well.
        let params = ConfirmationReleaseParams { confirmation_id: id.clone() };
        let _ = here.link.ask_value::<ConfirmationRelease>(&params);
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.keyboard.close();
    }
}
