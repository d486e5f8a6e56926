//! What lies in a folder that is held open? In it no link is followed.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read as _, Write as _},
    os::fd::{AsFd as _, AsRawFd as _, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{
        AtFlags, FileType, Mode, OFlags, RenameFlags, fstat, openat, readlinkat, renameat, renameat_with,
        statat,
    },
    io::Errno,
};

use sys::{
    guarded::{FileIdentity, open_without_links},
    ids,
};

/// Bytes that git reads of a `HEAD` before it looks at it (git's setup.c, `validate_headref`).
const READ_OF_HEAD: u64 = 255;
/// Numbered names under which something is put aside, at most; from there on they cannot be guessed, so nobody takes them first.
const MOST_NUMBERED: u32 = 100;
/// Names that cannot be guessed that are tried.
const MOST_UNGUESSED: u32 = 4;
/// It stands in a name under which something was put aside.
pub const ASIDE: &str = ".not-by-git-";
pub const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// Bits of a mode by which its owner does anything.
const OF_OWNER: u32 = 0o700;
const ALL_BITS: u32 = 0o7777;

/// A handle in which names are looked up and made.
pub fn folder_at(path: &Path) -> Option<OwnedFd> {
    openat(open_without_links(path).ok()?, ".", FOLDER, Mode::empty()).ok()
}

pub fn folder_in(folder: &OwnedFd, name: &str) -> Option<OwnedFd> {
    openat(folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()).ok()
}

/// The kind of an entry, links as such.
pub fn kind_in(folder: &OwnedFd, name: &str) -> Option<FileType> {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok().map(|it| FileType::from_raw_mode(it.st_mode))
}

pub fn id_in(folder: &OwnedFd, name: &str) -> Option<FileIdentity> {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok().map(|it| FileIdentity::of_stat(&it))
}

pub fn link_in(folder: &OwnedFd, name: &str) -> Option<Vec<u8>> {
    readlinkat(folder, name, Vec::new()).ok().map(|link| link.into_bytes())
}

/// A regular file.
pub fn file_in(folder: &OwnedFd, name: &str) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::empty()).ok()?;
    let found = fstat(file.as_fd()).ok()?;
    (FileType::from_raw_mode(found.st_mode) == FileType::RegularFile).then(|| File::from(file))
}

/// All bytes of a regular file, if there are no more.
pub fn bytes_in(folder: &OwnedFd, name: &str, most: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    file_in(folder, name)?.take(most + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= most).then_some(bytes)
}

pub fn text_in(folder: &OwnedFd, name: &str, most: u64) -> Option<String> {
    bytes_in(folder, name, most).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The bytes that git may take for a `HEAD` (gitrepository-layout(5)), as far as it reads that: whatever is a file of this name, and of old a link
/// to a reference. Which texts git goes by is not said here a second time.
pub fn head_in(folder: &OwnedFd) -> Option<Vec<u8>> {
    if kind_in(folder, "HEAD")? == FileType::Symlink {
        let link = link_in(folder, "HEAD")?;
        return link.starts_with(b"refs/").then(|| [b"ref: ".as_slice(), &link, b"\n"].concat());
    }
    let mut bytes = Vec::new();
    file_in(folder, "HEAD")?.take(READ_OF_HEAD).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// A `HEAD` as git itself writes it, byte for byte: in any version of git it is one.
pub fn sure_head_in(folder: &OwnedFd) -> Option<Vec<u8>> {
    let text = match kind_in(folder, "HEAD")? {
        FileType::Symlink => head_in(folder)?,
        _ => bytes_in(folder, "HEAD", READ_OF_HEAD)?,
    };
    let line = text.strip_suffix(b"\n").unwrap_or(&text);
    let is_plain = |byte: &u8| byte.is_ascii_graphic() || !byte.is_ascii();
    let is_reference = line
        .strip_prefix(b"ref: ")
        .is_some_and(|name| name.starts_with(b"refs/") && name.iter().all(is_plain));
    let is_commit = [40, 64].contains(&line.len()) && line.iter().all(u8::is_ascii_hexdigit);
    (is_reference || is_commit).then_some(text)
}

/// True if git may take a folder for a repository, or will once what its links lead to is there.
pub fn is_taken(folder: &OwnedFd) -> bool {
    let has = |name: &str| kind_in(folder, name).is_some();
    head_in(folder).is_some() && (has("commondir") || (has("objects") && has("refs")))
}

/// The mode of an entry that is no link.
pub fn mode_in(folder: &OwnedFd, name: &str) -> Option<u32> {
    let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    (FileType::from_raw_mode(found.st_mode) != FileType::Symlink).then_some(found.st_mode & ALL_BITS)
}

pub fn mode_of(folder: &OwnedFd) -> u32 {
    fstat(folder).map_or(0, |found| found.st_mode & ALL_BITS)
}

/// True if its owner could do more before.
pub fn is_closed_since(before: u32, now: u32) -> bool {
    before & OF_OWNER & !now != 0
}

/// Gives an entry that is no link its mode again.
pub fn set_mode_in(folder: &OwnedFd, name: &str, mode: u32) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let entry = openat(folder, name, flags, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&entry)?.st_mode) == FileType::Symlink {
        return Ok(());
    }
    Ok(rustix::fs::chmod(path_of(&entry), Mode::from_raw_mode(mode))?)
}

/// A path to something that is held, wherever it is by now.
fn path_of(held: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()))
}

/// Under a name beside it, of which git knows nothing: what a command wrote may be somebody's work. Of a folder also what git would take it
/// for a repository by: the person is told its name, and may look into it.
pub fn put_aside(folder: &OwnedFd, name: &str) -> io::Result<()> {
    let Some(aside) = rename_aside(folder, name, ASIDE)?.and_then(|aside| folder_in(folder, &aside)) else {
        return Ok(());
    };
    for name in ["HEAD", ".git"].into_iter().filter(|name| kind_in(&aside, name).is_some()) {
        rename_aside(&aside, name, ASIDE)?;
    }
    Ok(())
}

/// Renames an entry to a name with `infix` behind its own that is not there yet. Answers that; `None` = there was nothing.
pub fn rename_aside(folder: &OwnedFd, name: &str, infix: &str) -> io::Result<Option<String>> {
    rename_into((folder, OsStr::new(name)), (folder, name), infix)
}

/// Renames an entry into a folder, to this name there with `infix` behind it and something that makes it new. Answers that; `None` = there was
/// nothing.
pub fn rename_into(
    (from, entry): (&OwnedFd, &OsStr),
    (to, name): (&OwnedFd, &str),
    infix: &str,
) -> io::Result<Option<String>> {
    let numbered = (0..MOST_NUMBERED).map(|number| number.to_string());
    let others = (0..MOST_UNGUESSED).map(|_| ids::fresh::<String>());
    for end in numbered.chain(others) {
        let aside = format!("{name}{infix}{end}");
        match renameat_with(from, entry, to, &aside, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(Some(aside)),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::EXIST) => (),
            // File systems without it: a name that nobody can guess was never there.
            Err(Errno::INVAL | Errno::NOSYS) => {
                let aside = format!("{name}{infix}{}", ids::fresh::<String>());
                renameat(from, entry, to, &aside)?;
                return Ok(Some(aside));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::other("there is no name for it there"))
}

/// Makes it anew, in place of what is there.
pub fn again(folder: &OwnedFd, name: &str, make: impl FnOnce(&OwnedFd) -> io::Result<()>) -> io::Result<()> {
    if kind_in(folder, name).is_some() {
        put_aside(folder, name)?;
    }
    make(folder)
}

pub fn write_in(folder: &OwnedFd, name: impl AsRef<OsStr>, bytes: &[u8], mode: u32) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(folder, name.as_ref(), flags, Mode::from_raw_mode(mode))?;
    File::from(file).write_all(bytes)
}

/// Renames what is held back to its name in a folder, if it lies below one of these roots by now. False if it is not there any more.
pub fn bring_back(held: &OwnedFd, roots: &[PathBuf], folder: &OwnedFd, name: &str) -> io::Result<bool> {
    let Ok(path) = fs::read_link(path_of(held)) else { return Ok(false) };
    let (Some(above), Some(there)) = (path.parent(), path.file_name()) else { return Ok(false) };
    if !roots.iter().any(|root| path.starts_with(root)) {
        return Ok(false);
    }
    let Ok(above) = open_without_links(above) else { return Ok(false) };
    let found = statat(&above, there, AtFlags::SYMLINK_NOFOLLOW);
    if !found.is_ok_and(|found| fstat(held).is_ok_and(|held| same(&found, &held))) {
        return Ok(false);
    }
    again(folder, name, |folder| Ok(renameat(&above, there, folder, name)?))?;
    Ok(true)
}

fn same(one: &rustix::fs::Stat, other: &rustix::fs::Stat) -> bool {
    FileIdentity::of_stat(one) == FileIdentity::of_stat(other)
}
