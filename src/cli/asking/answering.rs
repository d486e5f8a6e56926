//! What becomes of an answer: sent with the digest of what was shown, and told plainly when it does not count.

use serde::Deserialize as _;
use serde_json::Value;

use super::{ConfirmationDecision, InlineConfirmations, QuestionContext};
use crate::{
    editor,
    failure::CommandFailure,
    link::DaemonCallError,
    question::{ConfirmationView, ResolutionView, answers, questions_of},
    safe_text,
    screen::ProgressScreen,
    table,
    text_color::TextColor,
};
use protocol::{ConfirmationRespond, ConfirmationRespondParams, ErrorKind, QuestionAnswer};

/// Stands in place of the keys while hooks are asked about what was edited, which may take long.
const EDIT_SENT: &str = "sent; hooks are asked about it first …";

/// Characters of a line about what went wrong.
const LINE_CHARACTERS: usize = 2_000;

impl InlineConfirmations<'_> {
    /// Sends what the person decided about the question on the screen. It ends when the log says so; until then and after
    /// any error it is as open as before.
    pub(super) fn decide(&mut self, decision: ConfirmationDecision, here: &mut QuestionContext<'_, '_, '_>) {
        let Some(shown) = &self.shown else { return };
        let id = shown.asked.confirmation_id.clone();
        let ConfirmationDecision { outcome, grant, message, answers, content } = decision;
        let is_edited = content.is_some();
        let told = told_answers(&shown.asked, &answers);
        let params =
            ConfirmationRespondParams { grant, message, content, answers, ..shown.asked.answered(outcome) };
        if is_edited {
            here.screen.prompt(Some(here.screen.paint(TextColor::Dim, EDIT_SENT)));
        }
        let gives_up = &mut || here.interrupted.has_come();
        let answer = here.link.ask_patiently::<ConfirmationRespond>(&params, gives_up);
        match answer {
            // The event says what came of it.
            Ok(_) => {
                self.forget(&id, here);
                told.iter().for_each(|line| here.screen.line(&here.screen.paint(TextColor::Dim, line)));
            }
            Err(error) => {
                // What went wrong is told above it.
                here.screen.prompt(None);
                self.settle(&error, here);
                if is_edited && self.shown.is_some() {
                    warn("what you edited was not taken; `e` goes on with it", here.screen);
                }
                // Whatever stands there now is looked at anew before a key counts.
                if self.shown.is_some() {
                    self.draw_panel(here);
                }
            }
        }
    }

    /// After an answer that did not count: takes the question away, shows it as it is now, or leaves it.
    fn settle(&mut self, error: &DaemonCallError, here: &mut QuestionContext<'_, '_, '_>) {
        let Some(id) = self.shown.as_ref().map(|shown| shown.asked.confirmation_id.clone()) else { return };
        let kind = error.refusal().and_then(|refusal| ErrorKind::ALL.iter().find(|kind| refusal.is(**kind)));
        match kind {
            Some(ErrorKind::ConfirmationAlreadyResolved) => {
                let how = error.refusal().map(|refusal| resolution(refusal.details.as_ref(), &self.me));
                warn(&format!("your answer came too late{}", how.unwrap_or_default()), here.screen);
                self.forget(&id, here);
            }
            Some(ErrorKind::ConfirmationStale) => {
                let is_taken =
                    error.refusal().and_then(|refusal| refusal.details.as_ref()?.get("edited")?.as_bool());
                if is_taken == Some(true) {
                    // What it is now goes on from that.
                    self.draft.take_if(|(of, _)| *of == id);
                    let why = error.refusal().and_then(|refusal| refusal.details.as_ref()?.get("reason"));
                    let what = match why.and_then(|why| why.as_str()) {
                        Some("askedByHook") => "a hook wants you to look at it once more",
                        _ => "a hook changed it, so it is asked again",
                    };
                    warn(&format!("your edit was taken; {what}"), here.screen);
                } else {
                    warn("the question changed while you read it; your answer was not taken", here.screen);
                }
                self.ask_again(here);
            }
            Some(ErrorKind::OutcomeNotOffered) => {
                warn("this answer is not offered any more; look at the question as it is now", here.screen);
                self.ask_again(here);
            }
            Some(
                ErrorKind::NotFound | ErrorKind::Gone | ErrorKind::RunNotActive | ErrorKind::SessionClosed,
            ) => {
                complain_of(error, here.screen);
                self.forget(&id, here);
            }
            // Whatever else it is, nothing was decided: the question stays.
            _ => complain_of(error, here.screen),
        }
    }

    /// Shows the question anew, as the daemon has it.
    fn ask_again(&mut self, here: &mut QuestionContext<'_, '_, '_>) {
        let Some(id) = self.shown.as_ref().map(|shown| shown.asked.confirmation_id.clone()) else { return };
        self.withdraw(&id, here);
        self.expect_first(id);
    }

    /// Lets the person change what the file would be, or the command, and sends that.
    pub(super) fn edit(&mut self, here: &mut QuestionContext<'_, '_, '_>) {
        let Some(shown) = &self.shown else { return };
        let details = shown.asked.details();
        let Some((proposed, path)) = details.draft() else { return };
        let id = shown.asked.confirmation_id.clone();
        let before = self
            .draft
            .take()
            .filter(|(of, _)| *of == id)
            .map_or_else(|| proposed.to_owned(), |(_, text)| text);
        here.screen.prompt(None);
        self.keyboard.close();
        let edited = editor::edit(&before, path, self.environment).map(|text| details.edited(text));
        // Ctrl-C in the editor was meant for the editor.
        here.interrupted.take();
        if !self.keyboard.open_for_question() {
            warn("this command is in the background now; nothing was sent", here.screen);
            return self.put_away(here);
        }
        match edited {
            Ok(content) if content == proposed => {
                warn("nothing was changed; nothing was sent", here.screen);
                self.draw_panel(here);
            }
            Ok(content) => {
                self.draft = Some((id, content.clone()));
                self.draw_panel(here);
                let now = (self.clock)();
                if let Some(shown) = &mut self.shown {
                    shown.dialog.confirm_edited(content, now);
                }
            }
            Err(failure) => {
                tell(&failure, here.screen);
                self.draw_panel(here);
            }
        }
    }
}

/// `: denied by eve (pts/3): no, 2025-11-20 11:04:01Z`, as far as the daemon tells.
fn resolution(details: Option<&Value>, me: &str) -> String {
    let decided = details.and_then(|details| details.get("resolution"));
    let decided: Option<ResolutionView> =
        decided.and_then(|decided| ResolutionView::deserialize(decided).ok());
    let told = |decided: ResolutionView| {
        let when = decided.when_elsewhere(Some(me)).map(|when| format!(", {when}")).unwrap_or_default();
        format!(": {}{when}", decided.describe(Some(me)))
    };
    decided.map(told).unwrap_or_default()
}

/// What was answered, one line a question: nobody else keeps it.
fn told_answers(asked: &ConfirmationView, answers: &[QuestionAnswer]) -> Vec<String> {
    let told = questions_of(asked).into_iter().zip(answers).map(|(question, answer)| {
        let answer = answers::in_words(answer);
        let question = safe_text::line(&question.question, table::NAME_CHARACTERS);
        format!("  {question} → {}", safe_text::line(&answer, LINE_CHARACTERS))
    });
    told.collect()
}

fn warn(text: &str, screen: &mut ProgressScreen<'_>) {
    let text = safe_text::line(text, LINE_CHARACTERS);
    screen.sentence_now(&format!("! {text}"));
}

/// Says what went wrong.
pub(super) fn complain(error: DaemonCallError, screen: &mut ProgressScreen<'_>) {
    tell(&CommandFailure::from(error), screen);
}

fn complain_of(error: &DaemonCallError, screen: &mut ProgressScreen<'_>) {
    let text = match error.refusal() {
        Some(refusal) => CommandFailure::from_refusal(refusal),
        None => {
            CommandFailure::unavailable("the daemon does not answer, so it is unknown whether that was taken")
                .or_hint("answer again: of the same answers the daemon takes one")
        }
    };
    tell(&text, screen);
}

fn tell(failure: &CommandFailure, screen: &mut ProgressScreen<'_>) {
    let CommandFailure::Told { what, hint, .. } = failure else { return };
    for text in what.lines().chain(hint.as_deref()) {
        warn(text, screen);
    }
}
