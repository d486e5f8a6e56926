//! What is a snapshot, and how does a history begin with one? (spec 04, "Compression", 4 and 5)

use std::sync::Arc;

use super::skills;
use protocol::{ContextMessage, MessagePart, MessageRole};

const BEGIN: &str = "<state_snapshot>";
const END: &str = "</state_snapshot>";

/// The tags within, in order.
pub(super) const SECTIONS: [(&str, &str); 5] = [
    ("<overall_goal>", "</overall_goal>"),
    ("<key_knowledge>", "</key_knowledge>"),
    ("<file_system_state>", "</file_system_state>"),
    ("<recent_actions>", "</recent_actions>"),
    ("<current_plan>", "</current_plan>"),
];

/// Messages that a condensed history begins with, before the kept part.
pub(super) const OPENING_LEN: usize = 2;

/// How the user message with a snapshot begins.
const PREAMBLE: &str = "The older part of this conversation was condensed to save room. This snapshot stands for it; \
files may have changed since, so read again what you rely on.\n\n";

/// The model's answer to a snapshot.
const ACKNOWLEDGEMENT: &str = "I have read the snapshot and go on from there.";

/// What a summariser made of a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionSummary {
    /// `<state_snapshot>…</state_snapshot>`, as it was written.
    pub text: String,
    /// What was written before it. For traces; never for the history.
    pub scratchpad: String,
}

impl CompactionSummary {
    /// The one well-formed snapshot in a reply; `None` when there is none, or more than one.
    ///
    /// Well-formed means: each tag once, closed, in order, nothing but blanks and comments between the sections, and
    /// not every section empty. Sections may hold any text, `<` included, but for these tags themselves. A scratchpad may
    /// speak of the tags; so may what follows the snapshot, which is dropped.
    pub fn read(reply: &str) -> Option<CompactionSummary> {
        // Linear, since reading from one begin stops at the next tag that is out of place.
        let mut found = reply.match_indices(BEGIN).filter_map(|(at, _)| Some((at, read_at(&reply[at..])?)));
        let (at, length) = found.next()?;
        if found.next().is_some() {
            return None;
        }
        let text = reply[at..at + length].to_owned();
        Some(CompactionSummary { text, scratchpad: reply[..at].trim().to_owned() })
    }
}

/// The length of the snapshot that the text begins with.
fn read_at(text: &str) -> Option<usize> {
    let mut rest = text.strip_prefix(BEGIN)?;
    let mut is_empty = true;
    for (begin, end) in SECTIONS {
        rest = after_blanks(rest)?.strip_prefix(begin)?;
        let content = &rest[..first_tag(rest)?];
        rest = rest[content.len()..].strip_prefix(end)?;
        is_empty &= after_blanks(content).is_some_and(str::is_empty);
    }
    rest = after_blanks(rest)?.strip_prefix(END)?;
    (!is_empty).then_some(text.len() - rest.len())
}

/// What follows blanks and comments; `None` when a comment is not closed. One that holds a tag of ours is not: it is read up
/// to the tag only, which keeps reading linear.
fn after_blanks(text: &str) -> Option<&str> {
    let end = first_tag(text).unwrap_or(text.len());
    let mut at = end - text[..end].trim_start().len();
    while let Some(comment) = text[at..end].strip_prefix("<!--") {
        let rest = &comment[comment.find("-->")? + "-->".len()..];
        at = end - rest.trim_start().len();
    }
    Some(&text[at..])
}

/// Where the first of our tags stands.
fn first_tag(text: &str) -> Option<usize> {
    let is_tag = |rest: &str| {
        rest.starts_with(BEGIN)
            || rest.starts_with(END)
            || SECTIONS.iter().any(|(begin, end)| rest.starts_with(begin) || rest.starts_with(end))
    };
    text.match_indices('<').map(|(at, _)| at).find(|at| is_tag(&text[*at..]))
}

/// The snapshot that a history begins with, if it was condensed before. It is known by the exact form of [`opening`]: a
/// text of a user or of a tool that merely has the tags in it is none.
pub fn of_history(messages: &[Arc<ContextMessage>]) -> Option<&str> {
    let [first, second, ..] = messages else { return None };
    let (first, others) = first.parts.split_first().filter(|_| first.role == MessageRole::User)?;
    // Skills that are told again stand behind it.
    let of_skills = [skills::PREAMBLE, skills::GONE, skills::OUTDATED];
    let is_of_skills = |text: &str| of_skills.iter().any(|beginning| text.starts_with(beginning));
    let are_skills = others.iter().all(|part| part.as_text().is_some_and(is_of_skills));
    let text = first.as_text()?.strip_prefix(PREAMBLE).filter(|_| are_skills)?;
    let is_opening =
        sole_text(second, MessageRole::Model)? == ACKNOWLEDGEMENT && read_at(text)? == text.len();
    is_opening.then_some(text)
}

/// The messages that a condensed history begins with.
pub fn opening(snapshot: &CompactionSummary) -> [ContextMessage; OPENING_LEN] {
    let user = ContextMessage::user(format!("{PREAMBLE}{}", snapshot.text));
    let model = ContextMessage {
        role: MessageRole::Model,
        parts: vec![MessagePart::text(ACKNOWLEDGEMENT)],
        raw: None,
    };
    [user, model]
}

fn sole_text(message: &ContextMessage, role: MessageRole) -> Option<&str> {
    match &message.parts[..] {
        [MessagePart::Text { text }] if message.role == role => Some(text),
        _ => None,
    }
}
