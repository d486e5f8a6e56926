//! One step of a run: inputs are collected, decided on a draft, committed, and only then taken in.

use super::{
    EventDraft, MachineInput, RunDriver, RunInput, RunMachine, RunMessage, RunMessageOutcome,
    answers::{new_mode, policy_changed, remembered},
    births::ChildStart,
    carry_seed,
    intake::{ends_parking, is_promotion, within},
    later,
    pace::{self, StepPace},
};
use protocol::{ApprovalMode, CallId, EventSeq, PolicyRule, RuleOrigin};
use store::{KeyedAnswer, StoreError};

/// Bytes of results that go into one step, but for its first: its events are one statement's value, for which SQLite has
/// a bound of 1 GB, and they are held in memory several times.
const STEP_BYTES: usize = 32 << 20;

/// A step as it was decided. Nothing of it has happened until it is committed.
struct DecidedStep {
    inputs: Vec<RunInput>,
    /// Inputs for which the step had no room.
    rest: Vec<RunInput>,
    /// The machine to which the drafts have happened.
    machine: RunMachine,
    drafts: Vec<EventDraft>,
    /// The number of drafts after each input, or the reason why it caused none.
    ends: Vec<Result<usize, RunMessageOutcome>>,
    /// The first request that is to be remembered with its effect.
    keyed: Option<KeyedAnswer>,
    /// Calls whose work came with an answer of this step.
    allowed: Vec<CallId>,
}

/// Everything that follows from a step beside the run's own events.
struct StepEffects {
    births: Vec<ChildStart>,
    remembered: Vec<PolicyRule>,
    new_mode: Option<(ApprovalMode, RuleOrigin)>,
}

impl RunDriver {
    /// Decides on a draft, commits, and only then lets the draft become the machine. What cannot be committed has not
    /// happened: requests are told so, and the run's own inputs wait for the next try.
    pub(super) async fn step(&mut self, ready: Vec<RunMessage>) {
        self.charge();
        if let Some((inputs, rest)) = self.collect(ready) {
            let step = self.decide(inputs, rest).await;
            self.commit(step).await;
        }
        self.check_next();
    }

    /// The inputs of a step, and what is left for the next; `None` = nothing can be written.
    fn collect(&mut self, ready: Vec<RunMessage>) -> Option<(Vec<RunInput>, Vec<RunInput>)> {
        let mut inputs = self.backlog.take();
        for message in ready {
            match message {
                RunMessage::Answer(answer) => self.check_answer(answer),
                RunMessage::Input(input) => inputs.push(input),
            }
        }
        let is_held = self.machine.is_parked() && !inputs.iter().any(|it| ends_parking(&it.input));
        if is_held && !inputs.is_empty() {
            // The store may let this through already, before the run is told that there is room.
            if self.backlog.is_disk_full() {
                self.keep_uncommitted(inputs, &StoreError::Full);
                return None;
            }
            inputs.push(RunInput::internal(MachineInput::Unparked));
        }
        // What was held back goes on only after the run does.
        inputs.sort_by_key(|message| !ends_parking(&message.input));
        Some(within(STEP_BYTES, inputs))
    }

    async fn decide(&mut self, mut inputs: Vec<RunInput>, rest: Vec<RunInput>) -> DecidedStep {
        self.seek_slot(&inputs);
        self.gate.hooks.refresh().await;
        let mut machine = self.machine.clone();
        self.watch_points(&mut machine);
        let mut drafts = Vec::new();
        let mut ends = Vec::with_capacity(inputs.len());
        let (mut keyed, mut allowed) = (None, Vec::new());
        let mut pace = StepPace::default();
        self.questions.begin_step();
        for message in &mut inputs {
            let input = self.with_partial(&machine, message.input.clone());
            self.tell_given_up(&mut machine, &input, &mut drafts);
            let has_no_room = machine.has_no_room_for(&input);
            let decided = machine.decide(input);
            let is_effect = !decided.is_empty();
            if is_effect {
                allowed.extend(self.take_work(message));
            }
            drafts.extend(decided);
            ends.push(match is_effect {
                true => Ok(drafts.len()),
                false if has_no_room => Err(RunMessageOutcome::NoRoom),
                false => Err(RunMessageOutcome::Nothing),
            });
            self.tell_passed_over(&mut machine, &message.input, &mut drafts);
            keyed = keyed.or_else(|| message.keyed.clone().filter(|_| is_effect));
            pace.reached(drafts.len()).await;
        }
        self.judge_now(&mut machine, &mut drafts, &mut pace).await;
        self.pass_points(&mut machine, &mut drafts);
        self.ask_for_budget(&mut machine, &mut drafts);
        self.look_at_servers(&mut machine, &mut drafts);
        self.look_at_editor(&mut machine, &mut drafts);
        carry_seed(&mut drafts, &self.seed);
        pace.reached(drafts.len()).await;
        DecidedStep { inputs, rest, machine, drafts, ends, keyed, allowed }
    }

    async fn commit(&mut self, mut step: DecidedStep) {
        let at = self.parts.clock.now();
        let mut events = pace::events(&self.identity, &step.drafts, at, self.machine.turn()).await;
        let births = self.births(&step.drafts);
        events.extend(births.iter().flat_map(|birth| birth.events(at)));
        let remembered = remembered(&step.drafts);
        events.extend(remembered.iter().map(|rule| policy_changed(rule, at)));
        let effects = StepEffects { births, remembered, new_mode: new_mode(&step.drafts, at) };
        let is_moving = step.drafts.iter().any(|draft| is_promotion(&draft.body));
        if is_moving {
            self.parts.common.lanes.unsettle(&self.identity.run);
        }
        match self.parts.store.append_keyed(events, step.keyed.take()).await {
            Ok(committed) => self.take_in(step, effects, committed).await,
            Err(error) => {
                drop(effects);
                if is_moving {
                    self.parts.common.lanes.keep(&self.identity.run);
                }
                let DecidedStep { mut inputs, rest, allowed, .. } = step;
                self.take_work_back(&mut inputs, &allowed);
                inputs.extend(rest);
                self.keep_uncommitted(inputs, &error);
            }
        }
    }

    /// The step is in the log, its events from `first` to `last`: the draft is the machine, and the world may follow.
    async fn take_in(
        &mut self,
        step: DecidedStep,
        effects: StepEffects,
        (first, last): (EventSeq, EventSeq),
    ) {
        let DecidedStep { mut inputs, rest, machine, drafts, ends, .. } = step;
        self.machine = machine;
        self.questions.end_step(&drafts);
        self.backlog.leave(rest);
        self.note_interviews(&inputs, &ends);
        self.take_meant(&mut inputs, &ends);
        self.absorb_paced(first, &drafts).await;
        self.tell_hooks(&drafts);
        self.name_session(&inputs);
        self.launch_all(effects.births, later(first, drafts.len()));
        for rule in effects.remembered {
            self.gate.project.rules.in_force().remember(rule);
        }
        if let Some((mode, origin)) = effects.new_mode {
            self.parts.common.modes.set(&self.asking.session, mode, last, Some(origin));
        }
        for (message, end) in inputs.into_iter().zip(ends) {
            self.is_decided(&message);
            // What is remembered of a request is the last event of its step.
            let is_keyed = message.keyed.is_some();
            let outcome = match end {
                Ok(_) if is_keyed => RunMessageOutcome::Done(last),
                Ok(end) => RunMessageOutcome::Done(later(first, end - 1)),
                Err(outcome) => outcome,
            };
            self.give_outcome(message, outcome);
        }
        self.end_edits();
    }
}
