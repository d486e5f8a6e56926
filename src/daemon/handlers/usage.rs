//! `usage/get`.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use serde_json::json;

use super::{
    super::rpc::{MethodHandlers, RpcCaller},
    lookup::{record, session},
};
use crate::daemon_services::DaemonServices;
use protocol::{
    AgentName, ErrorKind, RpcError, Timestamp, UsageGet, UsageGetParams, UsageGetResult, UsedAmount,
    UsedByAgent, UsedByAgentAndModel, UsedByModel,
};
use store::{EventStore, UsageOf};

/// Rows of each list; more agents and models than a person has, and an answer that can be sent. The docs say the same.
const MAX_ROWS: usize = 1_000;

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let mut api = api.given(Arc::new(services.store.clone()));
    api.cancellable::<UsageGet, _, _>(get);
}

async fn get(
    store: Arc<EventStore>,
    _: RpcCaller,
    params: UsageGetParams,
) -> Result<UsageGetResult, RpcError> {
    let of = asked_for(params)?;
    let mut since = None;
    match &of {
        UsageOf::Run(run) => drop(record(&store, run).await?),
        UsageOf::Session(id) => drop(session(&store, id).await?),
        UsageOf::Since(at) => since = Some(UsageOf::first_moment(*at)),
    }
    Ok(summed(store.usage(&of).await?, since))
}

/// Exactly one of three; each that is too many is told.
fn asked_for(params: UsageGetParams) -> Result<UsageOf, RpcError> {
    let UsageGetParams { session_id, run_id, since } = params;
    let given = [
        run_id.map(|run| ("/runId", UsageOf::Run(run))),
        session_id.map(|session| ("/sessionId", UsageOf::Session(session))),
        since.map(|at| ("/since", UsageOf::Since(at))),
    ];
    let mut given: Vec<(&str, UsageOf)> = given.into_iter().flatten().collect();
    if given.len() == 1
        && let Some((_, of)) = given.pop()
    {
        return Ok(of);
    }
    let violations: Vec<_> = match given.is_empty() {
        true => vec![json!({ "pointer": "", "message": "one of runId, sessionId and since is required" })],
        false => {
            let message = "only one of runId, sessionId and since may be given";
            given.iter().map(|(pointer, _)| json!({ "pointer": pointer, "message": message })).collect()
        }
    };
    let message = "exactly one of runId, sessionId and since says what is asked for";
    Err(RpcError::new(ErrorKind::InvalidParams, message).with_details(json!({ "violations": violations })))
}

fn summed(mut rows: Vec<UsedByAgentAndModel>, since: Option<Timestamp>) -> UsageGetResult {
    let mut total = UsedAmount::default();
    let mut models: BTreeMap<String, UsedAmount> = BTreeMap::new();
    let mut agents: BTreeMap<AgentName, UsedAmount> = BTreeMap::new();
    for row in &rows {
        total += row.amount;
        *models.entry(row.model.clone()).or_default() += row.amount;
        *agents.entry(row.agent.clone()).or_default() += row.amount;
    }
    let is_unpriced = |(_, amount): &(&String, &UsedAmount)| amount.unpriced_tokens != 0;
    let unpriced_models: Vec<String> =
        models.iter().filter(is_unpriced).map(|(model, _)| model.clone()).take(MAX_ROWS).collect();
    let mut by_model: Vec<UsedByModel> =
        models.into_iter().map(|(model, amount)| UsedByModel { model, amount }).collect();
    let mut by_agent: Vec<UsedByAgent> =
        agents.into_iter().map(|(agent, amount)| UsedByAgent { agent, amount }).collect();
    // Sorts are stable, so that equal ones stand in the order of their names.
    by_model.sort_by_key(|row| Reverse(row.amount.usage.total()));
    by_agent.sort_by_key(|row| Reverse(row.amount.usage.total()));
    rows.sort_by_key(|row| Reverse(row.amount.usage.total()));
    // Each agent and each model has a row in this one.
    let truncated = MAX_ROWS < rows.len();
    by_model.truncate(MAX_ROWS);
    by_agent.truncate(MAX_ROWS);
    rows.truncate(MAX_ROWS);
    UsageGetResult { since, total, by_model, by_agent, by_agent_and_model: rows, unpriced_models, truncated }
}
