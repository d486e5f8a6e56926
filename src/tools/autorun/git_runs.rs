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
/// Settings that name programs, and that git does not read to bring files: editors and pagers, which it opens on a terminal or for
/// `git commit`, and programs for single sub-commands (git-config(1)). Of a name in three parts the one in the middle is any.
const OF_OTHERS: &[(&str, &str)] = &[
    ("core", "pager"),
    ("difftool", "cmd"),
    ("difftool", "path"),
    ("diff", "guitool"),
    ("diff", "tool"),
    ("mergetool", "cmd"),
    ("mergetool", "path"),
    ("merge", "guitool"),
    ("merge", "tool"),
    ("sendemail", "smtpserver"),
];
/// The same where it does not run `git commit`, and reverts nothing.
const OF_COMMITS: &[(&str, &str)] = &[("commit", "template"), ("core", "editor"), ("sequence", "editor")];
/// Settings that name files, addresses, words or branches and no program.
const OF_NO_PROGRAM: &[(&str, &str)] = &[
    ("branch", "pushremote"),
    ("branch", "remote"),
    ("core", "attributesfile"),
    ("core", "excludesfile"),
    ("credential", "usehttppath"),
    ("credential", "username"),
    ("gpg", "allowedsignersfile"),
    ("gpg", "format"),
    ("maintenance", "strategy"),
    ("remote", "pushdefault"),
    ("url", "insteadof"),
    ("url", "pushinsteadof"),
];
/// Helpers that come with git, or with systems, and programs by the names that systems have them under: none lies in a workspace.
const OF_SYSTEM: &[(&str, &str, &[&str])] = &[
    (
        "credential",
        "helper",
        &["cache", "libsecret", "manager", "manager-core", "osxkeychain", "store", "wincred"],
    ),
    ("gpg", "program", &["gpg", "gpg2", "gpgsm", "ssh-keygen"]),
];
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
            && !runs_nothing(key, value, commits)
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

/// True of a setting by which git runs no program of a workspace while it brings files.
fn runs_nothing(key: &str, value: &str, commits: GitCommits) -> bool {
    // Of a text that is not read as git writes it, there is the last part of a key alone.
    let (Some((section, _)), Some((_, name))) = (key.split_once('.'), key.rsplit_once('.')) else {
        return false;
    };
    let value = value.trim();
    // `core.fsmonitor = true` is git's own, and a program of such a name is the system's. Submodules have settings of their own.
    let is_switch = ["true", "false", "yes", "no", "on", "off", ""].contains(&value)
        || value.bytes().all(|byte| byte.is_ascii_digit());
    if is_switch && section != "submodule" && name != "worktree" {
        return true;
    }
    let is_of = |list: &[(&str, &str)]| list.contains(&(section, name));
    // git opens a pager on a terminal alone.
    if section == "pager" || is_of(OF_OTHERS) || commits != GitCommits::ByGitCommit && is_of(OF_COMMITS) {
        return true;
    }
    // It may stand in the middle part: `url.ext::x.insteadOf`.
    let is_odd =
        |text: &str| text.contains("::") || text.contains(['"', '\\', '`', '$', ';', '&', '|', '<', '>']);
    if is_odd(key) || is_odd(value) || value.starts_with(['!', '-']) {
        return false;
    }
    let is_of_system = |(of, named, programs): &(&str, &str, &[&str])| {
        (*of, *named) == (section, name) && programs.contains(&value)
    };
    is_of(OF_NO_PROGRAM)
        || OF_SYSTEM.iter().any(is_of_system)
        || (section, name) == ("core", "sshcommand") && is_plain_ssh(value)
}

/// `ssh -i key`: its options run nothing else.
fn is_plain_ssh(command: &str) -> bool {
    let mut words = command.split_whitespace();
    let is_ssh = words.next() == Some("ssh");
    while let Some(word) = words.next() {
        let is_plain = match word {
            "-4" | "-6" | "-q" | "-v" => true,
            "-i" | "-p" => words.next().is_some_and(|value| !value.starts_with('-')),
            "-o" => words.next() == Some("IdentitiesOnly=yes"),
            _ => false,
        };
        if !is_plain {
            return false;
        }
    }
    is_ssh
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
        for nothing in [
            "[core]\n\tfsmonitor = true\n\teditor = ./edit.sh\n\tpager = ./page.sh\n\tsshCommand = ssh -i ~/.ssh/work -o IdentitiesOnly=yes\n",
            "[feature]\n\tmanyFiles = true\n[rerere]\n\tenabled = 1\n[maintenance]\n\tauto = false\n\tstrategy = incremental\n",
            "[credential]\n\thelper = store\n[credential \"https://example.org\"]\n\thelper = manager\n\tusername = ann\n",
            "[merge]\n\ttool = mine\n[mergetool \"mine\"]\n\tcmd = ./merge.sh $LOCAL\n[pager]\n\tlog = ./page.sh\n",
            "[gpg]\n\tprogram = gpg2\n\tformat = ssh\n[gpg \"ssh\"]\n\tallowedSignersFile = .signers\n[commit]\n\tgpgsign = true\n\ttemplate = .message\n",
            "[url \"git@example.org:\"]\n\tinsteadOf = https://example.org/\n[extensions]\n\tworktreeConfig = true\n",
            "[filter \"lfs\"]\n\trequired = true\n\tprocess = git-lfs filter-process\n",
            "[branch \"main\"]\n\tremote = .\n\tpushRemote = ../elsewhere\n",
        ] {
            put(".git/config", nothing);
            assert!(!runs(""), "{nothing}");
        }
        for program in [
            "[core]\n\tfsmonitor = true\n\tfsmonitor = ./watch\n",
            "[core]\n\tsshCommand = ssh -o ProxyCommand=./x\n",
            "[core]\n\tsshCommand = ssh -F ./x\n",
            "[core]\n\tsshCommand = ./ssh\n",
            "[credential]\n\thelper = ./store\n",
            "[credential]\n\thelper = !./store\n",
            "[gpg]\n\tprogram = ./gpg\n",
            "[gpg \"ssh\"]\n\tdefaultKeyCommand = ./x\n",
            "[url \"ext::x\"]\n\tinsteadOf = https://example.org/\n",
            "[url \"https://example.org/\"]\n\tinsteadOf = ext::x\n",
            "[filter \"x\"]\n\tsmudge = ./x\n",
            "[submodule]\n\trecurse = on\n",
            "[merge \"x\"]\n\tdriver = ./x\n",
            "[diff]\n\texternal = ./x\n",
            "[interactive]\n\tdiffFilter = ./x\n",
        ] {
            put(".git/config", program);
            assert!(runs(""), "{program}");
        }
        put(".git/config", "[core]\n\teditor = ./edit.sh\n");
        assert!(git_runs_programs(roots, &root, GitCommits::ByGitCommit).unwrap());
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
