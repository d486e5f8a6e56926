//! Servers that are added and taken out by request: what becomes of the file, of what is in force, and of a project's trust.

use std::{fs, os::unix::fs::PermissionsExt as _};

use super::*;

/// A house whose agent `user` may use the server `s`, with these settings as somebody typed them.
fn typed(script: &Script, text: &str) -> House {
    let house =
        House::new().script(script).agent("user", &agent("user", "mcp: {servers: [s]}")).rules("all", ALLOW);
    fs::write(&house.sources.files.user, text).unwrap();
    house
}

fn add(name: &str, server: &Value) -> Value {
    json!({ "name": name, "server": server })
}

async fn states(client: &mut Client, params: Value) -> Vec<(String, String)> {
    let listed = client.call("mcp/list", params).await;
    let word = |it: &Value, field: &str| it[field].as_str().unwrap().to_owned();
    listed["servers"].as_array().unwrap().iter().map(|it| (word(it, "name"), word(it, "state"))).collect()
}

#[tokio::test]
async fn a_server_that_is_added_is_in_force_at_once_and_nothing_else_of_the_file_changes() {
    let script = calling(&[("mcp.s.echo", json!({ "text": "hello" }))]);
    let before = "// mine\n{\n  \"run\": { \"maxTurns\": 7 }, // few\n  \"mcpServers\": {\n    // not yet\n    \"old\": { \"command\": \"true\" }\n  }\n}\n";
    let house = typed(&script, before);
    let file = house.sources.files.user.clone();
    let running = house.boot().await;
    let mut client = running.client();
    let key = json!("add-s-once");
    let mut params = add("s", &server::entry("plain"));
    params["idempotencyKey"] = key.clone();
    let added = client.call("mcp/add", params.clone()).await;
    assert_eq!((&added["scope"], &added["path"]), (&json!("user"), &json!(file)));
    let text = fs::read_to_string(&file).unwrap();
    for line in [
        "// mine",
        "\"run\": { \"maxTurns\": 7 }, // few",
        "// not yet",
        "\"old\": { \"command\": \"true\" }",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    let record = run(&running).await;
    assert_eq!(record["reason"], "GOAL");
    assert_eq!(super::text(&ends(&running).await[0]), "hello");
    let log = running.log().await;
    let changed: Vec<&Value> = log.iter().filter(|event| event["type"] == "config.changed").collect();
    assert_eq!(changed.len(), 1);
    assert_eq!(changed[0]["seq"], added["seq"]);
    assert!(changed[0]["data"]["changed"].as_array().unwrap().contains(&json!("mcpServers")));
    // The same request again has no second effect, also in the next daemon.
    drop(client);
    running.stop().await;
    fs::write(&file, before).unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    let again = client.call("mcp/add", params.clone()).await;
    assert_eq!((&again["replayed"], &again["seq"]), (&json!(true), &added["seq"]));
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    params["force"] = json!(true);
    let (kind, _) = client.refused("mcp/add", params).await;
    assert_eq!(kind, "IDEMPOTENCY_CONFLICT");
    let removed = client.call("mcp/remove", json!({ "name": "old" })).await;
    assert_eq!(removed["path"], json!(file));
    assert_eq!(states(&mut client, json!({})).await, []);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("// few") && !text.contains("old"), "{text}");
    // Each file that was replaced lies in the trash.
    let trash = fs::read_dir(house.dir.path().join("state/trash/settings")).unwrap();
    assert_eq!(trash.count(), 2);
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn another_entry_stays_without_force_and_a_file_with_mistakes_in_any_case() {
    let script = calling(&[]);
    let house = typed(&script, "{\"mcpServers\": {\"s\": {\"command\": \"mine\"}}}");
    let file = house.sources.files.user.clone();
    let running = house.boot().await;
    let mut client = running.client();
    let other = json!({ "command": "other" });
    let (kind, _) = client.refused("mcp/add", add("s", &other)).await;
    assert_eq!(kind, "ALREADY_EXISTS");
    let odd = json!({ "url": "https://a.example/", "oauth": { "clientId": "a b", "scope": [] }, "env": {} });
    let (kind, error) = client.refused("mcp/add", add("odd", &odd)).await;
    let message = error["message"].as_str().unwrap();
    let is_told = |told: &&str| message.contains(*told);
    assert_eq!(kind, "INVALID_PARAMS");
    assert!(["`clientId`", "`scope`", "/server/env"].iter().all(is_told), "{message}");
    assert!(fs::read_to_string(&file).unwrap().contains("mine"));
    let mut forced = add("s", &other);
    forced["force"] = json!(true);
    client.call("mcp/add", forced.clone()).await;
    assert_eq!(fs::read_to_string(&file).unwrap().matches("other").count(), 1);
    for (wrong, place) in
        [("{\"mcpServers\": {}, \"run\": {\n\"maxTurns\": \"many\"}}", ":2:13"), ("{\n]", ":2:1")]
    {
        fs::write(&file, wrong).unwrap();
        for method in ["mcp/add", "mcp/remove"] {
            let params = if method == "mcp/add" { forced.clone() } else { json!({ "name": "s" }) };
            let (kind, error) = client.refused(method, params).await;
            if kind == "NOT_FOUND" {
                continue;
            }
            assert_eq!(kind, "CONFLICT");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains(place), "{message}");
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), wrong);
    }
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn new_settings_are_for_their_owner_alone_and_secrets_in_them_are_warned_of() {
    let house = House::new();
    let file = house.sources.files.user.clone();
    let running = house.boot().await;
    let mut client = running.client();
    let server = json!({ "command": "x", "env": {
        "API_TOKEN": "5up3r-s3cr3t-thing", "OTHER_TOKEN": "${OTHER}", "LEVEL": "debug",
    } });
    let added = client.call("mcp/add", add("a", &server)).await;
    let warnings = added["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let warning = warnings[0].as_str().unwrap();
    assert!(warning.contains("`API_TOKEN`") && !warning.contains("5up3r"), "{warning}");
    let headers = json!({ "Authorization": "Bearer x", "X-Level": "1", "Cookie": "${COOKIE}" });
    let far = json!({ "url": "https://example.com/mcp", "headers": headers });
    let added = client.call("mcp/add", add("b", &far)).await;
    assert_eq!(added["warnings"].as_array().unwrap().len(), 1, "{added}");
    let mode = fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let log = serde_json::to_string(&running.log().await).unwrap();
    assert!(!log.contains("5up3r"), "{log}");
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn what_is_added_to_a_project_counts_only_where_all_of_its_file_was_read() {
    let script = calling(&[]);
    let house = typed(&script, "{}");
    let running = house.boot().await;
    let mut client = running.client();
    let work = running.work().to_owned();
    let here = json!({ "workspace": work });
    let file = work.join(".subagentd/settings.json");
    let of_project = |name: &str| {
        let mut params = add(name, &server::entry("plain"));
        params["scope"] = json!("project");
        params["workspace"] = json!(work);
        params
    };
    // Whoever wrote all of it has read it, which makes no workspace trusted.
    let added = client.call("mcp/add", of_project("s")).await;
    assert!(added["warnings"][0].as_str().unwrap().contains("subagent trust"), "{added}");
    assert_eq!(states(&mut client, here.clone()).await, [("s".to_owned(), "untrusted".to_owned())]);
    let opened = client.call("workspace/open", here.clone()).await;
    let files = opened["workspace"]["files"].as_array().unwrap();
    assert_eq!((files.len(), &files[0]["acknowledged"]), (1, &json!(true)));
    let named = json!([{ "path": files[0]["path"], "digest": files[0]["digest"] }]);
    client.call("workspace/trust", json!({ "workspace": work, "trusted": true, "files": named })).await;
    let added = client.call("mcp/add", of_project("t")).await;
    assert_eq!(added["warnings"], Value::Null, "{added}");
    let both = [("s".to_owned(), "idle".to_owned()), ("t".to_owned(), "idle".to_owned())];
    assert_eq!(states(&mut client, here.clone()).await, both);
    // What somebody else put into it is not acknowledged along with the next one.
    let text = fs::read_to_string(&file).unwrap();
    fs::write(
        &file,
        text.replacen("\"mcpServers\": {", "\"mcpServers\": { \"evil\": {\"command\": \"sh\"},", 1),
    )
    .unwrap();
    let added = client.call("mcp/add", of_project("u")).await;
    assert!(added["warnings"][0].as_str().unwrap().contains("subagent trust"), "{added}");
    assert_eq!(added["seq"], Value::Null);
    let now = states(&mut client, here.clone()).await;
    assert!(now.len() == 4 && now.iter().all(|(_, state)| state == "untrusted"), "{now:?}");
    // Only the people may say these, and nobody writes through a link.
    let mut wide = of_project("v");
    wide["server"]["network"] = json!(true);
    assert_eq!(client.refused("mcp/add", wide).await.0, "INVALID_PARAMS");
    fs::rename(&file, work.join("elsewhere.json")).unwrap();
    std::os::unix::fs::symlink(work.join("elsewhere.json"), &file).unwrap();
    assert_eq!(client.refused("mcp/add", of_project("w")).await.0, "CONFLICT");
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_template_that_is_written_works_once_it_is_added() {
    let script = calling(&[("mcp.words.word_count", json!({ "text": "one two three" }))]);
    let house = typed(&script, "{}").agent("user", &agent("user", "mcp: {servers: [words]}"));
    let running = house.boot().await;
    let mut client = running.client();
    let path = running.work().join("words.py");
    let written = client.call("mcp/template", json!({ "path": path })).await;
    assert_eq!((&written["name"], &written["path"]), (&json!("words"), &json!(path)));
    assert_eq!(fs::read_to_string(&path).unwrap(), written["text"].as_str().unwrap());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
    let entry: Value = serde_json::from_str(written["entry"].as_str().unwrap()).unwrap();
    client.call("mcp/add", add("words", &entry["words"])).await;
    super::trusted::trust(&mut client, &running).await;
    assert_eq!(run(&running).await["reason"], "GOAL");
    assert_eq!(text(&ends(&running).await[0]), "3");
    // The same once more is no change; another file stays, but for force.
    client.call("mcp/template", json!({ "path": path })).await;
    fs::write(&path, "mine").unwrap();
    assert_eq!(client.refused("mcp/template", json!({ "path": path })).await.0, "ALREADY_EXISTS");
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    client.call("mcp/template", json!({ "path": path, "force": true })).await;
    assert_ne!(fs::read_to_string(&path).unwrap(), "mine");
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn the_daemons_status_tells_servers_that_are_up_or_in_trouble() {
    let script = calling(&[]);
    let house = house(&script, "plain").settings(&json!({ "mcpServers": {
        "s": server::entry("plain"), "bad": { "command": "no-such-program-anywhere" }, "unused": { "command": "x" },
    } }));
    let running = house.boot().await;
    let mut client = running.client();
    let work = running.work().to_owned();
    for name in ["s", "bad"] {
        client.call("mcp/connect", json!({ "server": name, "workspace": work })).await;
    }
    let is_told = |status: &Value| {
        status["mcpServers"]
            .as_array()
            .is_some_and(|it| it.len() == 2 && it.iter().all(|it| it["state"] != "connecting"))
    };
    let status = client.until("daemon/status", json!({}), is_told).await;
    let servers = status["mcpServers"].as_array().unwrap();
    assert_eq!((&servers[0]["name"], &servers[1]["name"]), (&json!("bad"), &json!("s")));
    assert_eq!((&servers[1]["state"], &servers[1]["workspace"][0]), (&json!("ready"), &json!(work)));
    let degraded: Vec<&str> =
        status["degraded"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    assert!(degraded.iter().any(|it| it.starts_with("the MCP server bad of ")), "{degraded:?}");
    client.call("mcp/disconnect", json!({ "server": "s", "workspace": work })).await;
    client
        .until("daemon/status", json!({}), |status| status["mcpServers"].as_array().unwrap().len() == 1)
        .await;
    // One that nobody has any more is no trouble.
    client.call("mcp/remove", json!({ "name": "bad" })).await;
    let status = client.call("daemon/status", json!({})).await;
    assert_eq!((&status["mcpServers"], &status["degraded"]), (&Value::Null, &json!([])));
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn an_agent_that_names_a_server_nobody_has_is_made_with_a_warning() {
    let script = calling(&[]);
    let running = house(&script, "plain").boot().await;
    let mut client = running.client();
    let definition =
        json!({ "name": "made", "description": "d", "prompt": "p", "mcp": { "servers": ["s", "gone"] } });
    let made = client.call("agents/create", json!({ "definition": definition, "scope": "user" })).await;
    let problems = made["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 1, "{made}");
    assert_eq!(problems[0]["code"], "UNKNOWN_SERVER");
    let got = client.call("agents/get", json!({ "name": "made" })).await;
    assert_eq!(got["definition"]["mcp"]["servers"], json!(["s", "gone"]));
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn an_agent_that_begins_as_a_template_has_the_tools_of_the_servers_that_were_named() {
    let script = calling(&[("mcp.s.echo", json!({ "text": "heard" }))]);
    let running = house(&script, "plain").boot().await;
    let mut client = running.client();
    let fields = json!({ "name": "made", "description": "d", "mcp": { "servers": ["s"] } });
    let params = json!({ "template": "blank", "definition": fields, "scope": "user" });
    let made = client.call("agents/create", params).await;
    assert_eq!(made["problems"], Value::Null, "{made}");
    let (run, _) = client.start(&running, "made", json!({})).await;
    assert_eq!(client.ended(&run).await["reason"], "GOAL");
    assert_eq!(text(&ends(&running).await[0]), "heard");
    drop(client);
    running.stop().await;
}
