//! What is promised of hooks, whatever they say: nothing gets looser, nothing is missed, and nobody reads what only they are told?

use std::{os::unix::fs::PermissionsExt as _, path::PathBuf};

use super::*;
use crate::{
    kills::{Seed, is_full},
    recording::Chance,
    support::TRANSCRIPTS,
};

/// Text of every message that a model was asked with.
fn all_heard(script: &Script) -> String {
    let requests = script.requests();
    let messages = requests.iter().flat_map(|request| &request.messages);
    let text = |part: &MessagePart| match part {
        MessagePart::ToolResult { parts, .. } => {
            parts.iter().filter_map(MessagePart::as_text).collect::<String>()
        }
        other => other.as_text().unwrap_or_default().to_owned(),
    };
    messages.flat_map(|message| &message.parts).map(text).collect::<Vec<_>>().join("\n")
}

/// Commands of hooks, and whether each blocks a call by itself.
const ANSWERS: &[(&str, bool)] = &[
    ("cat > /dev/null", false),
    (
        "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\"}}'",
        false,
    ),
    ("echo '{\"decision\":\"approve\"}'", false),
    (
        "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"ask\"}}'",
        true,
    ),
    (
        "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\"}}'",
        true,
    ),
    ("exit 2", true),
    ("exit 1", true),
    ("echo '{\"decision\":'", true),
    ("kill -9 $$", true),
    ("/nowhere/at/all", true),
    ("sleep 60", true),
    ("echo '{\"decision\":\"approve\"}'; exit 3", true),
];

/// Random sets of hooks beside random rules, with nobody to be asked: a call runs only where rules alone would let it, and no hook
/// stands in its way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_hooks_make_nothing_looser_than_the_rules() {
    let trials = if is_full() { 200 } else { 20 };
    let seed = Seed::new();
    let mut chance = Chance::new(seed.0);
    for trial in 0..trials {
        let n_hooks = usize::try_from(chance.below(4)).unwrap();
        let chosen: Vec<(&str, bool)> = (0..n_hooks)
            .map(|_| ANSWERS[usize::try_from(chance.below(ANSWERS.len() as u64)).unwrap()])
            .collect();
        let decision = ["allow", "ask", "deny"][usize::try_from(chance.below(3)).unwrap()];
        let script = Script::new(vec![write("b.txt", "x"), Reply::done("ok")]);
        let house = house(&script, &json!({}))
            .rules("edits", &format!("[[rule]]\ntool = \"write_file\"\ndecision = \"{decision}\"\n"));
        let entries: Vec<Value> = chosen
            .iter()
            .map(|(command, _)| json!({ "type": "command", "command": command, "timeout": 1 }))
            .collect();
        let hooks = json!({ "PreToolUse": [{ "hooks": entries }] });
        fs::write(&house.sources.files.user, json!({ "hooks": hooks }).to_string()).unwrap();
        let running = house.boot().await;
        let mut client = running.client();
        let (run, _) = client.start(&running, "worker", json!({ "approval": { "headless": true } })).await;
        client.ended(&run).await;
        let may_run = decision == "allow" && chosen.iter().all(|(_, blocks)| !blocks);
        assert_eq!(
            house.work().join("b.txt").exists(),
            may_run,
            "trial {trial}: rules say {decision}, hooks {chosen:?}; SUBAGENTD_SEED={}",
            seed.0
        );
        running.stop().await;
    }
}

/// A guard that somebody writes while a run goes on counts for its next call.
#[tokio::test]
async fn guard_that_is_written_meanwhile_is_asked() {
    let gate = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    let script =
        Script::new(vec![read("a.txt"), Reply::after(&gate, write("b.txt", "x")), Reply::done("ok")]);
    let house = house(&script, &json!({}));
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({})).await;
    script.asked().await;
    script.asked().await;
    let hooks = json!({ "PreToolUse": [{ "hooks": [{ "type": "command", "command": "exit 2" }] }] });
    fs::write(&house.sources.files.user, json!({ "hooks": hooks }).to_string()).unwrap();
    client.until("hooks/list", json!({}), |listed| listed["hooks"][0]["state"] == "on").await;
    gate.add_permits(1);
    client.ended(&run).await;
    assert!(!house.work().join("b.txt").exists());
    assert!(heard(&script).contains("HOOK_DENIED"), "{}", heard(&script));
    running.stop().await;
}

/// What was said to a run that ended before hooks had their say joins no context: neither this run's model nor the next one reads it.
#[tokio::test]
async fn text_that_hooks_have_not_heard_reaches_no_model() {
    let script = Script::new(vec![Reply::Hangs]);
    let hangs = "if grep -q HUNTER2; then sleep 60; fi";
    let house = house(&script, &json!({ "UserPromptSubmit": [hangs] }));
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "worker", json!({})).await;
    script.asked().await;
    client.call("run/steer", json!({ "runId": run, "text": "the word is HUNTER2" })).await;
    client.call("run/cancel", json!({ "runId": run })).await;
    client.ended(&run).await;
    script.replace(vec![Reply::done("ok")]);
    let next = json!({ "sessionId": session, "workspace": null });
    let (next, _) = client.start(&running, "worker", next).await;
    client.ended(&next).await;
    assert!(!all_heard(&script).contains("HUNTER2"), "{}", all_heard(&script));
    let log = running.log().await;
    let told = log.iter().any(|event| event["data"]["message"].to_string().contains("say it again"));
    assert!(told, "nobody was told");
    running.stop().await;
}

/// Who looks through what was said for edits finds them as hooks of Claude Code's do.
/// The file in which hooks read of a run. Daemons with different state folders have different folders there.
fn transcript(house: &House, session: &str, run: &str) -> PathBuf {
    let mut of_daemons = fs::read_dir(house.dir.path().join(TRANSCRIPTS)).unwrap();
    of_daemons.next().unwrap().unwrap().path().join(session).join(format!("{run}.jsonl"))
}

/// A session that was deleted while the daemon was killed leaves nothing; one that is there keeps what it has.
#[tokio::test]
async fn transcripts_of_sessions_that_are_gone_are_taken_away_at_the_next_start() {
    let script = Script::new(vec![Reply::done("ok")]);
    let house = house(&script, &json!({ "Stop": ["cat > /dev/null"] }));
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "worker", json!({})).await;
    client.ended(&run).await;
    drop(client);
    running.stop().await;
    let kept = transcript(&house, &session, &run);
    let of_daemon = kept.parent().unwrap().parent().unwrap().to_owned();
    let gone = of_daemon.join("01a20000-0000-7000-8000-000000000051");
    fs::create_dir(&gone).unwrap();
    fs::write(gone.join("x.jsonl"), "{}\n").unwrap();
    let of_another = of_daemon.with_file_name("ffffffff").join("01a20000-0000-7000-8000-000000000052");
    fs::create_dir_all(&of_another).unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    client.until("daemon/status", json!({}), |_| !gone.exists()).await;
    drop(client);
    running.stop().await;
    assert!(kept.exists() && of_another.exists());
}

#[tokio::test]
async fn transcripts_have_tools_in_claude_codes_words() {
    let script = Script::new(vec![write("b.txt", "x"), Reply::done("ok")]);
    let house = house(&script, &json!({ "Stop": ["cat > /dev/null"] }));
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "worker", json!({})).await;
    client.ended(&run).await;
    let file = transcript(&house, &session, &run);
    let text = fs::read_to_string(&file).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let blocks: Vec<Value> =
        lines.flat_map(|line| line["message"]["content"].as_array().unwrap().clone()).collect();
    let used = blocks.iter().find(|block| block["type"] == "tool_use").unwrap();
    assert_eq!(used["name"], "Write", "{used}");
    assert_eq!(used["input"], json!({ "file_path": running.work().join("b.txt"), "content": "x" }));
    running.stop().await;
}

/// Hooks read what was said; tools and commands of agents do not, also where it lies in their workspace.
#[tokio::test]
async fn transcripts_are_hidden_from_agents() {
    let find = "cat .cache/subagentd/transcripts/*/*/*.jsonl; ls .cache/subagentd/transcripts; echo looked";
    let script = Script::new(vec![
        read("work/a.txt"),
        Reply::calls(&[("glob", json!({ "pattern": "**/*.jsonl" }))]),
        Reply::calls(&[("run_shell_command", json!({ "command": find }))]),
        Reply::done("ok"),
    ]);
    let keeps = "cat > /dev/null";
    let house = house(&script, &json!({ "PreToolUse": [keeps] }))
        .agent(
            "worker",
            "---\nkind: agent\nname: worker\ndescription: Works.\ncompletion: tool\ntools: [read_file, glob, run_shell_command]\n---\nYou work.\n",
        )
        .rules("all", "[[rule]]\ntool = \"*\"\ndecision = \"allow\"\n");
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "worker", json!({ "workspace": house.dir.path() })).await;
    client.ended(&run).await;
    let file = transcript(&house, &session, &run);
    assert!(fs::read_to_string(&file).unwrap().contains("the first line"), "hooks read what was said");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let heard = all_heard(&script);
    assert!(heard.contains("looked") && !heard.contains(&format!("{run}.jsonl")), "{heard}");
    assert!(!heard.contains("isSidechain"), "{heard}");
    client.call("session/close", json!({ "sessionId": session })).await;
    client.call("session/delete", json!({ "sessionId": session })).await;
    assert!(!file.exists(), "it outlives its session");
    running.stop().await;
}
