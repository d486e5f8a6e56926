//! Does the account of what a model reads first name all of it, and all that is left out?

use std::fs;

use serde_json::{Value, json};

use crate::{
    support::{Client, House, Running},
    trust::trust,
};

const READER: &str =
    "---\nkind: agent\nname: reader\ndescription: Reads.\ntools: [read_file]\n---\nYou read.\n";

async fn parts(client: &mut Client, running: &Running, name: &str) -> Vec<Value> {
    let params = json!({ "agent": "reader", "workspace": running.work() });
    let rendered = client.call("prompt/render", params).await;
    let parts = rendered["parts"].as_array().unwrap().clone();
    parts.into_iter().filter(|part| part["name"] == name).collect()
}

/// Hooks put texts before the first message, too.
#[tokio::test]
async fn parts_name_the_hooks_that_may_add_text() {
    let group = |command: &str| json!([{ "hooks": [{ "type": "command", "command": command }] }]);
    let house = House::new().agent("reader", READER).settings(&json!({ "hooks": {
        "SessionStart": group("echo begins"), "UserPromptSubmit": group("echo asked"), "Stop": group("true"),
    } }));
    let running = house.boot().await;
    let mut client = running.client();
    let told = parts(&mut client, &running, "hook").await;
    let sources: Vec<&str> = told.iter().map(|part| part["source"].as_str().unwrap()).collect();
    assert_eq!(sources.len(), 2, "{told:?}");
    for (source, words) in sources.iter().zip(["SessionStart", "UserPromptSubmit"]) {
        assert!(source.contains(words) && source.contains("may add text"), "{sources:?}");
    }
    drop(client);
    running.stop().await;
}

/// An agent without the tool for skills is told of none, and its parts say so.
#[tokio::test]
async fn parts_name_the_skills_of_an_agent_without_the_tool_for_them() {
    let house = House::new().agent("reader", READER);
    let folder = house.dir.path().join("skills/house");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("SKILL.md"), "---\nname: house\ndescription: Ours.\n---\nx\n").unwrap();
    let running = house.boot().await;
    let mut client = running.client();
    let told = parts(&mut client, &running, "skill").await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0]["off"].as_str().unwrap().contains("`activate_skill`"), "{told:?}");
    drop(client);
    running.stop().await;
}

/// Whoever trusts a workspace agrees to the memory of its sub-folders as well, so it is named.
#[tokio::test]
async fn memory_of_folders_below_is_named_before_a_call_comes_there() {
    let house = House::new()
        .agent("reader", READER)
        .file("AGENTS.md", "top\n")
        .file("sub/deep/AGENTS.md", "below\n")
        .file("node_modules/x/AGENTS.md", "not ours\n");
    let running = house.boot().await;
    let mut client = running.client();
    let work = running.work().canonicalize().unwrap();
    let below = json!(work.join("sub/deep/AGENTS.md"));
    let opened = client.call("workspace/open", json!({ "workspace": running.work() })).await;
    let named = opened["workspace"]["memoryFiles"].as_array().unwrap();
    assert!(named.contains(&below), "{opened}");
    trust(&mut client, running.work()).await;
    let listed = client.call("memory/files", json!({ "workspace": running.work() })).await;
    let file = listed["files"].as_array().unwrap().iter().find(|file| file["path"] == below);
    let file = file.unwrap_or_else(|| panic!("{listed}"));
    assert_eq!(file["state"], "below", "{listed}");
    assert!(file["reason"].as_str().unwrap().contains("first call"), "{listed}");
    let told = parts(&mut client, &running, "memory").await;
    let part = told.iter().find(|part| part["source"] == below).unwrap_or_else(|| panic!("{told:?}"));
    assert!(part["off"].as_str().unwrap().contains("first call"), "{told:?}");
    drop(client);
    running.stop().await;
}

/// Whoever trusts a workspace agrees to what its memory files import as well, so that is named.
#[tokio::test]
async fn imports_of_memory_are_named_before_anybody_trusts_them() {
    let house = House::new()
        .agent("reader", READER)
        .file("AGENTS.md", "Mind @docs/style.md and @docs/gone.md\n")
        .file("docs/style.md", "Use tabs, as @more.md says.\n")
        .file("docs/more.md", "More.\n");
    let running = house.boot().await;
    let mut client = running.client();
    let work = running.work().canonicalize().unwrap();
    let opened = client.call("workspace/open", json!({ "workspace": running.work() })).await;
    let imported = |path: &str, by: &str| json!({ "path": work.join(path), "by": work.join(by) });
    assert_eq!(
        opened["workspace"]["memoryImports"],
        json!([imported("docs/style.md", "AGENTS.md"), imported("docs/more.md", "docs/style.md")]),
        "{opened}"
    );
    // Nobody is told what they say before.
    let told = parts(&mut client, &running, "import").await;
    assert!(told.is_empty(), "{told:?}");
    trust(&mut client, running.work()).await;
    let opened = client.call("workspace/open", json!({ "workspace": running.work() })).await;
    assert_eq!(opened["workspace"]["memoryImports"], json!([]), "{opened}");
    drop(client);
    running.stop().await;
}

/// Whoever adds up the parts comes to the whole, also where the workspace says something.
#[tokio::test]
async fn tokens_of_the_parts_come_to_those_of_the_whole() {
    let house = House::new().agent("reader", READER).file("AGENTS.md", "Use tabs.\n").file("src/a", "x\n");
    let running = house.boot().await;
    let mut client = running.client();
    for is_trusted in [false, true] {
        if is_trusted {
            trust(&mut client, running.work()).await;
        }
        let params = json!({ "agent": "reader", "workspace": running.work() });
        let rendered = client.call("prompt/render", params).await;
        let parts = rendered["parts"].as_array().unwrap();
        let sum: u64 = parts.iter().filter_map(|part| part["tokens"].as_u64()).sum();
        assert_eq!(Some(sum), rendered["tokens"].as_u64(), "{rendered}");
    }
    drop(client);
    running.stop().await;
}
