//! A stranger's file gets no more than it says, and costs no more than any other.

use std::path::Path;

use super::*;
use protocol::AgentFileState;

fn read_as(format: AgentFormat, text: &str) -> AgentFile {
    AgentFile::read(Path::new("dir/my-file.md"), text.as_bytes(), AgentScope::User, format)
}

#[test]
fn a_repaired_file_loses_nothing_that_takes_something_away() {
    let of = |fields: &str| {
        read_as(
            AgentFormat::Claude,
            &format!("---\nname: a\ndescription: Use when: x\n{fields}\n---\nYou help.\n"),
        )
    };
    for fields in ["\"tools\": Read", "tools : Read", "'tools' : Read"] {
        let file = of(fields);
        assert_eq!(file.state, AgentFileState::Repaired, "{fields}");
        let tools = file.definition.unwrap().tools.clone();
        assert_eq!((tools.inherits, tools.allow), (false, Some(vec!["read_file".into()])), "{fields}");
    }
    for fields in [
        "disallowedTools: Bash\ndisallowedTools: Write",
        "tools: Read\ntools: Bash",
        "disallowed Tools: Bash",
        "tools:Read",
    ] {
        assert_eq!(of(fields).state, AgentFileState::Rejected, "{fields}");
    }
    // The same where two spellings are YAML.
    let text =
        "---\nname: a\ndescription: d\ndisallowedTools: Bash\ndisallowed_tools: Write\n---\nYou help.\n";
    assert_eq!(read_as(AgentFormat::Claude, text).state, AgentFileState::Rejected);
}

#[test]
fn a_permission_about_a_tool_that_is_not_here_restricts_it_once_it_is() {
    let text = "---\ndescription: d\ntools: {task: true}\npermission:\n  task: deny\n  \"gh_*\": deny\n  discovered_x: deny\n  deploy: ask\n---\nx\n";
    let definition = read_as(AgentFormat::OpenCode, text).definition.unwrap();
    assert!(!definition.tools.agents);
    assert_eq!(definition.tools.deny, ["mcp.gh.*".into(), "discovered_x".into()]);
    assert_eq!(definition.narrowings[0].tool.as_str(), "deploy");
}

/// Each takes minutes where every name is compared with every other.
#[test]
fn a_mebibyte_of_names_is_told_and_left() {
    let names: String = (0..120_000).map(|n| format!("{n},")).collect();
    let listed =
        read_as(AgentFormat::Claude, &format!("---\nname: a\ndescription: d\ntools: {names}\n---\nx\n"));
    assert_eq!(listed.state, AgentFileState::Rejected);
    let fields: String = (0..90_000).map(|n| format!("k{n:06}:\n")).collect();
    let many = read_as(AgentFormat::Claude, &format!("---\nname: a\ndescription: a: b\n{fields}---\nx\n"));
    assert_eq!(many.state, AgentFileState::Rejected);
    let body: String = (0..120_000).map(|n| format!("${{x{n}}}")).collect();
    let filled = read_as(AgentFormat::Gemini, &format!("---\nname: a\ndescription: d\n---\n{body}\n"));
    assert_eq!(filled.state, AgentFileState::Ok);
}

/// A slip in the name of a field that takes something away would leave the agent freer than whoever wrote it meant.
#[test]
fn a_misspelled_field_that_takes_something_away_keeps_the_agent_from_starting() {
    for (format, field) in [
        (AgentFormat::Claude, "disalowedTools: Bash"),
        (AgentFormat::Claude, "tool: Read"),
        (AgentFormat::Claude, "permisionMode: plan"),
        (AgentFormat::Claude, "Hooks: {PreToolUse: [{hooks: [{type: command, command: exit 2}]}]}"),
        (AgentFormat::Claude, "hook: {PreToolUse: [{hooks: [{type: command, command: exit 2}]}]}"),
        (AgentFormat::Claude, "deniedTools: Read"),
        (AgentFormat::Claude, "maxTurn: 2"),
        (AgentFormat::Claude, "maxturns: 2"),
        (AgentFormat::OpenCode, "Steps: 2"),
        (AgentFormat::Gemini, "maxTurn: 2"),
        (AgentFormat::OpenCode, "permision:\n  bash: deny"),
        (AgentFormat::Gemini, "tolls: [read_file]"),
    ] {
        let file = read_as(format, &format!("---\nname: a\ndescription: d\n{field}\n---\nYou help.\n"));
        let definition = file.definition.unwrap();
        let key = field.split(':').next().unwrap();
        assert_eq!(definition.unsupported, [key], "{field}");
    }
    // What takes nothing away, and what says nothing, is only told.
    for field in ["colr: red", "modl: opus", "toolz:"] {
        let file =
            read_as(AgentFormat::Claude, &format!("---\nname: a\ndescription: d\n{field}\n---\nYou help.\n"));
        assert_eq!(file.definition.unwrap().unsupported, [""; 0], "{field}");
    }
}

/// Fields are read as they are written, but for `_` and `-`: one that is wrong in its capitals alone is none.
#[test]
fn a_narrowing_field_of_ours_that_is_misspelled_keeps_the_agent_from_starting() {
    let guard = "{PreToolUse: [{hooks: [{type: command, command: exit 2}]}]}";
    let read = |field: &str| {
        let text = format!("---\nkind: agent\nname: a\ndescription: d\n{field}\n---\nYou help.\n");
        read_as(AgentFormat::Own, &text)
    };
    for (field, path, fix) in [
        ("Tools: [grep]", "Tools", "`tools`"),
        ("TOOLS: [grep]", "TOOLS", "`tools`"),
        ("approVal: {rules: [{tool: '*', decision: deny}]}", "approVal", "`approval`"),
        ("Sandbox: readOnly", "Sandbox", "`sandbox`"),
        (&format!("Hooks: {guard}"), "Hooks", "`hooks`"),
        ("tracng: {content: none}", "tracng", "`tracing`"),
        ("Tracing: {content: none}", "Tracing", "`tracing`"),
        ("tracing: {contnet: none}", "tracing.contnet", "`tracing.content`"),
        ("tracing: {Enabled: false}", "tracing.Enabled", "`tracing.enabled`"),
        ("Run: {maxTurns: 1}", "Run", "`run`"),
        ("tools: {Deny: [read_file]}", "tools.Deny", "`tools.deny`"),
        ("approval: {Rules: [{tool: '*', decision: deny}]}", "approval.Rules", "`approval.rules`"),
        ("run: {maxCostUSD: 0.01}", "run.maxCostUSD", "`run.maxCostUsd`"),
        ("run: {maxturns: 1}", "run.maxturns", "`run.maxTurns`"),
        ("run: {MaxTurns: 1}", "run.MaxTurns", "`run.maxTurns`"),
    ] {
        let file = read(field);
        let definition = file.definition.unwrap();
        assert_eq!(definition.unsupported, [path], "{field}");
        let fixes = file.problems.iter().filter_map(|it| it.fix.as_deref());
        assert!(fixes.into_iter().any(|it| it.contains(fix)), "{field}: {:?}", file.problems);
    }
    for field in
        ["run: {max_turns: 1}", "run: {max-cost: 1}", "run: {max_cost_usd: 1}", "Color: red", "Tools:"]
    {
        assert_eq!(read(field).definition.unwrap().unsupported, [""; 0], "{field}");
    }
}
