//! Does a command make code, or the name of a variable, of text that an agent chooses?

use super::{
    HookWord, Quoting,
    places::{OF_NOBODY, WorkspacePlaces, assignment, is_control},
};

/// Builtins whose words name variables: a subscript in such a name is reckoned with, and what a value is given to may be the `PATH`
/// (bash(1), ARRAYS, and SHELL BUILTIN COMMANDS).
const NAMING: &[&str] =
    &["export", "declare", "typeset", "local", "readonly", "unset", "read", "mapfile", "readarray"];
/// Programs that run or read something by an option, and their options of one letter behind which a value stands (the manual page of each).
const WITH_OPTIONS: &[(&str, &str)] = &[
    ("curl", "AbCcDdEeFHKmoPQrTtUuwXxYyz"),
    ("install", "gmoSt"),
    ("rg", "ABCdEefgjMmrTt"),
    ("sort", "koSTt"),
    ("split", "abCln"),
    ("ssh", "BbcDEeFIiJLlmOopQRSWw"),
    ("wget", "ABDeIiloOPQRTtUwX"),
    ("zgrep", "ABCefm"),
];
/// Their long options of that kind that people use.
const LONG_WITH_VALUE: &[&str] = &[
    "--data",
    "--data-raw",
    "--data-binary",
    "--data-urlencode",
    "--json",
    "--header",
    "--url",
    "--max-time",
    "--connect-timeout",
    "--request",
    "--form",
    "--output",
    "--user",
    "--regexp",
    "--glob",
    "--post-data",
    "--post-file",
    "--body-data",
];

/// True of a command with code in it that a shell fills in (`sh -c "x $FILE"`), or with a name of a variable that it fills in (`export $(cat x)`).
pub(super) fn is_taken_for_code(words: &[HookWord], places: &WorkspacePlaces<'_>) -> bool {
    let own: Vec<&HookWord> = words.iter().filter(|word| !word.is_target).collect();
    let texts: Vec<String> = own.iter().map(|word| word.text()).collect();
    if own.iter().any(|word| reckons(word, places)) {
        return true;
    }
    let is_filled = |at: usize| own.get(at).is_some_and(|word| is_filled_in(word, places));
    let before = texts.iter().take_while(|text| is_control(text) || assignment(text).is_some()).count();
    let program = texts.get(before).map(String::as_str).unwrap_or_default();
    let behind = before + 1..texts.len();
    if NAMING.contains(&program) {
        return behind.clone().any(|at| texts[at].starts_with('$') && is_filled(at));
    }
    let has = |options: &[&str]| behind.clone().any(|at| options.contains(&texts[at].as_str()));
    if matches!(program, "[" | "[[" | "test") && has(&["-v", "-R"])
        || program == "printf" && texts.get(before + 1).is_some_and(|text| text.starts_with("-v"))
    {
        return behind.clone().any(|at| texts[at].starts_with('$') && is_filled(at));
    }
    let is_alone = |text: &String| text.starts_with('$') && !text.contains(['\\', '%', ' ']);
    if program == "printf" && texts.get(before + 1).is_some_and(is_alone) {
        return is_filled(before + 1);
    }
    if matches!(program, "eval" | "trap") {
        return behind.clone().any(is_filled);
    }
    (before..texts.len()).any(|at| {
        let rest: Vec<&str> = texts[at + 1..].iter().map(String::as_str).collect();
        let mut words = code_of(&texts[at], &rest).into_iter().chain(options_of(&texts[at], &rest));
        words.any(|word| is_filled(at + 1 + word))
    })
}

/// Which of the words behind a program begin with a variable, and would be an option if its value began like one.
fn options_of(program: &str, given: &[&str]) -> Vec<usize> {
    let name = program.rsplit('/').next().unwrap_or_default();
    let Some((_, letters)) = WITH_OPTIONS.iter().find(|(program, _)| *program == name) else {
        return Vec::new();
    };
    let has_value = |word: &str| match word.strip_prefix("--") {
        Some(_) => LONG_WITH_VALUE.contains(&word),
        None => word.starts_with('-') && word.ends_with(|letter: char| letters.contains(letter)),
    };
    let is_value = |at: usize| at.checked_sub(1).is_some_and(|before| has_value(given[before]));
    let operands = given.iter().take_while(|word| **word != "--").enumerate();
    operands.filter(|(at, word)| word.starts_with('$') && !is_value(*at)).map(|(at, _)| at).collect()
}

/// True of `${!X}`, `${A[X]}` and `${A:X}`, which reckon with a value that an agent may choose, and run what stands in it (bash(1), PARAMETERS and
/// Parameter Expansion).
fn reckons(word: &HookWord, places: &WorkspacePlaces<'_>) -> bool {
    let text = word.text();
    let mut at = 0;
    word.letters.iter().any(|(letter, quoting)| {
        let rest = &text[at..];
        at += letter.len_utf8();
        let inner = rest.strip_prefix("${").filter(|_| *quoting != Quoting::Single);
        let Some(inner) = inner.and_then(|inner| inner.split_once('}')).map(|(inner, _)| inner) else {
            return false;
        };
        let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        if let Some(name) = inner.strip_prefix('!') {
            let end = name.find(|letter| !is_of_name(letter)).unwrap_or(name.len());
            return !name.ends_with(['*', '@']) && places.is_agents(&name[..end]);
        }
        let inner = inner.trim_start_matches('#').trim_start_matches(is_of_name);
        let reckoned = match inner.strip_prefix(':').filter(|it| !it.starts_with(['-', '=', '?', '+'])) {
            Some(offset) => offset,
            None => inner.strip_prefix('[').and_then(|it| it.split_once(']')).map_or("", |(index, _)| index),
        };
        let mut names = reckoned.split(|letter| !is_of_name(letter) && letter != '$');
        reckoned.contains("$(")
            || names.any(|name| {
                let is_number = name.chars().all(|letter| letter.is_ascii_digit());
                !is_number && places.is_agents(name.trim_start_matches('$'))
            })
    })
}

/// Which of the words behind a program are code.
fn code_of(program: &str, given: &[&str]) -> Vec<usize> {
    let name = program.rsplit('/').next().unwrap_or_default();
    let bare = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let is_short = |word: &str| word.starts_with('-') && !word.starts_with("--");
    let behind = |is_option: &dyn Fn(&str) -> bool| -> Vec<usize> {
        let found = given.iter().enumerate().filter(|(_, word)| is_option(word));
        // The value may stand in the same word.
        found.flat_map(|(at, word)| if word.contains('=') { [at, at] } else { [at, at + 1] }).collect()
    };
    // The first word that is no option is the program, where no option gives one.
    let first = |with_value: &[&str]| {
        let mut at = 0;
        while given.get(at).is_some_and(|word| word.starts_with('-')) {
            at += if with_value.contains(&given[at]) { 2 } else { 1 };
        }
        vec![at]
    };
    match bare {
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "mksh" | "fish" | "python" | "pypy" => {
            behind(&|word| is_short(word) && word.ends_with('c'))
        }
        "perl" | "ruby" => behind(&|word| is_short(word) && word.ends_with(['e', 'E'])),
        "node" | "bun" | "Rscript" | "osascript" | "lua" => behind(&|word| {
            matches!(word, "-e" | "-p" | "-pe") || word.starts_with("--eval") || word.starts_with("--print")
        }),
        "php" => behind(&|word| word == "-r"),
        "env" => behind(&|word| word.starts_with("-S") || word.starts_with("--split-string")),
        "awk" | "gawk" | "mawk" => first(&["-v", "-F", "-f"]),
        "sed" => {
            let by_option =
                behind(&|word| is_short(word) && word.ends_with('e') || word.starts_with("--expression"));
            if by_option.is_empty() { first(&["-l"]) } else { by_option }
        }
        _ => Vec::new(),
    }
}

/// True of a word in which a shell fills in what no person wrote.
fn is_filled_in(word: &HookWord, places: &WorkspacePlaces<'_>) -> bool {
    let mut letters = word.letters.iter().peekable();
    while let Some((letter, quoting)) = letters.next() {
        if *letter != '$' || *quoting == Quoting::Single {
            continue;
        }
        let rest: String = letters.clone().map(|(letter, _)| letter).collect();
        if let Some(inner) = rest.strip_prefix('(') {
            if !OF_NOBODY.iter().any(|command| inner.trim_start().starts_with(command)) {
                return true;
            }
            // What stands within is no agent's.
            let mut depth = 0_usize;
            for (letter, _) in letters.by_ref() {
                match letter {
                    '(' => depth += 1,
                    ')' => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
            }
            continue;
        }
        let name = rest.trim_start_matches(['{', '#', '!']);
        let end = name.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let name = &name[..end.unwrap_or(name.len())];
        let is_of_call = rest.trim_start_matches('{').starts_with(['@', '*']);
        if is_of_call || !name.is_empty() && places.is_agents(name) {
            return true;
        }
    }
    false
}

/// True of a list of places (`PATH`, …) to which a text adds one that an agent chooses.
pub(super) fn is_open_list(list: &str, value: &str, places: &WorkspacePlaces<'_>) -> bool {
    value.split('$').skip(1).any(|behind| {
        let name = behind.trim_start_matches('{');
        let end = name.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let name = &name[..end.unwrap_or(name.len())];
        name != list && !name.is_empty() && places.is_agents(name)
    })
}
