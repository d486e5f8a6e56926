//! Runs that are unfinished and that nobody can drive: what is in the way, and when is it tried again?

use std::collections::BTreeMap;

use tokio_util::sync::{CancellationToken, DropGuard};

use super::{ResumeError, RunExecutor, lock, resume::FoldedRun};
use crate::machine::MachineInput;
use protocol::{RunId, RunState};
use store::{StoreError, UnfinishedRunRecord};

/// The runs, by id.
pub(super) type StrandedRuns = BTreeMap<RunId, ResumeRetry>;

pub(super) struct ResumeRetry {
    why: ResumeError,
    tries: u32,
    /// Ends the wait for the next try with the entry.
    _trying: DropGuard,
}

impl RunExecutor {
    /// Runs that are unfinished and that nobody drives, and why. They are tried again.
    pub fn stranded(&self) -> Vec<(RunId, ResumeError)> {
        let stranded = lock(&self.shared.stranded);
        stranded.iter().map(|(run, waiting)| (run.clone(), waiting.why.clone())).collect()
    }

    /// Whether nobody drives the run, since it cannot be taken up, and why.
    pub(super) fn stranded_by(&self, run: &RunId) -> Option<ResumeError> {
        lock(&self.shared.stranded).get(run).map(|waiting| waiting.why.clone())
    }

    /// Nobody drives the run; it is tried again after a while. `tries` counts the failures, this one among them.
    pub(super) fn strand(&self, run: &RunId, why: impl Into<ResumeError>, tries: u32) {
        let why = why.into();
        match tries {
            1 => tracing::error!(%run, %why, "the run cannot be taken up; it is tried again"),
            _ => tracing::debug!(%run, %why, tries, "the run still cannot be taken up"),
        }
        let (pause, is_over) = (why.pause(tries), CancellationToken::new());
        let waiting = ResumeRetry { why, tries, _trying: is_over.clone().drop_guard() };
        lock(&self.shared.stranded).insert(run.clone(), waiting);
        let (executor, run) = (self.clone(), run.clone());
        let trying = async move {
            tokio::select! {
                () = executor.shared.clock.sleep(pause) => executor.try_again_unharmed(&run, tries).await,
                () = is_over.cancelled() => (),
                () = executor.shared.closing.cancelled() => (),
            }
        };
        self.shared.tasks.spawn("what waits to take up a run again", trying);
    }

    /// A defect on the way must not leave the run to nobody.
    async fn try_again_unharmed(&self, run: &RunId, tries: u32) {
        let trying = async {
            self.try_again(run).await;
            Ok(())
        };
        if let Err(why) = self.unharmed(trying).await {
            self.strand(run, why, tries + 1);
        }
    }

    async fn try_again(&self, run: &RunId) {
        let known = lock(&self.shared.stranded).get(run).map(|waiting| (waiting.why.clone(), waiting.tries));
        let Some((why, tries)) = known else { return };
        let record = match self.shared.store.run(run).await {
            Ok(Some(record)) if record.state != RunState::Ended => record,
            // It has ended, or its session was removed.
            Ok(_) => {
                lock(&self.shared.stranded).remove(run);
                return;
            }
            Err(error) => return self.strand(run, error, tries + 1),
        };
        let left = {
            let mut stranded = lock(&self.shared.stranded);
            // A run that is begun while the daemon is drained would not be waited for.
            if self.is_draining() || !stranded.contains_key(run) {
                return;
            }
            // What could not drive it may still be about to let go of it.
            if self.live().contains(run) {
                drop(stranded);
                return self.strand(run, why, tries + 1);
            }
            // Under one lock, so that whoever asks for the run finds it here or there.
            stranded.remove(run);
            // Its rank was kept with its context.
            self.claim(UnfinishedRunRecord { record, rank: None }, tries)
        };
        self.take_up_again(left).await;
    }

    /// Ends a run that nobody drives. `None` when somebody took it up meanwhile; false when its end could not be written
    /// before the daemon stopped.
    pub(super) async fn end_stranded(
        &self,
        run: &RunId,
        by: Option<String>,
        reason: Option<String>,
    ) -> Result<Option<bool>, StoreError> {
        let FoldedRun { identity, machine, .. } = self.fold(run).await?;
        // Nobody answers the inbox: requests learn that the run is over when it is.
        let (place, waiting) = {
            let mut stranded = lock(&self.shared.stranded);
            if self.live().contains(run) {
                return Ok(None);
            }
            let Some(waiting) = stranded.remove(run) else { return Ok(None) };
            let (place, _unread) = self.live().take_place(run, identity.parent.is_some());
            (place, waiting)
        };
        let now = self.shared.clock.now();
        let restarted = MachineInput::Restarted { unclean: false, away_ms: None, now, known: Vec::new() };
        let inputs = vec![restarted, MachineInput::Cancel { by, reason, partial: None }];
        let has_ended = self.wind_down(&place, identity, machine, inputs).await;
        if has_ended {
            lock(&self.shared.resting).remove(run);
        } else if self.stranded_by(run).is_none() {
            self.strand(run, waiting.why, waiting.tries);
        }
        Ok(Some(has_ended))
    }
}
