//! What is written down of a change before it is made?

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::PlannedChange;
use crate::workspace::{FileAttributes, Workspace, WorkspacePath, written_path};
use protocol::{CallId, FileChange, FileChanged};

/// Read by later daemons too: fields are only added, with defaults.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UndoManifest {
    /// The root below which the file lies, as it is opened again.
    root: String,
    /// Absolute, in a form that every name has.
    path: String,
    /// As events show it.
    shown: String,
    /// With a move: where it was, and its root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<MovedFrom>,
    pub change: FileChange,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<UndoFileState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Folders that are made with the file.
    #[serde(default)]
    pub folders: usize,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MovedFrom {
    root: String,
    path: String,
    shown: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UndoFileState {
    pub digest: String,
    mode: u32,
    uid: u32,
    gid: u32,
}

impl UndoFileState {
    pub fn attributes(&self) -> FileAttributes {
        FileAttributes { mode: self.mode, uid: self.uid, gid: self.gid }
    }
}

impl UndoManifest {
    pub fn of(keep: &PlannedChange<'_>) -> UndoManifest {
        let workspace = keep.workspace;
        let root = |place: &WorkspacePath| workspace.root_of(place).to_string_lossy().into_owned();
        let shown = |place: &WorkspacePath| workspace.access_path(place).to_string_lossy().into_owned();
        let before = |(found, digest): (&crate::workspace::ExistingFile, &str)| UndoFileState {
            digest: digest.to_owned(),
            mode: found.attributes.mode,
            uid: found.attributes.uid,
            gid: found.attributes.gid,
        };
        UndoManifest {
            root: root(keep.place),
            path: workspace.written(keep.place),
            shown: shown(keep.place),
            from: keep.from.map(|from| MovedFrom {
                root: root(from),
                path: workspace.written(from),
                shown: shown(from),
            }),
            change: keep.change,
            before: keep.before.map(before),
            after: keep.after.map(str::to_owned),
            folders: keep.folders,
        }
    }

    /// The event that tells of the change.
    pub fn changed(&self, call: &CallId, number: usize) -> FileChanged {
        FileChanged {
            call_id: call.clone(),
            path: self.shown.clone(),
            change: self.change,
            from: self.from.as_ref().map(|from| from.shown.clone()),
            undo_id: format!("{call}:{number}"),
            before: self.before.as_ref().map(|before| before.digest.clone()),
            after: self.after.clone(),
        }
    }

    /// Opens where the file was changed; `Err` says why that cannot be.
    pub fn ground(&self) -> Result<ChangeLocation, String> {
        let from = self.from.as_ref();
        let roots: Vec<PathBuf> =
            [Some(&self.root), from.map(|it| &it.root)].into_iter().flatten().map(PathBuf::from).collect();
        let workspace = Workspace::open(&roots).map_err(|error| error.to_string())?;
        // Links are not followed: one that came since must not lead what is put back somewhere else.
        let place_of = |written: &str| {
            let place = written_path(written).and_then(|path| workspace.place_at(&path));
            place.ok_or_else(|| format!("`{written}` lies in no folder that is known"))
        };
        let place = place_of(&self.path)?;
        let from = from.map(|from| place_of(&from.path)).transpose()?;
        Ok(ChangeLocation { place, from, workspace })
    }
}

/// Where a change was made.
pub(super) struct ChangeLocation {
    pub workspace: Workspace,
    pub place: WorkspacePath,
    pub from: Option<WorkspacePath>,
}
