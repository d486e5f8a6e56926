//! Files that only root, or another user of the system's own, can change: no agent of this daemon has written them, wherever it worked.
//!
//! The answer is a strict one. Wherever it cannot surely be told, a file counts as one that this user can change.

use std::{
    ffi::CString,
    os::fd::{AsRawFd as _, OwnedFd},
    path::{Component, Path},
};

use rustix::{
    fs::{CWD, FileType, Mode, OFlags, Stat, fstat, fstatfs, getxattr_query, major, minor, openat},
    io::Errno,
    process::{geteuid, getuid},
    thread::capabilities,
};

/// Writable by the group, or by others. With a list of rights beside them (acl(5)) those of the group are the most that it can give.
const BY_OTHERS: u32 = 0o022;

/// Users from here on are people (useradd(8), `UID_MIN`).
const FIRST_PERSON: u32 = 1000;

/// File systems of which the kernel of this machine alone says who may write (statfs(2)); not those of a network or of a program.
const LOCAL_FILE_SYSTEMS: &[u32] = &[
    0xEF53,      // ext2, ext3, ext4
    0x5846_5342, // XFS
    0x9123_683E, // Btrfs
    0xF2F5_2010, // F2FS
    0x2FC1_2FC1, // ZFS
    0xCA45_1A4E, // bcachefs
    0x7371_7368, // SquashFS
    0xE0F5_E1E2, // EROFS
    0x794C_7630, // overlay
    0x0102_1994, // tmpfs
];

/// The user of this process, as far as it says which files the process can change.
#[derive(Debug, Clone, Copy)]
pub struct FileOwner {
    /// The effective and the real user.
    uids: [u32; 2],
    /// True if rights beside those of a usual user are, or can be, in force.
    is_mighty: bool,
}

impl FileOwner {
    /// A person who is not root, and whom no file belongs to.
    #[cfg(test)]
    pub(crate) const PERSON: FileOwner = FileOwner { uids: [4321, 4321], is_mighty: false };

    #[cfg(test)]
    pub(crate) const ROOT: FileOwner = FileOwner { uids: [0, 0], is_mighty: false };

    pub fn of_process() -> FileOwner {
        // What cannot be asked may be anything.
        let is_mighty = capabilities(None).map_or(true, |sets| !(sets.effective | sets.permitted).is_empty());
        FileOwner { uids: [geteuid().as_raw(), getuid().as_raw()], is_mighty }
    }

    /// True of a file that is there and that others alone can change, or exchange by any folder above it. `path`: absolute, without links but
    /// for the last, which may be one itself. Never of a folder: what it holds is a question of its own. Always false for root. Blocks on the
    /// file system.
    pub fn cannot_change(self, path: &Path) -> bool {
        self.kind_beyond(path).is_some_and(|kind| kind != FileType::Directory)
    }

    /// The same of a folder or a file.
    pub(crate) fn cannot_exchange(self, path: &Path) -> bool {
        self.kind_beyond(path).is_some()
    }

    fn kind_beyond(self, path: &Path) -> Option<FileType> {
        if self.is_mighty || self.uids.contains(&0) {
            return None;
        }
        let mut parts = path.components();
        if parts.next() != Some(Component::RootDir) {
            return None;
        }
        let mut at = opened(CWD, Path::new("/"))?;
        let mut kind = self.closed_kind(&at)?;
        for part in parts {
            let Component::Normal(name) = part else { return None };
            if kind != FileType::Directory {
                return None;
            }
            at = opened(&at, Path::new(name))?;
            kind = self.closed_kind(&at)?;
        }
        Some(kind)
    }

    /// The kind of an open file if this user cannot change it: a folder, a usual file, a link, or the one that swallows what is written.
    fn closed_kind(self, file: &OwnedFd) -> Option<FileType> {
        let found = fstat(file).ok()?;
        let kind = FileType::from_raw_mode(found.st_mode);
        if self.uids.contains(&found.st_uid) || FIRST_PERSON <= found.st_uid {
            return None;
        }
        let is_closed = match kind {
            FileType::Directory | FileType::RegularFile => {
                found.st_mode & BY_OTHERS == 0 && is_local(file) && !has_list(file)
            }
            // Its rights say nothing, and nobody writes into it: it can only be exchanged in its folder.
            FileType::Symlink => is_local(file),
            FileType::CharacterDevice => is_null(&found),
            _ => false,
        };
        is_closed.then_some(kind)
    }
}

fn opened(folder: impl std::os::fd::AsFd, name: &Path) -> Option<OwnedFd> {
    openat(folder, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// `/dev/null` (null(4)).
fn is_null(found: &Stat) -> bool {
    (major(found.st_rdev), minor(found.st_rdev)) == (1, 3)
}

fn is_local(file: &OwnedFd) -> bool {
    // The word is of another width on other machines; the numbers have 32 bits.
    fstatfs(file).is_ok_and(|found| LOCAL_FILE_SYSTEMS.contains(&(found.f_type as u32)))
}

/// True if a list of rights may stand beside the mode.
fn has_list(file: &OwnedFd) -> bool {
    /// The list itself, and the one that new files of a folder get (acl(5)).
    const LISTS: [&str; 2] = ["system.posix_acl_access", "system.posix_acl_default"];
    // A file that is opened only as a place is asked by its name in `/proc`, which is this very file.
    let Ok(name) = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())) else { return true };
    LISTS.iter().any(|list| {
        let found = getxattr_query(name.as_c_str(), *list);
        !matches!(found, Err(Errno::NODATA | Errno::OPNOTSUPP))
    })
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt as _, chown, symlink},
        path::PathBuf,
    };

    use super::*;

    const PERSON: FileOwner = FileOwner::PERSON;

    /// A folder of root's in one of root's alone, as only root can make it.
    fn folder_of_roots() -> Option<tempfile::TempDir> {
        geteuid().is_root().then(|| tempfile::tempdir_in("/usr").unwrap())
    }

    #[test]
    fn what_root_alone_can_change_is_beyond_the_reach_of_a_person_and_of_no_other() {
        let system = Path::new("/bin/sh").canonicalize().unwrap();
        assert!(PERSON.cannot_change(&system));
        assert!(PERSON.cannot_change(Path::new("/dev/null")));
        let own = tempfile::NamedTempFile::new().unwrap();
        let files =
            [Path::new("/usr"), Path::new("/"), Path::new("/usr/none"), Path::new("bin/sh"), own.path()];
        for path in files {
            assert!(!PERSON.cannot_change(path), "{}", path.display());
        }
        assert!(!PERSON.cannot_change(Path::new("/usr/../bin/sh")));
        for other in [
            FileOwner::ROOT,
            FileOwner { uids: [4321, 0], is_mighty: false },
            FileOwner { is_mighty: true, ..PERSON },
        ] {
            assert!(!other.cannot_change(&system), "{other:?}");
        }
    }

    #[test]
    fn a_file_that_anybody_else_may_change_or_exchange_is_within_reach() {
        let Some(folder) = folder_of_roots() else { return };
        let root = folder.path();
        fs::set_permissions(root, fs::Permissions::from_mode(0o755)).unwrap();
        let path = |name: &str| root.join(name);
        let made = |name: &str| -> PathBuf {
            fs::create_dir_all(path(name).parent().unwrap()).unwrap();
            fs::write(path(name), "x").unwrap();
            fs::set_permissions(path(name), fs::Permissions::from_mode(0o755)).unwrap();
            path(name)
        };
        let kept = made("kept");
        assert!(PERSON.cannot_change(&kept));
        // Of another service it is none of this user's; of another person it might be.
        chown(&kept, Some(33), None).unwrap();
        assert!(PERSON.cannot_change(&kept));
        for owner in [4321, 1000, 65534] {
            chown(&kept, Some(owner), None).unwrap();
            assert!(!PERSON.cannot_change(&kept), "{owner}");
        }
        for mode in [0o775, 0o757, 0o646] {
            let open = made(&format!("open{mode:o}"));
            fs::set_permissions(&open, fs::Permissions::from_mode(mode)).unwrap();
            assert!(!PERSON.cannot_change(&open), "{mode:o}");
        }
        // By a folder above it.
        let below = made("a/b/below");
        assert!(PERSON.cannot_change(&below));
        fs::set_permissions(path("a"), fs::Permissions::from_mode(0o1777)).unwrap();
        assert!(!PERSON.cannot_change(&below));
        fs::set_permissions(path("a"), fs::Permissions::from_mode(0o755)).unwrap();
        chown(path("a"), Some(4321), None).unwrap();
        assert!(!PERSON.cannot_change(&below));
        // A link is its folder's; where it leads is asked of that.
        symlink("/nowhere", path("link")).unwrap();
        assert!(PERSON.cannot_change(&path("link")));
        assert!(!PERSON.cannot_change(&path("link/x")));
        let pipe = path("pipe");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert!(!PERSON.cannot_change(&pipe));
    }

    #[test]
    fn a_list_of_rights_makes_a_file_one_that_can_be_changed() {
        let Some(folder) = folder_of_roots() else { return };
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let file = folder.path().join("listed");
        fs::write(&file, "x").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(PERSON.cannot_change(&file));
        // As acl(5) has it since Linux 2.4: version 2; the owner, one more user, the group, the mask, others.
        let entry = |tag: u16, rights: u16, id: u32| {
            [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat()
        };
        let none = u32::MAX;
        let entries = [(1, 6, none), (2, 4, 4321), (4, 4, none), (16, 4, none), (32, 4, none)];
        let list: Vec<u8> = 2u32
            .to_le_bytes()
            .into_iter()
            .chain(entries.into_iter().flat_map(|(tag, rights, id)| entry(tag, rights, id)))
            .collect();
        let flags = rustix::fs::XattrFlags::empty();
        match rustix::fs::setxattr(&file, "system.posix_acl_access", &list, flags) {
            // This file system knows none.
            Err(Errno::OPNOTSUPP) => return,
            set => set.unwrap(),
        }
        assert!(!PERSON.cannot_change(&file));
    }
}
