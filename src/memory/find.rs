//! Which folders of a workspace have memory files that count?

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use rustix::process::geteuid;

/// The repository's top: the nearest folder with a `.git` at the root or above it, below the home; else the root itself.
///
/// Above the root only a repository of the user's own counts, or of root: in a folder that many may write to, such as `/tmp`,
/// anybody could make one.
pub fn repository_top(root: &Path, home: Option<&Path>) -> PathBuf {
    let is_own = |owner: u32| owner == geteuid().as_raw() || owner == 0;
    let is_top = |folder: &&Path| {
        let found = fs::symlink_metadata(folder.join(".git"));
        found.is_ok_and(|found| *folder == root || is_own(found.uid()))
    };
    let below_home = root.ancestors().take_while(|folder| Some(*folder) != home);
    below_home.into_iter().find(is_top).unwrap_or(root).to_owned()
}

/// The folders from the top to the root, the farthest first.
pub fn project_folders(top: &Path, root: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        root.ancestors().take_while(|folder| folder.starts_with(top)).map(Path::to_owned).collect();
    folders.reverse();
    folders
}
