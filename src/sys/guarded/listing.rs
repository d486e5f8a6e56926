//! Folders whose owner has taken a right of his own to them.

use std::{
    fs, io,
    os::{fd::AsRawFd as _, unix::fs::PermissionsExt as _},
    path::Path,
};

use rustix::fs::{CWD, Mode, OFlags, openat};

/// The entries of a folder, also of one whose owner has taken the right to list it from himself: a command would hide what is in it.
pub fn listed(folder: &Path) -> io::Result<fs::ReadDir> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_to_owner(folder)?;
            fs::read_dir(folder)
        }
        listed => listed,
    }
}

/// Gives a folder's owner all rights to it, if that is this process's user. No link is followed.
pub fn open_to_owner(folder: &Path) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat(CWD, folder, flags, Mode::empty())?;
    let path = format!("/proc/self/fd/{}", handle.as_raw_fd());
    let mode = fs::metadata(&path)?.permissions().mode() & 0o7777;
    if mode & 0o700 != 0o700 {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode | 0o700))?;
    }
    Ok(())
}
