//! Who else reads the question? A claim tells the others that somebody does; it keeps nobody from answering. One that says that somebody
//! has answered with a change does: until hooks have said what they think of that, no other answer counts.

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
        let others = claim.filter(|claim| self.is_of_others(claim));
        if let Some(claim) = others.filter(|claim| claim.answered) {
            return self.wait_for_hooks(id, claim, here);
        }
        if self.answered.remove(id) {
            // It is as open as before, or the log says in a moment what it is now.
            self.expect_first(id.clone());
        }
        if let (Some(claim), true) = (others, self.is_shown(id)) {
            let who = safe_text::line(&claim.who(Some(&self.me)), table::NAME_CHARACTERS);
            let note = format!("{who} reads this question, too; the first answer counts");
            match &mut self.shown {
                Some(shown) if here.screen.is_live() => shown.note_other(note),
                _ => here.screen.line_now(&here.screen.paint(TextColor::Dim, &format!("  {note}"))),
            }
        }
    }

    pub(super) fn is_of_others(&self, claim: &ConfirmationClaimView) -> bool {
        claim.client_id.as_deref() != Some(self.me.as_str())
    }

    /// Somebody else has answered with a change: until it is known what becomes of that, nothing is asked here.
    fn wait_for_hooks(
        &mut self,
        id: &ConfirmationId,
        claim: &ConfirmationClaimView,
        here: &mut QuestionContext<'_, '_, '_>,
    ) {
        let title = self.shown.as_ref().filter(|_| self.is_shown(id)).map(|shown| shown.asked.title.clone());
        if let Some(title) = title {
            self.tell_answered(claim, &title, here);
            self.answered.insert(id.clone());
        } else if self.waiting.contains(id) {
            self.answered.insert(id.clone());
        }
        self.forget(id, here);
    }

    pub(super) fn tell_answered(
        &self,
        claim: &ConfirmationClaimView,
        title: &str,
        here: &mut QuestionContext<'_, '_, '_>,
    ) {
        let who = safe_text::line(&claim.who(Some(&self.me)), table::NAME_CHARACTERS);
        let title = safe_text::line(title, table::TEXT_CHARACTERS);
        let text = format!(
            "  answered with a change by {who}; hooks are asked about it, and no other answer counts meanwhile: {title}"
        );
        here.screen.line(&here.screen.paint(TextColor::Dim, &text));
    }

    /// Tells others that somebody reads it. A courtesy: without it one can answer all the same.
    pub(super) fn claim(&mut self, here: &mut QuestionContext<'_, '_, '_>) {
        let Some(shown) = &mut self.shown else { return };
        let for_ms = u64::try_from(CLAIM.as_millis()).ok();
        let params = ConfirmationClaimParams {
            confirmation_id: shown.asked.confirmation_id.clone(),
            duration_ms: for_ms,
        };
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
