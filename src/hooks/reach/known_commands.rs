//! Which commands do nothing with what they are given but tell it, pass it on, or write it where no agent writes?
//!
//! Each is known with the words that it may have (bash(1), coreutils(1), jq(1), curl(1), notify-send(1)). A value that an agent may have
//! chosen is taken as a word of its own, which some programs would take for an option: it may stand only where that changes nothing.

use std::{ffi::OsStr, path::Path};

use super::{
    DATA, OWN_VALUE, PlainCommand, PlainRedirection, PlainWord,
    own_programs::{ENDS_OF_CODE, OwnPlaces, is_plain_option},
};

/// Programs that start another with their words, and nothing else.
const WRAPPERS: &[&str] = &["exec", "nohup", "nice", "timeout", "env"];
/// Options of shells that change neither what they read nor from where, with the name of an option behind them.
const SHELL_OPTIONS_WITH_NAME: &[&str] = &["-o", "-eo", "-euo", "-euxo", "-uo", "-exo"];
/// Names of such options.
const SHELL_OPTION_NAMES: &[&str] = &["pipefail", "errexit", "nounset", "xtrace"];
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
pub(super) fn text_for_shell(command: &PlainCommand) -> Option<&str> {
    let [shell, option, text, ..] = &command.words[..] else { return None };
    let is_shell = matches!(shell.text.as_str(), "sh" | "bash" | "dash");
    (command.files.is_empty() && is_shell && option.text == "-c").then(|| text.literal()).flatten()
}

/// The files that a command may write.
pub(super) fn written(command: &PlainCommand) -> impl Iterator<Item = &PlainWord> {
    let words = behind_wrappers(&command.words);
    let is_tee = words.first().is_some_and(|word| word.text == "tee" || word.text.ends_with("/tee"));
    let files = command.files.iter().map(|it| &it.file).chain(words.iter().skip(1).filter(move |_| is_tee));
    files.filter(|file| !file.text.starts_with("/dev/"))
}

/// The files that a command opens by its words, or by redirections.
pub(super) fn operands(command: &PlainCommand) -> impl Iterator<Item = &PlainWord> {
    const OPENING: &[&str] = &["tee", "mkdir"];
    let words = behind_wrappers(&command.words);
    let is_opening =
        words.first().is_some_and(|word| OPENING.contains(&word.text.rsplit('/').next().unwrap_or_default()));
    command.files.iter().map(|it| &it.file).chain(words.iter().skip(1).filter(move |_| is_opening))
}

/// True of a command that is known to be harmless whatever an agent has written.
pub(super) fn is_known(command: &PlainCommand, places: &OwnPlaces<'_>) -> bool {
    let is_own = |it: &PlainRedirection| it.file.literal().is_some_and(|file| places.is_own_target(file));
    command.files.iter().all(is_own) && is_known_program(&command.words, places)
}

fn is_known_program(words: &[PlainWord], places: &OwnPlaces<'_>) -> bool {
    let words = behind_wrappers(words);
    // A redirection alone empties a file.
    let Some((program, given)) = words.split_first() else { return true };
    if run_file(words, places).is_some_and(|file| places.is_own_script(file, program.text != file)) {
        return true;
    }
    let Some(name) = program.literal().and_then(|program| places.installed_name(program)) else {
        return false;
    };
    OwnPlaces::interpreter(name).is_none() && is_known_by_name(name, given, places)
}

/// The file that a command runs, by its full path: its program, or the script of an interpreter.
pub(super) fn run_file<'a>(words: &'a [PlainWord], places: &OwnPlaces<'_>) -> Option<&'a str> {
    let (program, given) = behind_wrappers(words).split_first()?;
    let program = program.literal()?;
    match places.installed_name(program).and_then(OwnPlaces::interpreter) {
        Some(interpreter) => script_of(interpreter, given),
        None => Some(program).filter(|program| program.starts_with('/')),
    }
}

/// True if a script of a person's own is told a file of the workspace, which it may run: a relative path, a name with a program's end, a path below
/// a root, or one behind a value. The root itself is a place to work on.
pub(super) fn tells_file(command: &PlainCommand, places: &OwnPlaces<'_>) -> bool {
    let Some(run) = run_file(&command.words, places) else { return false };
    let behind = command.words.iter().skip_while(|word| word.text != run).skip(1);
    behind.map(|word| word.text.split_once('=').map_or(word.text.as_str(), |(_, value)| value)).any(|text| {
        let path = Path::new(text);
        let is_code = path.extension().and_then(OsStr::to_str).is_some_and(|end| ENDS_OF_CODE.contains(&end));
        let is_relative = !text.starts_with(['/', '-', DATA, OWN_VALUE]);
        let is_file = || text.contains('/') && !text.contains(char::is_whitespace) && !text.contains("://");
        let is_behind_value = text.starts_with([DATA, OWN_VALUE]) && text.contains('/');
        is_relative && (is_file() && text != "./" || is_code)
            || is_behind_value
            || text.starts_with('/') && places.is_within_root(path)
    })
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

/// The script of an interpreter, a full path behind options that load nothing.
fn script_of<'a>(interpreter: &str, given: &'a [PlainWord]) -> Option<&'a str> {
    let is_shell = interpreter.ends_with("sh");
    let mut rest = given.iter();
    while let Some(word) = rest.next() {
        match word.literal()? {
            option if is_plain_option(interpreter, option) => {}
            option if is_shell && interpreter != "fish" && SHELL_OPTIONS_WITH_NAME.contains(&option) => {
                rest.next()?.literal().filter(|name| SHELL_OPTION_NAMES.contains(name))?;
            }
            script => return Some(script).filter(|script| script.starts_with('/')),
        }
    }
    None
}

fn is_known_by_name(name: &str, given: &[PlainWord], places: &OwnPlaces<'_>) -> bool {
    let literals: Option<Vec<&str>> = given.iter().map(PlainWord::of_person).collect();
    let all = |is_so: &dyn Fn(&str) -> bool| {
        literals.as_ref().is_some_and(|words| words.iter().all(|word| is_so(word)))
    };
    let is_option = |word: &str| {
        word.strip_prefix('-')
            .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|it| it.is_ascii_alphabetic()))
    };
    let is_number = |word: &str| !word.is_empty() && word.chars().all(|letter| letter.is_ascii_digit());
    match name {
        // Words of the shell, and programs that take no file and no option with an effect.
        "true" | "false" | ":" | "echo" | "basename" | "dirname" | "notify-send" | "dunstify" => true,
        // `-v` and `%n` name a variable, with which a shell reckons.
        "printf" => given.first().and_then(PlainWord::literal).is_some_and(is_plain_format),
        "exit" => all(&is_number),
        "sleep" => all(&|word| is_number(word) || word.parse::<f64>().is_ok()),
        // The hook is there already.
        "cd" => {
            literals.as_deref().is_some_and(|words| matches!(words, [folder] if places.is_first_root(folder)))
        }
        "command" => matches!(literals.as_deref(), Some(["-v", _])),
        "which" => matches!(literals.as_deref(), Some([_])),
        "date" => all(&|word| {
            word.starts_with('+') || matches!(word, "-u" | "-Iseconds" | "-Is" | "-I" | "--utc" | "-R")
        }),
        "whoami" | "hostname" | "pwd" => given.is_empty(),
        "uname" | "id" => all(&is_option),
        // They read their input.
        "cat" | "wc" => all(&is_option),
        "head" | "tail" => literals.is_some_and(|words| has_only(&words, &["-n", "-c"])),
        "cut" => literals.is_some_and(|words| has_only(&words, &["-d", "-f", "-c"])),
        "tr" => all(&|word| !word.starts_with("--")),
        "rev" | "sha256sum" | "md5sum" => given.is_empty(),
        "base64" => all(&|word| matches!(word, "-d" | "-w0")),
        "grep" | "egrep" | "fgrep" => literals.is_some_and(|words| is_filter_by_pattern(&words)),
        "jq" => is_filter_of_jq(given),
        "mkdir" => all(&|word| word == "-p" || places.is_own_path(word)),
        "tee" => all(&|word| word == "-a" || places.is_own_target(word)),
        "logger" => all(&|word| !word.starts_with('-') || matches!(word, "-t" | "-s" | "-i" | "-p")),
        "spd-say" | "espeak" | "espeak-ng" => all(&|word| !word.starts_with('-')),
        "paplay" | "aplay" | "pw-play" | "mpg123" | "ogg123" => all(&|word| places.is_own_path(word)),
        "canberra-gtk-play" => matches!(literals.as_deref(), Some(["-i", _])),
        "curl" => is_plain_request(given),
        "tmux" => is_plain_message(given),
        _ => false,
    }
}

/// True of words that are these options with their values, or numbers behind a `-`.
fn has_only(words: &[&str], options: &[&str]) -> bool {
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let is_attached = options.iter().any(|option| word.len() > option.len() && word.starts_with(option));
        let is_number = word
            .strip_prefix('-')
            .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|it| it.is_ascii_digit()));
        let is_option = options.contains(word) && rest.next().is_some();
        if !is_attached && !is_number && !is_option {
            return false;
        }
    }
    true
}

/// True of a format that takes texts alone.
fn is_plain_format(format: &str) -> bool {
    !format.starts_with('-')
        && format.replace("%%", "").split('%').skip(1).all(|behind| behind.starts_with(['s', 'b', 'q', 'd']))
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
                let is_named = rest.next().is_some_and(|word| word.literal().is_some());
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
                if ["import", "include", "modulemeta"].iter().any(|it| filter.contains(it)) {
                    return false;
                }
            }
        }
    }
    n_filters == 1
}

/// True of a message of tmux's in which nothing is filled in.
fn is_plain_message(given: &[PlainWord]) -> bool {
    let Some(("display-message" | "display", rest)) =
        given.split_first().and_then(|(name, rest)| Some((name.literal()?, rest)))
    else {
        return false;
    };
    let is_pane = |at: usize| 0 < at && rest[at - 1].text == "-t" && rest[at].of_person().is_some();
    let is_plain = |word: &PlainWord| {
        word.literal().is_some_and(|text| !text.contains("#(") && !text.contains("#{") && !text.contains(';'))
    };
    (0..rest.len()).all(|at| is_plain(&rest[at]) || is_pane(at))
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
                let is_sent_as_it_is = option == "--data-raw" || value.literal().is_some();
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
