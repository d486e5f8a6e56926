//! In which workspaces do commands only read, since programs of the person's run what lies there?

use std::path::{Path, PathBuf};

use crate::autorun::is_obeyed_at_home;
use shell::is_settings_folder_of_home;

/// The first of these folders, absolute and without links, in which programs of the home find what they run. Nothing that a script writes there
/// could be told from what the person wants to be run, so nothing of it is let write. Blocks for a look at the home's path.
pub fn settings_folder_among(roots: &[PathBuf]) -> Option<PathBuf> {
    let home = std::env::home_dir()?.canonicalize().ok()?;
    let is_one = |root: &Path| is_settings_folder_of_home(root, &home) || is_obeyed_at_home(root, &home);
    roots.iter().find(|root| is_one(root)).cloned()
}
