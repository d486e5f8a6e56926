//! How does a session that is under way read, before anything more happens in it?

use serde::Deserialize;
use serde_json::Value;

use super::{
    INDENT, LINE_CHARACTERS, OpenCall, ProgressState, show_run,
    standing::mode_of,
    views::{CallDetailsView, OpenTextView},
};
use crate::{
    ending::RunOutcome, question::ConfirmationView, safe_text, screen::ProgressScreen, text_color::TextColor,
};
use protocol::{ApprovalMode, CallId, Envelope, OpenEnum, RunId, ToolName};

impl ProgressState {
    pub(super) fn show_snapshot(&mut self, envelope: &Envelope, screen: &mut ProgressScreen<'_>) {
        let Ok(snapshot) = SnapshotView::deserialize(&envelope.data) else { return };
        let dim = |screen: &mut ProgressScreen<'_>, text: &str| {
            screen.line(&screen.paint(TextColor::Dim, &safe_text::line(text, LINE_CHARACTERS)));
        };
        if let Some(root) = snapshot.session.roots.first() {
            dim(screen, &format!("session {} in {root}", snapshot.session.session_id));
        }
        self.roots = snapshot.session.roots;
        self.mode = mode_of(snapshot.session.mode.as_ref());
        for run in &snapshot.runs {
            show_run(run, &run.agent, if run.is_child() { INDENT } else { "" }, screen);
            if run.is_child() && !run.has_ended() {
                self.children.insert(run.run_id.as_str().into());
            }
        }
        for call in snapshot.open_calls {
            let agent = snapshot.runs.iter().find(|run| run.run_id == call.run_id.as_str());
            let agent = agent.map_or("", |run| run.agent.as_str());
            let open = OpenCall::described(&call.name, &call.details.description);
            // On a terminal the spinner says it.
            if !screen.is_live() {
                dim(screen, format!("● {agent} · {}", open.label).as_str());
            }
            self.calls.insert(call.call_id, open);
        }
        for open in &snapshot.open_confirmations {
            // One that cannot be read is not asked here either.
            if let Ok(question) = SnapshotConfirmationView::deserialize(open) {
                self.asked(envelope, &question.asked, question.offered, screen);
            }
        }
        for waiting in &snapshot.queue {
            let SnapshotWaitingView { agent, prompt, query } = waiting;
            let wanted = prompt.as_ref().unwrap_or(query);
            dim(screen, &format!("… {agent} waits for its turn: {wanted}"));
        }
        // What calls put out is said by the runs that answer them.
        for item in snapshot.open_items.into_iter().filter(|item| item.call_id.is_none()) {
            self.is_asking_model = true;
            if self.children.contains(&item.run_id) {
                continue;
            }
            if !item.text.is_empty() && screen.is_live() {
                screen.text(&safe_text::lines(&item.text));
                self.writing = Some(item.stream.clone());
            }
            self.streams.insert(item.stream, item.text.len());
        }
    }
}

/// What is shown of `signal.snapshot`, with open states and reasons.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SnapshotView {
    session: SnapshotSessionView,
    runs: Vec<RunOutcome>,
    open_items: Vec<OpenTextView>,
    open_calls: Vec<SnapshotCallView>,
    open_confirmations: Vec<Value>,
    queue: Vec<SnapshotWaitingView>,
}

#[derive(Deserialize)]
struct SnapshotConfirmationView {
    #[serde(flatten)]
    asked: ConfirmationView,
    #[serde(default)]
    offered: bool,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SnapshotSessionView {
    session_id: String,
    roots: Vec<String>,
    mode: Option<OpenEnum<ApprovalMode>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SnapshotCallView {
    run_id: RunId,
    call_id: CallId,
    name: ToolName,
    #[serde(default)]
    details: CallDetailsView,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SnapshotWaitingView {
    agent: String,
    prompt: Option<String>,
    query: String,
}
