//! Which files of a workspace do its repository's settings and hooks name, so that git, or a hook, runs or reads them?
//!
//! No grammar is read: each word counts that is a path below the folder, whatever is said of it.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use crate::{git_settings::LONGEST_CONFIG, repositories};
use shell::AutorunPlace;
use sys::regular_file;

/// Bytes of a hook that are read.
const MOST_OF_HOOK: u64 = 64 * 1024;

/// Hooks of one folder that are read; git knows some thirty.
const MOST_HOOKS: usize = 64;

/// Words that are looked at. Nobody writes settings and hooks that name more files.
const MOST_WORDS: usize = 2_000;

const NAMED: &str = "the settings or a hook of the repository name it, so git or the hook runs or reads it";

/// Finds them for a folder of the workspace, its repository and the folders of its hooks. Blocks for a bounded look.
pub(super) fn named(root: &Path, repository: &Path, hooks: &[PathBuf], found: &mut Vec<AutorunPlace>) {
    let mut words = Vec::new();
    for name in ["config", "config.worktree"] {
        let text = text_of(&repository.join(name), LONGEST_CONFIG);
        for value in repositories::values_that_run(&text) {
            words.extend(words_of(&value));
        }
    }
    for folder in hooks {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_HOOKS) {
            // Those that git lays itself are no hooks.
            if entry.path().extension().is_some_and(|end| end == "sample") {
                continue;
            }
            let text = text_of(&entry.path(), MOST_OF_HOOK);
            words.extend(text.lines().filter(|line| !line.trim_start().starts_with('#')).flat_map(words_of));
        }
    }
    for word in words.into_iter().take(MOST_WORDS) {
        // What is not there yet is a path all the same where it is written as one.
        let path = below(root, &word).filter(|path| path.is_file() || (word.contains('/') && !path.exists()));
        if let Some(path) = path.filter(|path| !found.iter().any(|place| place.path == *path)) {
            found.push(AutorunPlace { path, why: NAMED });
        }
    }
}

fn text_of(file: &Path, most: u64) -> String {
    let bytes = regular_file::read_bounded(file, most).ok().flatten().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn words_of(text: &str) -> Vec<String> {
    let parts = text.split(|letter: char| letter.is_whitespace() || ";='\"()[]<>,&|`!{}".contains(letter));
    // An option or a variable is no file, and a pattern names none.
    let is_word = |part: &&str| {
        !part.is_empty() && !part.starts_with(['-', '$', '~', '+']) && !part.contains(['*', ':'])
    };
    parts.filter(is_word).map(str::to_owned).collect()
}

/// A word as a path below a folder, which is where git begins.
fn below(root: &Path, word: &str) -> Option<PathBuf> {
    let named = Path::new(word);
    let named = named.strip_prefix(root).unwrap_or(named);
    let mut path = root.to_owned();
    for component in named.components() {
        match component {
            Component::Normal(name) => path.push(name),
            Component::CurDir => (),
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (path != root).then(|| path.canonicalize().unwrap_or(path)).filter(|path| path.starts_with(root))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        named(&root, &root.join(".git"), &[root.join(".git/hooks")], &mut found);
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
