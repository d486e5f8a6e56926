//! `prompt/render`: what would the next run of an agent be told?

use std::{path::PathBuf, sync::Arc};

use super::{
    super::{
        discovery::{self, foreign},
        hook_places,
        rpc::{MethodHandlers, RpcCaller},
    },
    internal, known_roots,
    lookup::{definition, session},
    roots,
    runs::start_refused,
    violation,
};
use crate::{
    daemon_services::DaemonServices, discovery::ToolDiscovery, hook_control::HookControl,
    settings_in_force::SettingsInForce, workspace_sources::WorkspaceSources,
};
use ::hooks::HookState;
use project::Project;
use protocol::{
    AgentName, HookEventName, PromptRender, PromptRenderParams, PromptRenderResult, RenderedPart, RpcError,
};
use run::{PromptQuery, RenderedPrompt, RunExecutor};
use store::EventStore;

/// The services that the methods of prompts use.
pub(super) struct PromptMethods {
    pub settings: Arc<SettingsInForce>,
    pub store: EventStore,
    pub executor: RunExecutor,
    pub workspaces: Arc<WorkspaceSources>,
    pub hooks: Arc<HookControl>,
    pub discovery: ToolDiscovery,
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let DaemonServices { settings, store, executor, workspaces, hooks, .. } = services.clone();
    let discovery = ToolDiscovery::of(services);
    let mut api =
        api.given(Arc::new(PromptMethods { settings, store, executor, workspaces, hooks, discovery }));
    api.cancellable::<PromptRender, _, _>(render);
}

async fn render(
    state: Arc<PromptMethods>,
    _: RpcCaller,
    params: PromptRenderParams,
) -> Result<PromptRenderResult, RpcError> {
    let PromptRenderParams { agent, session_id, workspace, model, headless, with_system_file } = params;
    let given = match &workspace {
        Some(workspace) => Some(known_roots(roots(workspace)?).await?),
        None => None,
    };
    let (roots, append): (Vec<PathBuf>, _) = match &session_id {
        None => (given.unwrap_or_default(), None),
        Some(id) => {
            let own: Vec<PathBuf> =
                session(&state.store, id).await?.roots.iter().map(PathBuf::from).collect();
            if given.is_some_and(|given| given != own) {
                return Err(violation("/workspace", "is not that of the session"));
            }
            (own, state.store.system_append(id).await?)
        }
    };
    let project = discovery::project(&state.workspaces, roots.clone()).await?;
    let (definition, _) = definition(&project.catalog, &agent)?;
    let foreign = foreign(&state.discovery, &project, session_id.as_ref(), Some(&definition)).await;
    let name = definition.name.clone();
    let adding = hooks_that_add(&state, &project, &name).await?;
    let query = PromptQuery { definition, project, roots, foreign, model, is_headless: headless, append };
    let told = state.executor.render(query).await.map_err(|error| start_refused(&state.settings, error))?;
    let RenderedPrompt { system, context, parts, tokens, warnings, exported } = told;
    let redactor = state.settings.redactor.get();
    let parts = parts.into_iter().map(|weighed| RenderedPart {
        name: weighed.part.name,
        source: redactor.owned(weighed.part.source),
        tokens: weighed.tokens,
        off: weighed.part.off,
    });
    Ok(PromptRenderResult {
        agent: name,
        text: system,
        context_message: context,
        parts: parts.chain(adding).collect(),
        tokens,
        warnings,
        system_file: exported.filter(|_| with_system_file).map(|text| redactor.owned(text)),
    })
}

/// The events at which a hook may add a text before a root run's first message.
const ADDING: &[HookEventName] = &[
    HookEventName::SessionStart,
    HookEventName::UserPromptSubmit,
    HookEventName::UserPromptExpansion,
    HookEventName::BeforeAgent,
];

/// The hooks that may add a text to what a run of the agent is told first. Which text, only they know: none is asked.
async fn hooks_that_add(
    state: &PromptMethods,
    project: &Arc<Project>,
    agent: &AgentName,
) -> Result<Vec<RenderedPart>, RpcError> {
    let (hooks, project, agent) = (state.hooks.in_force.clone(), Arc::clone(project), agent.clone());
    let reading = move || {
        let own = hook_places::of_agents(&project).into_iter().filter(|it| it.agent == agent);
        hooks.read(&project.roots, &own.collect::<Vec<_>>())
    };
    let read = tokio::task::spawn_blocking(reading)
        .await
        .map_err(|error| internal("the hooks could not be read", &error))?;
    let adds =
        read.set.hooks().iter().filter(|hook| {
            hook.state == HookState::On && hook.events.iter().any(|event| ADDING.contains(event))
        });
    let part = |hook: &Arc<::hooks::Hook>| RenderedPart {
        name: "hook".to_owned(),
        source: format!("{} may add text at {}", hook.id, hook.event_name),
        tokens: 0,
        off: None,
    };
    Ok(adds.map(part).collect())
}
