//! Which entries of a home are kept from commands whatever they are called, since their names begin with a dot?
//!
//! Nobody has a list of all programs that take something to run from such a file. So all are kept but for a few: what programs write by
//! themselves, and nothing is run from. Where a mount keeps what is there, only what comes is looked at. Without mounts a person's own
//! programs change such files all the time, and nobody could tell them from a command, so folders that were there are left to the lists.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use super::{ASIDE_FOLDER, MOST_NAMES};
use shell::automatic_at_home;
use sys::guarded::{ResolvedPath, listed};

/// The words for such a place, of which no list says more.
pub(super) const DOTTED: &str = "programs run what they find below such a name in a home";

/// Below a home, what programs write by themselves while they build, fetch or are used, and from which nothing is run unless a build or a
/// program that was begun there runs it. Of package managers only their stores: no settings, no plugins, no folders of the `PATH`.
const LEFT: &[&str] = &[
    // What can be made anew, and what was thrown away.
    ".cache",
    ".ccache",
    ".local/share/Trash",
    ".sccache",
    ".thumbnails",
    // What programs remember: where they were, what was typed, what they did.
    ".ICEauthority",
    ".Xauthority",
    ".bash_history",
    ".gdb_history",
    ".irb_history",
    ".local/share/atuin",
    ".local/share/fish/fish_history",
    ".local/share/jupyter/runtime",
    ".local/share/recently-used.xbel",
    ".local/state",
    ".mysql_history",
    ".node_repl_history",
    ".psql_history",
    ".python_history",
    ".rediscli_history",
    ".sqlite_history",
    ".viminfo",
    ".xsession-errors",
    ".zsh_history",
    // Repositories have guards of their own.
    ".git",
    ".hg",
    ".jj",
    ".pijul",
    ".sl",
    ".svn",
    // Stores of packages, and what builds keep beside them.
    ".android/build-cache",
    ".android/cache",
    ".ansible/tmp",
    ".bun/install/cache",
    ".bundle/cache",
    ".cabal/logs",
    ".cabal/packages",
    ".cabal/store",
    ".cargo/.global-cache",
    ".cargo/.package-cache",
    ".cargo/.package-cache-mutate",
    ".cargo/advisory-db",
    ".cargo/git",
    ".cargo/registry",
    ".conan/data",
    ".conan2/p",
    ".conda/pkgs",
    ".coursier",
    ".gem/specs",
    ".ghcup/cache",
    ".gradle/.tmp",
    ".gradle/caches",
    ".gradle/daemon",
    ".gradle/kotlin-profile",
    ".gradle/native",
    ".gradle/notifications",
    ".gradle/workers",
    ".gradle/wrapper/dists",
    ".hex/packages",
    ".ivy2/cache",
    ".ivy2/local",
    ".julia/artifacts",
    ".julia/compiled",
    ".julia/logs",
    ".julia/packages",
    ".julia/registries",
    ".keras/datasets",
    ".konan/cache",
    ".konan/dependencies",
    ".local/share/pnpm/store",
    ".local/share/virtualenv",
    ".m2/repository",
    ".m2/wrapper/dists",
    ".matplotlib",
    ".node-gyp",
    ".npm",
    ".nuget/packages",
    ".pnpm-store",
    ".pub-cache/hosted",
    ".pub-cache/hosted-hashes",
    ".rustup/downloads",
    ".rustup/tmp",
    ".rustup/update-hashes",
    ".sbt/boot",
    ".stack/pantry",
    ".stack/snapshots",
    ".swiftpm/cache",
    ".terraform.d/plugin-cache",
    ".yarn/berry/cache",
    ".yarn/cache",
];

/// The entries of one home, if it lies in the workspace; by default none.
#[derive(Debug, Clone, Default)]
pub struct DottedEntries {
    pub(super) home: Option<PathBuf>,
    /// Places that are left to those who write there.
    pub(super) left: Vec<PathBuf>,
    /// Places that are hidden from commands, by their names and where these lead.
    pub(super) hidden: Vec<PathBuf>,
    /// A mount keeps what is there.
    pub has_mounts: bool,
    /// Entries that were there at the beginning.
    pub(super) known: BTreeSet<PathBuf>,
}

impl DottedEntries {
    /// The entries of a home, absolute and without links. `hidden`: by their names; `roots`: of the workspace, one of which may lie in a folder whose
    /// name begins with a dot. Blocks for a look at some folders.
    pub fn of<'a>(
        home: &Path,
        hidden: impl Iterator<Item = &'a Path>,
        roots: &[PathBuf],
        has_mounts: bool,
    ) -> DottedEntries {
        let hidden: Vec<PathBuf> =
            hidden.flat_map(|name| [name.to_owned(), ResolvedPath::to(name).end]).collect();
        let others = roots.iter().filter(|root| root.starts_with(home) && *root != home).cloned();
        let left = LEFT.iter().map(|name| home.join(name)).chain(others).collect();
        let mut entries = DottedEntries {
            home: Some(home.to_owned()),
            left,
            hidden: hidden.into_iter().filter(|path| path.starts_with(home) && path != home).collect(),
            has_mounts,
            known: BTreeSet::new(),
        };
        entries.known = entries.found(&[], &|_| true).into_iter().collect();
        entries
    }

    /// The entries that are there and kept. Of a folder in which something is left, or something lies that a command's words name, those in it.
    /// Blocks for a look at some folders.
    pub fn entries(&self, named: &[PathBuf]) -> Vec<PathBuf> {
        let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|it| it.is_dir());
        let mut found = self.found(named, &|path| self.known.contains(path));
        found.retain(|path| self.has_mounts || !self.known.contains(path) || !is_folder(path));
        found
    }

    /// True if something that came at this path would be among them.
    pub fn watches(&self, path: &Path) -> bool {
        let Some(below) = self.home.as_ref().and_then(|home| path.strip_prefix(home).ok()) else {
            return false;
        };
        let is_in = |places: &[PathBuf]| places.iter().any(|place| path.starts_with(place));
        below.iter().next().is_some_and(is_dotted) && !is_in(&self.left) && !is_in(&self.hidden)
    }

    /// True if it lies where programs write by themselves, or in what is hidden, and if such a place lies below it.
    pub fn is_left(&self, path: &Path) -> bool {
        self.left.iter().chain(&self.hidden).any(|left| path.starts_with(left) || left.starts_with(path))
    }

    /// True of the home, and of what holds it: whoever names that says nothing of the entries.
    pub fn is_around(&self, path: &Path) -> bool {
        self.home.as_ref().is_some_and(|home| home.starts_with(path))
    }

    fn found(&self, named: &[PathBuf], is_known: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let Some(home) = &self.home else { return found };
        let mut pending = vec![home.clone()];
        while let Some(folder) = pending.pop() {
            for entry in listed(&folder).into_iter().flatten().flatten().take(MOST_NAMES) {
                let (path, name) = (entry.path(), entry.file_name());
                let is_top = folder == *home;
                let is_harmless = || automatic_at_home(&path, home, home).is_none();
                if is_top && (!is_dotted(&name) || name == ASIDE_FOLDER || is_harmless()) {
                    continue;
                }
                let names = named.iter().filter(|named| !self.is_around(named));
                let mut skipped = self.left.iter().chain(&self.hidden).chain(names.clone());
                if skipped.any(|place| path.starts_with(place)) {
                    continue;
                }
                let is_below = |place: &&PathBuf| place.starts_with(&path);
                let is_there = |place: &&PathBuf| is_below(place) && fs::symlink_metadata(place).is_ok();
                let is_opened = self.left.iter().chain(names).any(|place| is_below(&place))
                    // What is hidden keeps its name, so a new folder that holds some keeps its own, too.
                    || (!is_known(&path) && self.hidden.iter().any(|place| is_there(&place)));
                match is_opened && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    true => pending.push(path),
                    false => found.push(path),
                }
            }
        }
        found
    }
}

/// True of a place of a home in which programs write by themselves.
pub(super) fn is_left_of(home: &Path, path: &Path) -> bool {
    LEFT.iter().any(|name| path.starts_with(home.join(name)))
}

fn is_dotted(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

#[cfg(test)]
mod tests;
