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

/// The text in rows of at most `columns`, nothing left out; a character that is wider than that has a row of its own.
pub(super) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut rows = Vec::new();
    let mut row = String::new();
    for character in text.chars() {
        row.push(character);
        // Measured as a whole: what a character adds depends on those before it.
        if columns < of(&row) && row.len() > character.len_utf8() {
            row.pop();
            rows.push(std::mem::replace(&mut row, character.to_string()));
        }
    }
    rows.push(row);
    rows
}

/// The end of the text that fits into `columns`, with `…` before it for what is cut off.
pub(super) fn cut_front(text: &str, columns: usize) -> String {
    if of(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(1);
    let starts = text.char_indices().map(|(start, _)| start);
    let start = starts.into_iter().find(|start| of(&text[*start..]) <= room).unwrap_or(text.len());
    if columns == 0 { String::new() } else { format!("{ELLIPSIS}{}", &text[start..]) }
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
    fn wrapped_rows_fit_and_lose_nothing() {
        let text = "e\u{301}日本語 abc 👩\u{200d}👧 end";
        for columns in 2..30 {
            let rows = wrap(text, columns);
            assert_eq!(rows.concat(), text, "{columns}");
            assert!(rows.iter().all(|row| of(row) <= columns), "{columns}: {rows:?}");
        }
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(wrap("日日", 1), ["日", "日"]);
    }

    #[test]
    fn the_end_of_what_is_typed_stays_in_sight() {
        assert_eq!([cut_front("abcdef", 6), cut_front("abcdefg", 6)], ["abcdef", "…cdefg"]);
        assert_eq!([cut_front("日本語", 4), cut_front("ab", 1), cut_front("ab", 0)], ["…語", "…", ""]);
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
