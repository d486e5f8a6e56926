//! One call that is answered for a command: which file it means, and what it changes.

use std::{
    ffi::OsStr,
    fs,
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, Stat, Timespec, Timestamps, chmod, fstat, utimensat},
    io::Errno,
    process::geteuid,
};

use super::task::{CallTarget, CallingTask};

/// What changes the mode, the owner or the times of a file.
pub const NUMBERS: &[i64] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    libc::SYS_utimensat,
];

/// Whoever runs such a file becomes its owner: nothing for a command to make.
const OF_OTHERS: u32 = 0o6000;

/// What the system writes behind the path of a file that has no name any more.
const DELETED: &[u8] = b" (deleted)";

/// A call, with what it means in the process that made it.
pub struct BrokeredCall {
    file: OwnedFd,
    change: AttributeChange,
}

enum AttributeChange {
    Mode(u32),
    /// `u32::MAX` = as it is.
    Owner {
        user: u32,
        group: u32,
    },
    Times(Timestamps),
}

impl BrokeredCall {
    /// Opens the file that is meant, whoever may do what with it.
    pub fn read(number: i32, arguments: &[u64; 6], task: &CallingTask) -> Result<BrokeredCall, Errno> {
        let [first, second, third, fourth, fifth, _] = *arguments;
        let here = i64::from(libc::AT_FDCWD).cast_unsigned();
        let named = |at: u64, path: u64, flags: u64| CallTarget {
            at,
            path: Some(path),
            follows: flags & u64::from(AtFlags::SYMLINK_NOFOLLOW.bits()) == 0,
            may_be_empty: flags & u64::from(AtFlags::EMPTY_PATH.bits()) != 0,
        };
        let itself = |at: u64| CallTarget { path: None, ..named(at, 0, 0) };
        let no_follow = u64::from(AtFlags::SYMLINK_NOFOLLOW.bits());
        // Modes and owners are 32 bits of their arguments.
        let mode = |mode: u64| AttributeChange::Mode(mode as u32 & 0o7777);
        let owner = |user: u64, group: u64| AttributeChange::Owner { user: user as u32, group: group as u32 };
        let (target, change) = match i64::from(number) {
            libc::SYS_fchmod => (itself(first), mode(second)),
            libc::SYS_fchmodat => (named(first, second, 0), mode(third)),
            libc::SYS_fchmodat2 => (named(first, second, fourth), mode(third)),
            libc::SYS_fchown => (itself(first), owner(second, third)),
            libc::SYS_fchownat => (named(first, second, fifth), owner(third, fourth)),
            libc::SYS_utimensat => {
                let target = if second == 0 { itself(first) } else { named(first, second, fourth) };
                (target, AttributeChange::Times(times(task, third, NANOSECONDS)?))
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_chmod => (named(here, first, 0), mode(second)),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_chown => (named(here, first, 0), owner(second, third)),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_lchown => (named(here, first, no_follow), owner(second, third)),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_utimes => {
                (named(here, first, 0), AttributeChange::Times(times(task, second, MICROSECONDS)?))
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_futimesat => {
                let target = if second == 0 { itself(first) } else { named(first, second, 0) };
                (target, AttributeChange::Times(times(task, third, MICROSECONDS)?))
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_utime => {
                let times = match second {
                    0 => now(),
                    at => {
                        let [accessed, modified] = task.numbers(at)?;
                        Timestamps {
                            last_access: seconds(accessed, 0),
                            last_modification: seconds(modified, 0),
                        }
                    }
                };
                (named(here, first, 0), AttributeChange::Times(times))
            }
            _ => return Err(Errno::NOSYS),
        };
        let _only_on_some_machines = no_follow;
        Ok(BrokeredCall { file: task.open(&target)?, change })
    }

    /// Makes the change, if the file is one of those that the command may write, and belongs to the user.
    pub fn make(self, writable: &[PathBuf]) -> Result<(), Errno> {
        let path = PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        let lies_at = fs::read_link(&path).map_err(|_| Errno::PERM)?;
        let stat = fstat(&self.file)?;
        if !lies_in(&lies_at, &stat, writable) || !is_plain(&stat) || stat.st_uid != geteuid().as_raw() {
            return Err(Errno::PERM);
        }
        match self.change {
            AttributeChange::Mode(mode) if is_regular(&stat) && mode & OF_OTHERS != 0 => Err(Errno::PERM),
            AttributeChange::Mode(mode) => chmod(&path, Mode::from_raw_mode(mode)),
            AttributeChange::Owner { user, group } => {
                let is_same = |wanted: u32, has: u32| wanted == u32::MAX || wanted == has;
                let changes_nothing = is_same(user, stat.st_uid) && is_same(group, stat.st_gid);
                if changes_nothing { Ok(()) } else { Err(Errno::PERM) }
            }
            AttributeChange::Times(times) => utimensat(CWD, &path, &times, AtFlags::empty()),
        }
    }
}

fn lies_in(path: &Path, stat: &Stat, writable: &[PathBuf]) -> bool {
    let bytes = path.as_os_str().as_bytes();
    // A name that ends like this is a name as well, so the links decide.
    let named = if stat.st_nlink == 0 { bytes.strip_suffix(DELETED).unwrap_or(bytes) } else { bytes };
    let path = Path::new(OsStr::from_bytes(named));
    writable.iter().any(|folder| path.starts_with(folder))
}

/// Devices are everybody's.
fn is_plain(stat: &Stat) -> bool {
    let kind = FileType::from_raw_mode(stat.st_mode);
    matches!(
        kind,
        FileType::RegularFile | FileType::Directory | FileType::Symlink | FileType::Fifo | FileType::Socket
    )
}

fn is_regular(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

/// How many nanoseconds the second number of a time counts.
const NANOSECONDS: i64 = 1;
#[cfg(target_arch = "x86_64")]
const MICROSECONDS: i64 = 1_000;

/// When it was read and when it was written, from memory.
fn times(task: &CallingTask, address: u64, unit: i64) -> Result<Timestamps, Errno> {
    if address == 0 {
        return Ok(now());
    }
    let [access_seconds, access, change_seconds, change] = task.numbers(address)?;
    Ok(Timestamps {
        last_access: seconds(access_seconds, access.saturating_mul(unit)),
        last_modification: seconds(change_seconds, change.saturating_mul(unit)),
    })
}

fn seconds(whole: i64, nanoseconds: i64) -> Timespec {
    Timespec { tv_sec: whole, tv_nsec: nanoseconds }
}

fn now() -> Timestamps {
    Timestamps { last_access: seconds(0, libc::UTIME_NOW), last_modification: seconds(0, libc::UTIME_NOW) }
}
