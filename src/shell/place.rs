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

/// Most `..` of one path. With more it leads nobody knows where.
const MOST_PARENTS: usize = 64;

/// A path, or all that a pattern could match.
#[derive(Debug, Clone)]
pub(super) struct PathTarget {
    /// The path by its letters alone; of a pattern the longest folder without one.
    pub path: PathBuf,
    /// The same with its `..`, where it has some: the system follows a link before it goes up.
    pub route: Option<PathBuf>,
    /// Of a pattern, what stands behind that folder, name by name.
    pub pattern: Vec<Vec<(char, bool)>>,
}

impl PathTarget {
    /// A target that has no `..`.
    pub fn at(path: PathBuf, pattern: Vec<Vec<(char, bool)>>) -> PathTarget {
        PathTarget { path, route: None, pattern }
    }

    /// `None` of one that goes up too often.
    fn by(route: &Path, pattern: Vec<Vec<(char, bool)>>) -> Option<PathTarget> {
        let parents = route.components().filter(|part| *part == Component::ParentDir).count();
        let kept = (parents > 0).then(|| route.to_owned());
        (parents <= MOST_PARENTS).then(|| PathTarget { path: normal(route), route: kept, pattern })
    }

    /// The target of a text without quotes and patterns, from `directory`.
    pub fn of_text(text: &str, directory: &Path) -> Option<PathTarget> {
        PathTarget::by(&directory.join(text), Vec::new())
    }

    /// Where a known value leads from `directory`.
    pub fn of(value: &WordValue, directory: &Path) -> Option<PathTarget> {
        let text = value.known()?;
        if text.is_empty() {
            return None;
        }
        if !value.is_pattern() {
            return PathTarget::of_text(text, directory);
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
        // Behind a pattern `.` is nothing, and `..` may lead anywhere above. To some shells `.*` is `..`, too.
        let is_parent = |name: &&[(char, bool)]| is_text(name, "..");
        let may_be_parent = |name: &&[(char, bool)]| names_hidden(name, "..");
        if rest.iter().any(is_parent) || rest.iter().rev().skip(1).any(may_be_parent) {
            return None;
        }
        let pattern =
            rest.iter().filter(|name| !name.is_empty() && !is_text(name, ".")).map(|name| name.to_vec());
        PathTarget::by(&path, pattern.collect())
    }

    /// True if it may be `other` or lie in it, or goes up again from there.
    pub fn may_pass(&self, other: &Path) -> bool {
        self.may_be_in(other) || self.goes_up_from(other)
    }

    /// True if a `..` of it stands behind `other`.
    pub fn goes_up_from(&self, other: &Path) -> bool {
        let mut place = PathBuf::from("/");
        for part in self.route.iter().flat_map(|route| route.components()) {
            match part {
                Component::Normal(name) => place.push(name),
                Component::ParentDir if place.starts_with(other) => return true,
                Component::ParentDir => {
                    place.pop();
                }
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            }
        }
        false
    }

    /// True if it may be `other`, or lie in it.
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

    /// True if it may be a folder that `other` lies in, or `other` itself.
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

    /// True if it stands for everything in its folder, or the folder itself.
    pub fn is_all_of_folder(&self) -> bool {
        match self.pattern.as_slice() {
            [only] => only.iter().all(|(letter, is_pattern)| *is_pattern && *letter != '[' || *letter == '.'),
            _ => false,
        }
    }
}

/// True if a pattern may match this name.
pub(super) fn names(pattern: &[(char, bool)], name: &str) -> bool {
    may_match(pattern, &name.chars().collect::<Vec<char>>())
}

/// True if a pattern may match `name`, which begins with a `.`: a `*` or `?` does not match that.
pub(super) fn names_hidden(pattern: &[(char, bool)], name: &str) -> bool {
    pattern.first() == Some(&('.', false)) && names(pattern, name)
}

/// True if a name of a pattern has these letters.
pub(super) fn is_text(name: &[(char, bool)], text: &str) -> bool {
    name.iter().map(|(letter, _)| *letter).eq(text.chars())
}

/// One sign of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatternSign {
    Letter(char),
    /// `?`, and what stands in brackets.
    Any,
    Star,
}

/// True if a pattern may match a name. What stands in brackets counts as any letter.
fn may_match(pattern: &[(char, bool)], name: &[char]) -> bool {
    let signs = signs(pattern);
    // Perf: a pattern that is longer than any name need not be tried.
    if name.len() < signs.iter().filter(|sign| **sign != PatternSign::Star).count() {
        return false;
    }
    let (mut at, mut of) = (0, 0);
    // Perf: going back to the last star is enough, so the time is at most the product of both lengths.
    let mut star: Option<(usize, usize)> = None;
    while at < name.len() {
        match signs.get(of) {
            Some(PatternSign::Star) => {
                star = Some((of, at));
                of += 1;
            }
            Some(PatternSign::Any) => (at, of) = (at + 1, of + 1),
            Some(PatternSign::Letter(letter)) if *letter == name[at] => (at, of) = (at + 1, of + 1),
            _ => {
                let Some((sign, taken)) = star else { return false };
                star = Some((sign, taken + 1));
                (at, of) = (taken + 1, sign + 1);
            }
        }
    }
    signs[of..].iter().all(|sign| *sign == PatternSign::Star)
}

fn signs(pattern: &[(char, bool)]) -> Vec<PatternSign> {
    let mut signs = Vec::with_capacity(pattern.len());
    let mut rest = pattern;
    // Perf: behind the last `]` no bracket closes, and looking for one at each `[` would take the square of the length.
    let mut closes = pattern.iter().filter(|(letter, _)| *letter == ']').count();
    while let Some((letter, behind)) = rest.split_first() {
        rest = behind;
        closes -= usize::from(letter.0 == ']');
        signs.push(match letter {
            ('*', true) => PatternSign::Star,
            ('?', true) => PatternSign::Any,
            ('[', true) if closes > 0 => match behind.iter().skip(1).position(|(letter, _)| *letter == ']') {
                Some(closed) => {
                    let inside = &behind[..closed + 2];
                    closes -= inside.iter().filter(|(letter, _)| *letter == ']').count();
                    rest = &behind[closed + 2..];
                    PatternSign::Any
                }
                None => PatternSign::Letter('['),
            },
            (letter, _) => PatternSign::Letter(*letter),
        });
    }
    signs
}
