//! Does the daemon wait for a file that somebody else put there? A FIFO in the place of each file that it reads of a
//! workspace, while an agent makes calls of every kind (spec 11, "A stranger's file is opened through one door"). Do others wait for what a model has
//! it do?

use std::{
    fs,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::{
    process::Home,
    support::{House, Reply, Script},
};

const AGENT: &str =
    "---\nkind: agent\nname: walker\ndescription: Calls all tools.\ncompletion: tool\ntools: ['*']\n---\nx\n";
const ALLOW: &str = "[[rule]]\ntool = \"*\"\ndecision = \"allow\"\n";

/// Files that the daemon, a tool or git reads of a workspace.
const PLACES: &[&str] = &[
    ".git",
    ".gitignore",
    ".geminiignore",
    ".subagentignore",
    ".npmrc",
    "package.json",
    "below/.git",
    "below/.gitignore",
    "repository/.git/info/exclude",
    "repository/.git/config",
    ".subagentd/settings.json",
    ".subagentd/agents/fifo.md",
    ".subagentd/policies/fifo.toml",
    ".claude/agents/fifo.md",
    ".gemini/agents/fifo.md",
    "plain",
];

/// FIFOs that let go of whoever waits for them when this is dropped, so that a daemon that hangs fails the test that
/// found it instead of hanging it too.
struct Fifos(Vec<PathBuf>);

impl Fifos {
    fn make(root: &Path) -> Fifos {
        let make = |name: &&str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
            path
        };
        Fifos(PLACES.iter().map(make).collect())
    }
}

impl Drop for Fifos {
    fn drop(&mut self) {
        for path in &self.0 {
            // A FIFO with a writer makes no reader wait for one; the descriptor stays, for those that come later.
            let nonblock = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
            let opened = fs::OpenOptions::new().read(true).write(true).custom_flags(nonblock).open(path);
            std::mem::forget(opened);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_and_no_request_waits_for_a_fifo() {
    let calls: Vec<(&str, Value)> = vec![
        ("git_commit", json!({ "message": "one" })),
        ("git_commit", json!({ "message": "two", "all": true })),
        ("git_commit", json!({ "message": "three", "paths": ["below", "plain"] })),
        ("read_file", json!({ "path": "plain" })),
        ("read_many_files", json!({ "include": ["**/*"] })),
        ("list_directory", json!({ "path": "." })),
        ("glob", json!({ "pattern": "**/*" })),
        ("grep", json!({ "pattern": "x" })),
        ("write_file", json!({ "path": "plain", "content": "x" })),
        ("edit_file", json!({ "path": "plain", "oldString": "x", "newString": "y" })),
        ("move_file", json!({ "from": "plain", "to": "moved" })),
        ("save_memory", json!({ "fact": "x", "scope": "project" })),
    ];
    let mut replies: Vec<Reply> = calls.iter().map(|call| Reply::calls(std::slice::from_ref(call))).collect();
    replies.push(Reply::done("done"));
    let house = House::new().script(&Script::new(replies)).agent("walker", AGENT).rules("all", ALLOW);
    let fifos = Fifos::make(&house.work());
    let running = house.boot().await;
    let mut client = running.client();
    let roots = json!({ "workspace": running.work() });
    client.request("workspace/open", roots.clone()).await;
    client.request("agents/list", roots.clone()).await;
    client.request("tools/list", roots.clone()).await;
    client.request("policy/list", roots.clone()).await;
    client.request("mcp/list", roots.clone()).await;
    client.request("workspace/trust", roots).await;
    let (run, _) = client.start(&running, "walker", json!({})).await;
    let ended = client.ended(&run).await;
    assert_eq!(ended["reason"], "GOAL", "{ended}");
    let log = running.log().await;
    let ends = log.iter().filter(|event| event["activity"] == "TOOL_CALL_END").count();
    assert_eq!(ends, calls.len() + 1);
    drop(client);
    running.stop().await;
    drop(fifos);
}

/// They are read for each workspace, and an agent whose workspace is the home may have put anything there.
#[tokio::test]
async fn no_request_waits_for_what_lies_in_place_of_the_users_settings_of_git() {
    for name in [".gitconfig", "config/git/config", "config/git/ignore"] {
        for is_endless in [false, true] {
            let home = Home::new();
            let (path, agent) = (home.path(name), home.path("config/subagentd/agents/walker.md"));
            for file in [&path, &agent] {
                fs::create_dir_all(file.parent().unwrap()).unwrap();
            }
            fs::write(agent, AGENT).unwrap();
            let cwd = rustix::fs::CWD;
            match is_endless {
                true => rustix::fs::symlinkat("/dev/zero", cwd, &path).unwrap(),
                false => rustix::fs::mkfifoat(cwd, &path, rustix::fs::Mode::RWXU).unwrap(),
            }
            let fifo = Fifos(if is_endless { Vec::new() } else { vec![path] });
            let served = home.start().await;
            let mut wire = home.connect().await;
            let written = json!({ "path": "a", "content": "x" });
            let params = json!({ "tool": "write_file", "arguments": written, "workspace": home.work(), "agent": "walker" });
            let checked = wire.request("policy/check", params).await.unwrap();
            assert_eq!(checked["result"]["risk"], "low", "{name}: {checked}");
            drop(wire);
            served.stop().await;
            drop(fifo);
        }
    }
}

/// Counts what another client is answered while a run of these replies goes on, all on one thread: a thread that does not come free
/// answers nobody.
async fn answered_beside(replies: Vec<Reply>) -> usize {
    let house = House::new().script(&Script::new(replies)).agent("walker", AGENT).rules("all", ALLOW);
    let running = house.boot().await;
    let (mut starter, mut other) = (running.client(), running.client());
    other.request("ping", json!({})).await;
    let (run, _) = starter.start(&running, "walker", json!({})).await;
    let mut answered = 0;
    let ended = {
        let waiting = starter.call("run/wait", json!({ "runId": run, "timeoutMs": 600_000 }));
        tokio::pin!(waiting);
        loop {
            tokio::select! {
                biased;
                ended = &mut waiting => break ended,
                _status = other.request("daemon/status", json!({})) => answered += 1,
            }
        }
    };
    assert_eq!(ended["run"]["reason"], "GOAL", "{ended}");
    drop((starter, other));
    running.stop().await;
    answered
}

#[tokio::test]
async fn others_are_answered_while_a_command_floods() {
    let flood = json!({ "command": "head -c 20000000 /dev/urandom" });
    let answered =
        answered_beside(vec![Reply::calls(&[("run_shell_command", flood)]), Reply::done("done")]).await;
    println!("{answered} answers beside the flood");
    assert!(40 <= answered, "{answered}");
}

#[tokio::test]
async fn others_are_answered_while_a_reply_of_thousands_of_calls_is_taken_in() {
    let calls: Vec<(&str, Value)> =
        (0..5_000).map(|n| ("read_file", json!({ "path": format!("f{n}") }))).collect();
    let answered = answered_beside(vec![Reply::calls(&calls), Reply::done("done")]).await;
    println!("{answered} answers beside the calls");
    assert!(40 <= answered, "{answered}");
}
