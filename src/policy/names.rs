//! Does what a rule names mean this tool, or this agent?

use memchr::memmem::Finder;

use protocol::ToolName;

/// How MCP tools are spelled without dots. Such a name has one segment, which must not make `m*` mean every server's
/// tools.
const MCP_SPELLING: &str = "mcp_";

/// A name, or a pattern in which `*` stands for any characters within a segment; segments are parted by `.`. A lone `*`
/// means everything. `-` and `_` are the same character here.
#[derive(Debug)]
pub(super) enum NamePattern {
    Everything,
    Name(String),
    Pattern { means_mcp_spelling: bool, segments: Vec<PatternSegment> },
}

impl NamePattern {
    pub fn new(text: &str) -> NamePattern {
        match plain(text) {
            star if star == "*" => NamePattern::Everything,
            name if !name.contains('*') => NamePattern::Name(name),
            pattern => NamePattern::Pattern {
                means_mcp_spelling: pattern.starts_with(MCP_SPELLING),
                segments: pattern.split('.').map(PatternSegment::new).collect(),
            },
        }
    }

    pub fn matches(&self, names: &CallNames) -> bool {
        match self {
            NamePattern::Everything => true,
            NamePattern::Name(wanted) => names.all().any(|name| name.text == *wanted),
            NamePattern::Pattern { means_mcp_spelling, segments } => {
                let is_open =
                    |alias: &&NameSpelling| *means_mcp_spelling || !alias.text.starts_with(MCP_SPELLING);
                matches_all(segments, &names.name)
                    || names.aliases.iter().filter(is_open).any(|alias| matches_all(segments, alias))
            }
        }
    }
}

/// The names of one tool or agent, ready to be compared with many patterns.
#[derive(Debug)]
pub(super) struct CallNames {
    name: NameSpelling,
    aliases: Vec<NameSpelling>,
}

/// The other spellings of a tool of an MCP server: one from which its server is told, and one that may mean another server's
/// tool as well, so that it can restrict and never allow.
fn mcp_spellings(tool: &str) -> Option<(String, String)> {
    let (server, name) = tool.strip_prefix("mcp.")?.split_once('.')?;
    Some((format!("mcp__{server}__{name}"), format!("mcp_{server}_{name}")))
}

#[derive(Debug)]
struct NameSpelling {
    text: String,
    segments: usize,
}

impl NameSpelling {
    fn of(name: &str) -> NameSpelling {
        let text = plain(name);
        NameSpelling { segments: text.split('.').count(), text }
    }
}

impl CallNames {
    pub fn of_tool(tool: &ToolName, aliases: &[&str]) -> CallNames {
        let mcp = mcp_spellings(tool.as_str()).map(|(sure, _)| NameSpelling::of(&sure));
        CallNames {
            name: NameSpelling::of(tool.as_str()),
            aliases: aliases.iter().copied().map(NameSpelling::of).chain(mcp).collect(),
        }
    }

    /// The spelling by which a tool can be meant only where that restricts it.
    pub fn of_tool_perhaps(tool: &ToolName) -> Option<CallNames> {
        let (_, unsure) = mcp_spellings(tool.as_str())?;
        Some(CallNames { name: NameSpelling::of(&unsure), aliases: Vec::new() })
    }

    pub fn of(name: &str) -> CallNames {
        CallNames { name: NameSpelling::of(name), aliases: Vec::new() }
    }

    fn all(&self) -> impl Iterator<Item = &NameSpelling> {
        [&self.name].into_iter().chain(&self.aliases)
    }
}

/// `*` as any number of characters; the pieces between must follow each other.
#[derive(Debug)]
pub(super) enum PatternSegment {
    Text(String),
    Pieces { head: String, middle: Vec<Finder<'static>>, tail: String },
}

impl PatternSegment {
    fn new(text: &str) -> PatternSegment {
        let Some((head, rest)) = text.split_once('*') else { return PatternSegment::Text(text.to_owned()) };
        let mut middle: Vec<&str> = rest.split('*').collect();
        let tail = middle.pop().unwrap_or_default().to_owned();
        let middle = middle.into_iter().map(|piece| Finder::new(piece).into_owned()).collect();
        PatternSegment::Pieces { head: head.to_owned(), middle, tail }
    }

    fn matches(&self, text: &str) -> bool {
        let (head, middle, tail) = match self {
            PatternSegment::Text(wanted) => return text == wanted,
            PatternSegment::Pieces { head, middle, tail } => (head, middle, tail),
        };
        let Some(left) = text.strip_prefix(head.as_str()) else { return false };
        let mut left = left.as_bytes();
        for piece in middle {
            match piece.find(left) {
                Some(at) => left = &left[at + piece.needle().len()..],
                None => return false,
            }
        }
        left.ends_with(tail.as_bytes())
    }
}

fn matches_all(segments: &[PatternSegment], name: &NameSpelling) -> bool {
    segments.len() == name.segments
        && segments.iter().zip(name.text.split('.')).all(|(segment, part)| segment.matches(part))
}

fn plain(name: &str) -> String {
    name.replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_patterns_and_aliases() {
        let shell = ("run_shell_command", &["bash", "Bash"][..]);
        let issue = ("mcp.git-hub.get_issue", &["mcp__git-hub__get_issue"][..]);
        let cases = [
            (shell, "run_shell_command", true),
            (shell, "run-shell-command", true),
            (shell, "Bash", true),
            (shell, "BASH", false),
            (shell, "run_*", true),
            (shell, "*_shell_*", true),
            (shell, "*shell*shell*", false),
            (shell, "run*run_shell_command", false),
            (shell, "B*", true),
            (shell, "*", true),
            (shell, "*.*", false),
            (shell, "", false),
            (issue, "*", true),
            (issue, "mcp.*", false),
            (issue, "mcp.*.*", true),
            (issue, "mcp.git_hub.*", true),
            (issue, "mcp.*.get_*", true),
            (issue, "mcp.git-hub.get_issue", true),
            (issue, "mcp__git-hub__get_issue", true),
            (issue, "mcp__git-hub__*", true),
            (issue, "m*", false),
            (issue, "mcp.git-hub", false),
            (issue, "mcp.git-hub.get_issue.*", false),
            // Nobody has to say so.
            (("mcp.docs.read_page", &[][..]), "mcp__docs__read_page", true),
            (("mcp.docs.read_page", &[][..]), "mcp__docs__*", true),
            (("mcp.docs_evil.read", &[][..]), "mcp__docs__*", false),
            (("mcp.docs.read_page", &[][..]), "mcp_docs_*", false),
        ];
        for ((tool, aliases), pattern, expected) in cases {
            let names = CallNames::of_tool(&tool.into(), aliases);
            assert_eq!(NamePattern::new(pattern).matches(&names), expected, "{pattern} of {tool}");
        }
    }
}
