//! What do hooks of Codex's files read of skills, and of commands that go on?

use sha2::{Digest as _, Sha256};

use super::{answering::trust_all, *};

const SKILLED: &str = "---
kind: agent
name: worker
description: Works.
completion: tool
tools: [read_file, run_shell_command, kill_shell, Skill]
---
You work.
";

fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Says what {name} is.\n---\nWork with care.\n")
}

/// Everything that the hooks of an event read.
fn told_at<'a>(told: &'a [Value], event: &str) -> Vec<&'a Value> {
    told.iter().filter(|it| it["hook_event_name"] == event).collect()
}

#[tokio::test]
async fn codexs_hooks_are_told_of_active_skills_and_of_commands_in_the_background() {
    let script = Script::new(vec![
        read("a.txt"),
        Reply::calls(&[("Skill", json!({ "name": "pdf" }))]),
        Reply::calls(&[("run_shell_command", json!({ "command": "sleep 600", "background": true }))]),
        Reply::done("ok"),
    ]);
    let hooks: serde_json::Map<String, Value> = ["PreToolUse", "PostToolUse", "Stop"]
        .into_iter()
        .map(|event| {
            let command = "printf '%s\\n' \"$(cat)\" >> told.jsonl";
            (event.to_owned(), json!([{ "hooks": [{ "type": "command", "command": command }] }]))
        })
        .collect();
    let house = house(&script, &json!({}))
        .agent("worker", SKILLED)
        .rules("all", "[[rule]]\ntool = \"*\"\ndecision = \"allow\"\n")
        .file(".codex/hooks.json", json!({ "hooks": hooks }).to_string())
        .file(".claude/skills/pdf/SKILL.md", skill("pdf"));
    let own = house.dir.path().join("skills/house");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("SKILL.md"), skill("house")).unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    trust_all(&mut client, &running).await;
    let (run, session) = client.start(&running, "worker", json!({ "skills": ["house"] })).await;
    client.ended(&run).await;
    script.replace([Reply::calls(&[("kill_shell", json!({ "id": "1" }))]), Reply::done("ok")]);
    let (second, _) = client.start(&running, "worker", json!({ "sessionId": session })).await;
    client.ended(&second).await;
    let told = fs::read_to_string(running.work().join("told.jsonl")).unwrap();
    let told: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();

    let digest = |name: &str| format!("{:x}", Sha256::digest(skill(name)));
    let given = json!({
        "name": "house", "path": own.join("SKILL.md"), "scope": "user", "invocation": "explicit",
        "turn_id": format!("{run}#1"), "content_sha256": digest("house"),
    });
    let asked = json!({
        "name": "pdf", "path": running.work().join(".claude/skills/pdf/SKILL.md"), "scope": "repo",
        "invocation": "implicit", "turn_id": format!("{run}#2"), "content_sha256": digest("pdf"),
    });
    let at = |event: &str| -> Vec<Value> {
        told_at(&told, event).into_iter().map(|it| it["skill_activations"].clone()).collect()
    };
    let (one, both, later) = (json!([given]), json!([given, asked]), json!([asked]));
    // The skill is active when its call has ended, and what a run was given goes with the run.
    assert_eq!(at("PreToolUse"), [one.clone(), one.clone(), both.clone(), later.clone()]);
    assert_eq!(at("PostToolUse"), [one, both.clone(), both, later]);

    let ends = told_at(&told, "Stop");
    let terminal = json!({ "process_id": "1", "command": "sleep 600", "cwd": running.work() });
    assert_eq!(ends[0]["background"]["background_terminals"], json!([terminal]), "{ends:?}");
    assert_eq!(ends[0]["background"]["running_background_terminals"], 1);
    assert_eq!(ends[1]["background"]["background_terminals"], json!([]), "{ends:?}");
    running.stop().await;
}
