//! What becomes of files that other programs run by themselves, where a person's hook writes them by code of the workspace?

use super::*;

/// What an agent has `make` do, as a formatter's plugin or a test would.
const MAKEFILE: &str = "fmt:
\t@mkdir -p .vscode .claude/logs
\t@echo MINE > .vscode/tasks.json
\t@echo MINE > .envrc
\t@echo MINE > .claude/settings.json
\t@echo '{}' >> .claude/logs/hooks.jsonl
\t@echo MINE > .claude/logs/run.sh
\t@echo formatted > a.txt
";

/// An agent writes what a confined hook runs, which writes such files: they are put aside, and both are told. What the hook's own words name
/// stays, and so do logs of hooks.
#[tokio::test]
async fn what_a_confined_hook_makes_by_code_of_the_workspace_is_put_aside_and_told() {
    let script = Script::new(vec![write("Makefile", MAKEFILE), write("b.txt", "x"), Reply::done("ok")]);
    let hooks = json!({ "PostToolUse": ["make -s fmt; date > .autoenv; true"] });
    let house = house(&script, &hooks).file(".claude/settings.json", "{}").file("Makefile", "fmt:\n");
    let running = house.boot().await;
    let mut client = running.client();
    let (run, _) = client.start(&running, "worker", json!({})).await;
    client.ended(&run).await;
    let log = running.log().await;
    let work = house.work();
    let text = |name: &str| fs::read_to_string(work.join(name)).unwrap_or_default();
    for gone in [".vscode/tasks.json", ".envrc", ".claude/logs/run.sh"] {
        assert_eq!(text(gone), "", "{gone}");
    }
    assert_eq!(text(".claude/settings.json"), "{}", "what was there is there again");
    assert_eq!(text("a.txt"), "formatted\n");
    assert!(text(".claude/logs/hooks.jsonl").starts_with("{}\n"), "logs of hooks stay");
    assert_ne!(text(".autoenv"), "", "the hook's own words name it");
    let told: Vec<&Value> = log.iter().filter(|it| it["type"] == "hook.fired").collect();
    let message = told.iter().find_map(|it| it["data"]["message"].as_str()).expect("the person is told");
    assert!(message.contains("was not left as it was: `.claude/"), "{message}");
    let asked = format!("{:?}", script.requests());
    for name in [".vscode", ".envrc", ".claude/settings.json", ".claude/logs/run.sh"] {
        assert!(asked.contains(&format!("`{name}`")), "the agent is told of {name}");
    }
    assert!(!asked.contains("hooks.jsonl`") && !asked.contains(".autoenv`"));
    running.stop().await;
}
