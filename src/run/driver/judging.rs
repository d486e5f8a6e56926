//! Judging the calls that a model asked for.

use std::{sync::Arc, task::Poll};

use futures_util::{
    future::BoxFuture,
    stream::{self, StreamExt as _},
};
use serde_json::Value;

use super::{
    super::{
        gate::{CallGate, CallToJudge, GateJudgement, JudgeContext},
        machine::{CallAnswer, CallJudgement, CallRefusal, EventDraft, MachineInput, RunMachine, WantedTask},
    },
    RunDriver, TaskOutput,
    pace::StepPace,
};
use crate::aside;
use protocol::{CallDetails, CallHooks, CallId, CompletionResult, JudgedCall, ToolCall};
use redact::Redactor;

/// Calls of one turn that are judged at once: each may read a file, and have hooks that run programs.
const JUDGED_AT_ONCE: usize = 16;
/// Calls that are judged before the thread is left to others. No usual turn has so many, so all of its calls join its commit.
const JUDGED_IN_A_ROW: usize = 64;

impl RunDriver {
    /// Judging that needs no waiting joins the same commit; the rest goes on as a flight.
    pub(super) async fn judge_now(
        &mut self,
        machine: &mut RunMachine,
        drafts: &mut Vec<EventDraft>,
        pace: &mut StepPace,
    ) {
        loop {
            let first = machine.unjudged().next().map(|it| it.call_id.clone());
            let Some(first) = first else { return };
            let want = WantedTask::Judge { first };
            if self.flights.has(&want) {
                return;
            }
            let mut judging = self.judge_all(machine);
            match futures_util::poll!(&mut judging) {
                Poll::Ready(judged) => {
                    for (call, judged) in judged {
                        let input = self.take_judged(call, judged);
                        drafts.extend(machine.decide(input));
                        pace.reached(drafts.len()).await;
                    }
                }
                Poll::Pending => {
                    self.launch(want, async move { TaskOutput::Judged(judging.await) }, None);
                    return;
                }
            }
        }
    }

    /// A run that has used up its budget asks for more in the commit in which it stops.
    pub(super) fn ask_for_budget(&self, machine: &mut RunMachine, drafts: &mut Vec<EventDraft>) {
        let Some((limit, used)) = machine.unasked_budget() else { return };
        let question =
            self.gate.budget_question(limit, used, machine.limits().inherited, &self.judge_context(machine));
        let question = Box::new(self.gate.shown(question));
        drafts.extend(machine.decide(MachineInput::AskBudget { question }));
    }

    /// Judges every call that waits for it; what came of them is in the order asked. Hooks of several calls run at once.
    pub(super) fn judge_all(&self, machine: &RunMachine) -> BoxFuture<'static, Vec<(CallId, GateJudgement)>> {
        let gate = Arc::clone(&self.gate);
        let calls: Vec<_> = machine.unjudged().map(|call| self.to_judge(machine, call)).collect();
        let judge_context = JudgeContext { scene: self.call_scene(machine), ..self.judge_context(machine) };
        let judging: Vec<BoxFuture<'static, _>> = calls
            .into_iter()
            .enumerate()
            .map(|(at, subject)| {
                let judging = judge(Arc::clone(&gate), subject, judge_context.clone());
                Box::pin(async move {
                    if at != 0 && at % JUDGED_IN_A_ROW == 0 {
                        tokio::task::yield_now().await;
                    }
                    judging.await
                }) as BoxFuture<'static, _>
            })
            .collect();
        Box::pin(stream::iter(judging).buffered(JUDGED_AT_ONCE).collect())
    }

    fn to_judge(&self, machine: &RunMachine, call: &Arc<ToolCall>) -> CallToJudge {
        CallToJudge {
            hooked: machine.hooked(&call.call_id),
            is_again: machine.prepared(&call.call_id).is_some(),
            attempt: machine.attempt_at(&call.call_id),
            call: self.work.meant(call),
        }
    }

    /// Everything that was found out about a call becomes an input; what carries it out is kept until it may run.
    pub(super) fn take_judged(&mut self, call: CallId, judged: GateJudgement) -> MachineInput {
        let GateJudgement { judgement, work, hooks, meant } = judged;
        if let Some(work) = work {
            self.work.keep(call.clone(), work);
        }
        if let Some(arguments) = meant {
            // From here on the call is what hooks made of it, also where the log may not say so.
            self.work.mean(call.clone(), arguments);
        }
        MachineInput::Judged { call, judgement, hooks: Box::new(hooks) }
    }
}

impl RunDriver {
    /// What is written down of an answer; what runs is what was allowed.
    pub(super) fn without_secrets(&self, settled: CallAnswer) -> CallAnswer {
        let redactor = &self.gate.supplies.redactor;
        match settled {
            CallAnswer::Run { resolved, revised, details, arguments, prepared, hooks } => {
                let (details, arguments, prepared) = facts(*details, arguments, *prepared, redactor);
                let (details, prepared) = (Box::new(details), Box::new(prepared));
                let hooks = Box::new(hooks.redacted(redactor));
                CallAnswer::Run { resolved, revised, details, arguments, prepared, hooks }
            }
            CallAnswer::Revise { revised, prepared, hooks } => {
                let (prepared, hooks) = (kept(prepared, redactor), Box::new(hooks.redacted(redactor)));
                CallAnswer::Revise { revised, prepared, hooks }
            }
            CallAnswer::Refuse { resolved, refusal, hooks } => {
                let (refusal, hooks) = (refused(refusal, redactor), Box::new(hooks.redacted(redactor)));
                CallAnswer::Refuse { resolved, refusal, hooks }
            }
            CallAnswer::Result { resolved, result } => {
                CallAnswer::Result { resolved, result: redactor.tool_result(result) }
            }
            CallAnswer::CancelRun { resolved } => CallAnswer::CancelRun { resolved },
        }
    }
}

async fn judge(
    gate: Arc<CallGate>,
    subject: CallToJudge,
    judge_context: JudgeContext,
) -> (CallId, GateJudgement) {
    let judge_context = JudgeContext { hooked: subject.hooked.clone(), ..judge_context };
    let (id, arguments) = (subject.call.call_id.clone(), Arc::clone(&subject.call));
    let judging = async move { redacted(gate.judge(&subject, &judge_context).await, &gate) };
    (id, aside::judged(&arguments.arguments, judging).await)
}

fn facts(
    details: CallDetails,
    mut arguments: Value,
    prepared: JudgedCall,
    redactor: &Redactor,
) -> (CallDetails, Value, JudgedCall) {
    redactor.value(&mut arguments);
    (redactor.call_details(details), arguments, kept(prepared, redactor))
}

/// Everything that is written down of a call that was prepared.
fn kept(prepared: JudgedCall, redactor: &Redactor) -> JudgedCall {
    let accesses = prepared.accesses.into_iter().map(|access| redactor.access(access)).collect();
    let hooks = prepared.hooks.map(|hooks| {
        let mut hooks = CallHooks::clone(&hooks);
        if let Some(arguments) = &mut hooks.arguments {
            hooks.redacted |= redactor.value(arguments);
        }
        hooks.context = hooks.context.map(|text| redactor.owned(text));
        if let Some(ask) = &mut hooks.ask {
            ask.reason = redactor.owned(std::mem::take(&mut ask.reason));
        }
        Arc::new(hooks)
    });
    JudgedCall { accesses, hooks, ..prepared }
}

/// What is written down of a judgement; what runs is what was judged.
fn redacted(judged: GateJudgement, gate: &CallGate) -> GateJudgement {
    let redactor = &gate.supplies.redactor;
    let judgement = match judged.judgement {
        CallJudgement::Run { details, arguments, prepared } => {
            let (details, arguments, prepared) = facts(details, arguments, prepared, redactor);
            CallJudgement::Run { details, arguments, prepared }
        }
        CallJudgement::Ask { details, arguments, prepared, confirmation } => {
            let (details, arguments, prepared) = facts(details, arguments, prepared, redactor);
            let confirmation = Box::new(gate.shown(*confirmation));
            CallJudgement::Ask { details, arguments, prepared, confirmation }
        }
        CallJudgement::Complete { result: CompletionResult { result, mut output } } => {
            if let Some(output) = &mut output {
                redactor.value(output);
            }
            CallJudgement::Complete { result: CompletionResult { result: redactor.owned(result), output } }
        }
        CallJudgement::Refuse(refusal) => CallJudgement::Refuse(refused(refusal, redactor)),
    };
    GateJudgement { judgement, hooks: judged.hooks.redacted(redactor), ..judged }
}

fn refused(refusal: CallRefusal, redactor: &Redactor) -> CallRefusal {
    CallRefusal { error: redactor.tool_error(refusal.error), ..refusal }
}
