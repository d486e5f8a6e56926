//! Given this input, what happened? Each event is applied as it is decided, so that what follows from it
//! is decided on the state it made. Stale input decides nothing.

use super::{
    EventDraft, InterruptedCall, MachineInput, PartialReply, RunMachine, RunPhase, SteeringMessage, TurnStage,
};
use protocol::{
    CallId, CallState, ConfirmationRequested, ContextMessage, DaemonWarning, EventBody, IdeContextShared,
    ModelRetrying, NudgeReason, ParkReason, PrivateEventFields, QueuedFor, ReplaySafety, RunEndReason,
    RunErrorCode, RunParked, RunQueued, RunResumed, RunSteered, SkillActivated, StopThen, SubagentActivity,
    Timestamp, ToolErrorType, ToolResult, TurnCompleted, TurnStarted,
};

mod calls;
mod edits;
mod hooks;
mod model;
mod people;
mod safeguards;
mod stops;
mod tools;
mod waiting;

use calls::FromChild;
use stops::{cancelled, last_chance};

/// Lives of the daemon in a row in which a run may be driven without getting further, each ended by an unclean stop
/// (spec 11, promise 6).
const MAX_IDLE_LIVES: u32 = 3;

impl RunMachine {
    /// The events of `input`, applied to this machine already.
    pub fn decide(&mut self, input: MachineInput) -> Vec<EventDraft> {
        let mut deciding = MachineStep { machine: self, drafts: Vec::new() };
        if !deciding.machine.is_finished() {
            deciding.input(input);
            deciding.warn_of_budgets();
        }
        deciding.drafts
    }

    /// The run's first events: it begins, or waits for what it must wait for. `warnings` are what is odd about its
    /// definition.
    pub fn open(
        &mut self,
        opening: StartMode,
        by: Option<String>,
        (warnings, skills): (Vec<String>, Vec<SkillActivated>),
    ) -> Vec<EventDraft> {
        let mut deciding = MachineStep { machine: self, drafts: Vec::new() };
        deciding.open(opening, by, (warnings, skills));
        deciding.drafts
    }
}

/// How a run starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartMode {
    /// At once; without a slot it says that it waits for one.
    Now,
    /// It waits for the runs before it in its context; with `front` only for the one that is there.
    Queued { front: bool },
}

struct MachineStep<'a> {
    machine: &'a mut RunMachine,
    drafts: Vec<EventDraft>,
}

impl MachineStep<'_> {
    fn input(&mut self, input: MachineInput) {
        let has_room = !self.machine.has_no_room_for(&input);
        match input {
            MachineInput::ModelEnded { ask, hooks, end } => self.model_ended(ask, *hooks, end),
            MachineInput::SideCallReplied { side_call, call } => self.side_call_replied(side_call, *call),
            MachineInput::GivenUp { asked } => self.given_up(asked),
            MachineInput::SideCallEnded { side_call, calls, advice } => {
                self.side_call_ended(side_call, calls, *advice)
            }
            MachineInput::BackoffOver { ask } => {
                let is_waiting =
                    matches!(self.machine.phase, RunPhase::Thinking { stage: TurnStage::Waiting { .. }, .. });
                if is_waiting && self.machine.ask() == Some(ask) {
                    self.ask_model(ask.attempt);
                }
            }
            MachineInput::Judged { call, judgement, hooks } => {
                let first = self.machine.unjudged().next().map(|it| it.call_id.clone());
                if first.as_ref() == Some(&call) {
                    self.judged_by_hooks(call, judgement, *hooks);
                }
            }
            MachineInput::Hooked { point, hooks } => self.hooked(&point, *hooks),
            MachineInput::HooksAsked { hooks, .. } => self.hooks_asked(*hooks),
            MachineInput::HookAtWork(started) => {
                if self.machine.phase != RunPhase::Finished {
                    self.emit(started);
                }
            }
            MachineInput::HooksEnded { late } => self.hooks_ended(late, has_room),
            MachineInput::ToolFinished { call, result, asked, near } => {
                if self.state(&call) == Some(CallState::Executing) {
                    self.asked_apart(Some(&call), asked);
                    self.tool_finished(call, result, near);
                }
            }
            MachineInput::ToolAsks { call, question } => self.tool_asks(&call, question),
            MachineInput::ToolStopsAsking { confirmation } => self.tool_stops_asking(&confirmation),
            MachineInput::ClientAnswered { call, result, by } => {
                if self.lent(&call).is_some() {
                    self.client_answered(call, result, by);
                }
            }
            MachineInput::ClientBack { call } => {
                if let Some(lent) = self.lent(&call) {
                    self.tell_client(&call, &lent, true);
                }
            }
            MachineInput::ChildSettled { call, result, spent, output } => {
                if self.state(&call) == Some(CallState::Executing) {
                    self.child_settled(call, result, FromChild { spent, output });
                }
            }
            MachineInput::ChildSpent { call, spent } => self.child_spent(&call, spent),
            MachineInput::ChildWaits { call, waits } => self.child_waits(&call, waits),
            MachineInput::Served { told, served } => {
                let private = PrivateEventFields { served: Some(served), ..PrivateEventFields::default() };
                self.emit_with(told, private, None, None);
            }
            MachineInput::EditorChanged { text, whole, now } => {
                let files = u32::try_from(now.open_files.len()).unwrap_or(u32::MAX);
                let private = PrivateEventFields {
                    message: Some(ContextMessage::user(&*text)),
                    editor: Some((*now).clone()),
                    ..PrivateEventFields::default()
                };
                self.emit_with(IdeContextShared { text, full: whole, files }, private, None, None);
            }
            MachineInput::Edited(edited) => self.edited(*edited),
            MachineInput::EditDropped { confirmation, digest, why, hooks } => {
                self.edit_dropped(&confirmation, &digest, &why, *hooks);
            }
            MachineInput::Settled { confirmation, digest, settled, by } => {
                self.settled(&confirmation, &digest, *settled, by);
            }
            MachineInput::AskBudget { question } => {
                if self.machine.unasked_budget().is_some() {
                    self.emit(ConfirmationRequested { confirmation: question });
                    self.say_whether_it_waits();
                }
            }
            MachineInput::Settle { confirmation, how } => self.unanswered(&confirmation, how),
            MachineInput::Unpark { by } => {
                if self.machine.parked == Some(ParkReason::Unattended) {
                    self.emit_with(RunResumed::default(), PrivateEventFields::default(), None, by);
                    self.say_whether_it_waits();
                }
            }
            MachineInput::ContextFree => self.context_free(),
            MachineInput::SlotTaken => self.slot_taken(),
            MachineInput::Promoted { by } => self.promoted(by),
            MachineInput::Removed { by } => {
                if !self.machine.has_begun() {
                    self.cancel(by, Some("taken out of the queue".to_owned()), None);
                }
            }
            MachineInput::Steer { id, text, by } => self.steer(id, text, by, has_room),
            MachineInput::Park { reason } => {
                if !self.machine.is_parked() {
                    self.emit(RunParked { reason });
                }
            }
            MachineInput::Unparked => {
                if self.machine.is_parked() {
                    self.emit(RunResumed::default());
                    self.say_whether_it_waits();
                }
            }
            MachineInput::TimeSpent { partial } => {
                if self.machine.is_time_spent() {
                    self.cut(partial);
                    self.limit(RunEndReason::Timeout);
                }
            }
            MachineInput::Cancel { by, reason, partial } => self.cancel(by, reason, partial),
            MachineInput::Restarted { unclean, away_ms, now, known } => {
                self.restarted(RunResumed { unclean, away_ms }, now, &known)
            }
            MachineInput::Unresumable { code, message, now } => {
                self.discard_stream(&message, now);
                self.lose_calls("the run could not go on after a restart; what the call did is unknown");
                match &self.machine.turn.grace {
                    // Failure in grace keeps the reason that granted it.
                    Some(grace) => {
                        let reason = grace.reason;
                        self.stop(reason, StopThen::End, None, message, None);
                    }
                    None => self.fail(code, message),
                }
            }
            MachineInput::Panicked { id, now } => {
                let message = format!("a defect of the daemon's ended the run; its log has it as {id}");
                self.discard_stream(&message, now);
                self.lose_calls("a defect of the daemon's ended the run while the call was open");
                self.fail(RunErrorCode::Panic, message);
            }
        }
    }

    fn end_turn(&mut self) {
        let tool_calls = u32::try_from(self.machine.calls.len()).unwrap_or(u32::MAX);
        self.emit(TurnCompleted { turn: self.machine.turn.number, tool_calls });
    }

    /// Checks the limits, then begins the next turn (spec 03, "The loop", 3).
    fn next_turn(&mut self) {
        if self.machine.waits_for_steers() {
            return;
        }
        let limits = self.machine.limits();
        if limits.max_turns <= self.machine.turn.number {
            self.limit_between_turns(RunEndReason::MaxTurns);
        } else if self.machine.is_time_spent() {
            self.limit_between_turns(RunEndReason::Timeout);
        } else if self.machine.is_budget_spent() {
            match self.machine.asks_for_budget() {
                true => {
                    self.stop(RunEndReason::Budget, StopThen::Ask, None, self.why(RunEndReason::Budget), None)
                }
                false => self.limit_between_turns(RunEndReason::Budget),
            }
        } else {
            self.begin_turn(None);
        }
    }

    fn begin_turn(&mut self, grace: Option<RunEndReason>) {
        self.begin_turn_with(grace, None);
    }

    /// `said`: by a person, about the last turn.
    fn begin_turn_with(&mut self, grace: Option<RunEndReason>, said: Option<&str>) {
        let said = said.map(|said| format!("\n\nA person was asked for more, and said: {said}"));
        let last = |reason| format!("{}{}", last_chance(reason), said.as_deref().unwrap_or_default());
        let message = grace.map(|reason| ContextMessage::user(last(reason)));
        // Beginning a turn forgets it.
        let later = self.machine.later_words();
        let body = TurnStarted { turn: self.machine.turn.number + 1, grace };
        self.emit_with(body, PrivateEventFields { message, ..PrivateEventFields::default() }, None, None);
        self.hand_over_steers();
        for text in later {
            self.nudge(NudgeReason::Hook, &text);
        }
        if grace.is_none() {
            self.tell_of_circle();
        }
        self.ask_model(1);
    }

    fn restarted(&mut self, resumed: RunResumed, now: Timestamp, known: &[InterruptedCall]) {
        if !self.machine.has_begun() {
            // It goes on waiting, and nothing of it was lost: the log says for how long nobody was there.
            return self.emit(resumed);
        }
        let unclean = resumed.unclean;
        let was_unattended = self.machine.parked == Some(ParkReason::Unattended);
        self.emit(resumed);
        // Whoever asked is gone with the process in which its call ran.
        self.drop_asks("the daemon was restarted while this was asked");
        if was_unattended && self.machine.has_questions() {
            // That a question waits is as true as before.
            self.emit(RunParked { reason: ParkReason::Unattended });
        }
        if unclean {
            self.discard_side_call();
        }
        let next_attempt = self.discard_stream("the daemon was restarted while the model answered", now);
        // The first of these restarts ended a life in which the run had got further.
        if MAX_IDLE_LIVES < self.machine.idle_resumes {
            let message = format!(
                "the daemon crashed {MAX_IDLE_LIVES} times in a row under this run without its getting further"
            );
            self.lose_calls("the daemon crashed while the call was open; what it did is unknown");
            return self.fail(RunErrorCode::CrashLoop, message);
        }
        if let Some(attempt) = next_attempt {
            self.ask_model(attempt);
        }
        let is_stopping = self.machine.stopping().is_some();
        // A call that a run answers is attached to that run again.
        let lost = self.machine.calls.open().filter(|it| {
            let is_safe = it.prepared.as_ref().is_some_and(|it| it.replay == ReplaySafety::Safe);
            let is_running = it.state == CallState::Executing && it.child().is_none();
            is_running && (is_stopping || !is_safe)
        });
        for call in lost.map(|it| it.request.call_id.clone()).collect::<Vec<_>>() {
            let known = known.iter().find(|known| known.call == call);
            for changed in known.into_iter().flat_map(|known| &known.changed) {
                self.emit(changed.clone());
            }
            let told = known.map_or("what it did is unknown", |known| known.told.as_str());
            let result = if is_stopping {
                cancelled(&format!("the run was being stopped when the daemon died; {told}"))
            } else {
                let message =
                    format!("the daemon stopped while the call ran; {told}; check before you repeat it");
                ToolResult::failure(ToolErrorType::Interrupted, message)
            };
            self.end_call(&call, result);
        }
        if !is_stopping {
            self.forget_unborn_children();
            self.start_ready();
        }
        if self.machine.phase == RunPhase::Acting && !self.machine.turn.is_open {
            // It stood between two turns until hooks had their say on what was said to it.
            return self.next_turn();
        }
        if !self.machine.calls.is_empty() || is_stopping {
            self.after_calls();
        }
    }

    /// What a run that was to answer a call needs is planned when the call is judged, and was lost with the process.
    fn forget_unborn_children(&mut self) {
        let scheduled = self.machine.calls.open().filter(|it| it.state == CallState::Scheduled);
        let unborn = scheduled.filter(|it| it.child().is_some()).map(|it| it.request.call_id.clone());
        for call in unborn.collect::<Vec<_>>() {
            let message =
                "the daemon stopped before the agent was started; call it again if you still need it";
            self.end_call(&call, ToolResult::failure(ToolErrorType::Interrupted, message));
        }
    }

    /// The text of a model call that nobody holds any more is lost; the log says so. Answers the next attempt.
    fn discard_stream(&mut self, message: &str, now: Timestamp) -> Option<u32> {
        let ask = self.machine.ask().filter(|ask| self.is_current(*ask))?;
        // What it took is lost with the process that heard it.
        let body = self.retrying(ask, now, message.to_owned(), &PartialReply::default());
        let usage_unknown = protocol::is_served(&self.machine.model.name);
        let model = Some(self.machine.model.name.to_string()).filter(|_| usage_unknown);
        self.emit(ModelRetrying { restarted: true, discarded: true, usage_unknown, model, ..body });
        Some(ask.attempt + 1)
    }

    /// Ends running calls that nobody drives any more. Those that runs answer end with their runs.
    fn lose_calls(&mut self, message: &str) {
        let calls = self.machine.calls.open();
        let running = calls.filter(|it| it.state == CallState::Executing && it.child().is_none());
        for call in running.map(|it| it.request.call_id.clone()).collect::<Vec<_>>() {
            self.end_call(&call, ToolResult::failure(ToolErrorType::Interrupted, message));
        }
    }

    fn state(&self, call: &CallId) -> Option<CallState> {
        self.machine.call(call).map(|it| it.state)
    }

    fn emit(&mut self, body: impl Into<EventBody>) {
        self.emit_with(body, PrivateEventFields::default(), None, None);
    }

    fn emit_with(
        &mut self,
        body: impl Into<EventBody>,
        mut private: PrivateEventFields,
        activity: Option<SubagentActivity>,
        by: Option<String>,
    ) {
        let body = body.into();
        private.active_us = self.machine.active_us();
        self.machine.apply(&body, &private);
        self.drafts.push(EventDraft { body, private, activity, by });
    }
}
