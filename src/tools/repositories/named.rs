//! Which files and folders of a workspace do git's settings name: folders of hooks, further settings, and words of what they run?
//!
//! Settings of the workspace are read through its own handles; others, those of a repository above it and of the user, as regular
//! files that nobody waits for.

use std::{
    collections::VecDeque,
    io::Read as _,
    path::{Component, Path, PathBuf},
};

use super::{
    around::RepositoryAround,
    settings::{GitValue, values_that_run},
};
use crate::{
    git_settings::{GitNames, LONGEST_CONFIG, files_of_user},
    workspace::{OpenedPath, Workspace},
};
use shell::{AutorunPlace, GIT_CONFIG, GIT_HOOKS};
use sys::regular_file;

/// Files of settings that are looked at for one repository: each may include others.
const MOST_CONFIGS: usize = 32;
/// The reason for a hook in a folder of hooks that is a root itself.
const ONE_HOOK: &str = "git runs it as a hook";
const TEMPLATE: &str = "git copies it into each new repository, hooks and settings among it";
/// All that git runs: githooks(5).
const HOOKS: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "p4-prepare-changelist",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

/// Everything that the settings of a repository, and those of the user, name.
#[derive(Debug, Default)]
pub struct GitNamed {
    /// Folders of hooks, single hooks and files of settings in the workspace: `core.hooksPath` (githooks(5)), `include.path` and
    /// `includeIf.….path` (git-config(1), INCLUDES), `init.templateDir`
    /// (git-init(1), TEMPLATE DIRECTORY).
    pub places: Vec<AutorunPlace>,
    /// Folders of hooks, wherever they lie.
    pub hook_folders: Vec<PathBuf>,
    /// Values by which git may run something.
    pub values: Vec<GitValue>,
    /// The same of settings of the user, which are of no workspace.
    pub values_of_user: Vec<GitValue>,
}

impl GitNamed {
    /// Reads the settings. Blocks for a bounded look.
    pub fn by(workspace: &Workspace, repository: &RepositoryAround) -> GitNamed {
        let mut named = GitNamed::default();
        named.add(workspace, repository);
        named
    }

    /// The same of further repositories.
    pub fn add(&mut self, workspace: &Workspace, repository: &RepositoryAround) {
        let home = std::env::home_dir();
        let own = repository.settings().map(|file| (file, false));
        let mut pending: VecDeque<(PathBuf, bool)> =
            own.into_iter().chain(files_of_user().into_iter().map(|file| (file, true))).collect();
        let mut read: Vec<PathBuf> = Vec::new();
        while let Some((file, is_users)) = pending.pop_front() {
            let file = file.canonicalize().unwrap_or(file);
            if read.contains(&file) || read.len() == MOST_CONFIGS {
                continue;
            }
            read.push(file.clone());
            let text = settings_text(workspace, &file).unwrap_or_default();
            let values = if is_users { &mut self.values_of_user } else { &mut self.values };
            for value in values_that_run(&text) {
                if !values.contains(&value) {
                    values.push(value);
                }
            }
            let named = GitNames::of(&text);
            for path in named.hooks.into_iter().take(MOST_CONFIGS) {
                for top in &repository.tops {
                    self.add_hooks(workspace, led_to(top, &path, home.as_deref()));
                }
            }
            for path in named.templates.into_iter().take(MOST_CONFIGS) {
                // One that is relative counts from wherever somebody makes a repository.
                for top in &repository.tops {
                    self.add_place(workspace, led_to(top, &path, home.as_deref()), TEMPLATE);
                }
            }
            for path in named.includes.into_iter().take(MOST_CONFIGS) {
                let path = led_to(file.parent().unwrap_or(&file), &path, home.as_deref());
                self.add_place(workspace, path.clone(), GIT_CONFIG);
                pending.push_back((path, is_users));
            }
        }
    }

    fn add_hooks(&mut self, workspace: &Workspace, folder: PathBuf) {
        // What husky has there runs the hook of its name in the folder above.
        if let Some(above) = folder.parent().filter(|_| folder.ends_with("_")) {
            self.add_place(workspace, above.to_owned(), GIT_HOOKS);
        }
        // The whole workspace as a folder of hooks would make each of its files one.
        if workspace.roots().any(|root| root == folder) {
            for hook in HOOKS {
                self.add_place(workspace, folder.join(hook), ONE_HOOK);
            }
        }
        self.add_place(workspace, folder.clone(), GIT_HOOKS);
        if !self.hook_folders.contains(&folder) {
            self.hook_folders.push(folder);
        }
    }

    fn add_place(&mut self, workspace: &Workspace, path: PathBuf, why: &'static str) {
        let is_inside = workspace.roots().any(|root| path.starts_with(root) && path != root);
        if is_inside && !self.places.iter().any(|place| place.path == path) {
            self.places.push(AutorunPlace { path, why });
        }
    }
}

/// The repositories that a root is a part of; where it is the top of none, with the one that would be made there.
pub fn repositories_of_root(root: &Path) -> Vec<RepositoryAround> {
    let mut all = RepositoryAround::all(root);
    if !all.iter().any(|it| it.tops.iter().any(|top| top == root)) {
        all.push(RepositoryAround::at(root.join(".git"), root, true));
    }
    all
}

/// What git's settings name in a workspace, of those repositories that are this user's or lie in it. Blocks for a bounded look.
pub fn named_by_git(workspace: &Workspace) -> GitNamed {
    let mut named = GitNamed::default();
    for root in workspace.roots() {
        let is_inside = |it: &RepositoryAround| workspace.roots().any(|root| it.folder.starts_with(root));
        for repository in repositories_of_root(root).iter().filter(|it| it.is_own || is_inside(it)) {
            named.add(workspace, repository);
        }
    }
    named
}

/// The text of a file of settings, which is a path without links.
pub fn settings_text(workspace: &Workspace, file: &Path) -> Option<String> {
    let bytes = match workspace.place_at(file) {
        Some(place) => match workspace.open_quietly(&place) {
            Ok(OpenedPath::File { file, .. }) => {
                let mut bytes = Vec::new();
                file.take(LONGEST_CONFIG).read_to_end(&mut bytes).ok()?;
                bytes
            }
            _ => return None,
        },
        None => regular_file::read_bounded(file, LONGEST_CONFIG).ok()??,
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

/// Without `.` and `..`, by its letters alone: it need not exist.
pub fn normal(path: &Path) -> PathBuf {
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
