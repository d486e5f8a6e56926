//! How is a person asked for a line, a choice or a letter? Hides the keyboard and the screen; what keys mean is pure
//! (`prompter/forms.rs`). Where the cursor cannot be moved, the terminal's own lines are read, and choices have numbers.
//!
//! Ctrl-C, Ctrl-D and the end of the input leave: whoever asks then does nothing.

mod confirming;
mod forms;
mod key_timing;
mod plainly;

use std::time::Duration;

use super::{
    InputStream, KeyWaitResult, KeyboardInput, MonotonicClock, OutputWriter, ProcessIo,
    answer_guard::STOOD,
    failure::CommandFailure,
    line_editor::{self, drawing::LineLayout, strokes::KeyStrokeDecoder},
    message::show_message,
    text_color::TextColor,
};
use confirming::{ConfirmForm, YES};
pub(super) use forms::{ChoiceItem, ChoiceList};
use forms::{FormAction, InputForm, LetterForm, LineForm, ListPicker};

/// Between two looks at the keyboard, whether Ctrl-C was pressed or the terminal is another size: often enough for the answer's
/// guard to know when a key was pressed, and how long none was.
const LOOK: Duration = Duration::from_millis(50);

/// The rest of a key that sends several bytes is there by then; an Escape that stands alone is none.
const KEY_REST: Duration = Duration::from_millis(50);

/// What a terminal has when it does not say.
const USUAL_COLUMNS: usize = 80;

/// Whoever sits there, and what they see.
pub(super) struct FormPrompter<'a> {
    keyboard: &'a mut dyn KeyboardInput,
    stdin: &'a mut InputStream,
    stderr: &'a mut OutputWriter,
    interrupts: &'a mut dyn FnMut() -> u32,
    clock: &'a MonotonicClock,
}

impl<'a> FormPrompter<'a> {
    pub(super) fn of(surroundings: &'a mut ProcessIo) -> FormPrompter<'a> {
        let ProcessIo { keyboard, stdin, stderr, interrupts, clock, .. } = surroundings;
        FormPrompter { keyboard: &mut **keyboard, stdin, stderr, interrupts, clock }
    }

    /// One line, which `read` makes sense of; a complaint is told, and it is asked again. Enter alone is an empty line.
    /// `None` = the person left.
    pub(super) fn line<T>(
        &mut self,
        label: &str,
        read: &mut dyn FnMut(&str) -> Result<T, String>,
    ) -> Result<Option<T>, CommandFailure> {
        loop {
            let typed = match self.stderr.is_live {
                true => {
                    let mut form = LineForm::new(label);
                    self.hold(&mut form)?.then(|| form.text())
                }
                false => line_editor::read_plainly(label, self.stdin, self.stderr)?,
            };
            let Some(typed) = typed else { return Ok(None) };
            match read(typed.trim()) {
                Ok(answer) => return Ok(Some(answer)),
                Err(complaint) => self.complain(&complaint),
            }
        }
    }

    /// One of these, or what was typed instead where that may be; `None` = the person left.
    pub(super) fn one_of(&mut self, choices: ChoiceList) -> Result<Option<String>, CommandFailure> {
        let is_live = self.stderr.is_live;
        let mut picker = ListPicker::one(choices);
        let is_given = if is_live { self.hold(&mut picker)? } else { self.pick_plainly(&mut picker)? };
        Ok(is_given.then(|| picker.chosen().into_iter().next().unwrap_or_default()))
    }

    /// Any number of these, in the order of the list; those that are ticked at first unless the person says otherwise.
    /// `None` = the person left.
    pub(super) fn several(
        &mut self,
        choices: ChoiceList,
        ticked: &dyn Fn(&ChoiceItem) -> bool,
    ) -> Result<Option<Vec<String>>, CommandFailure> {
        let is_live = self.stderr.is_live;
        let mut picker = ListPicker::several(choices, ticked);
        let is_given = if is_live { self.hold(&mut picker)? } else { self.pick_plainly(&mut picker)? };
        Ok(is_given.then(|| picker.chosen()))
    }

    /// The first of these letters that is typed; `None` = the person left.
    pub(super) fn letter(&mut self, label: &str, letters: &[char]) -> Result<Option<char>, CommandFailure> {
        if self.stderr.is_live {
            let mut form = LetterForm::new(label, letters);
            return Ok(if self.hold(&mut form)? { form.letter() } else { None });
        }
        // What was typed before it was asked is no answer to it.
        self.keyboard.open();
        self.keyboard.close();
        let known: String = letters.iter().map(|letter| format!(" {letter}")).collect();
        self.line(label, &mut |typed| {
            let letter = typed.chars().next().map(|letter| letter.to_ascii_lowercase());
            letter.filter(|letter| letters.contains(letter)).ok_or_else(|| format!("type one of:{known}"))
        })
    }

    /// Whether the person agrees to what is asked: by `y` or `yes`, and then Enter, pressed for it.
    pub(super) fn agrees(&mut self, question: &str) -> Result<bool, CommandFailure> {
        if self.stderr.is_live {
            self.stderr.write_text(question)?;
            return self.hold(&mut ConfirmForm::default());
        }
        // What was typed before it was asked is no answer to it.
        self.keyboard.open();
        self.keyboard.close();
        loop {
            let shown_at = (self.clock)();
            let label = format!("{question} Type {YES} to agree: ");
            let Some(typed) = line_editor::read_plainly(&label, self.stdin, self.stderr)? else {
                return Ok(false);
            };
            let is_yes = typed.trim().eq_ignore_ascii_case(YES);
            if !is_yes || STOOD <= (self.clock)().saturating_sub(shown_at) {
                return Ok(is_yes);
            }
            self.complain("that came before anybody could read the question; look at it again");
        }
    }

    fn complain(&mut self, complaint: &str) {
        show_message(self.stderr, TextColor::Yellow, "note", complaint);
    }

    /// Shows a form until it is entered; whether it was.
    fn hold(&mut self, form: &mut dyn InputForm) -> Result<bool, CommandFailure> {
        // Whoever did not want to wait for the question leaves, too. From here on Ctrl-C ends no process.
        if 0 < (self.interrupts)() {
            return Ok(false);
        }
        let mut sheet = FormScreen { drawn: None, columns: USUAL_COLUMNS };
        let is_entered = self.take_keys(form, &mut sheet);
        self.keyboard.close();
        is_entered
    }

    fn take_keys(
        &mut self,
        form: &mut dyn InputForm,
        sheet: &mut FormScreen,
    ) -> Result<bool, CommandFailure> {
        let mut strokes = KeyStrokeDecoder::default();
        let mut is_open = self.keyboard.open_for_text();
        if is_open {
            form.appears((self.clock)());
            self.show(form, sheet)?;
        } else {
            self.stderr.write_text("! bring this command to the foreground to go on")?;
        }
        loop {
            let pause = if strokes.is_waiting() { KEY_REST } else { LOOK };
            match self.keyboard.wait(pause) {
                KeyWaitResult::Gone => return Ok(false),
                KeyWaitResult::Resumed => {
                    is_open = false;
                    sheet.drawn = None;
                }
                KeyWaitResult::Done => {}
            }
            if !is_open {
                is_open = self.keyboard.open_for_text();
                if is_open {
                    form.appears((self.clock)());
                    self.show(form, sheet)?;
                }
                continue;
            }
            if 0 < (self.interrupts)() {
                sheet.leave("^C", self.stderr)?;
                return Ok(false);
            }
            let before = (self.clock)();
            let bytes = self.keyboard.read();
            // See `answer_guard`.
            let now = if bytes.is_empty() { before } else { (self.clock)() };
            let decoded = strokes.look(&bytes);
            form.look(now, bytes.len(), decoded.len());
            for stroke in decoded {
                match form.press(stroke) {
                    FormAction::Nothing => {}
                    FormAction::Leaves => {
                        sheet.leave("", self.stderr)?;
                        return Ok(false);
                    }
                    FormAction::Complains(complaint) => {
                        if let Some(drawn) = sheet.drawn.take() {
                            self.stderr.write(&drawn.erase(sheet.columns))?;
                        }
                        self.complain(&complaint);
                    }
                    FormAction::Entered => {
                        // What stays on the screen.
                        sheet.draw(form.answered(sheet.columns), form.label(), self.stderr)?;
                        sheet.leave("", self.stderr)?;
                        return Ok(true);
                    }
                }
            }
            self.show(form, sheet)?;
        }
    }

    fn show(&mut self, form: &dyn InputForm, sheet: &mut FormScreen) -> Result<(), CommandFailure> {
        let columns = self.keyboard.columns().unwrap_or(USUAL_COLUMNS);
        self.stderr.width = self.stderr.width.map(|_| columns);
        let drawing = form.drawing(columns);
        if sheet.drawn.as_ref() == Some(&drawing) && sheet.columns == columns {
            return Ok(());
        }
        sheet.columns = columns;
        sheet.draw(drawing, form.label(), self.stderr)
    }
}

/// A form as it stands on the screen.
struct FormScreen {
    drawn: Option<LineLayout>,
    /// Of the terminal when it was drawn.
    columns: usize,
}

impl FormScreen {
    fn draw(
        &mut self,
        drawing: LineLayout,
        label: &str,
        stderr: &mut OutputWriter,
    ) -> Result<(), CommandFailure> {
        let label = stderr.has_color.then_some((label, TextColor::Cyan));
        stderr.write(&drawing.draw(self.drawn.as_ref(), self.columns, label))?;
        self.drawn = Some(drawing);
        Ok(())
    }

    /// Leaves what stands there, with this behind it, and goes to the next row.
    fn leave(&mut self, mark: &str, stderr: &mut OutputWriter) -> Result<(), CommandFailure> {
        let leaves = self.drawn.take().map(|drawn| drawn.leave()).unwrap_or_default();
        stderr.write(&format!("{mark}{leaves}"))
    }
}
