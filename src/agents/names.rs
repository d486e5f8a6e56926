//! How is an agent called: the name behind what somebody wrote, its title, and names that are taken.

use crate::protocol::AgentName;

/// Longest name of an agent, in characters (spec 02).
pub(super) const LONGEST_NAME: usize = 64;

/// Tools and their aliases (spec 05), with `_` for `-`. An agent is callable like a tool, so it may not be
/// called like one. Aliases with capitals cannot clash: names have none.
pub(super) const TOOL_NAMES: &[&str] = &[
    "ask_user",
    "bash",
    "complete_task",
    "delete_file",
    "edit",
    "edit_file",
    "forget_memory",
    "get_state",
    "git_commit",
    "glob",
    "google_web_search",
    "grep",
    "grep_search",
    "kill_shell",
    "list_directory",
    "list_files",
    "ls",
    "memory",
    "move_file",
    "present_plan",
    "read_file",
    "read_many_files",
    "recall_memory",
    "replace",
    "ripgrep",
    "run_shell_command",
    "save_memory",
    "search_content",
    "search_file_content",
    "set_state",
    "shell",
    "shell_output",
    "smart_edit",
    "store_memory",
    "web_fetch",
    "web_search",
    "write_file",
    "write_todos",
];

/// The name for a text: lower case, `[a-z0-9._-]`, everything else a dash (spec 02, "Foreign files", rule 4).
/// `None` when nothing is left of it.
pub(super) fn slug(text: &str) -> Option<AgentName> {
    let mut name = String::new();
    for character in text.chars().flat_map(char::to_lowercase) {
        if character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '-') {
            name.push(character);
        } else if !name.ends_with('-') {
            name.push('-');
        }
    }
    let trimmed = name.trim_matches('-');
    let short = trimmed.get(..LONGEST_NAME).unwrap_or(trimmed).trim_end_matches('-');
    (!short.is_empty()).then(|| AgentName::from(short))
}

/// The title of an agent that has none: `debug-analyzer` → `Debug Analyzer`.
pub(super) fn title_case(name: &AgentName) -> String {
    let words = name.as_str().split(['-', '_', '.']).filter(|word| !word.is_empty());
    let capitalized = words.map(|word| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    });
    capitalized.collect::<Vec<_>>().join(" ")
}

/// Whether a tool has this name or answers to it.
pub(super) fn is_tool_name(name: &AgentName) -> bool {
    let name = name.as_str().replace('-', "_");
    TOOL_NAMES.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_letters_digits_and_three_marks() {
        let long = "x".repeat(70);
        let cases = [
            ("debug-analyzer", Some("debug-analyzer")),
            ("codebase_investigator", Some("codebase_investigator")),
            ("Debug  Analyzer!", Some("debug-analyzer")),
            ("v1.2", Some("v1.2")),
            ("Prüfer", Some("pr-fer")),
            ("../../etc", Some("..-..-etc")),
            ("—", None),
            ("", None),
            (long.as_str(), Some(&long[..64])),
        ];
        for (text, expected) in cases {
            assert_eq!(slug(text).as_ref().map(AgentName::as_str), expected, "{text}");
        }
    }

    #[test]
    fn titles_come_from_names() {
        for (name, title) in [
            ("debug-analyzer", "Debug Analyzer"),
            ("a", "A"),
            ("codebase_investigator", "Codebase Investigator"),
        ] {
            assert_eq!(title_case(&AgentName::from(name)), title);
        }
    }

    #[test]
    fn an_agent_cannot_pose_as_a_tool() {
        for (name, expected) in
            [("read-file", true), ("glob", true), ("globber", false), ("generalist", false)]
        {
            assert_eq!(is_tool_name(&AgentName::from(name)), expected, "{name}");
        }
    }
}
