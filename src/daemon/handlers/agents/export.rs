//! `agents/export` and `agents/templates`: agents as they read elsewhere, and what they can be made from.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc};

use serde_json::json;

use super::{super::blocking, AgentMethods, named, project};
use crate::rpc::RpcCaller;
use agents::{self, PlaceSwitches};
use config::{problem, read_bounded};
use project::Project;
use protocol::{
    AgentFormat, AgentName, AgentSummary, AgentsExportParams, AgentsExportResult, AgentsTemplatesParams,
    AgentsTemplatesResult, ErrorKind, ExportedAgent, FileProblemCode, RpcError, TemplateSummary,
};

/// Text of one answer: a message of this protocol takes 4 MiB, and what stands in JSON is longer.
const MOST_BYTES: usize = 2 << 20;

pub async fn export(
    state: Arc<AgentMethods>,
    _: RpcCaller,
    params: AgentsExportParams,
) -> Result<AgentsExportResult, RpcError> {
    let AgentsExportParams { names, format, workspace } = params;
    let project = project(&state, workspace.as_ref()).await?;
    blocking(move || {
        let (mut files, mut refused, mut bytes) = (Vec::new(), Vec::new(), 0);
        let mut met = BTreeSet::new();
        for name in names.iter().filter(|name| met.insert((*name).clone())) {
            match exported(&project.catalog, name, format) {
                Ok(file) => {
                    bytes += file.text.len();
                    if MOST_BYTES < bytes {
                        let message =
                            format!("these agents have more than {} KiB together", MOST_BYTES >> 10);
                        return Err(RpcError::new(ErrorKind::PayloadTooLarge, message)
                            .with_hint("name fewer of them at once"));
                    }
                    files.push(file);
                }
                Err(error) => refused.push(error),
            }
        }
        match refused.len() {
            0 => Ok(AgentsExportResult { files }),
            1 => Err(refused.swap_remove(0)),
            // All of them at once, each with its reason.
            _ => {
                let told: Vec<&str> = refused.iter().map(|error| error.message.as_str()).collect();
                let errors: Vec<_> =
                    refused.iter().map(|error| json!({ "message": error.message })).collect();
                Err(RpcError::new(ErrorKind::NotFound, told.join("; "))
                    .with_details(json!({ "errors": errors }))
                    .with_hint("`subagent list --all` shows the agents there are; nothing was written"))
            }
        }
    })
    .await
}

fn exported(
    catalog: &agents::AgentCatalog,
    name: &AgentName,
    format: AgentFormat,
) -> Result<ExportedAgent, RpcError> {
    let agent = named(catalog, name, None)?;
    let file = catalog.file(&agent.name, agent.path.as_deref());
    let Some((file, definition)) = file.and_then(|file| Some((file, file.definition.as_ref()?))) else {
        let told: Vec<String> = agent.problems.iter().map(ToString::to_string).collect();
        let message = format!("{name} has errors and cannot be written out: {}", told.join("; "));
        return Err(RpcError::new(ErrorKind::InvalidDefinition, message)
            .with_details(json!({ "problems": agent.problems })));
    };
    // Ours as its owner wrote it, with comments, and with what this version does not act on yet.
    let own = agent.format.is_own() && format.is_own();
    let verbatim = own.then(|| written(&agent)).flatten();
    let agents::ExportedAgentFile { text, lost } = match verbatim {
        Some(text) => agents::ExportedAgentFile { text, lost: Vec::new() },
        None => agents::export(definition, &file.extras, format),
    };
    Ok(ExportedAgent { name: agent.name.clone(), file_name: format!("{}.md", agent.name), text, lost })
}

/// What the file says, if it is what was read.
fn written(agent: &AgentSummary) -> Option<String> {
    let Some(path) = &agent.path else {
        return agents::AgentCatalog::built_in_text(&agent.name).map(str::to_owned);
    };
    let bytes = read_bounded(path, agents::LARGEST_FILE).ok().flatten()?;
    (trust::digest(&bytes) == agent.digest).then(|| agents::text_of(&bytes))
}

/// What agents can be made from.
pub async fn templates(
    state: Arc<AgentMethods>,
    _: RpcCaller,
    params: AgentsTemplatesParams,
) -> Result<AgentsTemplatesResult, RpcError> {
    let project = project(&state, params.workspace.as_ref()).await?;
    blocking(move || {
        let agents::AgentTemplates { mut list, mut problems } =
            agents::templates(&templates_of(&state, &project));
        // The daemon's own stand first, and are small.
        let mut bytes = 0;
        list.retain(|template| {
            bytes += template.text.len();
            let fits = bytes <= MOST_BYTES;
            if let (false, Some(path)) = (fits, &template.path) {
                let message =
                    format!("is left out: all templates have more than {} KiB together", MOST_BYTES >> 10);
                problems.push(problem(path, None, FileProblemCode::TooLarge, message));
            }
            fits
        });
        let summary = |template: agents::AgentTemplate| TemplateSummary {
            name: template.name.to_string(),
            title: template.title,
            description: template.description,
            path: template.path,
            text: template.text,
        };
        Ok(AgentsTemplatesResult { templates: list.into_iter().map(summary).collect(), problems })
    })
    .await
}

/// Where templates are looked for. Of a workspace that nobody trusts there are none: whoever makes an agent from one has
/// acknowledged the agent.
pub fn templates_of(state: &AgentMethods, project: &Project) -> Vec<(PathBuf, AgentFormat)> {
    let switches = PlaceSwitches::of(&state.settings.get().config.agents.places);
    let roots = project.roots.iter().filter(|_| project.is_trusted).map(PathBuf::from);
    state.workspaces.projects.agents().places().of_templates(&switches, &roots.collect::<Vec<PathBuf>>())
}
