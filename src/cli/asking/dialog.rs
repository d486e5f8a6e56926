//! Which key means what while a question is on the screen? Pure: strokes and the time in, what to do and the line to draw out.
//!
//! A key answers only when it was meant to: see [`AnswerGuard`]. What does not count is set aside, for the line that was being
//! typed.

mod prompt;

use std::time::Duration;

use super::ConfirmationView;
use crate::{
    cli::{
        answer_guard::{ALONE, APART, AnswerGuard},
        line_editor::strokes::KeyStroke,
        question::{OutcomeChoice, questions_of, read_answer},
        safe_text,
    },
    protocol::{ConfirmationOutcome, GrantScope, QuestionAnswer, UserQuestion},
};

/// Bytes of a message or an answer that can be typed; longer ones belong into a file.
const TYPED_MAX: usize = 4_000;

/// Bytes that are set aside at most: more than anybody types before they look up.
const ASIDE_MAX: usize = 64 << 10;

/// The keys of the question on the screen, and how far the person is.
pub(super) struct ConfirmationDialog {
    guard: AnswerGuard,
    stage: DialogStage,
    /// What was typed and is no answer.
    aside: String,
    /// The last key showed a page of the subject, so that the next one may show the next at once.
    is_paging: bool,
}

enum DialogStage {
    /// One key decides, or begins to.
    Choosing,
    /// A key that is an answer by itself, if no other one follows it.
    Alone { choice: Box<OutcomeChoice>, since: Duration },
    /// A key that wants a second, different one. All choices of that key, from the narrowest grant on.
    Confirming { choices: Vec<OutcomeChoice>, at: usize, since: Duration },
    /// Why it is asked is read, and whether there is more of that. What is decided about is out of sight, so no key decides.
    Reading { has_more: bool },
    /// What was edited is sent when that is confirmed.
    Sending { content: String, since: Duration },
    /// Why not? Enter denies.
    Denying { typed: String },
    /// The agent's questions, one after the other. Keys count from the first one that did.
    Answering { questions: Vec<UserQuestion>, answers: Vec<QuestionAnswer>, typed: String, is_engaged: bool },
}

/// What keys came to.
#[derive(Debug, PartialEq)]
pub(super) enum DialogAction {
    /// Says what a second key would confirm.
    TellChoice {
        key: char,
        text: String,
    },
    /// Says why it is asked and what each choice does, page by page.
    TellWhy,
    /// Shows all of the subject, page by page.
    ShowWhole,
    /// The next one of several questions is to be read.
    ShowNextQuestion,
    /// What was typed does not fit.
    Complain(String),
    PutAway,
    Edit,
    Decide(ConfirmationDecision),
}

/// What a person decided, once and for good.
#[derive(Debug, PartialEq)]
pub(super) struct ConfirmationDecision {
    pub(super) outcome: ConfirmationOutcome,
    pub(super) grant: Option<GrantScope>,
    pub(super) message: Option<String>,
    pub(super) answers: Vec<QuestionAnswer>,
    pub(super) content: Option<String>,
}

impl ConfirmationDecision {
    fn of(outcome: ConfirmationOutcome) -> ConfirmationDecision {
        ConfirmationDecision { outcome, grant: None, message: None, answers: Vec::new(), content: None }
    }

    fn by(choice: &OutcomeChoice) -> ConfirmationDecision {
        ConfirmationDecision { grant: choice.grant, ..ConfirmationDecision::of(choice.outcome) }
    }
}

impl ConfirmationDialog {
    /// Where a question begins: one that wants words is typed at once. It is on the screen from `now` on.
    pub(super) fn of(asked: &ConfirmationView, now: Duration) -> ConfirmationDialog {
        ConfirmationDialog {
            guard: AnswerGuard::shown(now),
            stage: beginning(asked),
            aside: String::new(),
            is_paging: false,
        }
    }

    /// The question was drawn anew: it is looked at as for the first time.
    pub(super) fn shown_again(&mut self, now: Duration) {
        self.guard = AnswerGuard::shown(now);
        if let DialogStage::Answering { is_engaged, .. } = &mut self.stage {
            *is_engaged = false;
        }
        if matches!(
            self.stage,
            DialogStage::Alone { .. } | DialogStage::Confirming { .. } | DialogStage::Reading { .. }
        ) {
            self.stage = DialogStage::Choosing;
        }
    }

    /// An editor left this; it is sent when the person confirms it.
    pub(super) fn confirm_edited(&mut self, content: String, now: Duration) {
        self.guard = AnswerGuard::shown(now);
        self.stage = DialogStage::Sending { content, since: now };
    }

    /// What was typed and is no answer, as text.
    pub(super) fn take_aside(&mut self) -> String {
        std::mem::take(&mut self.aside)
    }

    /// Which of several questions is being answered.
    pub(super) fn at_question(&self) -> usize {
        match &self.stage {
            DialogStage::Answering { answers, .. } => answers.len(),
            _ => 0,
        }
    }

    /// Whether the next key is a choice.
    pub(super) fn is_choosing(&self) -> bool {
        matches!(self.stage, DialogStage::Choosing | DialogStage::Alone { .. })
    }

    /// Whether the reasons are on the screen.
    pub(super) fn is_reading(&self) -> bool {
        matches!(self.stage, DialogStage::Reading { .. })
    }

    /// What is on the screen are the reasons from now on.
    pub(super) fn read(&mut self, has_more: bool) {
        self.stage = DialogStage::Reading { has_more };
    }

    /// The reasons are out of sight.
    pub(super) fn stop_reading(&mut self) {
        if self.is_reading() {
            self.stage = DialogStage::Choosing;
        }
    }

    /// What a second key would confirm: the first one, and what it does.
    pub(super) fn to_confirm(&self) -> Option<(char, String)> {
        let DialogStage::Confirming { choices, at, .. } = &self.stage else { return None };
        choices.get(*at).map(|choice| (choice.key, choice.in_words()))
    }

    /// Whether a key that is pressed now can be an answer.
    pub(super) fn takes_keys(&self, now: Duration) -> bool {
        match &self.stage {
            DialogStage::Alone { .. }
            | DialogStage::Confirming { .. }
            | DialogStage::Denying { .. }
            | DialogStage::Reading { .. } => true,
            DialogStage::Answering { is_engaged: true, .. } => true,
            _ => self.guard.takes_keys(now),
        }
    }

    /// Bytes came that are no stroke of ours.
    pub(super) fn disturb(&mut self, now: Duration) {
        self.guard.typed(now);
    }

    /// Time has passed: a key that stayed alone is an answer.
    pub(super) fn tick(&mut self, now: Duration) -> Option<DialogAction> {
        let DialogStage::Alone { choice, since } = &self.stage else { return None };
        if now.saturating_sub(*since) < ALONE {
            return None;
        }
        let choice = choice.clone();
        self.stage = DialogStage::Choosing;
        self.guard.typed(now);
        Some(match choice.outcome {
            ConfirmationOutcome::Modify => DialogAction::Edit,
            _ => DialogAction::Decide(ConfirmationDecision::by(&choice)),
        })
    }

    /// The Escape key alone: back to the choices.
    pub(super) fn escape(&mut self, now: Duration) {
        self.guard.typed(now);
        self.stage = DialogStage::Choosing;
    }

    /// Takes what one look at the keyboard brought. Several strokes at once are a paste or were typed blindly.
    pub(super) fn press(
        &mut self,
        strokes: Vec<KeyStroke>,
        asked: &ConfirmationView,
        now: Duration,
    ) -> Vec<DialogAction> {
        if strokes.is_empty() {
            return Vec::new();
        }
        let takes_keys = self.takes_keys(now);
        let goes_on = std::mem::take(&mut self.is_paging) && strokes == [KeyStroke::Character('v')];
        match &mut self.stage {
            DialogStage::Choosing if goes_on => {
                self.is_paging = true;
                self.guard.typed(now);
                vec![DialogAction::ShowWhole]
            }
            _ if !takes_keys => {
                self.set_aside(&strokes, now);
                Vec::new()
            }
            DialogStage::Denying { .. } | DialogStage::Answering { .. } => {
                let is_burst = 1 < strokes.len();
                strokes.into_iter().filter_map(|stroke| self.type_on(stroke, is_burst, now)).collect()
            }
            DialogStage::Choosing => self.choose(&strokes, asked, now).into_iter().collect(),
            DialogStage::Alone { choice, since } => {
                let is_confirmed = strokes == [KeyStroke::Enter] && APART <= now.saturating_sub(*since);
                let choice = choice.clone();
                self.stage = DialogStage::Choosing;
                if !is_confirmed {
                    self.take_back(choice.key, &strokes, now);
                    return Vec::new();
                }
                self.guard.typed(now);
                vec![match choice.outcome {
                    ConfirmationOutcome::Modify => DialogAction::Edit,
                    _ => DialogAction::Decide(ConfirmationDecision::by(&choice)),
                }]
            }
            DialogStage::Confirming { .. } => self.confirm(&strokes, now).into_iter().collect(),
            DialogStage::Reading { .. } => match strokes.as_slice() {
                [KeyStroke::Character('?')] => vec![DialogAction::TellWhy],
                [KeyStroke::EndOfInput] => vec![DialogAction::PutAway],
                _ => {
                    self.escape(now);
                    Vec::new()
                }
            },
            DialogStage::Sending { content, since } => match strokes.as_slice() {
                [KeyStroke::Enter] if APART <= now.saturating_sub(*since) => {
                    let content = Some(std::mem::take(content));
                    self.stage = DialogStage::Choosing;
                    vec![DialogAction::Decide(ConfirmationDecision {
                        content,
                        ..ConfirmationDecision::of(ConfirmationOutcome::Modify)
                    })]
                }
                [KeyStroke::EndOfInput] => vec![DialogAction::PutAway],
                _ => {
                    self.stage = DialogStage::Choosing;
                    self.set_aside(&strokes, now);
                    Vec::new()
                }
            },
        }
    }

    fn choose(
        &mut self,
        strokes: &[KeyStroke],
        asked: &ConfirmationView,
        now: Duration,
    ) -> Option<DialogAction> {
        let [stroke] = strokes else {
            self.set_aside(strokes, now);
            return None;
        };
        let KeyStroke::Character(key) = stroke else {
            if *stroke == KeyStroke::EndOfInput {
                return Some(DialogAction::PutAway);
            }
            self.set_aside(strokes, now);
            return None;
        };
        let choices: Vec<OutcomeChoice> =
            asked.choices().into_iter().filter(|choice| choice.key == *key).collect();
        let Some(first) = choices.first() else {
            return match key {
                '?' => Some(DialogAction::TellWhy),
                'v' => {
                    self.is_paging = true;
                    self.guard.typed(now);
                    Some(DialogAction::ShowWhole)
                }
                _ => {
                    self.set_aside(strokes, now);
                    None
                }
            };
        };
        match first.outcome {
            ConfirmationOutcome::Deny => {
                self.stage = DialogStage::Denying { typed: String::new() };
                None
            }
            ConfirmationOutcome::Answer => {
                self.stage = beginning(asked);
                Some(DialogAction::ShowNextQuestion)
            }
            _ if asked.wants_second_key(first) => {
                let told = DialogAction::TellChoice { key: *key, text: first.in_words() };
                self.stage = DialogStage::Confirming { choices, at: 0, since: now };
                Some(told)
            }
            _ => {
                self.stage = DialogStage::Alone { choice: Box::new(first.clone()), since: now };
                None
            }
        }
    }

    fn confirm(&mut self, strokes: &[KeyStroke], now: Duration) -> Option<DialogAction> {
        let DialogStage::Confirming { choices, at, since } = &mut self.stage else { return None };
        let is_apart = APART <= now.saturating_sub(*since);
        let key = choices.first().map_or(' ', |choice| choice.key);
        match strokes {
            [KeyStroke::Enter] if is_apart => {
                let decision = choices.get(*at).map(ConfirmationDecision::by);
                self.stage = DialogStage::Choosing;
                self.guard.typed(now);
                decision.map(DialogAction::Decide)
            }
            [KeyStroke::Character(again)] if *again == key && 1 < choices.len() && is_apart => {
                *at = (*at + 1) % choices.len();
                *since = now;
                choices.get(*at).map(|choice| DialogAction::TellChoice { key, text: choice.in_words() })
            }
            [KeyStroke::EndOfInput] => Some(DialogAction::PutAway),
            _ => {
                self.stage = DialogStage::Choosing;
                self.take_back(key, strokes, now);
                None
            }
        }
    }

    /// The key before was the beginning of something else that is being typed.
    fn take_back(&mut self, key: char, strokes: &[KeyStroke], now: Duration) {
        if matches!(strokes.first(), Some(KeyStroke::Character(_) | KeyStroke::Pasted(_))) {
            self.set_aside(&[KeyStroke::Character(key)], now);
        }
        self.set_aside(strokes, now);
    }

    fn set_aside(&mut self, strokes: &[KeyStroke], now: Duration) {
        self.guard.typed(now);
        for stroke in strokes {
            match stroke {
                _ if ASIDE_MAX <= self.aside.len() => {}
                KeyStroke::Character(character) => self.aside.push(*character),
                KeyStroke::Pasted(text) => {
                    let room = ASIDE_MAX.saturating_sub(self.aside.len());
                    self.aside.push_str(&text[..text.floor_char_boundary(room)]);
                }
                KeyStroke::Enter | KeyStroke::NewLine => self.aside.push('\n'),
                KeyStroke::Backspace => {
                    self.aside.pop();
                }
                KeyStroke::CutToStart => self.aside.clear(),
                _ => {}
            }
        }
    }

    /// A text is typed: why not, or an answer.
    fn type_on(&mut self, stroke: KeyStroke, is_burst: bool, now: Duration) -> Option<DialogAction> {
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

fn beginning(asked: &ConfirmationView) -> DialogStage {
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
