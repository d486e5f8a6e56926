//! How many columns of a terminal does text take, and how is it made to fit?
//!
//! For text that is harmless already ([`safe_text`](super::safe_text)) and stands in one line.

use unicode_width::UnicodeWidthStr as _;

/// What stands for what was cut off.
const ELLIPSIS: char = '…';

/// Columns that the text takes.
pub(super) fn of(text: &str) -> usize {
    text.width()
}

/// The text in at most `columns`, with `…` for what is cut off.
pub(super) fn cut(text: &str, columns: usize) -> String {
    if of(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(1);
    let mut kept = String::new();
    for character in text.chars() {
        kept.push(character);
        // Measured as a whole: what a character adds depends on those before it.
        if room < of(&kept) {
            kept.pop();
            break;
        }
    }
    // A joiner would draw the sign for what is cut into the character before it.
    kept.truncate(kept.trim_end_matches('\u{200d}').len());
    if 0 < columns {
        kept.push(ELLIPSIS);
    }
    kept
}

/// The text with blanks after it, up to `columns`.
pub(super) fn pad(text: &str, columns: usize) -> String {
    let blanks = columns.saturating_sub(of(text));
    format!("{text}{}", " ".repeat(blanks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns_and_marks_none() {
        assert_eq!([of("abc"), of("日本語"), of("e\u{301}")], [3, 6, 1]);
        assert_eq!(pad("日本", 6), "日本  ");
        assert_eq!(pad("日本", 3), "日本");
    }

    #[test]
    fn what_is_cut_never_takes_more_than_its_columns() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
        // Half a character does not exist, so one column stays free.
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!([cut("ab", 1), cut("ab", 0)], ["…", ""]);
        let text = "e\u{301}日👩\u{200d}👩\u{200d}👧🇩🇪 end";
        for columns in 0..of(text) {
            assert!(of(&cut(text, columns)) <= columns, "{columns}: {:?}", cut(text, columns));
        }
    }
}
