//! Which key means what while a question is on the screen? Pure: keys in, what to do and the line to draw out.

use super::{Asked, Details, Key, read_answer};
use crate::{
    cli::{human, width},
    protocol::{Outcome, Question, QuestionAnswer},
};

/// Characters of a message or an answer that can be typed; longer ones belong into a file.
const TYPED_MAX: usize = 4_000;

/// What stands between what is asked and what is typed.
const POINTER: &str = " › ";

/// How far the person is.
pub(super) enum Dialog {
    /// One key decides.
    Choosing,
    /// Why not? Enter denies.
    Denying { typed: String },
    /// The agent's questions, one after the other.
    Answering { questions: Vec<Question>, answers: Vec<QuestionAnswer>, typed: String },
}

/// What a key came to.
#[derive(Debug, PartialEq)]
pub(super) enum Pressed {
    Nothing,
    ShowAgain {
        is_whole: bool,
    },
    /// What was typed does not fit.
    Complain(String),
    PutAway,
    Edit,
    Decide {
        outcome: Outcome,
        message: Option<String>,
    },
    Answers(Vec<QuestionAnswer>),
}

impl Dialog {
    /// Where a question begins: one that wants words is typed at once.
    pub(super) fn of(asked: &Asked) -> Dialog {
        match asked.details() {
            Details::Questions(questions) if asked.offers(Outcome::Answer) && !questions.is_empty() => {
                Dialog::Answering { questions, answers: Vec::new(), typed: String::new() }
            }
            _ => Dialog::Choosing,
        }
    }

    /// What a key does; what it does to the dialog itself is done.
    pub(super) fn press(&mut self, key: Key, asked: &Asked) -> Pressed {
        if key == Key::End {
            return Pressed::PutAway;
        }
        match self {
            Dialog::Choosing => self.choose(key, asked),
            Dialog::Denying { typed } => match key {
                Key::Enter => {
                    let message = Some(typed.trim().to_owned()).filter(|message| !message.is_empty());
                    Pressed::Decide { outcome: Outcome::Deny, message }
                }
                Key::Escape => {
                    *self = Dialog::Choosing;
                    Pressed::Nothing
                }
                key => type_key(typed, key),
            },
            Dialog::Answering { questions, answers, typed } => match key {
                Key::Enter => {
                    let Some(question) = questions.get(answers.len()) else { return Pressed::Nothing };
                    match read_answer(question, typed) {
                        Ok(answer) => answers.push(answer),
                        Err(complaint) => return Pressed::Complain(complaint),
                    }
                    typed.clear();
                    match answers.len() == questions.len() {
                        true => Pressed::Answers(std::mem::take(answers)),
                        false => Pressed::Nothing,
                    }
                }
                Key::Escape => {
                    *self = Dialog::Choosing;
                    Pressed::Nothing
                }
                key => type_key(typed, key),
            },
        }
    }

    fn choose(&mut self, key: Key, asked: &Asked) -> Pressed {
        let Key::Character(character) = key else { return Pressed::Nothing };
        let choice = asked.choices().into_iter().find(|choice| choice.key == character);
        match (choice.map(|choice| choice.outcome), character) {
            (Some(Outcome::Deny), _) => {
                *self = Dialog::Denying { typed: String::new() };
                Pressed::Nothing
            }
            (Some(Outcome::Modify), _) => Pressed::Edit,
            (Some(Outcome::Answer), _) => {
                *self = Dialog::of(asked);
                Pressed::Nothing
            }
            (Some(outcome), _) => Pressed::Decide { outcome, message: None },
            (None, '?') => Pressed::ShowAgain { is_whole: false },
            (None, 'v') => Pressed::ShowAgain { is_whole: true },
            (None, _) => Pressed::Nothing,
        }
    }

    /// The last line of the screen; `columns` of a terminal.
    pub(super) fn prompt(&self, asked: &Asked, has_draft: bool, columns: Option<usize>) -> String {
        let room = columns.unwrap_or(usize::MAX);
        match self {
            Dialog::Choosing => {
                let choices = asked.choices();
                let words = choices.iter().map(|choice| match (choice.outcome, has_draft) {
                    (Outcome::Modify, true) => format!("{} edit on", choice.key),
                    _ => format!("{} {}", choice.key, choice.word),
                });
                let words = words.chain(["? again".to_owned()]).collect::<Vec<_>>().join(" · ");
                let whole = format!("{words}{POINTER}");
                if width::of(&whole) <= room {
                    return whole;
                }
                let keys: Vec<String> = choices.iter().map(|choice| choice.key.to_string()).collect();
                width::cut(&format!("{}/?{POINTER}", keys.join("/")), room)
            }
            Dialog::Denying { typed } => {
                line("why not? Enter denies, Esc goes back", "why not?", typed, room)
            }
            Dialog::Answering { questions, answers, typed } => {
                let question = questions.get(answers.len());
                let how = match question {
                    Some(question) if question.closed && question.multi_select => "numbers",
                    Some(question) if question.closed => "a number",
                    Some(question) if question.options.is_empty() => "your answer",
                    Some(question) if question.multi_select => "numbers, or your own words",
                    _ => "a number, or your own words",
                };
                let may_be_blank = question.is_some_and(|it| it.optional || it.default.is_some());
                let how = if may_be_blank { format!("{how}, or just Enter") } else { how.to_owned() };
                let which = match questions.len() {
                    1 => String::new(),
                    count => format!("{} of {}: ", answers.len() + 1, human::count(count as u64, "answer")),
                };
                line(&format!("{which}{how}; Esc for more"), &format!("{which}answer"), typed, room)
            }
        }
    }
}

/// What is typed behind what is asked, both as long as there is room: the end of it stays in sight.
fn line(whole: &str, short: &str, typed: &str, room: usize) -> String {
    // Half of a narrow line is for what is typed.
    let fits = |label: &str| width::of(label) + width::of(POINTER) <= room / 2;
    let label = if fits(whole) { whole } else { short };
    let label = width::cut(label, (room / 2).saturating_sub(width::of(POINTER)));
    let rest = room.saturating_sub(width::of(&label) + width::of(POINTER) + 1);
    format!("{label}{POINTER}{}", width::cut_front(typed, rest))
}

fn type_key(typed: &mut String, key: Key) -> Pressed {
    match key {
        Key::Character(_) if TYPED_MAX <= typed.len() => {
            return Pressed::Complain(format!("{TYPED_MAX} bytes are all that can be typed here"));
        }
        // What would steer the terminal is not taken, whoever it comes from.
        Key::Character(character) => typed.push_str(&crate::cli::safe_text::lines(&character.to_string())),
        Key::Backspace => {
            typed.pop();
        }
        Key::EraseLine => typed.clear(),
        Key::Enter | Key::Escape | Key::End => {}
    }
    Pressed::Nothing
}
