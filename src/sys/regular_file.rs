//! Opening a file by its path for reading, when somebody else may have put something else there.
//!
//! A FIFO makes whoever opens it wait for a writer, and a device can act when it is opened. So what is opened here never
//! waits, and is a regular file or refused. Files below the roots of a session are opened by `tools::workspace`, which
//! also keeps the opening below the root. Nothing else in the daemon opens what a person or an agent wrote
//! (`tests/it/tidy.rs` holds this).

use std::{
    fs::{File, Metadata, OpenOptions, Permissions},
    io::{self, Read as _},
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    },
    path::Path,
};

use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2},
    io::Errno,
};

/// The words for what is no regular file, as the end of a sentence that begins with its path.
pub const NOT_REGULAR: &str = "is not a regular file";

/// Opens a regular file; links are followed, and what they lead to must be one as well. Anything else is
/// `InvalidInput`, and is not waited for.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, NOT_REGULAR)),
    }
}

/// Opens a regular file at an absolute path of which no part is a link, nor the end: for a path whose links were followed and looked at
/// before, since somebody may put one there meanwhile. A link is `ELOOP`; anything else as [`open`].
pub fn open_without_links(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // An old kernel, or a container that knows no newer calls: then the end at least is none.
        Err(Errno::NOSYS | Errno::PERM) => openat(CWD, path, flags | OFlags::NOFOLLOW, Mode::empty()),
        opened => opened,
    };
    let file = File::from(opened?);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, NOT_REGULAR)),
    }
}

/// Opens a regular file to read it and to write what is in it anew; the end of the path is no link. Anything else as [`open`].
pub fn open_to_write(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, NOT_REGULAR)),
    }
}

/// Gives a regular file another mode, whatever rights there are to it, if it is the one that is meant. The end of the path is no link.
pub fn set_mode_if(path: &Path, mode: u32, is_meant: impl FnOnce(&Metadata) -> bool) -> io::Result<()> {
    let held = openat(CWD, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let held_path = format!("/proc/self/fd/{}", held.as_raw_fd());
    let found = std::fs::metadata(&held_path)?;
    match found.is_file() && is_meant(&found) {
        true => std::fs::set_permissions(&held_path, Permissions::from_mode(mode)),
        false => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "is another file than the one that is meant"))
        }
    }
}

/// Opens a folder, to see to it that what was put there is on the disk. Nothing is read of it.
pub fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    Ok(openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

/// The bytes of a regular file; `None` = it has more than `most_bytes`.
pub fn read_bounded(path: &Path, most_bytes: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    open(path)?.take(most_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= most_bytes).then_some(bytes))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn no_link_is_followed_to_a_file_whose_path_was_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().canonicalize().unwrap();
        fs::create_dir(at.join("real")).unwrap();
        fs::write(at.join("real/file"), "text").unwrap();
        symlink("file", at.join("real/link")).unwrap();
        symlink("real", at.join("way")).unwrap();
        let read = |name: &str| {
            let mut text = String::new();
            open_without_links(&at.join(name))
                .and_then(|mut file| file.read_to_string(&mut text))
                .map(|_| text)
        };
        assert_eq!(read("real/file").unwrap(), "text");
        for name in ["real/link", "way/file", "real", "none"] {
            assert!(read(name).is_err(), "{name}");
        }
        // Others follow them.
        assert!(open(&at.join("way/link")).is_ok());
    }
}
