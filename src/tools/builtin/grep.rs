//! `grep`: where does this text stand? (spec 05) ripgrep's own libraries, in process.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use rustix::io::Errno;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    BuiltInDefinition,
    patterns::{self, IncludePattern},
    safe,
};
use crate::{
    CallContext, Invocation, OutputLimits, Permit, PrepareContext,
    walk::{WalkRequest, WalkResult, WalkedFile, walk},
    work,
    workspace::{Workspace, WorkspacePath},
};
use protocol::{CallLocation, ResourceAccess, ToolDeclaration, ToolError, ToolKind, ToolResult};
use redact::Redactor;

mod matcher;
mod report;
mod search;

use matcher::LineMatcher;
use search::{GrepResult, GrepSearch};

/// Matching lines per file when the call does not say how many (spec 05).
const DEFAULT_MATCHES_PER_FILE: u64 = 100;
/// Matching lines of one call (spec 05).
const MAX_MATCHES: u64 = 20_000;
/// Lines of context on one side: more is reading, and `read_file` reads.
const MAX_CONTEXT: u64 = 50;

const DESCRIPTION: &str = "\
Searches the text of files with a regular expression (Rust's syntax, without look-around and back-references; a \
plain word works as it is). Upper and lower case do not differ unless `caseSensitive` is true. Binary files and files \
hidden by ignore files are skipped.
The first line counts what was found. With outputMode `content` (the default) one block per file follows, blocks \
separated by an empty line, sorted by path: the path relative to the workspace root on a line of its own, then each \
matching line as `LINE: text` and each line of context as `LINE- text`, counted from 1; `--` stands between parts \
that do not touch. `filesWithMatches` gives one path a line, `count` gives `path: number of matching lines`.
At most 100 matching lines a file (`maxMatches`) and 20,000 in total; long lines are cut around the match. Notes in \
square brackets say what was left out and how to narrow the search.";

pub struct GrepTool;

impl BuiltInDefinition for GrepTool {
    type Arguments = GrepArguments;

    fn declaration() -> ToolDeclaration {
        let context = |side: &str| {
            json!({
                "type": "integer",
                "minimum": 0,
                "maximum": MAX_CONTEXT,
                "description": format!("Lines of context {side} each match. Default: 0.")
            })
        };
        let flag =
            |what: &str| json!({ "type": "boolean", "description": format!("{what} Default: false.") });
        let parameters = json!({
            "type": "object",
            "properties": {
                "pattern": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": matcher::MAX_PATTERN_CHARS,
                    "description": "The regular expression."
                },
                "path": {
                    "type": "string",
                    "description": "A folder or a file: absolute, or relative to the workspace root. Default: the root."
                },
                "include": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": patterns::MAX_PATTERN_CHARS,
                    "description": "Which files to search, as a glob, e.g. `*.rs`, `src/**/*.{ts,tsx}`; `!*.md` leaves files out."
                },
                "caseSensitive": flag("Whether upper and lower case differ."),
                "fixedStrings": flag("Take the pattern literally, not as a regular expression."),
                "context": context("before and after"),
                "before": context("before"),
                "after": context("after"),
                "multiline": flag("Let a match span lines; `.` then matches line ends too."),
                "maxMatches": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MAX_MATCHES,
                    "description": "How many matching lines to show per file. Default: 100."
                },
                "outputMode": {
                    "type": "string",
                    "enum": ["content", "filesWithMatches", "count"],
                    "description": "What to return. Default: content."
                }
            },
            "required": ["pattern"],
            "additionalProperties": false
        });
        safe("grep", "Search text", ToolKind::Search, DESCRIPTION, parameters)
    }

    fn check(arguments: GrepArguments, cx: &PrepareContext) -> Result<Box<dyn Invocation>, ToolError> {
        let (workspace, place) = cx.place_to_read(arguments.path.as_deref().unwrap_or("."))?;
        let include = arguments.include.as_deref().map(|include| IncludePattern::new(include, "/include"));
        Ok(Box::new(GrepInvocation {
            accesses: vec![ResourceAccess::Read { path: workspace.access_path(&place) }],
            matcher: matcher::compile(&arguments)?,
            include: include.transpose()?,
            workspace,
            place,
            arguments,
            output: cx.output,
            redactor: cx.redactor.clone(),
        }))
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GrepArguments {
    pattern: String,
    path: Option<String>,
    include: Option<String>,
    #[serde(default)]
    case_sensitive: bool,
    #[serde(default)]
    fixed_strings: bool,
    #[serde(default)]
    context: usize,
    before: Option<usize>,
    after: Option<usize>,
    #[serde(default)]
    multiline: bool,
    max_matches: Option<u64>,
    #[serde(default)]
    output_mode: GrepOutputMode,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
enum GrepOutputMode {
    #[default]
    Content,
    FilesWithMatches,
    Count,
}

struct GrepInvocation {
    workspace: Arc<Workspace>,
    place: WorkspacePath,
    accesses: Vec<ResourceAccess>,
    arguments: GrepArguments,
    matcher: LineMatcher,
    include: Option<IncludePattern>,
    output: OutputLimits,
    redactor: Redactor,
}

impl Invocation for GrepInvocation {
    fn accesses(&self) -> &[ResourceAccess] {
        &self.accesses
    }

    fn description(&self) -> String {
        self.subject()
    }

    fn locations(&self) -> Vec<CallLocation> {
        vec![CallLocation { path: self.workspace.shown_absolute(&self.place), line: None }]
    }

    fn run(self: Box<Self>, _permit: Permit, cx: CallContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(work::off_thread(cx, move |stop| match self.search(stop) {
            Ok((searched, walk)) => self.report(&searched, &walk),
            Err(errno) => {
                let error = self.workspace.failure(&self.place, errno);
                ToolResult::failure(error.kind, error.message)
            }
        }))
    }
}

impl GrepInvocation {
    /// What is searched for, and where.
    fn subject(&self) -> String {
        let pattern = patterns::shown(&self.arguments.pattern, &self.redactor);
        let place = self.workspace.shown_within(&self.place);
        match &self.arguments.include {
            Some(include) => format!("/{pattern}/{place} ({})", patterns::shown(include, &self.redactor)),
            None => format!("/{pattern}/{place}"),
        }
    }

    fn search(&self, stop: &CancellationToken) -> Result<(GrepResult, WalkResult), Errno> {
        let request =
            WalkRequest { workspace: &self.workspace, start: &self.place, respects_git: true, stop };
        let mut walk = walk(&request)?;
        // What a link leads to is searched where it lies, if that is inside of the workspace.
        walk.files.retain(|found| !found.is_link && self.is_included(found));
        let search = GrepSearch {
            workspace: &self.workspace,
            matcher: &self.matcher,
            arguments: &self.arguments,
            max_chars: self.output.whole_chars(),
            redactor: &self.redactor,
            stop,
        };
        Ok((search.files(&walk.files), walk))
    }

    fn is_included(&self, found: &WalkedFile) -> bool {
        let from_root = found.place.relative();
        let from_start = from_root.strip_prefix(self.place.relative()).unwrap_or(from_root);
        self.include.as_ref().is_none_or(|include| include.has(from_root, from_start))
    }
}
