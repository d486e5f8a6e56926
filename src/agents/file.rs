//! What does one agent file say? Bytes in; an agent, or all that keeps it from being one, out (spec 02).

use std::{path::Path, sync::Arc};

use super::{
    definition,
    findings::Findings,
    names,
    yaml::{self, YamlError},
};
use crate::{
    config::{Mark, decode, one_based},
    protocol::{
        AgentDefinition, AgentName, AgentScope, FileProblem,
        FileProblemCode::{BadYaml, MissingField, NoFrontMatter},
    },
    trust::digest,
};

/// Largest agent file (spec 02, "Foreign files", rule 1).
pub(super) const LARGEST_FILE: u64 = 1024 * 1024;

/// What became of one file.
#[derive(Debug, Clone)]
pub struct AgentFile {
    /// The agent's name; for a file without a readable one, the name behind the file's own.
    pub name: AgentName,
    /// SHA-256 of the bytes, as `sha256:<hex>`; of no bytes when the file could not be read.
    pub digest: String,
    /// Its bytes could not be had.
    pub is_unread: bool,
    /// Missing when a problem is an error: a file is never loaded half.
    pub definition: Option<Arc<AgentDefinition>>,
    pub problems: Vec<FileProblem>,
}

impl AgentFile {
    /// Reads an agent file of our own format. `path` serves for messages, and for a name when there is none.
    pub fn read(path: &Path, bytes: &[u8], scope: AgentScope) -> AgentFile {
        let mut findings = Findings::of(path);
        let (name, definition) = match decode(path, bytes) {
            Ok(text) => read_text(text, scope, &mut findings),
            Err(problem) => {
                findings.add(problem);
                (None, None)
            }
        };
        AgentFile {
            name: name.unwrap_or_else(|| name_of_file(path)),
            digest: digest(bytes),
            is_unread: false,
            definition: definition.filter(|_| !findings.have_error()).map(Arc::new),
            problems: findings.into_problems(),
        }
    }

    /// A file whose bytes could not be had.
    pub(super) fn unreadable(path: &Path, problem: FileProblem) -> AgentFile {
        AgentFile {
            name: name_of_file(path),
            digest: digest(b""),
            is_unread: true,
            definition: None,
            problems: vec![problem],
        }
    }
}

/// The name is known even of many a file whose definition is not.
fn read_text(
    text: &str,
    scope: AgentScope,
    findings: &mut Findings,
) -> (Option<AgentName>, Option<AgentDefinition>) {
    let (front_matter, body) = match split(text) {
        Ok(parts) => parts,
        Err(NoFence { line, message }) => {
            let mark = Mark { line, column: 1 };
            let fix = "begin the file with `---`, the fields one per line, and another `---`";
            findings.error_with_fix(Some(mark), NoFrontMatter, message, fix);
            return (None, None);
        }
    };
    let (root, errors) = yaml::parse(front_matter.text, front_matter.first_line);
    for YamlError { mark, message, fix } in errors {
        match fix {
            Some(fix) => findings.error_with_fix(Some(mark), BadYaml, message, fix),
            None => findings.error(Some(mark), BadYaml, message),
        }
    }
    let Some(root) = root.filter(|root| !root.is_null()) else {
        if !findings.have_error() {
            let mark = Mark { line: front_matter.first_line.saturating_sub(1).max(1), column: 1 };
            findings.error(
                Some(mark),
                MissingField,
                "the front matter is empty: `kind` and `name` are missing",
            );
        }
        return (None, None);
    };
    let name = definition::name(&root);
    (name, definition::read(&root, &body, scope, findings))
}

/// The text between the fences.
struct FrontMatter<'a> {
    text: &'a str,
    first_line: u32,
}

/// The text after the fences, without blank lines around it.
pub(super) struct Body<'a> {
    pub text: &'a str,
    /// The whole file, and where in it the body begins: for places in messages.
    whole: &'a str,
    offset: usize,
}

impl Body<'_> {
    /// Where the byte `offset` of the body stands in the file.
    pub fn mark(&self, offset: usize) -> Mark {
        Mark::at(self.whole, self.offset + offset)
    }
}

struct NoFence {
    line: u32,
    message: &'static str,
}

/// The first line that is not blank opens the front matter, `---` or `...` closes it (spec 02, rule 2).
fn split(text: &str) -> Result<(FrontMatter<'_>, Body<'_>), NoFence> {
    let (mut offset, mut opening) = (0, None);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let content = line.trim_end();
        let end = offset + line.len();
        match opening {
            None if content.is_empty() => {}
            None if content == "---" => opening = Some((one_based(number), end)),
            None => {
                let message = "has no front matter: the first line must be `---`";
                return Err(NoFence { line: one_based(number), message });
            }
            Some((fence_line, start)) if matches!(content, "---" | "...") => {
                let front_matter = FrontMatter { text: &text[start..offset], first_line: fence_line + 1 };
                return Ok((front_matter, body(text, end)));
            }
            Some(_) => {}
        }
        offset = end;
    }
    Err(match opening {
        Some((line, _)) => NoFence { line, message: "the front matter is never closed by a line `---`" },
        None => NoFence { line: 1, message: "is empty" },
    })
}

fn body(whole: &str, start: usize) -> Body<'_> {
    let rest = &whole[start..];
    let first_text = rest.len() - rest.trim_start().len();
    let first_line = rest[..first_text].rfind('\n').map_or(0, |newline| newline + 1);
    Body { text: rest[first_line..].trim_end(), whole, offset: start + first_line }
}

fn name_of_file(path: &Path) -> AgentName {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy());
    stem.and_then(|stem| names::slug(&stem)).unwrap_or_else(|| AgentName::from("unnamed"))
}
