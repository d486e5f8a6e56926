//! Which lines of a file are worth reading?

use serde_json::{Value, json};

use super::{
    ranking::{HitWindow, RankedFile},
    source_line,
    transcript::OfflineTranscript,
};

/// A tool call to be made.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlannedToolCall {
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
}

/// Best windows read of one file.
pub(super) const WINDOWS_PER_FILE: usize = 2;
/// Lines read around a window: the comment above, the rest of the function below.
const LINES_ABOVE: u32 = 12;
const LINES_BELOW: u32 = 25;
/// How far above a window the definition may begin that it belongs to.
const MAX_REACH_TO_DEFINITION: u32 = 60;
/// Lines read of a file nothing points into.
const HEAD_LINES: u32 = 80;

/// Reads the beginning of a file.
pub(super) fn whole(path: &str) -> PlannedToolCall {
    stretch(path, 1, HEAD_LINES)
}

/// Calls that read the file's best windows, as far as they are unread.
pub(super) fn stretches(file: &RankedFile, transcript: &OfflineTranscript) -> Vec<PlannedToolCall> {
    let read = transcript.read.get(&file.path);
    let is_unread = |window: &&HitWindow| read.is_none_or(|lines| !lines.contains_key(&window.peak));
    if file.windows.is_empty() {
        return if read.is_none() { vec![whole(&file.path)] } else { Vec::new() };
    }
    let unread = file.windows.iter().take(WINDOWS_PER_FILE).filter(is_unread);
    let mut ranges: Vec<(u32, u32)> = unread.map(|window| range(file, window, transcript)).collect();
    ranges.sort_unstable();
    let mut joined: Vec<(u32, u32)> = Vec::new();
    for (first, last) in ranges {
        match joined.last_mut() {
            Some(before) if first <= before.1 + 1 => before.1 = before.1.max(last),
            _ => joined.push((first, last)),
        }
    }
    joined.into_iter().map(|(first, last)| stretch(&file.path, first, last)).collect()
}

fn range(file: &RankedFile, window: &HitWindow, transcript: &OfflineTranscript) -> (u32, u32) {
    let reach = window.first.saturating_sub(MAX_REACH_TO_DEFINITION);
    let definition = transcript
        .found
        .get(&file.path)
        .and_then(|lines| {
            let mut above = lines.range(reach..=window.first).rev();
            above.find(|(_, text)| source_line::definition(text).is_some()).map(|(number, _)| *number)
        })
        .unwrap_or(window.first);
    (definition.saturating_sub(LINES_ABOVE).max(1), window.last.saturating_add(LINES_BELOW))
}

fn stretch(path: &str, first: u32, last: u32) -> PlannedToolCall {
    PlannedToolCall {
        tool: "read_file",
        arguments: json!({"path": path, "offset": first - 1, "limit": last - first + 1}),
    }
}
