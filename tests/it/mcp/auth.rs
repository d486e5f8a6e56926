//! Servers that want people to sign in: who is let in, what is kept of it, and what nobody gets to see.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use super::{
    issuer::{Issuer, get, sent_to},
    *,
};

fn signing_house(script: &Script, issuer: &Issuer) -> House {
    house(script, "plain").settings(&json!({ "mcpServers": { "s": { "url": issuer.url } } }))
}

/// Goes where a person is sent, and comes back.
async fn sign_in(client: &mut Client) {
    let begun = client.call("mcp/login", json!({ "server": "s" })).await;
    let back = sent_to(begun["url"].as_str().unwrap()).await;
    let page = get(&back).await;
    assert!(page.contains("You are signed in"), "{page}");
    let over = client.call("mcp/login", json!({ "server": "s", "waitMs": 60_000 })).await;
    assert_eq!(over["state"], "done", "{over}");
}

fn files(house: &House) -> Vec<PathBuf> {
    let Ok(folder) = fs::read_dir(house.dir.path().join("state/mcp-auth")) else { return Vec::new() };
    folder.map(|it| it.unwrap().path()).collect()
}

#[tokio::test]
async fn somebody_signs_in_and_the_server_is_used_also_by_the_next_daemon() {
    let issuer = Issuer::start().await;
    let script = calling(&[("mcp.s.whoami", json!({}))]);
    let house = signing_house(&script, &issuer);
    let running = house.boot().await;
    let mut client = running.client();
    let status = client.call("mcp/connect", json!({ "server": "s" })).await;
    assert_eq!(status["state"], "failed", "{status}");
    assert!(status["reason"].as_str().unwrap().contains("subagent mcp login s"), "{status}");
    sign_in(&mut client).await;
    client.until("mcp/status", json!({ "server": "s" }), |it| it["servers"][0]["state"] == "ready").await;
    assert_eq!(run(&running).await["reason"], "GOAL");
    // The server told the token, and nobody is told.
    let end = ends(&running).await;
    assert!(text(&end[0]).starts_with("you are [redacted:"), "{end:?}");
    let [file]: [PathBuf; 1] = files(&house).try_into().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    assert!(fs::read_to_string(&file).unwrap().contains("access-token-number-1"));
    let status = client.call("mcp/status", json!({})).await.to_string();
    let shown = client.call("config/get", json!({})).await.to_string();
    let log = serde_json::to_string(&running.log().await).unwrap();
    for text in [&status, &shown, &log] {
        assert!(!text.contains("token-number"), "{text}");
    }
    drop(client);
    running.stop().await;

    let running = house.boot().await;
    let mut client = running.client();
    let status = client.call("mcp/connect", json!({ "server": "s" })).await;
    assert_eq!(status["state"], "ready", "{status}");
    assert_eq!(issuer.count("POST /token"), 1);
    let out = client.call("mcp/logout", json!({ "server": "s" })).await;
    assert_eq!((&out["wasSignedIn"], &out["revoked"]), (&json!(true), &json!(true)));
    assert!(files(&house).is_empty());
    let status = client.call("mcp/connect", json!({ "server": "s" })).await;
    assert_eq!(status["state"], "failed", "{status}");
    let out = client.call("mcp/logout", json!({ "server": "s" })).await;
    assert_eq!(out["wasSignedIn"], false);
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn a_token_is_renewed_before_it_ends_and_once_when_it_is_refused() {
    let issuer = Issuer::start().await;
    let script = calling(&[("mcp.s.whoami", json!({}))]);
    let (house, clock) = signing_house(&script, &issuer).manual_clock();
    let running = house.boot().await;
    let mut client = running.client();
    sign_in(&mut client).await;
    client.until("mcp/status", json!({ "server": "s" }), |it| it["servers"][0]["state"] == "ready").await;
    let refused = issuer.refused();
    issuer.desk().access.clear();
    assert_eq!(run(&running).await["reason"], "GOAL");
    assert_eq!((issuer.refused(), issuer.count("POST /token")), (refused + 1, 2));
    // Half a minute before it ends the next one is there before anybody is refused.
    clock.advance(Duration::from_secs(3_570));
    script.replace([Reply::calls(&[("mcp.s.whoami", json!({}))]), Reply::done("done")]);
    assert_eq!(run(&running).await["reason"], "GOAL");
    assert_eq!((issuer.refused(), issuer.count("POST /token")), (refused + 1, 3));
    let [file]: [PathBuf; 1] = files(&house).try_into().unwrap();
    assert!(fs::read_to_string(file).unwrap().contains("refresh-token-number-3"));
    // The server said each token; the run that got it had begun before it was there.
    let log = serde_json::to_string(&running.log().await).unwrap();
    assert!(log.contains("[redacted") && !log.contains("token-number"), "a token stands in the log");
    // One that is taken back is a matter for the person.
    issuer.desk().access.clear();
    issuer.desk().refresh = None;
    script.replace([Reply::calls(&[("mcp.s.whoami", json!({}))]), Reply::done("done")]);
    let mut other = running.client();
    let record = passing(&clock, &mut other, Duration::from_secs(1), run(&running)).await;
    assert_eq!(record["reason"], "GOAL");
    assert_eq!(kind(ends(&running).await.last().unwrap()), "MCP_TOOL_ERROR");
    let params = json!({ "server": "s", "workspace": running.work() });
    let failed = client.until("mcp/status", params, |it| it["servers"][0]["state"] == "failed");
    let status = passing(&clock, &mut other, Duration::from_secs(1), failed).await;
    assert!(status["servers"][0]["reason"].as_str().unwrap().contains("mcp login s"), "{status}");
    assert!(files(&house).is_empty());
    drop((client, other));
    running.stop().await;
}

#[tokio::test]
async fn nobody_is_sent_to_whom_the_server_cannot_vouch_for() {
    let issuer = Issuer::start().await;
    let running = signing_house(&calling(&[]), &issuer).boot().await;
    let mut client = running.client();
    for (mode, why) in [
        ("open", "does not ask for a sign-in"),
        ("wrong-resource", "that of another server"),
        ("plain", "tokens may not be sent to this URL"),
        ("wrong-issuer", "issuer mismatch"),
        ("token-elsewhere", "token_endpoint is at another origin"),
        ("plain-authorize", "tokens may not be sent to this URL"),
        ("no-pkce", "does not support PKCE"),
        ("huge", "larger than 256 KiB"),
        ("redirects", "points elsewhere"),
    ] {
        issuer.desk().mode = mode;
        let (kind, error) = client.refused("mcp/login", json!({ "server": "s" })).await;
        let message = error["message"].as_str().unwrap();
        assert!(kind == "CONFLICT" && message.contains(why), "{mode}: {message}");
    }
    assert_eq!((issuer.count("POST /register"), issuer.count("GET /elsewhere")), (0, 0));
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn who_comes_back_must_know_what_only_this_login_knows() {
    let issuer = Issuer::start().await;
    let (house, clock) = signing_house(&calling(&[]), &issuer).manual_clock();
    let running = house.boot().await;
    let mut client = running.client();
    let begun = client.call("mcp/login", json!({ "server": "s" })).await;
    let url = begun["url"].as_str().unwrap().to_owned();
    let back = sent_to(&url).await;
    let state = back.split("state=").nth(1).unwrap().split('&').next().unwrap().to_owned();
    for wrong in [
        back.replace(&state, "guessed"),
        back.replace("/callback?", "/callback/x?"),
        back.replace("/callback?", "/?"),
        back.replace("state=", "state=twice&state="),
        back.split('?').next().unwrap().to_owned(),
    ] {
        assert!(get(&wrong).await.starts_with("HTTP/1.1 400 "), "{wrong}");
    }
    let waiting = client.call("mcp/login", json!({ "server": "s", "waitMs": 0 })).await;
    assert_eq!(waiting["state"], "waiting");
    // Who knows it, and is somebody else all the same, ends it.
    let elsewhere = back.replace("iss=http", "iss=https");
    assert!(get(&elsewhere).await.contains("did not work"));
    let over = client.call("mcp/login", json!({ "server": "s", "waitMs": 60_000 })).await;
    assert!(over["error"].as_str().unwrap().contains("somebody else"), "{over}");
    assert_eq!(issuer.count("POST /token"), 0);

    let begun = client.call("mcp/login", json!({ "server": "s" })).await;
    let back = sent_to(begun["url"].as_str().unwrap()).await;
    get(&back.replace("code=", "error=access_denied&nothing=")).await;
    let over = client.call("mcp/login", json!({ "server": "s", "waitMs": 60_000 })).await;
    assert!(over["error"].as_str().unwrap().contains("access_denied"), "{over}");

    // The next wish ends the one before; and nobody waits for ever.
    let first = client.call("mcp/login", json!({ "server": "s" })).await;
    let back = sent_to(first["url"].as_str().unwrap()).await;
    client.call("mcp/login", json!({ "server": "s" })).await;
    let port = url::Url::parse(&back).unwrap().port().unwrap();
    while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
        client.settle().await;
    }
    clock.advance(Duration::from_secs(600));
    let over =
        client.until("mcp/login", json!({ "server": "s", "waitMs": 0 }), |it| it["state"] != "waiting").await;
    assert!(over["error"].as_str().unwrap().contains("within 10 minutes"), "{over}");
    drop(client);
    running.stop().await;
}

#[tokio::test]
async fn an_entry_that_says_who_asks_is_taken_at_its_word() {
    let issuer = Issuer::start().await;
    let entry = json!({ "url": issuer.url, "headers": { "authorization": "Bearer of-the-entry" } });
    let house = house(&calling(&[]), "plain").settings(&json!({ "mcpServers": { "s": entry } }));
    let running = house.boot().await;
    let mut client = running.client();
    let (kind, error) = client.refused("mcp/login", json!({ "server": "s" })).await;
    assert!(kind == "CONFLICT" && error["message"].as_str().unwrap().contains("`Authorization`"), "{error}");
    issuer.desk().access.insert("of-the-entry".to_owned());
    let status = client.call("mcp/connect", json!({ "server": "s" })).await;
    assert_eq!(status["state"], "ready", "{status}");
    drop(client);
    running.stop().await;
}
