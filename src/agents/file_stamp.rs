//! Is a file still what it was when it was read?

use std::{
    fs::{self, Metadata},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use sys::clock::file_time;

/// What tells one state of a file or folder from another without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentFileStamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl AgentFileStamp {
    /// Of what a path leads to; `None` when it leads nowhere.
    pub fn of(path: &Path) -> Option<AgentFileStamp> {
        fs::metadata(path).ok().as_ref().map(AgentFileStamp::in_metadata)
    }

    pub fn in_metadata(metadata: &Metadata) -> AgentFileStamp {
        AgentFileStamp {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// True if a change from now on would make another stamp. Two changes within one leap of the system's clock have one.
    pub fn is_settled(&self) -> bool {
        self.changed < file_time()
    }
}

/// A path of which nobody tells when it leads elsewhere: a link, another name of a file, the folder that all else is below.
#[derive(Debug)]
pub struct UnwatchedPath {
    path: PathBuf,
    seen: Option<AgentFileStamp>,
    was_settled: bool,
}

impl UnwatchedPath {
    /// As it was seen before anything below it was read.
    pub fn new(path: PathBuf, seen: Option<AgentFileStamp>) -> UnwatchedPath {
        let was_settled = seen.is_none_or(|stamp| stamp.is_settled());
        UnwatchedPath { path, seen, was_settled }
    }

    /// True if it surely leads to what it led to.
    pub fn is_as_it_was(&self) -> bool {
        self.was_settled && AgentFileStamp::of(&self.path) == self.seen
    }
}
