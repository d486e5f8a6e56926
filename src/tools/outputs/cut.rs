//! Which part of a long output does a model get, and what is it told about the rest?

use std::io;

use super::{joined, wrapped};
use protocol::MessagePart;

/// Characters kept for the note between head and tail, beside the path in it.
const NOTE_CHARS: usize = 400;

/// Where a whole output is.
#[derive(Debug)]
pub(super) struct StoredOutput {
    pub path: String,
    /// Less than the output has when that is too long even for keeping.
    pub bytes: usize,
}

/// An output that is cut: bytes before `head` and from `tail` on are left.
pub(super) struct OutputCut {
    head: usize,
    tail: usize,
    note: String,
}

/// True if the texts may have more characters than that: bytes bound them.
pub(super) fn may_be_too_long(parts: &[MessagePart], max_chars: usize) -> bool {
    max_chars < parts.iter().filter_map(MessagePart::as_text).map(str::len).sum()
}

/// The texts in one, when they have more characters than that.
pub(super) fn too_long(parts: &[MessagePart], max_chars: usize) -> Option<String> {
    let texts = || parts.iter().filter_map(MessagePart::as_text);
    // Perf: bytes bound characters, so most results need no counting.
    let bytes: usize = texts().map(str::len).sum();
    let is_long = max_chars < bytes && max_chars < texts().map(|text| text.chars().count()).sum();
    is_long.then(|| joined(parts))
}

/// Cuts a text in the middle that is told elsewhere in full.
pub(super) fn shorten(text: &mut String, max_chars: usize) {
    let total = text.chars().count();
    if total <= max_chars {
        return;
    }
    let (head, tail) = ends(text, max_chars / 2, max_chars / 2);
    *text = format!(
        "{}\n[… of {total} characters only the first and the last …]\n{}",
        &text[..head],
        &text[tail..]
    );
}

impl OutputCut {
    /// Half of the room each for head and tail, at the ends of lines where one is near.
    pub fn of(whole: &str, max_chars: usize, kept: &io::Result<StoredOutput>) -> OutputCut {
        let path_chars = kept.as_ref().map_or(0, |kept| kept.path.chars().count());
        let room = max_chars.saturating_sub(NOTE_CHARS + path_chars);
        let (mut head, mut tail) = ends(whole, room / 2, room - room / 2);
        if let Some(end) = whole[..head].rfind('\n').filter(|end| head / 2 <= *end) {
            head = end + 1;
        }
        if let Some(end) = whole[tail..].find('\n').filter(|end| *end < (whole.len() - tail) / 2) {
            tail += end + 1;
        }
        OutputCut { head, tail, note: note(whole, (head, tail), kept) }
    }

    /// The parts without what is left out; those that are no text stay.
    pub fn parts(&self, parts: Vec<MessagePart>) -> Vec<MessagePart> {
        let OutputCut { head, tail, note } = self;
        let mut kept = Vec::with_capacity(parts.len());
        // Where the part begins in the whole.
        let mut start = 0;
        let mut ends_line = true;
        let mut is_noted = false;
        for part in parts {
            let MessagePart::Text { text } = part else {
                kept.push(part);
                continue;
            };
            start += usize::from(!ends_line);
            let end = start + text.len();
            let within = |place: usize| place.clamp(start, end) - start;
            let mut left = text[..within(*head)].to_owned();
            if *head < end && !is_noted {
                is_noted = true;
                let gap = if left.is_empty() || left.ends_with('\n') { "" } else { "\n" };
                left.push_str(gap);
                left.push_str(note);
            }
            left.push_str(&text[within(*tail)..]);
            if !text.is_empty() {
                ends_line = text.ends_with('\n');
            }
            start = end;
            if !left.is_empty() {
                kept.push(MessagePart::text(left));
            }
        }
        kept
    }
}

/// Where so many first characters end, and so many last ones begin.
fn ends(text: &str, first: usize, last: usize) -> (usize, usize) {
    let head = text.char_indices().nth(first).map_or(text.len(), |(at, _)| at);
    let tail = match last.checked_sub(1) {
        None => text.len(),
        Some(before) => text.char_indices().rev().nth(before).map_or(0, |(at, _)| at),
    };
    (head, tail.max(head))
}

fn note(whole: &str, (head, tail): (usize, usize), kept: &io::Result<StoredOutput>) -> String {
    let (left_out, total) = (whole[head..tail].chars().count(), whole.chars().count());
    let cut = format!("[… {left_out} of {total} characters of this output are left out here");
    let on = |kept: &StoredOutput| {
        // Of a line that is shown in part, all is read again.
        let shown = wrapped(&whole[..head]).matches('\n').count();
        format!("read_file with this path and offset: {shown} reads on: {}", kept.path)
    };
    let rest = match kept {
        Ok(kept) if kept.bytes == whole.len() => {
            let lines = wrapped(whole).lines().count();
            format!(". The whole is kept, {} bytes in {lines} lines; {}", kept.bytes, on(kept))
        }
        Ok(kept) => format!(
            ". Of its {} bytes only the first {} are kept, the rest is lost; {}",
            whole.len(),
            kept.bytes,
            on(kept)
        ),
        Err(error) => {
            let why = match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "the disk is full".to_owned(),
                kind => kind.to_string(),
            };
            format!(", and they are lost: the whole could not be kept ({why})")
        }
    };
    format!("{cut}{rest} …]\n")
}
