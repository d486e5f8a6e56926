//! `subagent trace export`: a trace as a document, written as it comes.

use std::{
    fs::{File, OpenOptions},
    io::Write as _,
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
    /// Write it into this new file [default: stdout]
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
    let mut file = path.as_deref().map(|path| create(path, arguments.force)).transpose()?;
    loop {
        match (&mut file, &path) {
            (Some(file), Some(path)) => {
                file.write_all(page.text.as_bytes()).map_err(|error| cannot(path, &error))?
            }
            _ => put(&page.text, arguments.format, surroundings)?,
        }
        let Some(cursor) = page.next_cursor else { return Ok(0) };
        params.cursor = Some(cursor);
        page = paging::view(&link.ask_value::<TraceExport>(&params)?)?;
    }
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

fn create(path: &Path, may_replace: bool) -> Result<File, CommandFailure> {
    let mut options = OpenOptions::new();
    match may_replace {
        true => options.write(true).create(true).truncate(true),
        false => options.write(true).create_new(true),
    };
    options.open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            CommandFailure::new(format!("{} is there already", path.display()))
                .or_hint("choose another file, or give --force to replace it")
        }
        _ => cannot(path, &error),
    })
}

fn cannot(path: &Path, error: &std::io::Error) -> CommandFailure {
    CommandFailure::new(format!("cannot write {}: {error}", path.display()))
        .or_hint("choose a place that you may write to, with room for it")
}
