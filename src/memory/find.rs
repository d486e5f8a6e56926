//! Which folders of a workspace have memory files that count?

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The repository's top: the nearest folder with a `.git` at the root or above it, below the home; else the root itself.
pub fn repository_top(root: &Path, home: Option<&Path>) -> PathBuf {
    let is_top = |folder: &&Path| fs::symlink_metadata(folder.join(".git")).is_ok();
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
