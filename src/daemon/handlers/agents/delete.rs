//! `agents/delete`: an agent's file goes to the trash, and its contexts with it, if that is wanted.

use std::{path::PathBuf, sync::Arc};

use super::{
    AgentMethods, named,
    update::comes_with_the_daemon,
    writing::{AgentFileWrites, root_of},
};
use crate::{
    agent_changes,
    agent_files::{LocatedFile, TrashFolder},
    handlers::{blocking, by, contexts, internal, roots},
    once::KeyToken,
    rpc::RpcCaller,
};
use agents::AgentCatalog;
use protocol::{
    AgentScope, AgentSummary, AgentsDelete, AgentsDeleteParams, AgentsDeleteResult, DeletedAgentContexts,
    ErrorKind, RpcError, RpcMethod as _, SessionContextParams,
};
use store::AgentSession;

pub async fn delete(
    state: Arc<AgentMethods>,
    caller: RpcCaller,
    params: AgentsDeleteParams,
) -> Result<AgentsDeleteResult, RpcError> {
    let (key, by) = (params.idempotency_key.clone(), by(&caller));
    let (deleter, asked) = (Arc::clone(&state), params.clone());
    let effect = move |token| async move { delete_once(&deleter, by, params, token).await };
    state.clients.once.run(key, AgentsDelete::NAME, &asked, effect).await
}

async fn delete_once(
    state: &Arc<AgentMethods>,
    by: Option<String>,
    params: AgentsDeleteParams,
    token: Option<KeyToken>,
) -> Result<AgentsDeleteResult, RpcError> {
    let AgentsDeleteParams { name, scope, workspace, contexts, .. } = params;
    let roots = workspace.as_ref().map(roots).transpose()?.unwrap_or_default();
    // First of all, and before anybody else has to wait: what cannot be emptied leaves the file where it is, and the request
    // can be repeated.
    let emptied = match contexts {
        DeletedAgentContexts::Keep => ClearedContexts::default(),
        DeletedAgentContexts::Delete => {
            let project = state.workspaces.project(roots.clone()).await;
            let project = project.map_err(|error| internal("the agents could not be read", &error))?;
            let agent = named(&project.catalog, &name, scope)?;
            deletable(&project.catalog, &agent)?;
            empty(state, by.clone(), &agent, &roots).await?
        }
    };
    let _turn = state.workspaces.trust_changes.lock().await;
    let told = agent_changes::turn(&state.news).await;
    let project = state.workspaces.project(roots.clone()).await;
    let project = project.map_err(|error| internal("the agents could not be read", &error))?;
    let agent = named(&project.catalog, &name, scope)?;
    let path = deletable(&project.catalog, &agent)?;
    let root = root_of(&path, agent.scope, &roots);
    let (deleter, at, named) = (Arc::clone(state), path.clone(), agent.name.clone());
    let change = blocking(move || {
        let trash = TrashFolder::new(&deleter.settings.state_dir, deleter.life.clock.now());
        LocatedFile::existing(&at, root.as_deref())?.remove(&named, &trash)
    })
    .await?;
    let trash = change.trash.clone().unwrap_or_default();
    let deed = AgentFileWrites { by, roots, acknowledged: Vec::new(), changes: vec![change], arrival: None };
    let answer = |_: &AgentCatalog, seq| AgentsDeleteResult {
        name: agent.name.clone(),
        scope: agent.scope,
        path: path.clone(),
        trash: trash.clone(),
        cleared: emptied.cleared,
        busy: emptied.busy,
        seq,
        replayed: false,
    };
    deed.tell(state, token, answer, &told).await
}

/// The file that holds this agent and no other.
fn deletable(catalog: &AgentCatalog, agent: &AgentSummary) -> Result<PathBuf, RpcError> {
    let Some(path) = agent.path.clone() else { return Err(comes_with_the_daemon(agent)) };
    if path.is_symlink() {
        let message = format!("{} is a link; nothing was deleted", path.display());
        return Err(RpcError::new(ErrorKind::Conflict, message)
            .with_hint("take the link away yourself, or the file that it leads to"));
    }
    let beside: Vec<String> = catalog.at(&path).into_iter().map(|it| it.name.to_string()).collect();
    if 1 < beside.len() {
        let message =
            format!("{} holds several agents ({}); nothing was deleted", path.display(), beside.join(", "));
        return Err(RpcError::new(ErrorKind::Conflict, message)
            .with_hint("take this one out of the file, or delete the file yourself"));
    }
    Ok(path)
}

#[derive(Default)]
struct ClearedContexts {
    cleared: u32,
    busy: u32,
}

/// Empties the agent's contexts in the sessions in which its name means this file.
async fn empty(
    state: &Arc<AgentMethods>,
    by: Option<String>,
    agent: &AgentSummary,
    roots: &[PathBuf],
) -> Result<ClearedContexts, RpcError> {
    let mut emptied = ClearedContexts::default();
    for AgentSession { session, roots: of_session, is_busy } in
        state.store.sessions_of_agent(&agent.name).await?
    {
        let of_session = of_session.iter().map(PathBuf::from).collect();
        if !is_meant(state, agent, roots, of_session).await? {
            continue;
        }
        if is_busy {
            emptied.busy += 1;
            continue;
        }
        let context = SessionContextParams { session_id: session, agent: Some(agent.name.clone()) };
        contexts::clear_contexts(&state.contexts, by.clone(), context).await?;
        emptied.cleared += 1;
    }
    Ok(emptied)
}

/// True if the name means this file there.
async fn is_meant(
    state: &AgentMethods,
    agent: &AgentSummary,
    roots: &[PathBuf],
    of_session: Vec<PathBuf>,
) -> Result<bool, RpcError> {
    if agent.scope == AgentScope::Project && !of_session.iter().any(|root| roots.contains(root)) {
        return Ok(false);
    }
    let project = state.workspaces.project(of_session).await;
    let project = project.map_err(|error| internal("the agents could not be read", &error))?;
    let means = project.catalog.list(false, true).into_iter().find(|it| it.name == agent.name);
    Ok(means.is_some_and(|it| it.path == agent.path))
}
