//! Could git run a program of somebody's while it brings files of a commit? What that program writes is not what the commit has, and the two
//! are not told apart afterwards.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    repositories::{GitNamed, RepositoryAround, repositories_of_root},
    workspace::Workspace,
};
use sys::regular_file;

/// Hooks that are run wherever files are brought: githooks(5).
const AT_CHECKOUT: &[&str] = &["post-checkout", "post-index-change", "reference-transaction"];
/// Hooks that are run where commits are made beside it, as by a merge.
const AT_COMMIT: &[&str] = &[
    "commit-msg",
    "post-commit",
    "post-merge",
    "post-rewrite",
    "pre-commit",
    "pre-merge-commit",
    "pre-rebase",
    "prepare-commit-msg",
];
/// Bytes of a hook that is read.
const LONGEST_HOOK: u64 = 4_096;

/// True if git, begun in one of these folders, could run a program by a hook or a setting of the repository there, or if that is none of those
/// of the `roots`. Of a folder below a root it counts as if it could: another repository, or a link, may be there by the time git begins. `makes_commits`:
/// it may, beside what it brings. Blocks for a bounded look.
pub fn git_runs_programs(roots: &[PathBuf], folders: &[PathBuf], makes_commits: bool) -> io::Result<bool> {
    let workspace = Workspace::open(roots).map_err(|error| io::Error::other(error.to_string()))?;
    let known: Vec<RepositoryAround> = roots.iter().flat_map(|root| repositories_of_root(root)).collect();
    Ok(folders.iter().any(|folder| {
        if !roots.contains(folder) {
            return true;
        }
        // Where there is none, git does nothing.
        let Some(repository) = RepositoryAround::all(folder).into_iter().next() else { return false };
        let is_known = known.iter().any(|it| it.folder == repository.folder);
        !is_known || runs_programs(&workspace, &repository, makes_commits)
    }))
}

fn runs_programs(workspace: &Workspace, repository: &RepositoryAround, makes_commits: bool) -> bool {
    let named = GitNamed::by(workspace, repository);
    // Folders of hooks are looked into.
    let is_run = |key: &str, value: &str| {
        !key.starts_with("alias.")
            && !key.eq_ignore_ascii_case("core.hooksPath")
            && !value.trim_start().starts_with("git-lfs ")
    };
    if named.values.iter().any(|set| is_run(&set.key, &set.value)) {
        return true;
    }
    let own = repository.common.join("hooks");
    named.hook_folders.iter().chain([&own]).any(|folder| {
        // What husky has there runs the hook of its name in the folder above.
        let folder = folder.parent().filter(|_| folder.ends_with("_")).unwrap_or(folder);
        let hooks = AT_CHECKOUT.iter().chain(if makes_commits { AT_COMMIT } else { &[] });
        hooks.map(|name| folder.join(name)).any(|hook| is_hook(&hook))
    })
}

/// True of a hook that runs anything but Git LFS.
fn is_hook(path: &Path) -> bool {
    if fs::symlink_metadata(path).is_err() {
        return false;
    }
    let Some(text) = regular_file::read_bounded(path, LONGEST_HOOK).ok().flatten() else { return true };
    let text = String::from_utf8_lossy(&text);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let is_of_lfs = |line: &str| {
        let is_call = line.starts_with("git lfs ") && !line.contains([';', '&', '|', '`', '(', '<', '>']);
        is_call
            || line.starts_with("command -v git-lfs >/dev/null 2>&1 || { printf >&2 ")
                && line.ends_with("exit 2; }")
    };
    !lines.all(is_of_lfs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_and_settings_of_a_repository_run_programs_and_samples_and_large_files_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let roots = std::slice::from_ref(&root);
        let put = |name: &str, text: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put(".git/HEAD", "ref: refs/heads/main\n");
        put(
            ".git/config",
            "[core]\n\tbare = false\n[alias]\n\tx = !make\n[filter \"lfs\"]\n\tsmudge = git-lfs smudge -- %f\n",
        );
        put(".git/hooks/post-checkout.sample", "#!/bin/sh\nmake\n");
        put(
            ".git/hooks/post-checkout",
            "#!/bin/sh\ncommand -v git-lfs >/dev/null 2>&1 || { printf >&2 \"\\n%s\\n\\n\" \"This repository is configured for Git LFS\"; exit 2; }\n\
             git lfs post-checkout \"$@\"\n",
        );
        fs::create_dir_all(root.join("sub/deep")).unwrap();
        let runs = |below: &str| git_runs_programs(roots, &[root.join(below)], false).unwrap();
        assert!(!runs("") && !runs("."));
        // One that an agent made, or that may be there at any time.
        assert!(runs("sub/deep"));
        std::os::unix::fs::symlink("sub/deep", root.join("link")).unwrap();
        assert!(runs("link") && runs("sub/.."));
        put("sub/.git/HEAD", "ref: refs/heads/main\n");
        fs::create_dir_all(root.join("sub/.git/objects")).unwrap();
        fs::create_dir_all(root.join("sub/.git/refs")).unwrap();
        assert!(runs("sub/deep") && !runs(""));
        put(".git/hooks/post-checkout", "#!/bin/sh\ngit lfs post-checkout \"$@\"\nmake\n");
        assert!(runs(""));
        fs::remove_file(root.join(".git/hooks/post-checkout")).unwrap();
        assert!(!runs(""));
        put(".git/config", "[core]\n\tfsmonitor = tools/fsm\n");
        assert!(runs(""));
        put(".git/config", "[core]\n\thooksPath = .husky/_\n");
        put(".husky/_/post-merge", "#!/usr/bin/env sh\n. \"$(dirname \"$0\")/h\"\n");
        assert!(!runs(""));
        put(".husky/post-merge", "npm install\n");
        assert!(!runs("") && git_runs_programs(roots, roots, true).unwrap());
        put(".husky/post-checkout", "npm install\n");
        assert!(runs(""));
    }
}
