//! What tools ask people while their calls run: put as questions of the run, and told when those are over.

use std::{collections::HashMap, sync::Arc};

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::{
    super::machine::{AnswerEffect, MachineInput},
    RunDriver, RunMessage, RunMessageOutcome, TaskOutput,
};
use protocol::{ConfirmationId, ConfirmationOutcome as Given, ConfirmationResolved, DecidedBy, Resolution};
use tools::{AnswerValidator, ElicitationOutcome, PendingToolElicitation};

/// What the tools of a run's calls ask.
pub(super) struct CallElicitations {
    inbox: (mpsc::Sender<PendingToolElicitation>, mpsc::Receiver<PendingToolElicitation>),
    /// Those that are asked now. In memory: whoever waits for the answers goes with the process.
    open: HashMap<ConfirmationId, OpenElicitation>,
}

impl CallElicitations {
    /// So many wait to be put; whoever has more waits.
    pub fn new(waiting: usize) -> CallElicitations {
        CallElicitations { inbox: mpsc::channel(waiting), open: HashMap::new() }
    }

    pub fn way_in(&self) -> mpsc::Sender<PendingToolElicitation> {
        self.inbox.0.clone()
    }

    /// Cancel safe.
    pub async fn next(&mut self) -> Option<PendingToolElicitation> {
        self.inbox.1.recv().await
    }
}

/// A question that a tool waits for.
struct OpenElicitation {
    check: AnswerValidator,
    reply: oneshot::Sender<ElicitationOutcome>,
    /// What was made of the answers, once they count.
    content: Option<Value>,
}

impl RunDriver {
    /// A tool asks: the machine says whether it may.
    pub(super) fn take_question(&mut self, asks: PendingToolElicitation, ready: &mut Vec<RunMessage>) {
        let PendingToolElicitation { call, subject, reply, gone } = asks;
        let known = self.machine.request(&call).zip(self.machine.prepared(&call));
        let Some((request, prepared)) = known.filter(|_| self.machine.may_ask(&call)) else {
            return too_much(reply);
        };
        let standing = self.standing(&self.machine);
        let question = Box::new(self.gate.tool_question(request, prepared, &subject, &standing));
        let confirmation = question.confirmation_id.clone();
        let interview = OpenElicitation { check: Arc::clone(&subject.check), reply, content: None };
        self.interviews.open.insert(confirmation.clone(), interview);
        self.tasks.spawn(async move {
            gone.cancelled().await;
            TaskOutput::Input(MachineInput::ToolStopsAsking { confirmation })
        });
        ready.push(RunMessage::internal(MachineInput::ToolAsks { call, question }));
    }

    /// What was decided of inputs that may be about tools' questions; it is committed.
    pub(super) fn note_interviews(
        &mut self,
        inputs: &[RunMessage],
        ends: &[Result<usize, RunMessageOutcome>],
    ) {
        let open = &mut self.interviews.open;
        for (message, end) in inputs.iter().zip(ends) {
            match &message.input {
                MachineInput::ToolAsks { question, .. } if end.is_err() => {
                    let refused = open.remove(&question.confirmation_id);
                    refused.into_iter().for_each(|it| too_much(it.reply));
                }
                MachineInput::Settled { confirmation, settled, .. } if end.is_ok() => {
                    if let AnswerEffect::Told { content, .. } = &**settled
                        && let Some(interview) = open.get_mut(confirmation)
                    {
                        interview.content.clone_from(content);
                    }
                }
                _ => (),
            }
        }
    }

    /// The log says that a question is over: whoever asked is told.
    pub(super) fn end_interview(&mut self, resolved: &ConfirmationResolved) {
        if let Some(interview) = self.interviews.open.remove(&resolved.confirmation_id) {
            let OpenElicitation { reply, content, .. } = interview;
            // It may have been taken back meanwhile.
            let _gone = reply.send(said(&resolved.resolution, content));
        }
    }

    /// How the answers to a tool's question are checked; `None` = nobody waits for them.
    pub(super) fn checks(&self, confirmation: &ConfirmationId) -> Option<AnswerValidator> {
        self.interviews.open.get(confirmation).map(|it| Arc::clone(&it.check))
    }
}

fn too_much(reply: oneshot::Sender<ElicitationOutcome>) {
    let why = "too much is asked at once, or the run is being stopped";
    // It may have been taken back meanwhile.
    let _gone = reply.send(ElicitationOutcome::No(Some(why.to_owned())));
}

/// What a resolution means for whoever asked. Only a person's consent is one.
fn said(resolution: &Resolution, content: Option<Value>) -> ElicitationOutcome {
    let message = resolution.message.clone();
    match resolution.by {
        DecidedBy::Client if resolution.outcome.is_consent() => ElicitationOutcome::Yes(content),
        DecidedBy::Client if resolution.outcome == Given::Deny => ElicitationOutcome::No(message),
        DecidedBy::Client => {
            ElicitationOutcome::Over(message.unwrap_or_else(|| "the run was cancelled".to_owned()))
        }
        DecidedBy::Policy | DecidedBy::Deadline | DecidedBy::System | DecidedBy::Hook => {
            ElicitationOutcome::Over(message.unwrap_or_else(|| "nobody decided it".to_owned()))
        }
    }
}
