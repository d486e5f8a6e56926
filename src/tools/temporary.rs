//! Folders for what programs write that belong to no session: MCP servers, and commands that tell of tools.
//!
//! They lie in the daemon's state, where nobody else makes any, so that the next daemon takes away what one left that was
//! killed. Everything here blocks.

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use super::remove_tree;
use sys::ids;

/// Below the state folder.
const FOLDER: &str = "temporary";
/// What such a folder of an earlier daemon is called until it is gone.
const LEFT: &str = "temporary-left-";

/// Where such folders are made. A cheap handle.
#[derive(Debug, Clone)]
pub struct TemporaryFolders(PathBuf);

/// A folder of one program, gone with it.
#[derive(Debug)]
pub struct TemporaryFolder(PathBuf);

impl TemporaryFolders {
    pub fn new(state_dir: &Path) -> TemporaryFolders {
        TemporaryFolders(state_dir.join(FOLDER))
    }

    /// Where nobody keeps a state.
    pub fn of_system() -> TemporaryFolders {
        TemporaryFolders(std::env::temp_dir().join("subagentd-temporary"))
    }

    /// A new one, private. `whose`: for people who look there.
    pub fn make(&self, whose: &str) -> io::Result<TemporaryFolder> {
        let folder = self.0.join(format!("{whose}-{}", ids::fresh::<String>()));
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        Ok(TemporaryFolder(folder))
    }

    /// Puts aside what a daemon left that was killed, for [`TemporaryFolders::remove_left`]. Nothing of this one may be there yet.
    pub fn put_aside(&self) -> io::Result<()> {
        let aside = self.0.with_file_name(format!("{LEFT}{}", ids::fresh::<String>()));
        match fs::rename(&self.0, aside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Takes away what was put aside, also by a daemon that did not get to it. There may be any number of files.
    pub fn remove_left(&self) -> io::Result<()> {
        let Some(above) = self.0.parent() else { return Ok(()) };
        for entry in fs::read_dir(above)? {
            let entry = entry?;
            if entry.file_name().as_encoded_bytes().starts_with(LEFT.as_bytes()) {
                remove_tree(&entry.path())?;
            }
        }
        Ok(())
    }
}

impl TemporaryFolder {
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // The program may have put anything there.
        if let Err(error) = remove_tree(&self.0) {
            tracing::warn!(%error, folder = %self.0.display(), "what a program left behind cannot be removed");
        }
    }
}
