//! What is asked of a living run, and what comes of it?

use tokio::sync::oneshot;

use crate::{
    gate::{AnswerRefusal, PreparedWork},
    machine::MachineInput,
};
use protocol::{CallId, ConfirmationAnswer, EventSeq, RevisionReason, RunId};
use serde_json::Value;
use store::{KeyedAnswer, StoreError};

/// The outcome of a request that a living run has read.
#[derive(Clone)]
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

/// Something for a living run.
#[expect(clippy::large_enum_variant, reason = "nearly all are inputs, and answers are rare")]
pub enum RunMessage {
    Input(RunInput),
    Answer(AnswerMessage),
}

/// An input, and whoever waits for its outcome. The reply comes once what it caused is durable.
pub struct RunInput {
    pub input: MachineInput,
    pub reply: Option<RunMessageReply>,
    /// What remembers the request, to be written with its effect.
    pub keyed: Option<KeyedAnswer>,
    /// Of an answer to a question that was checked: the call that it is about.
    pub answers: Option<AnsweredCall>,
}

/// A person's answer as it came. It is checked, and becomes an input by what it comes to.
pub struct AnswerMessage {
    pub answer: Box<ConfirmationAnswer>,
    pub reply: Option<RunMessageReply>,
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
        RunMessage::Input(RunInput::internal(input))
    }

    /// What somebody wants to know the outcome of.
    pub fn asking(input: MachineInput, reply: RunMessageReply) -> RunMessage {
        RunMessage::Input(RunInput { reply: Some(reply), ..RunInput::internal(input) })
    }

    /// The same, of which more is remembered than its effect.
    pub fn remembered(input: MachineInput, keyed: Option<KeyedAnswer>, reply: RunMessageReply) -> RunMessage {
        RunMessage::Input(RunInput { reply: Some(reply), keyed, ..RunInput::internal(input) })
    }

    pub fn answering(answer: ConfirmationAnswer, reply: RunMessageReply) -> RunMessage {
        RunMessage::Answer(AnswerMessage { answer: Box::new(answer), reply: Some(reply) })
    }

    /// True of a request that is written down with its effect.
    pub fn is_keyed(&self) -> bool {
        matches!(self, RunMessage::Input(RunInput { keyed: Some(_), .. }))
    }
}

impl RunInput {
    pub fn internal(input: MachineInput) -> RunInput {
        RunInput { input, reply: None, keyed: None, answers: None }
    }
}

impl AnswerMessage {
    /// Tells whoever answered what came of it.
    pub fn end(self, outcome: RunMessageOutcome) {
        tell(self.reply, Ok(outcome));
    }

    /// The same as an input, now that it was checked.
    pub fn into_input(self, input: MachineInput, answers: Option<AnsweredCall>) -> RunMessage {
        RunMessage::Input(RunInput { reply: self.reply, answers, ..RunInput::internal(input) })
    }
}

/// Tells those who asked, or answered, what came of it.
pub fn tell(
    replies: impl IntoIterator<Item = RunMessageReply>,
    outcome: Result<RunMessageOutcome, StoreError>,
) {
    for reply in replies {
        // Whoever asked may have gone; what happened is true all the same.
        let _gone = reply.send(outcome.clone());
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
