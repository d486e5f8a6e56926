//! Is a command known to take nothing from the folder that it is started in?
//!
//! An agent writes in that folder: settings of a formatter, plugins of a linter, the version of a program. So a program of which nobody has looked
//! up that it takes none of these counts as one that does.

use std::path::Path;

mod programs;
mod scripts;

use super::{
    folder_programs::runs_of_place,
    places::{WorkspacePlaces, is_control},
};
use programs::{
    BY_WORDS, INSTALLED, INSTALLED_AT_HOME, OF_SHELL, OPENED, RUNNING, TMUX_SHOWING, VERSION_MANAGERS,
    WITH_ANY_WORDS,
};
pub(super) use scripts::runs_apart;

/// What git tells without a look at its index, for which it would run what the repository's settings name (`core.fsmonitor`).
const GIT_TELLING: &[&[&str]] = &[
    &["rev-parse", "--show-toplevel"],
    &["rev-parse", "--show-cdup"],
    &["rev-parse", "--show-prefix"],
    &["rev-parse", "--git-dir"],
    &["rev-parse", "--git-common-dir"],
    &["rev-parse", "--absolute-git-dir"],
    &["rev-parse", "--is-inside-work-tree"],
    &["rev-parse", "--abbrev-ref", "HEAD"],
    &["rev-parse", "HEAD"],
    &["branch", "--show-current"],
    &["symbolic-ref", "--short", "HEAD"],
    &["--version"],
];
/// Comparisons of `[[`, which reckon with what they are given and run what stands in it (bash(1), ARITHMETIC EVALUATION).
const RECKONING: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
/// Shims that choose among the versions that their person installed, by a name alone (pyenv since 2.3.3, CVE-2022-35861).
const OF_NAMES: &[&str] = &[".pyenv/shims", ".rbenv/shims", ".nodenv/shims"];
/// First lines that lead to another one.
const MOST_FIRST_LINES: usize = 2;

/// True if these words run what takes nothing from the folder, as far as anybody looked it up.
pub(super) fn takes_nothing(words: &[&str], places: &WorkspacePlaces<'_>) -> bool {
    of_depth(words, places, 0)
}

fn of_depth(words: &[&str], places: &WorkspacePlaces<'_>, depth: usize) -> bool {
    let Some((program, given)) = words.split_first() else { return true };
    let name = program.rsplit('/').next().unwrap_or_default();
    if matches!(*program, "$SHELL" | "${SHELL}" | "$BASH" | "${BASH}") {
        return runs_apart("sh", given, places);
    }
    // A text that goes elsewhere first looks there, unless its words come back.
    if places.is_started_elsewhere() && !given.iter().any(|word| places.may_lead(word)) {
        return true;
    }
    // The shell's `.` is no path.
    let is_path = *program != "." && program.contains(['/', '$', '~', '`']);
    if is_path {
        if !places.is_away(program) || places.may_be_name(program) {
            return false;
        }
        let path = places.path_of(program);
        if !is_installed(&path, places.folders().2) {
            return first_line_is_apart(&path, places, depth);
        }
    }
    if !is_path && places.is_function(name) {
        return true;
    }
    if is_path && places.path_of(program).iter().any(|name| name == "shims" || name == ".volta") {
        return false;
    }
    if is_version_shim(if is_path { program } else { name }, places) {
        return false;
    }
    if name == "[[" && given.iter().any(|word| RECKONING.contains(word)) {
        let is_number =
            |word: &&str| !word.contains('$') || ["$?", "$#"].contains(word) || word.starts_with("${#");
        return given.iter().all(is_number);
    }
    if name == "tmux" {
        let is_plain = |word: &&str| !word.contains("#(") && !places.may_lead(word);
        return given.first().is_some_and(|word| TMUX_SHOWING.contains(word)) && given.iter().all(is_plain);
    }
    if name == "brew" {
        return given.first() == Some(&"--prefix");
    }
    if name == "git" {
        return GIT_TELLING.contains(&given) || is_git_elsewhere(given, places);
    }
    if OF_SHELL.contains(&name) || OPENED.contains(&name) || is_control(name) {
        return true;
    }
    if BY_WORDS.contains(&name) {
        let runs = RUNNING.iter().find(|(program, _)| *program == name);
        let is_running =
            |word: &&str| runs.is_some_and(|(_, options)| options.iter().any(|it| word.starts_with(it)));
        return !given.iter().any(is_running) && (name != "sed" || is_sed_apart(given, places));
    }
    runs_of_place(name, given, places) || runs_apart(name, given, places)
}

/// True of a command that may be given any words, since it neither runs nor writes by them.
pub(super) fn takes_any_words(words: &[&str], places: &WorkspacePlaces<'_>) -> bool {
    let program = words.first().copied().unwrap_or_default();
    let is_path = program.contains(['/', '$', '~']);
    WITH_ANY_WORDS.contains(&program)
        || OF_SHELL.contains(&program) && !matches!(program, "[" | "test" | "mapfile" | "readarray" | "wait")
        || places.is_function(program)
        // A person's own program knows what it is given.
        || is_path && places.is_away(program) && !is_installed(&places.path_of(program), places.folders().2)
}

/// True of a file that is one of those that are installed by their names.
fn is_installed(path: &Path, home: &Path) -> bool {
    INSTALLED.iter().any(|folder| path.starts_with(folder))
        || INSTALLED_AT_HOME.iter().any(|folder| path.starts_with(home.join(folder)))
        || path.iter().any(|name| ["shims", "node_modules", ".venv", "venv"].iter().any(|it| name == *it))
}

/// True of a file whose first line has it run by what takes nothing from the folder. Of one that is not there or that is no script nobody can tell more.
fn first_line_is_apart(path: &Path, places: &WorkspacePlaces<'_>, depth: usize) -> bool {
    let text = path.to_string_lossy();
    let by_name = sys::owner_programs::names_on_first_line(path);
    let by_path = sys::owner_programs::interpreter_of(path).map(|it| it.to_string_lossy().into_owned());
    // `env`, and what stands behind it.
    let mut names = by_name.iter().filter(|word| !word.starts_with('-') && !word.contains('=')).take(1);
    let interpreter = names.next().cloned().or(by_path);
    let Some(interpreter) = interpreter else { return true };
    depth < MOST_FIRST_LINES && of_depth(&[&interpreter, &text], places, depth + 1)
}

/// True if a program is one that starts another by what the folder says.
fn is_version_shim(program: &str, places: &WorkspacePlaces<'_>) -> bool {
    let files = match program.contains('/') {
        true => vec![places.path_of(program)],
        false => places.program_folders().iter().map(|folder| folder.join(program)).collect(),
    };
    let Some(found) = files.into_iter().find(|file| file.is_file()) else { return false };
    let is_of_shims = found.parent().is_some_and(|folder| {
        let is_of_names = OF_NAMES.iter().any(|it| folder.ends_with(it));
        !is_of_names && (folder.ends_with("shims") || folder.ends_with(".volta/bin"))
    });
    let real = found.canonicalize().unwrap_or(found);
    let is_manager = real.file_name().is_some_and(|name| {
        let name = name.to_string_lossy();
        VERSION_MANAGERS.contains(&&*name) && !program.ends_with(&*name)
    });
    is_of_shims || is_manager
}

/// True of `git -C FOLDER`, with a folder that is not the workspace's.
fn is_git_elsewhere(given: &[&str], places: &WorkspacePlaces<'_>) -> bool {
    let [option, folder, rest @ ..] = given else { return false };
    *option == "-C" && places.is_away(folder) && !rest.iter().any(|word| places.may_lead(word))
}

/// True of a sed that reads its program from no file of the workspace.
fn is_sed_apart(given: &[&str], places: &WorkspacePlaces<'_>) -> bool {
    let is_file = |word: &str| {
        word.starts_with("--file") || word.starts_with('-') && !word.starts_with("--") && word.ends_with('f')
    };
    given.iter().enumerate().all(|(at, word)| {
        !is_file(word) || given.get(at + 1).is_some_and(|file| !word.contains('=') && places.is_away(file))
    })
}
