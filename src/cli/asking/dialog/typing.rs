//! What becomes of a text that is typed at a question: why not, or answers to what an agent asks?

use std::time::Duration;

use super::{ConfirmationDecision, ConfirmationDialog, ConfirmationView, DialogAction, DialogStage};
use crate::{
    line_editor::strokes::KeyStroke,
    question::{questions_of, read_answer},
    safe_text,
};
use protocol::{ConfirmationOutcome, QuestionAnswer};

/// Bytes of a message or an answer that can be typed; longer ones belong into a file.
const TYPED_MAX: usize = 4_000;

impl ConfirmationDialog {
    /// Which of several questions is being answered.
    pub(in crate::asking) fn at_question(&self) -> usize {
        self.answers().len()
    }

    /// What was answered so far.
    pub(in crate::asking) fn answers(&self) -> &[QuestionAnswer] {
        match &self.stage {
            DialogStage::Answering { answers, .. } => answers,
            _ => &[],
        }
    }

    /// Comes back to the agent's questions, where they were left.
    pub(super) fn go_on_answering(&mut self, asked: &ConfirmationView) {
        self.stage = beginning(asked);
        if let DialogStage::Answering { answers, typed, .. } = &mut self.stage
            && let Some(left) = self.left.take()
        {
            (*answers, *typed) = left;
        }
    }

    /// A text is typed: why not, or an answer.
    pub(super) fn type_on(
        &mut self,
        stroke: KeyStroke,
        is_burst: bool,
        now: Duration,
    ) -> Option<DialogAction> {
        let (typed, questions) = match &mut self.stage {
            DialogStage::Denying { typed } => (typed, None),
            DialogStage::Answering { questions, answers, typed, is_engaged } => {
                *is_engaged = true;
                (typed, Some((questions, answers)))
            }
            _ => {
                self.set_aside(&[stroke], now);
                return None;
            }
        };
        let is_entered = match stroke {
            KeyStroke::EndOfInput => return Some(DialogAction::PutAway),
            // Whoever pastes lines has not sent them.
            KeyStroke::Enter => !is_burst,
            KeyStroke::NewLine => false,
            stroke => return type_stroke(typed, stroke),
        };
        if !is_entered {
            return type_stroke(typed, KeyStroke::Character(' '));
        }
        let Some((questions, answers)) = questions else {
            let message = Some(typed.trim().to_owned()).filter(|message| !message.is_empty());
            self.stage = DialogStage::Choosing;
            return Some(DialogAction::Decide(ConfirmationDecision {
                message,
                ..ConfirmationDecision::of(ConfirmationOutcome::Deny)
            }));
        };
        let question = questions.get(answers.len())?;
        match read_answer(question, typed) {
            Ok(answer) => answers.push(answer),
            Err(complaint) => return Some(DialogAction::Complain(complaint)),
        }
        typed.clear();
        if answers.len() < questions.len() {
            return Some(DialogAction::ShowNextQuestion);
        }
        let answers = std::mem::take(answers);
        Some(DialogAction::Decide(ConfirmationDecision {
            answers,
            ..ConfirmationDecision::of(ConfirmationOutcome::Answer)
        }))
    }
}

pub(super) fn beginning(asked: &ConfirmationView) -> DialogStage {
    let questions = questions_of(asked);
    match asked.offers(ConfirmationOutcome::Answer) && !questions.is_empty() {
        true => {
            DialogStage::Answering { questions, answers: Vec::new(), typed: String::new(), is_engaged: false }
        }
        false => DialogStage::Choosing,
    }
}

fn type_stroke(typed: &mut String, stroke: KeyStroke) -> Option<DialogAction> {
    let text = match stroke {
        KeyStroke::Character(character) => character.to_string(),
        KeyStroke::Pasted(text) => text.replace('\n', " "),
        KeyStroke::Tab => " ".to_owned(),
        KeyStroke::Backspace => {
            typed.pop();
            return None;
        }
        KeyStroke::CutToStart => {
            typed.clear();
            return None;
        }
        _ => return None,
    };
    if TYPED_MAX < typed.len() + text.len() {
        return Some(DialogAction::Complain(format!("{TYPED_MAX} bytes are all that can be typed here")));
    }
    // What would steer the terminal is not taken, whoever it comes from.
    typed.push_str(&safe_text::lines(&text));
    None
}
