//! `move_file`: gives a file another name or folder. (spec 05)

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    BuiltInDefinition,
    changing::{ChangeContext, OriginalFile, SMALL_BYTES, bytes_at, made_folders, stopped},
    declared,
};
use crate::{
    CallContext, Invocation, Permit, PrepareContext, digest,
    undo::PlannedChange,
    work,
    workspace::{WorkspacePath, WriteOutcome},
};
use protocol::{
    CallId, CallLocation, ConfirmationDetails, FileChange, FileChanged, ReplaySafety, ResourceAccess, Risk,
    SessionId, ToolDeclaration, ToolEffect, ToolError, ToolErrorType, ToolKind, ToolResult,
};

const DESCRIPTION: &str = "\
Moves or renames one file, within the workspace. Folders above the new place are made where they are missing. Nothing may \
be at the new place, and folders are not moved.";

pub struct MoveFileTool;

impl BuiltInDefinition for MoveFileTool {
    type Arguments = MoveFileArguments;

    const PATHS: &'static [&'static str] = &["from", "to"];

    fn declaration() -> ToolDeclaration {
        let parameters = json!({
            "type": "object",
            "properties": {
                "from": {
                    "type": "string",
                    "description": "The file as it is: absolute, or relative to the workspace root."
                },
                "to": {
                    "type": "string",
                    "description": "The path it is to have, with its name."
                }
            },
            "required": ["from", "to"],
            "additionalProperties": false
        });
        declared("move_file", "Move file", (ToolKind::Move, Risk::Medium), DESCRIPTION, parameters)
    }

    fn replay() -> ReplaySafety {
        ReplaySafety::Unsafe
    }

    fn is_heavy(arguments: &MoveFileArguments, cx: &PrepareContext) -> bool {
        SMALL_BYTES < Self::changed_bytes(arguments, cx)
    }

    fn changed_bytes(arguments: &MoveFileArguments, cx: &PrepareContext) -> u64 {
        bytes_at(&arguments.from, cx)
    }

    fn check(arguments: MoveFileArguments, cx: &PrepareContext) -> Result<Box<dyn Invocation>, ToolError> {
        let workspace = &cx.workspace;
        let (from, to) = (cx.place_to_write(&arguments.from)?, cx.place_to_write(&arguments.to)?);
        let ground = ChangeContext::of(cx);
        let before = OriginalFile::of(workspace, &from)?;
        ground.known(&from, before.as_ref())?;
        let Some(before) = before else {
            let message = format!("there is no `{}`", workspace.shown(&from));
            return Err(ToolError { kind: ToolErrorType::FileNotFound, message });
        };
        if let Ok(facts) = workspace.facts(&to) {
            let shown = workspace.shown(&to);
            let (kind, message) = match facts.is_folder {
                true => (
                    ToolErrorType::TargetIsDirectory,
                    format!("`{shown}` is a folder; give the whole path that the file is to have"),
                ),
                false => (
                    ToolErrorType::AttemptToCreateExistingFile,
                    format!("`{shown}` is there already; delete it first, or choose another name"),
                ),
            };
            return Err(ToolError { kind, message });
        }
        let mut accesses = vec![
            ResourceAccess::Write { path: workspace.access_path(&from) },
            ResourceAccess::Write { path: workspace.access_path(&to) },
        ];
        accesses.extend(made_folders(workspace, &to));
        let (digest, bytes) = (before.digest().to_owned(), before.found.bytes.len() as u64);
        let call = MoveFileInvocation { ground, from, to, digest, bytes, accesses };
        Ok(Box::new(call))
    }
}

#[derive(Deserialize)]
pub struct MoveFileArguments {
    from: String,
    to: String,
}

struct MoveFileInvocation {
    ground: ChangeContext,
    from: WorkspacePath,
    to: WorkspacePath,
    /// Of the file.
    digest: String,
    bytes: u64,
    accesses: Vec<ResourceAccess>,
}

impl Invocation for MoveFileInvocation {
    fn accesses(&self) -> &[ResourceAccess] {
        &self.accesses
    }

    fn description(&self) -> String {
        let workspace = &self.ground.workspace;
        format!("{} to {}", workspace.shown(&self.from), workspace.shown(&self.to))
    }

    fn locations(&self) -> Vec<CallLocation> {
        let location = |place| CallLocation { path: self.ground.workspace.shown_absolute(place), line: None };
        vec![location(&self.from), location(&self.to)]
    }

    fn risk(&self) -> Option<Risk> {
        // The graver of the two places counts.
        self.ground.risk(&self.from).max(self.ground.risk(&self.to))
    }

    fn confirmation(&self) -> Option<ConfirmationDetails> {
        let workspace = &self.ground.workspace;
        let (from, to) = (workspace.shown_absolute(&self.from), workspace.shown_absolute(&self.to));
        Some(ConfirmationDetails::Info { prompt: format!("Move `{from}` to `{to}`?") })
    }

    fn basis(&self) -> Option<String> {
        let workspace = &self.ground.workspace;
        let (from, to) = (workspace.written(&self.from), workspace.written(&self.to));
        Some(digest::of_parts([from.as_str(), to.as_str(), self.digest.as_str()]))
    }

    fn run(self: Box<Self>, permit: Permit, cx: CallContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move {
            let turn = match self.ground.turn(self.bytes, &cx).await {
                Ok(turn) => turn,
                Err(result) => return result,
            };
            let session = cx.session.clone();
            let moving = move |stop: &CancellationToken| {
                // Held to the end, also where nobody waits for it any more.
                let _turn = turn;
                if stop.is_cancelled() {
                    let error = stopped();
                    return ToolResult::failure(error.kind, error.message);
                }
                match self.make(&session, permit.call()) {
                    Ok(changed) => ToolResult {
                        effects: vec![ToolEffect::File(changed)],
                        ..ToolResult::text(format!("Moved {}.", self.description()))
                    },
                    Err(error) => ToolResult::failure(error.kind, error.message),
                }
            };
            work::to_the_end(cx, moving).await
        })
    }
}

impl MoveFileInvocation {
    fn make(&self, session: &SessionId, call: &CallId) -> Result<FileChanged, ToolError> {
        let ChangeContext { workspace, own_files, reads, guards, .. } = &self.ground;
        let there = OriginalFile::of(workspace, &self.from)?.filter(|there| there.digest() == self.digest);
        let Some(there) = there else { return Err(self.is_changed()) };
        let keep = PlannedChange {
            workspace,
            place: &self.to,
            from: Some(&self.from),
            change: FileChange::Moved,
            before: Some((&there.found, &self.digest)),
            after: Some(&self.digest),
            folders: workspace.missing_folders(&self.to),
        };
        let kept = own_files.undo().keep(session, call, &keep)?;
        match workspace.rename(&self.from, &self.to, &there.found) {
            Ok(WriteOutcome::Done) => {}
            Ok(WriteOutcome::Changed | WriteOutcome::Stopped) => {
                kept.forget();
                return Err(self.is_changed());
            }
            Err(error) => {
                kept.forget();
                return Err(error);
            }
        }
        let (from, to) = (workspace.absolute(&self.from), workspace.absolute(&self.to));
        guards.allow(&to, Some(&self.digest));
        // Only what the model knows moves along.
        if reads.of(&from).is_some() {
            reads.note(to, self.digest.clone());
        }
        reads.forget(&from);
        Ok(kept.made())
    }

    fn is_changed(&self) -> ToolError {
        let message = format!(
            "`{}` or `{}` was changed after this call was prepared, so nothing was moved; look again, then decide anew",
            self.ground.workspace.shown(&self.from),
            self.ground.workspace.shown(&self.to)
        );
        ToolError { kind: ToolErrorType::FileChanged, message }
    }
}
