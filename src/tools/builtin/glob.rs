//! `glob`: which files have a name like this? (spec 05)

use std::{path::Path, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use globset::GlobMatcher;
use rustix::io::Errno;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{BuiltInDefinition, page::TextPage, patterns, safe};
use crate::{
    CallContext, Invocation, OutputLimits, Permit, PrepareContext,
    parameters::refusal,
    walk::{WalkRequest, WalkResult, WalkedFile, map_prefix_with, walk},
    work,
    workspace::{PlaceScanner, Workspace, WorkspacePath},
};
use protocol::{
    CallLocation, ResourceAccess, SchemaViolation, Timestamp, ToolDeclaration, ToolError, ToolErrorType,
    ToolKind, ToolResult,
};
use redact::Redactor;

/// Paths listed; whoever matches more wants a narrower pattern.
const MAX_SHOWN: usize = 1_000;
/// What was changed so recently comes first: it is probably what the work is about (spec 05).
const RECENT: Duration = Duration::from_secs(24 * 60 * 60);

const DESCRIPTION: &str = "\
Finds files by name. The pattern is matched against the path below `path`: `*` and `?` stay within one folder, `**` \
crosses folders, `{a,b}` means either, `[a-z]` one character. So `**/*.rs` finds all Rust files, `src/*.rs` only \
those directly in src.
The first line says how many files match. Then follows one absolute path a line: files changed in the last 24 hours \
first, the newest of them first, then the others by name. At most 1,000 are listed; a note in square brackets at the \
end says when some were left out. Files hidden by ignore files are not found, hidden names such as .github are.";

pub struct GlobTool;

impl BuiltInDefinition for GlobTool {
    type Arguments = GlobArguments;

    fn declaration() -> ToolDeclaration {
        let parameters = json!({
            "type": "object",
            "properties": {
                "pattern": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": patterns::MAX_PATTERN_CHARS,
                    "description": "The glob pattern, e.g. `**/*.rs` or `docs/**/README*`."
                },
                "path": {
                    "type": "string",
                    "description": "The folder to look in: absolute, or relative to the workspace root. Default: the root."
                },
                "caseSensitive": {
                    "type": "boolean",
                    "description": "Whether upper and lower case differ. Default: false."
                },
                "respectGitIgnore": {
                    "type": "boolean",
                    "description": "Whether to leave out what .gitignore names. Default: true."
                }
            },
            "required": ["pattern"],
            "additionalProperties": false
        });
        safe("glob", "Find files", ToolKind::Search, DESCRIPTION, parameters)
    }

    fn check(arguments: GlobArguments, cx: &PrepareContext) -> Result<Box<dyn Invocation>, ToolError> {
        let (workspace, place) = cx.place_to_read(arguments.path.as_deref().unwrap_or("."))?;
        let pattern = below(&workspace.absolute(&place), &arguments.pattern)?;
        Ok(Box::new(GlobInvocation {
            accesses: vec![ResourceAccess::Read { path: workspace.access_path(&place) }],
            matcher: patterns::path(pattern, arguments.case_sensitive.unwrap_or(false), "/pattern")?,
            // A name such as `[id].tsx` is a pattern of something else, but whoever has such a file means it.
            literal: pattern.to_owned(),
            workspace,
            place,
            pattern: arguments.pattern,
            respects_git: arguments.respect_git_ignore.unwrap_or(true),
            output: cx.output,
            redactor: cx.redactor.clone(),
        }))
    }
}

/// The pattern seen from `folder`: models also write absolute ones.
fn below<'a>(folder: &Path, pattern: &'a str) -> Result<&'a str, ToolError> {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    if !pattern.starts_with('/') {
        return Ok(pattern);
    }
    let prefix = folder.to_str().map(|folder| folder.trim_end_matches('/'));
    match prefix.and_then(|prefix| pattern.strip_prefix(prefix)).and_then(|rest| rest.strip_prefix('/')) {
        Some(rest) => Ok(rest),
        None => Err(refusal(&[SchemaViolation {
            pointer: "/pattern".to_owned(),
            message: format!(
                "an absolute pattern must begin with the folder looked in, {}",
                folder.display()
            ),
        }])),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GlobArguments {
    pattern: String,
    path: Option<String>,
    case_sensitive: Option<bool>,
    respect_git_ignore: Option<bool>,
}

struct GlobInvocation {
    workspace: Arc<Workspace>,
    place: WorkspacePath,
    accesses: Vec<ResourceAccess>,
    pattern: String,
    matcher: GlobMatcher,
    literal: String,
    respects_git: bool,
    output: OutputLimits,
    redactor: Redactor,
}

impl Invocation for GlobInvocation {
    fn accesses(&self) -> &[ResourceAccess] {
        &self.accesses
    }

    fn description(&self) -> String {
        patterns::shown(&self.pattern, &self.redactor) + &self.workspace.shown_within(&self.place)
    }

    fn locations(&self) -> Vec<CallLocation> {
        vec![CallLocation { path: self.workspace.shown_absolute(&self.place), line: None }]
    }

    fn run(self: Box<Self>, _permit: Permit, cx: CallContext) -> BoxFuture<'static, ToolResult> {
        let now = cx.clock.now();
        Box::pin(work::off_thread(cx, move |stop| match self.find(stop) {
            Ok((found, walk)) => self.report(found, &walk, now),
            Err(errno) => {
                let error = self.workspace.failure(&self.place, errno);
                ToolResult::failure(error.kind, error.message)
            }
        }))
    }
}

struct GlobMatch {
    place: WorkspacePath,
    modified: Timestamp,
}

impl GlobInvocation {
    fn find(&self, stop: &CancellationToken) -> Result<(Vec<GlobMatch>, WalkResult), Errno> {
        let request = WalkRequest {
            workspace: &self.workspace,
            start: &self.place,
            respects_git: self.respects_git,
            stop,
        };
        let mut walk = walk(&request)?;
        walk.files.retain(|found| self.matches(&found.place));
        let go_on = || (!stop.is_cancelled()).then_some(());
        // Looking at each one below its root also proves that it is there: a name that was only seen through a
        // folder swapped for a link is dropped.
        let begin = || self.workspace.neighbours();
        let matches = map_prefix_with(&walk.files, go_on, begin, |near, (), found| self.look_at(near, found));
        Ok((matches.into_iter().flatten().collect(), walk))
    }

    fn matches(&self, place: &WorkspacePath) -> bool {
        let path = place.relative().strip_prefix(self.place.relative()).unwrap_or(place.relative());
        self.matcher.is_match(path) || path == Path::new(&self.literal)
    }

    fn look_at(&self, near: &mut PlaceScanner<'_>, found: &WalkedFile) -> Option<GlobMatch> {
        let facts = if found.is_link {
            // A link counts when it leads to a file inside of the workspace.
            let path = self.workspace.absolute(&found.place);
            let target = self.workspace.resolve(path.to_str()?).ok()?;
            self.workspace.facts(&target).ok().filter(|facts| facts.is_file)?
        } else {
            near.facts(&found.place).ok()?
        };
        Some(GlobMatch { place: found.place.clone(), modified: facts.modified })
    }

    fn report(&self, found: Vec<GlobMatch>, walk: &WalkResult, now: Timestamp) -> ToolResult {
        if walk.files.is_empty() && !self.workspace.facts(&self.place).is_ok_and(|facts| facts.is_folder) {
            let message = format!("`{}` is not a folder", self.workspace.shown(&self.place));
            return ToolResult::failure(ToolErrorType::GlobExecutionError, message);
        }
        let total = found.len();
        let (mut recent, others): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|file| now.since(file.modified) < RECENT);
        // Stable: files of one moment stay in the order of their names.
        recent.sort_by_key(|file| std::cmp::Reverse(file.modified));
        let mut page = TextPage::new(self.output.whole_chars());
        page.note(&match total {
            0 => format!("No file matches {}.", self.description()),
            1 => "1 file matches.".to_owned(),
            _ => format!("{total} files match."),
        });
        let mut shown = 0;
        for file in recent.iter().chain(&others).take(MAX_SHOWN) {
            if !page.add(&self.workspace.shown_absolute(&file.place)) {
                break;
            }
            shown += 1;
        }
        if total == 0 && !self.pattern.contains('/') {
            page.note(
                "[this pattern means files directly there; with `**/` before it, it means all folders]",
            );
        }
        if shown < total {
            page.note(&format!(
                "[{shown} of {total} files listed; a narrower pattern or path shows the others]"
            ));
        }
        for note in walk.notes() {
            page.note(&note);
        }
        let data = json!({ "files": total, "shown": shown });
        let display = Some(format!("{total} files"));
        ToolResult { return_display: display, data: Some(data), ..ToolResult::text(page.into_text()) }
    }
}
