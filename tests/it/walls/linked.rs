//! Where a link in a folder that other programs go by leads is theirs as well, asked by the socket as a client asks.

use serde_json::{Value, json};

use super::*;
use crate::support::{self, Reply, Script};

const AGENT: &str =
    "---\nkind: agent\nname: writer\ndescription: Writes.\ncompletion: tool\ntools: ['*']\n---\nYou write.\n";

/// Links as people lay them, and the files of their own that these lead to.
const LINKS: &[(&str, &str)] = &[
    (".git/hooks/pre-commit", "scripts/pc"),
    (".husky/pre-commit", "scripts/hk"),
    (".vscode/tasks.json", "conf/tasks.json"),
    (".claude/settings.json", "conf/claude.json"),
    (".claude/agents/a.md", "conf/a.md"),
    (".devcontainer/devcontainer.json", "conf/dc.json"),
    (".cargo/config.toml", "conf/cargo.toml"),
    (".github/hooks/x.json", "conf/gh.json"),
    (".config/mise/config.toml", "conf/mise.toml"),
    (".idea/workspace.xml", "conf/idea.xml"),
    (".zed/tasks.json", "conf/zed.json"),
    (".gemini/settings.json", "conf/gem.json"),
    (".git/info/attributes", "conf/attr"),
    (".mvn/jvm.config", "conf/jvm"),
    (".yarn/releases/yarn.cjs", "conf/yarn.cjs"),
    (".subagentd/agents/a.md", "conf/ag.md"),
    (".agents/skills/x/SKILL.md", "conf/skill.md"),
    (".envrc", "conf/envrc"),
    (".cursor/hooks.json", "conf/cursor.json"),
    (".codex/config.toml", "conf/codex"),
    (".mcp.json", "conf/mcp.json"),
];

#[tokio::test]
async fn what_links_within_such_folders_lead_to_is_high_to_write() {
    let house = support::House::new().script(&Script::new(vec![Reply::done("done")])).agent("writer", AGENT);
    let work = house.work();
    for name in ["objects", "refs", "hooks", "info"] {
        fs::create_dir_all(work.join(".git").join(name)).unwrap();
    }
    fs::write(work.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    for (link, end) in LINKS {
        for name in [link, end] {
            fs::create_dir_all(work.join(name).parent().unwrap()).unwrap();
        }
        fs::write(work.join(end), "x\n").unwrap();
        symlink(work.join(end), work.join(link)).unwrap();
    }
    fs::write(work.join("conf/plain"), "x\n").unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    let mut wrong = Vec::new();
    for (end, expected) in LINKS.iter().map(|(_, end)| (*end, "high")).chain([("conf/plain", "")]) {
        let calls: [(&str, Value); 3] = [
            ("write_file", json!({ "path": end, "content": "y" })),
            ("run_shell_command", json!({ "command": format!("echo y > {end}") })),
            ("run_shell_command", json!({ "command": format!("cp conf/plain {end}") })),
        ];
        for (tool, arguments) in calls {
            let params =
                json!({ "tool": tool, "arguments": arguments, "workspace": work, "agent": "writer" });
            let risk = client.call("policy/check", params).await["risk"].clone();
            let is_high = risk == "high" || risk == "critical";
            if is_high != (expected == "high") {
                wrong.push(format!("{tool} {arguments}: {risk}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    drop(client);
    running.stop().await;
}
