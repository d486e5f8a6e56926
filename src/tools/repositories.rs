//! Where do git repositories of a workspace keep what git runs by itself: their settings and their hooks?
//!
//! Everything is found through the workspace's own handles or by looks that open nothing; what lies above the roots is not opened.

use std::{
    collections::VecDeque,
    fs,
    io::{self, Read as _},
    os::unix::fs::MetadataExt as _,
    path::{Component, Path, PathBuf},
};

use rustix::{io::Errno, process::geteuid};

use super::workspace::{OpenedPath, Workspace};
use shell::{AutorunPlace, GIT_CONFIG, GIT_HOOKS};
use sys::regular_file;

/// Bytes of a `.git` that is a file: a path.
const LONGEST_POINTER: u64 = 8 << 10;
/// Bytes of a repository's settings that are looked at; usual ones have a few hundred.
const LONGEST_CONFIG: u64 = 1 << 20;
/// Files of settings that are looked at for one root: each may include others.
const MOST_CONFIGS: usize = 32;

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

/// Folders of hooks and files of settings in the workspace that git's settings name, those of the roots' repositories and of the
/// user: `core.hooksPath` (githooks(5)) and `include.path`, `includeIf.….path` (git-config(1), INCLUDES).
pub fn named_by_git(workspace: &Workspace) -> Vec<AutorunPlace> {
    let home = std::env::home_dir();
    let mut places: Vec<AutorunPlace> = Vec::new();
    for root in workspace.roots() {
        let repository = repository(workspace, root);
        let of_user = home.iter().flat_map(|home| [home.join(".gitconfig"), home.join(".config/git/config")]);
        let of_root = ["config", "config.worktree"].map(|name| (repository.join(name), false));
        let mut pending: VecDeque<(PathBuf, bool)> =
            of_root.into_iter().chain(of_user.map(|file| (file, true))).collect();
        let mut read: Vec<PathBuf> = Vec::new();
        let mut found = |path: PathBuf, why: &'static str| {
            // The whole workspace as a folder of hooks would make each of its files one.
            let is_inside = workspace.roots().any(|root| path.starts_with(root) && path != root);
            if is_inside && !places.iter().any(|place| place.path == path) {
                places.push(AutorunPlace { path, why });
            }
        };
        while let Some((file, is_users)) = pending.pop_front() {
            let file = file.canonicalize().unwrap_or(file);
            if read.contains(&file) || read.len() == MOST_CONFIGS {
                continue;
            }
            read.push(file.clone());
            let text = settings_text(workspace, &file, is_users).unwrap_or_default();
            let named = GitNames::of(&text);
            for path in named.hooks.into_iter().take(MOST_CONFIGS) {
                found(led_to(root, &path, home.as_deref()), GIT_HOOKS);
            }
            for path in named.includes.into_iter().take(MOST_CONFIGS) {
                let path = led_to(file.parent().unwrap_or(root), &path, home.as_deref());
                found(path.clone(), GIT_CONFIG);
                pending.push_back((path, is_users));
            }
        }
    }
    places
}

/// Of a file of settings without links. What lies outside of the workspace is opened only where the user's own settings name it.
fn settings_text(workspace: &Workspace, file: &Path, is_users: bool) -> Option<String> {
    let bytes = match workspace.place_at(file) {
        Some(place) => match workspace.open_quietly(&place) {
            Ok(OpenedPath::File { file, .. }) => {
                let mut bytes = Vec::new();
                file.take(LONGEST_CONFIG).read_to_end(&mut bytes).ok()?;
                bytes
            }
            _ => return None,
        },
        None if is_users => regular_file::read_bounded(file, LONGEST_CONFIG).ok()??,
        None => return None,
    };
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Where a path of git's settings leads.
fn led_to(from: &Path, path: &str, home: Option<&Path>) -> PathBuf {
    let path = match (path.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below),
        _ => from.join(path),
    };
    path.canonicalize().unwrap_or_else(|_| normal(&path))
}

/// Paths that git's settings name.
#[derive(Debug, Default, PartialEq, Eq)]
struct GitNames {
    hooks: Vec<String>,
    includes: Vec<String>,
}

impl GitNames {
    /// The section of `hooksPath` is not looked at: no other has the key.
    fn of(config: &str) -> GitNames {
        let mut names = GitNames::default();
        let mut is_include = false;
        for line in config.lines().map(str::trim) {
            // A section and its first key may stand in one line.
            let line = match (line.strip_prefix('['), line.rsplit_once(']')) {
                (Some(section), Some((_, rest))) => {
                    is_include = section.get(..7).is_some_and(|name| name.eq_ignore_ascii_case("include"));
                    rest
                }
                _ => line,
            };
            let Some((key, value)) = line.split_once('=') else { continue };
            let value = match value.trim().strip_prefix('"') {
                Some(quoted) => quoted.split('"').next().unwrap_or(quoted),
                // A comment may follow.
                None => value.split(['#', ';']).next().unwrap_or(value).trim(),
            };
            let into = match key.trim() {
                key if key.eq_ignore_ascii_case("hookspath") => &mut names.hooks,
                key if is_include && key.eq_ignore_ascii_case("path") => &mut names.includes,
                _ => continue,
            };
            if !value.is_empty() {
                into.push(value.to_owned());
            }
        }
        names
    }
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
    let mut kept: Vec<PathBuf> = named_by_git(&workspace).into_iter().map(|place| place.path).collect();
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
        assert_eq!(GitNames::of(config).hooks, [".hooks", "a b"]);
    }

    #[test]
    fn files_that_settings_include_are_found_and_what_they_include() {
        let config = "[include] path = a # x\n[includeIf \"gitdir:~/w]/\"]\n\tpath = \"b;c\"\n[core]\n\tpath = d\n[Include]\nPATH=~/e\n";
        assert_eq!(GitNames::of(config).includes, ["a", "b;c", "~/e"]);
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        fs::write(root.join(".git/config"), "[include]\n\tpath = ../one\n").unwrap();
        fs::write(root.join("one"), "[include]\n\tpath = two\n[core]\n\thooksPath = checks\n").unwrap();
        fs::write(root.join("two"), "[include]\n\tpath = one\n").unwrap();
        let found = named_by_git(&Workspace::open(std::slice::from_ref(&root)).unwrap());
        let found: Vec<PathBuf> = found.into_iter().map(|place| place.path).collect();
        assert_eq!(found, ["one", "checks", "two"].map(|name| root.join(name)));
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
        let found = named_by_git(&Workspace::open(std::slice::from_ref(&root)).unwrap());
        assert_eq!(found, [AutorunPlace { path: root.join("checks"), why: GIT_HOOKS }]);
    }

    #[test]
    fn a_folder_without_a_repository_has_nothing_to_keep() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(kept_from_commands(&[folder.path().to_owned()], false).unwrap(), [] as [PathBuf; 0]);
        assert!(!folder.path().join(".git").exists());
    }
}
