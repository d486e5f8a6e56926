//! What does a random model do? Dice, plans of replies, and the model that follows them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::stream::{self, BoxStream, StreamExt as _};
use serde_json::{Value, json};
use subagentd::{
    models::{LanguageModel, ModelError, ModelEvent, ModelReply, ModelRequest, ReplyPart},
    protocol::{FinishReason, RunErrorCode, Usage},
    sys::clock::{Clock as _, ManualClock},
};

/// Of a slow model, between its words.
const PAUSE: Duration = Duration::from_millis(100);
/// SplitMix64.
#[derive(Clone)]
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.roll() % n as u64) as usize
    }

    /// True once in `n`.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    pub fn apart(&mut self) -> Dice {
        Dice(self.roll())
    }
}

/// One reply of a model, thought out beforehand.
#[derive(Clone)]
pub struct Planned {
    /// Attempts that fail in passing before it is given.
    pub failures: u32,
    pub thoughts: Vec<String>,
    pub chunks: Vec<String>,
    pub calls: Vec<(String, Value)>,
    pub end: End,
}

#[derive(Clone, PartialEq)]
pub enum End {
    Finish(FinishReason),
    Fails,
    Hangs,
    Panics,
}

impl Planned {
    pub fn new(dice: &mut Dice, model: usize, ordinal: usize) -> Planned {
        let pieces = |dice: &mut Dice, what: &str, most: usize| -> Vec<String> {
            let n = if dice.once_in(2) { 0 } else { dice.below(most + 1) };
            (0..n).map(|at| format!("{what}{model}.{ordinal}.{at} ä€ ")).collect()
        };
        let thoughts = pieces(dice, "thought", 2);
        let chunks = pieces(dice, "text", 6);
        let n_calls = if dice.once_in(4) { 0 } else { dice.below(7) };
        let calls = (0..n_calls).map(|_| call(dice)).collect();
        let end = match dice.below(24) {
            0 => End::Fails,
            1 => End::Hangs,
            2 => End::Panics,
            3 | 4 => End::Finish(FinishReason::Length),
            5 => End::Finish(FinishReason::Refused { message: "SAFETY".to_owned() }),
            _ => End::Finish(FinishReason::Stop),
        };
        let failures = if dice.once_in(8) { 1 + dice.below(5) as u32 } else { 0 };
        Planned { failures, thoughts, chunks, calls, end }
    }
}

fn call(dice: &mut Dice) -> (String, Value) {
    let action = *dice.pick(&["answer", "answer", "answer", "wait", "wait", "ignoreCancel", "panic"]);
    let action = if dice.once_in(40) { "nospace" } else { action };
    let path = *dice.pick(&["/a", "/a/b", "/c"]);
    let (name, arguments) = match dice.below(12) {
        0..=3 => ("probe", json!({ "do": action, "path": path })),
        4..=6 => ("writer", json!({ "do": action, "path": path })),
        7 => ("read_file", json!({ "path": dice.pick(&["a.txt", "missing.txt", "../outside.txt"]) })),
        8 if dice.once_in(2) => ("nothing", json!({})),
        8 => ("glob", json!({ "pattern": "*" })),
        9 => ("probe", json!({ "do": 7 })),
        10 => ("complete_task", json!({ "result": "found", "verdict": "no" })),
        _ if dice.once_in(2) => ("complete_task", json!({ "result": "found" })),
        _ => ("complete_task", json!({ "verdict": { "score": 1 } })),
    };
    (name.to_owned(), arguments)
}

/// A model that follows its plan; the last reply is given for ever.
pub struct Planner {
    pub clock: Arc<ManualClock>,
    pub plan: Vec<Planned>,
    pub attempts: Mutex<HashMap<u32, u32>>,
}

impl LanguageModel for Planner {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let at = usize::try_from(request.ordinal).unwrap().min(self.plan.len() - 1);
        let Planned { failures, thoughts, chunks, calls, end } = self.plan[at].clone();
        let attempt = {
            let mut attempts = self.attempts.lock().unwrap();
            let attempt = attempts.entry(request.ordinal).or_default();
            *attempt += 1;
            *attempt
        };
        let end = if attempt <= failures { None } else { Some(end) };
        let mut events: Vec<Result<ModelEvent, ModelError>> = Vec::new();
        events.extend(thoughts.iter().cloned().map(|text| Ok(ModelEvent::ThoughtDelta(text))));
        events.extend(chunks.iter().cloned().map(|text| Ok(ModelEvent::TextDelta(text))));
        let mut parts = Vec::new();
        if !thoughts.is_empty() {
            parts.push(ReplyPart::Thought { text: thoughts.concat(), signature: None });
        }
        if !chunks.is_empty() {
            parts.push(ReplyPart::Text(chunks.concat()));
        }
        parts.extend(calls.into_iter().map(|(name, arguments)| ReplyPart::ToolCall {
            provider_call_id: None,
            name: name.into(),
            arguments,
            signature: None,
        }));
        let usage = Usage { prompt_tokens: 10, output_tokens: 5, ..Usage::default() };
        let passing = || ModelError::Passing { message: "overloaded".to_owned(), retry_after_ms: None };
        let last = match end.clone() {
            None => Some(Err(passing())),
            Some(End::Fails) => {
                Some(Err(ModelError::Final { code: RunErrorCode::ProviderAuth, message: "no".to_owned() }))
            }
            Some(End::Finish(reason)) => {
                Some(Ok(ModelEvent::Finished(ModelReply { parts, raw: None, usage, reason })))
            }
            Some(End::Hangs | End::Panics) => None,
        };
        events.extend(last);
        // Sometimes with pauses, so that much can happen between one word and the next; not before the end, which
        // comes on the heels of the last word.
        let clock = Arc::clone(&self.clock);
        let is_slow = request.ordinal.is_multiple_of(2);
        let said = stream::iter(events).then(move |event| {
            let is_word = matches!(event, Ok(ModelEvent::TextDelta(_) | ModelEvent::ThoughtDelta(_)));
            let pause = (is_slow && is_word).then(|| clock.sleep(PAUSE));
            async move {
                match pause {
                    Some(pause) => pause.await,
                    None => tokio::task::yield_now().await,
                }
                event
            }
        });
        match end {
            Some(End::Hangs) => said.chain(stream::pending()).boxed(),
            Some(End::Panics) => said.chain(stream::poll_fn(|_| panic!("planted"))).boxed(),
            _ => said.boxed(),
        }
    }
}
