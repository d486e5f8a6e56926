//! How do lines, streamed text and a spinner share one terminal, or a plain pipe?

use std::{collections::VecDeque, time::Duration};

use super::{OutputWriter, human, text_color::TextColor, width};

/// Erases the line the cursor is in.
const ERASE_LINE: &str = "\r\x1b[2K";
/// While the status is drawn the terminal cuts it at its edge; wrapped, it could not be erased again.
pub(super) const WRAP_OFF: &str = "\x1b[?7l";
pub(super) const WRAP_ON: &str = "\x1b[?7h";

/// The spinner's pictures, one after the other.
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// How long each is shown.
pub(super) const FRAME_TIME: Duration = Duration::from_millis(100);

/// What sets off the rows of a sentence that is broken.
const MARGIN: &str = "  ";

/// A terminal that is narrower than this breaks lines by itself.
const NARROW: usize = 20;

/// Lines that are held back at most while something is asked; of more, the oldest are left out, which is said.
const HELD_MAX: usize = 1_000;

/// Stderr, for progress. Failed writes are ignored: a run does not end because nobody watches.
pub(super) struct ProgressScreen<'output> {
    output: &'output mut OutputWriter,
    /// Streamed text stands in the cursor's line.
    is_mid_line: bool,
    /// The status, or what is asked, stands in the cursor's line.
    has_status: bool,
    /// The line in which what is asked is answered. It stays the last one until it is taken away.
    prompt: Option<String>,
    /// What is asked: rows that stand above the prompt and go with it. Empty on a terminal that cannot erase.
    panel: Vec<String>,
    /// Lines that wait until nothing is asked any more: they would push what is asked out of sight.
    held: VecDeque<String>,
    /// So many more were left out.
    left_out: usize,
}

impl<'output> ProgressScreen<'output> {
    pub(super) fn new(output: &'output mut OutputWriter) -> ProgressScreen<'output> {
        let (prompt, panel, held) = (None, Vec::new(), VecDeque::new());
        ProgressScreen { output, is_mid_line: false, has_status: false, prompt, panel, held, left_out: 0 }
    }

    /// Whether text can be streamed and a spinner shown.
    pub(super) fn is_live(&self) -> bool {
        self.output.is_live
    }

    /// Whether text may be shown while it is written: not while something is asked, which would be lost in it.
    pub(super) fn can_stream(&self) -> bool {
        self.is_live() && self.prompt.is_none()
    }

    /// The terminal has another width by now.
    pub(super) fn resize(&mut self, columns: usize) {
        self.output.width = self.output.width.map(|_| columns);
    }

    /// Of the terminal, if it is one.
    pub(super) fn columns(&self) -> Option<usize> {
        self.output.width
    }

    pub(super) fn has_color(&self) -> bool {
        self.output.has_color
    }

    /// Puts these rows, already harmless, above the prompt in place of those that stand there; they go with it. A terminal
    /// that cannot erase keeps them. The prompt is taken away until it is put there the next time.
    pub(super) fn panel(&mut self, rows: Vec<String>) {
        if !self.is_live() {
            return rows.iter().for_each(|row| self.line_now(row));
        }
        let erased = self.lift();
        self.panel = rows;
        let drawn = self.panel_text();
        self.put(&format!("{erased}{drawn}"));
    }

    /// The screen is another's since the panel was drawn, so that it cannot be found there: it stays where it is.
    pub(super) fn leave_panel(&mut self) {
        self.panel.clear();
    }

    /// What takes away the prompt or status and the panel above it, and ends a line of streamed text.
    fn lift(&mut self) -> String {
        let has_status = std::mem::take(&mut self.has_status);
        let mut orders = match (self.panel.is_empty(), has_status) {
            (true, false) => String::new(),
            (true, true) => ERASE_LINE.to_owned(),
            (false, _) => {
                // A terminal that became narrower broke rows in two.
                let columns = self.columns().unwrap_or(usize::MAX).max(1);
                let broken = |row: &str| width::of(&width::without_colors(row)).saturating_sub(1) / columns;
                let last = self.prompt.as_deref().filter(|_| has_status).map_or(0, broken);
                let above: usize = self.panel.iter().map(|row| 1 + broken(row)).sum();
                format!("\x1b[{}A\r\x1b[J", above.saturating_add(last))
            }
        };
        if std::mem::take(&mut self.is_mid_line) {
            orders.push('\n');
        }
        orders
    }

    /// The rows of the panel, each cut by the terminal at its edge: a row that it counts wider than we do must not become two,
    /// which would push the rows above it out of sight.
    fn panel_text(&self) -> String {
        if self.panel.is_empty() {
            return String::new();
        }
        let rows: String = self.panel.iter().map(|row| format!("{row}\n")).collect();
        format!("{WRAP_OFF}{rows}{WRAP_ON}")
    }

    /// Puts the line in which one answers, already harmless, below all others; `None` takes it away, and the panel with it.
    pub(super) fn prompt(&mut self, prompt: Option<String>) {
        let is_gone = prompt.is_none() && self.panel.is_empty();
        if self.prompt == prompt && (is_gone || self.has_status || self.is_mid_line) {
            return;
        }
        // A terminal that cannot erase gets what was typed after what stands there.
        let stands_there = self.prompt.as_deref().filter(|_| !self.is_live() && self.is_mid_line);
        let more = stands_there.and_then(|old| prompt.as_ref()?.strip_prefix(old)).map(str::to_owned);
        match more {
            Some(more) => {
                self.prompt = prompt;
                self.put(&more);
            }
            None if prompt.is_some() => {
                self.break_line();
                self.prompt = prompt;
                self.draw_prompt();
            }
            None => {
                let erased = self.lift();
                self.put(&erased);
                self.panel.clear();
                self.prompt = None;
                self.release();
            }
        }
    }

    fn draw_prompt(&mut self) {
        let Some(prompt) = self.prompt.clone().filter(|_| !self.is_mid_line && !self.has_status) else {
            return;
        };
        if self.is_live() {
            self.put(&format!("{ERASE_LINE}{WRAP_OFF}{prompt}{WRAP_ON}"));
            self.has_status = true;
        } else {
            self.put(&prompt);
            self.is_mid_line = true;
        }
    }

    pub(super) fn paint(&self, ink: TextColor, text: &str) -> String {
        if self.output.has_color { ink.paint(text) } else { text.to_owned() }
    }

    /// One whole line, already harmless. While something is asked it waits.
    pub(super) fn line(&mut self, line: &str) {
        if self.prompt.is_none() {
            return self.line_now(line);
        }
        if HELD_MAX <= self.held.len() {
            self.held.pop_front();
            self.left_out = self.left_out.saturating_add(1);
        }
        self.held.push_back(line.to_owned());
    }

    /// Shows the lines that waited.
    fn release(&mut self) {
        let left_out = std::mem::take(&mut self.left_out);
        if 0 < left_out {
            let text = format!("… {} left out while you were asked", human::count(left_out as u64, "line"));
            self.line_now(&self.paint(TextColor::Dim, &text));
        }
        for line in std::mem::take(&mut self.held) {
            self.line_now(&line);
        }
    }

    /// One whole line, already harmless, at once: above what is asked.
    pub(super) fn line_now(&mut self, line: &str) {
        let erased = self.lift();
        let panel = self.panel_text();
        self.put(&format!("{erased}{line}\n{panel}"));
        self.draw_prompt();
    }

    /// A sentence, already harmless and without colours, at once: broken between words, with later rows set off.
    pub(super) fn sentence_now(&mut self, text: &str) {
        let rows = match self.columns().filter(|columns| NARROW < *columns) {
            Some(columns) => width::wrap_words(text, columns.saturating_sub(MARGIN.len())),
            None => vec![text.to_owned()],
        };
        let rows = rows.join(&format!("\n{MARGIN}"));
        // The sign before it is what has a colour.
        match rows.strip_prefix("! ").map(|rest| format!("{} {rest}", self.paint(TextColor::Yellow, "!"))) {
            Some(painted) => self.line_now(&painted),
            None => self.line_now(&rows),
        }
    }

    /// More of a streamed text, already harmless.
    pub(super) fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.prompt.is_some() && self.is_live() {
            return text.lines().for_each(|line| self.line(line));
        }
        self.clear_status();
        self.put(text);
        self.is_mid_line = !text.ends_with('\n');
    }

    /// Ends the line of streamed text, and takes the status away.
    pub(super) fn break_line(&mut self) {
        self.clear_status();
        if std::mem::take(&mut self.is_mid_line) {
            self.put("\n");
        }
    }

    /// Draws the spinner with what is going on; text being streamed is movement enough.
    pub(super) fn status(&mut self, activity: &str, elapsed: Duration) {
        if self.prompt.is_some() {
            return self.draw_prompt();
        }
        if !self.is_live() || self.is_mid_line {
            return;
        }
        let frame = elapsed.as_millis() / FRAME_TIME.as_millis() % FRAMES.len() as u128;
        // The remainder is below the number of frames.
        let picture = FRAMES[frame as usize];
        let time = format!(" · {}", human::ticking(elapsed));
        // What moves is the time: it stays in sight.
        let room = self.columns().map_or(usize::MAX, |columns| columns.saturating_sub(2 + width::of(&time)));
        let text = format!("{picture} {}{time}", width::cut_words(activity, room));
        let text = self.paint(TextColor::Dim, &text);
        self.put(&format!("{ERASE_LINE}{WRAP_OFF}{text}{WRAP_ON}"));
        self.has_status = true;
    }

    fn clear_status(&mut self) {
        if std::mem::take(&mut self.has_status) {
            self.put(ERASE_LINE);
        }
    }

    fn put(&mut self, text: &str) {
        // A program reads the result; progress is for whoever sits there.
        if self.output.is_for_programs && !self.output.is_terminal {
            return;
        }
        let _ = self.output.write(text);
    }
}

impl Drop for ProgressScreen<'_> {
    fn drop(&mut self) {
        self.prompt = None;
        self.panel.clear();
        self.break_line();
        self.release();
    }
}
