//! Commands that run the command in their arguments: where does it begin?

use super::{
    grammar::ShellDialect,
    options::{OptionSpec, ParsedArguments, ParsedOption, leading},
    place::{self, WorkingDirectory},
    scope::{CommandScope, ScriptWalk},
    value::WordValue,
};

use protocol::Risk;

mod measuring;
mod opaque;
mod table;

use opaque::OPAQUE;
pub(super) use table::TIME;
use table::{CommandRunner, RUNNERS, SUB_RUNNERS};

/// Actions of `find` that run a command, write or remove.
const ACTIONS: &[&str] =
    &["-delete", "-exec", "-execdir", "-fls", "-fprint", "-fprint0", "-fprintf", "-ok", "-okdir"];

/// True if a word may turn out to be one of these: it is not known, or a pattern that finds a file of such a name.
fn may_become(word: &WordValue, names: &[&str]) -> bool {
    match word.known() {
        Some(_) => word.is_pattern() && names.iter().any(|name| place::names(&word.pattern(), name)),
        None => word.may_split() || names.iter().any(|name| name.starts_with(&word.lead())),
    }
}

/// Tests of `find` that take the next word for their value, whatever it is (find(1)); `-newerXY` is another.
const TESTS_WITH_VALUE: &[&str] = &[
    "-amin",
    "-anewer",
    "-atime",
    "-cmin",
    "-cnewer",
    "-context",
    "-ctime",
    "-fstype",
    "-gid",
    "-group",
    "-ilname",
    "-iname",
    "-inum",
    "-ipath",
    "-iregex",
    "-iwholename",
    "-links",
    "-lname",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mtime",
    "-name",
    "-path",
    "-perm",
    "-printf",
    "-regex",
    "-regextype",
    "-samefile",
    "-size",
    "-type",
    "-uid",
    "-used",
    "-user",
    "-wholename",
    "-xtype",
];

impl ScriptWalk<'_> {
    /// False when it runs nothing.
    pub fn runner(&mut self, base: &str, args: &[WordValue], scope: &mut CommandScope) -> bool {
        match base {
            "xargs" => self.xargs(args, scope),
            "hyperfine" => self.hyperfine(args, scope),
            "perf" => self.perf(args, scope),
            "find" => self.find(args, scope),
            "watch" => self.watch(args, scope),
            "flock" => self.flock(args, scope),
            _ if self.sub_runner(base, args, scope) => {}
            _ if OPAQUE.contains(&base) => {
                self.draft.unknown(format!("`{base}` runs commands in ways that are not read"));
            }
            _ => {
                let Some(runner) = RUNNERS.iter().find(|runner| runner.names.contains(&base)) else {
                    return false;
                };
                self.wrapped(base, runner, args, scope);
            }
        }
        true
    }

    /// `uv run pytest`: a sub-command behind which a command stands. False when it is none of these.
    fn sub_runner(&mut self, base: &str, args: &[WordValue], scope: &mut CommandScope) -> bool {
        let Some(runner) = SUB_RUNNERS.iter().find(|runner| runner.names.contains(&base)) else {
            return false;
        };
        let Some(at) = args.iter().position(|arg| !arg.lead().starts_with('-') || arg.may_be_many()) else {
            self.program(base, args, scope);
            return true;
        };
        match args[at].known() {
            Some(name) if runner.sub_commands.contains(&name) => {}
            Some(_) if args[at].is_pattern() => {
                self.draft.unknown(format!("nobody can tell whether `{base}` runs a command"));
                return true;
            }
            // Another sub-command, unless the word before is an option that has it for its value.
            Some(_) if at == 0 => {
                self.program(base, args, scope);
                return true;
            }
            _ => {
                self.draft.unknown(format!("nobody can tell whether `{base}` runs a command"));
                return true;
            }
        }
        let parsed = match leading(&OptionSpec { flags: "it", ..OptionSpec::default() }, &args[at + 1..]) {
            Ok(parsed) => parsed,
            Err(why) => {
                self.draft.unknown(format!("`{base}`: {why}"));
                return true;
            }
        };
        let rest = parsed.operands.get(runner.operands..).unwrap_or_default();
        let rest = if rest.first().is_some_and(|word| word.is("--")) { &rest[1..] } else { rest };
        if runner.is_elsewhere {
            self.draft.found(Risk::High, format!("`{base}` runs a command in another system"));
        }
        if parsed.unclear.is_some()
            || parsed.operands.iter().take(runner.operands).any(WordValue::may_be_many)
        {
            self.draft.unknown(format!("nobody can tell where the command of `{base}` begins"));
        }
        // Its own options may run something, too.
        self.program(base, &args[..args.len() - rest.len()], scope);
        if !rest.is_empty() {
            self.run(rest, &mut scope.clone());
        }
        true
    }

    fn wrapped(&mut self, base: &str, runner: &CommandRunner, args: &[WordValue], scope: &mut CommandScope) {
        // `env -S` splits its text; everything else is read behind.
        if base == "env"
            && args.iter().any(|arg| {
                arg.lead().starts_with("-S")
                    || arg.lead().starts_with("--split")
                    || arg.lead().starts_with("-vS")
            })
        {
            return self.split_env(args, scope);
        }
        let args =
            if base == "env" && args.first().is_some_and(|arg| arg.is("-")) { &args[1..] } else { args };
        let parsed = match leading(&runner.spec, args) {
            Ok(parsed) => parsed,
            Err(why) => return self.draft.unknown(format!("`{base}`: {why}")),
        };
        if let Some(why) = &parsed.unclear {
            self.draft.unknown(format!("`{base}`: {why}"));
        }
        if base == "command" && parsed.has(&["v", "V"]) {
            return;
        }
        let mut inner = scope.clone();
        if parsed.has(&["D", "chdir", "R", "chroot", "C", "working-directory", "d", "same-dir"])
            && base != "nice"
        {
            inner.place = WorkingDirectory::unknown();
        }
        let Some(rest) = self.after_assignments(base, runner, &parsed, &mut inner) else { return };
        let rest = rest.get(runner.operands..).unwrap_or_default();
        // What stands before the command must not turn into it.
        let before = &parsed.operands[..parsed.operands.len() - rest.len()];
        if before.iter().any(WordValue::may_be_many)
            || before
                .iter()
                .any(|value| value.known().is_none() && value.may_be_option() && runner.operands > 0)
        {
            self.draft.unknown(format!("nobody can tell where the command of `{base}` begins"));
        }
        if rest.is_empty() {
            let starts_shell = parsed.has(&["s", "i", "shell", "login"]) && matches!(base, "sudo" | "doas");
            if starts_shell {
                self.draft.unknown(format!("`{base}` runs whatever its input says"));
            }
            return;
        }
        if base == "sudo" && parsed.has(&["i", "login"]) {
            inner.place = WorkingDirectory::unknown();
            inner.home = None;
        }
        if matches!(base, "exec" | "builtin" | "command") {
            // The same shell: a `cd` stays.
            self.run(rest, &mut inner);
            scope.place = inner.place;
        } else {
            self.run(rest, &mut inner);
        }
    }

    /// The words behind `NAME=value`; `None` when nobody can tell.
    fn after_assignments(
        &mut self,
        base: &str,
        runner: &CommandRunner,
        parsed: &ParsedArguments,
        scope: &mut CommandScope,
    ) -> Option<Vec<WordValue>> {
        let mut rest = parsed.operands.as_slice();
        while runner.assigns
            && let Some((first, others)) = rest.split_first()
        {
            let lead = first.lead();
            let Some((name, _)) = lead.split_once('=') else { break };
            if first.may_be_many() {
                self.draft.unknown(format!("`{base}`: nobody can tell how many words `{}` is", first.raw()));
                return None;
            }
            let value = first.after(name.chars().count() + 1);
            self.renamed_for_one(name, value.known(), scope);
            rest = others;
        }
        Some(rest.to_vec())
    }

    fn split_env(&mut self, args: &[WordValue], scope: &mut CommandScope) {
        let text = match args {
            [first, rest @ ..] if first.is("-S") => rest.split_first(),
            _ => None,
        };
        let plain = |text: &&str| !text.contains(['\'', '"', '\\', '$', '#']);
        match text.and_then(|(text, rest)| Some((text.known().filter(plain)?.to_owned(), rest))) {
            Some((text, rest)) => {
                let words = text.split_whitespace().map(WordValue::literal).chain(rest.iter().cloned());
                let mut words: Vec<WordValue> = words.collect();
                // As `env` itself reads them.
                words.insert(0, WordValue::literal("env"));
                self.run(&words, &mut scope.clone());
            }
            None => self.draft.unknown("`env -S` splits its text in ways that are not read"),
        }
    }

    fn xargs(&mut self, args: &[WordValue], scope: &mut CommandScope) {
        const XARGS: OptionSpec = OptionSpec {
            flags: "0rtpxo",
            valued: "adEILnPs",
            attached: "iel",
            long_flags: &[
                "null",
                "no-run-if-empty",
                "verbose",
                "interactive",
                "exit",
                "open-tty",
                "show-limits",
                "replace",
                "eof",
            ],
            long_valued: &[
                "arg-file",
                "delimiter",
                "max-lines",
                "max-args",
                "max-procs",
                "max-chars",
                "process-slot-var",
            ],
        };
        let parsed = match leading(&XARGS, args) {
            Ok(parsed) => parsed,
            Err(why) => return self.draft.unknown(format!("`xargs`: {why}")),
        };
        if let Some(why) = &parsed.unclear {
            self.draft.unknown(format!("`xargs`: {why}"));
        }
        self.opens_what_was_found();
        let mut inner = scope.with_input(super::scope::CommandInput::Pipe);
        if parsed.operands.is_empty() {
            return self.run_with_more(&[WordValue::literal("echo")], &mut inner);
        }
        let marker =
            parsed.options.iter().rev().find(|option| ["I", "i", "replace"].contains(&option.name.as_str()));
        match marker {
            Some(ParsedOption { value, .. }) => {
                let marker = value.as_ref().map_or(Some("{}"), WordValue::known);
                let Some(marker) = marker else {
                    return self.draft.unknown("nobody can tell what `xargs` replaces");
                };
                let words: Vec<WordValue> =
                    parsed.operands.iter().map(|word| word.replacing(marker)).collect();
                self.run(&words, &mut inner);
            }
            None => self.run_with_more(&parsed.operands, &mut inner),
        }
    }

    fn find(&mut self, args: &[WordValue], scope: &mut CommandScope) {
        let mut at = 0;
        while let Some(arg) = args.get(at) {
            at += 1;
            let is_action = |word: &WordValue| may_become(word, ACTIONS);
            let Some(text) = arg.known().filter(|_| !is_action(arg)) else {
                // It may be an action, in quotes, too.
                if arg.may_be_option() || is_action(arg) {
                    self.draft.unknown(format!(
                        "nobody can tell whether `{}` is an action of `find` that runs a command or writes",
                        arg.raw()
                    ));
                }
                continue;
            };
            if TESTS_WITH_VALUE.contains(&text) || text.starts_with("-newer") {
                // One word is its value, whatever it says; several are not.
                if args
                    .get(at)
                    .is_some_and(|value| !(value.may_split() || value.is_pattern() && is_action(value)))
                {
                    at += 1;
                }
                continue;
            }
            if !matches!(text, "-exec" | "-execdir" | "-ok" | "-okdir") {
                continue;
            }
            let begin = at;
            let is_end =
                |at: usize| args[at].is(";") || (args[at].is("+") && at > begin && args[at - 1].is("{}"));
            let Some(end) = (begin..args.len()).find(|at| is_end(*at)) else {
                return self.draft.unknown(format!("the end of `find {text}` is missing"));
            };
            let may_end = |word: &&WordValue| may_become(word, &[";", "+"]);
            if let Some(word) = args[begin..end].iter().find(may_end) {
                self.draft.unknown(format!(
                    "nobody can tell whether the command of `find {text}` ends at `{}`",
                    word.raw()
                ));
            }
            let mut inner = scope.clone();
            if matches!(text, "-execdir" | "-okdir") {
                inner.place = WorkingDirectory::unknown();
            }
            // What is found begins with the place where it was looked for, which is no option; in its own folder it may not.
            let is_inside = matches!(text, "-execdir" | "-okdir");
            let with_found =
                |word: &WordValue| if is_inside { word.replacing("{}") } else { word.finding("{}") };
            let words: Vec<WordValue> = args[begin..end].iter().map(with_found).collect();
            if words.first().is_some_and(|first| first.known().is_none() && args[begin].is("{}")) {
                self.draft.unknown("`find` runs what it finds");
            } else {
                self.run(&words, &mut inner);
            }
            at = end + 1;
        }
    }

    fn watch(&mut self, args: &[WordValue], scope: &mut CommandScope) {
        const WATCH: OptionSpec = OptionSpec {
            flags: "bcegptxCrwf",
            valued: "nqs",
            attached: "d",
            long_flags: &[
                "beep",
                "color",
                "no-color",
                "differences",
                "errexit",
                "chgexit",
                "precise",
                "no-title",
                "exec",
                "no-rerun",
                "no-wrap",
            ],
            long_valued: &["interval", "equexit"],
        };
        let parsed = match leading(&WATCH, args) {
            Ok(parsed) => parsed,
            Err(why) => return self.draft.unknown(format!("`watch`: {why}")),
        };
        if let Some(why) = &parsed.unclear {
            self.draft.unknown(format!("`watch`: {why}"));
        }
        if parsed.has(&["x", "exec"]) {
            return self.run(&parsed.operands, &mut scope.clone());
        }
        let words: Option<Vec<&str>> = parsed.operands.iter().map(WordValue::known).collect();
        match words {
            Some(words) => self.through_sh(&words.join(" "), scope),
            None => self.draft.unknown("nobody can tell which script `watch` runs"),
        }
    }

    fn flock(&mut self, args: &[WordValue], scope: &mut CommandScope) {
        const FLOCK: OptionSpec = OptionSpec {
            flags: "sxeunoF",
            valued: "wE",
            attached: "",
            long_flags: &["shared", "exclusive", "unlock", "nonblock", "nb", "close", "no-fork", "verbose"],
            long_valued: &["wait", "timeout", "conflict-exit-code"],
        };
        let parsed = match leading(&FLOCK, args) {
            Ok(parsed) => parsed,
            Err(why) => return self.draft.unknown(format!("`flock`: {why}")),
        };
        if let Some(why) = &parsed.unclear {
            self.draft.unknown(format!("`flock`: {why}"));
        }
        let Some((lock, rest)) = parsed.operands.split_first() else { return };
        if lock.may_be_many() {
            return self.draft.unknown("nobody can tell where the command of `flock` begins");
        }
        match rest {
            [] => {}
            [option, script, ..] if option.is("-c") || option.is("--command") => match script.known() {
                Some(text) => {
                    self.through_sh(text, scope);
                }
                None => self.draft.unknown("nobody can tell which script `flock` runs"),
            },
            _ => self.run(rest, &mut scope.clone()),
        }
    }

    /// A text that a program hands to `sh -c`.
    pub(super) fn through_sh(&mut self, text: &str, scope: &CommandScope) {
        let words = ["sh", "-c", text].map(WordValue::literal);
        self.draft.command(words.iter().map(WordValue::word).collect());
        self.text(text, ShellDialect::Posix, &mut scope.clone());
    }
}
