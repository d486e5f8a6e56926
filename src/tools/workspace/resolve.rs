//! Which place below a root does a path text mean?
//!
//! Links are followed here, in our own code, one component at a time; the result is a place without links, and
//! opening it fails if that stopped being true. Nothing is opened, and what lies outside is never told apart:
//! a missing and an existing file outside of the workspace get the same answer.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{CWD, readlinkat},
    io::Errno,
};

use super::{Workspace, WorkspacePath, name};
use protocol::{ToolError, ToolErrorType};

/// Linux itself gives up after 40 links in one path.
const MAX_LINKS: usize = 40;
/// Linux's `PATH_MAX`; a longer text names nothing that could be opened.
const MAX_PATH_BYTES: usize = 4096;

impl Workspace {
    /// The place that `text` names: an absolute path, or one relative to the first root. The place need not
    /// exist. Fails with `PATH_NOT_IN_WORKSPACE` for whatever lies outside once links are followed.
    pub fn resolve(&self, text: &str) -> Result<WorkspacePath, ToolError> {
        let path = self.read_path(text)?;
        let mut resolved = PathBuf::from("/");
        let mut pending = Vec::new();
        match self.locate(&path) {
            // A root's own path has no links: its components need no look.
            Some(place) if path.is_absolute() => {
                resolved.clone_from(&self.root(&place).path);
                push(&mut pending, &path, self.root(&place).path.components().count());
            }
            _ if path.is_absolute() => push(&mut pending, &path, 0),
            _ => {
                resolved.clone_from(&self.first_root().path);
                push(&mut pending, &path, 0);
            }
        }
        let mut links = 0;
        while let Some(part) = pending.pop() {
            if part == ".." {
                resolved.pop();
                continue;
            }
            let candidate = resolved.join(&part);
            let Ok(target) = self.read_link(&candidate) else {
                // No link, or missing, or unreadable: opening tells which.
                resolved = candidate;
                continue;
            };
            links += 1;
            if MAX_LINKS < links {
                return Err(outside(text, "it leads through too many links"));
            }
            if candidate.starts_with("/proc") {
                // What these point to depends on who asks; some jump to anywhere.
                return Err(outside(text, "it leads through a link of /proc"));
            }
            if target.is_absolute() {
                resolved = PathBuf::from("/");
            }
            push(&mut pending, &target, 0);
        }
        let Some(place) = self.locate(&resolved) else {
            return Err(outside(text, &self.roots_text()));
        };
        if self.is_closed(&resolved) {
            return Err(outside(
                text,
                "it belongs to the daemon, or is known to hold keys, and no tool reads or changes it",
            ));
        }
        if text.starts_with('~') && self.facts(&place).is_err() {
            return Err(outside(text, &format!("`~` is not expanded; {}", self.roots_text())));
        }
        Ok(place)
    }

    fn read_path(&self, text: &str) -> Result<PathBuf, ToolError> {
        let path = match name::bytes_of(text) {
            None => PathBuf::from(text),
            Some(Ok(path)) => path,
            Some(Err(message)) => return Err(ToolError { kind: ToolErrorType::InvalidToolParams, message }),
        };
        let bytes = path.as_os_str().as_bytes();
        if bytes.is_empty() {
            let message = "the path is empty; `.` means the workspace".to_owned();
            return Err(ToolError { kind: ToolErrorType::InvalidToolParams, message });
        }
        if bytes.contains(&0) {
            return Err(outside(text, "a path cannot contain a NUL byte"));
        }
        if MAX_PATH_BYTES <= bytes.len() {
            return Err(outside(text, &format!("a path has less than {MAX_PATH_BYTES} bytes")));
        }
        if has_scheme(text) {
            return Err(outside(text, "a path is needed, not a URL"));
        }
        Ok(path)
    }

    /// The innermost root that `path` lies in, compared by components; `..` in the rest is not a match.
    pub(super) fn locate(&self, path: &Path) -> Option<WorkspacePath> {
        let inside = |root: &super::OpenRoot| path.strip_prefix(&root.path).ok().map(Path::to_owned);
        let found = self.roots.iter().enumerate().filter_map(|(index, root)| Some((index, inside(root)?)));
        let (root, relative) = found.min_by_key(|(_, relative)| relative.components().count())?;
        Some(WorkspacePath { root, relative })
    }

    /// Where a link points to. Below a root it is read through the root's handle.
    fn read_link(&self, path: &Path) -> Result<PathBuf, Errno> {
        let target = match self.locate(path) {
            Some(place) if place.relative.as_os_str().is_empty() => return Err(Errno::INVAL),
            Some(place) => readlinkat(&self.root(&place).handle, &place.relative, Vec::new())?,
            None => readlinkat(CWD, path, Vec::new())?,
        };
        Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
    }

    fn roots_text(&self) -> String {
        let roots: Vec<_> = self.roots.iter().map(|root| format!("`{}`", root.path.display())).collect();
        format!("the workspace is {}", roots.join(", "))
    }
}

fn outside(text: &str, why: &str) -> ToolError {
    let shown = name::shown(Path::new(OsStr::new(text)));
    let message = format!("`{shown}` is not a path inside of the workspace: {why}");
    ToolError { kind: ToolErrorType::PathNotInWorkspace, message }
}

/// Puts the components of `path` after the first `skip` on the stack, so that the next one is on top.
fn push(pending: &mut Vec<OsString>, path: &Path, skip: usize) {
    let part = |component: Component<'_>| match component {
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        Component::ParentDir => Some(OsString::from("..")),
        Component::Normal(name) => Some(name.to_owned()),
    };
    pending.extend(path.components().skip(skip).filter_map(part).collect::<Vec<_>>().into_iter().rev());
}

/// Whether `text` begins like `file://`.
fn has_scheme(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once("://") else { return false };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}
