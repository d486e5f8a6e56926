//! What changes the meaning of what comes later: variables, and builtins that name or rename things.

mod deciding;

use deciding::{DECIDING, FOR_PROGRAMS, SETTINGS};

use super::{
    scope::{CommandScope, ScriptWalk},
    value::WordValue,
};

/// Commands that are followed here: a function of such a name would do something else.
const FOLLOWED: &[&str] = &[
    ".",
    "alias",
    "break",
    "builtin",
    "cd",
    "command",
    "continue",
    "declare",
    "enable",
    "eval",
    "exec",
    "exit",
    "export",
    "hash",
    "local",
    "popd",
    "pushd",
    "read",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "trap",
    "typeset",
    "unset",
    "unalias",
    "let",
    "mapfile",
    "readarray",
    "printf",
];

/// Builtins that POSIX calls special.
const SPECIAL: &[&str] = &[
    ".", ":", "break", "continue", "eval", "exec", "exit", "export", "readonly", "return", "set", "shift",
    "times", "trap", "unset",
];

pub(super) fn is_special(name: &str) -> bool {
    SPECIAL.contains(&name)
}

pub(super) fn is_followed(name: &str) -> bool {
    FOLLOWED.contains(&name)
}

/// Variables that change nothing but how much is said, in which language and when.
const HARMLESS: &[&str] = &[
    "CARGO_TERM_COLOR",
    "CI",
    "CLICOLOR",
    "COLUMNS",
    "DEBUG",
    "FORCE_COLOR",
    "GIT_TERMINAL_PROMPT",
    "IFS",
    "LANG",
    "LANGUAGE",
    "LINES",
    "NODE_ENV",
    "NO_COLOR",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TERM",
    "TZ",
    "VERBOSE",
];

pub(super) fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name) || name.starts_with("LC_")
}

/// Programs that others start to show or to edit something.
const STARTED: &[&str] =
    &["EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER"];
/// Of those, ones that everybody uses and that run nothing by themselves.
const PLAIN_PROGRAMS: &[&str] = &["", ":", "cat", "true"];
/// Of git's variables, those that are only texts.
const GIT_TEXTS: &[&str] = &["GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS"];

/// The reason why setting this variable decides what runs.
pub(super) fn decides_what_runs(name: &str, value: Option<&str>) -> Option<&'static str> {
    if STARTED.contains(&name) {
        let is_plain = value.is_some_and(|value| PLAIN_PROGRAMS.contains(&value));
        return (!is_plain).then_some("programs run it");
    }
    if GIT_TEXTS.iter().any(|text| name.starts_with(text)) {
        return None;
    }
    DECIDING.iter().find(|(pattern, _)| is_meant(pattern, name)).map(|(_, why)| *why)
}

/// The reason why all commands that come later may do something else with this variable set.
pub(super) fn leads_to_settings(name: &str) -> Option<&'static str> {
    let leads = SETTINGS.iter().any(|pattern| is_meant(pattern, name));
    leads.then_some("programs have their settings where it says, and those may run commands")
}

/// True of a variable that programs find in their environment, by its name: another value may have them do something else.
pub(super) fn is_for_programs(name: &str) -> bool {
    !is_harmless(name)
        && (decides_what_runs(name, None).is_some()
            || leads_to_settings(name).is_some()
            || FOR_PROGRAMS.iter().any(|pattern| is_meant(pattern, name)))
}

fn is_meant(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (None, Some(beginning)) => name.starts_with(beginning),
        (None, None) => name == pattern,
    }
}

/// Variables whose values are followed while a text is read.
pub(super) fn is_followed_variable(name: &str) -> bool {
    matches!(name, "HOME" | "PWD" | "OLDPWD" | "IFS")
}

/// True if it matters to later commands which value a variable has.
pub(super) fn decides(name: &str) -> bool {
    decides_what_runs(name, None).is_some() || leads_to_settings(name).is_some() || is_followed_variable(name)
}

/// What a shell's own variable says is no longer what it said.
pub(super) fn forget(name: &str, scope: &mut CommandScope) {
    if matches!(name, "HOME" | "IFS") {
        scope.home = None;
    }
    if matches!(name, "PWD" | "OLDPWD" | "IFS") {
        scope.keeps_directory = false;
    }
}

impl ScriptWalk<'_> {
    /// Builtins that name things; false when it is none of them.
    pub fn builtin(&mut self, name: &str, args: &[WordValue], scope: &mut CommandScope) -> bool {
        if matches!(name, "cd" | "pushd" | "popd") {
            self.moves(name, args, scope);
            return true;
        }
        // What a pattern becomes are names of files, which may be any.
        let args: Vec<WordValue> = args
            .iter()
            .map(|arg| {
                if arg.is_pattern() && !is_assignment(arg) {
                    WordValue::unknown(arg.raw())
                } else {
                    arg.clone()
                }
            })
            .collect();
        let args = args.as_slice();
        match name {
            "export" | "declare" | "typeset" | "local" | "readonly" => self.declares(name, args, scope),
            "read" | "mapfile" | "readarray" | "getopts" | "unset" => self.fills(name, args, scope),
            "printf" => self.prints(args, scope),
            "wait" => {
                args.iter().filter(|arg| arg.known().is_none()).for_each(|arg| self.numbers.number(arg));
                if args.iter().any(|arg| is_bundle_with(arg, 'p')) {
                    self.fills(name, args, scope);
                }
            }
            "let" => args.iter().for_each(|arg| self.numbers.value(arg)),
            "test" | "[" => self.tests(args),
            "alias" => self.names_aliases(args, scope),
            "set" => self.sets(args),
            "shopt" => self.switches(args),
            "enable" | "bind" | "complete" | "compgen" | "compopt" | "fc" => {
                self.draft.unknown(format!("`{name}` may give names another meaning, or run something"));
            }
            "hash" => {
                if args.iter().any(|arg| !arg.is("-r") && !arg.is("-l")) {
                    self.draft.unknown("`hash` may give names another meaning");
                }
            }
            "jobs" => {
                if args.iter().any(|arg| arg.known().is_none() || arg.is("-x")) {
                    self.draft.unknown("`jobs -x` runs a command");
                }
            }
            _ => return false,
        }
        true
    }

    fn declares(&mut self, name: &str, args: &[WordValue], scope: &mut CommandScope) {
        let makes_arrays = args.iter().any(|arg| is_bundle_with(arg, 'a') || is_bundle_with(arg, 'A'));
        for arg in args {
            let lead = arg.lead();
            if lead.starts_with('-') || lead.starts_with('+') {
                // A reference is another name for a variable, and an integer's values are computed.
                if lead.contains(['n', 'i']) {
                    self.draft
                        .unknown(format!("`{name} {}` makes a variable mean something else", arg.raw()));
                }
                continue;
            }
            match lead.split_once('=') {
                Some((variable, _)) => {
                    let appends = variable.ends_with('+');
                    let variable = variable.strip_suffix('+').unwrap_or(variable);
                    if !super::grammar::is_name(variable) {
                        self.draft.unknown(format!("`{name}` sets `{variable}`, whose place is computed"));
                        continue;
                    }
                    let value = arg.after(lead.find('=').map_or(0, |at| at + 1));
                    if makes_arrays {
                        self.numbers.array(variable);
                    }
                    self.numbers.declared(variable, &value);
                    self.numbers.assigned(variable, Some(&value).filter(|_| !appends));
                    self.renamed(variable, value.known(), scope);
                }
                None if arg.known().is_some_and(super::grammar::is_name) => {
                    if makes_arrays {
                        self.numbers.array(&lead);
                    }
                }
                None => self.draft.unknown(format!("nobody can tell what `{name} {}` sets", arg.raw())),
            }
        }
    }

    /// Builtins that give the variables they name other values.
    fn fills(&mut self, name: &str, args: &[WordValue], scope: &mut CommandScope) {
        for (at, arg) in args.iter().enumerate() {
            let Some(text) = arg.known() else {
                // The text of a prompt may be anything.
                if at > 0
                    && args[at - 1]
                        .known()
                        .is_some_and(|before| before.starts_with('-') && before.ends_with('p'))
                    && !arg.may_split()
                {
                    continue;
                }
                self.draft.unknown(format!("nobody can tell which variable `{name} {}` means", arg.raw()));
                continue;
            };
            if matches!(name, "mapfile" | "readarray") && is_bundle_with(arg, 'C') {
                self.draft.unknown(format!("`{name} -C` runs a command"));
            }
            if let Some((variable, _)) = text.split_once('[') {
                self.numbers.value(arg);
                if name != "unset" {
                    self.numbers.assigned(variable, None);
                }
                self.renamed(variable, None, scope);
            }
            if super::grammar::is_name(text) {
                if matches!(name, "mapfile" | "readarray") || args.iter().any(|arg| is_bundle_with(arg, 'a'))
                {
                    self.numbers.array(text);
                }
                // What is unset has no value.
                if name != "unset" {
                    self.numbers.assigned(text, None);
                }
                self.renamed(text, None, scope);
            }
        }
        if matches!(name, "read") {
            self.numbers.assigned("REPLY", None);
        }
        if matches!(name, "mapfile" | "readarray") {
            self.numbers.assigned("MAPFILE", None);
        }
    }

    fn prints(&mut self, args: &[WordValue], scope: &mut CommandScope) {
        let Some(first) = args.first() else { return };
        let is_name_at_most = |letter: char| letter.is_ascii_alphanumeric() || "_-[]".contains(letter);
        if first.may_be_option() && (first.may_split() || first.lead().starts_with('-')) {
            self.draft.unknown("nobody can tell whether `printf` sets a variable");
        } else if first.may_be_option() && args.len() > 1 && first.hollow().chars().all(is_name_at_most) {
            // As a whole it may be `-v`.
            self.numbers.option(first);
        }
        if first.known().is_some_and(|text| text.starts_with("-v")) {
            let attached = first.known().filter(|text| text.len() > 2).map(|_| first.after(2));
            let variable: Vec<WordValue> = attached.or_else(|| args.get(1).cloned()).into_iter().collect();
            self.fills("printf", &variable, scope);
        }
    }

    fn tests(&mut self, args: &[WordValue]) {
        for pair in args.windows(2) {
            // An operator that is not known may be one of these.
            if pair[0].is("-v") || pair[0].is("-R") || pair[0].known().is_none() {
                // What is known and has no index is a name.
                let is_plain = pair[1].known().is_some_and(|text| !text.contains('['));
                if !is_plain {
                    self.numbers.value(&pair[1]);
                }
            }
        }
    }

    fn names_aliases(&mut self, args: &[WordValue], scope: &mut CommandScope) {
        if scope.dialect == super::grammar::ShellDialect::Posix {
            self.draft.unknown("`alias` may give names another meaning");
        }
        for arg in args {
            match arg.known().and_then(|text| text.split_once('=')) {
                // bash does not use it unless told to, and then is not followed.
                Some((_, text)) => {
                    let text = text.to_owned();
                    self.text(&text, scope.dialect, &mut scope.clone());
                }
                None if arg.known().is_some() => {}
                None => self.draft.unknown(format!("nobody can tell what `alias {}` means", arg.raw())),
            }
        }
    }

    fn sets(&mut self, args: &[WordValue]) {
        for (at, arg) in args.iter().enumerate() {
            let text = arg.lead();
            if arg.is("--") || !(text.starts_with(['-', '+']) || arg.may_be_option()) {
                return;
            }
            let names_option = text.ends_with('o');
            let next = args.get(at + 1);
            // `-k` takes words for assignments, and with `-P` `cd` follows links.
            let is_plain = arg.known().is_some() && !text.contains(['k', 'P']);
            let is_posix =
                names_option && next.is_some_and(|next| !next.known().is_some_and(is_plain_option));
            if !is_plain || is_posix {
                self.draft.unknown("`set` makes the shell read differently");
            }
        }
    }

    fn switches(&mut self, args: &[WordValue]) {
        for arg in args {
            match arg.known() {
                // What was read before may run again behind it.
                Some("globstar") if self.seen.had_stars.get() => {
                    self.draft.unknown("`shopt -s globstar` makes `**` match more than it did before");
                }
                Some("globstar") => self.seen.goes_deep.set(true),
                Some(
                    "-s" | "-u" | "-q" | "-p" | "nullglob" | "dotglob" | "failglob" | "nocasematch"
                    | "inherit_errexit" | "pipefail" | "extglob",
                ) => {}
                _ => {
                    self.draft.unknown(format!("`shopt {}` makes the shell read differently", arg.raw()));
                }
            }
        }
    }
}

/// `name=…`: no pattern counts in what follows.
fn is_assignment(word: &WordValue) -> bool {
    word.lead()
        .split_once('=')
        .is_some_and(|(name, _)| super::grammar::is_name(name.strip_suffix('+').unwrap_or(name)))
}

/// True if a word is options by their letters, this one among them.
pub(super) fn is_bundle_with(word: &WordValue, letter: char) -> bool {
    let lead = word.lead();
    lead.starts_with('-') && !lead.starts_with("--") && lead.contains(letter)
}

fn is_plain_option(name: &str) -> bool {
    matches!(
        name,
        "errexit" | "nounset" | "pipefail" | "xtrace" | "verbose" | "noclobber" | "noglob" | "errtrace"
    )
}
