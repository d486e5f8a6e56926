//! What comes in: requests, what tasks came back with, and news of the disk and of the daemon's end.

use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio::sync::mpsc;

use super::{
    super::{
        live_runs::{RunInput, RunMessage, tell},
        machine::{EventDraft, MachineInput, NearMemoryNews, PartialReply, RunMachine, WantedTask},
        side_calls::EndingSideCalls,
        think::ModelCallResult,
    },
    RunDriver, STEP, STORE_RETRY, TaskOutput,
    in_flight::LandedTask,
};
use protocol::{EventBody, QueuedFor, RunQueued, ToolErrorType, ToolResult};
use store::StoreError;

impl RunDriver {
    /// Waits for an input, then takes all that are ready; `None` when the daemon stops.
    pub(super) async fn ready(&mut self, inbox: &mut mpsc::Receiver<RunMessage>) -> Option<Vec<RunMessage>> {
        if self.backlog.catches_up() && !self.parts.stop.is_cancelled() {
            return Some(Vec::new());
        }
        let mut ready = Vec::new();
        // A parked run is told when there is room again.
        let retry = match self.backlog.is_empty() || self.machine.is_parked() {
            true => futures_util::future::pending().boxed(),
            false => self.parts.clock.sleep(STORE_RETRY),
        };
        let hook_ends = Arc::clone(&self.hook_ends);
        tokio::select! {
            biased;
            () = self.parts.stop.cancelled() => return None,
            () = self.parts.closing.cancelled(), if !self.is_closing => self.close(),
            Some(is_full) = self.backlog.disk_changed() => match is_full {
                true => self.park().await,
                false => ready.push(RunMessage::internal(MachineInput::Unparked)),
            },
            () = retry => (),
            Some(message) = inbox.recv() => ready.push(message),
            Some(news) = self.news.next() => ready.push(RunMessage::internal(news)),
            ends = hook_ends.next() => self.take_hook_ends(ends, &mut ready),
            Some(asks) = self.interviews.next() => self.take_question(asks, &mut ready),
            Some(landed) = self.flights.next() => self.landed(landed, &mut ready),
        }
        while ready.len() < STEP {
            // A request that is remembered is remembered with its own step.
            if ready.iter().any(RunMessage::is_keyed) {
                break;
            }
            if let Ok(message) = inbox.try_recv() {
                ready.push(message);
            } else if let Some(news) = self.news.try_next() {
                // Before what ended, which may have told it.
                ready.push(RunMessage::internal(news));
            } else if let Some(landed) = self.flights.try_next() {
                self.landed(landed, &mut ready);
            } else {
                break;
            }
        }
        Some(ready)
    }

    /// An input that cuts off the model carries what the model had written; from here on it writes no more.
    pub(super) fn with_partial(&self, machine: &RunMachine, input: MachineInput) -> MachineInput {
        if !machine.is_stopped_by(&input) {
            return input;
        }
        // A reply in the same step may have begun another model call, of which nothing was written yet.
        let stream = machine.open_stream();
        let Some(live) = self.request.text_of(stream.as_deref()) else { return input };
        let (text, thought) = live.freeze();
        let metered = self.alternates.cut_off(machine.model(), self.request.meter());
        let written = Some(PartialReply { text, thought, metered });
        match input {
            MachineInput::Cancel { by, reason, .. } => MachineInput::Cancel { by, reason, partial: written },
            MachineInput::TimeSpent { .. } => MachineInput::TimeSpent { partial: written },
            other => other,
        }
    }

    /// Tells of questions beside the turns that nobody else tells of, before `input` ends those that it ends.
    pub(super) fn tell_given_up(
        &self,
        machine: &mut RunMachine,
        input: &MachineInput,
        drafts: &mut Vec<EventDraft>,
    ) {
        let ending = match input {
            MachineInput::GivenUp { .. } => EndingSideCalls::All,
            _ if machine.is_ended_by(input) => EndingSideCalls::AllButOfTools,
            _ => EndingSideCalls::None,
        };
        let asked = self.questions.give_up(ending, drafts);
        if !asked.is_empty() {
            drafts.extend(machine.decide(MachineInput::GivenUp { asked }));
        }
    }

    /// Tells of those whose answer came with `input`, if what it came for was over by then.
    pub(super) fn tell_passed_over(
        &self,
        machine: &mut RunMachine,
        input: &MachineInput,
        drafts: &mut Vec<EventDraft>,
    ) {
        if machine.is_finished() {
            return;
        }
        let asked = self.questions.passed_over(input, drafts);
        if !asked.is_empty() {
            drafts.extend(machine.decide(MachineInput::GivenUp { asked }));
        }
    }

    /// Questions beside the turns end with this daemon, and only it knows what they took.
    pub(super) async fn tell_what_ends_here(&mut self) {
        if !self.machine.is_finished() && self.questions.has_untold() {
            self.step(vec![RunMessage::internal(MachineInput::GivenUp { asked: Vec::new() })]).await;
        }
    }

    /// What was to be decided has not happened: requests are told so, and the run's own inputs wait for the next try.
    pub(super) fn keep_uncommitted(&mut self, inputs: Vec<RunInput>, error: &StoreError) {
        tracing::warn!(run = %self.identity.run, %error, "a step could not be committed; it is tried again");
        // A stop that did not happen cuts off nothing.
        self.request.thaw();
        for message in inputs {
            if message.reply.is_none() {
                self.backlog.keep(message);
                continue;
            }
            self.is_decided(&message);
            tell(message.reply, Err(error.clone()));
        }
    }

    fn landed(&mut self, landed: LandedTask, ready: &mut Vec<RunMessage>) {
        let want = self.flights.land(&landed);
        match (landed, want) {
            (Ok((_, TaskOutput::Input(input))), _) => ready.push(RunMessage::internal(input)),
            (Ok((_, TaskOutput::Thought(thought))), _) => {
                let ModelCallResult { ask, end, hooks, secret_arguments } = thought;
                for (call, arguments) in secret_arguments {
                    self.work.mean(call, arguments);
                }
                let input = MachineInput::ModelEnded { ask, hooks, end };
                ready.push(RunMessage::internal(input));
            }
            (Ok((_, TaskOutput::Judged(judged))), _) => {
                for (call, judged) in judged {
                    let input = self.take_judged(call, judged);
                    ready.push(RunMessage::internal(input));
                }
            }
            (Ok((_, TaskOutput::Checked(checked))), _) => self.checked(*checked, ready),
            (Ok((_, TaskOutput::CheckedCall(checked))), _) => self.checked_call(*checked, ready),
            (Ok((_, TaskOutput::Shown(checked))), _) => self.edit_shown(*checked, ready),
            (Ok((_, TaskOutput::ElicitationHooked(asks, advice))), _) => {
                self.take_advice(*asks, advice, ready)
            }
            (Ok((_, TaskOutput::ElicitationAnswered(hooks, reply, outcome))), _) => {
                self.take_answer((reply, outcome), *hooks, ready);
            }
            (Ok((_, TaskOutput::ChildAtRest(run))), _) => self.flights.leave_to_stop(run),
            (Ok((_, TaskOutput::Context(transcript))), _) => {
                self.adopt(transcript);
                ready.push(RunMessage::internal(MachineInput::ContextFree));
            }
            (Ok((_, TaskOutput::Slot(slot, transcript))), _) => {
                if let Some(transcript) = transcript {
                    self.adopt(transcript);
                }
                self.holdings.slot = Some(slot);
                self.machine.hold_slot();
                ready.push(RunMessage::internal(MachineInput::SlotTaken));
            }
            // Aborted, since nobody wanted it any more.
            (Err(error), _) if error.is_cancelled() => (),
            (Err(_panic), Some(WantedTask::Tool { call } | WantedTask::End { call })) => {
                let result = ToolResult::failure(
                    ToolErrorType::UnhandledException,
                    "the tool failed in a way it should not have; the daemon's log has more",
                );
                ready.push(RunMessage::internal(MachineInput::ToolFinished {
                    call,
                    result,
                    asked: Vec::new(),
                    near: NearMemoryNews::default(),
                }));
            }
            // A defect outside of a tool ends the run, not the daemon.
            (Err(error), _) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}

/// True if a parked run goes on with this.
pub(super) fn ends_parking(input: &MachineInput) -> bool {
    matches!(input, MachineInput::Unparked | MachineInput::Restarted { .. })
}

/// What goes into one step, in order, and what is left for the next.
pub(super) fn within(bytes: usize, mut inputs: Vec<RunInput>) -> (Vec<RunInput>, Vec<RunInput>) {
    let mut sum = 0;
    let fits = |message: &RunInput| {
        sum += message.input.result_bytes();
        sum <= bytes
    };
    let first_too_many = inputs.iter().map(fits).position(|fits| !fits);
    let rest = first_too_many.map(|at| inputs.split_off(at.max(1)));
    (inputs, rest.unwrap_or_default())
}

/// The run is put before all others that wait for its context.
pub(super) fn is_promotion(body: &EventBody) -> bool {
    matches!(body, EventBody::RunQueued(RunQueued { front: true, waits_for: QueuedFor::Context, .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::CallId;

    fn finished(call: &str, bytes: usize) -> RunInput {
        let result = ToolResult::text("x".repeat(bytes));
        RunInput::internal(MachineInput::ToolFinished {
            call: CallId::from(call),
            result,
            asked: Vec::new(),
            near: NearMemoryNews::default(),
        })
    }

    #[test]
    fn results_that_are_too_many_bytes_go_into_several_steps_in_order() {
        let overhead = finished("", 0).input.result_bytes();
        let mut left: Vec<RunInput> =
            [("a", 40), ("b", 40), ("c", 40), ("d", 500), ("e", 1)].map(|(call, n)| finished(call, n)).into();
        let mut steps = Vec::new();
        while !left.is_empty() {
            let (step, rest) = within(100 + 2 * overhead, left);
            steps.push(step.len());
            left = rest;
        }
        // What is too large by itself goes alone.
        assert_eq!(steps, [2, 1, 1, 1]);
        let (step, rest) = within(0, vec![RunInput::internal(MachineInput::ContextFree)]);
        assert_eq!((step.len(), rest.len()), (1, 0));
    }
}
