//! What do the events say that are about a run as a whole: that it waits, was spoken to, holds still, has a plan?

use serde::Deserialize;
use serde_json::Value;

use super::{ProgressState, views::RunResumedView, with};
use crate::{mode, screen::ProgressScreen, text_color::TextColor};
use protocol::{ApprovalMode, Envelope, OpenEnum};

impl ProgressState {
    /// Shows one event of this kind; answers whether it was one.
    pub(super) fn show_standing(&mut self, envelope: &Envelope, screen: &mut ProgressScreen<'_>) -> bool {
        match envelope.kind.as_str() {
            "run.queued" => with(envelope, |data| self.run_queued(envelope, &data, screen)),
            "run.steered" => with(envelope, |data: RunSteeredView| {
                let text = match data.turn {
                    Some(turn) => format!("read in turn {turn}: {}", data.text),
                    None => format!("said: {}", data.text),
                };
                self.line(envelope, screen, TextColor::Dim, "»", &text);
            }),
            "run.parked" => with(envelope, |data| self.run_parked(envelope, &data, screen)),
            "run.resumed" => with(envelope, |data| self.run_resumed(envelope, &data, screen)),
            "session.updated" => {
                with(envelope, |data: SessionUpdatedView| self.session_updated(&data, screen))
            }
            "todos.updated" => with(envelope, |data: TodosUpdatedView| {
                self.line(envelope, screen, TextColor::Dim, "☰", &data.summary());
            }),
            _ => return false,
        }
        true
    }

    /// A mode that lets more run without asking is told with how it is left.
    fn session_updated(&mut self, data: &SessionUpdatedView, screen: &mut ProgressScreen<'_>) {
        let mode = mode_of(data.mode.as_ref());
        if std::mem::replace(&mut self.mode, mode) == mode {
            return;
        }
        let told = match mode {
            Some(mode) => mode::in_words(mode),
            None => "the session has a mode that only a newer `subagent` knows",
        };
        let left = match mode {
            Some(ApprovalMode::AutoEdit | ApprovalMode::Yolo) => {
                "; `subagent sessions mode` or Shift-Tab in the conversation leaves it"
            }
            _ => "",
        };
        screen.line(&screen.paint(TextColor::Yellow, &format!("! {told}{left}")));
    }

    fn run_queued(&mut self, envelope: &Envelope, data: &RunQueuedView, screen: &mut ProgressScreen<'_>) {
        let agent = envelope.head.agent.as_ref().map_or("its agent", |agent| agent.as_str());
        let text = match data.waits_for.as_str() {
            "context" => format!("{agent} waits for its turn: another run of it is not over"),
            "hooks" => format!("{agent} waits for what hooks say"),
            "place" => format!("{agent} waits for a place among the runs at work"),
            other => format!("{agent} waits for: {other}"),
        };
        self.line(envelope, screen, TextColor::Dim, "…", &text);
    }

    fn run_parked(&mut self, envelope: &Envelope, data: &RunParkedView, screen: &mut ProgressScreen<'_>) {
        let why = match data.reason.as_str() {
            "storageFull" => "the disk is full; the run holds still until there is room",
            other => &format!("the run holds still: {other}"),
        };
        self.line(envelope, screen, TextColor::Yellow, "!", why);
        self.parked.extend(envelope.run_id.clone());
    }

    fn run_resumed(&mut self, envelope: &Envelope, data: &RunResumedView, screen: &mut ProgressScreen<'_>) {
        let was_parked = envelope.run_id.as_ref().is_some_and(|run_id| self.parked.remove(run_id));
        let text = match (data.unclean, was_parked) {
            (true, _) => "the daemon came back after a crash; the run goes on",
            (false, true) => "the run goes on",
            (false, false) => "the daemon was restarted; the run goes on",
        };
        self.line(envelope, screen, TextColor::Yellow, "!", text);
    }
}

/// The usual mode goes without saying.
pub(super) fn mode_of(mode: Option<&OpenEnum<ApprovalMode>>) -> Option<ApprovalMode> {
    mode.map_or(Some(ApprovalMode::Default), OpenEnum::known)
}

#[derive(Deserialize)]
struct SessionUpdatedView {
    #[serde(default)]
    mode: Option<OpenEnum<ApprovalMode>>,
}

/// Read leniently, as all below: what else a run may wait for is open.
#[derive(Deserialize)]
struct RunQueuedView {
    #[serde(rename = "for")]
    waits_for: String,
}

#[derive(Deserialize)]
struct RunSteeredView {
    text: String,
    #[serde(default)]
    turn: Option<u32>,
}

#[derive(Deserialize)]
struct RunParkedView {
    reason: String,
}

/// A run's plan; entries and their states are open.
#[derive(Deserialize)]
struct TodosUpdatedView {
    todos: Vec<Value>,
}

impl TodosUpdatedView {
    /// `2 of 5 done · now: write the tests`
    fn summary(&self) -> String {
        let is = |todo: &Value, status: &str| todo.get("status").and_then(Value::as_str) == Some(status);
        let done = self.todos.iter().filter(|todo| is(todo, "completed")).count();
        let current = self.todos.iter().find(|todo| is(todo, "in_progress"));
        let now = current.and_then(|todo| todo.get("text")).and_then(Value::as_str);
        let now = now.map(|text| format!(" · now: {text}")).unwrap_or_default();
        format!("{done} of {} done{now}", self.todos.len())
    }
}
