//! Does the trust that a person takes back reach runs that have begun? (Spec 02, "Project agents are untrusted")

use std::fs;

use serde_json::{Value, json};

use crate::{
    asking::scene::answer_to,
    process::{Home, Wire, text},
    recording::Recording,
    support::{Cast, Client, House, Reply},
    trust,
};

const FILE: &str = ".subagentd/agents/local.md";
const LOOSE: &str = "approval: { autoApprove: [low, medium] }\n";
/// A hook that guards nothing.
const TOLD: &str = "hooks: { PostToolUse: [{ hooks: [{ type: command, command: 'exit 0' }] }] }\n";
/// One that guards everything, and lets everything pass.
const GUARD: &str = "hooks: { PreToolUse: [{ hooks: [{ type: command, command: 'exit 0' }] }] }\n";

fn agent(name: &str, tools: &str, more: &str) -> String {
    format!(
        "---\nkind: agent\nname: {name}\ndescription: Works.\ncompletion: tool\ntools: [{tools}]\n{more}---\nYou work.\n"
    )
}

fn local(more: &str) -> String {
    agent("local", "write_file, list_directory, run_shell_command", more)
}

/// What happens while a call of the run waits for a person.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Meanwhile {
    Nothing,
    TakenBack,
    /// And trusted again as it was.
    GivenAgain,
    /// On the disk; nobody says anything of it.
    FileChanged,
    /// A person acknowledges what it says now.
    AnotherAcknowledged,
}

/// What came of the run after that.
#[derive(Debug, PartialEq)]
struct Rest {
    /// What was asked about.
    asked: usize,
    /// How often a hook of it was asked after a call.
    hooked: usize,
    made: Vec<&'static str>,
}

async fn trust_all(wire: &mut Wire, home: &Home) {
    let opened = wire.call("workspace/open", json!({ "workspace": home.work() })).await.unwrap();
    let files = opened["workspace"]["files"].as_array().unwrap().iter();
    let files: Value = files.map(|it| json!({ "path": it["path"], "digest": it["digest"] })).collect();
    let said = json!({ "workspace": home.work(), "trusted": true, "files": files });
    wire.call("workspace/trust", said).await.unwrap();
}

async fn take_back(wire: &mut Wire, home: &Home) {
    wire.call("workspace/trust", json!({ "workspace": home.work(), "trusted": false })).await.unwrap();
}

/// The one question that is open, once the run has one; `None` = it has ended.
async fn question(wire: &mut Wire, run: &str) -> Option<Value> {
    loop {
        let waits = json!({ "runId": run, "timeoutMs": 60_000, "until": ["confirmation"] });
        let waited = wire.call("run/wait", waits).await.unwrap();
        if waited["done"] == true {
            return None;
        }
        let listed = wire.call("confirmation/list", json!({})).await.unwrap();
        if let Some(question) = listed["confirmations"].get(0) {
            return Some(question.clone());
        }
    }
}

/// A run of the project's agent whose first call waits, and is denied after that; the log's lines of its calls' ends as well.
async fn rest(more: &str, meanwhile: Meanwhile, restarts: bool) -> (Rest, Vec<Value>) {
    let home = Home::new();
    fs::create_dir_all(home.work().join(".subagentd/agents")).unwrap();
    fs::create_dir_all(home.work().join("sub")).unwrap();
    fs::write(home.work().join(FILE), local(more)).unwrap();
    let call = |name: &str, args: Value| vec![json!({ "functionCall": { "name": name, "args": args } })];
    let model = Recording::write_parts(
        &home,
        "works",
        vec![
            call("run_shell_command", json!({ "command": "rm -r sub" })),
            call("list_directory", json!({ "path": "." })),
            call("run_shell_command", json!({ "command": "touch made" })),
            call("write_file", json!({ "path": "written", "content": "x" })),
            call("complete_task", json!({ "result": "done" })),
        ],
    );
    let mut served = home.start().await;
    let mut wire = home.connect().await;
    trust_all(&mut wire, &home).await;
    let start = json!({
        "workspace": home.work(), "agent": "local", "model": model, "prompt": "work", "approval": { "onDetached": "park" },
    });
    let started = wire.call("run/start", start).await.unwrap();
    let (run, session) = (text(&started, "runId").to_owned(), text(&started, "sessionId").to_owned());
    let mut open = question(&mut wire, &run).await.unwrap();
    match meanwhile {
        Meanwhile::Nothing => {}
        Meanwhile::TakenBack => take_back(&mut wire, &home).await,
        Meanwhile::GivenAgain => {
            take_back(&mut wire, &home).await;
            trust_all(&mut wire, &home).await;
        }
        Meanwhile::FileChanged => fs::write(home.work().join(FILE), local("")).unwrap(),
        Meanwhile::AnotherAcknowledged => {
            fs::write(home.work().join(FILE), local("")).unwrap();
            trust_all(&mut wire, &home).await;
        }
    }
    if restarts {
        served.kill().await;
        served = home.start().await;
        wire = home.connect().await;
        wire.call("session/attach", json!({ "sessionId": session })).await.unwrap();
        // Only of a run that is parked by now.
        wire.request("run/unpark", json!({ "runId": run })).await.unwrap();
        open = question(&mut wire, &run).await.unwrap();
    }
    let mut asked = 0;
    loop {
        wire.call("confirmation/respond", answer_to(&open, "deny", json!({}))).await.unwrap();
        match question(&mut wire, &run).await {
            Some(next) => (open, asked) = (next, asked + 1),
            None => break,
        }
    }
    let log = wire.log(json!({ "runIds": [run] }), 0).await.unwrap();
    let is_told = |event: &&Value| event["type"] == "hook.fired" && event["data"]["event"] == "PostToolUse";
    let hooked = log.iter().filter(is_told).count();
    let ends = log.into_iter().filter(|event| event["activity"] == "TOOL_CALL_END").collect();
    let made = ["made", "written"].into_iter().filter(|it| home.work().join(it).exists()).collect();
    served.stop().await;
    (Rest { asked, hooked, made }, ends)
}

#[tokio::test]
async fn an_agent_approves_itself_and_its_hooks_run_while_people_trust_it() {
    let more = format!("{LOOSE}{TOLD}");
    let trusted = Rest { asked: 0, hooked: 3, made: vec!["made", "written"] };
    let taken_back = Rest { asked: 2, hooked: 0, made: vec![] };
    for (meanwhile, restarts, expected) in [
        (Meanwhile::Nothing, false, &trusted),
        (Meanwhile::Nothing, true, &trusted),
        (Meanwhile::TakenBack, false, &taken_back),
        (Meanwhile::TakenBack, true, &taken_back),
        (Meanwhile::GivenAgain, true, &trusted),
        // A run that has begun keeps the file it began with, until a person says something of it.
        (Meanwhile::FileChanged, false, &trusted),
        (Meanwhile::AnotherAcknowledged, false, &taken_back),
        (Meanwhile::AnotherAcknowledged, true, &taken_back),
    ] {
        let (rest, ends) = rest(&more, meanwhile, restarts).await;
        assert_eq!(rest, *expected, "{meanwhile:?} {restarts} {ends:?}");
    }
}

#[tokio::test]
async fn guards_of_an_agent_that_nobody_trusts_any_more_refuse() {
    let more = format!("{LOOSE}{GUARD}");
    for (meanwhile, restarts, refuses) in [
        (Meanwhile::Nothing, false, false),
        (Meanwhile::TakenBack, false, true),
        (Meanwhile::TakenBack, true, true),
        (Meanwhile::AnotherAcknowledged, false, true),
    ] {
        let (rest, ends) = rest(&more, meanwhile, restarts).await;
        let refused = ends.iter().filter(|end| end.to_string().contains("not acknowledged any more"));
        assert_eq!(refused.count(), if refuses { 3 } else { 0 }, "{meanwhile:?} {restarts} {ends:?}");
        assert_eq!(rest.made.is_empty(), refuses, "{meanwhile:?} {restarts} {rest:?}");
        assert_eq!(rest.asked, 0, "{meanwhile:?} {restarts} {ends:?}");
    }
}

#[tokio::test]
async fn a_state_that_was_acknowledged_before_the_last_approves_nothing_and_says_so() {
    let home = Home::new();
    fs::create_dir_all(home.work().join(".subagentd/agents")).unwrap();
    let served = home.start().await;
    let mut wire = home.connect().await;
    for more in [LOOSE, "", LOOSE] {
        fs::write(home.work().join(FILE), local(more)).unwrap();
        if !home.work().join("begun").exists() {
            trust_all(&mut wire, &home).await;
        }
        if more.is_empty() {
            fs::write(home.work().join("begun"), "").unwrap();
        }
    }
    let write =
        json!({ "functionCall": { "name": "write_file", "args": { "path": "written", "content": "x" } } });
    let done = json!({ "functionCall": { "name": "complete_task", "args": { "result": "done" } } });
    let model = Recording::write_parts(&home, "writes", vec![vec![write], vec![done]]);
    let start = json!({
        "workspace": home.work(), "agent": "local", "model": model, "prompt": "work", "approval": { "headless": true },
    });
    let started = wire.call("run/start", start).await.unwrap();
    let run = text(&started, "runId").to_owned();
    wire.ended(&run).await.unwrap();
    assert!(!home.work().join("written").exists());
    let log = Value::from(wire.log(json!({ "runIds": [run] }), 0).await.unwrap()).to_string();
    assert!(log.contains("was acknowledged after this one"), "{log}");
    served.stop().await;
}

/// The one question of the session, once it has one.
async fn asked(client: &mut Client, session: &str) -> Value {
    let has_one = |listed: &Value| listed["confirmations"].as_array().unwrap().len() == 1;
    let listed = client.until("confirmation/list", json!({ "sessionId": session }), has_one).await;
    listed["confirmations"][0].clone()
}

#[tokio::test]
async fn no_run_of_an_agent_begins_by_a_call_after_trust_in_it_was_taken_back() {
    let shell = |command: &str| Reply::calls(&[("run_shell_command", json!({ "command": command }))]);
    let cast = Cast::new([
        (
            "lead",
            vec![
                shell("rm -r sub"),
                Reply::calls(&[("kid", json!({ "prompt": "go" }))]),
                Reply::done("done"),
            ],
        ),
        ("lead/kid", vec![Reply::done("done")]),
    ]);
    let house = House::new()
        .model("script", &cast)
        .agent("lead", &agent("lead", "kid, run_shell_command", ""))
        .file(".subagentd/agents/kid.md", agent("kid", "run_shell_command", ""));
    let running = house.boot().await;
    let mut client = running.client();
    trust::trust(&mut client, running.work()).await;
    let (run, session) = client.start(&running, "lead", json!({})).await;
    let question = asked(&mut client, &session).await;
    client.call("workspace/trust", json!({ "workspace": running.work(), "trusted": false })).await;
    client.call("confirmation/respond", answer_to(&question, "deny", json!({}))).await;
    client.ended(&run).await;
    let log = Value::from(running.log().await).to_string();
    assert!(log.contains("`kid` is an agent of this workspace that nobody has acknowledged"), "{log}");
    assert!(cast.requests("lead/kid").is_empty());
    running.stop().await;
}

#[tokio::test]
async fn an_agent_that_is_called_approves_itself_no_longer_than_its_caller() {
    let shell = |command: &str| Reply::calls(&[("run_shell_command", json!({ "command": command }))]);
    let cast = Cast::new([
        ("lead", vec![Reply::calls(&[("kid", json!({ "prompt": "go" }))]), Reply::done("done")]),
        ("lead/kid", vec![shell("rm -r sub"), shell("touch made"), Reply::done("done")]),
    ]);
    let house = House::new()
        .model("script", &cast)
        .agent("kid", &agent("kid", "run_shell_command", LOOSE))
        .file(".subagentd/agents/lead.md", agent("lead", "kid", LOOSE));
    let running = house.boot().await;
    let mut client = running.client();
    trust::trust(&mut client, running.work()).await;
    let (run, session) = client.start(&running, "lead", json!({})).await;
    let first = asked(&mut client, &session).await;
    client.call("workspace/trust", json!({ "workspace": running.work(), "trusted": false })).await;
    client.call("confirmation/respond", answer_to(&first, "deny", json!({}))).await;
    let is_another = |listed: &Value| {
        let next = &listed["confirmations"][0]["confirmationId"];
        next.is_string() && *next != first["confirmationId"]
    };
    let listed = client.until("confirmation/list", json!({ "sessionId": session }), is_another).await;
    client.call("confirmation/respond", answer_to(&listed["confirmations"][0], "deny", json!({}))).await;
    client.ended(&run).await;
    assert!(!running.work().join("made").exists());
    running.stop().await;
}
