//! How are lines for people broken where a terminal ends, when they are not to be broken in the middle of a word?
//!
//! For lines that are harmless already ([`safe_text`](super::safe_text)); they may have our colours.

use super::width;

/// What sets off the rows of a line that is broken.
const INDENT: usize = 2;

/// A line that begins with so many blanks goes on below a label: its later rows stand under its first one.
const BELOW_LABEL: usize = 8;

/// Columns of a label and of the blanks after it at most; of what is longer the later rows are only set off.
const LABEL_COLUMNS_MAX: usize = 24;

/// A terminal that is narrower than this breaks lines by itself.
const NARROW: usize = 20;

/// Lines as a terminal of so many columns shows them, broken between words. What is broken goes on below the words before it:
/// of `label  value` below the value. A word that is wider than the terminal stays whole, so that a path or an address can be
/// copied.
pub(super) fn filled(text: &str, columns: Option<usize>) -> String {
    let Some(columns) = columns.filter(|columns| NARROW < *columns) else { return text.to_owned() };
    text.split_inclusive('\n').map(|line| broken(line, columns)).collect()
}

fn broken(line: &str, columns: usize) -> String {
    // Where a tab leads is for the terminal to know.
    if width::of_painted(line.trim_end()) <= columns || line.contains('\t') {
        return line.to_owned();
    }
    let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
    let (set_off, below) = indents(&width::without_colors(line));
    let mut rows = Vec::new();
    let mut row = String::new();
    for word in line.split_inclusive(' ') {
        let has_words = !width::without_colors(&row).trim().is_empty();
        let fits = |row: &str| width::of_painted(&format!("{row}{}", word.trim_end())) <= columns;
        let of_its_own = [below, set_off].map(|indent| " ".repeat(indent)).into_iter().find(|row| fits(row));
        let is_full = columns < width::of_painted(row.trim_end());
        let next = match of_its_own {
            _ if fits(&row) || !has_words => None,
            None if is_full => Some(" ".repeat(below)),
            of_its_own => of_its_own,
        };
        if let Some(next) = next {
            rows.push(std::mem::replace(&mut row, next).trim_end().to_owned());
        }
        row.push_str(word);
    }
    rows.push(row.trim_end().to_owned());
    rows.join("\n") + end
}

/// Columns before a row of its own, and before one that goes on below the words of a line.
fn indents(line: &str) -> (usize, usize) {
    let text = line.trim_start_matches(' ');
    let blanks = line.len() - text.len();
    let set_off = if blanks < BELOW_LABEL { blanks + INDENT } else { blanks };
    let value = text.find("  ").map(|end| {
        let gap = text[end..].len() - text[end..].trim_start_matches(' ').len();
        blanks + width::of(&text[..end]) + gap
    });
    (set_off, value.filter(|columns| *columns <= LABEL_COLUMNS_MAX).unwrap_or(set_off))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(filled(text, Some(30)), expected, "{text}");
        // A pipe gets it as it is.
        assert_eq!(filled(text, None), text);
    }

    #[test]
    fn a_line_is_broken_between_words_and_goes_on_below_its_value() {
        check("short\n", "short\n");
        check("one two three four five six seven\nnext", "one two three four five six\n  seven\nnext");
        check(
            "runs      1 running, 2 waiting, 3 queued\n",
            "runs      1 running, 2\n          waiting, 3 queued\n",
        );
        check("  /help  tells how a conversation goes", "  /help  tells how a\n         conversation goes");
        check(
            "          waiting, three that are queued",
            "          waiting, three that\n          are queued",
        );
    }

    #[test]
    fn a_word_that_is_wider_than_the_terminal_stays_whole() {
        let path = format!("/{}", "p".repeat(27));
        check(&format!("socket    {path} x"), &format!("socket\n  {path}\n          x"));
        let path = format!("/{}", "p".repeat(40));
        check(&format!("wrote {path} now"), &format!("wrote {path}\n  now"));
    }

    #[test]
    fn colours_take_no_columns() {
        check(
            "\x1b[31mbecause\x1b[0m   that is what a rule says",
            "\x1b[31mbecause\x1b[0m   that is what a rule\n          says",
        );
    }
}
