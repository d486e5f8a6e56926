//! What is read: a file of the workspace, or an output of this session that was too long for the model?

use std::{path::PathBuf, sync::Arc};

use crate::{
    protocol::{Access, CallId, SessionId, ToolError, ToolErrorType},
    tools::{
        OutputStore, PrepareContext, Reads,
        workspace::{Opened, Place, Workspace},
    },
};

pub enum Source {
    File {
        workspace: Arc<Workspace>,
        place: Place,
        reads: Reads,
    },
    /// Beside every workspace, and nothing else there can be read: not other sessions', not the daemon's own files.
    Output {
        store: OutputStore,
        session: SessionId,
        call: CallId,
        path: String,
    },
}

impl Source {
    pub fn of(path: &str, cx: &PrepareContext) -> Result<Source, ToolError> {
        let store = cx.own_files.outputs();
        if let Some(session) = &cx.session
            && let Some(call) = store.call_at(session, path)
        {
            let (store, session) = (store.clone(), session.clone());
            return Ok(Source::Output { store, session, call, path: path.to_owned() });
        }
        let place = cx.workspace.resolve(path)?;
        Ok(Source::File { workspace: Arc::clone(&cx.workspace), place, reads: cx.reads.clone() })
    }

    pub fn access(&self) -> Access {
        let path = match self {
            Source::File { workspace, place, .. } => workspace.access_path(place),
            Source::Output { path, .. } => PathBuf::from(path),
        };
        Access::Read { path }
    }

    pub fn shown(&self) -> String {
        match self {
            Source::File { workspace, place, .. } => workspace.shown(place),
            Source::Output { path, .. } => path.clone(),
        }
    }

    pub fn shown_absolute(&self) -> String {
        match self {
            Source::File { workspace, place, .. } => workspace.shown_absolute(place),
            Source::Output { path, .. } => path.clone(),
        }
    }

    pub fn open(&self) -> Result<Opened, ToolError> {
        match self {
            Source::File { workspace, place, .. } => workspace.open_place(place),
            Source::Output { store, session, call, path } => match store.open(session, call) {
                Ok((file, size)) => Ok(Opened::File { file, size }),
                Err(error) => {
                    let message = format!("there is no kept output `{path}` in this session: {error}");
                    Err(ToolError { kind: ToolErrorType::FileNotFound, message })
                }
            },
        }
    }

    /// The model has seen this content of it.
    pub fn note(&self, digest: impl FnOnce() -> String) {
        if let Source::File { workspace, place, reads } = self {
            reads.note(workspace.absolute(place), digest());
        }
    }
}
