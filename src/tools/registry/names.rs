//! Which other names does a tool go by? (spec 05, "Aliases")

use std::borrow::Cow;

/// Other names, so that public agent files and models' habits work.
const ALIASES: &[(&str, &str)] = &[
    ("ls", "list_directory"),
    ("LS", "list_directory"),
    ("list_files", "list_directory"),
    ("Read", "read_file"),
    ("Glob", "glob"),
    ("grep_search", "grep"),
    ("search_file_content", "grep"),
    ("search_content", "grep"),
    ("Grep", "grep"),
    ("ripgrep", "grep"),
    ("Write", "write_file"),
    ("replace", "edit_file"),
    ("edit", "edit_file"),
    ("Edit", "edit_file"),
    ("MultiEdit", "edit_file"),
    ("smart_edit", "edit_file"),
    ("bash", "run_shell_command"),
    ("shell", "run_shell_command"),
    ("Bash", "run_shell_command"),
    ("WebFetch", "web_fetch"),
    ("WebSearch", "web_search"),
    ("google_web_search", "web_search"),
    ("TodoWrite", "write_todos"),
    ("memory", "save_memory"),
    ("AskUserQuestion", "ask_user"),
];

/// Gemini CLI's class names; they stand in allow, deny and exclude lists, never in calls.
const CLASS_NAMES: &[(&str, &str)] = &[
    ("LSTool", "list_directory"),
    ("ReadFileTool", "read_file"),
    ("ReadManyFilesTool", "read_many_files"),
    ("GlobTool", "glob"),
    ("GrepTool", "grep"),
    ("RipGrepTool", "grep"),
    ("WriteFileTool", "write_file"),
    ("EditTool", "edit_file"),
    ("SmartEditTool", "edit_file"),
    ("ShellTool", "run_shell_command"),
    ("WebFetchTool", "web_fetch"),
    ("WebSearchTool", "web_search"),
    ("MemoryTool", "save_memory"),
    ("WriteTodosTool", "write_todos"),
    ("AskUserTool", "ask_user"),
];

/// What the names of tools begin with that a command told of.
pub const DISCOVERED: &str = "discovered_";

/// Whether an entry means tools of commands or of MCP servers, which are there at one time and not at another.
pub fn is_of_elsewhere(entry: &str) -> bool {
    [DISCOVERED, "mcp.", "mcp_"].iter().any(|beginning| entry.starts_with(beginning))
}

/// What `name` stands for by the table, with `-` read as `_`; `None` when it is no alias.
pub fn listed(name: &str) -> Option<&'static str> {
    let plain = underscored(name);
    ALIASES.iter().find(|(alias, _)| *alias == name || *alias == plain).map(|(_, canonical)| *canonical)
}

/// Whether it belongs to a tool of ours, also to one that is not there: by its own name, an alias or a class.
pub fn is_ours(name: &str) -> bool {
    let plain = underscored(name);
    let of_ours =
        |(alias, canonical): &(&str, &str)| *alias == name || *alias == plain || *canonical == plain;
    ALIASES.iter().chain(CLASS_NAMES).any(of_ours)
}

/// Every other name of a built-in tool.
pub fn aliases_of(canonical: &str) -> Vec<&'static str> {
    ALIASES
        .iter()
        .chain(CLASS_NAMES)
        .filter(|(_, name)| *name == canonical)
        .map(|(alias, _)| *alias)
        .collect()
}

/// Whether a call or a list may call the tool `canonical` by `name`.
pub fn is_spelling(name: &str, canonical: &str) -> bool {
    name == canonical
        || listed(name) == Some(canonical)
        || underscored(name) == underscored(canonical)
        || mcp_spellings(canonical).iter().any(|spelling| spelling == name)
}

/// Whether an entry of an allow, deny or exclude list means the tool `canonical`. `*` matches within a segment;
/// segments are parted by `.`.
pub fn entry_matches(entry: &str, canonical: &str) -> bool {
    if !entry.contains('*') {
        let class = CLASS_NAMES.iter().find(|(class, _)| *class == entry);
        return is_spelling(entry, canonical) || class.is_some_and(|(_, name)| *name == canonical);
    }
    let aliases = ALIASES.iter().chain(CLASS_NAMES).filter(|(_, name)| *name == canonical);
    // Spelled without dots an MCP tool has one segment; that must not make `*` mean every server's tools.
    let names_mcp = entry.starts_with("mcp_");
    pattern_matches(entry, canonical)
        || pattern_matches(&underscored(entry), canonical)
        || names_mcp && mcp_spellings(canonical).iter().any(|spelling| pattern_matches(entry, spelling))
        || aliases.into_iter().any(|(alias, _)| pattern_matches(entry, alias))
}

/// `mcp.server.tool` as it stands on the wire to models and in other programs' files.
fn mcp_spellings(canonical: &str) -> Vec<String> {
    let parts: Vec<&str> = canonical.splitn(3, '.').collect();
    match parts[..] {
        ["mcp", server, tool] => vec![format!("mcp__{server}__{tool}"), format!("mcp_{server}_{tool}")],
        _ => Vec::new(),
    }
}

fn underscored(name: &str) -> Cow<'_, str> {
    if name.contains('-') { Cow::Owned(name.replace('-', "_")) } else { Cow::Borrowed(name) }
}

fn pattern_matches(pattern: &str, name: &str) -> bool {
    let (patterns, names) = (pattern.split('.'), name.split('.'));
    patterns.clone().count() == names.clone().count()
        && patterns.zip(names).all(|(pattern, name)| segment_matches(pattern, name))
}

/// `*` as any number of characters; the pieces between must follow each other.
fn segment_matches(pattern: &str, segment: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == segment };
    let Some(mut left) = segment.strip_prefix(head) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let tail = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match left.split_once(piece) {
            Some((_, after)) => left = after,
            None => return false,
        }
    }
    left.ends_with(tail)
}
