//! Where do git repositories of a workspace keep what git runs by itself: their settings and their hooks?
//!
//! Everything is found through the workspace's own handles or by looks that open nothing; what lies above the roots is not opened.

use std::{
    fs,
    io::{self, Read as _},
    os::unix::fs::MetadataExt as _,
    path::{Component, Path, PathBuf},
};

use rustix::{io::Errno, process::geteuid};

use super::workspace::{OpenedPath, Workspace};
use crate::sys::regular_file;

/// Bytes of a `.git` that is a file: a path.
const LONGEST_POINTER: u64 = 8 << 10;
/// Bytes of a repository's settings that are looked at; usual ones have a few hundred.
const LONGEST_CONFIG: u64 = 1 << 20;

/// Where git keeps the repository that `folder` is in: the next `.git` above, or where that says (gitrepository-layout(5)).
/// Without one, where it would be.
///
/// Nothing above the roots is opened: there a folder counts when it is this user's own, as git itself demands of one
/// (git-config(1), `safe.directory`).
pub fn repository(workspace: &Workspace, folder: &Path) -> PathBuf {
    for ancestor in folder.ancestors() {
        let git = ancestor.join(".git");
        let Some(place) = workspace.place_at(&git) else {
            match is_own_folder(&git) {
                true => return git,
                false => continue,
            }
        };
        match workspace.open_quietly(&place) {
            Ok(OpenedPath::Folder(_)) => return git,
            // A linked worktree, a submodule.
            Ok(OpenedPath::File { file, .. }) => {
                let mut text = String::new();
                let told = file.take(LONGEST_POINTER).read_to_string(&mut text);
                if let Some(path) = told.ok().and_then(|_| text.strip_prefix("gitdir:")) {
                    let path = ancestor.join(path.trim());
                    return path.canonicalize().unwrap_or(path);
                }
            }
            // A link: git follows it.
            Err(Errno::LOOP | Errno::XDEV) => return git.canonicalize().unwrap_or(git),
            Ok(OpenedPath::Special(_)) | Err(_) => {}
        }
    }
    folder.join(".git")
}

/// Whether this is a folder, no link, of the user that the daemon is.
fn is_own_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|it| it.is_dir() && it.uid() == geteuid().as_raw())
}

/// The folders in the workspace that `core.hooksPath` names, of the roots' repositories and of the user (githooks(5)).
pub fn hooks_folders(workspace: &Workspace) -> Vec<PathBuf> {
    let home = std::env::home_dir();
    let users = home.iter().flat_map(|home| [home.join(".gitconfig"), home.join(".config/git/config")]);
    let of_user: Vec<String> = users
        .filter_map(|file| regular_file::read_bounded(&file, LONGEST_CONFIG).ok().flatten())
        .flat_map(|bytes| hooks_paths(&String::from_utf8_lossy(&bytes)))
        .collect();
    let mut folders = Vec::new();
    for root in workspace.roots() {
        let config = repository(workspace, root).join("config");
        let text = workspace.place_at(&config).and_then(|place| match workspace.open_quietly(&place) {
            Ok(OpenedPath::File { file, .. }) => {
                let mut bytes = Vec::new();
                file.take(LONGEST_CONFIG).read_to_end(&mut bytes).ok()?;
                Some(String::from_utf8_lossy(&bytes).into_owned())
            }
            _ => None,
        });
        for path in hooks_paths(&text.unwrap_or_default()).iter().chain(&of_user) {
            let path = match (path.strip_prefix("~/"), &home) {
                (Some(below), Some(home)) => home.join(below),
                _ => root.join(path),
            };
            let path = path.canonicalize().unwrap_or_else(|_| normal(&path));
            // The whole workspace as a folder of hooks would make each of its files one.
            let is_inside = workspace.roots().any(|root| path.starts_with(root) && path != root);
            if is_inside && !folders.contains(&path) {
                folders.push(path);
            }
        }
    }
    folders
}

/// Values of `hooksPath` in git's settings. A section's name is not looked at: no other has the key.
fn hooks_paths(config: &str) -> Vec<String> {
    let value = |line: &str| {
        // A section and its first key may stand in one line.
        let line = line.rsplit_once(']').map_or(line, |(_, rest)| rest);
        let (key, value) = line.split_once('=')?;
        let is_hooks = key.trim().eq_ignore_ascii_case("hookspath");
        is_hooks.then(|| value.trim().trim_matches('"').to_owned()).filter(|value| !value.is_empty())
    };
    config.lines().filter_map(value).collect()
}

/// Without `.` and `..`, by its letters alone: it need not exist.
fn normal(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(result.pop()),
            Component::CurDir => {}
            other => result.push(other),
        }
    }
    result
}

/// What commands are kept from writing in these roots, since git runs it by itself and no build needs it: the settings of the
/// roots' repositories, unless `may_configure`, and their hooks. A folder for hooks that is missing is made, so that it can be
/// kept. Blocks on the file system.
pub fn kept_from_commands(roots: &[PathBuf], may_configure: bool) -> io::Result<Vec<PathBuf>> {
    if roots.is_empty() {
        return Ok(Vec::new());
    }
    let workspace = Workspace::open(roots).map_err(|error| io::Error::other(error.to_string()))?;
    let mut kept: Vec<PathBuf> = hooks_folders(&workspace);
    for root in workspace.roots() {
        let repository = repository(&workspace, root);
        let is_inside = workspace.roots().any(|root| repository.starts_with(root));
        if !is_inside || fs::symlink_metadata(repository.join("HEAD")).is_err() {
            continue;
        }
        match fs::create_dir(repository.join("hooks")) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            // Nobody who is no other user could make one either.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => {}
            Err(error) => return Err(error),
        }
        kept.push(repository.join("hooks"));
        if !may_configure {
            kept.extend(["config", "config.worktree"].map(|name| repository.join(name)));
        }
    }
    // What a link leads to is what is written.
    let mut kept: Vec<PathBuf> = kept.iter().filter_map(|path| path.canonicalize().ok()).collect();
    kept.retain(|path| workspace.roots().any(|root| path.starts_with(root) && path != root));
    kept.sort();
    kept.dedup();
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_paths_are_found_however_they_are_written() {
        let config = "[core]\n\tbare = false\n\tHooksPath = .hooks\n[core] hookspath=\"a b\"\n# hooksPath = x\n[x]\n\thooksPathOther = y\n";
        assert_eq!(hooks_paths(config), [".hooks", "a b"]);
    }

    #[test]
    fn hooks_and_settings_of_the_roots_are_kept_and_missing_hooks_are_made() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".git/objects")).unwrap();
        fs::create_dir(root.join("checks")).unwrap();
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(root.join(".git/config"), "[core]\n\thooksPath = checks\n").unwrap();
        let kept = |may_configure| kept_from_commands(std::slice::from_ref(&root), may_configure).unwrap();
        let named = |names: &[&str]| names.iter().map(|name| root.join(name)).collect::<Vec<PathBuf>>();
        assert_eq!(kept(false), named(&[".git/config", ".git/hooks", "checks"]));
        assert_eq!(kept(true), named(&[".git/hooks", "checks"]));
        assert_eq!(hooks_folders(&Workspace::open(std::slice::from_ref(&root)).unwrap()), named(&["checks"]));
    }

    #[test]
    fn a_folder_without_a_repository_has_nothing_to_keep() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(kept_from_commands(&[folder.path().to_owned()], false).unwrap(), [] as [PathBuf; 0]);
        assert!(!folder.path().join(".git").exists());
    }
}
