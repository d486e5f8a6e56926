//! May this text become an agent's file? (spec 02, "The file")
//!
//! Files that are there are read with patience; what is written here is held to the letter.

use std::path::Path;

use serde_json::{Map, Value};

pub use super::file::LARGEST_FILE;
use super::{
    bytes,
    definition::own_fields,
    file::{self, AgentFile},
    findings::FileFindings,
    names, unsupported,
};
use config::problem;
use protocol::{
    AgentFileState, AgentFormat, AgentScope, FileProblem,
    FileProblemCode::{BadValue, TooLarge},
};

/// What a file's bytes say, as it is read: UTF-8, with `\n` at the end of each line.
pub fn text_of(bytes: &[u8]) -> String {
    bytes::decode(bytes, &mut FileFindings::of(Path::new(""))).into_owned()
}

/// The front matter of a file of ours that says what this one says (`agent.schema.json`), also what is not carried out: an agent
/// that is made of it is held to the same.
pub fn front_matter(file: &AgentFile) -> Option<Map<String, Value>> {
    let mut fields = own_fields(file.definition.as_deref()?);
    let unsupported = file.extras.iter().filter(|(key, _)| unsupported::named(key).is_some());
    fields.extend(unsupported.cloned());
    Some(fields)
}

/// Reads what is to become a file of this format. `path` serves for messages.
pub fn new_file(path: &Path, text: &str, scope: AgentScope, format: AgentFormat) -> AgentFile {
    if LARGEST_FILE < text.len() as u64 {
        let message =
            format!("is larger than {} KiB, the most that an agent's file may hold", LARGEST_FILE / 1024);
        return AgentFile::unreadable(path, problem(path, None, TooLarge, message), format);
    }
    AgentFile::read(path, text.as_bytes(), scope, format)
}

/// The same of an agent that is made here, in our format: its name must be one that needs no reading.
pub fn new_agent(path: &Path, text: &str, scope: AgentScope) -> AgentFile {
    let mut read = new_file(path, text, scope, AgentFormat::Own);
    let Some((written, mark)) = file::written_name(text) else { return read };
    if names::is_proper(&written) {
        return read;
    }
    // It says the same, as a warning.
    read.problems.retain(|it| (it.code, it.line) != (BadValue, Some(mark.line)));
    let found = format!(
        "`name`: {written:?} is no name for an agent: it has small letters, digits and single dashes between them, begins with a letter, and is no longer than {} characters",
        names::LONGEST_NAME
    );
    let fix = names::proper(&written).map(|name| format!("write `name: {name}`"));
    read.problems.push(FileProblem { fix, ..problem(path, Some(mark), BadValue, found) });
    read.problems.sort_by_key(|problem| (problem.line.unwrap_or(u32::MAX), problem.column));
    (read.definition, read.state) = (None, AgentFileState::Rejected);
    read
}
