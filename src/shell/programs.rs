//! Programs whose arguments are programs, or name some: awk, sed, and options that others run.

use super::{
    options::{OptionSpec, anywhere},
    risk::sub_commands,
    scope::{CommandScope, ScriptWalk},
    value::WordValue,
};

mod awk;
mod elsewhere;
pub(super) mod gnu;
mod naming;
mod running;
mod sed;

use awk::{AwkDoes, awk_does};
use elsewhere::ELSEWHERE;
pub(super) use running::RUNNING_OPTIONS;
use sed::sed_only_edits;

impl ScriptWalk<'_> {
    /// False when it is none of these.
    pub fn program(&mut self, base: &str, args: &[WordValue], scope: &mut CommandScope) -> bool {
        if !base.ends_with("awk") && !matches!(base, "sed" | "git") {
            self.names_what_is_run(base, args);
        }
        self.listed_program(base, args, scope)
    }

    /// The same by the tables alone: of words that may be a script's.
    pub fn listed_program(&mut self, base: &str, args: &[WordValue], scope: &mut CommandScope) -> bool {
        if base.ends_with("awk") {
            self.awk(base, args);
            return true;
        }
        if base == "sed" {
            self.sed(base, args);
            return true;
        }
        let running = RUNNING_OPTIONS.iter().filter(|(names, _)| names.contains(&base));
        let elsewhere = ELSEWHERE.iter().filter(|row| row.names.contains(&base)).map(|row| row.options);
        let options: Vec<&str> =
            running.map(|(_, options)| *options).chain(elsewhere).flatten().copied().collect();
        if options.is_empty() && !elsewhere::is_listed(base) {
            return false;
        }
        self.runs_elsewhere(base, args, scope);
        // What stands behind is for the script.
        let is_own = |arg: &&WordValue| base != "npm" || !arg.is("--");
        let args: &[WordValue] = &args[..args.iter().take_while(is_own).count()];
        let is_editor = matches!(base, "vi" | "vim" | "view" | "nvim" | "ex" | "gvim" | "less" | "more");
        for (at, arg) in args.iter().enumerate() {
            let joined = match arg.lead().as_str() {
                // `-o Name=value` and `-oName=value` mean the same.
                "-o" => format!("-o{}", args.get(at + 1).map_or_else(String::new, WordValue::lead)),
                lead => lead.to_owned(),
            };
            // `-Wl,-plugin,x` hands options on.
            let is_handed_on = ["-Wl,", "-Wa,", "-Wp,"].iter().any(|lead| joined.starts_with(lead));
            let parts: Vec<&str> = if is_handed_on { joined.split(',').collect() } else { vec![&joined] };
            let runs = |option: &&str| parts.iter().any(|part| begins_option(base, part, option));
            let is_command = is_editor
                && (joined.starts_with('+')
                    && joined.len() > 1
                    && !joined[1..].chars().all(|digit| digit.is_ascii_digit()));
            if options.iter().any(runs) || is_command {
                self.draft.unknown(format!("`{base} {}` may run a command", arg.raw()));
            }
        }
        // `openssl engine ./x.so` loads it.
        if base == "openssl" && args.first().is_none_or(|arg| arg.known().is_none_or(|name| name == "engine"))
        {
            self.draft.unknown("`openssl` may load foreign code");
        }
        if args.iter().take_while(|arg| !arg.is("--")).any(|arg| is_unclear(base, arg, &options)) {
            self.draft.unknown(format!("nobody can tell whether an option of `{base}` runs a command"));
        }
        self.runs_by_words(base, args);
        if base == "sqlite3" && args.iter().any(|arg| arg.lead().trim_start().starts_with('.')) {
            self.draft.unknown("`sqlite3` may run a command");
        }
        true
    }

    /// What is no option, and runs something all the same.
    fn runs_by_words(&mut self, base: &str, args: &[WordValue]) {
        let first = args.first().map(WordValue::lead).unwrap_or_default();
        let has = |part: &str| args.iter().any(|arg| arg.hollow().contains(part));
        let why = match base {
            "tar" | "bsdtar" | "gtar" if !first.starts_with('-') && first.contains(['I', 'F']) => {
                "its first letters name a program"
            }
            "cargo" | "rustc" if LINKING.iter().any(|part| has(part)) => "its options may name a program",
            "go" if !args.iter().enumerate().all(|(at, arg)| is_plain_for_go(arg, args.get(at + 1))) => {
                "its tools may run what they are told"
            }
            "sbt" if args.iter().any(|arg| arg.lead().trim_start().starts_with('!')) => {
                "it runs what follows `!`"
            }
            "php" if has("extension=") => "its settings may have it load a file",
            "helm" | "kubectl" if first == "plugin" => "it runs programs that others made",
            "make" | "gmake" if args.iter().any(is_input) => "its input may be the makefile",
            "make" | "gmake" if args.iter().any(|arg| !is_plain_for_make(arg)) => {
                "a variable may be what a command says"
            }
            "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" | "ld" | "rustc"
                if args.iter().any(|arg| arg.lead().starts_with('@')) =>
            {
                "its options may name a program"
            }
            "go" if args.len() > 1 && begins_with(args, &["env"]) => "later calls take options from there",
            "npm" | "pnpm" | "yarn"
                if begins_with(args, &["config", "c", "explore", "exec", "x", "dlx", "set"]) =>
            {
                "it runs what it is told, now or later"
            }
            "psql" | "mysql" | "mariadb" if has("\\!") || has("system ") || has("program") => {
                "it has commands for the shell"
            }
            _ => return,
        };
        self.draft.unknown(format!("`{base}`: {why}"));
    }

    fn awk(&mut self, base: &str, args: &[WordValue]) {
        const AWK: OptionSpec = OptionSpec {
            flags: "",
            valued: "FvfeEilbW",
            attached: "",
            long_flags: &[],
            long_valued: &["field-separator", "assign", "file", "source", "exec", "include", "load"],
        };
        let parsed = anywhere(&AWK, args);
        if parsed.has(&["i", "include", "l", "load", "E", "exec", "W"]) {
            return self.draft.unknown(format!("`{base}` runs other programs first"));
        }
        if parsed.has(&["f", "file"]) {
            return self
                .draft
                .unknown(format!("`{base}` takes its program from a file, which may run commands"));
        }
        let sources = parsed.options.iter().filter(|option| matches!(option.name.as_str(), "e" | "source"));
        let mut programs: Vec<Option<WordValue>> = sources.map(|option| option.value.clone()).collect();
        // Behind the first word that is none there is no option; that one may be the program, or one that is not known.
        if let Some(word) = parsed.maybe_options.first()
            && !programs.is_empty()
        {
            return self.draft.unknown(format!(
                "nobody can tell whether `{}` is an option by which `{base}` runs another program",
                word.raw()
            ));
        }
        if programs.is_empty() {
            programs.push(parsed.operands.first().cloned());
        }
        for program in programs {
            match program.as_ref().and_then(WordValue::known) {
                Some(text) => match awk_does(text) {
                    AwkDoes::Computes => {}
                    AwkDoes::Writes => {
                        self.draft.writes_something(&WordValue::unknown("the program"));
                        self.draft.found(
                            protocol::Risk::High,
                            format!("`{base}` writes files that its program names"),
                        );
                    }
                    AwkDoes::Runs => self.draft.unknown(format!("the program of `{base}` may run commands")),
                },
                None => self.draft.unknown(format!("nobody can tell which program `{base}` runs")),
            }
        }
    }

    fn sed(&mut self, base: &str, args: &[WordValue]) {
        let parsed = anywhere(&SED, args);
        let scripts =
            parsed.options.iter().filter(|option| matches!(option.name.as_str(), "e" | "expression"));
        let mut scripts: Vec<Option<WordValue>> = scripts.map(|option| option.value.clone()).collect();
        if parsed.has(&["version", "help"]) {
            return;
        }
        if parsed.has(&["f", "file"]) {
            return self.draft.unknown(format!(
                "`{base}` takes its script from a file, which may run commands or write files"
            ));
        }
        if let Some(word) = parsed.maybe_options.first() {
            self.draft.unknown(format!(
                "nobody can tell whether `{}` is an option of `{base}` with one more script (behind `--`, or as `./…`, it is a \
                 file)",
                word.raw()
            ));
        }
        if scripts.is_empty() {
            scripts.push(parsed.operands.first().cloned());
        }
        for script in scripts {
            // The text between may be anything as long as the command around it is known.
            match script.as_ref().and_then(WordValue::known) {
                Some(text) if sed_only_edits(text) => {}
                Some(_) => {
                    self.draft.unknown(format!("the script of `{base}` may run commands or write files"))
                }
                None => self.draft.unknown(format!("nobody can tell which script `{base}` runs")),
            }
        }
    }
}

pub(super) const SED: OptionSpec = OptionSpec {
    flags: "nErsuz",
    valued: "efl",
    attached: "i",
    long_flags: &[
        "quiet",
        "silent",
        "debug",
        "in-place",
        "posix",
        "regexp-extended",
        "separate",
        "sandbox",
        "unbuffered",
        "null-data",
        "help",
        "version",
        "follow-symlinks",
    ],
    long_valued: &["expression", "file", "line-length"],
};

/// Settings of a compiler that name programs, or options of one.
const LINKING: &[&str] = &["linker=", "link-arg=", "link-args=", "codegen-backend="];

/// True if the sub-command may be one of these, also behind options that take a value.
fn begins_with(args: &[WordValue], names: &[&str]) -> bool {
    sub_commands(args).any(|word| word.known().is_none_or(|text| names.contains(&text)))
}

/// Variables of make that name programs, or what a shell is given (GNU make, "Implicit Variables", "Choosing the Shell").
const PROGRAMS_OF_MAKE: &[&str] = &[
    "AR",
    "AS",
    "CC",
    "CO",
    "CPP",
    "CTANGLE",
    "CWEAVE",
    "CXX",
    "FC",
    "GET",
    "LD",
    "LEX",
    "LINT",
    "M2C",
    "MAKE",
    "MAKEINFO",
    "OBJC",
    "OUTPUT_OPTION",
    "PC",
    "RM",
    "TANGLE",
    "TEX",
    "TEXI2DVI",
    "WEAVE",
    "YACC",
];

/// True if a word of make's that sets a variable can be no command, nor end one.
fn is_plain_for_make(word: &WordValue) -> bool {
    let Some(text) = word.known() else {
        return word.lead().starts_with('-') || !word.hollow().contains('=');
    };
    let Some((name, value)) = text.split_once('=').filter(|_| !text.starts_with('-')) else {
        return !text.contains(['$', '`']);
    };
    let name = name.trim_end_matches([':', '?', '+']);
    !name.contains(['!', '$'])
        && !PROGRAMS_OF_MAKE.contains(&name.trim())
        && !value.contains(['$', '`', ';', '|', '&', '<', '>', '(', ')', '{', '}', '#', '!', '\n', '"', '\''])
}

/// `-` and other names for what is piped in, alone or behind an option.
fn is_input(arg: &WordValue) -> bool {
    let lead = arg.lead();
    lead == "-"
        || ["/dev/stdin", "/dev/fd/", "/proc/self/fd/"].iter().any(|name| lead.contains(name))
        || lead.starts_with('-') && !lead.starts_with("---") && lead.len() > 2 && lead.ends_with('-')
}

/// Letters of programs that take what stands behind them in a bundle for their value: no letter in it is an option.
const VALUED_IN_BUNDLES: &[(&[&str], &str)] = &[
    (&["tar", "bsdtar", "gtar"], "fCTXbgNVHKL"),
    (&["pytest", "py.test"], "kmrnW"),
    (&["rsync"], "fTBM"),
    (&["man"], "MSLeRErmspTX"),
    (&["ctest"], "LRECjAUIO"),
];

/// Programs that take no long option cut short.
const IN_FULL: &[&str] = &[
    "cargo", "ctest", "docker", "fd", "fdfind", "go", "helm", "kubectl", "nerdctl", "podman", "py.test",
    "pytest", "rg", "uv",
];

/// Options that one that runs something begins with, and that have a meaning of their own.
const OTHERS: &[&str] = &["--global", "--git-tag-version"];

fn values_of(base: &str) -> Option<&'static str> {
    VALUED_IN_BUNDLES.iter().find(|(names, _)| names.contains(&base)).map(|(_, letters)| *letters)
}

/// True if a word for `go` hands nothing to a tool that makes that one run or write something.
fn is_plain_for_go(arg: &WordValue, next: Option<&WordValue>) -> bool {
    let lead = arg.lead();
    let name = lead.trim_start_matches('-');
    let (name, joined) = match name.split_once('=') {
        Some((name, _)) => {
            (name, Some(arg.after(lead.chars().take_while(|letter| *letter != '=').count() + 1)))
        }
        None => (name, None),
    };
    if !lead.starts_with('-') || !["ldflags", "gcflags", "asmflags"].contains(&name) {
        return true;
    }
    let Some(text) = joined.as_ref().or(next).and_then(WordValue::known) else { return false };
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        // `all=-N`: for which packages.
        let flag = word.split_once("=-").map_or(word, |(_, flag)| flag).trim_start_matches('-');
        let is_plain = match name {
            // `-X name=value`; a quote in it is not read.
            "ldflags" if flag == "X" => words.next().is_some_and(|word| !word.contains(['"', '\''])),
            "ldflags" => matches!(flag, "s" | "w"),
            _ => matches!(flag, "N" | "l" | "m" | "S" | "B" | "m=2"),
        };
        if !is_plain {
            return false;
        }
    }
    true
}

/// True if a word may become an option that runs something. One letter is known, and a value behind it, in `-j"$x"`.
fn is_unclear(base: &str, word: &WordValue, options: &[&str]) -> bool {
    let lead = word.lead();
    let is_other = lead.len() > 1
        && lead.starts_with('-')
        && !lead.starts_with("--")
        && !word.may_split()
        && !options.iter().any(|option| begins_option(base, &lead, option));
    word.may_find_option() || word.may_be_option() && !is_other
}

/// `-I` in `-xIf`, `--to-command` in `--to-command=x` and in what it may be shortened to, `SHELL=` in `SHELL=/x`.
fn begins_option(base: &str, word: &str, option: &str) -> bool {
    if let Some(name) = option.strip_suffix('=') {
        return word.starts_with(name)
            && word[name.len()..].trim_start_matches([':', '?', '+', '!']).starts_with('=');
    }
    if option.starts_with("--") {
        let given = word.split_once('=').map_or(word, |(name, _)| name);
        let is_another = IN_FULL.contains(&base) || OTHERS.contains(&given);
        return given == option || !is_another && given.len() > 2 && option.starts_with(given);
    }
    let is_letter = option.len() == 2;
    let is_bundle = word.starts_with('-') && !word.starts_with("--");
    match option.chars().nth(1) {
        // In any place of a bundle: a value that has the letter is taken for it.
        Some(letter) if is_letter => match values_of(base) {
            Some(valued) => {
                let end = word.find(|letter| valued.contains(letter)).unwrap_or(word.len());
                is_bundle && word[..end].contains(letter)
            }
            None => is_bundle && word.contains(letter) && (word.len() <= 6 || word.starts_with(option)),
        },
        // Those that are written with one hyphen may as well be with two.
        _ => {
            let word = if word.starts_with("--") { &word[1..] } else { word };
            word.to_ascii_lowercase().starts_with(&option.to_ascii_lowercase())
        }
    }
}
