//! How many columns of a terminal does text take, and how is it made to fit?
//!
//! For text that is harmless already ([`safe_text`](super::safe_text)) and stands in one line.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// What stands for what was cut off.
const ELLIPSIS: char = '…';

/// Columns that the text takes.
pub(super) fn of(text: &str) -> usize {
    text.width()
}

/// Columns that the text takes at most: some terminals draw what joiners join as one picture, others piece by piece.
fn at_most(text: &str) -> usize {
    let in_pieces = text.chars().map(drawn_at_most).sum();
    of(text).max(in_pieces)
}

/// Columns that a character takes at most, drawn by itself. Terminals go by tables of their own: what ours give no column or one
/// can take two there. A row that is counted too narrow would be wrapped, or what stands at its end would not be seen.
fn drawn_at_most(character: char) -> usize {
    match character {
        // Joiners and selectors, which stand only between what they join (`safe_text`).
        '\u{200c}'..='\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => 0,
        // Marks above and below letters, of which every terminal knows that they take no room.
        '\u{300}'..='\u{36f}'
        | '\u{591}'..='\u{5bd}'
        | '\u{64b}'..='\u{65f}'
        | '\u{670}'
        | '\u{941}'..='\u{948}'
        | '\u{94d}'
        | '\u{e31}'
        | '\u{e34}'..='\u{e3a}'
        | '\u{e47}'..='\u{e4e}'
        | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20f0}'
        | '\u{fe20}'..='\u{fe2f}' => 0,
        // Pictures, also those that are newer than our tables.
        '\u{1f000}'..='\u{1fbff}' => 2,
        _ => match character.width() {
            Some(0) => 2,
            Some(columns) => columns,
            None => 0,
        },
    }
}

/// Columns that a row with our colours takes at most.
pub(super) fn of_painted(row: &str) -> usize {
    at_most(&without_colors(row))
}

/// The row without our colours. Words of others are harmless by now, so that every escape begins one of them.
pub(super) fn without_colors(row: &str) -> String {
    let mut pieces = row.split('\x1b');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |plain, piece| plain + piece.split_once('m').map_or("", |(_, text)| text))
}

/// The text in at most `columns`, with `…` for what is cut off.
pub(super) fn cut(text: &str, columns: usize) -> String {
    if at_most(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(1);
    let mut kept = String::new();
    for character in text.chars() {
        kept.push(character);
        // Measured as a whole: what a character adds depends on those before it.
        if room < at_most(&kept) {
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

/// The same, cut behind a word where one ends near there.
pub(super) fn cut_words(text: &str, columns: usize) -> String {
    let kept = cut(text, columns);
    let near = |(word, _): &(&str, &str)| of(&kept) <= of(word) + WORD_NEAR;
    match kept
        .strip_suffix(ELLIPSIS)
        .filter(|_| kept != text)
        .and_then(|kept| kept.rsplit_once(' '))
        .filter(near)
    {
        Some((words, _)) => format!("{} {ELLIPSIS}", words.trim_end()),
        None => kept,
    }
}

/// A word that ends so many columns before a cut is near it.
const WORD_NEAR: usize = 16;

/// The text in rows of at most `columns`, nothing left out; a character that is wider than that has a row of its own.
pub(super) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut rows = Vec::new();
    let mut row = String::new();
    for character in text.chars() {
        row.push(character);
        // Measured as a whole: what a character adds depends on those before it.
        if columns < at_most(&row) && row.len() > character.len_utf8() {
            row.pop();
            rows.push(std::mem::replace(&mut row, character.to_string()));
        }
    }
    rows.push(row);
    rows
}

/// The same, broken between words where that can be; blanks at a break are left out.
pub(super) fn wrap_words(text: &str, columns: usize) -> Vec<String> {
    let mut rows = Vec::new();
    let mut row = String::new();
    for word in text.split_inclusive(' ') {
        let longer = format!("{row}{word}");
        if at_most(longer.trim_end()) <= columns {
            row = longer;
            continue;
        }
        // A word that is wider than all there is has to be broken anyway, also a sentence without blanks.
        let has_row_of_its_own = at_most(word.trim_end()) <= columns && !row.trim_end().is_empty();
        if has_row_of_its_own {
            rows.push(row.trim_end().to_owned());
            row = word.to_owned();
        } else {
            let mut parts = wrap(&longer, columns);
            row = parts.pop().unwrap_or_default();
            rows.append(&mut parts);
        }
    }
    rows.push(row.trim_end().to_owned());
    rows
}

/// The same where it matters how it is written: between words only if no blank but the one at a break is left out.
pub(super) fn wrap_exactly(text: &str, columns: usize) -> Vec<String> {
    if text.contains("  ") { wrap(text, columns) } else { wrap_words(text, columns) }
}

/// The end of the text that fits into `columns`, with `…` before it for what is cut off.
pub(super) fn cut_front(text: &str, columns: usize) -> String {
    if at_most(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(1);
    let starts = text.char_indices().map(|(start, _)| start);
    let start = starts.into_iter().find(|start| at_most(&text[*start..]) <= room).unwrap_or(text.len());
    if columns == 0 { String::new() } else { format!("{ELLIPSIS}{}", &text[start..]) }
}

/// Both ends of the text in at most `columns`, with `…` for what is left out between them.
pub(super) fn cut_middle(text: &str, columns: usize) -> String {
    if at_most(text) <= columns {
        return text.to_owned();
    }
    let first = cut(text, columns.div_ceil(2));
    let first = first.trim_end_matches(ELLIPSIS);
    format!("{first}{}", cut_front(text, columns.saturating_sub(at_most(first))))
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
    fn what_a_terminal_may_draw_wider_is_counted_wider() {
        // Vowels that stand beside their letter, medial Jamo, tone marks: no column by our tables, one or two in terminals.
        for mark in [
            '\u{9be}',
            '\u{bbe}',
            '\u{ccb}',
            '\u{1b44}',
            '\u{302e}',
            '\u{a9c0}',
            '\u{111c0}',
            '\u{16ff0}',
            '\u{1161}',
        ] {
            let rows = wrap(&mark.to_string().repeat(80), 40);
            assert!(rows.iter().all(|row| row.chars().count() <= 20), "{mark:?}");
        }
        assert!(wrap(&"\u{1f1e9}".repeat(40), 40).len() > 1);
        assert_eq!(wrap("a\u{300}\u{301}\u{302}bc", 3).len(), 1);
    }

    #[test]
    fn wrapped_rows_fit_and_lose_nothing() {
        let text = "e\u{301}日本語 abc 👩\u{200d}👧 end";
        for columns in 2..30 {
            let rows = wrap(text, columns);
            assert_eq!(rows.concat(), text, "{columns}");
            assert!(rows.iter().all(|row| at_most(row) <= columns), "{columns}: {rows:?}");
        }
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(wrap("日日", 1), ["日", "日"]);
    }

    #[test]
    fn words_are_broken_only_where_one_is_too_wide() {
        assert_eq!(wrap_words("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap_words("  1  one two", 9), ["  1  one", "two"]);
        assert_eq!(wrap_words("a /very/long/path b", 6), ["a /ver", "y/long", "/path", "b"]);
        assert_eq!([wrap_words("", 5), wrap_words("日本 日本", 4)], [vec![""], vec!["日本", "日本"]]);
        for columns in 2..30 {
            let rows = wrap_words("e\u{301}日本語 abc 👩\u{200d}👧  end of it", columns);
            assert_eq!(rows.concat().replace(' ', ""), "e\u{301}日本語abc👩\u{200d}👧endofit", "{columns}");
            assert!(rows.iter().all(|row| at_most(row) <= columns), "{columns}: {rows:?}");
        }
    }

    #[test]
    fn the_end_of_what_is_typed_stays_in_sight() {
        assert_eq!([cut_front("abcdef", 6), cut_front("abcdefg", 6)], ["abcdef", "…cdefg"]);
        assert_eq!([cut_front("日本語", 4), cut_front("ab", 1), cut_front("ab", 0)], ["…語", "…", ""]);
    }

    #[test]
    fn of_what_is_cut_in_the_middle_both_ends_stay() {
        assert_eq!([cut_middle("abcdef", 6), cut_middle("abcdefg", 6)], ["abcdef", "ab…efg"]);
        let text = "a日👩\u{200d}👧 end 日本語";
        for columns in 0..20 {
            assert!(
                at_most(&cut_middle(text, columns)) <= columns,
                "{columns}: {:?}",
                cut_middle(text, columns)
            );
        }
    }

    #[test]
    fn what_is_cut_ends_with_a_word_where_one_is_near() {
        for (text, columns, expected) in [
            ("one two three", 13, "one two three"),
            ("one two three", 12, "one two …"),
            ("one two three", 8, "one …"),
            ("a-single-long-word", 8, "a-singl…"),
            ("one a-very-long-word-without-blanks-in-it", 32, "one a-very-long-word-without-bl…"),
        ] {
            assert_eq!(cut_words(text, columns), expected, "{text} {columns}");
            assert!(of(&cut_words(text, columns)) <= columns);
        }
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
