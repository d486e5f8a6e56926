//! What must stand below the folders that a command may write, so that nothing hidden is uncovered, moved or made there?
//!
//! A folder on which something is mounted cannot be renamed or removed, nor can what is mounted. So each folder on the way from
//! a writable folder to something hidden is mounted onto itself; a folder in which something hidden could come to be, or from
//! which a link leads there, is mounted so that it takes nothing new.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, Mode, OFlags, mkdirat, openat},
    io::Errno,
};

use sys::guarded::GuardedPlacesView;

/// Entries of one folder that stay writable when the folder itself may not be. Each is a mount, so a command waits for it.
const MOST_ENTRIES: usize = 1_000;

/// The folder of the system's settings.
const OF_SYSTEM: &str = "/etc";

/// What is mounted at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MountKind {
    /// Itself, so that it stays where it is.
    Kept,
    /// Itself, so that nothing is changed in it.
    Frozen,
    /// Nothing to see.
    Hidden,
}

/// By path, so that each comes after whatever it lies in.
pub type MountPlan = BTreeMap<PathBuf, MountKind>;

/// The walls for a command that may write in `roots`, but not to what is `frozen`, existing paths; `stays`: nor move that.
pub fn of_writable<'a>(
    roots: &[PathBuf],
    look: &GuardedPlacesView,
    (frozen, stays): (impl Iterator<Item = &'a Path> + Clone, &[PathBuf]),
) -> MountPlan {
    let mut walls: MountPlan = roots.iter().map(|root| (root.clone(), MountKind::Kept)).collect();
    for root in roots {
        let is_below = |path: &&PathBuf| path.starts_with(root) && *path != root;
        for place in look.present.iter().filter(is_below) {
            keep_way(root, place, &mut walls);
        }
        let links = look.links.iter().filter(is_below).filter_map(|link| link.parent());
        let missing = look.missing.iter().filter(is_below).filter_map(|place| first_folder(place));
        for folder in links.chain(missing).filter(|folder| folder.starts_with(root)) {
            freeze(root, folder, &mut walls);
        }
        for path in frozen.clone().filter(|path| path.starts_with(root)) {
            keep_way(root, path, &mut walls);
        }
        for path in stays.iter().filter(|path| path.starts_with(root)) {
            keep_way(root, path, &mut walls);
            walls.entry(path.clone()).or_insert(MountKind::Kept);
        }
    }
    let is_in_roots = |path: &&Path| roots.iter().any(|root| path.starts_with(root));
    // What was mounted below them on the way to something else is no way in.
    for (path, wall) in &mut walls {
        if *wall == MountKind::Kept && frozen.clone().any(|frozen| path.starts_with(frozen)) {
            *wall = MountKind::Frozen;
        }
    }
    walls.extend(frozen.filter(is_in_roots).map(|path| (path.to_owned(), MountKind::Frozen)));
    hide(&mut walls, look);
    walls
}

/// The walls for a command that may only read in `roots`.
pub fn of_readable(roots: &[PathBuf], look: &GuardedPlacesView) -> MountPlan {
    let mut walls: MountPlan = roots.iter().map(|root| (root.clone(), MountKind::Frozen)).collect();
    hide(&mut walls, look);
    walls
}

fn hide(walls: &mut MountPlan, look: &GuardedPlacesView) {
    walls.extend(look.present.iter().map(|place| (place.clone(), MountKind::Hidden)));
    // What lies in something hidden is not there; a workspace neither.
    walls.retain(|path, _| !look.present.iter().any(|place| path.starts_with(place) && path != place));
}

/// Makes the folders for files that nobody is to make, so that nothing above them need be shut.
pub fn make_folders_of(roots: &[PathBuf], missing: &[PathBuf]) {
    for folder in missing.iter().filter_map(|place| place.parent()) {
        if roots.iter().any(|root| folder.starts_with(root)) && !folder.is_dir() {
            // What cannot be made is shut further up.
            let _shut = make(folder);
        }
    }
}

/// Makes the folders that are to be hidden and are not there, so that they can be. What cannot be made is left to
/// [`below`], which keeps anybody from making it.
pub fn make_missing(roots: &[PathBuf], look: &GuardedPlacesView) -> bool {
    let mut is_any_made = false;
    for place in look.missing.iter().filter(|place| is_a_folders(place)) {
        // A link that leads there can lead elsewhere meanwhile.
        if roots.iter().any(|root| place.starts_with(root))
            && !look.links.iter().any(|link| place.starts_with(link))
        {
            is_any_made |= make(place).is_ok();
        }
    }
    is_any_made
}

/// Private, with all above it. No link is followed: one that somebody puts there meanwhile would have folders made elsewhere.
fn make(path: &Path) -> io::Result<()> {
    // What is the system's is read by everybody's daemon.
    let of_everybody = Mode::RWXU | Mode::RGRP | Mode::XGRP | Mode::ROTH | Mode::XOTH;
    let mode = if path.starts_with(OF_SYSTEM) { of_everybody } else { Mode::RWXU };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut folder = openat(CWD, "/", flags, Mode::empty())?;
    for name in path.iter().skip(1) {
        folder = match openat(&folder, name, flags, Mode::empty()) {
            Err(Errno::NOENT) => {
                match mkdirat(&folder, name, mode) {
                    // Somebody else made it meanwhile.
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                openat(&folder, name, flags, Mode::empty())?
            }
            opened => opened?,
        };
    }
    Ok(())
}

/// True if it is a folder's name: files of settings, and sockets, end like files.
fn is_a_folders(place: &Path) -> bool {
    place.extension().is_none()
}

/// The innermost folder above a place that is there.
fn first_folder(place: &Path) -> Option<&Path> {
    place.ancestors().skip(1).find(|folder| fs::symlink_metadata(folder).is_ok_and(|it| it.is_dir()))
}

fn keep_way(root: &Path, place: &Path, walls: &mut MountPlan) {
    let between = place.ancestors().skip(1).take_while(|folder| folder.starts_with(root) && *folder != root);
    for folder in between {
        walls.entry(folder.to_owned()).or_insert(MountKind::Kept);
    }
}

fn freeze(root: &Path, folder: &Path, walls: &mut MountPlan) {
    keep_way(root, folder, walls);
    walls.insert(folder.to_owned(), MountKind::Frozen);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_ENTRIES) {
        // A link cannot be mounted, and nobody writes to it.
        if entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_file()) {
            walls.entry(entry.path()).or_insert(MountKind::Kept);
        }
    }
}
