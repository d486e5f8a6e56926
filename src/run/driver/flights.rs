//! What is in flight: begins what the machine wants, ends what it no longer wants.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use super::{
    super::{
        gate::{JudgeContext, PreparedWork},
        lanes::LeaseHandle,
        machine::{MachineInput, NearMemoryNews, WantedTask},
        near_memory,
        transcript::ContextTranscript,
    },
    RunDriver, STORE_RETRY, TaskOutput,
    identity::logged,
};
use crate::aside::without_secrets;
use protocol::{CallId, ToolEffect, ToolErrorType, ToolResult};
use tools::{self, CallContext, CallRedelivery, ModelAccess, ToolElicitation};

/// Characters of a skill's text that a model gets at once: as many as a compression tells again, in bytes.
const SKILL_CHARS: usize = 64 * 1024;

/// How long a tool may take to stop before it is dropped (spec 03: "then killed after 2 s").
const STOP_GRACE: Duration = Duration::from_secs(2);

impl RunDriver {
    /// Aborts what is no longer wanted, begins what is not yet in flight.
    pub(super) fn reconcile(&mut self) {
        let wants = self.machine.wants();
        self.flights.keep_to(&wants);
        if !matches!(wants.first(), Some(WantedTask::Model(_))) {
            self.request.close();
        }
        for want in wants {
            if !self.flights.has(&want) {
                self.begin(want);
            }
        }
    }

    fn begin(&mut self, want: WantedTask) {
        match &want {
            // A closing daemon asks no model any more: the next one does.
            WantedTask::Model(_) if self.is_closing => (),
            WantedTask::Model(ask) => self.begin_thinking(*ask, want),
            WantedTask::SideCall(_) if self.is_closing => (),
            WantedTask::SideCall(side_call) => self.begin_side_call(*side_call, want),
            WantedTask::Child { call, run } => {
                let settled = self.await_child(call.clone(), run.clone(), false);
                self.launch(want, settled, None);
            }
            WantedTask::EndChild { run, .. } if self.flights.is_left_to_stop(run) => (),
            WantedTask::EndChild { call, run } => {
                let settled = self.await_child(call.clone(), run.clone(), true);
                self.launch(want, settled, None);
            }
            WantedTask::Context => self.begin_context(want),
            WantedTask::Slot => self.begin_queueing(want),
            WantedTask::Backoff { ask, not_before } => {
                let ask = *ask;
                let wait = self.parts.clock.sleep(not_before.since(self.parts.clock.now()));
                let backoff = async move {
                    wait.await;
                    TaskOutput::Input(MachineInput::BackoffOver { ask })
                };
                self.launch(want, backoff, None);
            }
            WantedTask::Judge { .. } => {
                let judging = self.judge_all(&self.machine);
                self.launch(want, async move { TaskOutput::Judged(judging.await) }, None);
            }
            // A closing daemon leaves them to the next one: the edit is in the log.
            WantedTask::Edit { .. } if self.is_closing => (),
            WantedTask::Edit { call } => self.begin_edit(&call.clone(), want),
            WantedTask::Hooks(point) => self.begin_hooks(point.clone(), want),
            WantedTask::Tool { call } => self.begin_tool(call.clone(), want),
            WantedTask::End { call } => {
                // A call that was never begun here: it was executing when the machine was folded.
                let call = call.clone();
                let message = "the call was not running any more when it was to be stopped";
                let result = ToolResult::failure(ToolErrorType::Cancelled, message);
                let (asked, near) = (Vec::new(), NearMemoryNews::default());
                let ended = async move {
                    TaskOutput::Input(MachineInput::ToolFinished { call, result, asked, near })
                };
                self.launch(want, ended, None);
            }
            WantedTask::Timer { due_us } => {
                let left = Duration::from_micros(due_us.saturating_sub(self.machine.active_us()));
                let since_charged = self.parts.clock.monotonic().saturating_sub(self.charged_at);
                let sleep = self.parts.clock.sleep(left.saturating_sub(since_charged));
                let timer = async move {
                    sleep.await;
                    TaskOutput::Input(MachineInput::TimeSpent { partial: None })
                };
                self.launch(want, timer, None);
            }
        }
    }

    /// Waits until no run before this one is left in the context, then reads what is in it.
    fn begin_context(&mut self, want: WantedTask) {
        // Only root runs wait for a context, and each has its turn.
        let Some(turn) = self.holdings.turn.clone() else { return };
        let reading = self.read_context(turn);
        self.launch(want, async move { TaskOutput::Context(reading.await) }, None);
    }

    /// Waits for a slot. A run that has not begun waits for its context first, also when it had it before a restart:
    /// what is in it may have changed.
    fn begin_queueing(&mut self, want: WantedTask) {
        let (slots, session) = (self.parts.common.slots.clone(), self.identity.session.clone());
        let turn = self.holdings.turn.clone().filter(|_| !self.machine.has_begun());
        let Some(turn) = turn else {
            let ticket = slots.queue(&session, self.machine.has_begun());
            return self.launch(want, async move { TaskOutput::Slot(ticket.slot().await, None) }, None);
        };
        let reading = self.read_context(turn);
        let queueing = async move {
            let transcript = reading.await;
            TaskOutput::Slot(slots.queue(&session, false).slot().await, Some(transcript))
        };
        self.launch(want, queueing, None);
    }

    fn read_context(&self, turn: LeaseHandle) -> impl Future<Output = ContextTranscript> + Send + 'static {
        let LeaseHandle { context, granted } = turn;
        let (store, clock) = (self.parts.store.clone(), Arc::clone(&self.parts.clock));
        async move {
            granted.cancelled().await;
            loop {
                match ContextTranscript::of(&store, &context).await {
                    Ok(transcript) => return transcript,
                    Err(error) => {
                        tracing::warn!(%context, %error, "a context cannot be read; tried again");
                        clock.sleep(STORE_RETRY).await;
                    }
                }
            }
        }
    }

    fn begin_tool(&mut self, call: CallId, want: WantedTask) {
        // Both are there for every wanted call: it was asked for, and judged before it was scheduled.
        let Some(request) = self.machine.request(&call).cloned() else { return };
        let Some(judged) = self.machine.prepared(&call).cloned() else { return };
        let cancel = CancellationToken::new();
        let clock = Arc::clone(&self.parts.clock);
        let session = self.identity.session.clone();
        let asking = Arc::new(self.tool_asking(&self.machine));
        let cx = CallContext {
            session: session.clone(),
            cancel: cancel.clone(),
            deadline: None,
            clock: Arc::clone(&clock),
            output: self.open_calls.output(&call),
            // What was prepared is kept in memory; without it the call was begun by another process.
            retelling: CallRedelivery::new(
                self.news.way_in_for_retold(),
                self.work.prepared(&call).is_none(),
            ),
            model_access: Some(Arc::clone(&asking) as Arc<dyn ModelAccess>),
            people: ToolElicitation::of(call.clone(), self.interviews.way_in()),
            span: self.call_span(&call),
        };
        let shown = cx.output.clone();
        let gate = Arc::clone(&self.gate);
        let prepared = self.work.take(&call);
        let judge_context =
            JudgeContext { hooked: self.machine.hooked(&call), ..self.judge_context(&self.machine) };
        let stopped = cancel.clone();
        let guard = cancel.clone().drop_guard();
        let redactor = gate.supplies.redactor.clone();
        let common = Arc::clone(&self.parts.common);
        let outputs = gate.supplies.own_files.outputs().clone();
        let limits = gate.prepare.output;
        let (near, touched) = (self.transcript.near_memory().clone(), judged.accesses.clone());
        let telling = (Arc::clone(&gate), Arc::clone(&judge_context.asking));
        let running = async move {
            // Aborting the task cancels whatever the tool left behind.
            let _guard = guard;
            let work = async {
                let work = match prepared {
                    Some(work) => work,
                    // After a restart: prepared anew, and therefore judged anew.
                    None => match gate.prepare_again(&request, &judge_context).await {
                        Ok(work) => work,
                        Err(refusal) => return refusal.into(),
                    },
                };
                // A name that meant a tool when the call was judged may mean an agent after a restart.
                let PreparedWork::Tool(invocation) = work else {
                    let message =
                        format!("`{}` is an agent now; call it again if you still need it", request.name);
                    return ToolResult::failure(ToolErrorType::Interrupted, message);
                };
                match gate.permit(&request.call_id, &judged, invocation.as_ref()) {
                    Ok(permit) => tools::run(invocation, permit, cx).await,
                    Err(error) => ToolResult::failure(error.kind, error.message),
                }
            };
            let too_slow = async {
                stopped.cancelled().await;
                clock.sleep(STOP_GRACE).await;
            };
            let result = tokio::select! {
                biased;
                result = work => result,
                () = too_slow => {
                    let message = format!("stopped; it did not end within {} s and was dropped", STOP_GRACE.as_secs());
                    ToolResult::failure(ToolErrorType::Cancelled, message)
                }
            };
            // What people saw of it stays as it is now, also when the call was given up.
            let streamed =
                shown.map(|output| output.freeze().0).filter(|text| !text.is_empty()).map(Into::into);
            // What is secret only since the run began, a token that was renewed for one, is hidden as well.
            let newest = common.supplies().redactor.clone();
            let result = without_secrets(result, redactor, newest).await;
            let result = ToolResult { streamed, ..result };
            // The text of a skill has its own bound: an instruction without its middle may lack its "never".
            let is_skill = result.effects.iter().any(|effect| matches!(effect, ToolEffect::Skill(_)));
            let limits = if is_skill { limits.at_least(SKILL_CHARS) } else { limits };
            // After the secrets are out, so that what is kept has none; before the end is committed, which names it.
            let result = outputs.fit(result, &session, &call, limits).await;
            // Whole, beside what was cut.
            let (result, near) = near_memory::appended(result, (call.clone(), touched), near, telling).await;
            TaskOutput::Input(MachineInput::ToolFinished { call, result, asked: asking.asked(), near })
        };
        self.launch(want, running, Some(cancel));
    }

    pub(super) fn launch(
        &mut self,
        want: WantedTask,
        work: impl Future<Output = TaskOutput> + Send + 'static,
        cancel: Option<CancellationToken>,
    ) {
        self.flights.launch(want, logged(self.turn_span(), work), cancel);
    }
}
