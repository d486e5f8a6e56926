//! Lists below a waterfall, cut after a few lines.

use crate::{human, safe_text};

/// Lines of one kind below a waterfall; more than that nobody reads there.
pub(super) const MOST_LINES: usize = 10;

/// The first lines, and how many more there are.
pub(super) fn listed(lines: &[String], noun: &str) -> String {
    let shown = lines.iter().take(MOST_LINES);
    let mut text: String = shown.map(|line| format!("{}\n", safe_text::joined_lines(line))).collect();
    if let Some(more) = lines.len().checked_sub(MOST_LINES).filter(|more| *more != 0) {
        text.push_str(&format!("and {} more\n", human::count(more as u64, noun)));
    }
    text
}
