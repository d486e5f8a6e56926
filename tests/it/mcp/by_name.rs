//! A server of the user's own is started by a name, and goes on being what that name led to.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::{Value, json};

use super::{calling, house, server};

/// Folders of programs that a home has beside its projects: an agent that works around one makes a program of any name there.
#[tokio::test]
async fn a_name_that_leads_elsewhere_since_is_not_run_until_a_person_says_so() {
    let other = tempfile::tempdir().unwrap();
    let folder = other.path().canonicalize().unwrap();
    let (bin, evil) = (folder.join("tools/bin"), folder.join("evil"));
    fs::create_dir_all(&bin).unwrap();
    let own = tempfile::tempdir().unwrap();
    let script = own.path().canonicalize().unwrap().join("serve");
    fs::write(&script, "#!/usr/bin/env sh\nexec \"$@\"\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let entry = |first: &[&str]| {
        let mut entry = server::entry("plain");
        let mut args: Vec<Value> = first[1..].iter().map(|word| json!(word)).collect();
        args.push(entry["command"].clone());
        args.extend(entry["args"].as_array().unwrap().clone());
        (entry["command"], entry["args"]) = (first[0].into(), args.into());
        entry["env"]["PATH"] = format!("{}:/usr/bin:/bin", bin.display()).into();
        entry
    };
    let servers = json!({
        "named": entry(&["sh", "-c", "exec \"$@\"", "x"]),
        "told": entry(&["env", "sh", "-c", "exec \"$@\"", "x"]),
        "within": entry(&["/bin/sh", "-c", "exec sh -c 'exec \"$@\"' \"$0\" \"$@\"", "x"]),
        "first-line": entry(&[script.to_str().unwrap()]),
    });
    let names = ["named", "told", "within", "first-line"];
    let running = house(&calling(&[]), "plain").settings(&json!({ "mcpServers": servers })).boot().await;
    let mut client = running.client();
    for name in names {
        let asked = json!({ "workspace": running.work(), "server": name });
        let connected = client.call("mcp/connect", asked).await;
        assert_eq!(connected["state"], "ready", "{name}: {connected}");
    }
    // An agent works there, and makes a program that is found before the one that was meant.
    client.call("session/create", json!({ "workspace": folder })).await;
    let shadow = bin.join("sh");
    fs::write(&shadow, format!("#!/bin/sh\ntouch {}\nexec /bin/sh \"$@\"\n", evil.display())).unwrap();
    fs::set_permissions(&shadow, fs::Permissions::from_mode(0o755)).unwrap();
    for name in names {
        let asked = json!({ "workspace": running.work(), "server": name });
        assert_eq!(client.call("mcp/restart", asked.clone()).await["state"], "failed", "{name}");
        let status = client.call("mcp/status", asked).await;
        let why = status["servers"][0]["reason"].as_str().unwrap_or_default();
        let told = format!("the name `sh` that it is started by leads to {} now", shadow.display());
        assert!(why.contains(&told) && why.contains("`subagent trust --programs`"), "{name}: {why}");
    }
    assert!(!evil.exists(), "what an agent made was run");
    // A person may say that it is right.
    let programs = client.call("programs/list", json!({})).await["programs"].clone();
    let named = programs.as_array().unwrap().iter().find(|it| it["name"] == "named").unwrap();
    assert_eq!(named["changed"], true, "{named}");
    let files = named["files"].as_array().unwrap().iter().filter(|file| !file["now"].is_null());
    let seen: Vec<Value> = files.map(|file| json!({ "path": file["path"], "digest": file["now"] })).collect();
    client.call("programs/acknowledge", json!({ "id": named["id"], "files": seen })).await;
    let asked = json!({ "workspace": running.work(), "server": "named" });
    assert_eq!(client.call("mcp/restart", asked.clone()).await["state"], "ready");
    fs::remove_file(&shadow).unwrap();
    assert_eq!(client.call("mcp/restart", asked).await["state"], "ready", "what was there first is no other");
    drop(client);
    running.stop().await;
}
