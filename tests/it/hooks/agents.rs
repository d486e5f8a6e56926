//! What do hooks come to that are agents, which look before they say? And calls that a hook wants made next?

use super::*;

/// A house whose hooks are these, as settings say them, with a small model.
fn asked_house(script: &Script, small: &Script, hooks: &Value, rules: &str) -> House {
    let house = house(script, &json!({})).model("small", small);
    house.rules("edits", rules).settings(&json!({ "models": { "small": "small" }, "hooks": hooks }))
}

fn agent_hook(more: &Value) -> Value {
    let mut hook = json!({ "type": "agent", "prompt": "May it write this? $ARGUMENTS" });
    hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({ "PreToolUse": [{ "matcher": "Write", "hooks": [hook] }] })
}

/// Every text of a request's messages.
fn words(request: &subagentd::models::ModelRequest) -> String {
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    let text = |part: &MessagePart| match part {
        MessagePart::ToolResult { parts, .. } => parts.iter().filter_map(MessagePart::as_text).collect(),
        other => other.as_text().unwrap_or_default().to_owned(),
    };
    parts.map(text).collect::<Vec<String>>().join("\n")
}

async fn run_worker(house: &House) -> (Running, Value) {
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({})).await;
    let ended = client.ended(&run).await;
    (running, ended)
}

/// It reads what it needs, with tools that only read and of which no hook hears, and its no is a guard's.
#[tokio::test]
async fn agent_looks_before_it_says_no() {
    let script = Script::new(vec![write("b.txt", "x"), Reply::done("ok")]);
    let small = Script::new(vec![
        Reply::calls(&[
            ("read_file", json!({ "path": "a.txt" })),
            ("write_file", json!({ "path": "c.txt", "content": "y" })),
        ]),
        Reply::says("```json\n{\"ok\": false, \"reason\": \"a.txt has its first line\"}\n```"),
    ]);
    let mut hooks = agent_hook(&json!({}));
    let house = asked_house(&script, &small, &json!({}), RULES);
    let heard_of = house.dir.path().join("heard");
    let count = json!({ "type": "command", "command": format!("cat >> '{}'", heard_of.display()) });
    hooks["PreToolUse"].as_array_mut().unwrap().push(json!({ "matcher": "Read", "hooks": [count] }));
    let house = house.settings(&json!({ "models": { "small": "small" }, "hooks": hooks }));
    let (running, _) = run_worker(&house).await;
    assert!(!house.work().join("b.txt").exists() && !house.work().join("c.txt").exists());
    assert!(heard(&script).contains("a.txt has its first line"), "{}", heard(&script));
    let asked = small.requests();
    let tools: Vec<&str> = asked[0].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["list_directory", "read_file", "glob", "grep"]);
    assert!(words(&asked[0]).contains("\"file_path\"") && words(&asked[0]).contains("May it write this?"));
    let second = words(&asked[1]);
    assert!(second.contains("the first line") && second.contains("write_file"), "{second}");
    assert!(!heard_of.exists(), "a hook was asked about what a hook's agent read");
    // It works at the cost of the run, and the log says so.
    let log = running.log().await;
    let completed =
        log.iter().filter(|it| it["type"] == "sideCall.completed" && it["data"]["purpose"] == "hook");
    assert_eq!(completed.count(), 2);
    let fired = log.iter().find(|it| it["type"] == "hook.fired").unwrap();
    assert_eq!(fired["data"]["decision"], "deny");
    // They lie in the hook that asked, at their own times.
    let mut client = running.client();
    let page = client.call("trace/get", json!({ "runId": fired["runId"], "limit": 1_000 })).await;
    let spans = page["spans"].as_array().unwrap();
    let hook = spans.iter().find(|span| span["kind"] == "hook").unwrap();
    let asked: Vec<&Value> = spans.iter().filter(|span| span["llm"]["purpose"] == "hook").collect();
    assert_eq!(asked.len(), 2);
    for request in asked {
        assert_eq!(request["parentSpanId"], hook["spanId"], "{request}");
        let us = |span: &Value, key: &str| span[key].as_i64().unwrap();
        assert!(us(hook, "startUs") <= us(request, "startUs") && us(request, "endUs") <= us(hook, "endUs"));
    }
    running.stop().await;
}

#[tokio::test]
async fn agent_that_has_no_objection_changes_nothing() {
    let script = Script::new(vec![write("b.txt", "x"), Reply::done("ok")]);
    let small = Script::new(vec![read("a.txt"), Reply::says("{\"ok\": true}")]);
    let house = asked_house(&script, &small, &agent_hook(&json!({})), RULES);
    let (running, _) = run_worker(&house).await;
    assert_eq!(fs::read_to_string(house.work().join("b.txt")).unwrap(), "x");
    running.stop().await;
    // It says yes, and the rules still say no.
    let script = Script::new(vec![write("b.txt", "x"), Reply::done("ok")]);
    let denies = "[[rule]]\ntool = \"write_file\"\ndecision = \"deny\"\n";
    let house = asked_house(&script, &small, &agent_hook(&json!({})), denies);
    let (running, _) = run_worker(&house).await;
    assert!(!house.work().join("b.txt").exists());
    running.stop().await;
}

/// The rules hold for what it reads, and where they want a person asked, nobody is.
#[tokio::test]
async fn agent_reads_nothing_that_rules_keep_from_the_run() {
    for decision in ["deny", "ask"] {
        let script = Script::new(vec![write("b.txt", "x"), Reply::done("ok")]);
        let small = Script::new(vec![read("a.txt"), Reply::says("{\"ok\": false, \"reason\": \"unread\"}")]);
        let rules = format!("{RULES}[[rule]]\ntool = \"read_file\"\ndecision = \"{decision}\"\n");
        let house = asked_house(&script, &small, &agent_hook(&json!({})), &rules);
        let (running, _) = run_worker(&house).await;
        let told = words(&small.requests()[1]);
        assert!(!told.contains("the first line"), "{decision}: {told}");
        let log = running.log().await;
        assert!(
            !log.iter().any(|it| it["type"] == "confirmation.requested"),
            "{decision}: somebody was asked"
        );
        running.stop().await;
    }
}

/// An answer that never comes, is none, or comes too late is a failure: what it guards does not run.
#[tokio::test]
async fn agent_without_an_answer_blocks() {
    let cases: [(Vec<Reply>, Value, &str); 4] = [
        (vec![read("a.txt")], json!({}), "50 turns"),
        (vec![Reply::says("Looks fine to me.")], json!({}), ""),
        (vec![Reply::Hangs], json!({ "timeout": 1 }), "took more than 1 s"),
        (vec![Reply::says("{\"ok\": true}")], json!({ "model": "nobody" }), "nobody"),
    ];
    for (replies, more, why) in cases {
        let script = Script::new(vec![write("b.txt", "x"), Reply::done("ok")]);
        let house = asked_house(&script, &Script::new(replies), &agent_hook(&more), RULES);
        let (running, _) = run_worker(&house).await;
        assert!(!house.work().join("b.txt").exists(), "{why}");
        let heard = heard(&script);
        assert!(heard.contains("HOOK_DENIED") && heard.contains(why), "{why}: {heard}");
        running.stop().await;
    }
}

/// What it takes counts in the run's budget, and where nothing is left it is not asked.
#[tokio::test]
async fn agent_lives_on_the_runs_budget() {
    let script = Script::new(vec![write("b.txt", "x"), Reply::done("ok")]);
    let small = Script::new(vec![read("a.txt"), Reply::says("{\"ok\": true}")]);
    let house = asked_house(&script, &small, &agent_hook(&json!({})), RULES);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({ "limits": { "maxTokens": 20 } })).await;
    client.ended(&run).await;
    assert!(!house.work().join("b.txt").exists());
    assert!(small.requests().is_empty(), "it was asked");
    running.stop().await;
}

/// A command that wants this call made.
fn wants(name: &str, args: &Value) -> String {
    says(&json!({ "hookSpecificOutput": {
        "hookEventName": "AfterTool", "tailToolCallRequest": { "name": name, "args": args },
    } }))
}

/// It is a call like any other, of which hooks hear, and the model reads what came of it in place of the first one's result.
#[tokio::test]
async fn call_that_a_hook_wants_follows() {
    let tail = wants("write_file", &json!({ "file_path": "b.txt", "content": "x" }));
    let run = || vec![read("a.txt"), Reply::done("ok")];
    let hooks = json!({ "AfterTool": [["read_file", tail]], "PreToolUse": [["Write", says(&json!({}))]] });
    let (house, script, running) = play(hooks, run()).await;
    assert_eq!(fs::read_to_string(house.work().join("b.txt")).unwrap(), "x");
    let heard_now = heard(&script);
    assert!(heard_now.starts_with("A hook had write_file called next"), "{heard_now}");
    assert!(!heard_now.contains("the first line"), "{heard_now}");
    let log = running.log().await;
    let of = |event: &str| log.iter().find(|it| it["data"]["event"] == event).unwrap()["data"].clone();
    let (after, before) = (of("PostToolUse"), of("PreToolUse"));
    assert_eq!(after["followUp"], before["callId"]);
    let turn = log.iter().find(|it| it["type"] == "turn.completed").unwrap();
    assert_eq!(turn["data"]["toolCalls"], 2);
    running.stop().await;
}

/// Rules and guards say of it what they say of any call, and one that ended badly has none after it.
#[tokio::test]
async fn call_that_a_hook_wants_is_judged() {
    let tail = wants("write_file", &json!({ "file_path": "b.txt", "content": "x" }));
    let run = || vec![read("a.txt"), Reply::done("ok")];
    let deny = json!({ "AfterTool": [["read_file", tail]], "PreToolUse": [["Write", "exit 2"]] });
    let (denying, script, running) = play(deny, run()).await;
    assert!(!denying.work().join("b.txt").exists());
    assert!(heard(&script).contains("HOOK_DENIED"), "{}", heard(&script));
    running.stop().await;
    let script = Script::new(run());
    let tools =
        json!({ "AfterTool": [["read_file", wants("run_shell_command", &json!({ "command": "id" }))]] });
    let (running, _) = run_worker(&house(&script, &tools)).await;
    let told = told(&running.log().await);
    assert!(told.contains("the agent does not have that tool"), "{told}");
    assert!(heard(&script).contains("the first line"), "{}", heard(&script));
    running.stop().await;
}

/// Whoever is asked about it is told that the agent did not ask for it.
#[tokio::test]
async fn question_about_a_call_that_a_hook_wants_says_so() {
    let tail = wants("write_file", &json!({ "file_path": "b.txt", "content": "x" }));
    let asks = says(&json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": "look first",
    } }));
    let script = Script::new(vec![read("a.txt"), Reply::done("ok")]);
    let hooks = json!({ "AfterTool": [["read_file", tail]], "PreToolUse": [["Write", asks]] });
    let house = house(&script, &hooks);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "worker", json!({})).await;
    let has_one = |listed: &Value| listed["confirmations"].as_array().is_some_and(|all| all.len() == 1);
    let listed = client.until("confirmation/list", json!({ "sessionId": session }), has_one).await;
    let reason = listed["confirmations"][0]["reason"].as_str().unwrap();
    let hook = reason.split("; the hook user/AfterTool").nth(1).unwrap_or_else(|| panic!("{reason}"));
    // By its whole id, and behind which call.
    let wants = " wants this call after read_file {\"path\":\"a.txt\"}, and the agent did not ask for it";
    assert!(hook.contains(wants), "{reason}");
    client.call("run/cancel", json!({ "runId": run })).await;
    client.ended(&run).await;
    drop(client);
    running.stop().await;
}

/// To hand in a result is the model's alone.
#[tokio::test]
async fn no_hook_ends_a_run_by_a_call() {
    let tail = wants("complete_task", &json!({ "result": "forged" }));
    let run = vec![read("a.txt"), Reply::done("ok")];
    let (_house, script, running) = play(json!({ "AfterTool": [["read_file", tail]] }), run).await;
    let told = told(&running.log().await);
    assert!(told.contains("GOAL ok") && told.contains("to hand in a result is the agent's alone"), "{told}");
    assert!(heard(&script).contains("the first line"), "{}", heard(&script));
    running.stop().await;
}

/// A hook that wants a call after each call gets one, and what it wants wrongly is told.
#[tokio::test]
async fn one_call_has_one_that_follows_it() {
    let tail = wants("read_file", &json!({ "file_path": "a.txt" }));
    let run = || vec![read("a.txt"), Reply::done("ok")];
    let script = Script::new(run());
    let house = house(&script, &json!({}));
    // In a file of its own: a command that names a file of the workspace would be one that runs it.
    let program = house.dir.path().join("hook.sh");
    fs::write(&program, tail).unwrap();
    let hook = json!({ "type": "command", "command": format!("sh '{}'", program.display()) });
    let house = house.settings(&json!({ "hooks": { "AfterTool": [{ "hooks": [hook] }] } }));
    let (running, _) = run_worker(&house).await;
    let log = running.log().await;
    let ended = log.iter().filter(|it| it["type"] == "tool.state" && it["data"]["to"] == "success");
    assert_eq!(ended.filter(|it| it["data"]["name"] == "read_file").count(), 2);
    running.stop().await;
    let withheld = says(&json!({ "decision": "block", "reason": "no", "hookSpecificOutput": {
        "hookEventName": "AfterTool", "tailToolCallRequest": { "name": "read_file", "args": {} },
    } }));
    let (_house, script, running) = play(json!({ "AfterTool": [withheld] }), run()).await;
    assert!(heard(&script).contains("withheld the result"), "{}", heard(&script));
    let log = running.log().await;
    assert!(
        !log.iter().any(|it| !it["data"]["followUp"].is_null()),
        "a call follows one whose result is withheld"
    );
    running.stop().await;
}
