//! Answers to runs' questions, and what becomes of those that nobody answers.

use super::{AskError, Executor};
use crate::{
    protocol::{
        Answer, Confirmation, ConfirmationId, Outcome as Offer, Resolution, RunId, Seq, ToolError, Violation,
    },
    run::{
        driver::{Message, Outcome},
        gate::Refused,
        machine::{Input, Settling},
    },
    store::StoreError,
};

/// What a person's answer came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// The event that says so.
    pub seq: Seq,
    pub resolution: Resolution,
}

/// Why an answer decided nothing.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AnswerError {
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error("the question is over")]
    Resolved,
    #[error("the question is another one now")]
    Stale(Box<Confirmation>),
    #[error("this cannot be answered here")]
    NotOffered(Vec<Offer>),
    #[error("what was changed, or answered, does not fit")]
    Invalid(Vec<Violation>),
    #[error("{}", .0.message)]
    Denied(ToolError),
}

impl From<StoreError> for AnswerError {
    fn from(error: StoreError) -> AnswerError {
        AnswerError::Ask(AskError::Store(error))
    }
}

impl Executor {
    /// A person's answer to a question of this run. The call is prepared and judged anew; the first valid answer counts.
    /// Answers after the commit.
    pub async fn answer(&self, run: &RunId, answer: Answer) -> Result<Answered, AnswerError> {
        let (id, digest) = (answer.confirmation.clone(), answer.digest.clone());
        let input = Input::Answer(Box::new(answer));
        let asked = self.ask(run, |reply| Message::asking(input, reply)).await;
        let outcome = match asked.transpose()? {
            Some(super::Answer::Decided(outcome)) => outcome,
            // Whatever is to be said of it is in the store.
            Some(super::Answer::Over) | None => Outcome::Nothing,
        };
        match outcome {
            Outcome::Refused(Refused::NotOffered(offered)) => return Err(AnswerError::NotOffered(offered)),
            Outcome::Refused(Refused::Invalid(violations)) => return Err(AnswerError::Invalid(violations)),
            Outcome::Refused(Refused::Denied(error)) => return Err(AnswerError::Denied(error)),
            Outcome::NoRoom => return Err(AskError::NoRoom(run.clone()).into()),
            Outcome::Done(_) | Outcome::Nothing | Outcome::Refused(Refused::Stale) => (),
        }
        let stored = self.shared.store.confirmation(&id).await?;
        match (stored, outcome) {
            (Some(stored), Outcome::Done(_)) => match stored.resolution {
                Some((seq, resolution)) => Ok(Answered { seq, resolution }),
                None => Err(AnswerError::Stale(Box::new(stored.confirmation))),
            },
            (Some(stored), outcome) if stored.resolution.is_none() => {
                let was_refused = matches!(outcome, Outcome::Refused(_));
                match self.live(run) && (was_refused || stored.confirmation.digest != digest) {
                    true => Err(AnswerError::Stale(Box::new(stored.confirmation))),
                    // It is open as it was answered, and nobody drives the run that asks: the daemon is stopping, or it
                    // could not be taken up.
                    false => Err(AskError::AtRest(run.clone()).into()),
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
        how: Settling,
    ) -> Result<Option<Seq>, AskError> {
        let input = Input::Settle { confirmation: confirmation.clone(), how };
        let asked = self.ask(run, |reply| Message::asking(input, reply)).await;
        self.decided(run, asked).await
    }

    /// Lets a run go on that is parked since nobody could be asked. `None` when it is not.
    pub async fn unpark(&self, run: &RunId, by: Option<String>) -> Result<Option<Seq>, AskError> {
        let input = Input::Unpark { by };
        let asked = self.ask(run, |reply| Message::asking(input, reply)).await;
        self.decided(run, asked).await
    }

    fn live(&self, run: &RunId) -> bool {
        self.runs().contains_key(run)
    }
}
