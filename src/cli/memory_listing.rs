//! How are memory files listed, by `subagent memory files` and in a conversation?

use std::path::PathBuf;

use serde::Deserialize;

use super::{
    OutputWriter,
    table::{self, TableCell, cell, free, standing, whole},
};

/// The answer to `memory/files`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct MemoryFilesView {
    pub files: Vec<MemoryFileView>,
    pub user_file: PathBuf,
    pub project_file: Option<PathBuf>,
    pub warnings: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct MemoryFileView {
    pub path: String,
    pub state: String,
    pub why: Option<String>,
    pub tokens: u64,
    pub text: Option<String>,
}

/// One file a line, the farthest first.
pub(super) fn draw(found: &MemoryFilesView, stdout: &OutputWriter) -> String {
    if found.files.is_empty() {
        let project =
            found.project_file.as_ref().map(|file| format!(", or for this workspace {}", file.display()));
        return format!(
            "no memory files; `subagent memory add TEXT` makes {}{}\n",
            found.user_file.display(),
            project.unwrap_or_default()
        );
    }
    let row = |file: &MemoryFileView| {
        let tokens = if file.state == "used" { file.tokens.to_string() } else { "-".to_owned() };
        let why = file.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        [standing(&file.state), cell(&tokens), cell(&format!("{}{why}", file.path))]
    };
    let rows: Vec<[TableCell; 3]> = found.files.iter().map(row).collect();
    table::draw([whole("STATE"), whole("TOKENS"), free("FILE")], &rows, stdout)
}
