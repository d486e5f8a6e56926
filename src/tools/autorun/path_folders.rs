//! Which folders of the person's `PATH` lie in the workspace, and what is kept in them from commands?
//!
//! A shell of the person's runs what it finds there, whichever folder it is in.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use super::{direnv, program_texts::texts_in, shadowing};
use shell::AutorunPlace;
use sys::{guarded::ResolvedPath, programs};

const PROGRAMS: &str = "a shell finds its programs there";
const INSTEAD: &str = "a shell runs it in the place of the program of that name";

/// Folders that are looked at. Those that people write are few.
const MOST_FOLDERS: usize = 16;

/// Entries beside a folder of programs by which it is one that a package manager fills: of Python (venv), and of conda.
const OF_ENVIRONMENT: &[&str] = &["pyvenv.cfg", "conda-meta"];

/// The folders of programs in the workspace.
#[derive(Debug, Default)]
pub(super) struct PathFolders {
    /// Absolute and without links, each with whether package managers or builds make programs there.
    pub folders: Vec<(PathBuf, bool)>,
    /// Links on the way to them.
    pub links: Vec<PathBuf>,
}

impl PathFolders {
    /// The folders in which shells of the person's find their programs and that lie in a root, without those of the home in which commands do
    /// not write anyway. `path`: the daemon's own; `added`: what start files add to it. Blocks for a bounded look.
    pub fn in_roots(
        roots: &[PathBuf],
        path: Option<&OsStr>,
        added: &[PathBuf],
        home: Option<&Path>,
    ) -> PathFolders {
        let own = programs::own_folders(path, home);
        let mut found = PathFolders::default();
        let named = path.into_iter().flat_map(std::env::split_paths).filter(|folder| folder.is_absolute());
        for folder in named.chain(added.iter().cloned()) {
            let ResolvedPath { end, links, .. } = ResolvedPath::to(&folder);
            let Some(root) = roots.iter().find(|root| end.starts_with(root)) else { continue };
            let is_known = own.contains(&end) || found.folders.iter().any(|(known, _)| *known == end);
            if is_known || programs::is_roots_alone(&end) || MOST_FOLDERS <= found.folders.len() {
                continue;
            }
            let beside = |name: &&str| end.parent().is_some_and(|above| above.join(name).exists());
            let is_built = direnv::is_built(&end, root) || OF_ENVIRONMENT.iter().any(beside);
            found.links.extend(links);
            found.folders.push((end, is_built));
        }
        found
    }

    /// What is kept from commands in them: the texts that are there, and the names of daily programs. Blocks for a bounded look.
    pub fn kept(&self) -> Vec<AutorunPlace> {
        let written = self.folders.iter().filter(|(_, is_built)| !is_built).map(|(folder, _)| folder);
        let texts = written.flat_map(|folder| texts_in(folder, PROGRAMS));
        texts.chain(shadowing::missing(&self.folders, INSTEAD)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn of_a_persons_folders_of_programs_the_texts_are_kept_and_the_names_of_daily_programs_are_free() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let put = |name: &str, text: &str| {
            fs::create_dir_all(home.join(name).parent().unwrap()).unwrap();
            fs::write(home.join(name), text).unwrap();
        };
        put("dot/bin/mine", "#!/bin/sh\n");
        put("dot/bin/built", "ELF\0");
        put("dot/added/own", "#!/bin/sh\n");
        put("dot/.venv/bin/pytest", "#!/x/python\n");
        put("dot/node_modules/.bin/tsc", "#!/usr/bin/env node\n");
        put("dot/conda/bin/pip", "#!/x/python\n");
        put("dot/conda/conda-meta/history", "");
        put("dot/env/bin/pip", "#!/x/python\n");
        put("dot/env/pyvenv.cfg", "");
        put("dot/.own/bin/x", "#!/bin/sh\n");
        put(".dots/bin/x", "#!/bin/sh\n");
        put("other/bin/x", "#!/bin/sh\n");
        let names = [
            "dot/bin",
            "dot/.venv/bin",
            "dot/node_modules/.bin",
            "dot/conda/bin",
            "dot/env/bin",
            "dot/.own/bin",
            ".dots/bin",
            "other/bin",
        ];
        let named = names.iter().map(|name| home.join(name)).chain(["relative".into(), "/usr/bin".into()]);
        let path = std::env::join_paths(named).unwrap();
        let roots = [home.join("dot"), home.join(".dots")];
        let found = PathFolders::in_roots(&roots, Some(&path), &[home.join("dot/added")], Some(&home));
        let kept: Vec<String> = found
            .kept()
            .into_iter()
            .map(|place| place.path.strip_prefix(&home).unwrap().display().to_string())
            .collect();
        for name in [
            "dot/bin/mine",
            "dot/bin/git",
            "dot/bin/node",
            "dot/added/own",
            "dot/added/ls",
            "dot/.own/bin/x",
            "dot/.venv/bin/git",
            "dot/node_modules/.bin/ls",
            "dot/conda/bin/ls",
            "dot/env/bin/ls",
        ] {
            assert!(kept.iter().any(|it| it == name), "{name}: {kept:?}");
        }
        for name in [
            "dot/bin/built",
            "dot/bin/new",
            "dot/.venv/bin/pytest",
            "dot/.venv/bin/python",
            "dot/node_modules/.bin/tsc",
            "dot/node_modules/.bin/node",
            "dot/conda/bin/pip",
            "dot/conda/bin/node",
            "dot/env/bin/pip",
            "other/bin/x",
            // Commands do not write there anyway.
            ".dots/bin/x",
        ] {
            assert!(!kept.iter().any(|it| it == name), "{name}");
        }
    }
}
