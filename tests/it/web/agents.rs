//! An agent's file from a URL: fetched by the rules of the web, pinned by its digest, and told when it is something else.

use std::sync::Arc;

use serde_json::{Value, json};
use subagentd::web::{WebNetwork, WebTransport};

use super::{
    net::Net,
    secure::{SITE, ours, serve},
};
use crate::support::House;

const SCOUT: &str = "---\nname: scout\ndescription: Looks.\ntools: Read\n---\nLook.\n";

fn answer(path: &str) -> Vec<u8> {
    let (status, kind, body) = match path {
        "/o/.claude/agents/scout.md?token=geheim" | "/scout.md" => ("200 OK", "text/plain", SCOUT.to_owned()),
        "/page" => ("200 OK", "text/html; charset=utf-8", "<html>".to_owned()),
        "/large.md" => ("200 OK", "text/plain", "x".repeat((1 << 20) + 1)),
        "/text.md" => ("200 OK", "text/plain", "# No agent\n".to_owned()),
        "/closed.md" => ("403 Forbidden", "text/plain", String::new()),
        "/away.md" => {
            return b"HTTP/1.1 302 Found\r\nlocation: https://other.example/x.md?key=geheim\r\ncontent-length: 0\r\n\r\n".to_vec();
        }
        _ => ("404 Not Found", "text/plain", String::new()),
    };
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

#[tokio::test]
async fn a_file_is_brought_in_by_its_digest() {
    let (address, _serving) = serve(SITE, answer).await;
    let net = Net::new()
        .name("secure.example", &["203.0.114.9"])
        .name("other.example", &["203.0.114.9"])
        .name("private.example", &["10.1.2.3"])
        .route("203.0.114.9:443", address);
    let mut house = House::new();
    house.outside = WebTransport { network: Arc::new(net) as Arc<dyn WebNetwork>, authorities: ours() };
    let running = house.boot().await;
    let mut client = running.client();
    let look = |url: &str| json!({ "url": url, "scope": "user", "dryRun": true });
    let url = "https://secure.example/o/.claude/agents/scout.md?token=geheim";
    let looked = client.call("agents/import", look(url)).await;
    let file = &looked["files"][0];
    assert_eq!(
        (&file["name"], &file["outcome"], &file["format"]),
        (&json!("scout"), &json!("written"), &json!("claude"))
    );
    assert_eq!(file["source"], "https://secure.example/o/.claude/agents/scout.md");
    assert_eq!(
        looked["origin"]["url"], "https://secure.example/o/.claude/agents/scout.md?…",
        "no key is told"
    );
    assert_eq!(looked["origin"].get("commit"), None);
    let digest = &looked["origin"]["digest"];
    assert_eq!(*digest, subagentd::trust::digest(SCOUT.as_bytes()), "as sha256sum says");
    let mut asked = json!({ "url": url, "scope": "user", "digest": digest, "idempotencyKey": "bring-it-in" });
    let imported = client.call("agents/import", asked.clone()).await;
    assert_eq!(
        (&imported["files"][0]["outcome"], &imported["origin"]),
        (&json!("written"), &looked["origin"])
    );
    assert_eq!(client.call("agents/import", asked.clone()).await["replayed"], true);
    asked["idempotencyKey"] = Value::Null;
    assert_eq!(client.call("agents/import", asked).await["files"][0]["outcome"], "unchanged");
    for (url, reason, word) in [
        ("https://secure.example/page", "noAgents", "is a web page"),
        ("https://secure.example/large.md", "tooLarge", "1024 KiB"),
        ("https://secure.example/closed.md", "needsPassword", "log in"),
        ("https://secure.example/none.md?key=geheim", "notFound", "is not there"),
        ("https://secure.example/away.md", "moved", "https://other.example/x.md"),
        ("https://other.example/scout.md", "unreachable", "not valid for name"),
        ("https://private.example/scout.md", "refused", "private network"),
        ("https://nowhere.example/scout.md", "noSuchHost", "that nobody knows"),
    ] {
        let (_, error) = client.refused("agents/import", look(url)).await;
        let text = error.to_string();
        assert_eq!(error["data"]["details"]["reason"], reason, "{text}");
        assert!(text.contains(word) && !text.contains("geheim"), "{text}");
        assert!(error["data"]["hint"].is_string(), "{text}");
    }
    // A file that is named is told of, whatever it is.
    let text = client.call("agents/import", look("https://secure.example/text.md")).await;
    assert_eq!(
        (&text["files"][0]["outcome"], &text["files"][0]["problems"][0]["code"]),
        (&json!("rejected"), &json!("NO_FRONT_MATTER"))
    );
    let log = running.log().await;
    assert!(!json!(log).to_string().contains("geheim"));
    running.stop().await;
}
