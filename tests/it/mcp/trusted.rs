//! Who may have a program started by naming it as a server? (Spec 07, "Security"; 11, "Untrusted workspaces".)

use std::fs;

use serde_json::{Value, json};
use subagentd::{config::DaemonConfig, trust};

use super::{agent, calling, ends, house, kind, run, server, text, warnings};
use crate::support::{Client, House, Reply, Running, Script};

/// The entry of a server that a script of the workspace starts.
fn by_script() -> Value {
    let mut entry = server::entry("plain");
    let mut args = vec![json!("serve.sh"), entry["command"].clone()];
    args.extend(entry["args"].as_array().unwrap().clone());
    (entry["command"], entry["args"]) = ("/bin/sh".into(), args.into());
    entry
}

/// A project with a server of its own.
fn project(script: &Script, entry: Value) -> House {
    house(script, "plain")
        .agent("user", &agent("user", "mcp: {servers: [p]}"))
        .file("serve.sh", "exec \"$@\"\n")
        .file(".subagentd/settings.json", json!({ "mcpServers": { "p": entry } }).to_string())
}

/// A person reads and trusts all that is there; answers what each file would do.
pub async fn trust(client: &mut Client, running: &Running) -> Vec<String> {
    let work = running.work().to_owned();
    let opened = client.call("workspace/open", json!({ "workspace": work })).await;
    let files = opened["workspace"]["files"].as_array().cloned().unwrap_or_default();
    let named: Vec<Value> =
        files.iter().map(|file| json!({ "path": file["path"], "digest": file["digest"] })).collect();
    client.call("workspace/trust", json!({ "workspace": work, "trusted": true, "files": named })).await;
    let effects = |file: &Value| file["effects"].as_array().unwrap().clone();
    files.iter().flat_map(effects).map(|effect| effect.as_str().unwrap().to_owned()).collect()
}

async fn status(client: &mut Client, running: &Running, server: &str) -> (String, String) {
    let status = client.call("mcp/status", json!({ "workspace": running.work(), "server": server })).await;
    let word = |name: &str| status["servers"][0][name].as_str().unwrap_or_default().to_owned();
    (word("state"), word("reason"))
}

#[tokio::test]
async fn trust_that_is_taken_back_ends_a_projects_servers_at_once() {
    let script = calling(&[("mcp.p.waits", json!({}))]);
    let running = project(&script, server::entry("plain")).boot().await;
    let mut client = running.client();
    trust(&mut client, &running).await;
    let (run, _) = client.start(&running, "user", json!({})).await;
    client.call("session/attach", json!({ "sessionId": "*", "from": "start" })).await;
    while client.event().await["data"]["to"] != "executing" {}
    client.call("workspace/trust", json!({ "workspace": running.work(), "trusted": false })).await;
    // Nobody looks at the workspace: the call's end tells of it.
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let ends = ends(&running).await;
    assert_eq!(kind(&ends[0]), "MCP_TOOL_ERROR");
    let states = |log: Vec<Value>| {
        let states = log.into_iter().filter(|event| event["type"] == "mcp.serverState");
        states.map(|event| event["data"]["state"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    while states(running.log().await).last().unwrap() != "idle" {
        client.settle().await;
    }
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_file_that_a_projects_server_is_started_with_counts_as_it_was_acknowledged() {
    let script = calling(&[("mcp.p.echo", json!({ "text": "read" }))]);
    let running = project(&script, by_script()).boot().await;
    let mut client = running.client();
    let effects = trust(&mut client, &running).await;
    assert!(
        effects
            .iter()
            .any(|it| it.starts_with("the MCP server `p` is started with it: started by `/bin/sh serve.sh")),
        "{effects:?}"
    );
    run(&running).await;
    assert_eq!(text(&ends(&running).await[0]), "read");
    // What an agent could do to it.
    fs::write(running.work().join("serve.sh"), "touch evil\nexec \"$@\"\n").unwrap();
    client.call("mcp/restart", json!({ "workspace": running.work(), "server": "p" })).await;
    let (state, reason) = status(&mut client, &running, "p").await;
    assert_eq!(state, "failed");
    assert_eq!(
        reason,
        "it is started with serve.sh, which no person has acknowledged as it is now (`subagent trust`)"
    );
    assert!(!running.work().join("evil").exists());
    script.replace([Reply::calls(&[("mcp.p.echo", json!({ "text": "x" }))]), Reply::done("done")]);
    run(&running).await;
    assert!(warnings(&running).await[0].contains("serve.sh, which no person has acknowledged"));
    trust(&mut client, &running).await;
    let connected = client.call("mcp/connect", json!({ "workspace": running.work(), "server": "p" })).await;
    assert_eq!(connected["state"], "ready");
    assert!(running.work().join("evil").exists());
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_users_server_runs_no_file_of_a_workspace_that_nobody_trusts() {
    let script = calling(&[]);
    let mut entry = by_script();
    entry["cwd"] = ".".into();
    let house = house(&script, "plain")
        .file("serve.sh", "exec \"$@\"\n")
        .settings(&json!({ "mcpServers": { "s": entry } }));
    let running = house.boot().await;
    let mut client = running.client();
    let asked = json!({ "workspace": running.work(), "server": "s" });
    assert_eq!(client.call("mcp/connect", asked.clone()).await["state"], "failed");
    let why = status(&mut client, &running, "s").await.1;
    assert!(why.starts_with("its `cwd` is in ") && why.contains("which no person has trusted"), "{why}");
    trust(&mut client, &running).await;
    assert_eq!(client.call("mcp/connect", asked.clone()).await["state"], "ready");
    // It is the workspace that was trusted, and not whatever an agent makes of it: neither a file that is changed counts, nor
    // one that comes to be.
    fs::write(running.work().join("serve.sh"), "exec \"$@\" \n").unwrap();
    assert_eq!(client.call("mcp/restart", asked.clone()).await["state"], "failed");
    let why = status(&mut client, &running, "s").await.1;
    assert!(why.contains("serve.sh, which is another file than when it was first started"), "{why}");
    fs::write(running.work().join("serve.sh"), "exec \"$@\"\n").unwrap();
    assert_eq!(client.call("mcp/restart", asked).await["state"], "ready");
    // Whoever changes it has not only to wait for the next daemon, and a person can say that it is right.
    drop(client);
    running.stop().await;
    fs::write(house.work().join("serve.sh"), "touch evil\nexec \"$@\"\n").unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    let asked = json!({ "workspace": running.work(), "server": "s" });
    assert_eq!(client.call("mcp/connect", asked.clone()).await["state"], "failed");
    let why = status(&mut client, &running, "s").await.1;
    assert!(why.contains("serve.sh") && why.contains("`subagent trust --programs`"), "{why}");
    assert!(!running.work().join("evil").exists());
    let programs = client.call("programs/list", json!({})).await["programs"].clone();
    let changed: Vec<&Value> =
        programs.as_array().unwrap().iter().filter(|it| it["changed"] == true).collect();
    assert_eq!((changed.len(), &changed[0]["name"]), (1, &json!("s")), "{programs}");
    let files = |which: &str| -> Vec<Value> {
        let files = changed[0]["files"].as_array().unwrap().iter();
        files.map(|file| json!({ "path": file["path"], "digest": file[which] })).collect()
    };
    let old = json!({ "id": changed[0]["id"], "files": files("noted") });
    assert_eq!(client.refused("programs/acknowledge", old).await.0, "CONFLICT");
    let seen = json!({ "id": changed[0]["id"], "files": files("now") });
    let acknowledged = client.call("programs/acknowledge", seen).await;
    assert_eq!(acknowledged["program"]["changed"], false, "{acknowledged}");
    assert_eq!(client.call("mcp/restart", asked.clone()).await["state"], "ready");
    assert!(running.work().join("evil").exists());
    client.call("workspace/trust", json!({ "workspace": running.work(), "trusted": false })).await;
    client.until("mcp/status", asked, |it| it["servers"][0]["state"] == "failed").await;
    drop(client);
    running.stop().await;
}

/// Agents work in other folders than the one for which a server is started; what they make there is no code of it.
#[tokio::test]
async fn a_users_server_runs_no_file_that_an_agent_of_another_workspace_made() {
    let script = calling(&[]);
    let other = tempfile::tempdir().unwrap();
    let folder = other.path().canonicalize().unwrap();
    let (serve, evil) = (folder.join("serve.sh"), folder.join("evil"));
    let changed = format!("touch {}\nexec \"$@\"\n", evil.display());
    fs::write(&serve, "exec \"$@\"\n").unwrap();
    let mut entry = by_script();
    entry["args"][0] = json!(serve);
    let running = house(&script, "plain").settings(&json!({ "mcpServers": { "s": entry } })).boot().await;
    let mut client = running.client();
    let asked = json!({ "workspace": running.work(), "server": "s" });
    assert_eq!(client.call("mcp/connect", asked.clone()).await["state"], "ready");
    // Its owner may change it where no agent works.
    fs::write(&serve, "exec  \"$@\"\n").unwrap();
    assert_eq!(client.call("mcp/restart", asked.clone()).await["state"], "ready");
    // A workspace that nobody trusts.
    client.call("session/create", json!({ "workspace": folder })).await;
    assert_eq!(client.call("mcp/restart", asked.clone()).await["state"], "ready");
    fs::write(&serve, &changed).unwrap();
    assert_eq!(client.call("mcp/restart", asked.clone()).await["state"], "failed");
    let why = status(&mut client, &running, "s").await.1;
    assert!(why.contains("serve.sh") && why.contains("`subagent trust --programs`"), "{why}");
    // The file is the same one for whichever workspace it is started.
    let third = tempfile::tempdir().unwrap();
    let asked = json!({ "workspace": third.path(), "server": "s" });
    assert_eq!(client.call("mcp/connect", asked).await["state"], "failed");
    assert!(!evil.exists(), "what an agent made was run");
    drop(client);
    running.stop().await;
}

/// Nobody can say which file there it runs, so a person says whether anything may be.
#[tokio::test]
async fn a_users_server_that_looks_in_a_folder_of_agents_waits_for_a_person() {
    let script = calling(&[]);
    let other = tempfile::tempdir().unwrap();
    let folder = other.path().canonicalize().unwrap();
    let mut entry = server::entry("plain");
    let mut args = vec![json!(format!("PYTHONPATH={}", folder.display())), entry["command"].clone()];
    args.extend(entry["args"].as_array().unwrap().clone());
    (entry["command"], entry["args"]) = ("/usr/bin/env".into(), args.into());
    let running = house(&script, "plain").settings(&json!({ "mcpServers": { "s": entry } })).boot().await;
    let mut client = running.client();
    let asked = json!({ "workspace": running.work(), "server": "s" });
    assert_eq!(client.call("mcp/connect", asked.clone()).await["state"], "ready");
    client.call("session/create", json!({ "workspace": folder })).await;
    for _ in 0..2 {
        assert_eq!(client.call("mcp/restart", asked.clone()).await["state"], "failed");
        let why = status(&mut client, &running, "s").await.1;
        assert!(why.contains("for what it runs") && why.contains("`subagent trust --programs`"), "{why}");
    }
    let programs = client.call("programs/list", json!({})).await["programs"].clone();
    let changed: Vec<&Value> =
        programs.as_array().unwrap().iter().filter(|it| it["changed"] == true).collect();
    assert_eq!((changed.len(), &changed[0]["name"]), (1, &json!("s")), "{programs}");
    let files = changed[0]["files"].as_array().unwrap().iter();
    let files: Vec<Value> =
        files.map(|file| json!({ "path": file["path"], "digest": file["now"] })).collect();
    assert!(files.iter().any(|file| file["path"] == json!(folder)), "{files:?}");
    client.call("programs/acknowledge", json!({ "id": changed[0]["id"], "files": files })).await;
    assert_eq!(client.call("mcp/restart", asked.clone()).await["state"], "ready");
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_pin_holds_program_and_version() {
    let program = std::env::current_exe().unwrap();
    let digest = trust::digest(&fs::read(&program).unwrap());
    let pinned = |pin: Value| {
        let mut entry = server::entry("plain");
        entry["pin"] = pin;
        entry
    };
    let mut packaged = server::entry("plain");
    (packaged["command"], packaged["args"]) = ("npx".into(), json!(["-y", "some-server"]));
    packaged["pin"] = json!({ "version": "1.2" });
    let running = house(&calling(&[]), "plain")
        .settings(&json!({ "mcpServers": {
            "good": pinned(json!({ "command": digest, "version": "1.2" })),
            "other": pinned(json!({ "command": format!("sha256:{}", "0".repeat(64)) })),
            "older": pinned(json!({ "version": "1.1" })),
            "packaged": packaged,
        } }))
        .boot()
        .await;
    let mut client = running.client();
    for (name, state, reason) in [
        ("good", "ready", ""),
        ("other", "failed", "is another one than its pin says: it has sha256:"),
        ("older", "failed", "its pin says version 1.1, and it is of-the-tests 1.2 by its own words"),
        ("packaged", "failed", "its pin says version 1.2, and `npx` may take another"),
    ] {
        client.call("mcp/connect", json!({ "workspace": running.work(), "server": name })).await;
        let (now, why) = status(&mut client, &running, name).await;
        assert_eq!(now, state, "{name}: {why}");
        assert!(why.contains(reason), "{name}: {why}");
    }
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn who_reads_a_projects_settings_sees_what_its_servers_are_given() {
    let mut entry = server::entry("plain");
    entry["env"]["TOKEN"] = "${GEMINI_API_KEY}".into();
    entry["cwd"] = "tools".into();
    let far = json!({ "url": "https://far.example/mcp", "headers": { "X-Key": "${OPENAI_API_KEY}" }, "trust": true });
    let settings = json!({ "mcpServers": { "p": entry, "far": far } });
    let running = house(&calling(&[]), "plain")
        .file("tools/x", "")
        .file(".subagentd/settings.json", settings.to_string())
        .boot()
        .await;
    let mut client = running.client();
    let effects = trust(&mut client, &running).await.join("\n");
    for told in [
        "at https://far.example/mcp, with the headers `X-Key: ${OPENAI_API_KEY}`, and what it says of the risk of its tools is \
         believed",
        " in `tools`, with the variables ",
        "`TOKEN: ${GEMINI_API_KEY}`",
    ] {
        assert!(effects.contains(told), "{told}: {effects}");
    }
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn no_projects_server_is_given_a_key_of_the_daemons_own() {
    let mut entry = server::entry("plain");
    entry["env"]["TOKEN"] = "x${MY_PROVIDERS_KEY:-none}".into();
    let far = json!({ "url": "http://127.0.0.1:1/mcp", "headers": { "X-Key": "${OPENAI_API_KEY}" } });
    let settings = json!({ "mcpServers": { "p": entry, "far": far } });
    let provider =
        json!({ "kind": "openai", "baseUrl": "http://127.0.0.1:1/v1", "key": { "env": "MY_PROVIDERS_KEY" } });
    let running = house(&calling(&[]), "plain")
        .settings(&json!({ "providers": { "mine": provider }, "mcpServers": { "own": entry } }))
        .file(".subagentd/settings.json", settings.to_string())
        .boot()
        .await;
    let mut client = running.client();
    trust(&mut client, &running).await;
    for (server, name) in [("p", "${MY_PROVIDERS_KEY}"), ("far", "${OPENAI_API_KEY}")] {
        client.call("mcp/connect", json!({ "workspace": running.work(), "server": server })).await;
        let (state, reason) = status(&mut client, &running, server).await;
        assert_eq!(state, "failed");
        assert!(reason.starts_with(&format!("it asks for {name}, a key of this daemon's own")), "{reason}");
    }
    // Whose keys they are may hand them on.
    let own = client.call("mcp/connect", json!({ "workspace": running.work(), "server": "own" })).await;
    assert_eq!(own["state"], "ready", "{own}");
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn what_a_projects_server_is_started_with_is_found_in_all_of_its_words() {
    for (command, args, file) in [
        ("sh", json!(["-c", "exec ./serve.sh"]), "serve.sh"),
        ("python3", json!(["-m", "pkg.srv"]), "pkg/srv.py"),
        ("node", json!(["--require=./hook.js", "lib"]), "hook.js"),
        ("node", json!(["lib"]), "lib/index.js"),
        ("npm", json!(["run", "mcp"]), "package.json"),
        ("make", json!(["serve"]), "Makefile"),
    ] {
        let entry = json!({ "command": command, "args": args, "env": { "PYTHONPATH": "x:env.py" } });
        let running = house(&calling(&[]), "plain")
            .file(file, "x")
            .file("env.py", "x")
            .file(".subagentd/settings.json", json!({ "mcpServers": { "p": entry } }).to_string())
            .boot()
            .await;
        let mut client = running.client();
        let opened = client.call("workspace/open", json!({ "workspace": running.work() })).await;
        let files = opened["workspace"]["files"].as_array().unwrap();
        let programs: Vec<&str> = files
            .iter()
            .filter(|it| it["kind"] == "program")
            .map(|it| it["path"].as_str().unwrap())
            .collect();
        assert!(programs.contains(&file) && programs.contains(&"env.py"), "{command}: {programs:?}");
        drop(client);
        running.stop().await;
    }
}

#[tokio::test]
async fn rules_for_a_users_server_are_no_other_servers() {
    let rules = "[[rule]]\ntool = \"mcp__my_db__echo\"\ndecision = \"allow\"\n";
    let own = agent("own", &format!("mcp: {{servers: {}}}", json!({ "my-db": server::entry("plain") })));
    let script = calling(&[("mcp.my-db.echo", json!({ "text": "x" }))]);
    for settings in [
        json!({ "mcpServers": { "my_db": server::entry("gone") } }),
        // One that cannot be read keeps its name all the same.
        json!({ "mcpServers": { "my_db": { "command": 7 } } }),
    ] {
        let mut house = house(&script, "plain").agent("own", &own).rules("all", rules);
        fs::write(&house.sources.files.user, settings.to_string()).unwrap();
        (house.config, _) = DaemonConfig::load(&house.sources);
        let house = house.file(
            ".subagentd/settings.json",
            json!({ "mcpServers": { "my-db": server::entry("plain") } }).to_string(),
        );
        let running = house.boot().await;
        let mut client = running.client();
        trust(&mut client, &running).await;
        let (state, reason) = status(&mut client, &running, "my-db").await;
        assert_eq!(state, "blocked");
        assert_eq!(reason, "your own settings name `my_db`, which rules cannot tell from it");
        let (run, _) = client.start(&running, "own", json!({})).await;
        client.ended(&run).await;
        assert_eq!(kind(&ends(&running).await[0]), "TOOL_NOT_REGISTERED");
        drop(client);
        running.stop().await;
    }
}

#[tokio::test]
async fn a_rule_in_another_products_spelling_restricts_and_allows() {
    let script = calling(&[("mcp.s.echo", json!({ "text": "x" })), ("mcp.s.fails", json!({}))]);
    let rules = "[[rule]]\ntool = \"mcp__s__*\"\ndecision = \"allow\"\n\n[[rule]]\ntool = \"mcp_s_fails\"\ndecision = \"deny\"\n";
    let running = house(&script, "plain").rules("all", rules).boot().await;
    run(&running).await;
    let ends = ends(&running).await;
    assert_eq!((kind(&ends[0]), kind(&ends[1])), ("none", "POLICY_DENIED"));
    running.stop().await;
}

#[tokio::test]
async fn trust_that_is_taken_back_ends_what_a_runs_agent_brought_along() {
    let own = agent("own", &format!("mcp: {{servers: {}}}", json!({ "mine": server::entry("plain") })));
    let script = calling(&[("mcp.mine.waits", json!({})), ("mcp.mine.echo", json!({ "text": "again" }))]);
    let running = house(&script, "plain").file(".subagentd/agents/own.md", own).boot().await;
    let mut client = running.client();
    trust(&mut client, &running).await;
    let (run, _) = client.start(&running, "own", json!({})).await;
    client.call("session/attach", json!({ "sessionId": "*", "from": "start" })).await;
    while client.event().await["data"]["to"] != "executing" {}
    client.call("workspace/trust", json!({ "workspace": running.work(), "trusted": false })).await;
    client.ended(&run).await;
    let ends = ends(&running).await;
    assert_eq!((kind(&ends[0]), kind(&ends[1])), ("MCP_TOOL_ERROR", "MCP_TOOL_ERROR"));
    assert!(text(&ends[1]).contains("which no person trusts any more"), "{}", text(&ends[1]));
    drop(client);
    running.stop().await;
}

/// What programs load from their folder would be an agent's code with the user's keys.
#[tokio::test]
async fn a_users_server_without_a_folder_of_its_own_choice_runs_in_none_of_the_workspace() {
    let script = calling(&[]);
    let mut entry = server::entry("plain");
    let mut args = vec![json!("-c"), json!("pwd -P >&2; exec \"$@\""), json!("sh"), entry["command"].clone()];
    args.extend(entry["args"].as_array().unwrap().clone());
    (entry["command"], entry["args"]) = ("/bin/sh".into(), args.into());
    let mut inside = entry.clone();
    inside["cwd"] = ".".into();
    let house = house(&script, "plain").settings(&json!({ "mcpServers": { "s": entry, "inside": inside } }));
    let running = house.boot().await;
    let mut client = running.client();
    trust(&mut client, &running).await;
    let work = running.work().canonicalize().unwrap();
    for (name, is_inside) in [("s", false), ("inside", true)] {
        let asked = json!({ "workspace": running.work(), "server": name });
        assert_eq!(client.call("mcp/connect", asked.clone()).await["state"], "ready", "{name}");
        let status = client.call("mcp/status", asked).await.to_string();
        assert_eq!(
            status.contains(&format!("{}\\n", work.display()))
                || status.contains(&format!("\"{}\"", work.display())),
            is_inside,
            "{name}: {status}"
        );
    }
    drop(client);
    running.stop().await;
}

/// Its words lead to a file of one workspace, and it is started in another: who writes there decides what runs here.
#[tokio::test]
async fn a_users_server_is_held_to_the_files_of_every_trusted_workspace_over_restarts() {
    let house = house(&calling(&[]), "plain").file("serve.sh", "exec \"$@\"\n");
    let mut entry = by_script();
    entry["args"][0] = house.work().join("serve.sh").to_str().unwrap().into();
    let house = house.settings(&json!({ "mcpServers": { "s": entry } }));
    let other = tempfile::tempdir().unwrap();
    let elsewhere = json!({ "workspace": other.path(), "server": "s" });
    let running = house.boot().await;
    let mut client = running.client();
    trust(&mut client, &running).await;
    assert_eq!(client.call("mcp/connect", elsewhere.clone()).await["state"], "ready");
    drop(client);
    running.stop().await;
    fs::write(house.work().join("serve.sh"), "touch evil\nexec \"$@\"\n").unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    assert_eq!(client.call("mcp/connect", elsewhere).await["state"], "failed");
    drop(client);
    running.stop().await;
}

/// Whoever may write beside a session's root may put a link there that leads anywhere; nobody opened what it leads to.
#[tokio::test]
async fn no_server_is_started_where_a_link_in_the_place_of_a_root_leads() {
    let script = calling(&[("mcp.s.echo", json!({ "text": "one" }))]);
    let house = house(&script, "plain").file("sub/kept", "");
    let (sub, elsewhere) = (house.work().join("sub"), house.dir.path().join("elsewhere"));
    fs::create_dir(&elsewhere).unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "user", json!({ "workspace": sub })).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    fs::rename(&sub, house.work().join("moved")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &sub).unwrap();
    script.replace([Reply::calls(&[("mcp.s.echo", json!({ "text": "two" }))]), Reply::done("done")]);
    let again = json!({ "agent": "user", "model": "script", "prompt": "again", "sessionId": session });
    let started = client.request("run/start", again).await;
    assert!(
        started["error"]["message"].as_str().is_some_and(|it| it.contains("another folder")),
        "{started}"
    );
    let status = client.call("daemon/status", json!({})).await;
    let real = elsewhere.canonicalize().unwrap();
    let is_there = |server: &Value| server["workspace"].to_string().contains(real.to_str().unwrap());
    let servers = status["mcpServers"].as_array().cloned().unwrap_or_default();
    assert!(servers.iter().any(|server| server["name"] == "s"), "it is the first run's: {status}");
    assert!(!servers.iter().any(is_there), "{status}");
    // It was not even tried.
    let listed = client.call("mcp/list", json!({ "workspace": real })).await;
    assert_eq!(listed["servers"][0]["state"], "idle", "{listed}");
    drop(client);
    running.stop().await;
}

/// A folder that a workspace's path leads to by now was never looked at by anybody.
#[tokio::test]
async fn no_server_is_started_for_what_a_workspace_that_became_a_link_leads_to() {
    let running = house(&Script::new([]), "plain").boot().await;
    let mut client = running.client();
    let work = running.work().canonicalize().unwrap();
    let params = json!({ "workspace": work, "server": "s" });
    assert_eq!(client.call("mcp/connect", params.clone()).await["state"], "ready");
    let (away, other) = (work.with_extension("away"), work.with_extension("other"));
    fs::create_dir(&other).unwrap();
    fs::rename(&work, &away).unwrap();
    std::os::unix::fs::symlink(&other, &work).unwrap();
    for method in ["mcp/connect", "mcp/restart", "mcp/prompts"] {
        let (kind, error) = client.refused(method, params.clone()).await;
        assert_eq!(kind, "CONFLICT", "{method}: {error}");
        assert!(error.to_string().contains("another folder than it was"), "{method}: {error}");
    }
    let other = json!({ "workspace": other, "server": "s" });
    assert_eq!(client.call("mcp/status", other).await["servers"][0]["state"], "idle");
    fs::remove_file(&work).unwrap();
    fs::rename(&away, &work).unwrap();
    assert_eq!(client.call("mcp/connect", params).await["state"], "ready");
    drop(client);
    running.stop().await;
}
