//! What of a stranger's text has no place in a text at all?
//!
//! Somebody who looks at a page sees none of it, and whoever reads it as text, a model or a person at a terminal, may be
//! steered by it.

/// Without letters that act instead of showing: controls but tabs and line ends, which all become `\n`; what turns the
/// direction of reading around; and signs that nobody sees, in which text can be hidden. Joiners and the unseen signs of
/// formulas stay: scripts, emoji and mathematics need them.
pub fn plain(text: String) -> String {
    let mut text = match text.contains('\r') {
        true => text.replace("\r\n", "\n").replace('\r', "\n"),
        false => text,
    };
    text.retain(|letter| !acts(letter));
    text
}

fn acts(letter: char) -> bool {
    matches!(
        letter,
        '\0'..='\x08' | '\x0b'..='\x1f' | '\x7f'..='\u{9f}' | '\u{61c}' | '\u{200e}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_goes_and_what_shows_stays() {
        let cases = [
            ("a\x1b[31mb\x07\0\x7f\u{9b}", "a[31mb"),
            ("a\tb\nc\r\nd\re\x0b\x0c", "a\tb\nc\nd\ne"),
            ("x\u{202e}y\u{200f}z\u{2066}\u{2069}\u{61c}", "xyz"),
            ("\u{feff}ab\u{206a}\u{e0041}\u{e007f}", "ab"),
            ("👩\u{200d}👧 می\u{200c}خواهم Grüße\u{a0}日本", "👩\u{200d}👧 می\u{200c}خواهم Grüße\u{a0}日本"),
        ];
        for (given, expected) in cases {
            assert_eq!(plain(given.to_owned()), expected, "{given:?}");
        }
        let every: String = (0..=0x10_ffff).filter_map(char::from_u32).collect();
        let steers = |letter: char| letter.is_control() && !"\t\n".contains(letter);
        assert!(!plain(every).chars().any(steers));
    }
}
