//! Where does the part of a history begin that is kept as it is? (spec 04, "Compression", 3)

use std::{collections::HashMap, sync::Arc};

use super::{estimate::MessageLength, snapshot};
use crate::{nudges::is_nudge, unhurried};
use protocol::{CallId, ContextMessage, MessagePart, MessageRole};

/// How much of the history may go, in hundredths of its characters; the newest 30 % are kept.
const OLD_PERCENT: u128 = 70;

/// What goes when a request is repeated in front of what is kept, the request not counted: less is not worth a summary.
const WORTH_PERCENT: u128 = 20;

/// What is kept of a history as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistorySplit {
    /// The index of the first message that is kept: what stands before it is condensed. 0 = nothing can go; the number of
    /// messages = all of it goes.
    pub at: usize,
    /// The messages of the user that are repeated in front of what is kept, since that begins with the model's: the last
    /// request, and what was said to the run while it worked on it.
    pub bridge: Vec<usize>,
}

/// The first cut that leaves at most 30 % of the characters is taken. When there is none, all goes if the model had the
/// last word. Else, in a long work on one request, the cut comes before a message of the model's, and the request stands
/// in front of what is kept once more: without that such a work could never be condensed. Only then as much goes as can. A
/// cut that would only condense the snapshot of an earlier compression is none.
pub fn split(messages: &[Arc<ContextMessage>]) -> HistorySplit {
    let extents: Vec<u64> =
        unhurried(messages).map(|message| MessageLength::of_message(message).chars()).collect();
    let total: u128 = extents.iter().copied().map(u128::from).sum();
    let inseparable = inseparable(messages);
    let mut before = 0;
    let (mut last, mut first_in_time, mut first_of_model) = (0, None, None);
    let mut asked: Vec<usize> = Vec::new();
    let mut asked_chars = 0;
    let n_opening = if snapshot::of_history(messages).is_some() { snapshot::OPENING_LEN } else { 0 };
    for (at, message) in messages.iter().enumerate() {
        let is_in_time = total * OLD_PERCENT <= before * 100;
        let is_request = is_said_by_user(message);
        if is_request && !inseparable[at] {
            last = at;
            if is_in_time {
                first_in_time = Some(at);
                break;
            }
        }
        if message.role == MessageRole::Model && !inseparable[at] && is_in_time && first_of_model.is_none() {
            // What is repeated is no gain.
            let is_worth_it = !asked.is_empty() && total * WORTH_PERCENT <= (before - asked_chars) * 100;
            first_of_model = is_worth_it.then(|| (at, asked.clone()));
        }
        if is_request && n_opening <= at {
            // A request begins after the model's last word; what comes later is said to the run that works on it.
            if at == 0 || is_final_text(&messages[at - 1]) {
                asked.clear();
                asked_chars = 0;
            }
            asked.push(at);
            asked_chars += u128::from(extents[at]);
        }
        before += u128::from(extents[at]);
    }
    let all_may_go = messages.last().is_some_and(|message| is_final_text(message));
    let (at, bridge) = match (first_in_time, first_of_model) {
        (Some(at), _) => (at, Vec::new()),
        (None, _) if all_may_go => (messages.len(), Vec::new()),
        (None, Some((at, asked))) => (at, asked),
        (None, None) => (last, Vec::new()),
    };
    if at <= n_opening { HistorySplit { at: 0, bridge: Vec::new() } } else { HistorySplit { at, bridge } }
}

/// For each message, whether a cut right before it would part a call before it from a result in or after it.
pub(super) fn inseparable(messages: &[Arc<ContextMessage>]) -> Vec<bool> {
    let mut calls: HashMap<&CallId, usize> = HashMap::new();
    // How many pairs more, and less, a cut before that message would part than one before its neighbour.
    let mut begun = vec![0_usize; messages.len() + 1];
    let mut ended = vec![0_usize; messages.len() + 1];
    for (at, message) in messages.iter().enumerate() {
        for part in &message.parts {
            match part {
                MessagePart::ToolCall(call) => {
                    calls.insert(&call.call_id, at);
                }
                MessagePart::ToolResult { call_id, .. } => {
                    if let Some(call_at) = calls.get(call_id) {
                        begun[call_at + 1] += 1;
                        ended[at + 1] += 1;
                    }
                }
                _ => {}
            }
        }
    }
    let mut parted = 0;
    let count = |at: usize| {
        parted = parted + begun[at] - ended[at];
        parted != 0
    };
    (0..messages.len()).map(count).collect()
}

/// And not by the daemon in the user's place: what a run works on began before that.
fn is_said_by_user(message: &ContextMessage) -> bool {
    message.role == MessageRole::User
        && !message.parts.iter().any(|part| matches!(part, MessagePart::ToolResult { .. }))
        && !is_nudge(&message.text())
}

fn is_final_text(message: &ContextMessage) -> bool {
    message.role == MessageRole::Model
        && !message.parts.iter().any(|part| matches!(part, MessagePart::ToolCall(_)))
        && message.parts.iter().filter_map(MessagePart::as_text).any(|text| !text.trim().is_empty())
}
