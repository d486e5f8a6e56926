//! How does a history look as a text, and how is it cut to a room?

use std::borrow::Cow;

use crate::{
    protocol::{Message, Part, Role},
    run::{
        compaction::estimate::{Weight, data_bytes, weigh_text},
        unhurried,
    },
};

/// As long as a mark may be, for weighing a rendering before there is a mark.
pub(super) const LONGEST_MARK: &str = "00000000000000000000000000000000";

/// Characters of a name or a kind of data that are shown; a model or a page may have written it.
const NAME_CHARS: usize = 100;

/// What a note about something that was left out may weigh.
const NOTE: Weight = Weight::tokens(12);

/// One part of a message: a line of ours, and what was said.
pub(super) struct Block<'a> {
    heading: String,
    body: Cow<'a, str>,
}

impl Block<'_> {
    pub(super) fn weight(&self) -> Weight {
        self.frame() + weigh_text(&self.body)
    }

    /// All but the body: the heading, and the ends of both.
    fn frame(&self) -> Weight {
        weigh_text(&self.heading) + weigh_text("\n\n")
    }
}

/// A line that is ours, without its end.
pub(super) fn heading(words: &str, mark: &str) -> String {
    format!("<<{mark} {words}>>")
}

/// A message, part by part. Signatures, providers' verbatim blocks and data are left out.
pub(super) fn blocks<'a>(message: &'a Message, mark: &'a str) -> impl Iterator<Item = Block<'a>> {
    let role = match message.role {
        Role::User => "user",
        Role::Model => "model",
        Role::Tool => "tool",
    };
    message.parts.iter().flat_map(move |part| part_blocks(part, role, mark))
}

fn part_blocks<'a>(part: &'a Part, role: &str, mark: &str) -> Vec<Block<'a>> {
    let block = |words: &str, body: Cow<'a, str>| {
        let body = match without_mark(&body, mark) {
            Cow::Borrowed(_) => body,
            Cow::Owned(cleaned) => Cow::Owned(cleaned),
        };
        Block { heading: heading(words, mark), body }
    };
    match part {
        Part::Text { text } => vec![block(role, Cow::Borrowed(text))],
        Part::Thought { text, .. } if text.is_empty() => Vec::new(),
        Part::Thought { text, .. } => vec![block(&format!("{role} thought"), Cow::Borrowed(text))],
        Part::ToolCall(call) => {
            let words = format!(
                "{role} call {} {}",
                name(call.name.as_str(), mark),
                name(call.call_id.as_str(), mark)
            );
            vec![block(&words, Cow::Owned(call.arguments.to_string()))]
        }
        Part::ToolResult { call_id, name: tool, parts, is_error, .. } => {
            let kind = if *is_error { "error" } else { "result" };
            let words = format!("{kind} {} {}", name(tool.as_str(), mark), name(call_id.as_str(), mark));
            let body = match &parts[..] {
                [Part::Text { text }] => Cow::Borrowed(text.as_str()),
                parts => Cow::Owned(result_text(parts)),
            };
            vec![block(&words, body)]
        }
        Part::InlineData { .. } | Part::File { .. } => {
            vec![block(role, Cow::Owned(data_line(part).unwrap_or_default()))]
        }
    }
}

fn result_text(parts: &[Part]) -> String {
    let lines = parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(Cow::Borrowed(text.as_str())),
        other => data_line(other).map(Cow::Owned),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Data and files in a line: their kind, and their size or place.
pub(in crate::run::compaction) fn data_line(part: &Part) -> Option<String> {
    match part {
        Part::InlineData { mime_type, data } => {
            Some(format!("[{}, {} bytes, left out]", name(mime_type, ""), data_bytes(data)))
        }
        Part::File { mime_type, uri } => Some(format!("[{}, {}]", name(mime_type, ""), one_line(uri, ""))),
        _ => None,
    }
}

/// A strange word within a line of ours: in one line, without the mark, and bounded.
fn name(word: &str, mark: &str) -> String {
    one_line(word, mark).chars().take(NAME_CHARS).collect()
}

fn one_line(text: &str, mark: &str) -> String {
    without_mark(text, mark).replace(|character: char| character.is_control() || character == '>', "_")
}

/// A text that cannot pass for a line of ours. Nobody can know the mark beforehand, but a summariser might repeat it.
pub(super) fn without_mark<'a>(text: &'a str, mark: &str) -> Cow<'a, str> {
    if mark.is_empty() || !text.contains(mark) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace(mark, "_"))
}

/// Renders the blocks into at most `room`: the longest bodies are cut to one length, so that as little as possible is.
pub(super) fn push_fitting(text: &mut String, blocks: &[Block], room: Weight) {
    let frames: Weight = blocks.iter().map(Block::frame).sum();
    let weights: Vec<Weight> = unhurried(blocks).map(|block| weigh_text(&block.body)).collect();
    let most = fair_share(&weights, room.saturating_sub(frames));
    for (block, weight) in unhurried(blocks).zip(weights) {
        text.push_str(&block.heading);
        text.push('\n');
        match most {
            Some(most) if most < weight => push_cut(text, &block.body, most),
            _ => text.push_str(&block.body),
        }
        text.push('\n');
    }
}

/// The most that each may have so that all fit into the room; `None` when they do as they are.
fn fair_share(weights: &[Weight], room: Weight) -> Option<Weight> {
    if weights.iter().copied().sum::<Weight>() <= room {
        return None;
    }
    let mut weights = weights.to_vec();
    weights.sort_unstable();
    let mut left = room;
    let n_weights = weights.len();
    for (n_smaller, weight) in weights.into_iter().enumerate() {
        let share = Weight::of_hundredths(left.hundredths() / (n_weights - n_smaller) as u64);
        if share < weight {
            return Some(share);
        }
        left = left.saturating_sub(weight);
    }
    // Not reached: the last share is all that is left, and they do not fit.
    Some(Weight::default())
}

/// Head and tail of a text, of the same weight, and between them how much is missing.
fn push_cut(text: &mut String, body: &str, most: Weight) {
    let half = Weight::of_hundredths(most.saturating_sub(NOTE).hundredths() / 2);
    let head = fitting(body.chars(), half);
    let tail = body.len() - fitting(body[head..].chars().rev(), half);
    let left_out = body[head..tail].chars().count();
    text.push_str(&body[..head]);
    text.push_str(&format!("[… {left_out} characters left out …]"));
    text.push_str(&body[tail..]);
}

/// Bytes of the first characters that weigh at most so much.
fn fitting(characters: impl Iterator<Item = char>, most: Weight) -> usize {
    let mut bytes = 0;
    let mut taken = Weight::default();
    for character in characters {
        taken += weigh_text(character.encode_utf8(&mut [0; 4]));
        if most < taken {
            break;
        }
        bytes += character.len_utf8();
    }
    bytes
}
