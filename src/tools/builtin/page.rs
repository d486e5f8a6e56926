//! How is a long list cut to the model's budget, with a word on what is missing?

/// Room kept for the note that says what was cut.
const NOTE_CHARS: usize = 400;

/// Lines that are added until the budget is used up. Counts characters, as the setting does.
pub struct TextPage {
    text: String,
    left: usize,
}

impl TextPage {
    pub fn new(max_chars: usize) -> TextPage {
        TextPage { text: String::new(), left: max_chars.saturating_sub(NOTE_CHARS) }
    }

    /// Adds one line, whole; `false` = there is no room, and nothing was added.
    #[must_use]
    pub fn add(&mut self, line: &str) -> bool {
        // Perf: bytes bound characters, so most lines need no counting.
        let chars = if line.len() < self.left {
            line.chars().count()
        } else {
            line.chars().take(self.left + 1).count()
        };
        if self.left <= chars {
            return false;
        }
        self.left -= chars + 1;
        self.text.push_str(line);
        self.text.push('\n');
        true
    }

    /// Adds a line for which room was kept.
    pub fn note(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// The lines, without a line end after the last.
    pub fn into_text(mut self) -> String {
        self.text.truncate(self.text.trim_end_matches('\n').len());
        self.text
    }
}
