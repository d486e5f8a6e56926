//! Judging the calls that a model asked for.

use std::{sync::Arc, task::Poll};

use futures_util::future::BoxFuture;

use super::{
    super::{
        gate::Standing,
        machine::{Draft, Input, Judgement, RunMachine, Want},
    },
    Driver, Judged, Landing,
};
use crate::{
    protocol::{CompletionResult, PreparedCall, ToolCall},
    redact::Redactor,
};

impl Driver {
    /// Judging that needs no waiting joins the same commit; the rest goes on as a flight.
    pub(super) async fn judge_now(&mut self, machine: &mut RunMachine, drafts: &mut Vec<Draft>) {
        loop {
            let first = machine.unjudged().next().map(|it| it.call_id.clone());
            let Some(first) = first else { return };
            let want = Want::Judge { first };
            if self.flights.contains_key(&want) {
                return;
            }
            let mut judging = self.judge_all(machine);
            match futures_util::poll!(&mut judging) {
                Poll::Ready(judged) => {
                    for (call, judgement, work) in judged {
                        self.prepared.extend(work.map(|it| (call.clone(), it)));
                        drafts.extend(machine.decide(Input::Judged { call, judgement }));
                    }
                }
                Poll::Pending => {
                    self.launch(want, async move { Landing::Judged(judging.await) }, None);
                    return;
                }
            }
        }
    }

    /// Judges every call that waits for it, in the order asked.
    pub(super) fn judge_all(&self, machine: &RunMachine) -> BoxFuture<'static, Vec<Judged>> {
        let gate = Arc::clone(&self.gate);
        let meant = |call: &Arc<ToolCall>| match self.secret_arguments.get(&call.call_id) {
            Some(arguments) => {
                Arc::new(ToolCall { arguments: arguments.clone(), redacted: false, ..(**call).clone() })
            }
            None => Arc::clone(call),
        };
        let calls: Vec<_> = machine.unjudged().map(meant).collect();
        let standing = Standing::of(machine, self.parts.clock.now());
        Box::pin(async move {
            let mut judged = Vec::with_capacity(calls.len());
            for call in calls {
                let (judgement, work) = gate.judge(&call, standing).await;
                let judgement = redacted(judgement, &gate.supplies.redactor);
                judged.push((call.call_id.clone(), judgement, work));
            }
            judged
        })
    }
}

/// What is written down of a judgement; what runs is what was judged.
fn redacted(judgement: Judgement, redactor: &Redactor) -> Judgement {
    match judgement {
        Judgement::Run { details, mut arguments, prepared } => {
            redactor.value(&mut arguments);
            let accesses = prepared.accesses.into_iter().map(|access| redactor.access(access)).collect();
            let prepared = PreparedCall { accesses, ..prepared };
            Judgement::Run { details: redactor.call_details(details), arguments, prepared }
        }
        Judgement::Complete { result: CompletionResult { result, mut output } } => {
            if let Some(output) = &mut output {
                redactor.value(output);
            }
            Judgement::Complete { result: CompletionResult { result: redactor.owned(result), output } }
        }
        Judgement::Refuse(error) => Judgement::Refuse(redactor.tool_error(error)),
    }
}
