//! Where do agents' files go, and how do they change without anything being lost? (spec 02, "Places and precedence") The same
//! holds for the settings in which somebody has an entry changed.
//!
//! What is written is written whole or not at all, below folders that were opened first, so that no link of a workspace leads
//! out of it. What a file said before lies in the trash, and what the log could not be told is taken back. Blocks on the file
//! system throughout.

use std::{
    fmt::Display,
    fs,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use rustix::process::{getgid, getuid};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use agents::OWN_OF_PROJECT;
use config::ProjectSettings;
use protocol::{AgentName, ErrorKind, RpcError, Timestamp, ToolError, ToolErrorType};
use tools::{ExistingFile, FileAttributes, Workspace, WorkspacePath, WriteOutcome, WriteRequest};
use trust::digest;

/// Below the daemon's state: files that were replaced or deleted (spec 12, `<state>`).
const TRASH: &str = "trash/agents";
const TRASH_OF_SETTINGS: &str = "trash/settings";
const TRASH_OF_PROGRAMS: &str = "trash/programs";

/// Permission bits of new settings of the user: there may be secrets in them.
const PRIVATE_FILE: u32 = 0o600;
/// The same of a new program.
const PROGRAM: u32 = 0o755;

/// The folder of ours that takes new files.
pub(super) struct AgentFileFolder {
    /// As the catalogue knows it.
    pub folder: PathBuf,
    /// Of a workspace's: its root as it was named, and without links.
    pub root: Option<(PathBuf, String)>,
    workspace: Workspace,
    /// The folder without links.
    inside: PathBuf,
}

impl AgentFileFolder {
    /// The user's, which is made if it is not there yet.
    pub fn of_user(folder: &Path) -> Result<AgentFileFolder, RpcError> {
        let failed = |error: std::io::Error| unusable(folder, &error.to_string());
        fs::create_dir_all(folder).map_err(failed)?;
        let inside = folder.canonicalize().map_err(failed)?;
        let workspace = opened(&inside)?;
        Ok(AgentFileFolder { folder: folder.to_owned(), root: None, workspace, inside })
    }

    /// A workspace's, below this root.
    pub fn of_project(root: &Path) -> Result<AgentFileFolder, RpcError> {
        let workspace = opened(root)?;
        let canonical = workspace.roots().next().unwrap_or(root).to_owned();
        let name = canonical.to_str().ok_or_else(|| unusable(root, "its name is not UTF-8"))?.to_owned();
        let (folder, inside) = (root.join(OWN_OF_PROJECT), canonical.join(OWN_OF_PROJECT));
        let root = Some((root.to_owned(), name));
        Ok(AgentFileFolder { folder, root, workspace, inside })
    }

    /// The file of this name, whether it is there or not.
    pub fn spot(self, name: &AgentName) -> Result<LocatedFile, RpcError> {
        let file = format!("{name}.md");
        let (path, inside) = (self.folder.join(&file), self.inside.join(&file));
        LocatedFile::open(self.workspace, &inside, path)
    }

    /// What a file of this name is called there.
    pub fn path(&self, name: &AgentName) -> PathBuf {
        self.folder.join(format!("{name}.md"))
    }
}

/// One file, as it was found.
pub(super) struct LocatedFile {
    /// As the catalogue knows it.
    pub path: PathBuf,
    workspace: Workspace,
    place: WorkspacePath,
    found: Option<ExistingFile>,
    /// Of a file that is not there yet; `None` = as the user's umask leaves it.
    new_mode: Option<u32>,
}

impl LocatedFile {
    fn open(workspace: Workspace, inside: &Path, path: PathBuf) -> Result<LocatedFile, RpcError> {
        if inside.is_symlink() {
            let message = format!("{} is a link; nothing was written", path.display());
            return Err(RpcError::new(ErrorKind::Conflict, message)
                .with_details(json!({ "path": path }))
                .with_hint(
                    "change the file that it leads to (for an agent, `agents/update` does), or take the link away",
                ));
        }
        let place =
            workspace.place_at(inside).ok_or_else(|| unusable(&path, "it lies outside of its folder"))?;
        let found = workspace.find(&place).map_err(|error| refused(&path, error))?;
        Ok(LocatedFile { path, workspace, place, found, new_mode: None })
    }

    /// A file that is there. One of a workspace must lie in its root, whatever links lead to it.
    pub fn existing(path: &Path, root: Option<&Path>) -> Result<LocatedFile, RpcError> {
        let failed = |error: std::io::Error| unusable(path, &error.to_string());
        let inside = path.canonicalize().map_err(failed)?;
        let root = root.map(Path::canonicalize).transpose().map_err(failed)?;
        if root.is_some_and(|root| !inside.starts_with(root)) {
            let message = format!(
                "{} is a link to {}, outside of the workspace; nothing was changed",
                path.display(),
                inside.display()
            );
            return Err(RpcError::new(ErrorKind::Forbidden, message)
                .with_hint("change that file itself, or take the link away"));
        }
        let folder = inside.parent().unwrap_or(Path::new("/"));
        LocatedFile::open(opened(folder)?, &inside, path.to_owned())
    }

    /// The settings of the user, whether they are there or not. A link that somebody made for them is followed.
    pub fn of_users_settings(path: &Path) -> Result<LocatedFile, RpcError> {
        if path.symlink_metadata().is_ok() {
            return LocatedFile::existing(path, None);
        }
        let failed = |error: std::io::Error| unusable(path, &error.to_string());
        let folder = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder).map_err(failed)?;
        let folder = folder.canonicalize().map_err(failed)?;
        let inside = folder.join(path.file_name().unwrap_or_default());
        let spot = LocatedFile::open(opened(&folder)?, &inside, path.to_owned())?;
        Ok(LocatedFile { new_mode: Some(PRIVATE_FILE), ..spot })
    }

    /// The settings of a workspace, below this root, whether they are there or not.
    pub fn of_projects_settings(root: &Path) -> Result<LocatedFile, RpcError> {
        let workspace = opened(root)?;
        let inside = workspace.roots().next().unwrap_or(root).join(ProjectSettings::FILE);
        LocatedFile::open(workspace, &inside, root.join(ProjectSettings::FILE))
    }

    /// A program that somebody wants written, whether it is there or not; its folder must be.
    pub fn of_program(path: &Path) -> Result<LocatedFile, RpcError> {
        let (folder, name) = (path.parent().unwrap_or(Path::new("/")), path.file_name().unwrap_or_default());
        let folder = folder.canonicalize().map_err(|error| unusable(path, &error.to_string()))?;
        let spot = LocatedFile::open(opened(&folder)?, &folder.join(name), path.to_owned())?;
        Ok(LocatedFile { new_mode: Some(PROGRAM), ..spot })
    }

    /// What it says; `None` where nothing is.
    pub fn bytes(&self) -> Option<&[u8]> {
        self.found.as_ref().map(|found| found.bytes.as_slice())
    }

    /// As `sha256:<hex>`.
    pub fn digest(&self) -> Option<String> {
        self.bytes().map(digest)
    }

    /// Makes it say this. What it said before goes to the trash first.
    pub fn write(
        self,
        bytes: &[u8],
        name: &dyn Display,
        trash: &TrashFolder,
    ) -> Result<ReversibleChange, RpcError> {
        let kept = self.bytes().map(|old| trash.keep(name, old)).transpose()?;
        let own = |mode| FileAttributes { mode, uid: getuid().as_raw(), gid: getgid().as_raw() };
        let attributes = self.new_mode.filter(|_| self.found.is_none()).map(own);
        let wish = WriteRequest { bytes, over: self.found.as_ref(), attributes };
        let placed = self.workspace.put(&self.place, &wish, &CancellationToken::new(), &mut || true);
        match placed.map_err(|error| refused(&self.path, error))? {
            WriteOutcome::Done => Ok(ReversibleChange { spot: self, now: Some(bytes.to_vec()), trash: kept }),
            WriteOutcome::Changed | WriteOutcome::Stopped => Err(changed(&self.path)),
        }
    }

    /// Takes it away, into the trash.
    pub fn remove(self, name: &AgentName, trash: &TrashFolder) -> Result<ReversibleChange, RpcError> {
        let Some(found) = &self.found else { return Err(changed(&self.path)) };
        if self.path.is_symlink() {
            let message = format!("{} is a link; nothing was deleted", self.path.display());
            return Err(RpcError::new(ErrorKind::Conflict, message)
                .with_hint("take the link away yourself, or the file that it leads to"));
        }
        let kept = trash.keep(name, &found.bytes)?;
        match self.workspace.remove(&self.place, found).map_err(|error| refused(&self.path, error))? {
            WriteOutcome::Done => Ok(ReversibleChange { spot: self, now: None, trash: Some(kept) }),
            WriteOutcome::Changed | WriteOutcome::Stopped => Err(changed(&self.path)),
        }
    }
}

/// A file that was changed, and what it was before.
pub(super) struct ReversibleChange {
    spot: LocatedFile,
    /// What was made of it; `None` = nothing is there any more.
    now: Option<Vec<u8>>,
    /// Where what it said before lies.
    pub trash: Option<PathBuf>,
}

impl ReversibleChange {
    /// Makes it what it was, unless somebody changed it since.
    pub fn take_back(self) {
        let LocatedFile { path, workspace, place, found, .. } = self.spot;
        let made = self.now;
        let undo = || -> Result<WriteOutcome, ToolError> {
            let now = workspace.find(&place)?;
            if now.as_ref().map(|now| now.bytes.as_slice()) != made.as_deref() {
                return Ok(WriteOutcome::Changed);
            }
            match (&found, &now) {
                (Some(was), now) => {
                    let wish = WriteRequest {
                        bytes: &was.bytes,
                        over: now.as_ref(),
                        attributes: Some(was.attributes),
                    };
                    workspace.put(&place, &wish, &CancellationToken::new(), &mut || true)
                }
                (None, Some(now)) => workspace.remove(&place, now),
                (None, None) => Ok(WriteOutcome::Done),
            }
        };
        match undo() {
            Ok(WriteOutcome::Done) => {}
            Ok(WriteOutcome::Changed | WriteOutcome::Stopped) => {
                tracing::warn!(path = %path.display(), "a change of a file could not be taken back: somebody changed it since");
            }
            Err(error) => {
                tracing::error!(path = %path.display(), error = error.message, "a change of a file could not be taken back")
            }
        }
    }
}

/// Where files go that nobody wants any more.
pub(super) struct TrashFolder {
    folder: PathBuf,
    /// How names of files end there.
    ending: &'static str,
    now: Timestamp,
}

impl TrashFolder {
    pub fn new(state_dir: &Path, now: Timestamp) -> TrashFolder {
        TrashFolder { folder: state_dir.join(TRASH), ending: "md", now }
    }

    pub fn of_settings(state_dir: &Path, now: Timestamp) -> TrashFolder {
        TrashFolder { folder: state_dir.join(TRASH_OF_SETTINGS), ending: "json", now }
    }

    pub fn of_programs(state_dir: &Path, now: Timestamp) -> TrashFolder {
        TrashFolder { folder: state_dir.join(TRASH_OF_PROGRAMS), ending: "old", now }
    }

    /// Keeps what a file said.
    fn keep(&self, name: &dyn Display, bytes: &[u8]) -> Result<PathBuf, RpcError> {
        let failed = |error: std::io::Error| unusable(&self.folder, &error.to_string());
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).map_err(failed)?;
        let folder = self.folder.canonicalize().map_err(failed)?;
        let trash = opened(&folder)?;
        // One request may take several of one name, and a clock may stand still.
        for number in 0..u32::MAX {
            let more = if number == 0 { String::new() } else { format!(".{number}") };
            let path = folder.join(format!("{name}.{}{more}.{}", self.now.0, self.ending));
            let place =
                trash.place_at(&path).ok_or_else(|| unusable(&path, "it lies outside of its folder"))?;
            let wish = WriteRequest { bytes, over: None, attributes: None };
            let placed = trash.put(&place, &wish, &CancellationToken::new(), &mut || true);
            if placed.map_err(|error| refused(&path, error))? == WriteOutcome::Done {
                return Ok(path);
            }
        }
        Err(unusable(&self.folder, "it is full of files of this name"))
    }
}

fn opened(folder: &Path) -> Result<Workspace, RpcError> {
    Workspace::open(&[folder.to_owned()]).map_err(|error| unusable(folder, &error.to_string()))
}

fn unusable(path: &Path, problem: &str) -> RpcError {
    let message = format!("{} cannot be used: {problem}; nothing was changed", path.display());
    RpcError::new(ErrorKind::Conflict, message).with_details(json!({ "path": path }))
}

/// Somebody else was faster.
fn changed(path: &Path) -> RpcError {
    let message = format!("{} was changed meanwhile; it is as they left it", path.display());
    RpcError::new(ErrorKind::Conflict, message)
        .with_details(json!({ "path": path }))
        .with_hint("look at it, and ask again")
}

fn refused(path: &Path, error: ToolError) -> RpcError {
    let kind = match error.kind {
        ToolErrorType::NoSpaceLeft => ErrorKind::StorageFull,
        ToolErrorType::PermissionDenied | ToolErrorType::PathNotInWorkspace => ErrorKind::Forbidden,
        _ => ErrorKind::Conflict,
    };
    let message = match error.kind {
        ToolErrorType::PathNotInWorkspace => {
            format!(
                "{}: a part of its path is a link, which is not followed; nothing was changed",
                path.display()
            )
        }
        _ => format!("{}: {}", path.display(), error.message),
    };
    RpcError::new(kind, message)
        .with_details(json!({ "path": path }))
        .with_hint("look whether the folder is yours, and writable, and no link leads to it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_taken_back_unless_somebody_changed_the_file_since() {
        let folder = tempfile::tempdir().unwrap();
        let (agents, trash) = (folder.path().join("agents"), TrashFolder::new(folder.path(), Timestamp(1)));
        let name = AgentName::from("a");
        let path = agents.join("a.md");
        let spot = || AgentFileFolder::of_user(&agents).unwrap().spot(&name).unwrap();

        spot().write(b"one", &name, &trash).unwrap().take_back();
        assert!(!path.exists());
        spot().write(b"one", &name, &trash).unwrap();
        spot().write(b"two", &name, &trash).unwrap().take_back();
        assert_eq!(fs::read(&path).unwrap(), b"one");
        spot().remove(&name, &trash).unwrap().take_back();
        assert_eq!(fs::read(&path).unwrap(), b"one");

        let change = spot().write(b"two", &name, &trash).unwrap();
        fs::write(&path, "somebody else's").unwrap();
        change.take_back();
        assert_eq!(fs::read(&path).unwrap(), b"somebody else's");
        let change = spot().remove(&name, &trash).unwrap();
        fs::write(&path, "anew").unwrap();
        change.take_back();
        assert_eq!(fs::read(&path).unwrap(), b"anew");
        // Everything that was ever replaced lies in the trash, under names of its own.
        assert_eq!(fs::read_dir(folder.path().join(TRASH)).unwrap().count(), 4);
    }
}
