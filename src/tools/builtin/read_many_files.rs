//! `read_many_files`: what do these files say? (spec 05) Many files in one result, under one budget.

use std::{collections::HashSet, path::PathBuf, sync::Arc};

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{BuiltInDefinition, patterns, safe};
use crate::{
    CallContext, Invocation, OutputLimits, Permit, PrepareContext, SeenFileDigests, work,
    workspace::Workspace,
};
use protocol::{CallLocation, ResourceAccess, ToolDeclaration, ToolError, ToolKind, ToolResult};
use redact::Redactor;

mod report;
mod selection;

use report::{MAX_FILES, ManyFilesReport, TOO_MANY};
use selection::{FileSelection, SkippedFile};

/// Patterns that a description names before it counts.
const SHOWN_PATTERNS: usize = 3;

const NOT_JUDGED: &str = "it was not there when the call was decided about; call again";

const DESCRIPTION: &str = "\
Reads several files at once: those that `include` names, by paths, folders or glob patterns. `*` and `?` stay within \
one folder, `**` crosses folders: `src/*.rs` are the files directly in src, `src/**/*.rs` all below it, `docs` all \
files of that folder.
- The first line says how many files are shown. Then each file follows under a line `--- PATH ---`, in the order of \
the patterns and then of the paths. At the end stands what is not shown, and why.
- All files share one output limit. A file that does not fit is shown in part, with the `offset` to read on with by \
read_file; those after it are only named. So name the most important first, and no more than you need.
- Any common encoding is understood. Images (PNG, JPEG, GIF, WEBP, BMP) are returned when a pattern names the file or \
its ending (`*.png`); other binary files are left out.
- What ignore files hide is left out, unless it is named by its path.";

pub struct ReadManyFilesTool;

impl BuiltInDefinition for ReadManyFilesTool {
    type Arguments = ReadManyFilesArguments;

    fn declaration() -> ToolDeclaration {
        let pattern = json!({ "type": "string", "minLength": 1, "maxLength": patterns::MAX_PATTERN_CHARS });
        let parameters = json!({
            "type": "object",
            "properties": {
                "include": {
                    "type": "array",
                    "items": pattern,
                    "minItems": 1,
                    "maxItems": patterns::MAX_PATTERNS,
                    "description": "Paths, folders and glob patterns: absolute, or relative to the workspace root."
                },
                "exclude": {
                    "type": "array",
                    "items": pattern,
                    "maxItems": patterns::MAX_PATTERNS,
                    "description": "What to leave out: names or glob patterns, e.g. `*.lock`, `node_modules`, `src/**/*.snap`."
                },
                "recursive": {
                    "type": "boolean",
                    "description": "Whether to go into folders below the one a pattern begins in. Default: true."
                },
                "respectGitIgnore": {
                    "type": "boolean",
                    "description": "Whether to leave out what .gitignore names. Default: true."
                }
            },
            "required": ["include"],
            "additionalProperties": false
        });
        safe("read_many_files", "Read files", ToolKind::Read, DESCRIPTION, parameters)
    }

    /// It looks up for the rules which files are meant.
    fn is_heavy(_arguments: &ReadManyFilesArguments, _cx: &PrepareContext) -> bool {
        true
    }

    fn check(
        arguments: ReadManyFilesArguments,
        cx: &PrepareContext,
    ) -> Result<Box<dyn Invocation>, ToolError> {
        let workspace = cx.ground_to_read(&arguments.include)?;
        let selection = FileSelection::new(&arguments, &workspace)?;
        // More are not opened.
        let mut meant = selection.select(&workspace, &cx.redactor, &CancellationToken::new()).files;
        meant.truncate(MAX_FILES);
        Ok(Box::new(ReadManyFilesInvocation {
            accesses: selection.accesses(&workspace),
            shown: meant.iter().map(|file| workspace.shown(&file.place)).collect(),
            meant: meant.iter().map(|file| workspace.absolute(&file.place)).collect(),
            workspace,
            include: arguments.include,
            selection,
            output: cx.output,
            redactor: cx.redactor.clone(),
            reads: cx.reads.clone(),
        }))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadManyFilesArguments {
    include: Vec<String>,
    #[serde(default)]
    exclude: Vec<String>,
    recursive: Option<bool>,
    respect_git_ignore: Option<bool>,
}

struct ReadManyFilesInvocation {
    workspace: Arc<Workspace>,
    include: Vec<String>,
    selection: FileSelection,
    accesses: Vec<ResourceAccess>,
    /// The files that rules were shown; no others are read.
    shown: Vec<String>,
    meant: HashSet<PathBuf>,
    output: OutputLimits,
    redactor: Redactor,
    reads: SeenFileDigests,
}

impl Invocation for ReadManyFilesInvocation {
    fn accesses(&self) -> &[ResourceAccess] {
        &self.accesses
    }

    fn description(&self) -> String {
        let shown = self.include.iter().take(SHOWN_PATTERNS);
        let shown = shown.map(|pattern| patterns::shown(pattern, &self.redactor));
        let shown = shown.collect::<Vec<_>>().join(", ");
        match self.include.len().saturating_sub(SHOWN_PATTERNS) {
            0 => shown,
            more => format!("{shown} and {more} more"),
        }
    }

    fn locations(&self) -> Vec<CallLocation> {
        let mut paths: Vec<String> =
            self.selection.starts().map(|start| self.workspace.shown_absolute(start)).collect();
        paths.sort();
        paths.dedup();
        paths.into_iter().map(|path| CallLocation { path, line: None }).collect()
    }

    fn show_to_rules(&self, arguments: &mut Value) {
        arguments["include"] = self.selection.resolved(&self.workspace).into();
        arguments["included"] = self.shown.clone().into();
    }

    fn run(self: Box<Self>, _permit: Permit, cx: CallContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(work::off_thread(cx, move |stop| self.read(stop)))
    }
}

impl ReadManyFilesInvocation {
    fn read(&self, stop: &CancellationToken) -> ToolResult {
        let mut selected = self.selection.select(&self.workspace, &self.redactor, stop);
        let mut report =
            ManyFilesReport::new(&self.workspace, &self.redactor, &self.reads, self.output.max_chars);
        for file in &selected.files {
            if stop.is_cancelled() {
                break;
            }
            if self.meant.contains(&self.workspace.absolute(&file.place)) {
                report.add(file);
                continue;
            }
            let why = if self.meant.len() < MAX_FILES { NOT_JUDGED } else { TOO_MANY };
            let what = self.workspace.shown(&file.place);
            selected.missed.push(SkippedFile::new(what, why.to_owned()));
        }
        report.into_result(selected.files.len(), selected.missed, &selected.notes)
    }
}
