//! How does a history look as a text, and how is it cut to a room?

use std::borrow::Cow;

use crate::{
    compaction::estimate::{TokenEstimate, data_bytes, weigh_text},
    unhurried,
};
use protocol::{ContextMessage, MessagePart, MessageRole};

/// As long as a mark may be, for weighing a rendering before there is a mark.
pub(super) const LONGEST_MARK: &str = "00000000000000000000000000000000";

/// Characters of a name or a kind of data that are shown; a model or a page may have written it.
const NAME_CHARS: usize = 100;

/// What a note about something that was left out may weigh.
const NOTE: TokenEstimate = TokenEstimate::tokens(12);

/// One part of a message: a line of ours, and what was said.
pub(super) struct RenderedHistoryPart<'a> {
    heading: String,
    body: Cow<'a, str>,
}

impl RenderedHistoryPart<'_> {
    pub(super) fn weight(&self) -> TokenEstimate {
        self.frame() + weigh_text(&self.body)
    }

    /// All but the body: the heading, and the ends of both.
    fn frame(&self) -> TokenEstimate {
        weigh_text(&self.heading) + weigh_text("\n\n")
    }
}

/// A line that is ours, without its end.
pub(super) fn heading(words: &str, mark: &str) -> String {
    format!("<<{mark} {words}>>")
}

/// A message, part by part. Signatures, providers' verbatim blocks and data are left out.
pub(super) fn blocks<'a>(
    message: &'a ContextMessage,
    mark: &'a str,
) -> impl Iterator<Item = RenderedHistoryPart<'a>> {
    let role = match message.role {
        MessageRole::User => "user",
        MessageRole::Model => "model",
        MessageRole::Tool => "tool",
    };
    message.parts.iter().flat_map(move |part| part_blocks(part, role, mark))
}

fn part_blocks<'a>(part: &'a MessagePart, role: &str, mark: &str) -> Vec<RenderedHistoryPart<'a>> {
    let block = |words: &str, body: Cow<'a, str>| {
        let body = match without_mark(&body, mark) {
            Cow::Borrowed(_) => body,
            Cow::Owned(cleaned) => Cow::Owned(cleaned),
        };
        RenderedHistoryPart { heading: heading(words, mark), body }
    };
    match part {
        MessagePart::Text { text } => vec![block(role, Cow::Borrowed(text))],
        MessagePart::Thought { text, .. } if text.is_empty() => Vec::new(),
        MessagePart::Thought { text, .. } => vec![block(&format!("{role} thought"), Cow::Borrowed(text))],
        MessagePart::ToolCall(call) => {
            let words = format!(
                "{role} call {} {}",
                name(call.name.as_str(), mark),
                name(call.call_id.as_str(), mark)
            );
            vec![block(&words, Cow::Owned(call.arguments.to_string()))]
        }
        MessagePart::ToolResult { call_id, name: tool, parts, is_error, .. } => {
            let kind = if *is_error { "error" } else { "result" };
            let words = format!("{kind} {} {}", name(tool.as_str(), mark), name(call_id.as_str(), mark));
            let body = match &parts[..] {
                [MessagePart::Text { text }] => Cow::Borrowed(text.as_str()),
                parts => Cow::Owned(result_text(parts)),
            };
            vec![block(&words, body)]
        }
        MessagePart::InlineData { .. } | MessagePart::File { .. } => {
            vec![block(role, Cow::Owned(data_line(part).unwrap_or_default()))]
        }
    }
}

fn result_text(parts: &[MessagePart]) -> String {
    let lines = parts.iter().filter_map(|part| match part {
        MessagePart::Text { text } => Some(Cow::Borrowed(text.as_str())),
        other => data_line(other).map(Cow::Owned),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Data and files in a line: their kind, and their size or place.
pub(in crate::compaction) fn data_line(part: &MessagePart) -> Option<String> {
    match part {
        MessagePart::InlineData { mime_type, data } => {
            Some(format!("[{}, {} bytes, left out]", name(mime_type, ""), data_bytes(data)))
        }
        MessagePart::File { mime_type, uri } => {
            Some(format!("[{}, {}]", name(mime_type, ""), one_line(uri, "")))
        }
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
pub(super) fn push_fitting(text: &mut String, blocks: &[RenderedHistoryPart], room: TokenEstimate) {
    let frames: TokenEstimate = blocks.iter().map(RenderedHistoryPart::frame).sum();
    let weights: Vec<TokenEstimate> = unhurried(blocks).map(|block| weigh_text(&block.body)).collect();
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
fn fair_share(weights: &[TokenEstimate], room: TokenEstimate) -> Option<TokenEstimate> {
    if weights.iter().copied().sum::<TokenEstimate>() <= room {
        return None;
    }
    let mut weights = weights.to_vec();
    weights.sort_unstable();
    let mut left = room;
    let n_weights = weights.len();
    for (n_smaller, weight) in weights.into_iter().enumerate() {
        let share = TokenEstimate::of_hundredths(left.hundredths() / (n_weights - n_smaller) as u64);
        if share < weight {
            return Some(share);
        }
        left = left.saturating_sub(weight);
    }
    // Not reached: the last share is all that is left, and they do not fit.
    Some(TokenEstimate::default())
}

/// Head and tail of a text, of the same weight, and between them how much is missing.
fn push_cut(text: &mut String, body: &str, most: TokenEstimate) {
    let half = TokenEstimate::of_hundredths(most.saturating_sub(NOTE).hundredths() / 2);
    let head = fitting(body.chars(), half);
    let tail = body.len() - fitting(body[head..].chars().rev(), half);
    let left_out = body[head..tail].chars().count();
    text.push_str(&body[..head]);
    text.push_str(&format!("[… {left_out} characters left out …]"));
    text.push_str(&body[tail..]);
}

/// Bytes of the first characters that weigh at most so much.
fn fitting(characters: impl Iterator<Item = char>, most: TokenEstimate) -> usize {
    let mut bytes = 0;
    let mut taken = TokenEstimate::default();
    for character in characters {
        taken += weigh_text(character.encode_utf8(&mut [0; 4]));
        if most < taken {
            break;
        }
        bytes += character.len_utf8();
    }
    bytes
}
