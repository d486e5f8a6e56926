//! What does a driver ask of whoever owns the drivers?

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use super::{DriverParts, RunDriver};
use crate::live_runs::{LiveRunGuard, RunMessage, RunRequestError};
use protocol::{RunId, SessionId};

/// Starts and stops the runs that a run calls, beside all others, and does what outlives the run. A driver needs other drivers,
/// which need their owner, as it needs them: this is where that circle is cut.
pub trait ChildRuns: Send + Sync {
    /// Everything that a further driver works with.
    fn parts(&self) -> DriverParts;

    /// Lets a run live whose first events are in the log.
    fn drive(&self, driver: RunDriver, place: LiveRunGuard, inbox: mpsc::Receiver<RunMessage>);

    /// Stops a run; its tools and the runs below it end first. Answers when that is durable.
    fn stop<'a>(&'a self, run: &'a RunId, reason: String) -> BoxFuture<'a, Result<(), RunRequestError>>;

    /// True of a run that nobody drives, since it cannot be taken up.
    fn is_stranded(&self, run: &RunId) -> bool;

    /// Gives an open session this title, beside whatever goes on in it.
    fn name_session(&self, session: SessionId, title: String);
}
