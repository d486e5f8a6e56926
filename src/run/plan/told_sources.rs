//! Where does what a run is told come from? Kept in its first event, so that it can be told afterwards which files it had read.

use sha2::{Digest as _, Sha256};

use prompts::PromptPart;
use protocol::{RunTold, ToldFile, ToldSystemPrompt};

/// The part that is a file in place of the modules.
pub(super) const SYSTEM_FILE: &str = "systemFile";

/// Memory files and imports that the event names; the docs say the same.
const MOST_NAMED: usize = 64;

/// The sources of a prompt. `system`: as the model reads it. `memory`: the places of memory files with their texts as the model reads
/// them, and the files that these import.
pub(super) fn sources(
    system: &str,
    parts: &[PromptPart],
    has_modules: bool,
    (memory, imported): (Vec<(String, String)>, Vec<String>),
    n_skills: usize,
) -> RunTold {
    let file = parts.iter().find(|part| part.name == SYSTEM_FILE);
    let source = match (file, has_modules) {
        (Some(_), _) => "file",
        (None, true) => "modules",
        (None, false) => "agent",
    };
    let system_prompt = ToldSystemPrompt {
        source: source.to_owned(),
        path: file.map(|file| file.source.clone()),
        bytes: system.len() as u64,
        digest: digest(system),
    };
    let files = memory.into_iter().map(|(path, text)| ToldFile {
        kind: "memory".to_owned(),
        path,
        bytes: text.len() as u64,
        digest: digest(&text),
    });
    let imports =
        imported.into_iter().map(|path| ToldFile { kind: "import".to_owned(), path, ..ToldFile::default() });
    let mut memory: Vec<ToldFile> = files.chain(imports).collect();
    let more_memory = memory.len().saturating_sub(MOST_NAMED) as u64;
    memory.truncate(MOST_NAMED);
    RunTold { system_prompt, memory, more_memory, skills: n_skills as u64 }
}

fn digest(text: &str) -> String {
    format!("sha256:{:x}", Sha256::digest(text))
}
