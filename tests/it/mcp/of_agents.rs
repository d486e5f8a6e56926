//! A server that stands in the file of one of the user's own agents is as much the user's as one of the settings.

use std::fs;

use serde_json::{Value, json};

use super::{agent, calling, ends, house, kind, run, server, text, warnings};
use crate::support::Reply;

#[tokio::test]
async fn a_file_of_a_server_in_an_agents_own_file_counts_as_it_was_when_it_was_first_started() {
    let other = tempfile::tempdir().unwrap();
    let folder = other.path().canonicalize().unwrap();
    let (serve, evil) = (folder.join("serve.sh"), folder.join("evil"));
    fs::write(&serve, "exec \"$@\"\n").unwrap();
    let mut entry = server::entry("plain");
    let mut args = vec![json!(serve), entry["command"].clone()];
    args.extend(entry["args"].as_array().unwrap().clone());
    (entry["command"], entry["args"]) = ("/bin/sh".into(), args.into());
    let own = format!("mcp: {{servers: {}}}", json!({ "mine": entry }));
    let script = calling(&[("mcp.mine.echo", json!({ "text": "one" }))]);
    let running = house(&script, "plain").agent("user", &agent("user", &own)).boot().await;
    let mut client = running.client();
    run(&running).await;
    assert_eq!(text(&ends(&running).await[0]), "one");
    // An agent works there.
    client.call("session/create", json!({ "workspace": folder })).await;
    fs::write(&serve, format!("touch {}\nexec \"$@\"\n", evil.display())).unwrap();
    let again = |word: &str| {
        script.replace([Reply::calls(&[("mcp.mine.echo", json!({ "text": word }))]), Reply::done("done")]);
    };
    again("two");
    run(&running).await;
    assert_ne!(kind(&ends(&running).await[1]), "none");
    let told = warnings(&running).await;
    assert!(
        told.iter().any(|it| it.contains("serve.sh, which is another file than when it was first started")),
        "{told:?}"
    );
    assert!(!evil.exists(), "what an agent made was run");
    let programs = client.call("programs/list", json!({})).await["programs"].clone();
    let noted = programs.as_array().unwrap().iter().find(|it| it["name"] == "user/mine").unwrap();
    assert_eq!(noted["changed"], true, "{noted}");
    let files = noted["files"].as_array().unwrap().iter();
    let seen: Vec<Value> = files.map(|file| json!({ "path": file["path"], "digest": file["now"] })).collect();
    client.call("programs/acknowledge", json!({ "id": noted["id"], "files": seen })).await;
    again("three");
    run(&running).await;
    assert_eq!(text(&ends(&running).await[2]), "three");
    drop(client);
    running.stop().await;
}
