//! How are the matches told?

use serde_json::json;

use super::{
    GrepInvocation, GrepOutputMode, MAX_MATCHES,
    search::{FileHits, GrepResult},
};
use crate::{builtin::page::TextPage, walk::WalkResult};
use protocol::ToolResult;

impl GrepInvocation {
    pub fn report(&self, searched: &GrepResult, walk: &WalkResult) -> ToolResult {
        let mut page = TextPage::new(self.output.whole_chars());
        page.note(&self.headline(searched));
        let shown = match self.arguments.output_mode {
            GrepOutputMode::Content => self.blocks(&mut page, &searched.files),
            mode => self.list(&mut page, &searched.files, mode),
        };
        let total = searched.files.len();
        if shown < total {
            let narrow = match self.arguments.output_mode {
                GrepOutputMode::Content => {
                    "narrow it with path, include or a more specific pattern, or use outputMode filesWithMatches"
                }
                _ => "narrow it with path, include or a more specific pattern",
            };
            page.note(&format!("[{shown} of {total} files with matches shown in full; {narrow}]"));
        }
        if searched.is_cut {
            page.note(&format!("[the search ended at {MAX_MATCHES} matching lines; there are more]"));
        }
        if searched.unreadable != 0 {
            page.note(&format!("[{} files cannot be read]", searched.unreadable));
        }
        for note in walk.notes() {
            page.note(&note);
        }
        let data = json!({ "files": total, "matches": searched.matches, "shownFiles": shown });
        let display = Some(match self.arguments.output_mode {
            GrepOutputMode::FilesWithMatches => format!("{total} files"),
            _ => format!("{} matches in {total} files", searched.matches),
        });
        ToolResult { return_display: display, data: Some(data), ..ToolResult::text(page.into_text()) }
    }

    fn headline(&self, searched: &GrepResult) -> String {
        let files = match searched.files.len() {
            1 => "1 file".to_owned(),
            files => format!("{files} files"),
        };
        match (self.arguments.output_mode, searched.matches) {
            (_, 0) => format!("No match for {}.", self.subject()),
            (GrepOutputMode::FilesWithMatches, _) => format!("{files} with matches."),
            (_, 1) => format!("1 matching line in {files}."),
            (_, matches) => format!("{matches} matching lines in {files}."),
        }
    }

    /// One block per file; gives how many are whole.
    fn blocks(&self, page: &mut TextPage, files: &[FileHits]) -> usize {
        for (index, file) in files.iter().enumerate() {
            let has_lines = !file.lines.is_empty();
            if !has_lines || !page.add("") || !page.add(&self.workspace.shown(&file.place)) {
                return index;
            }
            if file.lines.iter().any(|line| !page.add(&line.text)) {
                return index;
            }
            if file.has_more
                && !page.add(&format!("[more matches in this file; the first {} are shown]", file.matches))
            {
                return index;
            }
        }
        files.len()
    }

    fn list(&self, page: &mut TextPage, files: &[FileHits], mode: GrepOutputMode) -> usize {
        for (index, file) in files.iter().enumerate() {
            let path = self.workspace.shown(&file.place);
            let line = match (mode, file.has_more) {
                (GrepOutputMode::Count, false) => format!("{path}: {}", file.matches),
                (GrepOutputMode::Count, true) => format!("{path}: {} or more", file.matches),
                _ => path,
            };
            if !page.add(&line) {
                return index;
            }
        }
        files.len()
    }
}
