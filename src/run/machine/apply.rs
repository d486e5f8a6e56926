//! Given this event, where are we? The only mutation, and total: every event applies in every state.

use std::sync::Arc;

use super::{Call, Grace, Phase, RunMachine, Stage, Terms};
use crate::protocol::{
    CallState, EventBody, FinishReason, Part, Private, RunStarted, StopThen, Timestamp, ToolState, Usage,
};

/// A run's log does not begin as one must.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the run's log does not begin with run.started")]
pub struct Fold;

impl RunMachine {
    /// The machine right after its first event.
    pub fn begin(terms: Terms) -> RunMachine {
        RunMachine {
            terms: Arc::new(terms),
            phase: Phase::Acting,
            turn: 0,
            turn_is_open: false,
            grace: None,
            calls: Vec::new(),
            active_us: 0,
            usage: Usage::default(),
            tool_calls: 0,
            replies: 0,
            last_text: "".into(),
            was_continued: false,
            idle_resumes: 0,
        }
    }

    /// The machine that a run's events make. The first must be `run.started`.
    pub fn fold<'a>(
        run: &crate::protocol::RunId,
        events: impl IntoIterator<Item = (&'a EventBody, &'a Private)>,
    ) -> Result<RunMachine, Fold> {
        let mut events = events.into_iter();
        let Some((EventBody::RunStarted(started), _)) = events.next() else { return Err(Fold) };
        let RunStarted { model, limits, completion, .. } = started;
        let terms =
            Terms { run: run.clone(), model: model.clone(), limits: *limits, completion: *completion };
        let mut machine = RunMachine::begin(terms);
        for (body, private) in events {
            machine.apply(body, private);
        }
        Ok(machine)
    }

    pub fn apply(&mut self, body: &EventBody, private: &Private) {
        self.active_us = self.active_us.max(private.active_us);
        let is_progress = !matches!(
            body,
            EventBody::RunResumed(_)
                | EventBody::ModelRetrying(_)
                | EventBody::ModelStarted(_)
                | EventBody::TurnStarted(_)
        );
        if is_progress {
            self.idle_resumes = 0;
        }
        match body {
            EventBody::SessionCreated(_) | EventBody::RunStarted(_) | EventBody::Thought(_) => (),
            EventBody::Warning(_) | EventBody::TodosUpdated(_) => (),
            EventBody::TurnCompleted(_) => self.turn_is_open = false,
            EventBody::ContextNudged(_) => self.was_continued = true,
            EventBody::RunResumed(data) if data.unclean => self.idle_resumes += 1,
            EventBody::RunResumed(_) => (),
            EventBody::RunStopping(data) => {
                let (reason, then, error) = (data.reason, data.then, data.error.clone());
                self.phase = Phase::Stopping { reason, then, error };
            }
            EventBody::RunCompleted(_) => self.phase = Phase::Finished,
            EventBody::TurnStarted(data) => {
                self.turn = data.turn;
                self.turn_is_open = true;
                self.calls.clear();
                self.grace = data.grace.map(|reason| Grace { reason, since_us: self.active_us });
                let stage = Stage::Waiting { not_before: Timestamp::default() };
                self.phase = Phase::Thinking { attempt: 1, failures: 0, stage };
            }
            EventBody::ModelStarted(data) => {
                if let Phase::Thinking { attempt, stage, .. } = &mut self.phase {
                    *attempt = data.attempt;
                    *stage = Stage::Asking;
                }
            }
            EventBody::ModelRetrying(data) => {
                if let Phase::Thinking { attempt, failures, stage } = &mut self.phase {
                    *attempt = data.attempt;
                    *failures += u32::from(!data.restarted);
                    *stage = Stage::Waiting { not_before: data.not_before };
                }
            }
            EventBody::ModelCompleted(data) => {
                self.usage += data.usage;
                self.replies += u32::from(!data.cut);
                self.was_continued &= data.finish_reason == Some(FinishReason::Length);
                if !data.text.is_empty() {
                    self.last_text = data.text.as_str().into();
                }
                let parts = private.message.iter().flat_map(|message| &message.parts);
                let requests = parts.filter_map(|part| match part {
                    Part::ToolCall(request) => Some(request.clone()),
                    _ => None,
                });
                self.calls = requests.map(Call::asked).collect();
                self.phase = Phase::Acting;
            }
            EventBody::ToolState(data) => self.apply_tool_state(data, private),
        }
    }

    fn apply_tool_state(&mut self, data: &ToolState, private: &Private) {
        if data.to == CallState::Validating {
            self.tool_calls += 1;
        }
        let Some(call) = self.calls.iter_mut().find(|it| it.request.call_id == data.call_id) else { return };
        call.state = data.to;
        if let Some(prepared) = &private.call {
            call.prepared = Some(Arc::new(prepared.clone()));
        }
        if let Some(completion) = &private.completion {
            call.completion = Some(Arc::new(completion.clone()));
        }
    }

    /// Whether a stop is under way, and what it leads to.
    pub(super) fn stopping(&self) -> Option<StopThen> {
        match &self.phase {
            Phase::Stopping { then, .. } => Some(*then),
            _ => None,
        }
    }
}

impl Call {
    fn asked(request: crate::protocol::ToolCall) -> Call {
        Call { request: Arc::new(request), state: CallState::Validating, prepared: None, completion: None }
    }
}
