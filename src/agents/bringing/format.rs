//! Whose way of writing does a file follow that lies in no place of its own?

use std::path::{Component, Path};

use crate::file::written_keys;
use protocol::AgentFormat::{self, Claude, Gemini, OpenCode, Own};

/// Folders in which files of one product lie.
const FOLDERS: [(&str, AgentFormat); 5] = [
    (".subagentd", Own),
    (".claude", Claude),
    (".gemini", Gemini),
    (".opencode", OpenCode),
    ("opencode", OpenCode),
];

/// Fields that only one of them has, as it spells them.
const FIELDS: [(&str, AgentFormat); 26] = [
    ("run", Own),
    ("inputs", Own),
    ("output", Own),
    ("query", Own),
    ("initialMessages", Own),
    ("completion", Own),
    ("triggers", Own),
    ("approval", Own),
    ("title", Own),
    ("mcp", Own),
    ("disallowedTools", Claude),
    ("permissionMode", Claude),
    ("skills", Claude),
    ("mcpServers", Claude),
    ("maxTurns", Claude),
    ("effort", Claude),
    ("isolation", Claude),
    ("display_name", Gemini),
    ("mcp_servers", Gemini),
    ("max_turns", Gemini),
    ("timeout_mins", Gemini),
    ("mode", OpenCode),
    ("permission", OpenCode),
    ("steps", OpenCode),
    ("top_p", OpenCode),
    ("maxSteps", OpenCode),
];

/// Models that one product has short names for.
const MODELS_OF_CLAUDE: [&str; 4] = ["sonnet", "opus", "haiku", "fable"];

/// By the folder that it lies in, the deepest first; else by what stands in it. `None` when nothing tells.
pub fn format_of(path: &Path, text: &str) -> Option<AgentFormat> {
    let folders = path.parent().into_iter().flat_map(Path::components).rev();
    let mut known = folders.filter_map(|component| match component {
        Component::Normal(name) => {
            FOLDERS.iter().find(|(folder, _)| name == *folder).map(|(_, format)| *format)
        }
        _ => None,
    });
    known.next().or_else(|| by_fields(text))
}

fn by_fields(text: &str) -> Option<AgentFormat> {
    // The first of those that most speaks for: ours, then whichever gives fewer tools.
    let mut votes = [(Own, 0), (Gemini, 0), (OpenCode, 0), (Claude, 0)];
    let mut vote = |format: AgentFormat| {
        votes.iter_mut().filter(|(it, _)| *it == format).for_each(|(_, count)| *count += 1);
    };
    for (key, value) in written_keys(text) {
        // Only they say what kind they are, and in these words.
        match (key, value) {
            ("kind", "agent" | "graph") => return Some(Own),
            ("kind", "local" | "remote") => return Some(Gemini),
            _ => (),
        }
        FIELDS.iter().filter(|(field, _)| *field == key).for_each(|(_, format)| vote(*format));
        match (key, value) {
            ("model", model) if MODELS_OF_CLAUDE.contains(&model) => vote(Claude),
            // Tools of Claude Code's begin with capitals.
            ("tools", tools)
                if tools.trim_start_matches(['[', '"', '\'']).starts_with(char::is_uppercase) =>
            {
                vote(Claude);
            }
            _ => (),
        }
    }
    let most = votes.iter().map(|(_, count)| *count).max().filter(|most| 0 < *most)?;
    votes.iter().find(|(_, count)| *count == most).map(|(format, _)| *format)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_files_format_is_told_by_its_folder_else_by_its_fields() {
        let cases = [
            ("/a/.claude/agents/x.md", "---\nkind: agent\n---\n", Claude),
            ("/a/.claude/plugins/.gemini/agents/x.md", "", Gemini),
            ("/home/me/.config/opencode/agent/x.md", "", OpenCode),
            ("/a/x.md", "---\nkind: agent\nname: x\nmodel: opus\nmaxTurns: 3\n---\n", Own),
            ("/a/x.md", "---\nname: x\ntools: Read, Grep\n---\n", Claude),
            ("/a/x.md", "---\nname: x\nmodel: sonnet\n---\n", Claude),
            ("/a/x.md", "---\nkind: remote\nname: x\nmodel: opus\nskills: y\n---\n", Gemini),
            ("/a/x.md", "---\nkind: local\nname: x\nmax_turns: 3\n---\n", Gemini),
            ("/a/x.md", "---\ndescription: x\nmode: subagent\nsteps: 3\n---\n", OpenCode),
            // Broken YAML says something all the same.
            ("/a/x.md", "---\nname: x\ndescription: a: b\npermissionMode: plan\n---\n", Claude),
        ];
        for (path, text, expected) in cases {
            assert_eq!(format_of(Path::new(path), text), Some(expected), "{path}: {text}");
        }
        for text in [
            "---\nname: x\ndescription: y\n---\nbody",
            "---\nname: x\ntools: read_file\n---\n",
            "no front matter",
        ] {
            assert_eq!(format_of(Path::new("/a/x.md"), text), None, "{text}");
        }
    }
}
