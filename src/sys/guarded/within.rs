//! Where else than by its own name does a folder of secrets keep some: behind links in it, and in files with a second name?

use std::{
    collections::VecDeque,
    fs::{self, Metadata},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use rustix::process::geteuid;

use super::{FileIdentity, ResolvedPath};

/// Entries that are looked at in one such place; each command waits for it. Folders of keys have some ten, and those of browsers their
/// secrets near the top.
const MOST_ENTRIES: usize = 300;
/// Folders below it that are looked into.
const DEEPEST: usize = 2;
/// A mode by which somebody runs a file: that is no key.
const EXECUTABLE: u32 = 0o111;

/// The finds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SecretsWithin {
    /// The places that links lead to, without links.
    pub ends: Vec<PathBuf>,
    /// That, and files with more than one name.
    pub ids: Vec<FileIdentity>,
}

impl SecretsWithin {
    /// Looks into a folder without links in its path; into nothing else. Blocks for a bounded search.
    pub fn of(place: &Path) -> SecretsWithin {
        let mut found = SecretsWithin::default();
        let mut entries = 0;
        let mut pending = VecDeque::from([(place.to_owned(), 0)]);
        while let Some((folder, depth)) = pending.pop_front() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                entries += 1;
                if MOST_ENTRIES < entries {
                    tracing::debug!(place = %place.display(), "not all links in it are followed");
                    return found;
                }
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_symlink() {
                    found.follow(place, &entry.path());
                } else if kind.is_dir() && depth < DEEPEST {
                    pending.push_back((entry.path(), depth + 1));
                } else if kind.is_file()
                    && let Ok(metadata) = entry.metadata()
                    && 1 < metadata.nlink()
                {
                    found.ids.push(FileIdentity { device: metadata.dev(), inode: metadata.ino() });
                }
            }
        }
        found
    }

    fn follow(&mut self, place: &Path, link: &Path) {
        let ResolvedPath { end, id, .. } = ResolvedPath::to(link);
        let (Some(id), Ok(metadata)) = (id, fs::symlink_metadata(&end)) else { return };
        // What holds the place holds much else; programs that are run from there are no secrets.
        if place.starts_with(&end) || end.starts_with(place) || !is_of_person(&metadata) {
            return;
        }
        self.ends.push(end);
        self.ids.push(id);
    }
}

fn is_of_person(metadata: &Metadata) -> bool {
    let is_key = metadata.is_file() && metadata.permissions().mode() & EXECUTABLE == 0;
    metadata.uid() == geteuid().as_raw() && (is_key || metadata.is_dir())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_lead_to_secrets_and_second_names_are_known() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        for name in ["keys/deep/deeper/deepest", "sync/more", "code"] {
            fs::create_dir_all(home.join(name)).unwrap();
        }
        for name in ["sync/id", "sync/more/k", "tool", "keys/plain", "keys/twice"] {
            fs::write(home.join(name), name).unwrap();
        }
        fs::set_permissions(home.join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::hard_link(home.join("keys/twice"), home.join("code/second")).unwrap();
        symlink("../sync/id", home.join("keys/id")).unwrap();
        symlink("../../sync/more", home.join("keys/deep/more")).unwrap();
        for (name, to) in [
            ("tool", "../tool"),
            ("home", ".."),
            ("own", "plain"),
            ("none", "nothing"),
            ("null", "/dev/null"),
        ] {
            symlink(to, home.join("keys").join(name)).unwrap();
        }
        let mut found = SecretsWithin::of(&home.join("keys"));
        found.ends.sort();
        assert_eq!(found.ends, ["sync/id", "sync/more"].map(|name| home.join(name)));
        let ids =
            ["code/second", "sync/id", "sync/more"].map(|name| FileIdentity::of(&home.join(name)).unwrap());
        assert_eq!(found.ids.len(), ids.len());
        assert!(ids.iter().all(|id| found.ids.contains(id)));
        assert_eq!(SecretsWithin::of(&home.join("sync/id")), SecretsWithin::default());
    }
}
