//! How does one input get from the keyboard to the conversation?

use std::time::Duration;

use super::words::TabCompletion;
use crate::{
    InputStream, KeyWaitResult, KeyboardInput, OutputWriter,
    failure::CommandFailure,
    human,
    line_editor::{
        self,
        drawing::LineLayout,
        line::{INPUT_MAX, LineAction, LineBuffer},
        strokes::{KeyStroke, KeyStrokeDecoder},
    },
    message::show_message,
    safe_text,
    text_color::TextColor,
    width,
};

/// Between two looks whether Ctrl-C was pressed or the terminal is another size, should their signals go astray.
const LOOK: Duration = Duration::from_millis(500);

/// The rest of a key that sends several bytes is there by then; an Escape that stands alone is none.
const KEY_REST: Duration = Duration::from_millis(50);

/// What a terminal has when it does not say.
const USUAL_COLUMNS: usize = 80;

/// Words that Tab lists at most.
const LISTED_MAX: usize = 60;

/// What came of asking.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChatInput {
    Text(String),
    /// Shift-Tab; what was typed so far is kept for the next prompt.
    LeavesMode,
    /// Ctrl-D, or the terminal is gone.
    Left,
}

/// Whoever sits there, and what they see.
pub(super) struct ChatTerminal<'a> {
    pub(super) keyboard: &'a mut dyn KeyboardInput,
    pub(super) stdin: &'a mut InputStream,
    pub(super) stderr: &'a mut OutputWriter,
    pub(super) interrupts: &'a mut dyn FnMut() -> u32,
}

/// Finds what the text before the cursor can be completed to.
pub(super) type TabCompleter<'a> = dyn FnMut(&str) -> Option<TabCompletion> + 'a;

impl ChatTerminal<'_> {
    /// Asks for one input.
    pub(super) fn read(
        &mut self,
        label: &str,
        earlier: &[String],
        complete: &mut TabCompleter<'_>,
    ) -> Result<ChatInput, CommandFailure> {
        // What was pressed before means something else.
        (self.interrupts)();
        if !self.stderr.is_live {
            let line = line_editor::read_plainly(label, self.stdin, self.stderr)?;
            return Ok(line.map_or(ChatInput::Left, ChatInput::Text));
        }
        let mut sheet =
            ChatLine { label: label.to_owned(), line: LineBuffer::default(), drawn: None, columns: 0 };
        let typed = self.edit(&mut sheet, earlier, complete);
        self.keyboard.close();
        typed
    }

    fn edit(
        &mut self,
        sheet: &mut ChatLine,
        earlier: &[String],
        complete: &mut TabCompleter<'_>,
    ) -> Result<ChatInput, CommandFailure> {
        let mut strokes = KeyStrokeDecoder::default();
        let mut is_open = self.open()?;
        if is_open {
            // Nothing of it is lost, and nothing of it is sent: nobody saw the prompt when they pressed Enter.
            let ahead = typed_ahead(&self.keyboard.typed_before());
            if !ahead.is_empty() {
                sheet.line.press(KeyStroke::Pasted(ahead), earlier);
            }
            sheet.show(self.columns(), self.stderr)?;
        }
        loop {
            match self.keyboard.wait(if strokes.is_waiting() { KEY_REST } else { LOOK }) {
                KeyWaitResult::Gone => return Ok(ChatInput::Left),
                KeyWaitResult::Resumed => {
                    is_open = false;
                    sheet.drawn = None;
                }
                KeyWaitResult::Done => {}
            }
            if !is_open {
                is_open = self.keyboard.open_for_talk();
                if is_open {
                    sheet.show(self.columns(), self.stderr)?;
                }
                continue;
            }
            if 0 < (self.interrupts)() {
                sheet.interrupt(self.stderr)?;
            }
            for stroke in strokes.decode(&self.keyboard.read()) {
                match sheet.line.press(stroke, earlier) {
                    LineAction::Nothing => {}
                    LineAction::Entered(text) => return sheet.finish(&text, self.stderr),
                    LineAction::Leaves => {
                        sheet.leave("", self.stderr)?;
                        return Ok(ChatInput::Left);
                    }
                    LineAction::LeavesMode => {
                        self.keyboard.set_aside(sheet.line.text());
                        sheet.erase(self.stderr)?;
                        return Ok(ChatInput::LeavesMode);
                    }
                    LineAction::Completes => sheet.complete(complete, self.stderr)?,
                    LineAction::ClearsScreen => {
                        sheet.drawn = None;
                        self.stderr.write("\x1b[H\x1b[2J")?;
                    }
                    LineAction::TooLong => {
                        let most = human::bytes(INPUT_MAX as u64);
                        let text = format!(
                            "there is no room for more than {most}; put it into a file of the workspace"
                        );
                        sheet.tell(&text, self.stderr)?;
                    }
                }
            }
            sheet.show(self.columns(), self.stderr)?;
        }
    }

    /// Takes keys, or says why none can be typed: then they are once the command is in the foreground.
    fn open(&mut self) -> Result<bool, CommandFailure> {
        let is_open = self.keyboard.open_for_talk();
        if !is_open {
            self.stderr.write_text("! bring this command to the foreground to go on")?;
        }
        Ok(is_open)
    }

    fn columns(&mut self) -> usize {
        let columns = self.keyboard.columns().unwrap_or(USUAL_COLUMNS);
        self.stderr.width = self.stderr.width.map(|_| columns);
        columns
    }
}

/// The text of what was typed before it was asked for.
fn typed_ahead(bytes: &[u8]) -> String {
    let mut text = String::new();
    for stroke in KeyStrokeDecoder::default().decode(bytes) {
        match stroke {
            KeyStroke::Character(character) => text.push(character),
            KeyStroke::Pasted(pasted) => text.push_str(&pasted),
            KeyStroke::Enter | KeyStroke::NewLine => text.push('\n'),
            _ => {}
        }
    }
    text.trim_end_matches('\n').to_owned()
}

/// The line being typed, as it stands on the screen.
struct ChatLine {
    label: String,
    line: LineBuffer,
    drawn: Option<LineLayout>,
    /// Of the terminal when it was drawn.
    columns: usize,
}

impl ChatLine {
    fn show(&mut self, columns: usize, stderr: &mut OutputWriter) -> Result<(), CommandFailure> {
        let drawing = LineLayout::of(&self.label, self.line.text(), self.line.cursor(), columns);
        if self.drawn.as_ref() == Some(&drawing) && self.columns == columns {
            return Ok(());
        }
        let label = stderr.has_color.then_some((self.label.as_str(), TextColor::Cyan));
        stderr.write(&drawing.draw(self.drawn.as_ref(), columns, label))?;
        (self.drawn, self.columns) = (Some(drawing), columns);
        Ok(())
    }

    /// Leaves what stands there, with this behind it, and goes to the next row.
    fn leave(&mut self, mark: &str, stderr: &mut OutputWriter) -> Result<(), CommandFailure> {
        let leaves = self.drawn.take().map(|drawn| drawn.leave()).unwrap_or_default();
        stderr.write(&format!("{mark}{leaves}"))
    }

    fn finish(&mut self, text: &str, stderr: &mut OutputWriter) -> Result<ChatInput, CommandFailure> {
        // As it was when Enter was pressed, with the cursor at its end.
        let drawing = LineLayout::of(&self.label, text, text.len(), self.columns);
        let label = stderr.has_color.then_some((self.label.as_str(), TextColor::Cyan));
        stderr.write(&drawing.draw(self.drawn.as_ref(), self.columns, label))?;
        self.drawn = Some(drawing);
        self.leave("", stderr)?;
        Ok(ChatInput::Text(text.to_owned()))
    }

    /// Ctrl-C takes back what was typed, and tells how to leave where there is nothing to take back.
    fn interrupt(&mut self, stderr: &mut OutputWriter) -> Result<(), CommandFailure> {
        if !self.line.text().is_empty() {
            self.leave("^C", stderr)?;
            self.line.clear();
            return Ok(());
        }
        self.tell("/exit or Ctrl-D leaves", stderr)
    }

    fn erase(&mut self, stderr: &mut OutputWriter) -> Result<(), CommandFailure> {
        match self.drawn.take() {
            Some(drawn) => stderr.write(&drawn.erase(self.columns)),
            None => Ok(()),
        }
    }

    /// A line above the one being typed.
    fn tell(&mut self, text: &str, stderr: &mut OutputWriter) -> Result<(), CommandFailure> {
        self.erase(stderr)?;
        show_message(stderr, TextColor::Dim, "note", text);
        Ok(())
    }

    fn complete(
        &mut self,
        complete: &mut TabCompleter<'_>,
        stderr: &mut OutputWriter,
    ) -> Result<(), CommandFailure> {
        match complete(self.line.before_cursor()) {
            None => {}
            Some(TabCompletion::More(more)) => {
                self.line.insert(&more);
            }
            Some(TabCompletion::Several(words)) => {
                self.erase(stderr)?;
                let more = words.len().saturating_sub(LISTED_MAX);
                let mut listed = words.iter().take(LISTED_MAX).cloned().collect::<Vec<_>>().join("  ");
                if 0 < more {
                    listed.push_str(&format!("  … {more} more"));
                }
                for row in width::wrap(&safe_text::lines(&listed), self.columns.max(2) - 1) {
                    stderr.write(&format!("{row}\n"))?;
                }
            }
        }
        Ok(())
    }
}
