//! The files that Landlock lets a command have, by itself or in a view that bubblewrap made.
//!
//! A rule of Landlock means a folder with all that is below it and takes nothing back, so what is hidden is left out by
//! naming everything beside it. A folder that holds something hidden can be gone through and not be listed, and takes nothing
//! new; so does one in which something hidden could come to be, or from which a link leads there.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    CommandLaunch, HiddenPlaces,
    hidden::{KEPT_OF_RUNTIME, RUNTIME, TEMPORARY},
};
use protocol::SandboxProfile;
use sys::{
    guarded::{GuardedPlacesView, MountList},
    warden::FileAccess,
};

/// Devices that programs need, to read and to write. All others stay closed: a disk can be read past all files, and somebody
/// types passwords on a terminal. `/dev/tty` is the command's own. `/dev/shm` is everybody's, and nobody counts what lies there.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Entries of one folder that are named at most; a folder with more that holds something hidden is closed from there on.
const MOST_ENTRIES: usize = 10_000;

/// Reads the file system.
pub fn files(launch: &CommandLaunch, hidden: &HiddenPlaces) -> FileAccess {
    let (look, mounts) = (hidden.look(), hidden.mounts());
    let mut closed = [look.present.as_slice(), &look.absent].concat();
    closed.extend([PathBuf::from("/dev"), PathBuf::from(RUNTIME)]);
    let mut files = FileAccess::default();
    open(Path::new("/"), (&closed, &mounts), &mut files.readable);
    // Each is opened without following links, which a command may put anywhere in a workspace.
    let real = |path: &Path| path.canonicalize().ok();
    files.readable.extend(KEPT_OF_RUNTIME.iter().filter_map(|path| real(Path::new(path))));
    open_within(launch, &closed, &mounts, &mut files.readable);
    // A workspace may lie in what is closed only because it is the system's.
    let mut own = look.present;
    let roots = match launch.rules.profile {
        SandboxProfile::ReadOnly => &mut files.readable,
        SandboxProfile::WorkspaceWrite | SandboxProfile::Full => {
            // Nobody makes what is to be hidden, or leads the daemon elsewhere.
            own.extend(look.missing);
            own.extend(look.links);
            let kept = hidden.kept_in(&launch.roots);
            own.extend(kept.present.into_iter().chain(kept.missing).chain(kept.links));
            // Beside what is closed nothing new is made, so to close one thing more there takes nothing else away.
            let takes_nothing_new = |place: &&PathBuf| {
                place.parent().is_some_and(|folder| own.iter().any(|it| it.starts_with(folder)))
            };
            let beside: Vec<PathBuf> = launch.read_only.iter().filter(takes_nothing_new).cloned().collect();
            own.extend(beside);
            &mut files.writable
        }
    };
    for root in &launch.roots {
        open(root, (&own, &mounts), roots);
    }
    roots.extend(own_data(launch));
    files.writable.extend(real(&launch.temporary));
    files.writable.extend(DEVICES.iter().map(PathBuf::from));
    files
}

/// The only places that a command reads in the view that bubblewrap gives it, where that shows `named` places too. There each hidden place is
/// covered by a mount, which falls off when somebody outside puts another file there, as whatever refreshes a token does; and what
/// comes to be after the command began has no cover at all. Within the workspace everything is read: Landlock would close what is
/// new beside something hidden, and the view alone keeps that. Reads the file system.
pub fn seen(
    launch: &CommandLaunch,
    hidden: &HiddenPlaces,
    look: &GuardedPlacesView,
    named: &[PathBuf],
) -> Vec<PathBuf> {
    // These are others in the view, with nothing of anybody's in them.
    let own = TEMPORARY.iter().chain(&[RUNTIME, "/dev", "/proc"]).map(PathBuf::from);
    let mut seen: Vec<PathBuf> = own.collect();
    let mut closed: Vec<PathBuf> = [look.present.as_slice(), &look.absent, &seen].concat();
    // What is the system's is replaced while commands run (`resolv.conf` by whatever connects the machine), and only root makes
    // something hidden there.
    closed.retain(|place| !place.starts_with("/etc"));
    open(Path::new("/"), (&closed, &hidden.mounts()), &mut seen);
    // What covers hidden files.
    seen.push(PathBuf::from("/dev/null"));
    seen.extend(launch.roots.iter().chain(named).chain(&launch.own_data).cloned());
    open_within(launch, &closed, &hidden.mounts(), &mut seen);
    seen
}

/// The folder of the program's own, unless somebody put a link on the way to it.
fn own_data(launch: &CommandLaunch) -> Option<PathBuf> {
    let own = launch.own_data.as_ref()?;
    own.canonicalize().ok().filter(|real| real == own)
}

/// Names what is readable although it lies in what is closed, but not what is closed within it.
fn open_within(launch: &CommandLaunch, closed: &[PathBuf], mounts: &MountList, into: &mut Vec<PathBuf>) {
    for place in launch.really_readable() {
        let within: Vec<PathBuf> =
            closed.iter().filter(|it| it.starts_with(&place) && **it != place).cloned().collect();
        open(&place, (&within, mounts), into);
    }
}

/// Names everything from `path` on but what is closed.
fn open(path: &Path, (closed, mounts): (&[PathBuf], &MountList), into: &mut Vec<PathBuf>) {
    if closed.iter().any(|other| path.starts_with(other)) {
        return;
    }
    // A rule means a folder by whatever path it is reached, also where a mount lies over it: what is below that mount is below
    // the folder. So a folder that another mount shows once more is looked at there, too.
    let holds_any = |folder: &Path| closed.iter().any(|other| other.starts_with(folder));
    if !holds_any(path) && !mounts.aliases(path).iter().any(|alias| holds_any(alias)) {
        into.push(path.to_owned());
        return;
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten().take(MOST_ENTRIES) {
        // A link is as open as what it leads to.
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
            open(&entry.path(), (closed, mounts), into);
        }
    }
}
