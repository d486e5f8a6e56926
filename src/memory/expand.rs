//! What does a memory file say, with what it imports in the place of the words that import it?

use std::path::{Path, PathBuf};

use super::{
    read::{MemoryRead, MemoryReader},
    sites::{ImportSite, import_sites},
};
use sys::lexical::lexical;

/// Bytes of one file that count (spec 08, "Bad input").
pub const MOST_MEMORY_FILE_BYTES: u64 = 64 << 10;
/// Imports within imports.
const MOST_DEEP: usize = 5;
/// Files that are imported in all: a file of nothing but imports must not open thousands.
const MOST_IMPORTS: usize = 200;
/// The ways in which the names of texts end that people import.
const TEXT_ENDINGS: &[&str] = &["md", "markdown", "mdc", "mdx", "rst", "txt"];
/// Words that are looked up as paths, for the same reason: most of them name no file.
const MOST_LOOKED_UP: usize = 2_000;

/// The outcome of reading one file.
pub(super) enum ReadText {
    Missing,
    Outside,
    Text {
        text: String,
        size: u64,
        canonical: PathBuf,
    },
    /// It is not read, and why.
    Skipped(String),
}

/// True if a file is named as texts are that people import (`.md`, `.txt`, …).
pub fn is_named_as_text(path: &Path) -> bool {
    let ending = path.extension().map(|it| it.to_ascii_lowercase());
    ending.is_some_and(|it| TEXT_ENDINGS.iter().any(|known| it == *known))
}

/// A file that a memory file imports, or names as if it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryImport {
    pub path: PathBuf,
    /// The file that names it.
    pub by: PathBuf,
    /// The reason why it is not imported; `None` = it is.
    pub left: Option<String>,
}

/// The folder of a file that imports others, from which their paths count, and the one that it may reach into alone; `None` =
/// all of the ground.
type ImportingPlace<'a> = (&'a Path, Option<&'a Path>);

/// Expands the files of one ground. It counts what all of them import together.
pub(super) struct ImportExpander<'a> {
    reader: &'a dyn MemoryReader,
    imports_left: usize,
    words_left: usize,
    /// It was told that there are more words.
    has_told_of_words: bool,
    /// Bytes that imports may still add.
    bytes_left: usize,
    /// Spellings of one word that named no file.
    n_missing: usize,
    pub imports: Vec<MemoryImport>,
    pub warnings: Vec<String>,
}

impl<'a> ImportExpander<'a> {
    pub fn new(reader: &'a dyn MemoryReader, bytes_left: usize) -> ImportExpander<'a> {
        ImportExpander {
            reader,
            imports_left: MOST_IMPORTS,
            words_left: MOST_LOOKED_UP,
            has_told_of_words: false,
            bytes_left,
            n_missing: 0,
            imports: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// A memory file with its imports.
    pub fn read(&mut self, path: &Path) -> ReadText {
        match self.text_of(path, self.reader.read(path, MOST_MEMORY_FILE_BYTES)) {
            ReadText::Text { text, size, canonical } => {
                let mut above = vec![canonical.clone()];
                let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
                let within = self.reader.reach_of(path, &canonical);
                let text = self.expanded(&text, (&folder, within.as_deref()), &mut above);
                ReadText::Text { text, size, canonical }
            }
            other => other,
        }
    }

    /// The length of a file that is there, whatever is in it.
    pub fn size(&self, path: &Path) -> Option<u64> {
        match self.reader.read(path, 0) {
            MemoryRead::Missing => None,
            MemoryRead::File { size, .. } => Some(size),
            MemoryRead::Outside | MemoryRead::Refused(_) => Some(0),
        }
    }

    /// The text of what was read, cut where it is too long.
    fn text_of(&mut self, path: &Path, read: MemoryRead) -> ReadText {
        let (bytes, size, canonical) = match read {
            MemoryRead::Missing => return ReadText::Missing,
            MemoryRead::Outside => return ReadText::Outside,
            MemoryRead::Refused(why) => return ReadText::Skipped(why),
            MemoryRead::File { bytes, size, canonical } => (bytes, size, canonical),
        };
        let is_cut = (bytes.len() as u64) < size;
        let text = match decoded(&bytes, is_cut) {
            Some(text) => text,
            None => return ReadText::Skipped("is not UTF-8 text".to_owned()),
        };
        if text.contains('\0') {
            return ReadText::Skipped("is not a text file".to_owned());
        }
        let mut text = text.replace("\r\n", "\n");
        if is_cut {
            let kib = MOST_MEMORY_FILE_BYTES >> 10;
            self.warnings
                .push(format!("{} has {size} bytes: only its first {kib} KiB count", path.display()));
            text.push_str(&format!(
                "\n[cut here: the file has {size} bytes, of which the first {kib} KiB count]\n"
            ));
        }
        ReadText::Text { text, size, canonical }
    }

    /// Recursion ends: `above` grows with each level, up to a bound.
    fn expanded(&mut self, text: &str, place: ImportingPlace<'_>, above: &mut Vec<PathBuf>) -> String {
        let mut whole = String::with_capacity(text.len());
        let mut at = 0;
        for ImportSite { range, spellings, is_of_agents } in import_sites(text) {
            if is_of_agents {
                self.leave_to_agents(spellings.last().copied().unwrap_or_default(), place, above);
                continue;
            }
            self.n_missing = 0;
            let Some(instead) = spellings.iter().find_map(|word| {
                let behind = &spellings[0][word.len()..];
                self.imported(word, place, above).map(|text| text + behind)
            }) else {
                if self.n_missing == spellings.len() {
                    self.tell_missing(spellings.last().copied().unwrap_or_default(), place, above);
                }
                continue;
            };
            whole.push_str(&text[at..range.start]);
            whole.push_str(&instead);
            at = range.end;
        }
        whole.push_str(&text[at..]);
        whole
    }

    /// A word that names no file is mostly somebody's name; one that ends like a text is a slip, and nobody else would say so.
    fn tell_missing(&mut self, word: &str, (folder, _): ImportingPlace<'_>, above: &[PathBuf]) {
        let path = lexical(&folder.join(word));
        if is_named_as_text(&path) {
            let by = above.last().map(|file| file.display().to_string()).unwrap_or_default();
            if self.note(path, above, Some("there is no such file")) {
                self.warnings.push(format!("{by}: `@{word}` names no file, so nothing is imported"));
            }
        }
    }

    /// Leaves out a word among facts that agents wrote down: they would have later runs told of files that nobody asked for. A person may have written it
    /// there, at the file's end, so a word that ends like a text has a row.
    fn leave_to_agents(&mut self, word: &str, (folder, _): ImportingPlace<'_>, above: &[PathBuf]) {
        let path = lexical(&folder.join(word));
        if is_named_as_text(&path) {
            self.note(path, above, Some("it stands below `## Added Memories`, where agents write"));
        }
    }

    /// Notes what became of an import; false = there are too many.
    fn note(&mut self, path: PathBuf, above: &[PathBuf], left: Option<&str>) -> bool {
        let Some(by) = above.last().filter(|_| self.imports.len() < MOST_IMPORTS) else { return false };
        self.imports.push(MemoryImport { path, by: by.clone(), left: left.map(str::to_owned) });
        true
    }

    /// The comment in the place of what is not imported.
    fn left_out(&mut self, (word, path): (&str, PathBuf), above: &[PathBuf], why: &str) -> Option<String> {
        self.note(path, above, Some(why));
        Some(not_imported(word, why))
    }

    /// The text in the place of a word; `None` = it names no file, and stays.
    fn imported(
        &mut self,
        word: &str,
        (folder, within): ImportingPlace<'_>,
        above: &mut Vec<PathBuf>,
    ) -> Option<String> {
        let Some(words_left) = self.words_left.checked_sub(1) else {
            if !std::mem::replace(&mut self.has_told_of_words, true) {
                self.warnings.push(format!(
                    "{}: of words that begin with `@`, only the first {MOST_LOOKED_UP} of all memory files import something",
                    folder.display()
                ));
            }
            return None;
        };
        self.words_left = words_left;
        let path = match word.strip_prefix("~/") {
            None => lexical(&folder.join(word)),
            Some(below) => match self.reader.home() {
                Some(home) => lexical(&home.join(below)),
                None => {
                    return self.left_out((word, word.into()), above, "it leads out of the repository");
                }
            },
        };
        let read = self.reader.import(&path, within, MOST_MEMORY_FILE_BYTES);
        let (text, canonical) = match self.text_of(&path, read) {
            ReadText::Missing => {
                self.n_missing += 1;
                return None;
            }
            ReadText::Outside if looks_like_a_path(word) => {
                let why = "it leads out of where imports may come from";
                return self.left_out((word, path), above, why);
            }
            ReadText::Outside => return None,
            ReadText::Skipped(why) => {
                self.warnings.push(format!("{} {why}: `@{word}` is not imported", path.display()));
                self.note(path, above, Some(&why));
                return None;
            }
            ReadText::Text { text, canonical, .. } => (text, canonical),
        };
        if above.contains(&canonical) {
            return self.left_out((word, path), above, "it imports itself");
        }
        if MOST_DEEP < above.len() {
            return self.left_out((word, path), above, "imports are too deep");
        }
        let has_room = text.len() <= self.bytes_left && self.imports_left != 0;
        if !has_room {
            self.warnings.push(format!("{}: too much is imported; `@{word}` is left out", path.display()));
            return self.left_out((word, path), above, "too much is imported");
        }
        self.note(path.clone(), above, None);
        self.imports_left -= 1;
        self.bytes_left -= text.len();
        // Once it is narrow it stays so.
        let reach = self.reader.reach_of(&canonical, &canonical);
        let within = match (&reach, within) {
            (Some(reach), Some(within)) if !reach.starts_with(within) => Some(within),
            (Some(reach), _) => Some(reach.as_path()),
            (None, within) => within,
        };
        above.push(canonical);
        let below = path.parent().unwrap_or(Path::new("/"));
        let text = self.expanded(&text, (below, within), above);
        above.pop();
        Some(format!("<!-- from {word} -->\n{}\n<!-- end of {word} -->", text.trim_end()))
    }
}

/// UTF-8, or UTF-16 that says so by its mark. The last character may be cut in two.
fn decoded(bytes: &[u8], is_cut: bool) -> Option<String> {
    let utf_16 = |units: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = units.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        match (String::from_utf16(&units), units.split_last()) {
            (Ok(text), _) => Some(text),
            (Err(_), Some((_, whole))) if is_cut => String::from_utf16(whole).ok(),
            (Err(_), _) => None,
        }
    };
    match bytes {
        [0xFF, 0xFE, units @ ..] => utf_16(units, u16::from_le_bytes),
        [0xFE, 0xFF, units @ ..] => utf_16(units, u16::from_be_bytes),
        _ => {
            let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
            match std::str::from_utf8(bytes) {
                Ok(text) => Some(text.to_owned()),
                Err(error) if is_cut && bytes.len() - error.valid_up_to() < 4 => {
                    std::str::from_utf8(&bytes[..error.valid_up_to()]).ok().map(str::to_owned)
                }
                Err(_) => None,
            }
        }
    }
}

/// A word that only has an `@` is mostly somebody's name.
fn looks_like_a_path(word: &str) -> bool {
    word.contains('/') || word.contains("..")
}

fn not_imported(word: &str, why: &str) -> String {
    // It ends no comment.
    let word = word.replace("--", "- -").replace('>', " ");
    format!("<!-- {word} is not imported: {why} -->")
}
