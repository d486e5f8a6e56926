//! Which agent files lie below a folder?
//!
//! Reads folders within bounds, in the order of paths, and turns what it cannot read into problems. Links are
//! followed, but no folder is entered twice, so loops end.

use std::{
    cmp::Ordering,
    collections::{HashSet, VecDeque},
    fs::{self, Metadata},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crate::{
    config::{problem, reason},
    protocol::{
        FileProblem,
        FileProblemCode::{TooLarge, Unreadable},
    },
};

/// Most entries looked at below one folder: more is no collection of agents but a slip.
const MOST_ENTRIES: usize = 10_000;

/// Deepest folder below the first.
const DEEPEST: usize = 16;

/// A folder of this name holds templates, not agents (spec 02, "Places and precedence").
const TEMPLATES: &str = "templates";

/// What lies below one folder.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Sorted by path.
    pub files: Vec<PathBuf>,
    pub problems: Vec<FileProblem>,
}

/// Looks for `*.md` below `folder`; a folder that does not exist holds nothing. Names that begin with a dot
/// are skipped: editors leave them behind.
pub(super) fn agent_files(folder: &Path) -> Found {
    let mut search =
        Search { found: Found::default(), entered: HashSet::new(), links: VecDeque::new(), entries: 0 };
    match fs::metadata(folder) {
        Ok(metadata) => search.enter(folder, &metadata, 0),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !folder.is_symlink() => {}
        Err(error) => search.tell(folder, &error),
    }
    // Links come last, so that a folder reached both ways is listed under its own path.
    while let Some((folder, depth)) = search.links.pop_front() {
        if let Ok(metadata) = fs::metadata(&folder) {
            search.enter(&folder, &metadata, depth);
        }
    }
    search.found.files.sort();
    search.found
}

struct Search {
    found: Found,
    /// Device and inode of every folder seen.
    entered: HashSet<(u64, u64)>,
    links: VecDeque<(PathBuf, usize)>,
    entries: usize,
}

impl Search {
    fn enter(&mut self, folder: &Path, metadata: &Metadata, depth: usize) {
        if !self.entered.insert((metadata.dev(), metadata.ino())) {
            return;
        }
        if depth > DEEPEST {
            let message = format!("lies deeper than {DEEPEST} folders and is not read");
            return self.found.problems.push(problem(folder, None, TooLarge, message));
        }
        let mut paths = match self.list(folder) {
            Ok(paths) => paths,
            Err(error) => return self.tell(folder, &error),
        };
        paths.sort();
        for path in paths {
            self.look_at(path, depth);
        }
    }

    /// The folder's entries, as long as the budget lasts; the first one beyond it is told, once.
    fn list(&mut self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            match self.entries.cmp(&MOST_ENTRIES) {
                Ordering::Less => paths.push(path),
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
        Ok(paths)
    }

    fn look_at(&mut self, path: PathBuf, depth: usize) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            let shown = PathBuf::from(path.to_string_lossy().into_owned());
            return self.found.problems.push(problem(
                &shown,
                None,
                Unreadable,
                "has a name that is not UTF-8",
            ));
        };
        if name.starts_with('.') {
            return;
        }
        let is_agent_file = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"));
        let is_templates = name == TEMPLATES;
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => {
                if is_templates {
                    return;
                }
                if path.is_symlink() {
                    self.links.push_back((path, depth + 1));
                } else {
                    self.enter(&path, &metadata, depth + 1);
                }
            }
            Ok(_) if is_agent_file => self.found.files.push(path),
            Err(error) if is_agent_file => self.tell(&path, &error),
            // Other files, and links that lead nowhere, concern nobody.
            _ => {}
        }
    }

    fn tell(&mut self, path: &Path, error: &io::Error) {
        self.found.problems.push(problem(path, None, Unreadable, reason(error)));
    }
}
