//! Shells and interpreters: where does their script come from?

use std::path::Path;

use super::{
    grammar::ShellDialect,
    options::{OptionSpec, anywhere, leading},
    scope::{CommandInput, CommandScope, ScriptWalk},
    value::WordValue,
};

/// Shells whose scripts bash reads as they do, but for what [`ShellDialect::Posix`] refuses.
const POSIX_SHELLS: &[&str] = &["sh", "dash", "ash", "hush"];
/// Shells with words of their own for what looks like any other shell's, e.g. `set -A PATH x` and `nameref`. What they do at least is
/// read as the others'.
const KINDRED_SHELLS: &[&str] =
    &["ksh", "ksh93", "mksh", "lksh", "oksh", "loksh", "pdksh", "posh", "yash", "bosh", "toybox"];
/// Shells of other grammars.
const OTHER_SHELLS: &[&str] =
    &["zsh", "fish", "csh", "tcsh", "pwsh", "powershell", "nu", "elvish", "xonsh", "rc", "es"];
/// The shells that `sh` may be: what else it is reads scripts in its own way.
const SYSTEM_SHELLS: &[&str] = &["sh", "dash", "bash", "busybox", "ash"];

/// A program that runs what stands in its input when it is given nothing else.
struct Interpreter {
    names: &'static [&'static str],
    /// Letters of options that mean nothing here.
    flags: &'static str,
    /// Letters of options that a program follows, or that name one.
    programs: &'static str,
    long_programs: &'static [&'static str],
}

const INTERPRETERS: &[Interpreter] = &[
    Interpreter { names: &["python", "pypy"], flags: "bBdEhiIOPqRsSuvx", programs: "cm", long_programs: &[] },
    Interpreter { names: &["perl"], flags: "acflnpsStTuUvwWX0", programs: "eE", long_programs: &[] },
    Interpreter { names: &["ruby", "jruby"], flags: "acdlnpswvy", programs: "e", long_programs: &[] },
    Interpreter {
        names: &["node", "nodejs", "bun", "deno"],
        flags: "i",
        programs: "ep",
        long_programs: &["--eval", "--print"],
    },
    Interpreter { names: &["php"], flags: "Cnqw", programs: "rBRF", long_programs: &["--run"] },
    Interpreter { names: &["lua", "luajit"], flags: "iEW", programs: "e", long_programs: &[] },
    Interpreter {
        names: &[
            "tclsh", "wish", "ghci", "runghc", "guile", "scheme", "sqlite3", "psql", "mysql", "mariadb",
            "ed", "ex",
        ],
        flags: "",
        programs: "",
        long_programs: &[],
    },
    Interpreter {
        names: &["Rscript", "julia", "osascript", "elixir", "swift", "groovy"],
        flags: "",
        programs: "eE",
        long_programs: &[],
    },
];

/// Programs that take commands of their own from their input whatever files they are given, and the signs by which such a
/// command is one for a shell, or leads to a file of commands. What begins with `^` begins a line.
const COMMAND_READERS: &[(&[&str], &[&str])] = &[
    (
        &["ed", "red", "dc", "ftp", "lftp", "sftp", "telnet", "mail", "mailx", "mutt", "gnuplot"],
        &["!", "system", "`"],
    ),
    (&["ex", "vi", "vim", "nvim", "view"], &["^"]),
    (&["sqlite3"], &["^.", "load_extension", "edit", "readfile", "writefile"]),
    (&["psql"], &["\\", "program", "PROGRAM"]),
    (&["mysql", "mariadb"], &["\\", "system", "pager", "edit", "source", "tee"]),
];

enum InterpreterOption {
    Flag,
    Program,
    /// A file that has a name.
    File,
    /// Its input, by name.
    Input,
    /// Says something and runs nothing.
    Information,
    /// Perhaps an option with a value.
    Unclear,
}

impl Interpreter {
    fn meaning(&self, arg: &WordValue) -> InterpreterOption {
        let Some(text) = arg.known() else {
            let lead = arg.lead();
            let is_program = self.long_programs.iter().any(|long| lead.starts_with(&format!("{long}=")));
            return if is_program { InterpreterOption::Program } else { InterpreterOption::Unclear };
        };
        let long = text.split_once('=').map_or(text, |(name, _)| name);
        match text {
            "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" => InterpreterOption::Input,
            "--version" | "-V" | "--help" | "-h" => InterpreterOption::Information,
            _ if self.long_programs.contains(&long) => InterpreterOption::Program,
            _ if text.starts_with("--") => InterpreterOption::Unclear,
            _ if !text.starts_with('-') => InterpreterOption::File,
            _ => {
                let first = text[1..].chars().find(|letter| !self.flags.contains(*letter));
                match first {
                    None => InterpreterOption::Flag,
                    Some(letter) if self.programs.contains(letter) => InterpreterOption::Program,
                    Some(_) => InterpreterOption::Unclear,
                }
            }
        }
    }
}

const BASH: OptionSpec = OptionSpec {
    flags: "abefhiklmnprstuvxBCDEHPTc",
    valued: "oO",
    attached: "",
    long_flags: &[
        "debugger",
        "login",
        "noediting",
        "noprofile",
        "norc",
        "posix",
        "verbose",
        "restricted",
        "help",
        "version",
    ],
    long_valued: &["rcfile", "init-file"],
};

impl ScriptWalk<'_> {
    /// The name of the shell that `sh` is on this system, if it is none whose scripts are read here.
    pub(super) fn other_system_shell(&self) -> Option<String> {
        let shell = (self.around.resolve)(Path::new("/bin/sh"));
        let name = shell.file_name()?.to_string_lossy().into_owned();
        (!SYSTEM_SHELLS.contains(&name.as_str())).then_some(name)
    }

    /// False when it is no shell, and nothing that runs texts as one.
    pub fn shell(&mut self, base: &str, args: &[WordValue], scope: &mut CommandScope) -> bool {
        match base {
            "bash" | "rbash" => self.bash(base, args, ShellDialect::Bash, scope),
            "eval" => self.eval(args, scope),
            "trap" => self.traps(args, scope),
            "." | "source" => self.sources(args),
            "su" | "runuser" => self.su(base, args, scope),
            _ if POSIX_SHELLS.contains(&base) => self.bash(base, args, ShellDialect::Posix, scope),
            _ if OTHER_SHELLS.contains(&base) || KINDRED_SHELLS.contains(&base) => {
                let is_named_file =
                    args.first().is_some_and(|arg| arg.known().is_some_and(|text| !text.starts_with('-')));
                if !is_named_file {
                    self.draft.unknown(format!("`{base}` reads its script in its own way"));
                }
                if KINDRED_SHELLS.contains(&base) {
                    self.bash(base, args, ShellDialect::Posix, scope);
                }
            }
            _ => {
                let plain = base.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
                let plain = if base == "sqlite3" { base } else { plain };
                let Some(interpreter) = INTERPRETERS.iter().find(|one| one.names.contains(&plain)) else {
                    return false;
                };
                self.interpreter(base, interpreter, args, scope);
            }
        }
        true
    }

    fn bash(&mut self, base: &str, args: &[WordValue], dialect: ShellDialect, scope: &mut CommandScope) {
        // `+x` turns an option off; it is none that has a meaning here.
        let mut is_before_script = true;
        let turns_off = |arg: &&WordValue| {
            let is_before = is_before_script;
            is_before_script &= arg.lead().starts_with(['-', '+']);
            is_before && arg.known().is_some_and(|text| text.starts_with('+') && !text.contains(['o', 'O']))
        };
        let (_, args): (Vec<&WordValue>, Vec<&WordValue>) = args.iter().partition(turns_off);
        let args: Vec<WordValue> = args.into_iter().cloned().collect();
        let parsed = match leading(&BASH, &args) {
            Ok(parsed) => parsed,
            Err(why) => return self.draft.unknown(format!("`{base}`: {why}")),
        };
        if let Some(why) = &parsed.unclear {
            self.draft.unknown(format!("`{base}`: {why}"));
        }
        if parsed.has(&["i", "k", "P", "posix", "O", "rcfile", "init-file", "l", "login", "debugger"]) {
            self.draft.unknown(format!("`{base}` reads other files first, or reads differently"));
        }
        let plain = |value: &WordValue| {
            value.known().is_some_and(|name| matches!(name, "pipefail" | "errexit" | "nounset" | "xtrace"))
        };
        if parsed.options.iter().any(|option| option.name == "o" && !option.value.as_ref().is_some_and(plain))
        {
            self.draft.unknown(format!("`{base} -o` makes it read differently"));
        }
        if parsed.has(&["help", "version"]) {
            return;
        }
        if parsed.has(&["c"]) {
            return match parsed.operands.first() {
                Some(script) => self.script_of(base, script, dialect, scope),
                None => self.draft.unknown(format!("`{base} -c` has no script")),
            };
        }
        let reads_input = parsed.has(&["s"]) || parsed.operands.is_empty();
        if reads_input {
            return self.fed(base, dialect, scope);
        }
        if let Some(file) = parsed.operands.first()
            && !is_plain_file(file)
        {
            self.draft.unknown(format!("nobody can tell which script `{base} {}` runs", file.raw()));
        }
    }

    fn script_of(&mut self, base: &str, script: &WordValue, dialect: ShellDialect, scope: &CommandScope) {
        match script.known() {
            Some(text) => {
                let text = text.to_owned();
                let dialect =
                    if scope.dialect == ShellDialect::Posix { ShellDialect::Posix } else { dialect };
                // Another process: what it sets and where it goes ends with it.
                self.text(&text, dialect, &mut scope.clone());
            }
            None => {
                self.draft.unknown(format!("nobody can tell which script `{base}` runs: {}", script.raw()))
            }
        }
    }

    fn fed(&mut self, base: &str, dialect: ShellDialect, scope: &CommandScope) {
        match &scope.input {
            CommandInput::Text(text) => {
                let text = text.clone();
                self.text(&text, dialect, &mut scope.with_input(CommandInput::Pipe));
            }
            CommandInput::Outside | CommandInput::Pipe => {
                self.draft.unknown(format!("`{base}` runs whatever its input says"));
            }
        }
    }

    /// Commands in the input of a program that reads them beside its files; of `dc` also those among its words.
    pub(super) fn command_reader(&mut self, base: &str, args: &[WordValue], scope: &CommandScope) {
        let Some((_, signs)) = COMMAND_READERS.iter().find(|(names, _)| names.contains(&base)) else {
            return;
        };
        let has_sign = |text: &str| {
            signs.iter().any(|sign| match sign.strip_prefix('^') {
                Some(beginning) => text.lines().any(|line| line.trim_start().starts_with(beginning)),
                None => text.contains(sign),
            })
        };
        let is_told = match &scope.input {
            CommandInput::Outside => false,
            CommandInput::Pipe => true,
            CommandInput::Text(text) => has_sign(text),
        };
        let is_program = |arg: &WordValue| arg.known().is_none_or(has_sign);
        if is_told || (base == "dc" && args.iter().any(is_program)) {
            self.draft.unknown(format!("`{base}` may run a command that its input says"));
        }
    }

    fn interpreter(
        &mut self,
        base: &str,
        interpreter: &Interpreter,
        args: &[WordValue],
        scope: &CommandScope,
    ) {
        for (at, arg) in args.iter().enumerate() {
            match interpreter.meaning(arg) {
                InterpreterOption::Flag => {}
                InterpreterOption::Program => {
                    // The program is in this word, or is the next.
                    if args.get(at + 1).is_some_and(|next| next.known().is_none()) || arg.known().is_none() {
                        self.draft.unknown(format!("nobody can tell which program `{base}` runs"));
                    }
                    if interpreter.names.contains(&"python")
                        && let Some((module, args)) = module(arg, &args[at + 1..])
                    {
                        // As the program of this name, which its options make run other things.
                        self.program(&module, args, &mut scope.clone());
                        self.touch(&module, args, scope);
                    }
                    return;
                }
                InterpreterOption::File => return,
                InterpreterOption::Information if at + 1 == args.len() => return,
                InterpreterOption::Unclear if arg.known().is_none() || scope.input == CommandInput::Pipe => {
                    return self.draft.unknown(format!("nobody can tell which program `{base}` runs"));
                }
                InterpreterOption::Information | InterpreterOption::Unclear => {}
                InterpreterOption::Input => break,
            }
        }
        if scope.input == CommandInput::Pipe {
            self.draft.unknown(format!("`{base}` runs whatever its input says"));
        }
    }

    fn eval(&mut self, args: &[WordValue], scope: &mut CommandScope) {
        let args = if args.first().is_some_and(|arg| arg.is("--")) { &args[1..] } else { args };
        let words: Option<Vec<&str>> =
            args.iter().map(|arg| arg.known().filter(|_| !arg.is_pattern())).collect();
        match words {
            Some(words) => {
                let text = words.join(" ");
                self.text(&text, scope.dialect, scope);
            }
            None => self.draft.unknown("nobody can tell what `eval` runs"),
        }
    }

    fn traps(&mut self, args: &[WordValue], scope: &CommandScope) {
        let args = if args.first().is_some_and(|arg| arg.is("--")) { &args[1..] } else { args };
        match args {
            [] => {}
            [first, ..] => match first.known() {
                Some("-" | "" | "-p" | "-l") => {}
                // A signal alone is reset.
                Some(_) if args.len() == 1 => {}
                Some(text) => {
                    let text = text.to_owned();
                    self.text(&text, scope.dialect, &mut scope.clone());
                    self.trap(&text, scope.dialect);
                }
                None => self.draft.unknown("nobody can tell what `trap` will run"),
            },
        }
    }

    fn sources(&mut self, args: &[WordValue]) {
        let file = args.iter().find(|arg| !arg.is("--"));
        match file {
            // It is a script like any other that is run; but what it sets stays.
            Some(file) if is_plain_file(file) => self.draft.sets_up(),
            Some(file) => self.draft.unknown(format!("nobody can tell which script `{}` is", file.raw())),
            None => {}
        }
    }

    fn su(&mut self, base: &str, args: &[WordValue], scope: &mut CommandScope) {
        const SU: OptionSpec = OptionSpec {
            flags: "flmpP",
            valued: "cgGsuwT",
            attached: "",
            long_flags: &["login", "preserve-environment", "pty", "fast"],
            long_valued: &[
                "command",
                "session-command",
                "group",
                "supp-group",
                "shell",
                "user",
                "whitelist-environment",
            ],
        };
        let parsed = anywhere(&SU, args);
        if parsed.has(&["s", "shell"]) || args.iter().any(|arg| arg.known().is_none()) {
            self.draft.unknown(format!("nobody can tell what `{base}` runs"));
        }
        if let Some(script) = parsed.value(&["c", "command", "session-command"]) {
            return self.script_of(base, script, ShellDialect::Posix, scope);
        }
        if base == "runuser" && parsed.has(&["u", "user"]) && !parsed.operands.is_empty() {
            return self.run(&parsed.operands, &mut scope.clone());
        }
        self.fed(base, ShellDialect::Posix, scope);
    }
}

/// The module of `python -m`, joined to the `m` or in the next word, and the words behind it.
fn module<'a>(option: &WordValue, behind: &'a [WordValue]) -> Option<(String, &'a [WordValue])> {
    let (flags, joined) = option.known()?.split_once('m').filter(|(flags, _)| !flags.contains('c'))?;
    let _ = flags.strip_prefix('-')?;
    if !joined.is_empty() {
        return Some((joined.to_owned(), behind));
    }
    let (module, behind) = behind.split_first()?;
    Some((module.known()?.to_owned(), behind))
}

/// A file that has a name, and is no input or other open file by another name.
fn is_plain_file(file: &WordValue) -> bool {
    let is_open_file = |text: &str| text == "-" || text.starts_with("/dev/") || text.starts_with("/proc/");
    file.known().is_some_and(|text| !is_open_file(text)) && !file.is_pattern()
}
