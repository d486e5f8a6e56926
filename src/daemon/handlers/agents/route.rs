//! `agents/route`, and the agent `auto`: which agent is a prompt for? (spec 02, "Auto-routing")

use std::sync::Arc;

use super::{AgentMethods, project};
use crate::{
    handlers::{
        internal,
        lookup::{definition, open_session, usual_agent},
        violation,
    },
    rpc::RpcCaller,
    settings_in_force::SettingsInForce,
};
use project::Project;
use protocol::{AgentName, AgentRoute, AgentsRouteParams, AlternativeRoute, RpcError, WorkspaceParam};

pub async fn route(
    state: Arc<AgentMethods>,
    _: RpcCaller,
    params: AgentsRouteParams,
) -> Result<AgentRoute, RpcError> {
    let AgentsRouteParams { prompt, workspace, session_id } = params;
    let (workspace, usual) = match (session_id, workspace) {
        (Some(_), Some(_)) => {
            return Err(violation("/workspace", "not beside `sessionId`, which has one of its own"));
        }
        (Some(session), None) => {
            let summary = open_session(&state.store, &session).await?;
            (Some(WorkspaceParam::Roots { roots: summary.roots }), summary.agent)
        }
        (None, workspace) => (workspace, None),
    };
    let project = project(&state, workspace.as_ref()).await?;
    select(&state.settings, &project, &prompt, usual).await
}

/// The agent whose trigger fits best; where none does, or prompts are not routed here, the usual one.
pub async fn select(
    settings: &SettingsInForce,
    project: &Arc<Project>,
    prompt: &str,
    usual: Option<AgentName>,
) -> Result<AgentRoute, RpcError> {
    let in_force = settings.get();
    let is_on = project.settings.auto_route.unwrap_or(in_force.config.agents.auto_route.value);
    let found = match is_on {
        true => {
            // What an expression finds is a piece of the prompt, and half a secret is not known as one any more.
            let prompt = settings.redactor.get().owned(prompt.to_owned());
            let project = Arc::clone(project);
            // Expressions of thousands of agents take milliseconds, and are compiled when they are met first.
            let routing = move || agents::route(&prompt, project.catalog.routable());
            tokio::task::spawn_blocking(routing)
                .await
                .map_err(|error| internal("the prompt could not be routed", &error))?
        }
        false => None,
    };
    let Some(route) = found else {
        let agent = usual.unwrap_or_else(|| usual_agent(settings, project));
        return Ok(AgentRoute { agent, trigger: None, matched: Vec::new(), runners_up: Vec::new() });
    };
    // It is for an agent that would be freer than its file says, and another one even more so.
    if let Err(error) = definition(&project.catalog, &route.agent) {
        let (agent, matched) = (&route.agent, route.matched.join(", "));
        let message = format!("the prompt is one for {agent} (matched: {matched}): {}", error.message);
        let hint = format!(
            "name the agent that it shall go to, or switch {agent} off (the setting `agents.overrides.{agent}.enabled: false`)"
        );
        return Err(RpcError { message, ..error }.with_hint(hint));
    }
    let elsewhere = |it: agents::RouteRunnerUp| AlternativeRoute {
        agent: it.agent,
        trigger: it.trigger,
        matched: it.matched,
    };
    Ok(AgentRoute {
        agent: route.agent,
        trigger: Some(route.trigger),
        matched: route.matched,
        runners_up: route.runners_up.into_iter().map(elsewhere).collect(),
    })
}
