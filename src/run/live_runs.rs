//! Which runs are being driven, and how is each of them reached?

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::lanes::ContextLease;
use protocol::RunId;
use store::StoreError;

mod message;

pub use message::{
    AnswerMessage, AnsweredCall, RunInput, RunMessage, RunMessageOutcome, RunMessageReply, RunRequestError,
    tell,
};

/// Requests that may wait for a run before their senders wait too.
const INBOX: usize = 64;

/// The runs that are being driven. A cheap handle.
#[derive(Clone)]
pub struct LiveRuns {
    shared: Arc<LiveRunsState>,
}

struct LiveRunsState {
    runs: Mutex<HashMap<RunId, LiveRunHandle>>,
    /// Their number.
    count: watch::Sender<usize>,
}

/// The way to a living run.
#[derive(Clone)]
struct LiveRunHandle {
    inbox: mpsc::Sender<RunMessage>,
    /// Another run called it.
    is_child: bool,
    /// Cancelled when nothing drives the run any more.
    is_over: CancellationToken,
}

/// A run's place among the living. It is taken before the run is in the log, so that whoever sees the run there
/// also reaches it, and given back when it is dropped: after the run's last event.
pub struct LiveRunGuard {
    live_runs: LiveRuns,
    pub run: RunId,
    is_over: CancellationToken,
    /// A root run's right to its context, until its last event.
    pub pass: Option<ContextLease>,
}

/// The outcome of a request to a living run.
pub enum LiveRunReply {
    Decided(RunMessageOutcome),
    /// The run was over before the request was read.
    Over,
}

impl Default for LiveRuns {
    fn default() -> LiveRuns {
        let state = LiveRunsState { runs: Mutex::default(), count: watch::Sender::new(0) };
        LiveRuns { shared: Arc::new(state) }
    }
}

impl LiveRuns {
    /// Their number.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    /// The same, as it changes.
    pub fn watch_count(&self) -> watch::Receiver<usize> {
        self.shared.count.subscribe()
    }

    /// True of a run that is being driven, or about to be.
    pub fn contains(&self, run: &RunId) -> bool {
        self.lock().contains_key(run)
    }

    /// All of them: first those that nobody called.
    pub fn roots_first(&self) -> Vec<RunId> {
        let mut runs: Vec<(bool, RunId)> =
            self.lock().iter().map(|(run, handle)| (handle.is_child, run.clone())).collect();
        runs.sort();
        runs.into_iter().map(|(_, run)| run).collect()
    }

    /// Takes the run's place, and opens its inbox.
    pub fn take_place(&self, run: &RunId, is_child: bool) -> (LiveRunGuard, mpsc::Receiver<RunMessage>) {
        let (inbox, receiver) = mpsc::channel(INBOX);
        let is_over = CancellationToken::new();
        {
            let mut runs = self.lock();
            runs.insert(run.clone(), LiveRunHandle { inbox, is_child, is_over: is_over.clone() });
            self.shared.count.send_replace(runs.len());
        }
        (LiveRunGuard { live_runs: self.clone(), run: run.clone(), is_over, pass: None }, receiver)
    }

    /// Sends a request to a living run; `None` when nobody drives it.
    pub async fn ask(
        &self,
        run: &RunId,
        message: impl FnOnce(RunMessageReply) -> RunMessage,
    ) -> Option<Result<LiveRunReply, StoreError>> {
        let handle = self.lock().get(run).cloned()?;
        let (reply, answer) = oneshot::channel();
        // A message that nobody takes comes back; the answer's sender is dropped with it, which is an answer too.
        drop(handle.inbox.send(message(reply)).await);
        match answer.await {
            Ok(Ok(outcome)) => Some(Ok(LiveRunReply::Decided(outcome))),
            Ok(Err(error)) => Some(Err(error)),
            // The driver ended before it read the request: the run is over, or the daemon stops. What is still
            // to be written of the run, e.g. that its driver panicked, is waited for.
            Err(_) => {
                handle.is_over.cancelled().await;
                Some(Ok(LiveRunReply::Over))
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, LiveRunHandle>> {
        // Nothing panics while it holds the lock, so a poisoned one is whole.
        self.shared.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LiveRunGuard {
    pub fn hold(&mut self, pass: Option<ContextLease>) {
        self.pass = pass;
    }
}

impl Drop for LiveRunGuard {
    fn drop(&mut self) {
        {
            let mut runs = self.live_runs.lock();
            runs.remove(&self.run);
            // Under the lock, so that the last number said is the true one.
            self.live_runs.shared.count.send_replace(runs.len());
        }
        self.is_over.cancel();
    }
}
