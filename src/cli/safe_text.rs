//! How do words of models, tools and files get onto a terminal without steering it?

use std::fmt::Write;

/// Characters that act instead of showing: C0 and C1 controls, DEL, the marks and overrides of direction that make text
/// read other than it is written, separators that are line ends to some, and whatever Unicode lets a terminal leave out
/// (`Default_Ignorable_Code_Point`). Terminals disagree about how much room the last ones take, so that a row of them could
/// push what stands above it out of sight.
fn acts(character: char) -> bool {
    matches!(
        character,
        '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}'
    )
}

/// Joiners and selectors of a variant. Scripts and emoji need them between their own characters. Elsewhere they hide, and a
/// terminal may join what follows with something else: the next row's first sign, say.
fn joins(character: char) -> bool {
    matches!(character, '\u{200c}'..='\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Whether a joiner or selector stands where a script or an emoji needs it.
fn is_joined(before: Option<char>, joiner: char, after: Option<char>) -> bool {
    let is_wide_script = |character: char| !character.is_ascii() && !acts(character) && !joins(character);
    let is_selector = !matches!(joiner, '\u{200c}'..='\u{200d}');
    // A selector may stand between a picture and its joiner.
    before.is_some_and(|it| is_wide_script(it) || (!is_selector && matches!(it, '\u{fe00}'..='\u{fe0f}')))
        && (is_selector || after.is_some_and(is_wide_script))
}

/// Text of many lines: newlines and tabs stay, carriage returns go, what acts is shown as a sign.
pub(super) fn lines(text: &str) -> String {
    // Half of a line's end, or a way to overwrite what stands there.
    shown(text.chars().filter(|it| *it != '\r'), |it| matches!(it, '\n' | '\t'))
}

/// The characters, what acts or hides as a sign; `stays` names those that are to be left alone.
fn shown(characters: impl Iterator<Item = char>, stays: impl Fn(char) -> bool) -> String {
    let mut safe = String::new();
    let mut before = None;
    let mut characters = characters.peekable();
    while let Some(character) = characters.next() {
        match character {
            _ if stays(character) => safe.push(character),
            _ if joins(character) && !is_joined(before, character, characters.peek().copied()) => {
                push_sign(&mut safe, character);
            }
            _ => push_visible(&mut safe, character),
        }
        before = Some(character);
    }
    safe
}

/// Rows of a command. A blank behind a `\` has the line end there, and here-documents end at a line that is their end to the letter:
/// so a tab, and blanks at a row's end, are told apart from what looks like them.
pub(super) fn command_rows(command: &str) -> impl Iterator<Item = String> {
    command.split_terminator('\n').map(|row| {
        let text = row.trim_end_matches([' ', '\t']);
        let mut shown: String = rows(&text.replace('\t', DRAWN_TAB)).collect();
        for blank in row[text.len()..].chars() {
            push_sign(&mut shown, blank);
        }
        shown
    })
}

/// Rows of what would run, with words around it: as [`exact`], but each end of a line is drawn and begins a row, so that neither a
/// blank nor a row that was only wrapped passes for one. A tab, and blanks at a line's end, are told apart as in [`command_rows`].
pub(super) fn written(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.split_terminator('\n').collect();
    let last = lines.len().saturating_sub(1);
    let rows = lines.into_iter().enumerate().map(|(at, line)| {
        let held = line.trim_end_matches([' ', '\t']);
        let mut safe = String::new();
        for character in held.chars() {
            match character {
                '\t' => safe.push_str(DRAWN_TAB),
                DRAWN_END => push_sign(&mut safe, character),
                _ if joins(character) || is_odd_blank(character) => push_sign(&mut safe, character),
                _ => push_visible(&mut safe, character),
            }
        }
        for blank in line[held.len()..].chars() {
            push_sign(&mut safe, blank);
        }
        if at < last {
            safe.push(DRAWN_END);
        }
        safe
    });
    rows.collect()
}

/// The end of a line, drawn where it matters that it is one.
const DRAWN_END: char = '⏎';

/// A tab, drawn where it matters that it is one.
const DRAWN_TAB: &str = "→   ";

/// Rows of something that is judged by how it is written, e.g. a diff: tabs become blanks, so that widths can be told,
/// and a carriage return is shown like all else that acts. So is a blank that is no space: to a shell it is part of a word.
pub(super) fn rows(text: &str) -> impl Iterator<Item = String> {
    text.split_terminator('\n').map(|row| {
        let mut safe = String::new();
        for character in shown(row.replace('\t', TAB).chars(), |_| false).chars() {
            if is_odd_blank(character) { push_sign(&mut safe, character) } else { safe.push(character) }
        }
        safe
    })
}

/// Whether a character looks like a space, or like nothing, and is another one.
fn is_odd_blank(character: char) -> bool {
    let looks_blank = matches!(character, '\u{2800}' | '\u{13441}'..='\u{13442}' | '\u{16fe4}' | '\u{1d159}');
    looks_blank || (character != ' ' && character.is_whitespace())
}

/// What a tab is drawn as. Not to the next stop: rows have signs before them that would shift it.
const TAB: &str = "    ";

/// One line of at most `limit` characters: all white space becomes a blank, the rest is cut with `…`.
pub(super) fn line(text: &str, limit: usize) -> String {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut safe = shown(joined.chars().take(limit), |_| false);
    if joined.chars().nth(limit).is_some() {
        safe.push('…');
    }
    safe
}

/// One line of a text that may quote others: lines are joined by a blank, and blanks within them stay as many as they are.
pub(super) fn joined_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    shown(lines.join(" ").chars().map(|it| if it == '\t' { ' ' } else { it }), |_| false)
}

/// One line of something that is judged by how it is written, e.g. a file's name: as [`line`], but blanks stay as many as they
/// are, and whatever could be taken for another or for nothing is shown as a sign.
pub(super) fn exact(text: &str) -> String {
    let mut safe = String::new();
    for character in text.chars() {
        match character {
            '\n' | '\t' | '\r' => safe.push(' '),
            _ if joins(character) || is_odd_blank(character) => push_sign(&mut safe, character),
            _ => push_visible(&mut safe, character),
        }
    }
    safe.trim().to_owned()
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
        _ if acts(character) => push_sign(safe, character),
        _ => safe.push(character),
    }
}

fn push_sign(safe: &mut String, character: char) {
    // Writing to a string cannot fail.
    let _ = write!(safe, "<{:02X}>", u32::from(character));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_text_keeps_its_blanks_in_one_line() {
        let quoted = "changed \"def f():\\n    return 1\"\n\n  into\t\"x  y\" ";
        assert_eq!(joined_lines(quoted), "changed \"def f():\\n    return 1\" into \"x  y\"");
    }

    #[test]
    fn nothing_that_steers_a_terminal_gets_through() {
        let every: String = (0..=0x10_ffff).filter_map(char::from_u32).collect();
        assert!(!lines(&every).chars().any(|c| acts(c) && !matches!(c, '\n' | '\t')));
        // A row of what Unicode lets terminals leave out has as many columns as it has signs.
        assert_eq!(super::super::width::of(&line(&"\u{3164}".repeat(9), 9)), 9 * "<3164>".len());
        assert!(!line(&every, usize::MAX).chars().any(acts));
        assert!(!joined_lines(&every).chars().any(acts));
        assert!(!rows(&every).any(|row| row.chars().any(|c| acts(c) || is_odd_blank(c))));
        assert!(!exact(&every).chars().any(|c| acts(c) || joins(c) || c.is_whitespace() && c != ' '));
        assert!(
            !written(&every).concat().chars().any(|c| acts(c) || joins(c) || c.is_whitespace() && c != ' ')
        );
        assert!(!json(&every).chars().any(|c| acts(c) && c != '\n'));
    }

    /// Two commands that do different things are not drawn alike.
    #[test]
    fn blanks_at_the_end_of_a_row_of_a_command_and_tabs_are_shown() {
        let shown = |command: &str| command_rows(command).collect::<Vec<_>>();
        assert_eq!(shown("echo a \\ \ntouch x"), ["echo a \\<20>", "touch x"]);
        assert_eq!(shown("echo a \\\ntouch x"), ["echo a \\", "touch x"]);
        assert_eq!(
            shown("cat <<-E\n\tE\n    E\nE\t\n\n   \n"),
            ["cat <<-E", "→   E", "    E", "E<09>", "", "<20><20><20>"]
        );
    }

    #[test]
    fn no_line_of_what_runs_passes_for_a_comment_of_the_one_before() {
        assert_eq!(written("true # a\ntouch x\n"), ["true # a⏎", "touch x"]);
        assert_eq!(written("true # a touch x"), ["true # a touch x"]);
        assert_eq!(written("true #⏎touch\tx\r\n\u{2028} \n"), ["true #<23CE>touch→   x<0D>⏎", "<2028><20>"]);
    }

    #[test]
    fn escapes_are_shown_and_ordinary_text_is_kept() {
        assert_eq!(lines("a\x1b[31mb\r\n\tü\u{9b}2J\u{202e}"), "a^[[31mb\n\tü<9B>2J<202E>");
        assert_eq!(line("  two\n\nlines \x07 here", 12), "two lines ^G …");
        let shown: Vec<String> = rows("+a\tb\r\n\u{e0041}\u{200f}x\n").collect();
        assert_eq!(shown, ["+a    b^M", "<E0041><200F>x"]);
        // Joined, it is one picture; a family stays one.
        assert_eq!(line("👩\u{200d}👧 ❤\u{fe0f}\u{200d}🔥", 9), "👩\u{200d}👧 ❤\u{fe0f}\u{200d}🔥");
        assert_eq!(line("می\u{200c}خواهم", 9), "می\u{200c}خواهم");
    }

    #[test]
    fn what_hides_or_joins_where_nothing_needs_it_is_shown() {
        assert_eq!(line("\u{3164}\u{ffa0}\u{115f}\u{34f}x", 99), "<3164><FFA0><115F><34F>x");
        assert_eq!(lines("ab\u{200d}cd\n👧\u{200d}\nfile\u{fe0f}"), "ab<200D>cd\n👧<200D>\nfile<FE0F>");
        let shown: Vec<String> = rows("a\u{200d}\u{200d}b\nü\u{200d}\u{200d}ü").collect();
        assert_eq!(shown, ["a<200D><200D>b", "ü<200D><200D>ü"]);
        assert_eq!(exact(" a\u{a0}\u{3000}b  c\u{2800}.txt\n"), "a<A0><3000>b  c<2800>.txt");
        assert_eq!(exact("фа\u{200d}йл ❤\u{fe0f}"), "фа<200D>йл ❤<FE0F>");
    }

    #[test]
    fn json_means_the_same_after_escaping() {
        let value = serde_json::json!({"text": "\u{9b}31m\u{7f}\u{202e}\u{1b}\u{e0041}ok"});
        let escaped = json(&value.to_string());
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
    }
}
