//! Whoever writes a hook that means nothing believes that it guards. Does everything say so that people look at: the check of
//! settings, `doctor`, a reload, an agent's check, the list of hooks, and a run that begins?

use std::fs;

use serde_json::{Value, json};

use crate::{
    built,
    process::{Home, output},
    support::{Client, House, Reply, Running, Script},
};

/// The agent whose guard is called `event`, for calls that `matcher` means.
fn guarded(event: &str, matcher: &str) -> String {
    format!(
        "---\nkind: agent\nname: guarded\ndescription: Works.\ncompletion: tool\ntools: [run_shell_command]\nhooks:\n  \
         {event}:\n    - matcher: {matcher}\n      hooks:\n        - {{type: command, command: 'exit 2'}}\n---\nYou work.\n"
    )
}

/// Groups with one guard each, and what is to be told of it; every one of them never fires, or fails always.
fn slips() -> Vec<(Value, &'static str)> {
    let guard = |more: Value| {
        let mut hook = json!({ "type": "command", "command": "true" });
        hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        hook
    };
    let group = |hook: Value| json!([{ "matcher": "Bash", "hooks": [hook] }]);
    vec![
        (json!({ "PreToolUse": group(json!({ "command": "true" })) }), "a hook has no `type`"),
        (
            json!({ "PreToolUse": [{ "matcher": "Bsh", "hooks": [guard(json!({}))] }] }),
            "`matcher: Bsh` of `PreToolUse` means no tool, so the hook never fires (did you mean `Bash`?)",
        ),
        (
            json!({ "PreTolUse": group(guard(json!({}))) }),
            "there is no event `PreTolUse`; its hooks do nothing (did you mean `PreToolUse`?)",
        ),
        (
            json!({ "preToolUse": group(guard(json!({}))) }),
            "there is no event `preToolUse`; its hooks do nothing (did you mean `PreToolUse`?)",
        ),
        (
            json!({ "PreToolUse": group(guard(json!({ "if": "Bsh(touch *)" }))) }),
            "`if: Bsh(touch *)` of `PreToolUse` means no tool, so the hook never fires (did you mean `Bash`?)",
        ),
        (
            json!({ "PreToolUse": [{ "matcher": "Bash", "if": "Bash(touch *)", "hooks": [guard(json!({}))] }] }),
            "`PreToolUse`: `if` of a group has no effect (write it in the hook itself, beside its `type`)",
        ),
    ]
}

/// Texts of problems, as people read them.
fn told(problems: &Value) -> String {
    let of = |it: &Value| {
        let fix = it["fix"].as_str().map(|fix| format!(" ({fix})")).unwrap_or_default();
        format!("{}{fix}\n", it["message"].as_str().unwrap())
    };
    problems.as_array().into_iter().flatten().map(of).collect()
}

#[tokio::test]
async fn what_is_wrong_with_a_hook_is_told_by_doctor_reload_and_list() {
    let house = House::new();
    let running = house.boot().await;
    let mut client = running.client();
    for (hooks, words) in slips() {
        fs::write(&house.sources.files.user, json!({ "hooks": hooks }).to_string()).unwrap();
        let listed = client.call("hooks/list", json!({ "workspace": running.work() })).await;
        assert!(told(&listed["problems"]).contains(words), "{words}: {listed}");
        let reloaded = client.call("daemon/reload", json!({})).await;
        assert!(told(&reloaded["problems"]).contains(words), "{words}: {reloaded}");
        let looked = client.call("daemon/doctor", json!({})).await;
        let checks = looked["checks"].as_array().unwrap().iter();
        let settings = checks.filter(|it| it["name"] == "settings").map(|it| it["message"].to_string());
        assert!(settings.collect::<String>().contains(words), "{words}: {looked}");
    }
    // What is right is no problem.
    let right =
        json!({ "PreToolUse": [{ "matcher": "Bash", "hooks": [{ "type": "command", "command": "true" }] }] });
    fs::write(&house.sources.files.user, json!({ "hooks": right }).to_string()).unwrap();
    let listed = client.call("hooks/list", json!({ "workspace": running.work() })).await;
    assert_eq!(told(&listed["problems"]), "");
    running.stop().await;
}

#[tokio::test]
async fn the_check_of_settings_tells_slips_of_hooks() {
    let home = Home::new();
    for (hooks, words) in slips() {
        let text = json!({ "hooks": hooks }).to_string();
        fs::write(home.path("config/subagentd/settings.json"), text).unwrap();
        let mut command = home.command(built::daemon());
        command.arg("--check-config").stdout(std::process::Stdio::piped());
        let ended = output(command.stderr(std::process::Stdio::piped())).await;
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
        assert!(!ended.stdout.contains("0 errors, 0 warnings"), "{}", ended.stdout);
    }
}

/// The warnings of a first run of this agent.
async fn warnings(running: &Running, client: &mut Client, agent: &str) -> String {
    let (run, _) = client.start(running, agent, json!({})).await;
    client.ended(&run).await;
    let log = running.log().await;
    let warned = log.iter().filter(|it| it["type"] == "warning" && it["runId"] == run);
    warned.map(|it| format!("{}\n", it["data"]["message"].as_str().unwrap())).collect()
}

#[tokio::test]
async fn an_agents_guard_that_means_nothing_fails_its_check_and_is_told_when_it_begins() {
    for (event, matcher, words) in [
        ("PreToolUs", "Bash", "there is no event `PreToolUs`; its hooks do nothing"),
        ("PreToolUse", "Bsh", "`matcher: Bsh` of `PreToolUse` means no tool, so the hook never fires"),
    ] {
        let script = Script::new([Reply::done("x")]);
        let text = guarded(event, matcher);
        let house = House::new().script(&script).agent("guarded", &text);
        let running = house.boot().await;
        let mut client = running.client();
        for params in [json!({ "name": "guarded" }), json!({ "text": text })] {
            let checked = client.call("agents/validate", params).await;
            assert_eq!(checked["valid"], false, "{checked}");
            assert!(checked.to_string().contains(words), "{checked}");
        }
        let got = client.call("agents/get", json!({ "name": "guarded" })).await;
        assert!(told(&got["problems"]).contains(words), "{got}");
        let looked = client.call("daemon/doctor", json!({})).await;
        assert!(looked.to_string().contains(words), "{looked}");
        let told = warnings(&running, &mut client, "guarded").await;
        assert!(told.contains(words), "{told}");
        running.stop().await;
    }
    // One that means something passes.
    let house = House::new().agent("guarded", &guarded("PreToolUse", "Bash"));
    let running = house.boot().await;
    let checked = running.client().call("agents/validate", json!({ "name": "guarded" })).await;
    assert!(
        !checked.to_string().contains("never fires") && !checked.to_string().contains("no event"),
        "{checked}"
    );
    running.stop().await;
}

/// Also a guard of the user's settings, and those of a workspace that nobody has acknowledged.
#[tokio::test]
async fn a_run_says_which_guards_are_not_asked() {
    let hook = json!({ "hooks": [{ "type": "command", "command": "exit 2" }] });
    let script = Script::new([Reply::done("x")]);
    let plain =
        "---\nkind: agent\nname: plain\ndescription: Works.\ncompletion: tool\ntools: []\n---\nYou work.\n";
    let house = House::new()
        .script(&script)
        .agent("plain", plain)
        .file(".claude/settings.json", json!({ "hooks": { "PreToolUse": [hook] } }).to_string());
    fs::write(&house.sources.files.user, json!({ "hooks": { "PreTolUse": [hook] } }).to_string()).unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    let told = warnings(&running, &mut client, "plain").await;
    assert!(told.contains("there is no event `PreTolUse`"), "{told}");
    assert!(
        told.contains("nobody has acknowledged their files as they are now (`subagent trust`): ")
            && told.contains(".claude/settings.json"),
        "{told}"
    );
    let listed = client.call("hooks/list", json!({ "workspace": running.work() })).await;
    let untrusted = listed["hooks"].as_array().unwrap().iter().find(|it| it["state"] == "untrusted").unwrap();
    assert!(untrusted["reason"].as_str().unwrap().contains("`subagent trust`"), "{listed}");
    // By hand it blocks; the first that is said is that no run asks it.
    let params = json!({ "id": untrusted["id"], "workspace": running.work() });
    let tried = client.call("hooks/test", params).await;
    let means = tried["means"].as_str().unwrap();
    assert!(
        means.starts_with("A run does not ask it: nobody has acknowledged its file (`subagent trust`)."),
        "{means}"
    );
    running.stop().await;
}

/// A file that was acknowledged and is gone is told, asked about, and forgotten.
#[tokio::test]
async fn what_vanished_after_it_was_acknowledged_is_told_and_can_be_left_behind() {
    let hook = |command: &str| json!({ "hooks": { "PreToolUse": [{ "hooks": [{ "type": "command", "command": command }] }] } });
    for (gone, command) in
        [(".subagentd/settings.json", "true"), ("guard.sh", "sh \"$CLAUDE_PROJECT_DIR\"/guard.sh")]
    {
        let call = || Reply::calls(&[("list_directory", json!({ "path": "." }))]);
        let script = Script::new([call(), Reply::done("x"), call(), Reply::done("x")]);
        let reader = "---\nkind: agent\nname: reader\ndescription: Reads.\ncompletion: tool\ntools: [list_directory]\n---\nRead.\n";
        let house = House::new()
            .script(&script)
            .agent("reader", reader)
            .file("guard.sh", "exit 0\n")
            .file(".subagentd/settings.json", hook(command).to_string());
        let running = house.boot().await;
        let mut client = running.client();
        let open = async |client: &mut Client| {
            client.call("workspace/open", json!({ "workspace": running.work() })).await["workspace"].clone()
        };
        let trust = async |client: &mut Client| {
            let files = open(client).await["files"].clone();
            let files = files.as_array().cloned().unwrap_or_default();
            let files: Vec<Value> =
                files.iter().map(|it| json!({ "path": it["path"], "digest": it["digest"] })).collect();
            let params = json!({ "workspace": running.work(), "trusted": true, "files": files });
            client.call("workspace/trust", params).await["workspace"].clone()
        };
        assert_eq!(trust(&mut client).await["gone"], Value::Null);
        fs::remove_file(running.work().join(gone)).unwrap();
        assert_eq!(open(&mut client).await["gone"], json!([gone]));
        let (run, _) = client.start(&running, "reader", json!({})).await;
        client.ended(&run).await;
        assert!(running.log().await.iter().any(|it| it.to_string().contains("HOOK_DENIED")), "{gone}");
        assert_eq!(trust(&mut client).await["gone"], Value::Null, "{gone}");
        if gone == ".subagentd/settings.json" {
            let (run, _) = client.start(&running, "reader", json!({})).await;
            client.ended(&run).await;
            let log = running.log().await;
            let is_denied = |it: &&Value| it["runId"] == run && it.to_string().contains("HOOK_DENIED");
            assert_eq!(log.iter().find(is_denied), None);
        }
        running.stop().await;
    }
}

/// Files go back to what they were, and stop naming scripts. Whoever looks again gets on.
#[tokio::test]
async fn what_was_changed_back_or_names_less_is_asked_about_and_then_counts() {
    let hook = |command: &str| json!({ "hooks": { "PreToolUse": [{ "hooks": [{ "type": "command", "command": command }] }] } });
    let (first, second, script) =
        (hook("true"), hook("true || true"), hook("sh \"$CLAUDE_PROJECT_DIR\"/guard.sh"));
    for (case, states) in [
        ("back", vec![&first, &second, &first]),
        ("less", vec![&script, &first]),
        ("less, and back", vec![&first, &script, &first]),
    ] {
        let calls = states
            .iter()
            .flat_map(|_| [Reply::calls(&[("list_directory", json!({ "path": "." }))]), Reply::done("x")]);
        let script = Script::new(calls.collect::<Vec<_>>());
        let reader = "---\nkind: agent\nname: reader\ndescription: Reads.\ncompletion: tool\ntools: [list_directory]\n---\nRead.\n";
        let house = House::new().script(&script).agent("reader", reader).file("guard.sh", "exit 0\n");
        let running = house.file(".subagentd/settings.json", "{}").boot().await;
        let mut client = running.client();
        for (at, state) in states.iter().enumerate() {
            fs::write(running.work().join(".subagentd/settings.json"), state.to_string()).unwrap();
            let params = json!({ "workspace": running.work() });
            let opened = client.call("workspace/open", params).await["workspace"]["files"].clone();
            let files = opened.as_array().unwrap();
            assert!(
                files.iter().any(|it| it["acknowledged"] == false),
                "{case} {at}: nobody is asked: {opened}"
            );
            let files: Vec<Value> =
                files.iter().map(|it| json!({ "path": it["path"], "digest": it["digest"] })).collect();
            let params = json!({ "workspace": running.work(), "trusted": true, "files": files });
            client.call("workspace/trust", params).await;
            let (run, _) = client.start(&running, "reader", json!({})).await;
            client.ended(&run).await;
            let log = running.log().await;
            let is_denied = |it: &&Value| it["runId"] == run && it.to_string().contains("HOOK_DENIED");
            assert_eq!(log.iter().find(is_denied), None, "{case} {at}");
        }
        running.stop().await;
    }
}

/// One question says which hooks a call meets.
#[tokio::test]
async fn a_checked_call_says_which_hooks_it_meets() {
    let hook = |command: &str, rule: &str| json!({ "type": "command", "command": command, "if": rule });
    let house = House::new().settings(&json!({ "hooks": {
        "PreToolUse": [{ "matcher": "Bash", "hooks": [hook("one", "Bash(touch *)"), hook("two", "Bash(git *)")] }],
        "PermissionRequest": [{ "hooks": [{ "type": "command", "command": "three" }] }],
        "PostToolUse": [{ "matcher": "Write", "hooks": [{ "type": "command", "command": "four" }] }],
    } }));
    let house = house.file(
        ".claude/settings.json",
        json!({ "hooks": { "PreToolUse": [{ "hooks": [{ "type": "command", "command": "five" }] }] } })
            .to_string(),
    );
    let running = house.boot().await;
    let mut client = running.client();
    let mut met = async |tool: &str, arguments: Value| {
        let params = json!({ "tool": tool, "arguments": arguments, "workspace": running.work() });
        let checked = client.call("policy/check", params).await;
        let hooks = checked["hooks"].as_array().cloned().unwrap_or_default();
        hooks.iter().map(|it| format!("{} {}", it["event"], it["runs"])).collect::<Vec<_>>()
    };
    let touch = met("run_shell_command", json!({ "command": "touch x" })).await;
    assert_eq!(touch, ["\"PreToolUse\" \"one\"", "\"PermissionRequest\" \"three\""]);
    let write = met("write_file", json!({ "path": "x", "content": "y" })).await;
    assert_eq!(write, ["\"PermissionRequest\" \"three\"", "\"PostToolUse\" \"four\""]);
    assert!(met("list_directory", json!({ "path": "." })).await.is_empty());
    running.stop().await;
}
