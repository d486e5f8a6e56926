//! git: which sub-command is it, and does it run something else?

mod hidden;
mod own;

pub(super) use own::own_program;

use super::{
    files::FileEffect,
    grammar::ShellDialect,
    meaning::is_bundle_with,
    options::{OptionSpec, anywhere, behind_git_options},
    place::{PathTarget, WorkingDirectory},
    scope::{CommandScope, ScriptWalk},
    value::WordValue,
};
use protocol::{CommandReach, Risk};

/// Settings that are only texts, numbers and colours.
const PLAIN_SETTINGS: &[&str] = &[
    "user.name",
    "user.email",
    "color.",
    "advice.",
    "init.defaultbranch",
    "core.quotepath",
    "core.autocrlf",
    "core.eol",
    "core.abbrev",
    "core.filemode",
    "core.longpaths",
    "commit.gpgsign",
    "tag.gpgsign",
    "push.default",
    "pull.rebase",
    "pull.ff",
    "merge.ff",
    "merge.conflictstyle",
    "diff.renames",
    "diff.algorithm",
    "log.date",
    "log.showsignature",
    "fetch.prune",
    "rebase.autosquash",
    "rebase.autostash",
    "safe.directory",
    "protocol.version",
    "http.version",
    "gc.auto",
    "status.",
    "branch.sort",
    "versionsort.",
    "column.",
    "format.pretty",
];

/// Sub-commands that leave the files of the work tree as they are.
const LEAVES_FILES: &[&str] = &[
    "add",
    "annotate",
    "archive",
    "blame",
    "branch",
    "bundle",
    "cat-file",
    "check-attr",
    "check-ignore",
    "check-mailmap",
    "cherry",
    "clone",
    "commit",
    "commit-tree",
    "config",
    "count-objects",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "fetch",
    "fmt-merge-msg",
    "for-each-ref",
    "format-patch",
    "fsck",
    "gc",
    "grep",
    "hash-object",
    "help",
    "init",
    "interpret-trailers",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "merge-base",
    "mktag",
    "mktree",
    "name-rev",
    "notes",
    "prune",
    "push",
    "range-diff",
    "reflog",
    "remote",
    "repack",
    "replace",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-branch",
    "show-ref",
    "stage",
    "status",
    "symbolic-ref",
    "tag",
    "update-index",
    "update-ref",
    "var",
    "verify-commit",
    "verify-tag",
    "version",
    "whatchanged",
    "worktree",
    "write-tree",
];

/// Other sub-commands that run nothing but git's own programs, hooks aside.
const OTHERS: &[&str] = &[
    "am",
    "apply",
    "bisect",
    "checkout",
    "checkout-index",
    "cherry-pick",
    "clean",
    "difftool",
    "lfs",
    "merge",
    "mv",
    "pull",
    "read-tree",
    "rebase",
    "reset",
    "restore",
    "revert",
    "rm",
    "sparse-checkout",
    "stash",
    "submodule",
    "switch",
];

/// Sub-commands that run what settings, hooks or their words say.
const RUNS_OTHERS: &[&str] = &[
    "credential",
    "daemon",
    "filter-branch",
    "for-each-repo",
    "hook",
    "instaweb",
    "maintenance",
    "mergetool",
    "receive-pack",
    "send-email",
    "shell",
    "upload-pack",
    "web--browse",
];

/// Options by which a sub-command runs a command.
const RUNNING: &[&str] = &[
    "--upload-pack",
    "--receive-pack",
    "--exec",
    "--extcmd",
    "--open-files-in-pager",
    "--sendmail-cmd",
    "--tree-filter",
    "--index-filter",
    "--msg-filter",
    "--commit-filter",
    "--env-filter",
    "--parent-filter",
    "--tag-name-filter",
    "--setup",
    "--template",
    "--config",
    "--hook-path",
];

impl ScriptWalk<'_> {
    pub fn git(&mut self, args: &[WordValue], scope: &mut CommandScope) {
        let behind = behind_git_options(args);
        let own = &args[..args.len() - behind.len()];
        if !own.is_empty() && !behind.is_empty() {
            let words = [WordValue::literal("git")].into_iter().chain(behind.iter().cloned());
            // The command that was told with all of its words says how far it reaches.
            self.draft.reaching(words.map(|value| value.word()).collect(), CommandReach::Passing);
        }
        for (at, arg) in own.iter().enumerate() {
            let setting = match arg.lead().as_str() {
                "-c" => own.get(at + 1).map(WordValue::lead),
                lead if lead.starts_with("--config-env") || lead.starts_with("--exec-path=") => {
                    Some(lead.to_owned())
                }
                _ => None,
            };
            let folder = match arg.lead().as_str() {
                "--git-dir" => own.get(at + 1).cloned(),
                lead if lead.starts_with("--git-dir=") => Some(arg.after("--git-dir=".len())),
                _ => None,
            };
            // Its settings and hooks are what git obeys, and only under the usual name are they kept.
            if let Some(folder) = folder
                && !folder.is(".git")
            {
                self.draft.unknown(format!("git may run what the settings in `{}` say", folder.raw()));
            }
            if let Some(setting) = setting
                && !is_plain_setting(&setting)
            {
                self.draft.unknown(format!("git may run what `{}` says", setting));
            }
        }
        let Some((sub_command, args)) = behind.split_first() else { return };
        let Some(name) = sub_command.known() else {
            return self.draft.unknown(format!("nobody can tell what `git {}` does", sub_command.raw()));
        };
        self.sub_command(name, args, scope);
    }

    fn sub_command(&mut self, name: &str, args: &[WordValue], scope: &mut CommandScope) {
        let bundled = |letter: char| args.iter().any(|arg| is_bundle_with(arg, letter));
        let has = |wanted: &str| args.iter().any(|arg| arg.is(wanted));
        let runs = args.iter().find(|arg| {
            let lead = arg.lead();
            let given = lead.split_once('=').map_or(lead.as_str(), |(name, _)| name);
            let is_shortened = |option: &&&str| option.starts_with(given) && given.len() > 2;
            lead.starts_with("ext::")
                || (given.starts_with("--") && RUNNING.iter().any(|option| is_shortened(&option)))
        });
        if let Some(arg) = runs
            && !(name == "push" && arg.is("--exclude"))
        {
            self.draft.unknown(format!("`git {name} {}` may run a command", arg.raw()));
        }
        self.git_may_run(name, args);
        match name {
            "bisect" if has("run") => {
                let begin = args.iter().position(|arg| arg.is("run")).map_or(args.len(), |at| at + 1);
                self.run(&args[begin..], &mut scope.clone());
            }
            "submodule" if has("foreach") => {
                let begin = args.iter().position(|arg| arg.is("foreach")).map_or(args.len(), |at| at + 1);
                let words = args[begin..]
                    .iter()
                    .skip_while(|arg| arg.is("--recursive") || arg.is("-q") || arg.is("--quiet"));
                let words: Option<Vec<&str>> = words.map(WordValue::known).collect();
                match words {
                    Some(words) => self.text(&words.join(" "), ShellDialect::Posix, &mut scope.clone()),
                    None => self.draft.unknown("nobody can tell what `git submodule foreach` runs"),
                }
            }
            "rebase" | "difftool" if bundled('x') => {
                self.draft.unknown(format!("`git {name} -x` runs a command"));
            }
            "grep" if bundled('O') => self.draft.unknown("`git grep -O` runs a command"),
            "clone" if bundled('u') || bundled('c') => {
                self.draft.unknown("`git clone` may run a command by its options");
            }
            _ if RUNS_OTHERS.contains(&name) => {
                self.draft.unknown(format!("`git {name}` runs other commands"));
            }
            "config" => self.configures(args),
            _ if LEAVES_FILES.contains(&name) || OTHERS.contains(&name) => {}
            // No sub-command, program or alias has such a name.
            _ if name.contains(|letter: char| letter.is_control() || letter.is_whitespace()) => {}
            _ => self.draft.unknown(format!("nobody can tell what `git {name}` runs")),
        }
    }

    /// Files that git writes because its words say so. What it changes in the folder it is about is no word.
    pub fn git_writes(&mut self, args: &[WordValue], scope: &CommandScope) {
        const GIT: OptionSpec = OptionSpec {
            flags: "",
            valued: "obBcjn",
            attached: "",
            long_flags: &[],
            long_valued: &[
                "output",
                "output-directory",
                "branch",
                "depth",
                "origin",
                "separate-git-dir",
                "reference",
            ],
        };
        let behind = behind_git_options(args);
        let own = &args[..args.len() - behind.len()];
        let Some((sub_command, args)) = behind.split_first() else { return };
        let Some(name) = sub_command.known() else { return };
        let scope = &self.work_tree(own, scope);
        if !LEAVES_FILES.contains(&name) {
            // What a commit or a patch brings lands there.
            self.unpacks_here(scope);
        }
        let parsed = anywhere(&GIT, args);
        self.git_may_write(name, args, scope);
        match name {
            "archive" => self.named(&parsed, &["o", "output"], FileEffect::Writes, scope),
            "format-patch" => {
                self.named(&parsed, &["output"], FileEffect::Writes, scope);
                self.named(&parsed, &["o", "output-directory"], FileEffect::WritesBelow, scope);
                // It names the files by what the commits say.
                if !parsed.has(&["o", "output-directory", "output", "stdout"]) {
                    self.changes(&WordValue::literal("."), FileEffect::WritesBelow, scope);
                }
            }
            "bundle" if parsed.operands.first().is_some_and(|word| word.is("create")) => {
                if let Some(file) = parsed.operands.get(1).filter(|file| !file.is("-")) {
                    self.changes(file, FileEffect::Writes, scope);
                }
            }
            _ if hidden::OPTIONS_WRITE.contains(&name) => {
                self.named(&parsed, &["output"], FileEffect::Writes, scope);
                // For some of them the name counts from the top of the repository, wherever that is.
                for above in self.above(scope) {
                    self.named(&parsed, &["output"], FileEffect::Writes, &above);
                }
            }
            "clone" => {
                self.named(&parsed, &["separate-git-dir"], FileEffect::WritesBelow, scope);
                if let Some(folder) = parsed.operands.get(1) {
                    self.changes(folder, FileEffect::WritesBelow, scope);
                }
            }
            "worktree" if parsed.operands.first().is_some_and(|word| word.is("add")) => {
                if let Some(folder) = parsed.operands.get(1) {
                    self.changes(folder, FileEffect::WritesBelow, scope);
                }
            }
            _ => {}
        }
    }

    /// The folders of the workspace that a place lies in.
    fn above(&self, scope: &CommandScope) -> Vec<CommandScope> {
        let folders = scope.place.main.iter().flat_map(|place| place.ancestors().skip(1));
        let folders = folders.filter(|folder| self.is_inside(folder));
        let at = |folder| {
            let mut above = scope.clone();
            above.place = WorkingDirectory::new(folder);
            above
        };
        folders.map(at).collect()
    }

    /// Where git works: `-C` moves it, from one to the next, and `--work-tree` does.
    fn work_tree(&self, own: &[WordValue], scope: &CommandScope) -> CommandScope {
        let mut elsewhere = scope.clone();
        for (at, arg) in own.iter().enumerate() {
            let folder = match arg.lead().as_str() {
                "-C" | "--work-tree" => own.get(at + 1).cloned(),
                lead if lead.starts_with("--work-tree=") => Some(arg.after("--work-tree=".len())),
                _ => None,
            };
            let Some(folder) = folder else { continue };
            elsewhere.place = match (folder.known().filter(|_| !folder.is_pattern()), &elsewhere.place.main) {
                (Some(text), Some(from)) => match PathTarget::of_text(text, from) {
                    Some(target) => WorkingDirectory::new(&self.followed(&target)),
                    None => WorkingDirectory::unknown(),
                },
                _ => WorkingDirectory::unknown(),
            };
        }
        elsewhere
    }

    /// A setting may hold a command that runs later.
    fn configures(&mut self, args: &[WordValue]) {
        let only_reads =
            ["--get", "--get-all", "--get-regexp", "-l", "--list", "get", "list", "--get-urlmatch"];
        if args.first().is_some_and(|arg| arg.known().is_some_and(|text| only_reads.contains(&text))) {
            return;
        }
        // A section under another name makes a plain setting one that git runs; an editor does anything.
        let is_any = |arg: &WordValue| {
            let lead = arg.lead();
            let long = lead.trim_start_matches('-');
            arg.known().is_none() && (lead.is_empty() || lead.starts_with('-'))
                || matches!(long, "rename-section" | "edit")
                || (lead.starts_with("--") && long.len() > 2 && "rename-section".starts_with(long))
                || (lead.starts_with("--") && !long.is_empty() && "edit".starts_with(long))
                || lead == "-e"
        };
        if args.iter().any(is_any) {
            self.draft.found(
                protocol::Risk::High,
                "`git config` may turn a plain setting into a command that git runs later",
            );
        }
        let Some(operands) = config_operands(args) else {
            return self
                .draft
                .found(Risk::High, "`git config` has an option that is not known here, and may set a command that git runs later");
        };
        let settings: Vec<&&WordValue> =
            operands.iter().filter(|arg| arg.known().is_none_or(|text| text.contains('.'))).collect();
        let is_reading = operands.len() == 1 && args.len() <= 2;
        if !is_reading && !settings.first().is_some_and(|setting| is_plain_setting(&setting.lead())) {
            self.draft.found(Risk::High, "`git config` may set a command that git runs later");
        }
    }
}

/// Options of `git config` that have no value, and those that take the next word for theirs (git-config(1)).
const CONFIG_FLAGS: &[&str] = &[
    "--global",
    "--local",
    "--system",
    "--worktree",
    "--add",
    "--append",
    "--unset",
    "--unset-all",
    "--replace-all",
    "--all",
    "--null",
    "-z",
    "--name-only",
    "--bool",
    "--int",
    "--bool-or-int",
    "--path",
    "--expiry-date",
    "--includes",
    "--no-includes",
    "--fixed-value",
    "--show-origin",
    "--show-scope",
    "--remove-section",
];
const CONFIG_VALUED: &[&str] =
    &["--file", "-f", "--blob", "--type", "-t", "--default", "--comment", "--value"];

/// Words of `git config` that are neither options nor values of such; `None` = an option is another one, or shortened, so that nobody
/// can tell.
fn config_operands(args: &[WordValue]) -> Option<Vec<&WordValue>> {
    let mut operands = Vec::new();
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let lead = word.lead();
        if !lead.starts_with('-') || lead == "-" {
            operands.push(word);
            continue;
        }
        let name = lead.split_once('=').map_or(lead.as_str(), |(name, _)| name);
        match lead.contains('=') {
            true if CONFIG_VALUED.contains(&name) => {}
            false if CONFIG_VALUED.contains(&name) => drop(words.next()?),
            false if CONFIG_FLAGS.contains(&name) => {}
            _ => return None,
        }
    }
    Some(operands)
}

/// True of a setting of git's that is only a text, a number or a colour, by its name in any case of letters.
pub fn is_plain_setting(setting: &str) -> bool {
    let setting = setting.to_ascii_lowercase();
    PLAIN_SETTINGS.iter().any(|plain| {
        if plain.ends_with('.') {
            setting.starts_with(plain)
        } else {
            setting.split('=').next() == Some(plain)
        }
    })
}
