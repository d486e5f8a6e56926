//! Is what the manual lists all that there is, and is there what it names?

use std::{collections::BTreeSet, fs, path::Path};

use expect_test::expect_file;
use serde_json::{Map, Value, json};
use subagentd::protocol::{BUILTIN_TOOLS, HookEventName, METHODS};

use super::{page, pages, quotes, root};
use crate::support::House;

/// What stands between these lines of a page is generated.
const BEGIN: &str = "writes what follows. -->\n";
const END: &str = "<!-- Here ends what is generated. -->\n";

fn schema(file: &str) -> Value {
    let text = fs::read_to_string(root().join("proto-docs").join(file)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The page has this between its marks, or it is written there.
fn assert_generated(page: &str, generated: &str) {
    let path = root().join(page);
    let written = fs::read_to_string(&path).unwrap();
    let (before, rest) = written.split_once(BEGIN).unwrap();
    let (there, after) = rest.split_once(END).unwrap();
    if std::env::var_os("UPDATE_EXPECT").is_none() {
        let is_stale = there != generated;
        assert!(!is_stale, "{page} is stale; `UPDATE_EXPECT=1 cargo test --test it manual` writes it");
    }
    expect_file![path].assert_eq(&format!("{before}{BEGIN}{generated}{END}{after}"));
}

/// A cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// A setting of the schema, by its path.
struct Setting {
    path: String,
    schema: Value,
}

/// Every setting, in the order of the schema.
fn settings() -> Vec<Setting> {
    fn collect(above: &str, properties: &Map<String, Value>, settings: &mut Vec<Setting>) {
        for (name, schema) in properties.iter().filter(|(name, _)| *name != "$schema") {
            let path = format!("{above}{name}");
            match schema.get("properties").and_then(Value::as_object) {
                Some(properties) => collect(&format!("{path}."), properties, settings),
                None => settings.push(Setting { path, schema: schema.clone() }),
            }
        }
    }
    let mut settings = Vec::new();
    collect("", schema("settings.schema.json")["properties"].as_object().unwrap(), &mut settings);
    settings
}

impl Setting {
    /// A row of the table.
    fn row(&self) -> String {
        let meaning = self.schema["description"].as_str().unwrap();
        let meaning = cell(meaning.split(" Environment: `").next().unwrap());
        let default = match &self.schema["default"] {
            Value::Null => "–".to_owned(),
            value => format!("`{value}`"),
        };
        format!("| `{}` | {meaning} | {default} |\n", self.path)
    }
}

/// A table for each group; settings that stand alone come last.
#[test]
fn the_manual_lists_every_setting() {
    let settings = settings();
    let group = |setting: &Setting| setting.path.split_once('.').map(|(group, _)| group.to_owned());
    let mut groups: Vec<Option<String>> = Vec::new();
    for setting in &settings {
        if !groups.contains(&group(setting)) {
            groups.push(group(setting));
        }
    }
    groups.sort_by_key(Option::is_none);
    let tables = groups.iter().map(|name| {
        let rows: String = settings.iter().filter(|it| group(it) == *name).map(Setting::row).collect();
        let title = name.as_ref().map_or("Others".to_owned(), |name| format!("`{name}`"));
        format!("\n### {title}\n\n| setting | meaning | default |\n|---|---|---|\n{rows}")
    });
    assert_generated("docs/settings.md", &tables.collect::<String>());
}

#[test]
fn the_manual_lists_every_field_of_an_agents_file() {
    let schema = schema("agent.schema.json");
    let mut rows = String::new();
    for (name, field) in schema["properties"].as_object().unwrap() {
        let meaning = |field: &Value| cell(field["description"].as_str().unwrap());
        rows += &format!("| `{name}` | {} |\n", meaning(field));
        let below = field.get("properties").and_then(Value::as_object);
        for (deeper, field) in below.into_iter().flatten() {
            rows += &format!("| `{name}.{deeper}` | {} |\n", meaning(field));
        }
    }
    assert_generated("docs/agents.md", &format!("\n| field | meaning |\n|---|---|\n{rows}"));
}

/// A name like `run.maxTurns`: a setting, a group of settings, or what such a group is followed by; a field of an agent's
/// file; or an event.
#[test]
fn every_setting_and_event_that_is_named_is_one() {
    let paths: Vec<String> = settings().into_iter().map(|setting| setting.path).collect();
    let groups: BTreeSet<&str> = paths.iter().filter_map(|path| path.split('.').next()).collect();
    let events = fs::read_to_string(root().join("proto-docs/events.md")).unwrap();
    let fields = schema("agent.schema.json");
    let is_known = |name: &str| {
        let is_setting = paths.iter().any(|path| {
            path == name
                || path.starts_with(&format!("{name}."))
                || name.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with('.'))
        });
        // `mcp.SERVER.TOOL` is a tool.
        let is_tool = name.starts_with("mcp.") && name.matches('.').count() == 2;
        let is_field = name.split_once('.').is_some_and(|(field, deeper)| {
            fields["properties"][field].to_string().contains(&format!("\"{deeper}\""))
        });
        is_setting || is_tool || is_field || events.contains(&format!("`{name}`"))
    };
    let is_name = |text: &&String| {
        let is_letter = |it: char| it.is_ascii_alphabetic() || it == '.';
        let group = text.split('.').next().unwrap_or_default();
        text.contains('.') && text.chars().all(is_letter) && groups.contains(group)
    };
    let quoted: BTreeSet<String> = pages().iter().flat_map(quotes).collect();
    let named: Vec<&String> = quoted.iter().filter(is_name).collect();
    let unknown: Vec<&&String> = named.iter().filter(|name| !is_known(name.trim_end_matches('.'))).collect();
    assert!(unknown.is_empty(), "no setting and no event: {unknown:?}");
    assert!(named.len() > 30, "{named:?}");
}

/// `agents/list`, `/get` in the table of a page mean `agents/list` and `agents/get`.
#[test]
fn every_method_of_the_table_is_one() {
    let page = pages().into_iter().find(|page| page.file == "docs/protocol.md").unwrap();
    let rows = page.text.lines().skip_while(|line| !line.starts_with("| command | method ")).skip(2);
    let mut named = 0;
    for row in rows.take_while(|line| line.starts_with('|')) {
        // Every other cell.
        for cell in row.trim_matches('|').split(" | ").skip(1).step_by(2) {
            let mut group = "";
            for name in cell.split('`').skip(1).step_by(2).filter(|name| name.contains('/')) {
                let (above, verb) = name.split_once('/').unwrap();
                group = if above.is_empty() { group } else { above };
                let name = format!("{group}/{verb}");
                assert!(METHODS.iter().any(|method| method.name == name), "{name} in {row}");
                named += 1;
            }
        }
    }
    assert!(named > 30, "{named} methods");
}

#[tokio::test]
async fn the_manual_lists_every_tool() {
    let running = House::new().boot().await;
    let listed = running.client().call("tools/list", json!({})).await;
    let page = pages().into_iter().find(|page| page.file == "docs/tools-and-mcp.md").unwrap();
    let tools = listed["tools"].as_array().unwrap().iter().filter(|tool| tool["source"] == "builtin");
    let names: Vec<&str> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
    // Every run has it, and no agent names it.
    let missing: Vec<&&str> = names
        .iter()
        .filter(|name| **name != "complete_task" && !page.text.contains(&format!("`{name}`")))
        .collect();
    assert!(missing.is_empty() && names.len() > 15, "{missing:?} of {names:?}");
    // Agents may not be called like one, and hooks, metrics and the loaders of other products' files go by this list.
    let unnamed: Vec<&&str> = names.iter().filter(|name| !BUILTIN_TOOLS.contains(name)).collect();
    assert!(unnamed.is_empty(), "{unnamed:?} not in BUILTIN_TOOLS");
    // Given by what a run is (skills, its completion, its mode), or by later versions, for which the names are kept free.
    let of_runs = ["activate_skill", "complete_task", "present_plan"];
    let to_come = ["forget_memory", "get_state", "recall_memory", "set_state", "store_memory"];
    let unlisted: Vec<&str> = BUILTIN_TOOLS.iter().copied().filter(|name| !names.contains(name)).collect();
    let mut expected = [&of_runs[..], &to_come[..]].concat();
    expected.sort_unstable();
    assert_eq!(unlisted, expected);
    running.stop().await;
}

#[test]
fn the_manual_lists_every_hook_event() {
    let page = pages().into_iter().find(|page| page.file == "docs/hooks.md").unwrap();
    let rows = page.text.lines().skip_while(|line| !line.starts_with("| event | ")).skip(2);
    let told: BTreeSet<&str> = rows
        .take_while(|line| line.starts_with('|'))
        .flat_map(|row| row.split('|').nth(1).unwrap_or_default().split('`').skip(1).step_by(2))
        .collect();
    // Nothing fires it until agents can hand a conversation over.
    let all: BTreeSet<&str> = HookEventName::ALL
        .iter()
        .map(|event| event.as_str())
        .filter(|event| *event != "BeforeHandoff")
        .collect();
    assert_eq!(told, all);
}

/// Every program text of the daemon and the companion, with strings that go over several lines joined.
fn program_texts() -> String {
    let mut texts = String::new();
    for path in sources().iter().filter(|path| path.starts_with("src/")) {
        let text = fs::read_to_string(root().join(path)).unwrap();
        let mut parts = text.split("\\\n");
        texts += parts.next().unwrap_or_default();
        parts.for_each(|part| texts += part.trim_start());
    }
    texts
}

/// Whoever adds something, or looks for where something is decided, looks for these names.
#[test]
fn what_the_pages_for_engineers_name_exists() {
    let texts = program_texts();
    let is_letter = |it: char| it.is_ascii_alphanumeric() || it == '_';
    let words: BTreeSet<&str> = texts.split(|it| !is_letter(it)).collect();
    let sources: Vec<String> = sources();
    let is_there = |text: &str| match text.ends_with(".rs") {
        true => sources.iter().any(|path| Path::new(path).ends_with(text)),
        false => text.trim_end_matches("()").split("::").all(|name| words.contains(name)),
    };
    for (file, fewest) in [("CONTRIBUTING.md", 10), ("src/ARCHITECTURE.md", 100)] {
        let page = page(file.to_owned());
        let is_name = |text: &String| {
            let names = text.trim_end_matches("()");
            let is_path = text.ends_with(".rs")
                && text.contains('/')
                && !text.contains("NAME")
                && !text.contains(['*', '{', '…', ' ']);
            let is_item = names != text || text.starts_with(char::is_uppercase) || text.contains("::");
            is_path || is_item && names.chars().all(|it| is_letter(it) || it == ':')
        };
        let named: Vec<String> = quotes(&page).into_iter().filter(is_name).collect();
        let missing: Vec<&String> = named.iter().filter(|name| !is_there(name)).collect();
        assert!(missing.is_empty() && named.len() > fewest, "{file}: {missing:?} of {named:?}");
    }
}

/// Every Rust file of the package, by its path from the top.
fn sources() -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("src"), root().join("tests"), root().join("benches")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                found.push(path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found
}

/// What somebody who is in trouble looks for, letter by letter. `…` stands for what differs.
#[test]
fn what_goes_wrong_is_quoted_as_the_programs_say_it() {
    let page = pages().into_iter().find(|page| page.file == "docs/service.md").unwrap();
    let texts = program_texts();
    let rows = page.text.lines().skip_while(|line| !line.starts_with("| what you see ")).skip(2);
    let mut quoted = Vec::new();
    for row in rows.take_while(|line| line.starts_with('|')) {
        let cell = row.split(" | ").next().unwrap();
        let quotes = cell.split('`').skip(1).step_by(2);
        quoted.extend(quotes.flat_map(|quote| quote.split('…')).map(str::trim).filter(|it| it.len() > 3));
    }
    let missing: Vec<&&str> = quoted.iter().filter(|quote| !texts.contains(**quote)).collect();
    assert!(missing.is_empty() && quoted.len() > 15, "{missing:?} of {quoted:?}");
}
