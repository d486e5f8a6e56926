//! How does a table become Markdown? As a table where it is one; as what is in it where it only arranges things.

use htmd::{
    Element,
    element_handler::{HandlerResult, Handlers},
};
use markup5ever_rcdom::Handle;

use super::names::{attribute, is_named, name_of};

/// Columns of a table; more cannot be read in Markdown.
const MOST_COLUMNS: usize = 64;
/// Elements that have no place in a cell of Markdown.
const NOT_IN_CELLS: &[&str] =
    &["table", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "form", "hr"];
/// A cell that is longer is a part of a page.
const LONGEST_CELL: usize = 2_000;

/// One row, and whether all its cells are headers.
struct TableRow {
    cells: Vec<String>,
    is_header: bool,
}

/// What stands in a table.
enum TablePart {
    Row(Handle),
    Caption(Handle),
    /// Something that has no place there, and is not lost all the same.
    Stray(Handle),
}

pub(super) fn markdown(handlers: &dyn Handlers, element: Element) -> Option<HandlerResult> {
    let mut text = String::from("\n\n");
    let mut rows = Vec::new();
    let mut arranges = false;
    for piece in pieces(element.node) {
        match piece {
            TablePart::Row(row) => {
                arranges |= has_one_of(&row, NOT_IN_CELLS);
                rows.push(read(handlers, &row));
            }
            TablePart::Caption(node) | TablePart::Stray(node) => {
                let words = handlers.handle(&node).map(|it| it.content).unwrap_or_default();
                match words.trim() {
                    "" => {}
                    words => text.push_str(&format!("{words}\n\n")),
                }
            }
        }
    }
    let columns = rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
    let is_long = rows.iter().flat_map(|row| &row.cells).any(|cell| LONGEST_CELL < cell.len());
    match arranges || is_long || !(2..=MOST_COLUMNS).contains(&columns) {
        true => {
            let cells = rows.iter().flat_map(|row| &row.cells).map(|cell| cell.trim_matches('\n'));
            cells
                .filter(|cell| !cell.trim().is_empty())
                .for_each(|cell| text.push_str(&format!("{cell}\n\n")));
        }
        false => {
            let head = match rows.first() {
                Some(first) if first.is_header => Some(rows.remove(0)),
                _ => None,
            };
            let head = head.map_or_else(Vec::new, |row| row.cells);
            push_row(&mut text, &head, columns);
            push_row(&mut text, &vec!["---".to_owned(); columns], columns);
            rows.iter().for_each(|row| push_row(&mut text, &row.cells, columns));
            text.push('\n');
        }
    }
    Some(text.into())
}

/// What is in the table, in order; not what is in tables within.
fn pieces(table: &Handle) -> Vec<TablePart> {
    let mut pieces = Vec::new();
    for child in table.children.borrow().iter() {
        match is_named(child, &["thead", "tbody", "tfoot"]) {
            true => pieces.extend(child.children.borrow().iter().cloned().map(piece)),
            false => pieces.push(piece(child.clone())),
        }
    }
    pieces
}

fn piece(node: Handle) -> TablePart {
    match name_of(&node).map(|name| &**name) {
        Some("tr") => TablePart::Row(node),
        Some("caption") => TablePart::Caption(node),
        _ => TablePart::Stray(node),
    }
}

fn read(handlers: &dyn Handlers, row: &Handle) -> TableRow {
    let mut cells = Vec::new();
    let mut is_header = true;
    for cell in row.children.borrow().iter() {
        if !is_named(cell, &["td", "th"]) {
            let stray = handlers.handle(cell).map(|it| it.content).filter(|it| !it.trim().is_empty());
            cells.extend(stray);
            continue;
        }
        is_header &= is_named(cell, &["th"]);
        cells.push(handlers.walk_children(cell).content);
        let spans = attribute(cell, "colspan").and_then(|it| it.trim().parse::<usize>().ok()).unwrap_or(1);
        let more = spans.clamp(1, MOST_COLUMNS) - 1;
        cells.extend(std::iter::repeat_n(String::new(), more));
    }
    TableRow { is_header: is_header && !cells.is_empty(), cells }
}

fn has_one_of(row: &Handle, names: &[&str]) -> bool {
    let mut left = vec![row.clone()];
    while let Some(node) = left.pop() {
        if name_of(&node).is_some() && is_named(&node, names) {
            return true;
        }
        left.extend(node.children.borrow().iter().cloned());
    }
    false
}

fn push_row(text: &mut String, cells: &[String], columns: usize) {
    text.push('|');
    for column in 0..columns {
        let cell = cells.get(column).map(|cell| in_line(cell)).unwrap_or_default();
        text.push(' ');
        text.push_str(&cell.replace('|', "\\|"));
        text.push_str(" |");
    }
    text.push('\n');
}

fn in_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
