//! The folders in which agents have worked: a person sees them, and may have one forgotten, so that what lies there runs with that
//! person's rights again (spec 11, "What runs outside cannot be written from inside").

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use serde_json::{Value, json};

use crate::{
    mcp::server,
    support::{House, Reply, Script},
};

const AGENT: &str =
    "---\nkind: agent\nname: writer\ndescription: Writes.\ncompletion: tool\ntools: ['*']\n---\nYou write.\n";

fn program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn what_lies_in_a_forgotten_folder_is_run_at_once_and_after_a_restart() {
    let asks = || Reply::calls(&[("run_shell_command", json!({ "command": "echo asked" }))]);
    let script = Script::new([asks(), Reply::done("done"), asks(), Reply::done("done")]);
    let house = House::new().script(&script).agent("writer", AGENT);
    let (dotfiles, ran) = (house.dir.path().join("dotfiles"), house.dir.path().join("ran"));
    let tell = dotfiles.join("tell");
    program(&tell, &format!("#!/bin/sh\necho ran >> {}\n", ran.display()));
    let house = house.settings(&json!({ "approval": { "notifyCommand": [tell], "notifyAfterMs": 0 } }));
    let running = house.boot().await;
    let mut client = running.client();
    let params = json!({ "workspace": dotfiles });
    let session = client.call("session/create", params).await["sessionId"].clone();
    let folder = json!({ "folder": dotfiles });
    let (kind, refused) = client.refused("workedFolders/forget", folder.clone()).await;
    assert_eq!(kind, "CONFLICT");
    assert!(refused.to_string().contains(session.as_str().unwrap()), "{refused}");
    client.call("session/delete", json!({ "sessionId": session })).await;

    let (run, _) = client.start(&running, "writer", json!({})).await;
    let told = |status: &Value| status["degraded"].to_string().contains("keep it elsewhere");
    client.until("daemon/status", json!({}), told).await;
    client.call("run/cancel", json!({ "runId": run })).await;
    client.ended(&run).await;
    assert!(!ran.exists(), "it was run");

    let listed = client.call("workedFolders/list", json!({})).await["folders"].clone();
    let row = listed.as_array().unwrap().iter().find(|it| it["folder"] == json!(dotfiles)).unwrap().clone();
    assert_eq!((&row["lastSessionId"], &row["sessions"]), (&session, &json!(0)), "{row}");
    let forgotten = client.call("workedFolders/forget", folder.clone()).await;
    assert_eq!(forgotten["forgotten"], true, "{forgotten}");
    // Nothing is said of it any more, and it is run.
    let quiet = |status: &Value| !status["degraded"].to_string().contains("keep it elsewhere");
    client.until("daemon/status", json!({}), quiet).await;
    let (run, _) = client.start(&running, "writer", json!({})).await;
    client.until("daemon/status", json!({}), |_| ran.exists()).await;
    client.call("run/cancel", json!({ "runId": run })).await;
    client.ended(&run).await;
    assert_eq!(client.call("workedFolders/forget", folder.clone()).await["forgotten"], false);
    drop(client);

    running.stop().await;
    let running = house.boot().await;
    let mut client = running.client();
    let listed = client.call("workedFolders/list", json!({})).await["folders"].to_string();
    assert!(!listed.contains("dotfiles"), "{listed}");
    let log = client.call("events/list", json!({ "filter": { "types": ["folder.forgotten"] } })).await;
    assert_eq!(log["events"].as_array().unwrap().len(), 1, "{log}");
    drop(client);
    running.stop().await;
}

/// A server is there for longer than the sessions that used it.
#[tokio::test]
async fn no_server_is_left_in_a_folder_that_is_forgotten() {
    let script =
        Script::new([Reply::calls(&[("mcp.s.echo", json!({ "text": "one" }))]), Reply::done("done")]);
    let house = House::new()
        .script(&script)
        .agent("user", "---\nkind: agent\nname: user\ndescription: Uses servers.\ncompletion: tool\nmcp: {servers: [s]}\n---\nYou use tools.\n")
        .rules("all", "[[rule]]\ntool = \"*\"\ndecision = \"allow\"\n")
        .settings(&json!({ "mcpServers": { "s": server::entry("plain") } }));
    let running = house.boot().await;
    let mut client = running.client();
    let (run, session) = client.start(&running, "user", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    let asked = json!({ "workspace": running.work(), "server": "s" });
    assert_eq!(client.call("mcp/status", asked.clone()).await["servers"][0]["state"], "ready");
    client.call("session/delete", json!({ "sessionId": session })).await;
    let forgotten = client.call("workedFolders/forget", json!({ "folder": running.work() })).await;
    assert_eq!(forgotten["forgotten"], true, "{forgotten}");
    assert_eq!(client.call("mcp/status", asked).await["servers"][0]["state"], "idle");
    drop(client);
    running.stop().await;
}
