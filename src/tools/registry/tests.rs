//! Which tools does a selection give, and by which names?

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;
use crate::tests::{Bench, Probe};
use protocol::{ToolError, ToolErrorType};

fn names(names: &[&str]) -> Vec<ToolName> {
    names.iter().map(|name| ToolName::from(*name)).collect()
}

fn registry() -> ToolRegistry {
    let extra = ["mcp.github.create_issue", "mcp.github.list-issues", "mcp.files.read"];
    ToolRegistry::with(extra.into_iter().map(Probe::named).collect())
}

fn check(allow: Option<&[&str]>, deny: &[&str], expected: Expect) {
    let selection = ToolSelection { allow: allow.map(names), deny: names(deny), ..ToolSelection::default() };
    let toolset = registry().select(&selection);
    let selected: Vec<&str> = toolset.declarations().map(|declaration| declaration.name.as_str()).collect();
    let lines: Vec<String> =
        [selected.join(" ")].into_iter().chain(toolset.warnings().iter().map(|w| format!("! {w}"))).collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn the_order_never_changes() {
    check(
        Some(&["grep", "glob", "read_file", "list_directory"]),
        &[],
        expect!["list_directory read_file glob grep"],
    );
    let listed: Vec<_> = registry().list().map(|declaration| declaration.name.to_string()).collect();
    let listed = listed.join(" ");
    expect!["list_directory read_file read_many_files glob grep write_file edit_file delete_file move_file run_shell_command shell_output kill_shell git_commit web_fetch web_search save_memory write_todos ask_user search_docs mcp.github.create_issue mcp.github.list-issues mcp.files.read"].assert_eq(&listed);
}

#[test]
fn who_does_not_say_gets_the_default_tools() {
    check(None, &[], expect!["list_directory read_file read_many_files glob grep web_search save_memory"]);
    check(None, &["grep", "WebSearch"], expect!["list_directory read_file read_many_files glob save_memory"]);
}

#[test]
fn deny_beats_allow() {
    check(
        Some(&["*", "grep"]),
        &["grep", "write_file"],
        expect![
            "list_directory read_file read_many_files glob edit_file delete_file move_file run_shell_command shell_output kill_shell git_commit web_fetch web_search save_memory write_todos ask_user"
        ],
    );
    check(Some(&["grep"]), &["*"], expect![""]);
    check(Some(&[]), &[], expect![""]);
}

#[test]
fn aliases_and_class_names_match_like_names() {
    check(Some(&["Read", "ls", "search_file_content"]), &[], expect!["list_directory read_file grep"]);
    check(Some(&["read-file", "GlobTool", "RipGrepTool"]), &[], expect!["read_file glob grep"]);
    check(
        Some(&["*"]),
        &["Grep", "ReadFileTool", "Write"],
        expect![
            "list_directory read_many_files glob edit_file delete_file move_file run_shell_command shell_output kill_shell git_commit web_fetch web_search save_memory write_todos ask_user"
        ],
    );
}

#[test]
fn a_star_stays_within_its_segment() {
    check(
        Some(&["*"]),
        &[],
        expect![
            "list_directory read_file read_many_files glob grep write_file edit_file delete_file move_file run_shell_command shell_output kill_shell git_commit web_fetch web_search save_memory write_todos ask_user"
        ],
    );
    check(Some(&["mcp.github.*"]), &[], expect!["mcp.github.create_issue mcp.github.list-issues"]);
    check(Some(&["mcp.*.*"]), &["mcp.*.read"], expect!["mcp.github.create_issue mcp.github.list-issues"]);
    check(Some(&["*_file"]), &[], expect!["read_file write_file edit_file delete_file move_file"]);
    check(Some(&["mcp__github__*"]), &[], expect!["mcp.github.create_issue mcp.github.list-issues"]);
    check(
        Some(&["mcp.*"]),
        &[],
        expect![[r#"

        ! `mcp.*` matches no tool"#]],
    );
    check(Some(&["r*d_*e", "*gl*o*b*"]), &[], expect!["read_file glob"]);
}

#[test]
fn the_search_of_documents_comes_only_to_those_who_name_it() {
    check(Some(&["search_docs", "grep"]), &[], expect!["grep search_docs"]);
    check(Some(&["search-docs"]), &[], expect!["search_docs"]);
    check(
        Some(&["*_docs", "s*r*c*_docs"]),
        &[],
        expect![[r#"

        ! `*_docs` matches no tool but `search_docs`, which only those get who name it in full
        ! `s*r*c*_docs` matches no tool but `search_docs`, which only those get who name it in full"#]],
    );
    check(Some(&["search_docs"]), &["search*"], expect![""]);
    let everything = ToolSelection { inherits: true, ..ToolSelection::default() };
    let toolset = registry().select(&everything);
    assert!(toolset.declarations().all(|tool| tool.name.as_str() != "search_docs"));
}

#[test]
fn entries_that_match_nothing_are_told_with_what_was_meant() {
    check(
        Some(&["red_file", "nonsense", "complete_task", "grep"]),
        &["gerp"],
        expect![[r#"
            grep
            ! `gerp` matches no tool; did you mean `grep`?
            ! `nonsense` matches no tool
            ! `red_file` matches no tool; did you mean `read_file`?"#]],
    );
}

#[test]
fn a_model_may_call_a_tool_by_any_of_its_names() {
    let registry = registry();
    for (written, canonical) in [
        ("read_file", "read_file"),
        ("Read", "read_file"),
        ("read-file", "read_file"),
        ("ripgrep", "grep"),
        ("search-content", "grep"),
        ("mcp__github__create_issue", "mcp.github.create_issue"),
        ("mcp_github_create_issue", "mcp.github.create_issue"),
        ("mcp.github.list_issues", "mcp.github.list-issues"),
        ("Bash", "run_shell_command"),
        ("complete_task", "complete_task"),
        ("nonsense", "nonsense"),
        // Class names stand in lists only.
        ("ReadFileTool", "ReadFileTool"),
    ] {
        assert_eq!(registry.canonical(&written.into()).as_str(), canonical, "{written}");
    }
}

#[test]
fn every_alias_of_a_built_in_tool_leads_to_it() {
    let registry = ToolRegistry::built_in();
    let aliases = [
        ("list_directory", &["ls", "LS", "list_files"][..]),
        ("read_file", &["Read"]),
        ("read_many_files", &["read-many-files"]),
        ("glob", &["Glob"]),
        ("write_file", &["Write", "write-file"]),
        ("edit_file", &["replace", "edit", "Edit", "MultiEdit", "smart_edit", "smart-edit"]),
        ("save_memory", &["memory"]),
        ("write_todos", &["TodoWrite"]),
        ("ask_user", &["AskUserQuestion"]),
        ("grep", &["grep_search", "search_file_content", "Grep", "ripgrep", "search_content"]),
    ];
    for (canonical, aliases) in aliases {
        for alias in aliases {
            let tool = registry.get(&(*alias).into()).unwrap();
            assert_eq!(tool.declaration().name.as_str(), canonical, "{alias}");
        }
    }
}

#[test]
fn complete_task_is_not_to_be_had() {
    let registry = ToolRegistry::with(vec![Probe::named("complete_task"), Probe::named("grep")]);
    assert_eq!(registry.list().count(), ToolRegistry::built_in().list().count());
    assert_eq!(
        registry.warnings(),
        [
            "a tool cannot be called `complete_task`; it was left out",
            "a second tool `grep` took the place of the first"
        ]
    );
}

async fn refused(allow: &[&str], name: &str) -> ToolError {
    let toolset = registry().select(&ToolSelection { allow: Some(names(allow)), ..ToolSelection::default() });
    let bench = Bench::new(&[]);
    let prepared = toolset.prepare(&name.into(), json!({}), &bench.prepare_context()).await;
    assert!(prepared.tool.is_none());
    prepared.outcome.err().unwrap()
}

#[tokio::test]
async fn a_tool_of_another_run_is_refused_and_the_allowed_are_named() {
    let error = refused(&["glob", "grep"], "Write").await;
    assert_eq!(error.kind, ToolErrorType::ToolNotAllowed);
    assert_eq!(
        error.message,
        "`write_file` is not allowed in this run; allowed are glob, grep, complete_task"
    );
}

#[tokio::test]
async fn an_unknown_tool_is_refused_with_the_nearest_name() {
    let error = refused(&["glob", "grep"], "grepp").await;
    assert_eq!(error.kind, ToolErrorType::ToolNotRegistered);
    assert_eq!(error.message, "there is no tool `grepp`; did you mean `grep`?");
    let error = refused(&["glob"], "launch_rocket").await;
    assert_eq!(error.message, "there is no tool `launch_rocket`; allowed are glob, complete_task");
}

#[tokio::test]
async fn a_prepared_call_carries_canonical_names() {
    let bench = Bench::new(&[("a.txt", "hello")]);
    let toolset = ToolRegistry::built_in().select(&ToolSelection::default());
    let arguments = json!({"file_path": "a.txt", "limit": 3.0});
    let prepared = toolset.prepare(&"Read".into(), arguments, &bench.prepare_context()).await;
    assert_eq!(prepared.name.as_str(), "read_file");
    assert_eq!(prepared.arguments, json!({"path": "a.txt", "limit": 3}));
    assert!(prepared.outcome.is_ok() && prepared.tool.is_some());
}

#[test]
fn declarations_are_as_providers_want_them() {
    for declaration in ToolRegistry::built_in().list() {
        assert!(declaration.name.as_str().chars().all(|c| c.is_ascii_lowercase() || c == '_'));
        assert_eq!(declaration.parameters["type"], "object");
        for (name, property) in declaration.parameters["properties"].as_object().unwrap() {
            assert!(property["type"].is_string() && property["description"].is_string(), "{name}");
        }
    }
}

#[test]
fn an_entry_that_excludes_nothing_is_told_unless_its_tool_may_still_come() {
    let explain = |entry: &str| registry().explain_idle(&ToolName::from(entry));
    assert_eq!(explain("web_fetchh").unwrap(), "`web_fetchh` matches no tool; did you mean `web_fetch`?");
    for entry in [
        "grep",
        "ls",
        "RipGrepTool",
        "mcp.github.*",
        "complete_task",
        "discovered_boom",
        "mcp.gone.x",
        "mcp__a__b",
    ] {
        assert_eq!(explain(entry), None, "{entry}");
    }
    check(Some(&["grep"]), &["discovered_boom", "mcp.gone.*"], expect!["grep"]);
}

#[test]
fn what_the_settings_exclude_in_vain_is_no_fault_of_the_agent() {
    let own = ToolSelection {
        allow: Some(names(&["grep", "gerp"])),
        deny: names(&["globb"]),
        ..ToolSelection::default()
    };
    let mut all = own.clone();
    all.deny.push(ToolName::from("web_fetchh"));
    let toolset = registry().select(&all).with_warning("of another kind".to_owned());
    assert_eq!(toolset.warnings().len(), 4, "{:?}", toolset.warnings());
    let told: Vec<String> = toolset.warnings_of(&own).collect();
    expect![[r#"
        `gerp` matches no tool; did you mean `grep`?
        `globb` matches no tool; did you mean `glob`?
        of another kind"#]]
    .assert_eq(&told.join("\n"));
}

#[test]
fn a_pattern_for_tools_that_no_command_told_of_says_where_the_cause_is_shown() {
    check(
        Some(&["grep", "discovered_*"]),
        &[],
        expect![[r#"
            grep
            ! `discovered_*` matches no tool: no command told of any here (see tools.discoveryCommand, and `subagent tools`)"#]],
    );
}

#[tokio::test]
async fn a_call_of_an_excluded_tool_says_what_excludes_it() {
    let bench = Bench::new(&[]);
    let selection = ToolSelection {
        allow: Some(names(&["read_file", "glob"])),
        deny: names(&["GlobTool"]),
        ..ToolSelection::default()
    };
    let toolset = registry().select(&selection);
    for (name, told) in [
        ("glob", "`glob` is excluded by `GlobTool`, in the settings or in its agent's tools.deny"),
        ("grep", "`grep` is not allowed in this run"),
    ] {
        let prepared = toolset.prepare(&ToolName::from(name), json!({}), &bench.prepare_context()).await;
        let ToolError { kind, message } = prepared.outcome.err().unwrap();
        assert_eq!(kind, ToolErrorType::ToolNotAllowed);
        assert!(message.starts_with(told) && message.contains("allowed are read_file"), "{message}");
    }
}
