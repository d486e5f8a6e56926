//! What the judge of commands says of a call, and how people are shown it.

use std::{
    fs,
    io::ErrorKind,
    os::unix::fs::DirEntryExt as _,
    path::{Path, PathBuf},
};

use tokio_util::sync::CancellationToken;

use crate::{PrepareContext, autorun::WritesTold, commands::GitUse, own_files::GuardedFiles, work};
use protocol::{CommandWord, ConfirmationDetails, ResourceAccess, ShellCommand};
use shell::{self, CandidateKind, CandidateName, ShellAnalysis, ShellEnvironment};
use sys::guarded::ResolvedPath;

/// Names of one folder that are looked at for a pattern. Listing more would keep a question waiting.
const MOST_ENTRIES: usize = 50_000;

/// Bytes of a command that is judged beside any others. One by one the longer ones leave the other processors to whoever waits.
const MOST_BESIDE_OTHERS: usize = 4 * 1024;

/// Judges a command on a thread that nobody else waits for. Dropped, it stops.
pub async fn judge(command: &str, directory: &Path, cx: &PrepareContext) -> ShellAnalysis {
    let waits_for_turn = command.len() > MOST_BESIDE_OTHERS;
    let turn = if waits_for_turn { cx.commands.judging.next().await } else { None };
    let stop = CancellationToken::new();
    let _stops_when_dropped = stop.clone().drop_guard();
    let (command, directory, cx) = (command.to_owned(), directory.to_owned(), cx.clone());
    work::aside(move || {
        let _turn = turn;
        read(&command, &directory, &cx, &|| !stop.is_cancelled())
    })
    .await
}

/// Judges a command that would run in a folder of the workspace.
fn read(command: &str, directory: &Path, cx: &PrepareContext, is_wanted: &dyn Fn() -> bool) -> ShellAnalysis {
    let home = std::env::home_dir();
    let roots: Vec<PathBuf> = cx.workspace.roots().map(PathBuf::from).collect();
    let guarded = cx.own_files.guarded();
    shell::read(
        command,
        &ShellEnvironment {
            directory,
            home: home.as_deref(),
            roots: &roots,
            autorun: &cx.own_files.autorun_places(&cx.workspace),
            guarded: &guarded.paths,
            secret: &cx.own_files.secret(),
            resolve: &|path: &Path| guarded.read_as(ResolvedPath::to(path).end),
            entries: &|folder: &Path| entries(folder, &guarded),
            is_wanted,
        },
    )
}

/// Commands of the shell, and of the system, that run nothing and may stand beside git in a text that is git's alone.
const BESIDE_GIT: &[&str] =
    &["cd", "echo", "printf", "true", ":", "test", "[", "pwd", "cat", "head", "tail", "wc", "grep"];

/// Commands of git that never change the settings of a repository that is there.
const KEEP_SETTINGS: &[&str] = &[
    "add",
    "apply",
    "archive",
    "blame",
    "cat-file",
    "check-ignore",
    "clean",
    "clone",
    "commit",
    "count-objects",
    "describe",
    "diff",
    "diff-tree",
    "for-each-ref",
    "format-patch",
    "fsck",
    "grep",
    "hash-object",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "merge-base",
    "mv",
    "name-rev",
    "range-diff",
    "reflog",
    "reset",
    "restore",
    "rev-list",
    "rev-parse",
    "rm",
    "shortlog",
    "show",
    "show-ref",
    "stash",
    "status",
    "tag",
    "update-index",
    "whatchanged",
    "write-tree",
];

/// Tells what a text, run in this folder, is to the workspace's repositories. It may change settings where nothing runs but git, what that does is known, and it
/// is not `background`: nobody knows when that ends, and no other command begins meanwhile.
pub fn git_use(reading: &ShellAnalysis, directory: &Path, background: bool) -> GitUse {
    let keeps = |command: &ShellCommand| {
        let mut words = command.words.iter().map(|word| word.text());
        words.next() != Some("git") || words.next().is_some_and(|name| KEEP_SETTINGS.contains(&name))
    };
    let is_alone = is_git_alone(reading);
    let may_configure = is_alone && !background && !reading.commands.iter().all(keeps);
    let is_any = |names: &[&str]| reading.commands.iter().any(|command| is_git_command(command, names));
    let lists = |command: &ShellCommand| {
        let mut words = command.words.iter().map(CommandWord::text).skip(1);
        matches!(
            (words.next(), words.next()),
            (Some("stash" | "worktree"), Some("list" | "show"))
                | (Some("submodule"), Some("status" | "summary"))
        )
    };
    let brings = |command: &ShellCommand| is_git_command(command, BRING_FILES) && !lists(command);
    let (brings_files, brings_patch) = (reading.commands.iter().any(brings), is_any(BRING_PATCH));
    let (goes_on, settings) = (goes_on(reading), git_settings(reading));
    let (folders, may_be_anywhere) = folders_of_git(reading, directory);
    let is_beside = |command: &ShellCommand| {
        sub_command(command).is_none_or(|name| BRING_FILES.contains(&name) || RUN_NOTHING.contains(&name))
    };
    // One that runs something frees nothing because another one brings files.
    let is_anywhere = may_be_anywhere || !reading.commands.iter().all(is_beside);
    let makes_commits = is_any(MAKE_COMMITS);
    GitUse {
        is_alone,
        may_configure,
        brings_files,
        folders,
        is_anywhere,
        makes_commits,
        brings_patch,
        goes_on,
        settings,
    }
}

/// Commands beside git that wait for as long as what they read does. What somebody does meanwhile was not there when it was looked at.
const MAY_WAIT: &[&str] = &["cat", "grep", "head", "tail", "wc"];

/// The folders in which git may begin, and whether nobody can tell all of them, or what is there by then.
fn folders_of_git(reading: &ShellAnalysis, directory: &Path) -> (Vec<PathBuf>, bool) {
    let (mut folders, mut is_anywhere) = (vec![directory.to_owned()], false);
    let (mut may_wait, mut waits_first) = (false, false);
    for command in &reading.commands {
        let words: Vec<&str> = command.words.iter().map(CommandWord::text).collect();
        let mut steps = Vec::new();
        match words.as_slice() {
            ["cd", to] => steps.push(*to),
            ["cd" | "pushd" | "popd", ..] => is_anywhere = true,
            ["git", options @ ..] => {
                waits_first |= may_wait;
                let mut options = options.iter().copied();
                // Each `-C` goes on from the one before it (git(1)).
                while let Some(option) = options.next().filter(|word| word.starts_with('-')) {
                    match option {
                        "-C" => match options.next() {
                            Some(to) => steps.push(to),
                            None => is_anywhere = true,
                        },
                        // They lead nowhere.
                        "--no-pager" | "-P" => (),
                        _ => is_anywhere = true,
                    }
                }
            }
            [name, ..] => may_wait |= MAY_WAIT.contains(name),
            [] => (),
        }
        for to in steps {
            is_anywhere |=
                to.starts_with(['~', '-']) || to.contains(['$', '*', '?', '[', '`']) || 2 < folders.len();
            let further: Vec<PathBuf> = folders.iter().map(|folder| folder.join(to)).collect();
            folders.extend(further);
            folders.dedup();
        }
    }
    (folders, is_anywhere || waits_first)
}

/// Tells which files a text says that it writes.
pub fn writes_told(reading: &ShellAnalysis) -> WritesTold {
    let written = reading.accesses.iter().filter_map(|access| match access {
        ResourceAccess::Write { path } => Some(path.clone()),
        _ => None,
    });
    WritesTold { named: written.collect() }
}

/// Sub-commands of git that write files which a commit has.
const BRING_FILES: &[&str] = &[
    "checkout",
    "cherry-pick",
    "clone",
    "merge",
    "pull",
    "rebase",
    "reset",
    "restore",
    "revert",
    "stash",
    "submodule",
    "switch",
    "worktree",
];

/// The sub-command of git; `None` = it is none of git's, or no more than options.
fn sub_command(command: &ShellCommand) -> Option<&str> {
    let mut words = command.words.iter().map(CommandWord::text);
    words.next().filter(|name| *name == "git")?;
    while let Some(word) = words.next() {
        match word {
            "-C" => drop(words.next()),
            option if option.starts_with('-') => (),
            name => return Some(name),
        }
    }
    None
}

/// Sub-commands of git that run nothing but what settings and hooks say that are looked at where files are brought.
const RUN_NOTHING: &[&str] = &[
    "add",
    "branch",
    "commit",
    "diff",
    "fetch",
    "log",
    "ls-files",
    "merge-base",
    "rev-list",
    "rev-parse",
    "show",
    "show-ref",
    "status",
    "symbolic-ref",
    "tag",
];

/// Sub-commands of git that may make commits.
const MAKE_COMMITS: &[&str] = &["cherry-pick", "commit", "merge", "pull", "rebase", "revert"];

/// Sub-commands of git that write what a file says, which need not come from a commit.
const BRING_PATCH: &[&str] = &["am", "apply", "checkout-index", "read-tree"];

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

/// Sub-commands of git that go on with what waits, or begin what may wait.
const GO_ON: &[&str] = &["am", "cherry-pick", "merge", "pull", "rebase", "revert"];

/// True if all that git does by these words it does in the repository of the folder where the text begins, and one of them goes on with
/// what waits there. In another repository, whose settings an agent may have written, git runs what these say.
fn goes_on(reading: &ShellAnalysis) -> bool {
    let is_of = |command: &ShellCommand, names: &[&[&str]]| {
        let mut words = command.words.iter().map(|word| word.text());
        let is_git = words.next() == Some("git");
        is_git && words.next().is_some_and(|name| names.iter().any(|names| names.contains(&name)))
    };
    let is_here = |command: &ShellCommand| match command.words.first().map(CommandWord::text) {
        Some("git") => is_of(command, &[GO_ON, KEEP_SETTINGS]),
        name => name != Some("cd"),
    };
    reading.commands.iter().all(is_here) && reading.commands.iter().any(|command| is_of(command, &[GO_ON]))
}

/// Settings that the text has `git config` set and by which git may run something, in small letters, when whoever allows it is
/// told of that.
fn git_settings(reading: &ShellAnalysis) -> Vec<String> {
    let is_told = reading.findings.iter().any(|finding| finding.what.starts_with("`git config`"));
    let configures =
        |command: &&ShellCommand| command.words.iter().take(2).map(|word| word.text()).eq(["git", "config"]);
    let words = reading.commands.iter().filter(configures).flat_map(|command| &command.words);
    let keys = words.map(|word| word.text().to_ascii_lowercase()).filter(|word| word.contains('.'));
    if is_told { keys.collect() } else { Vec::new() }
}

/// True if nothing runs but git, and what that does is known.
fn is_git_alone(reading: &ShellAnalysis) -> bool {
    let first = |command: &ShellCommand| command.words.first().map(|word| word.text().to_owned());
    let is_git = |name: &str| name == "git";
    let mut names = reading.commands.iter().map(first);
    reading.unknown.is_none()
        && names.all(|name| name.is_some_and(|name| is_git(&name) || BESIDE_GIT.contains(&name.as_str())))
}

/// The names in a folder; `None` when it cannot be listed, or is too much.
fn entries(folder: &Path, guarded: &GuardedFiles) -> Option<Vec<CandidateName>> {
    let names = match fs::read_dir(folder) {
        Ok(names) => names,
        Err(error) => {
            let is_no_folder = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
            return is_no_folder.then(Vec::new);
        }
    };
    let mut entries = Vec::new();
    for entry in names {
        let entry = entry.ok()?;
        if entries.len() >= MOST_ENTRIES {
            return None;
        }
        let kind = entry.file_type().ok()?;
        let kind = if kind.is_symlink() || guarded.may_be_read_as_other(entry.ino()) {
            CandidateKind::Alias
        } else if kind.is_dir() {
            CandidateKind::Folder
        } else {
            CandidateKind::Other
        };
        entries.push(CandidateName { name: entry.file_name().to_string_lossy().into_owned(), kind });
    }
    Some(entries)
}

/// The details that a person is shown who is asked.
pub fn details(
    command: &str,
    directory: &Path,
    reading: &ShellAnalysis,
    confinement: &str,
) -> ConfirmationDetails {
    let parsed: Vec<String> = reading
        .commands
        .iter()
        .map(|command| command.words.iter().map(CommandWord::text).collect::<Vec<_>>().join(" "))
        .collect();
    let mut root_commands: Vec<String> = reading
        .commands
        .iter()
        .filter_map(|command| Some(command.words.first()?.text().to_owned()))
        .collect();
    root_commands.sort();
    root_commands.dedup();
    let mut reasons: Vec<String> = reading.findings.iter().map(|finding| finding.what.clone()).collect();
    reasons.extend(reading.unknown.iter().map(|why| format!("it cannot be told what would run: {why}")));
    ConfirmationDetails::Exec {
        command: command.to_owned(),
        directory: directory.to_string_lossy().into_owned(),
        root_commands,
        parsed,
        reasons,
        sandbox: confinement.to_owned(),
        background: false,
        pty: false,
        timeout_seconds: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The folders below `/w` in which git may begin by these words; `None` = nobody can tell all of them.
    fn folders(text: &str) -> Option<Vec<String>> {
        let directory = Path::new("/w");
        let reading = read_in(text, directory);
        assert!(is_git_alone(&reading), "{text}");
        let (folders, is_anywhere) = folders_of_git(&reading, directory);
        let below = |path: &PathBuf| path.strip_prefix(directory).unwrap().display().to_string();
        (!is_anywhere).then(|| folders.iter().map(below).collect())
    }

    fn read_in(text: &str, directory: &Path) -> ShellAnalysis {
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

    #[test]
    fn a_line_that_brings_files_frees_no_other_command_of_git() {
        let use_of = |text: &str| {
            let directory = Path::new("/w");
            git_use(&read_in(text, directory), directory, false)
        };
        for text in
            ["git switch b", "git fetch && git merge -q b && git status", "git pull --rebase; git log -1"]
        {
            let git = use_of(text);
            assert!(git.is_alone && git.brings_files && !git.is_anywhere, "{text}");
        }
        for text in [
            "git push . HEAD:refs/heads/n; git switch b",
            "git gc; git switch b",
            "git difftool -y; git pull",
            "git --no-pager push . HEAD:refs/heads/n switch; git -P switch b",
        ] {
            assert!(use_of(text).is_anywhere, "{text}");
        }
        assert!(!use_of("git rebase -s ../../ev b").is_alone);
    }

    #[test]
    fn each_option_that_leads_git_elsewhere_is_followed_or_counts_as_anywhere() {
        let told = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        for text in
            ["git checkout b", "git --no-pager checkout b", "git -C . checkout b", "git pull | tail -3"]
        {
            assert_eq!(folders(text), told(&[""]), "{text}");
        }
        for text in [
            "git -C sub checkout b",
            "git --no-pager -C sub checkout b",
            "git -P -C sub checkout b",
            "git -C . -C sub checkout b",
            "git -C '' -C sub checkout b",
            "git -C . --no-pager -C sub checkout b",
            "cd sub && git checkout b",
        ] {
            assert_eq!(folders(text), told(&["", "sub"]), "{text}");
        }
        for text in [
            "git --no-pager --work-tree=. -C sub checkout b",
            "cd -P sub && git checkout b",
            "cat f; git checkout b",
        ] {
            assert_eq!(folders(text), None, "{text}");
        }
    }
}
