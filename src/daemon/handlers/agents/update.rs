//! `agents/update`: an agent's file says something else from now on.

use std::{path::Path, sync::Arc};

use serde_json::{Map, Value, json};

use super::{
    AgentMethods,
    create::cannot_edit,
    named,
    writing::{AgentFileWrites, acknowledging, is_acknowledged, refuse_errors, root_of, warnings},
};
use crate::{
    agent_changes,
    agent_files::{LocatedFile, ReversibleChange, TrashFolder},
    handlers::{blocking, by, internal, roots, violation, violations},
    once::KeyToken,
    rpc::RpcCaller,
};
use agents::{self, AgentCatalog};
use protocol::{
    AgentFormat, AgentSummary, AgentWrittenResult, AgentsUpdate, AgentsUpdateParams, ErrorKind, RpcError,
    RpcMethod as _,
};

pub async fn update(
    state: Arc<AgentMethods>,
    caller: RpcCaller,
    params: AgentsUpdateParams,
) -> Result<AgentWrittenResult, RpcError> {
    let (key, by) = (params.idempotency_key.clone(), by(&caller));
    let (updater, asked) = (Arc::clone(&state), params.clone());
    let effect = move |token| async move { update_once(&updater, by, params, token).await };
    state.clients.once.run(key, AgentsUpdate::NAME, &asked, effect).await
}

async fn update_once(
    state: &Arc<AgentMethods>,
    by: Option<String>,
    params: AgentsUpdateParams,
    token: Option<KeyToken>,
) -> Result<AgentWrittenResult, RpcError> {
    let AgentsUpdateParams { name, scope, workspace, text, definition, digest, .. } = params;
    let mut found = Vec::new();
    let new = match (text, definition) {
        (Some(text), None) => Some(UpdatedAgentContent::Text(text)),
        (None, Some(fields)) => Some(UpdatedAgentContent::Fields(fields)),
        (Some(_), Some(_)) => {
            found.push(("/text", "not beside `definition`: it is the whole file".to_owned()));
            None
        }
        (None, None) => {
            found.push(("", "one of `text` and `definition` says what is to change".to_owned()));
            None
        }
    };
    let new = match (new, violations(&found)) {
        (Some(new), None) => new,
        (_, Some(error)) => return Err(error),
        (None, None) => return Err(internal("a request was not understood", &"it says nothing")),
    };
    let roots = workspace.as_ref().map(roots).transpose()?.unwrap_or_default();
    let _turn = state.workspaces.trust_changes.lock().await;
    let told = agent_changes::turn(&state.news).await;
    let project = state.workspaces.project(roots.clone()).await;
    let project = project.map_err(|error| internal("the agents could not be read", &error))?;
    let agent = named(&project.catalog, &name, scope)?;
    let Some(path) = agent.path.clone() else { return Err(comes_with_the_daemon(&agent)) };
    let root = root_of(&path, agent.scope, &roots);
    let (writer, summary) = (Arc::clone(state), agent.clone());
    let (at, below) = (path.clone(), root.clone());
    let written =
        blocking(move || new.write(&summary, LocatedFile::existing(&at, below.as_deref())?, digest, &writer))
            .await?;
    let UpdatedAgentFile { digest, before, change } = written;
    // Changing a file is not saying that it may start: what nobody has acknowledged stays so, whoever changed a word of it.
    let acknowledged = match is_acknowledged(state, &path, root.as_deref(), &before) {
        true => acknowledging(state, &path, root.as_deref(), &digest),
        false => Vec::new(),
    };
    let deed =
        AgentFileWrites { by, roots, acknowledged, changes: change.into_iter().collect(), arrival: None };
    let answer = |catalog: &AgentCatalog, seq| AgentWrittenResult {
        name: agent.name.clone(),
        scope: agent.scope,
        path: path.clone(),
        digest: digest.clone(),
        problems: warnings(state, catalog, &agent.name, &path),
        seq,
        replayed: false,
    };
    deed.tell(state, token, answer, &told).await
}

struct UpdatedAgentFile {
    digest: String,
    /// Digest of what stood there.
    before: String,
    /// None where it said so before.
    change: Option<ReversibleChange>,
}

/// What is to stand there.
enum UpdatedAgentContent {
    Text(String),
    Fields(Map<String, Value>),
}

impl UpdatedAgentContent {
    fn write(
        self,
        agent: &AgentSummary,
        spot: LocatedFile,
        expected: Option<String>,
        state: &AgentMethods,
    ) -> Result<UpdatedAgentFile, RpcError> {
        let now = spot.digest();
        // Whoever asks again after a crash finds what they wanted there already.
        let is_there =
            matches!(&self, UpdatedAgentContent::Text(text) if spot.bytes() == Some(text.as_bytes()));
        if let Some(expected) = expected.filter(|expected| !is_there && now.as_ref() != Some(expected)) {
            let message =
                format!("{} is not what it was when you read it; nothing was written", spot.path.display());
            return Err(RpcError::new(ErrorKind::Conflict, message)
                .with_details(json!({ "path": spot.path, "digest": expected, "now": now }))
                .with_hint("read it as it is now (`agents/get`), and make your change there"));
        }
        let old = spot.bytes().unwrap_or_default();
        let before = now.clone().unwrap_or_default();
        let text = match self {
            UpdatedAgentContent::Text(text) => text,
            UpdatedAgentContent::Fields(_) if agent.format != AgentFormat::Own => {
                let message = "fields are put into files of our own format only; send the whole `text`, in the format that the file has";
                return Err(violation("/definition", message));
            }
            UpdatedAgentContent::Fields(fields) => {
                // Fields go between lines that stay as they are, whatever their bytes.
                let old = std::str::from_utf8(old).map_err(|_| not_utf8(&spot.path))?;
                agents::with_fields(old, &fields).map_err(|why| cannot_edit(&spot.path, &why))?
            }
        };
        let file = match agent.format {
            AgentFormat::Own => agents::new_agent(&spot.path, &text, agent.scope),
            format => agents::new_file(&spot.path, &text, agent.scope, format),
        };
        refuse_errors(&file)?;
        let is_there = file.name == agent.name || file.others.iter().any(|other| other.name == agent.name);
        if !is_there {
            let message = format!(
                "the file would be of the agent {} then, not of {}; nothing was written",
                file.name, agent.name
            );
            return Err(RpcError::new(ErrorKind::InvalidDefinition, message)
                .with_hint("to give an agent another name, create one of that name and delete this one"));
        }
        let is_same = now.as_deref() == Some(&file.digest);
        let trash = TrashFolder::new(&state.settings.state_dir, state.life.clock.now());
        let change = match is_same {
            true => None,
            false => Some(spot.write(text.as_bytes(), &agent.name, &trash)?),
        };
        Ok(UpdatedAgentFile { digest: file.digest, before, change })
    }
}

fn not_utf8(path: &Path) -> RpcError {
    let message =
        format!("{} is not UTF-8, so no field can be put into it; nothing was written", path.display());
    RpcError::new(ErrorKind::InvalidDefinition, message)
        .with_details(json!({ "path": path }))
        .with_hint("save it as UTF-8, or send the whole file as `text`")
}

pub fn comes_with_the_daemon(agent: &AgentSummary) -> RpcError {
    let name = &agent.name;
    let message = format!("{name} comes with the daemon and lies in no file");
    RpcError::new(ErrorKind::Conflict, message).with_hint(format!(
        "an agent of your own with the name {name} takes its place; the settings change its model and limits or switch it off (`agents.overrides.{name}`)"
    ))
}
