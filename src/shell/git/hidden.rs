//! Words for git of which nobody can tell whether they are options, or which sub-command of a sub-command they are.

use crate::{
    files::FileEffect,
    options::{OptionSpec, ParsedArguments, anywhere},
    scope::{CommandScope, ScriptWalk},
    value::WordValue,
};

/// Sub-commands with options that run a command (`--upload-pack`, `--exec`, `-O`, `-x`), or copy hooks from elsewhere (`--template`).
const OPTIONS_RUN: &[&str] = &[
    "archive",
    "clone",
    "difftool",
    "fetch",
    "fetch-pack",
    "grep",
    "init",
    "ls-remote",
    "pull",
    "push",
    "rebase",
    "send-pack",
];

/// Sub-commands with options that name a file to write (`--output`, `-o`).
pub(super) const OPTIONS_WRITE: &[&str] = &[
    "annotate",
    "archive",
    "blame",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "format-patch",
    "log",
    "range-diff",
    "reflog",
    "rev-list",
    "shortlog",
    "show",
    "stash",
    "whatchanged",
];

/// Sub-commands whose first word says what they do, and one of those runs or writes what the next words say.
const HAVE_SUB_COMMANDS: &[&str] = &["bisect", "bundle", "lfs", "stash", "submodule", "worktree"];

/// Values of the options that these have, in words of their own (git-grep(1); git-log(1); git-clone(1)).
fn spec(name: &str) -> OptionSpec {
    let spec = |valued, long_valued| OptionSpec { valued, long_valued, ..OptionSpec::default() };
    match name {
        "grep" => spec("eABCmf", &["max-count", "max-depth", "threads"]),
        "clone" => spec("bo", &["branch", "depth", "origin"]),
        "push" => spec("o", &["push-option"]),
        "archive" => spec("o", &["output", "prefix", "format", "remote"]),
        _ if OPTIONS_WRITE.contains(&name) => spec(
            "nSGo",
            &[
                "after",
                "author",
                "before",
                "committer",
                "grep",
                "max-count",
                "output-directory",
                "since",
                "skip",
                "until",
            ],
        ),
        _ => OptionSpec::default(),
    }
}

fn parsed(name: &str, args: &[WordValue]) -> ParsedArguments {
    anywhere(&spec(name), args)
}

/// Sub-commands that merge, with the letters of options that take a value; of the last ones `-s` says nothing of a strategy.
const MERGING: &[(&str, &str)] =
    &[("merge", "FSXm"), ("pull", "SXjo"), ("rebase", "CSXx"), ("cherry-pick", "s"), ("revert", "s")];
/// The strategies that git has of its own (git-merge(1), MERGE STRATEGIES). Another one is a program, which may lie anywhere.
const STRATEGIES: &[&str] = &["octopus", "ort", "ours", "recursive", "resolve", "subtree"];

/// The strategy that a sub-command is told and that git does not have of its own, or that nobody can tell.
fn foreign_strategy(name: &str, args: &[WordValue]) -> Option<String> {
    let (_, valued) = MERGING.iter().find(|(merging, _)| *merging == name)?;
    let told = args.iter().enumerate().filter_map(|(at, arg)| {
        let lead = arg.lead();
        let rest = match lead.strip_prefix('-') {
            Some("-strategy") => "",
            Some(long) if long.starts_with('-') => long.strip_prefix("-strategy=")?,
            Some(letters) => {
                let begin = letters.find(|letter| letter == 's' || valued.contains(letter))?;
                letters[begin..].strip_prefix('s').filter(|_| !valued.contains('s'))?
            }
            None => return None,
        };
        Some(match (rest, arg.known()) {
            (_, None) => arg.raw().to_owned(),
            ("", _) => args.get(at + 1)?.raw().to_owned(),
            (rest, _) => rest.to_owned(),
        })
    });
    told.map(|told| told.trim_matches(['"', '\'']).to_owned())
        .find(|told| !STRATEGIES.contains(&told.as_str()))
}

/// A tool that is told by a path, or that nobody can tell: git reads the file of its name as a shell does (git-difftool(1), `--tool`). Where another
/// option stands before it in one word, nobody knows which of the letters is meant.
fn tool_of_path(name: &str, args: &[WordValue]) -> bool {
    if !["difftool", "mergetool"].contains(&name) {
        return false;
    }
    args.iter().enumerate().any(|(at, arg)| {
        let lead = arg.lead();
        let is_long = lead.len() > 2 && lead.split('=').next().is_some_and(|it| "--tool".starts_with(it));
        let is_short = lead.starts_with('-') && !lead.starts_with("--") && lead.contains('t');
        let is_told = |word: &WordValue| word.known().is_some_and(|text| !text.contains('/'));
        let is_next = !lead.contains('=') && (is_long || lead.ends_with('t'));
        let next = args.get(at + 1).filter(|_| is_next);
        (is_long || is_short) && !(is_told(arg) && next.is_none_or(is_told))
    })
}

impl ScriptWalk<'_> {
    /// Finds commands that run because a word turns out to be an option, or a sub-command.
    pub(super) fn git_may_run(&mut self, name: &str, args: &[WordValue]) {
        if OPTIONS_RUN.contains(&name)
            && let Some(word) = parsed(name, args).maybe_options.first()
        {
            self.draft.unknown(format!(
                "nobody can tell whether `{}` is an option by which `git {name}` runs a command",
                word.raw()
            ));
        }
        if let Some(strategy) = foreign_strategy(name, args) {
            self.draft.unknown(format!("`git {name}` may run a program `git-merge-{strategy}`"));
        }
        if tool_of_path(name, args) {
            self.draft
                .unknown(format!("`git {name}` reads the file that its tool is called by, as a shell does"));
        }
        let first = args.iter().find(|arg| arg.known().is_none_or(|text| !text.starts_with('-')));
        if HAVE_SUB_COMMANDS.contains(&name)
            && let Some(word) = first.filter(|word| word.known().is_none() || word.is_pattern())
        {
            self.draft.unknown(format!("nobody can tell what `git {name} {}` does", word.raw()));
        }
    }

    /// Finds files that are written because a word turns out to be an option.
    pub(super) fn git_may_write(&mut self, name: &str, args: &[WordValue], scope: &CommandScope) {
        if OPTIONS_WRITE.contains(&name) {
            for word in parsed(name, args).unknown_options() {
                self.changes(&WordValue::unknown(word.raw()), FileEffect::Writes, scope);
            }
        }
    }
}
