//! What does a client attach to a run, and what do prompts of MCP servers say? Read before the run begins, so that it begins
//! whole or not at all (spec 01, `attachments`; spec 07).

use std::{io::Read as _, path::PathBuf, sync::Arc};

use base64::{Engine as _, prelude::BASE64_STANDARD as STANDARD};
use serde_json::{Map, Value, json};

use super::{
    internal,
    mcp::{ready, refused},
    violation,
};
use crate::{
    daemon_life::DaemonLife, daemon_services::DaemonServices, mcp::McpConnections,
    settings_in_force::SettingsInForce,
};
use project::Project;
use protocol::{ErrorKind, IfBusy, PromptAttachment, RpcError, ServerPrompt};
use tools::{AttachmentContent, OpenedPath, OwnFiles, Workspace, mcp::named};

/// Attachments of one run: nobody gives more by hand.
const MOST: usize = 32;
/// Bytes of one attachment; what models take is less.
const MOST_BYTES: u64 = 8 << 20;

/// What is wrong with them by themselves: all of it.
pub(super) fn check(
    attachments: &[PromptAttachment],
    prompt: Option<&str>,
    server_prompt: Option<&ServerPrompt>,
    if_busy: IfBusy,
) -> Result<(), RpcError> {
    let mut violations: Vec<(String, String)> = Vec::new();
    let mut found = |pointer: &str, message: &str| violations.push((pointer.to_owned(), message.to_owned()));
    if MOST < attachments.len() {
        found("/attachments", &format!("{MOST} are the most"));
    }
    if prompt.is_some() && server_prompt.is_some() {
        found("/serverPrompt", "not beside `prompt`: one of the two says what is to be done");
    }
    let brings = !attachments.is_empty() || server_prompt.is_some();
    if brings && if_busy == IfBusy::Steer {
        found("/ifBusy", "nothing is attached to what is said to a living run; `queue` begins another one");
    }
    for (at, attachment) in attachments.iter().enumerate().take(MOST) {
        let PromptAttachment { path, mime_type, data, server, uri } = attachment;
        let forms =
            [path.is_some(), mime_type.is_some() || data.is_some(), server.is_some() || uri.is_some()];
        let is_whole = mime_type.is_some() == data.is_some() && server.is_some() == uri.is_some();
        if forms.iter().filter(|it| **it).count() != 1 || !is_whole {
            found(
                &format!("/attachments/{at}"),
                "expected `path`, or `mimeType` with `data`, or `server` with `uri`, and nothing else",
            );
        }
    }
    if violations.is_empty() {
        return Ok(());
    }
    let list: Vec<String> =
        violations.iter().map(|(pointer, message)| format!("{pointer}: {message}")).collect();
    let details: Vec<Value> = violations
        .iter()
        .map(|(pointer, message)| json!({ "pointer": pointer, "message": message }))
        .collect();
    Err(RpcError::new(ErrorKind::InvalidParams, list.join("; "))
        .with_details(json!({ "violations": details })))
}

/// The services that attachments are read by.
pub(super) struct AttachmentSources {
    pub life: Arc<DaemonLife>,
    pub settings: Arc<SettingsInForce>,
    pub mcp: Arc<McpConnections>,
}

impl AttachmentSources {
    pub fn of(services: &DaemonServices) -> AttachmentSources {
        let DaemonServices { life, settings, mcp, .. } = services.clone();
        AttachmentSources { life, settings, mcp }
    }
}

/// The attachments, and what the server's prompt says.
pub(super) async fn read(
    state: &AttachmentSources,
    project: &Project,
    roots: &[PathBuf],
    attachments: Vec<PromptAttachment>,
    server_prompt: Option<&ServerPrompt>,
) -> Result<(Vec<AttachmentContent>, Option<String>), RpcError> {
    let mut attached = Vec::new();
    for (at, attachment) in attachments.into_iter().enumerate() {
        let pointer = format!("/attachments/{at}");
        match attachment {
            PromptAttachment { path: Some(path), .. } => {
                let (roots, own_files) = (roots.to_vec(), state.settings.own_files.clone());
                let reading = move || file(&roots, &own_files, &path);
                let read = tokio::task::spawn_blocking(reading)
                    .await
                    .map_err(|error| internal("the attachment could not be read", &error))?;
                attached.push(read.map_err(|problem| violation(&pointer, &problem))?);
            }
            PromptAttachment { mime_type: Some(mime), data: Some(data), .. } => {
                let bytes = STANDARD.decode(data.trim()).map_err(|error| {
                    violation(&format!("{pointer}/data"), &format!("is no base64: {error}"))
                })?;
                attached.push(AttachmentContent::new(format!("{}. attachment ({mime})", at + 1), bytes));
            }
            PromptAttachment { server: Some(server), uri: Some(uri), .. } => {
                attached.extend(resource(state, project, &server, &uri).await?);
            }
            // It was checked before.
            _ => return Err(violation(&pointer, "is no attachment")),
        }
    }
    let said = match server_prompt {
        Some(prompt) => {
            let (said, more) = server_says(state, project, prompt).await?;
            attached.extend(more);
            Some(said)
        }
        None => None,
    };
    Ok((attached, said))
}

/// A file of the workspace, as the agent could read it.
fn file(roots: &[PathBuf], own_files: &OwnFiles, path: &str) -> Result<AttachmentContent, String> {
    let workspace = own_files.close(Workspace::open_known(roots).map_err(|error| error.to_string())?);
    let place = workspace.resolve(path).map_err(|error| error.message)?;
    let OpenedPath::File { file, size } = workspace.open_place(&place).map_err(|error| error.message)? else {
        return Err(format!("{path} is no file"));
    };
    if MOST_BYTES < size {
        return Err(format!("{path} has {size} bytes; {MOST_BYTES} are the most of one attachment"));
    }
    let mut bytes = Vec::new();
    // It may grow meanwhile.
    file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(|error| format!("{path}: {error}"))?;
    Ok(AttachmentContent::new(path.to_owned(), bytes))
}

async fn resource(
    state: &AttachmentSources,
    project: &Project,
    server: &str,
    uri: &str,
) -> Result<Vec<AttachmentContent>, RpcError> {
    state.mcp.hub.meet(project);
    let (ready, _use) = ready((&state.mcp.hub, &state.settings), &project.roots, server).await?;
    let read = ready
        .connection
        .read(uri, &state.life.closing)
        .await
        .map_err(|error| refused(&state.settings, &error))?;
    let contents = read.get("contents").and_then(Value::as_array).cloned().unwrap_or_default();
    let named = format!("{uri} of the MCP server {server}");
    let attached: Vec<AttachmentContent> =
        contents.iter().filter_map(|content| of_resource(content, &named)).collect();
    if attached.is_empty() {
        let message = format!("{named} has no content that can be attached");
        return Err(RpcError::new(ErrorKind::NotFound, message).with_hint("`mcp/readResource` shows it"));
    }
    Ok(attached)
}

fn of_resource(content: &Value, named: &str) -> Option<AttachmentContent> {
    let word = |name: &str| content.get(name).and_then(Value::as_str);
    let bytes = match (word("text"), word("blob")) {
        (Some(text), _) => text.as_bytes().to_vec(),
        (None, Some(blob)) => STANDARD.decode(blob).ok()?,
        (None, None) => return None,
    };
    Some(AttachmentContent::new(named.to_owned(), bytes))
}

/// The text of a server's prompt, and what else it brings along. What of it nobody can read is named in the text.
async fn server_says(
    state: &AttachmentSources,
    project: &Project,
    prompt: &ServerPrompt,
) -> Result<(String, Vec<AttachmentContent>), RpcError> {
    let ServerPrompt { server, name, arguments } = prompt;
    state.mcp.hub.meet(project);
    let (ready, _use) = ready((&state.mcp.hub, &state.settings), &project.roots, server).await?;
    let arguments: Map<String, Value> =
        arguments.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let said = ready.connection.prompt(name, arguments, &state.life.closing).await;
    let said = said.map_err(|error| refused(&state.settings, &error))?;
    let messages = said.get("messages").and_then(Value::as_array).cloned().unwrap_or_default();
    let (mut texts, mut attached, mut says_anything) = (Vec::new(), Vec::new(), false);
    for message in &messages {
        let role = message.get("role").and_then(Value::as_str).unwrap_or("user");
        let content = message.get("content").unwrap_or(&Value::Null);
        let word = |name: &str| content.get(name).and_then(Value::as_str);
        let read = match word("type") {
            Some("text") => {
                let text = word("text").unwrap_or_default();
                says_anything |= !text.trim().is_empty();
                if text.is_empty() {
                    continue;
                }
                // Examples of how to answer are told from what is to be done.
                texts.push(match role {
                    "user" => text.to_owned(),
                    _ => format!("[an example of what the {role} says]\n{text}"),
                });
                continue;
            }
            Some(kind @ ("image" | "audio")) => word("data")
                .and_then(|data| STANDARD.decode(data).ok())
                .map(|bytes| AttachmentContent::new(format!("a part of the prompt {name}"), bytes))
                .ok_or_else(|| format!("[a part of the kind `{kind}`, which could not be read]")),
            Some("resource") => {
                let resource = content.get("resource");
                let uri = resource.and_then(|it| it.get("uri")).and_then(Value::as_str).unwrap_or(name);
                resource
                    .and_then(|it| of_resource(it, uri))
                    .ok_or_else(|| format!("[the resource {uri} has no content that could be read]"))
            }
            _ => Err(named(content)),
        };
        match read {
            Ok(read) => attached.push(read),
            Err(words) => texts.push(words),
        }
    }
    if !says_anything {
        let message =
            format!("the prompt {name} of the MCP server {server} says nothing that a run can begin with");
        return Err(RpcError::new(ErrorKind::Conflict, message).with_hint("`mcp/prompts` shows what it says"));
    }
    Ok((texts.join("\n\n"), attached))
}
