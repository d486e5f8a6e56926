//! What becomes of files that other programs run by themselves, when a server writes them at a call?

use std::fs;

use serde_json::{Value, json};

use super::{ALLOW, agent, calling, ends, run, server};
use crate::{
    sandbox::mechanisms,
    support::{House, Script, confined_by},
};

fn said(end: &Value) -> String {
    let parts = end["result"]["llmContent"].as_array().unwrap().iter();
    parts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_server_writes_ordinary_files_and_what_programs_run_by_themselves_stays_as_it_was() {
    for mechanism in mechanisms() {
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().canonicalize().unwrap().join("work");
        let put = |path: &str| ("mcp.s.put", json!({ "path": work.join(path), "text": "evil" }));
        let calls =
            [put("plain.txt"), put(".envrc"), put(".vscode/tasks.json"), put(".git/hooks/pre-commit")];
        let script = calling(&calls);
        let mut house = House::in_folder(folder)
            .script(&script)
            .agent("user", &agent("user", "mcp: {servers: [s]}"))
            .rules("all", ALLOW)
            .settings(&json!({ "mcpServers": { "s": server::entry("writes") } }))
            .file(".vscode/tasks.json", "{}")
            .file(".git/HEAD", "ref: refs/heads/main\n")
            .file(".git/objects/x", "")
            .file(".git/refs/x", "")
            .file(".git/hooks/x.sample", "");
        let home = house.dir.path().canonicalize().unwrap();
        house.sandbox = confined_by(&home, mechanism.clone());
        let running = house.boot().await;
        assert_eq!(run(&running).await["reason"], "GOAL", "{mechanism:?}");
        let said: Vec<String> = ends(&running).await.iter().map(said).collect();
        assert_eq!(fs::read_to_string(work.join("plain.txt")).unwrap(), "evil", "{mechanism:?}: {said:?}");
        assert_eq!(said[0], "written", "{mechanism:?}");
        assert!(!work.join(".envrc").exists(), "{mechanism:?}: {said:?}");
        assert!(said[1].contains("`.envrc` came to be"), "{mechanism:?}: {said:?}");
        let tasks = fs::read_to_string(work.join(".vscode/tasks.json")).unwrap();
        assert_eq!(tasks, "{}", "{mechanism:?}: {said:?}");
        assert!(!work.join(".git/hooks/pre-commit").exists(), "{mechanism:?}: {said:?}");
        running.stop().await;
    }
}

/// A server writes when it starts, and whenever it likes.
#[tokio::test]
async fn a_server_stands_still_while_nobody_asks_it_for_anything() {
    for mechanism in mechanisms() {
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().canonicalize().unwrap().join("work");
        let echo = |text: &str| ("mcp.s.echo", json!({ "text": text }));
        let script = calling(&[echo("one"), echo("two")]);
        let kept = [".envrc", ".vscode/tasks.json", ".git/hooks/pre-commit"].map(|path| work.join(path));
        let plain = work.join("plain.txt");
        let places = [kept.as_slice(), std::slice::from_ref(&plain)].concat();
        let mut house = house_of_repository(folder, &script, &server::between(&places));
        let home = house.dir.path().canonicalize().unwrap();
        house.sandbox = confined_by(&home, mechanism.clone());
        let running = house.boot().await;
        assert_eq!(run(&running).await["reason"], "GOAL", "{mechanism:?}");
        let said: Vec<String> = ends(&running).await.iter().map(said).collect();
        assert!(said[0].starts_with("one") && said[1].starts_with("two"), "{mechanism:?}: {said:?}");
        let states = server::states_between(&plain);
        assert!(3 <= states.len() && states.chars().all(|it| "TtZ".contains(it)), "{mechanism:?}: {states}");
        for path in kept {
            assert!(!path.exists(), "{mechanism:?}: {}: {said:?}", path.display());
        }
        assert_eq!(fs::read_to_string(plain).unwrap(), "evil", "{mechanism:?}");
        running.stop().await;
    }
}

/// A person says of a server that it works between calls; a project cannot.
#[tokio::test]
async fn a_server_goes_on_between_calls_where_a_person_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().canonicalize().unwrap().join("work/plain.txt");
    let script = calling(&[("mcp.s.echo", json!({ "text": "one" }))]);
    let mut entry = server::between(std::slice::from_ref(&plain));
    entry["background"] = true.into();
    let house = house_of_repository(folder, &script, &entry)
        .file(".subagentd/settings.json", json!({ "mcpServers": { "t": entry } }).to_string());
    let running = house.boot().await;
    assert_eq!(run(&running).await["reason"], "GOAL");
    let states = server::states_between(&plain);
    assert!(states.chars().any(|it| "RS".contains(it)), "{states}");
    let opened = running.client().call("workspace/open", json!({ "workspace": running.work() })).await;
    let problems = opened["workspace"]["problems"].to_string();
    assert!(
        problems.contains("only your own settings may say `network`, `autoStart` or `background`"),
        "{opened}"
    );
    running.stop().await;
}

fn house_of_repository(folder: tempfile::TempDir, script: &Script, entry: &Value) -> House {
    House::in_folder(folder)
        .script(script)
        .agent("user", &agent("user", "mcp: {servers: [s]}"))
        .rules("all", ALLOW)
        .settings(&json!({ "mcpServers": { "s": entry } }))
        .file(".vscode/x", "")
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file(".git/objects/x", "")
        .file(".git/refs/x", "")
        .file(".git/hooks/x.sample", "")
}
