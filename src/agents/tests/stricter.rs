//! What a file of another product takes away is away here, and in every format in which it is written.

use super::*;
use crate::export::export;
use protocol::Verdict;

fn claude(fields: &str) -> AgentFile {
    let text = format!("---\nname: a\ndescription: d\n{fields}\n---\nx\n");
    AgentFile::read(Path::new("a.md"), text.as_bytes(), AgentScope::User, AgentFormat::Claude)
}

fn opencode(fields: &str) -> AgentFile {
    let text = format!("---\ndescription: d\nmode: subagent\n{fields}\n---\nx\n");
    AgentFile::read(Path::new("a.md"), text.as_bytes(), AgentScope::User, AgentFormat::OpenCode)
}

#[test]
fn calls_in_parentheses_belong_to_the_tool_before_them() {
    for tools in [
        "tools: Bash (git:*)",
        "tools: [Bash (git:*)]",
        "tools: Read Bash (git:*)",
        "tools: Read Bash   (git:*)",
        "tools: Read, Bash (git:*)",
        "tools: Bash(git:*)",
    ] {
        let file = claude(tools);
        let definition = file.definition.as_ref().unwrap();
        let narrowings: Vec<(&str, Verdict)> =
            definition.narrowings.iter().map(|it| (it.tool.as_str(), it.decision)).collect();
        let expected = [("run_shell_command", Verdict::Deny), ("run_shell_command", Verdict::Allow)];
        assert_eq!(narrowings, expected, "{tools}: {:?}", file.problems);
        let allow = definition.tools.allow.as_ref().unwrap();
        assert!(allow.iter().all(|tool| !tool.as_str().is_empty()), "{tools}: {allow:?}");
    }
}

#[test]
fn whoever_takes_writing_away_takes_all_that_writes_away() {
    for file in [
        claude("disallowedTools: Write, Edit, Bash"),
        opencode("tools: { write: false, edit: false, bash: false }"),
        opencode("tools: { edit: false, bash: false }"),
        claude("disallowedTools: [MultiEdit, Bash]"),
    ] {
        let denied = &file.definition.as_ref().unwrap().tools.deny;
        for tool in ["edit_file", "delete_file", "move_file", "run_shell_command", "git_commit"] {
            assert!(denied.contains(&tool.into()), "{tool}: {denied:?}");
        }
    }
    let some = claude("disallowedTools: Bash(rm:*)");
    assert!(some.definition.unwrap().tools.deny.is_empty(), "of some calls it is no word about the rest");
}

#[test]
fn whoever_plans_gets_nothing_from_elsewhere() {
    let tools = claude("permissionMode: plan").definition.as_ref().unwrap().tools.clone();
    assert!(!tools.inherits && !tools.agents);
    let allow = tools.allow.unwrap();
    assert!(allow.contains(&"read_file".into()), "{allow:?}");
    let changing =
        ["write_file", "edit_file", "delete_file", "run_shell_command", "git_commit", "save_memory"];
    assert!(changing.iter().all(|tool| !allow.contains(&(*tool).into())), "{allow:?}");
    let named = claude("tools: Read, Write, Task\npermissionMode: plan").definition.unwrap().tools.clone();
    assert!(!named.agents && named.deny.contains(&"write_file".into()), "{named:?}");
}

#[test]
fn a_restriction_that_cannot_be_written_becomes_a_stricter_one_and_is_told() {
    let file = opencode("permission: { edit: deny, bash: { '*': deny, 'git diff*': allow } }");
    let written = export(file.definition.as_ref().unwrap(), &file.extras, AgentFormat::Claude);
    let denied = written.text.lines().find(|line| line.starts_with("disallowedTools:")).unwrap();
    assert!(denied.contains("Bash") && denied.contains("Write"), "{denied}");
    assert!(written.lost.iter().any(|lost| lost.contains("run_shell_command")), "{:?}", written.lost);
    // With a list of what is allowed it stands there.
    let file = claude("tools: Read, Bash(git:*)");
    let written = export(file.definition.as_ref().unwrap(), &file.extras, AgentFormat::Claude);
    assert!(written.text.contains("Bash(git:*)") && !written.text.contains("disallowed"), "{}", written.text);
    assert_eq!(written.lost, [""; 0]);
}

#[test]
fn what_a_file_of_ours_claims_for_itself_is_told_to_whoever_brings_it_in() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.md");
    let fields = "approval: { autoApprove: [low, medium] }\nsandbox: full\ntriggers: [{ keywords: [the] }]";
    fs::write(&path, format!("---\nkind: agent\nname: a\ndescription: d\n{fields}\n---\nx\n")).unwrap();
    let brought = bring(&path, None, AgentScope::User).remove(0);
    let told: Vec<&str> = brought.problems.iter().map(|problem| problem.message.as_str()).collect();
    for part in ["risk low, medium run without a question", "`sandbox: full`", "`triggers`"] {
        assert!(told.iter().any(|message| message.contains(part)), "{part}: {told:?}");
    }
    assert!(brought.text.is_some());
}
