//! How is a run told to a client? As text for its model and structured for programs, in the same shape whether it has ended or goes on.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value, json};

use protocol::{ConfirmationRecord, RpcError, RunEndReason, RunRecord, RunState, RunWaitResult};

/// What a client was told of a run's result before there was one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromisedResult {
    /// A value of the agent's own schema, or none.
    Typed,
    /// A text, or a value.
    Any,
}

/// A run as it stands: its result if it has one, else how to go on.
pub(super) fn run(stands: &RunWaitResult, promise: PromisedResult) -> CallToolResult {
    let text = match stands.done {
        true => ended(&stands.run),
        false => goes_on(stands),
    };
    let mut result = CallToolResult::structured(structured(&stands.run, &stands.confirmations, promise));
    result.content = vec![ContentBlock::text(text)];
    result.is_error = Some(stands.done && stands.run.reason != Some(RunEndReason::Goal));
    result
}

/// Several runs, the newest first.
pub(super) fn runs(runs: &[RunWaitResult]) -> CallToolResult {
    let told: Vec<Value> =
        runs.iter().map(|it| structured(&it.run, &it.confirmations, PromisedResult::Any)).collect();
    let mut result = CallToolResult::structured(json!({ "runs": told }));
    let text: String = match runs {
        [] => "no runs of this workspace".to_owned(),
        [one] => match one.done {
            true => ended(&one.run),
            false => goes_on(one),
        },
        many => many.iter().map(|it| line(&it.run) + "\n").collect(),
    };
    result.content = vec![ContentBlock::text(text)];
    result
}

/// The reason why a call came to nothing, for a model that may do better.
pub(super) fn refusal(error: &RpcError) -> CallToolResult {
    let mut text = format!("{}: {}", error.data.kind.as_str(), error.message);
    let violations = error.data.details.as_ref().and_then(|details| details["violations"].as_array());
    for violation in violations.into_iter().flatten() {
        let part = |name: &str| violation[name].as_str().unwrap_or_default();
        let told = format!("{}: {}", part("pointer"), part("message"));
        if !text.contains(&told) {
            text.push_str(&format!("\n{told}"));
        }
    }
    if let Some(hint) = &error.data.hint {
        text.push_str(&format!("\n{hint}"));
    }
    mistake(text)
}

/// The same in words of our own.
pub(super) fn mistake(text: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

fn structured(run: &RunRecord, questions: &[ConfirmationRecord], promise: PromisedResult) -> Value {
    let mut told = Map::new();
    let mut tell = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            told.insert(name.to_owned(), value);
        }
    };
    tell("runId", Some(json!(run.run_id)));
    tell("sessionId", Some(json!(run.session_id)));
    tell("agent", Some(json!(run.agent)));
    tell("status", Some(json!(run.state)));
    tell("reason", run.reason.map(|reason| json!(reason)));
    let text = run.result.as_deref().filter(|_| promise == PromisedResult::Any).map(Value::from);
    tell("result", run.output.clone().or(text));
    tell("partialResult", run.partial_result.as_deref().map(Value::from));
    let message = run.message.clone().or_else(|| questions.first().map(waits_for));
    tell("message", message.map(Value::from));
    tell("error", run.error.as_ref().map(|error| json!(error.code)));
    Value::Object(told)
}

fn ended(run: &RunRecord) -> String {
    if run.reason == Some(RunEndReason::Goal) {
        return run.result.clone().unwrap_or_else(|| format!("run {} has ended, without a text", run.run_id));
    }
    let mut text = line(run);
    if let Some(partial) = &run.partial_result {
        text.push_str(&format!("\nWhat there was by then:\n{partial}"));
    }
    text
}

fn goes_on(stands: &RunWaitResult) -> String {
    let RunRecord { run_id, state, .. } = &stands.run;
    let stand = match state {
        RunState::Queued => "waits for its turn",
        RunState::Waiting => "waits for a person",
        RunState::Parked => "is parked",
        RunState::Running | RunState::Ended => "goes on",
    };
    let mut text = format!("The run {run_id} of {} {stand}.", stands.run.agent);
    if let Some(question) = stands.confirmations.first() {
        text.push_str(&format!(" {}.", waits_for(question)));
    }
    text.push_str(&format!(
        " Call run_wait with {{\"runId\": \"{run_id}\"}} to wait for its result, run_status to look at it, run_cancel to end it."
    ));
    text
}

fn waits_for(question: &ConfirmationRecord) -> String {
    let confirmation = &question.confirmation;
    format!(
        "It asks a person: {} (a person answers with `subagent approve {}`, or denies)",
        confirmation.title, confirmation.confirmation_id
    )
}

/// A run in a line.
fn line(run: &RunRecord) -> String {
    let mut text = format!("run {} of {}: {}", run.run_id, run.agent, run.state.as_str());
    if let Some(reason) = run.reason {
        text.push_str(&format!(", {}", reason.as_str()));
    }
    let why = run.error.as_ref().map(|error| error.message.as_str()).or(run.message.as_deref());
    if let Some(why) = why {
        text.push_str(&format!(": {why}"));
    }
    text
}
