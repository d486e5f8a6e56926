//! `read_file`: what does a file say or show? (spec 05)

use std::{fs::File, sync::Arc};

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::{
    BuiltInDefinition,
    reading::{self, DEFAULT_LINES, FileContent, LineRange, MAX_FILE_BYTES, MAX_INLINE_BYTES, TextExcerpt},
    safe,
};
use crate::{
    CallContext, Invocation, OutputLimits, Permit, PrepareContext, commands::CommandStarter, digest, outputs,
    work, workspace::OpenedPath,
};
use models::MediaSupport;
use protocol::{
    CallLocation, MessagePart, ResourceAccess, ToolDeclaration, ToolError, ToolErrorType, ToolKind,
    ToolResult,
};
use redact::Redactor;

mod pdf;
mod source;

use source::ReadFileSource;

/// Smaller files are read at once: handing one to another thread costs more than reading it.
const SMALL_FILE_BYTES: u64 = 256 * 1024;

const PDF: &str = "application/pdf";

const DESCRIPTION: &str = "\
Reads one file and returns its text as it is, without line numbers. Any common encoding is understood and \
shown as UTF-8.
- At most 2,000 lines are returned, and at most as many as fit the output limit. When something is left out, or \
the text was decoded from another encoding, the first line is a note in square brackets that says so, with the \
total number of lines and the `offset` to read on with; the file's own text starts on the second line.
- A line of more than 2,000 characters is cut, with a mark in square brackets at its end.
- PNG, JPEG, GIF, WEBP and BMP images are returned as images, up to 3.75 MiB; SVG is text. A PDF and a sound are returned \
as they are where you can take them; else the text of a PDF is, where the system can tell it. Other binary files are \
described (type and size), not returned.
- The path that a cut output of another tool names is read like a file; its longest lines are broken.
- A file of more than 20 MiB is refused; `grep` can search it.
- Read several files with several calls in one turn; they run at the same time.";

pub struct ReadFileTool;

impl BuiltInDefinition for ReadFileTool {
    type Arguments = ReadFileArguments;

    fn declaration() -> ToolDeclaration {
        let parameters = json!({
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "description": "The file: absolute, or relative to the workspace root."
                },
                "offset": {
                    "type": "integer",
                    "minimum": 0,
                    "maximum": u32::MAX,
                    "description": "The first line to return, counted from 0. Default: 0."
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": u32::MAX,
                    "description": "How many lines to return at most. Default: 2000."
                }
            },
            "required": ["path"],
            "additionalProperties": false
        });
        safe("read_file", "Read file", ToolKind::Read, DESCRIPTION, parameters)
    }

    fn check(arguments: ReadFileArguments, cx: &PrepareContext) -> Result<Box<dyn Invocation>, ToolError> {
        let source = ReadFileSource::of(&arguments.path, cx)?;
        let accesses = vec![source.access()];
        let redactor = cx.redactor.clone();
        let (media, starter) = (cx.media, CommandStarter::of(cx));
        Ok(Box::new(ReadFileInvocation {
            source,
            arguments,
            accesses,
            output: cx.output,
            redactor,
            media,
            starter,
        }))
    }
}

#[derive(Deserialize)]
pub struct ReadFileArguments {
    path: String,
    offset: Option<u64>,
    limit: Option<u64>,
}

struct ReadFileInvocation {
    source: ReadFileSource,
    arguments: ReadFileArguments,
    accesses: Vec<ResourceAccess>,
    output: OutputLimits,
    redactor: Redactor,
    media: MediaSupport,
    starter: CommandStarter,
}

/// What reading a file came to.
enum ReadFileResult {
    Told(ToolResult),
    /// It is a PDF, whose text is wanted, since it cannot be handed over for this reason: one clause.
    Pdf {
        bytes: Vec<u8>,
        why: String,
    },
}

impl Invocation for ReadFileInvocation {
    fn accesses(&self) -> &[ResourceAccess] {
        &self.accesses
    }

    fn description(&self) -> String {
        let shown = self.source.shown();
        let first = self.arguments.offset.unwrap_or(0) + 1;
        match (self.arguments.offset, self.arguments.limit) {
            (None, None) => shown,
            (_, None) => format!("{shown}, from line {first}"),
            (_, Some(limit)) => format!("{shown}, lines {first}-{}", first.saturating_add(limit) - 1),
        }
    }

    fn locations(&self) -> Vec<CallLocation> {
        let line = self.arguments.offset.and_then(|offset| u32::try_from(offset + 1).ok());
        vec![CallLocation { path: self.source.shown_absolute(), line }]
    }

    fn run(self: Box<Self>, _permit: Permit, cx: CallContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move {
            if cx.cancel.is_cancelled() {
                return work::cancelled();
            }
            // Perf: opening costs microseconds and never waits, so it stays on this thread.
            match self.source.open() {
                Err(error) => failure(error),
                Ok(OpenedPath::Folder(_)) => self.is_a_folder(),
                Ok(OpenedPath::Special(what)) => ToolResult::text(format!(
                    "[`{}` is {what}, not a file; it was not read]",
                    self.source.shown()
                )),
                Ok(OpenedPath::File { size, .. }) if MAX_FILE_BYTES < size => {
                    self.is_too_large(&size.to_string())
                }
                Ok(OpenedPath::File { file, size }) => {
                    let this = Arc::new(*self);
                    let read = match size <= SMALL_FILE_BYTES {
                        true => this.read(&file),
                        false => {
                            let this = Arc::clone(&this);
                            match work::beside(&cx, move |_| this.read(&file)).await {
                                Ok(read) => read,
                                Err(result) => return result,
                            }
                        }
                    };
                    match read {
                        ReadFileResult::Told(result) => result,
                        ReadFileResult::Pdf { bytes, why } => this.pdf_text(bytes, &why, &cx).await,
                    }
                }
            }
        })
    }
}

impl ReadFileInvocation {
    fn read(&self, file: &File) -> ReadFileResult {
        let bytes = match reading::read_on(file, Vec::new()) {
            Ok(Some(bytes)) => bytes,
            // It grew after its size was looked at.
            Ok(None) => {
                return ReadFileResult::Told(self.is_too_large(&format!("more than {MAX_FILE_BYTES}")));
            }
            Err(error) => {
                let message = format!("`{}` cannot be read: {error}", self.source.shown());
                return ReadFileResult::Told(ToolResult::failure(ToolErrorType::ReadContentFailure, message));
            }
        };
        self.source.note(|| digest::of(&bytes));
        if let ReadFileSource::Output { .. } = self.source {
            // Text that was kept as UTF-8, whatever is in it.
            return ReadFileResult::Told(
                self.excerpt(&outputs::wrapped(&String::from_utf8_lossy(&bytes)), None),
            );
        }
        let size = bytes.len();
        let is_too_large = MAX_INLINE_BYTES < size;
        ReadFileResult::Told(match reading::content(&bytes) {
            FileContent::Image { .. } if is_too_large => {
                self.is_too_large_to_show(size, "an image", "images")
            }
            FileContent::Image { mime } => self.media(&bytes, mime, "an image"),
            FileContent::BrokenImage { mime } => {
                self.is_binary(size, &format!("{mime} without its end"), None)
            }
            FileContent::Audio { .. } if self.media.audio && is_too_large => {
                self.is_too_large_to_show(size, "a sound", "sounds")
            }
            FileContent::Audio { mime } if self.media.audio => self.media(&bytes, mime, "a sound"),
            FileContent::Audio { mime } => self.is_binary(size, mime, Some("this model takes no sound")),
            FileContent::Pdf => match self.pdf_obstacle(&bytes) {
                None => self.media(&bytes, PDF, "a PDF"),
                Some(why) => return ReadFileResult::Pdf { bytes, why },
            },
            FileContent::Binary { mime } => self.is_binary(size, mime, None),
            FileContent::Text { text, encoding } => self.excerpt(&text, encoding),
        })
    }

    /// Why a PDF cannot be handed over as it is: one clause.
    fn pdf_obstacle(&self, bytes: &[u8]) -> Option<String> {
        if !self.media.pdf {
            return Some("this model takes no PDF".to_owned());
        }
        if let Some(fault) = reading::pdf_fault(bytes) {
            return Some(format!("it {fault}"));
        }
        let is_too_large = MAX_INLINE_BYTES < bytes.len();
        is_too_large.then(|| format!("models get PDFs of at most {MAX_INLINE_BYTES} bytes"))
    }

    async fn pdf_text(&self, bytes: Vec<u8>, why: &str, cx: &CallContext) -> ToolResult {
        let size = bytes.len();
        let told = pdf::text(self.starter.clone(), bytes, cx).await;
        if cx.cancel.is_cancelled() {
            return work::cancelled();
        }
        match told {
            Ok(text) => self.excerpt(&text, Some("PDF; layout and pictures are lost")),
            Err(problem) => {
                self.is_binary(size, PDF, Some(&format!("{why}, and its text cannot be had: {problem}")))
            }
        }
    }

    fn excerpt(&self, text: &str, encoding: Option<&str>) -> ToolResult {
        let range = LineRange {
            offset: self.arguments.offset.unwrap_or(0),
            limit: self.arguments.limit.unwrap_or(DEFAULT_LINES),
            max_chars: self.output.max_chars,
        };
        let excerpt = TextExcerpt::of(text, range, &self.redactor);
        let note = excerpt.note(encoding);
        let display = match excerpt.is_whole() {
            true => format!("Read {} lines", excerpt.total),
            false => format!("Read lines {}-{} of {}", excerpt.from + 1, excerpt.to, excerpt.total),
        };
        let data = json!({
            "lines": excerpt.total,
            "from": excerpt.from,
            "to": excerpt.to,
            "encoding": encoding.unwrap_or("UTF-8"),
        });
        let shown = match note {
            Some(note) if excerpt.text.is_empty() => note,
            Some(note) => format!("{note}\n{}", excerpt.text),
            None => excerpt.text,
        };
        ToolResult { return_display: Some(display), data: Some(data), ..ToolResult::text(shown) }
    }

    /// `what` with its article.
    fn media(&self, bytes: &[u8], mime: &str, what: &str) -> ToolResult {
        let (shown, size) = (self.source.shown(), bytes.len());
        let text = MessagePart::text(format!("[`{shown}` is {what}: {mime}, {size} bytes]"));
        ToolResult {
            llm_content: vec![text, reading::part(mime, bytes)],
            return_display: Some(format!("Read {what}: {mime}, {size} bytes")),
            data: Some(json!({"mimeType": mime, "bytes": size})),
            ..ToolResult::default()
        }
    }

    fn is_too_large_to_show(&self, size: usize, what: &str, all: &str) -> ToolResult {
        let shown = self.source.shown();
        let message = format!(
            "`{shown}` is {what} of {size} bytes; models get {all} of at most {MAX_INLINE_BYTES}. A smaller copy of it \
             can be read"
        );
        ToolResult::failure(ToolErrorType::FileTooLarge, message)
    }

    fn is_binary(&self, size: usize, mime: &str, why: Option<&str>) -> ToolResult {
        let shown = self.source.shown();
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        let description =
            format!("[`{shown}` is a binary file: {mime}, {size} bytes; its content is not shown{why}]");
        ToolResult { data: Some(json!({"mimeType": mime, "bytes": size})), ..ToolResult::text(description) }
    }

    fn is_a_folder(&self) -> ToolResult {
        let message = format!("`{}` is a folder; list_directory shows it", self.source.shown());
        ToolResult::failure(ToolErrorType::TargetIsDirectory, message)
    }

    fn is_too_large(&self, size: &str) -> ToolResult {
        let shown = self.source.shown();
        let message = format!(
            "`{shown}` has {size} bytes; at most {MAX_FILE_BYTES} are read. grep finds the lines of interest in it"
        );
        ToolResult::failure(ToolErrorType::FileTooLarge, message)
    }
}

fn failure(error: ToolError) -> ToolResult {
    ToolResult::failure(error.kind, error.message)
}
