//! Judging the calls that a model asked for.

use std::{sync::Arc, task::Poll};

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::{
    super::{
        gate::CallGate,
        machine::{
            AnswerEffect, CallJudgement, CallRefusal, EventDraft, MachineInput, RunMachine, WantedTask,
        },
    },
    JudgedCallEntry, RunDriver, TaskOutput,
};
use protocol::{CallDetails, CompletionResult, JudgedCall, ToolCall};
use redact::Redactor;

impl RunDriver {
    /// Judging that needs no waiting joins the same commit; the rest goes on as a flight.
    pub(super) async fn judge_now(&mut self, machine: &mut RunMachine, drafts: &mut Vec<EventDraft>) {
        loop {
            let first = machine.unjudged().next().map(|it| it.call_id.clone());
            let Some(first) = first else { return };
            let want = WantedTask::Judge { first };
            if self.flights.contains_key(&want) {
                return;
            }
            let mut judging = self.judge_all(machine);
            match futures_util::poll!(&mut judging) {
                Poll::Ready(judged) => {
                    for (call, judgement, work) in judged {
                        self.prepared.extend(work.map(|it| (call.clone(), it)));
                        drafts.extend(machine.decide(MachineInput::Judged { call, judgement }));
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
        let question = self.gate.budget_question(limit, used, machine.limits().lent, &self.standing(machine));
        let question = Box::new(self.gate.shown(question));
        drafts.extend(machine.decide(MachineInput::AskBudget { question }));
    }

    /// Judges every call that waits for it, in the order asked.
    pub(super) fn judge_all(&self, machine: &RunMachine) -> BoxFuture<'static, Vec<JudgedCallEntry>> {
        let gate = Arc::clone(&self.gate);
        let calls: Vec<_> = machine.unjudged().map(|call| self.meant(call)).collect();
        let standing = self.standing(machine);
        Box::pin(async move {
            let mut judged = Vec::with_capacity(calls.len());
            for call in calls {
                let (judgement, work) = gate.judge(&call, &standing).await;
                let judgement = redacted(judgement, &gate);
                judged.push((call.call_id.clone(), judgement, work));
            }
            judged
        })
    }
}

impl RunDriver {
    /// A call as the model wrote it, also where the log does not keep that.
    pub(super) fn meant(&self, call: &Arc<ToolCall>) -> Arc<ToolCall> {
        match self.secret_arguments.get(&call.call_id) {
            Some(arguments) => {
                Arc::new(ToolCall { arguments: arguments.clone(), redacted: false, ..(**call).clone() })
            }
            None => Arc::clone(call),
        }
    }

    /// What is written down of an answer; what runs is what was allowed.
    pub(super) fn without_secrets(&self, settled: AnswerEffect) -> AnswerEffect {
        let redactor = &self.gate.supplies.redactor;
        match settled {
            AnswerEffect::Run { resolved, revised, details, arguments, prepared } => {
                let (details, arguments, prepared) = facts(details, arguments, prepared, redactor);
                AnswerEffect::Run { resolved, revised, details, arguments, prepared }
            }
            AnswerEffect::Revise { revised, prepared } => {
                AnswerEffect::Revise { revised, prepared: judged_accesses(prepared, redactor) }
            }
            AnswerEffect::Refuse { resolved, refusal } => {
                AnswerEffect::Refuse { resolved, refusal: refused(refusal, redactor) }
            }
            AnswerEffect::Result { resolved, result } => {
                AnswerEffect::Result { resolved, result: redactor.tool_result(result) }
            }
            other @ (AnswerEffect::CancelRun { .. }
            | AnswerEffect::Raise { .. }
            | AnswerEffect::EndBudget { .. }
            | AnswerEffect::Told { .. }) => other,
        }
    }
}

fn facts(
    details: CallDetails,
    mut arguments: Value,
    prepared: JudgedCall,
    redactor: &Redactor,
) -> (CallDetails, Value, JudgedCall) {
    redactor.value(&mut arguments);
    (redactor.call_details(details), arguments, judged_accesses(prepared, redactor))
}

fn judged_accesses(prepared: JudgedCall, redactor: &Redactor) -> JudgedCall {
    let accesses = prepared.accesses.into_iter().map(|access| redactor.access(access)).collect();
    JudgedCall { accesses, ..prepared }
}

/// What is written down of a judgement; what runs is what was judged.
fn redacted(judgement: CallJudgement, gate: &CallGate) -> CallJudgement {
    let redactor = &gate.supplies.redactor;
    match judgement {
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
    }
}

fn refused(refusal: CallRefusal, redactor: &Redactor) -> CallRefusal {
    CallRefusal { error: redactor.tool_error(refusal.error), ..refusal }
}
