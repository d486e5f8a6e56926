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
const AT_CHECKOUT: &[&str] = &["post-checkout", "post-index-change", "pre-auto-gc", "reference-transaction"];
/// Hooks that are run where commits are made beside it, as by a merge.
const AT_COMMIT: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "post-applypatch",
    "post-commit",
    "post-merge",
    "post-rewrite",
    "pre-applypatch",
    "pre-merge-commit",
    "pre-rebase",
    "prepare-commit-msg",
];
/// A hook that is run only where `git commit` is, also where a merge goes on.
const AT_GIT_COMMIT: &[&str] = &["pre-commit"];
/// Bytes of a hook that is read.
const LONGEST_HOOK: u64 = 4_096;

/// The commits that a command line of git may make, which tells the hooks that are run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GitCommits {
    #[default]
    None,
    /// Commits of a merge, a rebase or a pick.
    ByOthers,
    /// Commits of `git commit` as well.
    ByGitCommit,
}

/// True if git, begun in this folder, could run a program by a hook or a setting of the repository there. Of a folder that is none of the `roots`
/// it counts as if it could: another repository, or a link, may be there by the time git begins. Blocks for a bounded look.
pub fn git_runs_programs(roots: &[PathBuf], folder: &Path, commits: GitCommits) -> io::Result<bool> {
    if roots.iter().all(|root| root != folder) {
        return Ok(true);
    }
    let workspace = Workspace::open(roots).map_err(|error| io::Error::other(error.to_string()))?;
    // Where there is none, git does nothing.
    let Some(repository) = RepositoryAround::all(folder).into_iter().next() else { return Ok(false) };
    let mut known = roots.iter().flat_map(|root| repositories_of_root(root));
    let is_known = known.any(|it| it.folder == repository.folder);
    Ok(!is_known || runs_programs(&workspace, &repository, commits))
}

fn runs_programs(workspace: &Workspace, repository: &RepositoryAround, commits: GitCommits) -> bool {
    let named = GitNamed::by(workspace, repository);
    // Folders of hooks are looked into.
    let is_run = |key: &str, value: &str| {
        !key.starts_with("alias.")
            && !key.eq_ignore_ascii_case("core.hooksPath")
            && !value.trim_start().starts_with("git-lfs ")
            && !is_address(key, value)
    };
    if named.values.iter().any(|set| is_run(&set.key, &set.value)) {
        return true;
    }
    let own = repository.common.join("hooks");
    named.hook_folders.iter().chain([&own]).any(|folder| {
        // What husky has there runs the hook of its name in the folder above.
        let folder = folder.parent().filter(|_| folder.ends_with("_")).unwrap_or(folder);
        let hooks = AT_CHECKOUT
            .iter()
            .chain(if commits == GitCommits::None { &[] } else { AT_COMMIT })
            .chain(if commits == GitCommits::ByGitCommit { AT_GIT_COMMIT } else { &[] });
        hooks.map(|name| folder.join(name)).any(|hook| is_hook(&hook))
    })
}

/// True of an address from which git fetches, and of the leave to fetch from this machine: only a push runs something there.
fn is_address(key: &str, value: &str) -> bool {
    let is_url = key.starts_with("remote.") && (key.ends_with(".url") || key.ends_with(".pushurl"));
    let is_run =
        value.contains("::") || value.contains(['"', '\\']) || value.trim_start().starts_with(['!', '-']);
    is_url && !is_run || key.eq_ignore_ascii_case("protocol.file.allow")
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
        let runs = |below: &str| git_runs_programs(roots, &root.join(below), GitCommits::None).unwrap();
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
        let fetched = "[remote \"o\"]\n\turl = ../from\n\tfetch = +refs/heads/*:refs/remotes/o/*\n";
        put(".git/config", &format!("{fetched}[protocol \"file\"]\n\tallow = always\n"));
        assert!(!runs(""));
        put(".git/config", "[remote \"o\"]\n\turl = ext::x\n");
        assert!(runs(""));
        put(".git/config", "[remote \"o\"]\n\tuploadpack = x\n");
        assert!(runs(""));
        put(".git/config", "[core]\n\thooksPath = .husky/_\n");
        put(".husky/_/post-merge", "#!/usr/bin/env sh\n. \"$(dirname \"$0\")/h\"\n");
        assert!(!runs(""));
        let makes = |commits| git_runs_programs(roots, &root, commits).unwrap();
        put(".husky/pre-commit", "npm test\n");
        assert!(!runs("") && !makes(GitCommits::ByOthers) && makes(GitCommits::ByGitCommit));
        put(".husky/post-merge", "npm install\n");
        assert!(!runs("") && makes(GitCommits::ByOthers));
        put(".husky/post-checkout", "npm install\n");
        assert!(runs(""));
    }
}
