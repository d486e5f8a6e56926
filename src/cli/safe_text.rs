//! How do words of models, tools and files get onto a terminal without steering it?

use std::fmt::Write;

/// Characters that act instead of showing: C0 and C1 controls, DEL, the marks and overrides of direction that make text
/// read other than it is written, separators that are line ends to some, and what takes no room at all. Joiners stay:
/// scripts and emoji need them.
fn acts(character: char) -> bool {
    matches!(
        character,
        '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}'
    )
}

/// Text of many lines: newlines and tabs stay, carriage returns go, what acts is shown as a sign.
pub(super) fn lines(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => safe.push(character),
            // Half of a line's end, or a way to overwrite what stands there.
            '\r' => {}
            _ => push_visible(&mut safe, character),
        }
    }
    safe
}

/// Rows of something that is judged by how it is written, e.g. a diff: tabs become blanks, so that widths can be told,
/// and a carriage return is shown like all else that acts.
pub(super) fn rows(text: &str) -> impl Iterator<Item = String> {
    text.split_terminator('\n').map(|row| {
        let mut safe = String::with_capacity(row.len());
        for character in row.chars() {
            match character {
                '\t' => safe.push_str(TAB),
                _ => push_visible(&mut safe, character),
            }
        }
        safe
    })
}

/// What a tab is drawn as. Not to the next stop: rows have signs before them that would shift it.
const TAB: &str = "    ";

/// One line of at most `limit` characters: all white space becomes a blank, the rest is cut with `…`.
pub(super) fn line(text: &str, limit: usize) -> String {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut safe = String::new();
    for (index, character) in joined.chars().enumerate() {
        if index >= limit {
            safe.push('…');
            break;
        }
        push_visible(&mut safe, character);
    }
    safe
}

/// JSON stays the same JSON: what acts can only stand inside strings, where an escape means the same.
pub(super) fn json(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '\n' => safe.push(character),
            _ if acts(character) => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    // Writing to a string cannot fail.
                    let _ = write!(safe, "\\u{unit:04x}");
                }
            }
            _ => safe.push(character),
        }
    }
    safe
}

fn push_visible(safe: &mut String, character: char) {
    match character {
        '\0'..='\x1f' => {
            safe.push('^');
            // The signs that terminals use: ESC is `^[`.
            safe.push(char::from(b'@' + character as u8));
        }
        '\x7f' => safe.push_str("^?"),
        _ if acts(character) => {
            // Writing to a string cannot fail.
            let _ = write!(safe, "<{:02X}>", u32::from(character));
        }
        _ => safe.push(character),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_gets_through() {
        let every: String = (0..=0x10_ffff).filter_map(char::from_u32).collect();
        assert!(!lines(&every).chars().any(|c| acts(c) && !matches!(c, '\n' | '\t')));
        assert!(!line(&every, usize::MAX).chars().any(acts));
        assert!(!rows(&every).any(|row| row.chars().any(acts)));
        assert!(!json(&every).chars().any(|c| acts(c) && c != '\n'));
    }

    #[test]
    fn escapes_are_shown_and_ordinary_text_is_kept() {
        assert_eq!(lines("a\x1b[31mb\r\n\tü\u{9b}2J\u{202e}"), "a^[[31mb\n\tü<9B>2J<202E>");
        assert_eq!(line("  two\n\nlines \x07 here", 12), "two lines ^G …");
        let shown: Vec<String> = rows("+a\tb\r\n\u{e0041}\u{200f}x\n").collect();
        assert_eq!(shown, ["+a    b^M", "<E0041><200F>x"]);
        // Joined, it is one picture; a family stays one.
        assert_eq!(line("👩\u{200d}👧", 9), "👩\u{200d}👧");
    }

    #[test]
    fn json_means_the_same_after_escaping() {
        let value = serde_json::json!({"text": "\u{9b}31m\u{7f}\u{202e}\u{1b}\u{e0041}ok"});
        let escaped = json(&value.to_string());
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
    }
}
