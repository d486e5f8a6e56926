//! Is the edit of a person in the log before hooks are asked about it, and does nothing but what it comes to follow?

use std::path::{Path, PathBuf};

use tokio::task::JoinSet;

use super::{
    kills::{ledger, runs, until},
    *,
};
use crate::{
    laws,
    process::{Home, Served, Wire, text},
    recording::{reply, save},
    support::{Client, lines},
};

const WRITER: &str = "---
kind: agent
name: writer
description: Writes.
completion: tool
tools: [write_file]
---
You write.
";

/// Says in a ledger that it is asked. What a person made of a call it keeps until it may go on.
const GUARD: &str = r#"import json, os, sys, time
asked = json.load(sys.stdin)
ours = asked["subagentd"]
with open(LEDGER, "a") as ledger:
    ledger.write(json.dumps({"firing": ours["firingId"], "attempt": ours["attempt"]}) + "\n")
while "two" in json.dumps(asked["tool_input"]) and not os.path.exists(GO):
    time.sleep(0.01)
"#;

/// What looks like a secret.
fn secret() -> String {
    format!("two ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
}

/// A daemon whose run asks whether it may write a file, with a guard.
struct Guarded {
    home: Home,
    script: PathBuf,
    ledger: PathBuf,
    go: PathBuf,
    model: String,
}

impl Guarded {
    fn new() -> Guarded {
        Guarded::writing("one")
    }

    /// The same, where this is what the model would write.
    fn writing(content: &str) -> Guarded {
        let home = Home::new();
        let (script, ledger, go) = (home.path("guard.py"), home.path("ledger.jsonl"), home.path("go"));
        let python = |path: &Path| format!("{:?}", path.to_string_lossy());
        fs::write(&script, GUARD.replace("LEDGER", &python(&ledger)).replace("GO", &python(&go))).unwrap();
        fs::write(home.path("config/subagentd/agents/writer.md"), WRITER).unwrap();
        let command = format!("python3 {}", script.display());
        let hook = json!({ "type": "command", "command": command, "onFailure": "block" });
        let settings = json!({ "hooks": { "PreToolUse": [{ "hooks": [hook] }] } });
        fs::write(home.path("config/subagentd/settings.json"), settings.to_string()).unwrap();
        let call = |name: &str, args: Value| json!({ "functionCall": { "name": name, "args": args } });
        let turns = [
            reply(vec![call("write_file", json!({ "path": "b.txt", "content": content }))], 1),
            reply(vec![call("complete_task", json!({ "result": "all" }))], 2),
        ];
        let model = save(&home, "written", &turns);
        Guarded { home, script, ledger, go, model }
    }

    async fn start(&self) -> (Served, Wire, String) {
        let served = self.home.start().await;
        let mut wire = self.home.connect().await;
        let start = json!({
            "workspace": self.home.work(), "agent": "writer", "model": self.model, "prompt": "go",
            "approval": { "onDetached": "wait" },
        });
        let run = text(&wire.call("run/start", start).await.unwrap(), "runId").to_owned();
        (served, wire, run)
    }

    async fn times_asked(&self, n: usize) {
        until("the guard is asked", || ledger(&self.ledger).len() == n).await;
    }

    /// Ends the daemon in the middle of the guard.
    async fn kill(&self, served: Served, wire: Wire) {
        served.kill().await;
        drop(wire);
        until("the guard of a killed daemon is gone", || !runs(&self.script)).await;
    }

    fn written(&self) -> Option<String> {
        fs::read_to_string(self.home.work().join("b.txt")).ok()
    }
}

/// The question that is open.
async fn open(wire: &mut Wire) -> Value {
    loop {
        let listed = wire.call("confirmation/list", json!({})).await.unwrap();
        if let Some(asked) = listed["confirmations"].as_array().unwrap().first() {
            return asked.clone();
        }
        tokio::task::yield_now().await;
    }
}

pub(super) fn edit(asked: &Value, content: &str) -> Value {
    json!({
        "confirmationId": asked["confirmationId"], "digest": asked["digest"], "outcome": "modify",
        "arguments": { "path": "b.txt", "content": content },
    })
}

pub(super) fn of_type<'a>(log: &'a [Value], kind: &str) -> Vec<&'a Value> {
    log.iter().filter(|event| event["type"] == kind).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_outlives_the_daemon_and_the_client_that_made_it() {
    let guarded = Guarded::new();
    let (served, mut wire, run) = guarded.start().await;
    let asked = open(&mut wire).await;
    wire.send("confirmation/respond", edit(&asked, "two")).await.unwrap();
    guarded.times_asked(2).await;
    guarded.kill(served, wire).await;
    let served = guarded.home.start().await;
    let mut wire = guarded.home.connect().await;
    // The same guard is asked anew, by itself.
    guarded.times_asked(3).await;
    let times = ledger(&guarded.ledger);
    assert_eq!((&times[1].0, times[1].1, times[2].1), (&times[2].0, 1, 2), "{times:?}");
    // Everybody is told that somebody has answered.
    let waiting = open(&mut wire).await;
    let who = text(&waiting, "editedBy").to_owned();
    assert!(who.starts_with("user "), "{waiting}");
    let one = json!({ "confirmationId": asked["confirmationId"] });
    let got = wire.call("confirmation/get", one).await.unwrap();
    assert_eq!(got["confirmation"]["editedBy"], who.as_str(), "{got}");
    let shown = crate::process::output(&mut guarded.home.companion(&["approvals"])).await;
    assert!(format!("{shown:?}").contains("hooks look at the edit"), "{shown:?}");
    // Whoever says it again gets what comes of it, and no second answer.
    let again = wire.send("confirmation/respond", edit(&asked, "two")).await.unwrap();
    let told = wire.call("trace/get", json!({ "runId": run })).await.unwrap()["spans"].clone();
    let question = told.as_array().unwrap().iter().find(|span| span["kind"] == "confirmation").unwrap();
    let decision = &question["confirmation"]["decision"];
    assert_eq!((&decision["outcome"], &decision["name"]), (&json!("edited"), &json!(who)), "{question}");
    assert!(question["confirmation"]["editedInput"].to_string().contains("two"), "{question}");
    let story = json!({ "runId": run, "format": "markdown" });
    let story = wire.call("trace/export", story).await.unwrap().to_string();
    assert!(!story.contains("Nobody had answered") && story.contains("Answer: edited by"), "{story}");
    fs::write(&guarded.go, "").unwrap();
    let answer = wire.answer(again).await.unwrap();
    assert_eq!(answer["result"]["resolution"]["outcome"], "modify", "{answer}");
    wire.ended(&run).await.unwrap();
    assert_eq!(guarded.written().as_deref(), Some("two"));
    let log = wire.log(json!({}), 0).await.unwrap();
    drop(wire);
    served.stop().await;
    if let Err(violations) = laws::check_finished(&log) {
        panic!("{}\n{}", violations.join("\n"), lines(&log));
    }
    let edited = of_type(&log, "confirmation.edited");
    assert_eq!((edited.len(), &edited[0]["by"]), (1, &json!(who)), "{}", lines(&log));
    assert_eq!(edited[0]["data"]["edited"]["content"], "two");
    assert_eq!(of_type(&log, "confirmation.resolved").len(), 1);
}

/// A clean stop does not wait for the guard, and loses nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_outlives_a_daemon_that_is_stopped() {
    let guarded = Guarded::new();
    let (served, mut wire, run) = guarded.start().await;
    let asked = open(&mut wire).await;
    wire.send("confirmation/respond", edit(&asked, "two")).await.unwrap();
    guarded.times_asked(2).await;
    drop(wire);
    served.stop().await;
    let served = guarded.home.start().await;
    let mut wire = guarded.home.connect().await;
    guarded.times_asked(3).await;
    fs::write(&guarded.go, "").unwrap();
    wire.ended(&run).await.unwrap();
    assert_eq!(guarded.written().as_deref(), Some("two"));
    drop(wire);
    served.stop().await;
}

/// What the log does not have is not run: it is asked again, with the reason.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_with_a_secret_is_made_again_after_a_restart() {
    let guarded = Guarded::new();
    let (served, mut wire, run) = guarded.start().await;
    let asked = open(&mut wire).await;
    wire.send("confirmation/respond", edit(&asked, &secret())).await.unwrap();
    guarded.times_asked(2).await;
    guarded.kill(served, wire).await;
    let served = guarded.home.start().await;
    let mut wire = guarded.home.connect().await;
    let again = loop {
        let again = open(&mut wire).await;
        if again["editedBy"].is_null() {
            break again;
        }
    };
    assert!(text(&again, "reason").contains("a secret that was not kept"), "{again}");
    assert_eq!(guarded.written(), None);
    // Made again it runs as it was meant.
    fs::write(&guarded.go, "").unwrap();
    wire.call("confirmation/respond", edit(&again, &secret())).await.unwrap();
    wire.ended(&run).await.unwrap();
    let log = wire.log(json!({}), 0).await.unwrap();
    assert_eq!(guarded.written(), Some(secret()), "{}", lines(&log));
    drop(wire);
    served.stop().await;
    if let Err(violations) = laws::check_finished(&log) {
        panic!("{}\n{}", violations.join("\n"), lines(&log));
    }
    assert!(!lines(&log).contains("a1B2c3D4"), "{}", lines(&log));
    let why: Vec<&Value> =
        of_type(&log, "confirmation.revised").iter().map(|it| &it["data"]["reason"]).collect();
    assert_eq!(why[0], "editDropped");
}

/// Nobody knows any more what the marks stand for that the person was shown.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_of_a_call_with_a_secret_writes_no_mark_after_a_restart() {
    let guarded = Guarded::writing(&secret().replace("two", "one"));
    let (served, mut wire, run) = guarded.start().await;
    let asked = open(&mut wire).await;
    let whole = asked.to_string();
    let mark = whole.find("[redacted:").map(|at| &whole[at..=at + whole[at..].find(']').unwrap()]).unwrap();
    let shown = format!("more than one {mark}");
    served.kill().await;
    drop(wire);
    let served = guarded.home.start().await;
    let mut wire = guarded.home.connect().await;
    let asked = open(&mut wire).await;
    wire.call("confirmation/respond", edit(&asked, &shown)).await.unwrap();
    wire.ended(&run).await.unwrap();
    assert_eq!(guarded.written(), None);
    drop(wire);
    served.stop().await;
}

/// Nobody has judged it, and the person may want to know that nobody will.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_whose_guard_is_gone_after_a_restart_is_asked_again() {
    let guarded = Guarded::new();
    let (served, mut wire, run) = guarded.start().await;
    let asked = open(&mut wire).await;
    wire.send("confirmation/respond", edit(&asked, "two")).await.unwrap();
    guarded.times_asked(2).await;
    guarded.kill(served, wire).await;
    fs::write(guarded.home.path("config/subagentd/settings.json"), "{}").unwrap();
    let served = guarded.home.start().await;
    let mut wire = guarded.home.connect().await;
    let again = loop {
        let again = open(&mut wire).await;
        if again["editedBy"].is_null() {
            break again;
        }
    };
    assert!(text(&again, "reason").contains("are not there any more"), "{again}");
    assert_eq!(guarded.written(), None);
    wire.call("confirmation/respond", edit(&again, "two")).await.unwrap();
    wire.ended(&run).await.unwrap();
    assert_eq!(guarded.written().as_deref(), Some("two"));
    drop(wire);
    served.stop().await;
}

/// A run within this process whose guard keeps an edit until a file is there.
pub(super) async fn guarded_house(house: &House) -> (Running, Client, String, Value) {
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({})).await;
    let is_open = |it: &Value| !it["confirmations"].as_array().unwrap().is_empty();
    let listed = client.until("confirmation/list", json!({ "runId": run }), is_open).await;
    (running, client, run, listed["confirmations"][0].clone())
}

/// Holds a person's edit back until there is a file `go` beside the workspace, and says with `at` that it does.
pub(super) fn keeping(script: &Script) -> House {
    let keeps = "cd \"$CLAUDE_PROJECT_DIR/..\"; case $(cat) in *two*) touch at; while [ ! -e go ]; do sleep 0.01; done ;; esac";
    let ask = pre("ask", &json!({ "permissionDecisionReason": "a look, please" }));
    house(script, &json!({ "PreToolUse": [["Write", ask], ["Write", keeps]] }))
}

/// Answers from a connection of its own, and gives back what it was told.
pub(super) fn answering(running: &Running, answer: Value) -> JoinSet<Value> {
    let mut client = running.client();
    let mut answering = JoinSet::new();
    answering.spawn(async move { client.request("confirmation/respond", answer).await });
    answering
}

/// The reply to the one answer that is on its way.
pub(super) async fn replied(mut answering: JoinSet<Value>) -> Value {
    answering.join_next().await.unwrap().unwrap()
}

/// Waits until the edit is told of, and the hook that keeps it is at work.
pub(super) async fn until_kept(house: &House, client: &mut Client, run: &str) {
    let is_edited = |it: &Value| !it["confirmations"][0]["editedBy"].is_null();
    client.until("confirmation/list", json!({ "runId": run }), is_edited).await;
    until_there(house, "at").await;
}

/// Waits for a file beside the workspace.
pub(super) async fn until_there(house: &House, name: &str) {
    while !house.dir.path().join(name).exists() {
        tokio::task::yield_now().await;
    }
}

/// Has the hook go on.
pub(super) fn let_go(house: &House) {
    fs::write(house.dir.path().join("go"), "").unwrap();
}

#[tokio::test]
async fn a_run_that_is_cancelled_while_hooks_look_at_an_edit_runs_nothing_and_tells_of_it() {
    let script = Script::new(vec![write("b.txt", "one"), Reply::done("ok")]);
    let house = keeping(&script);
    let (running, mut client, run, asked) = guarded_house(&house).await;
    let ada = answering(&running, edit(&asked, "two"));
    until_kept(&house, &mut client, &run).await;
    client.call("run/cancel", json!({ "runId": run })).await;
    client.ended(&run).await;
    let answer = replied(ada).await;
    assert!(answer["error"].is_object(), "{answer}");
    assert!(!house.work().join("b.txt").exists());
    let log = running.log().await;
    assert_eq!(of_type(&log, "confirmation.edited").len(), 1, "{}", lines(&log));
    let resolved = &of_type(&log, "confirmation.resolved")[0]["data"];
    assert_eq!((&resolved["outcome"], &resolved["by"]), (&json!("deny"), &json!("system")), "{resolved}");
    let spans = client.call("trace/get", json!({ "runId": run })).await["spans"].clone();
    let question = spans.as_array().unwrap().iter().find(|span| span["kind"] == "confirmation").unwrap();
    let decision = &question["confirmation"]["decision"];
    assert_eq!((&decision["outcome"], &decision["name"]), (&json!("edited"), &json!("user 0")), "{question}");
    assert_eq!(decision["message"], "the run was stopped");
    running.stop().await;
}

#[tokio::test]
async fn another_answer_waits_while_hooks_look_at_an_edit() {
    let script = Script::new(vec![write("b.txt", "one"), Reply::done("ok")]);
    let house = keeping(&script);
    let (running, mut client, run, asked) = guarded_house(&house).await;
    let ada = answering(&running, edit(&asked, "two"));
    until_kept(&house, &mut client, &run).await;
    let bob = answering(
        &running,
        json!({
            "confirmationId": asked["confirmationId"], "digest": asked["digest"], "outcome": "allowOnce",
        }),
    );
    let again = answering(&running, edit(&asked, "two"));
    client.settle().await;
    let_go(&house);
    client.ended(&run).await;
    let (ada, bob, again) = (replied(ada).await, replied(bob).await, replied(again).await);
    assert_eq!(ada["result"]["resolution"]["outcome"], "modify", "{ada}");
    assert_eq!(again["result"]["resolution"]["outcome"], "modify", "{again}");
    assert!(bob["error"].is_object(), "{bob}");
    assert_eq!(fs::read_to_string(house.work().join("b.txt")).unwrap(), "two");
    assert_eq!(of_type(&running.log().await, "confirmation.edited").len(), 1);
    running.stop().await;
}

/// The question is asked as it was, and says why.
#[tokio::test]
async fn an_edit_that_cannot_be_made_any_more_leaves_the_question_open() {
    let script = Script::new(vec![write("b.txt", "one"), Reply::done("ok")]);
    let house = keeping(&script);
    let (running, mut client, run, asked) = guarded_house(&house).await;
    let ada = answering(&running, edit(&asked, "two"));
    until_kept(&house, &mut client, &run).await;
    fs::create_dir(house.work().join("b.txt")).unwrap();
    let_go(&house);
    let answer = replied(ada).await;
    assert!(answer["error"].is_object(), "{answer}");
    let is_open = |it: &Value| it["confirmations"][0]["editedBy"].is_null();
    let open = client.until("confirmation/list", json!({ "runId": run }), is_open).await;
    let reason = open["confirmations"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("cannot be done any more"), "{reason}");
    let deny = json!({
        "confirmationId": asked["confirmationId"], "digest": asked["digest"], "outcome": "deny",
    });
    client.call("confirmation/respond", deny).await;
    client.ended(&run).await;
    running.stop().await;
}

/// Where no hook is there to ask, an edit is what it comes to.
#[tokio::test]
async fn an_edit_that_no_hook_looks_at_is_not_told_apart() {
    let script = Script::new(vec![write("b.txt", "one"), Reply::done("ok")]);
    let house = house(&script, &json!({})).rules("edits", "");
    let (running, mut client, run, asked) = guarded_house(&house).await;
    client.call("confirmation/respond", edit(&asked, "two")).await;
    client.ended(&run).await;
    assert_eq!(fs::read_to_string(house.work().join("b.txt")).unwrap(), "two");
    let log = running.log().await;
    let kinds: Vec<&str> = log.iter().filter_map(|event| event["type"].as_str()).collect();
    assert!(!kinds.contains(&"confirmation.edited"), "{kinds:?}");
    running.stop().await;
}
