//! What is asked of living runs.

use super::{ResumeError, RunExecutor};
use crate::{
    live_runs::{LiveRunReply, RunMessage, RunMessageOutcome, RunRequestError},
    machine::MachineInput,
};
use protocol::{CallId, EventSeq, RunId, RunState, SessionId, ToolResult};
use store::{KeyedAnswer, StoreError};
use sys::ids;

/// What a cancel came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelOutcome {
    /// It stops; this is the last event the request caused.
    Stopping(EventSeq),
    /// It was stopping already, or is over.
    NothingToDo,
}

/// What became of a message to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SteerOutcome {
    /// It is in the log; this is the last event the request caused.
    Kept(EventSeq),
    /// The run has ended, or has no further turn.
    NotActive,
}

/// What became of the wish to let a run go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromoteOutcome {
    First(EventSeq),
    /// It does not wait for its context.
    NotQueued,
}

impl RunExecutor {
    /// Stops a run; its tools and the runs below it end first. Answers when that is durable.
    pub async fn cancel(
        &self,
        run: &RunId,
        by: Option<String>,
        reason: Option<String>,
    ) -> Result<CancelOutcome, RunRequestError> {
        let reason = reason.map(|reason| self.supplies().redactor.owned(reason));
        loop {
            match self.stranded_by(run) {
                None => (),
                // A run that cannot be read cannot be stopped, and saying that it was would be untrue.
                Some(ResumeError::Store(error)) => return Err(RunRequestError::Store(error)),
                Some(ResumeError::Model(_) | ResumeError::Panic(_)) => {
                    // Boxed, since ending it may mean to cancel those below it.
                    match Box::pin(self.end_stranded(run, by.clone(), reason.clone())).await? {
                        Some(true) => return Ok(CancelOutcome::Stopping(self.shared.store.head())),
                        Some(false) => return Err(RunRequestError::AtRest(run.clone())),
                        None => (),
                    }
                }
            }
            let input = MachineInput::Cancel { by: by.clone(), reason: reason.clone(), partial: None };
            let asked = self.ask(run, |reply| RunMessage::asking(input, reply)).await;
            match self.decided(run, asked).await? {
                Some(seq) => return Ok(CancelOutcome::Stopping(seq)),
                // It was being taken up, and could not be.
                None if self.stranded_by(run).is_some() => (),
                None => return Ok(CancelOutcome::NothingToDo),
            }
        }
    }

    /// Says something to a run. Answers when that is durable; `keyed` is written with it.
    pub async fn steer(
        &self,
        run: &RunId,
        text: String,
        by: Option<String>,
        keyed: Option<KeyedAnswer>,
    ) -> Result<SteerOutcome, RunRequestError> {
        let text = self.supplies().redactor.owned(text);
        let input = MachineInput::Steer { id: ids::fresh(), text, by };
        let asked = self.ask(run, |reply| RunMessage::remembered(input, keyed, reply)).await;
        match self.decided(run, asked).await? {
            Some(seq) => Ok(SteerOutcome::Kept(seq)),
            None => Ok(SteerOutcome::NotActive),
        }
    }

    /// Takes a run that has not begun out of its queue: it ends `ABORTED`. `None` when it does not wait to begin.
    pub async fn remove(&self, run: &RunId, by: Option<String>) -> Result<Option<EventSeq>, RunRequestError> {
        let input = MachineInput::Removed { by };
        let asked = self.ask(run, |reply| RunMessage::asking(input, reply)).await;
        self.decided(run, asked).await
    }

    /// Puts a run before all others that wait for its context.
    pub async fn promote(&self, run: &RunId, by: Option<String>) -> Result<PromoteOutcome, RunRequestError> {
        let input = MachineInput::Promoted { by };
        let asked = self.ask(run, |reply| RunMessage::asking(input, reply)).await;
        match self.decided(run, asked).await? {
            Some(seq) => Ok(PromoteOutcome::First(seq)),
            None => Ok(PromoteOutcome::NotQueued),
        }
    }

    /// Ends a call that a client answers. Answers when that is durable; `keyed` is written with it. `None` when the call
    /// does not wait for it.
    pub async fn finish_client_call(
        &self,
        (run, session, call): (&RunId, &SessionId, &CallId),
        result: ToolResult,
        by: Option<String>,
        keyed: Option<KeyedAnswer>,
    ) -> Result<Option<EventSeq>, RunRequestError> {
        let (redactor, limits) = {
            let supplies = self.supplies();
            (supplies.redactor.clone(), supplies.defaults.output)
        };
        // As with every tool: first without its secrets, then cut, then told.
        let result = redactor.tool_result(result);
        let result = self.output_store().fit(result, session, call, limits).await;
        let input = MachineInput::ClientAnswered { call: call.clone(), result, by };
        let asked = self.ask(run, |reply| RunMessage::remembered(input, keyed, reply)).await;
        self.decided(run, asked).await
    }

    /// The last event that a request caused; `None` when there was nothing to do. To say that of a run which goes on at
    /// the next start would be untrue.
    pub(super) async fn decided(
        &self,
        run: &RunId,
        asked: Option<Result<LiveRunReply, StoreError>>,
    ) -> Result<Option<EventSeq>, RunRequestError> {
        match asked.transpose()? {
            Some(LiveRunReply::Decided(RunMessageOutcome::Done(seq))) => Ok(Some(seq)),
            Some(LiveRunReply::Decided(
                RunMessageOutcome::Nothing | RunMessageOutcome::AskedAgain(_) | RunMessageOutcome::Refused(_),
            )) => Ok(None),
            Some(LiveRunReply::Decided(RunMessageOutcome::NoRoom)) => {
                Err(RunRequestError::NoRoom(run.clone()))
            }
            Some(LiveRunReply::Decided(RunMessageOutcome::TooManyAnswers)) => {
                Err(RunRequestError::TooManyAnswers(run.clone()))
            }
            Some(LiveRunReply::Over) | None if self.shared.closing.is_cancelled() => {
                match self.shared.store.run(run).await? {
                    Some(record) if record.state != RunState::Ended => {
                        Err(RunRequestError::AtRest(run.clone()))
                    }
                    _ => Ok(None),
                }
            }
            Some(LiveRunReply::Over) | None => Ok(None),
        }
    }
}
