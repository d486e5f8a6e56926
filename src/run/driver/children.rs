//! Waiting for a run that answers a call.

use std::time::Duration;

use super::{
    super::{child, machine::Input},
    Driver, Landing,
};
use crate::{
    protocol::{CallId, EventBody, RunId, Seq},
    store::{Filter, Follower, StoreError},
};

/// Between tries to read the log, or to stop the run, when the store fails.
const RETRY: Duration = Duration::from_secs(1);

impl Driver {
    /// Becomes the call's result when its run has ended. The log tells, so it does not matter which process started
    /// the run. With `stop` the run is told to end first.
    pub(super) fn await_child(
        &self,
        call: CallId,
        run: RunId,
        stop: bool,
    ) -> impl Future<Output = Landing> + Send + 'static {
        let (store, clock) = (self.parts.store.clone(), self.parts.clock.clone());
        let executor = self.parts.executor.clone();
        let output = self.gate.prepare.output;
        let parent = self.identity.run.clone();
        async move {
            let filter = Filter { types: vec!["run.completed".to_owned()], ..Filter::run(run.clone()) };
            let mut ends = store.follow(filter, Seq(0));
            let stopping = async {
                if stop {
                    let reason = "the run that called it was stopped".to_owned();
                    while let Err(error) = executor.cancel(&run, None, Some(reason.clone())).await {
                        tracing::warn!(%run, %error, "a run below a stopped one could not be stopped; tried again");
                        clock.sleep(RETRY).await;
                    }
                }
                std::future::pending::<()>().await;
            };
            let ended = async {
                loop {
                    match end_of(&mut ends).await {
                        Ok(end) => return end,
                        Err(error) => {
                            tracing::warn!(%run, %error, "the end of a run cannot be read; tried again");
                            clock.sleep(RETRY).await;
                        }
                    }
                }
            };
            let (agent, end) = tokio::select! {
                ended = ended => ended,
                () = stopping => unreachable!("stopping never completes"),
            };
            tracing::debug!(%parent, child = %run, reason = end.reason.as_str(), "a run below has ended");
            let result = child::settle(&agent, &run, &end, output);
            Landing::Input(Input::ChildSettled { call, result, usage: child::used(&end) })
        }
    }
}

/// The agent of the run that is followed, and how it ended.
async fn end_of(
    ends: &mut Follower,
) -> Result<(crate::protocol::AgentName, crate::protocol::RunCompleted), StoreError> {
    loop {
        for event in ends.next().await? {
            if let Some(EventBody::RunCompleted(end)) = event.parse()? {
                return Ok((event.agent()?, end));
            }
        }
    }
}
