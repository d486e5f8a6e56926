//! Which agent files lie below a folder?
//!
//! Reads folders within bounds, in the order of paths, and turns what it cannot read into problems. Links are
//! followed, but no folder is entered twice, so loops end.

use std::{
    cmp::Ordering,
    collections::{HashSet, VecDeque},
    fs::{self, FileType, Metadata},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::{
    file_stamp::{AgentFileStamp, UnwatchedPath},
    places::TEMPLATES,
};
use config::{problem, reason};
use protocol::{
    FileProblem,
    FileProblemCode::{TooLarge, Unreadable},
};

/// Most entries looked at below one folder: more is no collection of agents but a slip.
const MOST_ENTRIES: usize = 10_000;

/// Deepest folder below the first.
const DEEPEST: usize = 16;

/// What lies below one folder.
#[derive(Debug, Default)]
pub(super) struct FoundAgentFiles {
    /// Sorted by path.
    pub files: Vec<FoundFile>,
    pub problems: Vec<FileProblem>,
    /// What must be looked at again to know whether the rest is as it was: the folder itself, every link, files with more
    /// than one name.
    pub loose: Vec<UnwatchedPath>,
    pub is_missing: bool,
}

/// A file as it was met.
#[derive(Debug)]
pub(super) struct FoundFile {
    pub path: PathBuf,
    pub stamp: AgentFileStamp,
    /// Whoever watches its folder is not told of every change: it has other names.
    pub is_loose: bool,
}

/// Looks for `*.md` below `folder`; a folder that does not exist holds nothing. Names that begin with a dot
/// are skipped: editors leave them behind. Each folder is told before it is read.
pub(super) fn agent_files(folder: &Path, tell_folder: &mut dyn FnMut(&Path)) -> FoundAgentFiles {
    let mut search = AgentFileSearch {
        found: FoundAgentFiles::default(),
        entered: HashSet::new(),
        links: VecDeque::new(),
        entries: 0,
        tell_folder,
    };
    let metadata = fs::metadata(folder);
    let stamp = metadata.as_ref().ok().map(AgentFileStamp::in_metadata);
    search.found.loose.push(UnwatchedPath::new(folder.to_owned(), stamp));
    match metadata {
        Ok(metadata) => search.enter(folder, &metadata, 0),
        Err(error) if is_missing(&error) && !folder.is_symlink() => search.found.is_missing = true,
        Err(error) => search.tell(folder, &error),
    }
    // Links come last, so that a folder reached both ways is listed under its own path.
    while let Some((folder, depth)) = search.links.pop_front() {
        if let Ok(metadata) = fs::metadata(&folder) {
            search.enter(&folder, &metadata, depth);
        }
    }
    search.found.files.sort_by(|left, right| left.path.cmp(&right.path));
    search.found
}

/// Nothing is there, or what it would lie in is no folder.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

struct AgentFileSearch<'a> {
    found: FoundAgentFiles,
    /// Device and inode of every folder seen.
    entered: HashSet<(u64, u64)>,
    links: VecDeque<(PathBuf, usize)>,
    entries: usize,
    tell_folder: &'a mut dyn FnMut(&Path),
}

impl AgentFileSearch<'_> {
    fn enter(&mut self, folder: &Path, metadata: &Metadata, depth: usize) {
        if !self.entered.insert((metadata.dev(), metadata.ino())) {
            return;
        }
        if depth > DEEPEST {
            let message = format!("lies deeper than {DEEPEST} folders and is not read");
            return self.found.problems.push(problem(folder, None, TooLarge, message));
        }
        (self.tell_folder)(folder);
        let mut entries = match self.list(folder) {
            Ok(entries) => entries,
            Err(error) => return self.tell(folder, &error),
        };
        entries.sort_by(|(left, _), (right, _)| left.cmp(right));
        for (path, kind) in entries {
            self.look_at(path, kind, depth);
        }
    }

    /// The folder's entries, as long as the budget lasts; the first one beyond it is told, once.
    fn list(&mut self, folder: &Path) -> io::Result<Vec<(PathBuf, FileType)>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            match self.entries.cmp(&MOST_ENTRIES) {
                // One that is gone by now is none.
                Ordering::Less => entries.extend(entry.file_type().map(|kind| (entry.path(), kind))),
                Ordering::Equal => {
                    let message = format!(
                        "the agents folder has more than {MOST_ENTRIES} entries; the rest is not read"
                    );
                    self.found.problems.push(problem(folder, None, TooLarge, message));
                }
                Ordering::Greater => break,
            }
            self.entries += 1;
        }
        Ok(entries)
    }

    fn look_at(&mut self, path: PathBuf, kind: FileType, depth: usize) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            let shown = PathBuf::from(path.to_string_lossy().into_owned());
            return self.found.problems.push(problem(
                &shown,
                None,
                Unreadable,
                "has a name that is not UTF-8",
            ));
        };
        let is_agent_file = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"));
        let is_other = !is_agent_file && !kind.is_dir() && !kind.is_symlink();
        if name.starts_with('.') || is_other {
            return;
        }
        let is_templates = name == TEMPLATES;
        let metadata = fs::metadata(&path);
        if kind.is_symlink() {
            let stamp = metadata.as_ref().ok().map(AgentFileStamp::in_metadata);
            self.found.loose.push(UnwatchedPath::new(path.clone(), stamp));
        }
        match metadata {
            Ok(metadata) if metadata.is_dir() => {
                if is_templates {
                    return;
                }
                if kind.is_symlink() {
                    self.links.push_back((path, depth + 1));
                } else {
                    self.enter(&path, &metadata, depth + 1);
                }
            }
            Ok(metadata) if is_agent_file => {
                let stamp = AgentFileStamp::in_metadata(&metadata);
                let has_names = 1 < metadata.nlink();
                if has_names && !kind.is_symlink() {
                    self.found.loose.push(UnwatchedPath::new(path.clone(), Some(stamp)));
                }
                let is_loose = has_names || kind.is_symlink();
                self.found.files.push(FoundFile { path, stamp, is_loose });
            }
            Err(error) if is_agent_file => self.tell(&path, &error),
            // Other files, and links that lead nowhere, concern nobody.
            _ => {}
        }
    }

    fn tell(&mut self, path: &Path, error: &io::Error) {
        self.found.problems.push(problem(path, None, Unreadable, reason(error)));
    }
}
