//! Which strokes of a line editor are in the bytes that a terminal sends? Pure: bytes in, strokes out.

/// What a terminal puts around a paste, behind `ESC [`.
const PASTE_BEGINS: &str = "200~";
const PASTE_ENDS: &str = "\x1b[201~";

/// A sequence of a key is a few characters; one that is longer is none.
const SEQUENCE_MAX: usize = 32;

/// What a person did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyStroke {
    Character(char),
    /// Any number of lines at once.
    Pasted(String),
    Enter,
    /// A new line in the text: Alt-Enter, or Shift-Enter where the terminal tells it.
    NewLine,
    Backspace,
    Delete,
    Left,
    Right,
    WordLeft,
    WordRight,
    Home,
    End,
    Up,
    Down,
    /// To the end, to the beginning of the line; the word before, the word after the cursor.
    CutToEnd,
    CutToStart,
    CutWord,
    CutWordAfter,
    /// What was cut last.
    Yank,
    Tab,
    /// Shift-Tab
    BackTab,
    /// Ctrl-D
    EndOfInput,
    /// Ctrl-L
    ClearScreen,
    /// A key, or something else that a terminal sends, that means nothing here. It was pressed all the same.
    Other,
}

/// Makes strokes of bytes, which may come in pieces.
#[derive(Default)]
pub(crate) struct KeyStrokeDecoder {
    /// The beginning of a character.
    bytes: Vec<u8>,
    /// The beginning of a sequence, or of the marks of a paste.
    text: String,
    /// What has come of a paste so far.
    paste: Option<String>,
}

impl KeyStrokeDecoder {
    /// Whether the rest of a key is to come.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.text.is_empty() && self.paste.is_none()
    }

    /// Whether an Escape stands alone: nothing came behind it. It is taken.
    pub(crate) fn take_escape(&mut self) -> bool {
        let is_alone = self.is_waiting() && self.text == "\x1b";
        if is_alone {
            self.text.clear();
        }
        is_alone
    }

    /// The strokes of one look at the keyboard, with one more for a key whose rest is to come: what came together with anything
    /// else is no lone key.
    pub(crate) fn look(&mut self, bytes: &[u8]) -> Vec<KeyStroke> {
        let mut strokes = self.decode(bytes);
        let is_within_key = !self.bytes.is_empty() || !self.text.is_empty() || self.paste.is_some();
        if !strokes.is_empty() && is_within_key {
            strokes.push(KeyStroke::Other);
        }
        strokes
    }

    /// Reads on; no bytes say that time has passed, after which an Escape stands alone.
    pub(crate) fn decode(&mut self, bytes: &[u8]) -> Vec<KeyStroke> {
        if bytes.is_empty() {
            if self.is_waiting() {
                self.text.clear();
            }
            return Vec::new();
        }
        self.bytes.extend_from_slice(bytes);
        self.take_characters();
        let text = std::mem::take(&mut self.text);
        let mut rest = text.as_str();
        let mut strokes = Vec::new();
        while !rest.is_empty() {
            let Some((length, stroke)) = self.read_one(rest) else {
                self.text = rest.to_owned();
                break;
            };
            rest = &rest[length..];
            strokes.extend(stroke);
        }
        strokes
    }

    /// Moves whole characters to the text; what is no text at all becomes a key that means nothing.
    fn take_characters(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        let mut rest = bytes.as_slice();
        loop {
            match std::str::from_utf8(rest) {
                Ok(text) => return self.text.push_str(text),
                Err(error) => {
                    let (whole, after) = rest.split_at(error.valid_up_to());
                    self.text.push_str(std::str::from_utf8(whole).unwrap_or_default());
                    match error.error_len() {
                        Some(length) => {
                            self.text.push('\0');
                            rest = &after[length..];
                        }
                        None => {
                            self.bytes = after.to_vec();
                            return;
                        }
                    }
                }
            }
        }
    }

    /// The first stroke, if it is one of ours, and how many bytes it takes; `None` = its end has not come.
    fn read_one(&mut self, text: &str) -> Option<(usize, Option<KeyStroke>)> {
        if self.paste.is_some() {
            return self.read_paste(text);
        }
        let mut characters = text.chars();
        let first = characters.next()?;
        if first != '\x1b' {
            return Some((first.len_utf8(), Some(control(first))));
        }
        match characters.next()? {
            '[' => {
                let body = &text[2..];
                let end = body.find(|c: char| matches!(c, '@'..='~'));
                let Some(end) = end else {
                    return (SEQUENCE_MAX < body.len()).then_some((text.len(), Some(KeyStroke::Other)));
                };
                let sequence = &body[..=end];
                if sequence == PASTE_BEGINS {
                    self.paste = Some(String::new());
                    return Some((2 + sequence.len(), None));
                }
                Some((2 + sequence.len(), Some(sequence_of(sequence))))
            }
            'O' => {
                let third = characters.next()?;
                Some((2 + third.len_utf8(), Some(sequence_of(third.encode_utf8(&mut [0; 4])))))
            }
            second => {
                let stroke = match second {
                    '\r' | '\n' => KeyStroke::NewLine,
                    'b' | 'B' => KeyStroke::WordLeft,
                    'f' | 'F' => KeyStroke::WordRight,
                    'd' | 'D' => KeyStroke::CutWordAfter,
                    '\x7f' | '\x08' => KeyStroke::CutWord,
                    // Two of them: the second may begin a sequence.
                    '\x1b' => return Some((1, Some(KeyStroke::Other))),
                    _ => KeyStroke::Other,
                };
                Some((1 + second.len_utf8(), Some(stroke)))
            }
        }
    }

    fn read_paste(&mut self, text: &str) -> Option<(usize, Option<KeyStroke>)> {
        let paste = self.paste.get_or_insert_default();
        if let Some(end) = text.find(PASTE_ENDS) {
            paste.push_str(&text[..end]);
            let pasted = self.paste.take().map(|pasted| KeyStroke::Pasted(plain(&pasted)));
            return Some((end + PASTE_ENDS.len(), pasted));
        }
        // The mark may be cut in its middle.
        let kept = (1..PASTE_ENDS.len()).rev().find(|length| text.ends_with(&PASTE_ENDS[..*length]));
        let taken = text.len() - kept.unwrap_or(0);
        paste.push_str(&text[..taken]);
        (0 < taken).then_some((taken, None))
    }
}

/// A pasted text as one that was typed: lines end as ours do, and nothing in it steers.
fn plain(pasted: &str) -> String {
    let lines = pasted.replace("\r\n", "\n").replace('\r', "\n");
    lines.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

fn control(character: char) -> KeyStroke {
    match character {
        '\r' | '\n' => KeyStroke::Enter,
        '\t' => KeyStroke::Tab,
        '\x7f' | '\x08' => KeyStroke::Backspace,
        '\x01' => KeyStroke::Home,
        '\x02' => KeyStroke::Left,
        '\x04' => KeyStroke::EndOfInput,
        '\x05' => KeyStroke::End,
        '\x06' => KeyStroke::Right,
        '\x0b' => KeyStroke::CutToEnd,
        '\x0c' => KeyStroke::ClearScreen,
        '\x0e' => KeyStroke::Down,
        '\x10' => KeyStroke::Up,
        '\x15' => KeyStroke::CutToStart,
        '\x17' => KeyStroke::CutWord,
        '\x19' => KeyStroke::Yank,
        _ if character.is_control() => KeyStroke::Other,
        _ => KeyStroke::Character(character),
    }
}

/// What stands behind `ESC [` or `ESC O`.
fn sequence_of(sequence: &str) -> KeyStroke {
    let is_modified = sequence.contains(';');
    match (sequence, sequence.chars().last().unwrap_or_default()) {
        ("13;2u" | "27;2;13~", _) => KeyStroke::NewLine,
        ("3~", _) => KeyStroke::Delete,
        ("1~" | "7~", _) | (_, 'H') => KeyStroke::Home,
        ("4~" | "8~", _) | (_, 'F') => KeyStroke::End,
        ("Z", _) => KeyStroke::BackTab,
        (_, 'A') => KeyStroke::Up,
        (_, 'B') => KeyStroke::Down,
        (_, 'C') if is_modified => KeyStroke::WordRight,
        (_, 'D') if is_modified => KeyStroke::WordLeft,
        (_, 'C') => KeyStroke::Right,
        (_, 'D') => KeyStroke::Left,
        _ => KeyStroke::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strokes(parts: &[&[u8]]) -> Vec<KeyStroke> {
        let mut strokes = KeyStrokeDecoder::default();
        parts.iter().flat_map(|part| strokes.decode(part)).collect()
    }

    #[test]
    fn keys_and_their_sequences_are_told_apart() {
        use KeyStroke::*;
        let expected = [
            Character('ü'),
            Up,
            Up,
            WordLeft,
            WordRight,
            WordLeft,
            Home,
            End,
            Delete,
            NewLine,
            NewLine,
            CutWord,
            Enter,
            EndOfInput,
        ];
        let typed = "ü\x1b[A\x1bOA\x1bb\x1b[1;5C\x1b[1;3D\x1b[H\x1b[4~\x1b[3~\x1b\r\x1b[13;2u\x17\r\x04";
        assert_eq!(strokes(&[typed.as_bytes()]), expected);
        // However it is cut, it is the same.
        let single: Vec<&[u8]> = typed.as_bytes().chunks(1).collect();
        assert_eq!(strokes(&single), expected);
        let none_of_ours = [Other, Other, Other, Other, Other, Character('a')];
        assert_eq!(strokes(&[b"\x1b[5~\x1bx\x07\xff\xfea"]), none_of_ours);
    }

    #[test]
    fn what_comes_together_with_anything_else_is_no_lone_key() {
        let count = |bytes: &[u8]| KeyStrokeDecoder::default().look(bytes).len();
        assert_eq!(count(b"y"), 1);
        assert_eq!(count("ü".as_bytes()), 1);
        assert_eq!(count(b"\x1b[A"), 1);
        // The terminal has the focus, a key that is no character, bytes that are none; before it and behind it.
        for other in [&b"\x1b[I"[..], b"\0", b"\xff", b"\x1bOP", b"\x1b[200~\x1b[201~", b"\x07"] {
            assert_eq!(count(&[other, b"y"].concat()), 2, "{other:?}");
            assert_eq!(count(&[b"y", other].concat()), 2, "{other:?}");
        }
        // The rest of it is to come.
        for other in [&b"\x1b"[..], b"\x1b[", b"\xc3", b"\x1b[200~", b"\x1b[200~x"] {
            assert_eq!(count(&[b"y", other].concat()), 2, "{other:?}");
        }
    }

    #[test]
    fn an_escape_that_stays_alone_is_nothing() {
        assert_eq!(strokes(&[b"\x1b", b"", b"b"]), [KeyStroke::Character('b')]);
        assert_eq!(strokes(&[b"\x1b\x1b[A"]), [KeyStroke::Other, KeyStroke::Up]);
        let endless = [&b"\x1b["[..], &[b';'; 40], b"x"].concat();
        assert_eq!(strokes(&[&endless]), [KeyStroke::Other]);
    }

    #[test]
    fn a_paste_is_one_stroke_however_it_comes() {
        let typed = "a\x1b[200~one\r\ntwo\rdrei\t\x07\x1b[31mü\x1b[201~\r";
        let pasted = KeyStroke::Pasted("one\ntwo\ndrei\t[31mü".into());
        let expected = [KeyStroke::Character('a'), pasted, KeyStroke::Enter];
        assert_eq!(strokes(&[typed.as_bytes()]), expected);
        let single: Vec<&[u8]> = typed.as_bytes().chunks(1).collect();
        assert_eq!(strokes(&single), expected);
    }
}
