//! Where is something put that other programs would run by themselves, so that none does?
//!
//! Not beside where it was: some programs read all files of a folder, whatever they are called. At the top of the workspace is a folder of which
//! no program knows, and in it nothing has the name, or lies in a folder of the name, by which a program would look for it.

use std::{
    ffi::OsStr,
    fs, io,
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::fs::MetadataExt as _,
    },
    path::{Path, PathBuf},
};

use rustix::fs::{AtFlags, FileType, Mode, mkdirat, statat, unlinkat};

use super::super::{
    ASIDE_FOLDER as FOLDER,
    states::{AutorunFileState, LONGEST, PlaceState},
};
use crate::repositories::{folder_at, rename_into, set_mode_in, write_in};
use sys::guarded::{ASIDE, give_back_rights, mode_of};

/// Between the names of a path that stand in one name.
const BETWEEN: &str = "--";
/// Bytes of a path that stand in one name. File systems take names of 255 bytes.
const LONGEST_NAME: usize = 180;
/// Entries of one name that lie aside. A further one takes the place of the last.
const MOST_ASIDE: usize = 10;
/// Bytes that are compared with those of an entry that lies aside.
const MOST_COMPARED: u64 = 4 * LONGEST;
/// Bits of a mode by which a file is run, and by which its owner does anything in a folder.
const RUN: u32 = 0o111;
const OF_OWNER: u32 = 0o700;
const ALL_BITS: u32 = 0o7777;
/// The mode of a copy.
const OF_COPY: u32 = 0o600;

/// Puts an entry below a workspace's folder aside, and what was there in its place. Answers where it lies by now.
pub(super) fn aside(
    root: &Path,
    path: &Path,
    before: Option<&AutorunFileState>,
) -> io::Result<Option<PathBuf>> {
    open_way(root, path);
    let (Some(above), Some(name)) = (path.parent().and_then(folder_at), path.file_name()) else {
        return match fs::symlink_metadata(path) {
            Ok(_) => Err(io::Error::other("a link leads there, so do it yourself")),
            Err(_) => Ok(None),
        };
    };
    let Some(aside) = moved(root, path, (&above, name))? else { return Ok(None) };
    match before {
        None => (),
        Some(AutorunFileState::Link(to)) => rustix::fs::symlinkat(to, &above, name)?,
        Some(AutorunFileState::File { bytes: Some(bytes), mode, .. }) => {
            write_in(&above, name, bytes, *mode)?
        }
        Some(AutorunFileState::File { bytes: None, .. }) => {
            return Err(io::Error::other(format!(
                "it lies as `{}`, and what was there was not kept",
                aside.strip_prefix(root).unwrap_or(&aside).display()
            )));
        }
    }
    Ok(Some(aside))
}

/// Writes a copy of what lies at a path aside. Answers where it lies.
pub(super) fn copied_aside(root: &Path, path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    let (folder, flat) = (folder_in_top(root)?, flat_name(root, path));
    let numbered = |number: usize| format!("{flat}{ASIDE}{number}");
    let is_free = |name: &String| statat(&folder, name.as_str(), AtFlags::SYMLINK_NOFOLLOW).is_err();
    let name = match (0..MOST_ASIDE).map(numbered).find(is_free) {
        Some(name) => name,
        None => {
            let last = numbered(MOST_ASIDE - 1);
            unlinkat(&folder, last.as_str(), AtFlags::empty())?;
            last
        }
    };
    write_in(&folder, &name, bytes, OF_COPY)?;
    Ok(root.join(FOLDER).join(name))
}

/// Gives the owner of each folder between a workspace's folder and a path the rights back without which nothing is moved there. No link is
/// followed.
fn open_way(root: &Path, path: &Path) {
    let between: Vec<&Path> = path.ancestors().skip(1).take_while(|folder| *folder != root).collect();
    for folder in between.into_iter().rev() {
        let given = mode_of(folder).and_then(|mode| give_back_rights(folder, mode | OF_OWNER));
        if let Err(error) = given {
            tracing::debug!(%error, folder = %folder.display(), "the rights to a folder cannot be given back");
            return;
        }
    }
}

/// Moves an entry, and takes the rights to run it. Answers where it lies by now.
fn moved(root: &Path, path: &Path, (above, name): (&OwnedFd, &OsStr)) -> io::Result<Option<PathBuf>> {
    let top = top_of(root, path);
    let flat = flat_name(top, path);
    let into_folder = || {
        let folder = folder_in_top(top)?;
        let aside = rename_into((above, name), (&folder, &flat), ASIDE)?;
        io::Result::Ok(aside.map(|aside| top.join(FOLDER).join(put_in_order(&folder, &flat, aside))))
    };
    // Where no such folder can be made, or it lies in another file system, another name is better than none.
    into_folder().or_else(|error| {
        let name = name.to_str().ok_or(error)?;
        let aside = rename_into((above, OsStr::new(name)), (above, name), ASIDE)?;
        Ok(aside.map(|aside| path.with_file_name(put_in_order(above, name, aside))))
    })
}

/// Sees to it that it is not run by its new name, and that there are few like it. Answers its name by then. It is out of the way in any case.
fn put_in_order(folder: &OwnedFd, name: &str, aside: String) -> String {
    if let Err(error) = take_run(folder, &aside) {
        tracing::warn!(%error, aside, "the rights to run what was put aside cannot be taken");
    }
    settled(folder, name, aside.clone()).unwrap_or(aside)
}

/// The highest folder between a workspace's folder and a path in the file system in which the path lies.
fn top_of<'a>(root: &'a Path, path: &'a Path) -> &'a Path {
    let device = |path: &Path| fs::symlink_metadata(path).ok().map(|found| found.dev());
    let here = path.parent().and_then(device);
    let folders = path.ancestors().skip(1).take_while(|folder| folder.starts_with(root));
    folders.take_while(|folder| device(folder) == here).last().unwrap_or(root)
}

/// A path below a folder, in one name.
fn flat_name(top: &Path, path: &Path) -> String {
    let below = path.strip_prefix(top).unwrap_or(path);
    let names: Vec<_> = below.iter().map(|name| name.to_string_lossy()).collect();
    let mut flat = names.join(BETWEEN);
    flat.truncate(flat.floor_char_boundary(LONGEST_NAME));
    flat
}

/// The folder for what is put aside; a command may have put something else there, or taken the owner's rights to it.
fn folder_in_top(top: &Path) -> io::Result<OwnedFd> {
    let above = folder_at(top).ok_or_else(|| io::Error::other("its folder cannot be opened"))?;
    let kind = || statat(&above, FOLDER, AtFlags::SYMLINK_NOFOLLOW).ok();
    let is_folder = |mode: u32| FileType::from_raw_mode(mode) == FileType::Directory;
    if kind().is_some_and(|found| !is_folder(found.st_mode)) {
        rename_into((&above, OsStr::new(FOLDER)), (&above, FOLDER), ASIDE)?;
    }
    match kind() {
        None => mkdirat(&above, FOLDER, Mode::RWXU)?,
        Some(found) if found.st_mode & OF_OWNER != OF_OWNER => {
            set_mode_in(&above, FOLDER, found.st_mode & ALL_BITS | OF_OWNER)?;
        }
        Some(_) => (),
    }
    folder_at(&top.join(FOLDER)).ok_or_else(|| io::Error::other("the folder for it cannot be opened"))
}

/// Takes the rights to run a file, unless it has another name: then they are not this name's alone.
fn take_run(folder: &OwnedFd, name: &str) -> io::Result<()> {
    let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
    match is_file && found.st_nlink == 1 && found.st_mode & RUN != 0 {
        true => set_mode_in(folder, name, found.st_mode & ALL_BITS & !RUN),
        false => Ok(()),
    }
}

/// The name of what was just put aside: another one where the same lies there already, or as many as may. Repeats are to fill no folder.
fn settled(above: &OwnedFd, name: &str, aside: String) -> io::Result<String> {
    let numbered = |number: usize| format!("{name}{ASIDE}{number}");
    let path = |name: &str| PathBuf::from(format!("/proc/self/fd/{}", above.as_raw_fd())).join(name);
    let others: Vec<String> = (0..MOST_ASIDE).map(numbered).filter(|other| *other != aside).collect();
    if let Some(same) = others.iter().find(|other| is_same(&path(&aside), &path(other))) {
        remove(above, &aside, &path(&aside))?;
        return Ok(same.clone());
    }
    let last = numbered(MOST_ASIDE - 1);
    let is_one_of_few = (0..MOST_ASIDE).any(|number| aside == numbered(number));
    if is_one_of_few {
        return Ok(aside);
    }
    remove(above, &last, &path(&last))?;
    rustix::fs::renameat(above, &aside, above, &last)?;
    Ok(last)
}

fn remove(above: &OwnedFd, name: &str, path: &Path) -> io::Result<()> {
    let found = statat(above, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(found.st_mode) {
        FileType::Directory => fs::remove_dir_all(path),
        _ => Ok(unlinkat(above, name, AtFlags::empty())?),
    }
}

/// True if both are the same links and files of the same bytes and modes.
fn is_same(one: &Path, other: &Path) -> bool {
    let kind = |path: &Path| fs::symlink_metadata(path).ok().map(|found| found.is_dir());
    let (Some(is_folder), Some(other_is)) = (kind(one), kind(other)) else { return false };
    let (mut left, mut other_left) = (MOST_COMPARED, MOST_COMPARED);
    let (one_state, other_state) = (PlaceState::of(one, &mut left), PlaceState::of(other, &mut other_left));
    is_folder == other_is
        && one_state.files.len() == other_state.files.len()
        && !one_state.is_cut
        && one_state.files.iter().all(|(path, state)| {
            let below = path.strip_prefix(one).unwrap_or(path);
            let path = if below.as_os_str().is_empty() { other.to_owned() } else { other.join(below) };
            other_state.files.get(&path).is_some_and(|other| state.has_bytes_of(other))
        })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// To root nobody closes a folder.
    #[test]
    fn a_folder_to_which_its_owner_has_no_rights_gets_them_back() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".claude/agents")).unwrap();
        fs::write(root.join(".claude/agents/x.md"), "evil").unwrap();
        let mode = |name: &str| fs::metadata(root.join(name)).unwrap().permissions().mode() & 0o7777;
        let set = |name: &str, mode: u32| {
            fs::set_permissions(root.join(name), fs::Permissions::from_mode(mode)).unwrap();
        };
        set(".claude/agents", 0o311);
        set(".claude", 0o100);
        assert!(aside(&root, &root.join(".claude/agents/x.md"), None).unwrap().is_some());
        assert_eq!((mode(".claude"), mode(".claude/agents")), (0o700, 0o711));
        // Behind a link nothing is given to anybody.
        fs::create_dir(root.join("elsewhere")).unwrap();
        fs::write(root.join("elsewhere/x"), "evil").unwrap();
        set("elsewhere", 0o511);
        symlink("elsewhere", root.join(".husky")).unwrap();
        assert!(aside(&root, &root.join(".husky/x"), None).is_err());
        assert_eq!(mode("elsewhere"), 0o511);
    }

    #[test]
    fn the_same_lies_aside_once_and_others_are_few() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let put = |text: &str| {
            fs::write(root.join("file"), text).unwrap();
            fs::create_dir_all(root.join("folder/below")).unwrap();
            fs::write(root.join("folder/below/file"), text).unwrap();
            ["file", "folder"].map(|name| {
                let aside = aside(&root, &root.join(name), None).unwrap().unwrap();
                aside.strip_prefix(root.join(FOLDER)).unwrap().to_str().unwrap().to_owned()
            })
        };
        for _ in 0..3 {
            assert_eq!(put("one"), ["file.not-run-0", "folder.not-run-0"]);
        }
        assert_eq!(put("two"), ["file.not-run-1", "folder.not-run-1"]);
        assert_eq!(put("one"), ["file.not-run-0", "folder.not-run-0"]);
        for number in 0..20 {
            put(&format!("other {number}"));
        }
        let there = root.join(FOLDER);
        assert_eq!(fs::read_dir(&there).unwrap().count(), 2 * MOST_ASIDE);
        assert_eq!(fs::read_to_string(there.join("file.not-run-9")).unwrap(), "other 19");
        assert_eq!(fs::read_to_string(there.join("folder.not-run-9/below/file")).unwrap(), "other 19");
        assert_eq!(fs::read_dir(&root).unwrap().count(), 1, "nothing lies beside it");
    }

    #[test]
    fn no_name_and_nothing_in_its_way_keeps_something_from_being_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let agents = root.join(".claude/agents");
        fs::create_dir_all(&agents).unwrap();
        // Where a program would read it, were it followed.
        symlink(".claude/agents", root.join(FOLDER)).unwrap();
        let long = "l".repeat(250) + ".md";
        let odd = std::ffi::OsString::from(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"a\xff.md"));
        for name in [OsStr::new(&long), &odd, OsStr::new("x.md")] {
            fs::write(agents.join(name), "evil").unwrap();
            fs::set_permissions(agents.join(name), fs::Permissions::from_mode(0o755)).unwrap();
            let aside = aside(&root, &agents.join(name), None).unwrap().unwrap();
            assert!(aside.starts_with(root.join(FOLDER)) && !agents.join(name).exists());
            let found = fs::symlink_metadata(&aside).unwrap();
            assert_eq!(found.permissions().mode() & 0o777, 0o644);
            fs::set_permissions(root.join(FOLDER), fs::Permissions::from_mode(0o000)).unwrap();
        }
        assert_eq!(fs::read_dir(&agents).unwrap().count(), 0);
        assert!(fs::symlink_metadata(root.join(FOLDER)).unwrap().is_dir());
        assert_eq!(fs::read_link(root.join(".not-run.not-run-0")).unwrap(), Path::new(".claude/agents"));
        fs::set_permissions(root.join(FOLDER), fs::Permissions::from_mode(0o700)).unwrap();
        assert!(root.join(FOLDER).join(".claude--agents--x.md.not-run-0").exists());
    }
}
