//! Every provider, one table: whatever a model or its server does, a run makes the same of it, whichever wire it came over.
//!
//! A row is a scenario, written once. It is played as a whole run on each wire format, against a server that judges every
//! request, and what came of it is told in lines. Where the providers agree, a row expects one story; where one does not, it
//! stands below under its name.

use std::{collections::BTreeMap, time::Duration};

use expect_test::Expect;
use futures_util::future::join_all;
use serde_json::{Value, json};
use subagentd::{
    config::{KeySource, LayeredSetting, ProviderSettings, SettingLayer},
    models::ModelRegistry,
    sys::{children::ChildProcesses, clock::ManualClock},
};
use tokio::time::timeout;

use crate::{
    provider_server::{Answer, KEY, ProviderServer, Wire},
    support::{Client, House, Running, STUCK},
};

mod breaking;
mod counting;
mod given_up;
mod metering;
mod network;
mod proxies;
mod refusing;
mod replying;

const AGENTS: [(&str, &str); 5] = [
    ("talker", "completion: message\ntools: [read_file]\n"),
    ("reader", "completion: tool\ntools: [read_file, glob]\n"),
    ("thinker", "completion: tool\ntools: [read_file]\nmodel: { thinkingBudget: 2000 }\n"),
    ("chooser", "completion: message\ntools: [read_file]\nmodel: { temperature: 0.1, topP: 0.95 }\n"),
    (
        "reporter",
        "completion: tool\ntools: [read_file]\noutput:\n  name: report\n  schema:\n    type: object\n    properties:\n      \
         title: { type: string }\n      line: { type: integer }\n    required: [title, line]\n",
    ),
];

/// The least wait that nobody chose but the provider, in milliseconds: a wait of our own is at most 30 s.
const TOLD_WAIT: u128 = 31_000;
/// Longer texts are told by their length.
const MAX_TOLD: usize = 200;
/// Longer than any wait.
const PATIENCE: Duration = Duration::from_secs(70);
/// Longer than a model may be silent.
const SILENCE: Duration = Duration::from_secs(121);

/// One scenario.
struct Row {
    name: &'static str,
    agent: &'static str,
    /// What the server answers, request by request.
    script: fn(Wire) -> Vec<Answer>,
    /// Where the provider is, when it is not the server of the script.
    base: Option<String>,
    act: Act,
    expected: Expect,
}

/// What happens beside.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Act {
    Nothing,
    /// The run is cancelled once some text has come.
    Cancel,
    /// Time passes once some text has come.
    Silence,
    /// A byte of the first answer comes each second.
    Drip,
}

fn row(name: &'static str, agent: &'static str, expected: Expect, script: fn(Wire) -> Vec<Answer>) -> Row {
    Row { name, agent, script, base: None, act: Act::Nothing, expected }
}

impl Row {
    fn act(self, act: Act) -> Row {
        Row { act, ..self }
    }

    fn at(self, base: String) -> Row {
        Row { base: Some(base), ..self }
    }
}

/// Plays the rows on every wire, the wires side by side, and holds each row's stories to what is expected.
async fn check(rows: Vec<Row>) {
    let by_wire = join_all(Wire::ALL.map(|wire| play(wire, &rows))).await;
    compare(&rows, &by_wire);
}

/// The same, one wire after the other.
async fn check_in_turn(rows: Vec<Row>) {
    let mut by_wire = Vec::new();
    for wire in Wire::ALL {
        by_wire.push(play(wire, &rows).await);
    }
    compare(&rows, &by_wire);
}

fn compare(rows: &[Row], by_wire: &[Vec<String>]) {
    let mut unexpected = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let stories: Vec<(Wire, &str)> =
            Wire::ALL.into_iter().zip(by_wire.iter().map(|stories| stories[at].as_str())).collect();
        let told = together(&stories);
        // Every row is looked at, so that one look tells all that changed.
        let outcome = std::panic::catch_unwind(|| row.expected.assert_eq(&told));
        if outcome.is_err() {
            unexpected.push(format!("{}:\n{told}", row.name));
        }
    }
    assert!(unexpected.is_empty(), "not as expected:\n{}", unexpected.join("\n"));
}

/// The error that a run of one scenario ends with on each wire, however much of the script it needs for that.
async fn told_errors(script: fn(Wire) -> Vec<Answer>) -> Vec<(Wire, Value)> {
    let ending = Wire::ALL.map(async |wire| {
        let server = wire.server(script(wire)).await;
        let mut scene = Scene::open(wire, &[server.base_url()]).await;
        let params = json!({ "model": format!("row-0/{}", wire.model()) });
        let (run, session) = scene.client.start(&scene.running, "talker", params).await;
        scene.client.call("session/attach", json!({ "sessionId": session, "from": "start" })).await;
        scene.client.events_until("run.completed").await;
        let record = scene.client.ended(&run).await;
        assert_eq!(server.violations(), [""; 0], "{}", wire.name());
        scene.close().await;
        (wire, record["error"].clone())
    });
    join_all(ending).await
}

/// What most tell, and whoever tells something else by name.
fn together(stories: &[(Wire, &str)]) -> String {
    let n_alike = |story: &str| stories.iter().filter(|(_, other)| *other == story).count();
    // Of several the first, whatever `max_by_key` takes.
    let common = stories.iter().rev().max_by_key(|(_, story)| n_alike(story)).unwrap().1;
    let mut told = common.to_owned();
    for (wire, story) in stories.iter().filter(|(_, story)| *story != common) {
        told.push_str(&format!("but {}:\n", wire.name()));
        story.lines().for_each(|line| told.push_str(&format!("  {line}\n")));
    }
    told
}

/// One wire's daemon.
struct Scene {
    wire: Wire,
    running: Running,
    client: Client,
    clock: std::sync::Arc<ManualClock>,
}

async fn play(wire: Wire, rows: &[Row]) -> Vec<String> {
    let servers = join_all(rows.iter().map(|row| wire.server((row.script)(wire)))).await;
    let bases: Vec<String> = rows
        .iter()
        .zip(&servers)
        .map(|(row, server)| row.base.clone().unwrap_or_else(|| server.base_url()))
        .collect();
    let mut scene = Scene::open(wire, &bases).await;
    let mut stories = Vec::new();
    for (at, (row, server)) in rows.iter().zip(&servers).enumerate() {
        stories.push(scene.run(at, row, server).await);
    }
    scene.close().await;
    stories
}

/// One point.
const PICTURE: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00,
    0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x00, 0x00, 0x00, 0x3a, 0x7e, 0x9b, 0x55, 0x00,
    0x00, 0x00, 0x0a, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0x60, 0x00, 0x00, 0x00, 0x02, 0x00, 0x01,
    0x48, 0xaf, 0xa4, 0x71, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
];

/// With an entry `row-N` for the N-th of these addresses.
fn house(wire: Wire, bases: &[String]) -> House {
    let entry = |base: &String| ProviderSettings {
        kind: wire.kind(),
        base_url: Some(format!("{base}{}", wire.base_path())),
        key: Some(KeySource::Env("TEST_KEY".to_owned())),
        models: Vec::new(),
        sampling: Default::default(),
    };
    let entries: BTreeMap<_, _> = bases
        .iter()
        .enumerate()
        .map(|(at, base)| {
            (format!("row-{at}"), LayeredSetting { value: Some(entry(base)), origin: SettingLayer::User })
        })
        .collect();
    let mut house = House::new().file("a.txt", "hello\n").file("dot.png", PICTURE);
    // Long texts are of few letters here.
    house.config.loop_detection.text.value = false;
    for (name, text) in AGENTS {
        house = house.agent(
            name,
            &format!("---\nkind: agent\nname: {name}\ndescription: Works.\n{text}---\nYou work.\n"),
        );
    }
    house.models = ModelRegistry::configured(&entries, ChildProcesses::default(), |name| {
        (name == "TEST_KEY").then(|| KEY.into())
    });
    house
}

impl Scene {
    /// With the daemon of such a house.
    async fn open(wire: Wire, bases: &[String]) -> Scene {
        Scene::open_in(wire, house(wire, bases)).await
    }

    async fn open_in(wire: Wire, house: House) -> Scene {
        let (house, clock) = house.manual_clock();
        let running = house.boot().await;
        let client = running.client();
        Scene { wire, running, client, clock }
    }

    /// Ends the daemon; nothing may show the key.
    async fn close(self) {
        let log = serde_json::to_string(&self.running.log().await).unwrap();
        assert!(!log.contains(KEY), "the log shows the key");
        drop(self.client);
        self.running.stop().await;
    }

    /// One row's run to its end, and its story.
    async fn run(&mut self, at: usize, row: &Row, server: &ProviderServer) -> String {
        let params = json!({
            "model": format!("row-{at}/{}", self.wire.model()), "limits": { "maxTimeMs": 86_400_000 },
        });
        self.client = self.running.client();
        let (run, session) = self.client.start(&self.running, row.agent, params).await;
        let deltas = matches!(row.act, Act::Cancel | Act::Silence);
        self.client
            .call("session/attach", json!({ "sessionId": session, "from": "start", "deltas": deltas }))
            .await;
        if row.act == Act::Drip {
            server.asked(1).await;
            self.drip(server, &(row.script)(self.wire)[0]).await;
        }
        let mut waits = Vec::new();
        let mut reasons = Vec::new();
        let mut has_acted = false;
        loop {
            let event = self.client.event().await;
            match event["type"].as_str().unwrap() {
                "model.retrying" => {
                    waits.push(wait_of(&event));
                    reasons.push(self.plain(&event["data"]["message"]));
                    self.clock.advance(PATIENCE);
                }
                "model.textDelta" if !has_acted => {
                    has_acted = true;
                    self.act(row.act, &run, server).await;
                }
                "run.completed" => break,
                _ => (),
            }
        }
        let record = self.client.ended(&run).await;
        if row.base.is_none() {
            let violations = server.violations();
            assert!(violations.is_empty(), "{}: {violations:?}; asked again for: {reasons:?}", row.name);
            server.assert_content();
        }
        let log: Vec<Value> = self.running.log().await;
        let log: Vec<&Value> = log.iter().filter(|event| event["runId"] == *run).collect();
        self.story(&record, &log, &waits, server)
    }

    async fn act(&mut self, act: Act, run: &str, server: &ProviderServer) {
        match act {
            Act::Nothing | Act::Drip => (),
            Act::Cancel => {
                self.client.call("run/cancel", json!({ "runId": run })).await;
                server.hung_up(1).await;
            }
            Act::Silence => {
                // That the run waits for more is not to be seen from here, so time passes until it has noticed.
                let passing = async {
                    while !self.has_retried(run).await {
                        self.clock.advance(SILENCE);
                        self.client.settle().await;
                    }
                };
                timeout(STUCK, passing).await.expect("silence is never noticed");
                server.hung_up(1).await;
            }
        }
    }

    async fn has_retried(&self, run: &str) -> bool {
        let log = self.running.log().await;
        log.iter().any(|event| event["runId"] == run && event["type"] == "model.retrying")
    }

    /// A byte of the answer a second.
    async fn drip(&mut self, server: &ProviderServer, answer: &Answer) {
        for at in 0..answer.bytes() {
            self.clock.advance(Duration::from_secs(1));
            server.allow_byte();
            // That the daemon has read a byte is not to be seen from here. A request to it takes many turns of the runtime
            // that both share, so it cannot be many bytes behind.
            if at % 10 == 0 {
                self.client.call("daemon/status", json!({})).await;
            }
        }
    }

    fn story(&self, record: &Value, log: &[&Value], waits: &[u128], server: &ProviderServer) -> String {
        let mut told = String::new();
        let mut waits = waits.iter();
        let mut ends = Vec::new();
        for event in log {
            let data = &event["data"];
            match event["type"].as_str().unwrap() {
                "model.retrying" => {
                    let wait = waits.next().unwrap();
                    let wait = if TOLD_WAIT <= *wait { format!(" in {wait} ms") } else { String::new() };
                    let dropped = if data["discarded"] == true { ", what was shown is dropped" } else { "" };
                    told.push_str(&format!("again{wait}{dropped}: {}\n", self.plain(&data["message"])));
                }
                "thought" => told.push_str(&format!("thinks {}\n", self.plain(&data["text"]))),
                "model.completed" => {
                    let n_calls = data["calls"].as_array().map_or(0, Vec::len);
                    if n_calls == 0 && data["text"] == "" {
                        continue;
                    }
                    told.push_str(&format!("says {}, {n_calls} calls\n", self.plain(&data["text"])));
                }
                "tool.state" if data["to"] == "success" || data["to"] == "error" => {
                    let text = data["result"]["llmContent"][0]["text"].as_str().unwrap_or_default();
                    let text = text.replace(self.running.work().to_str().unwrap(), "<work>");
                    let text: String = text.chars().take(60).collect();
                    ends.push(format!("{} {}: {text:?}\n", data["name"].as_str().unwrap(), data["to"]));
                }
                _ => (),
            }
        }
        // Which of two calls is faster does not matter.
        ends.sort_unstable();
        told.extend(ends);
        for (n, asked) in server.requests().iter().enumerate().skip(1) {
            let body: Value = serde_json::from_str(&asked.body).unwrap();
            let thoughts = self.wire.thoughts_in(&body);
            if !thoughts.is_empty() {
                told.push_str(&format!("request {} gives back {thoughts:?}\n", n + 1));
            }
            if asked.body.contains("iVBORw0KGgo") {
                told.push_str(&format!("request {} has the picture\n", n + 1));
            }
        }
        let (reason, output) = (record["reason"].as_str().unwrap(), &record["output"]);
        told.push_str(&format!("ends {reason}"));
        match (&record["error"], output) {
            (Value::Object(error), _) => {
                told.push_str(&format!(
                    " {}: {}",
                    error["code"].as_str().unwrap(),
                    self.plain(&error["message"])
                ));
            }
            (_, Value::Null) => told.push_str(&format!(" {}", self.plain(&record["result"]))),
            (_, output) => told.push_str(&format!(" {output}")),
        }
        // What nobody counted is estimated, by the length of paths, too.
        if log.iter().any(|event| event["data"]["estimated"] == true) {
            return told + "\nused what is estimated\n";
        }
        // What of the output was thought not all of them tell.
        let count = |name: &str| record["usage"][name].as_u64().unwrap_or(0);
        if count("promptTokens") != 0 {
            let output = count("outputTokens") + count("thoughtTokens");
            told.push_str(&format!(
                "\nused {}, {} of it cached, for {output}",
                count("promptTokens"),
                count("cachedTokens")
            ));
        }
        told + "\n"
    }

    /// Without what is only a name for the same.
    fn plain(&self, text: &Value) -> String {
        let Some(text) = text.as_str() else { return text.to_string() };
        let mut plain = text.to_owned();
        for status in [400, 401, 403, 404, 408, 409, 413, 429, 500, 503, 529] {
            plain = plain.replace(&format!(" ({})", self.wire.error_name(status)), " (its name)");
        }
        for dialect in ["Gemini", "OpenAI", "Anthropic"] {
            plain = plain.replace(&format!("not {dialect}'s"), "not the provider's");
        }
        if let Some((before, asked)) = plain.split_once("nothing answers at ")
            && let Some((_, after)) = asked.split_once(": is the")
        {
            plain = format!("{before}nothing answers there: is the{after}");
        }
        match plain.chars().count() {
            n if MAX_TOLD < n && !plain.contains("provider") => format!("{n} letters"),
            _ => format!("{plain:?}"),
        }
    }
}

fn wait_of(event: &Value) -> u128 {
    let time = |value: &Value| humantime::parse_rfc3339(value.as_str().unwrap()).unwrap();
    let until = time(&event["data"]["notBefore"]);
    until.duration_since(time(&event["at"])).unwrap_or_default().as_millis()
}
