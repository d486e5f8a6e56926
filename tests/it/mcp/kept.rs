//! What becomes of files that other programs run by themselves, when a server writes them at a call?

use std::fs;

use serde_json::{Value, json};

use super::{ALLOW, agent, calling, ends, run, server};
use crate::{
    sandbox::mechanisms,
    support::{House, confined_by},
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
