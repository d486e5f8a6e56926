//! What stands in the modules' place when a person wrote a system prompt of their own? (spec 08, "Replacing")

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{PromptFacts, modules::directory, skills::skills};
use agents::fill_by;
use config::{LARGEST_SYSTEM_FILE, decode, read_bounded};
use protocol::FileProblem;

/// What Gemini CLI puts behind a tool's name in placeholders: `${read_file_ToolName}`.
const TOOL_NAME: &str = "_ToolName";
/// Placeholders that are the catalogue of skills.
const SKILLS: [&str; 2] = ["skills", "AgentSkills"];

/// A system prompt that a person wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemFile {
    pub path: PathBuf,
    pub text: String,
}

/// The reason why it cannot stand there. A run without it would do other things than the person wrote, so it does not begin.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SystemFileError {
    #[error("the system prompt {}: there is no such file", .0.display())]
    Missing(PathBuf),
    #[error("the system prompt {0}")]
    Unusable(FileProblem),
}

/// What it says in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilledSystemFile {
    pub text: String,
    /// Placeholders that mean nothing and stay as they are, each once.
    pub unknown: Vec<String>,
    /// It says itself where the skills stand.
    pub has_skills: bool,
}

impl SystemFile {
    /// Reads a file. Blocks on the file system.
    pub fn read(path: &Path) -> Result<SystemFile, SystemFileError> {
        match read_bounded(path, LARGEST_SYSTEM_FILE) {
            Ok(Some(bytes)) => SystemFile::of(path, &bytes),
            Ok(None) => Err(SystemFileError::Missing(path.to_owned())),
            Err(problem) => Err(SystemFileError::Unusable(problem)),
        }
    }

    pub fn new(path: &Path, text: &str) -> SystemFile {
        SystemFile { path: path.to_owned(), text: text.replace("\r\n", "\n") }
    }

    /// What was read of a file already.
    fn of(path: &Path, bytes: &[u8]) -> Result<SystemFile, SystemFileError> {
        let text = decode(path, bytes).map_err(SystemFileError::Unusable)?;
        Ok(SystemFile::new(path, text))
    }

    /// `${agents}`, `${skills}` and `${tools}` are filled in, and the names that Gemini CLI has for them; `$${` is a literal
    /// `${`. What is filled in is not looked at again.
    pub fn fill(&self, facts: &PromptFacts) -> FilledSystemFile {
        let (mut unknown, mut has_skills) = (BTreeSet::new(), false);
        let text = fill_by(&self.text, |name, filled| match placeholder(name, facts) {
            Some(text) => {
                has_skills |= SKILLS.contains(&name);
                filled.push_str(&text);
            }
            None => {
                unknown.insert(name.to_owned());
                filled.push_str(&format!("${{{name}}}"));
            }
        });
        FilledSystemFile {
            text: text.trim_end().to_owned(),
            unknown: unknown.into_iter().collect(),
            has_skills,
        }
    }
}

fn placeholder(name: &str, facts: &PromptFacts) -> Option<String> {
    match name {
        "agents" | "SubAgents" => Some(directory(facts).unwrap_or_default()),
        "tools" | "AvailableTools" => {
            let lines: Vec<String> = facts.tools.iter().map(|tool| format!("- {tool}")).collect();
            Some(lines.join("\n"))
        }
        "skills" | "AgentSkills" => Some(skills(facts).unwrap_or_default()),
        name => {
            let tool = name.strip_suffix(TOOL_NAME)?;
            facts.has_tool(tool).then(|| tool.to_owned())
        }
    }
}
