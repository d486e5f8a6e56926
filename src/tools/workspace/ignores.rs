//! Which entries do the ignore files hide? `.gitignore` (nested, the repository's and the user's own excludes),
//! `.geminiignore` and `.subagentignore` (spec 05).
//!
//! The matching is the `ignore` crate's; finding and reading the files is ours, because they too must be opened
//! below the root. A compiled file is kept and renewed when the file changes, not by time.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::Read,
    os::{fd::OwnedFd, unix::fs::MetadataExt as _},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::{
    fs::{CWD, FileType, Mode, OFlags, fstat, openat},
    process::geteuid,
};

use super::{Workspace, WorkspacePath};
use crate::glob_bounds;

/// Ours beat git's at any depth; of ours, the first.
const OWN_FILES: [&str; 2] = [".subagentignore", ".geminiignore"];
const GIT_FILE: &str = ".gitignore";
/// Folders of version control: never of interest to a search, unless it starts inside one.
const METADATA_FOLDERS: [&str; 4] = [".git", ".hg", ".jj", ".svn"];

/// More of an ignore file than this is not read, from the last whole line on; real ones have a few kilobytes.
const MAX_IGNORE_FILE_BYTES: u64 = 1024 * 1024;
/// Nor more lines: each that is a pattern takes memory as long as the file counts.
const MAX_IGNORE_LINES: usize = 5_000;
/// Weight of the patterns of one file, and of all files of a workspace that are in use or kept. A unit is about 150 bytes of memory.
const MAX_FILE_WEIGHT: usize = 100_000;
const MAX_WEIGHT: usize = 500_000;
/// Weight of a sign that stands for others, beside one for each letter of its pattern.
const WILDCARD_WEIGHT: usize = 20;
/// Compiled files kept per workspace; beyond that all are dropped and compiled anew as needed.
const MAX_KEPT: usize = 4096;

/// The rules in force in one folder: its own files, then those of the folders above.
#[derive(Debug)]
pub struct IgnoreRules {
    above: Option<Arc<IgnoreRules>>,
    own: Vec<Arc<CompiledIgnore>>,
    git: Option<Arc<CompiledIgnore>>,
    /// The repository's and the user's excludes; weaker than every `.gitignore`.
    excludes: Vec<Arc<CompiledIgnore>>,
    respects_git: bool,
}

impl IgnoreRules {
    /// The rules that the folders above `place` set for it. With `respects_git` false only our own files count.
    pub fn above(workspace: &Workspace, place: &WorkspacePath, respects_git: bool) -> Arc<IgnoreRules> {
        let root = WorkspacePath { root: place.root, relative: PathBuf::new() };
        let mut rules = Arc::new(IgnoreRules {
            above: None,
            own: Vec::new(),
            git: None,
            excludes: Vec::new(),
            respects_git,
        });
        if respects_git {
            rules = rules.with_repository_above(workspace, &root);
        }
        // From the root down to the parent; the folder itself adds its own when it is listed.
        let mut folders: Vec<&Path> = place.relative.ancestors().skip(1).collect();
        folders.reverse();
        for relative in folders {
            let folder = WorkspacePath { root: place.root, relative: relative.to_owned() };
            rules = rules.within(workspace, &folder, |_| true);
        }
        rules
    }

    /// The rules inside of `folder`. `has` tells whether it has an entry of that name.
    pub fn within(
        self: &Arc<IgnoreRules>,
        workspace: &Workspace,
        folder: &WorkspacePath,
        has: impl Fn(&str) -> bool,
    ) -> Arc<IgnoreRules> {
        let read = |name: &str| match has(name) {
            true => workspace.ignore_file(&folder.child(name.as_ref()), folder),
            false => None,
        };
        let own: Vec<_> = OWN_FILES.into_iter().filter_map(read).collect();
        let git = self.respects_git.then(|| read(GIT_FILE)).flatten();
        let mut excludes = Vec::new();
        if self.respects_git && has(".git") {
            let file = folder.child(".git".as_ref()).child("info".as_ref()).child("exclude".as_ref());
            excludes.extend(workspace.ignore_file(&file, folder));
        }
        if own.is_empty() && git.is_none() && excludes.is_empty() {
            return Arc::clone(self);
        }
        Arc::new(IgnoreRules {
            above: Some(Arc::clone(self)),
            own,
            git,
            excludes,
            respects_git: self.respects_git,
        })
    }

    /// Whether an entry is hidden. `path` is absolute; entries of hidden folders are not asked about.
    pub fn hides(&self, path: &Path, is_folder: bool) -> bool {
        let is_metadata =
            || path.file_name().is_some_and(|name| METADATA_FOLDERS.iter().any(|it| name == *it));
        if self.respects_git && is_folder && is_metadata() {
            return true;
        }
        // A pattern with `!` is an opinion too: shown.
        let said = |files: &[Arc<CompiledIgnore>]| {
            let mut verdicts = files.iter().map(|file| file.patterns.matched(path, is_folder));
            verdicts.find(|verdict| !verdict.is_none()).map(|verdict| verdict.is_ignore())
        };
        let opinions = [
            self.levels().find_map(|rules| said(&rules.own)),
            self.levels().find_map(|rules| said(rules.git.as_slice())),
            self.levels().find_map(|rules| said(&rules.excludes)),
        ];
        opinions.into_iter().flatten().next().unwrap_or(false)
    }

    /// The number of lines of these files, and of those above, that have no effect since they are too much.
    pub fn left_out(&self) -> usize {
        self.levels().map(IgnoreRules::left_out_here).sum()
    }

    /// The same of the folder's own files.
    pub fn left_out_here(&self) -> usize {
        self.own.iter().chain(&self.git).chain(&self.excludes).map(|file| file.left_out).sum()
    }

    fn levels(&self) -> impl Iterator<Item = &IgnoreRules> {
        std::iter::successors(Some(self), |rules| rules.above.as_deref())
    }

    /// A root inside of a repository obeys that repository, as git would; and the user's own excludes.
    fn with_repository_above(
        self: Arc<IgnoreRules>,
        workspace: &Workspace,
        root: &WorkspacePath,
    ) -> Arc<IgnoreRules> {
        let root_path = workspace.absolute(root);
        let mut rules = self;
        if let Some(path) = &workspace.ignore_files.global_excludes
            && let Some(file) = workspace.outer_ignore_file(path, &root_path)
        {
            rules = rules.adding(None, vec![file]);
        }
        let Some(repository) = repository_of(&root_path) else {
            return rules;
        };
        let between = |folder: &&Path| *folder != root_path && folder.starts_with(repository);
        let mut folders: Vec<&Path> = root_path.ancestors().filter(between).collect();
        folders.reverse();
        for folder in folders {
            if let Some(file) = workspace.outer_ignore_file(&folder.join(GIT_FILE), folder) {
                rules = rules.adding(Some(file), Vec::new());
            }
        }
        rules
    }

    fn adding(
        self: Arc<IgnoreRules>,
        git: Option<Arc<CompiledIgnore>>,
        excludes: Vec<Arc<CompiledIgnore>>,
    ) -> Arc<IgnoreRules> {
        let respects_git = self.respects_git;
        Arc::new(IgnoreRules { above: Some(self), own: Vec::new(), git, excludes, respects_git })
    }
}

/// The folder of the repository that a root lies in. Above the root only one of this user's own counts, as git itself
/// demands (git-config(1), `safe.directory`): what others put into `/tmp` says nothing about a workspace below it.
fn repository_of(root: &Path) -> Option<&Path> {
    let found = |folder: &&Path| fs::symlink_metadata(folder.join(".git")).is_ok();
    let folder = root.ancestors().find(found)?;
    let is_own = |git: fs::Metadata| git.uid() == geteuid().as_raw();
    let is_ours = folder == root || fs::symlink_metadata(folder.join(".git")).is_ok_and(is_own);
    is_ours.then_some(folder)
}

/// Compiled ignore files.
#[derive(Debug)]
pub struct IgnoreCache {
    global_excludes: Option<PathBuf>,
    compiled: Mutex<CompiledIgnores>,
    /// Weight of all that are kept, or in use.
    weight: Arc<AtomicUsize>,
}

/// The patterns of an ignore file.
#[derive(Debug)]
pub(super) struct CompiledIgnore {
    patterns: Gitignore,
    /// Lines without effect.
    left_out: usize,
    /// Given back when nobody uses them any more.
    _weight: IgnoreWeight,
}

/// A part of the weight of a workspace's ignore files.
#[derive(Debug)]
struct IgnoreWeight {
    of_all: Arc<AtomicUsize>,
    own: usize,
}

impl IgnoreWeight {
    fn none_of(of_all: &Arc<AtomicUsize>) -> IgnoreWeight {
        IgnoreWeight { of_all: Arc::clone(of_all), own: 0 }
    }

    /// Takes a line's, if there is room for it in the file and beside the others.
    fn takes(&mut self, line: &str) -> bool {
        let wildcards = line.bytes().filter(|byte| b"*?[{".contains(byte)).count();
        // Others are found by their names.
        let weight = if wildcards == 0 { 0 } else { line.len() + WILDCARD_WEIGHT * wildcards };
        let fits = |all: usize| Some(all + weight).filter(|all| *all <= MAX_WEIGHT);
        let has_room = self.own + weight <= MAX_FILE_WEIGHT
            && self.of_all.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok();
        self.own += if has_room { weight } else { 0 };
        has_room
    }
}

impl Drop for IgnoreWeight {
    fn drop(&mut self) {
        self.of_all.fetch_sub(self.own, Ordering::Relaxed);
    }
}

/// By file and the folder its patterns are relative to: the user's own excludes hold in several.
type CompiledIgnores = HashMap<(PathBuf, PathBuf), (FileStamp, Arc<CompiledIgnore>)>;

/// What changes when a file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    inode: u64,
    size: i64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl IgnoreCache {
    pub fn new(global_excludes: Option<PathBuf>) -> IgnoreCache {
        IgnoreCache { global_excludes, compiled: Mutex::default(), weight: Arc::default() }
    }

    fn compile(&self, handle: OwnedFd, path: PathBuf, base: &Path) -> Option<Arc<CompiledIgnore>> {
        let stat = fstat(&handle).ok()?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return None;
        }
        let nanos = |nanos| i64::try_from(nanos).unwrap_or(0);
        let stamp = FileStamp {
            inode: stat.st_ino,
            size: stat.st_size,
            modified: (stat.st_mtime, nanos(stat.st_mtime_nsec)),
            changed: (stat.st_ctime, nanos(stat.st_ctime_nsec)),
        };
        let key = (path, base.to_owned());
        if let Some((known, file)) = self.lock().get(&key)
            && *known == stamp
        {
            return Some(Arc::clone(file));
        }
        let mut bytes = Vec::new();
        File::from(handle).take(MAX_IGNORE_FILE_BYTES).read_to_end(&mut bytes).ok()?;
        let is_cut = u64::try_from(stat.st_size).is_ok_and(|size| MAX_IGNORE_FILE_BYTES < size);
        if is_cut {
            // Half a pattern is another one.
            bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0));
        }
        if MAX_WEIGHT / 2 < self.weight.load(Ordering::Relaxed) {
            // Those that are in use stay.
            self.lock().clear();
        }
        let text = String::from_utf8_lossy(&bytes);
        let mut builder = GitignoreBuilder::new(base);
        let mut left_out = usize::from(is_cut);
        let mut weight = IgnoreWeight::none_of(&self.weight);
        for (number, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            if MAX_IGNORE_LINES <= number || glob_bounds::excess(line).is_some() || !weight.takes(line) {
                left_out += 1;
                continue;
            }
            // A line that is no pattern hides nothing, as in git.
            let _ = builder.add_line(None, line);
        }
        if left_out != 0 {
            tracing::warn!(
                file = %key.0.display(),
                lines = left_out,
                "lines of an ignore file are not read: too many of them, too long, or too many signs that stand for others"
            );
        }
        let file = Arc::new(CompiledIgnore { patterns: builder.build().ok()?, left_out, _weight: weight });
        let mut compiled = self.lock();
        if MAX_KEPT <= compiled.len() {
            compiled.clear();
        }
        compiled.insert(key, (stamp, Arc::clone(&file)));
        Some(file)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, CompiledIgnores> {
        // A panic while it was held leaves whole entries behind.
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Workspace {
    /// The rules of an ignore file; its patterns are relative to `folder`.
    fn ignore_file(&self, file: &WorkspacePath, folder: &WorkspacePath) -> Option<Arc<CompiledIgnore>> {
        let handle = self.open_raw(file, OFlags::RDONLY | OFlags::NONBLOCK).ok()?;
        self.ignore_files.compile(handle, self.absolute(file), &self.absolute(folder))
    }

    /// As `ignore_file`, for the two kinds that lie above or outside of the roots. Only patterns leave them.
    fn outer_ignore_file(&self, file: &Path, base: &Path) -> Option<Arc<CompiledIgnore>> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let handle = openat(CWD, file, flags, Mode::empty()).ok()?;
        self.ignore_files.compile(handle, file.to_owned(), base)
    }
}
