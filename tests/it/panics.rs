//! What becomes of a task of the daemon that panics? It is told under an id, and begun again or ends what it kept: nobody waits
//! for ever for what it did.
//!
//! The panics come from the clock, which is asked everywhere and tells by the stack who asks: by the names of functions, or where
//! debug information has shortened them by the lines.

use std::{
    backtrace::Backtrace,
    ops::RangeInclusive,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use subagentd::{
    protocol::Timestamp,
    sys::clock::{Clock, SystemClock},
};
use tokio::time::timeout;

use crate::{
    mcp::server,
    process::text,
    support::{Client, House, Reply, STUCK, Script},
};

const ALLOW: &str = "[[rule]]\ntool = \"*\"\ndecision = \"allow\"\n";

/// The system's clock, but for who is to meet a panic.
struct Faulty {
    clock: Arc<SystemClock>,
    is_armed: AtomicBool,
    victim: Mutex<Option<Victim>>,
}

/// The function that asks next.
struct Victim {
    /// Part of its symbol's name.
    name: &'static str,
    file: &'static str,
    lines: RangeInclusive<usize>,
}

impl Victim {
    /// A function, or whatever stands in a file that the name ends with.
    fn new(name: &'static str, file: &'static str) -> Victim {
        let last = name.trim_end_matches(':').rsplit("::").next().unwrap();
        if Path::new(file).file_stem().unwrap() == last {
            return Victim { name, file, lines: 1..=usize::MAX };
        }
        let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let begins = |line: &&str| line.contains(&format!("fn {last}("));
        let first = lines.iter().position(begins).unwrap_or_else(|| panic!("no `{last}` in {file}"));
        let end = lines[first].split_once(|letter: char| !letter.is_whitespace()).unwrap().0.to_owned() + "}";
        let length = lines[first..].iter().position(|line| *line == end).unwrap();
        Victim { name, file, lines: first + 1..=first + 1 + length }
    }

    fn is_on(&self, stack: &str) -> bool {
        stack.lines().any(|line| {
            let at = line.split_once(self.file).and_then(|(_, at)| at.strip_prefix(':'));
            let number = at.and_then(|at| at.split(':').next()?.parse().ok());
            line.contains(self.name) || number.is_some_and(|number| self.lines.contains(&number))
        })
    }
}

impl Faulty {
    fn new() -> Arc<Faulty> {
        let (is_armed, victim) = (AtomicBool::new(false), Mutex::default());
        Arc::new(Faulty { clock: SystemClock::new(), is_armed, victim })
    }

    /// The next time that this function asks, it panics.
    fn arm(&self, name: &'static str, file: &'static str) {
        *self.victim.lock().unwrap() = Some(Victim::new(name, file));
        self.is_armed.store(true, Ordering::SeqCst);
    }

    fn has_struck(&self) -> bool {
        !self.is_armed.load(Ordering::SeqCst)
    }

    fn look(&self) {
        if self.has_struck() {
            return;
        }
        let stack = Backtrace::force_capture().to_string();
        let struck = {
            let mut victim = self.victim.lock().unwrap();
            victim.take_if(|victim| victim.is_on(&stack))
        };
        if let Some(victim) = struck {
            self.is_armed.store(false, Ordering::SeqCst);
            panic!("planted in {}", victim.name);
        }
    }
}

impl Clock for Faulty {
    fn now(&self) -> Timestamp {
        self.look();
        self.clock.now()
    }

    fn monotonic(&self) -> Duration {
        self.look();
        self.clock.monotonic()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.look();
        self.clock.sleep(duration)
    }
}

fn house(script: &Script, clock: &Arc<Faulty>) -> House {
    let mut house = House::new().script(script);
    house.clock = Arc::clone(clock) as Arc<dyn Clock>;
    house
}

/// What `daemon/status` and `daemon/doctor` tell of it; under an id.
async fn assert_told(client: &mut Client, task: &str) {
    let status = client.call("daemon/status", json!({})).await;
    let degraded = status["degraded"].as_array().unwrap();
    let told = degraded.iter().filter_map(Value::as_str).find(|it| it.starts_with(task));
    let told = told.unwrap_or_else(|| panic!("no word of {task}: {status}"));
    assert!(told.contains("its log has more under "), "{told}");
    let doctor = client.call("daemon/doctor", json!({})).await;
    let check = doctor["checks"].as_array().unwrap().iter().find(|check| check["name"] == "tasks").unwrap();
    assert_eq!((&check["state"], text(check, "message")), (&json!("warning"), told));
}

#[tokio::test]
async fn an_mcp_server_whose_keeper_panics_is_away_for_a_reason_and_started_again() {
    let script = Script::new([Reply::calls(&[("mcp.s.echo", json!({ "text": "back" }))]), Reply::done("x")]);
    let clock = Faulty::new();
    let agent = "---\nkind: agent\nname: user\ndescription: Uses it.\ncompletion: tool\nmcp: {servers: [s]}\n---\nUse.\n";
    let settings = json!({ "mcpServers": { "s": server::entry("plain") } });
    let running =
        house(&script, &clock).agent("user", agent).rules("all", ALLOW).settings(&settings).boot().await;
    let mut client = running.client();
    let asked = json!({ "workspace": running.work(), "server": "s" });
    clock.arm("::attend::", "src/tools/mcp/server/supervisor.rs");
    let away = client.call("mcp/connect", asked.clone()).await;
    assert!(clock.has_struck());
    assert_eq!(away["state"], "backoff", "{away}");
    let reason = text(&away, "reason");
    assert!(reason.starts_with("what keeps an MCP server failed by a defect"), "{away}");
    // It is begun again by itself.
    client.until("mcp/status", asked, |it| it["servers"][0]["state"] == "ready").await;
    assert_told(&mut client, "what keeps an MCP server").await;
    let (run, _) = client.start(&running, "user", json!({})).await;
    let ended = client.ended(&run).await;
    assert_eq!(ended["reason"], "GOAL", "{ended}");
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn who_waits_for_a_server_whose_keeper_is_gone_is_answered_and_the_next_keeper_has_it() {
    let script = Script::new([Reply::done("x")]);
    let clock = Faulty::new();
    let settings = json!({ "mcpServers": { "s": server::entry("plain") } });
    let running = house(&script, &clock).settings(&settings).boot().await;
    let mut client = running.client();
    let asked = json!({ "workspace": running.work(), "server": "s" });
    // Outside of what the keeper tries again by itself: as it begins.
    clock.arm("McpServerInstance>::keep::", "src/tools/mcp/server/supervisor.rs");
    // Whether it is told of the first one's end or waits for the second, it is answered.
    client.call("mcp/connect", asked.clone()).await;
    assert!(clock.has_struck());
    assert_told(&mut client, "what keeps an MCP server").await;
    assert_eq!(client.call("mcp/connect", asked).await["state"], "ready");
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn changed_agents_are_told_after_the_task_that_tells_them_panicked() {
    let script = Script::new([Reply::done("x")]);
    let clock = Faulty::new();
    let house = house(&script, &clock);
    let running = house.boot().await;
    let mut client = running.client();
    client.call("events/subscribe", json!({ "types": ["agents.changed"], "from": "now" })).await;
    // What is there at the first look is no change.
    client.call("agents/list", json!({})).await;
    clock.arm("agent_changes::follow", "src/daemon/agent_changes.rs");
    let write = |name: &str| {
        let text = format!("---\nkind: agent\nname: {name}\ndescription: New.\n---\nx\n");
        std::fs::write(house.dir.path().join("agents").join(format!("{name}.md")), text).unwrap();
    };
    write("first");
    client
        .until("daemon/status", json!({}), |status| !status["degraded"].as_array().unwrap().is_empty())
        .await;
    assert_told(&mut client, "what tells of changed agents").await;
    write("second");
    let mut added = Vec::new();
    while !added.contains(&"second".to_owned()) {
        let event = client.event().await;
        let names = event["data"]["added"].as_array().into_iter().flatten();
        added.extend(names.map(|it| it["name"].as_str().unwrap().to_owned()));
    }
    assert!(added.contains(&"first".to_owned()), "{added:?}");
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_question_that_nobody_can_be_asked_is_settled_after_the_desk_panicked() {
    let agent = "---\nkind: agent\nname: runner\ndescription: Runs.\ncompletion: tool\ntools: [run_shell_command]\n---\nRun.\n";
    let call = Reply::calls(&[("run_shell_command", json!({ "command": "touch made" }))]);
    let script = Script::new([call, Reply::done("x")]);
    let clock = Faulty::new();
    let running = house(&script, &clock).agent("runner", agent).boot().await;
    let mut client = running.client();
    clock.arm("ConfirmationRouter::serve", "src/daemon/confirmation_router.rs");
    let more = json!({ "approval": { "onDetached": "deny" } });
    let (run, _) = client.start(&running, "runner", more).await;
    let ended = client.ended(&run).await;
    assert!(clock.has_struck());
    assert_eq!(ended["reason"], "GOAL", "{ended}");
    assert!(!running.work().join("made").exists(), "a defect allowed something");
    assert_told(&mut client, "what keeps the open questions").await;
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_background_command_whose_watcher_panics_has_ended() {
    let agent = "---\nkind: agent\nname: runner\ndescription: Runs.\ncompletion: tool\n\
                 tools: [run_shell_command, shell_output, kill_shell]\n---\nRun.\n";
    let start =
        json!({ "command": "trap '' TERM; touch ready; while :; do sleep 1; done", "background": true });
    let wait = json!({ "command": "until [ -e ready ]; do sleep 0.01; done" });
    let calls = [
        ("run_shell_command", start),
        ("run_shell_command", wait),
        ("kill_shell", json!({ "id": "1" })),
        ("shell_output", json!({ "id": "1" })),
    ];
    let mut replies: Vec<Reply> = calls.iter().map(|call| Reply::calls(std::slice::from_ref(call))).collect();
    replies.push(Reply::done("x"));
    let clock = Faulty::new();
    let house = house(&Script::new(replies), &clock).agent("runner", agent).rules("all", ALLOW);
    let running = house.boot().await;
    let mut client = running.client();
    clock.arm("BackgroundCommand::until_end", "src/tools/commands/background.rs");
    let (run, _) = client.start(&running, "runner", json!({})).await;
    let ended = client.ended(&run).await;
    assert!(clock.has_struck());
    assert_eq!(ended["reason"], "GOAL", "{ended}");
    let log = running.log().await;
    let is_end = |event: &&Value| event["activity"] == "TOOL_CALL_END";
    let last = log.iter().filter(is_end).map(|event| &event["data"]).rfind(|it| it["name"] == "shell_output");
    let said = last.unwrap()["result"]["llmContent"][0]["text"].as_str().unwrap();
    assert!(!said.contains("running") && said.contains("failed by a defect of the daemon"), "{said}");
    assert_told(&mut client, "what watches over a command in the background").await;
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_request_with_a_key_that_panics_is_told_the_id_and_its_key_is_free() {
    let script = Script::new([Reply::done("x")]);
    let clock = Faulty::new();
    let running = house(&script, &clock).boot().await;
    let mut client = running.client();
    clock.arm("handlers::sessions::", "src/daemon/handlers/sessions.rs");
    let params = json!({ "workspace": running.work(), "idempotencyKey": "key-00001" });
    let (kind, error) = client.refused("session/create", params.clone()).await;
    assert!(clock.has_struck());
    assert_eq!(kind, "INTERNAL_ERROR", "{error}");
    assert!(error["data"]["details"]["id"].is_string(), "{error}");
    client.call("session/create", params).await;
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn without_the_writer_of_the_database_the_daemon_asks_to_be_ended_and_the_next_one_goes_on() {
    let script = Script::new([Reply::Hangs, Reply::says("x")]);
    let clock = Faulty::new();
    let agent =
        "---\nkind: agent\nname: talker\ndescription: Talks.\ncompletion: message\ntools: []\n---\nTalk.\n";
    let house = house(&script, &clock).agent("talker", agent);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "talker", json!({})).await;
    script.asked().await;
    clock.arm("store::writer::", "src/store/writer.rs");
    let (kind, error) = client.refused("session/create", json!({ "workspace": running.work() })).await;
    assert_eq!(kind, "SHUTTING_DOWN", "{error}");
    timeout(STUCK, running.daemon.asked_to_stop()).await.expect("the daemon goes on without its writer");
    let why = running.daemon.broken().unwrap();
    assert!(why.to_string().starts_with("the writer of the database failed by a defect"), "{why}");
    drop(client);
    running.stop_unfinished().await;
    script.skip();
    let running = house.boot().await;
    let mut client = running.client();
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    drop(client);
    running.stop().await;
}
