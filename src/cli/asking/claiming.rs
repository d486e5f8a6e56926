//! Who else reads the question? A claim tells the others that somebody does; it keeps nobody from answering.

use std::time::Duration;

use super::{InlineConfirmations, QuestionContext};
use crate::{question::ConfirmationClaimView, safe_text, table, text_color::TextColor};
use client::MonotonicStopwatch;
use protocol::{
    ConfirmationClaim, ConfirmationClaimParams, ConfirmationId, ConfirmationRelease,
    ConfirmationReleaseParams,
};

/// How long a claim is asked for: the longest the daemon gives, since a person may read for long, or edit.
const CLAIM: Duration = Duration::from_secs(600);

/// After this it is asked for anew.
const CLAIM_RENEWED: Duration = Duration::from_secs(300);

impl InlineConfirmations<'_> {
    pub(super) fn note_claim(
        &mut self,
        id: &ConfirmationId,
        claim: Option<&ConfirmationClaimView>,
        here: &mut QuestionContext<'_, '_, '_>,
    ) {
        let others = claim.filter(|claim| claim.client_id.as_deref() != Some(self.me.as_str()));
        if let (Some(claim), true) = (others, self.is_shown(id)) {
            let who = safe_text::line(&claim.who(Some(&self.me)), table::NAME_CHARACTERS);
            let note = format!("{who} reads this question, too; the first answer counts");
            match &mut self.shown {
                Some(shown) if here.screen.is_live() => shown.note_other(note),
                _ => here.screen.line_now(&here.screen.paint(TextColor::Dim, &format!("  {note}"))),
            }
        }
    }

    /// Tells others that somebody reads it. A courtesy: without it one can answer all the same.
    pub(super) fn claim(&mut self, here: &mut QuestionContext<'_, '_, '_>) {
        let Some(shown) = &mut self.shown else { return };
        let for_ms = u64::try_from(CLAIM.as_millis()).ok();
        let params = ConfirmationClaimParams { confirmation_id: shown.asked.confirmation_id.clone(), for_ms };
        let _ = here.link.ask_value::<ConfirmationClaim>(&params);
        shown.claimed = MonotonicStopwatch::start();
    }

    pub(super) fn renew_claim(&mut self, here: &mut QuestionContext<'_, '_, '_>) {
        if self.shown.as_ref().is_some_and(|shown| CLAIM_RENEWED <= shown.claimed.elapsed()) {
            self.claim(here);
        }
    }

    pub(super) fn release(&mut self, id: &ConfirmationId, here: &mut QuestionContext<'_, '_, '_>) {
        // It ends with time and with the connection as well.
        let params = ConfirmationReleaseParams { confirmation_id: id.clone() };
        let _ = here.link.ask_value::<ConfirmationRelease>(&params);
    }
}
