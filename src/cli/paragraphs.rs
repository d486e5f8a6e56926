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
    // Columns are counted word by word: of a line of blanks alone no row ends.
    let (mut row, mut used, mut inked) = (String::new(), 0, 0);
    for word in line.split_inclusive(' ') {
        let of_word = width::of_painted(word.trim_end());
        let fits = |before: usize| before + of_word <= columns;
        let of_its_own = [below, set_off].into_iter().find(|indent| fits(*indent));
        let is_full = columns < inked;
        let next = match of_its_own {
            _ if fits(used) || inked == 0 => None,
            None if is_full => Some(below),
            of_its_own => of_its_own,
        };
        if let Some(indent) = next {
            rows.push(std::mem::replace(&mut row, " ".repeat(indent)).trim_end().to_owned());
            (used, inked) = (indent, 0);
        }
        row.push_str(word);
        if of_word != 0 {
            inked = used + of_word;
        }
        used += width::of_painted(word);
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
    fn a_line_of_blanks_ends_at_once_however_long_it_is() {
        let blanks = " ".repeat(2_000_000);
        check(&format!("{blanks}x\ny"), &format!("{blanks}x\ny"));
    }

    #[test]
    fn colours_take_no_columns() {
        check(
            "\x1b[31mbecause\x1b[0m   that is what a rule says",
            "\x1b[31mbecause\x1b[0m   that is what a rule\n          says",
        );
    }
}
