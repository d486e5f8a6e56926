//! What the judge of commands says of a call, and how people are shown it.

use std::{
    fs,
    io::ErrorKind,
    os::unix::fs::DirEntryExt as _,
    path::{Path, PathBuf},
};

use tokio_util::sync::CancellationToken;

use super::brings;
use crate::{PrepareContext, commands::GitUse, own_files::GuardedFiles, work};
use protocol::{CommandWord, ConfirmationDetails, ShellCommand};
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
const BESIDE_GIT: &[&str] = &[
    "cd", "echo", "printf", "true", ":", "test", "[", "pwd", "cat", "head", "tail", "wc", "grep", "ls",
    "sort",
];

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
    let (goes_on, settings) = (goes_on(reading), git_settings(reading));
    GitUse {
        is_alone,
        may_configure,
        brings: brings::git_brings(reading, directory).filter(|_| is_alone),
        fetches: brings::fetches(reading, directory).filter(|_| is_alone),
        directory: directory.to_owned(),
        commits: brings::commits(reading),
        goes_on,
        settings,
        cloned: cloned(reading),
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
    let mut named: Vec<String> = if is_told { keys.collect() } else { Vec::new() };
    // git sets it itself, and what it has git read is looked at like other settings.
    let is_sparse = |command: &ShellCommand| {
        command.words.iter().take(2).map(|word| word.text()).eq(["git", "sparse-checkout"])
    };
    if reading.commands.iter().any(is_sparse) {
        named.push("extensions.worktreeconfig".to_owned());
    }
    named
}

/// What the text has git clone, by its words; `None` = it clones nothing.
fn cloned(reading: &ShellAnalysis) -> Option<Vec<String>> {
    let clones = reading.commands.iter().filter_map(|command| {
        let words: Vec<&str> = command.words.iter().map(CommandWord::text).collect();
        match words.as_slice() {
            ["git", "clone", words @ ..] => {
                Some(words.iter().find(|word| !word.starts_with('-')).copied().unwrap_or_default().to_owned())
            }
            _ => None,
        }
    });
    let clones: Vec<String> = clones.collect();
    (!clones.is_empty()).then_some(clones)
}

/// True if nothing runs but git, and what that does is known.
pub(super) fn is_git_alone(reading: &ShellAnalysis) -> bool {
    let is_of_git = |command: &ShellCommand| {
        let words: Vec<&str> = command.words.iter().map(CommandWord::text).collect();
        match words.as_slice() {
            // Writes a file, and runs nothing that it is not told.
            ["sort", options @ ..] => options.iter().all(|option| !option.starts_with('-')),
            ["sed", "-n", lines] => prints_lines(lines),
            [name, ..] => *name == "git" || BESIDE_GIT.contains(name),
            [] => false,
        }
    };
    reading.unknown.is_none() && reading.commands.iter().all(is_of_git)
}

/// `1,5p`, `$p`: a script of sed that prints lines and does nothing else.
fn prints_lines(script: &str) -> bool {
    let lines = script.strip_suffix('p');
    lines.is_some_and(|it| it.bytes().all(|byte| byte.is_ascii_digit() || [b',', b'$'].contains(&byte)))
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
