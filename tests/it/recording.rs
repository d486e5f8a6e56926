//! What does a recorded model say? Recordings in Gemini's shape, made up from a seed, long enough that a kill lands
//! in their middle; and the files they read.

use std::fs;

use serde_json::{Value, json};

use crate::process::Home;

/// Files of the generated workspace.
pub const FILES: u64 = 30;

/// Chance from a seed: the same seed chooses the same.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    /// splitmix64, by Sebastiano Vigna (public domain).
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below `n`, which is not 0.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[usize::try_from(self.below(among.len() as u64)).unwrap()]
    }
}

/// A recording on the disk.
pub struct Recording {
    /// The model's name: `replay:FILE`.
    pub model: String,
    /// What the run's result must be.
    pub result: String,
}

impl Recording {
    /// `turns` turns with calls of `read_file` and `grep`, every third with several at once, then `complete_task`.
    pub fn write(home: &Home, name: &str, turns: u64, chance: &mut Chance) -> Recording {
        let result = format!("{name} is done, after {turns} turns · ✓");
        let mut lines: Vec<Value> = (1..=turns).map(|turn| calls(turn, chance)).collect();
        let finished = json!({ "functionCall": { "name": "complete_task", "args": { "result": result } } });
        lines.push(reply(vec![finished], 7));
        Recording { model: save(home, name, &lines), result }
    }

    /// `turns` turns that each read `path`.
    pub fn write_reads(home: &Home, name: &str, turns: u64, path: &str) -> Recording {
        let result = format!("{name} has read {path} {turns} times");
        // No two calls are the same, which would be a circle.
        let read = |turn: u64| {
            let arguments = json!({ "path": path, "limit": 1_000_000 + turn });
            json!({ "functionCall": { "name": "read_file", "args": arguments } })
        };
        let says = |turn: u64| json!({ "text": format!("Reading {path} for the {turn}th time.") });
        let mut lines: Vec<Value> =
            (1..=turns).map(|turn| reply(vec![says(turn), read(turn)], turn)).collect();
        let finished = json!({ "functionCall": { "name": "complete_task", "args": { "result": result } } });
        lines.push(reply(vec![finished], 7));
        Recording { model: save(home, name, &lines), result }
    }
}

impl Recording {
    /// A turn for each list of parts; answers the model's name.
    pub fn write_parts(home: &Home, name: &str, turns: Vec<Vec<Value>>) -> String {
        let lines: Vec<Value> = turns.into_iter().map(|parts| reply(parts, 1)).collect();
        save(home, name, &lines)
    }
}

/// Writes a recording; answers the model's name.
pub fn save(home: &Home, name: &str, lines: &[Value]) -> String {
    let path = home.path("recordings").join(format!("{name}.jsonl"));
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(&path, text).unwrap();
    format!("replay:{}", path.display())
}

fn calls(turn: u64, chance: &mut Chance) -> Value {
    let mut parts = Vec::new();
    if chance.once_in(2) {
        parts.push(json!({ "text": format!("**Turn {turn}**\n\nWhat next?"), "thought": true }));
    }
    for piece in ["I look ", "at the files — ", "größer, ", "kleiner; "].iter().take(chance.below(5) as usize)
    {
        parts.push(json!({ "text": piece }));
    }
    let n_calls = if turn.is_multiple_of(3) { 2 + chance.below(5) } else { 1 };
    for _ in 0..n_calls {
        parts.push(json!({ "functionCall": call(chance) }));
    }
    reply(parts, turn)
}

fn call(chance: &mut Chance) -> Value {
    let file = chance.below(FILES);
    match chance.below(8) {
        // Files that are not there, and patterns that do not compile: what fails is recorded, too.
        0 => json!({ "name": "read_file", "args": { "path": format!("src/missing_{file}.rs") } }),
        1 => json!({ "name": "grep", "args": { "pattern": "value_(", "path": "src" } }),
        2..=4 => json!({ "name": "grep", "args": { "pattern": format!("value_{file}\\b"), "path": "." } }),
        _ => json!({ "name": "read_file", "args": { "path": format!("src/part_{file}.rs") } }),
    }
}

/// A streamed reply: each part a chunk, the last with the reason and the usage.
pub fn reply(parts: Vec<Value>, tokens: u64) -> Value {
    let content =
        |part: &Value| json!({ "candidates": [{ "content": { "role": "model", "parts": [part] } }] });
    let mut chunks: Vec<Value> = parts.iter().map(content).collect();
    chunks.push(json!({
        "candidates": [{ "finishReason": "STOP" }],
        "usageMetadata": { "promptTokenCount": 100 + tokens, "candidatesTokenCount": tokens },
    }));
    json!({ "method": "generateContentStream", "response": chunks })
}

/// Writes the files that recordings read, and that the model `offline` finds its way in.
pub fn write_workspace(home: &Home) {
    for n in 0..FILES {
        let mut text = format!("//! Part {n}: how the daemon is restarted after a crash.\n\n");
        for line in 0..40 {
            text.push_str(&format!(
                "pub fn value_{n}_{line}() -> u64 {{ value_{}(restart({line})) }}\n",
                line % FILES
            ));
        }
        fs::write(home.work().join(format!("src/part_{n}.rs")), text).unwrap();
    }
}
