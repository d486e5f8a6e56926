//! Does an interpreter run code that is a person's own, and load nothing from the folder that it is started in?

use super::super::{interpreters::Family, places::WorkspacePlaces};

/// Modules of Python's own that only compute (https://docs.python.org/3/library/cmdline.html).
const PYTHON_MODULES: &[&str] =
    &["json.tool", "json", "base64", "calendar", "uuid", "gzip", "platform", "this"];
/// Modules of Node's own (https://nodejs.org/api/): no folder is looked through for them.
const NODE_MODULES: &[&str] = &[
    "assert",
    "buffer",
    "child_process",
    "crypto",
    "dns",
    "events",
    "fs",
    "fs/promises",
    "http",
    "http2",
    "https",
    "net",
    "os",
    "path",
    "perf_hooks",
    "process",
    "querystring",
    "readline",
    "stream",
    "string_decoder",
    "timers",
    "tls",
    "tty",
    "url",
    "util",
    "v8",
    "vm",
    "worker_threads",
    "zlib",
];
/// Options of Node's that load nothing (node(1)).
const NODE_OPTIONS: &[&str] = &[
    "--no-warnings",
    "--no-deprecation",
    "--max-",
    "--experimental-strip-types",
    "--disable-warning",
    "--input-type",
    "--unhandled-rejections",
    "--trace-",
    "--enable-source-maps",
    "--use-strict",
    "--no-addons",
];

/// True of an interpreter with code, or with a script that lies elsewhere, which takes nothing else from where it is started.
///
/// - A shell that is given a script or code reads no other file there (bash(1), INVOCATION).
/// - Python is told to load nothing from there (`PYTHONSAFEPATH`), and so are Perl (`@INC` has no `.`, perl5260delta) and R.
/// - Ruby's `$LOAD_PATH` has no `.` (since 1.9.2), and Node looks from a script's own folder (https://nodejs.org/api/modules.html).
/// - `java -jar` has that file as its whole class path (java(1)).
///
/// Not so Bun (`bunfig.toml`, `.env`), Deno (`deno.json`), tsx and ts-node (`tsconfig.json`), PHP (`include_path` begins with `.`), Lua (`./?.lua`),
/// and uv (`uv.toml`, `.python-version`).
pub(in super::super) fn runs_apart(name: &str, given: &[&str], places: &WorkspacePlaces<'_>) -> bool {
    let bare = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let is_away = |word: &str| places.is_away(word);
    if matches!(name, "." | "source") {
        return given.first().is_some_and(|word| is_away(word));
    }
    match bare {
        // What runs their code is read as a text of its own.
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "mksh" | "fish" => {
            let mut rest = given.iter();
            while let Some(word) = rest.next() {
                match *word {
                    "--version" => return true,
                    word if !word.starts_with("--") && word.starts_with('-') && word.ends_with('c') => {
                        return true;
                    }
                    word if Family::of(bare).has_word(word) => drop(rest.next()),
                    word if word.starts_with(['-', '+']) && word != "-" => {}
                    word => return is_away(word),
                }
            }
            false
        }
        "python" | "pypy" => {
            let mut rest = given.iter();
            while let Some(word) = rest.next() {
                match *word {
                    "-V" | "--version" => return true,
                    "-m" => return rest.next().is_some_and(|module| PYTHON_MODULES.contains(module)),
                    "-W" | "-X" => drop(rest.next()),
                    word if word.starts_with('-') && !word.starts_with("--") && word.ends_with('c') => {
                        return true;
                    }
                    word if word.starts_with('-') && word.len() > 1 && !word.contains('m') => {}
                    word => return is_away(word),
                }
            }
            false
        }
        "node" => {
            let mut rest = given.iter();
            while let Some(word) = rest.next() {
                match *word {
                    "-v" | "--version" => return true,
                    "-e" | "-p" | "-pe" | "--eval" | "--print" => {
                        return rest.next().is_some_and(|code| requires_own(code));
                    }
                    word if NODE_OPTIONS.iter().any(|option| word.starts_with(option)) => {}
                    word => return is_away(word),
                }
            }
            false
        }
        "perl" | "ruby" => of_perl(given, places),
        "awk" | "gawk" | "mawk" => {
            let mut rest = given.iter();
            while let Some(word) = rest.next() {
                match *word {
                    "-v" | "-F" => drop(rest.next()),
                    "-f" => return rest.next().is_some_and(|file| is_away(file)),
                    word if word.starts_with("-F") || word.starts_with("-v") || word == "--" => {}
                    word => {
                        return !word.starts_with('-')
                            && !word.contains("@include")
                            && !word.contains("@load");
                    }
                }
            }
            false
        }
        "Rscript" => match given {
            ["-e", _code] => true,
            [script, ..] => is_away(script),
            [] => false,
        },
        "osascript" => given.first().is_some_and(|word| *word == "-e" || is_away(word)),
        "java" => matches!(given, ["-jar", file, ..] if is_away(file)),
        _ => false,
    }
}

/// True of Perl or Ruby with code or a script. What they go through by `-n` and `-p` they open as the shell would: a name may be a command
/// (perlop(1), I/O Operators: `<>`).
fn of_perl(given: &[&str], places: &WorkspacePlaces<'_>) -> bool {
    let (mut has_code, mut goes_through) = (false, false);
    let mut rest = given.iter();
    while let Some(word) = rest.next() {
        match *word {
            "-v" | "--version" => return true,
            word if word.starts_with('-') && word.len() > 1 => {
                let is_of_modules =
                    word.starts_with("-M") || word.starts_with("-m") || word.starts_with("-r");
                if word.contains('S') && !is_of_modules {
                    return false;
                }
                goes_through |= !is_of_modules && !word.starts_with("--") && word.contains(['n', 'p', 'i']);
                if !is_of_modules && !word.starts_with("--") && word.ends_with(['e', 'E']) {
                    has_code = true;
                    let _code = rest.next();
                }
            }
            word if !has_code => return places.is_away(word),
            word if goes_through && !places.is_away(word) => return false,
            _ => {}
        }
    }
    has_code
}

/// True of a program of Node's that loads Node's own modules and no other ones: those it would look for in the folder that it is started in.
fn requires_own(code: &str) -> bool {
    if code.contains("import") || code.contains("createRequire") {
        return false;
    }
    code.split("require").skip(1).all(|behind| {
        let Some(argument) = behind.trim_start().strip_prefix('(') else { return false };
        let argument = argument.trim_start();
        let Some(quote) = argument.chars().next().filter(|quote| "\"'`".contains(*quote)) else {
            return false;
        };
        let name = argument[1..].split(quote).next().unwrap_or_default();
        let name = name.trim_end_matches('\\');
        name.strip_prefix("node:").is_some() || NODE_MODULES.contains(&name)
    })
}
