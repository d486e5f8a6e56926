//! Which skills lie below a place? Found once, and looked at again by what tells one state of a file from another.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, Metadata},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    contents::SkillContents,
    file::{LARGEST_FILE, SkillFile},
    rules::FILE_NAMES,
};
use agents::AgentFileStamp;
use config::{problem, read_bounded, reason};
use protocol::{
    FileProblem,
    FileProblemCode::{BadValue, TooLarge, Unreadable},
    ProblemSeverity,
};

/// Folders below each other in a place (spec 08).
const DEEPEST: usize = 4;
/// Folders of one place (spec 08).
const MOST_FOLDERS: usize = 2_000;
/// Entries of all folders of a place that are looked at.
const MOST_ENTRIES: usize = 20_000;
/// Said of what a workspace cannot have.
const LINK: &str = "is a link, which is not followed in a workspace";
/// Folders of these names hold no skills.
const SKIPPED: [&str; 2] = [".git", "node_modules"];

/// The way with links: the user's own lead where the user wants, a stranger's could lead anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkHandling {
    Follow,
    Refuse,
}

/// All that was found below one place.
#[derive(Debug, Default)]
pub(super) struct SkillPlace {
    pub skills: Vec<Arc<FoundSkill>>,
    pub problems: Vec<FileProblem>,
    /// Everything that must be as it was for this still to hold: a path, and its state before it was read.
    seen: Vec<SeenPath>,
}

#[derive(Debug)]
struct SeenPath {
    path: PathBuf,
    stamp: Option<AgentFileStamp>,
    was_settled: bool,
}

/// A folder with a `SKILL.md`.
#[derive(Debug)]
pub(super) struct FoundSkill {
    pub folder: PathBuf,
    /// The name of its file.
    pub file_name: &'static str,
    pub file: SkillFile,
    /// The stamp of that file when it was read; `None` where a later change might not show in it.
    stamp: Option<AgentFileStamp>,
    /// Its digest when it was looked at last, and what it had then.
    digest: Mutex<Option<(SkillContents, Result<String, String>)>>,
}

impl FoundSkill {
    /// The digest of all its files. One that was computed before counts while no file is another one. Blocks on the file
    /// system.
    pub fn digest(&self) -> Result<String, String> {
        self.digest_of(SkillContents::of(&self.folder))
    }

    /// The same, given what lies there.
    pub fn digest_of(&self, contents: SkillContents) -> Result<String, String> {
        let mut known = self.digest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((then, digest)) = known.as_ref()
            && *then == contents
        {
            return digest.clone();
        }
        let digest = contents.digest(&self.folder, Path::new(self.file_name)).map(|(digest, _)| digest);
        *known = contents.is_settled().then(|| (contents, digest.clone()));
        digest
    }
}

impl SkillPlace {
    /// Looks below a place, which need not be there; of what was found before, what is as it was is taken over.
    pub fn look(place: &Path, links: LinkHandling, before: Option<&SkillPlace>) -> SkillPlace {
        let known =
            before.into_iter().flat_map(|it| &it.skills).map(|it| (it.folder.as_path(), it)).collect();
        let mut search =
            SkillSearch { found: SkillPlace::default(), known, links, entered: HashSet::new(), entries: 0 };
        search.see(place);
        let leads_elsewhere = || fs::canonicalize(place).is_ok_and(|end| end != place);
        match fs::metadata(place) {
            Ok(_) if links == LinkHandling::Refuse && leads_elsewhere() => search.warn(place, BadValue, LINK),
            Ok(metadata) if metadata.is_dir() => search.enter(place, &metadata, 0),
            Ok(_) => search.warn(place, Unreadable, "is not a folder"),
            Err(error) if is_missing(&error) => {}
            Err(error) => search.warn(place, Unreadable, &reason(&error)),
        }
        search.found
    }

    /// True if nothing of it can have changed.
    pub fn is_as_it_was(&self) -> bool {
        self.seen.iter().all(|seen| seen.was_settled && AgentFileStamp::of(&seen.path) == seen.stamp)
    }
}

/// Nothing is there, or what it would lie in is no folder.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

struct SkillSearch<'a> {
    found: SkillPlace,
    /// Skills that were found before, by folder.
    known: HashMap<&'a Path, &'a Arc<FoundSkill>>,
    links: LinkHandling,
    /// Device and inode of every folder.
    entered: HashSet<(u64, u64)>,
    entries: usize,
}

impl SkillSearch<'_> {
    fn enter(&mut self, folder: &Path, metadata: &Metadata, depth: usize) {
        if !self.entered.insert((metadata.dev(), metadata.ino())) {
            return;
        }
        if self.entered.len() == MOST_FOLDERS + 1 {
            let message = format!("the place has more than {MOST_FOLDERS} folders; the rest is not read");
            return self.warn(folder, TooLarge, &message);
        }
        if depth != 0 && self.take(folder) {
            return;
        }
        let mut below = match self.folders(folder) {
            Ok(below) => below,
            Err(error) => return self.warn(folder, Unreadable, &reason(&error)),
        };
        below.sort_by(|(left, _), (right, _)| left.cmp(right));
        if depth == DEEPEST {
            if !below.is_empty() {
                let message = format!("has folders more than {DEEPEST} deep, which are not read");
                self.warn(folder, TooLarge, &message);
            }
            return;
        }
        for (path, metadata) in below {
            if MOST_FOLDERS < self.entered.len() {
                return;
            }
            self.enter(&path, &metadata, depth + 1);
        }
    }

    /// The folders in a folder.
    fn folders(&mut self, folder: &Path) -> io::Result<Vec<(PathBuf, Metadata)>> {
        self.see(folder);
        let mut folders = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            self.entries += 1;
            if MOST_ENTRIES < self.entries {
                if self.entries == MOST_ENTRIES + 1 {
                    let message =
                        format!("the place has more than {MOST_ENTRIES} entries; the rest is not read");
                    self.warn(folder, TooLarge, &message);
                }
                break;
            }
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            if !(kind.is_dir() || kind.is_symlink()) || SKIPPED.iter().any(|skipped| name == *skipped) {
                continue;
            }
            let path = entry.path();
            if kind.is_symlink() {
                self.see(&path);
            }
            let Ok(metadata) = fs::metadata(&path) else { continue };
            if !metadata.is_dir() {
                continue;
            }
            if kind.is_symlink() && self.links == LinkHandling::Refuse {
                self.warn(&path, BadValue, LINK);
                continue;
            }
            folders.push((path, metadata));
        }
        Ok(folders)
    }

    /// Takes the folder as a skill, if it is one.
    fn take(&mut self, folder: &Path) -> bool {
        let there = |name: &&&str| fs::symlink_metadata(folder.join(name)).is_ok_and(|it| !it.is_dir());
        let Some(file_name) = FILE_NAMES.iter().find(there).copied() else { return false };
        let path = folder.join(file_name);
        let stamp = self.see(&path).filter(AgentFileStamp::is_settled);
        // That it is one shows in its folder, too.
        self.see(folder);
        let is_same =
            |it: &&&Arc<FoundSkill>| it.file_name == file_name && it.stamp == stamp && stamp.is_some();
        let skill = match self.known.get(folder).filter(is_same) {
            Some(known) => Arc::clone(known),
            None => Arc::new(FoundSkill {
                folder: folder.to_owned(),
                file_name,
                file: self.read(&path),
                stamp,
                digest: Mutex::default(),
            }),
        };
        self.found.skills.push(skill);
        true
    }

    fn read(&self, path: &Path) -> SkillFile {
        let unreadable = |what: &str| SkillFile::unreadable(path, problem(path, None, Unreadable, what));
        if path.to_str().is_none() {
            return unreadable("lies where the path is not UTF-8");
        }
        let is_link = fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink());
        if is_link && self.links == LinkHandling::Refuse {
            return unreadable(LINK);
        }
        match read_bounded(path, LARGEST_FILE) {
            Ok(Some(bytes)) => SkillFile::read(path, &bytes),
            Ok(None) => unreadable("is gone"),
            Err(found) => SkillFile::unreadable(path, found),
        }
    }

    fn see(&mut self, path: &Path) -> Option<AgentFileStamp> {
        let stamp = AgentFileStamp::of(path);
        let was_settled = stamp.is_none_or(|stamp| stamp.is_settled());
        self.found.seen.push(SeenPath { path: path.to_owned(), stamp, was_settled });
        stamp
    }

    fn warn(&mut self, path: &Path, code: protocol::FileProblemCode, message: &str) {
        let severity = ProblemSeverity::Warning;
        self.found.problems.push(FileProblem { severity, ..problem(path, None, code, message) });
    }
}
