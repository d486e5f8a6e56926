//! Which files of a workspace do other programs run by themselves: by opening a folder, by a look at a repository, by a login?
//!
//! Who writes one of them decides what runs next, as the person and outside of every sandbox, without anybody starting it. So
//! to change one is `high`, whoever changes it. What a person starts themselves (a makefile, a build script, a test) is the
//! project's code and not listed: to write it is what an agent is there for.
//!
//! One more such file: a row here. The tests walk all rows, by file tools and by shell.

use std::path::{Path, PathBuf};

use super::place::{self, PathTarget};

/// A file or folder, by the names it ends with, that programs run or obey unasked.
#[derive(Debug, Clone, Copy)]
pub struct AutorunPath {
    /// Names from the outside to the inside, anywhere in a workspace. Of a folder all that lies in it is meant. The last name
    /// may begin or end with `*`.
    pub path: &'static str,
    /// Who runs it, and when.
    pub why: &'static str,
    /// Where that is written.
    pub source: &'static str,
    /// No build writes it, so commands do not either, unless whoever allowed one was told that it does.
    pub is_kept: bool,
}

/// A file or folder that is run or obeyed under another name than its own: a link leads there, or settings name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AutorunPlace {
    /// Absolute.
    pub path: PathBuf,
    /// Who runs it, and when.
    pub why: &'static str,
}

impl AutorunPath {
    /// True of settings of an agent's product.
    pub fn is_of_product(&self) -> bool {
        self.why == AGENT_SETTINGS
    }

    /// True if the last of its names may be this one.
    pub fn ends_in(&self, name: &str) -> bool {
        is_named(name, self.path.rsplit_once('/').map_or(self.path, |(_, last)| last))
    }
}

mod home;
mod table;

pub(crate) use home::homes;
pub use home::{automatic_at_home, is_listed_folder_of_home, is_settings_folder_of_home};
use table::AGENT_SETTINGS;
pub use table::{AUTOMATIC, GIT_CONFIG, GIT_HOOKS};

/// What stands for the `*` of a row, where a pattern of a command is held against it.
const USUAL_ENDS: &[&str] = &[
    "", "ml", "aml", ".yml", ".json", ".toml", ".js", ".cjs", ".mjs", ".bat", "c", "rc", "x", "yml", "json",
    "toml", "js",
];

/// The row that an absolute path is of. `root`: the workspace's folder that it lies in. A path that a row goes on from counts,
/// too: who moves a folder to `.git` brings hooks.
pub fn automatic(path: &Path, root: &Path) -> Option<&'static AutorunPath> {
    // A root may lie in a folder that a product keeps its worktrees in; one within a repository's own files is no place to work.
    let below: Vec<String> = names(path.strip_prefix(root).unwrap_or(path));
    let all: Vec<String> = names(path);
    let is = |name: &String, wanted: &str| is_named(name, wanted);
    AUTOMATIC.iter().find(|row| {
        let of_git = row.path == ".git" || row.path.starts_with(".git/");
        is_met(row.path, if of_git { &all } else { &below }, is)
    })
}

fn names(path: &Path) -> Vec<String> {
    path.iter().map(|name| name.to_string_lossy().into_owned()).filter(|name| name != "/").collect()
}

/// As a file system that folds case would take it.
fn is_named(name: &str, wanted: &str) -> bool {
    // In capitals it is git's own, and `head` is a usual name.
    if wanted == "HEAD" {
        return name == wanted;
    }
    let (name, wanted) = (name.to_uppercase(), wanted.to_uppercase());
    match (wanted.strip_prefix('*'), wanted.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (None, Some(beginning)) => name.starts_with(beginning),
        (None, None) => name == wanted,
    }
}

/// True if the names lead to what the row means, through it, or up to a folder that holds it.
fn is_met<N>(row: &str, names: &[N], is: impl Fn(&N, &str) -> bool) -> bool {
    let wanted: Vec<&str> = row.split('/').collect();
    (0..names.len()).any(|at| names[at..].iter().zip(&wanted).all(|(name, wanted)| is(name, wanted)))
}

impl PathTarget {
    /// Answers who runs or obeys what it may be, or what a pattern may match. `homes`: the home, by all its paths.
    pub(super) fn may_be_automatic(&self, roots: &[PathBuf], homes: &[PathBuf]) -> Option<&'static str> {
        let root = roots
            .iter()
            .filter(|root| self.path.starts_with(root))
            .min_by_key(|root| root.as_os_str().len())?;
        let at_home = || homes.iter().find_map(|home| self.may_be_automatic_at_home(root, home));
        self.may_be_row(root).map(|row| row.why).or_else(at_home)
    }

    fn may_be_row(&self, root: &Path) -> Option<&'static AutorunPath> {
        if self.pattern.is_empty() {
            return automatic(&self.path, root);
        }
        let below = names(self.path.strip_prefix(root).unwrap_or(&self.path));
        let plain = below.into_iter().map(|name| name.chars().map(|letter| (letter, false)).collect());
        let names: Vec<Vec<(char, bool)>> = plain.chain(self.pattern.iter().cloned()).collect();
        let may_be = |name: &Vec<(char, bool)>, wanted: &str| {
            let is_pattern = name.iter().any(|(_, is_pattern)| *is_pattern);
            match is_pattern {
                false => is_named(&name.iter().map(|(letter, _)| *letter).collect::<String>(), wanted),
                // What a row leaves open has a few usual ends.
                true if wanted.contains('*') => USUAL_ENDS.iter().any(|end| {
                    let wanted = wanted.replace('*', end);
                    if wanted.starts_with('.') {
                        place::names_hidden(name, &wanted)
                    } else {
                        place::names(name, &wanted)
                    }
                }),
                true if wanted.starts_with('.') => place::names_hidden(name, wanted),
                true => place::names(name, wanted),
            }
        };
        AUTOMATIC.iter().find(|row| is_met(row.path, &names, may_be))
    }
}
