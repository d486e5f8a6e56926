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
};
use reftable::names_in_table;
use sys::regular_file;

mod reftable;

/// Commits that are looked at. Those of the references come first, then the newest.
const MOST_COMMITS: usize = 20_000;
/// Trees that are remembered.
const MOST_TREES: usize = 500;
/// Tags that stand for one another.
const MOST_TAGS: usize = 5;
/// Entries below `refs` that are looked at, and folders in one another.
const MOST_REFERENCES: usize = 20_000;
const DEEPEST_REFERENCE: usize = 16;
/// Tables that are read. git has few of them, of which each is much longer than the next.
const MOST_TABLES: usize = 100;
/// Bytes of one file in which git names commits.
const LONGEST_NAMES: u64 = 32 << 20;
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
    objects: &'a GitObjects,
    times: &'a ObjectTimes,
    missing: Vec<CommittedFile>,
    found: Vec<CommittedFile>,
    seen: HashSet<Vec<u8>>,
    /// Trees of whole commits in which nothing was found.
    searched: HashSet<Vec<u8>>,
    trees: HashMap<Vec<u8>, Option<Vec<u8>>>,
    pending: BinaryHeap<Commit>,
}

/// The names of commits in these repositories that were stashed, which are named nowhere once they are put back.
pub fn stashed_in(repositories: &[RepositoryAround]) -> Vec<Vec<u8>> {
    let files = repositories.iter().flat_map(|it| STASHES.iter().map(|name| it.common.join(name)));
    let tables = repositories.iter().flat_map(|it| in_tables(&it.common));
    files.flat_map(|file| names_in(&file)).chain(tables).collect()
}

/// Answers those of these files that a commit has whose object came at one of the times. `further`: names of commits with which the search
/// begins, beside those that the repository names. Blocks.
pub(super) fn committed(
    repository: &RepositoryAround,
    objects: &GitObjects,
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
        pending: BinaryHeap::new(),
    };
    let heads = HEADS.iter().flat_map(|name| names_in(&repository.folder.join(name)).into_iter().rev());
    let first = heads.chain(further.iter().cloned());
    // Perf: what git has just brought is in one of the first, and the others are read only then.
    let others = std::iter::once_with(|| references(&repository.common)).flatten();
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
        self.missing.is_empty() || MOST_COMMITS <= self.seen.len()
    }

    /// Looks into a commit, and keeps it, so that those before it are looked at, too.
    fn look_at(&mut self, name: Vec<u8>) {
        if !self.seen.insert(name.clone()) {
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
                ObjectKind::Commit => return Commit::of(name, &bytes),
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
        if MOST_TREES <= self.trees.len() {
            self.trees.clear();
        }
        let objects = self.objects;
        let read =
            || objects.read(tree).filter(|(kind, _)| *kind == ObjectKind::Tree).map(|(_, bytes)| bytes);
        let bytes = self.trees.entry(tree.to_vec()).or_insert_with(read).as_deref()?;
        let mut rest = bytes;
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
    fn of(name: Vec<u8>, bytes: &[u8]) -> Option<Commit> {
        let mut lines = bytes.split(|byte| *byte == b'\n').peekable();
        let tree = after(lines.next()?, b"tree ")?;
        let mut parents = Vec::new();
        while let Some(parent) = lines.peek().and_then(|line| after(line, b"parent ")) {
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

/// All words of a file that are objects' names.
fn names_in(file: &Path) -> Vec<Vec<u8>> {
    let bytes = regular_file::read_bounded(file, LONGEST_NAMES).ok().flatten().unwrap_or_default();
    let words = bytes.split(u8::is_ascii_whitespace);
    // Behind `^` stands what a tag stands for.
    words.filter_map(|word| object_named(word.strip_prefix(b"^").unwrap_or(word))).collect()
}

/// The names in all references of a repository, and of what was stashed.
fn references(common: &Path) -> Vec<Vec<u8>> {
    let files = STASHES.iter().chain(&["packed-refs"]);
    let mut names: Vec<Vec<u8>> = files.flat_map(|name| names_in(&common.join(name))).collect();
    names.extend(in_tables(common));
    let mut folders = vec![(common.join("refs"), 0)];
    let mut left = MOST_REFERENCES;
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Some(rest) = left.checked_sub(1) else { return names };
            left = rest;
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < DEEPEST_REFERENCE => {
                    folders.push((entry.path(), depth + 1));
                }
                Ok(kind) if kind.is_file() => names.extend(names_in(&entry.path())),
                _ => (),
            }
        }
    }
    names
}

/// The names in the tables of a repository's references.
fn in_tables(common: &Path) -> Vec<Vec<u8>> {
    let tables = fs::read_dir(common.join(TABLES)).into_iter().flatten().flatten().take(MOST_TABLES);
    let read = |path: PathBuf| regular_file::read_bounded(&path, LONGEST_NAMES).ok().flatten();
    tables.filter_map(|table| read(table.path())).flat_map(|bytes| names_in_table(&bytes)).collect()
}

#[cfg(test)]
mod tests;
