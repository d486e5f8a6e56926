//! Which folder is a root, and is it still the same? A path is what people say; the folder is what was opened.

use std::{
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{CWD, Mode, OFlags, fstat, open, openat},
    io::Errno,
};

use super::{OpenRoot, PathOpener};

/// What is wrong with a root that is not the folder it was, as the end of a sentence that begins with its path.
pub const ANOTHER: &str = "it is another folder than it was: a part of its path was replaced, by a link say; put it back, or \
                           open the folder that is meant as a workspace of its own";

pub(super) fn open_root(path: &Path) -> Result<OpenRoot, String> {
    if path.to_str().is_none() {
        return Err("its name is not UTF-8".to_owned());
    }
    if !path.is_absolute() {
        return Err("it is not an absolute path".to_owned());
    }
    let canonical = path.canonicalize().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such folder".to_owned(),
        _ => error.to_string(),
    })?;
    if canonical.to_str().is_none() {
        return Err("it leads to a folder whose name is not UTF-8".to_owned());
    }
    // A folder that cannot be listed would look like an empty one to every search.
    std::fs::read_dir(&canonical).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotADirectory => "it is not a folder".to_owned(),
        _ => format!("it cannot be read: {error}"),
    })?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match open(&canonical, flags, Mode::empty()) {
        Ok(handle) => Ok(OpenRoot { path: canonical, handle }),
        Err(Errno::NOTDIR) => Err("it is not a folder".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Why a path that had no links leads somewhere else by now; `None` = it does not. One that is not there is no matter of this.
pub fn moved(path: &Path) -> Option<String> {
    match without_links(path) {
        Err(Errno::LOOP | Errno::XDEV | Errno::NOTDIR) => Some(ANOTHER.to_owned()),
        _ => None,
    }
}

/// Whether a path leads, without any link, to the folder that is held open.
pub fn is_still(path: &Path, handle: impl AsFd) -> bool {
    let (Ok(now), Ok(then)) = (without_links(path).and_then(fstat), fstat(handle)) else { return false };
    (now.st_dev, now.st_ino) == (then.st_dev, then.st_ino)
}

/// The folder at an absolute path, of which no part is a link.
fn without_links(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let top = openat(CWD, "/", flags, Mode::empty())?;
    let relative = path.strip_prefix("/").map_err(|_| Errno::INVAL)?;
    PathOpener::detect(&top).open(&top, relative, flags)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use crate::workspace::Workspace;

    #[test]
    fn a_root_that_became_a_link_or_another_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let (root, other) = (top.join("above/root"), top.join("other"));
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(other.join("root")).unwrap();
        let roots = [root.clone()];
        let workspace = Workspace::open_known(&roots).unwrap();
        assert!(workspace.check_roots().is_ok());

        // Another folder, then a link, then a link above it.
        fs::rename(&root, top.join("away")).unwrap();
        fs::create_dir(&root).unwrap();
        assert!(workspace.check_roots().unwrap_err().problem.contains("another folder"));
        fs::remove_dir(&root).unwrap();
        symlink(&other, &root).unwrap();
        assert!(workspace.check_roots().is_err());
        let refused = Workspace::open_known(&roots).unwrap_err().to_string();
        assert!(refused.contains("another folder than it was"), "{refused}");
        fs::remove_file(&root).unwrap();
        fs::remove_dir(top.join("above")).unwrap();
        symlink(&other, top.join("above")).unwrap();
        assert!(workspace.check_roots().is_err());
        assert!(Workspace::open_known(&roots).is_err());

        // Put back it is the same again.
        fs::remove_file(top.join("above")).unwrap();
        fs::create_dir(top.join("above")).unwrap();
        fs::rename(top.join("away"), &root).unwrap();
        assert!(workspace.check_roots().is_ok() && Workspace::open_known(&roots).is_ok());
    }
}
