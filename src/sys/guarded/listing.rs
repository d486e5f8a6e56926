//! Folders whose owner has taken a right of his own to them.

use std::{
    fs, io,
    os::{fd::AsRawFd as _, unix::fs::PermissionsExt as _},
    path::Path,
};

use rustix::fs::{CWD, Mode, OFlags, openat};

/// The rights of an owner to list, write and enter a folder.
const OF_OWNER: u32 = 0o700;

/// The entries of a folder, also of one whose owner has taken the right to list it from himself: a command would hide what is in it. The
/// folder has the rights that it had when this returns.
pub fn listed(folder: &Path) -> io::Result<fs::ReadDir> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let before = mode_of(folder)?;
            set_mode(folder, before | OF_OWNER)?;
            let listed = fs::read_dir(folder);
            set_mode(folder, before)?;
            listed
        }
        listed => listed,
    }
}

/// The rights to a folder. No link is followed.
pub fn mode_of(folder: &Path) -> io::Result<u32> {
    let (_handle, path) = opened(folder)?;
    Ok(fs::metadata(&path)?.permissions().mode() & 0o7777)
}

/// Gives a folder back the rights that it had, if its owner has fewer by now. No link is followed.
pub fn give_back_rights(folder: &Path, before: u32) -> io::Result<()> {
    let now = mode_of(folder)?;
    if before & OF_OWNER & !now != 0 { set_mode(folder, before) } else { Ok(()) }
}

fn set_mode(folder: &Path, mode: u32) -> io::Result<()> {
    let (_handle, path) = opened(folder)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(mode))
}

/// The folder by a handle, and a path that leads to what that holds.
fn opened(folder: &Path) -> io::Result<(std::os::fd::OwnedFd, String)> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat(CWD, folder, flags, Mode::empty())?;
    let path = format!("/proc/self/fd/{}", handle.as_raw_fd());
    Ok((handle, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_come_back_where_they_were_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        fs::create_dir(&path).unwrap();
        for (before, now, after) in [
            (0o755, 0o311, 0o755),
            (0o755, 0o555, 0o755),
            (0o555, 0o555, 0o555),
            (0o555, 0o311, 0o555),
            (0o755, 0o700, 0o700),
        ] {
            set_mode(&path, now).unwrap();
            give_back_rights(&path, before).unwrap();
            assert_eq!(mode_of(&path).unwrap(), after, "{before:o} {now:o}");
        }
        // Root lists it anyway.
        set_mode(&path, 0o311).unwrap();
        assert_eq!(listed(&path).unwrap().count(), 0);
        assert_eq!(mode_of(&path).unwrap(), 0o311);
        set_mode(&path, 0o755).unwrap();
    }
}
