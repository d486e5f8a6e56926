//! What may hooks do before a call runs?

use std::os::unix::fs::PermissionsExt as _;

use super::*;

/// A call that a hook denies ends `HOOK_DENIED`, and its model reads why.
#[tokio::test]
async fn guard_denies_with_its_reason() {
    check(
        json!({ "PreToolUse": [["write_file", "echo 'not on Fridays' >&2; exit 2"]] }),
        vec![write("b.txt", "x"), read("a.txt"), Reply::done("ok")],
        expect![[r#"
            PreToolUse deny answered: not on Fridays
              write_file error: HOOK_DENIED: the hook user/PreToolUse refused the call: not on Fridays
              read_file success: the first line
              complete_task success: accepted
            GOAL ok
            heard: the first line
        "#]],
    )
    .await;
    check(
        json!({ "PreToolUse": [pre("deny", &json!({ "permissionDecisionReason": "no", "additionalContext": "ask ada" }))] }),
        vec![write("b.txt", "x"), Reply::done("ok")],
        expect![[r#"
            PreToolUse deny answered: no
              write_file error: HOOK_DENIED: the hook user/PreToolUse refused the call: no | The hook user/PreToolUse adds:
            ask ada
              complete_task success: accepted
            GOAL ok
            heard: HOOK_DENIED: the hook user/PreToolUse refused the call: no | The hook user/PreToolUse adds:
            ask ada
        "#]],
    )
    .await;
}

/// Whatever keeps a guard from answering, nothing runs.
#[tokio::test]
async fn guard_that_fails_blocks() {
    let failures = [
        "exit 1",
        "kill -9 $$",
        "exec /nowhere/at/all",
        "printf '{\"hookSpecificOutput\": 7'; exit 3",
        "exit 127",
    ];
    for command in failures {
        let (house, script, running) =
            play(json!({ "PreToolUse": [command] }), vec![write("b.txt", "x"), Reply::done("ok")]).await;
        assert!(!house.work().join("b.txt").exists(), "`{command}` let the call run");
        assert!(heard(&script).contains("HOOK_DENIED"), "`{command}`: {}", heard(&script));
        running.stop().await;
    }
}

/// `allow` is no objection: what the policy asks or denies, it still asks or denies.
#[tokio::test]
async fn hook_loosens_nothing() {
    let script = Script::new(vec![write("b.txt", "x"), Reply::done("ok")]);
    let allow = json!({ "PreToolUse": [pre("allow", &json!({}))] });
    let house = house(&script, &allow)
        .rules("edits", "[[rule]]\ntool = \"write_file\"\ndecision = \"deny\"\nmessage = \"never\"\n");
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({})).await;
    client.ended(&run).await;
    assert!(heard(&script).contains("POLICY_DENIED"), "{}", heard(&script));
    assert!(!house.work().join("b.txt").exists());
    running.stop().await;
}

/// A hook has a person asked where the rules would let the call run; only the person's word lets it run.
#[tokio::test]
async fn hook_has_a_person_asked() {
    let ask = json!({ "PreToolUse": [["write_file", pre("ask", &json!({ "permissionDecisionReason": "a look, please" }))]] });
    for (outcome, is_written) in [("allowOnce", true), ("deny", false)] {
        let script = Script::new(vec![write("b.txt", "x"), Reply::done("ok")]);
        let house = house(&script, &ask);
        let running = house.boot().await;
        let mut client = running.client();
        let (run, _) = client.start(&running, "worker", json!({})).await;
        let asked = client
            .until("confirmation/list", json!({ "runId": run }), |it| it["confirmations"][0].is_object())
            .await["confirmations"][0]
            .clone();
        assert!(!house.work().join("b.txt").exists());
        let outcomes: Vec<&str> =
            asked["options"].as_array().unwrap().iter().map(|it| it["outcome"].as_str().unwrap()).collect();
        // Nothing that would outlive the call: the hook asks the next time, too.
        assert_eq!(outcomes, ["allowOnce", "modify", "deny", "cancelRun"]);
        assert!(asked["rule"].as_str().unwrap().starts_with("hook:user/PreToolUse/"), "{asked}");
        let answer = json!({
            "confirmationId": asked["confirmationId"], "digest": asked["digest"], "outcome": outcome,
        });
        client.call("confirmation/respond", answer).await;
        client.ended(&run).await;
        assert_eq!(house.work().join("b.txt").exists(), is_written, "{outcome}");
        running.stop().await;
    }
}

/// What a hook makes of a call is what runs, what the policy judges, and what the log says.
#[tokio::test]
async fn hook_changes_the_call() {
    let changed = json!({ "updatedInput": { "path": "c.txt", "content": "changed" } });
    let (house, _, running) = play(
        json!({ "PreToolUse": [["write_file", pre("allow", &changed)]] }),
        vec![write("b.txt", "x"), Reply::done("ok")],
    )
    .await;
    assert!(!house.work().join("b.txt").exists());
    assert_eq!(fs::read_to_string(house.work().join("c.txt")).unwrap(), "changed");
    let log = running.log().await;
    let scheduled = log.iter().find(|it| it["data"]["to"] == "scheduled").unwrap();
    assert_eq!(scheduled["data"]["arguments"]["path"], "c.txt");
    running.stop().await;
}

/// Changed into what does not fit its tool, or into what rules forbid, a call does not run.
#[tokio::test]
async fn changed_call_is_checked_like_any() {
    let rules = "[[rule]]\ntool = \"write_file\"\nargsPattern = 'secret'\ndecision = \"deny\"\n";
    let cases = [
        (json!({ "path": 7 }), "HOOK_DENIED"),
        (json!({ "path": "../outside.txt", "content": "x" }), "HOOK_DENIED"),
        (json!({ "path": "secret.txt", "content": "x" }), "POLICY_DENIED"),
    ];
    for (arguments, error) in cases {
        let script = Script::new(vec![write("b.txt", "x"), Reply::done("ok")]);
        let hooks =
            json!({ "PreToolUse": [["write_file", pre("allow", &json!({ "updatedInput": arguments }))]] });
        let house = house(&script, &hooks).rules("secret", rules);
        let running = house.boot().await;
        let mut client = running.client();
        let (run, _) = client.start(&running, "worker", json!({})).await;
        client.ended(&run).await;
        assert!(heard(&script).contains(error), "{arguments}: {}", heard(&script));
        let files: Vec<_> = fs::read_dir(house.work()).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(files, ["a.txt"], "{arguments}");
        running.stop().await;
    }
}

/// A change that comes to nothing is none, and its record says what was wanted and what became of it: another guard denies the call, another
/// hook's change counts, it does not fit, or the rules refuse it.
#[tokio::test]
async fn change_that_does_not_count_is_none() {
    let wants =
        |arguments: Value| ["write_file".to_owned(), pre("allow", &json!({ "updatedInput": arguments }))];
    let to = |path: &str| json!({ "path": path, "content": "other" });
    // Asked again about what the other made of it, it has nothing to say.
    let once = format!("if grep -q b.txt; then {}; fi", wants(to("c.txt"))[1]);
    let denies = json!(["write_file", "echo no >&2; exit 2"]);
    let rules = "[[rule]]\ntool = \"write_file\"\nargsPattern = 'secret'\ndecision = \"deny\"\n";
    let cases = [
        (json!([wants(to("c.txt")), denies]), vec![Some(("c.txt", "the call was denied")), None]),
        (
            json!([["write_file", once], wants(to("d.txt"))]),
            vec![Some(("c.txt", "that of the hook user/PreToolUse")), None, None],
        ),
        (json!([wants(json!({ "path": 7 }))]), vec![Some(("7", "it is not valid: "))]),
        (json!([wants(to("secret.txt"))]), vec![Some(("secret.txt", "the call so changed was refused: "))]),
    ];
    for (hooks, expected) in cases {
        let script = Script::new(vec![write("b.txt", "x"), Reply::done("ok")]);
        let running = house(&script, &json!({ "PreToolUse": hooks })).rules("secret", rules).boot().await;
        let mut client = running.client();
        let (run, _) = client.start(&running, "worker", json!({})).await;
        client.ended(&run).await;
        let log = running.log().await;
        let fired: Vec<&Value> =
            log.iter().filter(|event| event["type"] == "hook.fired").map(|event| &event["data"]).collect();
        for (fired, expected) in fired.iter().zip(expected) {
            let dropped = &fired["droppedChange"];
            let Some((input, why)) = expected else {
                assert!(dropped.is_null(), "{fired}");
                continue;
            };
            assert!(fired["changed"].is_null(), "{fired}");
            assert!(dropped["input"].as_str().unwrap().contains(input), "{fired}");
            assert!(dropped["reason"].as_str().unwrap().starts_with(why), "{fired}");
        }
        drop(client);
        running.stop().await;
    }
}

/// Hooks that change a call to and fro refuse nothing: who undoes whose change is said, to the model too.
#[tokio::test]
async fn to_and_fro_names_the_hooks_and_the_argument() {
    let wants = |path: &str| {
        let input = json!({ "updatedInput": { "path": path, "content": "x" } });
        ["write_file".to_owned(), pre("allow", &input)]
    };
    let hooks = json!({ "PreToolUse": [wants("c.txt"), wants("d.txt")] });
    let (house, script, running) = play(hooks, vec![write("b.txt", "x"), Reply::done("ok")]).await;
    let log = running.log().await;
    let fired = log.iter().filter(|event| event["type"] == "hook.fired").map(|event| &event["data"]);
    let ids: Vec<&str> = fired.take(2).map(|fired| fired["hookId"].as_str().unwrap()).collect();
    let why = format!(
        "the hooks {} and {} undo each other's change of `path`; neither counts: the call is denied",
        ids[1], ids[0]
    );
    let end = log.iter().find(|it| it["data"]["to"] == "error").unwrap();
    assert_eq!(end["data"]["error"], json!({ "type": "HOOK_DENIED", "message": why }));
    assert!(heard(&script).contains(&why), "{}", heard(&script));
    let files: Vec<_> = fs::read_dir(house.work()).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(files, ["a.txt"]);
    running.stop().await;
}

/// A hook ends the run.
#[tokio::test]
async fn hook_stops_the_run() {
    check(
        json!({ "PreToolUse": [says(&json!({ "continue": false, "stopReason": "enough for today" }))] }),
        vec![read("a.txt"), Reply::done("ok")],
        expect![[r#"
            PreToolUse  answered: enough for today
              read_file error: HOOK_DENIED: the hook user/PreToolUse stopped the run: enough for today
            ERROR HOOK_STOPPED  the hook user/PreToolUse stopped the run: enough for today
            heard: do it
        "#]],
    )
    .await;
}

/// Without a matching hook nothing is told and nothing is committed beside what is.
#[tokio::test]
async fn run_without_a_matching_hook_pays_nothing() {
    let script = Script::new(vec![read("a.txt"), Reply::done("ok")]);
    let mut counts = Vec::new();
    for hooks in [
        json!({}),
        json!({ "PreToolUse": [["write_file", "exit 2"]], "PostToolUse": [["write_file", "exit 2"]] }),
    ] {
        script.replace(vec![read("a.txt"), Reply::done("ok")]);
        let house = house(&script, &hooks);
        let running = house.boot().await;
        let mut client = running.client();
        let (run, _) = client.start(&running, "worker", json!({})).await;
        client.ended(&run).await;
        let log = running.log().await;
        assert!(log.iter().all(|it| it["type"] != "hook.fired"));
        let moments: std::collections::BTreeSet<&str> =
            log.iter().map(|it| it["at"].as_str().unwrap()).collect();
        counts.push((log.len(), moments.len().min(4)));
        running.stop().await;
    }
    assert_eq!(counts[0].0, counts[1].0);
}

/// Calls of agents that an agent calls meet the same hooks.
#[tokio::test]
async fn children_meet_the_same_hooks() {
    let cast = crate::support::Cast::new([
        ("lead", vec![Reply::calls(&[("worker", json!({ "prompt": "write" }))]), Reply::done("ok")]),
        ("lead/worker", vec![write("b.txt", "x"), Reply::done("done")]),
    ]);
    let script = Script::new(vec![Reply::done("unused")]);
    let hooks = json!({ "PreToolUse": [["write_file", "echo 'not here' >&2; exit 2"]] });
    let house = house(&script, &hooks).model("cast", &cast).agent(
        "lead",
        "---\nkind: agent\nname: lead\ndescription: Leads.\ncompletion: tool\ntools: [worker]\n---\nYou lead.\n",
    );
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "lead", json!({ "model": "cast" })).await;
    client.ended(&run).await;
    assert!(!house.work().join("b.txt").exists());
    let log = running.log().await;
    let fired: Vec<&Value> = log.iter().filter(|it| it["type"] == "hook.fired").collect();
    assert_eq!(fired.len(), 1, "{fired:?}");
    assert_ne!(fired[0]["runId"], run.as_str());
    running.stop().await;
}

/// Outside of the sandbox nothing is loaded, and no program is found, that lies in the workspace.
#[tokio::test]
async fn hook_of_the_settings_finds_nothing_of_the_workspace() {
    let out = tempfile::tempdir().unwrap();
    let told = out.path().join("told");
    let command = format!(
        "cat > /dev/null; printf '%s|%s|%s|%s' \"$PYTHONSAFEPATH\" \"$PYTHONNOUSERSITE\" \"$BASH\" \"$PATH\" > {}",
        told.display()
    );
    let (_house, _script, running) =
        play(json!({ "PreToolUse": [command] }), vec![read("a.txt"), Reply::done("ok")]).await;
    running.stop().await;
    let told = fs::read_to_string(told).unwrap();
    let parts: Vec<&str> = told.split('|').collect();
    assert_eq!(parts[..2], ["1", "1"], "{told}");
    assert!(parts[2].starts_with('/') && parts[2].ends_with("/bash"), "{told}");
    let folders: Vec<_> = std::env::split_paths(parts[3]).collect();
    assert!(!folders.is_empty() && folders.iter().all(|folder| folder.is_absolute()), "{told}");
}

/// What a person keeps beside their own script is theirs.
#[tokio::test]
async fn script_of_the_settings_finds_the_modules_beside_it() {
    let out = tempfile::tempdir().unwrap();
    let (script, told) = (out.path().join("guard.py"), out.path().join("told"));
    fs::write(out.path().join("helper.py"), "WORD = 'found'\n").unwrap();
    let text = "import helper, sys\nsys.stdin.read()\nopen(sys.argv[1], 'w').write(helper.WORD)\n";
    fs::write(&script, text).unwrap();
    // A folder into which everybody may write is none that modules are taken from.
    let open = tempfile::tempdir().unwrap();
    fs::set_permissions(open.path(), fs::Permissions::from_mode(0o777)).unwrap();
    fs::write(open.path().join("helper.py"), "WORD = 'another'\n").unwrap();
    let seen = open.path().join("helper.py");
    let command = format!("python3 \"{}\" {} {}", script.display(), told.display(), seen.display());
    let (_house, _script, running) =
        play(json!({ "PreToolUse": [command] }), vec![read("a.txt"), Reply::done("ok")]).await;
    running.stop().await;
    assert_eq!(fs::read_to_string(told).unwrap(), "found");
}

/// A guard that a project brings along loads nothing that an agent puts beside it, and keeps what is temporary where commands do not
/// write.
#[tokio::test]
async fn a_confined_guard_is_not_silenced_by_what_lies_beside_it() {
    let out = "print(json.dumps({'decision': 'block', 'reason': 'guarded'}) if 'b.txt' in sys.stdin.read() else '')";
    let loads = format!("python3 -c \"import json, sys; {out}\"");
    // It says where it may write for a while, to a file of the workspace.
    let tells = "cat > /dev/null; printf %s \"$TMPDIR\" > told; df -P \"$TMPDIR\" > /dev/null; echo x > \"$TMPDIR/kept\"";
    let group =
        |command: &str| json!({ "matcher": "Write", "hooks": [{ "type": "command", "command": command }] });
    let hooks = json!({ "hooks": { "PreToolUse": [group(&loads)], "PostToolUse": [group(tells)] } });
    let looks = Reply::calls(&[("run_shell_command", json!({ "command": "ls \"$TMPDIR\"" }))]);
    let script = Script::new([
        write("json.py", "dumps = lambda x: ''\n"),
        write("b.txt", "x"),
        looks,
        Reply::done("ok"),
    ]);
    let house = house(&script, &json!({}))
        .agent("worker", &WORKER.replace("ask_user]", "ask_user, run_shell_command]"))
        .rules("commands", "[[rule]]\ntool = \"run_shell_command\"\ndecision = \"allow\"\n")
        .file(".claude/settings.json", hooks.to_string());
    let running = house.boot().await;
    let mut client = running.client();
    super::answering::trust_all(&mut client, &running).await;
    let (run, _) = client.start(&running, "worker", json!({})).await;
    client.ended(&run).await;
    assert!(house.work().join("json.py").exists() && house.work().join("told").exists());
    assert!(!house.work().join("b.txt").exists(), "the guard was silenced");
    let listed = heard(&script);
    assert!(!listed.contains("kept"), "a command sees what a hook keeps: {listed}");
    running.stop().await;
}

/// A guard that is asked again, about arguments that another hook changed, says so; each answer says when it was asked for.
#[tokio::test]
async fn answers_about_changed_arguments_are_told_apart() {
    let changed = json!({ "updatedInput": { "file_path": "c.txt", "content": "other" } });
    let hooks = json!({ "PreToolUse": [["Write", "cat > /dev/null"], ["Write", pre("allow", &changed)]] });
    let (_house, _script, running) = play(hooks, vec![write("b.txt", "x"), Reply::done("ok")]).await;
    let log = running.log().await;
    let fired = log.iter().filter(|event| event["type"] == "hook.fired").map(|event| &event["data"]);
    let told: Vec<(bool, &Value)> = fired.clone().map(|it| (it["changed"] == true, &it["round"])).collect();
    assert_eq!(told, [(false, &Value::Null), (true, &Value::Null), (false, &json!(2))]);
    assert!(fired.clone().all(|it| it["startedAt"].is_string()), "{:?}", fired.collect::<Vec<_>>());
    running.stop().await;
}
