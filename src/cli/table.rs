//! How do rows stand under each other?
//!
//! On a terminal a table has a heading and fits its width: columns of free words give way, those that are typed again do
//! not. In a pipe there are rows only, and nothing is cut.

use super::{OutputWriter, palette, safe_text, text_color::TextColor, width};

/// What stands between two columns.
const GAP: &str = "  ";

/// A column that gives way keeps this much, so that one can still guess what stands there.
const LEAST_COLUMNS: usize = 6;

/// A terminal with fewer columns has no room for all that a list of runs can tell.
pub(super) const WIDE: usize = 100;

/// Characters of a name in a sentence; in tables the terminal's width decides.
pub(super) const NAME_CHARACTERS: usize = 40;

/// Characters of a description in a sentence.
pub(super) const TEXT_CHARACTERS: usize = 72;

/// One column of a table.
#[derive(Clone, Copy)]
pub(super) struct TableColumn {
    name: &'static str,
    gives_way: bool,
}

/// A column that is shown whole: ids, which are typed again, moments, states.
pub(super) const fn whole(name: &'static str) -> TableColumn {
    TableColumn { name, gives_way: false }
}

/// A column that is cut where the terminal ends.
pub(super) const fn free(name: &'static str) -> TableColumn {
    TableColumn { name, gives_way: true }
}

/// What stands in one place of a table: one harmless line.
#[derive(Clone)]
pub(super) struct TableCell {
    text: String,
    ink: Option<TextColor>,
    /// Bytes at the end of the text that stay where it is cut.
    kept: usize,
    /// Its beginning is what is cut off.
    is_cut_in_front: bool,
}

impl TableCell {
    pub(super) fn painted(mut self, ink: Option<TextColor>) -> TableCell {
        self.ink = ink;
        self
    }

    /// The same, where this end of its text stays as long as there is room for as much before it.
    pub(super) fn keeping(mut self, end: &str) -> TableCell {
        self.kept = if self.text.ends_with(end) { end.len() } else { 0 };
        self
    }

    /// The same, where its end is what one looks for: a place in a file.
    pub(super) fn cut_in_front(mut self) -> TableCell {
        self.is_cut_in_front = true;
        self
    }

    /// Of at most so many columns.
    pub(super) fn cut(mut self, columns: usize) -> TableCell {
        self.text = self.fitting(columns);
        self.kept = self.kept.min(self.text.len());
        self
    }

    /// The text, in at most so many columns.
    fn fitting(&self, columns: usize) -> String {
        if self.is_cut_in_front {
            return width::cut_front(&self.text, columns);
        }
        let end = self.text.get(self.text.len().saturating_sub(self.kept)..).unwrap_or_default();
        let before = columns.saturating_sub(width::of(end));
        if end.is_empty() || before < width::of(end) || width::of(&self.text) <= columns {
            return width::cut(&self.text, columns);
        }
        format!("{}{end}", width::cut(&self.text[..self.text.len() - end.len()], before))
    }

    /// The cell's text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// Words of others, as one line.
pub(super) fn cell(text: &str) -> TableCell {
    TableCell { text: safe_text::line(text, usize::MAX), ink: None, kept: 0, is_cut_in_front: false }
}

/// A cell with a text that was drawn for its place, leading blanks included: one line, already harmless.
pub(super) fn drawn(text: String) -> TableCell {
    TableCell { text, ink: None, kept: 0, is_cut_in_front: false }
}

/// A state, reason or status, in its colour.
pub(super) fn state_cell(word: &str) -> TableCell {
    cell(word).painted(palette::ink(word))
}

/// The first line of a text that says something.
pub(super) fn first_line(text: &str) -> TableCell {
    cell(text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default())
}

/// How wide each column is.
pub(super) struct TableLayout<const N: usize> {
    widths: [usize; N],
    has_color: bool,
}

impl<const N: usize> TableLayout<N> {
    /// For rows that stand `indent` columns from the left.
    pub(super) fn of(
        columns: &[TableColumn; N],
        rows: &[[TableCell; N]],
        has_heading: bool,
        indent: usize,
        stdout: &OutputWriter,
    ) -> TableLayout<N> {
        let mut widths: [usize; N] = std::array::from_fn(|at| {
            let heading = if has_heading { width::of(columns[at].name) } else { 0 };
            rows.iter().map(|row| width::of(&row[at].text)).max().unwrap_or(0).max(heading)
        });
        if let Some(room) = stdout.width {
            shrink(&mut widths, columns, room.saturating_sub(gaps(N) + indent));
        }
        TableLayout { widths, has_color: stdout.has_color }
    }

    /// One row, without blanks at its end.
    pub(super) fn row(&self, row: &[TableCell; N]) -> String {
        let last = row.iter().rposition(|cell| !cell.text.is_empty()).unwrap_or(0);
        let cells = row.iter().zip(self.widths).take(last + 1).enumerate().map(|(at, (cell, width))| {
            let text = cell.fitting(width);
            let blanks = if at == last { 0 } else { width.saturating_sub(width::of(&text)) };
            let text = match cell.ink.filter(|_| self.has_color && !text.is_empty()) {
                Some(ink) => ink.paint(&text),
                None => text,
            };
            format!("{text}{}", " ".repeat(blanks))
        });
        cells.collect::<Vec<_>>().join(GAP)
    }
}

/// Takes from the widest columns that give way until all fit, or none can give more.
fn shrink<const N: usize>(widths: &mut [usize; N], columns: &[TableColumn; N], room: usize) {
    loop {
        let excess = widths.iter().sum::<usize>().saturating_sub(room);
        let can_give = |at: &usize| columns[*at].gives_way && LEAST_COLUMNS < widths[*at];
        let Some(widest) = (0..N).filter(can_give).max_by_key(|at| widths[*at]).filter(|_| 0 < excess) else {
            return;
        };
        // Down to the next widest at most, so that the two share what else there is to give.
        let others = (0..N).filter(can_give).filter(|at| *at != widest);
        let next = others.map(|at| widths[at]).max().unwrap_or(LEAST_COLUMNS).max(LEAST_COLUMNS);
        let step = widths[widest].saturating_sub(next).clamp(1, excess);
        widths[widest] -= step;
    }
}

/// The columns between so many.
pub(super) fn gaps(columns: usize) -> usize {
    GAP.len() * columns.saturating_sub(1)
}

/// A whole table. A terminal gets the columns' names above the rows.
pub(super) fn draw<const N: usize>(
    columns: [TableColumn; N],
    rows: &[[TableCell; N]],
    stdout: &OutputWriter,
) -> String {
    let has_heading = stdout.is_terminal;
    let layout = TableLayout::of(&columns, rows, has_heading, 0, stdout);
    let heading = has_heading.then(|| columns.map(|column| cell(column.name).painted(Some(TextColor::Bold))));
    heading.iter().chain(rows).map(|row| format!("{}\n", layout.row(row))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(width: Option<usize>, has_color: bool) -> OutputWriter {
        OutputWriter {
            writer: Box::new(std::io::sink()),
            is_terminal: width.is_some(),
            has_color,
            is_live: false,
            width,
            is_for_programs: false,
        }
    }

    const COLUMNS: [TableColumn; 3] = [whole("RUN"), free("AGENT"), free("RESULT")];

    fn rows() -> Vec<[TableCell; 3]> {
        vec![
            [cell("019aa1b2-c3d4"), cell("an-agent-with-a-long-name"), cell("日本語の結果はとても長いです")],
            [cell("r2"), cell("scout"), cell("")],
        ]
    }

    #[test]
    fn columns_give_way_until_a_table_fits_its_terminal() {
        for room in 10..100 {
            let table = draw(COLUMNS, &rows(), &output(Some(room), false));
            // What must stay: the id, and a little of the others.
            let most = room.max(13 + 2 * (GAP.len() + LEAST_COLUMNS));
            for line in table.lines() {
                assert!(width::of(line) <= most, "{room}: {line}");
                assert_eq!(line.trim_end(), line);
            }
            assert!(table.contains("019aa1b2-c3d4"), "{room}");
        }
        let whole = draw(COLUMNS, &rows(), &output(Some(100), false));
        assert!(!whole.contains('…') && whole.contains("長いです"), "{whole}");
    }

    #[test]
    fn a_pipe_gets_rows_whole() {
        let table = draw(COLUMNS, &rows(), &output(None, false));
        assert!(!table.contains("RUN") && !table.contains('…') && table.contains("長いです"), "{table}");
    }

    #[test]
    fn colours_stand_around_words_and_change_no_width() {
        let rows = [[state_cell("GOAL"), cell("x")], [state_cell("dreaming"), cell("y")]];
        let columns = [whole("STATE"), free("X")];
        let colored = draw(columns, &rows, &output(Some(80), true));
        assert_eq!(
            colored,
            "\x1b[1mSTATE\x1b[0m     \x1b[1mX\x1b[0m\n\x1b[32mGOAL\x1b[0m      x\ndreaming  y\n"
        );
        let plain = draw(columns, &rows, &output(Some(80), false));
        let strip = colored.replace("\x1b[1m", "").replace("\x1b[32m", "").replace("\x1b[0m", "");
        assert_eq!(plain, strip);
    }
}
