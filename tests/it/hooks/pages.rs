//! Does a guard written for Claude Code, whose tool reads one page a call, see each page of a call that reads several?

use super::*;

const READER: &str = "---
kind: agent
name: worker
description: Reads the web.
completion: tool
tools: [web_fetch]
---
You read.
";

/// Notes each address, and refuses the ones of this host.
const GUARD: &str = r#"#!/bin/sh
url=$(sed 's/.*"tool_input":{[^}]*"url":"\([^"]*\)".*/\1/')
echo "$url" >> "$(dirname "$0")/seen"
case "$url" in *evil.invalid*) echo "not that page" >&2; exit 2;; esac
"#;

async fn guarded(arguments: Value, condition: Option<&str>) -> (Vec<String>, String) {
    let script = Script::new(vec![Reply::calls(&[("web_fetch", arguments)]), Reply::done("ok")]);
    let house = House::new()
        .script(&script)
        .agent("worker", READER)
        .rules("web", "[[rule]]\ntool = \"web_fetch\"\ndecision = \"deny\"\n");
    let guard = house.dir.path().join("guard.sh");
    fs::write(&guard, GUARD).unwrap();
    let mut hook = json!({ "type": "command", "command": format!("sh '{}'", guard.display()) });
    if let Some(condition) = condition {
        hook["if"] = json!(condition);
    }
    let hooks = json!({ "PreToolUse": [{ "matcher": "WebFetch", "hooks": [hook] }] });
    let house = house.settings(&json!({ "hooks": hooks }));
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({})).await;
    client.ended(&run).await;
    running.stop().await;
    let seen = fs::read_to_string(house.dir.path().join("seen")).unwrap_or_default();
    let mut seen: Vec<String> = seen.lines().map(str::to_owned).collect();
    seen.sort();
    (seen, heard(&script))
}

#[tokio::test]
async fn a_guard_sees_each_page_of_a_call() {
    let pages = ["https://evil.invalid/x", "https://good.invalid/x"];
    let cases = [
        json!({ "urls": ["https://good.invalid/x", "https://EVIL.invalid/x"] }),
        json!({ "prompt": "see https://good.invalid/x and https://evil.invalid/x." }),
        json!({ "prompt": "see https://evil.invalid/x", "urls": ["https://good.invalid/x"] }),
    ];
    for arguments in cases {
        let (seen, heard) = guarded(arguments.clone(), None).await;
        assert_eq!(seen, pages, "{arguments}");
        assert!(heard.contains("HOOK_DENIED"), "{arguments}: {heard}");
        assert!(heard.contains("https://evil.invalid/x: not that page"), "{arguments}: {heard}");
    }
}

/// An `if` about a host has the hook asked about the pages that it means.
#[tokio::test]
async fn a_hook_is_asked_about_the_pages_that_its_condition_means() {
    let arguments = json!({ "urls": ["https://good.invalid/x", "https://evil.invalid/x"] });
    let (seen, heard) = guarded(arguments.clone(), Some("WebFetch(domain:evil.invalid)")).await;
    assert_eq!(seen, ["https://evil.invalid/x"]);
    assert!(heard.contains("HOOK_DENIED"), "{heard}");
    let (seen, heard) = guarded(arguments, Some("WebFetch(domain:good.invalid)")).await;
    assert_eq!(seen, ["https://good.invalid/x"]);
    assert!(heard.contains("POLICY_DENIED"), "{heard}");
}
