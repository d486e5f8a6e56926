//! Which folder or file is meant by somebody whose place the daemon does not know?

use std::path::Path;

use crate::{ProcessIo, failure::CommandFailure};
use protocol::WorkspaceParam;

/// The folder that is named, else the one where the person stands.
pub(crate) fn read_workspace(
    named: Option<&Path>,
    surroundings: &ProcessIo,
) -> Result<WorkspaceParam, CommandFailure> {
    let workspace = match named {
        Some(folder) => surroundings.working_folder.join(folder),
        None => surroundings.working_folder.clone(),
    };
    let shown = workspace.display().to_string();
    if !workspace.is_dir() {
        return Err(CommandFailure::usage(format!("the workspace {shown} is not a folder"))
            .or_hint("name one with --workspace DIR"));
    }
    match workspace.to_str() {
        Some(path) => Ok(WorkspaceParam::Path(path.to_owned())),
        None => Err(CommandFailure::usage(format!("the workspace's path is not UTF-8: {shown}"))
            .or_hint("work in a folder whose path is")),
    }
}

/// As the daemon needs it, which does not know where the person stands.
pub(crate) fn absolute(file: &Path, surroundings: &ProcessIo) -> Result<String, CommandFailure> {
    let path = surroundings.working_folder.join(file);
    path.into_os_string().into_string().map_err(|path| {
        CommandFailure::usage(format!("the path is not UTF-8: {}", path.display()))
            .or_hint("name a file whose path is")
    })
}

/// A recording is named by where the person stands, which the daemon does not know.
pub(crate) fn with_absolute_recording(model: &str) -> String {
    for prefix in ["replay:", "replay+strict:"] {
        if let Some(path) = model.strip_prefix(prefix)
            && let Ok(path) = std::path::absolute(path)
        {
            return format!("{prefix}{}", path.display());
        }
    }
    model.to_owned()
}
