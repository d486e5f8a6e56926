//! What was a run told before its first message? In a line, by where it comes from.

use protocol::{PromptFile, PromptSources};

use crate::text::line_shown;

/// Files that a line names.
const MOST_NAMED: usize = 8;

/// `system prompt from the daemon's modules, with the agent's own text; memory files /w/AGENTS.md (312 bytes), /w/notes.md (imported); 2 skills`
pub fn told_said(told: &PromptSources, mark: impl Fn(&str) -> String) -> String {
    let prompt = &told.system_prompt;
    let from = match (prompt.source.as_str(), &prompt.path) {
        (_, Some(path)) => format!("system prompt from {}", mark(&line_shown(path))),
        ("modules", None) => "system prompt from the daemon's modules".to_owned(),
        ("agent", None) => "system prompt from the agent's file".to_owned(),
        (source, None) => format!("system prompt from {}", mark(&line_shown(source))),
    };
    let own = prompt.has_agent_text.then_some("the agent's own text");
    let appended = prompt.has_system_append.then_some("the session's `systemAppend`");
    let with = match (own, appended) {
        (Some(own), Some(appended)) => format!(", with {own} and {appended}"),
        (Some(one), None) | (None, Some(one)) => format!(", with {one}"),
        (None, None) => String::new(),
    };
    let from = format!("{from}{with}");
    let named = told.memory.iter().take(MOST_NAMED).map(|file| named(file, &mark)).collect::<Vec<_>>();
    let more = (told.memory.len() - named.len()) as u64 + told.more_memory;
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let noun = if named.len() == 1 && more.is_empty() { "file" } else { "files" };
    let memory = match named.is_empty() {
        true => "no memory file".to_owned(),
        false => format!("memory {noun} {}{more}", named.join(", ")),
    };
    let skills = match told.skills {
        0 => None,
        1 => Some("1 skill".to_owned()),
        skills => Some(format!("{skills} skills")),
    };
    [Some(from), Some(memory), skills].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn named(file: &PromptFile, mark: impl Fn(&str) -> String) -> String {
    let path = mark(&line_shown(&file.path));
    match file.kind.as_str() {
        "import" => format!("{path} (imported)"),
        _ => format!("{path} ({} bytes)", file.bytes),
    }
}
