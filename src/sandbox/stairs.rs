//! The folders above a workspace that lies below `/tmp`, in the folder that a command sees as its `/tmp`.
//!
//! The command may write there, so that what lies there may be links by the next command; whoever mounts something by way
//! of them makes folders wherever they lead. So the way is built here, without following any, and each step of it is mounted
//! onto itself, so that nobody moves it meanwhile.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags, mkdirat, openat, statat, unlinkat},
    io::Errno,
};

/// Makes in `temporary` what leads from `place` to each of these paths below it. Answers the folders on the way, relative to
/// both, those above first.
pub fn build<'a>(
    place: &Path,
    temporary: &Path,
    shown: impl Iterator<Item = &'a PathBuf>,
) -> io::Result<BTreeSet<PathBuf>> {
    let mut steps = BTreeSet::new();
    for path in shown {
        let Ok(below) = path.strip_prefix(place) else { continue };
        // The last one is mounted over.
        let Some(way) = below.parent() else { continue };
        let folder = descend(temporary, way)?;
        if let Some(name) = below.file_name() {
            without_link(&folder, name)?;
        }
        steps.extend(way.ancestors().filter(|step| !step.as_os_str().is_empty()).map(Path::to_owned));
    }
    Ok(steps)
}

/// The folder at the end of the way, made with all above it.
fn descend(temporary: &Path, way: &Path) -> io::Result<std::os::fd::OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // The folder of a session is the daemon's to name.
    let mut folder = openat(CWD, temporary, flags, Mode::empty())?;
    for name in way.iter() {
        without_link(&folder, name)?;
        match mkdirat(&folder, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        folder = openat(&folder, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(folder)
}

/// Removes a link, which a command has left in its own temporary folder.
fn without_link(folder: &std::os::fd::OwnedFd, name: &std::ffi::OsStr) -> io::Result<()> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => {
            Ok(unlinkat(folder, name, AtFlags::empty())?)
        }
        Ok(_) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
