//! Under which other paths is the same file shown? (proc(5), `mountinfo`)
//!
//! A file system can be mounted more than once, whole or from a folder on; btrfs names its parts by paths from the same
//! root. What an overlay shows is another file system's to the kernel, and is not found.

use std::{
    collections::HashMap,
    ffi::OsString,
    fs::File,
    io,
    os::unix::{ffi::OsStringExt as _, fs::FileExt as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::FileIdentity;

/// Paths of which it is kept where else they are shown, at most; then all are looked up again.
const MOST_KNOWN: usize = 4_096;

/// Further paths of a path, each with whether only a part of what lies there is shown.
type FurtherPaths = Arc<[(PathBuf, bool)]>;

/// The mounts that this process sees.
#[derive(Debug, Default)]
pub struct MountList {
    /// In the order in which they were made.
    all: Vec<Mount>,
    /// Where else paths are shown, of those that were asked for: each command asks for the same ones.
    known: Mutex<HashMap<PathBuf, FurtherPaths>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    /// Of the file system: `major:minor`.
    device: Vec<u8>,
    /// The folder or file of the file system that is shown.
    root: PathBuf,
    point: PathBuf,
}

/// Where this process's mounts are read. It stays open, so that a process that has used up its descriptors reads them as well.
#[derive(Debug)]
pub(super) struct MountTable {
    /// `None` without `/proc`, where there is no sandbox either.
    file: Option<File>,
    /// The mounts that were read last, which count where they cannot be read again: to forget them would show what is hidden.
    last: Mutex<Last>,
}

#[derive(Debug, Default)]
struct Last {
    mounts: Arc<MountList>,
    is_current: bool,
}

impl Default for MountTable {
    fn default() -> MountTable {
        MountTable { file: File::open("/proc/self/mountinfo").ok(), last: Mutex::default() }
    }
}

impl MountTable {
    /// The mounts by now.
    pub fn read(&self) -> Arc<MountList> {
        // Nothing panics while it is locked.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = &self.file else { return Arc::clone(&last.mounts) };
        // In this order: what changes while they are read is told the next time.
        let has_changed = has_changed(file);
        if has_changed || !last.is_current {
            match whole(file) {
                Ok(text) => *last = Last { mounts: Arc::new(MountList::of(&text)), is_current: true },
                Err(error) => {
                    last.is_current = false;
                    tracing::warn!(%error, "the mounts cannot be read; those of before count");
                }
            }
        }
        Arc::clone(&last.mounts)
    }
}

/// Whether any mount was made or removed since this was asked last: the kernel tells it as an urgent condition of the file. What
/// cannot be told may have changed.
fn has_changed(file: &File) -> bool {
    let mut asked = [PollFd::new(file, PollFlags::PRI)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut asked, Some(&at_once)) {
        Ok(_) => asked[0].revents().intersects(PollFlags::PRI | PollFlags::ERR),
        Err(_) => true,
    }
}

/// All of a file of `/proc`, from its beginning.
fn whole(file: &File) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut part = vec![0; 64 << 10];
    loop {
        match file.read_at(&mut part, text.len() as u64)? {
            0 => return Ok(text),
            count => text.extend_from_slice(&part[..count]),
        }
    }
}

impl MountList {
    fn of(text: &[u8]) -> MountList {
        let mount = |line: &[u8]| {
            let mut fields = line.split(|byte| *byte == b' ');
            let device = fields.nth(2)?.to_owned();
            Some(Mount { device, root: path(fields.next()?), point: path(fields.next()?) })
        };
        let all = text.split(|byte| *byte == b'\n').filter_map(mount).collect();
        MountList { all, known: Mutex::default() }
    }

    /// Further paths of what lies at a path without links, and of what is shown of it alone.
    pub fn others(&self, path: &Path) -> Vec<PathBuf> {
        let elsewhere = self.shown_elsewhere(path);
        if elsewhere.is_empty() {
            return Vec::new();
        }
        let id = FileIdentity::of(path);
        let is_same = |other: &PathBuf| id.is_some() && FileIdentity::of(other) == id;
        // Another mount may lie over it.
        let is_there =
            |other: &PathBuf, is_part| is_same(other) || is_part && FileIdentity::of(other).is_some();
        let there = elsewhere.iter().filter(|(other, is_part)| is_there(other, *is_part));
        there.map(|(other, _)| other.clone()).collect()
    }

    /// The path itself, and further ones by which the same would come to be.
    pub fn others_of_missing(&self, path: &Path) -> Vec<PathBuf> {
        let mut paths = vec![path.to_owned()];
        let elsewhere = self.shown_elsewhere(path);
        if elsewhere.is_empty() {
            return paths;
        }
        let above = path.ancestors().skip(1).find_map(|folder| Some((folder, FileIdentity::of(folder)?)));
        let Some((above, id)) = above else { return paths };
        let missing = path.iter().count() - above.iter().count();
        // Another mount may lie over what would be above it there.
        let is_same = |other: &Path| other.ancestors().nth(missing).and_then(FileIdentity::of) == Some(id);
        let same = elsewhere.iter().filter(|(other, is_part)| !is_part && is_same(other));
        paths.extend(same.map(|(other, _)| other.clone()));
        paths
    }

    /// Further paths of what lies at a path without links, as the mounts have it: another mount may lie over one.
    pub fn aliases(&self, path: &Path) -> Vec<PathBuf> {
        let whole = self.shown_elsewhere(path);
        whole.iter().filter(|(_, is_part)| !is_part).map(|(other, _)| other.clone()).collect()
    }

    /// Where other mounts would show it, and whether they show a part of it alone.
    fn shown_elsewhere(&self, path: &Path) -> FurtherPaths {
        // Nothing panics while it is locked.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(elsewhere) = known.get(path) {
            return Arc::clone(elsewhere);
        }
        if MOST_KNOWN <= known.len() {
            known.clear();
        }
        let elsewhere: Arc<[_]> = self.find_elsewhere(path).into();
        known.insert(path.to_owned(), Arc::clone(&elsewhere));
        elsewhere
    }

    fn find_elsewhere(&self, path: &Path) -> Vec<(PathBuf, bool)> {
        let own = self.all.iter().enumerate().filter(|(_, mount)| path.starts_with(&mount.point));
        // The innermost; of two at one point the later lies over the other.
        let Some((at, own)) = own.max_by_key(|(at, mount)| (mount.point.components().count(), *at)) else {
            return Vec::new();
        };
        let Ok(below) = path.strip_prefix(&own.point) else { return Vec::new() };
        let inner = join(&own.root, below);
        let of_same =
            self.all.iter().enumerate().filter(|(other, mount)| *other != at && mount.device == own.device);
        of_same
            .filter_map(|(_, mount)| match inner.strip_prefix(&mount.root) {
                Ok(rest) => Some((join(&mount.point, rest), false)),
                Err(_) if mount.root.starts_with(&inner) => Some((mount.point.clone(), true)),
                Err(_) => None,
            })
            .filter(|(other, _)| !other.starts_with(path))
            .collect()
    }
}

/// `join("")` would add a slash.
fn join(folder: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() { folder.to_owned() } else { folder.join(rest) }
}

/// Blanks, line ends and backslashes are written as three octal digits.
fn path(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((byte, after)) = rest.split_first() {
        let octal =
            after.get(..3).filter(|_| *byte == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(meant) => {
                bytes.push(meant);
                rest = &after[3..];
            }
            None => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = r"22 1 259:1 / / rw,relatime - ext4 /dev/root rw
30 22 0:40 /@home /home rw - btrfs /dev/sdb rw
31 22 0:40 / /persist\040of\011all rw - btrfs /dev/sdb rw
32 22 0:40 /@home/ada/.keys/one /srv/one rw - btrfs /dev/sdb rw
33 22 0:41 / /proc rw - proc proc rw
34 22 259:1 /var/lib /lib-again rw - ext4 /dev/root rw
";

    fn elsewhere(path: &str) -> Vec<(PathBuf, bool)> {
        MountList::of(MOUNTS.as_bytes()).shown_elsewhere(Path::new(path)).to_vec()
    }

    #[test]
    fn the_same_file_is_found_under_each_mount() {
        let expected = [("/persist of\tall/@home/ada/.keys", false), ("/srv/one", true)]
            .map(|(it, part)| (it.into(), part));
        assert_eq!(elsewhere("/home/ada/.keys"), expected);
        assert_eq!(elsewhere("/var/lib/x"), [("/lib-again/x".into(), false)]);
        assert_eq!(elsewhere("/lib-again/x"), [("/var/lib/x".into(), false)]);
        assert_eq!(elsewhere("/etc"), []);
        assert_eq!(elsewhere("/proc/1"), []);
    }
}
