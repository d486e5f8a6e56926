//! What the settings name: programs that no agent rewrites and that run only as they were noted, and keys that no agent reads
//! (spec 11, "What runs outside cannot be written from inside").

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use serde_json::{Value, json};

use crate::support::{House, Reply, Running, Script};

const AGENT: &str =
    "---\nkind: agent\nname: writer\ndescription: Writes.\ncompletion: tool\ntools: ['*']\n---\nYou write.\n";
const KEY: &str = "brv0bc1dd7f6a3e4f89";

fn program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn key(path: &Path) {
    fs::write(path, format!("{KEY}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

async fn risk(running: &Running, tool: &str, arguments: Value) -> (String, String) {
    let mut client = running.client();
    let params =
        json!({ "tool": tool, "arguments": arguments, "workspace": running.work(), "agent": "writer" });
    let checked = client.request("policy/check", params).await;
    let result = &checked["result"];
    (result["risk"].as_str().unwrap_or_default().to_owned(), checked.to_string())
}

/// Settings that name a key's file.
type WithKey = fn(Value) -> Value;

/// A key for each place of the settings that takes a file.
#[tokio::test]
async fn key_files_are_neither_read_nor_shown_wherever_the_settings_name_them() {
    let places: [(&str, WithKey); 3] = [
        ("search", |key| json!({ "tools": { "webSearch": { "backend": "brave", "key": key } } })),
        ("provider", |key| json!({ "providers": { "gemini": { "kind": "gemini", "key": key } } })),
        (
            "webhook",
            |key| json!({ "approval": { "webhook": { "url": "http://127.0.0.1:9/", "secret": key } } }),
        ),
    ];
    for (name, settings) in places {
        let script = Script::new([
            Reply::calls(&[("read_file", json!({ "path": ".key" })), ("grep", json!({ "pattern": "brv" }))]),
            Reply::calls(&[("run_shell_command", json!({ "command": "bash look.sh" }))]),
            Reply::calls(&[("write_file", json!({ "path": "said", "content": format!("it is {KEY}") }))]),
            Reply::done("done"),
        ]);
        let house = House::new()
            .script(&script)
            .agent("writer", AGENT)
            .file("look.sh", "f=.k; cat ${f}ey; cp ${f}ey copy; cat copy; echo looked\n");
        let file = house.work().join(".key");
        key(&file);
        let house = house.settings(&settings(json!({ "file": file })));
        let running = house.boot().await;
        let mut client = running.client();
        let approval = json!({ "autoApprove": ["low", "medium"], "headless": true });
        let (run, _) = client.start(&running, "writer", json!({ "approval": approval })).await;
        client.ended(&run).await;
        let log = Value::from(running.log().await).to_string();
        assert!(log.contains("looked") && log.contains("PATH_NOT_IN_WORKSPACE"), "{name}: {log}");
        assert!(!log.contains(KEY), "{name}: the key is in the log");
        let (read, said) = risk(&running, "run_shell_command", json!({ "command": "cat .key" })).await;
        assert_eq!(read, "critical", "{name}: {said}");
        drop(client);
        running.stop().await;
    }
}

/// The programs of each setting that names one.
#[tokio::test]
async fn programs_of_the_settings_are_critical_to_write() {
    let house = House::new().agent("writer", AGENT);
    for name in ["tell", "print-key", "interpreted"] {
        program(&house.work().join("bin").join(name), "#!/bin/sh\n");
    }
    let bin = |name: &str| house.work().join("bin").join(name);
    let settings = json!({
        "approval": { "notifyCommand": [bin("tell")] },
        "providers": {
            "gemini": { "kind": "gemini", "key": { "command": [bin("print-key")] } },
            "openai": { "kind": "openai", "key": { "command": ["bash", bin("interpreted")] } },
        },
    });
    let house = house.settings(&settings);
    let running = house.boot().await;
    for name in ["tell", "print-key", "interpreted"] {
        let path = format!("bin/{name}");
        let (written, said) = risk(&running, "write_file", json!({ "path": path, "content": "x" })).await;
        assert_eq!(written, "critical", "{name}: {said}");
        let command = format!("cp x {path}");
        let (copied, said) = risk(&running, "run_shell_command", json!({ "command": command })).await;
        assert_eq!(copied, "critical", "{name}: {said}");
    }
    // What they load in their turn lies beside them.
    for (tool, arguments) in [
        ("write_file", json!({ "path": "bin/other", "content": "x" })),
        ("write_file", json!({ "path": "bin/below/json.py", "content": "x" })),
        ("run_shell_command", json!({ "command": "echo x > bin/json.py" })),
        ("run_shell_command", json!({ "command": "cp -r x bin" })),
    ] {
        let (beside, said) = risk(&running, tool, arguments).await;
        assert!(["high", "critical"].contains(&beside.as_str()), "{said}");
    }
    let (plain, _) = risk(&running, "write_file", json!({ "path": "other", "content": "x" })).await;
    assert_eq!(plain, "low");
    running.stop().await;
}

#[tokio::test]
async fn a_messenger_that_was_changed_is_not_run_and_told_of() {
    let script = Script::new([
        Reply::calls(&[("run_shell_command", json!({ "command": "echo asked" }))]),
        Reply::done("done"),
    ]);
    let house = House::new().script(&script).agent("writer", AGENT);
    let (tell, ran) = (house.dir.path().join("own/bin/tell"), house.dir.path().join("ran"));
    program(&tell, "#!/bin/sh\n");
    let settings = json!({ "approval": { "notifyCommand": [tell], "notifyAfterMs": 0 } });
    let house = house.settings(&settings);
    let running = house.boot().await;
    program(&tell, &format!("#!/bin/sh\ntouch {}\n", ran.display()));
    let mut client = running.client();
    let (run, _) = client.start(&running, "writer", json!({})).await;
    let told = |status: &Value| status["degraded"].to_string().contains("bin/tell");
    client.until("daemon/status", json!({}), told).await;
    let doctor = client.call("daemon/doctor", json!({})).await;
    assert!(doctor.to_string().contains("bin/tell"), "{doctor}");
    assert!(!ran.exists(), "the changed program was run");
    client.call("run/cancel", json!({ "runId": run })).await;
    client.ended(&run).await;
    assert!(!ran.exists(), "the changed program was run");
    drop(client);
    running.stop().await;
}

/// What was changed while no daemon was there, or by a command that Landlock cannot keep from it, waits for a person.
#[tokio::test]
async fn programs_of_the_settings_are_held_to_their_files_over_restarts() {
    let script = Script::new([
        Reply::calls(&[("run_shell_command", json!({ "command": "echo asked" }))]),
        Reply::done("done"),
    ]);
    let house = House::new().script(&script).agent("writer", AGENT);
    let (tell, ran) = (house.dir.path().join("own/bin/tell"), house.dir.path().join("ran"));
    let print_key = house.dir.path().join("own/bin/print-key");
    program(&tell, "#!/bin/sh\n");
    program(&print_key, &format!("#!/bin/sh\necho {KEY}\n"));
    let key = json!({ "kind": "gemini", "baseUrl": "http://127.0.0.1:1", "key": { "command": [print_key] } });
    let settings = json!({
        "approval": { "notifyCommand": [tell], "notifyAfterMs": 0 }, "providers": { "gemini": key },
    });
    let house = house.settings(&settings);
    let running = house.boot().await;
    let mut client = running.client();
    let noted = json!({ "filter": { "types": ["program.noted"] } });
    assert_eq!(client.call("events/list", noted.clone()).await["events"].as_array().unwrap().len(), 2);
    drop(client);
    running.stop().await;
    for path in [&tell, &print_key] {
        program(path, &format!("#!/bin/sh\ntouch {}\n", ran.display()));
    }
    let running = house.boot().await;
    let mut client = running.client();
    // Reading the settings anew is no acknowledgement.
    client.call("daemon/reload", json!({})).await;
    let told = client.call("daemon/status", json!({})).await["degraded"].to_string();
    assert!(told.contains("bin/tell") && told.contains("bin/print-key"), "{told}");
    assert!(told.contains("subagent trust --programs"), "{told}");
    let (run, _) = client.start(&running, "writer", json!({})).await;
    let asked = json!({ "runId": run, "timeoutMs": 60_000, "until": ["confirmation"] });
    client.call("run/wait", asked).await;
    assert!(!ran.exists(), "a changed program was run");
    let programs = client.call("programs/list", json!({})).await["programs"].clone();
    for changed in programs.as_array().unwrap() {
        assert_eq!(changed["changed"], true, "{programs}");
        let files = changed["files"].as_array().unwrap().iter();
        let files: Vec<Value> =
            files.map(|file| json!({ "path": file["path"], "digest": file["now"] })).collect();
        client.call("programs/acknowledge", json!({ "id": changed["id"], "files": files })).await;
    }
    assert_eq!(client.call("events/list", noted).await["events"].as_array().unwrap().len(), 4);
    let told = client.call("daemon/status", json!({})).await["degraded"].to_string();
    assert!(!told.contains("bin/tell") && !told.contains("bin/print-key"), "{told}");
    assert!(!ran.exists(), "a changed program was run");
    client.call("run/cancel", json!({ "runId": run })).await;
    client.ended(&run).await;
    script.replace([
        Reply::calls(&[("run_shell_command", json!({ "command": "echo asked" }))]),
        Reply::done("done"),
    ]);
    let (run, _) = client.start(&running, "writer", json!({})).await;
    client.until("daemon/status", json!({}), |_| ran.exists()).await;
    client.call("run/cancel", json!({ "runId": run })).await;
    client.ended(&run).await;
    drop(client);
    running.stop().await;
}

/// A hook of the settings runs outside of the sandbox wherever it is asked, so no agent writes what it runs: neither in the workspace
/// that asks nor in another.
#[tokio::test]
async fn a_hooks_script_in_another_workspace_is_run_as_it_was_noted() {
    const READER: &str = "---\nkind: agent\nname: reader\ndescription: Reads.\ncompletion: tool\ntools: [read_file]\n---\nRead.\n";
    let reads = || [Reply::calls(&[("read_file", json!({ "path": "a.txt" }))]), Reply::done("done")];
    let script = Script::new(reads());
    let other = tempfile::tempdir().unwrap();
    let folder = other.path().canonicalize().unwrap();
    let (guard, ran, evil) = (folder.join("hooks/guard.sh"), folder.join("ran"), folder.join("evil"));
    let says = |marker: &Path| format!("#!/bin/sh\ncat > /dev/null\ntouch {}\n", marker.display());
    program(&guard, "#!/bin/sh\ncat > /dev/null\n");
    let hook = json!({ "matcher": "read_file", "hooks": [{ "type": "command", "command": guard }] });
    let house = House::new()
        .script(&script)
        .agent("reader", READER)
        .agent("writer", AGENT)
        .file("a.txt", "a\n")
        .settings(&json!({ "hooks": { "PreToolUse": [hook] } }));
    let running = house.boot().await;
    let mut client = running.client();
    // What its owner changes where no agent works is theirs.
    program(&guard, &says(&ran));
    let (run, _) = client.start(&running, "reader", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    assert!(ran.exists());
    // From now on agents may work there.
    client.call("session/create", json!({ "workspace": folder })).await;
    for (name, expected) in [("hooks/guard.sh", "critical"), ("hooks/json.py", "high"), ("x.py", "low")] {
        let call = json!({
            "tool": "write_file", "arguments": { "path": name, "content": "x" }, "workspace": folder, "agent": "writer",
        });
        assert_eq!(client.call("policy/check", call).await["risk"], expected, "{name}");
    }
    program(&guard, &says(&evil));
    script.replace(reads());
    let (run, _) = client.start(&running, "reader", json!({})).await;
    client.ended(&run).await;
    assert!(!evil.exists(), "the changed script was run");
    let log = running.log().await;
    let is_end = |it: &&Value| it["type"] == "tool.state" && it["data"]["name"] == "read_file";
    let told = log.iter().rfind(is_end).unwrap()["data"].to_string();
    assert!(told.contains("guard.sh") && told.contains("subagent trust --programs"), "{told}");
    let doctor = client.call("daemon/doctor", json!({})).await.to_string();
    assert!(doctor.contains("guard.sh"), "{doctor}");
    // Also after a restart, and until a person has looked.
    drop(client);
    running.stop().await;
    let running = house.boot().await;
    let mut client = running.client();
    script.replace(reads());
    let (run, _) = client.start(&running, "reader", json!({})).await;
    client.ended(&run).await;
    assert!(!evil.exists(), "the changed script was run after a restart");
    let programs = client.call("programs/list", json!({})).await["programs"].clone();
    let changed = programs.as_array().unwrap().iter().find(|it| it["changed"] == true).unwrap();
    assert!(changed["name"].as_str().unwrap().starts_with("the hook `"), "{programs}");
    let files = changed["files"].as_array().unwrap().iter();
    let files: Vec<Value> =
        files.map(|file| json!({ "path": file["path"], "digest": file["now"] })).collect();
    client.call("programs/acknowledge", json!({ "id": changed["id"], "files": files })).await;
    script.replace(reads());
    let (run, _) = client.start(&running, "reader", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL", "what was acknowledged was not run");
    // What it loads there nobody acknowledged.
    assert!(!evil.exists(), "it ran with a person's rights");
    let log = running.log().await;
    let fired = log.iter().rfind(|it| it["type"] == "hook.fired").unwrap();
    assert_eq!(fired["data"]["confinement"]["confined"], true, "{fired}");
    drop(client);
    running.stop().await;
}

/// A hook's script, or what it is told, that lies where agents work, by whatever way: it runs as their commands do from then on, and whoever
/// lists hooks reads why.
#[tokio::test]
async fn a_hook_whose_script_lies_where_agents_work_runs_in_their_walls() {
    const READER: &str = "---\nkind: agent\nname: reader\ndescription: Reads.\ncompletion: tool\ntools: [read_file]\n---\nRead.\n";
    let reads = || [Reply::calls(&[("read_file", json!({ "path": "a.txt" }))]), Reply::done("done")];
    let script = Script::new(reads());
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let (folder, ran) = (home.join("dotfiles"), home.join("ran"));
    let loads = |load: &str| format!("#!/bin/sh\ncat > /dev/null\n{load}\n");
    program(&folder.join("hooks/shell.sh"), &loads(r#". "$(dirname "$0")/../lib/x.sh""#));
    program(&folder.join("top.sh"), &loads(r#". "$(dirname "$0")/x.sh""#));
    program(
        &home.join("own/apart.sh"),
        &format!("#!/bin/sh\ncat > /dev/null\necho apart >> {}\n", ran.display()),
    );
    let perl = "#!/usr/bin/perl\nuse FindBin; use lib \"$FindBin::Bin/../lib\"; use pguard; 1;\n";
    program(&folder.join("hooks/perl.pl"), perl);
    fs::create_dir_all(folder.join("lib")).unwrap();
    std::os::unix::fs::symlink(folder.join("hooks/shell.sh"), home.join("own/linked.sh")).unwrap();
    std::os::unix::fs::symlink(folder.join("hooks"), home.join("folder")).unwrap();
    // The link itself is an agent's to turn.
    std::os::unix::fs::symlink(home.join("own/apart.sh"), folder.join("out.sh")).unwrap();
    let names = [
        "dotfiles/hooks/shell.sh",
        "dotfiles/top.sh",
        "dotfiles/hooks/perl.pl",
        "own/linked.sh",
        "folder/shell.sh",
        "dotfiles/out.sh",
    ];
    let commands = names.iter().map(|name| home.join(name).display().to_string());
    let told = format!("{} > {}/log", home.join("own/apart.sh").display(), folder.display());
    let commands: Vec<String> = commands.chain([told]).collect();
    let apart = home.join("own/apart.sh").display().to_string();
    let hooks =
        commands.iter().chain([&apart]).map(|command| json!({ "type": "command", "command": command }));
    let hook = json!({ "matcher": "read_file", "hooks": hooks.collect::<Vec<Value>>() });
    let house = House::new()
        .script(&script)
        .agent("reader", READER)
        .file("a.txt", "a\n")
        .settings(&json!({ "hooks": { "PostToolUse": [hook] } }));
    let running = house.boot().await;
    let mut client = running.client();
    let made = client.call("session/create", json!({ "workspace": folder })).await;
    // What an agent may write there without a question.
    fs::write(folder.join("lib/x.sh"), format!("echo shell >> {}\n", ran.display())).unwrap();
    fs::write(folder.join("x.sh"), format!("echo top >> {}\n", ran.display())).unwrap();
    let perl = format!("open F, '>>{}'; print F \"perl\\n\"; close F; 1;\n", ran.display());
    fs::write(folder.join("lib/pguard.pm"), perl).unwrap();
    let (run, _) = client.start(&running, "reader", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    assert_eq!(fs::read_to_string(&ran).unwrap(), "apart\n", "with a person's rights");
    let log = running.log().await;
    let fired: Vec<&Value> = log.iter().filter(|it| it["type"] == "hook.fired").collect();
    let confined = fired.iter().filter(|it| it["data"]["confinement"]["confined"] == true).count();
    assert_eq!((fired.len(), confined), (commands.len() + 1, commands.len()), "{fired:#?}");
    let listed = client.call("hooks/list", json!({ "workspace": house.work() })).await["hooks"].clone();
    for hook in listed.as_array().unwrap() {
        let (confinement, is_apart) = (&hook["confinement"], hook["runs"] == apart.as_str());
        assert_eq!(confinement["confined"], !is_apart, "{hook}");
        let why = confinement["reason"].as_str().unwrap();
        assert_eq!(why.contains("lies in a folder in which agents work"), !is_apart, "{why}");
    }
    // What an agent wrote is there also when its session is not.
    client.call("session/delete", json!({ "sessionId": made["sessionId"] })).await;
    drop(client);
    running.stop().await;
    let running = house.boot().await;
    let mut client = running.client();
    script.replace(reads());
    let (run, _) = client.start(&running, "reader", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    assert_eq!(fs::read_to_string(&ran).unwrap(), "apart\napart\n", "with a person's rights");
    drop(client);
    running.stop().await;
}

/// A program of the settings that lies where agents work may load what an agent writes beside it: it is not run, and that is told.
#[tokio::test]
async fn a_messenger_that_lies_where_agents_work_is_not_run_and_told_of() {
    let script = Script::new([
        Reply::calls(&[("run_shell_command", json!({ "command": "echo asked" }))]),
        Reply::done("done"),
    ]);
    let house = House::new().script(&script).agent("writer", AGENT);
    let (tell, ran) = (house.work().join("bin/tell"), house.dir.path().join("ran"));
    program(&tell, "#!/bin/sh\n. \"$(dirname \"$0\")/../lib/x.sh\"\n");
    fs::create_dir_all(house.work().join("lib")).unwrap();
    fs::write(house.work().join("lib/x.sh"), format!("touch {}\n", ran.display())).unwrap();
    let link = house.dir.path().join("tell");
    std::os::unix::fs::symlink(&tell, &link).unwrap();
    let settings = json!({ "approval": { "notifyCommand": [link], "notifyAfterMs": 0 } });
    let house = house.settings(&settings);
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "writer", json!({})).await;
    let told = |status: &Value| status["degraded"].to_string().contains("keep it elsewhere");
    client.until("daemon/status", json!({}), told).await;
    client.call("run/cancel", json!({ "runId": run })).await;
    client.ended(&run).await;
    assert!(!ran.exists(), "it was run");
    drop(client);
    running.stop().await;
}
