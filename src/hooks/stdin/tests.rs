//! What hooks read has the fields that published types want, no more and no less. The types were read in the declarations of
//! `@anthropic-ai/claude-agent-sdk` 0.3.330 and in Codex's generated schemas; here stand only the names of their fields.

use std::{collections::BTreeSet, path::PathBuf};

use serde_json::json;

use super::*;
use crate::{
    HookedResult,
    tests::{Bench, call, firing},
};
use protocol::HookEventName;

fn result(tool: &str) -> HookedResult {
    HookedResult {
        call: call(tool, json!({ "command": "ls" })),
        text: "out".to_owned(),
        has_more_than_text: false,
        data: None,
        error: None,
        is_interrupt: false,
        duration_ms: 7,
    }
}

/// One of each event.
fn all_facts() -> Vec<HookFacts> {
    let shell = || call("run_shell_command", json!({ "command": "ls" }));
    let text = |text: &str| text.to_owned();
    vec![
        HookFacts::SessionStart { source: "startup", session_title: None },
        HookFacts::SessionEnd { reason: text("closed") },
        HookFacts::UserPromptSubmit { prompt: text("p"), session_title: None },
        HookFacts::UserPromptExpansion {
            kind: "slash_command",
            name: text("n"),
            arguments: text(""),
            source: None,
            prompt: text("p"),
        },
        HookFacts::PreToolUse { call: shell() },
        HookFacts::PermissionRequest { call: shell(), reason: text("r") },
        HookFacts::PermissionDenied { call: shell(), reason: text("r") },
        HookFacts::PostToolUse { result: result("run_shell_command") },
        HookFacts::PostToolUseFailure {
            result: HookedResult { error: Some(text("e")), ..result("run_shell_command") },
        },
        HookFacts::PostToolBatch { results: vec![result("run_shell_command")] },
        HookFacts::Stop { is_going_on: false, last_message: Some(text("m")) },
        HookFacts::SubagentStop { is_going_on: true, last_message: Some(text("m")) },
        HookFacts::StopFailure { error: text("MAX_TURNS"), details: None, last_message: None },
        HookFacts::SubagentStart,
        HookFacts::PreCompact { trigger: "auto", instructions: None },
        HookFacts::PostCompact { trigger: "auto", summary: text("s") },
        HookFacts::Elicitation { server: text("s"), message: text("m"), mode: None, url: None, schema: None },
        HookFacts::ElicitationResult { server: text("s"), action: text("decline"), content: None },
        HookFacts::InstructionsLoaded {
            file: PathBuf::from("/w/AGENTS.md"),
            memory_type: text("Project"),
            reason: text("session_start"),
        },
        HookFacts::Notification { kind: text("permission_prompt"), message: text("m"), title: None },
        HookFacts::BeforeAgent { prompt: text("p") },
        HookFacts::AfterAgent { prompt: text("p"), response: text("r"), is_going_on: false },
        HookFacts::BeforeModel { request: json!({}) },
        HookFacts::AfterModel { request: json!({}), response: json!({}) },
        HookFacts::BeforeToolSelection { request: json!({}) },
        HookFacts::BeforeHandoff { target: "other".into(), payload: json!({}) },
    ]
}

/// Each event's own required fields in Claude Code's types, then those it may have.
const CLAUDE: &[(&str, &[&str], &[&str])] = &[
    ("SessionStart", &["source"], &["agent_type", "model", "session_title"]),
    ("SessionEnd", &["reason"], &[]),
    ("UserPromptSubmit", &["prompt"], &["source", "session_title"]),
    (
        "UserPromptExpansion",
        &["expansion_type", "command_name", "command_args", "prompt"],
        &["command_source"],
    ),
    ("PreToolUse", &["tool_name", "tool_input", "tool_use_id"], &["mcp_server"]),
    ("PermissionRequest", &["tool_name", "tool_input"], &["permission_suggestions", "mcp_server"]),
    ("PermissionDenied", &["tool_name", "tool_input", "tool_use_id", "reason"], &["mcp_server"]),
    (
        "PostToolUse",
        &["tool_name", "tool_input", "tool_response", "tool_use_id"],
        &["duration_ms", "mcp_server"],
    ),
    (
        "PostToolUseFailure",
        &["tool_name", "tool_input", "tool_use_id", "error"],
        &["is_interrupt", "duration_ms", "mcp_server"],
    ),
    ("PostToolBatch", &["tool_calls"], &[]),
    ("Stop", &["stop_hook_active"], &["last_assistant_message", "background_tasks", "session_crons"]),
    (
        "SubagentStop",
        &["stop_hook_active", "agent_id", "agent_transcript_path", "agent_type"],
        &["last_assistant_message"],
    ),
    ("StopFailure", &["error"], &["error_details", "last_assistant_message"]),
    ("SubagentStart", &["agent_id", "agent_type"], &[]),
    ("PreCompact", &["trigger", "custom_instructions"], &[]),
    ("PostCompact", &["trigger", "compact_summary"], &[]),
    ("Elicitation", &["mcp_server_name", "message"], &["mode", "url", "elicitation_id", "requested_schema"]),
    ("ElicitationResult", &["mcp_server_name", "action"], &["elicitation_id", "mode", "content"]),
    (
        "InstructionsLoaded",
        &["file_path", "memory_type", "load_reason"],
        &["globs", "trigger_file_path", "parent_file_path"],
    ),
    ("Notification", &["message", "notification_type"], &["title"]),
];
const CLAUDE_BASE: &[&str] = &["session_id", "transcript_path", "cwd", "hook_event_name"];
const CLAUDE_MAY: &[&str] =
    &["prompt_id", "permission_mode", "agent_id", "agent_type", "effort", "subagentd"];

/// In Codex's schemas all fields are required and no other is allowed.
const CODEX: &[(&str, &[&str])] = &[
    (
        "PreToolUse",
        &["permission_mode", "skill_activations", "tool_input", "tool_name", "tool_use_id", "turn_id"],
    ),
    ("PermissionRequest", &["permission_mode", "tool_input", "tool_name", "turn_id"]),
    (
        "PostToolUse",
        &[
            "permission_mode",
            "skill_activations",
            "tool_input",
            "tool_name",
            "tool_response",
            "tool_use_id",
            "turn_id",
        ],
    ),
    ("PreCompact", &["trigger", "turn_id"]),
    ("PostCompact", &["trigger", "turn_id"]),
    ("UserPromptSubmit", &["permission_mode", "prompt", "turn_id"]),
    ("SessionStart", &["permission_mode", "source"]),
    ("Stop", &["background", "last_assistant_message", "permission_mode", "stop_hook_active", "turn_id"]),
    ("SubagentStart", &["agent_id", "agent_type", "permission_mode", "turn_id"]),
    (
        "SubagentStop",
        &[
            "agent_id",
            "agent_transcript_path",
            "agent_type",
            "background",
            "last_assistant_message",
            "permission_mode",
            "stop_hook_active",
            "turn_id",
        ],
    ),
];
const CODEX_BASE: &[&str] = &["cwd", "hook_event_name", "model", "session_id", "transcript_path"];

fn keys(value: &Value) -> BTreeSet<String> {
    value.as_object().unwrap().keys().cloned().collect()
}

fn told(facts: HookFacts, contract: HookContract) -> Value {
    let bench = Bench::new();
    let name = facts.event().as_str();
    bench.user(&json!({ name: [{ "hooks": [{ "type": "command", "command": "true" }] }] }));
    let read = bench.read(&trust::TrustRecords::default());
    let hook = Hook { contract, ..Hook::clone(&read.set.hooks()[0]) };
    written(&hook, &firing(facts), &bench.workspace(), Timestamp(0))
}

#[test]
fn claude_codes_types_accept_what_its_hooks_read() {
    let facts = all_facts();
    assert_eq!(facts.len(), HookEventName::ALL.len());
    for facts in facts {
        let name = facts.event().as_str();
        let Some((_, required, optional)) = CLAUDE.iter().find(|(other, ..)| *other == name) else {
            continue;
        };
        let told = keys(&told(facts, HookContract::Claude));
        let allowed = [CLAUDE_BASE, CLAUDE_MAY, required, optional].concat();
        for field in CLAUDE_BASE.iter().chain(*required) {
            assert!(told.contains(*field), "{name} lacks {field}: {told:?}");
        }
        for field in &told {
            assert!(allowed.contains(&field.as_str()), "{name} has {field}");
        }
    }
}

#[test]
fn codexs_schemas_accept_what_its_hooks_read() {
    for facts in all_facts() {
        let name = facts.event().as_str();
        let Some((_, own)) = CODEX.iter().find(|(other, _)| *other == name) else { continue };
        let told = keys(&told(facts, HookContract::Codex));
        let expected: BTreeSet<String> =
            CODEX_BASE.iter().chain(*own).map(|field| (*field).to_owned()).collect();
        assert_eq!(told, expected, "{name}");
    }
}

#[test]
fn modes_errors_and_results_are_said_in_the_products_words() {
    let mut at_stop =
        firing(HookFacts::StopFailure { error: "MAX_TURNS".to_owned(), details: None, last_message: None });
    let bench = Bench::new();
    bench.user(&json!({ "StopFailure": [{ "hooks": [{ "type": "command", "command": "true" }] }] }));
    let read = bench.read(&trust::TrustRecords::default());
    let hook = Hook::clone(&read.set.hooks()[0]);
    let mut mode = |mode, is_headless| {
        at_stop.mode = mode;
        at_stop.is_headless = is_headless;
        written(&hook, &at_stop, &bench.workspace(), Timestamp(0))
    };
    assert_eq!(mode(ApprovalMode::Default, true)["permission_mode"], "dontAsk");
    assert_eq!(mode(ApprovalMode::Plan, true)["permission_mode"], "plan");
    assert_eq!(mode(ApprovalMode::AutoEdit, false)["permission_mode"], "acceptEdits");
    let stopped = mode(ApprovalMode::Yolo, false);
    assert_eq!(stopped["permission_mode"], "bypassPermissions");
    assert_eq!((&stopped["error"], &stopped["error_details"]), (&json!("unknown"), &json!("MAX_TURNS")));
    let ended = told(HookFacts::SessionEnd { reason: "closed".to_owned() }, HookContract::Claude);
    assert_eq!(ended["reason"], "other");
    let before = told(
        HookFacts::PreToolUse { call: call("run_shell_command", json!({ "command": "ls" })) },
        HookContract::Claude,
    );
    assert_eq!(before["subagentd"]["tool"], "run_shell_command");
    assert_eq!((&before["tool_name"], &before["tool_input"]["command"]), (&json!("Bash"), &json!("ls")));
    let after = told(HookFacts::PostToolUse { result: result("run_shell_command") }, HookContract::Gemini);
    assert_eq!(after["tool_response"]["llmContent"], "out");
}

/// Skills and commands stand in Codex's words, each with where and since when it is there.
#[test]
fn codexs_hooks_read_which_skills_are_active_and_what_goes_on() {
    let digest = "ab".repeat(32);
    let skill = |name: &str, is_of_workspace: bool, is_given: bool| crate::HookedSkill {
        name: name.to_owned(),
        path: PathBuf::from(format!("/s/{name}/SKILL.md")),
        file_digest: format!("sha256:{digest}"),
        is_of_workspace,
        is_given,
        turn_id: "r1#2".to_owned(),
    };
    let told = |facts: HookFacts| {
        let bench = Bench::new();
        bench.user(
            &json!({ facts.event().as_str(): [{ "hooks": [{ "type": "command", "command": "true" }] }] }),
        );
        let read = bench.read(&trust::TrustRecords::default());
        let hook = Hook { contract: HookContract::Codex, ..Hook::clone(&read.set.hooks()[0]) };
        let firing = HookFiring {
            skills: [skill("pdf", true, false), skill("house", false, true)].into(),
            background: vec![crate::HookedCommand {
                id: "3".to_owned(),
                command: "make watch".to_owned(),
                folder: PathBuf::from("/w"),
            }],
            ..firing(facts)
        };
        written(&hook, &firing, &bench.workspace(), Timestamp(0))
    };
    let before = told(HookFacts::PreToolUse { call: call("run_shell_command", json!({ "command": "ls" })) });
    assert_eq!(
        before["skill_activations"],
        json!([
            { "name": "pdf", "path": "/s/pdf/SKILL.md", "scope": "repo", "invocation": "implicit", "turn_id": "r1#2",
              "content_sha256": digest },
            { "name": "house", "path": "/s/house/SKILL.md", "scope": "user", "invocation": "explicit", "turn_id": "r1#2",
              "content_sha256": digest },
        ])
    );
    let ends = told(HookFacts::Stop { is_going_on: false, last_message: None });
    assert_eq!(
        ends["background"],
        json!({
            "background_terminals": [{ "process_id": "3", "command": "make watch", "cwd": "/w" }],
            "running_background_terminals": 1,
            "monitors": [],
            "running_monitors": 0,
            "unacknowledged_notifications": 0,
        })
    );
}
