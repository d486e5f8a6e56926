//! Does a command reach for the daemon's own files by its words?
//!
//! Commands that are known to change files by their operands are judged by `files`. Of any other, whatever names such a file
//! may change it; and nobody may read the secret ones.

use std::path::{Path, PathBuf};

use super::{
    options,
    place::{self, PathTarget},
    scope::{CommandScope, ScriptWalk},
    value::WordValue,
};
use protocol::Risk;

/// Commands that only say their words, or compare them.
const TALKERS: &[&str] = &[
    "echo", "printf", ":", "true", "false", "test", "[", "which", "type", "basename", "dirname", "return",
    "exit",
];

/// Commands that read the files they name, and change none.
const READERS: &[&str] = &[
    "cat",
    "more",
    "head",
    "tail",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "ls",
    "stat",
    "file",
    "wc",
    "diff",
    "cmp",
    "jq",
    "find",
    "bat",
    "du",
    "df",
    "cut",
    "tr",
    "nl",
    "od",
    "hexdump",
    "md5sum",
    "sha256sum",
    "realpath",
    "readlink",
    "cp",
    "install",
    "cd",
    "pushd",
    "sed",
    "rm",
    "mv",
    "mkdir",
    "rmdir",
    "touch",
    "tee",
    "chmod",
    "chown",
    "dd",
    "truncate",
    "subagent",
    "subagentd",
    "man",
    "pkill",
    "kill",
];

/// Programs beside them that print what they make of files, and write where an option says that is looked at elsewhere.
const PRINTERS: &[&str] = &[
    "awk",
    "base64",
    "cksum",
    "column",
    "comm",
    "expand",
    "fmt",
    "fold",
    "gawk",
    "join",
    "less",
    "ln",
    "mawk",
    "paste",
    "rev",
    "sha1sum",
    "shellcheck",
    "sort",
    "strings",
    "tac",
    "tree",
    "unexpand",
    "uniq",
    "xxd",
    "yamllint",
];

/// Those among them that go through whole folders, with these options or always.
const DEEP_READERS: &[(&str, &[&str])] = &[
    ("grep", &["r", "d", "directories", "R", "recursive", "dereference-recursive"]),
    ("egrep", &["r", "d", "directories", "R", "recursive"]),
    ("fgrep", &["r", "d", "directories", "R", "recursive"]),
    ("cp", &["r", "R", "a", "recursive", "archive"]),
    ("scp", &["r"]),
    ("rg", &[]),
    ("tar", &[]),
    ("rsync", &[]),
    ("zip", &["r", "recurse-paths"]),
    ("ln", &[]),
    ("mv", &[]),
    ("diff", &["r", "recursive"]),
    ("mount", &[]),
    ("7z", &[]),
    ("git", &["no-index"]),
];

/// Programs whose arguments are programs: what they name they may open.
const INTERPRETERS: &[&str] = &[
    "python", "perl", "ruby", "node", "nodejs", "php", "lua", "awk", "gawk", "mawk", "sqlite", "psql",
    "deno", "bun", "tclsh", "jq",
];

/// Wrappers: what they run is judged by itself.
const WRAPPERS: &[&str] = &[
    "bash", "sh", "eval", "env", "sudo", "trap", "alias", "watch", "flock", "xargs", "su", "timeout", "nice",
    "nohup", "setsid", "time", "command", "exec", "dash", "doas", "stdbuf", "builtin", "export", "local",
    "declare", "readonly", "set",
];

pub(super) fn check(walk: &mut ScriptWalk<'_>, base: &str, args: &[WordValue], scope: &CommandScope) {
    if TALKERS.contains(&base) {
        // What is said may be what another command is told to open.
        let may_name = |target: &PathTarget| walk.around.secret.iter().any(|secret| target.may_be_in(secret));
        let names_secret =
            args.iter().flat_map(|arg| walk.targets(arg, scope)).any(|target| may_name(&target));
        walk.searches_secret |= names_secret;
        return;
    }
    let plain = base.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let is_reader = READERS.contains(&base) || (base == "git" && git_reads(args));
    let is_wrapper = WRAPPERS.contains(&base);
    let is_deep = goes_deep(base, args);
    // In the folder itself, what has no path may mean all of it.
    if !is_wrapper && base != "cd" {
        let here = WordValue::literal(".");
        for target in walk.targets(&here, scope) {
            walk.reads_secret(&target, false);
            if !is_reader {
                walk.may_change(&target);
            }
        }
    }
    for arg in args {
        if INTERPRETERS.contains(&plain) {
            walk.names_guarded(arg);
        }
        walk.ends_like_secret(arg);
        // A text, not a path.
        if is_wrapper && arg.known().is_some_and(|text| text.contains(char::is_whitespace)) {
            continue;
        }
        let Some(parts) = parts(arg) else {
            walk.draft.unknown("a word of it has too many parts that may be paths");
            continue;
        };
        if !walk.fuel.burn(parts.len() * arg.weight()) {
            return;
        }
        for part in parts {
            for target in walk.targets(&part, scope) {
                walk.reads_secret(&target, is_deep);
                if !is_reader && !is_wrapper {
                    walk.may_change(&target);
                }
            }
            if !is_reader && !is_wrapper && !PRINTERS.contains(&base) {
                walk.may_change_automatic(&part, scope);
            }
        }
    }
}

/// Sub-commands of git that leave the files they name as they are.
const GIT_READERS: &[&str] = &[
    "add",
    "blame",
    "check-ignore",
    "commit",
    "diff",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "rev-parse",
    "shortlog",
    "show",
    "stage",
    "status",
];

fn git_reads(args: &[WordValue]) -> bool {
    let behind = options::behind_git_options(args);
    let is_reader = behind.first().and_then(WordValue::known).is_some_and(|name| GIT_READERS.contains(&name));
    // `--output` of diff and log, and what it may be shortened to.
    is_reader && !behind.iter().any(|arg| arg.lead().starts_with("--o") || arg.may_be_option())
}

/// What in the state folder opens the daemon to whoever reads it.
const SECRET_FILES: &[&str] = &["token", "subagentd.db", "subagentd.db-wal"];

/// True if a search with these tests may list `secret`, or something in it. Only a single `-name` says that it does not.
fn may_find(args: &[WordValue], secret: &Path) -> bool {
    let is_one_of = |arg: &WordValue, names: &[&str]| arg.known().is_some_and(|text| names.contains(&text));
    let others = ["-o", "-or", "!", "-not", "(", ","];
    if args.iter().any(|arg| is_one_of(arg, &others) || arg.known().is_none()) {
        return true;
    }
    let mut names = args.windows(2).filter(|pair| is_one_of(&pair[0], &["-name"])).map(|pair| &pair[1]);
    let (Some(name), None) = (names.next(), names.next()) else { return true };
    let pattern: Vec<(char, bool)> = name
        .known()
        .unwrap_or("*")
        .chars()
        .map(|letter| (letter, matches!(letter, '*' | '?' | '[' | '\\')))
        .collect();
    if pattern.contains(&('\\', true)) {
        return true;
    }
    let own = secret.file_name().and_then(|name| name.to_str());
    own.into_iter().chain(SECRET_FILES.iter().copied()).any(|name| place::names(&pattern, name))
}

impl ScriptWalk<'_> {
    /// Something reads what `target` stands for, and what lies below if `is_deep`.
    pub fn reads_secret(&mut self, target: &PathTarget, is_deep: bool) {
        for secret in self.around.secret {
            if target.may_be_in(secret) || (is_deep && target.may_hold(secret)) {
                self.draft.found(
                    Risk::Critical,
                    format!("it reads what is the daemon's own: {}", secret.display()),
                );
            }
        }
    }

    fn may_change(&mut self, target: &PathTarget) {
        for guarded in self.around.guarded {
            if target.may_be_in(guarded) {
                self.draft.found(
                    Risk::Critical,
                    format!("it may change what is the daemon's own: {}", guarded.display()),
                );
            }
        }
        if target.may_be_own() {
            self.draft.found(
                Risk::High,
                format!("it may change what agents may do in this workspace: {}", target.path.display()),
            );
        }
    }

    /// A word that names, with its ending or its folder, what other programs run by themselves: nobody has a list of all programs and
    /// of the options by which they write.
    fn may_change_automatic(&mut self, word: &WordValue, scope: &CommandScope) {
        // A revision of git's may have the name of a file, and a pattern matches many.
        if word.is_pattern() || !word.known().is_some_and(|text| text.contains(['.', '/'])) {
            return;
        }
        for target in self.targets(word, scope) {
            if let Some(why) = self.runs_by_itself(&target) {
                self.draft.found(
                    Risk::High,
                    format!(
                        "it may change what other programs run by themselves: {} ({why})",
                        target.path.display()
                    ),
                );
            }
        }
    }

    /// Whatever stands before it, `…/subagentd/token` is likely the daemon's own.
    fn ends_like_secret(&mut self, word: &WordValue) {
        let text = word.hollow();
        for secret in self.around.secret {
            let Some(folder) = secret.file_name().and_then(|name| name.to_str()) else { continue };
            if SECRET_FILES.iter().any(|file| text.ends_with(&format!("{folder}/{file}"))) {
                self.draft.found(
                    Risk::Critical,
                    format!("it names what is the daemon's own: {}", secret.display()),
                );
            }
        }
    }

    /// `find` lists what lies below `starts`; what others do with each of these files, they do with the daemon's own.
    pub fn searches(&mut self, starts: &[WordValue], args: &[WordValue], scope: &CommandScope) {
        let lists_secret = starts.iter().flat_map(|start| self.targets(start, scope)).any(|target| {
            let holds = |secret: &&PathBuf| target.may_hold(secret) || target.may_be_in(secret);
            self.around.secret.iter().filter(holds).any(|secret| may_find(args, secret))
        });
        if !lists_secret {
            return;
        }
        self.searches_secret = true;
        let runs = ["-exec", "-execdir", "-ok", "-okdir"];
        if args.iter().any(|arg| arg.known().is_some_and(|text| runs.contains(&text))) {
            self.opens_what_was_found();
        }
    }

    /// Something opens what only running the text would tell, e.g. what a search lists.
    pub fn opens_what_was_found(&mut self) {
        if self.searches_secret {
            self.draft.found(
                Risk::Critical,
                "it opens whatever a search finds, and the search goes through what is the daemon's own",
            );
        }
    }

    /// A program that has the path of something guarded in it.
    fn names_guarded(&mut self, program: &WordValue) {
        let text = program.hollow();
        for guarded in self.around.guarded.iter().chain(self.around.secret) {
            let Some(path) = guarded.to_str() else { continue };
            let below_home =
                self.around.home.and_then(|home| guarded.strip_prefix(home).ok()).and_then(Path::to_str);
            if text.contains(path) || below_home.is_some_and(|below| text.contains(below)) {
                self.draft
                    .found(Risk::Critical, format!("its program names what is the daemon's own: {path}"));
            }
        }
    }
}

/// Parts of a word that may be paths: all of it, and what stands behind signs that paths follow. `None` = more than are looked at.
fn parts(arg: &WordValue) -> Option<Vec<WordValue>> {
    let lead = arg.lead();
    let is_option = lead.starts_with('-');
    let mut before = ' ';
    let mut begins = Vec::new();
    for (at, letter) in lead.chars().enumerate() {
        let follows_sign = matches!(before, '=' | ':' | '@' | ',') || (is_option && letter == '/');
        // `-f../x`
        if at > 0 && (follows_sign || (is_option && at == 2)) {
            begins.push(at);
        }
        // Perf: a part is as long as the word, so none is made of a word that has too many.
        if MOST_PARTS < begins.len() {
            return None;
        }
        before = letter;
    }
    Some(std::iter::once(arg.clone()).chain(begins.into_iter().map(|at| arg.after(at))).collect())
}

/// Parts of one word that are looked at: a list of mounts has a few.
const MOST_PARTS: usize = 64;

fn goes_deep(base: &str, args: &[WordValue]) -> bool {
    let Some((_, options)) = DEEP_READERS.iter().find(|(name, _)| *name == base) else { return false };
    options.is_empty()
        || args.iter().any(|arg| {
            let lead = arg.lead();
            match lead.strip_prefix("--") {
                Some(long) => {
                    let given = long.split_once('=').map_or(long, |(name, _)| name);
                    options
                        .iter()
                        .any(|option| option.len() > 1 && given.len() > 2 && option.starts_with(given))
                }
                None => {
                    lead.starts_with('-')
                        && options.iter().any(|option| option.len() == 1 && lead.contains(*option))
                }
            }
        })
}
