//! Which files of a workspace are start files or settings of the home by a second name?
//!
//! Whoever lays out dotfiles with `ln` instead of `ln -s` has one file in two places: what is written in the repository is what the next
//! shell reads. Nothing in the name of either says so, but the number of the file does.

use std::{
    collections::{BTreeSet, VecDeque},
    fs,
    os::unix::fs::{DirEntryExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use super::{MOST_NAMES, start_files};
use shell::AutorunPlace;

/// Entries of the home, in which a name with a dot is one of a start file or of settings.
const MOST_OF_HOME: usize = 2_000;

const SECOND_NAME: &str = "it is one file with a start file or settings of the home (a hard link), which programs take what they run from";

/// The files below these roots, which are absolute and without links, that are one with a start file or settings of this home. Blocks for some
/// hundred looks at the file system, and for a search of all of the workspace where such a file has a second name: a command could have
/// moved it anywhere, or hidden it among thousands of others.
pub(super) fn second_names<'a>(home: &Path, roots: impl Iterator<Item = &'a Path>) -> Vec<AutorunPlace> {
    let wanted = with_second_names(home);
    if wanted.is_empty() {
        return Vec::new();
    }
    let found = roots.flat_map(|root| named_alike(root, home, &wanted));
    found.map(|path| AutorunPlace { path, why: SECOND_NAME }).collect()
}

/// The devices and numbers of such files of the home that have more than one name.
fn with_second_names(home: &Path) -> BTreeSet<(u64, u64)> {
    let top = fs::read_dir(home).into_iter().flatten().flatten().take(MOST_OF_HOME);
    let dotted =
        top.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b".")).map(|entry| entry.path());
    let files = dotted.chain(start_files::listed_files(home));
    let is = files.filter_map(|file| fs::symlink_metadata(file).ok());
    is.filter(|is| is.is_file() && 1 < is.nlink()).map(|is| (is.dev(), is.ino())).collect()
}

fn named_alike(root: &Path, home: &Path, wanted: &BTreeSet<(u64, u64)>) -> Vec<PathBuf> {
    let (mut found, mut count) = (Vec::new(), 0);
    let mut pending = VecDeque::from([root.to_owned()]);
    while let Some(folder) = pending.pop_front() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            count += 1;
            if MOST_NAMES < count {
                return found;
            }
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            // Below such a name in the home the lists say what is kept.
            let is_of_home = folder == home && name.as_encoded_bytes().starts_with(b".");
            if is_of_home {
                continue;
            }
            if kind.is_dir() {
                pending.push_back(entry.path());
                continue;
            }
            let has_number = kind.is_file() && wanted.iter().any(|(_, number)| *number == entry.ino());
            let is_it = || {
                let is = fs::symlink_metadata(entry.path());
                is.is_ok_and(|is| wanted.contains(&(is.dev(), is.ino())))
            };
            if has_number && is_it() {
                found.push(entry.path());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_one_with_a_start_file_is_found_in_a_workspace_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let dots = home.join("dotfiles");
        let found = |root: &Path| -> Vec<String> {
            let places = second_names(&home, std::iter::once(root)).into_iter();
            let mut below: Vec<String> =
                places.map(|it| it.path.strip_prefix(&home).unwrap().display().to_string()).collect();
            below.sort();
            below
        };
        for name in ["dotfiles/git", "dotfiles/target", ".config/git", "elsewhere"] {
            fs::create_dir_all(home.join(name)).unwrap();
        }
        for (name, second) in [
            (".bashrc", "dotfiles/bashrc"),
            (".my-own-rc", "dotfiles/mine"),
            (".config/git/config", "dotfiles/git/config"),
        ] {
            fs::write(home.join(name), "x").unwrap();
            assert!(!found(&dots).contains(&second.to_owned()), "{name}");
            fs::hard_link(home.join(name), home.join(second)).unwrap();
            assert!(found(&dots).contains(&second.to_owned()), "{name}");
        }
        // Wherever a command has put it, and among however many.
        for number in 0..25_000 {
            fs::File::create(dots.join(format!("target/{number}"))).unwrap();
        }
        fs::rename(dots.join("mine"), dots.join("target/zz")).unwrap();
        // Two names, none of which is a start file; and two of those that are.
        fs::write(dots.join("a"), "x").unwrap();
        fs::hard_link(dots.join("a"), dots.join("b")).unwrap();
        fs::write(home.join(".profile"), "x").unwrap();
        fs::hard_link(home.join(".profile"), home.join(".zprofile")).unwrap();
        let all = ["dotfiles/bashrc", "dotfiles/git/config", "dotfiles/target/zz"];
        assert_eq!(found(&dots), all);
        assert_eq!(found(&home), all, "a workspace that is the home");
        assert!(found(&home.join("elsewhere")).is_empty());
    }
}
