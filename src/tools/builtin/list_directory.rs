//! `list_directory`: what lies in a folder? (spec 05)

use std::{path::Path, sync::Arc};

use futures_util::future::BoxFuture;
use globset::GlobSet;
use serde::Deserialize;
use serde_json::json;

use super::{BuiltInDefinition, page::TextPage, patterns, safe};
use crate::{
    CallContext, Invocation, OutputLimits, Permit, PrepareContext,
    walk::{self, EntryKind, FolderEntry},
    work,
    workspace::{IgnoreRules, Workspace, WorkspacePath},
};
use protocol::{
    CallLocation, ResourceAccess, ToolDeclaration, ToolError, ToolErrorType, ToolKind, ToolResult,
};

/// Lines shown; a folder of more is asked about with `glob`.
const MAX_SHOWN: usize = 1_000;

const DESCRIPTION: &str = "\
Lists one folder, not what lies below it: folders first, then by name. One entry a line, three fields separated by \
tabs: the name (a folder's ends with `/`, a link is `name -> target`), the size in bytes (`-` for folders) and the \
time of the last change. What ignore files hide is left out and counted in a note in square brackets at the end. \
Use `glob` to find files by name in all folders, and `grep` to find text.";

pub struct ListDirectoryTool;

impl BuiltInDefinition for ListDirectoryTool {
    type Arguments = ListDirectoryArguments;

    fn declaration() -> ToolDeclaration {
        let parameters = json!({
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "description": "The folder: absolute, or relative to the workspace root. Default: the root."
                },
                "ignore": {
                    "type": "array",
                    "items": { "type": "string" },
                    "maxItems": patterns::MAX_PATTERNS,
                    "description": "Patterns of names to leave out, e.g. `*.lock`."
                },
                "respectGitIgnore": {
                    "type": "boolean",
                    "description": "Whether to leave out what .gitignore names. Default: true."
                }
            },
            "additionalProperties": false
        });
        let title = "List folder";
        safe("list_directory", title, ToolKind::Search, DESCRIPTION, parameters)
    }

    fn check(
        arguments: ListDirectoryArguments,
        cx: &PrepareContext,
    ) -> Result<Box<dyn Invocation>, ToolError> {
        let (workspace, place) = cx.place_to_read(arguments.path.as_deref().unwrap_or("."))?;
        let left_out = patterns::names(&arguments.ignore, "/ignore")?;
        Ok(Box::new(ListDirectoryInvocation {
            accesses: vec![ResourceAccess::Read { path: workspace.access_path(&place) }],
            workspace,
            place,
            left_out,
            respects_git: arguments.respect_git_ignore.unwrap_or(true),
            output: cx.output,
        }))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListDirectoryArguments {
    path: Option<String>,
    #[serde(default)]
    ignore: Vec<String>,
    respect_git_ignore: Option<bool>,
}

struct ListDirectoryInvocation {
    workspace: Arc<Workspace>,
    place: WorkspacePath,
    accesses: Vec<ResourceAccess>,
    left_out: GlobSet,
    respects_git: bool,
    output: OutputLimits,
}

impl Invocation for ListDirectoryInvocation {
    fn accesses(&self) -> &[ResourceAccess] {
        &self.accesses
    }

    fn description(&self) -> String {
        self.workspace.shown(&self.place)
    }

    fn locations(&self) -> Vec<CallLocation> {
        vec![CallLocation { path: self.workspace.shown_absolute(&self.place), line: None }]
    }

    fn run(self: Box<Self>, _permit: Permit, cx: CallContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(work::off_thread(cx, move |_| self.list().unwrap_or_else(|result| *result)))
    }
}

impl ListDirectoryInvocation {
    fn list(&self) -> Result<ToolResult, Box<ToolResult>> {
        let fail = |error: ToolError| Box::new(ToolResult::failure(error.kind, error.message));
        let facts =
            self.workspace.facts(&self.place).map_err(|e| fail(self.workspace.failure(&self.place, e)))?;
        if !facts.is_folder {
            let message =
                format!("`{}` is not a folder; read_file reads files", self.workspace.shown(&self.place));
            return Err(Box::new(ToolResult::failure(ToolErrorType::LsExecutionError, message)));
        }
        let above = IgnoreRules::above(&self.workspace, &self.place, self.respects_git);
        let listing = walk::list(&self.workspace, &self.place, &above)
            .map_err(|errno| fail(self.workspace.failure(&self.place, errno)))?;
        let hidden = listing.entries.iter().filter(|entry| entry.is_ignored).count();
        let wanted =
            |entry: &&FolderEntry| !entry.is_ignored && !self.left_out.is_match(Path::new(&entry.name));
        let mut entries: Vec<&FolderEntry> = listing.entries.iter().filter(wanted).collect();
        // Stable: within folders and within the rest the order by name stays.
        entries.sort_by_key(|entry| entry.kind != EntryKind::Folder);
        let mut page = TextPage::new(self.output.whole_chars());
        let mut shown = 0;
        for entry in entries.iter().take(MAX_SHOWN) {
            if !page.add(&self.line(entry)) {
                break;
            }
            shown += 1;
        }
        if entries.is_empty() {
            page.note("[nothing to show in this folder]");
        }
        if shown < entries.len() {
            let total = entries.len();
            page.note(&format!("[{shown} of {total} entries shown; glob finds the others by name]"));
        }
        if listing.is_cut {
            page.note("[the folder has more entries than are looked at]");
        }
        if let Some(note) = walk::rules_note(listing.rules.left_out()) {
            page.note(&note);
        }
        if hidden != 0 {
            page.note(&format!("[{hidden} ignored entries are not shown]"));
        }
        let data = json!({ "entries": entries.len(), "shown": shown, "ignored": hidden });
        let display = Some(format!("{} entries", entries.len()));
        Ok(ToolResult { return_display: display, data: Some(data), ..ToolResult::text(page.into_text()) })
    }

    fn line(&self, entry: &FolderEntry) -> String {
        let place = self.place.child(&entry.name);
        let name = self.workspace.shown_name(&place);
        match entry.kind {
            EntryKind::Link => format!("{name} -> {}\t-\t-", self.workspace.link_target(&place)),
            EntryKind::Special => format!("{name}\t(neither file nor folder)\t-"),
            kind => match self.workspace.facts(&place) {
                Ok(facts) if kind == EntryKind::Folder => format!("{name}/\t-\t{}", seconds(facts.modified)),
                Ok(facts) => format!("{name}\t{}\t{}", facts.size, seconds(facts.modified)),
                // It changed its kind or vanished after it was listed.
                Err(_) => format!("{name}\t-\t-"),
            },
        }
    }
}

/// RFC 3339 in whole seconds: who lists a folder does not care for more.
fn seconds(time: protocol::Timestamp) -> String {
    let text = time.to_string();
    match text.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => text,
    }
}
