//! How is something put aside that other programs would run by itself?

use std::{
    fs, io,
    os::fd::{AsRawFd as _, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::fs::{AtFlags, FileType, statat, unlinkat};

use super::super::states::{AutorunFileState, LONGEST, PlaceState};
use crate::repositories::{folder_at, rename_aside, write_in};
use sys::guarded::ASIDE;

/// Entries of one name that lie aside. A further one takes the place of the last.
const MOST_ASIDE: usize = 10;
/// Bytes that are compared with those of an entry that lies aside.
const MOST_COMPARED: u64 = 4 * LONGEST;

/// Renames an entry and puts what was there in its place. Answers its new name.
pub(super) fn aside(path: &Path, before: Option<&AutorunFileState>) -> io::Result<Option<String>> {
    let (Some(above), Some(name)) = (path.parent().and_then(folder_at), path.file_name()) else {
        return match fs::symlink_metadata(path) {
            Ok(_) => Err(io::Error::other("a link leads there, so do it yourself")),
            Err(_) => Ok(None),
        };
    };
    let name = name.to_str().ok_or_else(|| io::Error::other("its name is no text"))?;
    let Some(aside) = rename_aside(&above, name, ASIDE)? else { return Ok(None) };
    let aside = settled(&above, name, aside)?;
    match before {
        None => (),
        Some(AutorunFileState::Link(to)) => rustix::fs::symlinkat(to, &above, name)?,
        Some(AutorunFileState::File { bytes: Some(bytes), mode, .. }) => {
            write_in(&above, name, bytes, *mode)?
        }
        Some(AutorunFileState::File { bytes: None, .. }) => {
            return Err(io::Error::other(format!(
                "it lies there as `{aside}`, and what was there was not kept"
            )));
        }
    }
    Ok(Some(aside))
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
    use super::*;

    #[test]
    fn the_same_lies_aside_once_and_others_are_few() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let put = |text: &str| {
            fs::write(root.join("file"), text).unwrap();
            fs::create_dir_all(root.join("folder/below")).unwrap();
            fs::write(root.join("folder/below/file"), text).unwrap();
            ["file", "folder"].map(|name| aside(&root.join(name), None).unwrap().unwrap())
        };
        for _ in 0..3 {
            assert_eq!(put("one"), ["file.not-run-0", "folder.not-run-0"]);
        }
        assert_eq!(put("two"), ["file.not-run-1", "folder.not-run-1"]);
        assert_eq!(put("one"), ["file.not-run-0", "folder.not-run-0"]);
        for number in 0..20 {
            put(&format!("other {number}"));
        }
        assert_eq!(fs::read_dir(&root).unwrap().count(), 2 * MOST_ASIDE);
        assert_eq!(fs::read_to_string(root.join("file.not-run-9")).unwrap(), "other 19");
        assert_eq!(fs::read_to_string(root.join("folder.not-run-9/below/file")).unwrap(), "other 19");
    }
}
