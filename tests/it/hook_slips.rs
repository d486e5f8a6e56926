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
            json!({ "PreToolUse": [{ "matcher": "Bash|Wirte|mcp__board__x|NotebookEdit", "hooks": [guard(json!({}))] }] }),
            "`Wirte` in `matcher: Bash|Wirte|mcp__board__x|NotebookEdit` of `PreToolUse` means no tool, so the hook does not fire for \
             it (did you mean `Write`?)",
        ),
        (
            json!({ "PreToolUse": [{ "matchr": "Bash", "hooks": [guard(json!({}))] }] }),
            "`PreToolUse`: a group has no field `matchr` (did you mean `matcher`?)",
        ),
        (
            json!({ "PreToolUse": group(guard(json!({ "timout": 5 }))) }),
            "`PreToolUse`: a hook has no field `timout` (did you mean `timeout`?)",
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
    // What is right is no problem, and neither is what another product has.
    for matcher in
        ["Bash", "Edit|MultiEdit|Write|NotebookEdit", "Bash|Task", "Bash|mcp__board__cards", "^(Bash|Wirte)$"]
    {
        let hook = json!({ "type": "command", "command": "true" });
        let right = json!({ "PreToolUse": [{ "matcher": matcher, "description": "d", "hooks": [hook] }] });
        fs::write(&house.sources.files.user, json!({ "hooks": right }).to_string()).unwrap();
        let listed = client.call("hooks/list", json!({ "workspace": running.work() })).await;
        assert_eq!(told(&listed["problems"]), "", "{matcher}");
    }
    running.stop().await;
}

/// Who has not acknowledged a project's hooks yet is told what is wrong with them before: in the list, beside the question whether to
/// trust them, by `doctor`, by the check of settings in that folder, and when a run begins.
#[tokio::test]
async fn slips_in_a_projects_hooks_are_told_before_anybody_acknowledges_them() {
    let hook = json!({ "type": "command", "command": "exit 2" });
    let group = json!([{ "matcher": "Bash", "hooks": [hook] }]);
    let misplaced = [
        (
            json!({ "hook": { "PreToolUse": group } }),
            "`hook` is not read; the hooks in it do nothing (did you mean `hooks`?)",
        ),
        (
            json!({ "PreTolUse": group }),
            "there is no event `PreTolUse`; its hooks do nothing (did you mean `PreToolUse`?)",
        ),
    ];
    let slips = slips().into_iter().map(|(hooks, words)| (json!({ "hooks": hooks }), words));
    let script = Script::new((0..20).map(|_| Reply::done("x")).collect::<Vec<_>>());
    let plain =
        "---\nkind: agent\nname: plain\ndescription: Works.\ncompletion: tool\ntools: []\n---\nYou work.\n";
    let house = House::new().script(&script).agent("plain", plain).file(".claude/settings.json", "{}");
    let running = house.boot().await;
    let mut client = running.client();
    let home = Home::new();
    for (text, words) in slips.chain(misplaced) {
        fs::write(running.work().join(".claude/settings.json"), text.to_string()).unwrap();
        let workspace = json!({ "workspace": running.work() });
        let listed = client.call("hooks/list", workspace.clone()).await;
        assert!(told(&listed["problems"]).contains(words), "{words}: {listed}");
        let opened = client.call("workspace/open", workspace.clone()).await;
        assert_eq!(opened["workspace"]["trusted"], false);
        assert!(told(&opened["workspace"]["problems"]).contains(words), "{words}: {opened}");
        let looked = client.call("daemon/doctor", workspace).await;
        let checks = looked["checks"].as_array().unwrap().iter();
        let projects =
            checks.clone().filter(|it| it["name"] == "projects").map(|it| it["message"].to_string());
        assert!(projects.collect::<String>().contains(words), "{words}: {looked}");
        let mut command = home.command(built::daemon());
        command.arg("--check-config").current_dir(running.work()).stdout(std::process::Stdio::piped());
        let ended = output(command.stderr(std::process::Stdio::piped())).await;
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
        assert!(ended.stdout.contains("0 errors, "), "it holds in its own folder alone: {}", ended.stdout);
        // Where hooks are read that nobody acknowledged, a run says that alone.
        let told = warnings(&running, &mut client, "plain").await;
        assert!(
            told.contains(words) || told.contains("nobody has acknowledged their files"),
            "{words}: {told}"
        );
    }
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
    let means = tried["summary"].as_str().unwrap();
    assert!(
        means.starts_with("A run does not ask it: nobody has acknowledged its file (`subagent trust`)."),
        "{means}"
    );
    running.stop().await;
}

/// A power cut, a full disk or an editor at work takes a guard's file away, and what it guarded is refused until it is back.
#[tokio::test]
async fn a_guard_whose_settings_are_damaged_refuses_and_says_so() {
    let call = || Reply::calls(&[("list_directory", json!({ "path": "." }))]);
    let script = Script::new([call(), Reply::done("x")]);
    let reader = "---\nkind: agent\nname: reader\ndescription: Reads.\ncompletion: tool\ntools: [list_directory]\n---\nRead.\n";
    let house = House::new().script(&script).agent("reader", reader);
    let settings = house.sources.files.user.clone();
    let guard = json!({ "hooks": { "PreToolUse": [{ "matcher": "Bash", "hooks": [{ "type": "command", "command": "true" }] }] } });
    fs::write(&settings, guard.to_string()).unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    let effect = "until this file is mended, no prompt and no tool call is accepted";
    for (damage, words) in [
        ("", "is empty, and its hooks guarded something before"),
        ("\0\0\0\0", "is not JSON with comments"),
        ("{", "is not JSON with comments"),
        ("[]", "expected an object with settings, found a list"),
    ] {
        fs::write(&settings, damage).unwrap();
        let listed = client.call("hooks/list", json!({ "workspace": running.work() })).await;
        assert!(told(&listed["problems"]).contains(words), "{damage:?}: {listed}");
        let broken = |it: &Value| it["state"] == "broken" && it.to_string().contains("settings.json");
        assert!(listed["hooks"].as_array().unwrap().iter().any(broken), "{damage:?}: {listed}");
        let looked = client.call("daemon/doctor", json!({})).await;
        assert!(looked.to_string().contains(words), "{damage:?}: {looked}");
        let status = client.call("daemon/status", json!({})).await;
        assert!(status["degraded"].to_string().contains(effect), "{damage:?}: {status}");
    }
    let (run, _) = client.start(&running, "reader", json!({})).await;
    client.ended(&run).await;
    let log = running.log().await;
    let ended = log.iter().find(|it| it["runId"] == run && it["type"] == "run.completed").unwrap();
    let why = ended["data"]["error"]["message"].as_str().unwrap();
    assert!(why.starts_with(&*settings.to_string_lossy()) && why.contains(effect), "{why}");
    assert!(why.contains("expected an object with settings"), "{why}");
    // Also where no reload has told of it.
    let status = client.call("daemon/status", json!({})).await;
    assert!(status["degraded"].to_string().contains(effect), "{status}");
    let reloaded = client.call("daemon/reload", json!({})).await;
    assert_eq!(reloaded["problems"].as_array().unwrap().len(), 1, "told once: {reloaded}");
    assert!(reloaded["problems"].to_string().contains(effect), "{reloaded}");
    assert_eq!(reloaded["stoppedBy"], json!([settings]), "{reloaded}");
    fs::write(&settings, guard.to_string()).unwrap();
    // Its settings wait for a reload, and nothing else does.
    for method in ["daemon/status", "daemon/doctor"] {
        let told = client.call(method, json!({})).await.to_string();
        assert!(
            told.contains("expected an object with settings") && !told.contains(effect),
            "{method}: {told}"
        );
    }
    let (run, _) = client.start(&running, "reader", json!({})).await;
    client.ended(&run).await;
    let log = running.log().await;
    assert!(!log.iter().any(|it| it["runId"] == run && it.to_string().contains("HOOK_DENIED")), "{log:?}");
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
        assert_eq!(trust(&mut client).await["gone"], json!([]));
        fs::remove_file(running.work().join(gone)).unwrap();
        assert_eq!(open(&mut client).await["gone"], json!([gone]));
        if gone == "guard.sh" {
            // What is gone, which hook runs it and where that stands, and what to do.
            let listed = client.call("hooks/list", json!({ "workspace": running.work() })).await;
            let problem =
                listed["problems"].as_array().unwrap().iter().find(|it| it["path"].is_string()).unwrap();
            assert!(problem["path"].as_str().unwrap().ends_with(".subagentd/settings.json"), "{listed}");
            let words = told(&listed["problems"]);
            let file = running.work().join(gone).display().to_string();
            for part in [command, file.as_str(), "is gone since it was acknowledged", "put the file back"] {
                assert!(words.contains(part), "{part}: {words}");
            }
        }
        let (run, _) = client.start(&running, "reader", json!({})).await;
        client.ended(&run).await;
        assert!(running.log().await.iter().any(|it| it.to_string().contains("HOOK_DENIED")), "{gone}");
        assert_eq!(trust(&mut client).await["gone"], json!([]), "{gone}");
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
        let told = |it: &Value| {
            let is_passed_over = it["skipped"].as_str().is_some_and(|why| why.contains("`subagent trust`"));
            let end = if is_passed_over { " passed over" } else { "" };
            format!("{} {}{end}", it["event"], it["runs"])
        };
        hooks.iter().map(told).collect::<Vec<_>>()
    };
    let touch = met("run_shell_command", json!({ "command": "touch x" })).await;
    // Of a project's nobody has acknowledged is said that it is passed over.
    let passed_over = "\"PreToolUse\" \"five\" passed over";
    assert_eq!(touch, ["\"PreToolUse\" \"one\"", passed_over, "\"PermissionRequest\" \"three\""]);
    let write = met("write_file", json!({ "path": "x", "content": "y" })).await;
    assert_eq!(write, [passed_over, "\"PermissionRequest\" \"three\"", "\"PostToolUse\" \"four\""]);
    assert_eq!(met("list_directory", json!({ "path": "." })).await, [passed_over]);
    running.stop().await;
}

/// Whoever asks what would happen to a call is told what comes of a guard that cannot be asked, and so it comes.
#[tokio::test]
async fn a_checked_call_says_what_comes_of_a_guard_that_cannot_be_asked() {
    let group = |command: &str, more: &Value| {
        let mut hook = json!({ "type": "command", "command": command });
        hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!([{ "hooks": [hook] }])
    };
    let (usual, goes_on) = (json!({}), json!({ "onFailure": "continue" }));
    let agent = "---\nkind: agent\nname: works\ndescription: Works.\ncompletion: tool\ntools: [list_directory, write_file]\n---\nWork.\n";
    for (event, command, more, field, words) in [
        ("PreToolUse", "HOME/gone.sh", &usual, "denyReason", "gone.sh is not there"),
        ("PreToolUse", "HOME/plain.sh", &usual, "denyReason", "plain.sh may not be executed (`chmod +x "),
        ("PreToolUse", "HOME/gone.sh", &goes_on, "skipped", "gone.sh is not there"),
        ("PreToolUse", "nosuchprogram", &usual, "denyReason", "there is no program `nosuchprogram`"),
        ("PreToolUse", "sh HOME/plain.sh", &usual, "runs", "plain.sh"),
        ("PermissionRequest", "HOME/gone.sh", &usual, "askReason", "gone.sh is not there"),
        ("PostToolUse", "HOME/gone.sh", &usual, "skipped", "gone.sh is not there"),
        ("PostToolUseFailure", "HOME/gone.sh", &usual, "skipped", "gone.sh is not there"),
    ] {
        let script =
            Script::new([Reply::calls(&[("list_directory", json!({ "path": "." }))]), Reply::done("x")]);
        let house = House::new().script(&script).agent("works", agent);
        let command = command.replace("HOME", house.dir.path().to_str().unwrap());
        fs::write(house.dir.path().join("plain.sh"), "exit 0\n").unwrap();
        let house = house.settings(&json!({ "hooks": { event: group(&command, more) } }));
        let running = house.boot().await;
        let mut client = running.client();
        let (tool, arguments) = match event {
            "PermissionRequest" => ("write_file", json!({ "path": "x", "content": "y" })),
            _ => ("list_directory", json!({ "path": "." })),
        };
        let params =
            json!({ "tool": tool, "arguments": arguments, "agent": "works", "workspace": running.work() });
        let checked = client.call("policy/check", params).await;
        let met = checked["hooks"].as_array().into_iter().flatten().find(|it| it["event"] == event);
        let met = met.unwrap_or_else(|| panic!("{event} {command}: {checked}"));
        assert!(met[field].as_str().is_some_and(|why| why.contains(words)), "{event} {command}: {met}");
        // What is said first is what will come of the call.
        let decision = match (event, field) {
            ("PreToolUse", "denyReason") => "deny",
            ("PermissionRequest", _) => "ask",
            _ => "allow",
        };
        assert_eq!(checked["decision"], decision, "{event} {command}: {checked}");
        let is_of_hook = checked["rule"].as_str().unwrap().starts_with("hook:");
        assert_eq!(is_of_hook, decision == "deny", "{event} {command}: {checked}");
        if event == "PreToolUse" {
            let (run, _) = client.start(&running, "works", json!({})).await;
            client.ended(&run).await;
            let is_denied = running.log().await.iter().any(|it| it.to_string().contains("HOOK_DENIED"));
            assert_eq!(is_denied, field == "denyReason", "{event} {command}");
            assert_eq!(met.get("denyReason").is_some(), field == "denyReason", "{event} {command}: {met}");
        }
        running.stop().await;
    }
}
