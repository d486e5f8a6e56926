//! Waiting for a run that answers a call, and showing what it thinks about meanwhile.

use std::{sync::Arc, time::Duration};

use super::{
    super::{
        child::{ChildLog, ChildNews},
        live_runs::RunRequestError,
        machine::MachineInput,
    },
    RunDriver, TaskOutput,
};
use protocol::{CallId, EventSeq, RunId, ToolErrorType, ToolResult, TraceContext, UsageTotal};

/// Between tries to read the log, or to stop the run, when the store fails.
const RETRY: Duration = Duration::from_secs(1);
/// Tries to stop a run that cannot be read, before its caller ends without it: what the disk does may pass meanwhile, and
/// a stop takes 3 s at most (spec 03).
const PATIENCE: u32 = 3;

impl RunDriver {
    /// Takes up the span of a call that was begun by another process.
    pub fn open_span(&mut self, call: CallId, began: EventSeq) {
        self.open_calls.open_span(call, began);
    }

    /// The span of an open call, for others.
    pub(super) fn call_span(&self, call: &CallId) -> Option<TraceContext> {
        let (start, began) = (self.machine.start(), self.open_calls.began(call)?);
        let root = start.root_run_id.as_ref().unwrap_or(&self.identity.run);
        let own = || TraceContext::of_run(root, began);
        Some(start.traceparent.map_or_else(own, |outer| outer.with_span(root, began)))
    }

    /// Opens the text of what a call puts out; `executing` is the event that said that it executes.
    pub fn open_output(&mut self, call: CallId, executing: EventSeq) {
        self.open_calls.open_output(call, executing);
    }

    /// Becomes the call's result when its run has ended. With `stop` the run is told to end first.
    pub(super) fn await_child(
        &self,
        call: CallId,
        run: RunId,
        stop: bool,
    ) -> impl Future<Output = TaskOutput> + Send + 'static {
        let (store, clock) = (self.parts.store.clone(), self.parts.clock.clone());
        let child_runs = Arc::clone(&self.parts.child_runs);
        let limits = self.gate.prepare.output;
        let parent = self.identity.run.clone();
        let output = self.open_calls.output(&call);
        let news = self.news.way_in();
        async move {
            let mut log = ChildLog::of(&store, &run);
            let stopping = async {
                if stop {
                    let mut tries = 0;
                    let reason = "the run that called it was stopped".to_owned();
                    while let Err(error) = child_runs.stop(&run, reason.clone()).await {
                        if matches!(error, RunRequestError::AtRest(_)) {
                            return TaskOutput::ChildAtRest(run.clone());
                        }
                        tries += 1;
                        if PATIENCE <= tries && child_runs.is_stranded(&run) {
                            let result = unknown_end(&run);
                            let (spent, output) = (UsageTotal::default(), None);
                            return TaskOutput::Input(MachineInput::ChildSettled {
                                call: call.clone(),
                                result,
                                spent,
                                output,
                            });
                        }
                        tracing::warn!(%run, %error, "a run below a stopped one could not be stopped; tried again");
                        clock.sleep(RETRY).await;
                    }
                }
                std::future::pending().await
            };
            let ended = async {
                loop {
                    match log.next(output.as_ref()).await {
                        Ok(ChildNews::Ended(end)) => return *end,
                        Ok(ChildNews::Waits(waits)) => {
                            // Nobody hears it any more when the driver has ended.
                            let _gone =
                                news.send(MachineInput::ChildWaits { call: call.clone(), waits }).await;
                        }
                        Ok(ChildNews::Spent(spent)) => {
                            let _gone =
                                news.send(MachineInput::ChildSpent { call: call.clone(), spent }).await;
                        }
                        Err(error) => {
                            tracing::warn!(%run, %error, "the end of a run cannot be read; tried again");
                            clock.sleep(RETRY).await;
                        }
                    }
                }
            };
            let end = tokio::select! {
                end = ended => end,
                landing = stopping => return landing,
            };
            tracing::debug!(%parent, child = %run, reason = end.reason(), "a run below has ended");
            TaskOutput::Input(end.settled(call, limits))
        }
    }
}

/// It cannot be read back, so it cannot be stopped now; it is stopped as soon as it can be.
fn unknown_end(run: &RunId) -> ToolResult {
    let message = format!("the run {run} that answers the call cannot be read; its end is unknown");
    ToolResult::failure(ToolErrorType::Interrupted, message)
}
