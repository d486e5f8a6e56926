//! Which other names does a tool go by? (spec 05, "Aliases")

use crate::builtin::SEARCH_DOCS;
use protocol::{TOOL_ALIASES, TOOL_CLASS_NAMES, aliased_tool, underscored};

/// What an agent gets only when it names it: of use to nobody but the agent made for it, so neither a wildcard nor what other
/// products' files inherit brings it.
const ONLY_BY_NAME: &[&str] = &[SEARCH_DOCS];

/// What the names of tools begin with that a command told of.
pub const DISCOVERED: &str = "discovered_";

/// Whether an entry means tools of commands or of MCP servers, which are there at one time and not at another.
pub fn is_of_elsewhere(entry: &str) -> bool {
    [DISCOVERED, "mcp.", "mcp_"].iter().any(|beginning| entry.starts_with(beginning))
}

/// Whether it belongs to a tool of ours, also to one that is not there: by its own name, an alias or a class.
pub fn is_ours(name: &str) -> bool {
    let plain = underscored(name);
    let of_ours =
        |(alias, canonical): &(&str, &str)| *alias == name || *alias == plain || *canonical == plain;
    TOOL_ALIASES.iter().chain(TOOL_CLASS_NAMES).any(of_ours)
}

/// Every other name of a built-in tool.
pub fn aliases_of(canonical: &str) -> Vec<&'static str> {
    TOOL_ALIASES
        .iter()
        .chain(TOOL_CLASS_NAMES)
        .filter(|(_, name)| *name == canonical)
        .map(|(alias, _)| *alias)
        .collect()
}

/// Whether a call or a list may call the tool `canonical` by `name`.
pub fn is_spelling(name: &str, canonical: &str) -> bool {
    name == canonical
        || aliased_tool(name) == Some(canonical)
        || underscored(name) == underscored(canonical)
        || mcp_spellings(canonical).iter().any(|spelling| spelling == name)
}

/// Whether only those get the tool who name it.
pub fn is_only_by_name(canonical: &str) -> bool {
    ONLY_BY_NAME.contains(&canonical)
}

/// Whether an entry of an allow list brings the tool `canonical`.
pub fn entry_allows(entry: &str, canonical: &str) -> bool {
    entry_matches(entry, canonical) && !(entry.contains('*') && is_only_by_name(canonical))
}

/// Whether an entry of an allow, deny or exclude list means the tool `canonical`. `*` matches within a segment;
/// segments are parted by `.`.
pub fn entry_matches(entry: &str, canonical: &str) -> bool {
    if !entry.contains('*') {
        let class = TOOL_CLASS_NAMES.iter().find(|(class, _)| *class == entry);
        return is_spelling(entry, canonical) || class.is_some_and(|(_, name)| *name == canonical);
    }
    let aliases = TOOL_ALIASES.iter().chain(TOOL_CLASS_NAMES).filter(|(_, name)| *name == canonical);
    // Spelled without dots an MCP tool has one segment; that must not make `*` mean every server's tools.
    let names_mcp = entry.starts_with("mcp_");
    pattern_matches(entry, canonical)
        || pattern_matches(&underscored(entry), canonical)
        || names_mcp && mcp_spellings(canonical).iter().any(|spelling| pattern_matches(entry, spelling))
        || aliases.into_iter().any(|(alias, _)| pattern_matches(entry, alias))
}

/// Whether an entry of an allow list may mean a tool of this MCP server.
pub fn entry_means_server(entry: &str, server: &str) -> bool {
    if let Some(rest) = entry.strip_prefix("mcp.") {
        return rest.split_once('.').is_some_and(|(part, _)| {
            segment_matches(part, server) || underscored(part) == underscored(server)
        });
    }
    let spelled = |prefix: &str, parting: &str| {
        let Some(rest) = entry.strip_prefix(prefix) else { return false };
        // A name may have the parting in it, so any beginning will do.
        let named = format!("{server}{parting}");
        rest.starts_with(&named) || rest.split_once('*').is_some_and(|(head, _)| named.starts_with(head))
    };
    spelled("mcp__", "__") || spelled("mcp_", "_")
}

/// `mcp.server.tool` as it stands on the wire to models and in other programs' files.
fn mcp_spellings(canonical: &str) -> Vec<String> {
    let parts: Vec<&str> = canonical.splitn(3, '.').collect();
    match parts[..] {
        ["mcp", server, tool] => vec![format!("mcp__{server}__{tool}"), format!("mcp_{server}_{tool}")],
        _ => Vec::new(),
    }
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
