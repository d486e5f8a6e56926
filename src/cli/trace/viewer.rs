//! A waterfall that is longer than the screen: it scrolls, and what lies within a span is folded away.

use std::{collections::HashSet, time::Duration};

use crate::{
    OutputWriter, ProcessIo,
    failure::CommandFailure,
    keyboard::KeyWaitResult,
    line_editor::strokes::{KeyStroke, KeyStrokeDecoder},
    width,
};

/// Between two looks at the keyboard, and whether Ctrl-C was pressed or the terminal is another size.
const LOOK: Duration = Duration::from_millis(100);

/// The screen beside the one that was there, with lines that go on beyond its edge cut and no cursor; and back.
const ENTER: &str = "\x1b[?1049h\x1b[?7l\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?7h\x1b[?1049l";

/// The last row.
const KEYS: &str = "↑↓ space b: move   ←→ enter: fold   i: in full   q: leave";

/// The same on a screen that has no room for it.
const FEW_KEYS: &str = "i: in full   q: leave";
const FEW_KEYS_IN_FULL: &str = "i: back   q: leave";

/// The same while a line is shown in full.
const KEYS_IN_FULL: &str = "↑↓ space b: move   i: back   q: leave";

/// A line of the document.
pub(super) struct ViewedLine {
    /// The text with its colours.
    pub text: String,
    /// The depth of a span; `None` of a line that is none.
    pub level: Option<usize>,
    /// Lines that say all of it, where it may not all be on the screen.
    pub in_full: Vec<String>,
}

/// A line of the document that is shown in full.
struct LineInFull {
    texts: Vec<String>,
    /// The first row that is shown.
    top: usize,
}

/// A document that scrolls and folds. Pure: strokes in, rows out.
pub(super) struct TraceViewer {
    lines: Vec<ViewedLine>,
    /// Spans whose inside is folded away, by their lines.
    folded: HashSet<usize>,
    /// The lines that are not folded away.
    shown: Vec<usize>,
    /// Places among those: of the cursor, and of the first row.
    cursor: usize,
    top: usize,
    /// Rows for lines, and columns, as of the last frame.
    rows: usize,
    columns: usize,
    in_full: Option<LineInFull>,
}

impl TraceViewer {
    pub fn new(lines: Vec<ViewedLine>) -> TraceViewer {
        let shown = (0..lines.len()).collect();
        TraceViewer {
            lines,
            folded: HashSet::new(),
            shown,
            cursor: 0,
            top: 0,
            rows: 1,
            columns: usize::MAX,
            in_full: None,
        }
    }

    /// The same document, of which more is known. All of it is unfolded, and the cursor stays where it was.
    fn replace(&mut self, lines: Vec<ViewedLine>) {
        let (cursor, top, rows, columns) = (self.cursor, self.top, self.rows, self.columns);
        let in_full = self.in_full.take();
        *self = TraceViewer { cursor, top, rows, columns, in_full, ..TraceViewer::new(lines) };
        self.cursor = self.cursor.min(self.shown.len().saturating_sub(1));
    }

    /// Replaces the lines by the same ones for another width: what is folded stays so.
    fn lay_out_anew(&mut self, lines: Vec<ViewedLine>) {
        let spans = |lines: &[ViewedLine]| -> Vec<usize> {
            lines.iter().enumerate().filter(|(_, line)| line.level.is_some()).map(|(at, _)| at).collect()
        };
        let before = spans(&self.lines);
        let folded: Vec<usize> =
            (0..before.len()).filter(|span| self.folded.contains(&before[*span])).collect();
        self.replace(lines);
        let now = spans(&self.lines);
        self.folded = folded.into_iter().filter_map(|span| now.get(span).copied()).collect();
        self.show();
        self.cursor = self.cursor.min(self.shown.len().saturating_sub(1));
    }

    /// Takes a stroke in; true when the person leaves.
    pub fn press(&mut self, stroke: &KeyStroke) -> bool {
        let page = self.rows.saturating_sub(1).max(1);
        if let Some(shown) = &mut self.in_full {
            match stroke {
                KeyStroke::Character('q') | KeyStroke::EndOfInput => return true,
                KeyStroke::Character('i') | KeyStroke::Left | KeyStroke::Enter => self.in_full = None,
                KeyStroke::Up | KeyStroke::Character('k') => shown.top = shown.top.saturating_sub(1),
                KeyStroke::Down | KeyStroke::Character('j') => shown.top = shown.top.saturating_add(1),
                KeyStroke::Character('b') => shown.top = shown.top.saturating_sub(page),
                KeyStroke::Character(' ') => shown.top = shown.top.saturating_add(page),
                KeyStroke::Home | KeyStroke::Character('g') => shown.top = 0,
                KeyStroke::End | KeyStroke::Character('G') => shown.top = usize::MAX,
                _ => {}
            }
            return false;
        }
        match stroke {
            KeyStroke::Character('q') | KeyStroke::EndOfInput => return true,
            KeyStroke::Character('i') => self.show_in_full(),
            KeyStroke::Up | KeyStroke::Character('k') => self.cursor = self.cursor.saturating_sub(1),
            KeyStroke::Down | KeyStroke::Character('j') => self.cursor += 1,
            KeyStroke::Character('b') => self.cursor = self.cursor.saturating_sub(page),
            KeyStroke::Character(' ') => self.cursor += page,
            KeyStroke::Home | KeyStroke::Character('g') => self.cursor = 0,
            KeyStroke::End | KeyStroke::Character('G') => self.cursor = self.shown.len(),
            KeyStroke::Left => self.fold(true),
            KeyStroke::Right => self.fold(false),
            KeyStroke::Enter => {
                let is_folded = self.shown.get(self.cursor).is_some_and(|line| self.folded.contains(line));
                self.fold(!is_folded);
            }
            _ => {}
        }
        self.cursor = self.cursor.min(self.shown.len().saturating_sub(1));
        false
    }

    /// Shows the line at the cursor in full.
    fn show_in_full(&mut self) {
        let line = self.shown.get(self.cursor).and_then(|line| self.lines.get(*line));
        let texts = line.map(|line| line.in_full.clone()).unwrap_or_default();
        self.in_full = (!texts.is_empty()).then_some(LineInFull { texts, top: 0 });
    }

    /// Folds the span at the cursor; of one that has nothing in it, or is folded, the one around it.
    fn fold(&mut self, is_folded: bool) {
        let Some(line) = self.shown.get(self.cursor).copied() else { return };
        if !is_folded {
            self.folded.remove(&line);
        } else if self.has_inside(line) && !self.folded.contains(&line) {
            self.folded.insert(line);
        } else if let Some(around) = self.around(line) {
            self.folded.insert(around);
            self.cursor = self.shown.iter().position(|it| *it == around).unwrap_or(self.cursor);
        }
        self.show();
    }

    fn show(&mut self) {
        self.shown.clear();
        let mut hides_below = None;
        for (at, line) in self.lines.iter().enumerate() {
            if let (Some(level), Some(hidden)) = (line.level, hides_below)
                && hidden < level
            {
                continue;
            }
            hides_below = line.level.filter(|_| self.folded.contains(&at));
            self.shown.push(at);
        }
    }

    fn level(&self, line: usize) -> Option<usize> {
        self.lines.get(line).and_then(|line| line.level)
    }

    fn has_inside(&self, line: usize) -> bool {
        matches!((self.level(line), self.level(line + 1)), (Some(own), Some(next)) if own < next)
    }

    fn around(&self, line: usize) -> Option<usize> {
        let own = self.level(line)?;
        (0..line).rev().find(|at| self.level(*at).is_some_and(|level| level < own))
    }

    /// The rows of a screen so high; the last one says how far the document is, if it is not whole.
    pub fn frame(&mut self, (columns, height): (usize, usize), coming: Option<&str>) -> Vec<String> {
        self.rows = height.saturating_sub(1).max(1);
        self.columns = columns.max(1);
        if let Some(shown) = &mut self.in_full {
            let all = shown.texts.iter().flat_map(|text| width::wrap(text, self.columns));
            let all: Vec<String> = all.collect();
            shown.top = shown.top.min(all.len().saturating_sub(self.rows));
            let mut frame: Vec<String> = all.iter().skip(shown.top).take(self.rows).cloned().collect();
            let last = shown.top + frame.len();
            frame.resize(self.rows, String::new());
            frame.push(with_keys(
                &format!("{}-{last} of {}", shown.top + 1, all.len()),
                (KEYS_IN_FULL, FEW_KEYS_IN_FULL),
                columns,
            ));
            return frame;
        }
        // The cursor stays in sight.
        self.top = self.top.clamp((self.cursor + 1).saturating_sub(self.rows), self.cursor);
        let rows = self.shown.iter().enumerate().skip(self.top).take(self.rows);
        let mut frame: Vec<String> = rows.map(|(at, line)| self.row(at, *line)).collect();
        frame.resize(self.rows, String::new());
        let last = (self.top + self.rows).min(self.shown.len());
        let coming = coming.map(|coming| format!(" ({coming})")).unwrap_or_default();
        let place = format!("{}-{last} of {}{coming}", self.top + 1, self.shown.len());
        frame.push(with_keys(&place, (KEYS, FEW_KEYS), columns));
        frame
    }

    fn row(&self, at: usize, line: usize) -> String {
        let cursor = if at == self.cursor { '›' } else { ' ' };
        let sign = match self.has_inside(line) {
            true if self.folded.contains(&line) => '▸',
            true => '▾',
            false => ' ',
        };
        format!("{cursor}{sign}{}", self.lines.get(line).map(|line| line.text.as_str()).unwrap_or_default())
    }
}

/// The last row: where one is, and the keys, as many as there is room for.
fn with_keys(place: &str, (keys, few): (&str, &str), columns: usize) -> String {
    let whole = format!("{place}   {keys}");
    if width::of(&whole) <= columns { whole } else { format!("{place}   {few}") }
}

/// A document that may be shown before all of it is there.
pub(super) trait ViewSource {
    /// Gets some more of it; false when there is no more to come.
    fn load(&mut self) -> Result<bool, CommandFailure>;
    /// A word for how far it is; `None` once it is whole.
    fn coming(&self) -> Option<String>;
    /// The lines as far as they are known, for a screen of this width.
    fn lines(&mut self, stdout: &mut OutputWriter) -> Vec<ViewedLine>;
}

/// Shows a document until the person leaves.
pub(super) fn view(source: &mut dyn ViewSource, surroundings: &mut ProcessIo) -> Result<(), CommandFailure> {
    let ProcessIo { keyboard, stdout, interrupts, .. } = surroundings;
    if !keyboard.open_for_text() {
        while source.load()? {}
        let all: String = source.lines(stdout).iter().map(|line| format!("{}\n", line.text)).collect();
        return stdout.write(&all);
    }
    let mut viewer = TraceViewer::new(source.lines(stdout));
    let mut strokes = KeyStrokeDecoder::default();
    let mut shown = Vec::new();
    let mut viewing = || -> Result<(), CommandFailure> {
        stdout.write(ENTER)?;
        loop {
            let coming = source.coming();
            // Who makes the window wider or narrower has it laid out anew.
            let columns = keyboard.columns();
            if columns.is_some() && columns != stdout.width {
                stdout.width = columns;
                viewer.lay_out_anew(source.lines(stdout));
                shown.clear();
            }
            let size = (stdout.width.unwrap_or(usize::MAX), keyboard.rows().unwrap_or(24));
            let frame = viewer.frame(size, coming.as_deref());
            if frame != shown {
                stdout.write(&drawn(&frame, size.1))?;
                shown = frame;
            }
            if coming.is_some() && !source.load()? {
                viewer.replace(source.lines(stdout));
            }
            // The next page is looked for at once.
            match keyboard.wait(if coming.is_some() { Duration::ZERO } else { LOOK }) {
                KeyWaitResult::Gone => return Ok(()),
                // The command was stopped: the screen is another's until it is drawn anew.
                KeyWaitResult::Resumed => {
                    if !keyboard.open_for_text() {
                        return Ok(());
                    }
                    shown.clear();
                    stdout.write(ENTER)?;
                }
                KeyWaitResult::Done => {}
            }
            if 0 < interrupts() {
                return Ok(());
            }
            let bytes = keyboard.read();
            for stroke in strokes.look(&bytes) {
                if viewer.press(&stroke) {
                    return Ok(());
                }
            }
        }
    };
    let viewed = viewing();
    keyboard.close();
    stdout.write(LEAVE)?;
    viewed
}

/// A frame as it is written on a screen of so many rows. Each row is erased before it is written: behind a row that is as wide as the
/// screen the cursor stands on its last letter, which an erasure would take.
fn drawn(frame: &[String], height: usize) -> String {
    let rows: Vec<String> = frame.iter().map(|row| format!("\x1b[K{row}\x1b[0m")).collect();
    let below = if frame.len() < height { "\r\n\x1b[J" } else { "" };
    format!("\x1b[H{}{below}", rows.join("\r\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn viewer(levels: &[usize]) -> TraceViewer {
        let line = |(at, level): (usize, &usize)| ViewedLine {
            text: at.to_string(),
            level: Some(*level),
            in_full: vec![format!("all of {at}")],
        };
        let head = ViewedLine { text: "head".to_owned(), level: None, in_full: Vec::new() };
        let lines = levels.iter().enumerate().map(line);
        TraceViewer::new(std::iter::once(head).chain(lines).collect())
    }

    fn pressed(viewer: &mut TraceViewer, strokes: &[KeyStroke], height: usize) -> Vec<String> {
        for stroke in strokes {
            assert!(!viewer.press(stroke));
        }
        viewer
            .frame((80, height), None)
            .into_iter()
            .map(|row| row.split("   ").next().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn spans_fold_and_the_cursor_stays_in_sight() {
        use KeyStroke::{Character, Down, End, Enter, Home, Left, Right};
        let mut it = viewer(&[0, 1, 2, 2, 1, 0]);
        assert_eq!(pressed(&mut it, &[], 5), ["› head", " ▾0", " ▾1", "  2", "1-4 of 7"]);
        assert_eq!(pressed(&mut it, &[Down, Down, Left], 5), ["  head", " ▾0", "›▸1", "  4", "1-4 of 5"]);
        // Folded already: the span around it.
        assert_eq!(pressed(&mut it, &[Left], 5), ["  head", "›▸0", "  5", "", "1-3 of 3"]);
        assert_eq!(pressed(&mut it, &[Right], 5), ["  head", "›▾0", " ▸1", "  4", "1-4 of 5"]);
        assert_eq!(pressed(&mut it, &[Down, Enter, End], 5), ["  2", "  3", "  4", "› 5", "4-7 of 7"]);
        assert_eq!(pressed(&mut it, &[Home], 5).last().unwrap(), "1-4 of 7");
        let page = [Character(' '), Character(' ')];
        assert_eq!(pressed(&mut it, &page, 5), ["  2", "  3", "  4", "› 5", "4-7 of 7"]);
        assert!(it.press(&Character('q')));
    }

    #[test]
    fn a_document_that_is_still_to_come_is_shown_and_stays_where_it_was_read() {
        let mut it = viewer(&[0, 1, 1]);
        assert!(
            it.frame((80, 9), Some("reading, 3 spans"))
                .last()
                .unwrap()
                .starts_with("1-4 of 4 (reading, 3 spans) ")
        );
        it.press(&KeyStroke::Down);
        it.press(&KeyStroke::Down);
        it.replace(viewer(&[0, 1, 2, 2, 1, 0]).lines);
        assert_eq!(pressed(&mut it, &[], 5), ["  head", " ▾0", "›▾1", "  2", "1-4 of 7"]);
        // What is less than it was holds the cursor, too.
        it.press(&KeyStroke::End);
        it.replace(viewer(&[0]).lines);
        assert_eq!(pressed(&mut it, &[], 5), ["  head", "› 0", "", "", "1-2 of 2"]);
    }

    #[test]
    fn what_is_folded_stays_so_on_another_screen() {
        let mut it = viewer(&[0, 1, 2, 2, 1, 0]);
        pressed(&mut it, &[KeyStroke::Down, KeyStroke::Down, KeyStroke::Left], 9);
        let mut lines = viewer(&[0, 1, 2, 2, 1, 0]).lines;
        lines.insert(0, ViewedLine { text: "a longer head".to_owned(), level: None, in_full: Vec::new() });
        it.lay_out_anew(lines);
        let rows = pressed(&mut it, &[], 9);
        assert_eq!(rows[..6], ["  a longer head", "  head", "›▾0", " ▸1", "  4", "  5"]);
    }

    #[test]
    fn nothing_and_a_screen_without_room_do_no_harm() {
        let mut it = TraceViewer::new(Vec::new());
        for stroke in [KeyStroke::Down, KeyStroke::Left, KeyStroke::Enter, KeyStroke::End] {
            assert!(!it.press(&stroke));
        }
        assert_eq!(it.frame((80, 0), None).len(), 2);
        let mut it = viewer(&[0, 1]);
        it.press(&KeyStroke::End);
        assert_eq!(it.frame((80, 1), None).len(), 2);
    }

    #[test]
    fn a_line_that_has_no_room_is_shown_in_full() {
        use KeyStroke::{Character, Down, End, Left, Up};
        let mut it = viewer(&[0, 1, 1]);
        it.lines[2].in_full = vec!["write_file src/a/long/name.rs".to_owned(), "yes: ada".to_owned()];
        let mut shown = |strokes: &[KeyStroke], (columns, height)| {
            strokes.iter().for_each(|stroke| assert!(!it.press(stroke)));
            it.frame((columns, height), None)
        };
        let rows = shown(&[Down, Down, Character('i')], (12, 4));
        assert_eq!(rows[..3], ["write_file s", "rc/a/long/na", "me.rs"]);
        assert!(rows[3].starts_with("1-3 of 4   "), "{rows:?}");
        let rows = shown(&[Character(' '), Down], (12, 4));
        assert_eq!(rows[..3], ["rc/a/long/na", "me.rs", "yes: ada"]);
        assert!(shown(&[], (40, 4))[3].ends_with("i: back   q: leave"));
        assert_eq!(shown(&[Up, End], (40, 4))[..2], ["write_file src/a/long/name.rs", "yes: ada"]);
        // Back at the place where one was; a line that is whole has nothing to show.
        assert_eq!(shown(&[Left], (80, 9))[2], "› 1");
        assert_eq!(shown(&[KeyStroke::Home, Character('i')], (80, 9))[0], "› head");
        assert!(shown(&[], (40, 9)).last().unwrap().ends_with("i: in full   q: leave"));
        assert!(it.press(&Character('q')));
    }

    #[test]
    fn nothing_is_erased_behind_a_row() {
        let frame = ["a".repeat(10), "b".to_owned()];
        assert_eq!(drawn(&frame, 2), format!("\x1b[H\x1b[K{}\x1b[0m\r\n\x1b[Kb\x1b[0m", frame[0]));
        assert!(drawn(&frame, 3).ends_with("\x1b[0m\r\n\x1b[J"));
    }
}
