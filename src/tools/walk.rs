//! Which files lie below a folder? A parallel walk that obeys ignore rules, follows no link and never leaves the
//! workspace: every folder is opened below its root.
//!
//! The tree is read level by level and each level in the order of its names, so that a walk which is cut short
//! is cut at the same place every time.

use std::{
    cmp::Ordering,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    sync::Arc,
};

use rustix::{
    fs::{AtFlags, Dir, FileType, statat},
    io::Errno,
};
use tokio_util::sync::CancellationToken;

use super::workspace::{IgnoreRules, Workspace, WorkspacePath};

mod named_below;
mod outline;
mod parallel;
#[cfg(test)]
mod tests;

pub use named_below::{FoldersWithFile, folders_with_file};
pub use outline::outline;
pub use parallel::{map_prefix, map_prefix_with};

/// Entries looked at in one walk. The largest source trees have fewer; a place then costs about 100 bytes.
const MAX_ENTRIES: usize = 400_000;
/// Folders below each other. Real trees end below 40; a path of more hardly fits `PATH_MAX`.
const MAX_DEPTH: usize = 100;
/// Folders read between two looks at the bounds: enough to keep all threads busy, little to throw away.
const BATCH: usize = 512;

/// Where to walk and what to leave out.
pub struct WalkRequest<'a> {
    pub workspace: &'a Workspace,
    pub start: &'a WorkspacePath,
    pub respects_git: bool,
    pub stop: &'a CancellationToken,
}

/// What a walk found.
#[derive(Debug, Default)]
pub struct WalkResult {
    /// Files and links, sorted by path.
    pub files: Vec<WalkedFile>,
    pub cut: Option<WalkLimit>,
    /// Folders that could not be read.
    pub unreadable: usize,
    /// Lines of ignore files that have no effect.
    pub rules_left_out: usize,
}

impl WalkResult {
    /// What the reader of a result must know about how complete it is, one line each.
    pub fn notes(&self) -> Vec<String> {
        let cut = self.cut.map(|cut| format!("[{cut}; name a folder further down with `path`]"));
        let unreadable =
            (self.unreadable != 0).then(|| format!("[{} folders cannot be read]", self.unreadable));
        cut.into_iter().chain(unreadable).chain(rules_note(self.rules_left_out)).collect()
    }
}

/// Words about lines of ignore files that have no effect, so that more is found than they would leave.
pub fn rules_note(left_out: usize) -> Option<String> {
    (left_out != 0)
        .then(|| format!("[{left_out} lines of ignore files have no effect: they are too many, or too long]"))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkedFile {
    pub place: WorkspacePath,
    pub is_link: bool,
}

/// Which bound cut a walk short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WalkLimit {
    Entries,
    Depth,
}

impl std::fmt::Display for WalkLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            WalkLimit::Entries => write!(f, "only the first {MAX_ENTRIES} entries were looked at"),
            WalkLimit::Depth => write!(f, "folders more than {MAX_DEPTH} deep were not looked at"),
        }
    }
}

/// One entry of a listed folder.
#[derive(Debug)]
pub struct FolderEntry {
    pub name: OsString,
    pub kind: EntryKind,
    pub is_ignored: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    Folder,
    File,
    Link,
    /// A FIFO, a socket, a device.
    Special,
}

/// The entries of one folder, sorted by name.
#[derive(Debug)]
pub struct FolderListing {
    pub entries: Vec<FolderEntry>,
    /// The rules for what lies below.
    pub rules: Arc<IgnoreRules>,
    /// Whether there were more than `MAX_ENTRIES`.
    pub is_cut: bool,
    /// Lines of this folder's ignore files that have no effect.
    pub rules_left_out: usize,
}

/// Lists one folder. `above` are the rules that the folders above set.
pub fn list(
    workspace: &Workspace,
    folder: &WorkspacePath,
    above: &Arc<IgnoreRules>,
) -> Result<FolderListing, Errno> {
    let mut entries = Vec::new();
    let mut is_cut = false;
    let mut directory = Dir::new(workspace.open_folder(folder)?)?;
    while let Some(entry) = directory.read() {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        if entries.len() == MAX_ENTRIES {
            is_cut = true;
            break;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => {
                match statat(directory.fd()?, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    // It vanished meanwhile.
                    Err(_) => continue,
                }
            }
            known => known,
        };
        let kind = match kind {
            FileType::Directory => EntryKind::Folder,
            FileType::RegularFile => EntryKind::File,
            FileType::Symlink => EntryKind::Link,
            _ => EntryKind::Special,
        };
        entries.push(FolderEntry { name: name.to_owned(), kind, is_ignored: false });
    }
    let path = workspace.absolute(folder);
    entries.retain(|entry| !workspace.is_closed(&path.join(&entry.name)));
    entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    let has =
        |name: &str| entries.binary_search_by(|entry| entry.name.as_os_str().cmp(OsStr::new(name))).is_ok();
    let rules = above.within(workspace, folder, has);
    for entry in &mut entries {
        entry.is_ignored = rules.hides(&path.join(&entry.name), entry.kind == EntryKind::Folder);
    }
    let rules_left_out = if Arc::ptr_eq(&rules, above) { 0 } else { rules.left_out_here() };
    Ok(FolderListing { entries, rules, is_cut, rules_left_out })
}

struct WalkFolder {
    place: WorkspacePath,
    /// Of the folders above it.
    rules: Arc<IgnoreRules>,
}

/// Walks below `request.start`; when that is a file, it is the one thing found, ignored or not. A stop makes it
/// return early with whatever it has; the caller looks at the token.
pub fn walk(request: &WalkRequest<'_>) -> Result<WalkResult, Errno> {
    let mut walk = WalkResult::default();
    let facts = request.workspace.facts(request.start)?;
    if !facts.is_folder {
        walk.files.push(WalkedFile { place: request.start.clone(), is_link: false });
        return Ok(walk);
    }
    let rules = IgnoreRules::above(request.workspace, request.start, request.respects_git);
    walk.rules_left_out = rules.left_out();
    let mut level = vec![WalkFolder { place: request.start.clone(), rules }];
    let mut seen = 0;
    for depth in 0.. {
        if level.is_empty() || request.stop.is_cancelled() {
            break;
        }
        if depth == MAX_DEPTH {
            walk.cut = Some(WalkLimit::Depth);
            break;
        }
        level = read_level(request, &level, &mut seen, &mut walk);
        if walk.cut.is_some() {
            break;
        }
    }
    walk.files.sort_unstable_by(|a, b| by_path(&a.place, &b.place));
    Ok(walk)
}

/// Byte order of the whole path: the same on every machine.
fn by_path(a: &WorkspacePath, b: &WorkspacePath) -> Ordering {
    a.relative().as_os_str().cmp(b.relative().as_os_str())
}

/// Reads the folders of one level and gives the next one.
fn read_level(
    request: &WalkRequest<'_>,
    level: &[WalkFolder],
    seen: &mut usize,
    walk: &mut WalkResult,
) -> Vec<WalkFolder> {
    let mut next = Vec::new();
    let go_on = || (!request.stop.is_cancelled()).then_some(());
    for batch in level.chunks(BATCH) {
        let listings =
            map_prefix(batch, go_on, |(), folder| list(request.workspace, &folder.place, &folder.rules));
        for (folder, listing) in batch.iter().zip(listings) {
            let Ok(listing) = listing else {
                walk.unreadable += 1;
                continue;
            };
            walk.rules_left_out += listing.rules_left_out;
            if listing.is_cut {
                walk.cut = Some(WalkLimit::Entries);
            }
            for entry in listing.entries {
                if *seen == MAX_ENTRIES {
                    walk.cut = Some(WalkLimit::Entries);
                    return next;
                }
                *seen += 1;
                if entry.is_ignored {
                    continue;
                }
                let place = folder.place.child(&entry.name);
                match entry.kind {
                    EntryKind::Folder => next.push(WalkFolder { place, rules: Arc::clone(&listing.rules) }),
                    EntryKind::File => walk.files.push(WalkedFile { place, is_link: false }),
                    EntryKind::Link => walk.files.push(WalkedFile { place, is_link: true }),
                    EntryKind::Special => {}
                }
            }
        }
        if request.stop.is_cancelled() {
            break;
        }
    }
    next
}
