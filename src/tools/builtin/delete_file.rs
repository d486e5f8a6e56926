//! `delete_file`: removes one file, so that it can come back. (spec 05)

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::{
    BuiltInDefinition,
    changing::{ChangeContext, OriginalFile, PreparedChange, SMALL_BYTES, bytes_at, text::TextFile},
    declared,
};
use crate::{CallContext, Invocation, Permit, PrepareContext};
use protocol::{
    CallLocation, ConfirmationDetails, ReplaySafety, ResourceAccess, Risk, ToolDeclaration, ToolError,
    ToolErrorType, ToolKind, ToolResult,
};

const DESCRIPTION: &str = "\
Deletes one file. Folders are not deleted. What was in the file is kept, so that the user can undo it.";

pub struct DeleteFileTool;

impl BuiltInDefinition for DeleteFileTool {
    type Arguments = DeleteFileArguments;

    fn declaration() -> ToolDeclaration {
        let parameters = json!({
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "description": "The file: absolute, or relative to the workspace root."
                }
            },
            "required": ["path"],
            "additionalProperties": false
        });
        declared("delete_file", "Delete file", (ToolKind::Delete, Risk::High), DESCRIPTION, parameters)
    }

    fn replay() -> ReplaySafety {
        ReplaySafety::Unsafe
    }

    fn is_heavy(arguments: &DeleteFileArguments, cx: &PrepareContext) -> bool {
        SMALL_BYTES < Self::changed_bytes(arguments, cx)
    }

    fn changed_bytes(arguments: &DeleteFileArguments, cx: &PrepareContext) -> u64 {
        bytes_at(&arguments.path, cx)
    }

    fn check(arguments: DeleteFileArguments, cx: &PrepareContext) -> Result<Box<dyn Invocation>, ToolError> {
        let place = cx.place_to_write(&arguments.path)?;
        let shown = cx.workspace.shown(&place);
        let before = OriginalFile::of(&cx.workspace, &place).map_err(|error| match error.kind {
            ToolErrorType::TargetIsDirectory => {
                let message = format!("`{shown}` is a folder; delete_file deletes files, one at a time");
                ToolError { message, ..error }
            }
            _ => error,
        })?;
        let ground = ChangeContext::of(cx);
        ground.known(&place, before.as_ref())?;
        let Some(before) = before else {
            let message = format!("there is no `{shown}`");
            return Err(ToolError { kind: ToolErrorType::FileNotFound, message });
        };
        let size = before.found.bytes.len();
        let old = TextFile::of(&before.found.bytes).ok();
        let change = PreparedChange::new(ground, place, Some(before), None, (old.as_ref(), None));
        Ok(Box::new(DeleteFileInvocation { change, size }))
    }
}

#[derive(Deserialize)]
pub struct DeleteFileArguments {
    path: String,
}

struct DeleteFileInvocation {
    change: PreparedChange,
    /// Bytes of the file.
    size: usize,
}

impl Invocation for DeleteFileInvocation {
    fn accesses(&self) -> &[ResourceAccess] {
        self.change.accesses()
    }

    fn description(&self) -> String {
        format!("{}, {} bytes", self.change.shown(), self.size)
    }

    fn locations(&self) -> Vec<CallLocation> {
        self.change.locations()
    }

    fn risk(&self) -> Option<Risk> {
        self.change.risk()
    }

    fn confirmation(&self) -> Option<ConfirmationDetails> {
        Some(self.change.details())
    }

    fn basis(&self) -> Option<String> {
        Some(self.change.basis())
    }

    fn run(self: Box<Self>, permit: Permit, cx: CallContext) -> BoxFuture<'static, ToolResult> {
        let DeleteFileInvocation { change, size } = *self;
        let said = format!("Deleted `{}` ({size} bytes).", change.shown());
        change.run(said, json!({ "bytes": size }), permit, cx)
    }
}
