//! Which events of the log are hooks told of afterwards, and as what?

use std::path::Path;

use hooks::HookFacts;

use super::{super::machine::EventDraft, watchers::WatchedFact};
use protocol::{
    CompressionStatus, Confirmation, ConfirmationId, ContextCompressed, EventBody, HookEventName,
    PrivateEventFields, RunCompleted, RunEndReason, RunStarted, RunTask,
};

/// The events of which hooks are told afterwards. That a session was closed is told by whoever closes it.
pub const TOLD_EVENTS: &[HookEventName] = &[
    HookEventName::Notification,
    HookEventName::StopFailure,
    HookEventName::PostCompact,
    HookEventName::InstructionsLoaded,
];

/// The folder of the administrator's memory files.
const SYSTEM_MEMORY: &str = "/etc/subagentd";

/// The kind of a question about a call, of one that an MCP server asks, and of a run's end: Claude Code's words.
const QUESTION: &str = "permission_prompt";
const SERVER_QUESTION: &str = "elicitation_dialog";
const RUN_END: &str = "idle_prompt";

/// The rule of what an MCP server asks while it is at a call.
const ELICITATION: &str = "builtin:elicitation";

/// Everything that hooks are told of what was committed in one step.
pub(crate) fn happened(
    drafts: &[EventDraft],
    (start, is_child): (&RunStarted, bool),
    roots: &[impl AsRef<Path>],
) -> Vec<WatchedFact> {
    let mut told = Vec::new();
    for draft in drafts {
        match &draft.body {
            EventBody::ConfirmationRequested(data)
                if !is_over(drafts, &data.confirmation.confirmation_id) =>
            {
                let question = &*data.confirmation;
                told.push(WatchedFact::new(asked(question), &question.confirmation_id));
            }
            EventBody::ContextCompressed(data) if data.status == CompressionStatus::Compressed => {
                told.push(compressed(data, &draft.private, start.task));
            }
            EventBody::ToolState(data) if data.to.is_end() => {
                let files = draft.private.memory.iter().flat_map(|memory| &memory.files);
                told.extend(files.map(|file| loaded(Path::new(file), "nested_traversal", roots)));
            }
            EventBody::RunCompleted(data) if !is_child && start.task == RunTask::Work => {
                told.extend(ended(data, start));
            }
            _ => (),
        }
    }
    told
}

/// A memory file was given to a run, for this reason.
pub(crate) fn loaded(file: &Path, reason: &str, roots: &[impl AsRef<Path>]) -> WatchedFact {
    let is_local = file.file_name().is_some_and(|name| name.to_string_lossy().ends_with(".local.md"));
    let kind = match () {
        () if file.starts_with(SYSTEM_MEMORY) => "Managed",
        () if is_local => "Local",
        () if is_of_project(file, roots) => "Project",
        () => "User",
    };
    let facts = HookFacts::InstructionsLoaded {
        file: file.to_owned(),
        memory_type: kind.to_owned(),
        reason: reason.to_owned(),
    };
    WatchedFact::new(facts, file.display())
}

/// True of a file below a root, and of a repository's folders above it.
fn is_of_project(file: &Path, roots: &[impl AsRef<Path>]) -> bool {
    let folder = file.parent();
    roots
        .iter()
        .map(AsRef::as_ref)
        .any(|root| file.starts_with(root) || folder.is_some_and(|folder| root.starts_with(folder)))
}

fn is_over(drafts: &[EventDraft], question: &ConfirmationId) -> bool {
    let ends = |draft: &EventDraft| match &draft.body {
        EventBody::ConfirmationResolved(data) => data.confirmation_id == *question,
        _ => false,
    };
    drafts.iter().any(ends)
}

fn asked(question: &Confirmation) -> HookFacts {
    let message = match question.reason.is_empty() {
        true => question.title.clone(),
        false => format!("{} ({})", question.title, question.reason),
    };
    let kind = if question.rule == ELICITATION { SERVER_QUESTION } else { QUESTION };
    HookFacts::Notification { kind: kind.to_owned(), message, title: Some("A question".to_owned()) }
}

fn compressed(data: &ContextCompressed, private: &PrivateEventFields, task: RunTask) -> WatchedFact {
    let opening = private.compaction.iter().flat_map(|compaction| &compaction.opening);
    let summary = opening.map(|message| message.text()).collect::<Vec<_>>().join("\n\n");
    let trigger = trigger(task);
    WatchedFact::new(HookFacts::PostCompact { trigger, summary }, data.epoch)
}

/// The trigger of a compression: a person, or the window.
pub(super) fn trigger(task: RunTask) -> &'static str {
    if task == RunTask::Compact { "manual" } else { "auto" }
}

fn ended(data: &RunCompleted, start: &RunStarted) -> Vec<WatchedFact> {
    let code = data.error.as_ref().and_then(|error| serde_json::to_value(error.code).ok());
    let code = code.as_ref().and_then(serde_json::Value::as_str).map(str::to_owned);
    let mut told = Vec::new();
    if !matches!(data.reason, RunEndReason::Goal | RunEndReason::Aborted) {
        let facts = HookFacts::StopFailure {
            error: code.unwrap_or_else(|| data.reason.as_str().to_owned()),
            details: data.message.clone(),
            last_message: data.partial_result.clone(),
        };
        told.push(WatchedFact::new(facts, "end"));
    }
    let message = match (&data.reason, &data.message) {
        (RunEndReason::Goal, _) => format!("{} has finished", start.agent),
        (reason, Some(message)) => format!("{} ended {}: {message}", start.agent, reason.as_str()),
        (reason, None) => format!("{} ended {}", start.agent, reason.as_str()),
    };
    let title = Some("A run has ended".to_owned());
    let facts = HookFacts::Notification { kind: RUN_END.to_owned(), message, title };
    told.push(WatchedFact::new(facts, "end"));
    told
}
