//! Does a text of git alone bring files that commits have, and is each of its words one by which git runs no program?
//!
//! A word that is missing in these lists has what was fetched or merged at kept places reported; nothing is left unwatched by it.

use std::path::Path;

use crate::autorun::{GitBrings, GitCommits};
use protocol::{CommandWord, ShellCommand};
use shell::ShellAnalysis;

/// Sub-commands of git that write files which a commit has, or bring the commits.
const BRING_FILES: &[&str] = &[
    "checkout",
    "cherry-pick",
    "clone",
    "fetch",
    "merge",
    "pull",
    "rebase",
    "reset",
    "restore",
    "revert",
    "sparse-checkout",
    "stash",
    "submodule",
    "switch",
    "worktree",
];

/// Sub-commands of git that write what a file says, which need not come from a commit.
const BRING_PATCH: &[&str] = &["am", "apply", "checkout-index", "read-tree"];

/// Sub-commands of git that may bring what the index does not name.
const PUT_BACK: &[&str] = &["restore", "stash"];

/// Sub-commands that also run git in repositories of their own, whose hooks and settings nobody looks at here.
const ELSEWHERE: &[&str] = &["submodule"];

/// Sub-commands of git that run nothing but what settings and hooks say that are looked at where files are brought.
const RUN_NOTHING: &[&str] = &["add", "branch", "commit", "diff", "log", "show", "tag"];

/// Sub-commands of git that run nothing by any option of theirs.
const RUN_NOTHING_BY_OPTIONS: &[&str] = &[
    "describe",
    "for-each-ref",
    "ls-files",
    "ls-tree",
    "merge-base",
    "name-rev",
    "rev-list",
    "rev-parse",
    "show-ref",
    "status",
    "symbolic-ref",
];

/// Sub-commands of git that may make commits without `git commit`.
const MAKE_COMMITS: &[&str] = &["cherry-pick", "merge", "pull", "rebase", "revert"];

/// Options of these sub-commands by which git runs no program, and goes to no other repository, whichever of them they stand behind.
const PLAIN_OPTIONS: &[&str] = &[
    "--",
    "--abort",
    "--all",
    "--amend",
    "--autostash",
    "--branch",
    "--cached",
    "--continue",
    "--create",
    "--depth",
    "--detach",
    "--ff",
    "--ff-only",
    "--force",
    "--graph",
    "--hard",
    "--include-untracked",
    "--index",
    "--keep",
    "--list",
    "--merge",
    "--message",
    "--mixed",
    "--name-only",
    "--name-status",
    "--no-autostash",
    "--no-commit",
    "--no-edit",
    "--no-ff",
    "--no-progress",
    "--no-rebase",
    "--no-single-branch",
    "--no-squash",
    "--no-stat",
    "--no-tags",
    "--no-track",
    "--oneline",
    "--onto",
    "--ours",
    "--porcelain",
    "--progress",
    "--prune",
    "--quiet",
    "--quit",
    "--rebase",
    "--rebase=false",
    "--rebase=merges",
    "--rebase=true",
    "--short",
    "--show-current",
    "--single-branch",
    "--skip",
    "--soft",
    "--source",
    "--squash",
    "--staged",
    "--stat",
    "--tags",
    "--theirs",
    "--track",
    "--unshallow",
    "--verbose",
    "--worktree",
    "-",
    "-A",
    "-B",
    "-W",
    "-a",
    "-b",
    "-d",
    "-f",
    "-m",
    "-n",
    "-p",
    "-q",
    "-sb",
    "-t",
    "-v",
    "-vv",
];

/// The beginnings of such options that have their value in the same word.
const PLAIN_BEGINNINGS: &[&str] = &[
    "--branch=",
    "--depth=",
    "--format=",
    "--max-count=",
    "--onto=",
    "--pretty=",
    "--source=",
    "--strategy-option=",
];

/// Options that are such behind one sub-command, and something else behind others.
const PLAIN_BEHIND: &[(&str, &str)] = &[
    ("branch", "-D"),
    ("branch", "-r"),
    ("cherry-pick", "-X"),
    ("cherry-pick", "-x"),
    ("merge", "-X"),
    ("pull", "-X"),
    ("pull", "-r"),
    ("rebase", "-X"),
    ("stash", "-u"),
    ("switch", "-C"),
    ("switch", "-c"),
];

/// Sub-commands of git that bring commits of another repository.
const FETCH: &[&str] = &["fetch", "pull"];

/// Sub-commands of git that make no objects.
const MAKE_NOTHING: &[&str] = &["diff", "log", "show"];

/// Commands beside git that wait for as long as what they read does. What somebody does meanwhile was not there when it was looked at.
const MAY_WAIT: &[&str] = &["cat", "grep", "head", "sed", "sort", "tail", "wc"];

/// Tells what a text that runs nothing but git, begun in this folder, may bring; `None` = nothing that git has.
pub fn git_brings(reading: &ShellAnalysis, directory: &Path) -> Option<GitBrings> {
    let is_any = |names: &[&str]| reading.commands.iter().any(|command| is_git_command(command, names));
    let brings = |command: &ShellCommand| is_git_command(command, BRING_FILES) && !lists(command);
    let may_bring = reading.commands.iter().any(brings) && !is_any(BRING_PATCH);
    let is_plain = || is_plain(reading, directory);
    may_bring.then(|| GitBrings { is_plain: is_plain(), fetches: false, puts_back: is_any(PUT_BACK) })
}

/// Tells from which remotes a text fetches before git makes anything else, none = those of the settings; `None` = it does not.
pub fn fetches(reading: &ShellAnalysis, directory: &Path) -> Option<Vec<String>> {
    let (mut remotes, mut has_made, mut fetches) = (Vec::new(), false, false);
    for command in reading.commands.iter().filter(|_| is_plain(reading, directory)) {
        let words: Vec<&str> = command.words.iter().map(CommandWord::text).collect();
        let words = match words.as_slice() {
            ["git", "-C", _, words @ ..] | ["git", words @ ..] => words,
            _ => continue,
        };
        let mut words = words.iter().skip_while(|word| word.starts_with('-'));
        let Some(name) = words.next() else { continue };
        if FETCH.contains(name) {
            if has_made {
                return None;
            }
            fetches = true;
            has_made = *name == "pull";
            let remote = words.find(|word| !word.starts_with('-')).map(|remote| (*remote).to_owned());
            remotes.extend(remote.filter(|remote| !remotes.contains(remote)));
        } else {
            has_made |= !MAKE_NOTHING.contains(name) && !RUN_NOTHING_BY_OPTIONS.contains(name);
        }
    }
    fetches.then_some(remotes)
}

/// Tells which commits it may make. To go on with a merge or a pick is to run `git commit`.
pub fn commits(reading: &ShellAnalysis) -> GitCommits {
    let is_any = |names: &[&str]| reading.commands.iter().any(|command| is_git_command(command, names));
    let words = || reading.commands.iter().flat_map(|command| &command.words);
    // A tag with a message has an editor opened, as a commit has. An option may be shortened.
    if is_any(&["commit", "tag"]) || words().any(|word| word.text().starts_with("--cont")) {
        GitCommits::ByGitCommit
    } else if reading.commands.iter().any(makes_commits) {
        GitCommits::ByOthers
    } else {
        GitCommits::None
    }
}

/// True if it may make a commit beside `git commit`. A merge that only moves on makes none.
fn makes_commits(command: &ShellCommand) -> bool {
    let only_moves = is_git_command(command, &["merge", "pull"])
        && command.words.iter().any(|word| word.text() == "--ff-only")
        // The last one of these counts.
        && !command.words.iter().any(|word| ["--ff", "--no-ff"].contains(&word.text()))
        && !command.words.iter().any(|word| word.text().starts_with("--reb") || word.text() == "-r");
    is_git_command(command, MAKE_COMMITS) && !only_moves
}

fn lists(command: &ShellCommand) -> bool {
    let mut words = command.words.iter().map(CommandWord::text).skip(1);
    matches!(
        (words.next(), words.next()),
        (Some("stash" | "worktree" | "sparse-checkout"), Some("list" | "show"))
            | (Some("submodule"), Some("status" | "summary"))
    )
}

/// True if the first word is `git` and its sub-command one of these; behind options of git any word may be that.
fn is_git_command(command: &ShellCommand, names: &[&str]) -> bool {
    let mut words = command.words.iter().map(CommandWord::text);
    let is_git = words.next() == Some("git");
    is_git
        && match words.next() {
            Some(word) if word.starts_with('-') => words.any(|word| names.contains(&word)),
            word => word.is_some_and(|word| names.contains(&word)),
        }
}

/// True if git begins in this folder each time, before it nothing waits for somebody, and by none of its words does it run a program.
fn is_plain(reading: &ShellAnalysis, directory: &Path) -> bool {
    let mut may_wait = false;
    reading.commands.iter().all(|command| {
        let words: Vec<&str> = command.words.iter().map(CommandWord::text).collect();
        match words.as_slice() {
            ["git", "-C", to, words @ ..] if directory.join(to) == directory => {
                !may_wait && is_plain_git(words)
            }
            ["git", words @ ..] => !may_wait && is_plain_git(words),
            ["cd", to] => directory.join(to) == directory,
            ["cd", ..] => false,
            [name, ..] => {
                may_wait |= MAY_WAIT.contains(name);
                true
            }
            [] => false,
        }
    })
}

/// `words`: behind `git`.
fn is_plain_git(words: &[&str]) -> bool {
    let words = words.iter().copied().skip_while(|word| ["--no-pager", "-P"].contains(word));
    let words: Vec<&str> = words.collect();
    let Some((name, words)) = words.split_first() else { return false };
    if RUN_NOTHING_BY_OPTIONS.contains(name) {
        return true;
    }
    let is_known = BRING_FILES.contains(name) && !ELSEWHERE.contains(name) || RUN_NOTHING.contains(name);
    // What the shell puts in their place is not read here, and `::` stands behind the name of a program that fetches.
    // A merge into another folder puts what an agent wrote at places of other names.
    let is_told =
        |word: &str| !word.contains(['$', '`']) && !word.contains("::") && !word.contains("subtree");
    let is_plain_option = |word: &str| {
        PLAIN_OPTIONS.contains(&word)
            || PLAIN_BEGINNINGS.iter().any(|begin| word.starts_with(begin))
            || PLAIN_BEHIND.contains(&(*name, word))
            || word.len() > 1 && word[1..].bytes().all(|byte| byte.is_ascii_digit())
    };
    is_known && words.iter().all(|word| is_told(word) && (!word.starts_with('-') || is_plain_option(word)))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{super::judged::git_use, *};
    use shell::ShellEnvironment;

    fn read(text: &str, directory: &Path) -> ShellAnalysis {
        shell::read(
            text,
            &ShellEnvironment {
                directory,
                home: None,
                roots: &[directory.to_owned()],
                autorun: &[],
                guarded: &[],
                secret: &[],
                resolve: &|path: &Path| path.to_owned(),
                entries: &|_: &Path| Some(Vec::new()),
                is_wanted: &|| true,
            },
        )
    }

    /// `None` = it brings nothing that git has.
    fn is_plain_line(text: &str) -> Option<bool> {
        let directory = PathBuf::from("/w");
        let git = git_use(&read(text, &directory), &directory, false);
        git.brings.map(|brings| brings.is_plain)
    }

    #[test]
    fn a_line_is_plain_where_each_word_is_one_by_which_git_runs_nothing() {
        for text in [
            "git switch b",
            "git --no-pager checkout -q b",
            "git fetch -q && git merge -q b && git status",
            "git pull --rebase; git log -1",
            "git pull 2>&1 | tail -3",
            "cd /w && git pull",
            "cd . && git clone -q --depth 1 ../x .",
            "git -C . pull",
            "git -C /w pull",
            "git switch - && git checkout -",
            "git pull && git rev-parse --short HEAD",
            "git pull -q && ls -la",
            "git pull 2>&1 | sed -n 1,5p",
            "git stash -u && git pull --ff-only && git stash pop",
            "git cherry-pick -x b",
            "git worktree add wt b",
        ] {
            assert_eq!(is_plain_line(text), Some(true), "{text}");
        }
        for text in [
            "git -C sub checkout b",
            "git --no-pager -C sub checkout b",
            "git -C . -C sub checkout b",
            "git --no-pager --work-tree=. -C sub checkout b",
            "cd sub && git checkout b",
            "cd -P sub && git checkout b",
            "cat f; git checkout b",
            "sed -n 1p f; git checkout b",
            "git pull | sed -n 1e",
            "git pull | sed -n 'w f'",
            "git pull | sed 1d",
            "git -C. pull",
            "git -C ./sub pull",
            "git rebase -x make b",
            "git push . HEAD:refs/heads/n; git switch b",
            "git gc; git switch b",
            "git difftool -y; git pull",
            "git --no-pager push . HEAD:refs/heads/n switch; git -P switch b",
            "git submodule update --init",
            "git clone -u x y z",
            "git fetch --upload-pack=x; git merge b",
            "git rebase -i b",
            "git merge -X subtree=.vscode b",
            "git pull ext::x",
        ] {
            assert_ne!(is_plain_line(text), Some(true), "{text}");
        }
        for text in ["git status", "git commit -q -m x", "git stash list", "git am x; git switch b"] {
            assert_eq!(is_plain_line(text), None, "{text}");
        }
        assert_eq!(is_plain_line("git rebase -s ../../ev b"), None);
    }

    #[test]
    fn a_text_fetches_where_git_makes_nothing_before() {
        let directory = PathBuf::from("/w");
        let remotes = |text: &str| fetches(&read(text, &directory), &directory).map(|names| names.join(" "));
        for (text, names) in [
            ("git fetch", ""),
            ("git pull -q --rebase && git stash pop", ""),
            ("git status -sb; git -C . fetch -q origin main && git merge -q x", "origin"),
            ("git fetch a; git log -1; git pull b c", "a b"),
            ("cd . && git pull ./evil main 2>&1 | tail -3", "./evil"),
        ] {
            assert_eq!(remotes(text).as_deref(), Some(names), "{text}");
        }
        for text in [
            "git switch b",
            "git stash -u && git pull",
            "git pull; git fetch",
            "git add x; git fetch",
            "git fetch --upload-pack=x",
            "git -C sub fetch",
            "git -c a=b fetch",
        ] {
            assert_eq!(remotes(text), None, "{text}");
        }
    }

    #[test]
    fn a_merge_that_only_moves_on_makes_no_commit() {
        let directory = PathBuf::from("/w");
        for (text, makes) in [
            ("git pull --ff-only", GitCommits::None),
            ("git merge --ff-only b", GitCommits::None),
            ("git pull", GitCommits::ByOthers),
            ("git pull --ff-only --no-ff", GitCommits::ByOthers),
            ("git pull --ff-only --rebase", GitCommits::ByOthers),
            ("git pull --ff-only; git merge b", GitCommits::ByOthers),
            ("git cherry-pick --ff-only b", GitCommits::ByOthers),
            ("git pull --ff-only; git commit -m x", GitCommits::ByGitCommit),
            ("git -C sub merge --continue", GitCommits::ByGitCommit),
            ("git tag -a x; git switch b", GitCommits::ByGitCommit),
        ] {
            assert_eq!(commits(&read(text, &directory)), makes, "{text}");
        }
    }
}
