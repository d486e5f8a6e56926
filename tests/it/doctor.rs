//! Does `daemon/doctor` find what is wrong, and does the companion tell it?

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use serde_json::{Value, json};
use subagentd::sandbox::TEMPORARY;

use crate::{
    built,
    process::{Home, output, text},
    support::{House, Running},
};

/// The check of this name, and whether nothing failed.
async fn check(running: &Running, name: &str) -> (Value, bool) {
    let answer = running.client().call("daemon/doctor", json!({})).await;
    let found = answer["checks"].as_array().unwrap().iter().find(|check| check["name"] == name);
    (found.unwrap_or_else(|| panic!("no check {name}: {answer}")).clone(), answer["ok"].as_bool().unwrap())
}

async fn assert_found(running: &Running, name: &str, state: &str, words: &str) {
    let (found, ok) = check(running, name).await;
    assert_eq!(found["state"], state, "{found}");
    assert!(text(&found, "message").contains(words), "{found}");
    assert_eq!(ok, state != "failed", "{found}");
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn whatever_is_wrong_is_found_and_what_is_mended_is_well() {
    let house = House::new();
    let running = house.boot().await;
    let state = house.dir.path().join("state");
    assert_found(&running, "database", "ok", "is whole").await;
    assert_found(&running, "model", "warning", "no default model").await;
    // Tests share a process, which the program itself does not.
    assert_found(&running, "callers", "warning", "shares its process").await;

    set_mode(&state, 0o750);
    assert_found(&running, "disk", "failed", "open to others (mode 0750)").await;
    let (found, _) = check(&running, "disk").await;
    assert_eq!(found["hint"], format!("chmod 700 {}", state.display()));
    set_mode(&state, 0o700);
    let (found, ok) = check(&running, "disk").await;
    assert!(found["state"] != "failed" && ok, "{found}");

    fs::write(state.join("token"), "x").unwrap();
    set_mode(&state.join("token"), 0o644);
    assert_found(&running, "token", "failed", "is open to others (mode 0644)").await;
    fs::remove_file(state.join("token")).unwrap();
    assert_found(&running, "token", "ok", "TCP is off").await;

    let agents = house.dir.path().join("agents");
    fs::create_dir_all(&agents).unwrap();
    fs::write(agents.join("odd.md"), "---\nkind: agent\nname: odd\nrun: { maxTurns: many }\n---\nx\n")
        .unwrap();
    assert_found(&running, "agents", "failed", "odd.md").await;
    fs::remove_file(agents.join("odd.md")).unwrap();
    assert_found(&running, "agents", "ok", "can be run").await;

    let settings = house.dir.path().join("settings.json");
    fs::write(&settings, "{").unwrap();
    assert_found(&running, "hooks", "failed", "cannot be read, so what they may guard is refused").await;
    fs::write(&settings, "{}").unwrap();
    assert_found(&running, "hooks", "ok", "no hook is on").await;

    let policies = house.dir.path().join("policies");
    fs::write(&settings, r#"{"run": {"maxTurns": "many"}, "models": {"default": "nobody/knows"}}"#).unwrap();
    running.client().call("daemon/reload", json!({})).await;
    assert_found(&running, "settings", "failed", "run.maxTurns").await;
    assert_found(&running, "model", "failed", "nobody/knows").await;
    fs::write(&settings, r#"{"models": {"default": "offline"}}"#).unwrap();
    fs::create_dir_all(&policies).unwrap();
    fs::write(policies.join("odd.toml"), "[[rule]]\ncolour = 1\n").unwrap();
    running.client().call("daemon/reload", json!({})).await;
    assert_found(&running, "settings", "failed", "odd.toml").await;
    fs::remove_file(policies.join("odd.toml")).unwrap();
    running.client().call("daemon/reload", json!({})).await;
    assert_found(&running, "settings", "ok", "without a mistake").await;
    assert_found(&running, "model", "ok", "offline is there").await;
    running.stop().await;
}

#[tokio::test]
async fn a_web_search_that_lacks_its_key_or_address_is_found() {
    let house = House::new();
    let settings = house.sources.files.user.clone();
    let running = house.boot().await;
    assert_found(&running, "webSearch", "ok", "tools.webSearch.backend is not set").await;
    for (search, state, words) in [
        (json!({ "backend": "brave", "key": { "env": "NO_SUCH_KEY" } }), "warning", "NO_SUCH_KEY is not set"),
        (json!({ "backend": "tavily" }), "warning", "(tools.webSearch.key) is not set"),
        (json!({ "backend": "searxng" }), "warning", "tools.webSearch.url must say"),
        (json!({ "backend": "searxng", "url": "http://127.0.0.1:9" }), "ok", "searxng is asked"),
        (json!({ "backend": "gemini" }), "warning", "neither models.small nor models.default is one"),
    ] {
        fs::write(&settings, json!({ "tools": { "webSearch": search } }).to_string()).unwrap();
        let reloaded = running.client().call("daemon/reload", json!({})).await;
        assert_eq!(reloaded["problems"], json!([]), "{search}");
        assert_found(&running, "webSearch", state, words).await;
    }
    assert_found(&running, "programs", "ok", "pdftotext").await;
    running.stop().await;
}

#[tokio::test]
async fn an_exclusion_that_means_no_tool_is_the_settings_fault_and_told_once() {
    let house = House::new();
    let settings = house.sources.files.user.clone();
    let running = house.boot().await;
    let exclude = json!({ "tools": { "exclude": ["web_fetchh", "discovered_boom", "mcp.a.b", "grep"] } });
    fs::write(&settings, exclude.to_string()).unwrap();
    let reloaded = running.client().call("daemon/reload", json!({})).await;
    let problems = reloaded["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 1, "{reloaded}");
    assert_eq!((&problems[0]["path"], &problems[0]["severity"]), (&json!(settings), &json!("warning")));
    let message = "`tools.exclude`: `web_fetchh` matches no tool; did you mean `web_fetch`?";
    assert_eq!(problems[0]["message"], message);
    assert_found(&running, "settings", "warning", message).await;
    let work = json!({ "workspace": running.work(), "includeHidden": true });
    let agents = running.client().call("agents/list", work).await.to_string();
    assert!(!agents.contains("web_fetchh") && !agents.contains("discovered_boom"), "{agents}");
    let validated = running.client().call("agents/validate", json!({ "all": true })).await.to_string();
    assert!(!validated.contains("web_fetchh"), "{validated}");
    let listed = running.client().call("tools/list", json!({ "workspace": running.work() })).await;
    let warning = "the setting tools.exclude: `web_fetchh` matches no tool; did you mean `web_fetch`?";
    assert_eq!(listed["warnings"], json!([warning]));
    running.stop().await;
}

#[tokio::test]
async fn a_required_sandbox_that_the_profile_takes_away_is_a_failure() {
    let house = House::new();
    let settings = &house.sources.files.user;
    let running = house.boot().await;
    for (sandbox, state, words) in [
        (json!({ "profile": "full", "required": true }), "failed", "no command can be run"),
        (json!({ "profile": "full" }), "warning", "not confined"),
    ] {
        fs::write(settings, json!({ "sandbox": sandbox }).to_string()).unwrap();
        running.client().call("daemon/reload", json!({})).await;
        assert_found(&running, "sandbox", state, words).await;
    }
    fs::write(settings, json!({ "sandbox": { "profile": "full", "required": true } }).to_string()).unwrap();
    running.client().call("daemon/reload", json!({})).await;
    let (found, _) = check(&running, "sandbox").await;
    assert_eq!(
        text(&found, "hint"),
        "set `sandbox.profile` to `workspaceWrite`, or `sandbox.required` to false"
    );
    running.stop().await;
}

#[tokio::test]
async fn the_companion_tells_what_was_found_and_what_to_do() {
    let home = Home::new();
    let none = output(&mut home.companion(&["--no-spawn", "doctor"])).await;
    assert_eq!(none.code, Some(69), "{}", none.stderr);
    let served = home.start().await;
    let told = output(&mut home.companion(&["doctor"])).await;
    assert_eq!(told.code, Some(0), "{} {}", told.stdout, told.stderr);
    for line in [
        "warning  model: no default model",
        "    hint: set `models.default`",
        "ok  callers: only your own programs can connect, nothing that an agent starts\n",
        "is whole\n",
    ] {
        assert!(told.stdout.contains(line), "{line}: {}", told.stdout);
    }
    // The tests' home lies below /tmp mostly, of which bubblewrap shows commands another one.
    let own = home.work();
    let own = own.parent().unwrap();
    let unseen = format!("but your home {} lies below", own.display());
    let is_unseen = built::bubblewrap().is_some() && TEMPORARY.iter().any(|place| own.starts_with(place));
    assert_eq!(told.stdout.contains(&unseen), is_unseen, "{}", told.stdout);
    // What is well is not said in words of what is missing.
    let is_odd = |line: &&str| line.starts_with("ok") && line.contains("not installed");
    assert_eq!(told.stdout.lines().find(is_odd), None);
    set_mode(&home.state_dir(), 0o755);
    let told = output(&mut home.companion(&["doctor"])).await;
    assert_eq!(told.code, Some(1), "{} {}", told.stdout, told.stderr);
    assert!(told.stdout.contains("failed  disk: "), "{}", told.stdout);
    set_mode(&home.state_dir(), 0o700);
    served.stop().await;
}

/// A daemon that is killed while it tries the sandbox leaves the folders it tried it in.
#[tokio::test]
async fn what_a_killed_daemon_tried_the_sandbox_in_is_taken_away_and_no_other() {
    let make = |name: &str| {
        let folder = std::env::temp_dir().join(format!("subagentd-doctor-{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join("workspace")).unwrap();
        folder
    };
    let (left, used) = (make("left"), make("used"));
    let lock = fs::File::open(&used).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let house = House::new();
    let running = house.boot().await;
    check(&running, "sandbox").await;
    assert!(!left.exists() && used.join("workspace").exists());
    running.stop().await;
    drop(lock);
    fs::remove_dir_all(used).unwrap();
}
