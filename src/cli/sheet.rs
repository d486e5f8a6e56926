//! How is that shown which others wrote, and which a person is asked to agree to?
//!
//! Words of others stand behind a bar, in rows that are as wide as the terminal, so that none can pass for a line of ours.
//! What matters most stands last, next to the question; of what is longer than the terminal is high both ends stay, with a
//! note.

use super::{
    OutputWriter, ProcessIo,
    failure::CommandFailure,
    human, safe_text,
    screen::{WRAP_OFF, WRAP_ON},
    text_color::TextColor,
    width,
};

/// What stands before the words of others.
const BAR: &str = "│ ";

/// Columns of what a fact is.
const LABEL_COLUMNS: usize = 9;

/// A terminal narrower than this wraps on its own.
const LEAST_COLUMNS: usize = 24;

/// Of each part so many rows are shown at least: its first one, how many are left out, and its last one.
const PART_ROWS_LEAST: usize = 3;

/// Rows of the terminal that are for the line in which one answers, for one above, and for a note of what was left out.
const ROWS_AROUND: usize = 3;

/// Rows that are shown to whoever is asked, part by part: what matters most comes last.
pub(super) struct Sheet {
    columns: Option<usize>,
    has_color: bool,
    parts: Vec<SheetPart>,
}

/// Rows that belong together.
struct SheetPart {
    rows: Vec<String>,
    /// They say what may run without asking: where there is no room for all of them, nobody is asked.
    is_never_cut: bool,
}

impl SheetPart {
    fn of(rows: Vec<String>) -> SheetPart {
        SheetPart { rows, is_never_cut: false }
    }

    fn rows_least(&self) -> usize {
        if self.is_never_cut { self.rows.len() } else { self.rows.len().min(PART_ROWS_LEAST) }
    }
}

impl Sheet {
    pub(super) fn of(stderr: &OutputWriter) -> Sheet {
        let columns = stderr.width.filter(|_| stderr.is_terminal);
        Sheet { columns, has_color: stderr.has_color, parts: Vec::new() }
    }

    /// A text of theirs, row by row.
    pub(super) fn text(&mut self, text: &str) {
        let rows = safe_text::rows(text).flat_map(|row| self.wrap(&row, 0)).map(|row| self.theirs(&row));
        let rows = rows.collect();
        self.parts.push(SheetPart::of(rows));
    }

    /// A line of ours, without words of theirs.
    pub(super) fn ours(&mut self, text: &str) {
        let rows = match self.columns {
            Some(columns) => width::wrap_words(text, columns.max(LEAST_COLUMNS)),
            None => vec![text.to_owned()],
        };
        self.parts.push(SheetPart::of(rows));
    }

    /// `tools     │ read_file, write_file`
    pub(super) fn fact(&mut self, label: &str, value: &str) {
        let rows = self.fact_rows(label, value);
        self.parts.push(SheetPart::of(rows));
    }

    /// Several that are one part.
    pub(super) fn facts<'a>(&mut self, facts: impl IntoIterator<Item = (&'a str, String)>) {
        let rows: Vec<String> =
            facts.into_iter().flat_map(|(label, value)| self.fact_rows(label, &value)).collect();
        if !rows.is_empty() {
            self.parts.push(SheetPart::of(rows));
        }
    }

    /// Facts that say what may run without asking. Of them nothing is left out; they belong next to the question.
    pub(super) fn unasked<'a>(&mut self, facts: impl IntoIterator<Item = (&'a str, String)>) {
        let rows: Vec<String> =
            facts.into_iter().flat_map(|(label, value)| self.fact_rows(label, &value)).collect();
        if !rows.is_empty() {
            self.parts.push(SheetPart { rows, is_never_cut: true });
        }
    }

    fn fact_rows(&self, label: &str, value: &str) -> Vec<String> {
        // As it is written: two names that look alike are no less two, and a line's end is no blank.
        let rows = safe_text::written(value);
        let rows = rows.iter().flat_map(|row| self.wrap_exactly(row, LABEL_COLUMNS)).enumerate();
        let label = |at: usize| width::pad(if at == 0 { label } else { "" }, LABEL_COLUMNS);
        rows.map(|(at, row)| format!("{}{}", label(at), self.theirs(&row))).collect()
    }

    fn theirs(&self, row: &str) -> String {
        let bar = if self.has_color { TextColor::Dim.paint(BAR) } else { BAR.to_owned() };
        format!("{bar}{row}").trim_end().to_owned()
    }

    fn wrap(&self, text: &str, taken: usize) -> Vec<String> {
        match self.columns {
            Some(columns) => {
                width::wrap(text, columns.max(LEAST_COLUMNS).saturating_sub(taken + width::of(BAR)))
            }
            None => vec![text.to_owned()],
        }
    }

    /// The same, between words where no blank is lost by it.
    fn wrap_exactly(&self, text: &str, taken: usize) -> Vec<String> {
        match self.columns {
            Some(columns) => {
                width::wrap_exactly(text, columns.max(LEAST_COLUMNS).saturating_sub(taken + width::of(BAR)))
            }
            None => vec![text.to_owned()],
        }
    }

    /// Shows as much as the terminal has room for above what is asked, or all where nothing is asked or all is `wanted`.
    /// Answers the question with how much was not shown.
    pub(super) fn show(
        self,
        question: &str,
        wants_all: bool,
        surroundings: &mut ProcessIo,
    ) -> Result<String, CommandFailure> {
        let stderr = &mut surroundings.stderr;
        if stderr.is_for_programs {
            return Ok(question.to_owned());
        }
        let height = surroundings.keyboard.rows().filter(|_| stderr.is_terminal);
        let below = super::consent::rows(question, stderr).len() + ROWS_AROUND;
        let room = height.map(|height| height.saturating_sub(below));
        let is_live = stderr.is_live;
        let Some((rows, left_out)) = fit(self.parts, room.filter(|_| !wants_all)) else {
            let what = "the terminal is too low to show what is asked about, and what would run without asking; nothing was changed";
            return Err(CommandFailure::new(what).or_hint("make it higher, or see all with --whole"));
        };
        // A row that the terminal counts wider than it is must not become two.
        let (off, on) = if is_live { (WRAP_OFF, WRAP_ON) } else { ("", "") };
        let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
        stderr.write(&format!("{off}{text}{on}"))?;
        let scrolled = room.map_or(0, |room| rows.len().saturating_sub(room));
        Ok(match left_out {
            0 if 0 < scrolled && !question.is_empty() => {
                let rows = human::count(scrolled as u64, "row");
                format!("{rows} of it scrolled out of sight: read them above. {question}")
            }
            0 => question.to_owned(),
            _ => format!("{} of it are not shown. {question}", human::count(left_out as u64, "row")),
        })
    }
}

/// The rows of all parts, of which the last ones get room first; and how many are left out. `None` = there is no room for a
/// few rows of each, or for all of one that is never cut.
fn fit(parts: Vec<SheetPart>, room: Option<usize>) -> Option<(Vec<String>, usize)> {
    let Some(mut room) = room.filter(|room| *room < parts.iter().map(|part| part.rows.len()).sum::<usize>())
    else {
        return Some((parts.into_iter().flat_map(|part| part.rows).collect(), 0));
    };
    let mut before: usize = parts.iter().map(SheetPart::rows_least).sum();
    if room < before {
        return None;
    }
    let (mut shown, mut left_out) = (Vec::new(), 0);
    for part in parts.into_iter().rev() {
        before -= part.rows_least();
        let (rows, hidden) = both_ends(part.rows, room - before);
        room -= rows.len();
        left_out += hidden;
        shown.push(rows);
    }
    shown.reverse();
    Some((shown.concat(), left_out))
}

/// The first and the last rows of a part, with how many are left out between them.
fn both_ends(mut rows: Vec<String>, room: usize) -> (Vec<String>, usize) {
    if rows.len() <= room {
        return (rows, 0);
    }
    let shown = room.saturating_sub(1);
    let last = shown / 2;
    let hidden = rows.len() - shown;
    let note = format!("… {} more; --whole shows all", human::count(hidden as u64, "row"));
    let from = shown - last;
    drop(rows.splice(from..from + hidden, [note]));
    (rows, hidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(name: &str, count: usize) -> Vec<String> {
        (0..count).map(|n| format!("{name}{n}")).collect()
    }

    fn part(name: &str, count: usize) -> SheetPart {
        SheetPart::of(rows(name, count))
    }

    #[test]
    fn of_what_may_run_without_asking_no_row_is_left_out_and_without_room_nobody_is_asked() {
        let parts =
            || vec![part("a", 20), SheetPart { rows: rows("b", 9), is_never_cut: true }, part("c", 6)];
        for room in 15..35 {
            let (shown, _) = fit(parts(), Some(room)).unwrap();
            assert_eq!(shown.iter().filter(|row| row.starts_with('b')).count(), 9, "{shown:#?}");
        }
        assert_eq!(fit(parts(), Some(14)), None);
    }

    #[test]
    fn what_stands_last_gets_room_first_and_what_is_left_out_is_counted() {
        let parts = || vec![part("a", 20), part("b", 1), part("c", 6)];
        let whole = || [rows("a", 20), rows("b", 1), rows("c", 6)].concat();
        assert_eq!(fit(parts(), None), Some((whole(), 0)));
        assert_eq!(fit(parts(), Some(27)), Some((whole(), 0)));
        for room in 7..27 {
            let (rows, left_out) = fit(parts(), Some(room)).unwrap();
            assert_eq!(rows.len(), room);
            let notes = rows.iter().filter(|row| row.starts_with('…')).count();
            assert_eq!(rows.len() - notes + left_out, 27, "{rows:#?}");
            assert_eq!([&rows[0], &rows[room - 1]], ["a0", "c5"]);
            assert!(rows.iter().any(|row| row == "b0"));
            assert_eq!(rows.iter().filter(|row| row.starts_with('c')).count() == 6, 10 <= room, "{rows:#?}");
        }
        assert_eq!(fit(parts(), Some(6)), None);
    }
}
