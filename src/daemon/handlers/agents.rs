//! `agents/list`, `agents/get`, `agents/validate`. What a person said of a project's agent is `workspaces.rs`.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::json;

use super::{
    super::{
        discovery::foreign_known,
        rpc::{Api, Caller},
        state::State,
    },
    internal, roots,
    runs::definition,
};
use crate::{
    agents::AgentFile,
    project::Project,
    protocol::{
        AgentDefinition, AgentScope, AgentSummary, AgentsGet, AgentsGetParams, AgentsGetResult, AgentsList,
        AgentsListParams, AgentsListResult, AgentsValidate, AgentsValidateParams, AgentsValidateResult,
        CheckOutcome, ErrorKind, FileProblem, FileProblemCode, RpcError, Severity, ValidatedAgent,
        WorkspaceParam,
    },
};

mod checks;

pub fn register(api: &mut Api<State>) {
    api.cancellable::<AgentsList, _, _>(list);
    api.cancellable::<AgentsGet, _, _>(get);
    api.cancellable::<AgentsValidate, _, _>(validate);
}

async fn project(state: &State, workspace: Option<&WorkspaceParam>) -> Result<Arc<Project>, RpcError> {
    let roots = workspace.map(roots).transpose()?.unwrap_or_default();
    state.project(roots).await.map_err(|error| internal("the agents could not be read", &error))
}

async fn list(state: Arc<State>, _: Caller, params: AgentsListParams) -> Result<AgentsListResult, RpcError> {
    let project = project(&state, params.workspace.as_ref()).await?;
    let catalog = &project.catalog;
    let mut agents = catalog.list(params.include_hidden, params.include_invalid);
    for agent in &mut agents {
        // Only here are the tools known, so only here a misspelled one is noticed.
        let Some(definition) = catalog.definition(&agent.name, agent.path.as_deref()) else { continue };
        let path = agent.path.clone().unwrap_or_default();
        let toolset = state.executor.toolset(definition, &project, foreign_known(&state, &project));
        agent.problems.extend(toolset.warnings_of(&definition.tools).map(|message| FileProblem {
            path: path.clone(),
            line: None,
            column: None,
            severity: Severity::Warning,
            code: FileProblemCode::UnknownTool,
            message,
            fix: None,
        }));
    }
    Ok(AgentsListResult { agents })
}

async fn get(state: Arc<State>, _: Caller, params: AgentsGetParams) -> Result<AgentsGetResult, RpcError> {
    let AgentsGetParams { name, scope, workspace } = params;
    let project = project(&state, workspace.as_ref()).await?;
    let catalog = &project.catalog;
    let all = catalog.list(true, true);
    let is_meant =
        |agent: &&AgentSummary| agent.name == name && scope.is_none_or(|scope| agent.scope == scope);
    let summary = match all.iter().find(|agent| is_meant(agent) && agent.hidden_by.is_none()) {
        Some(agent) => agent.clone(),
        None => match all.iter().find(is_meant) {
            Some(agent) => agent.clone(),
            // Told as for a run: with the nearest name, or found by an alias.
            None => {
                let (definition, _) = definition(catalog, &name)?;
                let found = all.iter().find(|agent| agent.name == definition.name);
                let found = found.filter(|agent| scope.is_none_or(|scope| agent.scope == scope));
                found.cloned().ok_or_else(|| {
                    RpcError::new(ErrorKind::NotFound, format!("there is no agent {name} in this place"))
                        .with_hint("leave out the scope, or see `subagent list --all`")
                })?
            }
        },
    };
    let definition = catalog.definition(&summary.name, summary.path.as_deref()).cloned();
    let tools = definition.as_ref().map(|definition| tools(&state, definition, &project));
    Ok(AgentsGetResult {
        summary,
        prompt: definition.as_ref().map(|it| it.prompt.clone()),
        query: definition.as_ref().map(|it| it.query.clone()),
        input_specs: definition.as_ref().map(|it| it.inputs.clone()).unwrap_or_default(),
        tools: tools.transpose()?.unwrap_or_default(),
        sandbox: definition.as_ref().and_then(|it| it.sandbox),
    })
}

/// Names of the tools that a run would get.
fn tools(state: &State, definition: &AgentDefinition, project: &Project) -> Result<Vec<String>, RpcError> {
    let toolset = state.executor.toolset(definition, project, foreign_known(state, project));
    let completion = state.executor.completion_declaration(definition)?;
    let declarations = toolset.declarations().map(|it| it.name.to_string());
    Ok(declarations.chain([completion.name.to_string()]).collect())
}

async fn validate(
    state: Arc<State>,
    _: Caller,
    params: AgentsValidateParams,
) -> Result<AgentsValidateResult, RpcError> {
    let AgentsValidateParams { name, text, path, all, workspace } = params;
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
        Some(text) => vec![of_text(&text, path, &state, &project)],
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

fn of_text(text: &str, path: Option<PathBuf>, state: &State, project: &Project) -> ValidatedAgent {
    let shown = path.as_deref().unwrap_or(Path::new("agent.md"));
    let file = AgentFile::read(shown, text.as_bytes(), AgentScope::User);
    let checks = checks::of(file.definition.as_deref(), &file.problems, state, project);
    ValidatedAgent { name: file.name, path, checks }
}

fn of_agent(agent: AgentSummary, state: &State, project: &Project) -> ValidatedAgent {
    let definition = project.catalog.definition(&agent.name, agent.path.as_deref());
    let checks = checks::of(definition.map(Arc::as_ref), &agent.problems, state, project);
    ValidatedAgent { name: agent.name, path: agent.path, checks }
}
