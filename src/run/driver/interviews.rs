//! What tools ask people while their calls run: put as questions of the run, and told when those are over.

use std::{collections::HashMap, sync::Arc};

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::{
    super::{
        hooks::{ELICITATION_EVENTS, ElicitationAdvice, ElicitationHooks},
        machine::{AnswerEffect, HookEffects, MachineInput, ToolAnswer},
    },
    RunDriver, RunMessage, RunMessageOutcome, TaskOutput,
};
use crate::live_runs::RunInput;
use protocol::{
    CallId, ConfirmationId, ConfirmationOutcome as Given, ConfirmationResolved, DecidedBy, Resolution,
};
use sys::ids;
use tools::{AnswerValidator, ElicitationOutcome, PendingToolElicitation, ServerElicitation};

/// What the tools of a run's calls ask.
pub(super) struct CallElicitations {
    inbox: (mpsc::Sender<PendingToolElicitation>, mpsc::Receiver<PendingToolElicitation>),
    /// Those that are asked now. In memory: whoever waits for the answers goes with the process.
    open: HashMap<ConfirmationId, OpenElicitation>,
    /// Answers that hooks gave, or left, until that is committed.
    held: HashMap<String, (oneshot::Sender<ElicitationOutcome>, ElicitationOutcome)>,
}

impl CallElicitations {
    /// So many wait to be put; whoever has more waits.
    pub fn new(waiting: usize) -> CallElicitations {
        CallElicitations { inbox: mpsc::channel(waiting), open: HashMap::new(), held: HashMap::new() }
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
    /// Only of what an MCP server asks, with its call.
    server: Option<(CallId, ServerElicitation)>,
}

impl RunDriver {
    /// A tool asks. What an MCP server asks is shown to hooks before a person sees it.
    pub(super) fn take_question(&mut self, asks: PendingToolElicitation, ready: &mut Vec<RunMessage>) {
        let hooked =
            asks.subject.server.clone().and_then(|server| self.elicitation_hooks(&asks.call, server));
        let Some(hooked) = hooked else { return self.put_question(asks, ready) };
        self.flights.launch_beside(async move {
            let gone = asks.gone.clone();
            let advice = tokio::select! {
                biased;
                () = gone.cancelled() => None,
                advice = hooked.before() => Some(Box::new(advice)),
            };
            TaskOutput::ElicitationHooked(Box::new(asks), advice)
        });
    }

    /// Hooks had their say on what a server asks; nothing where nobody waits for an answer any more.
    pub(super) fn take_advice(
        &mut self,
        mut asks: PendingToolElicitation,
        advice: Option<Box<ElicitationAdvice>>,
        ready: &mut Vec<RunMessage>,
    ) {
        let Some(advice) = advice else { return };
        let ElicitationAdvice { hooks, outcome, advice } = *advice;
        let question: String = ids::fresh();
        let is_over = outcome.is_some();
        if hooks != HookEffects::default() || is_over {
            let hooks = Box::new(hooks);
            ready.push(RunMessage::internal(MachineInput::HooksAsked { question: question.clone(), hooks }));
        }
        match outcome {
            Some(outcome) => drop(self.interviews.held.insert(question, (asks.reply, outcome))),
            None => {
                if let Some(advice) = advice {
                    asks.subject.reason = format!("{}; {advice}", asks.subject.reason);
                }
                self.put_question(asks, ready);
            }
        }
    }

    /// The answer to a server's question as hooks left it: it is given when what they said is committed.
    pub(super) fn take_answer(
        &mut self,
        (reply, outcome): (oneshot::Sender<ElicitationOutcome>, ElicitationOutcome),
        hooks: HookEffects,
        ready: &mut Vec<RunMessage>,
    ) {
        let question: String = ids::fresh();
        self.interviews.held.insert(question.clone(), (reply, outcome));
        ready.push(RunMessage::internal(MachineInput::HooksAsked { question, hooks: Box::new(hooks) }));
    }

    fn elicitation_hooks(&self, call: &CallId, server: ServerElicitation) -> Option<ElicitationHooks> {
        let hooks = &self.gate.hooks;
        hooks.may_fire_any(ELICITATION_EVENTS).then(|| ElicitationHooks {
            hooks: hooks.clone(),
            scene: self.scene(&self.machine),
            redactor: self.gate.supplies.redactor.clone(),
            call: call.clone(),
            about: ids::fresh(),
            server,
        })
    }

    /// Puts a question: the machine says whether it may.
    fn put_question(&mut self, asks: PendingToolElicitation, ready: &mut Vec<RunMessage>) {
        let PendingToolElicitation { call, subject, reply, gone } = asks;
        let known = self.machine.request(&call).zip(self.machine.prepared(&call));
        let Some((request, prepared)) = known.filter(|_| self.machine.may_ask(&call)) else {
            return too_much(reply);
        };
        let judge_context = self.judge_context(&self.machine);
        let question = Box::new(self.gate.tool_question(request, prepared, &subject, &judge_context));
        let confirmation = question.confirmation_id.clone();
        let interview = OpenElicitation {
            check: Arc::clone(&subject.check),
            reply,
            content: None,
            server: subject.server.clone().map(|server| (call.clone(), server)),
        };
        self.interviews.open.insert(confirmation.clone(), interview);
        self.flights.launch_beside(async move {
            gone.cancelled().await;
            TaskOutput::Input(MachineInput::ToolStopsAsking { confirmation })
        });
        ready.push(RunMessage::internal(MachineInput::ToolAsks { call, question }));
    }

    /// What was decided of inputs that may be about tools' questions; it is committed.
    pub(super) fn note_interviews(&mut self, inputs: &[RunInput], ends: &[Result<usize, RunMessageOutcome>]) {
        let CallElicitations { open, held, .. } = &mut self.interviews;
        for (message, end) in inputs.iter().zip(ends) {
            match &message.input {
                MachineInput::ToolAsks { question, .. } if end.is_err() => {
                    let refused = open.remove(&question.confirmation_id);
                    refused.into_iter().for_each(|it| too_much(it.reply));
                }
                MachineInput::HooksAsked { question, .. } => {
                    // Where the run is over, nobody answers any more.
                    let answer = held.remove(question).filter(|_| end.is_ok() || !self.machine.is_finished());
                    if let Some((reply, outcome)) = answer {
                        // It may have been taken back meanwhile.
                        let _gone = reply.send(outcome);
                    }
                }
                MachineInput::Settled { confirmation, settled, .. } if end.is_ok() => {
                    if let AnswerEffect::Tool(ToolAnswer::Told { content, .. }) = &**settled
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
            let OpenElicitation { reply, content, server, .. } = interview;
            let outcome = said(&resolved.resolution, content);
            let is_answer = !matches!(outcome, ElicitationOutcome::Over(_));
            let hooked = server.filter(|_| is_answer);
            match hooked.and_then(|(call, server)| self.elicitation_hooks(&call, server)) {
                Some(hooked) => self.flights.launch_beside(async move {
                    let (hooks, outcome) = hooked.after(outcome).await;
                    TaskOutput::ElicitationAnswered(Box::new(hooks), reply, outcome)
                }),
                // It may have been taken back meanwhile.
                None => drop(reply.send(outcome)),
            }
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
