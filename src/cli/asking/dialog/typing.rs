//! What becomes of a text that is typed at a question: why not, or answers to what an agent asks?

use std::time::Duration;

use super::{Asked, Decision, Deed, Dialog, Stage};
use crate::{
    cli::{
        line_editor::strokes::Stroke,
        question::{questions_of, read_answer},
        safe_text,
    },
    protocol::{Outcome, QuestionAnswer},
};

/// Bytes of a message or an answer that can be typed; longer ones belong into a file.
const TYPED_MAX: usize = 4_000;

impl Dialog {
    /// Which of several questions is being answered.
    pub(in crate::cli::asking) fn at_question(&self) -> usize {
        self.answers().len()
    }

    /// What was answered so far.
    pub(in crate::cli::asking) fn answers(&self) -> &[QuestionAnswer] {
        match &self.stage {
            Stage::Answering { answers, .. } => answers,
            _ => &[],
        }
    }

    /// Comes back to the agent's questions, where they were left.
    pub(super) fn go_on_answering(&mut self, asked: &Asked) {
        self.stage = beginning(asked);
        if let Stage::Answering { answers, typed, .. } = &mut self.stage
            && let Some(left) = self.left.take()
        {
            (*answers, *typed) = left;
        }
    }

    /// A text is typed: why not, or an answer.
    pub(super) fn type_on(&mut self, stroke: Stroke, is_burst: bool, now: Duration) -> Option<Deed> {
        let (typed, questions) = match &mut self.stage {
            Stage::Denying { typed } => (typed, None),
            Stage::Answering { questions, answers, typed, is_engaged } => {
                *is_engaged = true;
                (typed, Some((questions, answers)))
            }
            _ => {
                self.set_aside(&[stroke], now);
                return None;
            }
        };
        let is_entered = match stroke {
            Stroke::EndOfInput => return Some(Deed::PutAway),
            // Whoever pastes lines has not sent them.
            Stroke::Enter => !is_burst,
            Stroke::NewLine => false,
            stroke => return type_stroke(typed, stroke),
        };
        if !is_entered {
            return type_stroke(typed, Stroke::Character(' '));
        }
        let Some((questions, answers)) = questions else {
            let message = Some(typed.trim().to_owned()).filter(|message| !message.is_empty());
            self.stage = Stage::Choosing;
            return Some(Deed::Decide(Decision { message, ..Decision::of(Outcome::Deny) }));
        };
        let question = questions.get(answers.len())?;
        match read_answer(question, typed) {
            Ok(answer) => answers.push(answer),
            Err(complaint) => return Some(Deed::Complain(complaint)),
        }
        typed.clear();
        if answers.len() < questions.len() {
            return Some(Deed::ShowNextQuestion);
        }
        let answers = std::mem::take(answers);
        Some(Deed::Decide(Decision { answers, ..Decision::of(Outcome::Answer) }))
    }
}

pub(super) fn beginning(asked: &Asked) -> Stage {
    let questions = questions_of(asked);
    match asked.offers(Outcome::Answer) && !questions.is_empty() {
        true => Stage::Answering { questions, answers: Vec::new(), typed: String::new(), is_engaged: false },
        false => Stage::Choosing,
    }
}

fn type_stroke(typed: &mut String, stroke: Stroke) -> Option<Deed> {
    let text = match stroke {
        Stroke::Character(character) => character.to_string(),
        Stroke::Pasted(text) => text.replace('\n', " "),
        Stroke::Tab => " ".to_owned(),
        Stroke::Backspace => {
            typed.pop();
            return None;
        }
        Stroke::CutToStart => {
            typed.clear();
            return None;
        }
        _ => return None,
    };
    if TYPED_MAX < typed.len() + text.len() {
        return Some(Deed::Complain(format!("{TYPED_MAX} bytes are all that can be typed here")));
    }
    // What would steer the terminal is not taken, whoever it comes from.
    typed.push_str(&safe_text::lines(&text));
    None
}
