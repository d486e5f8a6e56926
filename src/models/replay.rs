//! What would the model have said? A recording answers in its place: line for line, so that tests, demos and bug
//! reports run without a key (spec 04, "`replay` and recording").
//!
//! Which line answers follows from the request's ordinal and the file alone, so a run that is taken up after a
//! crash gets the replies it would have got without it. Lines that say which run of a tree they belong to answer that
//! run alone, so it does not matter in which order runs beside each other ask.

use std::{collections::HashMap, path::Path, sync::Arc};

use futures_util::{
    FutureExt as _, StreamExt,
    future::{self, BoxFuture},
    stream::{self, BoxStream},
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    LanguageModel, MediaSupport, ModelError, ModelEvent, ModelReply, ModelRequest, ProviderTool,
    RequestPurpose, exchange::ReplyAssembler as _, gemini, gemini::GeminiReply,
};
use config::read_bounded;
use protocol::RunErrorCode;

/// A recording is held in memory; the longest ones we know have a few MiB.
pub(super) const MAX_RECORDING_BYTES: u64 = 64 * 1024 * 1024;

/// A recorded model: `replay:FILE` or `replay+strict:FILE`.
pub(super) struct ReplayModel {
    lines: Arc<[ReplayLine]>,
    order: ReplayOrder,
}

/// How the lines of a recording are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplayOrder {
    /// The next line of the method asked for; the others are passed over.
    ByMethod,
    /// The very next line must have the method asked for; counts that nobody asks for are passed over.
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

struct ReplayLine {
    /// From 1, blank lines included.
    number: usize,
    method: RecordedMethod,
    /// The run that it answers, as `run.started` names it; `None` = whoever comes.
    path: Option<Box<str>>,
    /// Which reply of its run it is, from 0, where the recording says so.
    ordinal: Option<u32>,
    /// Tokens that fit the model that gave it, where the recording says so.
    window: Option<u64>,
    /// What a client would have seen, and then the whole reply or why there is none.
    deltas: Vec<ModelEvent>,
    end: Result<ModelReply, ModelError>,
    /// What was counted; `None` = it is no count.
    tokens: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
enum RecordedMethod {
    GenerateContent,
    GenerateContentStream,
    CountTokens,
    EmbedContent,
}

impl RecordedMethod {
    fn as_str(self) -> &'static str {
        match self {
            RecordedMethod::GenerateContent => "generateContent",
            RecordedMethod::GenerateContentStream => "generateContentStream",
            RecordedMethod::CountTokens => "countTokens",
            RecordedMethod::EmbedContent => "embedContent",
        }
    }
}

impl From<RequestPurpose> for RecordedMethod {
    fn from(purpose: RequestPurpose) -> RecordedMethod {
        match purpose {
            RequestPurpose::Turn => RecordedMethod::GenerateContentStream,
            RequestPurpose::Utility => RecordedMethod::GenerateContent,
        }
    }
}

impl ReplayModel {
    /// Reads and checks the whole recording, so that a bad line shows before the run starts, not in its middle.
    pub(super) fn open(path: &Path, order: ReplayOrder) -> Result<ReplayModel, BadRecording> {
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
            .collect::<Result<Vec<ReplayLine>, BadRecording>>()?;
        Ok(ReplayModel { lines: without_outdated(lines).into(), order })
    }

    /// Tokens that fit the model that was recorded first: runs compress themselves by it.
    pub(super) fn window(&self) -> Option<u64> {
        let mut turns = self.lines.iter().filter(|line| line.method == RecordedMethod::GenerateContentStream);
        turns.find_map(|line| line.window).filter(|tokens| *tokens != 0)
    }

    fn line_for(&self, method: RecordedMethod, request: &ModelRequest) -> Result<&ReplayLine, ModelError> {
        let mut lines = numbered(self.lines_of(request));
        // Whoever recorded them may have counted when this run does not.
        lines.retain(|it| it.line.method != RecordedMethod::CountTokens);
        let asked = ReplayRequest { method, ordinal: self.ordinal(request), others: request.others };
        match self.order {
            ReplayOrder::ByMethod => asked.among(&lines),
            ReplayOrder::Strict => asked.next_of(&lines),
        }
    }

    /// What was counted of the next turn of a run; `None` = nothing was, which also whoever recorded a run without counting
    /// leaves behind.
    fn tokens(&self, request: &ModelRequest, ordinal: u32) -> Option<u64> {
        let lines = numbered(self.lines_of(request));
        let turn = ReplayRequest {
            method: RecordedMethod::GenerateContentStream,
            ordinal: self.ordinal(request),
            others: request.others,
        };
        let is_count = |it: &&NumberedReplayLine<'_>| it.line.method == RecordedMethod::CountTokens;
        let line = match self.order {
            ReplayOrder::ByMethod => lines.iter().filter(is_count).find(|it| it.number == Some(ordinal)),
            ReplayOrder::Strict => {
                let is_behind = |it: &NumberedReplayLine<'_>| match is_count(&it) {
                    true => it.number.is_some_and(|number| number < ordinal),
                    false => turn.is_behind(it),
                };
                let next = lines.iter().find(|it| !is_behind(it));
                next.filter(|it| is_count(it) && it.number == Some(ordinal))
            }
        };
        line.and_then(|it| it.line.tokens)
    }

    /// The lines that answer the request's run.
    fn lines_of<'a>(&'a self, request: &ModelRequest) -> impl Iterator<Item = &'a ReplayLine> + use<'a> {
        let asked = Arc::clone(&request.path);
        let is_of_run = move |line: &&ReplayLine| line.path.as_deref().is_none_or(|path| *path == *asked);
        self.lines.iter().filter(is_of_run)
    }

    /// Which reply to its purpose the request asks for. A file without paths is one path: that of the whole tree.
    fn ordinal(&self, request: &ModelRequest) -> u32 {
        let has_paths = self.lines.iter().any(|line| line.path.is_some());
        if has_paths { request.ordinal } else { request.tree_ordinal }
    }
}

/// A run that was taken up after a crash asks once more for replies that were recorded and not committed: a line that says
/// which reply of its run it is tells that those before it which say the same, or a later one, were lost.
fn without_outdated(lines: Vec<ReplayLine>) -> Vec<ReplayLine> {
    let mut seen: HashMap<(Option<Box<str>>, RecordedMethod), u32> = HashMap::new();
    let mut kept: Vec<ReplayLine> = lines
        .into_iter()
        .rev()
        .filter(|line| {
            let Some(ordinal) = line.ordinal else { return true };
            let earliest = seen.entry((line.path.clone(), line.method)).or_insert(u32::MAX);
            let counts = ordinal < *earliest;
            *earliest = ordinal.min(*earliest);
            counts
        })
        .collect();
    kept.reverse();
    kept
}

/// A line of a run's.
struct NumberedReplayLine<'a> {
    line: &'a ReplayLine,
    /// Which answer to its method it is, from 0; `None` = nobody asks for it.
    number: Option<u32>,
}

/// The lines of one run, numbered as the run counts what it asks for.
///
/// A turn's reply that cannot be used is asked for again, so what follows it has its number; and babble that the recorded
/// run cut off it counted, although there is no line of it. A question counts whatever comes of it, and may have left no
/// line, either: the number is the one that its line says. So is that of a count.
fn numbered<'a>(lines: impl Iterator<Item = &'a ReplayLine>) -> Vec<NumberedReplayLine<'a>> {
    let (mut turns, mut questions, mut counts) = (0, 0, 0);
    let number = |line: &'a ReplayLine| {
        let (next, said) = match line.method {
            RecordedMethod::GenerateContentStream => (&mut turns, None),
            RecordedMethod::GenerateContent => (&mut questions, line.ordinal),
            RecordedMethod::CountTokens => (&mut counts, line.ordinal),
            RecordedMethod::EmbedContent => return NumberedReplayLine { line, number: None },
        };
        let number = said.unwrap_or(*next);
        let is_whole = line.end.is_ok() || line.method == RecordedMethod::CountTokens;
        *next = number.saturating_add(u32::from(is_whole));
        NumberedReplayLine { line, number: Some(number) }
    };
    lines.map(number).collect()
}

/// What is asked for.
struct ReplayRequest {
    method: RecordedMethod,
    /// Which reply of the method.
    ordinal: u32,
    /// How many of the other one there were.
    others: u32,
}

impl ReplayRequest {
    /// Lines without a whole reply are passed over, as the recorded program went past them by asking again.
    fn among<'a>(&self, lines: &[NumberedReplayLine<'a>]) -> Result<&'a ReplayLine, ModelError> {
        let of_method = || lines.iter().filter(|it| it.line.method == self.method);
        let fitting = || of_method().filter(|it| it.number == Some(self.ordinal)).map(|it| it.line);
        let whole = || of_method().filter(|it| it.line.end.is_ok());
        let line = fitting().find(|line| line.end.is_ok()).or_else(|| fitting().next_back());
        line.ok_or_else(|| exhausted(self.method, self.ordinal, whole().count()))
    }

    /// The first line that was not played yet must be it. One that was asked for again is passed over here, too, as long as
    /// another one follows.
    fn next_of<'a>(&self, lines: &[NumberedReplayLine<'a>]) -> Result<&'a ReplayLine, ModelError> {
        let mut open = lines.iter().filter(|it| !self.is_behind(it));
        let Some(first) = open.next() else {
            return Err(exhausted(self.method, self.ordinal.saturating_add(self.others), lines.len()));
        };
        let is_whole = |it: &NumberedReplayLine<'_>| it.line.end.is_ok();
        let next = match is_whole(first) {
            true => first,
            false => open.find(|it| is_whole(it) && it.is_same_reply(first)).unwrap_or(first),
        };
        let NumberedReplayLine { line, number } = *next;
        if line.method == self.method && number == Some(self.ordinal) {
            return Ok(line);
        }
        let (is, asked) = match number.filter(|_| line.method == self.method) {
            Some(number) => (
                format!("reply {} of {}", u64::from(number) + 1, line.method.as_str()),
                format!("reply {}", u64::from(self.ordinal) + 1),
            ),
            None => (line.method.as_str().to_owned(), self.method.as_str().to_owned()),
        };
        let message = format!("line {} of the recording is {is}, but {asked} was asked for", line.number);
        Err(ModelError::Final { code: RunErrorCode::ReplayMismatch, message })
    }

    /// It was played already.
    fn is_behind(&self, it: &NumberedReplayLine<'_>) -> bool {
        let next = if it.line.method == self.method { self.ordinal } else { self.others };
        it.number.is_some_and(|number| number < next)
    }
}

impl NumberedReplayLine<'_> {
    fn is_same_reply(&self, other: &NumberedReplayLine<'_>) -> bool {
        self.line.method == other.line.method && self.number == other.number
    }
}

impl LanguageModel for ReplayModel {
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

    fn count(
        &self,
        request: ModelRequest,
        ordinal: u32,
    ) -> Option<BoxFuture<'static, Result<u64, ModelError>>> {
        let tokens = self.tokens(&request, ordinal)?;
        Some(future::ready(Ok(tokens)).boxed())
    }

    /// As the models do whose replies have this form.
    fn media(&self) -> MediaSupport {
        MediaSupport { audio: true, pdf: true }
    }

    /// Where the model that was recorded did it.
    fn has(&self, tool: ProviderTool) -> bool {
        let did = |event: &ModelEvent| match (event, tool) {
            (ModelEvent::Grounded(grounding), ProviderTool::UrlContext) => !grounding.visits.is_empty(),
            (ModelEvent::Grounded(grounding), ProviderTool::Search) => !grounding.sources.is_empty(),
            _ => false,
        };
        self.lines.iter().flat_map(|line| &line.deltas).any(did)
    }
}

fn exhausted(method: RecordedMethod, ordinal: u32, lines: usize) -> ModelError {
    let message = format!(
        "the recording has run out: reply {} of {} was asked for, and it has {lines}",
        u64::from(ordinal) + 1,
        method.as_str()
    );
    ModelError::Final { code: RunErrorCode::ReplayExhausted, message }
}

#[derive(Deserialize)]
struct RecordedLine<'a> {
    method: RecordedMethod,
    path: Option<Box<str>>,
    ordinal: Option<u32>,
    window: Option<u64>,
    #[serde(borrow)]
    response: &'a RawValue,
}

fn read_line(number: usize, line: &[u8]) -> Result<ReplayLine, String> {
    let text = std::str::from_utf8(line).map_err(|error| format!("is not UTF-8: {error}"))?;
    let recorded: RecordedLine = serde_json::from_str(text)
        .map_err(|error| format!(r#"is not {{"method": …, "response": …}}: {}"#, without_place(&error)))?;
    let chunks: Vec<&RawValue> = match recorded.method {
        RecordedMethod::GenerateContentStream => serde_json::from_str(recorded.response.get())
            .map_err(|error| format!("`response` is not an array of chunks: {}", without_place(&error)))?,
        RecordedMethod::GenerateContent => vec![recorded.response],
        // No replies; of the latter nothing asks for them here.
        RecordedMethod::CountTokens | RecordedMethod::EmbedContent => Vec::new(),
    };
    let mut reply = GeminiReply::default();
    let mut deltas = Vec::new();
    for (index, chunk) in chunks.iter().enumerate() {
        let chunk_deltas = reply
            .push(chunk.get())
            .map_err(|error| format!("chunk {} is not a response: {}", index + 1, without_place(&error)))?;
        deltas.extend(chunk_deltas);
    }
    let RecordedLine { method, path, ordinal, window, response } = recorded;
    let tokens =
        (method == RecordedMethod::CountTokens).then(|| gemini::count::read(response.get().as_bytes()));
    let tokens = tokens.flatten();
    Ok(ReplayLine { number, method, path, ordinal, window, deltas, end: reply.finish(), tokens })
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
