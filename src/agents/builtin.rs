//! Which agents come with the daemon? (spec 02, "Built in")
//!
//! They are files of our own format, compiled in, and read like any other.

use std::path::Path;

use super::file::AgentFile;
use protocol::{AgentFormat, AgentName, AgentScope};

/// File names, for messages, and contents.
const FILES: &[(&str, &str)] = &[
    ("codebase-investigator.md", include_str!("builtin/codebase-investigator.md")),
    ("generalist.md", include_str!("builtin/generalist.md")),
    ("help.md", include_str!("builtin/help.md")),
];

/// Other names that built-in agents answer to.
const ALIASES: &[(&str, &str)] = &[("codebase_investigator", "codebase-investigator")];

/// The built-in agents.
pub(super) fn files() -> Vec<AgentFile> {
    let read = |(name, text): &(&str, &str)| {
        AgentFile::read(Path::new(name), text.as_bytes(), AgentScope::Builtin, AgentFormat::Own)
    };
    FILES.iter().map(read).collect()
}

/// What a built-in agent's file says.
pub(super) fn text(name: &AgentName) -> Option<&'static str> {
    let file = format!("{name}.md");
    FILES.iter().find(|(known, _)| *known == file).map(|(_, text)| *text)
}

/// The name behind an alias.
pub(super) fn name_behind(alias: &AgentName) -> Option<AgentName> {
    let found = ALIASES.iter().find(|(known, _)| *known == alias.as_str());
    found.map(|(_, name)| AgentName::from(*name))
}
