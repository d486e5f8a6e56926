//! `mcp/template`: a small server that works, to begin one of one's own with.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::json;

use super::McpMethods;
use crate::{
    agent_files::{LocatedFile, TrashFolder},
    handlers::{blocking, violation},
    rpc::RpcCaller,
};
use config::server_name_problem;
use protocol::{ErrorKind, McpTemplateParams, McpTemplateResult, RpcError};

/// A server that works, for whoever writes one.
const TEMPLATE: &str = include_str!("server.py");
/// What it is called when nobody says otherwise.
const USUAL_FILE: &str = "server.py";
const USUAL_NAME: &str = "mine";

pub async fn template(
    state: Arc<McpMethods>,
    _: RpcCaller,
    params: McpTemplateParams,
) -> Result<McpTemplateResult, RpcError> {
    let McpTemplateParams { path, force } = params;
    let Some(path) = path else { return Ok(result(USUAL_FILE.to_owned(), USUAL_NAME, None)) };
    let is_file_name = path.file_name().is_some() && path.is_absolute();
    if !is_file_name {
        return Err(violation("/path", "must be the absolute path of a file"));
    }
    let Some(file) = path.to_str().map(str::to_owned) else {
        return Err(violation("/path", "must be UTF-8, to stand in settings"));
    };
    let to = path.clone();
    blocking(move || write(&state, &to, force)).await?;
    Ok(result(file, &name_of(&path), Some(path)))
}

fn result(file: String, name: &str, path: Option<PathBuf>) -> McpTemplateResult {
    let entry = json!({ name: { "command": "python3", "args": [file] } });
    let (name, text) = (name.to_owned(), TEMPLATE.to_owned());
    McpTemplateResult { name, file, text, entry: format!("{entry:#}"), path }
}

/// What a server of this file may be called.
fn name_of(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let name: String = stem.chars().filter(|letter| is_letter(*letter)).take(32).collect();
    match server_name_problem(&name) {
        None => name,
        Some(_) => USUAL_NAME.to_owned(),
    }
}

/// Blocks on the file system.
fn write(state: &McpMethods, path: &Path, force: bool) -> Result<(), RpcError> {
    let spot = LocatedFile::of_program(path)?;
    if spot.bytes() == Some(TEMPLATE.as_bytes()) {
        return Ok(());
    }
    if spot.bytes().is_some() && !force {
        let message = format!("{} is there already; nothing was written", path.display());
        return Err(RpcError::new(ErrorKind::AlreadyExists, message)
            .with_details(json!({ "path": path }))
            .with_hint("`force` (`--force`) puts it into the trash; or name another file"));
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let trash = TrashFolder::of_programs(&state.settings.state_dir, state.life.clock.now());
    spot.write(TEMPLATE.as_bytes(), &name, &trash).map(drop)
}
