//! Does a command make code, or the name of a variable, of text that an agent chooses?

use super::{
    HookWord, Quoting,
    places::{WorkspacePlaces, assignment, is_control},
};

/// Builtins whose words name variables: a subscript in such a name is reckoned with, and what a value is given to may be the `PATH`
/// (bash(1), ARRAYS, and SHELL BUILTIN COMMANDS).
const NAMING: &[&str] =
    &["export", "declare", "typeset", "local", "readonly", "unset", "read", "mapfile", "readarray"];
/// Commands whose output is one word, of no agent's.
const OF_NOBODY: &[&str] = &["date", "whoami", "hostname", "id", "uname", "mktemp", "pwd", "git rev-parse"];

/// True of a command with code in it that a shell fills in (`sh -c "x $FILE"`), or with a name of a variable that it fills in (`export $(cat x)`).
pub(super) fn is_taken_for_code(words: &[HookWord], places: &WorkspacePlaces<'_>) -> bool {
    let own: Vec<&HookWord> = words.iter().filter(|word| !word.is_target).collect();
    let texts: Vec<String> = own.iter().map(|word| word.text()).collect();
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
    if matches!(program, "eval" | "trap") {
        return behind.clone().any(is_filled);
    }
    (before..texts.len()).any(|at| {
        let rest: Vec<&str> = texts[at + 1..].iter().map(String::as_str).collect();
        code_of(&texts[at], &rest).into_iter().any(|code| is_filled(at + 1 + code))
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
        if is_of_call || !name.is_empty() && !places.is_own(name) {
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
        name != list && places.is_set_openly(name)
    })
}
