//! Which key means what while a question is on the screen? Pure: strokes and the time in, what to do and the line to draw out.
//!
//! A key answers only when it was meant to: see [`AnswerGuard`]. What is typed before the question takes keys is set aside, for
//! the line that was being typed; from then on keys are for the question, or for nothing.

mod prompt;
mod typing;

use std::time::Duration;

use self::typing::beginning;
use super::ConfirmationView;
use crate::{
    answer_guard::{ALONE, APART, AnswerGuard},
    human,
    line_editor::strokes::KeyStroke,
    question::OutcomeChoice,
};
use protocol::{ConfirmationOutcome, GrantScope, QuestionAnswer, UserQuestion};

/// Bytes that are set aside at most: more than anybody types before they look up.
const ASIDE_MAX: usize = 64 << 10;

/// The keys of the question on the screen, and how far the person is.
pub(super) struct ConfirmationDialog {
    guard: AnswerGuard,
    stage: DialogStage,
    /// What was typed before the question took keys.
    aside: String,
    /// The strokes that were set aside since the question is on the screen.
    typed_here: usize,
    /// The question has taken keys: since then no key is for the line that was being typed.
    has_taken_keys: bool,
    /// The agent's questions that were left unanswered for the choices: what was answered, and what was typed for the next one.
    left: Option<(Vec<QuestionAnswer>, String)>,
    /// The last key showed a page of the subject, so that the next one may show the next at once.
    is_paging: bool,
    sight: Sight,
}

/// How much of what is decided about is before the person's eyes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Sight {
    /// Rows that say something, and that were not to be seen.
    pub(super) unseen: usize,
    /// There is no room for what has to be seen, so no key allows anything.
    pub(super) is_too_small: bool,
}

enum DialogStage {
    /// One key decides, or begins to.
    Choosing,
    /// A key that is an answer by itself, if no other one follows it.
    Alone { choice: Box<OutcomeChoice>, since: Duration },
    /// A key that wants a second, different one. All choices of that key, from the narrowest grant on.
    Confirming { choices: Vec<OutcomeChoice>, at: usize, since: Duration, unseen: Option<String> },
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
            typed_here: 0,
            has_taken_keys: false,
            left: None,
            is_paging: false,
            sight: Sight::default(),
        }
    }

    /// The question was drawn; so much of it is to be seen.
    pub(super) fn sees(&mut self, sight: Sight) {
        self.sight = sight;
    }

    /// Whether this choice is one that no key can make now: it allows something that is out of sight.
    fn is_blind(&self, outcome: ConfirmationOutcome) -> bool {
        // To answer what an agent asks permits nothing.
        self.sight.is_too_small && outcome.is_consent() && outcome != ConfirmationOutcome::Answer
    }

    /// What the person has not seen of what they would allow.
    fn unseen(&self, asked: &ConfirmationView) -> Option<String> {
        let rows = Some(self.sight.unseen).filter(|rows| 0 < *rows);
        let rows =
            rows.map(|rows| format!("{} of it were not seen; v shows all", human::count(rows as u64, "row")));
        let told: Vec<String> = asked.out_of_sight().into_iter().chain(rows).collect();
        (!told.is_empty()).then(|| told.join("; "))
    }

    /// What was typed up to now was typed before the question was on the screen.
    pub(super) fn begins(&mut self) {
        self.typed_here = 0;
    }

    /// The keyboard is looked at now; what it brings is pressed next. After a time in which it was not looked at, the question
    /// is looked at as for the first time.
    pub(super) fn looks(&mut self, now: Duration, finds_nothing: bool) {
        if self.guard.looks(now, finds_nothing) {
            self.shown_again(now);
        }
        if !self.has_taken_keys && self.guard.takes_keys() {
            self.has_taken_keys = true;
            // One single key was no line, but pressed for the question, too early.
            if self.typed_here == 1 && self.aside.chars().count() == 1 {
                self.aside.clear();
            }
        }
    }

    /// Whether keys are for the question, or for nothing.
    pub(super) fn has_taken_keys(&self) -> bool {
        self.has_taken_keys
    }

    /// The question was drawn anew: it is looked at as for the first time.
    pub(super) fn shown_again(&mut self, now: Duration) {
        self.guard = AnswerGuard::shown(now);
        if let DialogStage::Answering { is_engaged, .. } = &mut self.stage {
            *is_engaged = false;
        }
        self.go_back();
    }

    /// Nothing that was begun by a key is confirmed any more.
    fn go_back(&mut self) {
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
        let DialogStage::Confirming { choices, at, unseen, .. } = &self.stage else { return None };
        choices.get(*at).map(|choice| (choice.key, told(choice, unseen.as_deref())))
    }

    /// Whether a key that is read next can be an answer.
    pub(super) fn takes_keys(&self) -> bool {
        match &self.stage {
            DialogStage::Alone { .. }
            | DialogStage::Confirming { .. }
            | DialogStage::Denying { .. }
            | DialogStage::Reading { .. } => true,
            DialogStage::Answering { is_engaged: true, .. } => true,
            _ => self.guard.takes_keys(),
        }
    }

    /// The beginning of a key came, and its rest did not yet.
    pub(super) fn disturb(&mut self, now: Duration) {
        self.guard.typed(now);
        self.go_back();
    }

    /// Time has passed: a key that stayed alone is an answer.
    pub(super) fn tick(&mut self, now: Duration) -> Option<DialogAction> {
        let DialogStage::Alone { choice, since } = &self.stage else { return None };
        if self.guard.quiet_since(*since) < ALONE {
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
        if let DialogStage::Answering { answers, typed, .. } = &mut self.stage {
            self.left = Some((std::mem::take(answers), std::mem::take(typed)));
        }
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
        let takes_keys = self.takes_keys();
        let goes_on = std::mem::take(&mut self.is_paging) && strokes == [KeyStroke::Character('v')];
        let is_blind = self.is_blind(ConfirmationOutcome::Modify);
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
                let is_confirmed = strokes == [KeyStroke::Enter] && APART <= self.guard.quiet_since(*since);
                let choice = choice.clone();
                self.stage = DialogStage::Choosing;
                self.guard.typed(now);
                if !is_confirmed {
                    return Vec::new();
                }
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
                [KeyStroke::Enter] if APART <= self.guard.quiet_since(*since) && !is_blind => {
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
                    self.guard.typed(now);
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
                self.go_on_answering(asked);
                Some(DialogAction::ShowNextQuestion)
            }
            outcome if self.is_blind(outcome) => {
                self.guard.typed(now);
                None
            }
            outcome
                if asked.wants_second_key(first)
                    || (outcome == ConfirmationOutcome::AllowOnce && 0 < self.sight.unseen) =>
            {
                let unseen = self.unseen(asked).filter(|_| outcome.is_consent());
                let told = DialogAction::TellChoice { key: *key, text: told(first, unseen.as_deref()) };
                self.stage = DialogStage::Confirming { choices, at: 0, since: now, unseen };
                Some(told)
            }
            _ => {
                self.stage = DialogStage::Alone { choice: Box::new(first.clone()), since: now };
                None
            }
        }
    }

    fn confirm(&mut self, strokes: &[KeyStroke], now: Duration) -> Option<DialogAction> {
        let is_blind = self.is_blind(ConfirmationOutcome::AllowOnce);
        let DialogStage::Confirming { choices, at, since, unseen } = &mut self.stage else { return None };
        let is_blind = is_blind && choices.iter().any(|choice| choice.outcome.is_consent());
        let is_apart = APART <= self.guard.quiet_since(*since);
        let key = choices.first().map_or(' ', |choice| choice.key);
        match strokes {
            [KeyStroke::Enter] if is_apart && !is_blind => {
                let decision = choices.get(*at).map(ConfirmationDecision::by);
                self.stage = DialogStage::Choosing;
                self.guard.typed(now);
                decision.map(DialogAction::Decide)
            }
            [KeyStroke::Character(again)] if *again == key && 1 < choices.len() && is_apart => {
                *at = (*at + 1) % choices.len();
                *since = now;
                choices
                    .get(*at)
                    .map(|choice| DialogAction::TellChoice { key, text: told(choice, unseen.as_deref()) })
            }
            [KeyStroke::EndOfInput] => Some(DialogAction::PutAway),
            _ => {
                self.stage = DialogStage::Choosing;
                self.guard.typed(now);
                None
            }
        }
    }

    /// Takes what is no answer: for the line that was being typed, as long as the question has not taken keys.
    fn set_aside(&mut self, strokes: &[KeyStroke], now: Duration) {
        self.guard.typed(now);
        if self.has_taken_keys {
            return;
        }
        self.typed_here = self.typed_here.saturating_add(strokes.len());
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
}

/// What a choice does, behind what was not seen of what it allows.
fn told(choice: &OutcomeChoice, unseen: Option<&str>) -> String {
    match unseen {
        Some(unseen) => format!("{unseen}: {}", choice.in_words()),
        None => choice.in_words(),
    }
}
