//! What is read: a file of the workspace, or an output of this session that was too long for the model?

use std::{path::PathBuf, sync::Arc};

use crate::{
    OutputStore, PrepareContext, SeenFileDigests,
    workspace::{OpenedPath, Workspace, WorkspacePath},
};
use protocol::{CallId, ResourceAccess, SessionId, ToolError, ToolErrorType};

pub enum ReadFileSource {
    File {
        workspace: Arc<Workspace>,
        place: WorkspacePath,
        reads: SeenFileDigests,
    },
    /// Beside every workspace, and nothing else there can be read: not other sessions', not the daemon's own files.
    Output {
        store: OutputStore,
        session: SessionId,
        call: CallId,
        path: String,
    },
}

impl ReadFileSource {
    pub fn of(path: &str, cx: &PrepareContext) -> Result<ReadFileSource, ToolError> {
        let store = cx.own_files.outputs();
        if let Some(session) = &cx.session
            && let Some(call) = store.call_at(session, path)
        {
            let (store, session) = (store.clone(), session.clone());
            return Ok(ReadFileSource::Output { store, session, call, path: path.to_owned() });
        }
        let (workspace, place) = cx.place_to_read(path)?;
        Ok(ReadFileSource::File { workspace, place, reads: cx.reads.clone() })
    }

    pub fn access(&self) -> ResourceAccess {
        let path = match self {
            ReadFileSource::File { workspace, place, .. } => workspace.access_path(place),
            ReadFileSource::Output { path, .. } => PathBuf::from(path),
        };
        ResourceAccess::Read { path }
    }

    pub fn shown(&self) -> String {
        match self {
            ReadFileSource::File { workspace, place, .. } => workspace.shown(place),
            ReadFileSource::Output { path, .. } => path.clone(),
        }
    }

    pub fn shown_absolute(&self) -> String {
        match self {
            ReadFileSource::File { workspace, place, .. } => workspace.shown_absolute(place),
            ReadFileSource::Output { path, .. } => path.clone(),
        }
    }

    pub fn open(&self) -> Result<OpenedPath, ToolError> {
        match self {
            ReadFileSource::File { workspace, place, .. } => workspace.open_place(place),
            ReadFileSource::Output { store, session, call, path } => match store.open(session, call) {
                Ok((file, size)) => Ok(OpenedPath::File { file, size }),
                Err(error) => {
                    let message = format!("there is no kept output `{path}` in this session: {error}");
                    Err(ToolError { kind: ToolErrorType::FileNotFound, message })
                }
            },
        }
    }

    /// The model has seen this content of it.
    pub fn note(&self, digest: impl FnOnce() -> String) {
        if let ReadFileSource::File { workspace, place, reads } = self {
            reads.note(workspace.absolute(place), digest());
        }
    }
}
