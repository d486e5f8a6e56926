//! Files of ours in the folders of other products, and templates among agents (spec 02, "Places and precedence").

use std::fs;

use serde_json::{Value, json};

use crate::{
    manual,
    process::{Ended, Home, output},
    support::House,
};

async fn subagent(home: &Home, arguments: &[&str]) -> Ended {
    output(&mut home.companion(arguments)).await
}

fn write(home: &Home, path: &str, text: &str) {
    let path = home.path(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// As the description of the format has it, but for its name.
fn ours(name: &str) -> String {
    format!(
        "---\nkind: agent\nname: {name}\ntitle: Debug Analyzer 2\ndescription: Finds causes.\nversion: 1.2.0\nscope: user\n\
         color: teal\nmodel: gemini-2.5-pro\ntools:\n  allow: [read_file, mcp.github.list_issues]\nmcp:\n  servers: [github]\n\
         ---\nYou analyse.\n"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_says_it_is_ours_is_read_as_ours_in_gemini_s_folders() {
    let home = Home::new();
    let github = json!({ "mcpServers": { "github": { "command": "github-server" } } });
    write(&home, "config/subagentd/settings.json", &github.to_string());
    write(&home, ".gemini/agents/of-user.md", &ours("of-user"));
    write(
        &home,
        "work/.gemini/agents/of-project.md",
        &ours("of-project").replace("scope: user", "scope: project"),
    );
    for name in ["of-user", "of-project"] {
        let shown = subagent(&home, &["show", name, "--format", "json"]).await;
        let agent: Value = serde_json::from_str(&shown.stdout).unwrap_or_else(|_| panic!("{}", shown.stderr));
        assert_eq!(
            (&agent["format"], &agent["title"], &agent["color"]),
            (&json!("own"), &json!("Debug Analyzer 2"), &json!("teal")),
            "{agent:#}"
        );
        let definition = &agent["definition"];
        assert_eq!(
            (&definition["version"], &definition["mcp"]["servers"]),
            (&json!("1.2.0"), &json!(["github"])),
            "{agent:#}"
        );
        let problems = agent["problems"].to_string();
        assert!(!problems.contains("unknown field") && !problems.contains("scope"), "{problems}");
        let validated = subagent(&home, &["validate", name]).await;
        assert!(!validated.stdout.contains("mcp.servers"), "its server is configured: {}", validated.stdout);
    }
    let listed = subagent(&home, &["list", "--color", "always"]).await;
    let line = listed.stdout.lines().find(|line| line.contains("of-user")).unwrap();
    assert!(line.starts_with("\u{1b}[38;5;30m●\u{1b}[0m of-user"), "{line:?}");
    let shown = subagent(&home, &["show", "of-user"]).await;
    assert!(shown.stdout.contains("\ncolor        teal\n"), "{}", shown.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn templates_among_agents_are_offered_and_those_of_a_workspace_once_it_is_trusted() {
    let home = Home::new();
    let template = |name: &str| {
        ours(name).replace(
            "  allow: [read_file, mcp.github.list_issues]\nmcp:\n  servers: [github]",
            "  allow: [grep]",
        )
    };
    write(&home, "config/subagentd/agents/templates/mine.md", &template("mine"));
    write(&home, ".gemini/agents/templates/shared.md", &template("shared"));
    write(&home, ".claude/agents/templates/theirs.md", "---\nname: theirs\ndescription: d\n---\nNot ours.\n");
    write(&home, "work/.subagentd/agents/templates/house.md", &template("house"));
    write(&home, "work/.subagentd/agents/templates/mine.md", &template("mine"));
    write(
        &home,
        "work/.subagentd/agents/looker.md",
        &template("looker").replace("scope: user", "scope: project"),
    );
    let names = async || {
        let listed = subagent(&home, &["templates", "--format", "json"]).await;
        let listed: Value =
            serde_json::from_str(&listed.stdout).unwrap_or_else(|_| panic!("{}", listed.stderr));
        let own = listed["templates"].as_array().unwrap().iter().filter(|it| it["path"].is_string());
        own.map(|it| it["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names().await, ["mine", "shared"]);
    let refused = subagent(&home, &["create", "new-one", "--template", "house"]).await;
    assert_eq!(refused.code, Some(1), "nobody trusts the workspace: {}", refused.stdout);
    // They are no agents.
    let listed = subagent(&home, &["list", "--all", "--format", "json"]).await;
    for name in ["mine", "shared", "theirs", "house"] {
        assert!(!listed.stdout.contains(&format!("\"name\":\"{name}\"")), "{name}");
    }
    let trusted = subagent(&home, &["trust", "--yes"]).await;
    assert_eq!(trusted.code, Some(0), "{}", trusted.stderr);
    assert_eq!(names().await, ["mine", "shared", "house"]);
    let listed = subagent(&home, &["templates"]).await;
    assert!(
        listed.stderr.contains("is the name of the template in"),
        "the second `mine` is told: {}",
        listed.stderr
    );
    for template in ["shared", "house"] {
        let name = format!("from-{template}");
        let created = subagent(&home, &["create", &name, "--template", template, "--scope", "project"]).await;
        assert_eq!(created.code, Some(0), "{}", created.stderr);
        let text = fs::read_to_string(home.path(&format!("work/.subagentd/agents/{name}.md"))).unwrap();
        assert!(text.contains(&format!("name: {name}\n")) && text.contains("allow: [grep]"), "{text}");
    }
}

#[tokio::test]
async fn the_default_tools_are_one_list_in_the_docs_too() {
    let tools: Vec<&str> = subagentd::protocol::default_tools(false).collect();
    let written = tools.iter().map(|tool| format!("`{tool}`")).collect::<Vec<_>>().join(", ");
    let said =
        |page: manual::Page| page.text.split_whitespace().collect::<Vec<_>>().join(" ").contains(&written);
    assert!(manual::pages().into_iter().any(said), "a chapter of docs/ names the default tools as {written}");
    let schema =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/proto-docs/agent.schema.json")).unwrap();
    assert!(tools.iter().all(|tool| schema.contains(&format!("`{tool}`"))), "agent.schema.json names them");
    // What a person is told of an agent that names none is what it gets, but for what the settings leave out.
    let house =
        House::new().agent("plain", "---\nkind: agent\nname: plain\ndescription: d\n---\nYou look.\n");
    let running = house.boot().await;
    let got = running.client().call("agents/get", json!({ "name": "plain" })).await;
    let expected: Vec<&str> =
        tools.into_iter().filter(|tool| *tool != "web_search").chain(["complete_task"]).collect();
    assert_eq!(got["tools"], json!(expected));
    running.stop().await;
}
