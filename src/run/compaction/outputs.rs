//! Which old outputs of tools are shortened, and to what? (spec 04, "Compression", 2)

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    fmt::Write as _,
    sync::Arc,
};

use super::{
    estimate::{MessageLength, TokenEstimate},
    request::data_line,
};
use crate::unhurried;
use protocol::{CallId, ContextMessage, MessagePart};

/// What results may take together before older ones are shortened (spec 04).
pub const OUTPUT_BUDGET: TokenEstimate = TokenEstimate::tokens(50_000);

/// Last lines that are kept of an output (spec 04).
const KEPT_LINES: usize = 30;

/// Characters that are kept of a line. With 30 lines an old output takes at most 1,500 tokens of ASCII, however long its
/// lines are.
const LINE_CHARS: usize = 200;

/// How a shortened output begins.
const NOTE: &str = "[An older output, shortened to save room: ";

/// Characters that a note, the path in it and the marks of shortened lines may have beside the lines. A path has at
/// most 4,096 bytes.
const NOTE_CHARS: usize = 6_144;

/// Characters of a path that the daemon gives to what it keeps, for weighing a replacement before it is written.
const USUAL_PATH: &str = "/home/somebody/.local/state/subagentd/artifacts/00000000-0000-7000-8000-000000000000/output/00000000-0000-7000-8000-000000000000.txt";

/// An output that is to be shortened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldOutput {
    pub call: CallId,
    /// All that the model was shown of it: its texts, and a line about each piece of data. Note: when the call's result
    /// was cut already, as too long at once, what is kept of it elsewhere is more than this.
    pub whole: String,
    pub kept_lines: usize,
    pub total_lines: usize,
}

impl OldOutput {
    fn new(call: &CallId, parts: &[MessagePart]) -> OldOutput {
        let whole = whole(parts);
        let total_lines = whole.lines().count();
        OldOutput { call: call.clone(), whole, kept_lines: total_lines.min(KEPT_LINES), total_lines }
    }

    /// What the model reads in its place: where the whole is (`None` = it could not be kept), and its last lines.
    pub fn replacement(&self, saved: Option<&str>) -> Vec<MessagePart> {
        let OldOutput { whole, kept_lines, total_lines, .. } = self;
        let mut text =
            format!("{NOTE}the last {kept_lines} of the {total_lines} lines that it showed follow. ");
        match saved {
            Some(path) => {
                let _ = write!(
                    text,
                    "The whole is kept; read_file with this path shows any lines of it, by offset and limit: {path}"
                );
            }
            None => text.push_str("The rest could not be kept; make the call again if you need it"),
        }
        text.push_str("]\n");
        let mut last: VecDeque<&str> = VecDeque::with_capacity(KEPT_LINES);
        for line in whole.lines().rev().take(*kept_lines) {
            last.push_front(line);
        }
        for line in last {
            push_bounded(&mut text, line);
            text.push('\n');
        }
        vec![MessagePart::Text { text }]
    }
}

/// The outputs that are beyond the budget, newest first. Walking back from the newest, an output that would not fit any more
/// beside those that stay is shortened, and what is left of it counts in its place. Errors stay, for they are short and
/// say what not to try again; so does what was shortened already, what would not get shorter by it, and the results of the calls in `whole`.
pub fn old_outputs(
    messages: &[Arc<ContextMessage>],
    budget: TokenEstimate,
    whole: &HashSet<CallId>,
) -> Vec<OldOutput> {
    let mut taken = TokenEstimate::default();
    let mut old = Vec::new();
    for part in unhurried(messages.iter().rev().flat_map(|message| message.parts.iter().rev())) {
        let MessagePart::ToolResult { call_id, parts, is_error, .. } = part else { continue };
        let weight = MessageLength::of_parts(parts).weight();
        let is_beyond = budget < taken + weight;
        if !is_beyond || *is_error || whole.contains(call_id) || is_shortened(parts) {
            taken += weight;
            continue;
        }
        let output = OldOutput::new(call_id, parts);
        let left = MessageLength::of_parts(&output.replacement(Some(USUAL_PATH))).weight();
        if left < weight {
            taken += left;
            old.push(output);
        } else {
            taken += weight;
        }
    }
    old
}

/// The messages with these results replaced; the others stay the same values.
pub fn with_replaced(
    messages: &[Arc<ContextMessage>],
    replaced: &BTreeMap<CallId, Vec<MessagePart>>,
) -> Vec<Arc<ContextMessage>> {
    messages.iter().map(|message| replace_in(message, replaced)).collect()
}

fn replace_in(
    message: &Arc<ContextMessage>,
    replaced: &BTreeMap<CallId, Vec<MessagePart>>,
) -> Arc<ContextMessage> {
    let news = |part: &MessagePart| match part {
        MessagePart::ToolResult { call_id, parts, .. } => replaced.get(call_id).filter(|news| *news != parts),
        _ => None,
    };
    if message.parts.iter().all(|part| news(part).is_none()) {
        return message.clone();
    }
    let mut message = ContextMessage::clone(message);
    store::replace_results(&mut message, replaced);
    Arc::new(message)
}

/// An output that merely begins like a shortened one may pass for one only while it is as short.
fn is_shortened(parts: &[MessagePart]) -> bool {
    const LONGEST: usize = KEPT_LINES * (LINE_CHARS + 1) + NOTE_CHARS;
    match parts {
        [MessagePart::Text { text }] => text.starts_with(NOTE) && text.chars().nth(LONGEST).is_none(),
        _ => false,
    }
}

fn whole(parts: &[MessagePart]) -> String {
    let mut whole = String::new();
    for part in parts {
        if !whole.is_empty() && !whole.ends_with('\n') {
            whole.push('\n');
        }
        match part {
            MessagePart::Text { text } => whole.push_str(text),
            other => whole.extend(data_line(other)),
        }
    }
    whole
}

fn push_bounded(text: &mut String, line: &str) {
    match line.char_indices().nth(LINE_CHARS) {
        None => text.push_str(line),
        Some((end, _)) => {
            let more = line[end..].chars().count();
            let _ = write!(text, "{}[… and {more} characters more]", &line[..end]);
        }
    }
}
