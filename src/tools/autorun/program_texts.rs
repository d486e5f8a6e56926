//! Which texts lie in a folder of programs, where whatever builds make is no text?

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::git_programs::is_text;
use shell::AutorunPlace;
use sys::guarded::ResolvedPath;

/// Files and entries of one folder that are looked at. Those that people write are few.
const MOST_PROGRAMS: usize = 1_000;
const MOST_ENTRIES: usize = 50_000;

/// The texts of a folder of programs. Of one that has more files than people write, the folder as a whole: an agent may have filled it, so that
/// a look would end before the person's own. Blocks for a bounded look.
pub(super) fn texts_in(folder: &Path, why: &'static str) -> Vec<AutorunPlace> {
    let entries = fs::read_dir(folder).into_iter().flatten().take(MOST_ENTRIES + 1);
    let paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let is_file = |path: &&PathBuf| fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    let files: Vec<&PathBuf> = paths.iter().filter(is_file).take(MOST_PROGRAMS + 1).collect();
    if MOST_ENTRIES < paths.len() || MOST_PROGRAMS < files.len() {
        let oldest = oldest_files(paths).into_iter().filter(|path| is_text(path));
        let places = std::iter::once(folder.to_owned()).chain(oldest);
        return places.map(|path| AutorunPlace { path, why }).collect();
    }
    let texts = files.into_iter().filter(|path| is_text(path)).cloned();
    texts.chain(linked(&paths)).map(|path| AutorunPlace { path, why }).collect()
}

/// The links of a folder of programs, and the texts that they lead to: each is run by the name of its link. Blocks for a bounded look.
pub(super) fn linked_in(folder: &Path, why: &'static str) -> Vec<AutorunPlace> {
    let entries = fs::read_dir(folder).into_iter().flatten().take(MOST_ENTRIES);
    let paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    linked(&paths).into_iter().map(|path| AutorunPlace { path, why }).collect()
}

fn linked(paths: &[PathBuf]) -> Vec<PathBuf> {
    let links = paths.iter().filter(|path| path.is_symlink()).take(MOST_PROGRAMS);
    let linked = links.flat_map(|link| {
        let ResolvedPath { end, links, .. } = ResolvedPath::to(link);
        links.into_iter().chain(Some(end).filter(|end| is_text(end)))
    });
    linked.collect()
}

/// The files of a folder that were changed last of all long ago, first: what an agent makes is newer, however much it is. Its time is the
/// kernel's word. For a sandbox that has no mounts, and looks at only so many files of a folder.
fn oldest_files(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut files: Vec<((i64, i64), PathBuf)> = paths
        .into_iter()
        .filter_map(|path| Some((fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?, path)))
        .map(|(found, path)| ((found.ctime(), found.ctime_nsec()), path))
        .collect();
    files.sort();
    files.truncate(MOST_PROGRAMS);
    files.into_iter().map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAMS: &str = "a shell finds its programs there";

    #[test]
    fn a_folder_with_more_than_people_write_is_kept_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        put("mine", "#!/bin/sh\n");
        put("built", "ELF\0");
        let kept = || -> Vec<PathBuf> {
            texts_in(folder.path(), PROGRAMS).into_iter().map(|place| place.path).collect()
        };
        assert_eq!(kept(), [folder.path().join("mine")]);
        (0..MOST_PROGRAMS).for_each(|n| put(&format!("new{n}"), ""));
        let full = kept();
        assert!(full.contains(&folder.path().to_owned()) && full.contains(&folder.path().join("mine")));
    }

    #[test]
    fn a_link_is_kept_with_the_text_that_it_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        for name in ["bin", "scripts"] {
            fs::create_dir(home.join(name)).unwrap();
        }
        fs::write(home.join("scripts/tool.sh"), "#!/bin/sh\n").unwrap();
        fs::write(home.join("scripts/built"), "ELF\0").unwrap();
        for (link, target) in [("tool", "../scripts/tool.sh"), ("ls", "../scripts/built")] {
            std::os::unix::fs::symlink(target, home.join("bin").join(link)).unwrap();
        }
        let kept: Vec<PathBuf> =
            texts_in(&home.join("bin"), PROGRAMS).into_iter().map(|place| place.path).collect();
        for name in ["bin/tool", "bin/ls", "scripts/tool.sh"] {
            assert!(kept.contains(&home.join(name)), "{name}: {kept:?}");
        }
        assert!(!kept.contains(&home.join("scripts/built")), "{kept:?}");
    }
}
