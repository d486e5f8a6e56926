//! Answers to runs' questions, and what becomes of those that nobody answers.

use super::RunExecutor;
use crate::{
    gate::AnswerRefusal,
    live_runs::{LiveRunReply, RunMessage, RunMessageOutcome, RunRequestError},
    machine::{MachineInput, UnansweredEffect},
};
use protocol::{
    Confirmation, ConfirmationAnswer, ConfirmationId, ConfirmationOutcome, EventSeq, Resolution,
    RevisionReason, RunId, SchemaViolation, ToolError,
};
use store::StoreError;

/// What a person's answer came to.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerOutcome {
    /// The event that says so.
    pub seq: EventSeq,
    pub resolution: Resolution,
}

/// The reason why an answer decided nothing.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AnswerError {
    #[error(transparent)]
    Ask(#[from] RunRequestError),
    #[error("the question is over")]
    Resolved,
    /// The question is another one now.
    #[error("the question is another one now")]
    Stale(Box<Confirmation>),
    /// The answer was taken, and what it made of the call is what is asked now, for this reason.
    #[error("what the answer had made of the call is asked about again")]
    AskedAgain(Box<Confirmation>, RevisionReason),
    #[error("this cannot be answered here")]
    NotOffered(Vec<ConfirmationOutcome>),
    #[error("what was changed, or answered, does not fit")]
    Invalid(Vec<SchemaViolation>),
    #[error("{}", .0.message)]
    Denied(ToolError),
}

impl From<StoreError> for AnswerError {
    fn from(error: StoreError) -> AnswerError {
        AnswerError::Ask(RunRequestError::Store(error))
    }
}

impl RunExecutor {
    /// A person's answer to a question of this run. The call is prepared and judged anew; the first valid answer counts.
    /// Answers after the commit.
    pub async fn answer(
        &self,
        run: &RunId,
        answer: ConfirmationAnswer,
    ) -> Result<AnswerOutcome, AnswerError> {
        let (id, digest) = (answer.confirmation.clone(), answer.digest.clone());
        let asked = self.ask(run, |reply| RunMessage::answering(answer, reply)).await;
        let outcome = match asked.transpose()? {
            Some(LiveRunReply::Decided(outcome)) => outcome,
            // Whatever is to be said of it is in the store.
            Some(LiveRunReply::Over) | None => RunMessageOutcome::Nothing,
        };
        match outcome {
            RunMessageOutcome::Refused(AnswerRefusal::NotOffered(offered)) => {
                return Err(AnswerError::NotOffered(offered));
            }
            RunMessageOutcome::Refused(AnswerRefusal::Invalid(violations)) => {
                return Err(AnswerError::Invalid(violations));
            }
            RunMessageOutcome::Refused(AnswerRefusal::Denied(error)) => {
                return Err(AnswerError::Denied(error));
            }
            RunMessageOutcome::NoRoom => return Err(RunRequestError::NoRoom(run.clone()).into()),
            RunMessageOutcome::TooManyAnswers => {
                return Err(RunRequestError::TooManyAnswers(run.clone()).into());
            }
            RunMessageOutcome::Done(_)
            | RunMessageOutcome::AskedAgain(_)
            | RunMessageOutcome::Nothing
            | RunMessageOutcome::Refused(AnswerRefusal::Stale) => (),
        }
        let stored = self.shared.store.confirmation(&id).await?;
        match (stored, outcome) {
            (Some(stored), RunMessageOutcome::Done(_)) => match stored.resolution {
                Some((seq, resolution)) => Ok(AnswerOutcome { seq, resolution }),
                None => Err(AnswerError::Stale(Box::new(stored.confirmation))),
            },
            (Some(stored), RunMessageOutcome::AskedAgain(why)) if stored.resolution.is_none() => {
                let fresh = Box::new(stored.confirmation);
                Err(match why {
                    RevisionReason::ChangedByHook | RevisionReason::AskedByHook => {
                        AnswerError::AskedAgain(fresh, why)
                    }
                    _ => AnswerError::Stale(fresh),
                })
            }
            (Some(stored), outcome) if stored.resolution.is_none() => {
                let was_refused = matches!(outcome, RunMessageOutcome::Refused(_));
                match self.live().contains(run) && (was_refused || stored.confirmation.digest != digest) {
                    true => Err(AnswerError::Stale(Box::new(stored.confirmation))),
                    // It is open as it was answered, and nobody drives the run that asks: the daemon is stopping, or it
                    // could not be taken up.
                    false => Err(RunRequestError::AtRest(run.clone()).into()),
                }
            }
            _ => Err(AnswerError::Resolved),
        }
    }

    /// What becomes of a question that nobody could answer, or whose time is over. `None` when it is over already.
    pub async fn settle(
        &self,
        run: &RunId,
        confirmation: &ConfirmationId,
        how: UnansweredEffect,
    ) -> Result<Option<EventSeq>, RunRequestError> {
        let input = MachineInput::Settle { confirmation: confirmation.clone(), how };
        let asked = self.ask(run, |reply| RunMessage::asking(input, reply)).await;
        self.decided(run, asked).await
    }

    /// Lets a run go on that is parked since nobody could be asked. `None` when it is not.
    pub async fn unpark(&self, run: &RunId, by: Option<String>) -> Result<Option<EventSeq>, RunRequestError> {
        let input = MachineInput::Unpark { by };
        let asked = self.ask(run, |reply| RunMessage::asking(input, reply)).await;
        self.decided(run, asked).await
    }
}
