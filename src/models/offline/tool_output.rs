//! What did a tool say? Reads the text our own tools write for models; lines it does not understand, such as notes
//! in brackets, are passed over.

use std::collections::BTreeMap;

/// The text of each line, by its number from 1.
pub(super) type NumberedLines = BTreeMap<u32, String>;

/// The names in a folder's listing: one a line before a tab, folders with a `/` behind.
pub(super) fn entries(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !is_note(line));
    let names = lines.map(|line| line.split('\t').next().unwrap_or_default().trim());
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The paths in a list of files: one absolute path a line.
pub(super) fn paths(text: &str) -> Vec<String> {
    text.lines().map(str::trim_end).filter(|line| line.starts_with('/')).map(str::to_owned).collect()
}

/// Matching lines per file: `path: 3` or `path: 100 or more` a line.
pub(super) fn counts(text: &str) -> BTreeMap<String, u32> {
    let pairs = text.lines().filter(|line| !is_note(line)).filter_map(|line| {
        let (path, count) = line.rsplit_once(": ")?;
        let count = count.trim().trim_end_matches(" or more");
        Some((path.trim().to_owned(), count.parse().ok()?))
    });
    pairs.collect()
}

/// The lines a search showed: a line with the path, then `12: text` (match) or `12- text` (context). `only_file`
/// is the file searched, when there was but one.
pub(super) fn matches(text: &str, only_file: Option<&str>) -> Vec<(String, u32, String)> {
    let mut path = only_file.map(str::to_owned);
    let mut found = Vec::new();
    for line in text.lines() {
        if let Some((number, shown)) = numbered_line(line) {
            if let Some(path) = &path {
                found.push((path.clone(), number, shown.to_owned()));
            }
        } else if !is_note(line) && !line.trim().is_empty() && line.trim() != "--" {
            path = Some(line.trim().trim_end_matches(':').to_owned());
        }
    }
    found
}

/// The lines of a file that was read from line `first` on; a note before them tells what was left out.
pub(super) fn numbered(text: &str, first: u32) -> NumberedLines {
    let without_note = match text.split_once('\n') {
        Some((note, rest)) if is_reading_note(note) => rest,
        None if is_reading_note(text) || text.is_empty() => return NumberedLines::new(),
        _ => text,
    };
    (first..=u32::MAX).zip(without_note.lines().map(str::to_owned)).collect()
}

fn is_note(line: &str) -> bool {
    let line = line.trim();
    line.starts_with('[') && line.ends_with(']')
}

/// A note of `read_file`, and not a line of a file that stands in brackets.
fn is_reading_note(line: &str) -> bool {
    const BEGINNINGS: [&str; 5] =
        ["[lines ", "[long lines cut: ", "[decoded from ", "[the file is empty", "[nothing from offset "];
    // Of what is no text there is nothing but a note.
    let is_no_text = line.starts_with("[`")
        && ["` is an image: ", "` is a PDF: ", "` is a sound: ", "` is a binary file: "]
            .iter()
            .any(|words| line.contains(words));
    is_note(line) && (is_no_text || BEGINNINGS.iter().any(|beginning| line.starts_with(beginning)))
}

fn numbered_line(line: &str) -> Option<(u32, &str)> {
    let digits = line.find(|character: char| !character.is_ascii_digit())?;
    let number = line[..digits].parse().ok()?;
    let shown = line[digits..].strip_prefix([':', '-'])?;
    Some((number, shown.strip_prefix(' ').unwrap_or(shown)))
}

#[cfg(test)]
mod tests {
    use super::{counts, entries, matches, numbered, paths};

    #[test]
    fn searches_are_read_and_notes_passed_over() {
        let text = "3 matching lines in 2 files.\n\nsrc/a.rs\n3: fn a()\n4- {\n--\n9: a();\n\nsrc/b.rs\n1: use a;\n[1 of 2 files]";
        let found = matches(text, None);
        let expected = [
            ("src/a.rs", 3, "fn a()"),
            ("src/a.rs", 4, "{"),
            ("src/a.rs", 9, "a();"),
            ("src/b.rs", 1, "use a;"),
        ];
        assert_eq!(found, expected.map(|(path, line, text)| (path.to_owned(), line, text.to_owned())));
        let counted = counts("7 matching lines in 2 files.\nsrc/a.rs: 4\nsrc/b.rs: 100 or more\n[a: 3]");
        assert_eq!(
            counted.into_iter().collect::<Vec<_>>(),
            [("src/a.rs".to_owned(), 4), ("src/b.rs".to_owned(), 100)]
        );
        assert!(counts("No match for /(?:3)/ in `.`.").is_empty());
    }

    #[test]
    fn lists_are_read_and_notes_passed_over() {
        assert_eq!(
            entries("src/\t-\t2026-01-01T00:00:00Z\nREADME.md\t120\t-\n[3 ignored]"),
            ["src/", "README.md"]
        );
        assert_eq!(paths("2 files match.\n/w/a b.rs\n/w/c.rs\n[2 of 9]"), ["/w/a b.rs", "/w/c.rs"]);
    }

    #[test]
    fn lines_keep_their_numbers_behind_a_note() {
        let whole: Vec<_> = numbered("[package]\nname = 1\n", 1).into_iter().collect();
        assert_eq!(whole, [(1, "[package]".to_owned()), (2, "name = 1".to_owned())]);
        let part: Vec<_> =
            numbered("[lines 11-12 of 20; read on with offset: 12]\na\n\n", 11).into_iter().collect();
        assert_eq!(part, [(11, "a".to_owned()), (12, String::new())]);
        let cut: Vec<_> =
            numbered("[long lines cut: 1; grep shows parts of them]\na\n", 1).into_iter().collect();
        assert_eq!(cut, [(1, "a".to_owned())]);
        assert!(numbered("[the file is empty]", 1).is_empty());
        assert!(numbered("[`a.png` is an image: image/png, 70 bytes]", 1).is_empty());
    }
}
