//! Which files of a workspace do its repository's settings and hooks name, so that git, or a hook, runs or reads them?
//!
//! No grammar is read: each word counts that is a path below the folder, whatever is said of it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::repositories::{GitNamed, RepositoryAround, normal};
use shell::AutorunPlace;
use sys::regular_file;

/// Bytes of a hook that are read.
const MOST_OF_HOOK: u64 = 64 * 1024;

/// Hooks of one folder that are read; git knows some thirty.
const MOST_HOOKS: usize = 64;

/// Words that are looked at. Nobody writes settings and hooks that name more files.
const MOST_WORDS: usize = 2_000;

const NAMED: &str = "the settings or a hook of the repository name it, so git or the hook runs or reads it";

/// Finds them for a folder of the workspace and a repository that it is a part of. Blocks for a bounded look.
pub(super) fn named(
    folder: &Path,
    repository: &RepositoryAround,
    named: &GitNamed,
    found: &mut Vec<AutorunPlace>,
) {
    let mut words: Vec<String> = named.values.iter().flat_map(|value| words_of(value)).collect();
    // Of the user's a name without a folder is no file of a workspace.
    let of_user = named.values_of_user.iter().flat_map(|value| words_of(value));
    words.extend(of_user.filter(|word| word.contains('/')));
    for hooks in &named.hook_folders {
        for entry in fs::read_dir(hooks).into_iter().flatten().flatten().take(MOST_HOOKS) {
            // Those that git lays itself are no hooks.
            if entry.path().extension().is_some_and(|end| end == "sample") {
                continue;
            }
            let text = text_of(&entry.path(), MOST_OF_HOOK);
            words.extend(text.lines().filter(|line| !line.trim_start().starts_with('#')).flat_map(words_of));
        }
    }
    // git and its hooks begin at the top of the working tree, and may go to the folder first.
    let mut bases: Vec<&Path> = vec![folder];
    bases.extend(repository.tops.iter().map(PathBuf::as_path).filter(|top| *top != folder));
    let home = std::env::home_dir();
    for word in words.into_iter().take(MOST_WORDS) {
        for base in &bases {
            let Some(path) = led_to(base, &word, home.as_deref()) else { continue };
            // What is not there yet is a path all the same where it is written as one.
            let is_file = path.is_file() || (word.contains('/') && !word.starts_with('$') && !path.exists());
            if is_file
                && path.starts_with(folder)
                && path != folder
                && !found.iter().any(|it| it.path == path)
            {
                found.push(AutorunPlace { path, why: NAMED });
            }
        }
    }
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
    let path = match (word.strip_prefix("~/"), word.strip_prefix('$'), word.strip_prefix('/')) {
        (Some(below), ..) => home?.join(below),
        (_, Some(variable), _) => base.join(variable.split_once('/')?.1),
        (.., Some(below)) if !Path::new(word).exists() => match base.join(below) {
            path if path.exists() => path,
            _ => PathBuf::from(word),
        },
        _ => base.join(word),
    };
    Some(path.canonicalize().unwrap_or_else(|_| normal(&path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;

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
