//! May a hook answer in a person's place? Only their own, only where they say so, and never what is critical.

use super::*;

/// Asked about, so that there is something to answer.
const ASKS: &str = "[[rule]]\ntool = \"write_file\"\ndecision = \"ask\"\n";

const ALLOWS: &str = r#"cat > /dev/null; echo '{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}'"#;

const COMMANDER: &str = "---
kind: agent
name: commander
description: Runs commands.
completion: tool
tools: [run_shell_command]
---
You work.
";

fn settings(may: bool, command: &str) -> Value {
    let hook = json!({ "hooks": [{ "type": "command", "command": command }] });
    json!({ "approval": { "hooksMayApprove": may }, "hooks": { "PermissionRequest": [hook] } })
}

/// How the questions of a run that nobody attends ended, and whether its file was written.
async fn play_unattended(house: &House) -> (Vec<Value>, bool) {
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({ "approval": { "headless": true } })).await;
    client.ended(&run).await;
    let log = running.log().await;
    let resolved = log.iter().filter(|event| event["type"] == "confirmation.resolved");
    let resolved = resolved.map(|event| json!([event["data"]["outcome"], event["data"]["by"]]));
    let ended = (resolved.collect(), house.work().join("b.txt").exists());
    running.stop().await;
    ended
}

fn asking_house() -> House {
    let script = Script::new(vec![write("b.txt", "x"), Reply::done("ok")]);
    house(&script, &json!({})).rules("edits", ASKS)
}

#[tokio::test]
async fn hook_of_the_settings_answers_where_they_let_it() {
    let house = asking_house().settings(&settings(true, ALLOWS));
    assert_eq!(play_unattended(&house).await, (vec![json!(["allowOnce", "hook"])], true));
    let house = asking_house().settings(&settings(false, ALLOWS));
    assert_unanswered(play_unattended(&house).await, "nobody let it");
}

/// No hook has answered, and nothing was written.
fn assert_unanswered((resolved, is_written): (Vec<Value>, bool), why: &str) {
    let resolved = json!(resolved).to_string();
    assert!(
        !is_written && !resolved.contains("allowOnce") && !resolved.contains("hook"),
        "{why}: {resolved}"
    );
}

#[tokio::test]
async fn hook_that_fails_changes_or_asks_answers_nothing() {
    let changes = r#"echo '{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow","updatedInput":{"file_path":"c.txt","content":"y"}}}}'"#;
    let longer = r#"echo '{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow","updatedPermissions":[{"type":"addRules"}]}}}'"#;
    for command in ["exit 1", "echo '{'", "kill -9 $$", &format!("{ALLOWS}; exit 3"), changes, longer] {
        let house = asking_house().settings(&settings(true, command));
        assert_unanswered(play_unattended(&house).await, command);
    }
}

/// A person acknowledges everything that the workspace brings along.
pub(super) async fn trust_all(client: &mut crate::support::Client, running: &Running) {
    let opened = client.call("workspace/open", json!({ "workspace": running.work() })).await;
    let files: Vec<Value> = opened["workspace"]["files"].as_array().cloned().unwrap_or_default();
    let files: Vec<Value> =
        files.iter().map(|file| json!({ "path": file["path"], "digest": file["digest"] })).collect();
    let trust = json!({ "workspace": running.work(), "trusted": true, "files": files });
    client.call("workspace/trust", trust).await;
}

#[tokio::test]
async fn a_projects_hook_only_advises() {
    let hook = json!({ "hooks": [{ "type": "command", "command": ALLOWS }] });
    let project = json!({ "hooks": { "PermissionRequest": [hook] } });
    let house = asking_house()
        .settings(&json!({ "approval": { "hooksMayApprove": true } }))
        .file(".claude/settings.json", project.to_string());
    let running = house.boot().await;
    let mut client = running.client();
    trust_all(&mut client, &running).await;
    running.stop().await;
    assert_unanswered(play_unattended(&house).await, "a project's");
}

/// An agent writes in the workspace: what a file of it answers is no person's answer, whoever's settings name the file.
#[tokio::test]
async fn a_hook_that_runs_a_file_of_the_workspace_only_advises() {
    let house = asking_house()
        .settings(&settings(true, "sh \"$CLAUDE_PROJECT_DIR\"/tools/approve.sh"))
        .file("tools/approve.sh", ALLOWS);
    let running = house.boot().await;
    let mut client = running.client();
    trust_all(&mut client, &running).await;
    running.stop().await;
    assert_unanswered(play_unattended(&house).await, "of a file of the workspace");
}

/// Whoever comes first listens at a port of this machine: an agent's program, say.
#[tokio::test]
async fn a_hook_at_a_port_of_this_machine_only_advises() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/ask", listener.local_addr().unwrap());
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = std::sync::Arc::clone(&asked);
    let mut serving = tokio::task::JoinSet::new();
    serving.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mut stream = tokio::io::BufReader::new(stream);
            let mut length = 0;
            loop {
                let mut line = String::new();
                tokio::io::AsyncBufReadExt::read_line(&mut stream, &mut line).await.unwrap();
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            tokio::io::AsyncReadExt::read_exact(&mut stream, &mut body).await.unwrap();
            count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let allows = r#"{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}"#;
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{allows}",
                allows.len()
            );
            tokio::io::AsyncWriteExt::write_all(stream.get_mut(), answer.as_bytes()).await.unwrap();
        }
    });
    let hook = json!({ "hooks": [{ "type": "http", "url": url }] });
    let house = asking_house().settings(
        &json!({ "approval": { "hooksMayApprove": true }, "hooks": { "PermissionRequest": [hook] } }),
    );
    assert_unanswered(play_unattended(&house).await, "of a port of this machine");
    assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), 1, "it was asked");
    serving.shutdown().await;
}

#[tokio::test]
async fn no_hook_answers_for_what_is_critical() {
    let call = Reply::calls(&[("run_shell_command", json!({ "command": "rm -rf /" }))]);
    let script = Script::new(vec![call, Reply::done("ok")]);
    let house = house(&script, &json!({})).agent("worker", &COMMANDER.replace("commander", "worker"));
    let house = house.settings(&settings(true, ALLOWS));
    let (resolved, _) = play_unattended(&house).await;
    assert!(!json!(resolved).to_string().contains("hook"), "{resolved:?}");
    assert!(!heard(&script).contains("success"), "{}", heard(&script));
}

/// Arguments beside an advice are shown as what they are, and the call is told to nobody as changed.
#[tokio::test]
async fn an_advice_with_other_arguments_is_shown_and_changes_nothing() {
    let changes = r#"echo '{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow","updatedInput":{"file_path":"c.txt","content":"y"}}}}'"#;
    let house = asking_house().settings(&settings(true, changes));
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({ "approval": { "headless": true } })).await;
    client.ended(&run).await;
    let log = running.log().await;
    let fired = log.iter().find(|it| it["data"]["event"] == "PermissionRequest").unwrap();
    assert!(fired["data"]["changed"].is_null(), "{fired}");
    let asked = log.iter().find(|it| it["type"] == "confirmation.requested").unwrap();
    let reason = asked["data"]["confirmation"]["reason"].as_str().unwrap();
    assert!(
        reason.contains("advises to allow it, with other arguments, which do not count: {")
            && reason.contains("c.txt"),
        "{reason}"
    );
    assert!(!reason.contains("a hook changed the call"), "{reason}");
    running.stop().await;
}
