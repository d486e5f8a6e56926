//! Where on the screen does the text stand that a person is typing? Pure: text and width in, rows and orders out.

use unicode_segmentation::UnicodeSegmentation as _;

use crate::{safe_text, text_color::TextColor, width};

/// Rows shown at most: a long text must not push itself off the screen, from where it could not be erased.
const ROWS_MAX: usize = 10;

/// What stands before every row but the first.
const MARGIN: &str = "  ";

/// What a tab is drawn as.
const TAB: &str = "    ";

/// Columns of the narrowest terminal that is drawn for.
const COLUMNS_MIN: usize = 8;

/// The text as rows, none of which reaches the terminal's edge, where terminals differ.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LineLayout {
    rows: Vec<String>,
    /// Where the cursor stands: row, and column from 0.
    row: usize,
    column: usize,
}

impl LineLayout {
    /// Of a text behind its label; `cursor` in bytes.
    pub(crate) fn of(label: &str, text: &str, cursor: usize, columns: usize) -> LineLayout {
        let room = columns.max(COLUMNS_MIN) - 1;
        // Half of a narrow line is for what is typed.
        let mut rows = vec![width::cut(label, room / 2)];
        let (mut at, mut place) = (0, None);
        for grapheme in text.graphemes(true) {
            let last = rows.len() - 1;
            if at == cursor {
                place = Some((last, width::of(&rows[last])));
            }
            at += grapheme.len();
            if matches!(grapheme, "\n" | "\r\n") {
                rows.push(MARGIN.to_owned());
                continue;
            }
            let shown = if grapheme == "\t" { TAB.to_owned() } else { safe_text::lines(grapheme) };
            if room < width::of(&rows[last]) + width::of(&shown) {
                // A cursor that stands before it goes along.
                place = place
                    .map(|it| if at - grapheme.len() == cursor { (last + 1, width::of(MARGIN)) } else { it });
                rows.push(format!("{MARGIN}{shown}"));
            } else {
                rows[last].push_str(&shown);
            }
        }
        let last = rows.len() - 1;
        let (row, column) = place.unwrap_or_else(|| (last, width::of(&rows[last])));
        LineLayout { rows, row, column }.in_sight()
    }

    /// Of these rows, which fit their terminal already, with the cursor behind this many columns of the first.
    pub(crate) fn of_rows(rows: Vec<String>, column: usize) -> LineLayout {
        LineLayout { rows, row: 0, column }
    }

    /// Cut down to the rows around the cursor.
    fn in_sight(mut self) -> LineLayout {
        let count = self.rows.len();
        if count <= ROWS_MAX {
            return self;
        }
        let start = (self.row + 1).saturating_sub(ROWS_MAX / 2).min(count - ROWS_MAX);
        let end = start + ROWS_MAX;
        self.rows.truncate(end);
        self.rows.drain(..start);
        self.row -= start;
        if 0 < start {
            self.rows.insert(0, format!("{MARGIN}⋮ {start} above"));
            self.row += 1;
        }
        if end < count {
            self.rows.push(format!("{MARGIN}⋮ {} below", count - end));
        }
        self
    }

    /// What draws it where `before` stands.
    pub(crate) fn draw(
        &self,
        before: Option<&LineLayout>,
        columns: usize,
        label: Option<(&str, TextColor)>,
    ) -> String {
        let mut drawn = before.map_or_else(|| "\r\x1b[J".to_owned(), |before| before.erase(columns));
        let mut rows = self.rows.join("\n");
        if let Some((label, ink)) = label
            && let Some(text) = rows.strip_prefix(label)
        {
            rows = format!("{}{text}", ink.paint(label));
        }
        drawn.push_str(&rows);
        drawn.push_str(&up(self.rows.len().saturating_sub(self.row + 1)));
        drawn.push('\r');
        if 0 < self.column {
            drawn.push_str(&format!("\x1b[{}C", self.column));
        }
        drawn
    }

    /// What takes it away, on a terminal that is so wide by now: one that got narrower breaks its rows.
    pub(crate) fn erase(&self, columns: usize) -> String {
        let broken = |taken: usize| taken.saturating_sub(1) / columns.max(1);
        let above: usize = self.rows[..self.row].iter().map(|row| 1 + broken(width::of(row))).sum();
        format!("{}\r\x1b[J", up(above + self.column / columns.max(1)))
    }

    /// What goes behind its last row, where other lines go on.
    pub(crate) fn leave(&self) -> String {
        let below = self.rows.len().saturating_sub(self.row + 1);
        format!("{}\n", if below == 0 { String::new() } else { format!("\x1b[{below}B") })
    }
}

fn up(rows: usize) -> String {
    if rows == 0 { String::new() } else { format!("\x1b[{rows}A") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows, with `|` where the cursor is.
    fn drawn(text: &str, cursor: usize, columns: usize) -> Vec<String> {
        let LineLayout { mut rows, row, column } = LineLayout::of("x › ", text, cursor, columns);
        let mut taken = String::new();
        let behind = rows[row].graphemes(true).find_map(|grapheme| {
            let is_there = column <= width::of(&taken);
            taken.push_str(grapheme);
            is_there.then(|| taken.len() - grapheme.len())
        });
        let behind = behind.unwrap_or(rows[row].len());
        rows[row].insert(behind, '|');
        rows
    }

    #[test]
    fn rows_break_before_the_edge_and_the_cursor_goes_along() {
        assert_eq!(drawn("", 0, 20), ["x › |"]);
        assert_eq!(drawn("abc", 1, 20), ["x › a|bc"]);
        assert_eq!(drawn("one\ntwo", 5, 20), ["x › one", "  t|wo"]);
        assert_eq!(drawn("abcdefgh", 8, 10), ["x › abcde", "  fgh|"]);
        assert_eq!(drawn("abcdefgh", 5, 10), ["x › abcde", "  |fgh"]);
        assert_eq!(drawn("日本語", 6, 10), ["x › 日本", "  |語"]);
        assert_eq!(drawn("a\tb\x1b[31m", 8, 40), ["x › a    b^[[31m|"], "nothing steers");
        assert_eq!(drawn("one\n", 4, 20), ["x › one", "  |"]);
        for columns in 1..40 {
            let rows =
                LineLayout::of("a long label › ", "e\u{301}日本 👩\u{200d}👧 text\nand\tmore", 0, columns)
                    .rows;
            assert!(rows.iter().all(|row| width::of(row) < columns.max(COLUMNS_MIN)), "{columns}: {rows:?}");
        }
    }

    #[test]
    fn a_long_text_shows_the_rows_around_the_cursor() {
        let text: String = (0..30).map(|n| format!("{n}\n")).collect();
        let at = |needle: &str| drawn(&text, text.find(needle).unwrap(), 20);
        let middle = at("15\n");
        assert_eq!((middle.len(), &*middle[0], &*middle[11]), (12, "  ⋮ 11 above", "  ⋮ 10 below"));
        assert!(middle.contains(&"  |15".to_owned()), "{middle:?}");
        assert_eq!(at("0\n")[0], "x › |0");
        assert_eq!(drawn(&text, text.len(), 20).last().unwrap(), "  |");
    }

    #[test]
    fn what_was_drawn_is_erased_also_when_the_terminal_has_become_narrow() {
        let old = LineLayout::of("x › ", &"a".repeat(60), 60, 24);
        assert_eq!(old.rows.len(), 3);
        assert_eq!(old.erase(24), "\x1b[2A\r\x1b[J");
        // Each full row takes three of eight columns now, and the cursor stands in the third of its own.
        assert_eq!(old.erase(8), "\x1b[8A\r\x1b[J");
        let new = LineLayout::of("x › ", "b", 0, 24);
        assert_eq!(new.draw(Some(&old), 24, None), "\x1b[2A\r\x1b[Jx › b\r\x1b[4C");
        assert_eq!(
            new.draw(None, 24, Some(("x › ", TextColor::Bold))),
            "\r\x1b[J\x1b[1mx › \x1b[0mb\r\x1b[4C"
        );
        assert_eq!(LineLayout::of("x › ", "a\nb", 0, 24).leave(), "\x1b[1B\n");
    }
}
