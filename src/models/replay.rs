//! What would the model have said? A recording answers in its place: line for line, so that tests, demos and bug
//! reports run without a key (spec 04, "`replay` and recording").
//!
//! Which line answers follows from the request's ordinal and the file alone, so a run that is taken up after a
//! crash gets the replies it would have got without it. Lines that say which run of a tree they belong to answer that
//! run alone, so it does not matter in which order runs beside each other ask.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    Media, Model, ModelError, ModelEvent, ModelReply, ModelRequest, Purpose, exchange::Gathering as _,
    gemini_reply::GeminiReply,
};
use crate::{config::read_bounded, protocol::RunErrorCode};

/// A recording is held in memory; the longest ones we know have a few MiB.
pub(super) const MAX_RECORDING_BYTES: u64 = 64 * 1024 * 1024;

/// A recorded model: `replay:FILE` or `replay+strict:FILE`.
pub(super) struct Replay {
    lines: Arc<[Line]>,
    order: Order,
}

/// How the lines of a recording are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The next line of the method asked for; the others are passed over.
    ByMethod,
    /// The very next line must have the method asked for.
    Strict,
}

/// What is wrong with a recording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadRecording {
    #[error("cannot be read: {0}")]
    Unreadable(String),
    #[error("is not an absolute path; the daemon does not know your working directory")]
    Relative,
    /// Invariant: `line` counts from 1, blank lines included, as editors show it.
    #[error("line {line}: {problem}")]
    BadLine { line: usize, problem: String },
}

struct Line {
    /// From 1, blank lines included.
    number: usize,
    method: Method,
    /// The run that it answers, as `run.started` names it; `None` = whoever comes.
    path: Option<Box<str>>,
    /// Which reply of its run it is, from 0, where the recording says so.
    ordinal: Option<u32>,
    /// What a client would have seen, and then the whole reply or why there is none.
    deltas: Vec<ModelEvent>,
    end: Result<ModelReply, ModelError>,
}

impl Line {
    /// Other methods are never asked for here.
    fn is_reply(&self) -> bool {
        matches!(self.method, Method::GenerateContent | Method::GenerateContentStream)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Method {
    GenerateContent,
    GenerateContentStream,
    CountTokens,
    EmbedContent,
}

impl Method {
    fn as_str(self) -> &'static str {
        match self {
            Method::GenerateContent => "generateContent",
            Method::GenerateContentStream => "generateContentStream",
            Method::CountTokens => "countTokens",
            Method::EmbedContent => "embedContent",
        }
    }
}

impl From<Purpose> for Method {
    fn from(purpose: Purpose) -> Method {
        match purpose {
            Purpose::Turn => Method::GenerateContentStream,
            Purpose::Utility => Method::GenerateContent,
        }
    }
}

impl Replay {
    /// Reads and checks the whole recording, so that a bad line shows before the run starts, not in its middle.
    pub(super) fn open(path: &Path, order: Order) -> Result<Replay, BadRecording> {
        if !path.is_absolute() {
            return Err(BadRecording::Relative);
        }
        // Regular files only, opened without waiting: a pipe would hold a thread for ever.
        let bytes = read_bounded(path, MAX_RECORDING_BYTES)
            .map_err(|problem| BadRecording::Unreadable(problem.message))?
            .ok_or_else(|| BadRecording::Unreadable("there is no such file".to_owned()))?;
        let lines = bytes
            .split(|byte| *byte == b'\n')
            .enumerate()
            .filter(|(_, line)| !line.trim_ascii().is_empty())
            .map(|(index, line)| {
                let number = index + 1;
                read_line(number, line).map_err(|problem| BadRecording::BadLine { line: number, problem })
            })
            .collect::<Result<Vec<Line>, BadRecording>>()?;
        Ok(Replay { lines: without_outdated(lines).into(), order })
    }

    fn line_for(&self, method: Method, request: &ModelRequest) -> Result<&Line, ModelError> {
        let has_paths = self.lines.iter().any(|line| line.path.is_some());
        // A file without paths is one path: that of the whole tree.
        let ordinal = if has_paths { request.ordinal } else { request.tree_ordinal } as usize;
        let line = ordinal + request.others as usize;
        let is_of_run = |line: &&Line| line.path.as_deref().is_none_or(|path| *path == *request.path);
        let mut lines = self.lines.iter().filter(is_of_run);
        match self.order {
            Order::ByMethod => line_by_method(lines, method, ordinal),
            Order::Strict => {
                let n_lines = lines.clone().count();
                let line = next_line(&mut lines, line).ok_or_else(|| exhausted(method, line, n_lines))?;
                line_strictly(line, method)
            }
        }
    }
}

/// A run that was taken up after a crash asked once more for the reply that was recorded and not committed: of two turns
/// that say they are the same reply of the same run, the later one counts.
fn without_outdated(lines: Vec<Line>) -> Vec<Line> {
    let mut seen = BTreeSet::new();
    let mut kept: Vec<Line> = lines
        .into_iter()
        .rev()
        .filter(|line| match (line.method, line.ordinal, &line.end) {
            (Method::GenerateContentStream, Some(ordinal), Ok(_)) => {
                seen.insert((line.path.clone(), ordinal))
            }
            _ => true,
        })
        .collect();
    kept.reverse();
    kept
}

/// The ordinal counts committed replies, and an empty or malformed one is never committed but asked for again:
/// so lines without a whole reply are passed over, as the recorded program went past them by asking again.
fn line_by_method<'a>(
    lines: impl Iterator<Item = &'a Line>,
    method: Method,
    ordinal: usize,
) -> Result<&'a Line, ModelError> {
    let mut whole = 0;
    let mut failed_last = None;
    for line in lines.filter(|line| line.method == method) {
        match &line.end {
            Ok(_) if whole == ordinal => return Ok(line),
            Ok(_) => {
                whole += 1;
                failed_last = None;
            }
            Err(_) => failed_last = Some(line),
        }
    }
    match failed_last {
        Some(line) if whole == ordinal => Ok(line),
        _ => Err(exhausted(method, ordinal, whole)),
    }
}

/// The line of an ordinal. Those that were asked for again are passed over here, too, as long as another one follows.
fn next_line<'a>(lines: impl Iterator<Item = &'a Line>, ordinal: usize) -> Option<&'a Line> {
    let mut counted = 0;
    let mut failed_last = None;
    for line in lines {
        let was_asked_again = line.is_reply() && line.end.is_err();
        match (counted == ordinal, was_asked_again) {
            (true, true) => failed_last = Some(line),
            (true, false) => return Some(line),
            (false, true) => {}
            (false, false) => counted += 1,
        }
    }
    failed_last
}

fn line_strictly(line: &Line, method: Method) -> Result<&Line, ModelError> {
    if line.method == method {
        return Ok(line);
    }
    let message = format!(
        "line {} of the recording is {}, but {} was asked for",
        line.number,
        line.method.as_str(),
        method.as_str()
    );
    Err(ModelError::Final { code: RunErrorCode::ReplayMismatch, message })
}

impl Model for Replay {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let events = match self.line_for(request.purpose.into(), &request) {
            Ok(line) => {
                let end = line.end.clone().map(ModelEvent::Finished);
                line.deltas.iter().cloned().map(Ok).chain([end]).collect()
            }
            Err(error) => vec![Err(error)],
        };
        stream::iter(events).boxed()
    }

    /// As the models do whose replies have this form.
    fn media(&self) -> Media {
        Media { audio: true, pdf: true }
    }
}

fn exhausted(method: Method, ordinal: usize, lines: usize) -> ModelError {
    let message = format!(
        "the recording has run out: reply {} of {} was asked for, and it has {lines}",
        ordinal + 1,
        method.as_str()
    );
    ModelError::Final { code: RunErrorCode::ReplayExhausted, message }
}

#[derive(Deserialize)]
struct RecordedLine<'a> {
    method: Method,
    path: Option<Box<str>>,
    ordinal: Option<u32>,
    #[serde(borrow)]
    response: &'a RawValue,
}

fn read_line(number: usize, line: &[u8]) -> Result<Line, String> {
    let text = std::str::from_utf8(line).map_err(|error| format!("is not UTF-8: {error}"))?;
    let recorded: RecordedLine = serde_json::from_str(text)
        .map_err(|error| format!(r#"is not {{"method": …, "response": …}}: {}"#, without_place(&error)))?;
    let chunks: Vec<&RawValue> = match recorded.method {
        Method::GenerateContentStream => serde_json::from_str(recorded.response.get())
            .map_err(|error| format!("`response` is not an array of chunks: {}", without_place(&error)))?,
        Method::GenerateContent => vec![recorded.response],
        // Kept for the count of lines; nothing asks for them here.
        Method::CountTokens | Method::EmbedContent => Vec::new(),
    };
    let mut reply = GeminiReply::default();
    let mut deltas = Vec::new();
    for (index, chunk) in chunks.iter().enumerate() {
        let chunk_deltas = reply
            .push(chunk.get())
            .map_err(|error| format!("chunk {} is not a response: {}", index + 1, without_place(&error)))?;
        deltas.extend(chunk_deltas);
    }
    let RecordedLine { method, path, ordinal, .. } = recorded;
    Ok(Line { number, method, path, ordinal, deltas, end: reply.finish() })
}

/// serde_json counts lines inside the piece it was given, which would contradict the line we name.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(place) => text[..place].to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests;
