//! Given this event, where are we? The only way in which facts change, and total: every event applies in every state.

use std::sync::Arc;

use super::{
    BudgetFacts, ContextFacts, GraceTurn, HookProgress, LoggedFacts, LoopFacts, ModelFacts, RunCircumstances,
    RunConstants, RunFacts, RunMachine, RunPhase, SideCallFacts, SteeringMessage, TrackedCall, TurnCalls,
    TurnFacts, TurnStage, WorkFacts, hook_watch::event_at_end,
};
use protocol::{
    CallState, Confirmation, ConfirmationId, EventBody, FinishReason, LoopKind, MessagePart,
    PrivateEventFields, QueuedFor, RevisionReason, RunQueued, RunStarted, RunSteered, RunStopping, StopThen,
    Timestamp, ToolState, UsageTotal,
};

/// A run's log does not begin as one must.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the run's log does not begin with run.started or run.queued")]
pub struct FoldError;

impl RunMachine {
    /// A machine to which nothing has happened yet.
    pub fn begin(terms: RunConstants) -> RunMachine {
        RunMachine { facts: LoggedFacts::begin(terms), now: RunCircumstances::default() }
    }

    /// The machine that a run's events make. The first says how the run starts.
    pub fn fold<'a>(
        run: &protocol::RunId,
        events: impl IntoIterator<Item = (&'a EventBody, &'a PrivateEventFields)>,
    ) -> Result<RunMachine, FoldError> {
        let mut events = events.into_iter().peekable();
        let start = match events.peek() {
            Some((EventBody::RunStarted(start), _)) => start.clone(),
            Some((EventBody::RunQueued(RunQueued { run: Some(start), .. }), _)) => (**start).clone(),
            _ => return Err(FoldError),
        };
        let mut machine = RunMachine::begin(RunConstants { run: run.clone(), start });
        // Hooks may have to be told what happened before the restart.
        machine.watch_hooks(true);
        for (body, private) in events {
            machine.apply(body, private);
        }
        Ok(machine)
    }

    pub fn apply(&mut self, body: &EventBody, private: &PrivateEventFields) {
        self.now.follow(&self.facts, body, private);
        self.facts.apply(body, private);
    }
}

impl RunFacts {
    pub(super) fn begin(terms: RunConstants) -> RunFacts {
        RunFacts {
            phase: RunPhase::Queued { waits_for: QueuedFor::Context },
            is_logged: false,
            parked: None,
            is_waiting: false,
            idle_resumes: 0,
            active_us: 0,
            turn: TurnFacts {
                number: 0,
                is_open: false,
                grace: None,
                replies: 0,
                last_text: "".into(),
                was_continued: false,
                cut_text: "".into(),
            },
            calls: TurnCalls::default(),
            steers: Vec::new(),
            work: WorkFacts::default(),
            budget: BudgetFacts::default(),
            model: ModelFacts::begin(&terms.start),
            context: ContextFacts::default(),
            side_calls: SideCallFacts::default(),
            loops: LoopFacts::default(),
            hooks: HookProgress::default(),
            terms: Arc::new(terms),
        }
    }

    pub(super) fn apply(&mut self, body: &EventBody, private: &PrivateEventFields) {
        self.active_us = self.active_us.max(private.active_us);
        self.is_logged = true;
        if is_progress(body) {
            self.idle_resumes = 0;
            self.hooks.restarts = 0;
        }
        match body {
            EventBody::HookStarted(data) => self.hooks.started(data),
            EventBody::SessionCreated(_)
            | EventBody::SessionUpdated(_)
            | EventBody::SessionClosed(_)
            | EventBody::SessionDeleted(_)
            | EventBody::ConfigChanged(_)
            | EventBody::AgentsChanged(_)
            | EventBody::McpServerStateChanged(_)
            | EventBody::McpToolsChanged(_)
            | EventBody::RouteSelected(_)
            | EventBody::ModelThought(_)
            | EventBody::TodosUpdated(_)
            | EventBody::ToolClientCall(_)
            | EventBody::FileRestored(_)
            | EventBody::MemorySaved(_)
            | EventBody::SkillActivated(_)
            | EventBody::PolicyChanged(_)
            | EventBody::WorkspaceTrusted(_)
            | EventBody::ProgramNoted(_)
            | EventBody::FolderForgotten(_)
            | EventBody::ExtensionChanged(_)
            | EventBody::ContextCleared(_)
            | EventBody::RunToolsChanged(_)
            | EventBody::IdeContextShared(_)
            | EventBody::DaemonWarning(_) => (),
            EventBody::RunStarted(RunStarted { .. }) => self.phase = RunPhase::Acting,
            EventBody::RunQueued(data) => self.apply_queued(data),
            EventBody::RunSteered(data) => self.apply_steered(data),
            EventBody::RunParked(data) => self.parked = Some(data.reason),
            EventBody::HookFired(data) => self.apply_hook(data, private),
            EventBody::RunWaiting(data) => self.is_waiting = data.waiting,
            EventBody::ConfirmationEdited(data) => self.apply_edit(data),
            EventBody::ConfirmationRequested(data) => self.apply_question(&data.confirmation, private),
            EventBody::ConfirmationRevised(data) => {
                self.note_drop(data);
                self.apply_question(&data.confirmation, private);
                let call = data.confirmation.tool_call_id.as_ref().and_then(|call| self.calls.get_mut(call));
                if let Some(call) = call {
                    call.edit.take_if(|_| data.reason != RevisionReason::Deadline);
                    // An earlier version wrote down nothing more of an edit that a hook changed.
                    call.is_changed_again |= matches!(
                        data.reason,
                        RevisionReason::Changed | RevisionReason::ChangedByHook | RevisionReason::AskedByHook
                    );
                    call.note = data.difference.as_deref().map(Arc::from).or_else(|| call.note.take());
                }
            }
            EventBody::ConfirmationResolved(data) => {
                match data.tool_call_id.as_ref().and_then(|call| self.calls.get_mut(call)) {
                    Some(call) if call.asked(&data.confirmation_id).is_some() => {
                        call.asks.retain(|it| it.confirmation_id != data.confirmation_id);
                    }
                    Some(call) => {
                        (call.question, call.edit) = (None, None);
                        call.note = data.difference.as_deref().map(Into::into);
                    }
                    None if data.tool_call_id.is_none() => self.budget.question = None,
                    None => (),
                }
            }
            EventBody::FileChanged(data) => {
                if !data.is_unchanged() && !self.work.files_changed.contains(&data.path) {
                    Arc::make_mut(&mut self.work.files_changed).push(data.path.clone());
                }
            }
            EventBody::TurnCompleted(_) => self.turn.is_open = false,
            EventBody::ContextNudged(data) => self.apply_nudge(data),
            EventBody::SideCallStarted(data) => self.apply_consulting(data),
            EventBody::SideCallCompleted(data) => self.apply_consulted(data),
            EventBody::ModelFallback(data) => self.apply_fallback(data),
            EventBody::ModelRouted(data) => self.apply_routed(data),
            EventBody::ContextCompressed(data) => self.apply_compressed(data),
            EventBody::LoopDetected(data) => {
                // A babbling reply is over although it was cut: a recording's next line answers what is asked next.
                self.turn.replies += u32::from(data.kind == LoopKind::Text);
                self.loops.found(data);
            }
            EventBody::BudgetRaised(data) => self.apply_raised(data),
            EventBody::BudgetWarning(data) => drop(self.budget.warned.insert(data.kind)),
            EventBody::RunResumed(data) => {
                // Of one that waits for a person the daemon may be the same, unless it says for how long there was none.
                let is_new = data.unclean || data.away_ms.is_some();
                // One that has not begun goes on waiting after a restart, and stays parked until there is room.
                if self.parked.is_none() || (is_new && !(self.is_parked() && self.has_begun())) {
                    self.restart_hooks();
                }
                self.parked = None;
                // Whether it still waits is said anew.
                self.is_waiting = false;
                // A run that only waits, e.g. for the runs below it, is not what the daemon crashed under.
                // One whose edit hooks look at may be: they are asked again each time.
                let is_at_work = self.is_at_work_itself() || self.edited().next().is_some();
                self.idle_resumes += u32::from(data.unclean && is_at_work);
            }
            EventBody::RunStopping(data) => {
                let RunStopping { reason, then, error, message } = data.clone();
                self.phase = RunPhase::Stopping { reason, then, error, message };
            }
            EventBody::RunCompleted(_) => self.phase = RunPhase::Finished,
            EventBody::TurnStarted(data) => {
                self.turn.number = data.turn;
                self.turn.is_open = true;
                if !self.turn.was_continued {
                    self.turn.cut_text = "".into();
                }
                self.calls.clear();
                self.hooks.begin_turn();
                self.context.begin_turn();
                self.turn.grace = data.grace.map(|reason| GraceTurn { reason, since_us: self.active_us });
                let stage = TurnStage::Waiting { not_before: Timestamp::default() };
                self.phase = RunPhase::Thinking { attempt: 1, failures: 0, stage };
            }
            EventBody::ModelStarted(data) => {
                if let RunPhase::Thinking { attempt, stage, .. } = &mut self.phase {
                    *attempt = data.attempt;
                    *stage = TurnStage::Asking;
                }
            }
            EventBody::ModelRetrying(data) => {
                self.budget.spent += data.spent();
                self.model.last_failure = data.message.as_str().into();
                if let RunPhase::Thinking { attempt, failures, stage } = &mut self.phase {
                    *attempt = data.attempt;
                    *failures += u32::from(!data.restarted);
                    *stage = TurnStage::Waiting { not_before: data.not_before };
                }
            }
            EventBody::ModelCompleted(data) => {
                self.budget.spent += data.spent();
                self.context.replied(data);
                self.loops.replied(private);
                self.turn.replies += u32::from(!data.cut);
                self.turn.was_continued &= data.finish_reason == Some(FinishReason::Length);
                if !data.text.is_empty() {
                    self.turn.last_text = data.text.as_str().into();
                }
                let parts = private.message.iter().flat_map(|message| &message.parts);
                let requests = parts.filter_map(|part| match part {
                    MessagePart::ToolCall(request) => Some(request.clone()),
                    _ => None,
                });
                self.calls = TurnCalls::requested(requests);
                self.phase = RunPhase::Acting;
            }
            EventBody::ToolState(data) => self.apply_tool_state(data, private),
        }
    }

    /// A run that has begun waits for its slot where it would ask the model; one that has not waits to begin.
    fn apply_queued(&mut self, data: &RunQueued) {
        match &mut self.phase {
            RunPhase::Thinking { stage, .. } => *stage = TurnStage::Slot,
            RunPhase::Queued { waits_for } => *waits_for = data.waits_for,
            _ => (),
        }
    }

    fn apply_steered(&mut self, data: &RunSteered) {
        match data.turn {
            None => self.steers.push(SteeringMessage {
                id: data.steer_id.as_str().into(),
                text: data.text.as_str().into(),
                is_cleared: false,
                context: None,
            }),
            Some(_) => self.steers.retain(|steer| *steer.id != *data.steer_id),
        }
    }

    fn apply_tool_state(&mut self, data: &ToolState, private: &PrivateEventFields) {
        if data.to == CallState::Validating {
            self.work.tool_calls += 1;
        }
        if data.child_run_id.is_some() {
            *Arc::make_mut(&mut self.work.children).entry(data.name.clone()).or_default() += 1;
        }
        if let Some(usage) = private.child_usage {
            self.budget.child_spent += UsageTotal {
                usage,
                cost: private.child_cost,
                unpriced_tokens: private.child_unpriced_tokens,
                estimated_requests: private.child_estimated_requests,
                uncounted_requests: private.child_uncounted_requests,
            };
        }
        let Some(at) = self.calls.position(&data.call_id) else { return };
        let Some(call) = self.calls.get_mut(&data.call_id) else { return };
        if data.to == CallState::Executing {
            call.began_us = private.active_us;
        }
        if data.to.is_end() {
            call.end = event_at_end(call, data);
        }
        if let Some(prepared) = &private.call {
            call.take_prepared(prepared);
        }
        if let Some(completion) = &private.completion {
            call.completion = Some(Arc::new(completion.clone()));
        }
        self.calls.enter(at, data.to);
        let is_held_up = data.to == CallState::Scheduled && self.is_in_the_way(&self.calls[at]);
        if let Some(call) = self.calls.get_mut(&data.call_id) {
            call.is_held_up = is_held_up;
        }
    }

    /// A call asks this from now on, or the run itself.
    fn apply_question(&mut self, question: &Confirmation, private: &PrivateEventFields) {
        let Some(asking) = &question.tool_call_id else {
            self.budget.question = Some(Arc::new(question.clone()));
            return;
        };
        let Some(call) = self.calls.get_mut(asking) else { return };
        if call.state == CallState::Executing {
            let now = Arc::new(question.clone());
            match call.asked(&question.confirmation_id) {
                Some(at) => call.asks[at] = now,
                None => call.asks.push(now),
            }
            return;
        }
        call.question = Some(Arc::new(question.clone()));
        if let Some(prepared) = &private.call {
            call.take_prepared(prepared);
        }
    }

    /// Whether a stop is under way, and what it leads to.
    pub(super) fn stopping(&self) -> Option<StopThen> {
        match &self.phase {
            RunPhase::Stopping { then, .. } => Some(*then),
            _ => None,
        }
    }
}

/// True if the run got further by this event: what only says that it is there, or begins anew, is no progress.
fn is_progress(body: &EventBody) -> bool {
    !matches!(
        body,
        EventBody::RunResumed(_)
            | EventBody::RunQueued(_)
            | EventBody::RunSteered(_)
            | EventBody::RunParked(_)
            | EventBody::RunWaiting(_)
            | EventBody::ModelRetrying(_)
            | EventBody::ModelStarted(_)
            | EventBody::SideCallStarted(_)
            | EventBody::TurnStarted(_)
            | EventBody::HookStarted(_)
    )
}

impl TrackedCall {
    /// Which of its tool's questions this is.
    fn asked(&self, confirmation: &ConfirmationId) -> Option<usize> {
        self.asks.iter().position(|it| it.confirmation_id == *confirmation)
    }

    pub(super) fn requested(request: protocol::ToolCall) -> TrackedCall {
        TrackedCall {
            request: Arc::new(request),
            asked_for: None,
            state: CallState::Validating,
            prepared: None,
            completion: None,
            question: None,
            edit: None,
            edits: 0,
            reason_before: None,
            asks: Vec::new(),
            is_held_up: false,
            note: None,
            is_changed_again: false,
            follows: None,
            wanted_by: None,
            end: None,
            began_us: 0,
            restarts: 0,
        }
    }
}
