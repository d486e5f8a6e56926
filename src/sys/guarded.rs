//! Which places must nobody reach whom the daemon runs, wherever those places are by now?
//!
//! A place is known by its name, and from the moment it was first seen by a handle that stays open: a folder that was
//! moved, by renaming it or a folder above it, is the same place under another path. [`GuardedPlaces::look`] answers what
//! there is at this moment: the paths of all of them, also under further mounts, those that are not there yet, and the
//! links that lead to them. The sandbox and the file tools go by the same answer.

use std::{
    collections::HashSet,
    fs,
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::fs::MetadataExt as _,
    },
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use rustix::{
    fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2},
    io::Errno,
};
use serde::{Deserialize, Serialize};

mod aside;
mod listing;
mod mounts;
mod way;
mod within;

pub use aside::ASIDE;
pub use listing::{give_back_rights, listed, mode_of};
pub use mounts::MountList;

use aside::AsideNames;
use mounts::MountTable;
pub use way::{MAX_LINKS, ResolvedPath};
use within::SecretsWithin;

/// Handles that are kept at most. A name gets a new one only when something else lies there and the old one lives on
/// elsewhere, which is rare; the bound is for a program that moves its file away each minute.
const MOST_HANDLES: usize = 1_024;

/// How much of a place is guarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuardKind {
    /// While it is there: who makes one that was not has nothing of anybody's.
    Present,
    /// The same of somebody's secrets: with files and folders of that person's to which links within it lead, and by whatever names the files
    /// in it have besides.
    Secret,
    /// Also where it is not there yet: whoever makes it says what the daemon does.
    Always,
}

/// Places by their names.
#[derive(Debug, Clone, Default)]
pub struct GuardedPlaces(Arc<GuardedPlacesState>);

#[derive(Debug, Default)]
struct GuardedPlacesState {
    names: Vec<(PathBuf, GuardKind)>,
    /// Secrets that lie beside their own names.
    aside: AsideNames,
    held: Mutex<Vec<SeenPlace>>,
    mounts: MountTable,
}

/// A place that was seen.
#[derive(Debug)]
struct SeenPlace {
    /// Under which it was seen.
    name: PathBuf,
    /// The name is one of those that are always asked for.
    lasts: bool,
    handle: OwnedFd,
    id: FileIdentity,
    is_folder: bool,
}

/// What tells one file from another, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileIdentity {
    device: u64,
    inode: u64,
}

/// What there is of guarded places at one moment. Paths are absolute and have no links.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GuardedPlacesView {
    /// Under each mount that shows them, none below another, sorted.
    pub present: Vec<PathBuf>,
    /// Of those that are guarded always, the ones that are not there.
    pub missing: Vec<PathBuf>,
    /// Places guarded while they are there that are not there.
    pub absent: Vec<PathBuf>,
    /// Links on the way to those that are guarded always.
    pub links: Vec<PathBuf>,
    /// What is there, whatever it is called.
    pub ids: HashSet<FileIdentity>,
}

impl GuardedPlacesView {
    /// Whether a path that has no links is such a place, lies below one, or would lie below one that is not there.
    pub fn holds(&self, path: &Path) -> bool {
        self.present.iter().chain(&self.missing).any(|place| path.starts_with(place))
    }
}

impl GuardedPlaces {
    /// Absolute paths. The same place may stand there twice.
    pub fn new(names: impl IntoIterator<Item = (PathBuf, GuardKind)>) -> GuardedPlaces {
        let names: Vec<(PathBuf, GuardKind)> = names.into_iter().collect();
        let secrets = names.iter().filter(|(_, kind)| *kind == GuardKind::Secret);
        let aside = AsideNames::of(secrets.map(|(path, _)| path.as_path()));
        let places =
            GuardedPlaces(Arc::new(GuardedPlacesState { names, aside, ..GuardedPlacesState::default() }));
        // From now on they are known.
        places.look();
        places
    }

    /// With further ones.
    #[must_use]
    pub fn and(&self, names: impl IntoIterator<Item = (PathBuf, GuardKind)>) -> GuardedPlaces {
        GuardedPlaces::new(self.0.names.iter().cloned().chain(names))
    }

    /// As they were named.
    pub fn names(&self) -> impl Iterator<Item = &Path> {
        self.0.names.iter().map(|(path, _)| path.as_path())
    }

    /// Names of somebody's secrets.
    pub fn names_of_secrets(&self) -> impl Iterator<Item = &Path> {
        self.0.names.iter().filter(|(_, kind)| *kind == GuardKind::Secret).map(|(path, _)| path.as_path())
    }

    /// The mounts by now. Blocks for a moment.
    pub fn mounts(&self) -> Arc<MountList> {
        self.0.mounts.read()
    }

    /// Looks where they are. Blocks for some hundred system calls, most of them one for each name, which take less than a
    /// millisecond.
    pub fn look(&self) -> GuardedPlacesView {
        self.look_with([])
    }

    /// The same with others that are named by now. They are known by handle while they are named.
    pub fn look_with(&self, more: impl IntoIterator<Item = (PathBuf, GuardKind)>) -> GuardedPlacesView {
        let aside = self.0.aside.look().into_iter().map(|path| (path, GuardKind::Present));
        let more: Vec<(PathBuf, GuardKind)> = more.into_iter().chain(aside).collect();
        let mounts = self.0.mounts.read();
        let mut look = GuardedPlacesView::default();
        // Nothing panics while it is locked.
        let mut held = self.0.held.lock().unwrap_or_else(PoisonError::into_inner);
        let lasting = self.0.names.iter().map(|named| (named, true));
        for ((name, guard), lasts) in lasting.chain(more.iter().map(|named| (named, false))) {
            let way = ResolvedPath::to(name);
            if *guard == GuardKind::Always {
                look.links.extend(way.links);
            }
            match way.id {
                Some(id) => {
                    hold(&mut held, (name, lasts), &way.end, id);
                    if *guard == GuardKind::Secret {
                        let within = SecretsWithin::of(&way.end);
                        look.present.extend(within.ends);
                        look.ids.extend(within.ids);
                    }
                    look.present.push(way.end);
                    look.ids.insert(id);
                }
                None if *guard == GuardKind::Always => look.missing.push(way.end),
                None => look.absent.push(way.end),
            }
        }
        let is_named = |wanted: &Path| more.iter().any(|(name, _)| name == wanted);
        let by_name = look.ids.clone();
        held.retain(|place| {
            let is_wanted = place.lasts || is_named(&place.name);
            // A folder that has its name is nowhere else; a file may have further names.
            if !is_wanted || place.is_folder && by_name.contains(&place.id) {
                return is_wanted;
            }
            let Some(path) = place.path() else { return false };
            look.ids.insert(place.id);
            look.present.extend(path);
            true
        });
        drop(held);
        let others: Vec<PathBuf> = look.present.iter().flat_map(|path| mounts.others(path)).collect();
        look.present = outermost(look.present.into_iter().chain(others));
        // Whoever makes something under another mount has made it.
        look.missing = look.missing.iter().flat_map(|path| mounts.others_of_missing(path)).collect();
        look.missing.retain(|path| !look.present.iter().any(|place| path.starts_with(place)));
        look.missing.sort();
        look.missing.dedup();
        look.links = look.links.iter().flat_map(|path| mounts.others_of_missing(path)).collect();
        look.links.retain(|path| !look.present.iter().any(|place| path.starts_with(place)));
        look.links.sort();
        look.links.dedup();
        look
    }
}

/// Keeps a handle of a place that has none yet.
fn hold(held: &mut Vec<SeenPlace>, (name, lasts): (&Path, bool), path: &Path, id: FileIdentity) {
    if let Some(known) = held.iter_mut().find(|place| place.id == id) {
        known.lasts |= lasts;
        return;
    }
    if held.len() == MOST_HANDLES {
        return;
    }
    // The root of a mount is where it is mounted, and a handle would keep it from being unmounted.
    let is_mounted = path.parent().and_then(FileIdentity::of).is_none_or(|above| above.device != id.device);
    if is_mounted {
        return;
    }
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(handle) = openat(CWD, path, flags, Mode::empty()) else { return };
    // It may have been replaced since it was looked at; then the next look finds the other one.
    if let Ok(stat) = fstat(&handle)
        && FileIdentity::of_stat(&stat) == id
    {
        let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        held.push(SeenPlace { name: name.to_owned(), lasts, handle, id, is_folder });
    }
}

impl SeenPlace {
    /// Where it is by now; the inner `None` = nowhere that this process could name. `None` = it is gone.
    fn path(&self) -> Option<Option<PathBuf>> {
        if fstat(&self.handle).is_ok_and(|stat| stat.st_nlink == 0) {
            return None;
        }
        let path = fs::read_link(format!("/proc/self/fd/{}", self.handle.as_raw_fd())).ok();
        Some(path.filter(|path| FileIdentity::of(path) == Some(self.id)))
    }
}

impl FileIdentity {
    /// The file's number on its disk.
    pub fn inode(self) -> u64 {
        self.inode
    }

    /// Of what is there; a link is not followed.
    pub fn of(path: &Path) -> Option<FileIdentity> {
        fs::symlink_metadata(path).ok().map(|it| FileIdentity { device: it.dev(), inode: it.ino() })
    }

    /// Of what lies at an absolute path of which no part is a link, nor the end.
    pub fn without_links(path: &Path) -> Result<FileIdentity, Errno> {
        Ok(FileIdentity::of_stat(&fstat(open_without_links(path)?)?))
    }

    pub fn of_stat(stat: &Stat) -> FileIdentity {
        FileIdentity { device: stat.st_dev, inode: stat.st_ino }
    }
}

/// A handle of what lies at an absolute path, if no part of that is a link, nor the end. It can be looked at, not read.
pub fn open_without_links(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // An old kernel, or a container that knows no newer calls: then the end at least is none.
        Err(Errno::NOSYS | Errno::PERM) => {
            let end = openat(CWD, path, flags | OFlags::NOFOLLOW, Mode::empty())?;
            match FileType::from_raw_mode(fstat(&end)?.st_mode) {
                FileType::Symlink => Err(Errno::LOOP),
                _ => Ok(end),
            }
        }
        opened => opened,
    }
}

/// Sorted, none below another.
fn outermost(paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = paths.collect();
    paths.sort();
    let mut outer: Vec<PathBuf> = Vec::new();
    for path in paths {
        // Sorted, so whatever holds it came before.
        if !outer.last().is_some_and(|other| path.starts_with(other)) {
            outer.push(path);
        }
    }
    outer
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Ground {
        _dir: tempfile::TempDir,
        at: PathBuf,
    }

    impl Ground {
        fn new() -> Ground {
            let dir = tempfile::tempdir().unwrap();
            let at = dir.path().canonicalize().unwrap();
            for name in ["home/.config/own", "home/.keys", "elsewhere"] {
                fs::create_dir_all(at.join(name)).unwrap();
            }
            Ground { _dir: dir, at }
        }

        fn places(&self, names: &[(&str, GuardKind)]) -> GuardedPlaces {
            GuardedPlaces::new(names.iter().map(|(name, guard)| (self.at.join(name), *guard)))
        }

        /// Without what other mounts of this machine show.
        fn below<'a>(&self, paths: &'a [PathBuf]) -> Vec<&'a str> {
            paths.iter().filter_map(|path| path.strip_prefix(&self.at).ok()?.to_str()).collect()
        }
    }

    #[test]
    fn a_secret_that_was_put_aside_is_one_under_that_name_too() {
        let ground = Ground::new();
        let places =
            ground.places(&[("home/.keys", GuardKind::Secret), ("home/.config/own", GuardKind::Always)]);
        let names =
            ["home/.keys.not-run-0", "home/.config/own.not-run-0", "home/x.keys.not-run-0", "home/.keys.old"];
        assert_eq!(ground.below(&places.look().present), ["home/.config/own", "home/.keys"]);
        names.iter().for_each(|name| fs::create_dir_all(ground.at.join(name)).unwrap());
        fs::remove_dir(ground.at.join("home/.keys")).unwrap();
        assert_eq!(ground.below(&places.look().present), ["home/.config/own", "home/.keys.not-run-0"]);
        fs::remove_dir(ground.at.join("home/.keys.not-run-0")).unwrap();
        assert_eq!(ground.below(&places.look().present), ["home/.config/own"]);
    }

    #[test]
    fn what_was_moved_is_known_where_it_is_now() {
        let ground = Ground::new();
        let places =
            ground.places(&[("home/.config/own", GuardKind::Always), ("home/.keys", GuardKind::Present)]);
        assert_eq!(ground.below(&places.look().present), ["home/.config/own", "home/.keys"]);
        fs::rename(ground.at.join("home/.config"), ground.at.join("home/.c2")).unwrap();
        fs::rename(ground.at.join("home/.keys"), ground.at.join("elsewhere/keys")).unwrap();
        let look = places.look();
        assert_eq!(ground.below(&look.present), ["elsewhere/keys", "home/.c2/own"]);
        assert_eq!(ground.below(&look.missing), ["home/.config/own"]);
        // Others in its place are guarded as well.
        fs::create_dir_all(ground.at.join("home/.config/own")).unwrap();
        let look = places.look();
        assert_eq!(ground.below(&look.present), ["elsewhere/keys", "home/.c2/own", "home/.config/own"]);
        assert_eq!(ground.below(&look.missing), [""; 0]);
    }

    #[test]
    fn what_is_gone_is_forgotten() {
        let ground = Ground::new();
        let places = ground.places(&[("home/.keys", GuardKind::Present)]);
        fs::remove_dir(ground.at.join("home/.keys")).unwrap();
        let look = places.look();
        assert_eq!((look.present.len(), look.missing.len(), look.ids.len()), (0, 0, 0), "{look:?}");
    }

    #[test]
    fn links_on_the_way_are_told_wherever_they_end() {
        let ground = Ground::new();
        symlink("../elsewhere", ground.at.join("home/.there")).unwrap();
        symlink("dotfiles/gone", ground.at.join("home/.gone")).unwrap();
        let places = ground.places(&[
            ("home/.there/agents", GuardKind::Always),
            ("home/.gone/agents", GuardKind::Always),
            ("home/.there/keys", GuardKind::Present),
        ]);
        let look = places.look();
        assert_eq!(ground.below(&look.links), ["home/.gone", "home/.there"]);
        assert_eq!(ground.below(&look.missing), ["elsewhere/agents", "home/dotfiles/gone/agents"]);
        fs::create_dir(ground.at.join("elsewhere/agents")).unwrap();
        let look = places.look();
        assert_eq!(ground.below(&look.present), ["elsewhere/agents"]);
        assert!(look.holds(&ground.at.join("elsewhere/agents/a.md")));
        assert!(look.holds(&ground.at.join("home/dotfiles/gone/agents")));
        assert!(!look.holds(&ground.at.join("elsewhere/other")));
    }
}
