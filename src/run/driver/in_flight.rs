//! What is under way for a run beside its driver, and what comes of it?

use std::collections::{BTreeMap, HashSet};

use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::{
    super::machine::{WantedTask, WantedTasks},
    TaskOutput,
};
use protocol::RunId;

/// What a task came back with, by its id.
pub(super) type LandedTask = Result<(Id, TaskOutput), JoinError>;

/// The tasks of a run: those that its machine wants, by what it wants, and those beside.
#[derive(Default)]
pub(super) struct InFlightTasks {
    /// Invariant: after the driver has reconciled, the keys equal `machine.wants()`, unless the daemon is closing.
    wanted: BTreeMap<WantedTask, InFlightTask>,
    tasks: JoinSet<TaskOutput>,
    /// Runs below this one that were to be stopped and have come to rest.
    left_to_stop: HashSet<RunId>,
}

struct InFlightTask {
    abort: AbortHandle,
    task: Id,
    /// Tells a tool to stop.
    cancel: Option<CancellationToken>,
}

impl InFlightTasks {
    /// Begins what is wanted.
    pub fn launch(
        &mut self,
        want: WantedTask,
        work: impl Future<Output = TaskOutput> + Send + 'static,
        cancel: Option<CancellationToken>,
    ) {
        let abort = self.tasks.spawn(work);
        let task = abort.id();
        self.wanted.insert(want, InFlightTask { abort, task, cancel });
    }

    /// Begins what goes on whatever the machine wants.
    pub fn launch_beside(&mut self, work: impl Future<Output = TaskOutput> + Send + 'static) {
        self.tasks.spawn(work);
    }

    pub fn has(&self, want: &WantedTask) -> bool {
        self.wanted.contains_key(want)
    }

    /// Everything that was wanted and has not come back.
    pub fn wanted(&self) -> impl Iterator<Item = &WantedTask> {
        self.wanted.keys()
    }

    /// Tells tools to stop that are to end, and aborts what is wanted no more.
    pub fn keep_to(&mut self, wants: &WantedTasks) {
        for want in wants {
            if let WantedTask::End { call } = want
                && let Some(flight) = self.wanted.remove(&WantedTask::Tool { call: call.clone() })
            {
                if let Some(cancel) = &flight.cancel {
                    cancel.cancel();
                }
                self.wanted.insert(want.clone(), flight);
            }
        }
        self.wanted.retain(|want, flight| {
            let is_wanted = wants.contains(want);
            if !is_wanted {
                flight.abort.abort();
            }
            is_wanted
        });
    }

    /// Cancel safe.
    pub async fn next(&mut self) -> Option<LandedTask> {
        self.tasks.join_next_with_id().await
    }

    pub fn try_next(&mut self) -> Option<LandedTask> {
        self.tasks.try_join_next_with_id()
    }

    /// Forgets a task that has come back; answers for what it was wanted.
    pub fn land(&mut self, landed: &LandedTask) -> Option<WantedTask> {
        let task = match landed {
            Ok((task, _)) => *task,
            Err(error) => error.id(),
        };
        let want =
            self.wanted.iter().find(|(_, flight)| flight.task == task).map(|(want, _)| want.clone())?;
        self.wanted.remove(&want);
        Some(want)
    }

    /// A run below was to be stopped and has come to rest: it is stopped after the next start.
    pub fn leave_to_stop(&mut self, run: RunId) {
        self.left_to_stop.insert(run);
    }

    pub fn is_left_to_stop(&self, run: &RunId) -> bool {
        self.left_to_stop.contains(run)
    }

    pub async fn shutdown(&mut self) {
        self.tasks.shutdown().await;
    }
}
