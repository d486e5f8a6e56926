//! Where does new content stand until it takes its place?

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    os::fd::{AsRawFd as _, OwnedFd},
};

use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, linkat, openat, renameat, renameat_with, unlinkat},
    io::Errno,
};

use sys::ids;

/// A file that nobody finds yet. Dropped without a name it is gone.
pub struct UnlinkedFile {
    file: File,
    /// Its hidden name, and the folder that has it; `None` = it has none, and even a killed daemon leaves nothing.
    hidden: Option<(OwnedFd, OsString)>,
}

impl UnlinkedFile {
    pub fn begin(folder: &OwnedFd, mode: Mode) -> Result<UnlinkedFile, Errno> {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        match openat(folder, ".", flags | OFlags::TMPFILE, mode) {
            Ok(handle) => Ok(UnlinkedFile { file: File::from(handle), hidden: None }),
            // What file systems and kernels answer that know no files without names.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => {
                UnlinkedFile::hidden(folder, mode)
            }
            Err(errno) => Err(errno),
        }
    }

    pub(super) fn hidden(folder: &OwnedFd, mode: Mode) -> Result<UnlinkedFile, Errno> {
        let name = hidden_name();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = openat(folder, &name, flags, mode)?;
        let folder = folder.try_clone().map_err(|error| super::errno_of(&error))?;
        Ok(UnlinkedFile { file: File::from(handle), hidden: Some((folder, name)) })
    }

    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Takes a name that nothing has; `EXIST` when something has it.
    pub fn take_free_name(mut self, folder: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
        match &self.hidden {
            None => self.link(folder, name),
            Some((_, hidden)) => {
                renameat_with(folder, hidden, folder, name, RenameFlags::NOREPLACE)?;
                self.hidden = None;
                Ok(())
            }
        }
    }

    /// Takes the place of what has the name.
    pub fn take_name(mut self, folder: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
        if self.hidden.is_none() {
            // Linking never replaces, renaming does.
            let (beside, hidden) =
                (folder.try_clone().map_err(|error| super::errno_of(&error))?, hidden_name());
            self.link(folder, &hidden)?;
            self.hidden = Some((beside, hidden));
        }
        // Invariant: the lines above gave it one.
        let Some((from, hidden)) = &self.hidden else { return Err(Errno::BADF) };
        renameat(from, hidden, folder, name)?;
        self.hidden = None;
        Ok(())
    }

    /// Through `/proc`, since linking a handle itself takes a privilege on older kernels.
    fn link(&self, folder: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
        let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        linkat(CWD, own, folder, name, AtFlags::SYMLINK_FOLLOW)
    }
}

impl Drop for UnlinkedFile {
    fn drop(&mut self) {
        if let Some((folder, name)) = &self.hidden {
            let _gone = unlinkat(folder, name, AtFlags::empty());
        }
    }
}

/// A name that nobody else uses, and that says whose it is should a killed daemon leave it.
fn hidden_name() -> OsString {
    format!(".subagentd-{}.tmp", ids::fresh::<String>()).into()
}
