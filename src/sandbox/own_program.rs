//! The daemon's own program, as it was when the daemon began.

use std::{
    os::fd::{AsRawFd as _, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::fs::{CWD, Mode, OFlags, openat};

/// A program that is held open. What is executed is what was opened, whatever lies at its path by then: a daemon that runs
/// where somebody builds it must not run what an agent puts in its place.
#[derive(Debug)]
pub struct OwnProgram(OwnedFd);

impl OwnProgram {
    /// `None` = it cannot be opened, which the log says.
    pub fn open(path: &Path) -> Option<OwnProgram> {
        // Whatever is started inherits it, and executes it where the path is not seen; a warden closes it for its command.
        // It can be executed by it, not read or written.
        match openat(CWD, path, OFlags::PATH, Mode::empty()) {
            Ok(handle) => Some(OwnProgram(handle)),
            Err(error) => {
                tracing::error!(path = %path.display(), %error, "the daemon's own program cannot be opened");
                None
            }
        }
    }

    /// Where this process, and whatever it starts, finds it.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()))
    }
}
