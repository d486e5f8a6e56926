//! What the system says about this process.

use std::{fs, io, os::unix::fs::MetadataExt as _};

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
