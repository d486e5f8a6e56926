//! What does one agent file say? Bytes in; an agent, or all that keeps it from being one, out (spec 02).

use std::{
    path::Path,
    sync::{Arc, OnceLock},
};

use serde_json::Value;

use super::{
    bytes, definition,
    file_sections::{FrontMatter, NoFence, split},
    findings::FileFindings,
    foreign::{self, ForeignAgent, ForeignFileOrigin, StartStanding},
    repair,
    routing::AgentTriggers,
    yaml::{self, YamlError, YamlNode},
};
use config::TextPosition;
use protocol::{
    AgentDefinition, AgentFileState, AgentFormat, AgentName, AgentScope, FileProblem,
    FileProblemCode::{BadYaml, MissingField, NoFrontMatter},
};
use trust::digest;

/// Largest agent file, in bytes (spec 02, "Foreign files", rule 1).
pub const LARGEST_FILE: u64 = 1024 * 1024;

/// What became of one file.
#[derive(Debug, Clone)]
pub struct AgentFile {
    /// The agent's name; for a file without a readable one, the name behind the file's own.
    pub name: AgentName,
    /// Whose way of writing it was read in.
    pub format: AgentFormat,
    pub state: AgentFileState,
    /// Whether the file itself says that it is not to be started here.
    pub standing: StartStanding,
    /// SHA-256 of the bytes, as `sha256:<hex>`; of no bytes when the file could not be read.
    pub digest: String,
    /// Its bytes could not be had.
    pub is_unread: bool,
    /// Missing when a problem is an error: a file is never loaded half.
    pub definition: Option<Arc<AgentDefinition>>,
    pub problems: Vec<FileProblem>,
    /// Fields that mean nothing here, as they were written, so that they can be written back.
    pub extras: Vec<(String, Value)>,
    /// Of a file that was repaired, the whole text as it should be.
    pub corrected: Option<String>,
    /// Further agents of the same file: Gemini CLI keeps lists of remote ones.
    pub others: Vec<AgentFile>,
    /// Compiled when somebody routes a prompt for the first time.
    triggers: OnceLock<AgentTriggers>,
}

impl AgentFile {
    /// Reads an agent file of this format. `path` serves for messages, and for a name when there is none.
    pub fn read(path: &Path, bytes: &[u8], scope: AgentScope, format: AgentFormat) -> AgentFile {
        let mut findings = FileFindings::of(path);
        let text = bytes::decode(bytes, &mut findings);
        let format = if says_it_is_ours(&text) { AgentFormat::Own } else { format };
        let FileReading { agents, corrected } =
            read_text(&text, scope, ForeignFileOrigin { path, format }, &mut findings);
        let digest = digest(bytes);
        let has_error = findings.have_error();
        let problems = findings.into_problems();
        let state = match (has_error, &corrected) {
            (true, _) => AgentFileState::Rejected,
            (false, Some(_)) => AgentFileState::Repaired,
            (false, None) => AgentFileState::Ok,
        };
        let file = |read: ForeignAgent| AgentFile {
            name: read.name,
            format,
            state,
            standing: read.standing,
            digest: digest.clone(),
            is_unread: false,
            definition: read.definition.filter(|_| !has_error).map(Arc::new),
            problems: problems.clone(),
            extras: read.extras,
            corrected: corrected.clone(),
            others: Vec::new(),
            triggers: OnceLock::new(),
        };
        let mut agents = agents.into_iter().map(file);
        let first = agents.next().unwrap_or_else(|| AgentFile {
            digest: digest.clone(),
            problems: problems.clone(),
            is_unread: false,
            ..AgentFile::nothing(path, format)
        });
        AgentFile { others: agents.collect(), ..first }
    }

    /// Which prompts are for it.
    pub fn triggers(&self) -> &AgentTriggers {
        let said = self.definition.as_deref().map(|definition| definition.triggers.as_slice());
        self.triggers.get_or_init(|| AgentTriggers::compile(said.unwrap_or_default()))
    }

    /// A file whose bytes could not be had.
    pub(super) fn unreadable(path: &Path, problem: FileProblem, format: AgentFormat) -> AgentFile {
        AgentFile { problems: vec![problem], ..AgentFile::nothing(path, format) }
    }

    fn nothing(path: &Path, format: AgentFormat) -> AgentFile {
        AgentFile {
            name: foreign::name_of(None, path),
            format,
            state: AgentFileState::Rejected,
            standing: StartStanding::Usual,
            digest: digest(b""),
            is_unread: true,
            definition: None,
            problems: Vec::new(),
            extras: Vec::new(),
            corrected: None,
            others: Vec::new(),
            triggers: OnceLock::new(),
        }
    }
}

/// What was read of a text.
#[derive(Default)]
struct FileReading {
    /// Empty where not even a name could be told.
    agents: Vec<ForeignAgent>,
    corrected: Option<String>,
}

/// What stands as the name in a file's front matter, and where; whatever else the file says.
pub(super) fn written_name(text: &str) -> Option<(String, TextPosition)> {
    let (front_matter, _) = split(text).ok()?;
    let (root, _) = yaml::parse(front_matter.text, front_matter.first_line);
    let yaml::YamlContent::Map(entries) = root?.content else { return None };
    let (_, node) = entries.into_iter().find(|(key, _)| key.text.eq_ignore_ascii_case("name"))?;
    Some((node.as_raw_text()?.to_owned(), node.mark))
}

/// The keys at the left edge of a file's front matter, as they are written, each with what stands behind it on its line. Says
/// something of files as well that no reader of YAML takes.
pub(super) fn written_keys(text: &str) -> Vec<(&str, &str)> {
    let Ok((front_matter, _)) = split(text) else { return Vec::new() };
    let lines = front_matter.text.lines().filter(|line| line.starts_with(|it: char| it.is_alphabetic()));
    lines.filter_map(|line| line.split_once(':')).map(|(key, value)| (key.trim(), value.trim())).collect()
}

/// Only files of ours say `kind: agent`, or that they are of several: such a file is read by our table, whoever's folder it
/// lies in (spec 02, "Places and precedence").
fn says_it_is_ours(text: &str) -> bool {
    let is_kind = |(key, value): &(&str, &str)| {
        let value = value.split(" #").next().unwrap_or_default().trim();
        *key == "kind" && matches!(value.trim_matches(['"', '\'']), "agent" | "graph" | "swarm")
    };
    written_keys(text).iter().any(is_kind)
}

/// The name is known even of many a file whose definition is not.
fn read_text(
    text: &str,
    scope: AgentScope,
    origin: ForeignFileOrigin<'_>,
    findings: &mut FileFindings,
) -> FileReading {
    let (front_matter, body) = match split(text) {
        Ok(parts) => parts,
        Err(NoFence { line, message }) => {
            let mark = TextPosition { line, column: 1 };
            let fix = "begin the file with `---`, the fields one per line, and another `---`";
            findings.error_with_fix(Some(mark), NoFrontMatter, message, fix);
            return FileReading::default();
        }
    };
    let (root, repaired) = front_matter.read(origin.format, findings);
    let Some(root) = root.filter(|root| !root.is_null()) else {
        if !findings.have_error() {
            let mark = TextPosition { line: front_matter.first_line.saturating_sub(1).max(1), column: 1 };
            let needed =
                if origin.format.is_own() { "`kind` and `name`" } else { "`name` and `description`" };
            findings.error(
                Some(mark),
                MissingField,
                format!("the front matter is empty: {needed} are missing"),
            );
        }
        return FileReading::default();
    };
    let corrected = repaired.map(|repaired| {
        let (before, after) =
            (&text[..front_matter.offset], &text[front_matter.offset + front_matter.text.len()..]);
        format!("{before}{repaired}{after}")
    });
    let agents = match origin.format {
        AgentFormat::Own => {
            let definition = definition::read(&root, &body, scope, findings);
            let name = definition::name(&root).unwrap_or_else(|| foreign::name_of(None, origin.path));
            let extras = definition::extras(&root);
            vec![ForeignAgent { name, definition, extras, standing: StartStanding::Usual }]
        }
        AgentFormat::Claude | AgentFormat::Gemini | AgentFormat::OpenCode => {
            foreign::read(&root, &body, origin, findings)
        }
    };
    FileReading { agents, corrected }
}

impl FrontMatter<'_> {
    /// The fields, and the front matter as it should be where it had to be repaired. Ours is not repaired: it was written
    /// for this reader, and what is mistaken in it is told.
    pub fn read(
        &self,
        format: AgentFormat,
        findings: &mut FileFindings,
    ) -> (Option<YamlNode>, Option<String>) {
        let (root, errors) = yaml::parse(self.text, self.first_line);
        let mut repaired = None;
        let is_readable =
            errors.is_empty() || !format.is_own() && errors.iter().all(|error| !error.is_beyond_bounds);
        let mut root = match root {
            root if errors.is_empty() => root,
            _ if !format.is_own() && is_readable => {
                match repair::by_lines(self.text, self.first_line, findings) {
                    Some(read) => {
                        repaired = Some(read.text);
                        Some(read.root)
                    }
                    None => tell(errors, findings, None),
                }
            }
            root => tell(errors, findings, root),
        };
        // Places in a front matter that was put together anew are not those of the file.
        if let Some(root) = root.as_mut().filter(|_| !format.is_own() && repaired.is_none()) {
            for field in repair::PROSE {
                let text = repaired.as_deref().unwrap_or(self.text);
                let uncut = repair::uncut(field, text, self.first_line, root, findings);
                repaired = uncut.or(repaired);
            }
        }
        (root, repaired)
    }
}

/// What is wrong, and what could be read all the same.
fn tell(errors: Vec<YamlError>, findings: &mut FileFindings, root: Option<YamlNode>) -> Option<YamlNode> {
    for YamlError { mark, message, fix, .. } in errors {
        match fix {
            Some(fix) => findings.error_with_fix(Some(mark), BadYaml, message, fix),
            None => findings.error(Some(mark), BadYaml, message),
        }
    }
    root
}
