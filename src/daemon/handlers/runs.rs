//! `run/start`, `run/get`, `run/wait`, `run/cancel`.

use std::{sync::Arc, time::Duration};

use serde_json::json;

use super::{
    super::{
        rpc::{Api, Caller},
        state::State,
    },
    by, internal, roots,
};
use crate::{
    agents::{Catalog, Found},
    protocol::{
        AgentDefinition, AgentName, Disposition, ErrorKind, RpcError, RunCancel, RunCancelParams,
        RunCancelResult, RunGet, RunId, RunIdParams, RunRecord, RunStart, RunStartParams, RunStartResult,
        RunState, RunWait, RunWaitParams, RunWaitResult,
    },
    run::{Cancelled, PlanError, RunRequest},
    store::Filter,
};

pub fn register(api: &mut Api<State>) {
    api.method::<RunStart, _, _>(start);
    api.cancellable::<RunGet, _, _>(get);
    api.cancellable::<RunWait, _, _>(wait);
    api.method::<RunCancel, _, _>(cancel);
}

async fn start(
    state: Arc<State>,
    caller: Caller,
    params: RunStartParams,
) -> Result<RunStartResult, RpcError> {
    let RunStartParams { workspace, agent, prompt, inputs, limits, model } = params;
    let roots = roots(&workspace)?;
    let catalog = state
        .catalog(roots.clone())
        .await
        .map_err(|error| internal("the agents could not be read", &error))?;
    let (definition, digest) = definition(&catalog, &agent)?;
    let name = definition.name.clone();
    let request = RunRequest { definition, digest, roots, prompt, inputs, limits, model };
    let plan = state.executor.plan(request).await.map_err(|error| start_refused(&state, error))?;
    if state.stop.is_cancelled() {
        return Err(RpcError::new(ErrorKind::ShuttingDown, "the daemon is stopping; nothing was started"));
    }
    let started = state.executor.start(plan, by(&caller)).await?;
    Ok(RunStartResult {
        disposition: Disposition::Started,
        run_id: started.run,
        session_id: started.session,
        agent: name,
        seq: started.seq,
    })
}

/// What is wrong in the settings may be why.
fn start_refused(state: &State, error: PlanError) -> RpcError {
    let is_about_models = matches!(error, PlanError::NoModel | PlanError::Model(_));
    let mut error = RpcError::from(error);
    if is_about_models && let Some(problem) = state.problems.first() {
        let hint = error.data.hint.take().unwrap_or_default();
        error.data.hint = Some(format!("{hint}; the settings have a problem: {problem}"));
    }
    error
}

/// The definition under a name and its digest, or why it cannot be used.
pub fn definition(catalog: &Catalog, agent: &AgentName) -> Result<(Arc<AgentDefinition>, String), RpcError> {
    match catalog.find(agent) {
        Found::Ready { definition, digest, .. } => Ok((definition, digest)),
        Found::Untrusted { digest, path } => {
            let message =
                format!("{agent} comes from {}, a workspace nobody has trusted yet", path.display());
            Err(RpcError::new(ErrorKind::WorkspaceNotTrusted, message)
                .with_details(json!({ "digest": digest, "path": path }))
                .with_hint(
                    "trusting a workspace is not possible in this version; copy the file to your own agents folder \
                     after reading it",
                ))
        }
        Found::Invalid(problems) => {
            let list: Vec<String> = problems.iter().map(ToString::to_string).collect();
            let message = format!("{agent} cannot be used: {}", list.join("; "));
            Err(RpcError::new(ErrorKind::InvalidDefinition, message)
                .with_details(json!({ "problems": problems }))
                .with_hint("mend the file; `subagent list --all` shows every problem"))
        }
        Found::Unknown { nearest } => {
            let error = RpcError::new(ErrorKind::NotFound, format!("there is no agent {agent}"));
            Err(match nearest {
                Some(nearest) => error
                    .with_details(json!({ "didYouMean": nearest }))
                    .with_hint(format!("did you mean {nearest}? `subagent list` shows all")),
                None => error.with_hint("`subagent list` shows the agents there are"),
            })
        }
    }
}

async fn get(state: Arc<State>, _: Caller, params: RunIdParams) -> Result<RunRecord, RpcError> {
    record(&state, &params.run_id).await
}

async fn record(state: &State, run: &RunId) -> Result<RunRecord, RpcError> {
    let missing = || {
        RpcError::new(ErrorKind::NotFound, format!("there is no run {run}"))
            .with_hint("`subagent rpc events/list '{\"filter\": {\"types\": [\"run.started\"]}}'` shows the runs there are")
    };
    state.store.run(run).await?.ok_or_else(missing)
}

async fn wait(state: Arc<State>, _: Caller, params: RunWaitParams) -> Result<RunWaitResult, RpcError> {
    let filter = Filter { types: vec!["run.completed".to_owned()], ..Filter::run(params.run_id.clone()) };
    // Followed from before the record is read, so an end in between is not missed.
    let mut end = state.store.follow(filter, state.store.head());
    let run = record(&state, &params.run_id).await?;
    if run.state == RunState::Ended {
        return Ok(RunWaitResult { run, done: true });
    }
    tokio::select! {
        ended = end.next() => drop(ended?),
        () = state.clock.sleep(Duration::from_millis(params.timeout_ms)) => (),
        () = state.stop.cancelled() => (),
    }
    let run = record(&state, &params.run_id).await?;
    let done = run.state == RunState::Ended;
    Ok(RunWaitResult { run, done })
}

async fn cancel(
    state: Arc<State>,
    caller: Caller,
    params: RunCancelParams,
) -> Result<RunCancelResult, RpcError> {
    let RunCancelParams { run_id, reason } = params;
    record(&state, &run_id).await?;
    let cancelled = state.executor.cancel(&run_id, by(&caller), reason).await?;
    let seq = match cancelled {
        Cancelled::Stopping(seq) => Some(seq),
        Cancelled::NothingToDo => None,
    };
    Ok(RunCancelResult { run: record(&state, &run_id).await?, seq })
}
