//! What changes in folders, and when? Hides inotify (inotify(7)); takes no thread.

use std::{
    ffi::OsStr,
    io,
    mem::MaybeUninit,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::Path,
};

use rustix::{
    fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags},
    io::Errno,
};
use tokio::io::{Interest, unix::AsyncFd};

/// Bytes that are taken from the queue at once: some two hundred notices. The longest needs less than three hundred.
const AT_ONCE: usize = 8 << 10;

/// Tells what changes in folders. What happened before a question is in the queue when the question is asked.
pub struct FolderWatch {
    queue: OwnedFd,
}

/// One folder that is watched, whatever paths lead to it. Numbers do not come again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WatchId(i32);

/// What of a folder is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchScope {
    /// Whatever happens to its entries and what they hold.
    Everything,
    /// What comes into it. A folder that is watched for everything stays so.
    Arrivals,
}

/// What was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderChange<'a> {
    /// Something happened to the entry of this name.
    Entry(WatchId, &'a OsStr),
    /// Something happened to the folder itself.
    Folder(WatchId),
    /// It is not watched any more: it was removed, or nobody wanted it.
    Ended(WatchId),
    /// More happened than the queue holds.
    Lost,
}

impl FolderWatch {
    /// Fails where the system has none left, or none at all.
    pub fn new() -> io::Result<FolderWatch> {
        Ok(FolderWatch { queue: inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)? })
    }

    /// Watches a folder from now on; a link is followed. The same folder has the same id.
    pub fn add(&self, folder: &Path, watched: WatchScope) -> io::Result<WatchId> {
        let arrivals = WatchFlags::CREATE
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR
            | WatchFlags::MASK_ADD;
        let flags = match watched {
            WatchScope::Arrivals => arrivals,
            WatchScope::Everything => {
                arrivals
                    | WatchFlags::MOVED_FROM
                    | WatchFlags::DELETE
                    | WatchFlags::MODIFY
                    | WatchFlags::CLOSE_WRITE
                    | WatchFlags::ATTRIB
            }
        };
        Ok(WatchId(inotify::add_watch(&self.queue, folder, flags)?))
    }

    /// Watches it no more.
    pub fn remove(&self, watch: WatchId) {
        // One that ended by itself is not there any more.
        let _gone = inotify::remove_watch(&self.queue, watch.0);
    }

    /// Tells everything that happened until now, and forgets it. Never waits.
    pub fn take(&self, mut tell: impl FnMut(FolderChange<'_>)) {
        let mut buffer = [MaybeUninit::uninit(); AT_ONCE];
        let mut notices = inotify::Reader::new(&self.queue, &mut buffer);
        loop {
            match notices.next() {
                Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => tell(FolderChange::Lost),
                Ok(event) if event.events().contains(ReadFlags::IGNORED) => {
                    tell(FolderChange::Ended(WatchId(event.wd())));
                }
                Ok(event) => tell(match event.file_name() {
                    Some(name) => {
                        FolderChange::Entry(WatchId(event.wd()), OsStr::from_bytes(name.to_bytes()))
                    }
                    None => FolderChange::Folder(WatchId(event.wd())),
                }),
                Err(Errno::INTR) => (),
                Err(Errno::AGAIN) => return,
                // It cannot be told what was missed.
                Err(_) => return tell(FolderChange::Lost),
            }
        }
    }

    /// What wakes a task when there is something to be told. Within a runtime only.
    pub fn alarm(&self) -> io::Result<WatchWaker> {
        let queue = self.queue.try_clone()?;
        // Safety: an `OwnedFd` is open for as long as it lives and stays the same one, and nothing takes it out of the
        // `AsyncFd`, which is dropped with this.
        #[allow(unsafe_code, reason = "tokio has no other way to wait for a descriptor of one's own")]
        let queue = unsafe { AsyncFd::register_with_interest(queue, Interest::READABLE) };
        Ok(WatchWaker(queue?))
    }
}

/// Wakes a task.
pub struct WatchWaker(AsyncFd<OwnedFd>);

impl WatchWaker {
    /// Completes when something came since the last time. Somebody else may have taken it meanwhile. Cancel safe.
    pub async fn rings(&self) -> io::Result<()> {
        self.0.readable().await?.clear_ready();
        Ok(())
    }
}

/// The reason why the changes below a folder are told by nobody, when they may be made by another machine or program: its file system
/// is shared, or answers from elsewhere.
pub fn is_told_nothing(folder: &Path) -> Option<&'static str> {
    /// Magic numbers of statfs(2).
    const SHARED: [(u64, &str); 8] = [
        (0x6969, "NFS"),
        (0x517B, "SMB"),
        (0xFF53_4D42, "CIFS"),
        (0xFE53_4D42, "SMB"),
        (0x6573_5546, "FUSE"),
        (0x0102_1997, "9P"),
        (0x00C3_6400, "Ceph"),
        (0x5346_414F, "AFS"),
    ];
    // The kernel's numbers have 32 bits, however wide the field is.
    let kind = rustix::fs::statfs(folder).ok()?.f_type as u64 & 0xFFFF_FFFF;
    SHARED.iter().find(|(magic, _)| *magic == kind).map(|(_, name)| *name)
}
