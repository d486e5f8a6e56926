//! The process that asks: its memory, its folder, its open files. Read from `/proc`.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io,
    os::{
        fd::OwnedFd,
        unix::{
            ffi::{OsStrExt as _, OsStringExt as _},
            fs::FileExt as _,
        },
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2},
    io::Errno,
};

/// Linux's `PATH_MAX`.
const MAX_PATH_BYTES: usize = 4_096;

/// A page is there whole or not at all.
const PAGE: u64 = 4_096;

/// A process, or one of its threads.
pub struct CallingTask {
    folder: PathBuf,
}

/// Which file is meant: as calls with `at` in their names say it.
#[derive(Debug, Clone, Copy)]
pub struct CallTarget {
    /// A descriptor, or `AT_FDCWD`.
    pub at: u64,
    /// Where in memory the path stands; `None` = the descriptor itself is meant.
    pub path: Option<u64>,
    pub follows: bool,
    /// An empty path means the descriptor itself.
    pub may_be_empty: bool,
}

impl CallingTask {
    pub fn new(number: u32) -> CallingTask {
        CallingTask { folder: PathBuf::from(format!("/proc/{number}")) }
    }

    /// A handle of the file that is meant. It can be looked at and changed, not read.
    pub fn open(&self, target: &CallTarget) -> Result<OwnedFd, Errno> {
        let Some(address) = target.path else { return self.descriptor(target.at) };
        self.open_at(&self.path(address)?, target)
    }

    /// The same by a path that was read before.
    pub fn open_path(&self, path: &[u8], target: &CallTarget) -> Result<OwnedFd, Errno> {
        self.open_at(Path::new(OsStr::from_bytes(path)), target)
    }

    fn open_at(&self, path: &Path, target: &CallTarget) -> Result<OwnedFd, Errno> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        if path.as_os_str().is_empty() {
            return if target.may_be_empty { self.base(target.at) } else { Err(Errno::NOENT) };
        }
        // Libraries go this way where a kernel has no call of its own. For this process the path would mean others.
        if let Some(number) = own_descriptor(path) {
            return self.descriptor(number);
        }
        let base =
            if path.is_absolute() { openat(CWD, "/", flags, Mode::empty())? } else { self.base(target.at)? };
        let flags = if target.follows { flags } else { flags | OFlags::NOFOLLOW };
        openat2(base, path, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS)
    }

    fn base(&self, at: u64) -> Result<OwnedFd, Errno> {
        // Descriptors are 32 bits of their argument.
        if at as i32 != libc::AT_FDCWD {
            return self.descriptor(at);
        }
        openat(CWD, self.folder.join("cwd"), OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
    }

    fn descriptor(&self, number: u64) -> Result<OwnedFd, Errno> {
        let number = number as i32;
        if number < 0 {
            return Err(Errno::BADF);
        }
        let path = self.folder.join("fd").join(number.to_string());
        match openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
            Err(Errno::NOENT) => Err(Errno::BADF),
            opened => opened,
        }
    }

    fn path(&self, address: u64) -> Result<PathBuf, Errno> {
        let memory = self.memory()?;
        let mut bytes = Vec::new();
        let mut at = address;
        while bytes.len() < MAX_PATH_BYTES {
            // To the end of the page: the next one may not be there, and need not.
            let length = usize::try_from(PAGE - at % PAGE).unwrap_or(1);
            let mut piece = vec![0; length];
            memory.read_exact_at(&mut piece, at).map_err(|_| Errno::FAULT)?;
            if let Some(end) = piece.iter().position(|byte| *byte == 0) {
                bytes.extend_from_slice(&piece[..end]);
                return if bytes.len() < MAX_PATH_BYTES {
                    Ok(PathBuf::from(OsString::from_vec(bytes)))
                } else {
                    Err(Errno::NAMETOOLONG)
                };
            }
            bytes.extend(piece);
            at = at.checked_add(length as u64).ok_or(Errno::FAULT)?;
        }
        Err(Errno::NAMETOOLONG)
    }

    /// Numbers of 64 bits that stand in its memory one after the other.
    pub fn numbers<const COUNT: usize>(&self, address: u64) -> Result<[i64; COUNT], Errno> {
        let memory = self.memory()?;
        let mut numbers = [0; COUNT];
        for (number, at) in numbers.iter_mut().zip((address..).step_by(size_of::<i64>())) {
            let mut bytes = [0; size_of::<i64>()];
            memory.read_exact_at(&mut bytes, at).map_err(|_| Errno::FAULT)?;
            *number = i64::from_ne_bytes(bytes);
        }
        Ok(numbers)
    }

    /// Some bytes of its memory.
    pub fn bytes(&self, address: u64, length: u64) -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0; usize::try_from(length).map_err(|_| Errno::INVAL)?];
        self.memory()?.read_exact_at(&mut bytes, address).map_err(|_| Errno::FAULT)?;
        Ok(bytes)
    }

    /// What the system says of it.
    pub fn status(&self) -> Result<String, Errno> {
        fs::read_to_string(self.folder.join("status")).map_err(|_| Errno::SRCH)
    }

    fn memory(&self) -> Result<File, Errno> {
        let refused = |error: io::Error| Errno::from_io_error(&error).unwrap_or(Errno::PERM);
        File::open(self.folder.join("mem")).map_err(refused)
    }
}

/// The number at the end of `/proc/self/fd/N`.
fn own_descriptor(path: &Path) -> Option<u64> {
    let number =
        path.strip_prefix("/proc/self/fd").or_else(|_| path.strip_prefix("/proc/thread-self/fd")).ok()?;
    number.to_str()?.parse().ok()
}
