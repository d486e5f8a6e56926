//! What the system says about this process and those it started.

use std::{
    fs, io,
    os::{fd::OwnedFd, unix::fs::MetadataExt as _},
    process::Child,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags, pidfd_open},
};
use tokio::io::{Interest, unix::AsyncFd};

/// Resident memory in bytes, from `/proc/self/status`; `None` where there is none.
pub fn rss_bytes() -> Option<u64> {
    status_kib("VmRSS:").map(|kib| kib * 1_024)
}

/// Resident memory that no file backs, in bytes.
pub fn rss_anon_bytes() -> Option<u64> {
    status_kib("RssAnon:").map(|kib| kib * 1_024)
}

fn status_kib(field: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// The user this process runs as.
pub fn uid() -> io::Result<u32> {
    Ok(fs::metadata("/proc/self")?.uid())
}

/// Allows this process as many open files as the system lets it have; many systems begin with 1,024, which a few
/// hundred clients would use up.
pub fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // What cannot be raised stays: the daemon works with fewer clients.
    let _stays = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// The answer to: has the process with this number ended? One that nobody has reaped yet has. A process that cannot be
/// seen from here, such as one of another container, has not, and neither has one of which the system does not say.
pub fn has_ended(pid: i32) -> bool {
    let Some(pid) = Pid::from_raw(pid) else { return false };
    match pidfd_open(pid, PidfdFlags::empty()) {
        Err(error) => error == Errno::SRCH,
        // The handle of a process can be read once it has ended.
        Ok(handle) => {
            let mut handle = [PollFd::new(&handle, PollFlags::IN)];
            poll(&mut handle, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
        }
    }
}

/// The end of a child, for whoever waits for it. The child is left to be reaped: until then its number, which may be its
/// group's too, cannot become another's.
pub struct ChildExitWatch(AsyncFd<OwnedFd>);

impl ChildExitWatch {
    /// The child must not have been reaped.
    pub fn of(child: &Child) -> io::Result<ChildExitWatch> {
        let handle = pidfd_open(Pid::from_child(child), PidfdFlags::NONBLOCK)?;
        // Safety: an `OwnedFd` is open for as long as it lives and stays the same one, and nothing takes it out of the
        // `AsyncFd`, which is dropped with this.
        #[allow(unsafe_code, reason = "tokio has no other way to wait for a descriptor of one's own")]
        let end = unsafe { AsyncFd::register_with_interest(handle, Interest::READABLE) };
        Ok(ChildExitWatch(end?))
    }

    /// Completes once the child has ended. Cancel safe.
    pub async fn wait(&self) -> io::Result<()> {
        self.0.readable().await.map(drop)
    }
}

#[cfg(test)]
mod tests;
