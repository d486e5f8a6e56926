//! What did this user say in conversations before?
//!
//! One JSON string a line, oldest first, in a file that nobody else may read. Several conversations may add to it at the
//! same time. Losing it loses nothing but comfort, so no trouble with it is told.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use crate::key;

/// Inputs that are kept: more than anybody goes through by hand.
const ENTRIES_MAX: usize = 1_000;

/// Bytes of one input that is kept: a text that was pasted whole is not looked for again.
const ENTRY_BYTES_MAX: usize = 8 << 10;

/// Bytes of the file that are read: twice what it has when it is full of long inputs is more than it ever gets.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// A file that has so many is written anew when a conversation begins.
const ENTRIES_UNTIDY: usize = 2 * ENTRIES_MAX;

/// The name of the file in the state folder.
pub(super) const FILE: &str = "conversation-history.jsonl";

/// Earlier inputs, and where they are kept.
#[derive(Debug, Default)]
pub(super) struct InputHistory {
    entries: Vec<String>,
    /// `None` where no folder for it can be told.
    file: Option<PathBuf>,
}

impl InputHistory {
    /// What is kept below this folder.
    pub(super) fn read(folder: Option<PathBuf>) -> InputHistory {
        let file = folder.map(|folder| folder.join(FILE));
        let mut entries = file.as_deref().and_then(|file| entries_of(file).ok()).unwrap_or_default();
        let is_untidy = ENTRIES_UNTIDY < entries.len();
        entries.drain(..entries.len().saturating_sub(ENTRIES_MAX));
        if let Some(file) = file.as_deref().filter(|_| is_untidy) {
            let _ = write_anew(file, &entries);
        }
        InputHistory { entries, file }
    }

    /// Oldest first.
    pub(super) fn entries(&self) -> &[String] {
        &self.entries
    }

    /// Keeps an input, unless it begins with a blank, was the last one, too, or is too long to be typed.
    pub(super) fn add(&mut self, text: &str) {
        let is_wanted = !text.starts_with(char::is_whitespace) && text.len() <= ENTRY_BYTES_MAX;
        if !is_wanted || self.entries.last().is_some_and(|last| last == text) {
            return;
        }
        if ENTRIES_MAX <= self.entries.len() {
            self.entries.remove(0);
        }
        self.entries.push(text.to_owned());
        if let Some(file) = &self.file {
            let _ = append(file, text);
        }
    }
}

fn entries_of(file: &Path) -> io::Result<Vec<String>> {
    let mut bytes = Vec::new();
    File::open(file)?.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    // A line that was cut by a full disk is passed over.
    let lines = bytes.split(|byte| *byte == b'\n');
    Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
}

fn append(file: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(file)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    // At once, so that two conversations do not mix their lines.
    file.write_all(line(text).as_bytes())
}

/// Replaces the file whole or not at all.
fn write_anew(file: &Path, entries: &[String]) -> io::Result<()> {
    let chance = key::chance(8).map_err(|_| io::Error::other("no chance"))?;
    let draft = file.with_extension(chance);
    let text: String = entries.iter().map(|entry| line(entry)).collect();
    let written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft);
    let replaced =
        written.and_then(|mut new| new.write_all(text.as_bytes())).and_then(|()| fs::rename(&draft, file));
    if replaced.is_err() {
        let _ = fs::remove_file(&draft);
    }
    replaced
}

fn line(text: &str) -> String {
    format!("{}\n", serde_json::Value::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_there_again_and_only_their_user_reads_them() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("state/subagentd");
        let mut first = InputHistory::read(Some(place.clone()));
        for text in ["one", "two\nlines", "two\nlines", " a secret", "\tanother", "/help"] {
            first.add(text);
        }
        first.add(&"a".repeat(ENTRY_BYTES_MAX + 1));
        let kept = ["one", "two\nlines", "/help"];
        assert_eq!(first.entries(), kept);
        // Somebody had made it readable.
        let file = place.join(FILE);
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        let mut second = InputHistory::read(Some(place.clone()));
        assert_eq!(second.entries(), kept);
        second.add("three");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(InputHistory::read(Some(place)).entries().len(), 4);
    }

    #[test]
    fn the_file_does_not_grow_for_ever_and_bad_lines_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE);
        let many: String = (0..=ENTRIES_UNTIDY).map(|n| format!("{n}\nno string {{\n\"{n}\"\n")).collect();
        fs::write(&file, many).unwrap();
        let history = InputHistory::read(Some(folder.path().to_owned()));
        assert_eq!(history.entries().len(), ENTRIES_MAX);
        assert_eq!(history.entries().last().unwrap(), &ENTRIES_UNTIDY.to_string());
        assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), ENTRIES_MAX);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "the draft is left");
        assert!(InputHistory::read(None).entries().is_empty());
    }
}
