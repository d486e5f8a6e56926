//! Which contents did commits have at their very paths that no agent's program made?
//!
//! An agent writes references as it likes, and they only say where to begin: a commit counts by the time at which its object came, and what is in
//! it by its name.

use std::{
    collections::{BinaryHeap, HashMap, HashSet},
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use super::{
    RepositoryAround,
    gitlinks::NAME_LENGTHS,
    objects::{GitObjects, ObjectKind, ObjectTimes},
    search_budget::SearchBudget,
};
use crate::git_settings::{GitNames, LONGEST_CONFIG};
use reftable::names_in_table;
use sys::regular_file;

mod reftable;

/// Trees that are remembered, and bytes of all of them.
const MOST_TREES: usize = 500;
const MOST_TREE_BYTES: usize = 16 << 20;
/// Tags that stand for one another.
const MOST_TAGS: usize = 5;
/// Folders in one another below `refs`.
const DEEPEST_REFERENCE: usize = 16;
/// Tables that are read. git has few of them, of which each is much longer than the next.
const MOST_TABLES: usize = 100;
/// Files of a working tree that name the commits with which git works: gitrepository-layout(5), gitrevisions(7).
const HEADS: &[&str] = &[
    "HEAD",
    "logs/HEAD",
    "FETCH_HEAD",
    "ORIG_HEAD",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
];
/// The folder of tables in which git may keep references.
const TABLES: &str = "reftable";
/// The same of what was stashed.
const STASHES: &[&str] = &["refs/stash", "logs/refs/stash"];
/// Modes of entries: a folder, a link, and a file that is run.
const TREE: u32 = 0o040_000;
const LINK: u32 = 0o120_000;
const RUN: u32 = 0o100_755;

/// A content at a path, as a commit may have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommittedFile {
    /// Below the top of the working tree.
    pub path: PathBuf,
    /// The object's name.
    pub object: Vec<u8>,
    pub is_link: bool,
    pub is_run: bool,
}

/// A commit, which is the greater the later it was made, by its own words.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Commit {
    seconds: i64,
    name: Vec<u8>,
    tree: Vec<u8>,
    parents: Vec<Vec<u8>>,
}

/// The search for contents that no commit has yet.
struct CommitSearch<'a> {
    objects: &'a GitObjects<'a>,
    times: &'a ObjectTimes,
    missing: Vec<CommittedFile>,
    found: Vec<CommittedFile>,
    seen: HashSet<Vec<u8>>,
    /// Trees of whole commits in which nothing was found.
    searched: HashSet<Vec<u8>>,
    trees: HashMap<Vec<u8>, Option<Vec<u8>>>,
    tree_bytes: usize,
    pending: BinaryHeap<Commit>,
}

/// The names of commits in these repositories that were stashed, which are named nowhere once they are put back; as many as one search finds.
pub fn stashed_in(repositories: &[RepositoryAround]) -> Vec<Vec<u8>> {
    let budget = SearchBudget::default();
    let files = repositories.iter().flat_map(|it| STASHES.iter().map(|name| it.common.join(name)));
    let tables = repositories.iter().flat_map(|it| in_tables(&it.common, &budget));
    files.flat_map(|file| names_in(&file, &budget)).chain(tables).collect()
}

/// Answers those of these files that a commit has whose object came at one of the times. `further`: names of commits with which the search
/// begins, beside those that the repository names. What the budget of the objects has no room for is not found. Blocks.
pub(super) fn committed(
    repository: &RepositoryAround,
    objects: &GitObjects<'_>,
    (wanted, further): (Vec<CommittedFile>, &[Vec<u8>]),
    times: &ObjectTimes,
) -> Vec<CommittedFile> {
    let mut search = CommitSearch {
        objects,
        times,
        missing: wanted,
        found: Vec::new(),
        seen: HashSet::new(),
        searched: HashSet::new(),
        trees: HashMap::new(),
        tree_bytes: 0,
        pending: BinaryHeap::new(),
    };
    let budget = objects.budget;
    let heads = HEADS.iter().flat_map(|name| names_in(&repository.folder.join(name), budget));
    let first = heads.chain(further.iter().cloned());
    // Perf: what git has just brought is in one of the first, and the others are read only then.
    let others = std::iter::once_with(|| references(&repository.common, budget)).flatten();
    for name in first.chain(others) {
        if search.is_over() {
            return search.found;
        }
        search.look_at(name);
    }
    while let Some(commit) = search.pending.pop() {
        for parent in commit.parents {
            if search.is_over() {
                return search.found;
            }
            search.look_at(parent);
        }
    }
    search.found
}

impl CommitSearch<'_> {
    fn is_over(&self) -> bool {
        self.missing.is_empty() || self.objects.budget.is_spent()
    }

    /// Looks into a commit, and keeps it, so that those before it are looked at, too.
    fn look_at(&mut self, name: Vec<u8>) {
        if !self.seen.insert(name.clone()) || self.objects.budget.commits.take(1).is_none() {
            return;
        }
        let Some(commit) = self.commit(name) else { return };
        if self.objects.times_of(&commit.name).into_iter().any(|time| self.times.have(time))
            && self.searched.insert(commit.tree.clone())
        {
            let missing = std::mem::take(&mut self.missing);
            let (found, missing) = missing.into_iter().partition(|file| self.has(&commit.tree, file));
            self.missing = missing;
            self.found.extend::<Vec<_>>(found);
        }
        self.pending.push(commit);
    }

    /// The commit of this name, or that a tag of this name stands for.
    fn commit(&self, mut name: Vec<u8>) -> Option<Commit> {
        for _ in 0..MOST_TAGS {
            let (kind, bytes) = self.objects.read(&name)?;
            match kind {
                ObjectKind::Commit => return Commit::of(name, &bytes, self.objects.budget),
                ObjectKind::Tag => name = after(bytes.split(|byte| *byte == b'\n').next()?, b"object ")?,
                ObjectKind::Tree | ObjectKind::Blob => return None,
            }
        }
        None
    }

    fn has(&mut self, tree: &[u8], file: &CommittedFile) -> bool {
        let mut at = (TREE, tree.to_vec());
        for name in file.path.iter() {
            if at.0 != TREE {
                return false;
            }
            let Some(below) = self.entry(&at.1, name.as_bytes()) else { return false };
            at = below;
        }
        at.1 == file.object && file.is_link == (at.0 == LINK) && (!file.is_run || at.0 == RUN)
    }

    /// The mode and the object of an entry.
    fn entry(&mut self, tree: &[u8], name: &[u8]) -> Option<(u32, Vec<u8>)> {
        if !self.trees.contains_key(tree) {
            let read = self.objects.read(tree).filter(|(kind, _)| *kind == ObjectKind::Tree);
            let read = read.map(|(_, bytes)| bytes);
            let length = read.as_ref().map_or(0, Vec::len);
            if MOST_TREES <= self.trees.len() || MOST_TREE_BYTES < self.tree_bytes + length {
                (self.trees, self.tree_bytes) = (HashMap::new(), 0);
            }
            self.tree_bytes += length;
            self.trees.insert(tree.to_vec(), read);
        }
        let mut rest = self.trees.get(tree)?.as_deref()?;
        self.objects.budget.scanned.take(rest.len() as u64)?;
        while !rest.is_empty() {
            let end = memchr::memchr(0, rest)?;
            let (head, behind) = (rest.get(..end)?, rest.get(end + 1..)?);
            let object = behind.get(..tree.len())?;
            let space = memchr::memchr(b' ', head)?;
            if head.get(space + 1..)? == name {
                let mode = u32::from_str_radix(std::str::from_utf8(head.get(..space)?).ok()?, 8).ok()?;
                return Some((mode, object.to_vec()));
            }
            rest = behind.get(tree.len()..)?;
        }
        None
    }
}

impl Commit {
    /// Those before it are left out for whose names the search has no room.
    fn of(name: Vec<u8>, bytes: &[u8], budget: &SearchBudget) -> Option<Commit> {
        let mut lines = bytes.split(|byte| *byte == b'\n').peekable();
        let tree = after(lines.next()?, b"tree ")?;
        let mut parents = Vec::new();
        while let Some(parent) = lines.peek().and_then(|line| after(line, b"parent ")) {
            if budget.names.take(1).is_none() {
                break;
            }
            parents.push(parent);
            lines.next();
        }
        let committer =
            lines.take_while(|line| !line.is_empty()).find(|line| line.starts_with(b"committer "));
        // The number of seconds, and behind it the place's own time.
        let seconds = committer.and_then(|line| line.rsplit(|byte| *byte == b' ').nth(1));
        let seconds = seconds.and_then(|seconds| std::str::from_utf8(seconds).ok()?.parse().ok());
        Some(Commit { seconds: seconds.unwrap_or(0), name, tree, parents })
    }
}

/// The name that stands behind these words.
fn after(line: &[u8], words: &[u8]) -> Option<Vec<u8>> {
    line.strip_prefix(words).and_then(object_named)
}

/// An object's name of its digits.
fn object_named(digits: &[u8]) -> Option<Vec<u8>> {
    if !NAME_LENGTHS.iter().any(|length| digits.len() == 2 * length) {
        return None;
    }
    let text = std::str::from_utf8(digits).ok().filter(|text| text.is_ascii())?;
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect()
}

/// All words of a file that are objects' names, the last one first: so the newest stands in front of a log.
fn names_in(file: &Path, budget: &SearchBudget) -> Vec<Vec<u8>> {
    let bytes = budget.read_file(file).unwrap_or_default();
    let words = bytes.rsplit(u8::is_ascii_whitespace);
    // Behind `^` stands what a tag stands for.
    let names = words.filter_map(|word| object_named(word.strip_prefix(b"^").unwrap_or(word)));
    names.take_while(|_| budget.names.take(1).is_some()).collect()
}

/// The names in all references of a repository, and of what was stashed.
fn references(common: &Path, budget: &SearchBudget) -> Vec<Vec<u8>> {
    let files = STASHES.iter().chain(&["packed-refs"]);
    let mut names: Vec<Vec<u8>> = files.flat_map(|name| names_in(&common.join(name), budget)).collect();
    names.extend(in_tables(common, budget));
    let mut folders = vec![(common.join("refs"), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_file() => names.extend(names_in(&entry.path(), budget)),
                _ if budget.files.take(1).is_none() => return names,
                Ok(kind) if kind.is_dir() && depth < DEEPEST_REFERENCE => {
                    folders.push((entry.path(), depth + 1));
                }
                _ => (),
            }
            if budget.files.left() == 0 || budget.names.left() == 0 {
                return names;
            }
        }
    }
    names
}

/// The names in the tables of a repository's references, where its settings say that it has some.
fn in_tables(common: &Path, budget: &SearchBudget) -> Vec<Vec<u8>> {
    let mut names = Vec::new();
    let config = regular_file::read_bounded(&common.join("config"), LONGEST_CONFIG).ok().flatten();
    if config.is_none_or(|text| !GitNames::of(&String::from_utf8_lossy(&text)).has_reference_tables) {
        return names;
    }
    let tables = fs::read_dir(common.join(TABLES)).into_iter().flatten().flatten().take(MOST_TABLES);
    for table in tables {
        let Some(bytes) = budget.read_file(&table.path()) else { continue };
        names_in_table(&bytes, budget, &mut names);
    }
    names
}

#[cfg(test)]
mod tests;
