//! In which workspaces do commands only read, since programs of the person's run what lies there?

use std::path::PathBuf;

/// The first of these folders, absolute and without links, in which programs of the home find what they run. Nothing that a script writes there
/// could be told from what the person wants to be run, so nothing of it is let write. Blocks for a look at the home's path.
pub fn settings_folder_among(roots: &[PathBuf]) -> Option<PathBuf> {
    let home = std::env::home_dir()?.canonicalize().ok()?;
    roots.iter().find(|root| shell::is_settings_folder_of_home(root, &home)).cloned()
}
