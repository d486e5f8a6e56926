//! How does a folder go whose content somebody else made, however deep it is, and whatever they still do to it?
//!
//! Nothing here recurses, and no path is ever put together: each folder is reached through the one above it, links are not
//! followed, and what lies deeper is moved up until nothing lies below anything.

use std::{
    ffi::CString,
    io,
    os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, chmod, fchmod, openat, renameat, statat, unlinkat},
    io::Errno,
};

/// Rounds, each of which takes one level away. Paths that are used have a dozen; whoever makes more of them than this is
/// still at it.
const MOST_ROUNDS: usize = 1_000_000;

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Removes a folder with all that is in it. Blocks. Errors: the system's, and that somebody puts things there as fast as they
/// are taken away.
pub fn remove_tree(folder: &Path) -> io::Result<()> {
    let (Some(above), Some(own)) = (folder.parent(), folder.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let above = openat(CWD, above, OFlags::RDONLY | FOLDER, Mode::empty())?;
    let top = enter(above.as_fd(), own)?;
    // Names of ours are none that begin so.
    let mut names = (0_u64..).map(|number| format!(".{number}"));
    for _ in 0..MOST_ROUNDS {
        let entries = entries(&top)?;
        if entries.is_empty() {
            match unlinkat(&above, own, AtFlags::REMOVEDIR) {
                Err(Errno::NOTEMPTY | Errno::EXIST) => continue,
                removed => return Ok(removed?),
            }
        }
        for (name, is_folder) in entries {
            if is_folder {
                flatten(&top, &name, &mut names)?;
            } else {
                gone(unlinkat(&top, &name, AtFlags::empty()))?;
            }
        }
    }
    Err(io::Error::other("something is put there as fast as it is taken away"))
}

/// Takes a folder away, and moves up the folders in it.
fn flatten(top: &OwnedFd, name: &CString, names: &mut impl Iterator<Item = String>) -> io::Result<()> {
    let folder = match enter(top.as_fd(), name.as_c_str()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entered => entered?,
    };
    for (inner, is_folder) in entries(&folder)? {
        if is_folder {
            // Its entry for what is above it changes, for which it must be its owner's to write.
            drop(enter(folder.as_fd(), inner.as_c_str())?);
            gone(renameat(&folder, &inner, top, names.next().unwrap_or_default()))?;
        } else {
            gone(unlinkat(&folder, &inner, AtFlags::empty()))?;
        }
    }
    match unlinkat(top, name, AtFlags::REMOVEDIR) {
        // The next round finds what came meanwhile.
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
        removed => gone(removed),
    }
}

/// Opens a folder, and makes it one that can be emptied. Whoever made it may have closed it.
fn enter(above: BorrowedFd<'_>, name: impl rustix::path::Arg + Copy) -> io::Result<OwnedFd> {
    let open = || openat(above, name, OFlags::RDONLY | FOLDER, Mode::empty());
    let folder = match open() {
        Err(Errno::ACCESS) => {
            let closed = openat(above, name, OFlags::PATH | FOLDER, Mode::empty())?;
            chmod(format!("/proc/self/fd/{}", closed.as_raw_fd()), Mode::RWXU)?;
            open()?
        }
        opened => opened?,
    };
    // Of another owner it cannot be changed, and need not be: root may do without.
    let _stays = fchmod(&folder, Mode::RWXU);
    Ok(folder)
}

/// Names in a folder, and whether they are folders.
fn entries(folder: &OwnedFd) -> io::Result<Vec<(CString, bool)>> {
    let mut entries = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_owned();
        if matches!(name.as_bytes(), b"." | b"..") {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => match statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                Err(_) => continue,
            },
            kind => kind,
        };
        entries.push((name, kind == FileType::Directory));
    }
    Ok(entries)
}

/// What somebody else took away is gone as well.
fn gone(removed: rustix::io::Result<()>) -> io::Result<()> {
    match removed {
        Err(Errno::NOENT) => Ok(()),
        removed => Ok(removed?),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use rustix::fs::mkdirat;

    use super::*;

    /// Deeper than a path can be long, and than a thread's stack.
    const DEEP: usize = 15_000;

    #[test]
    fn what_is_deep_closed_or_a_link_goes_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("session");
        fs::create_dir_all(folder.join("tmp/a/b")).unwrap();
        fs::write(folder.join("tmp/a/file"), "x").unwrap();
        fs::write(place.path().join("outside"), "stays").unwrap();
        fs::create_dir(place.path().join("others")).unwrap();
        fs::write(place.path().join("others/file"), "stays").unwrap();
        symlink(place.path().join("outside"), folder.join("tmp/link")).unwrap();
        symlink(place.path().join("others"), folder.join("tmp/a/b/link")).unwrap();
        chmod(folder.join("tmp/a"), Mode::empty()).unwrap();
        let mut at = openat(CWD, folder.join("tmp"), OFlags::RDONLY | FOLDER, Mode::empty()).unwrap();
        for _ in 0..DEEP {
            mkdirat(&at, "deep", Mode::RWXU).unwrap();
            at = enter(at.as_fd(), "deep").unwrap();
        }
        drop(at);
        remove_tree(&folder).unwrap();
        let mut left: Vec<_> =
            fs::read_dir(place.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["others", "outside"]);
        assert_eq!(fs::read_to_string(place.path().join("others/file")).unwrap(), "stays");
        assert_eq!(remove_tree(&folder).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
