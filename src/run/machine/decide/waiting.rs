//! What a run waits for before it may go on, and what is said to it meanwhile.

use super::{
    super::{MachineInput, RunMachine, RunPhase, TurnStage},
    DaemonWarning, MachineStep, QueuedFor, RunQueued, RunSteered, StartMode, SteeringMessage,
};
use protocol::{ContextMessage, NudgeReason, PrivateEventFields, RunTask, SkillActivated, StopThen};

/// Messages that wait for one run's next turn. They are read as one; more is no conversation.
const MOST_STEERS: usize = 256;
/// And their bytes. They are kept in memory and handed over in one step; a model reads no more in a turn.
const MOST_STEER_BYTES: usize = 8 << 20;

impl RunMachine {
    /// True if the input is a message for which there is no room among those that wait for the next turn.
    pub fn has_no_room_for(&self, input: &MachineInput) -> bool {
        let MachineInput::Steer { text, .. } = input else { return false };
        let waiting: usize = self.steers.iter().map(|steer| steer.text.len()).sum();
        MOST_STEERS <= self.steers.len() || MOST_STEER_BYTES < waiting + text.len()
    }
}

impl MachineStep<'_> {
    pub(super) fn open(
        &mut self,
        opening: StartMode,
        by: Option<String>,
        (warnings, skills): (Vec<String>, Vec<SkillActivated>),
    ) {
        match opening {
            StartMode::Queued { front } => {
                let run = Some(Box::new(self.machine.start().clone()));
                let body = RunQueued { waits_for: QueuedFor::Context, front, run };
                self.emit_with(body, PrivateEventFields::default(), None, by);
            }
            StartMode::Now => self.begin_or_queue(by),
        }
        for message in warnings {
            self.emit(DaemonWarning { message: format!("{}: {message}", self.machine.start().agent) });
        }
        for skill in skills {
            self.emit(skill);
        }
        self.begin_first_turn();
    }

    /// A run that has begun begins its first turn.
    pub(super) fn begin_first_turn(&mut self) {
        if !self.machine.has_begun() {
            return;
        }
        if let Some(context) = self.machine.hooks.opening.clone() {
            self.nudge(NudgeReason::Hook, &context);
        }
        self.begin_turn(None);
    }

    pub(super) fn context_free(&mut self) {
        if matches!(self.machine.phase, RunPhase::Queued { waits_for: QueuedFor::Context }) {
            self.begin_or_queue(None);
            self.begin_first_turn();
        }
    }

    pub(super) fn slot_taken(&mut self) {
        match self.machine.phase {
            RunPhase::Queued { waits_for: QueuedFor::Place } => {
                self.begin_or_queue(None);
                self.begin_first_turn();
            }
            RunPhase::Thinking { stage: TurnStage::Slot, attempt, .. } => self.ask_model(attempt),
            _ => (),
        }
    }

    /// `run.started`; without a slot, that the run waits for one.
    pub(super) fn begin_or_queue(&mut self, by: Option<String>) {
        if self.machine.is_to_be_shown_to_hooks() {
            let is_first = !self.machine.is_logged;
            let run = is_first.then(|| Box::new(self.machine.start().clone()));
            let body = RunQueued { waits_for: QueuedFor::Hooks, front: false, run };
            return self.emit_with(body, PrivateEventFields::default(), None, by);
        }
        if self.machine.now.has_slot {
            return self.emit_with(self.machine.start().clone(), PrivateEventFields::default(), None, by);
        }
        // What it carries stands in its first event already, if there is one.
        let is_first = !self.machine.is_logged;
        let run = is_first.then(|| Box::new(self.machine.start().clone()));
        let body = RunQueued { waits_for: QueuedFor::Place, front: false, run };
        self.emit_with(body, PrivateEventFields::default(), None, by);
    }

    /// The run has begun and may not go on before it has a slot again.
    pub(super) fn queue_for_slot(&mut self) {
        self.emit(RunQueued { waits_for: QueuedFor::Place, front: false, run: None });
    }

    pub(super) fn promoted(&mut self, by: Option<String>) {
        if matches!(self.machine.phase, RunPhase::Queued { waits_for: QueuedFor::Context }) {
            let body = RunQueued { waits_for: QueuedFor::Context, front: true, run: None };
            self.emit_with(body, PrivateEventFields::default(), None, by);
        }
    }

    /// Kept until the next turn. A run that is ending has no next turn: then nothing happens, and whoever asked is told.
    pub(super) fn steer(&mut self, id: String, text: String, by: Option<String>, has_room: bool) {
        let is_last_turn = self.machine.turn.grace.is_some() || self.machine.pending().is_some();
        let is_ending = matches!(self.machine.stopping(), Some(StopThen::End | StopThen::Grace));
        // A run that only changes its context asks nobody anything that this could be said in.
        let is_work = self.machine.start().task == RunTask::Work;
        if is_work && !is_last_turn && !is_ending && has_room {
            self.emit_with(
                RunSteered { steer_id: id, text, turn: None },
                PrivateEventFields::default(),
                None,
                by,
            );
        }
    }

    /// The model gets what was said since its last turn, in order.
    pub(super) fn hand_over_steers(&mut self) {
        // What hooks have not let through yet waits for another turn.
        for SteeringMessage { id, text, context, .. } in self.machine.readable_steers() {
            let said = match &context {
                Some(context) => format!("{text}\n\n{context}"),
                None => text.to_string(),
            };
            let body = RunSteered {
                steer_id: id.to_string(),
                text: text.to_string(),
                turn: Some(self.machine.turn.number),
            };
            let message = Some(ContextMessage::user(said));
            self.emit_with(body, PrivateEventFields { message, ..PrivateEventFields::default() }, None, None);
        }
    }
}
