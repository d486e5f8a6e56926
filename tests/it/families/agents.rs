//! Agents that call agents, and recordings of what their models say.

use std::fs;

use serde_json::{Value, json};

use crate::{
    process::Home,
    recording::{Chance, FILES, reply, save, write_workspace},
};

/// `lead` calls `worker` and `scout`, `worker` calls `scout`.
const AGENTS: &[(&str, &str)] = &[
    ("lead", "worker, scout, mutate, look, read_file"),
    ("worker", "scout, mutate, look, read_file"),
    ("scout", "mutate, look, read_file"),
];

/// Of a lead: more than messages come in while it is about to complete, each of which costs another `complete_task`.
const COMPLETIONS: usize = 12;

/// Paths that calls of `mutate` share: now and then two of one turn have to go one after the other.
const PLACES: u64 = 12;

/// How much a recorded family does.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Of the lead, a worker and a scout.
    pub turns: [u64; 3],
    /// The longest that a tool takes.
    pub longest_ms: u64,
}

/// A recording of a lead and everybody below it.
#[derive(Debug, Clone)]
pub struct Family {
    /// The model's name.
    pub model: String,
    /// What the lead's result must be.
    pub result: String,
}

impl Family {
    /// Makes a home in which families may run, with so many places for runs at work in a session and in all.
    pub fn home(in_session: usize, in_all: usize) -> Home {
        let home = Home::new();
        write_workspace(&home);
        for (name, tools) in AGENTS {
            let text = format!(
                "---\nkind: agent\nname: {name}\ndescription: Does its part.\ncompletion: tool\ntools: [{tools}]\n\
                 run: {{ maxTurns: 500, maxTimeMinutes: 60 }}\n---\nYou do your part.\n"
            );
            fs::write(home.path(&format!("config/subagentd/agents/{name}.md")), text).unwrap();
        }
        let settings = json!({ "maxConcurrentRuns": { "session": in_session, "daemon": in_all } });
        fs::write(home.path("config/subagentd/settings.json"), settings.to_string()).unwrap();
        home
    }

    pub fn write(home: &Home, name: &str, shape: Shape, chance: &mut Chance) -> Family {
        let mut lines = Vec::new();
        let result = format!("{name} is done");
        Scribe { shape, chance, lines: &mut lines }.run("lead#1", 0, &result);
        Family { model: save(home, name, &lines), result }
    }

    /// Everything its models say is written by the test: for each run, by its path, turns of calls. Then it completes.
    pub fn written(home: &Home, name: &str, runs: &[(&str, Vec<Vec<Value>>)]) -> Family {
        let result = format!("{name} is done");
        let mut lines = Vec::new();
        for (path, turns) in runs {
            let completion = vec![call("complete_task", json!({ "result": result }))];
            let turns = turns.iter().cloned().chain([completion]);
            lines.extend(turns.map(|calls| line(path, calls)));
        }
        Family { model: save(home, name, &lines), result }
    }

    /// Parameters of `run/start` in a session, or in a new one.
    pub fn params(&self, home: &Home, session: Option<&str>) -> Value {
        let mut params = json!({ "agent": "lead", "model": self.model, "prompt": "do it" });
        match session {
            Some(session) => params["sessionId"] = json!(session),
            None => params["workspace"] = json!(home.work()),
        }
        params
    }
}

/// One call that a model asks for.
pub fn call(name: &str, arguments: Value) -> Value {
    json!({ "functionCall": { "name": name, "args": arguments } })
}

fn line(path: &str, mut calls: Vec<Value>) -> Value {
    calls.insert(0, json!({ "text": "**Next**\n\nWhat now?", "thought": true }));
    let mut line = reply(calls, 7);
    line["path"] = json!(path);
    line
}

struct Scribe<'a> {
    shape: Shape,
    chance: &'a mut Chance,
    lines: &'a mut Vec<Value>,
}

impl Scribe<'_> {
    /// The turns of a run at this depth, and of those that it calls.
    fn run(&mut self, path: &str, depth: usize, result: &str) {
        let (mut workers, mut scouts) = (0, 0);
        for turn in 0..self.shape.turns[depth] {
            // Nobody is called twice in a row, so that there are turns of tools alone.
            let children: &[&str] = match (depth, turn % 4) {
                (0, 1) => &["worker", "worker"],
                (0, 3) => &["worker", "scout"],
                (1, 1) => &["scout", "scout"],
                _ => &[],
            };
            let mut calls = Vec::new();
            for name in children {
                let n = if *name == "worker" { &mut workers } else { &mut scouts };
                *n += 1;
                let below = format!("{path}/{name}#{n}");
                calls.push(call(name, json!({ "prompt": format!("do your part of turn {turn}") })));
                self.run(&below, if *name == "worker" { 1 } else { 2 }, &format!("{below} did its part"));
            }
            let n_others = if children.is_empty() { 2 + self.chance.below(3) } else { self.chance.below(3) };
            for n in 0..n_others {
                calls.push(self.tool(n));
            }
            self.lines.push(line(path, calls));
        }
        let completed = || vec![call("complete_task", json!({ "result": result }))];
        let n_completions = if depth == 0 { COMPLETIONS } else { 1 };
        self.lines.extend((0..n_completions).map(|_| line(path, completed())));
    }

    /// The first of a turn changes something, the second looks.
    fn tool(&mut self, n: u64) -> Value {
        let ms = self.chance.below(self.shape.longest_ms + 1);
        match if n < 2 { n } else { self.chance.below(4) } {
            0 => call("mutate", json!({ "n": self.chance.below(PLACES), "ms": ms })),
            1 => call("look", json!({ "ms": ms })),
            2 => call("read_file", json!({ "path": format!("src/part_{}.rs", self.chance.below(FILES)) })),
            _ => call("mutate", json!({ "n": self.chance.below(PLACES), "ms": ms })),
        }
    }
}
