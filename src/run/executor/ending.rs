//! Ending what nobody can drive: first the runs below it, then the run itself.

use std::time::Duration;

use super::{RunExecutor, resume::FoldedRun};
use crate::{
    child::{ChildCompletion, ChildLog},
    driver::RunIdentity,
    live_runs::LiveRunGuard,
    machine::{EventDraft, MachineInput, RunMachine},
};
use protocol::{RunId, ToolErrorType, ToolResult, UsageTotal};
use store::StoreError;
use sys::tasks::TaskPanic;
use tools::OutputLimits;

/// Between tries to end a run that nobody drives, when the store fails.
const RETRY: Duration = Duration::from_secs(1);
/// Tries to stop a run that cannot be read, before its caller ends without it.
const PATIENCE: u32 = 3;

impl RunExecutor {
    /// Ends a run whose driver panicked. Answers whether it has ended; one that cannot be ended is tried again.
    pub(super) async fn bury(&self, place: &LiveRunGuard, panicked: &TaskPanic) -> bool {
        let (run, id) = (&place.run, panicked.id.clone());
        tracing::error!(%run, %id, "a run's driver panicked");
        let ending = async {
            let FoldedRun { identity, machine, .. } = self.fold(run).await?;
            let input = MachineInput::Panicked { id, now: self.shared.clock.now() };
            Ok(self.wind_down(place, identity, machine, vec![input]).await)
        };
        self.unharmed(ending).await.unwrap_or_else(|why| {
            self.strand(run, why, 1);
            false
        })
    }

    /// Ends a run that has no driver: first the runs below it, then itself. Answers whether it has ended.
    pub(super) async fn wind_down(
        &self,
        place: &LiveRunGuard,
        identity: RunIdentity,
        mut machine: RunMachine,
        inputs: Vec<MachineInput>,
    ) -> bool {
        let mut inputs = inputs;
        for (call, run) in machine.open_children() {
            let end = tokio::select! {
                end = self.end_child(&run) => end,
                () = self.shared.stop.cancelled() => return false,
            };
            inputs.push(match end {
                Some(end) => end.settled(call, OutputLimits::default()),
                None => {
                    let message =
                        format!("the run {run} that answers the call cannot be read; its end is unknown");
                    let result = ToolResult::failure(ToolErrorType::Interrupted, message);
                    MachineInput::ChildSettled { call, result, spent: UsageTotal::default(), output: None }
                }
            });
        }
        let before = machine.turn();
        let drafts: Vec<EventDraft> = inputs.into_iter().flat_map(|input| machine.decide(input)).collect();
        loop {
            let events = identity.events(&drafts, self.shared.clock.now(), before);
            match self.shared.store.append(events).await {
                Ok(_) => return true,
                Err(error @ (StoreError::Full | StoreError::Database(_))) => {
                    tracing::warn!(run = %place.run, %error, "the end of a run could not be written; tried again");
                    tokio::select! {
                        () = self.shared.clock.sleep(RETRY) => (),
                        () = self.shared.stop.cancelled() => return false,
                    }
                }
                Err(error) => {
                    self.strand(&place.run, error, 1);
                    return false;
                }
            }
        }
    }

    /// Stops a run and waits for its end; `None` when it cannot be read back.
    async fn end_child(&self, run: &RunId) -> Option<ChildCompletion> {
        let mut log = ChildLog::of(&self.shared.store, run);
        let mut tries = 0;
        loop {
            let reason = "the run that called it cannot go on".to_owned();
            if let Err(error) = self.cancel(run, None, Some(reason)).await {
                tries += 1;
                if PATIENCE <= tries && self.stranded_by(run).is_some() {
                    return None;
                }
                tracing::warn!(%run, %error, "a run could not be stopped; tried again");
            }
            let ended = tokio::select! {
                ended = log.end(None) => ended,
                // It may not have been taken up yet.
                () = self.shared.clock.sleep(RETRY) => continue,
            };
            match ended {
                Ok(end) => return Some(end),
                Err(error) => {
                    tracing::warn!(%run, %error, "the end of a run cannot be read; tried again");
                    self.shared.clock.sleep(RETRY).await;
                }
            }
        }
    }
}
