//! Where does what a run is told come from? Kept in its first event, so that it can be told afterwards which files it had read.

use sha2::{Digest as _, Sha256};

use prompts::PromptPart;
use protocol::{PromptFile, PromptSources, SystemPromptSource};

/// The part that is a file in place of the modules.
pub(super) const SYSTEM_FILE: &str = "systemFile";
/// The part that is the agent's own text.
pub(super) const BODY: &str = "body";
/// The part that is the session's.
pub(super) const SYSTEM_APPEND: &str = "systemAppend";

/// Memory files and imports that the event names; the docs say the same.
const MOST_NAMED: usize = 64;

/// A file that a memory file imports, or another import.
pub(super) struct ImportedFile {
    pub path: String,
    pub by: String,
}

/// The sources of a prompt. `system`: as the model reads it. `memory`: the places of memory files with their texts as the model reads
/// them, and the files that these import.
pub(super) fn sources(
    system: &str,
    parts: &[PromptPart],
    has_modules: bool,
    (memory, mut imported): (Vec<(String, String)>, Vec<ImportedFile>),
    n_skills: usize,
) -> PromptSources {
    let part = |name: &str| parts.iter().find(|part| part.name == name && part.off.is_none());
    let file = part(SYSTEM_FILE);
    let source = match (file, has_modules) {
        (Some(_), _) => "file",
        (None, true) => "modules",
        (None, false) => "agent",
    };
    let system_prompt = SystemPromptSource {
        source: source.to_owned(),
        path: file.map(|file| file.source.clone()),
        bytes: system.len() as u64,
        has_agent_text: source != "agent" && part(BODY).is_some(),
        has_system_append: part(SYSTEM_APPEND).is_some(),
        digest: digest(system),
    };
    let mut told: Vec<PromptFile> = Vec::new();
    for (path, text) in memory {
        let file = PromptFile {
            kind: "memory".to_owned(),
            bytes: text.len() as u64,
            digest: digest(&text),
            path: path.clone(),
            by: None,
        };
        told.push(file);
        take_imports(&path, &mut imported, &mut told);
    }
    let more_memory = told.len().saturating_sub(MOST_NAMED) as u64;
    told.truncate(MOST_NAMED);
    PromptSources { system_prompt, memory: told, more_memory, skills: n_skills as u64 }
}

/// Moves what a file imports behind it, and what that imports.
fn take_imports(by: &str, imported: &mut Vec<ImportedFile>, told: &mut Vec<PromptFile>) {
    let mut open = vec![by.to_owned()];
    while let Some(by) = open.pop() {
        for import in imported.extract_if(.., |import| import.by == by) {
            open.push(import.path.clone());
            let (kind, by) = ("import".to_owned(), Some(import.by));
            told.push(PromptFile { kind, path: import.path, by, ..PromptFile::default() });
        }
    }
}

fn digest(text: &str) -> String {
    format!("sha256:{:x}", Sha256::digest(text))
}
