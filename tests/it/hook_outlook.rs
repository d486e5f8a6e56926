//! What is told of a hook before anybody needs it: that it cannot work as it is written, and what would come of that?

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::{Value, json};
use subagentd::redact::{Redactor, RedactorParts};

use crate::{support::House, trust::trust};

/// Hooks of which some cannot work, each with what is told of it: the fault, what a failure means, and what else is odd.
fn rows() -> Vec<(&'static str, Value, &'static str, &'static str, &'static str)> {
    let command = |command: &str| json!({ "type": "command", "command": command });
    let gone = "tools/guard.sh is not there";
    let unset = "`CLAUDE_PLUGIN_ROOT` has no value";
    vec![
        ("PreToolUse", command("\"$CLAUDE_PROJECT_DIR\"/tools/guard.sh"), gone, "block", ""),
        ("PreToolUse", command("sh \"${CLAUDE_PLUGIN_ROOT}/guard.sh\""), unset, "block", unset),
        (
            "PreToolUse",
            json!({ "type": "command", "command": "sh", "args": ["${CLAUDE_PLUGIN_ROOT}/guard.sh"] }),
            unset,
            "block",
            unset,
        ),
        (
            "PreToolUse",
            command("if test -n \"$GUARD_MODE\"; then exit 2; fi"),
            "",
            "",
            "`GUARD_MODE` has no value",
        ),
        ("PreToolUse", command("true"), "", "", ""),
        ("PostToolUse", command("./gone.sh"), "gone.sh is not there", "continue", ""),
    ]
}

fn settings() -> Value {
    let mut hooks = json!({ "PreToolUse": [], "PostToolUse": [] });
    for (event, hook, ..) in rows() {
        hooks[event].as_array_mut().unwrap().push(json!({ "hooks": [hook] }));
    }
    json!({ "hooks": hooks })
}

/// A guard whose script is gone refuses every call: whoever looks at the list, or has the daemon looked at, is told before.
#[tokio::test]
async fn a_hook_that_cannot_work_is_told_by_list_doctor_and_check() {
    let house = House::new().settings(&settings());
    let running = house.boot().await;
    let mut client = running.client();
    let listed = client.call("hooks/list", json!({ "workspace": running.work() })).await;
    let hooks = listed["hooks"].as_array().unwrap();
    assert_eq!(hooks.len(), rows().len(), "{listed}");
    for (hook, (_, entry, why, means, warning)) in hooks.iter().zip(rows()) {
        let fault = &hook["fault"];
        assert_eq!(
            fault["reason"].as_str().is_some_and(|it| it.contains(why)),
            !why.is_empty(),
            "{entry}: {hook}"
        );
        assert_eq!(fault["failure"].as_str().unwrap_or_default(), means, "{entry}: {hook}");
        let told = hook["warning"].as_str();
        assert_eq!(told.is_some_and(|it| it.contains(warning)), !warning.is_empty(), "{entry}: {hook}");
        assert!(told.is_none_or(|it| it.contains("hooks.environment")), "{entry}: {hook}");
    }
    let checked = client.call("daemon/doctor", json!({ "workspace": running.work() })).await;
    let found = checked["checks"].as_array().unwrap().iter().find(|it| it["name"] == "hooks").unwrap();
    let message = found["message"].as_str().unwrap();
    let gone = "tools/guard.sh is not there";
    assert_eq!(found["state"], "warning", "{found}");
    for words in ["6 hooks are on", gone, "so it refuses what it guards", "`CLAUDE_PLUGIN_ROOT` has no value"]
    {
        assert!(message.contains(words), "{words}: {found}");
    }
    let params =
        json!({ "tool": "list_directory", "arguments": { "path": "." }, "workspace": running.work() });
    let checked = client.call("policy/check", params).await;
    let met = checked["hooks"].as_array().unwrap();
    assert!(
        met[1]["denyReason"].as_str().unwrap().contains("`CLAUDE_PLUGIN_ROOT` has no value"),
        "{checked}"
    );
    assert!(met[3]["warning"].as_str().unwrap().contains("`GUARD_MODE` has no value"), "{checked}");
    // Without a workspace nobody can tell.
    let listed = client.call("hooks/list", json!({})).await;
    assert!(listed["hooks"].as_array().unwrap().iter().all(|it| it["fault"].is_null()), "{listed}");
    drop(client);
    running.stop().await;
}

/// A key that a person names for their hooks goes to those that run with their rights; of the others it is told why they have none.
#[tokio::test]
async fn secret_that_a_confined_hook_does_not_get_is_told_with_what_to_do() {
    const KEY: &str = "wK3vT9mQ2xZ8rB5n";
    let mut house = House::new().file("guard.sh", "#!/bin/sh\n");
    let got = house.work().parent().unwrap().join("got");
    let writes = format!("printf %s \"$ACME_API_KEY\" > {}", got.display());
    let hooks = ["\"$CLAUDE_PROJECT_DIR\"/guard.sh", &writes];
    let hooks = hooks.map(|command| json!({ "type": "command", "command": command }));
    fs::set_permissions(house.work().join("guard.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    house.sources.environment.push(("ACME_API_KEY".into(), KEY.into()));
    let environment = [("ACME_API_KEY".to_owned(), KEY.to_owned())].into_iter();
    house.redactor = Redactor::new(RedactorParts { environment, patterns: Vec::new() });
    let house = house.settings(&json!({ "hooks": {
        "environment": ["ACME_API_KEY"], "PreToolUse": [{ "hooks": hooks }],
    } }));
    let running = house.boot().await;
    let mut client = running.client();
    trust(&mut client, running.work()).await;
    let listed = client.call("hooks/list", json!({ "workspace": running.work() })).await;
    let told: Vec<Option<&str>> =
        listed["hooks"].as_array().unwrap().iter().map(|hook| hook["warning"].as_str()).collect();
    assert!(told[0].is_some_and(|text| text.starts_with("it does not get `ACME_API_KEY`")), "{listed}");
    assert_eq!(told[1], None, "{listed}");
    let id = listed["hooks"][1]["id"].clone();
    client.call("hooks/test", json!({ "id": id, "workspace": running.work() })).await;
    assert_eq!(fs::read_to_string(got).unwrap(), KEY);
    drop(client);
    running.stop().await;
}

/// A hook that nobody has acknowledged is not run by a trial, so nothing is said of what it would answer.
#[tokio::test]
async fn a_trial_of_what_nobody_acknowledged_says_only_that() {
    let hook = json!({ "type": "command", "command": "exit 0" });
    let house = House::new().file(
        ".claude/settings.json",
        json!({ "hooks": { "PreToolUse": [{ "hooks": [hook] }] } }).to_string(),
    );
    let running = house.boot().await;
    let mut client = running.client();
    let listed = client.call("hooks/list", json!({ "workspace": running.work() })).await;
    let id = listed["hooks"][0]["id"].clone();
    let tried = client.call("hooks/test", json!({ "id": id, "workspace": running.work() })).await;
    let means = tried["summary"].as_str().unwrap();
    assert!(means.contains("`subagent trust`") && means.contains("was not run"), "{tried}");
    assert!(!means.contains("If it were asked") && !means.contains("failed"), "{tried}");
    assert!(tried["decision"].is_null() && tried["reason"].is_null(), "{tried}");
    assert_eq!(tried["outcome"], "notStarted", "{tried}");
    drop(client);
    running.stop().await;
}

/// An id may be short where it is one hook's, as a run's may.
#[tokio::test]
async fn a_hook_is_named_by_the_beginning_of_its_number() {
    let group = |command: &str| json!({ "hooks": [{ "type": "command", "command": command }] });
    let house =
        House::new().settings(&json!({ "hooks": { "PreToolUse": [group("true"), group("exit 0")] } }));
    let running = house.boot().await;
    let mut client = running.client();
    let listed = client.call("hooks/list", json!({ "workspace": running.work() })).await;
    let id = listed["hooks"][0]["id"].as_str().unwrap().to_owned();
    let short = &id.rsplit('/').next().unwrap()[..6];
    let tried = client.call("hooks/test", json!({ "id": short, "workspace": running.work() })).await;
    assert_eq!(tried["id"], id.as_str());
    let switched = client.call("hooks/setEnabled", json!({ "id": short, "enabled": false })).await;
    assert_eq!(switched["id"], id.as_str());
    let (kind, refused) =
        client.refused("hooks/test", json!({ "id": "zzzzzzzzzz", "workspace": running.work() })).await;
    assert_eq!(kind, "NOT_FOUND", "{refused}");
    assert!(refused["data"]["hint"].as_str().unwrap().contains("`subagent hooks list`"), "{refused}");
    // What two hooks begin with is neither.
    let (kind, refused) =
        client.refused("hooks/test", json!({ "id": "user/PreToolUse/", "workspace": running.work() })).await;
    assert_eq!(kind, "NOT_FOUND", "{refused}");
    drop(client);
    running.stop().await;
}

/// Guards under a name that is not `hooks` guard nothing, and nobody would notice.
#[tokio::test]
async fn hooks_under_a_misspelt_name_are_told() {
    for name in ["Hooks", "hook", "HOOKS", "hoooks"] {
        let house = House::new();
        let guard = json!({ "PreToolUse": [{ "hooks": [{ "type": "command", "command": "exit 2" }] }] });
        fs::write(&house.sources.files.user, json!({ name: guard }).to_string()).unwrap();
        let running = house.boot().await;
        let mut client = running.client();
        let listed = client.call("hooks/list", json!({ "workspace": running.work() })).await;
        let problems = listed["problems"].as_array().cloned().unwrap_or_default();
        let told = problems.iter().find(|it| it["message"].as_str().unwrap().contains(&format!("`{name}`")));
        let told = told.unwrap_or_else(|| panic!("{name}: {listed}"));
        assert_eq!(told["severity"], "warning", "{told}");
        assert!(told["fix"].as_str().unwrap().contains("`hooks`"), "{told}");
        let checked = client.call("daemon/doctor", json!({ "workspace": running.work() })).await;
        assert!(checked.to_string().contains(&format!("`{name}`")), "{checked}");
        drop(client);
        running.stop().await;
    }
}

/// A hook that is tried reads what somebody typed in its product's words as of a real call: paths whole.
#[tokio::test]
async fn a_trial_tells_a_hook_whole_paths() {
    let group = json!({ "matcher": "Write", "hooks": [{ "type": "command", "command": "true" }] });
    let named = json!({ "matcher": "Write", "hooks": [{ "type": "command", "if": "Write(sub/**)", "command": "exit 0" }] });
    let house = House::new().settings(&json!({ "hooks": { "PreToolUse": [group, named] } }));
    let running = house.boot().await;
    let mut client = running.client();
    let listed = client.call("hooks/list", json!({ "workspace": running.work() })).await;
    let whole = running.work().join("sub/x.txt");
    for typed in ["file_path", "path"] {
        for at in 0..2 {
            let params = json!({
                "id": listed["hooks"][at]["id"], "workspace": running.work(), "tool": "Write",
                "input": { typed: "sub/x.txt", "content": "y" },
            });
            let tried = client.call("hooks/test", params).await;
            let read = &tried["input"]["tool_input"];
            assert_eq!(*read, json!({ "file_path": whole, "content": "y" }), "{typed}: {tried}");
            assert_eq!(tried["wouldFire"], true, "{typed}: {tried}");
        }
    }
    drop(client);
    running.stop().await;
}
