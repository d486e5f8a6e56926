//! Where do the files really lie that the daemon goes by: settings, rules, agents, templates?
//!
//! They are read from folders of the user and of the system. A link there may lead anywhere, into a workspace, too, as programs
//! lay them that keep people's settings in a repository; and a file may have further names. Who writes there says what the
//! daemon does. So it is looked up each time anew where links lead, and that is guarded as the folders themselves are.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    fs::{self, Metadata},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::process::geteuid;

use super::guarded::{FileIdentity, GuardKind, GuardedPlaces, GuardedPlacesView};

/// Names of folders in which nobody reads anything that the daemon goes by. Whoever reads such places passes over no others, or over more.
pub const UNREAD: [&str; 2] = [".git", "node_modules"];

/// Entries looked at in all places: more than whoever reads them looks at.
const MOST_ENTRIES: usize = 40_000;
/// Deepest folder below a place, as for who reads agents.
const DEEPEST: usize = 16;
/// Entries of a workspace that are looked at for further names of files; each command waits for it.
const MOST_IN_ROOTS: usize = 100_000;

/// Files and folders that the daemon goes by. A cheap handle.
#[derive(Debug, Clone, Default)]
pub struct SourcePlaces(Arc<SourcePlacesInner>);

#[derive(Debug, Default)]
struct SourcePlacesInner {
    tops: Vec<PathBuf>,
    /// Single files beside them.
    files: Vec<PathBuf>,
    places: GuardedPlaces,
}

/// Where they are at one moment.
#[derive(Debug, Clone, Default)]
pub struct SourcePlacesView {
    /// The places, and what links in them lead to.
    pub places: GuardedPlacesView,
    /// Files with more than one name that somebody but root could write, each with the name that is read.
    shared: HashMap<FileIdentity, PathBuf>,
}

impl SourcePlaces {
    /// Absolute paths of settings files and of folders that are read with all that lies below.
    pub fn new(tops: impl IntoIterator<Item = PathBuf>) -> SourcePlaces {
        SourcePlaces::with_files(tops, [])
    }

    /// The same with the daemon's own programs and the files that start it. Of those no further names are looked for.
    pub fn with_files(
        tops: impl IntoIterator<Item = PathBuf>,
        files: impl IntoIterator<Item = PathBuf>,
    ) -> SourcePlaces {
        let (tops, files) = (tops.into_iter().collect(), files.into_iter().collect());
        let places =
            SourcePlaces(Arc::new(SourcePlacesInner { tops, files, places: GuardedPlaces::default() }));
        // From now on they are known, whatever is moved.
        places.look();
        places
    }

    /// Looks where they are. Blocks for as long as it takes to list them.
    pub fn look(&self) -> SourcePlacesView {
        let SourcePlacesInner { tops, files, places } = &*self.0;
        let mut walk = SourcePlacesWalk::default();
        for top in tops {
            walk.names.push(top.clone());
            walk.pending.push_back((top.clone(), 0));
        }
        while let Some((path, depth)) = walk.pending.pop_front() {
            walk.enter(&path, depth);
        }
        let files = files.iter().map(|file| (file.clone(), GuardKind::Always));
        let names = walk.names.into_iter().map(|name| (name, GuardKind::Always)).chain(files);
        SourcePlacesView { places: places.look_with(names), shared: walk.shared }
    }
}

impl SourcePlacesView {
    /// The path, or of another name of a file that is read, the name by which it is read.
    pub fn read_as(&self, path: PathBuf) -> PathBuf {
        if self.shared.is_empty() {
            return path;
        }
        FileIdentity::of(&path).and_then(|id| self.shared.get(&id)).cloned().unwrap_or(path)
    }

    /// True if a file of this number, on whichever disk, may be one that is read under another name.
    pub fn may_share(&self, inode: u64) -> bool {
        self.shared.keys().any(|id| id.inode() == inode)
    }

    /// Further names below these folders of files that are read. Blocks for as long as it takes to list them, if there are such
    /// files.
    pub fn names_below(&self, roots: &[PathBuf]) -> Vec<PathBuf> {
        if self.shared.is_empty() {
            return Vec::new();
        }
        let (mut names, mut entries) = (Vec::new(), 0);
        let mut pending: VecDeque<PathBuf> = roots.iter().cloned().collect();
        while let Some(folder) = pending.pop_front() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                entries += 1;
                if MOST_IN_ROOTS < entries {
                    tracing::warn!(
                        ?roots,
                        "further names of files that are read as settings, rules or agents are not all looked for"
                    );
                    return names;
                }
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir() {
                    pending.push_back(entry.path());
                } else if kind.is_file()
                    && FileIdentity::of(&entry.path()).is_some_and(|id| self.shared.contains_key(&id))
                {
                    names.push(entry.path());
                }
            }
        }
        names
    }
}

#[derive(Default)]
struct SourcePlacesWalk {
    names: Vec<PathBuf>,
    shared: HashMap<FileIdentity, PathBuf>,
    /// Folders that were entered.
    entered: HashSet<(u64, u64)>,
    pending: VecDeque<(PathBuf, usize)>,
    entries: usize,
}

impl SourcePlacesWalk {
    /// Links are followed, as those who read do.
    fn enter(&mut self, path: &Path, depth: usize) {
        let Ok(metadata) = fs::metadata(path) else { return };
        if !metadata.is_dir() {
            return self.share(path, &metadata);
        }
        if DEEPEST < depth || !self.entered.insert((metadata.dev(), metadata.ino())) {
            return;
        }
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            self.entries += 1;
            if MOST_ENTRIES < self.entries {
                return;
            }
            if UNREAD.iter().any(|unread| entry.file_name() == *unread) {
                continue;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                self.names.push(entry.path());
            }
            self.pending.push_back((entry.path(), depth + 1));
        }
    }

    fn share(&mut self, path: &Path, metadata: &Metadata) {
        // What only root could write nobody does by another name either; some systems give equal files one inode.
        let is_roots = metadata.uid() == 0 && metadata.mode() & 0o022 == 0 && !geteuid().is_root();
        if metadata.is_file()
            && 1 < metadata.nlink()
            && !is_roots
            && let Some(id) = fs::canonicalize(path).ok().as_deref().and_then(FileIdentity::of)
        {
            self.shared.entry(id).or_insert_with(|| path.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_from_link_to_link_and_rings_end() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().canonicalize().unwrap();
        for name in ["config/agents", "work/pol", "work/more", "work/deep"] {
            fs::create_dir_all(at.join(name)).unwrap();
        }
        fs::write(at.join("work/a.md"), "a").unwrap();
        fs::write(at.join("work/deep/b.toml"), "b").unwrap();
        let places = SourcePlaces::new([at.join("config"), at.join("settings.json")]);
        // All of it comes later than the places.
        symlink(at.join("work/pol"), at.join("config/policies")).unwrap();
        symlink("../deep/b.toml", at.join("work/pol/b.toml")).unwrap();
        symlink("../../work/a.md", at.join("config/agents/a.md")).unwrap();
        symlink(at.join("work/more"), at.join("config/agents/more")).unwrap();
        symlink(at.join("config"), at.join("work/more/ring")).unwrap();
        symlink(at.join("work/later.md"), at.join("config/agents/later.md")).unwrap();
        // As products keep their own, and programs that lay links.
        symlink(at.join("work/system"), at.join("config/.system")).unwrap();
        let view = places.look();
        for path in [
            "work/system/x/SKILL.md",
            "config/x",
            "work/pol/new.toml",
            "work/deep/b.toml",
            "work/a.md",
            "work/more/x/y.md",
            "work/later.md",
        ] {
            assert!(view.places.holds(&at.join(path)), "{path}: {view:?}");
        }
        for path in ["work/b.md", "work/deep/c.toml", "work"] {
            assert!(!view.places.holds(&at.join(path)), "{path}: {view:?}");
        }
        assert!(
            view.places.links.contains(&at.join("work/pol/b.toml"))
                || view.places.holds(&at.join("work/pol"))
        );
        fs::remove_file(at.join("config/agents/a.md")).unwrap();
        assert!(!places.look().places.holds(&at.join("work/a.md")), "nobody reads it any more");
    }

    #[test]
    fn a_file_that_is_missing_counts_also_where_its_folder_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().canonicalize().unwrap();
        fs::create_dir_all(at.join("bin")).unwrap();
        fs::write(at.join("bin/own"), "own").unwrap();
        fs::hard_link(at.join("bin/own"), at.join("bin/built")).unwrap();
        let files = ["bin/own", "units/own.service", "units/own.service.d"].map(|name| at.join(name));
        let places = SourcePlaces::with_files([], files);
        let view = places.look();
        let missing = ["units/own.service", "units/own.service.d"].map(|name| at.join(name));
        assert_eq!(
            (view.places.present.as_slice(), view.places.missing.as_slice()),
            (&[at.join("bin/own")][..], &missing[..])
        );
        assert_eq!(view.names_below(std::slice::from_ref(&at)), [] as [PathBuf; 0]);
        fs::create_dir(at.join("units")).unwrap();
        assert_eq!(places.look().places.missing, missing);
        // Known wherever it is moved to.
        fs::rename(at.join("bin"), at.join("b2")).unwrap();
        assert!(places.look().places.holds(&at.join("b2/own")));
    }

    #[test]
    fn further_names_of_what_is_read_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().canonicalize().unwrap();
        for name in ["config/policies", "work/in"] {
            fs::create_dir_all(at.join(name)).unwrap();
        }
        fs::write(at.join("config/policies/x.toml"), "x").unwrap();
        fs::write(at.join("work/other"), "x").unwrap();
        let places = SourcePlaces::new([at.join("config")]);
        let roots = [at.join("work")];
        assert_eq!(places.look().names_below(&roots), [] as [PathBuf; 0]);
        fs::hard_link(at.join("config/policies/x.toml"), at.join("work/in/y")).unwrap();
        let view = places.look();
        assert_eq!(view.names_below(&roots), [at.join("work/in/y")]);
        assert_eq!(view.read_as(at.join("work/in/y")), at.join("config/policies/x.toml"));
        assert_eq!(view.read_as(at.join("work/other")), at.join("work/other"));
    }
}
