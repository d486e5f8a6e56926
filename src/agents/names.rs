//! How is an agent called: the name behind what somebody wrote, its title, and names that are taken.

use unicode_normalization::{UnicodeNormalization as _, char::is_combining_mark};

use protocol::{AgentName, BUILTIN_TOOLS, TOOL_ALIASES, underscored};

/// Longest name of an agent, in characters (spec 02).
pub(super) const LONGEST_NAME: usize = 64;

/// Stands for whichever agent's trigger fits (spec 02, "Auto-routing"), so no agent is called so.
pub(super) const AUTO: &str = "auto";

/// Tools that hand over to an agent are called so.
pub(super) const HANDOFF: &str = "handoff_to_";

/// Tools and their aliases (spec 05), with `_` for `-`. An agent is callable like a tool, so it may not be
/// called like one. Aliases with capitals cannot clash: names have none.
pub(super) fn tool_names() -> impl Iterator<Item = &'static str> {
    let aliases = TOOL_ALIASES.iter().map(|(alias, _)| *alias);
    let is_like_a_name = |name: &&str| !name.chars().any(|it| it.is_ascii_uppercase());
    BUILTIN_TOOLS.iter().copied().chain(aliases.filter(is_like_a_name))
}

/// The name for a text: lower case, `[a-z0-9._-]`, everything else a dash (spec 02, "Foreign files", rule 4); no two dashes
/// side by side, none at the ends, and no dots there, since names become files' names. `None` when nothing is left of it.
pub(super) fn slug(text: &str) -> Option<AgentName> {
    let mut name = String::new();
    // Accents are marks of their own then, and wide letters as narrow as ASCII's.
    let visible = text.nfkd().filter(|it| !is_invisible(*it) && !is_combining_mark(*it));
    for character in visible.flat_map(char::to_lowercase) {
        match character {
            'a'..='z' | '0'..='9' | '.' | '_' => name.push(character),
            _ if !name.ends_with('-') => name.push('-'),
            _ => {}
        }
    }
    let trimmed = name.trim_matches(['-', '.']);
    let short = trimmed.get(..LONGEST_NAME).unwrap_or(trimmed).trim_end_matches(['-', '.']);
    (!short.is_empty()).then(|| AgentName::from(short))
}

/// True if an agent may be made by this name (spec 02, `name`): `^[a-z][a-z0-9]*(-[a-z0-9]+)*$`, at most 64 characters.
pub(super) fn is_proper(name: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit())
    };
    name.len() <= LONGEST_NAME
        && name.starts_with(|it: char| it.is_ascii_lowercase())
        && name.split('-').all(is_word)
}

/// The name of that kind that is nearest to a text, if there is one.
pub(super) fn proper(text: &str) -> Option<AgentName> {
    let name = slug(text)?.as_str().replace(['.', '_'], "-");
    let words: Vec<&str> = name.split('-').filter(|word| !word.is_empty()).collect();
    let name = words.join("-");
    let name = if name.starts_with(|it: char| it.is_ascii_digit()) { format!("agent-{name}") } else { name };
    is_proper(&name).then(|| AgentName::from(name))
}

/// Takes no room on a screen, so that two names that differ by it look the same.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

/// The title of an agent that has none: `debug-analyzer` → `Debug Analyzer`.
pub fn title_case(name: &AgentName) -> String {
    let words = name.as_str().split(['-', '_', '.']).filter(|word| !word.is_empty());
    let capitalized = words.map(|word| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    });
    capitalized.collect::<Vec<_>>().join(" ")
}

/// The reason why no agent may have this name, if none may.
pub(super) fn taken(name: &AgentName) -> Option<&'static str> {
    match name.as_str() {
        AUTO => Some("stands for whichever agent's trigger fits"),
        _ => is_tool_name(name).then_some("is the name of a tool"),
    }
}

/// True if a tool has this name or answers to it.
pub(super) fn is_tool_name(name: &AgentName) -> bool {
    let name = underscored(name.as_str());
    name.starts_with(HANDOFF) || tool_names().any(|tool| *tool == name)
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
            ("Prüfer", Some("prufer")),
            ("../../etc", Some("etc")),
            ("a - b--c", Some("a-b-c")),
            ("..", None),
            ("co\u{200b}der", Some("coder")),
            ("Ｗｉｄｅ", Some("wide")),
            ("—", None),
            ("", None),
            (long.as_str(), Some(&long[..64])),
        ];
        for (text, expected) in cases {
            assert_eq!(slug(text).as_ref().map(AgentName::as_str), expected, "{text}");
        }
    }

    #[test]
    fn an_agent_is_made_by_a_proper_name_only() {
        let long = "x".repeat(65);
        let cases = [
            ("debug-analyzer", true, Some("debug-analyzer")),
            ("a1-2", true, Some("a1-2")),
            ("Debug Analyzer", false, Some("debug-analyzer")),
            ("snake_case.v1", false, Some("snake-case-v1")),
            ("1st", false, Some("agent-1st")),
            ("-a", false, Some("a")),
            ("a--b", false, Some("a-b")),
            ("", false, None),
            (long.as_str(), false, Some(&long[..64])),
        ];
        for (text, expected, nearest) in cases {
            assert_eq!(is_proper(text), expected, "{text}");
            assert_eq!(proper(text).as_ref().map(AgentName::as_str), nearest, "{text}");
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
