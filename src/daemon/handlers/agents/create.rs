//! `agents/create`: a new agent's file, from a text, from fields, or from a template.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Map, Value, json};

use super::{
    AgentMethods,
    export::templates_of,
    writing::{AgentFileWrites, WriteDestination, acknowledging, refuse_errors, warnings},
};
use crate::{
    agent_changes,
    agent_files::{ReversibleChange, TrashFolder},
    handlers::{blocking, by, internal, violations},
    once::KeyToken,
    rpc::RpcCaller,
};
use agents::{self, AgentFile};
use project::Project;
use protocol::{
    AgentFormat, AgentName, AgentScope, AgentWrittenResult, AgentsCreate, AgentsCreateParams, ErrorKind,
    RpcError, RpcMethod as _,
};

pub async fn create(
    state: Arc<AgentMethods>,
    caller: RpcCaller,
    params: AgentsCreateParams,
) -> Result<AgentWrittenResult, RpcError> {
    let (key, by) = (params.idempotency_key.clone(), by(&caller));
    let (creator, asked) = (Arc::clone(&state), params.clone());
    let effect = move |token| async move { create_once(&creator, by, params, token).await };
    state.clients.once.run(key, AgentsCreate::NAME, &asked, effect).await
}

async fn create_once(
    state: &Arc<AgentMethods>,
    by: Option<String>,
    params: AgentsCreateParams,
    token: Option<KeyToken>,
) -> Result<AgentWrittenResult, RpcError> {
    let AgentsCreateParams { template, definition, text, scope, workspace, overwrite, .. } = params;
    let mut found = Vec::new();
    let destination = WriteDestination::of(state, scope, workspace.as_ref(), &mut found)?;
    let says = NewAgentContent::of(template, definition, text, &mut found);
    let says = match (says, violations(&found)) {
        (Some(says), None) => says,
        (_, Some(error)) => return Err(error),
        (None, None) => return Err(internal("a request was not understood", &"it says nothing")),
    };
    let _turn = state.workspaces.trust_changes.lock().await;
    let told = agent_changes::turn(&state.news).await;
    // Whatever is there at the first look is no change.
    let before = state.workspaces.project(destination.roots.clone()).await;
    let before = before.map_err(|error| internal("the agents could not be read", &error))?;
    // Servers of its own that the new agent may name.
    state.mcp.hub.meet(&before);
    let (writer, to) = (Arc::clone(state), destination.clone());
    let written = blocking(move || {
        let home = to.home(&writer)?;
        let text = says.text(&writer, &before)?;
        let file = agents::new_agent(&home.folder.join("agent.md"), &text, to.scope);
        refuse_errors(&file).map_err(|error| of_another_product(&text, error))?;
        let path = home.path(&file.name);
        let of_name = before.catalog.list(true, true).into_iter().find(|agent| {
            let is_other = agent.path.as_ref().is_some_and(|it| *it != path && it.starts_with(&home.folder));
            agent.name == file.name && agent.scope == to.scope && is_other
        });
        if let Some(other) = of_name.and_then(|agent| agent.path) {
            return Err(taken(
                &file,
                &other,
                "an agent of one place can have one file; change that one (`agents/update`), or delete it",
            ));
        }
        let root = home.root.clone().map(|(root, _)| root);
        let spot = home.spot(&file.name)?;
        let is_same = spot.digest().as_deref() == Some(&file.digest);
        let held = spot.bytes().map(|held| AgentFile::read(&path, held, to.scope, AgentFormat::Own).name);
        if let Some(held) = held.filter(|held| *held != file.name) {
            let message = format!("{} holds the agent {held}; nothing was written", path.display());
            return Err(RpcError::new(ErrorKind::AlreadyExists, message)
                .with_details(json!({ "path": path }))
                .with_hint("give that file another name first, or take another name for this agent"));
        }
        if !is_same && !overwrite && spot.bytes().is_some() {
            return Err(taken(
                &file,
                &path,
                "`overwrite: true` puts it into the trash; or take another name",
            ));
        }
        let change = match is_same {
            true => None,
            false => Some(spot.write(
                text.as_bytes(),
                &file.name,
                &TrashFolder::new(&writer.settings.state_dir, writer.life.clock.now()),
            )?),
        };
        Ok(NewAgentFile { file, path, root, change })
    })
    .await?;
    let NewAgentFile { file, path, root, change } = written;
    let acknowledged = acknowledging(state, &path, root.as_deref(), &file.digest);
    let deed = AgentFileWrites {
        by,
        roots: destination.roots,
        acknowledged,
        changes: change.into_iter().collect(),
        arrival: None,
    };
    let scope = destination.scope;
    let answer = |catalog: &agents::AgentCatalog, seq| AgentWrittenResult {
        name: file.name.clone(),
        scope,
        path: path.clone(),
        digest: file.digest.clone(),
        problems: warnings(state, catalog, &file.name, &path),
        seq,
        replayed: false,
    };
    deed.tell(state, token, answer, &told).await
}

/// A file that says what it is to say.
struct NewAgentFile {
    file: AgentFile,
    path: PathBuf,
    root: Option<PathBuf>,
    /// None where it said so before.
    change: Option<ReversibleChange>,
}

/// What a new file is to say.
enum NewAgentContent {
    Text(String),
    Fields(Map<String, Value>),
    Template { name: String, fields: Map<String, Value> },
}

impl NewAgentContent {
    fn of(
        template: Option<String>,
        definition: Option<Map<String, Value>>,
        text: Option<String>,
        found: &mut Vec<(&'static str, String)>,
    ) -> Option<NewAgentContent> {
        if text.is_some() && (template.is_some() || definition.is_some()) {
            found.push(("/text", "not beside `template` or `definition`: it is the whole file".to_owned()));
        }
        let needs_name = text.is_none();
        let says = match (text, template, definition) {
            (Some(text), _, _) => NewAgentContent::Text(text),
            (None, Some(name), fields) => {
                NewAgentContent::Template { name, fields: fields.unwrap_or_default() }
            }
            (None, None, Some(fields)) => NewAgentContent::Fields(fields),
            (None, None, None) => {
                found.push((
                    "",
                    "one of `text`, `template` and `definition` says what the file is to say".to_owned(),
                ));
                return None;
            }
        };
        if let NewAgentContent::Fields(fields) | NewAgentContent::Template { fields, .. } = &says
            && fields.get("prompt").is_some_and(|prompt| !prompt.is_string())
        {
            found.push((
                "/definition/prompt",
                "is the text below the front matter, so it must be a string".to_owned(),
            ));
        }
        if let (true, NewAgentContent::Fields(fields) | NewAgentContent::Template { fields, .. }) =
            (needs_name, &says)
            && !fields.contains_key("name")
        {
            found.push(("/definition/name", "is missing: what is the agent called?".to_owned()));
        }
        Some(says)
    }

    fn text(self, state: &AgentMethods, project: &Project) -> Result<String, RpcError> {
        match self {
            NewAgentContent::Text(text) => Ok(text),
            NewAgentContent::Fields(fields) => Ok(agents::written(&fields)),
            NewAgentContent::Template { name, mut fields } => {
                // A template's title is that of the template.
                if let Some(called) = fields.get("name").and_then(Value::as_str) {
                    let title = agents::title_of(&AgentName::from(called));
                    fields.entry("title").or_insert_with(|| title.into());
                }
                let templates = agents::templates(&templates_of(state, project));
                let template = templates.find(&name).map_err(|unknown| {
                    let known: Vec<_> = unknown.known.iter().map(ToString::to_string).collect();
                    RpcError::new(ErrorKind::NotFound, unknown.to_string())
                        .with_details(json!({ "templates": known, "didYouMean": unknown.nearest }))
                        .with_hint("`subagent templates` says what each is for")
                })?;
                let path = template.path.clone().unwrap_or_else(|| PathBuf::from(format!("template {name}")));
                add_tools_of_servers(&mut fields, &template.text);
                agents::with_fields(&template.text, &fields).map_err(|why| cannot_edit(&path, &why))
            }
        }
    }
}

/// An agent with a list of tools has those alone, and templates have one: whoever names servers for a new agent wants what they
/// have in it.
fn add_tools_of_servers(fields: &mut Map<String, Value>, template: &str) {
    let listed = fields.get("mcp").and_then(|mcp| mcp.get("servers")).and_then(Value::as_array);
    let servers: Vec<String> =
        listed.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect();
    if servers.is_empty() {
        return;
    }
    if !fields.contains_key("tools") {
        let file = agents::new_agent(Path::new("template"), template, AgentScope::User);
        let Some(tools) = file.definition.map(|definition| definition.tools.clone()) else { return };
        // Without a list it has all that its servers have.
        let Some(allow) = tools.allow else { return };
        let mut written = json!({ "allow": allow });
        if !tools.deny.is_empty() {
            written["deny"] = json!(tools.deny);
        }
        fields.insert("tools".to_owned(), written);
    }
    let list = match fields.get_mut("tools") {
        Some(Value::Array(list)) => Some(list),
        Some(Value::Object(tools)) => tools.get_mut("allow").and_then(Value::as_array_mut),
        _ => None,
    };
    let Some(list) = list else { return };
    for name in servers {
        let own = format!("mcp.{name}.");
        let means = |entry: &str| entry == "*" || entry.starts_with("mcp.*") || entry.starts_with(&own);
        if !list.iter().filter_map(Value::as_str).any(means) {
            list.push(format!("{own}*").into());
        }
    }
}

/// Whose file was meant to be brought in is told so.
fn of_another_product(text: &str, error: RpcError) -> RpcError {
    match agents::format_of(Path::new(""), text).filter(|format| !format.is_own()) {
        Some(format) => error.with_hint(format!(
            "this looks like a file of {}: `subagent import` (`agents/import`) brings it in",
            format.product()
        )),
        None => error,
    }
}

/// Fields cannot be put into a file as it is.
pub fn cannot_edit(path: &Path, why: &agents::CannotEdit) -> RpcError {
    let message = format!("{}: {why}; nothing was written", path.display());
    RpcError::new(ErrorKind::InvalidDefinition, message)
        .with_details(json!({ "path": path }))
        .with_hint("send the whole file as `text`")
}

fn taken(file: &AgentFile, path: &Path, hint: &str) -> RpcError {
    let message = format!("there is an agent {} already: {}; nothing was written", file.name, path.display());
    RpcError::new(ErrorKind::AlreadyExists, message).with_details(json!({ "path": path })).with_hint(hint)
}
