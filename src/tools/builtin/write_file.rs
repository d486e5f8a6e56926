//! `write_file`: makes a file's whole content this. (spec 05)

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    BuiltInDefinition,
    changing::{
        ChangeContext, OriginalFile, PreparedChange, SMALL_BYTES, bytes_at, keeps_secrets, text::TextFile,
    },
    declared,
};
use crate::{CallContext, FileTelling, Invocation, Permit, PrepareContext};
use protocol::{
    CallLocation, ConfirmationDetails, ReplaySafety, ResourceAccess, Risk, ToolDeclaration, ToolError,
    ToolErrorType, ToolKind, ToolResult,
};

const DESCRIPTION: &str = "\
Writes a whole file: creates it, with the folders above it, or replaces what it contains. To change a part of a file use \
edit_file.
- An existing file keeps its line ends, encoding, byte order mark and permissions. What you give as `content` is the text \
alone.
- A file that was changed since you last read it is refused: read it again.";

pub struct WriteFileTool;

impl BuiltInDefinition for WriteFileTool {
    type Arguments = WriteFileArguments;

    fn declaration() -> ToolDeclaration {
        let parameters = json!({
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "description": "The file: absolute, or relative to the workspace root."
                },
                "content": { "type": "string", "description": "The whole new text of the file." }
            },
            "required": ["path", "content"],
            "additionalProperties": false
        });
        declared("write_file", "Write file", (ToolKind::Edit, Risk::Low), DESCRIPTION, parameters)
    }

    fn replay() -> ReplaySafety {
        ReplaySafety::Unsafe
    }

    fn is_heavy(arguments: &WriteFileArguments, cx: &PrepareContext) -> bool {
        SMALL_BYTES < Self::changed_bytes(arguments, cx)
    }

    fn changed_bytes(arguments: &WriteFileArguments, cx: &PrepareContext) -> u64 {
        (arguments.content.len() as u64).max(bytes_at(&arguments.path, cx))
    }

    fn check(arguments: WriteFileArguments, cx: &PrepareContext) -> Result<Box<dyn Invocation>, ToolError> {
        let WriteFileArguments { path, content } = arguments;
        let place = cx.place_to_write(&path)?;
        let ground = ChangeContext::of(cx);
        let before = OriginalFile::of(&cx.workspace, &place)?;
        ground.known(&place, before.as_ref())?;
        // What is no text has no form to keep.
        let old = before.as_ref().and_then(|before| TextFile::of(&before.found.bytes).ok());
        let mut note = None;
        let mut new = match &old {
            Some(old) => old.with_bytes(old.form.ends.given_to(&content).into_owned().into_bytes()),
            None => TextFile::new(&content),
        };
        keeps_secrets(&cx.workspace.shown(&place), (old.as_ref(), &new), std::iter::empty(), &cx.redactor)?;
        let bytes = match new.written() {
            Ok(bytes) => bytes,
            Err(encoding) => {
                note = Some(format!(
                    "It was written in {encoding}, which has no room for some character; it is UTF-8 now"
                ));
                new = new.as_utf8();
                Arc::new(new.bytes().to_vec())
            }
        };
        let is_told = cx.telling(&place) == FileTelling::Contents;
        // Whoever may not read a file does not learn what stands in it by guessing: the same is written once more.
        if is_told && before.as_ref().is_some_and(|before| before.found.bytes == bytes) {
            let message = format!("`{}` has this content already", cx.workspace.shown(&place));
            return Err(ToolError { kind: ToolErrorType::EditNoChange, message });
        }
        let change = PreparedChange::new(ground, place, before, Some(bytes), (old.as_ref(), Some(&new)));
        Ok(Box::new(WriteFileInvocation { change, path, note }))
    }
}

#[derive(Deserialize)]
pub struct WriteFileArguments {
    path: String,
    content: String,
}

struct WriteFileInvocation {
    change: PreparedChange,
    path: String,
    note: Option<String>,
}

impl Invocation for WriteFileInvocation {
    fn accesses(&self) -> &[ResourceAccess] {
        self.change.accesses()
    }

    fn description(&self) -> String {
        let (added, removed) = self.change.counts;
        let what = if self.change.is_new() { "new, " } else { "" };
        format!("{}, {what}+{added} -{removed} lines", self.change.shown())
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

    fn with_content(&self, content: &str) -> Option<Value> {
        Some(json!({ "path": self.path, "content": content }))
    }

    fn run(self: Box<Self>, permit: Permit, cx: CallContext) -> BoxFuture<'static, ToolResult> {
        let WriteFileInvocation { change, note, .. } = *self;
        let (added, removed) = change.counts;
        let verb = if change.is_new() { "Created" } else { "Replaced the content of" };
        let mut said = format!("{verb} `{}`: +{added} -{removed} lines.", change.shown());
        if let Some(note) = &note {
            said.push_str(&format!("\nNote: {note}."));
        }
        let data = json!({ "created": change.is_new(), "added": added, "removed": removed });
        change.run(said, data, permit, cx)
    }
}
