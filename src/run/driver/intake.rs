//! What comes in: requests, what tasks came back with, and news of the disk and of the daemon's end.

use futures_util::FutureExt as _;
use tokio::{
    sync::mpsc,
    task::{Id, JoinError},
};

use super::{
    super::machine::{Input, Want},
    Driver, Landing, Message, STEP, STORE_RETRY,
};
use crate::protocol::{ToolErrorType, ToolResult};

impl Driver {
    /// Waits for an input, then takes all that are ready; `None` when the daemon stops.
    pub(super) async fn ready(&mut self, inbox: &mut mpsc::Receiver<Message>) -> Option<Vec<Message>> {
        let mut ready = Vec::new();
        // A parked run is told when there is room again.
        let retry = match self.uncommitted.is_empty() || self.machine.is_parked() {
            true => futures_util::future::pending().boxed(),
            false => self.parts.clock.sleep(STORE_RETRY),
        };
        tokio::select! {
            biased;
            () = self.parts.stop.cancelled() => return None,
            () = self.parts.closing.cancelled(), if !self.is_closing => self.close(),
            Ok(()) = self.fullness.changed() => {
                let is_full = *self.fullness.borrow_and_update();
                match is_full {
                    true => self.park().await,
                    false => ready.push(Message::internal(Input::Unparked)),
                }
            }
            () = retry => (),
            Some(message) = inbox.recv() => ready.push(message),
            Some(landed) = self.tasks.join_next_with_id() => self.landed(landed, &mut ready),
        }
        while ready.len() < STEP {
            // A request that is remembered is remembered with its own step.
            if ready.iter().any(|message| message.keyed.is_some()) {
                break;
            }
            if let Ok(message) = inbox.try_recv() {
                ready.push(message);
            } else if let Some(landed) = self.tasks.try_join_next_with_id() {
                self.landed(landed, &mut ready);
            } else {
                break;
            }
        }
        Some(ready)
    }

    fn landed(&mut self, landed: Result<(Id, Landing), JoinError>, ready: &mut Vec<Message>) {
        let task = match &landed {
            Ok((task, _)) => *task,
            Err(error) => error.id(),
        };
        let want = self.flights.iter().find(|(_, flight)| flight.task == task).map(|(want, _)| want.clone());
        if let Some(want) = &want {
            self.flights.remove(want);
        }
        match (landed, want) {
            (Ok((_, Landing::Input(input))), _) => ready.push(Message::internal(input)),
            (Ok((_, Landing::Thought(thought))), _) => {
                self.secret_arguments.extend(thought.secret_arguments);
                ready.push(Message::internal(thought.input));
            }
            (Ok((_, Landing::Judged(judged))), _) => {
                for (call, judgement, work) in judged {
                    self.prepared.extend(work.map(|it| (call.clone(), it)));
                    ready.push(Message::internal(Input::Judged { call, judgement }));
                }
            }
            (Ok((_, Landing::Context(transcript))), _) => {
                self.adopt(transcript);
                ready.push(Message::internal(Input::ContextFree));
            }
            (Ok((_, Landing::Slot(slot, transcript))), _) => {
                if let Some(transcript) = transcript {
                    self.adopt(transcript);
                }
                self.holdings.slot = Some(slot);
                self.machine.hold_slot();
                ready.push(Message::internal(Input::SlotTaken));
            }
            // Aborted, since nobody wanted it any more.
            (Err(error), _) if error.is_cancelled() => (),
            (Err(_panic), Some(Want::Tool { call } | Want::End { call })) => {
                let result = ToolResult::failure(
                    ToolErrorType::UnhandledException,
                    "the tool failed in a way it should not have; the daemon's log has more",
                );
                ready.push(Message::internal(Input::ToolFinished { call, result }));
            }
            // A defect outside of a tool ends the run, not the daemon.
            (Err(error), _) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}
