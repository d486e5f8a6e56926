//! Where does a path lead, also when it leads nowhere yet?

use std::{
    ffi::OsString,
    os::unix::ffi::OsStringExt as _,
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{CWD, readlinkat},
    io::Errno,
};

/// Linux itself gives up after so many links in one path.
pub const MAX_LINKS: usize = 40;

/// The way that the kernel would take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedPath {
    /// Without links, as far as there is anything.
    pub end: PathBuf,
    /// The links that were followed, each without links in its own path.
    pub links: Vec<PathBuf>,
}

impl ResolvedPath {
    /// Of an absolute path. What is not there, or cannot be looked at, has no links.
    pub fn to(path: &Path) -> ResolvedPath {
        let mut way = ResolvedPath { end: PathBuf::from("/"), links: Vec::new() };
        let mut pending = Vec::new();
        push(&mut pending, path);
        let mut is_there = true;
        while let Some(part) = pending.pop() {
            if part == ".." {
                way.end.pop();
                continue;
            }
            let candidate = way.end.join(part);
            let target = if is_there { readlinkat(CWD, &candidate, Vec::new()) } else { Err(Errno::NOENT) };
            match target {
                Ok(target) if way.links.len() < MAX_LINKS => {
                    let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                    if target.is_absolute() {
                        way.end = PathBuf::from("/");
                    }
                    push(&mut pending, &target);
                    way.links.push(candidate);
                }
                // No link.
                Err(Errno::INVAL) => way.end = candidate,
                // A ring of links leads nowhere, and each of it was told.
                Ok(_) | Err(_) => {
                    is_there = false;
                    way.end = candidate;
                }
            }
        }
        way
    }
}

fn push(pending: &mut Vec<OsString>, path: &Path) {
    let part = |component: Component<'_>| match component {
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        Component::ParentDir => Some(OsString::from("..")),
        Component::Normal(name) => Some(name.to_owned()),
    };
    pending.extend(path.components().filter_map(part).collect::<Vec<_>>().into_iter().rev());
}
