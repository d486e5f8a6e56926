//! When does a key agree, or choose a letter? Only when it was pressed for what stands there: see [`KeyTiming`]. Pure.

use std::time::Duration;

use super::{
    forms::{FormAction, InputForm},
    key_timing::{KeyTiming, NOT_YET, row},
};
use crate::{
    answer_guard::APART,
    line_editor::{drawing::LineLayout, strokes::KeyStroke},
};

/// The word that agrees; its first letter does as well.
pub(super) const YES: &str = "yes";

/// What the line says when keys count.
const HOW: &str = "y and then Enter agree · n declines › ";

/// The same after an answer that came too fast to be one: all at once, as from a paste.
const HASTY: &str = "one key after the other: y, then Enter · n declines › ";

/// Agrees by `y` or `yes`, and then Enter; everything else does not.
#[derive(Default)]
pub(super) struct ConfirmForm {
    timing: KeyTiming,
    /// A beginning of the word.
    typed: String,
    typed_at: Duration,
    /// Several strokes came at once.
    is_burst: bool,
    /// An answer came that does not count, since its keys came at once.
    was_hasty: bool,
}

impl ConfirmForm {
    fn enter(&mut self) -> FormAction {
        let is_whole = self.typed == YES || self.typed == YES[..1];
        let is_apart = APART <= self.timing.quiet_since(self.typed_at);
        match (is_whole && is_apart && !self.is_burst, self.typed.is_empty()) {
            (true, _) => return FormAction::Entered,
            (false, true) if self.timing.counts() => return FormAction::Leaves,
            _ => {
                self.was_hasty = self.is_burst || (is_whole && !is_apart);
                self.typed.clear();
            }
        }
        FormAction::Nothing
    }
}

impl InputForm for ConfirmForm {
    fn appears(&mut self, now: Duration) {
        self.timing.shown(now);
        self.typed.clear();
    }

    fn look(&mut self, now: Duration, bytes: usize, strokes: usize) {
        self.is_burst = 1 < strokes;
        if self.timing.look(now, bytes, strokes) {
            self.typed.clear();
        }
    }

    fn is_settling(&self) -> bool {
        self.typed.is_empty() && !self.timing.takes_keys()
    }

    fn press(&mut self, stroke: KeyStroke) -> FormAction {
        match stroke {
            KeyStroke::EndOfInput => return FormAction::Leaves,
            KeyStroke::Enter => return self.enter(),
            KeyStroke::Backspace => {
                self.typed.pop();
            }
            KeyStroke::Character(character) => {
                let begins = self.typed.is_empty();
                if begins && self.timing.counts() && matches!(character, 'n' | 'N') {
                    return FormAction::Leaves;
                }
                let typed = format!("{}{}", self.typed, character.to_ascii_lowercase());
                let is_meant = !self.is_burst && YES.starts_with(&typed) && (!begins || self.timing.counts());
                self.typed = if is_meant { typed } else { String::new() };
                self.typed_at = self.timing.now();
            }
            _ => self.typed.clear(),
        }
        FormAction::Nothing
    }

    fn label(&self) -> &str {
        ""
    }

    fn drawing(&self, columns: usize) -> LineLayout {
        let text = match (self.is_settling(), self.typed.is_empty()) {
            (true, _) => NOT_YET.to_owned(),
            (false, true) if self.was_hasty => HASTY.to_owned(),
            (false, true) => HOW.to_owned(),
            (false, false) => format!("Enter agrees · any other key does not › {}", self.typed),
        };
        row(&text, columns)
    }

    fn answered(&self, columns: usize) -> LineLayout {
        row(YES, columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line_editor::strokes::KeyStrokeDecoder;

    /// What comes of keys at these times, in milliseconds; the question stands there from 0 on.
    fn answer(keys: &[(u64, &str)]) -> Option<bool> {
        let (mut form, mut strokes) = (ConfirmForm::default(), KeyStrokeDecoder::default());
        form.appears(Duration::ZERO);
        let mut pending = keys.iter().peekable();
        for now in 0..10_000 {
            let bytes = match pending.next_if(|(at, _)| *at == now) {
                Some((_, keys)) => keys.as_bytes(),
                None => b"",
            };
            let decoded = if bytes.is_empty() { Vec::new() } else { strokes.look(bytes) };
            form.look(Duration::from_millis(now), bytes.len(), decoded.len());
            for stroke in decoded {
                match form.press(stroke) {
                    FormAction::Entered => return Some(true),
                    FormAction::Leaves => return Some(false),
                    FormAction::Nothing | FormAction::Complains(_) => {}
                }
            }
        }
        None
    }

    #[test]
    fn only_what_is_pressed_for_the_question_agrees() {
        type Case = (&'static [(u64, &'static str)], Option<bool>);
        let cases: [Case; 22] = [
            (&[(800, "y"), (1_000, "\r")], Some(true)),
            (&[(800, "y"), (950, "e"), (1_100, "s"), (1_300, "\r")], Some(true)),
            (&[(800, "Y"), (1_000, "\r")], Some(true)),
            // Too early, or in the middle of something else.
            (&[(100, "y"), (300, "\r")], None),
            (&[(600, "y"), (800, "\r")], None),
            (&[(600, "a"), (800, "y"), (1_000, "\r")], None),
            (&[(600, "a"), (1_101, "y"), (1_300, "\r")], Some(true)),
            // No two keys of a person, or a paste.
            (&[(800, "y"), (900, "\r")], None),
            (&[(800, "y\r")], None),
            (&[(800, "yes\r")], None),
            (&[(800, "\x1b[200~y\r\x1b[201~"), (1_000, "\r")], None),
            // Not alone: what comes with it means nothing here, or its rest is to come.
            (&[(800, "\x1b[Iy"), (1_000, "\r")], None),
            (&[(800, "\0y"), (1_000, "\r")], None),
            (&[(800, "y\x1b["), (1_000, "\r")], None),
            (&[(800, "y"), (1_000, "\0\r")], None),
            (&[(800, "\0n")], None),
            (&[(800, "\0\r")], None),
            // Another word.
            (&[(800, "y"), (1_000, "a"), (1_200, "\r")], None),
            (&[(800, "\x1b[A"), (820, "y"), (1_000, "\r")], None),
            // No.
            (&[(800, "n")], Some(false)),
            (&[(800, "\r")], Some(false)),
            (&[(100, "\x04")], Some(false)),
        ];
        for (keys, expected) in cases {
            assert_eq!(answer(keys), expected, "{keys:?}");
        }
    }

    #[test]
    fn who_answers_all_at_once_is_told_how_to_answer() {
        let ms = Duration::from_millis;
        let mut form = ConfirmForm::default();
        form.appears(ms(0));
        form.look(ms(400), 0, 0);
        form.look(ms(800), 2, 2);
        form.press(KeyStroke::Character('y'));
        form.press(KeyStroke::Enter);
        form.look(ms(1_200), 0, 0);
        assert_eq!(form.drawing(80), row(NOT_YET, 80));
        form.look(ms(1_400), 0, 0);
        assert_eq!(form.drawing(80), row(HASTY, 80));
    }

    #[test]
    fn what_is_typed_while_nobody_looks_agrees_to_nothing() {
        let ms = Duration::from_millis;
        // At these times the keyboard is looked at, and this is read.
        let answer = |looks: &[(u64, KeyStroke)]| {
            let mut form = ConfirmForm::default();
            form.appears(ms(0));
            for now in (0..900).step_by(100) {
                form.look(ms(now), 0, 0);
            }
            let pressed = looks.iter().map(|(now, stroke)| {
                // Unless the command is stopped meanwhile.
                if *now < 5_000 {
                    form.look(ms(now - 10), 0, 0);
                }
                form.look(ms(*now), 1, 1);
                form.press(stroke.clone())
            });
            pressed.last()
        };
        let (y, enter) = (KeyStroke::Character('y'), KeyStroke::Enter);
        assert_eq!(answer(&[(1_000, y.clone()), (1_200, enter.clone())]), Some(FormAction::Entered));
        // The command was stopped before `y`, or between it and Enter.
        assert_eq!(answer(&[(9_000, y.clone()), (9_200, enter.clone())]), Some(FormAction::Nothing));
        assert_eq!(answer(&[(1_000, y), (9_000, enter)]), Some(FormAction::Nothing));
    }
}
