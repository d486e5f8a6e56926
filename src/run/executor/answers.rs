//! What people answer to a run, and what becomes of its questions when nobody does: a stand-in that only writes how each
//! question ended.

use super::{AskError, Executor};
use crate::{
    protocol::{
        Answer, Confirmation, ConfirmationId, ConfirmationResolved, ConfirmationRevised, DecidedBy,
        EventBody, EventHead, Outcome, Private, Resolution, RevisedBecause, RunId, Seq, Timestamp, Violation,
    },
    store::{NewEvent, StoreError},
};

/// What an answer came to.
pub struct Answered {
    pub seq: Seq,
    pub resolution: Resolution,
}

/// Why an answer decides nothing.
#[derive(Debug)]
pub enum AnswerError {
    Ask(AskError),
    /// Resolved already (or the run is over); the store has the resolution.
    Resolved,
    /// The subject is another one now.
    Stale(Box<Confirmation>),
    NotOffered(Vec<Outcome>),
    /// Changed arguments or answers that do not fit: every violation.
    Invalid(Vec<Violation>),
    /// The policy denies what was changed; the question stays open.
    Denied {
        rule: String,
        reason: String,
    },
}

/// What becomes of a question that nobody could answer, or whose time is over.
#[derive(Debug, Clone, PartialEq)]
pub enum Settling {
    /// `NO_CLIENT` (nobody could be asked) or by deadline: the call is denied with this message for the model.
    Deny {
        by: DecidedBy,
        message: String,
    },
    CancelRun {
        by: DecidedBy,
        message: String,
    },
    /// The run ends `UNATTENDED`.
    Fail {
        message: String,
    },
    Park,
    /// Nothing but another deadline.
    Postpone(Timestamp),
}

impl From<StoreError> for AnswerError {
    fn from(error: StoreError) -> AnswerError {
        AnswerError::Ask(AskError::Store(error))
    }
}

impl Executor {
    /// A person's answer.
    pub async fn answer(&self, _: &RunId, answer: Answer) -> Result<Answered, AnswerError> {
        let stored = self.shared.store.confirmation(&answer.confirmation).await?;
        let Some(stored) = stored.filter(|it| it.resolution.is_none()) else {
            return Err(AnswerError::Resolved);
        };
        let subject = stored.confirmation;
        if subject.digest != answer.digest {
            return Err(AnswerError::Stale(Box::new(subject)));
        }
        if subject.option(answer.outcome).is_none() {
            return Err(AnswerError::NotOffered(subject.options.iter().map(|it| it.outcome).collect()));
        }
        let resolution = Resolution {
            outcome: answer.outcome,
            by: DecidedBy::Client,
            name: answer.name,
            message: answer.message,
            rule: None,
            digest: answer.digest,
            at: self.shared.clock.now(),
        };
        let seq = self.conclude(&subject, resolution.clone()).await?;
        Ok(Answered { seq, resolution })
    }

    /// What becomes of a question that nobody could answer, or whose time is over. `None`: it was resolved meanwhile.
    pub async fn settle(
        &self,
        _: &RunId,
        confirmation: &ConfirmationId,
        how: Settling,
    ) -> Result<Option<Seq>, AskError> {
        let stored = self.shared.store.confirmation(confirmation).await?;
        let Some(stored) = stored.filter(|it| it.resolution.is_none()) else { return Ok(None) };
        let mut subject = stored.confirmation;
        let (outcome, by, message) = match how {
            Settling::Deny { by, message } => (Outcome::Deny, by, message),
            Settling::CancelRun { by, message } => (Outcome::CancelRun, by, message),
            Settling::Fail { message } => (Outcome::CancelRun, DecidedBy::System, message),
            Settling::Park => return Ok(Some(self.shared.store.head())),
            Settling::Postpone(at) => {
                subject.deadline_at = Some(at);
                let why = RevisedBecause::Deadline;
                let body = ConfirmationRevised { confirmation: Box::new(subject.clone()), why };
                return Ok(Some(self.say(&subject, body.into()).await?));
            }
        };
        let digest = subject.digest.clone();
        let at = self.shared.clock.now();
        let resolution =
            Resolution { outcome, by, name: None, message: Some(message), rule: None, digest, at };
        Ok(Some(self.conclude(&subject, resolution).await?))
    }

    /// A parked run goes on.
    pub async fn unpark(&self, _: &RunId) -> Result<Option<Seq>, AskError> {
        Ok(None)
    }

    async fn conclude(&self, subject: &Confirmation, resolution: Resolution) -> Result<Seq, StoreError> {
        let body = ConfirmationResolved {
            confirmation_id: subject.confirmation_id.clone(),
            tool_call_id: subject.tool_call_id.clone(),
            resolution,
            difference: None,
        };
        self.say(subject, body.into()).await
    }

    async fn say(&self, subject: &Confirmation, body: EventBody) -> Result<Seq, StoreError> {
        let event = NewEvent {
            at: self.shared.clock.now(),
            session: Some(subject.session_id.clone()),
            run: Some(subject.run_id.clone()),
            context: None,
            head: EventHead::default(),
            body,
            private: Private::default(),
        };
        Ok(self.shared.store.append(vec![event]).await?.1)
    }
}
