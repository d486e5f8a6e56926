//! How does what an agent does read, line by line?

mod call;
pub(super) mod people;
mod safeguards;
mod snapshot;
mod standing;
mod views;

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde_json::Value;

use self::{
    call::{OpenCall, fitting, in_words},
    views::{
        CallChangedView, Created, ModelCompletedView, ModelRetryingView, RunStartedView, RunStoppingView,
        ThoughtView,
    },
};
use super::{
    command_end::CommandEnd,
    ending::RunOutcome,
    failure::{ERROR_CHARACTERS, ERROR_LINE_CHARACTERS},
    human, safe_text,
    screen::ProgressScreen,
    text_color::TextColor,
    width,
};
use protocol::{
    ApprovalMode, COMPLETE_TASK, CallId, CallState, ConfirmationId, Envelope, ProgressSignal, RunEndReason,
    RunId, StopThen, StreamDelta,
};

/// A line about a thought or a message: two lines at most on most terminals.
const LINE_CHARACTERS: usize = 300;

/// What sets a line off from the one it belongs to.
const INDENT: &str = "  ";

/// Columns of a line's sign, with the blank behind it.
const SIGN_COLUMNS: usize = 2;

/// Where a line has less room, nothing is cut or broken: the terminal does that.
const ROOM_LEAST: usize = 20;

/// Levels of runs shown by indentation; deeper ones look alike.
const MAX_INDENT: usize = 8;

/// Names of calls shown in the spinner's line.
const CALLS_NAMED: usize = 3;

/// What must be remembered to show the next event.
#[derive(Default)]
pub(super) struct ProgressState {
    /// Calls that have not ended.
    calls: BTreeMap<CallId, OpenCall>,
    /// Bytes shown of each text being written, by stream. An ended text is taken out.
    streams: BTreeMap<String, usize>,
    /// The stream whose text stands in the cursor's line.
    writing: Option<String>,
    is_asking_model: bool,
    /// The run that the line before was about, and the last root run there was a line about.
    speaker: Option<RunId>,
    root: Option<RunId>,
    /// Runs that agents called and that are not over. Deltas do not say that they are of such a run.
    children: BTreeSet<RunId>,
    /// How those are told apart: `reader#2` is the second call of `reader`.
    names: BTreeMap<RunId, String>,
    /// The session's folders, as far as they were told.
    roots: Vec<String>,
    /// How freely the session's calls run; `None` = a newer daemon's way.
    mode: Option<ApprovalMode>,
    /// Runs that hold still.
    parked: BTreeSet<RunId>,
    /// Titles of the questions that are open.
    questions: BTreeMap<ConfirmationId, String>,
    /// Those among them that the daemon answers by itself.
    unattended: BTreeSet<ConfirmationId>,
    /// The client that can be asked here; `None` = nobody can.
    me: Option<String>,
    last_text: Option<String>,
    stop_message: Option<String>,
}

impl ProgressState {
    /// For whoever can be asked as `me`.
    pub(super) fn shown_to(me: Option<String>) -> ProgressState {
        ProgressState { me, mode: Some(ApprovalMode::Default), ..ProgressState::default() }
    }

    /// The text that was shown last, when nothing was shown after it.
    pub(super) fn last_text(&self) -> Option<&str> {
        self.last_text.as_deref()
    }

    /// What the daemon said when it stopped the run.
    pub(super) fn stop_message(&self) -> Option<&str> {
        self.stop_message.as_deref()
    }

    pub(super) fn has_questions(&self) -> bool {
        !self.questions.is_empty()
    }

    /// What goes on right now, for the spinner.
    pub(super) fn activity(&self) -> String {
        match self.questions.len() {
            0 => {}
            1 => return "waiting for an answer".into(),
            count => return format!("waiting for {count} answers"),
        }
        let labels: Vec<String> = self.calls.values().map(OpenCall::status).collect();
        match labels.as_slice() {
            [] if self.is_asking_model => "thinking".into(),
            [] => "working".into(),
            [label] => format!("● {label}"),
            labels => {
                let named = labels.get(..CALLS_NAMED).unwrap_or(labels).join(", ");
                let more = if labels.len() > CALLS_NAMED { ", …" } else { "" };
                format!("● {} calls: {named}{more}", labels.len())
            }
        }
    }

    /// Shows one event; those that say nothing to people are passed over, as are unknown ones.
    pub(super) fn show(&mut self, envelope: &Envelope, screen: &mut ProgressScreen<'_>) {
        if let (Some(run_id), true) = (&envelope.run_id, is_child(envelope)) {
            self.children.insert(run_id.clone());
        }
        let is_shown = self.show_standing(envelope, screen)
            || self.show_people(envelope, screen)
            || self.show_care(envelope, screen);
        if is_shown {
            return;
        }
        match envelope.kind.as_str() {
            "signal.snapshot" => self.show_snapshot(envelope, screen),
            "session.created" => with(envelope, |data: Created| self.roots = data.roots),
            "run.started" => with(envelope, |data| self.run_started(envelope, &data, screen)),
            "run.stopping" => with(envelope, |data| self.run_stopping(envelope, data, screen)),
            "run.completed" => with(envelope, |data| self.run_completed(envelope, &data, screen)),
            "model.started" => self.is_asking_model = true,
            "model.textDelta" => with(envelope, |data| self.delta(envelope, &data, screen)),
            "model.retrying" => with(envelope, |data: ModelRetryingView| {
                self.streams.remove(&data.stream);
                let text = format!("{}; asking again (attempt {})", data.message, data.attempt);
                self.line(envelope, screen, TextColor::Yellow, "!", &text);
            }),
            "model.completed" => with(envelope, |data| self.model_completed(envelope, data, screen)),
            "thought" => with(envelope, |data: ThoughtView| {
                self.line(envelope, screen, TextColor::Dim, "·", &data.subject);
            }),
            "tool.state" => with(envelope, |data| self.tool_state(envelope, &data, screen)),
            "signal.progress" => with(envelope, |data: ProgressSignal| {
                if let Some(call) = self.calls.get_mut(&data.call_id) {
                    call.progress = Some(in_words(&data.progress));
                }
            }),
            "warning" => {
                if let Some(message) = envelope.data.get("message").and_then(Value::as_str) {
                    self.line(envelope, screen, TextColor::Yellow, "!", message);
                }
            }
            _ => {}
        }
    }

    fn run_started(&mut self, envelope: &Envelope, data: &RunStartedView, screen: &mut ProgressScreen<'_>) {
        let run_id = envelope.run_id.as_ref().map_or("", |run_id| run_id.as_str());
        let name = data.path.rsplit('/').next().filter(|_| envelope.head.parent_run_id.is_some());
        // The first call of an agent needs no number.
        let name = name.map(|name| name.strip_suffix("#1").unwrap_or(name)).filter(|name| !name.is_empty());
        let name = name.unwrap_or(&data.agent).to_owned();
        let text = format!("{name} · {} · run {run_id}", data.model);
        if let (Some(run_id), true) = (&envelope.run_id, is_child(envelope)) {
            self.names.insert(run_id.clone(), name);
        }
        self.name_run(envelope, screen, TextColor::Dim, &text);
    }

    fn run_stopping(&mut self, envelope: &Envelope, data: RunStoppingView, screen: &mut ProgressScreen<'_>) {
        if data.reason.known() == Some(RunEndReason::Goal) {
            return;
        }
        if data.then.known() == Some(StopThen::Grace) {
            let text = format!("{}; one last turn to finish", data.message.trim_end_matches('.'));
            self.line(envelope, screen, TextColor::Yellow, "!", &text);
        }
        // What a person may still change is no end.
        if envelope.head.parent_run_id.is_none() && data.then.known() != Some(StopThen::Ask) {
            self.stop_message = Some(data.message);
        }
    }

    fn run_completed(&mut self, envelope: &Envelope, data: &RunOutcome, screen: &mut ProgressScreen<'_>) {
        let name = self.name(envelope);
        // Not through `line`: the text the run ended with still counts as shown last.
        show_run(data, &name, &indent(envelope), screen);
        self.take_floor(envelope);
        if is_child(envelope) {
            if let Some(trouble) = data.trouble() {
                self.line(envelope, screen, TextColor::Red, "✗", &trouble);
            }
        } else {
            self.is_asking_model = false;
        }
        if let Some(run_id) = &envelope.run_id {
            self.children.remove(run_id);
            self.names.remove(run_id);
            self.parked.remove(run_id);
        }
    }

    fn delta(&mut self, envelope: &Envelope, delta: &StreamDelta, screen: &mut ProgressScreen<'_>) {
        let is_child = envelope.run_id.as_ref().is_some_and(|run_id| self.children.contains(run_id));
        if is_child || !screen.can_stream() {
            return;
        }
        let shown = self.streams.entry(delta.stream.clone()).or_default();
        let Ok(offset) = usize::try_from(delta.offset) else { return };
        // After a reconnect a text begins anew at offset 0; what stands there already is passed over. A hole
        // is filled when the whole text comes with `model.completed`.
        let Some(text) = shown.checked_sub(offset).and_then(|overlap| delta.text.get(overlap..)) else {
            return;
        };
        *shown += text.len();
        self.write(envelope, &delta.stream, text, screen);
    }

    fn write(&mut self, envelope: &Envelope, stream: &str, text: &str, screen: &mut ProgressScreen<'_>) {
        if self.writing.as_deref() != Some(stream) {
            screen.break_line();
            self.announce(envelope, screen);
            self.writing = Some(stream.to_owned());
        }
        screen.text(&safe_text::lines(text));
    }

    fn model_completed(
        &mut self,
        envelope: &Envelope,
        data: ModelCompletedView,
        screen: &mut ProgressScreen<'_>,
    ) {
        self.is_asking_model = false;
        let shown = self.streams.remove(&data.stream).unwrap_or(0);
        if is_child(envelope) || data.text.trim().is_empty() {
            return;
        }
        if screen.is_live() {
            let rest = data.text.get(shown..).unwrap_or_default();
            self.write(envelope, &data.stream, rest, screen);
            screen.break_line();
        } else if !data.calls.is_empty() {
            // Without calls the text is the run's result, which goes to stdout.
            self.announce(envelope, screen);
            screen.line(safe_text::lines(&data.text).trim_end());
        }
        self.writing = None;
        self.last_text = Some(data.text);
    }

    fn tool_state(&mut self, envelope: &Envelope, data: &CallChangedView, screen: &mut ProgressScreen<'_>) {
        let mut call = self.calls.remove(&data.call_id).unwrap_or_else(|| OpenCall::first_seen(data));
        if let Some(details) = &data.details {
            call.describe(&data.name, &details.description);
        }
        if data.to.known().is_some_and(CallState::is_end) {
            return self.call_ended(envelope, data, &call, screen);
        }
        if data.to.known().is_none() {
            // A state that only a newer daemon knows.
            self.line(
                envelope,
                screen,
                TextColor::Dim,
                "●",
                &format!("{} · {}", call.label, data.to.as_str()),
            );
        }
        if data.to.known() == Some(CallState::Executing) {
            call.began_at = envelope.at;
            // On a terminal the spinner says it.
            if !screen.is_live() && data.name.as_str() != COMPLETE_TASK {
                self.line(envelope, screen, TextColor::Dim, "●", &call.label);
            }
        }
        self.calls.insert(data.call_id.clone(), call);
    }

    fn call_ended(
        &mut self,
        envelope: &Envelope,
        data: &CallChangedView,
        call: &OpenCall,
        screen: &mut ProgressScreen<'_>,
    ) {
        let elapsed = match (envelope.at, call.began_at) {
            (Some(ended_at), Some(began_at)) => format!(" · {}", human::duration(ended_at.since(began_at))),
            _ => String::new(),
        };
        let (ink, sign, outcome) = match (data.to.known(), data.trouble()) {
            // Its result is shown as the run's.
            (Some(CallState::Success), None) if data.name.as_str() == COMPLETE_TASK => return,
            (Some(CallState::Success), None) if let Some(end) = data.command_end() => {
                return self.command_ended(envelope, &end, &call.label, &elapsed, screen);
            }
            (Some(CallState::Success), None) => (TextColor::Green, "✓", String::new()),
            (Some(CallState::Cancelled), _) => (TextColor::Yellow, "✗", "· cancelled".into()),
            (_, Some(error)) => {
                let message = safe_text::line(&error.message, ERROR_CHARACTERS);
                (TextColor::Red, "✗", format!("· {}: {message}", error.kind))
            }
            (_, None) => (TextColor::Red, "✗", "· failed".into()),
        };
        let text = match outcome.is_empty() {
            true => format!("{}{elapsed}", fitting(&call.label, &elapsed, envelope, screen)),
            false => format!("{}{elapsed} {outcome}", call.label),
        };
        self.line(envelope, screen, ink, sign, &text);
    }

    /// A command that was run, however it ended: what it last said of one that went wrong stands below it.
    fn command_ended(
        &mut self,
        envelope: &Envelope,
        end: &CommandEnd,
        label: &str,
        elapsed: &str,
        screen: &mut ProgressScreen<'_>,
    ) {
        match &end.trouble {
            None => {
                let label = fitting(label, elapsed, envelope, screen);
                self.line(envelope, screen, TextColor::Green, "✓", &format!("{label}{elapsed}"));
            }
            Some(trouble) => {
                self.line(envelope, screen, TextColor::Red, "✗", &format!("{label} · {trouble}{elapsed}"));
            }
        }
        let below_name = if is_child(envelope) { INDENT } else { "" };
        let margin = format!("{}{below_name}{INDENT}{INDENT}", indent(envelope));
        for row in end.rows(screen.columns().map(|columns| columns.saturating_sub(margin.len()))) {
            screen.line(&format!("{margin}{}", screen.paint(TextColor::Dim, &row)));
        }
    }

    /// One line about something of the run: a coloured sign and harmless text.
    fn line(
        &mut self,
        envelope: &Envelope,
        screen: &mut ProgressScreen<'_>,
        ink: TextColor,
        sign: &str,
        text: &str,
    ) {
        self.announce(envelope, screen);
        let below_name = if is_child(envelope) { INDENT } else { "" };
        self.put(&format!("{}{below_name}", indent(envelope)), screen, ink, sign, text);
    }

    /// A line that names the run, below which the lines about it stand.
    fn name_run(&mut self, envelope: &Envelope, screen: &mut ProgressScreen<'_>, ink: TextColor, text: &str) {
        self.put(&indent(envelope), screen, ink, "▶", text);
        self.take_floor(envelope);
    }

    fn put(&mut self, indent: &str, screen: &mut ProgressScreen<'_>, ink: TextColor, sign: &str, text: &str) {
        self.last_text = None;
        self.writing = None;
        let most = if matches!(ink, TextColor::Red) { ERROR_LINE_CHARACTERS } else { LINE_CHARACTERS };
        let text = safe_text::line(text, most);
        signed(indent, (ink, sign), &text, matches!(ink, TextColor::Dim).then_some(ink), screen);
    }

    /// Names the run that the next line is about, when that is not plain from the line before: runs that agents call
    /// are at work at the same time, and their lines come as they happen.
    fn announce(&mut self, envelope: &Envelope, screen: &mut ProgressScreen<'_>) {
        let Some(run_id) = &envelope.run_id else { return };
        let is_plain = match is_child(envelope) {
            true => self.speaker.as_ref() == Some(run_id),
            false => self.root.as_ref().is_none_or(|root| root == run_id),
        };
        if is_plain {
            self.take_floor(envelope);
        } else {
            let name = self.name(envelope);
            self.name_run(envelope, screen, TextColor::Dim, &name);
        }
    }

    fn take_floor(&mut self, envelope: &Envelope) {
        self.speaker.clone_from(&envelope.run_id);
        if !is_child(envelope) {
            self.root.clone_from(&envelope.run_id);
        }
    }

    fn name(&self, envelope: &Envelope) -> String {
        let known = envelope.run_id.as_ref().and_then(|run_id| self.names.get(run_id)).cloned();
        let agent = envelope.head.agent.as_ref().map_or("the run", |agent| agent.as_str());
        known.unwrap_or_else(|| agent.to_owned())
    }
}

/// One [`INDENT`] for each run between the root and this one.
fn indent(envelope: &Envelope) -> String {
    let levels = envelope.head.agent_path.len().saturating_sub(1).max(usize::from(is_child(envelope)));
    INDENT.repeat(levels.min(MAX_INDENT))
}

fn is_child(envelope: &Envelope) -> bool {
    envelope.head.parent_run_id.is_some()
}

fn show_run(run: &RunOutcome, agent: &str, indent: &str, screen: &mut ProgressScreen<'_>) {
    let (sign, ink) = match (run.has_ended(), run.is_goal()) {
        (false, _) => ("▶", TextColor::Dim),
        (true, true) => ("■", TextColor::Green),
        (true, false) => ("■", TextColor::Red),
    };
    let agent = safe_text::line(agent, LINE_CHARACTERS);
    signed(indent, (ink, sign), &format!("{agent} · {}", run.summary()), None, screen);
}

/// A line behind a coloured sign, broken between words on a terminal; later rows stand below its words.
fn signed(
    indent: &str,
    (ink, sign): (TextColor, &str),
    text: &str,
    of_words: Option<TextColor>,
    screen: &mut ProgressScreen<'_>,
) {
    let room = screen.columns().map(|columns| columns.saturating_sub(indent.len() + SIGN_COLUMNS));
    // A narrow terminal breaks lines by itself.
    let rows = match room.filter(|room| ROOM_LEAST <= *room) {
        Some(room) => width::wrap_words(text, room),
        None => vec![text.to_owned()],
    };
    for (at, row) in rows.into_iter().enumerate() {
        let row = of_words.map_or_else(|| row.clone(), |ink| screen.paint(ink, &row));
        let sign = if at == 0 { screen.paint(ink, sign) } else { " ".to_owned() };
        screen.line(&format!("{indent}{sign} {row}"));
    }
}

/// Calls `show` with the event's data; data this client cannot read is passed over.
fn with<T: DeserializeOwned>(envelope: &Envelope, show: impl FnOnce(T)) {
    if let Ok(data) = T::deserialize(&envelope.data) {
        show(data);
    }
}
