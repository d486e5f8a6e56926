//! What is kept of an output that may be longer than memory.

use std::collections::VecDeque;

/// Bytes kept of the beginning of each of a command's two outputs. Both with their ends are what is kept of one call's
/// output, see [`crate::outputs`].
const MAX_HEAD: usize = 6 << 20;

/// Bytes kept of the end of each: what went wrong stands there.
const MAX_TAIL: usize = 4 << 20;

/// The beginning and the end of a stream of bytes.
#[derive(Debug, Clone)]
pub struct OutputCapture {
    head: Vec<u8>,
    /// What came after the head, the last of it.
    tail: VecDeque<u8>,
    total: u64,
    most: (usize, usize),
}

impl Default for OutputCapture {
    fn default() -> OutputCapture {
        OutputCapture::of(MAX_HEAD, MAX_TAIL)
    }
}

impl OutputCapture {
    /// Keeps so many bytes of the beginning and of the end.
    pub fn of(most_head: usize, most_tail: usize) -> OutputCapture {
        OutputCapture { head: Vec::new(), tail: VecDeque::new(), total: 0, most: (most_head, most_tail) }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        let (most_head, most_tail) = self.most;
        self.total += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(most_head - self.head.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(most_tail)..];
        let too_many = (self.tail.len() + rest.len()).saturating_sub(most_tail);
        self.tail.drain(..too_many);
        self.tail.extend(rest);
    }

    /// Bytes there were.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Bytes between beginning and end that are not kept.
    fn lost(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// All of it; `None` = not all was kept.
    pub fn whole(&self) -> Option<Vec<u8>> {
        (self.lost() == 0).then(|| self.head.iter().chain(&self.tail).copied().collect())
    }

    /// As text; what is no UTF-8 shows as `�`, and what is lost is said where it was.
    pub fn text(&self) -> String {
        let mut bytes = self.head.clone();
        let lost = self.lost();
        if lost == 0 {
            bytes.extend(&self.tail);
            return String::from_utf8_lossy(&bytes).into_owned();
        }
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let (head, tail) = (String::from_utf8_lossy(&bytes), String::from_utf8_lossy(&tail));
        format!("{head}\n[… {lost} bytes were not kept …]\n{tail}")
    }

    /// What there is from a byte on, at most so many: where it begins, and it.
    pub fn from(&self, from: u64, most: usize) -> (u64, Vec<u8>) {
        let head = self.head.len() as u64;
        let tail_start = self.total - self.tail.len() as u64;
        match from {
            // Within the whole numbers of memory, since the head is in it.
            from if from < head => {
                let start = from as usize;
                let end = self.head.len().min(start.saturating_add(most));
                (from, self.head[start..end].to_vec())
            }
            from => {
                let from = from.clamp(tail_start, self.total);
                let skip = (from - tail_start) as usize;
                (from, self.tail.iter().skip(skip).take(most).copied().collect())
            }
        }
    }
}
