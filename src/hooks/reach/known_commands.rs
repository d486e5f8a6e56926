//! Which commands do nothing with what they are given but tell it, pass it on, or write it where no agent writes?
//!
//! Each is known with the words that it may have (bash(1), coreutils(1), jq(1), curl(1), notify-send(1)). A value that an agent may have
//! chosen is taken as a word of its own, which some programs would take for an option: it may stand only where that changes nothing.

use super::{
    own_programs::{OWN_FOLDERS, OwnPlaces},
    plain_text::{PlainCommand, PlainWord},
};

/// Programs that start another with their words, and nothing else.
const WRAPPERS: &[&str] = &["exec", "nohup", "nice", "timeout", "env"];
/// Options of shells that change neither what they read nor from where.
const SHELL_OPTIONS: &[&str] = &["-e", "-u", "-x", "-eu", "-ex", "-ux", "-eux", "-p"];
/// The same, with the name of an option behind them.
const SHELL_OPTIONS_WITH_NAME: &[&str] = &["-o", "-eo", "-euo", "-euxo", "-uo", "-exo"];
/// The same of other interpreters.
const INTERPRETER_OPTIONS: &[(&str, &[&str])] = &[
    ("python", &["-u", "-B", "-I", "-P", "-s", "-OO", "-O"]),
    ("node", &["--no-warnings", "--no-deprecation", "--experimental-strip-types"]),
    ("perl", &["-w"]),
    ("ruby", &["-w"]),
];
/// Variables by which a shell or a program finds or loads something else, by the beginnings of their names.
const LOADING: &[&str] = &[
    "PATH",
    "HOME",
    "IFS",
    "ENV",
    "BASH",
    "SHELL",
    "PS4",
    "CDPATH",
    "FPATH",
    "ZDOTDIR",
    "TMPDIR",
    "LD_",
    "DYLD_",
    "PYTHON",
    "NODE",
    "PERL",
    "RUBY",
    "GEM",
    "JAVA",
    "CLASSPATH",
    "LUA",
    "GIT",
    "XDG_",
    "GCONV",
    "LOCPATH",
    "TERMINFO",
    "PROMPT_COMMAND",
    "OPENSSL",
    "SSL_",
    "CURL",
    "JQ",
    "GTK_",
    "DBUS_",
    "POSIXLY",
    "GLOBIGNORE",
    "GREP_",
    "CLAUDE",
    "GEMINI",
    "PWD",
    "OLDPWD",
    "PROJECT_DIR",
];
/// Questions that git answers without a look at its index, for which it would run what the repository's settings name (`core.fsmonitor`).
const GIT_TELLING: &[&[&str]] = &[
    &["rev-parse", "--show-toplevel"],
    &["rev-parse", "--git-dir"],
    &["rev-parse", "--is-inside-work-tree"],
    &["rev-parse", "--abbrev-ref", "HEAD"],
    &["rev-parse", "HEAD"],
    &["branch", "--show-current"],
];
/// Tests of `[` that look at a name or a text, and reckon with nothing.
const UNARY_TESTS: &[&str] = &["-f", "-d", "-e", "-r", "-w", "-x", "-s", "-L", "-n", "-z", "-t"];
/// Options of `curl` without a value.
const CURL_OPTIONS: &[&str] = &[
    "-s",
    "-S",
    "-f",
    "-sS",
    "-sf",
    "-fsS",
    "-sSf",
    "-L",
    "-k",
    "--silent",
    "--show-error",
    "--fail",
    "--location",
];
/// The same with one, that is no file where it does not begin with `@`.
const CURL_VALUES: &[&str] = &[
    "-d",
    "--data",
    "--data-raw",
    "--data-binary",
    "--json",
    "-H",
    "--header",
    "-X",
    "--request",
    "-m",
    "--max-time",
    "--connect-timeout",
    "--retry",
    "-u",
    "--user",
    "-A",
    "--user-agent",
];

/// The text of a shell's `-c`, if it is nothing but that.
pub(super) fn text_for_shell(command: &PlainCommand) -> Option<String> {
    let is_plain = command.assignments.is_empty() && command.files.is_empty();
    let [shell, option, text, ..] = &command.words[..] else { return None };
    let name = shell.literal().filter(|name| !name.contains('/'))?;
    let is_shell = matches!(name, "sh" | "bash" | "dash");
    (is_plain && is_shell && option.text == "-c").then(|| text.literal().map(str::to_owned)).flatten()
}

/// The files that a command may write.
pub(super) fn written(command: &PlainCommand) -> impl Iterator<Item = &PlainWord> {
    let is_tee = command.words.first().is_some_and(|word| word.text.ends_with("tee"));
    let files = command.files.iter().chain(command.words.iter().skip(1).filter(move |_| is_tee));
    files.filter(|file| !file.text.starts_with("/dev/"))
}

/// True of a command that runs nothing of the files that it names.
pub(super) fn only_reads(command: &PlainCommand) -> bool {
    const READING: &[&str] = &[
        "cat", "head", "tail", "wc", "tee", "mkdir", "echo", "printf", "[", "[[", "test", "basename",
        "dirname",
    ];
    command.words.first().is_none_or(|word| READING.contains(&word.text.as_str()))
}

/// True of a command that is known to be harmless whatever an agent has written.
pub(super) fn is_known(command: &PlainCommand, places: &OwnPlaces<'_>) -> bool {
    let is_harmless = |(name, value): &(String, PlainWord)| {
        // What a program is started with is said to it; what stands alone is for later words.
        if OWN_FOLDERS.contains(&name.as_str()) {
            return value.literal().is_some_and(|folder| places.is_own_path(folder));
        }
        !LOADING.iter().any(|it| name.starts_with(it)) && (command.words.is_empty() || value.is_literal())
    };
    let is_own = |file: &PlainWord| file.literal().is_some_and(|file| places.is_own_path(file));
    command.assignments.iter().all(is_harmless)
        && command.files.iter().all(is_own)
        && is_known_program(&command.words, places)
}

fn is_known_program(words: &[PlainWord], places: &OwnPlaces<'_>) -> bool {
    let words = behind_wrappers(words);
    let Some((program, given)) = words.split_first() else { return true };
    let Some(program) = program.literal() else { return false };
    if places.is_own_program(program) {
        return true;
    }
    let Some(name) = places.installed_name(program) else { return false };
    match OwnPlaces::interpreter(name) {
        Some(interpreter) => runs_own_script(interpreter, given, places),
        None => is_known_by_name(name, given, places),
    }
}

/// The words behind `exec`, `timeout 5` and the like.
fn behind_wrappers(words: &[PlainWord]) -> &[PlainWord] {
    let mut rest = words;
    while let Some((first, behind)) = rest.split_first()
        && WRAPPERS.contains(&first.text.trim_start_matches("/usr/bin/"))
        && behind.first().is_some_and(|next| !next.text.starts_with('-') && !next.text.contains('='))
    {
        let has_time = first.text.ends_with("timeout");
        let is_time = |word: &PlainWord| {
            word.text
                .trim_end_matches(['s', 'm'])
                .chars()
                .all(|letter| letter.is_ascii_digit() || letter == '.')
        };
        rest = match behind.split_first() {
            Some((time, program)) if has_time && is_time(time) => program,
            _ if has_time => return rest,
            _ => behind,
        };
    }
    rest
}

fn runs_own_script(interpreter: &str, given: &[PlainWord], places: &OwnPlaces<'_>) -> bool {
    let is_shell = interpreter.ends_with("sh");
    let options = INTERPRETER_OPTIONS.iter().find(|(name, _)| *name == interpreter);
    let options = if is_shell { SHELL_OPTIONS } else { options.map_or(&[][..], |(_, options)| *options) };
    let mut rest = given.iter();
    while let Some(word) = rest.next() {
        match word.text.as_str() {
            option if options.contains(&option) => {}
            option if is_shell && SHELL_OPTIONS_WITH_NAME.contains(&option) => drop(rest.next()),
            script => return places.is_own_path(script) && !script.starts_with("/dev/"),
        }
    }
    false
}

fn is_known_by_name(name: &str, given: &[PlainWord], places: &OwnPlaces<'_>) -> bool {
    let literals: Option<Vec<&str>> = given.iter().map(PlainWord::of_person).collect();
    let all = |is_so: &dyn Fn(&str) -> bool| {
        literals.as_ref().is_some_and(|words| words.iter().all(|word| is_so(word)))
    };
    let is_option = |word: &str| word.starts_with('-') && !word.contains('=');
    let is_number = |word: &str| !word.is_empty() && word.chars().all(|letter| letter.is_ascii_digit());
    let is_own = |word: &str| places.is_own_path(word);
    match name {
        "export" => given.is_empty(),
        "." | "source" => given.first().is_some_and(|file| is_own(&file.text) && !file.text.starts_with("/dev/")),
        // Words of the shell, and programs that take no file and no option with an effect.
        "true" | "false" | ":" | "echo" | "basename" | "dirname" | "notify-send" | "dunstify" => true,
        // `-v` and `%n` name a variable, with which a shell reckons.
        "printf" => given.first().and_then(PlainWord::literal).is_some_and(is_plain_format),
        "exit" | "sleep" => all(&is_number) || name == "sleep" && all(&|word| word.parse::<f64>().is_ok()),
        "cd" => given.len() <= 1 && given.iter().all(|word| !word.text.starts_with('-')),
        "[" | "[[" | "test" => is_plain_test(given),
        "command" | "which" | "type" => matches!(literals.as_deref(), Some([_] | ["-v", _])) && (name != "command" || given.len() == 2),
        "date" => all(&|word| word.starts_with('+') || matches!(word, "-u" | "-Iseconds" | "-Is" | "-I" | "--utc" | "-R")),
        "whoami" | "hostname" | "pwd" | "uname" | "id" | "mktemp" | "tty" => all(&|word| is_option(word) && name != "mktemp"),
        "tput" => all(&|word| word.chars().all(|letter| letter.is_ascii_alphanumeric())),
        // They read their input, or files of a person's own.
        "cat" | "head" | "tail" | "wc" => all(&|word| is_option(word) || is_number(word) || is_own(word)),
        "cut" => all(&|word| is_option(word) || is_number(word) || word.chars().count() == 1),
        "tr" | "rev" | "base64" | "sha256sum" | "md5sum" => all(&|word| name == "tr" && !word.starts_with("--") || matches!(word, "-d" | "-w0" | "-")),
        "grep" | "egrep" | "fgrep" => literals.is_some_and(|words| is_filter_by_pattern(&words)),
        "jq" => is_filter_of_jq(given),
        "mkdir" => all(&|word| matches!(word, "-p") || is_own(word)),
        "tee" => all(&|word| matches!(word, "-a") || is_own(word)),
        "logger" => all(&|word| !matches!(word, "-f" | "--file") && !word.starts_with("-f") && !word.starts_with("--file")),
        "spd-say" | "espeak" | "espeak-ng" => all(&|word| !word.starts_with('-')),
        "paplay" | "aplay" | "pw-play" | "canberra-gtk-play" | "mpg123" | "ogg123" => {
            all(&|word| is_own(word) || !word.contains(['/', '.']))
        }
        "curl" => is_plain_request(given),
        "tmux" => literals.is_some_and(|words| matches!(words.as_slice(), ["display-message" | "display", rest @ ..] if rest.iter().all(|word| !word.contains("#(") && !word.contains(';')))),
        "git" => literals.is_some_and(|words| GIT_TELLING.contains(&words.as_slice())),
        _ => false,
    }
}

/// True of a format that takes texts alone.
fn is_plain_format(format: &str) -> bool {
    !format.starts_with('-')
        && format.replace("%%", "").split('%').skip(1).all(|behind| behind.starts_with(['s', 'b', 'q', 'd']))
}

/// True of a test of one name or two texts. With more words one of an agent's could be taken for an operator.
fn is_plain_test(given: &[PlainWord]) -> bool {
    let words: Vec<&str> =
        given.iter().map(|word| word.text.as_str()).filter(|word| !matches!(*word, "]" | "]]")).collect();
    match words.as_slice() {
        [test, _] | ["!", test, _] if UNARY_TESTS.contains(test) => true,
        [_, test, _] => matches!(*test, "=" | "==" | "!="),
        _ => false,
    }
}

/// True of a grep that looks for one pattern in its input.
fn is_filter_by_pattern(words: &[&str]) -> bool {
    let is_option = |word: &&&str| {
        word.starts_with('-')
            && word[1..].chars().all(|letter| "iqvEFoPwxc".contains(letter))
            && word.len() > 1
    };
    let options = words.iter().take_while(is_option).count();
    matches!(&words[options..], [pattern] if !pattern.starts_with('-'))
        || matches!(&words[options..], ["-e", _])
}

/// True of a jq with one filter over its input.
fn is_filter_of_jq(given: &[PlainWord]) -> bool {
    let mut n_filters = 0;
    let mut rest = given.iter();
    while let Some(word) = rest.next() {
        let Some(text) = word.literal() else { return false };
        match text {
            "--arg" | "--argjson" => {
                let is_named = rest.next().is_some_and(PlainWord::is_literal);
                if !is_named || rest.next().is_none() {
                    return false;
                }
            }
            "--raw-output" | "--compact-output" | "--exit-status" | "--slurp" | "--null-input"
            | "--raw-input" | "--join-output" => {}
            text if text.starts_with('-') => {
                if text.len() < 2 || !text[1..].chars().all(|letter| "rcesnRjMaS".contains(letter)) {
                    return false;
                }
            }
            // A module is read from a file.
            filter => {
                n_filters += 1;
                if filter.contains("import") || filter.contains("include") {
                    return false;
                }
            }
        }
    }
    n_filters == 1
}

/// True of a request that sends what is written down, or the event, and writes no file.
fn is_plain_request(given: &[PlainWord]) -> bool {
    let mut rest = given.iter();
    while let Some(word) = rest.next() {
        let Some(text) = word.of_person() else { return false };
        match text {
            "-o" | "--output" => {
                if rest.next().is_none_or(|file| file.text != "/dev/null") {
                    return false;
                }
            }
            option if CURL_VALUES.contains(&option) => {
                let Some(value) = rest.next() else { return false };
                let is_sent_as_it_is = option == "--data-raw" || value.is_literal();
                if !is_sent_as_it_is || value.text.starts_with('@') && value.text != "@-" {
                    return false;
                }
            }
            option if CURL_OPTIONS.contains(&option) => {}
            address => {
                if address.starts_with('-')
                    || address.contains(['{', '['])
                    || address.to_lowercase().starts_with("file:")
                {
                    return false;
                }
            }
        }
    }
    true
}
