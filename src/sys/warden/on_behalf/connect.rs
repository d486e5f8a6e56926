//! A connection that is made for a command which may reach a few sockets that have a file, and no others.
//!
//! A filter sees where in memory an address stands, and not what it is. So each connection is made by the warden, with the
//! address as it was read once: to a file that lies where the settings say, and to the network as before.

use std::{
    fs,
    os::fd::{AsRawFd as _, OwnedFd},
    path::PathBuf,
};

use rustix::{
    fs::{FileType, fstat},
    io::Errno,
    net::{SocketAddrUnix, connect},
    process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open},
};

use super::task::{CallTarget, CallingTask};

/// The call that is answered here.
pub const NUMBER: i64 = libc::SYS_connect;

/// The longest address of all families (`sockaddr_storage`).
const MAX_ADDRESS_BYTES: u64 = 128;

/// Of an address, the family.
const FAMILY_BYTES: usize = size_of::<libc::sa_family_t>();

/// A connection that may be made.
pub struct BrokeredConnection {
    socket: OwnedFd,
    to: Address,
}

enum Address {
    /// A handle of the socket's file.
    File(OwnedFd),
    Other(Vec<u8>),
}

impl BrokeredConnection {
    /// Reads which one is wanted. `allowed`: files, and folders with all that is below them.
    pub fn read(
        arguments: &[u64; 6],
        task: &CallingTask,
        allowed: &[PathBuf],
    ) -> Result<BrokeredConnection, Errno> {
        let [descriptor, address, length, ..] = *arguments;
        // Descriptors and lengths are 32 bits of their arguments.
        let length = u64::from(length as u32);
        if !(FAMILY_BYTES as u64..=MAX_ADDRESS_BYTES).contains(&length) {
            return Err(Errno::INVAL);
        }
        let bytes = task.bytes(address, length)?;
        let (family, path) = bytes.split_at(FAMILY_BYTES);
        let family = family.try_into().map(libc::sa_family_t::from_ne_bytes).map_err(|_| Errno::INVAL)?;
        let to = if i32::from(family) == libc::AF_UNIX {
            Address::File(file(path, task, allowed)?)
        } else {
            Address::Other(bytes)
        };
        let process = pidfd_open(process_of(task)?, PidfdFlags::empty())?;
        let socket = pidfd_getfd(process, descriptor as i32, PidfdGetfdFlags::empty())?;
        Ok(BrokeredConnection { socket, to })
    }

    /// Makes it; blocks as long as the command would.
    pub fn make(self) -> Result<(), Errno> {
        match self.to {
            Address::File(file) => {
                let path = format!("/proc/self/fd/{}", file.as_raw_fd());
                connect(&self.socket, &SocketAddrUnix::new(path)?)
            }
            Address::Other(bytes) => {
                let length = libc::socklen_t::try_from(bytes.len()).map_err(|_| Errno::INVAL)?;
                // Safety: the address and its length are those of a vector that lives until the call returns.
                #[allow(unsafe_code, reason = "an address of any family is but bytes")]
                let done = unsafe { libc::connect(self.socket.as_raw_fd(), bytes.as_ptr().cast(), length) };
                if done == 0 { Ok(()) } else { Err(last_error()) }
            }
        }
    }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// The socket's file, if it is one of those that are allowed. What has a name and no file has none.
fn file(path: &[u8], task: &CallingTask, allowed: &[PathBuf]) -> Result<OwnedFd, Errno> {
    let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
    if end == 0 {
        return Err(Errno::ACCESS);
    }
    let target = CallTarget {
        at: i64::from(libc::AT_FDCWD).cast_unsigned(),
        path: None,
        follows: true,
        may_be_empty: false,
    };
    let handle = task.open_path(&path[..end], &target)?;
    let status = fstat(&handle)?;
    if FileType::from_raw_mode(status.st_mode) != FileType::Socket {
        return Err(Errno::CONNREFUSED);
    }
    // A second name of somebody else's socket may be put into a folder that commands write.
    if status.st_nlink != 1 {
        return Err(Errno::ACCESS);
    }
    let lies_at =
        fs::read_link(format!("/proc/self/fd/{}", handle.as_raw_fd())).map_err(|_| Errno::ACCESS)?;
    let is_allowed = allowed.iter().any(|place| lies_at.starts_with(place));
    if is_allowed { Ok(handle) } else { Err(Errno::ACCESS) }
}

/// The process of a thread.
fn process_of(task: &CallingTask) -> Result<Pid, Errno> {
    let status = task.status()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:")).ok_or(Errno::SRCH)?;
    line.trim().parse().ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)
}
