//! What does an interpreter run or load with the words that it is given?

use super::{folder_programs::runs_folder, places::WorkspacePlaces};

/// Options of interpreters that load what stands behind them; those of one letter mean other things to others.
const LOADING: &[&str] = &[
    "--require",
    "--import",
    "--loader",
    "--experimental-loader",
    "--env-file",
    "--rcfile",
    "--init-file",
    "--file",
    "-File",
    "-jar",
    "-cp",
    "-classpath",
];
/// Endings of scripts.
const ENDINGS: &[&str] = &[
    "sh", "bash", "zsh", "fish", "py", "pyw", "js", "mjs", "cjs", "ts", "mts", "cts", "tsx", "pl", "pm",
    "rb", "php", "lua", "r", "R", "jl", "tcl", "ps1", "awk", "jar",
];
/// What a command comes to.
pub(super) enum WordsReach {
    Nothing,
    Workspace,
    /// As much as this text, which its program reads as a shell does.
    Text(String),
}

impl WordsReach {
    pub fn of(is_reached: bool) -> WordsReach {
        if is_reached { WordsReach::Workspace } else { WordsReach::Nothing }
    }
}

/// A family of interpreters whose options mean the same.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Shell,
    Python,
    /// Letters of options may stand together, and a folder behind them: `-wI.`
    Perl,
    Awk,
    Php,
    Other,
}

impl Family {
    pub fn of(interpreter: &str) -> Family {
        match interpreter {
            "python" | "pypy" => Family::Python,
            "perl" | "ruby" => Family::Perl,
            "awk" | "gawk" | "mawk" => Family::Awk,
            "php" => Family::Php,
            "tclsh" | "pwsh" => Family::Other,
            shell if shell.ends_with("sh") => Family::Shell,
            _ => Family::Other,
        }
    }

    /// True of an option behind which a folder or a file stands that is loaded.
    fn loads_by(self, option: &str) -> bool {
        let by_letter = match self {
            Family::Perl => &["-I", "-r", "-C"][..],
            Family::Awk | Family::Php => &["-f"],
            Family::Other => &["-r"],
            Family::Python | Family::Shell => &[],
        };
        by_letter.contains(&option) || LOADING.contains(&option)
    }

    /// True of an option behind which a word stands that is no file.
    pub fn has_word(self, option: &str) -> bool {
        match self {
            Family::Python => matches!(option, "-W" | "-X"),
            Family::Shell => !option.starts_with("--") && option.ends_with(['o', 'O']),
            Family::Awk => matches!(option, "-v" | "-F"),
            Family::Other => option == "-l",
            Family::Perl | Family::Php => false,
        }
    }

    /// True of an option behind which code stands.
    fn has_code(self, option: &str) -> bool {
        let is_long = option.starts_with("--");
        match self {
            Family::Python | Family::Shell => !is_long && option.ends_with('c'),
            Family::Perl => !is_long && option.ends_with(['e', 'E']),
            Family::Php => option == "-r",
            Family::Other => matches!(option, "-e" | "-p" | "-pe" | "--eval" | "--print" | "-c" | "-Command"),
            Family::Awk => false,
        }
    }
}

/// What an interpreter comes to with these words.
pub(super) fn interpreted(interpreter: &str, given: &[&str], places: &WorkspacePlaces<'_>) -> WordsReach {
    let family = Family::of(interpreter);
    let mut rest = given.iter().copied();
    if let ("bun" | "deno", Some(first)) = (interpreter, given.first()) {
        match *first {
            "run" => drop(rest.next()),
            first if places.leads(first, false) || is_script(first) || first.starts_with('-') => {}
            _ => return WordsReach::Nothing,
        }
    }
    let mut has_code = family == Family::Awk;
    while let Some(word) = rest.next() {
        if !word.starts_with(['-', '+']) || word == "-" {
            if has_code {
                return WordsReach::Nothing;
            }
            if family == Family::Shell && word.contains(char::is_whitespace) {
                return WordsReach::Text(word.to_owned());
            }
            return WordsReach::of(places.leads(word, is_script(word)));
        }
        if loads_attached(family, word, places) {
            return WordsReach::Workspace;
        }
        if family == Family::Python && word == "-m" {
            // What stands behind the name of a module is the module's.
            let is_reached =
                rest.next().is_some_and(|name| runs_folder(name, &[], places) || places.leads(name, false));
            return WordsReach::of(is_reached);
        }
        if family.loads_by(word) {
            let Some(place) = rest.next() else { return WordsReach::Nothing };
            let is_list = matches!(word, "-cp" | "-classpath");
            let is_file = word.len() == 2 && word != "-r" || is_script(place);
            if is_list && places.leads_in_list(place, ':') || places.leads(place, is_file) {
                return WordsReach::Workspace;
            }
        } else if family.has_word(word) {
            let _word = rest.next();
        } else if family.has_code(word) && !has_code {
            let code = rest.next().unwrap_or_default();
            if family == Family::Shell {
                return WordsReach::Text(code.to_owned());
            }
            has_code = true;
        }
    }
    WordsReach::Nothing
}

/// True of an option with a place of the workspace in the same word.
fn loads_attached(family: Family, word: &str, places: &WorkspacePlaces<'_>) -> bool {
    let value = |option: &str| word.strip_prefix(option).filter(|value| !value.is_empty());
    let is_of_modules = word.starts_with("-M") || word.starts_with("-m");
    if family == Family::Perl && !word.starts_with("--") {
        let folder = match is_of_modules {
            true => value("-Mlib=").or_else(|| value("-mlib=")),
            false => word.split_once('I').map(|(_, folder)| folder).filter(|folder| !folder.is_empty()),
        };
        if folder.is_some_and(|folder| folder.split(',').any(|folder| places.leads(folder, true))) {
            return true;
        }
    }
    let file = match family {
        Family::Perl | Family::Other if !word.starts_with("--") => value("-r"),
        _ => None,
    };
    let file = file.or_else(|| word.split_once('=').map(|(_, value)| value));
    file.is_some_and(|file| places.leads(file, is_script(file)))
}

/// True of a word that ends like the name of a script.
fn is_script(word: &str) -> bool {
    word.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.contains(&ending))
}
