//! What is asked of living runs.

use super::{Answer, Executor, lock};
use crate::{
    protocol::{RunId, Seq},
    run::{driver::Message, machine::Input},
    store::{Keyed, StoreError},
    sys::ids,
};

/// What a cancel came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancelled {
    /// It stops; this is the last event the request caused.
    Stopping(Seq),
    /// It was stopping already, or is over.
    NothingToDo,
}

/// What became of a message to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steered {
    /// It is in the log; this is the last event the request caused.
    Kept(Seq),
    /// The run has ended, or has no further turn.
    NotActive,
}

/// What became of the wish to let a run go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promoted {
    First(Seq),
    /// It does not wait for its context.
    NotQueued,
}

/// The cancel is not durable.
#[derive(Debug, Clone, thiserror::Error)]
#[error(transparent)]
pub struct CancelError(#[from] pub StoreError);

impl Executor {
    /// Stops a run; its tools and the runs below it end first. Answers when that is durable.
    pub async fn cancel(
        &self,
        run: &RunId,
        by: Option<String>,
        reason: Option<String>,
    ) -> Result<Cancelled, CancelError> {
        // A run that nobody drives cannot be stopped, and saying that it was would be untrue.
        if let Some(error) = lock(&self.shared.stranded).get(run) {
            return Err(CancelError(error.clone()));
        }
        let reason = reason.map(|reason| self.shared.supplies.redactor.owned(reason));
        let input = Input::Cancel { by, reason, partial: None };
        let asked = self.ask(run, |reply| Message { input, reply: Some(reply), keyed: None }).await;
        match asked.transpose()? {
            Some(Answer::Decided(Some(seq))) => Ok(Cancelled::Stopping(seq)),
            Some(Answer::Decided(None) | Answer::Over) | None => Ok(Cancelled::NothingToDo),
        }
    }

    /// Says something to a run. Answers when that is durable; `keyed` is written with it.
    pub async fn steer(
        &self,
        run: &RunId,
        text: String,
        by: Option<String>,
        keyed: Option<Keyed>,
    ) -> Result<Steered, StoreError> {
        let text = self.shared.supplies.redactor.owned(text);
        let input = Input::Steer { id: ids::fresh(), text, by };
        let asked = self.ask(run, |reply| Message { input, reply: Some(reply), keyed }).await;
        match asked.transpose()? {
            Some(Answer::Decided(Some(seq))) => Ok(Steered::Kept(seq)),
            Some(Answer::Decided(None) | Answer::Over) | None => Ok(Steered::NotActive),
        }
    }

    /// Puts a run before all others that wait for its context.
    pub async fn promote(&self, run: &RunId, by: Option<String>) -> Result<Promoted, StoreError> {
        let input = Input::Promoted { by };
        let asked = self.ask(run, |reply| Message { input, reply: Some(reply), keyed: None }).await;
        match asked.transpose()? {
            Some(Answer::Decided(Some(seq))) => {
                // The log says so already; a run that got its turn meanwhile needs no place in the queue any more.
                self.shared.lanes.promote(run);
                Ok(Promoted::First(seq))
            }
            Some(Answer::Decided(None) | Answer::Over) | None => Ok(Promoted::NotQueued),
        }
    }
}
