//! Where would a path lead? Directories as `cd` moves through them, and what lies where.

use std::path::{Component, Path, PathBuf};

use super::value::WordValue;

/// Directories that a text may perhaps be in at once. More are an unknown one.
const MOST_PLACES: usize = 8;

/// Where commands run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WorkingDirectory {
    /// `None` when only running it would tell.
    pub main: Option<PathBuf>,
    /// Where it is instead if a `cd` fails, or is not reached.
    pub others: Vec<PathBuf>,
}

impl WorkingDirectory {
    pub fn new(directory: &Path) -> WorkingDirectory {
        WorkingDirectory { main: Some(normal(directory)), others: Vec::new() }
    }

    pub fn unknown() -> WorkingDirectory {
        WorkingDirectory { main: None, others: Vec::new() }
    }

    /// It may be here or there.
    pub fn or(self, other: &WorkingDirectory) -> WorkingDirectory {
        let mut place = self;
        if place.main.is_none() || other.main.is_none() {
            return WorkingDirectory::unknown();
        }
        for path in other.main.iter().chain(&other.others) {
            if place.main.as_ref() != Some(path) && !place.others.contains(path) {
                place.others.push(path.clone());
            }
        }
        if place.others.len() > MOST_PLACES { WorkingDirectory::unknown() } else { place }
    }

    pub fn all(&self) -> impl Iterator<Item = &PathBuf> {
        self.main.iter().chain(&self.others)
    }
}

/// Without `.`, `..` and doubled slashes, by its letters alone.
pub(super) fn normal(path: &Path) -> PathBuf {
    let mut result = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => result.push(name),
            Component::ParentDir => {
                result.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    result
}

/// A path, or all that a pattern could match.
#[derive(Debug, Clone)]
pub(super) struct PathTarget {
    /// The path; of a pattern the longest folder without one.
    pub path: PathBuf,
    /// Of a pattern, what stands behind that folder, name by name.
    pub pattern: Vec<Vec<(char, bool)>>,
}

impl PathTarget {
    /// Where a known value leads from `directory`.
    pub fn of(value: &WordValue, directory: &Path) -> Option<PathTarget> {
        let text = value.known()?;
        if text.is_empty() {
            return None;
        }
        if !value.is_pattern() {
            return Some(PathTarget { path: normal(&directory.join(text)), pattern: Vec::new() });
        }
        let letters = value.pattern();
        let names: Vec<&[(char, bool)]> = letters.split(|(letter, _)| *letter == '/').collect();
        let first = names.iter().position(|name| name.iter().any(|(_, is_pattern)| *is_pattern));
        let folder: String = names[..first.unwrap_or(names.len())]
            .iter()
            .flat_map(|name| name.iter().map(|(letter, _)| *letter).chain(['/']))
            .collect();
        let path = if folder.is_empty() { directory.to_owned() } else { directory.join(folder) };
        let rest = &names[first.unwrap_or(names.len())..];
        // Behind a pattern `.` is nothing, and `..` may lead anywhere above.
        if rest.iter().any(|name| is_text(name, "..")) {
            return None;
        }
        let pattern =
            rest.iter().filter(|name| !name.is_empty() && !is_text(name, ".")).map(|name| name.to_vec());
        Some(PathTarget { path: normal(&path), pattern: pattern.collect() })
    }

    /// Whether it may be `other`, or lie in it.
    pub fn may_be_in(&self, other: &Path) -> bool {
        if self.path.starts_with(other) {
            return true;
        }
        // `**` may be any number of folders.
        if self.pattern.iter().any(|name| is_text(name, "**")) && other.starts_with(&self.path) {
            return true;
        }
        match other.strip_prefix(&self.path) {
            Ok(rest) => {
                let names: Vec<_> = rest.components().collect();
                names.len() <= self.pattern.len() && self.matches(&names)
            }
            Err(_) => false,
        }
    }

    /// Whether it may be a folder that `other` lies in, or `other` itself.
    pub fn may_hold(&self, other: &Path) -> bool {
        match other.strip_prefix(&self.path) {
            Ok(rest) => {
                let names: Vec<_> = rest.components().collect();
                self.pattern.len() <= names.len() && self.matches(&names)
            }
            Err(_) => false,
        }
    }

    fn matches(&self, names: &[Component<'_>]) -> bool {
        self.pattern.iter().zip(names).all(|(pattern, name)| {
            let name: Vec<char> = name.as_os_str().to_string_lossy().chars().collect();
            may_match(pattern, &name)
        })
    }

    /// Whether it stands for everything in its folder, or the folder itself.
    pub fn is_all_of_folder(&self) -> bool {
        match self.pattern.as_slice() {
            [only] => only.iter().all(|(letter, is_pattern)| *is_pattern && *letter != '[' || *letter == '.'),
            _ => false,
        }
    }
}

/// Whether a pattern may match this name.
pub(super) fn names(pattern: &[(char, bool)], name: &str) -> bool {
    may_match(pattern, &name.chars().collect::<Vec<char>>())
}

/// Whether a pattern may match `name`, which begins with a `.`: a `*` or `?` does not match that.
pub(super) fn names_hidden(pattern: &[(char, bool)], name: &str) -> bool {
    pattern.first() == Some(&('.', false)) && names(pattern, name)
}

fn is_text(name: &[(char, bool)], text: &str) -> bool {
    name.iter().map(|(letter, _)| *letter).eq(text.chars())
}

/// Stars in one pattern that are tried in all places. With more it may match anything.
const MOST_STARS: usize = 8;

/// Whether a pattern may match a name. What stands in brackets counts as any letter.
fn may_match(pattern: &[(char, bool)], name: &[char]) -> bool {
    pattern.iter().filter(|letter| **letter == ('*', true)).count() > MOST_STARS || fits(pattern, name)
}

fn fits(pattern: &[(char, bool)], name: &[char]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some((('*', true), rest)) => (0..=name.len()).any(|skipped| fits(rest, &name[skipped..])),
        Some((('?', true), rest)) => !name.is_empty() && fits(rest, &name[1..]),
        Some((('[', true), rest)) => {
            let closed = rest.iter().skip(1).position(|(letter, _)| *letter == ']');
            match closed {
                Some(at) => !name.is_empty() && fits(&rest[at + 2..], &name[1..]),
                None => name.first() == Some(&'[') && fits(rest, &name[1..]),
            }
        }
        Some(((letter, _), rest)) => name.first() == Some(letter) && fits(rest, &name[1..]),
    }
}
