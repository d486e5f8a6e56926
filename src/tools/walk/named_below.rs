//! Which folders of a workspace have a file of one of these names? The nearer ones come first.

use std::{collections::VecDeque, ffi::OsStr, path::PathBuf, sync::Arc};

use super::{EntryKind, IgnoreRules, Workspace, WorkspacePath, list};

/// Told by nobody: it is the repository, not what is in it.
const REPOSITORY: &str = ".git";

/// The folders that were found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FoldersWithFile {
    /// Absolute.
    pub folders: Vec<PathBuf>,
    /// There are more folders than were looked at.
    pub is_cut: bool,
}

/// Looks into at most so many folders, the roots among them, for those below a root that have a file of one of these names. Follows no link,
/// and passes over what ignore rules name. Blocks on the file system.
pub fn folders_with_file(workspace: &Workspace, names: &[String], most: usize) -> FoldersWithFile {
    let mut found = FoldersWithFile::default();
    let roots = workspace.roots().filter_map(|root| workspace.place_at(root));
    let mut waiting: VecDeque<(WorkspacePath, Arc<IgnoreRules>, bool)> =
        roots.map(|place| (place.clone(), IgnoreRules::above(workspace, &place, true), true)).collect();
    let mut room = most;
    while let Some((folder, above, is_root)) = waiting.pop_front() {
        if room == 0 {
            found.is_cut = true;
            break;
        }
        room -= 1;
        // One that cannot be read says nothing.
        let Ok(listing) = list(workspace, &folder, &above) else { continue };
        let entries = || listing.entries.iter().filter(|entry| !entry.is_ignored);
        let is_named = |name: &OsStr| names.iter().any(|other| name == other.as_str());
        if !is_root && entries().any(|entry| entry.kind == EntryKind::File && is_named(&entry.name)) {
            found.folders.push(workspace.absolute(&folder));
        }
        let below = entries().filter(|entry| entry.kind == EntryKind::Folder && entry.name != REPOSITORY);
        waiting.extend(below.map(|entry| (folder.child(&entry.name), Arc::clone(&listing.rules), false)));
    }
    found
}
