//! How do rows stand under each other?

use super::{Output, safe_text, screen::Ink};

/// The widest a column gets; longer words are cut, so that one row does not push the others off the screen.
pub(super) const COLUMN_CHARACTERS: usize = 40;

/// The widest a last column of free text gets: with the columns before it, a line of most terminals.
pub(super) const TEXT_CHARACTERS: usize = 72;

/// A harmless cell.
pub(super) fn cell(text: &str) -> String {
    safe_text::line(text, COLUMN_CHARACTERS)
}

/// The first line of a text that says something, as a last column.
pub(super) fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    safe_text::line(line, TEXT_CHARACTERS)
}

/// Harmless cells, aligned, a row a line. A terminal gets the columns' names above them, a pipe rows only.
pub(super) fn draw<const N: usize>(names: [&str; N], rows: &[[String; N]], stdout: &Output) -> String {
    let heading = stdout.is_terminal.then(|| names.map(str::to_owned));
    let all = || heading.iter().chain(rows);
    let widths: [usize; N] =
        std::array::from_fn(|column| all().map(|row| row[column].chars().count()).max().unwrap_or(0));
    let mut table = String::new();
    for (index, row) in all().enumerate() {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        let line = cells.join("  ");
        let is_heading = index == 0 && heading.is_some();
        let line = line.trim_end();
        match is_heading && stdout.has_color {
            true => table.push_str(&Ink::Bold.paint(line)),
            false => table.push_str(line),
        }
        table.push('\n');
    }
    table
}
