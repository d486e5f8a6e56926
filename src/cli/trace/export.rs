//! `subagent trace export`: a trace as a document, written as it comes.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use serde::Deserialize;

use crate::{ProcessIo, failure::CommandFailure, ids, link::DaemonLink, paging, safe_text};
use protocol::{TraceExport, TraceExportParams, TraceFormat};

#[derive(Args)]
pub(crate) struct TraceExportArguments {
    /// The run, and all below it; the beginning of its id is enough
    #[arg(value_name = "RUN", required_unless_present = "session", conflicts_with = "session")]
    run: Option<String>,
    /// All runs of this session instead; the beginning of its id is enough
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The format of the document
    // Under a name of its own: it does not say that a program reads what the command says.
    #[arg(id = "document", long = "format", value_name = "FORMAT", value_enum, default_value_t = TraceFormatWord::Json)]
    format: TraceFormatWord,
    /// Write it into this new file, which only you can read [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long, requires = "output")]
    force: bool,
}

/// The format of an exported trace.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TraceFormatWord {
    /// One object with all spans
    Json,
    /// One span a line
    Jsonl,
    /// JSON of the OpenTelemetry protocol, with its names for generative AI
    Otlp,
    /// Trace events of Chrome; https://ui.perfetto.dev opens them
    Chrome,
    /// A story to read
    Markdown,
}

impl From<TraceFormatWord> for TraceFormat {
    fn from(word: TraceFormatWord) -> TraceFormat {
        match word {
            TraceFormatWord::Json => TraceFormat::Json,
            TraceFormatWord::Jsonl => TraceFormat::Jsonl,
            TraceFormatWord::Otlp => TraceFormat::Otlp,
            TraceFormatWord::Chrome => TraceFormat::Chrome,
            TraceFormatWord::Markdown => TraceFormat::Markdown,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ExportPage {
    text: String,
    next_cursor: Option<String>,
}

pub(super) fn export(
    arguments: &TraceExportArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    let run_id = arguments.run.as_deref().map(|text| ids::find_run(text, link)).transpose()?;
    let session_id = arguments.session.as_deref().map(|text| ids::find_session(text, link)).transpose()?;
    let mut params = TraceExportParams { run_id, session_id, format: arguments.format.into(), cursor: None };
    // Before a file is made: the daemon may know no such run.
    let mut page: ExportPage = paging::view(&link.ask_value::<TraceExport>(&params)?)?;
    let path = arguments.output.as_ref().map(|path| surroundings.working_folder.join(path));
    let mut file = path.map(|path| NewDocument::create(path, arguments.force)).transpose()?;
    loop {
        match &mut file {
            Some(file) => file.write(&page.text)?,
            None => put(&page.text, arguments.format, surroundings)?,
        }
        let Some(cursor) = page.next_cursor else { break };
        params.cursor = Some(cursor);
        page = paging::view(&link.ask_value::<TraceExport>(&params)?)?;
    }
    file.map_or(Ok(()), NewDocument::finish)?;
    Ok(0)
}

/// A terminal gets no control characters of others.
fn put(text: &str, format: TraceFormatWord, surroundings: &mut ProcessIo) -> Result<(), CommandFailure> {
    let text = match (surroundings.stdout.is_terminal, format) {
        (false, _) => text.to_owned(),
        (true, TraceFormatWord::Markdown) => safe_text::lines(text),
        (true, _) => safe_text::json(text),
    };
    surroundings.stdout.write(&text)
}

/// A file that is there as a whole or not at all: it is written beside its place. Only its owner reads it, since a trace has
/// what agents read and wrote.
struct NewDocument {
    file: File,
    path: PathBuf,
    /// Where it is written until it is whole; `None` = straight into what is no file, a pipe say.
    beside: Option<PathBuf>,
    may_replace: bool,
}

impl NewDocument {
    fn create(path: PathBuf, may_replace: bool) -> Result<NewDocument, CommandFailure> {
        if !may_replace && fs::symlink_metadata(&path).is_ok() {
            return Err(is_there(&path));
        }
        // Of a link the file that it names.
        let path = fs::canonicalize(&path).unwrap_or(path);
        if fs::metadata(&path).is_ok_and(|there| !there.is_file()) {
            let file = OpenOptions::new().write(true).open(&path).map_err(|error| cannot(&path, &error))?;
            return Ok(NewDocument { file, path, beside: None, may_replace });
        }
        let mut name = OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!(".{}.part", std::process::id()));
        let beside = path.with_file_name(name);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside);
        let file = file.map_err(|error| cannot(&path, &error))?;
        Ok(NewDocument { file, path, beside: Some(beside), may_replace })
    }

    fn write(&mut self, text: &str) -> Result<(), CommandFailure> {
        self.file.write_all(text.as_bytes()).map_err(|error| cannot(&self.path, &error))
    }

    /// Puts it where it belongs.
    fn finish(mut self) -> Result<(), CommandFailure> {
        let Some(beside) = &self.beside else { return Ok(()) };
        let put = || {
            self.file.sync_all()?;
            if self.may_replace {
                return fs::rename(beside, &self.path);
            }
            // A second name is refused where somebody else has made a file meanwhile. Some file systems have none.
            match fs::hard_link(beside, &self.path) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists && !self.path.exists() => {
                    fs::rename(beside, &self.path)
                }
                other => other.and_then(|()| fs::remove_file(beside)),
            }
        };
        put().map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => is_there(&self.path),
            _ => cannot(&self.path, &error),
        })?;
        self.beside = None;
        Ok(())
    }
}

impl Drop for NewDocument {
    fn drop(&mut self) {
        if let Some(beside) = &self.beside {
            // What failed before is told.
            let _ = fs::remove_file(beside);
        }
    }
}

fn is_there(path: &Path) -> CommandFailure {
    CommandFailure::new(format!("{} is there already", path.display()))
        .or_hint("choose another file, or give --force to replace it")
}

fn cannot(path: &Path, error: &std::io::Error) -> CommandFailure {
    CommandFailure::new(format!("cannot write {}: {error}", path.display()))
        .or_hint("choose a place that you may write to, with room for it")
}
