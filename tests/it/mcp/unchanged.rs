//! A server is started with the files that were looked at, whoever may write there meanwhile (spec 07, "Security"), under each mechanism.

use std::fs;

use serde_json::json;
use subagentd::sandbox::SandboxMechanism;

use super::{ALLOW, agent, server, trusted::trust};
use crate::{
    sandbox::mechanisms,
    support::{House, Reply, Script, confined_by},
};

#[tokio::test]
async fn a_server_begins_while_no_command_can_exchange_what_it_is_started_with() {
    for mechanism in mechanisms() {
        let command = |command: &str, background: bool| {
            Reply::calls(&[("run_shell_command", json!({ "command": command, "background": background }))])
        };
        let waits = "echo > up; until [ -e go ]; do :; done";
        let writes = "echo 'touch evil' > serve.sh; mv serve.sh s2; ln -sf x serve.sh; echo over";
        let script = Script::new([command(waits, true), Reply::done("done")]);
        let mut entry = server::entry("plain");
        let mut args = vec![json!("serve.sh"), entry["command"].clone()];
        args.extend(entry["args"].as_array().unwrap().clone());
        (entry["command"], entry["args"], entry["cwd"]) = ("/bin/sh".into(), args.into(), ".".into());
        let mut house = House::new()
            .script(&script)
            .agent("user", &agent("user", "tools: [run_shell_command]"))
            .rules("all", ALLOW)
            .file("serve.sh", "exec \"$@\"\n")
            .settings(&json!({ "mcpServers": { "s": entry } }));
        house.sandbox = confined_by(house.dir.path(), mechanism.clone());
        let running = house.boot().await;
        let mut client = running.client();
        trust(&mut client, &running).await;
        let (run, _) = client.start(&running, "user", json!({})).await;
        client.ended(&run).await;
        let up = running.work().join("up");
        while !up.exists() {
            client.settle().await;
        }
        // It began before anybody knew of the server, so it may write what the server is started with.
        let asked = json!({ "workspace": running.work(), "server": "s" });
        let connected = client.call("mcp/connect", asked.clone()).await;
        assert_eq!(connected["state"], "backoff", "{mechanism:?}: {connected}");
        let why = client.call("mcp/status", asked.clone()).await.to_string();
        assert!(why.contains("serve.sh, and a command of an agent goes on"), "{mechanism:?}: {why}");
        fs::write(running.work().join("go"), "").unwrap();
        client.until("mcp/connect", asked.clone(), |it| it["state"] == "ready").await;
        // One that begins now is kept from the file, or the server is not started with another one.
        script.replace([command(writes, false), Reply::done("done")]);
        let (run, _) = client.start(&running, "user", json!({})).await;
        client.ended(&run).await;
        let is_same =
            fs::read_to_string(running.work().join("serve.sh")).is_ok_and(|it| it == "exec \"$@\"\n");
        assert_eq!(is_same, matches!(mechanism, SandboxMechanism::Bubblewrap { .. }), "{mechanism:?}");
        let again = client.call("mcp/restart", asked).await;
        assert_eq!(again["state"] == "ready", is_same, "{mechanism:?}: {again}");
        assert!(!running.work().join("evil").exists());
        drop(client);
        running.stop().await;
    }
}
