//! What does a stroke make of the text that a person is typing? Pure: strokes in, text and cursor out.

use unicode_segmentation::UnicodeSegmentation as _;

use super::strokes::KeyStroke;

/// Bytes of one input; what is longer belongs into a file of the workspace.
pub(crate) const INPUT_MAX: usize = 256 << 10;

/// The text being typed, and where in it.
#[derive(Debug, Default)]
pub(crate) struct LineBuffer {
    text: String,
    /// Invariant: a byte of `text` where a character begins, or its end.
    cursor: usize,
    cut: String,
    /// Which earlier input stands here, and what was typed before it was looked for.
    recalled: Option<(usize, String)>,
}

/// What a stroke came to, beyond what it made of the text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LineAction {
    Nothing,
    /// The text is whole; it is taken out.
    Entered(String),
    Leaves,
    Completes,
    /// Back to the usual mode.
    LeavesMode,
    ClearsScreen,
    /// There is no room for that.
    TooLong,
}

impl LineBuffer {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// In bytes.
    pub(crate) fn cursor(&self) -> usize {
        self.cursor
    }

    pub(crate) fn before_cursor(&self) -> &str {
        &self.text[..self.cursor]
    }

    /// Takes everything back.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.cursor = 0;
        self.recalled = None;
    }

    /// Puts text where the cursor is; false when there is no room.
    pub(crate) fn insert(&mut self, text: &str) -> bool {
        if INPUT_MAX < self.text.len() + text.len() {
            return false;
        }
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
        true
    }

    /// `earlier` are earlier inputs, oldest first.
    pub(crate) fn press(&mut self, stroke: KeyStroke, earlier: &[String]) -> LineAction {
        let has_room = match stroke {
            KeyStroke::Character(character) => self.insert(character.encode_utf8(&mut [0; 4])),
            KeyStroke::Pasted(text) => self.insert(&text),
            KeyStroke::NewLine => self.insert("\n"),
            KeyStroke::Yank => {
                let cut = self.cut.clone();
                self.insert(&cut)
            }
            KeyStroke::Enter => return self.enter(),
            KeyStroke::EndOfInput if self.text.is_empty() => return LineAction::Leaves,
            KeyStroke::Tab => return LineAction::Completes,
            KeyStroke::BackTab => return LineAction::LeavesMode,
            KeyStroke::ClearScreen => return LineAction::ClearsScreen,
            other => {
                self.edit(&other, earlier);
                true
            }
        };
        if has_room { LineAction::Nothing } else { LineAction::TooLong }
    }

    /// A backslash at the end asks for another line; two of them are one that is meant.
    fn enter(&mut self) -> LineAction {
        let backslashes = self.text.len() - self.text.trim_end_matches('\\').len();
        if self.cursor == self.text.len() && backslashes % 2 == 1 {
            self.text.pop();
            self.text.push('\n');
            return LineAction::Nothing;
        }
        if self.text.trim().is_empty() {
            self.clear();
            return LineAction::Nothing;
        }
        let text = std::mem::take(&mut self.text);
        self.clear();
        LineAction::Entered(text)
    }

    fn edit(&mut self, stroke: &KeyStroke, earlier: &[String]) {
        match stroke {
            KeyStroke::Left => self.cursor = self.character_before(),
            KeyStroke::Right => self.cursor = self.character_after(),
            KeyStroke::WordLeft => self.cursor = self.word_before(char::is_alphanumeric),
            KeyStroke::WordRight => self.cursor = self.word_after(),
            KeyStroke::Home => self.cursor = self.line_start(),
            KeyStroke::End => self.cursor = self.line_end(),
            KeyStroke::Up => self.up(earlier),
            KeyStroke::Down => self.down(earlier),
            KeyStroke::Backspace => self.remove(self.character_before(), self.cursor, false),
            KeyStroke::Delete | KeyStroke::EndOfInput => {
                self.remove(self.cursor, self.character_after(), false)
            }
            KeyStroke::CutToStart => self.remove(self.line_start(), self.cursor, true),
            KeyStroke::CutToEnd => self.remove(self.cursor, self.line_end(), true),
            KeyStroke::CutWord => self.remove(self.word_before(|c| !c.is_whitespace()), self.cursor, true),
            KeyStroke::CutWordAfter => self.remove(self.cursor, self.word_after(), true),
            _ => {}
        }
    }

    fn remove(&mut self, from: usize, to: usize, is_cut: bool) {
        let removed: String = self.text.drain(from..to).collect();
        self.cursor = from;
        if is_cut && !removed.is_empty() {
            self.cut = removed;
        }
    }

    /// What a person sees as one character may be several: letters with marks, families, flags.
    fn character_before(&self) -> usize {
        self.before_cursor().grapheme_indices(true).next_back().map_or(0, |(start, _)| start)
    }

    fn character_after(&self) -> usize {
        self.cursor + self.text[self.cursor..].graphemes(true).next().map_or(0, str::len)
    }

    fn word_before(&self, is_of_word: fn(char) -> bool) -> usize {
        let before = self.before_cursor().trim_end_matches(|c| !is_of_word(c));
        before.trim_end_matches(is_of_word).len()
    }

    fn word_after(&self) -> usize {
        let after = &self.text[self.cursor..];
        let rest = after.trim_start_matches(|c: char| !c.is_alphanumeric());
        self.text.len() - rest.trim_start_matches(char::is_alphanumeric).len()
    }

    fn line_start(&self) -> usize {
        self.before_cursor().rfind('\n').map_or(0, |newline| newline + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |offset| self.cursor + offset)
    }

    /// To the line above, or to an earlier input where there is none.
    fn up(&mut self, earlier: &[String]) {
        let start = self.line_start();
        if start == 0 {
            let newest = self.recalled.as_ref().map_or(earlier.len(), |(index, _)| *index);
            if let Some(index) = newest.checked_sub(1).filter(|index| *index < earlier.len()) {
                self.recall(index, &earlier[index]);
            }
            return;
        }
        let column = self.column();
        let above = self.text[..start - 1].rfind('\n').map_or(0, |newline| newline + 1);
        self.cursor = self.place(above, start - 1, column);
    }

    fn down(&mut self, earlier: &[String]) {
        let end = self.line_end();
        if end == self.text.len() {
            let Some((index, draft)) = self.recalled.take() else { return };
            match earlier.get(index + 1) {
                Some(text) => {
                    self.recalled = Some((index, draft));
                    self.recall(index + 1, text);
                }
                None => self.set(draft),
            }
            return;
        }
        let column = self.column();
        let below = self.text[end + 1..].find('\n').map_or(self.text.len(), |offset| end + 1 + offset);
        self.cursor = self.place(end + 1, below, column);
    }

    fn recall(&mut self, index: usize, text: &str) {
        let draft = self.recalled.take().map_or_else(|| self.text.clone(), |(_, draft)| draft);
        self.set(text.to_owned());
        self.recalled = Some((index, draft));
    }

    fn set(&mut self, text: String) {
        self.cursor = text.len();
        self.text = text;
    }

    /// Characters before the cursor in its line.
    fn column(&self) -> usize {
        self.text[self.line_start()..self.cursor].graphemes(true).count()
    }

    /// So many characters into the line between these places, or its end.
    fn place(&self, start: usize, end: usize, column: usize) -> usize {
        let places = self.text[start..end].grapheme_indices(true).map(|(offset, _)| start + offset);
        places.chain([end]).nth(column).unwrap_or(end)
    }
}

#[cfg(test)]
mod tests;
