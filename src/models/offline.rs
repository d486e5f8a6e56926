//! What can a machine without a key do? A rule-based stand-in for a model: it searches for the telling words of a
//! question, reads the best places, and reports them (spec 04, "`offline`").
//!
//! A pure function of the request: it knows the code base by tool results only, and remembers nothing.

use std::{collections::BTreeSet, sync::Arc};

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};

use super::{LanguageModel, ModelError, ModelEvent, ModelReply, ModelRequest, ReplyPart, RequestPurpose};
use protocol::{COMPLETE_TASK, ContextMessage, FinishReason, MessagePart, RunErrorCode, Usage};

mod answer;
mod file_kind;
mod objective;
mod places;
mod plan;
mod ranking;
mod reading;
mod report;
mod source_line;
mod tool_output;
mod transcript;
mod words;

use answer::OfflineAnswerForm;
use objective::SearchObjective;
use plan::{OfflineIntent, OfflineStep};
use report::InvestigationReport;
use transcript::OfflineTranscript;

/// Without these nothing can be looked up.
const NEEDED_TOOLS: [&str; 2] = ["grep", "read_file"];
/// Text is streamed in pieces of about this many bytes, as models do.
const DELTA_BYTES: usize = 24;

const CANNOT_SERVE: &str = "The model `offline` follows rules and can only investigate code: it needs the tools \
     `grep` and `read_file`, and an output that is a text or an investigation report, so it cannot serve this request. \
     Take a model of a provider, with `--model` or the setting `models.default`: `subagent models` lists them, and which key each \
     of them needs.";

/// The name of the model that needs no provider (spec 04, "`offline`").
pub const OFFLINE: &str = "offline";
/// The model `offline`.
pub(super) struct OfflineModel;

impl LanguageModel for OfflineModel {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let reply = async move {
            stream::iter(match reply_to(&request) {
                Ok(turn) => events(turn),
                Err(error) => vec![Err(error)],
            })
        };
        stream::once(reply).flatten().boxed()
    }
}

/// What is said and called in one turn.
struct OfflineTurn {
    thought: Option<String>,
    text: String,
    calls: Vec<ReplyPart>,
}

fn reply_to(request: &ModelRequest) -> Result<OfflineTurn, ModelError> {
    let offered: BTreeSet<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    let is_grace = offered.iter().all(|tool| *tool == COMPLETE_TASK) && has_called_tools(&request.messages);
    let can_look_up = NEEDED_TOOLS.iter().all(|tool| offered.contains(tool));
    let form = OfflineAnswerForm::wanted(&request.tools);
    if request.purpose != RequestPurpose::Turn {
        // Nobody takes that for the result of a run.
        return Ok(OfflineTurn { thought: None, text: CANNOT_SERVE.to_owned(), calls: Vec::new() });
    }
    let (Some(form), true) = (form, is_grace || can_look_up) else {
        return Err(refusal());
    };
    let transcript = OfflineTranscript::new(&request.messages, is_grace);
    // The form looked right and was not: saying the same again would change nothing.
    if transcript.was_result_refused {
        return Err(refusal());
    }
    let objective = SearchObjective::new(&transcript.objective);
    let step = if is_grace { OfflineStep::Report } else { plan::next(&objective, &transcript, &offered) };
    Ok(match step {
        OfflineStep::Calls { intent, calls } => investigate(&objective, intent, &calls),
        OfflineStep::Report => conclude(&objective, &transcript, &form),
    })
}

fn has_called_tools(messages: &[Arc<ContextMessage>]) -> bool {
    messages.iter().flat_map(|message| &message.parts).any(|part| matches!(part, MessagePart::ToolCall(_)))
}

/// A text that says so would pass for the result of a run that did nothing.
fn refusal() -> ModelError {
    ModelError::Final { code: RunErrorCode::ModelFailed, message: CANNOT_SERVE.to_owned() }
}

fn investigate(
    objective: &SearchObjective,
    intent: OfflineIntent,
    wishes: &[reading::PlannedToolCall],
) -> OfflineTurn {
    let files: BTreeSet<&str> = wishes
        .iter()
        .filter_map(|wish| wish.arguments.get("path")?.as_str())
        .filter(|path| *path != ".")
        .collect();
    let files = files.into_iter().collect::<Vec<&str>>().join(", ");
    let words: Vec<&str> = objective.terms.iter().map(|term| term.label.as_str()).collect();
    let words = words.join(", ");
    let (thought, text) = match intent {
        OfflineIntent::Survey => (
            format!("**Surveying the code base**\n\nThe telling words are: {words}. I count where they stand."),
            "Searching the code base for the words of the question.".to_owned(),
        ),
        OfflineIntent::LookInto => (
            format!("**Looking into the likeliest files**\n\nRare words and file names point to: {files}."),
            "Looking into the likeliest files for definitions and for places where these words stand together.".to_owned(),
        ),
        OfflineIntent::Read => (
            format!("**Reading the best places**\n\nRare words stand together in: {files}."),
            "Reading the places where the words stand together.".to_owned(),
        ),
        OfflineIntent::ReadOn => (
            format!("**Following what was read**\n\nStill unread, and likely: {files}."),
            "Reading the places that what was read points to.".to_owned(),
        ),
    };
    let calls = wishes.iter().map(|wish| call(wish.tool, wish.arguments.clone()));
    OfflineTurn { thought: Some(thought), text, calls: calls.collect() }
}

fn conclude(
    objective: &SearchObjective,
    transcript: &OfflineTranscript,
    form: &OfflineAnswerForm,
) -> OfflineTurn {
    let report = InvestigationReport::new(objective, transcript);
    let thought = format!(
        "**Reporting the findings**\n\n{} places are worth naming, after {} tool calls.",
        report.locations.len(),
        transcript.calls
    );
    match form.arguments(&report) {
        Some(arguments) => OfflineTurn {
            thought: Some(thought),
            text: "Reporting what was found.".to_owned(),
            calls: vec![call(COMPLETE_TASK, arguments)],
        },
        None => OfflineTurn { thought: Some(thought), text: report.to_markdown(), calls: Vec::new() },
    }
}

fn call(tool: &str, arguments: serde_json::Value) -> ReplyPart {
    ReplyPart::ToolCall { provider_call_id: None, name: tool.into(), arguments, signature: None }
}

/// The turn as a stream: the thought, the text, and then the whole.
fn events(turn: OfflineTurn) -> Vec<Result<ModelEvent, ModelError>> {
    let mut events = Vec::new();
    let mut parts = Vec::new();
    if let Some(thought) = turn.thought {
        events.extend(pieces(&thought).map(|piece| Ok(ModelEvent::ThoughtDelta(piece.to_owned()))));
        parts.push(ReplyPart::Thought { text: thought, signature: None });
    }
    events.extend(pieces(&turn.text).map(|piece| Ok(ModelEvent::TextDelta(piece.to_owned()))));
    parts.push(ReplyPart::Text(turn.text));
    parts.extend(turn.calls);
    let reply = ModelReply { parts, raw: None, usage: Usage::default(), reason: FinishReason::Stop };
    events.push(Ok(ModelEvent::Finished(reply)));
    events
}

/// Cuts a text into pieces at blanks, so that words stay whole; together they are the text.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let blank = rest.char_indices().find(|(index, character)| *index >= DELTA_BYTES && *character == ' ');
        let (piece, behind) = rest.split_at(blank.map_or(rest.len(), |(index, _)| index));
        rest = behind;
        Some(piece)
    })
}

#[cfg(test)]
mod tests;
