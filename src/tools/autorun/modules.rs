//! Which repositories of submodules came that git would run something by once a person asks for the submodule?
//!
//! git clones no submodule of which it finds the repository, and goes by what is there.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use super::MOST_ENTRIES;
use crate::repositories;

/// Folders of one submodule's name, which may be a path, and of submodules in submodules.
const DEEPEST: usize = 12;

/// The reason to put one aside.
pub(super) const OF_SUBMODULE: &str = "git runs what it says when the submodule is asked for";

/// The folders in which git keeps repositories of submodules, with those that are there; by default none.
#[derive(Debug, Clone, Default)]
pub struct SubmoduleRepositories {
    pub(super) folders: Vec<PathBuf>,
    pub(super) known: BTreeSet<PathBuf>,
}

impl SubmoduleRepositories {
    /// `folders`: the ones of some repositories. Blocks for a bounded look.
    pub fn of(folders: Vec<PathBuf>) -> SubmoduleRepositories {
        let mut all = SubmoduleRepositories { folders, known: BTreeSet::new() };
        all.known = all.found().into_iter().collect();
        all
    }

    /// The ones that came since and by which git would run something. Blocks for a bounded look.
    pub fn new_ones(&self) -> Vec<PathBuf> {
        let found = self.found().into_iter().filter(|path| !self.known.contains(path));
        found.filter(|path| repositories::may_run_something(path)).collect()
    }

    fn found(&self) -> Vec<PathBuf> {
        let (mut found, mut entries) = (Vec::new(), 0);
        let mut pending: Vec<(PathBuf, usize)> = self.folders.iter().map(|path| (path.clone(), 0)).collect();
        while let Some((folder, depth)) = pending.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                entries += 1;
                if MOST_ENTRIES < entries {
                    return found;
                }
                let path = entry.path();
                // What git would follow counts by its own name.
                if !path.is_dir() || DEEPEST <= depth {
                    continue;
                }
                if is_repository(&path) {
                    pending.push((path.join("modules"), depth + 1));
                    found.push(path);
                } else {
                    pending.push((path, depth + 1));
                }
            }
        }
        found
    }
}

fn is_repository(path: &Path) -> bool {
    ["HEAD", "config", "hooks", "commondir"].iter().any(|name| fs::symlink_metadata(path.join(name)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_that_would_run_something_is_found_whatever_its_submodule_is_called() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let make = |name: &str, settings: &str| {
            let path = root.join(name);
            for part in ["objects", "refs", "hooks"] {
                fs::create_dir_all(path.join(part)).unwrap();
            }
            fs::write(path.join("HEAD"), "ref: refs/heads/main\n").unwrap();
            fs::write(path.join("config"), format!("[core]\n\tbare = false\n{settings}")).unwrap();
            path
        };
        let evil = "\tfsmonitor = ./evil\n";
        make("there", evil);
        let all = SubmoduleRepositories::of(vec![root.clone(), root.join("missing")]);
        assert!(all.new_ones().is_empty());
        make("cloned", "\tworktree = ../../../cloned\n");
        let mut wanted = vec![make("vendor/x", evil), make("cloned/modules/in", evil)];
        let hook = make("hooked", "");
        fs::write(hook.join("hooks/post-checkout"), "#!/bin/sh\n").unwrap();
        wanted.push(hook);
        let mut found = all.new_ones();
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted);
    }
}
