//! Which files of a workspace do its repository's settings and hooks name, so that git, or a hook, runs or reads them?
//!
//! No grammar is read: each word counts that is a path below the folder, whatever is said of it.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use crate::repositories::{GitNamed, GitValue, RepositoryAround, normal};
use shell::AutorunPlace;
use sys::{guarded::ResolvedPath, regular_file};

/// Bytes of a hook that are read.
const MOST_OF_HOOK: u64 = 64 * 1024;

/// Hooks of one folder that are read; git knows some thirty.
const MOST_HOOKS: usize = 64;

/// Words that are looked at. Nobody writes settings and hooks that name more files.
const MOST_WORDS: usize = 2_000;

/// Words that may stand before a program.
const BEFORE_PROGRAM: &[&str] = &[
    "!", "command", "do", "else", "env", "exec", "if", "nice", "nohup", "sudo", "then", "time", "until",
    "while",
];

/// Programs that run the file that they are told first.
const INTERPRETERS: &[&str] = &[
    ".", "ash", "bash", "dash", "ksh", "lua", "node", "perl", "php", "python", "ruby", "sh", "source", "zsh",
];

/// Bytes of a file by which it is told whether it is a text.
const MOST_OF_BEGINNING: u64 = 4_096;

const MODULE: &str = "the settings or a hook of the repository have Python run a module of that name, and it looks at the top of the repository first";

const NAMED: &str = "the settings or a hook of the repository name it, so git or the hook runs or reads it";

const NAMED_BY_SETTINGS: &str = "git's settings name it, so git runs or reads it by itself";

/// Finds them for a folder of the workspace and a repository that it is a part of. Blocks for a bounded look.
pub(super) fn named(
    folder: &Path,
    repository: &RepositoryAround,
    named: &GitNamed,
    found: &mut Vec<AutorunPlace>,
) {
    let mut words = words_of_settings(named);
    for hooks in &named.hook_folders {
        for hook in hooks_in(hooks) {
            let text = text_of(&hook, MOST_OF_HOOK);
            words.extend(text.lines().filter(|line| !line.trim_start().starts_with('#')).flat_map(words_of));
        }
    }
    named_modules(folder, repository, (named, false), found);
    for (word, path) in paths_of(words, folder, repository) {
        // What is not there yet is a path all the same where it is written as one.
        let is_file = path.is_file() || (word.contains('/') && !word.starts_with('$') && !path.exists());
        if is_file && !found.iter().any(|it| it.path == path) {
            found.push(AutorunPlace { path, why: NAMED });
        }
    }
}

/// Finds the files that are there and that the settings have git run, or read, by themselves. What a build makes is none: neither a
/// word that a program is told beside, nor what is no text. Blocks for a bounded look.
pub(super) fn named_by_settings(
    folder: &Path,
    repository: &RepositoryAround,
    named: &GitNamed,
    found: &mut Vec<AutorunPlace>,
) {
    let words = named.values.iter().chain(&named.values_of_user).flat_map(run_by_value).collect();
    for (_, path) in paths_of(words, folder, repository) {
        // What a repository has of its own is kept otherwise.
        if path.is_file() && !path.iter().any(|name| name == ".git") && is_text(&path) {
            found.push(AutorunPlace { path, why: NAMED_BY_SETTINGS });
        }
    }
}

/// Finds where Python looks first for modules that the settings and hooks have it run by name (`-m pre_commit`). `is_kept`: only what commands
/// are kept from: files, and what is not there; a folder is a package that somebody works on. Blocks for a bounded look.
pub(super) fn named_modules(
    folder: &Path,
    repository: &RepositoryAround,
    (named, is_kept): (&GitNamed, bool),
    found: &mut Vec<AutorunPlace>,
) {
    let mut modules: Vec<String> =
        named.values.iter().chain(&named.values_of_user).flat_map(|it| modules_of(&it.value)).collect();
    let common = repository.common.join("hooks");
    for hooks in named.hook_folders.iter().filter(|hooks| **hooks != common).chain([&common]) {
        for hook in hooks_in(hooks) {
            let text = text_of(&hook, MOST_OF_HOOK);
            modules
                .extend(text.lines().filter(|line| !line.trim_start().starts_with('#')).flat_map(modules_of));
        }
    }
    modules.sort();
    modules.dedup();
    let tops = repository.tops.iter().map(PathBuf::as_path).filter(|top| *top != folder);
    let tops: Vec<&Path> = tops.chain([folder]).filter(|top| top.starts_with(folder)).collect();
    for module in modules.into_iter().take(MOST_HOOKS) {
        let paths = tops.iter().flat_map(|top| [top.join(format!("{module}.py")), top.join(&module)]);
        let paths = paths.filter(|path| !is_kept || !path.is_dir());
        found.extend(paths.map(|path| AutorunPlace { path, why: MODULE }));
    }
}

/// The modules that commands of a text have Python run by name (https://docs.python.org/3/using/cmdline.html#cmdoption-m), without what lies
/// in them.
fn modules_of(text: &str) -> Vec<String> {
    let commands = text.split(|letter: char| ";&|()`\n".contains(letter));
    let modules = commands.filter_map(|command| {
        let words = command.split(|letter: char| letter.is_whitespace() || "'\"".contains(letter));
        let is_python = |word: &&str| {
            let small = word.to_ascii_lowercase();
            small.contains("python") || small.contains("pypy") || word.starts_with('$')
        };
        let mut words = words.filter(|word| !word.is_empty()).skip_while(|word| !is_python(word)).skip(1);
        let option = words.find(|word| word.starts_with("-m") || !word.starts_with('-'))?;
        let name = option.strip_prefix("-m")?;
        let name = if name.is_empty() { words.next()? } else { name };
        let first = name.split('.').next().unwrap_or_default();
        let is_name = !first.is_empty() && first.chars().all(|it| it.is_alphanumeric() || it == '_');
        is_name.then(|| first.to_owned())
    });
    modules.collect()
}

/// The hooks of a folder but for those that git lays there itself.
fn hooks_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_HOOKS);
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| path.extension().is_none_or(|end| end != "sample")).collect()
}

/// The links on the way to what the settings name. Blocks for a bounded look.
pub(super) fn links_on_way(folder: &Path, repository: &RepositoryAround, named: &GitNamed) -> Vec<PathBuf> {
    let words: Vec<String> =
        named.values.iter().chain(&named.values_of_user).flat_map(run_by_value).collect();
    let home = std::env::home_dir();
    let bases = repository.tops.iter().map(PathBuf::as_path).filter(|top| *top != folder);
    let bases: Vec<&Path> = bases.chain([folder]).collect();
    let words = words.iter().take(MOST_WORDS);
    let paths = words.flat_map(|word| bases.iter().filter_map(|base| joined(base, word, home.as_deref())));
    paths.flat_map(|path| ResolvedPath::to(&path).links).collect()
}

fn words_of_settings(named: &GitNamed) -> Vec<String> {
    let mut words: Vec<String> = named.values.iter().flat_map(|it| words_of(&it.value)).collect();
    // Of the user's a name without a folder is no file of a workspace.
    let of_user = named.values_of_user.iter().flat_map(|it| words_of(&it.value));
    words.extend(of_user.filter(|word| word.contains('/')));
    words
}

/// Words of a value that are programs or scripts, and of what is no alias all that are written as paths.
fn run_by_value(set: &GitValue) -> Vec<String> {
    let GitValue { key, value } = set;
    if !key.starts_with("alias.") {
        let paths = words_of(value).into_iter().filter(|word| word.contains('/'));
        return paths.chain(programs_of(value)).collect();
    }
    // Without `!` it is a command of git's.
    value.trim_start().strip_prefix('!').map(programs_of).unwrap_or_default()
}

/// The program of each simple command, where it is a path: others are looked up in the `PATH`. And what a shell or an interpreter is told
/// to run.
fn programs_of(text: &str) -> Vec<String> {
    let commands = text.split(|letter: char| ";&|()`{}\n".contains(letter));
    let programs = commands.flat_map(|command| {
        let words = command.split(|letter: char| letter.is_whitespace() || "'\"".contains(letter));
        let is_before = |word: &&str| word.is_empty() || word.contains('=') || BEFORE_PROGRAM.contains(word);
        let mut words = words.skip_while(is_before);
        let program = words.next().unwrap_or_default();
        let base = program.rsplit('/').next().unwrap_or_default();
        let base = base.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        let told = INTERPRETERS
            .contains(&base)
            .then(|| words.find(|word| !word.is_empty() && !word.starts_with('-')));
        [Some(program).filter(|program| program.contains('/')), told.flatten()]
    });
    programs.flatten().flat_map(words_of).collect()
}

pub(super) fn is_text(file: &Path) -> bool {
    let mut beginning = Vec::new();
    let read =
        regular_file::open(file).and_then(|file| file.take(MOST_OF_BEGINNING).read_to_end(&mut beginning));
    // What cannot be read no build makes.
    read.is_err() || !beginning.contains(&0)
}

/// The paths below the folder that words may be, with the words.
fn paths_of(words: Vec<String>, folder: &Path, repository: &RepositoryAround) -> Vec<(String, PathBuf)> {
    // git and its hooks begin at the top of the working tree, and may go to the folder first.
    let mut bases: Vec<&Path> = vec![folder];
    bases.extend(repository.tops.iter().map(PathBuf::as_path).filter(|top| *top != folder));
    let home = std::env::home_dir();
    let mut paths = Vec::new();
    for word in words.into_iter().take(MOST_WORDS) {
        let below = bases.iter().filter_map(|base| led_to(base, &word, home.as_deref()));
        let below = below.filter(|path| path.starts_with(folder) && path != folder);
        paths.extend(below.map(|path| (word.clone(), path)));
    }
    paths
}

fn text_of(file: &Path, most: u64) -> String {
    let bytes = regular_file::read_bounded(file, most).ok().flatten().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn words_of(text: &str) -> Vec<String> {
    let parts = text.split(|letter: char| letter.is_whitespace() || ";='\"()[]<>,&|`!{}".contains(letter));
    // An option is no file, a variable alone neither, and a pattern names none.
    let is_word = |part: &&str| {
        !part.is_empty()
            && !part.starts_with(['-', '+'])
            && (!part.starts_with(['$', '~']) || part.contains('/'))
            && !part.contains(['*', ':'])
    };
    parts.filter(is_word).map(str::to_owned).collect()
}

/// A word as a path, where git or a hook begins in this folder. A variable in front, or what a command says there, is taken for that
/// folder.
fn led_to(base: &Path, word: &str, home: Option<&Path>) -> Option<PathBuf> {
    let path = joined(base, word, home)?;
    Some(path.canonicalize().unwrap_or_else(|_| normal(&path)))
}

fn joined(base: &Path, word: &str, home: Option<&Path>) -> Option<PathBuf> {
    Some(match (word.strip_prefix("~/"), word.strip_prefix('$'), word.strip_prefix('/')) {
        (Some(below), ..) => home?.join(below),
        (_, Some(variable), _) => base.join(variable.split_once('/')?.1),
        (.., Some(below)) if !Path::new(word).exists() => match base.join(below) {
            path if path.exists() => path,
            _ => PathBuf::from(word),
        },
        _ => base.join(word),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;

    #[test]
    fn modules_that_python_is_told_to_run_are_found_at_the_top() {
        for (text, module) in [
            ("    exec \"$INSTALL_PYTHON\" -mpre_commit \"${ARGS[@]}\"", "pre_commit"),
            ("\"/usr/bin/python3\" -m nbstripout", "nbstripout"),
            ("cd x && python -E -m tools.check --all", "tools"),
        ] {
            assert_eq!(modules_of(text), [module], "{text}");
        }
        for text in ["git commit -m x", "python3 x.py -m y", "grep -m 1 python x", "python3 -m -x"] {
            assert!(modules_of(text).is_empty(), "{text}");
        }
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in [".git/hooks", "refs", "mine"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let hook = "#!/bin/bash\n# python -m other\nexec \"$INSTALL_PYTHON\" -mpre_commit\npython -m mine\n";
        fs::write(root.join(".git/hooks/pre-commit"), hook).unwrap();
        let repository = RepositoryAround::at(root.join(".git"), &root, true);
        let by_git = GitNamed::by(&Workspace::open(std::slice::from_ref(&root)).unwrap(), &repository);
        let names = |is_kept: bool| {
            let mut found = Vec::new();
            named_modules(&root, &repository, (&by_git, is_kept), &mut found);
            let names = found
                .iter()
                .map(|place| place.path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
            names.collect::<Vec<String>>()
        };
        assert_eq!(names(false), ["mine.py", "mine", "pre_commit.py", "pre_commit"]);
        assert_eq!(names(true), ["mine.py", "pre_commit.py", "pre_commit"]);
    }

    #[test]
    fn programs_of_settings_and_scripts_of_hooks_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in [".git/hooks", "tools", "scripts", "refs"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        for name in ["tools/fsm", "scripts/lib.sh", "lint", "README", "scripts/other.sh"] {
            fs::write(root.join(name), "").unwrap();
        }
        let settings = format!(
            "[core]\n\tfsmonitor = tools/fsm\n[alias]\n\tx = !lint -v {}/scripts/made\n[filter \"a\"]\n\tclean = tools/missing %f\n\
             [remote \"origin\"]\n\turl = git@example.org:README\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
            root.display()
        );
        fs::write(root.join(".git/config"), settings).unwrap();
        fs::write(
            root.join(".git/hooks/pre-commit"),
            "#!/bin/sh\n# scripts/other.sh\n. scripts/lib.sh\n./checks/all || exit\n",
        )
        .unwrap();
        fs::write(root.join(".git/hooks/pre-push.sample"), "scripts/other.sh\n").unwrap();
        let mut found = Vec::new();
        let repository = RepositoryAround::at(root.join(".git"), &root, true);
        let mut by_git = GitNamed::by(&Workspace::open(std::slice::from_ref(&root)).unwrap(), &repository);
        by_git.hook_folders.push(root.join(".git/hooks"));
        named(&root, &repository, &by_git, &mut found);
        let mut names: Vec<String> = found
            .iter()
            .map(|place| place.path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned())
            .collect();
        names.sort();
        assert_eq!(
            names,
            ["checks/all", "lint", "scripts/lib.sh", "scripts/made", "tools/fsm", "tools/missing"]
        );
    }
}
