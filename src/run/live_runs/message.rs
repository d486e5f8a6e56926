//! What is asked of a living run, and what comes of it?

use tokio::sync::oneshot;

use crate::{
    gate::{AnswerRefusal, PreparedWork},
    machine::MachineInput,
};
use protocol::{CallId, EventSeq, RevisionReason, RunId};
use serde_json::Value;
use store::{KeyedAnswer, StoreError};

/// The outcome of a request that a living run has read.
pub enum RunMessageOutcome {
    /// The last event it caused is durable.
    Done(EventSeq),
    /// An answer by which the question is another one now, and why.
    AskedAgain(RevisionReason),
    /// Too many answers wait for one before them, so this one was not taken.
    TooManyAnswers,
    /// There was nothing to do.
    Nothing,
    /// So much waits to be read by the run's model that this was not kept.
    NoRoom,
    /// An answer that decides nothing, and why.
    Refused(AnswerRefusal),
}

/// The way back for the outcome of a request.
pub type RunMessageReply = oneshot::Sender<Result<RunMessageOutcome, StoreError>>;

/// A request to a living run. The reply comes once what it caused is durable.
pub struct RunMessage {
    pub input: MachineInput,
    pub reply: Option<RunMessageReply>,
    /// What remembers the request, to be written with its effect.
    pub keyed: Option<KeyedAnswer>,
    /// Of an answer to a question that was checked: the call that it is about.
    pub answers: Option<AnsweredCall>,
}

/// The call that an answer is about which was checked. The work that it allows goes with it: it is nobody else's, and is lost with
/// the answer when another one was first.
pub struct AnsweredCall {
    pub call: CallId,
    pub work: Option<PreparedWork>,
    /// The arguments that hooks made of an answer which changed the call: whatever is asked about it next is about these.
    pub meant: Option<Value>,
    /// The arguments that an edit makes which is to be written down before hooks are asked about it, with the secrets in them.
    pub edited: Option<Value>,
}

impl RunMessage {
    pub fn internal(input: MachineInput) -> RunMessage {
        RunMessage { input, reply: None, keyed: None, answers: None }
    }

    /// What somebody wants to know the outcome of.
    pub fn asking(input: MachineInput, reply: RunMessageReply) -> RunMessage {
        RunMessage { input, reply: Some(reply), keyed: None, answers: None }
    }

    /// A request of which more is remembered than its effect.
    pub fn remembered_as(self, keyed: Option<KeyedAnswer>) -> RunMessage {
        RunMessage { keyed, ..self }
    }

    /// Tells whoever asked what came of it.
    pub fn answer(self, outcome: Result<RunMessageOutcome, StoreError>) {
        if let Some(reply) = self.reply {
            // Whoever asked may have gone.
            let _gone = reply.send(outcome);
        }
    }
}

/// The reason why nothing was asked of a run.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RunRequestError {
    /// What was asked is not durable.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Nobody drives it any more until the next start.
    #[error("run {0} has come to rest, since the daemon is stopping; it goes on at the next start")]
    AtRest(RunId),
    #[error("so much was said to run {0} that its model has not read yet that more is not kept")]
    NoRoom(RunId),
    #[error(
        "so many answers to a question of run {0} wait for what comes of the one before them that more are not taken"
    )]
    TooManyAnswers(RunId),
}
