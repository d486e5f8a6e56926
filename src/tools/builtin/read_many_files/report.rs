//! How do many files become one result?

use std::{fmt::Write as _, fs::File, io};

use serde_json::json;

use super::selection::{SelectedFile, SkippedFile};
use crate::{
    SeenFileDigests,
    builtin::reading::{
        self, DEFAULT_LINES, FileContent, LineRange, MAX_FILE_BYTES, MAX_INLINE_BYTES, NOTE_CHARS,
        TextExcerpt,
    },
    digest,
    workspace::{OpenedPath, Workspace, WorkspacePath},
};
use protocol::{MessagePart, ToolResult};
use redact::Redactor;

/// Files that are opened. More do not fit any output limit as text; what is left out costs time all the same.
pub const MAX_FILES: usize = 1_000;
/// Bytes that are read, most of which are then left out. Reading as much takes some tenths of a second.
const MAX_READ_BYTES: u64 = 256 * 1024 * 1024;
/// Images of one result; providers take between 20 and some thousands in a request.
const MAX_IMAGES: usize = 20;

/// Below this many characters nothing of use can be shown of a file.
const MIN_CHARS: usize = 200;
/// Room kept for the first line and the last.
const FRAME_CHARS: usize = 300;
/// Room kept for naming what is not shown, when the limit is large.
const MAX_LIST_CHARS: usize = 4_000;

const NO_ROOM: &str = "no room left under the output limit";
pub const TOO_MANY: &str = "too many files; a narrower pattern gets to it";

/// The result while it is written.
pub struct ManyFilesReport<'a> {
    workspace: &'a Workspace,
    redactor: &'a Redactor,
    reads: &'a SeenFileDigests,
    parts: Vec<MessagePart>,
    /// What comes into the next text part.
    text: String,
    not_shown: Vec<SkippedFile>,
    /// Characters left for files, and for the list of what is not shown.
    left: usize,
    left_for_list: usize,
    left_to_read: u64,
    left_for_images: usize,
    opened: usize,
    shown: usize,
    in_part: usize,
    images: usize,
}

impl<'a> ManyFilesReport<'a> {
    pub fn new(
        workspace: &'a Workspace,
        redactor: &'a Redactor,
        reads: &'a SeenFileDigests,
        max_chars: usize,
    ) -> ManyFilesReport<'a> {
        let left_for_list = MAX_LIST_CHARS.min(max_chars / 5);
        ManyFilesReport {
            workspace,
            redactor,
            reads,
            parts: Vec::new(),
            text: String::new(),
            not_shown: Vec::new(),
            left: max_chars.saturating_sub(left_for_list + FRAME_CHARS + NOTE_CHARS),
            left_for_list,
            left_to_read: MAX_READ_BYTES,
            left_for_images: MAX_INLINE_BYTES,
            opened: 0,
            shown: 0,
            in_part: 0,
            images: 0,
        }
    }

    /// Shows the file, or notes why not.
    pub fn add(&mut self, chosen: &SelectedFile) {
        if let Err(why) = self.show(chosen) {
            self.not_shown.push(SkippedFile::new(self.workspace.shown(&chosen.place), why));
        }
    }

    fn show(&mut self, chosen: &SelectedFile) -> Result<(), String> {
        if self.left < MIN_CHARS {
            return Err(NO_ROOM.to_owned());
        }
        if self.opened == MAX_FILES {
            return Err(TOO_MANY.to_owned());
        }
        self.opened += 1;
        let (file, size) = match self.workspace.open_quietly(&chosen.place) {
            Ok(OpenedPath::File { file, size }) => (file, size),
            Ok(OpenedPath::Folder(_)) => return Err("a folder by now".to_owned()),
            Ok(OpenedPath::Special(what)) => return Err(format!("{what}, not a file")),
            Err(errno) => return Err(format!("cannot be read: {errno}")),
        };
        let bytes = self.read(&file, size, chosen.is_named)?;
        match reading::content(&bytes) {
            FileContent::Text { text, encoding } => {
                // What is shown is read whole, unlike what is left out.
                self.reads.note(self.workspace.absolute(&chosen.place), digest::of(&bytes));
                self.show_text(&chosen.place, &text, encoding);
            }
            FileContent::Image { mime } if chosen.is_named => self.show_image(&chosen.place, &bytes, mime)?,
            // Of an image that is not wanted only the beginning was read.
            FileContent::Image { mime } | FileContent::BrokenImage { mime } if !chosen.is_named => {
                return Err(format!(
                    "an image ({mime}, {size} bytes); its name or ending as a pattern shows it"
                ));
            }
            FileContent::Image { mime } | FileContent::BrokenImage { mime } => {
                return Err(format!("a broken image: {mime} without its end, {size} bytes"));
            }
            FileContent::Pdf => return Err(format!("a PDF, {size} bytes; read_file shows it")),
            FileContent::Audio { mime } => {
                return Err(format!(
                    "a sound ({mime}, {size} bytes); read_file shows it, if this model takes sound"
                ));
            }
            FileContent::Binary { mime } => return Err(format!("a binary file: {mime}, {size} bytes")),
        }
        self.shown += 1;
        Ok(())
    }

    /// The whole file; of what is surely no text only the beginning, unless an image is wanted.
    fn read(&mut self, file: &File, size: u64, wants_image: bool) -> Result<Vec<u8>, String> {
        let cannot = |error: io::Error| format!("cannot be read: {error}");
        let too_large = || {
            format!("{size} bytes; at most {MAX_FILE_BYTES} are read. grep finds the lines of interest in it")
        };
        let head = reading::read_head(file).map_err(cannot)?;
        if reading::is_surely_binary(&head) && !wants_image {
            return Ok(head);
        }
        if MAX_FILE_BYTES < size {
            return Err(too_large());
        }
        self.left_to_read = match self.left_to_read.checked_sub(size) {
            Some(left) => left,
            None => return Err("too much was read before it; another call can read it".to_owned()),
        };
        reading::read_on(file, head).map_err(cannot)?.ok_or_else(too_large)
    }

    fn show_text(&mut self, place: &WorkspacePath, text: &str, encoding: Option<&str>) {
        let header = format!("--- {} ---\n", self.workspace.shown(place));
        // The excerpt keeps room for its note, for which room was kept already.
        let max_chars = self.left.saturating_sub(header.chars().count()) + NOTE_CHARS;
        let range = LineRange { offset: 0, limit: DEFAULT_LINES, max_chars };
        let excerpt = TextExcerpt::of(text, range, self.redactor);
        let mut piece = header;
        if let Some(note) = excerpt.note(encoding) {
            let _ = writeln!(piece, "{note}");
        }
        piece.push_str(&excerpt.text);
        if !piece.ends_with('\n') {
            piece.push('\n');
        }
        piece.push('\n');
        self.in_part += usize::from(!excerpt.is_whole());
        self.push(&piece);
    }

    fn show_image(&mut self, place: &WorkspacePath, bytes: &[u8], mime: &str) -> Result<(), String> {
        let size = bytes.len();
        if MAX_INLINE_BYTES < size {
            return Err(format!("an image of {size} bytes; models get images of at most {MAX_INLINE_BYTES}"));
        }
        let has_room = self.images < MAX_IMAGES && size <= self.left_for_images;
        if !has_room {
            return Err(format!("an image of {size} bytes, beyond what one call shows; read_file shows it"));
        }
        self.images += 1;
        self.left_for_images -= size;
        self.push(&format!("--- {} ---\n[an image: {mime}, {size} bytes]\n", self.workspace.shown(place)));
        self.parts.push(MessagePart::text(std::mem::take(&mut self.text)));
        self.parts.push(reading::part(mime, bytes));
        Ok(())
    }

    fn push(&mut self, piece: &str) {
        self.left = self.left.saturating_sub(piece.chars().count());
        self.text.push_str(piece);
    }

    /// `missed` is what was named and is no file; `total` counts the files that were meant.
    pub fn into_result(mut self, total: usize, missed: Vec<SkippedFile>, notes: &[String]) -> ToolResult {
        let mut first = match total {
            0 => "No file to show.\n".to_owned(),
            1 => format!("{} of 1 file shown", self.shown),
            _ => format!("{} of {total} files shown", self.shown),
        };
        if total != 0 {
            first.push_str(&match self.in_part {
                0 => ".\n\n".to_owned(),
                in_part => format!(", {in_part} of them in part; read_file reads on.\n\n"),
            });
        }
        let not_shown: Vec<SkippedFile> = missed.into_iter().chain(self.not_shown.drain(..)).collect();
        if !not_shown.is_empty() {
            let _ = writeln!(self.text, "[not shown: {}]", not_shown.len());
            self.list(&not_shown);
        }
        for note in notes {
            let _ = writeln!(self.text, "{note}");
        }
        if !self.text.is_empty() || self.parts.is_empty() {
            self.parts.push(MessagePart::text(self.text));
        }
        if let Some(MessagePart::Text { text }) = self.parts.first_mut() {
            text.insert_str(0, &first);
        }
        if let Some(MessagePart::Text { text }) = self.parts.last_mut() {
            text.truncate(text.trim_end_matches('\n').len());
        }
        let data = json!({
            "files": total,
            "shown": self.shown,
            "inPart": self.in_part,
            "images": self.images,
            "notShown": not_shown.len(),
        });
        ToolResult {
            llm_content: self.parts,
            return_display: Some(format!("Read {} of {total} files", self.shown)),
            data: Some(data),
            ..ToolResult::default()
        }
    }

    /// One line for each, as long as there is room.
    fn list(&mut self, not_shown: &[SkippedFile]) {
        for (index, SkippedFile { what, why }) in not_shown.iter().enumerate() {
            let line = format!("- {what}: {why}\n");
            let chars = line.chars().count();
            if self.left_for_list < chars {
                let _ = writeln!(self.text, "- and {} more", not_shown.len() - index);
                break;
            }
            self.left_for_list -= chars;
            self.text.push_str(&line);
        }
    }
}
