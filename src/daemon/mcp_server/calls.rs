//! What becomes of a call? An agent's begins a run and waits for it, but not for longer than clients usually do; ours look after runs
//! that have begun.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use rmcp::{
    RoleServer,
    model::{
        CallToolRequestParams, CallToolResult, ErrorData, NumberOrString, ProgressNotificationParam,
        ProgressToken,
    },
    service::RequestContext,
};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::{
    McpServerContext,
    arguments::{self, McpToolArguments},
    open_session::{OpenMcpSession, protocol_error},
    telling::{self, PromisedResult},
    tools::{RunControlTool, WorkspaceAgentTools},
    watch::{RunActivity, WatchHandle},
};
use config::nearest;
use protocol::{
    AgentDefinition, ApprovalParams, ErrorKind, EventSeq, IdempotencyKey, IfBusy, LimitsParams, RpcError,
    RunCancel, RunCancelParams, RunGet, RunId, RunIdParams, RunList, RunListParams, RunStart, RunStartParams,
    RunStartResult, RunState, RunWait, RunWaitParams, RunWaitResult, SessionList, SessionListParams,
    WorkspaceParam,
};

/// Between two notifications of progress; the newest wins.
const PROGRESS_PAUSE: Duration = Duration::from_millis(200);
/// How long a run that is cancelled may take to end before it is told as it stands.
const CANCEL_WAIT_MS: u64 = 10_000;
/// The word that a request is cancelled comes by another task than its end.
const CANCEL_NEWS: Duration = Duration::from_secs(1);
/// Runs that `run_status` tells without being asked for one.
const MOST_RUNS: u32 = 10;

/// One call.
pub(super) struct McpServerCall<'a> {
    pub house: &'a Arc<McpServerContext>,
    pub opened: &'a OpenMcpSession,
    pub context: &'a RequestContext<RoleServer>,
    /// The client takes its request back.
    pub cancelled: CancellationToken,
}

/// The reason why waiting for a run ended.
#[derive(Debug, PartialEq, Eq)]
enum RunWaitEnd {
    /// There is nothing more to wait for.
    Over,
    TimeIsUp,
    Cancelled,
    /// The session is over, and nobody listens.
    Alone,
}

impl McpServerCall<'_> {
    /// Answers the call. An error is one of the protocol; what a model can mend is a result.
    pub async fn answer(&self, request: CallToolRequestParams) -> Result<CallToolResult, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let answered = match RunControlTool::named(&request.name) {
            Some(own) => match arguments::read(own, &arguments) {
                Ok(given) => self.look_after(own, given).await,
                Err(mistakes) => Ok(telling::mistake(mistakes.join("\n"))),
            },
            None => {
                let roots = self.opened.roots(self.context).await.map_err(protocol_error)?;
                let tools = WorkspaceAgentTools::read(&self.house.workspaces, &roots)
                    .await
                    .map_err(protocol_error)?;
                let Some(agent) = tools.agent(&request.name) else {
                    return Err(protocol_error(unknown(&request.name, &tools)));
                };
                self.run(agent, arguments, roots).await
            }
        };
        answered.or_else(|error| match error.data.kind {
            // The request may be asked again, and is, by whoever can.
            ErrorKind::ShuttingDown | ErrorKind::RequestCancelled => Err(protocol_error(error)),
            _ => Ok(telling::refusal(&error)),
        })
    }

    async fn run(
        &self,
        agent: &AgentDefinition,
        arguments: Map<String, Value>,
        roots: Vec<String>,
    ) -> Result<CallToolResult, RpcError> {
        let RunStartResult { run_id, session_id, seq: EventSeq(since), replayed, .. } =
            self.start(agent, arguments, roots).await?;
        let following = self.opened.watches.follow(&run_id, session_id).await?;
        let token = self.context.meta.get_progress_token();
        // To whoever asks again it was said before.
        if let Some(token) = token.clone().filter(|_| !replayed) {
            self.tell(token, 0, format!("run {run_id} of {}", agent.name)).await;
        }
        match self.wait(following, token, since, self.opened.origin.wait).await {
            RunWaitEnd::Cancelled => {
                self.cancel(&run_id, "the client cancelled its request".to_owned()).await?;
                Err(RpcError::new(ErrorKind::RequestCancelled, "the run is cancelled"))
            }
            _ => {
                let promise =
                    if agent.output.is_some() { PromisedResult::Typed } else { PromisedResult::Any };
                Ok(telling::run(&self.stands(&run_id, 0).await?, promise))
            }
        }
    }

    async fn start(
        &self,
        agent: &AgentDefinition,
        inputs: Map<String, Value>,
        roots: Vec<String>,
    ) -> Result<RunStartResult, RpcError> {
        let key = self.opened.origin.bridge.as_deref().map(|bridge| key(bridge, &self.context.id));
        let params = RunStartParams {
            session_id: None,
            workspace: Some(WorkspaceParam::Roots { roots }),
            agent: Some(agent.name.clone()),
            definition: None,
            prompt: None,
            server_prompt: None,
            inputs,
            skills: Vec::new(),
            attachments: Vec::new(),
            limits: LimitsParams::default(),
            approval: ApprovalParams::default(),
            model: None,
            record: None,
            traceparent: self.context.meta.get_traceparent().map(str::to_owned),
            if_busy: IfBusy::default(),
            idempotency_key: key,
        };
        match self.opened.link.ask::<RunStart>(&params).await {
            // Without its key it would begin a second run after each restart, so it is not begun at all.
            Err(error) if error.data.kind == ErrorKind::IdempotencyConflict => {
                let message = "a request with this id began another run before";
                Err(RpcError::new(ErrorKind::IdempotencyConflict, message)
                    .with_hint("ask again with an id that this session has not used"))
            }
            started => started,
        }
    }

    async fn look_after(
        &self,
        own: RunControlTool,
        given: McpToolArguments,
    ) -> Result<CallToolResult, RpcError> {
        let Some(run) = given.run else { return self.newest().await };
        match own {
            RunControlTool::Status => Ok(telling::runs(&[self.stands(&run, 0).await?])),
            RunControlTool::Wait => {
                let record = self.opened.link.ask::<RunGet>(&RunIdParams { run_id: run.clone() }).await?;
                if record.state != RunState::Ended {
                    let following = self.opened.watches.follow(&run, record.session_id).await?;
                    let token = self.context.meta.get_progress_token();
                    let wait = given.timeout.unwrap_or(self.opened.origin.wait);
                    // Only the waiting is cancelled: somebody else may wait, too.
                    self.wait(following, token, 0, wait).await;
                }
                Ok(telling::run(&self.stands(&run, 0).await?, PromisedResult::Any))
            }
            RunControlTool::Cancel => {
                self.cancel(&run, given.reason.unwrap_or_else(|| "cancelled by run_cancel".to_owned()))
                    .await?;
                let mut told = telling::run(&self.stands(&run, CANCEL_WAIT_MS).await?, PromisedResult::Any);
                // That it ended so is what was asked for.
                told.is_error = Some(false);
                Ok(told)
            }
        }
    }

    /// The newest runs of the workspace, one a session.
    async fn newest(&self) -> Result<CallToolResult, RpcError> {
        let roots = self.opened.roots(self.context).await?;
        let workspace = Some(WorkspaceParam::Roots { roots });
        let params = SessionListParams { workspace, limit: MOST_RUNS, ..SessionListParams::default() };
        let mut runs = Vec::new();
        for session in self.opened.link.ask::<SessionList>(&params).await?.sessions {
            let session_id = Some(session.session_id);
            let params = RunListParams { session_id, roots: true, limit: 1, ..RunListParams::default() };
            let listed = self.opened.link.ask::<RunList>(&params).await?.runs;
            runs.extend(listed.into_iter().map(|run| {
                let done = run.state == RunState::Ended;
                RunWaitResult { run, done, confirmations: Vec::new() }
            }));
        }
        Ok(telling::runs(&runs))
    }

    /// How a run stands, once it has ended or the time is over.
    async fn stands(&self, run: &RunId, timeout_ms: u64) -> Result<RunWaitResult, RpcError> {
        let params = RunWaitParams { run_id: run.clone(), timeout_ms, until: Vec::new() };
        self.opened.link.ask::<RunWait>(&params).await
    }

    async fn cancel(&self, run: &RunId, reason: String) -> Result<(), RpcError> {
        let params = RunCancelParams { run_id: run.clone(), reason: Some(reason) };
        self.opened.link.ask::<RunCancel>(&params).await.map(drop)
    }

    /// Waits for a run's end, and tells of its progress who asked for that. Progress is counted by the log from `since`, so it
    /// goes on growing when the same is asked again after a restart.
    async fn wait(
        &self,
        following: WatchHandle,
        token: Option<ProgressToken>,
        since: i64,
        wait: Duration,
    ) -> RunWaitEnd {
        let clock = &self.house.life.clock;
        let mut seen = following.seen.clone();
        let mut time = clock.sleep(wait);
        let mut pause: Option<BoxFuture<'static, ()>> = None;
        let mut told = since;
        loop {
            let RunActivity { seq, words, is_over } = seen.borrow_and_update().clone();
            if is_over {
                return RunWaitEnd::Over;
            }
            if let Some(token) = token.clone().filter(|_| pause.is_none() && seq > told) {
                told = seq;
                self.tell(token, seq - since, words).await;
                pause = Some(clock.sleep(PROGRESS_PAUSE));
            }
            tokio::select! { biased;
                () = self.cancelled.cancelled() => return RunWaitEnd::Cancelled,
                () = self.alone() => return RunWaitEnd::Alone,
                changed = seen.changed() => {
                    if changed.is_err() {
                        return RunWaitEnd::Over;
                    }
                }
                () = over(&mut pause) => pause = None,
                () = &mut time => return RunWaitEnd::TimeIsUp,
            }
        }
    }

    /// Completes when the session is over. A request that is cancelled ends in the same way, and more is said about it.
    async fn alone(&self) {
        self.context.ct.cancelled().await;
        tokio::time::sleep(CANCEL_NEWS).await;
    }

    async fn tell(&self, token: ProgressToken, progress: i64, words: String) {
        // Counts of events are far from where a float cannot tell two of them apart.
        #[allow(clippy::cast_precision_loss, reason = "see above")]
        let told = ProgressNotificationParam::new(token, progress as f64).with_message(words);
        // A failure means that the client is gone, which is learnt elsewhere.
        let _ = self.context.peer.notify_progress(told).await;
    }
}

async fn over(pause: &mut Option<BoxFuture<'static, ()>>) {
    match pause {
        Some(pause) => pause.await,
        None => std::future::pending().await,
    }
}

/// By which the same request, asked again after a restart, is known.
fn key(bridge: &str, id: &NumberOrString) -> IdempotencyKey {
    let id = match id {
        NumberOrString::Number(number) => format!("number {number}"),
        NumberOrString::String(text) => format!("text {text}"),
    };
    // Ids of clients are as long as they like.
    let digest = Sha256::digest(format!("{bridge} {id}").as_bytes());
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    IdempotencyKey(format!("mcp-{digest}"))
}

fn unknown(name: &str, tools: &WorkspaceAgentTools) -> RpcError {
    let error = RpcError::new(ErrorKind::InvalidParams, format!("there is no tool {name}"));
    match nearest(name, tools.names()) {
        Some(near) => error.with_hint(format!("did you mean {near}? tools/list shows all")),
        None => error.with_hint("tools/list shows the tools there are"),
    }
}
