//! Which files of a workspace are start files or settings of the home by a second name?
//!
//! Whoever lays out dotfiles with `ln` instead of `ln -s` has one file in two places: what is written in the repository is what the next
//! shell reads. Nothing in the name of either says so, but the number of the file does.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fs,
    os::unix::fs::{DirEntryExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use super::{MOST_NAMES, start_files};
use shell::AutorunPlace;

/// Entries of one folder of the home in which names are looked for: of start files and settings, and of programs.
const MOST_OF_HOME: usize = 2_000;
/// Folders of the home in which shells find programs, and of which people link the files one by one.
const OF_PROGRAMS: [&str; 2] = ["bin", ".local/bin"];

const SECOND_NAME: &str = "it is one file with a start file or settings of the home (a hard link), which programs take what they run from";

/// A file of the home, outside of a workspace, that has names in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileOfHome {
    pub path: PathBuf,
    /// Absolute, without links.
    pub names: Vec<PathBuf>,
}

/// Device and number of a file.
type FileNumber = (u64, u64);

/// The files below these roots, which are absolute and without links, that are one with a start file, settings or a program of this home.
/// Blocks for some hundred looks at the file system, and for a search of all of the workspace where such a file has a second name: a command
/// could have moved it anywhere, or hidden it among thousands of others.
pub(super) fn second_names<'a>(home: &Path, roots: impl Iterator<Item = &'a Path>) -> Vec<AutorunPlace> {
    places(&files_of_home(home, roots))
}

/// The places of such names.
pub(super) fn places(files: &[FileOfHome]) -> Vec<AutorunPlace> {
    let names = files.iter().flat_map(|file| &file.names);
    names.map(|path| AutorunPlace { path: path.clone(), why: SECOND_NAME }).collect()
}

/// The same by the file of the home, also where that lies in a root itself.
pub(super) fn files_of_home<'a>(home: &Path, roots: impl Iterator<Item = &'a Path>) -> Vec<FileOfHome> {
    let wanted = with_second_names(home);
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut found: BTreeMap<FileNumber, Vec<PathBuf>> = BTreeMap::new();
    for root in roots {
        named_alike(root, home, &wanted, &mut found);
    }
    let of_home = found.into_iter().filter_map(|(number, names)| {
        let path = wanted.get(&number)?.first()?.clone();
        Some(FileOfHome { path, names })
    });
    of_home.collect()
}

/// Such files of the home that have more names than those by which they are looked for.
fn with_second_names(home: &Path) -> BTreeMap<FileNumber, BTreeSet<PathBuf>> {
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_OF_HOME);
    let dotted = entries(home).filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"."));
    let programs = OF_PROGRAMS.iter().flat_map(|name| entries(&home.join(name)));
    let files = dotted.chain(programs).map(|entry| entry.path()).chain(start_files::listed_files(home));
    let mut found: BTreeMap<FileNumber, (u64, BTreeSet<PathBuf>)> = BTreeMap::new();
    for file in files {
        let Ok(is) = fs::symlink_metadata(&file) else { continue };
        if is.is_file() && 1 < is.nlink() {
            let (_, names) = found.entry((is.dev(), is.ino())).or_insert((is.nlink(), BTreeSet::new()));
            names.insert(file);
        }
    }
    let has_more = |(count, names): &(u64, BTreeSet<PathBuf>)| (names.len() as u64) < *count;
    found.into_iter().filter(|(_, it)| has_more(it)).map(|(number, (_, names))| (number, names)).collect()
}

fn named_alike(
    root: &Path,
    home: &Path,
    wanted: &BTreeMap<FileNumber, BTreeSet<PathBuf>>,
    found: &mut BTreeMap<FileNumber, Vec<PathBuf>>,
) {
    let mut count = 0;
    let mut pending = VecDeque::from([root.to_owned()]);
    while let Some(folder) = pending.pop_front() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            count += 1;
            if MOST_NAMES < count {
                return;
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
            if !kind.is_file() || !wanted.keys().any(|(_, number)| *number == entry.ino()) {
                continue;
            }
            let number = fs::symlink_metadata(entry.path()).map(|is| (is.dev(), is.ino()));
            if let Some((number, names)) = number.ok().and_then(|number| wanted.get_key_value(&number))
                && !names.contains(&entry.path())
            {
                found.entry(*number).or_default().push(entry.path());
            }
        }
    }
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
        // A program, and one with names in its own folder alone.
        fs::create_dir_all(home.join(".local/bin")).unwrap();
        fs::write(dots.join("tool"), "x").unwrap();
        fs::hard_link(dots.join("tool"), home.join(".local/bin/tool")).unwrap();
        fs::write(home.join(".local/bin/one"), "x").unwrap();
        fs::hard_link(home.join(".local/bin/one"), home.join(".local/bin/other")).unwrap();
        assert!(!with_second_names(&home).values().any(|names| names.contains(&home.join(".local/bin/one"))));
        // Two names, none of which is a start file; and two of those that are.
        fs::write(dots.join("a"), "x").unwrap();
        fs::hard_link(dots.join("a"), dots.join("b")).unwrap();
        fs::write(home.join(".profile"), "x").unwrap();
        fs::hard_link(home.join(".profile"), home.join(".zprofile")).unwrap();
        let all = ["dotfiles/bashrc", "dotfiles/git/config", "dotfiles/target/zz", "dotfiles/tool"];
        assert_eq!(found(&dots), all);
        assert_eq!(found(&home), all, "a workspace that is the home");
        assert!(found(&home.join("elsewhere")).is_empty());
    }
}
