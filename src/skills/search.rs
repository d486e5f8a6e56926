//! Which skills lie below a place? Found once, and looked at again by what tells one state of a file from another.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File, Metadata},
    io::{self, Read as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    contents::SkillContents,
    file::{LARGEST_FILE, SkillFile, SkillText},
    rules::FILE_NAMES,
};
use agents::AgentFileStamp;
use config::{problem, reason};
use protocol::{
    FileProblem,
    FileProblemCode::{BadValue, TooLarge, Unreadable},
    ProblemSeverity,
};
use sys::{regular_file, source_places::UNREAD};

/// Folders below each other in a place (spec 08).
const DEEPEST: usize = 4;
/// Folders of one place (spec 08).
const MOST_FOLDERS: usize = 2_000;
/// Entries of all folders of a place that are looked at.
const MOST_ENTRIES: usize = 20_000;
/// Bytes of the `SKILL.md` of a place: a stranger's folder could hold thousands of the largest.
const MOST_BYTES: u64 = 16 * 1024 * 1024;
/// Problems that are told of a place.
const MOST_PROBLEMS: usize = 100;
/// Said of what a workspace cannot have.
const LINK: &str = "is a link, which is not followed in a workspace";
/// The owner of a place. The user's links lead where the user wants, a workspace's could lead anywhere and are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlaceOwner<'a> {
    User,
    /// The workspace whose root this is, which is canonical.
    Project(&'a Path),
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
    /// The front of its file when it was found. A workspace's may not be what a person acknowledged.
    pub file: Arc<SkillFile>,
    /// The stamp of that file when it was read; `None` where a later change might not show in it.
    stamp: Option<AgentFileStamp>,
    /// Its files when they were read last, and what came of it.
    whole: Mutex<Option<(SkillContents, Result<WholeSkill, String>)>>,
}

/// The digest of a skill, and what its file says by the very bytes that are in the digest.
#[derive(Debug, Clone)]
pub(super) struct WholeSkill {
    pub digest: String,
    pub file: Arc<SkillFile>,
}

impl FoundSkill {
    /// Reads all its files. What was read before counts while no file is another one. Blocks on the file system.
    pub fn whole(&self) -> Result<WholeSkill, String> {
        self.whole_of(SkillContents::of(&self.folder))
    }

    /// The same, given what lies there.
    pub fn whole_of(&self, contents: SkillContents) -> Result<WholeSkill, String> {
        let mut known = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((then, whole)) = known.as_ref()
            && *then == contents
        {
            return whole.clone();
        }
        let path = self.path();
        if path.to_str().is_none() {
            return Err("lies where the path is not UTF-8".to_owned());
        }
        let whole = contents.digest(&self.folder, Path::new(self.file_name)).map(|(digest, bytes)| {
            let text = match bytes {
                Some(bytes) => SkillText::read(&path, &bytes),
                None => SkillText::unreadable(&path, problem(&path, None, Unreadable, LINK)),
            };
            WholeSkill { digest, file: Arc::new(SkillFile::of(text)) }
        });
        // What changed meanwhile is read anew by the next one who asks.
        let is_lasting =
            whole.is_ok() && contents.is_settled() && SkillContents::of(&self.folder) == contents;
        *known = is_lasting.then(|| (contents, whole.clone()));
        whole
    }

    /// The file of a skill that an extension has in this folder.
    pub fn file_in(folder: &Path) -> PathBuf {
        folder.join(FILE_NAMES[0])
    }

    /// One that an extension has, of which the file says this.
    pub fn pinned(folder: &Path, file: SkillFile) -> FoundSkill {
        FoundSkill {
            folder: folder.to_owned(),
            file_name: FILE_NAMES[0],
            file: Arc::new(file),
            stamp: None,
            whole: Mutex::default(),
        }
    }

    /// The path of its file.
    pub fn path(&self) -> PathBuf {
        self.folder.join(self.file_name)
    }
}

impl SkillPlace {
    /// Looks below a place, which need not be there; of what was found before, what is as it was is taken over.
    pub fn look(place: &Path, owner: PlaceOwner<'_>, before: Option<&SkillPlace>) -> SkillPlace {
        let known =
            before.into_iter().flat_map(|it| &it.skills).map(|it| (it.folder.as_path(), it)).collect();
        let mut search = SkillSearch {
            found: SkillPlace::default(),
            known,
            is_of_project: owner != PlaceOwner::User,
            entered: HashSet::new(),
            entries: 0,
            bytes: 0,
            is_full: false,
        };
        if let PlaceOwner::Project(root) = owner {
            // Whoever may write there could have put another folder into the place of one of these, and back.
            let above = place.ancestors().skip(1).take_while(|folder| folder.starts_with(root));
            for folder in above.map(Path::to_owned).collect::<Vec<_>>() {
                search.see(&folder);
            }
        }
        search.see(place);
        let leads_elsewhere = || fs::canonicalize(place).is_ok_and(|end| end != place);
        match fs::metadata(place) {
            Ok(_) if search.is_of_project && leads_elsewhere() => search.warn(place, BadValue, LINK),
            Ok(metadata) if metadata.is_dir() => search.enter(place, &metadata, 0),
            Ok(_) => search.warn(place, Unreadable, "is not a folder"),
            Err(error) if is_missing(&error) => {}
            Err(error) => search.warn(place, Unreadable, &reason(&error)),
        }
        search.found
    }

    /// About how many bytes it takes.
    pub fn weight(&self) -> usize {
        let path = |path: &Path| path.as_os_str().len();
        let skill = |it: &Arc<FoundSkill>| it.file.weight() + path(&it.folder) + size_of::<FoundSkill>();
        let seen = |it: &SeenPath| path(&it.path) + size_of::<SeenPath>();
        self.skills.iter().map(skill).sum::<usize>() + self.seen.iter().map(seen).sum::<usize>()
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
    is_of_project: bool,
    /// Device and inode of every folder.
    entered: HashSet<(u64, u64)>,
    entries: usize,
    /// The bytes of the files of skills.
    bytes: u64,
    /// They are more than are read.
    is_full: bool,
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
        let mut below = match self.folders(folder, depth) {
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
    fn folders(&mut self, folder: &Path, depth: usize) -> io::Result<Vec<(PathBuf, Metadata)>> {
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
            if kind.is_file() && name.eq_ignore_ascii_case(FILE_NAMES[0]) {
                self.see(&entry.path());
                let message = match depth {
                    0 => "is not read here: a skill is a folder of its own with this file in it",
                    _ => "is not read: the file of a skill is spelled `SKILL.md`",
                };
                self.warn(&entry.path(), BadValue, message);
            }
            if !(kind.is_dir() || kind.is_symlink()) || UNREAD.iter().any(|unread| name == *unread) {
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
            if kind.is_symlink() && self.is_of_project {
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
        self.bytes =
            self.bytes.saturating_add(AgentFileStamp::of(&path).map_or(0, |it| it.bytes().min(LARGEST_FILE)));
        if MOST_BYTES < self.bytes {
            if !self.is_full {
                self.is_full = true;
                let message = format!(
                    "the skills' files of the place have more than {} MiB; this one is not read, nor those behind it",
                    MOST_BYTES / 1024 / 1024
                );
                self.warn(folder, TooLarge, &message);
            }
            return true;
        }
        let skill = match self.known.get(folder).filter(is_same) {
            Some(known) => Arc::clone(known),
            None => {
                let (file, is_as_seen) = self.read(&path, stamp);
                if !is_as_seen {
                    self.found.seen.push(SeenPath { path: path.clone(), stamp, was_settled: false });
                }
                Arc::new(FoundSkill {
                    folder: folder.to_owned(),
                    file_name,
                    file: Arc::new(SkillFile::of(file)),
                    stamp: stamp.filter(|_| is_as_seen),
                    whole: Mutex::default(),
                })
            }
        };
        self.found.skills.push(skill);
        true
    }

    /// Answers what the file says, and whether it was the one of this stamp all the while.
    fn read(&self, path: &Path, stamp: Option<AgentFileStamp>) -> (SkillText, bool) {
        let unreadable = |what: &str| SkillText::unreadable(path, problem(path, None, Unreadable, what));
        if path.to_str().is_none() {
            return (unreadable("lies where the path is not UTF-8"), true);
        }
        let is_link = fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink());
        if is_link && self.is_of_project {
            return (unreadable(LINK), true);
        }
        let opened = match self.is_of_project {
            true => regular_file::open_without_links(path),
            false => regular_file::open(path),
        };
        let read = |mut file: File| {
            let mut bytes = Vec::new();
            let before = AgentFileStamp::in_metadata(&file.metadata()?);
            file.by_ref().take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
            let after = AgentFileStamp::in_metadata(&file.metadata()?);
            Ok((bytes, before == after && Some(before) == stamp))
        };
        match opened.and_then(read) {
            Ok((bytes, is_as_seen)) => (SkillText::read(path, &bytes), is_as_seen),
            Err(error) if error.to_string() == regular_file::NOT_REGULAR => {
                (unreadable(regular_file::NOT_REGULAR), true)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => (unreadable("is gone"), false),
            Err(error) => (unreadable(&reason(&error)), true),
        }
    }

    fn see(&mut self, path: &Path) -> Option<AgentFileStamp> {
        let stamp = AgentFileStamp::of(path);
        let was_settled = stamp.is_none_or(|stamp| stamp.is_settled());
        self.found.seen.push(SeenPath { path: path.to_owned(), stamp, was_settled });
        stamp
    }

    fn warn(&mut self, path: &Path, code: protocol::FileProblemCode, message: &str) {
        if self.found.problems.len() == MOST_PROBLEMS {
            return;
        }
        let severity = ProblemSeverity::Warning;
        self.found.problems.push(FileProblem { severity, ..problem(path, None, code, message) });
    }
}
