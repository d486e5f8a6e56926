//! `edit_file`: replaces text in a file. (spec 05)

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    BuiltInDefinition,
    changing::{
        ChangeContext, OriginalFile, PreparedChange, SMALL_BYTES, SeenVersion, bytes_at, keeps_secrets,
        text::TextFile,
    },
    declared,
};
use crate::{
    CallContext, FileTelling, Invocation, Permit, PrepareContext, large_changes::LARGE_BYTES,
    parameters::refusal,
};
use protocol::{
    CallId, CallLocation, ConfirmationDetails, ReplaySafety, ResourceAccess, Risk, SchemaViolation,
    SessionId, ToolDeclaration, ToolError, ToolErrorType, ToolKind, ToolResult,
};
use redact::Redactor;

mod fuzzy;
mod lines;
mod matching;

use matching::{ExpectedReplacements, TextEdit};

/// Edits of one call. Each goes through the whole file.
const MAX_EDITS: usize = 100;
/// Characters of a line that a refusal shows.
const SHOWN_LINE_CHARS: usize = 200;

const DESCRIPTION: &str = "\
Replaces text in one file: `oldString` by `newString`.
- `oldString` is literal text as it stands in the file, never escaped and without line numbers. It must name one place: \
give at least 3 lines of context on each side. Read the file first.
- To replace several occurrences give their number as `expectedReplacements`, or `replaceAll: true` for every one.
- `edits` is a list of replacements of one file, made one after the other, each on what the one before left. If one \
fails, none is made.
- An empty `oldString` creates a new file with `newString`.
- Encoding, line ends and permissions stay as they are. A file that was changed since you last read it is refused: read \
it again.";

pub struct EditFileTool;

impl BuiltInDefinition for EditFileTool {
    type Arguments = EditFileArguments;

    fn declaration() -> ToolDeclaration {
        let old = json!({
            "type": "string",
            "description": "The text to replace, as it stands in the file. Empty: create the file."
        });
        let new = json!({ "type": "string", "description": "The text to put in its place." });
        let expected = json!({
            "type": "integer",
            "minimum": 1,
            "maximum": u32::MAX,
            "description": "How often the text stands in the file; all are replaced. Default: 1."
        });
        let all = json!({
            "type": "boolean",
            "description": "Whether to replace every occurrence, however many there are. Default: false."
        });
        let parameters = json!({
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "description": "The file: absolute, or relative to the workspace root."
                },
                "oldString": old,
                "newString": new,
                "expectedReplacements": expected,
                "replaceAll": all,
                "edits": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": MAX_EDITS,
                    "description": "Several replacements, instead of oldString and newString.",
                    "items": {
                        "type": "object",
                        "properties": {
                            "oldString": old,
                            "newString": new,
                            "expectedReplacements": expected,
                            "replaceAll": all
                        },
                        "required": ["oldString", "newString"],
                        "additionalProperties": false
                    }
                }
            },
            "required": ["path"],
            "additionalProperties": false
        });
        declared("edit_file", "Edit file", (ToolKind::Edit, Risk::Low), DESCRIPTION, parameters)
    }

    fn replay() -> ReplaySafety {
        ReplaySafety::Unsafe
    }

    fn is_heavy(arguments: &EditFileArguments, cx: &PrepareContext) -> bool {
        SMALL_BYTES < Self::changed_bytes(arguments, cx)
    }

    fn changed_bytes(arguments: &EditFileArguments, cx: &PrepareContext) -> u64 {
        bytes_at(&arguments.path, cx)
    }

    fn check(arguments: EditFileArguments, cx: &PrepareContext) -> Result<Box<dyn Invocation>, ToolError> {
        let is_large = LARGE_BYTES <= Self::changed_bytes(&arguments, cx);
        let again = is_large.then(|| Box::new(EditAgain { arguments: arguments.clone(), cx: cx.clone() }));
        let mut invocation = EditFileInvocation::of(arguments, cx)?;
        Ok(Box::new(match again {
            Some(again) if !invocation.change.takes_room() => invocation.without_content(again),
            _ => invocation,
        }))
    }
}

impl EditFileInvocation {
    fn of(arguments: EditFileArguments, cx: &PrepareContext) -> Result<EditFileInvocation, ToolError> {
        let path = arguments.path.clone();
        let replacements = arguments.replacements()?;
        let place = cx.place_to_write(&path)?;
        let ground = ChangeContext::of(cx);
        let before = OriginalFile::of(&cx.workspace, &place)?;
        let seen = ground.known(&place, before.as_ref())?;
        let shown = cx.workspace.shown(&place);
        let old = before.as_ref().map(|before| TextFile::of(&before.found.bytes)).transpose();
        let old = old.map_err(|what| {
            let message = format!("`{shown}` is {what}; it cannot be edited");
            ToolError { kind: ToolErrorType::EditPreparationFailure, message }
        })?;
        let telling = cx.telling(&place);
        if before.is_some() && seen == SeenVersion::Never && telling == FileTelling::Nothing {
            let message = format!(
                "`{shown}` was not read yet, and an edit would tell what stands in it: read it with read_file first"
            );
            return Err(ToolError { kind: ToolErrorType::EditPreparationFailure, message });
        }
        let edited = edited(old.as_ref(), &replacements, seen, &shown, &cx.redactor).map_err(|error| {
            let is_told = telling == FileTelling::Contents || before.is_none();
            if is_told { error } else { without_contents(&shown) }
        })?;
        let new = &edited.text;
        let given = replacements.iter().map(|replacement| replacement.old_string.as_str());
        keeps_secrets(&shown, (old.as_ref(), new), given, &cx.redactor)?;
        let bytes = new.written().map_err(|encoding| {
            let message = format!(
                "`{shown}` is written in {encoding}, which has no room for some character of newString; write it without"
            );
            ToolError { kind: ToolErrorType::EditPreparationFailure, message }
        })?;
        if before.as_ref().is_some_and(|before| before.found.bytes == bytes) {
            let message = format!("the edits leave `{shown}` as it is");
            let unchanged = ToolError { kind: ToolErrorType::EditNoChange, message };
            // That they fit says what stands there, as a refusal to the contrary does.
            let is_told = telling == FileTelling::Contents;
            return Err(if is_told { unchanged } else { without_contents(&shown) });
        }
        let change = PreparedChange::new(ground, place, before, Some(bytes), (old.as_ref(), Some(new)));
        let old = EditedFile::Held(old);
        Ok(EditFileInvocation { change, path, old, edited: edited.told })
    }
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EditFileArguments {
    path: String,
    old_string: Option<String>,
    new_string: Option<String>,
    expected_replacements: Option<u64>,
    replace_all: Option<bool>,
    edits: Option<Vec<EditReplacement>>,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct EditReplacement {
    old_string: String,
    new_string: String,
    expected_replacements: Option<u64>,
    replace_all: Option<bool>,
}

impl EditFileArguments {
    fn replacements(self) -> Result<Vec<EditReplacement>, ToolError> {
        let wrong = |pointer: &str, message: &str| {
            refusal(&[SchemaViolation { pointer: pointer.to_owned(), message: message.to_owned() }])
        };
        let EditFileArguments { old_string, new_string, expected_replacements, replace_all, .. } = self;
        match (self.edits, old_string, new_string) {
            (Some(edits), None, None) => Ok(edits),
            (None, Some(old_string), Some(new_string)) => {
                Ok(vec![EditReplacement { old_string, new_string, expected_replacements, replace_all }])
            }
            (Some(_), ..) => Err(wrong("/edits", "give either edits, or oldString and newString")),
            (None, Some(_), None) => Err(wrong("/newString", "missing, but required without edits")),
            (None, None, _) => Err(wrong("/oldString", "missing, but required without edits")),
        }
    }
}

/// The one refusal of edits that says nothing of what stands in the file.
fn without_contents(shown: &str) -> ToolError {
    let message = format!(
        "the edits do not fit `{shown}`: each oldString must stand in it, as it is, as often as it is to be replaced, and they must change it; read it again"
    );
    ToolError { kind: ToolErrorType::EditNoOccurrenceFound, message }
}

/// What the edits make of a text.
struct EditedText {
    text: TextFile,
    told: EditTold,
}

/// The part of it that a result tells.
struct EditTold {
    replaced: usize,
    /// The first line of the first edit, from 1.
    line: usize,
    /// What was done otherwise than asked.
    notes: Vec<String>,
}

/// All edits, or the first that fails.
fn edited(
    old: Option<&TextFile>,
    replacements: &[EditReplacement],
    seen: SeenVersion,
    shown: &str,
    redactor: &Redactor,
) -> Result<EditedText, ToolError> {
    let mut text = old.cloned();
    let (mut replaced, mut line, mut notes) = (0, None, Vec::new());
    for (number, replacement) in replacements.iter().enumerate() {
        let prefix = if replacements.len() == 1 { String::new() } else { format!("edits[{number}]: ") };
        let told = |error: ToolError| ToolError { message: format!("{prefix}{}", error.message), ..error };
        let EditReplacement { old_string, new_string, expected_replacements, replace_all } = replacement;
        let Some(current) = text else {
            if !old_string.is_empty() {
                let message = format!("there is no `{shown}`; an empty oldString creates it");
                return Err(told(ToolError { kind: ToolErrorType::FileNotFound, message }));
            }
            text = Some(TextFile::new(new_string));
            replaced += 1;
            line.get_or_insert(1);
            continue;
        };
        if old_string.is_empty() {
            let message = format!(
                "an empty oldString creates a file, but `{shown}` is there; give the text to replace, or use write_file"
            );
            return Err(told(ToolError { kind: ToolErrorType::AttemptToCreateExistingFile, message }));
        }
        let expected = match (replace_all, expected_replacements) {
            (Some(true), _) => ExpectedReplacements::All,
            (_, expected) => {
                ExpectedReplacements::Exactly(usize::try_from(expected.unwrap_or(1)).unwrap_or(usize::MAX))
            }
        };
        let may_guess = seen == SeenVersion::AsItIs;
        let edit = TextEdit { old: old_string, new: new_string, expected, may_guess };
        let applied = matching::apply(current.bytes(), current.form.ends, &edit).map_err(|error| {
            let is_missing = error.kind == ToolErrorType::EditNoOccurrenceFound;
            let near = if is_missing { nearest(&current, old_string, redactor) } else { String::new() };
            told(ToolError { message: format!("{}{near}", error.message), ..error })
        })?;
        replaced += applied.replaced;
        line.get_or_insert(applied.line);
        notes.extend(applied.corrected.map(|note| format!("{prefix}{note}")));
        text = Some(current.with_bytes(applied.bytes));
    }
    // Invariant: the schema and `replacements` give at least one edit, and each leaves a text.
    let text = text.unwrap_or_else(|| TextFile::new(""));
    Ok(EditedText { text, told: EditTold { replaced, line: line.unwrap_or(1), notes } })
}

/// What stands in the file where the text was probably meant.
fn nearest(text: &TextFile, old: &str, redactor: &Redactor) -> String {
    let near = matching::nearest(text.bytes(), old);
    if near.is_empty() {
        return String::new();
    }
    // Hidden before it is cut: half a secret is not found any more.
    let line = |(number, line): &(usize, String)| {
        let line = redactor.text(line);
        let head: String = line.chars().take(SHOWN_LINE_CHARS).collect();
        let mark = if head.len() < line.len() { " […]" } else { "" };
        format!("{number}: {head}{mark}")
    };
    let lines: Vec<String> = near.iter().map(line).collect();
    format!(". The nearest lines are:\n{}", lines.join("\n"))
}

struct EditFileInvocation {
    change: PreparedChange,
    path: String,
    old: EditedFile,
    edited: EditTold,
}

/// The file as it is.
enum EditedFile {
    /// `None` when nothing is there.
    Held(Option<TextFile>),
    /// It is large, and there is no room for it beside others that wait: it is read again when the edit is made.
    Large(Box<EditAgain>),
}

/// All that it takes to prepare an edit once more.
struct EditAgain {
    arguments: EditFileArguments,
    cx: PrepareContext,
}

impl EditFileInvocation {
    fn without_content(self, again: Box<EditAgain>) -> EditFileInvocation {
        EditFileInvocation { change: self.change.without_content(), old: EditedFile::Large(again), ..self }
    }

    /// The words for the model and the data, of a change that is made.
    fn said(&self) -> (String, Value) {
        let EditTold { replaced, line, notes } = &self.edited;
        let (added, removed) = self.change.counts;
        let verb = if self.change.is_new() { "Created" } else { "Edited" };
        let count =
            if *replaced == 1 { "1 replacement".to_owned() } else { format!("{replaced} replacements") };
        let shown = self.change.shown();
        let mut said = format!("{verb} `{shown}`: {count}, from line {line} on, +{added} -{removed} lines.");
        for note in notes {
            said.push_str(&format!("\nNote: {note}."));
        }
        let data = json!({
            "replacements": replaced,
            "line": line,
            "added": added,
            "removed": removed,
            "corrected": notes,
        });
        (said, data)
    }
}

impl EditAgain {
    /// Makes the edit, if it would still do what was shown: `shown` is the change that was. Blocks.
    fn make(
        self,
        shown: &PreparedChange,
        (session, call): (&SessionId, &CallId),
        stop: &CancellationToken,
    ) -> ToolResult {
        let made = EditFileInvocation::of(self.arguments, &self.cx).and_then(|anew| {
            if anew.change.basis() != shown.basis() {
                return Err(shown.is_changed());
            }
            Ok((anew.change.make(session, call, stop)?, anew))
        });
        match made {
            Ok((changed, anew)) => {
                let (said, data) = anew.said();
                anew.change.result(changed, said, data)
            }
            Err(error) => ToolResult::failure(error.kind, error.message),
        }
    }
}

impl Invocation for EditFileInvocation {
    fn accesses(&self) -> &[ResourceAccess] {
        self.change.accesses()
    }

    fn description(&self) -> String {
        let (added, removed) = self.change.counts;
        format!("{}, +{added} -{removed} lines", self.change.shown())
    }

    fn locations(&self) -> Vec<CallLocation> {
        let line = u32::try_from(self.edited.line).ok();
        self.change.locations().into_iter().map(|location| CallLocation { line, ..location }).collect()
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
        // The whole of it is replaced. Bytes that are no text cannot be named, and an empty text names nothing.
        let replacing = |old: Option<&TextFile>| {
            let old = match old {
                None => "",
                Some(old) => old.as_str().filter(|old| !old.is_empty())?,
            };
            Some(json!({ "path": self.path, "oldString": old, "newString": content }))
        };
        match &self.old {
            EditedFile::Held(old) => replacing(old.as_ref()),
            EditedFile::Large(again) => {
                let place = again.cx.place_to_write(&self.path).ok()?;
                let before = OriginalFile::of(&again.cx.workspace, &place).ok()?;
                let old = before.map(|before| TextFile::of(&before.found.bytes)).transpose().ok()?;
                replacing(old.as_ref())
            }
        }
    }

    fn run(self: Box<Self>, permit: Permit, cx: CallContext) -> BoxFuture<'static, ToolResult> {
        let (said, data) = self.said();
        let EditFileInvocation { change, old, .. } = *self;
        let EditedFile::Large(again) = old else { return change.run(said, data, permit, cx) };
        change
            .run_by(permit, cx, move |change, session, call, stop| again.make(change, (session, call), stop))
    }
}
