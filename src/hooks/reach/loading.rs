//! Does a command run or load something of the workspace by way of a place there: its own path, a folder of modules, an option, or since
//! its program runs what the folder says that it is started in?

use super::{
    HookWord, INTERPRETERS,
    agents_text::{is_open_list, is_taken_for_code},
    apart::{runs_apart, takes_any_words, takes_nothing},
    folder_programs::runs_folder,
    interpreters::{WordsReach, interpreted},
    places::{OF_NOBODY, WorkspacePlaces, assignment, assignments, is_control},
    spelled::shell_escapes,
};

/// Variables with folders from which programs or modules are loaded.
const LISTS: &[&str] = &[
    "PATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONUSERBASE",
    "PERL5LIB",
    "PERLLIB",
    "RUBYLIB",
    "GEM_PATH",
    "GEM_HOME",
    "NODE_PATH",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "CLASSPATH",
    "CDPATH",
    "FPATH",
    "BASH_ENV",
    "PYTHONSTARTUP",
    // What a shell or another program obeys lies there.
    "HOME",
    "ZDOTDIR",
    "XDG_CONFIG_HOME",
    "GIT_CONFIG_GLOBAL",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_EXEC_PATH",
];
/// The same for Lua, with other letters between them.
const LUA_LISTS: &[&str] = &["LUA_PATH", "LUA_CPATH"];
/// Variables with options of an interpreter.
const OPTIONS: &[&str] = &["PERL5OPT", "RUBYOPT", "NODE_OPTIONS", "JAVA_TOOL_OPTIONS", "ENV"];
/// Programs that start another with their words.
const WRAPPERS: &[&str] = &[
    "env",
    "exec",
    "command",
    "nohup",
    "nice",
    "ionice",
    "time",
    "timeout",
    "sudo",
    "doas",
    "setsid",
    "stdbuf",
    "chronic",
    "xargs",
    "parallel",
    "entr",
    "watch",
    "watchexec",
    "nodemon",
];
/// Options of theirs behind which a value stands.
const WITH_VALUE: &[&str] = &["-u", "-n", "-k", "-s", "-C", "-g", "-I", "-P", "-L", "-a", "-d", "-E", "-w"];
/// Commands that run nothing of what they are given, or only look where a program is.
const LOOKING: &[&str] = &[
    "case", "[", "[[", "test", "cd", "for", "select", "echo", "printf", "export", "declare", "local",
    "readonly", "typeset", "read", "which", "type", "hash",
];

/// Reads one simple command.
pub(super) fn of_command(words: &[HookWord], places: &WorkspacePlaces<'_>) -> WordsReach {
    if assignments(words).iter().any(|(name, value)| loads(name, value, places))
        || is_taken_for_code(words, places)
    {
        return WordsReach::Workspace;
    }
    let texts =
        |words: &mut dyn Iterator<Item = &HookWord>| words.map(HookWord::text).collect::<Vec<String>>();
    let own = texts(&mut words.iter().filter(|word| !word.is_target));
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let targets = texts(&mut words.iter().filter(|word| word.is_target));
    let with_targets: Vec<&str> = own.iter().copied().chain(targets.iter().map(String::as_str)).collect();
    let reached = match of_words(&own, places) {
        WordsReach::Nothing if !targets.is_empty() => of_read_words(&with_targets, places),
        reached => reached,
    };
    if takes_open_words(words, &own, places) { WordsReach::Workspace } else { reached }
}

/// True of a command that words of nobody's may have run or load something: an agent names files, and a name may be an option, or code.
fn takes_open_words(words: &[HookWord], own: &[&str], places: &WorkspacePlaces<'_>) -> bool {
    let own_words = words.iter().filter(|word| !word.is_target);
    let is_open: Vec<bool> = own_words.map(|word| is_open(word, places)).collect();
    let mut rest = own;
    let mut has_more = false;
    let mut replaced = "{}";
    // What `parallel` reads is run where it is given no program, and so is what xargs gives to `env`.
    let mut runs_given = false;
    while let [word, behind @ ..] = rest {
        let name = word.rsplit('/').next().unwrap_or_default();
        runs_given = if WRAPPERS.contains(&name) { name != "xargs" } else { runs_given };
        has_more |= matches!(name, "xargs" | "parallel");
        if let [_, value, ..] = rest
            && has_more
            && *word == "-I"
        {
            replaced = value;
        } else if let Some(value) = word.strip_prefix("-I").filter(|value| has_more && !value.is_empty()) {
            replaced = value;
        }
        let has_value = WITH_VALUE.contains(word);
        let is_before = is_control(word)
            || assignment(word).is_some()
            || WRAPPERS.contains(&name)
            || word.starts_with(['-', '+'])
            || word.starts_with(|it: char| it.is_ascii_digit());
        match is_before {
            true if has_value => rest = behind.get(1..).unwrap_or_default(),
            true => rest = behind,
            false => break,
        }
    }
    let [program, given @ ..] = rest else { return has_more && runs_given };
    let at = own.len() - given.len();
    // A name in the middle of code.
    let is_within = |word: &&&str| word.contains(replaced) && **word != replaced && word.contains(' ');
    if has_more && given.iter().any(|word| is_within(&word)) && !takes_any_words(rest, places) {
        return true;
    }
    let mut filled: Vec<&str> = vec![program];
    filled.extend(
        given
            .iter()
            .enumerate()
            .map(|(n, word)| if is_open[at + n] || has_more && *word == replaced { "$_" } else { word }),
    );
    if has_more {
        filled.push("$_");
    }
    let has_open = has_more || is_open[at..].contains(&true);
    has_open
        && !takes_any_words(&filled, places)
        && !runs_apart(program.rsplit('/').next().unwrap_or_default(), &filled[1..], places)
}

/// True of a word that a shell splits where a variable, or what a command prints, has a blank.
fn is_open(word: &HookWord, places: &WorkspacePlaces<'_>) -> bool {
    let text = word.text();
    // Of what a pattern finds an agent chose the names.
    if word.is_pattern() && !text.starts_with(['/', '~', '$']) && !text.starts_with("./") {
        return true;
    }
    let mut at = 0;
    word.letters.iter().any(|(letter, quoting)| {
        let rest = &text[at..];
        at += letter.len_utf8();
        if *letter != '$' || *quoting != super::Quoting::None {
            return false;
        }
        if let Some(inner) = rest.strip_prefix("$(") {
            return !OF_NOBODY.iter().any(|command| inner.trim_start().starts_with(command));
        }
        let name = rest[1..].trim_start_matches(['{', '#']);
        let end = name.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let name = &name[..end.unwrap_or(name.len())];
        !(places.is_own(name) || name.is_empty() && rest[1..].starts_with(['?', '#', '$', '!']))
    })
}

/// True if this variable has something loaded from the workspace.
fn loads(name: &str, value: &str, places: &WorkspacePlaces<'_>) -> bool {
    if LISTS.contains(&name) {
        return places.leads_in_list(value, ':') || is_open_list(name, value, places);
    }
    if LUA_LISTS.contains(&name) {
        return places.leads_in_list(value, ';') || is_open_list(name, value, places);
    }
    OPTIONS.contains(&name)
        && value.split(|letter: char| letter.is_whitespace() || "=,".contains(letter)).any(|word| match word
            .strip_prefix("-I")
            .or_else(|| word.strip_prefix("-r"))
        {
            Some(place) => places.leads(place, true),
            None => places.leads(word, false),
        })
}

/// The same of a command whose words begin with this one, variables that it sets apart. A program that nobody looked up counts as one that
/// takes something from the folder.
fn of_words(words: &[&str], places: &WorkspacePlaces<'_>) -> WordsReach {
    let mut rest = words;
    while let [word, behind @ ..] = rest
        && (is_control(word) || assignment(word).is_some())
    {
        rest = behind;
    }
    match of_read_words(rest, places) {
        WordsReach::Nothing if !takes_nothing(rest, places) => WordsReach::Workspace,
        reached => reached,
    }
}

/// The same as far as the words themselves lead there.
fn of_read_words(words: &[&str], places: &WorkspacePlaces<'_>) -> WordsReach {
    let mut rest = words;
    while let [word, behind @ ..] = rest
        && (is_control(word) || assignment(word).is_some())
    {
        rest = behind;
    }
    let [program, given @ ..] = rest else { return WordsReach::Nothing };
    let name = match *program {
        "$SHELL" | "${SHELL}" | "$BASH" | "${BASH}" => "sh",
        program => program.rsplit('/').next().unwrap_or_default(),
    };
    // The shell's `.` is no folder.
    if *program != "." && places.leads(program, false) {
        return WordsReach::Workspace;
    }
    if LOOKING.contains(&name) {
        return WordsReach::Nothing;
    }
    if name == "eval" {
        return WordsReach::Text(given.join(" "));
    }
    // What stands behind it is code.
    if name == "trap" {
        return WordsReach::Text(given.first().copied().unwrap_or_default().to_owned());
    }
    if WRAPPERS.contains(&name) {
        return wrapped(name, given, places);
    }
    if let "find" | "fd" = name {
        return WordsReach::of(finds(given, places));
    }
    if name == "run-parts" {
        return WordsReach::of(given.iter().any(|word| places.leads(word, true)));
    }
    if runs_folder(name, given, places) {
        return WordsReach::Workspace;
    }
    let escapes = shell_escapes(name, given);
    if !escapes.is_empty() {
        return WordsReach::Text(escapes.join("\n"));
    }
    let bare = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let is_interpreter = |it: &&str| *it == name || *it == bare;
    match INTERPRETERS.iter().find(|it| is_interpreter(it)) {
        Some(interpreter) => interpreted(interpreter, given, places),
        None => WordsReach::Nothing,
    }
}

/// The command behind a wrapper and its options.
fn wrapped(wrapper: &str, given: &[&str], places: &WorkspacePlaces<'_>) -> WordsReach {
    let mut rest = given;
    while let [word, behind @ ..] = rest {
        match *word {
            // It only says where a program is.
            "-v" | "-V" if wrapper == "command" => return WordsReach::Nothing,
            "-S" | "--split-string" if wrapper == "env" => return WordsReach::Text(behind.join(" ")),
            text if wrapper == "env" && text.starts_with("-S") => {
                return WordsReach::Text(text["-S".len()..].to_owned() + " " + &behind.join(" "));
            }
            text if WITH_VALUE.contains(&text) => rest = behind.get(1..).unwrap_or_default(),
            // A number of seconds, or how nice it is.
            text if text.starts_with(['-', '+']) || text.starts_with(|it: char| it.is_ascii_digit()) => {
                rest = behind;
            }
            _ => break,
        }
    }
    of_words(rest, places)
}

/// True of `find FOLDER … -exec PROGRAM …` that runs what it finds, or a program of the workspace.
fn finds(given: &[&str], places: &WorkspacePlaces<'_>) -> bool {
    let exec = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X"];
    given.iter().enumerate().filter(|(_, word)| exec.contains(word)).any(|(at, _)| {
        // What is found stands in the place of the braces.
        let found = given.first().filter(|word| !word.starts_with('-')).copied().unwrap_or(".");
        let found = if places.leads(found, true) { "./found" } else { "/" };
        let words: Vec<&str> =
            given[at + 1..].iter().map(|word| if *word == "{}" { found } else { word }).collect();
        !matches!(of_words(&words, places), WordsReach::Nothing)
    })
}

#[cfg(test)]
mod tests;
