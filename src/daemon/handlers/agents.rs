//! `agents/…`: which there are, what they say, and how their files come about. What a person said of a project's agent is
//! `workspaces.rs`.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::json;

use super::{
    super::{
        discovery::foreign_known,
        hook_problems,
        redaction::without_secrets,
        rpc::{MethodHandlers, RpcCaller},
    },
    blocking,
    contexts::ContextMethods,
    internal,
    lookup::definition,
    roots,
};
use crate::{
    agent_changes::AgentFileNews, agent_urls::UrlFetcher, client_connections::ClientConnections,
    daemon_life::DaemonLife, daemon_services::DaemonServices, discovery::ToolDiscovery, mcp::McpConnections,
    settings_in_force::SettingsInForce, workspace_sources::WorkspaceSources,
};
use agents::{self, AgentCatalog};
use config::read_bounded;
use hooks::AgentHooks;
use project::Project;
use protocol::{
    AgentApproval, AgentDefinition, AgentFormat, AgentName, AgentScope, AgentStatus, AgentSummary,
    AgentsCreate, AgentsDelete, AgentsExport, AgentsGet, AgentsGetParams, AgentsGetResult, AgentsImport,
    AgentsList, AgentsListParams, AgentsListResult, AgentsReload, AgentsRoute, AgentsTemplates, AgentsUpdate,
    AgentsValidate, AgentsValidateParams, AgentsValidateResult, CheckOutcome, ErrorKind, FileProblem,
    FileProblemCode, ProblemSeverity, RpcError, Timestamp, TriggerUse, ValidatedAgent, WorkspaceParam,
};
use run::{NamedInVain, RunExecutor};
use store::EventStore;

mod checks;
mod create;
mod delete;
mod export;
mod import;
mod reload;
pub(super) mod route;
mod update;
mod writing;

/// The services that the methods of agents use.
pub(super) struct AgentMethods {
    pub life: Arc<DaemonLife>,
    pub settings: Arc<SettingsInForce>,
    pub store: EventStore,
    pub executor: RunExecutor,
    pub clients: Arc<ClientConnections>,
    pub workspaces: Arc<WorkspaceSources>,
    pub mcp: Arc<McpConnections>,
    pub discovery: ToolDiscovery,
    pub news: AgentFileNews,
    pub fetcher: UrlFetcher,
    pub contexts: ContextMethods,
}

pub fn register(api: &mut MethodHandlers, services: &DaemonServices) {
    let DaemonServices { life, settings, store, executor, clients, workspaces, mcp, .. } = services.clone();
    let discovery = ToolDiscovery::of(services);
    let news = AgentFileNews::of(services);
    let fetcher = UrlFetcher::of(services);
    let contexts = ContextMethods::of(services);
    let mut api = api.given(Arc::new(AgentMethods {
        life,
        settings,
        store,
        executor,
        clients,
        workspaces,
        mcp,
        discovery,
        news,
        fetcher,
        contexts,
    }));
    api.cancellable::<AgentsList, _, _>(list);
    api.cancellable::<AgentsGet, _, _>(get);
    api.cancellable::<AgentsValidate, _, _>(validate);
    api.cancellable::<AgentsRoute, _, _>(route::route);
    api.method::<AgentsCreate, _, _>(create::create);
    api.method::<AgentsUpdate, _, _>(update::update);
    api.method::<AgentsDelete, _, _>(delete::delete);
    api.heeding::<AgentsImport, _, _>(import::import);
    api.cancellable::<AgentsTemplates, _, _>(export::templates);
    api.cancellable::<AgentsExport, _, _>(export::export);
    api.method::<AgentsReload, _, _>(reload::reload);
}

async fn project(state: &AgentMethods, workspace: Option<&WorkspaceParam>) -> Result<Arc<Project>, RpcError> {
    let roots = workspace.map(roots).transpose()?.unwrap_or_default();
    state.workspaces.project(roots).await.map_err(|error| internal("the agents could not be read", &error))
}

async fn list(
    state: Arc<AgentMethods>,
    _: RpcCaller,
    params: AgentsListParams,
) -> Result<AgentsListResult, RpcError> {
    let project = project(&state, params.workspace.as_ref()).await?;
    let catalog = &project.catalog;
    let mut agents = catalog.list(params.include_hidden, params.include_invalid);
    let mut in_vain = state.executor.named_in_vain(&project, foreign_known(&state.discovery, &project));
    for agent in &mut agents {
        let Some(definition) = catalog.definition(&agent.name, agent.path.as_deref()) else { continue };
        look_around(agent, definition, (&mut in_vain, &project), &state);
    }
    Ok(AgentsListResult { agents, problems: catalog.problems().to_vec() })
}

/// Everything that is wrong with an agent's hooks: what keeps one of them from doing what it says, and the rest.
fn hooks_of(
    definition: &AgentDefinition,
    file: &Path,
    project: &Project,
    state: &AgentMethods,
) -> (Vec<FileProblem>, Vec<FileProblem>) {
    let Some(hooks) = definition.hooks.clone() else { return Default::default() };
    let (agent, file) = (definition.name.clone(), file.to_owned());
    let hooks = AgentHooks { agent, file, hooks, is_trusted: true, begun_from: None };
    let (grave, others) =
        hooks::problems_of_agent(&hooks, &hook_problems::known_tools(&state.discovery, project));
    let redactor = state.settings.redactor.get();
    (without_secrets(grave, &redactor), without_secrets(others, &redactor))
}

/// Adds what no reader of its file can tell: whether its model and its tools are there, and whether its hooks mean anything.
fn look_around(
    agent: &mut AgentSummary,
    definition: &AgentDefinition,
    (in_vain, project): (&mut NamedInVain<'_>, &Project),
    state: &AgentMethods,
) {
    let path = agent.path.clone().unwrap_or_default();
    let warning = |(code, message)| FileProblem {
        path: path.clone(),
        line: None,
        column: None,
        severity: ProblemSeverity::Warning,
        code,
        message,
        fix: None,
    };
    let model = state.executor.unresolved_model(definition);
    if model.is_some() && agent.status == AgentStatus::Ok {
        agent.status = AgentStatus::Unresolved;
    }
    let model = model.map(|message| (FileProblemCode::UnknownModel, message));
    let tools = in_vain.of(definition).into_iter().map(|message| (FileProblemCode::UnknownTool, message));
    agent.problems.extend(model.into_iter().chain(tools).map(warning));
    let (grave, others) = hooks_of(definition, &path, project, state);
    agent.problems.extend(
        grave.into_iter().chain(others).map(|it| FileProblem { severity: ProblemSeverity::Warning, ..it }),
    );
}

async fn get(
    state: Arc<AgentMethods>,
    _: RpcCaller,
    params: AgentsGetParams,
) -> Result<AgentsGetResult, RpcError> {
    let AgentsGetParams { name, scope, workspace } = params;
    let project = project(&state, workspace.as_ref()).await?;
    let catalog = &project.catalog;
    let mut summary = named(catalog, &name, scope)?;
    let file = catalog.file(&summary.name, summary.path.as_deref());
    let definition = file.and_then(|file| file.definition.clone());
    let corrected = file.and_then(|file| file.corrected.clone());
    let front_matter = file.and_then(|file| agents::front_matter(file));
    if let Some(definition) = &definition {
        let mut in_vain = state.executor.named_in_vain(&project, foreign_known(&state.discovery, &project));
        look_around(&mut summary, definition, (&mut in_vain, &project), &state);
    }
    let tools = definition.as_ref().map(|definition| tools(&state, definition, &project)).transpose()?;
    let triggers = match &definition {
        Some(definition) => triggers(&state, definition).await?,
        None => Vec::new(),
    };
    let AgentFileOnDisk { text, created_at, updated_at } = AgentFileOnDisk::of(&summary).await?;
    let definition = definition.as_deref();
    Ok(AgentsGetResult {
        prompt: definition.map(|it| it.prompt.clone()),
        query: definition.map(|it| it.query.clone()),
        input_specs: definition.map(|it| it.inputs.clone()).unwrap_or_default(),
        tools: tools.unwrap_or_default(),
        approval: definition.map(approval).unwrap_or_default(),
        sandbox: definition.and_then(|it| it.sandbox),
        definition: front_matter,
        text,
        corrected,
        created_at,
        updated_at,
        triggers,
        summary,
    })
}

/// An agent's triggers, with what came of them.
async fn triggers(state: &AgentMethods, definition: &AgentDefinition) -> Result<Vec<TriggerUse>, RpcError> {
    if definition.triggers.is_empty() {
        return Ok(Vec::new());
    }
    let counted = state.store.trigger_hits(&definition.name).await?;
    let with_hits = definition.triggers.iter().map(|trigger| {
        let found = counted.iter().find(|it| it.trigger == *trigger);
        let (hits, overrides) = found.map_or((0, 0), |it| (it.hits, it.overrides));
        TriggerUse { trigger: trigger.clone(), hits, overrides }
    });
    Ok(with_hits.collect())
}

/// How an agent's file stands on the disk.
#[derive(Default)]
struct AgentFileOnDisk {
    /// Missing when it is not what was read any more.
    text: Option<String>,
    created_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
}

impl AgentFileOnDisk {
    async fn of(agent: &AgentSummary) -> Result<AgentFileOnDisk, RpcError> {
        let Some(path) = agent.path.clone() else {
            let text = AgentCatalog::built_in_text(&agent.name).map(str::to_owned);
            return Ok(AgentFileOnDisk { text, ..AgentFileOnDisk::default() });
        };
        let digest = agent.digest.clone();
        blocking(move || {
            let bytes = read_bounded(&path, agents::LARGEST_FILE).ok().flatten();
            let bytes = bytes.filter(|bytes| trust::digest(bytes) == digest);
            let facts = std::fs::metadata(&path).ok();
            Ok(AgentFileOnDisk {
                text: bytes.map(|bytes| agents::text_of(&bytes)),
                created_at: facts.as_ref().and_then(|it| it.created().ok()).map(Timestamp::from),
                updated_at: facts.as_ref().and_then(|it| it.modified().ok()).map(Timestamp::from),
            })
        })
        .await
    }
}

/// The agent of a name, in this place or the one that a run would use.
fn named(
    catalog: &AgentCatalog,
    name: &AgentName,
    scope: Option<AgentScope>,
) -> Result<AgentSummary, RpcError> {
    if scope.is_none()
        && let Some(agent) = catalog.meant(name)
    {
        return Ok(agent);
    }
    let all = catalog.list(true, true);
    let is_meant =
        |agent: &&AgentSummary| agent.name == *name && scope.is_none_or(|scope| agent.scope == scope);
    let found = all.iter().find(|agent| is_meant(agent) && agent.hidden_by.is_none());
    if let Some(agent) = found.or_else(|| all.iter().find(is_meant)) {
        return Ok(agent.clone());
    }
    // Told as for a run: with the nearest name, or found by an alias.
    let (definition, _) = definition(catalog, name)?;
    let found = all.iter().find(|agent| agent.name == definition.name);
    let found = found.filter(|agent| scope.is_none_or(|scope| agent.scope == scope));
    found.cloned().ok_or_else(|| {
        RpcError::new(ErrorKind::NotFound, format!("there is no agent {name} in this place"))
            .with_hint("leave out the scope, or see `subagent list --all`")
    })
}

fn approval(definition: &AgentDefinition) -> AgentApproval {
    AgentApproval { auto_approve: definition.auto_approve.clone(), rules: definition.narrowings.clone() }
}

/// Names of the tools that a run would get.
fn tools(
    state: &AgentMethods,
    definition: &AgentDefinition,
    project: &Project,
) -> Result<Vec<String>, RpcError> {
    let toolset = state.executor.toolset(definition, project, foreign_known(&state.discovery, project));
    let completion = state.executor.completion_declaration(definition)?;
    let declarations = toolset.declarations().map(|it| it.name.to_string());
    Ok(declarations.chain([completion.name.to_string()]).collect())
}

async fn validate(
    state: Arc<AgentMethods>,
    _: RpcCaller,
    params: AgentsValidateParams,
) -> Result<AgentsValidateResult, RpcError> {
    let AgentsValidateParams { name, text, path, format, all, workspace } = params;
    let n_given = [name.is_some(), text.is_some(), all].into_iter().filter(|given| *given).count();
    if n_given != 1 {
        let message = "exactly one of `name`, `text` and `all` says what to validate";
        let violations = json!({ "violations": [{ "pointer": "", "message": message }] });
        return Err(RpcError::new(ErrorKind::InvalidParams, message).with_details(violations));
    }
    let project = project(&state, workspace.as_ref()).await?;
    let catalog = &project.catalog;
    let name = match name {
        // An alias, or no agent at all: told as for a run.
        Some(name) if !catalog.list(true, true).iter().any(|agent| agent.name == name) => {
            Some(definition(catalog, &name)?.0.name.clone())
        }
        name => name,
    };
    let checking = move || match text {
        Some(text) => vec![of_text(&text, path, format, &state, &project)],
        None => {
            let is_meant = |agent: &AgentSummary| name.as_ref().is_none_or(|name| agent.name == *name);
            let agents = project.catalog.list(true, true).into_iter().filter(is_meant);
            agents.map(|agent| of_agent(agent, &state, &project)).collect()
        }
    };
    let agents: Vec<ValidatedAgent> = tokio::task::spawn_blocking(checking)
        .await
        .map_err(|error| internal("the agents could not be checked", &error))?;
    let is_failed =
        |agent: &ValidatedAgent| agent.checks.iter().any(|check| check.outcome == CheckOutcome::Fail);
    let valid = !agents.iter().any(is_failed);
    Ok(AgentsValidateResult { agents, valid })
}

fn of_text(
    text: &str,
    path: Option<PathBuf>,
    format: Option<AgentFormat>,
    state: &AgentMethods,
    project: &Project,
) -> ValidatedAgent {
    let shown = path.as_deref().unwrap_or(Path::new("agent.md"));
    let format = format.unwrap_or_else(|| agents::format_of(shown, text).unwrap_or_default());
    let file = agents::new_file(shown, text, AgentScope::User, format);
    let checks = checks::of(file.definition.as_deref(), &file.problems, state, project);
    ValidatedAgent { name: file.name, path, checks }
}

fn of_agent(agent: AgentSummary, state: &AgentMethods, project: &Project) -> ValidatedAgent {
    let definition = project.catalog.definition(&agent.name, agent.path.as_deref());
    let checks = checks::of(definition.map(Arc::as_ref), &agent.problems, state, project);
    ValidatedAgent { name: agent.name, path: agent.path, checks }
}
