//! Where do the links within a folder lead? Whoever runs what lies there runs what they lead to.

use std::{
    collections::VecDeque,
    fs,
    path::{Path, PathBuf},
};

use sys::guarded::ResolvedPath;

/// Entries of one folder and of those below it that are looked at. Folders of settings and hooks have some ten.
const MOST_ENTRIES: usize = 2_000;
/// Links that are followed: each is some looks at the file system.
const MOST_LINKS: usize = 200;
/// Folders below a folder of settings in which products keep what is others' or their own, thousands of files and nothing that is run
/// by itself.
const NOT_ENTERED: &[&str] =
    &["node_modules", "target", "worktrees", "store", "repo", "cache", "logs", "projects", "__pycache__"];

/// The places that the links in a folder and below it lead to.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LinksBelow {
    /// The ends, and the links on the way to them.
    pub ends: Vec<PathBuf>,
    /// There is more than was looked at.
    pub is_cut: bool,
}

impl LinksBelow {
    /// No link is entered. Blocks for a bounded search.
    pub fn of(folder: &Path) -> LinksBelow {
        let mut found = LinksBelow::default();
        let (mut entries, mut links) = (0, 0);
        let mut pending = VecDeque::from([folder.to_owned()]);
        while let Some(folder) = pending.pop_front() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                entries += 1;
                if MOST_ENTRIES < entries {
                    found.is_cut = true;
                    return found;
                }
                let Ok(kind) = entry.file_type() else { continue };
                let name = entry.file_name();
                if kind.is_dir() && !name.to_str().is_some_and(|name| NOT_ENTERED.contains(&name)) {
                    pending.push_back(entry.path());
                } else if kind.is_symlink() {
                    links += 1;
                    if MOST_LINKS < links {
                        found.is_cut = true;
                        return found;
                    }
                    let link = entry.path();
                    let ResolvedPath { end, links, .. } = ResolvedPath::to(&link);
                    found.ends.extend(links.into_iter().filter(|on_way| *on_way != link).chain([end]));
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_also_by_other_links_and_the_search_says_where_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("hooks/deep")).unwrap();
        fs::create_dir(root.join("scripts")).unwrap();
        symlink("../scripts/missing", root.join("hooks/one")).unwrap();
        symlink("../../on-way", root.join("hooks/deep/two")).unwrap();
        symlink("scripts/end", root.join("on-way")).unwrap();
        let mut found = LinksBelow::of(&root.join("hooks"));
        found.ends.sort();
        let ends = ["on-way", "scripts/end", "scripts/missing"].map(|name| root.join(name)).to_vec();
        assert_eq!(found, LinksBelow { ends, is_cut: false });
        for number in 0..=MOST_ENTRIES {
            fs::write(root.join(format!("hooks/deep/f{number}")), "").unwrap();
        }
        assert!(LinksBelow::of(&root.join("hooks")).is_cut);
        assert_eq!(LinksBelow::of(&root.join("none")), LinksBelow::default());
    }
}
