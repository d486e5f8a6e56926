//! How are memory files listed, by `subagent memory files` and in a conversation?

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{
    OutputWriter, safe_text,
    table::{self, TableCell, cell, free, state_cell, whole},
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
    pub reason: Option<String>,
    pub tokens: u64,
    pub text: Option<String>,
}

fn named(path: &Path) -> String {
    safe_text::line(&path.to_string_lossy(), usize::MAX)
}

/// One file a line, the farthest first. On a terminal the reason why one is not told stands below it.
pub(super) fn draw(found: &MemoryFilesView, stdout: &OutputWriter) -> String {
    if found.files.is_empty() {
        let project =
            found.project_file.as_ref().map(|file| format!(", or for this workspace {}", named(file)));
        return format!(
            "no memory files; `subagent memory add TEXT` makes {}{}\n",
            named(&found.user_file),
            project.unwrap_or_default()
        );
    }
    let mut rows: Vec<[TableCell; 3]> = Vec::new();
    for file in &found.files {
        let tokens = if file.state == "used" { file.tokens.to_string() } else { "-".to_owned() };
        let (path, below) = match &file.reason {
            None => (file.path.clone(), None),
            // A long path would push it out of sight.
            Some(why) if stdout.is_terminal => (file.path.clone(), Some(why)),
            Some(why) => (format!("{}: {why}", file.path), None),
        };
        rows.push([state_cell(&file.state), cell(&tokens), cell(&path)]);
        rows.extend(below.map(|why| [cell(""), cell(""), cell(why)]));
    }
    table::draw([whole("STATE"), whole("TOKENS"), free("FILE")], &rows, stdout)
}
