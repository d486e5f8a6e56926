//! The rules, one by one and over random histories.
//!
//! A failure prints its seed; `SUBAGENTD_SEED` sets it, `SUBAGENTD_TRIALS=full` tries many more.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::Arc,
};

use serde_json::{Value, json};

use super::*;
use protocol::{ContextMessage, MessagePart, MessageRole, ToolCall};

mod estimate;
mod outputs;
mod request;
mod snapshot;
mod split;

/// Random histories, in the suite and with `SUBAGENTD_TRIALS=full`.
const TRIALS: (u64, u64) = (150, 20_000);

struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.roll() % n as u64) as usize
    }

    fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

fn trials(of: impl Fn(&mut Dice, &str)) {
    let is_full = std::env::var("SUBAGENTD_TRIALS").is_ok_and(|trials| trials == "full");
    let given = std::env::var("SUBAGENTD_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    let mut seeds = Dice(given.unwrap_or_else(|| RandomState::new().hash_one("seed")));
    let trials = if is_full { TRIALS.1 } else { TRIALS.0 };
    for _ in 0..if given.is_some() { 1 } else { trials } {
        let seed = given.unwrap_or_else(|| seeds.roll());
        of(&mut Dice(seed), &format!("SUBAGENTD_SEED={seed}"));
    }
}

fn user(text: impl Into<String>) -> Arc<ContextMessage> {
    Arc::new(ContextMessage::user(text))
}

fn message(role: MessageRole, parts: Vec<MessagePart>) -> Arc<ContextMessage> {
    Arc::new(ContextMessage { role, parts, raw: None })
}

fn model(text: impl Into<String>) -> Arc<ContextMessage> {
    message(MessageRole::Model, vec![MessagePart::text(text)])
}

fn call(id: &str, arguments: Value) -> MessagePart {
    MessagePart::ToolCall(ToolCall {
        call_id: id.into(),
        provider_call_id: None,
        name: "read_file".into(),
        arguments,
        signature: None,
        redacted: false,
    })
}

fn result_of(id: &str, parts: Vec<MessagePart>, is_error: bool) -> MessagePart {
    MessagePart::ToolResult {
        call_id: id.into(),
        provider_call_id: None,
        name: "read_file".into(),
        parts,
        is_error,
    }
}

fn calls(ids: &[&str]) -> Arc<ContextMessage> {
    message(MessageRole::Model, ids.iter().map(|id| call(id, json!({ "path": id }))).collect())
}

fn results(of: &[(&str, &str)]) -> Arc<ContextMessage> {
    let part = |(id, text): &(&str, &str)| result_of(id, vec![MessagePart::text(*text)], false);
    message(MessageRole::Tool, of.iter().map(part).collect())
}

/// A text of any length up to so many words, of all kinds of characters, tags and line ends.
fn words(dice: &mut Dice, most: usize) -> String {
    const WORDS: &[&str] = &[
        "so",
        "größer",
        "漢字",
        "\n",
        "<",
        ">",
        "<state_snapshot>",
        "</state_snapshot>",
        "<overall_goal>",
        "🦀",
        "[DONE]",
        "<<",
        "a b c",
        "<!--",
        "-->",
        "fn main() {}",
        "\r\n",
        "\"",
    ];
    (0..dice.below(most + 1)).map(|_| WORDS[dice.below(WORDS.len())]).collect()
}

/// A well-formed history, which may break off anywhere; sometimes it begins with a snapshot.
fn history(dice: &mut Dice) -> Vec<Arc<ContextMessage>> {
    let mut messages: Vec<Arc<ContextMessage>> = Vec::new();
    if dice.once_in(3) {
        messages.extend(opening(&some_snapshot(dice)).map(Arc::new));
    }
    let mut n_calls = 0;
    for _ in 0..dice.below(8) {
        let long = if dice.once_in(4) { 400 } else { 20 };
        messages.push(user(words(dice, long)));
        while !dice.once_in(3) {
            let ids: Vec<String> = (0..1 + dice.below(3)).map(|at| format!("c{}", n_calls + at)).collect();
            n_calls += ids.len();
            let mut asked =
                vec![MessagePart::Thought { text: words(dice, 9), signature: Some("c2ln".to_owned()) }];
            asked.extend(ids.iter().map(|id| call(id, json!({ "text": words(dice, 9) }))));
            messages.push(message(MessageRole::Model, asked));
            let long = if dice.once_in(4) { 900 } else { 30 };
            let told = ids.iter().map(|id| {
                let mut parts = vec![MessagePart::text(words(dice, long))];
                if dice.once_in(5) {
                    parts.push(MessagePart::InlineData {
                        mime_type: "image/png".to_owned(),
                        data: "AAAA".repeat(dice.below(50)),
                    });
                }
                result_of(id, parts, dice.once_in(6))
            });
            messages.push(message(MessageRole::Tool, told.collect()));
        }
        if dice.once_in(4) {
            // A nudge; the run goes on.
            continue;
        }
        messages.push(model(words(dice, 60)));
    }
    messages.truncate(dice.below(messages.len() + 1).max(messages.len().saturating_sub(2)));
    messages
}

/// The same, no longer well-formed.
fn shuffled(dice: &mut Dice) -> Vec<Arc<ContextMessage>> {
    let mut messages = history(dice);
    for at in (1..messages.len()).rev() {
        messages.swap(at, dice.below(at + 1));
    }
    messages
}

fn some_snapshot(dice: &mut Dice) -> CompactionSummary {
    let goal = "x".repeat(1 + dice.below(200));
    CompactionSummary::read(&snapshot_text(&goal)).unwrap()
}

fn snapshot_text(goal: &str) -> String {
    format!(
        "<state_snapshot><overall_goal>{goal}</overall_goal><key_knowledge>-</key_knowledge>\
         <file_system_state>-</file_system_state><recent_actions>-</recent_actions>\
         <current_plan>-</current_plan></state_snapshot>"
    )
}

/// Where calls are that a cut at this place would part from their results.
fn parts_a_call(messages: &[Arc<ContextMessage>], at: usize) -> bool {
    let (before, after) = messages.split_at(at);
    let ids = |messages: &[Arc<ContextMessage>], of: fn(&MessagePart) -> Option<String>| -> Vec<String> {
        messages.iter().flat_map(|message| message.parts.iter().filter_map(of)).collect()
    };
    let asked = ids(before, |part| match part {
        MessagePart::ToolCall(call) => Some(call.call_id.to_string()),
        _ => None,
    });
    let told = ids(after, |part| match part {
        MessagePart::ToolResult { call_id, .. } => Some(call_id.to_string()),
        _ => None,
    });
    asked.iter().any(|id| told.contains(id))
}
