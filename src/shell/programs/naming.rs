//! Which options say by their names that they name something to run? Most programs have no table here, and an option that has a
//! program run another is called alike in nearly all of them.

use crate::{scope::ScriptWalk, value::WordValue};

/// Words for what is run, and the fewest letters to which one may be cut short, as many programs let a long option be. An option is
/// meant whose name is such a word or ends with one: `--engine`, `--strip-program`, `--testRunner`.
const RUN: &[(&str, usize)] = &[
    ("askpass", 4),
    ("browser", 4),
    ("cmd", 3),
    ("command", 4),
    ("debugger", 6),
    ("editor", 5),
    ("engine", 3),
    ("eval", 4),
    ("exec", 4),
    ("execdir", 5),
    ("executable", 5),
    ("execute", 5),
    ("extcmd", 4),
    ("helper", 5),
    ("hook", 4),
    ("hooks", 5),
    ("interpreter", 7),
    ("launcher", 5),
    ("pager", 5),
    ("plugin", 3),
    ("plugins", 7),
    ("postprocessor", 5),
    ("prehook", 4),
    ("preload", 5),
    ("prepipe", 5),
    ("preprocessor", 5),
    ("program", 4),
    ("rsh", 3),
    ("runner", 5),
    ("runtool", 4),
    ("script", 4),
    ("shell", 4),
    ("spawn", 4),
    ("viewer", 5),
    ("wrapper", 4),
];

/// Words that mean the same at the end of a longer name; alone they are said of other things.
const AT_END: &[&str] = &["bin", "binary", "exe"];

/// Words that mean it wherever they stand: `--plugin-dir`, `--exec-batch`, `--load-plugins`.
const ANYWHERE: &[&str] = &["exec", "plugin", "plugins"];

/// Whole names.
const WHOLE: &[&str] = &["filter", "post", "pre"];

/// First words of names that switch something off, or have it told.
const OFF: &[&str] = &[
    "allow", "deny", "disable", "enable", "exclude", "help", "hide", "ignore", "list", "no", "print", "show",
    "skip", "version", "without",
];

/// Words behind `on` of which no program is what follows: `--on-conflict skip`.
const NOT_RUN_ON: &[&str] =
    &["conflict", "delete", "duplicate", "duplicates", "exist", "exists", "missing", "update"];

/// Programs to which such a name means something else, or of whose options a table tells.
const OTHERWISE: &[(&[&str], &[&str])] = &[
    (
        &[
            "artisan", "az", "bats", "dart", "docker", "dotnet", "flutter", "gcloud", "jest", "lerna", "lit",
            "nerdctl", "npm", "npx", "nx", "paratest", "pest", "phpunit", "pnpm", "podman", "rsync", "rush",
            "turbo", "vitest", "yarn",
        ],
        &["filter"],
    ),
    (&["hatch", "pdm", "pip", "pip3", "pipenv", "pipx", "poetry", "rye", "uv"], &["pre"]),
    (&["playwright", "vitest"], &["browser"]),
    (&["rg"], &["engine"]),
    (&["kubectl", "mariadb", "mysql", "psql"], &["command", "execute"]),
];

/// Programs that run nothing whatever they are told: their words are texts and patterns.
const OF_TEXTS: &[&str] = &["echo", "egrep", "fgrep", "grep", "printf", "test", "["];

/// Shells by name, of which an option's value says no more than which it is about: `completion --shell zsh`.
const SHELLS: &[&str] =
    &["bash", "dash", "elvish", "fish", "ksh", "nu", "nushell", "powershell", "pwsh", "sh", "tcsh", "zsh"];

impl ScriptWalk<'_> {
    /// Looks at the options of a program, whatever it is.
    pub(super) fn names_what_is_run(&mut self, base: &str, args: &[WordValue]) {
        if OF_TEXTS.contains(&base) {
            return;
        }
        for (at, arg) in args.iter().enumerate().take_while(|(_, arg)| !arg.is("--")) {
            let lead = arg.lead();
            let (name, joined) = match lead.split_once('=') {
                Some((name, _)) => (name, Some(arg.after(name.chars().count() + 1))),
                None => (lead.as_str(), None),
            };
            // Of an unknown one nobody can tell the end. A pattern that finds such a file is one.
            let is_cut = joined.is_none() && arg.known().is_none();
            let is_pattern = lead.is_empty() && !arg.raw().contains(['$', '`', '"', '\'']);
            if is_cut && (name.starts_with("--") || is_pattern && arg.raw().contains(['*', '?', '['])) {
                self.draft.unknown(format!(
                    "nobody can tell whether `{}` is an option by which `{base}` runs a command",
                    arg.raw()
                ));
                continue;
            }
            let is_otherwise = |name: &str| {
                OTHERWISE.iter().any(|(programs, names)| programs.contains(&base) && names.contains(&name))
            };
            let Some(kind) = kind(name).filter(|_| !is_otherwise(name.trim_start_matches('-'))) else {
                continue;
            };
            let value = joined.as_ref().or(args.get(at + 1)).and_then(WordValue::known);
            if kind == "shell" && value.is_some_and(|value| SHELLS.contains(&value)) {
                continue;
            }
            self.draft.unknown(format!(
                "`{base} {}` may run what it names: the option is called like one that does",
                arg.raw()
            ));
        }
    }
}

/// The word by which the name of an option says that it names something to run.
fn kind(option: &str) -> Option<&'static str> {
    let (name, is_long) = match option.strip_prefix("--") {
        Some(name) => (name, true),
        None => (option.strip_prefix('-')?, false),
    };
    let words = words_of(name);
    let (first, last) = (words.first()?.as_str(), words.last()?.as_str());
    // Behind one hyphen these are a codec's, a picture's and others'.
    if let Some(whole) = WHOLE.iter().find(|whole| is_long && **whole == name) {
        return Some(whole);
    }
    if 1 < words.len() {
        if OFF.contains(&first) {
            return None;
        }
        if first == "on" && !NOT_RUN_ON.contains(&last) {
            return Some("on");
        }
        if let Some(word) = AT_END.iter().find(|word| **word == last) {
            return Some(word);
        }
    }
    if let Some(word) = ANYWHERE.iter().find(|word| words.iter().any(|one| one == *word)) {
        return Some(word);
    }
    let is_word = |(word, least): &&(&'static str, usize)| *least <= last.len() && word.starts_with(last);
    RUN.iter().find(is_word).map(|(word, _)| *word)
}

/// `strip-program`, `test_runner`, `testRunner`.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_small = false;
    for letter in name.chars() {
        let is_end = matches!(letter, '-' | '_' | '.' | ':');
        if is_end || (is_small && letter.is_ascii_uppercase()) {
            words.push(String::new());
        }
        is_small = letter.is_ascii_lowercase();
        if let (false, Some(word)) = (is_end, words.last_mut()) {
            word.push(letter.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
