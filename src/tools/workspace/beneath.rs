//! How is a path opened so that the kernel itself keeps it below a root?
//!
//! `openat2` refuses every way out in one call; where it is missing (old kernels, strict seccomp filters) the
//! path is walked one component at a time without following links. Both take paths whose links are resolved
//! already, so a link that appears meanwhile is a race and the opening fails.

use std::{
    os::fd::{AsFd, OwnedFd},
    path::{Component, Path},
};

use rustix::{
    fs::{Mode, OFlags, ResolveFlags, openat, openat2},
    io::Errno,
};

/// `openat2` answers `EAGAIN` while something below the root is being renamed; after so many tries the caller
/// learns of it instead of waiting.
const RENAME_RETRIES: usize = 16;

const RESOLVE: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS).union(ResolveFlags::NO_SYMLINKS);

/// Which of the two ways this machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathOpener {
    Openat2,
    StepByStep,
}

impl PathOpener {
    /// Tries `openat2` once; a filter that forbids it answers `EPERM` or `ENOSYS`.
    pub fn detect(root: impl AsFd) -> PathOpener {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat2(root, ".", flags, Mode::empty(), RESOLVE) {
            Ok(_) => PathOpener::Openat2,
            Err(_) => PathOpener::StepByStep,
        }
    }

    /// Opens `relative`, which has neither `..` nor a leading `/`; empty means the root itself. A link
    /// anywhere on the way is `ELOOP`, `ENOTDIR` or `EXDEV`.
    pub fn open(self, root: impl AsFd, relative: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::CLOEXEC;
        // `openat2` refuses flags that mean nothing together.
        let flags = if flags.contains(OFlags::PATH) { flags } else { flags | OFlags::NOCTTY };
        match self {
            PathOpener::Openat2 => {
                let path = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
                open_in_one_call(root, path, flags)
            }
            PathOpener::StepByStep => open_step_by_step(root, relative, flags),
        }
    }
}

fn open_in_one_call(root: impl AsFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut last = Errno::AGAIN;
    for _ in 0..RENAME_RETRIES {
        match openat2(root.as_fd(), path, flags, Mode::empty(), RESOLVE) {
            Err(error @ (Errno::AGAIN | Errno::INTR)) => last = error,
            other => return other,
        }
    }
    Err(last)
}

fn open_step_by_step(root: impl AsFd, relative: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let step = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut folder: Option<OwnedFd> = None;
    let mut components = relative.components().peekable();
    if components.peek().is_none() {
        return openat(root, ".", flags, Mode::empty());
    }
    while let Some(component) = components.next() {
        let Component::Normal(name) = component else { return Err(Errno::XDEV) };
        let from = folder.as_ref().map_or(root.as_fd(), AsFd::as_fd);
        let is_last = components.peek().is_none();
        let flags = if is_last { flags | OFlags::NOFOLLOW } else { step };
        let opened = openat(from, name, flags, Mode::empty())?;
        if is_last {
            return Ok(opened);
        }
        folder = Some(opened);
    }
    Err(Errno::NOENT)
}
