//! The view that bubblewrap gives a command (bwrap(1)).

use std::{
    os::unix::fs::FileTypeExt as _,
    path::{Path, PathBuf},
};

use super::{
    CommandLaunch, CommandStartError, HiddenPlaces, allowed,
    hidden::{KEPT_OF_RUNTIME, RUNTIME, TEMPORARY},
    named, stairs,
    walls::{self, MountKind},
};
use protocol::SandboxProfile;
use sys::{
    guarded::{FileIdentity, GuardedPlacesView},
    warden::{self, FixedPlace},
};

/// Of `/proc`, what is the whole system's and can be written by its owner.
const KERNEL: &[&str] = &[
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/irq",
    "/proc/bus",
    "/proc/fs",
    "/proc/acpi",
    "/proc/scsi",
    "/proc/mtrr",
    "/proc/pressure",
    "/proc/driver",
];

/// Of `/proc`, what shows the memory of others.
const KERNEL_SECRETS: &[&str] = &["/proc/kcore", "/proc/kmsg", "/proc/keys", "/proc/kpageflags"];

/// A view of its own for a command.
pub struct PreparedView {
    /// The arguments of bubblewrap.
    pub arguments: Vec<String>,
    /// Places that must be found as they were.
    pub fixed: Vec<FixedPlace>,
    /// Places of which alone anything is read, where the kernel can see to that.
    pub seen: Vec<PathBuf>,
}

/// The view that bubblewrap makes, which is this `program`; the warden last, by a path that leads to what this process holds open.
/// Reads the file system: what is not there cannot be covered. Makes what must be there to be covered.
///
/// bubblewrap follows links, and a command that goes on may put one anywhere in its workspace at any time; so with the arguments
/// comes what must be found where.
pub fn view(
    launch: &CommandLaunch,
    hidden: &HiddenPlaces,
    program: &Path,
    warden: &Path,
) -> Result<PreparedView, CommandStartError> {
    let mut fixed = launch.fixed_roots(true)?;
    let mut view = BubblewrapView::default();
    view.flags(&["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]);
    if !launch.rules.network {
        view.flags(&["--unshare-net"]);
    }
    // The warden is the first process, so that it knows all others and ends last.
    // It ends when its socket does; `--die-with-parent` would end it with the thread that started it.
    view.flags(&["--as-pid-1", "--cap-drop", "ALL"]);
    view.flags(&["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", RUNTIME]);
    // Root is the owner of the kernel's settings, whatever rights were taken from it. Others may not change them anyway, and
    // each mount takes its time.
    if rustix::process::geteuid().is_root() {
        for path in KERNEL.iter().map(Path::new).filter(|path| path.exists()) {
            view.bind("--ro-bind", path, path);
        }
    }
    for path in KERNEL_SECRETS.iter().map(Path::new).filter(|path| path.exists()) {
        view.bind("--ro-bind", Path::new("/dev/null"), path);
    }
    for kept in KEPT_OF_RUNTIME.iter().map(Path::new) {
        view.bind("--ro-bind-try", kept, kept);
    }
    for place in TEMPORARY.iter().map(Path::new).filter(|place| place.is_dir()) {
        view.bind("--bind", &launch.temporary, place);
    }
    // Files in memory are nobody's, so no limit of a command's would count them.
    view.bind("--bind", &launch.temporary, Path::new("/dev/shm"));
    view.flags(&["--remount-ro", "/dev"]);
    let mut look = hidden.look();
    let mut walls = match launch.rules.profile {
        SandboxProfile::ReadOnly => walls::of_readable(&launch.roots, &look),
        SandboxProfile::WorkspaceWrite | SandboxProfile::Full => {
            if walls::make_missing(&launch.roots, &look) {
                look = hidden.look();
            }
            let kept = hidden.kept_in(&launch.roots);
            walls::make_folders_of(&launch.roots, &kept.missing);
            // Nobody makes what would be read, or leads the daemon elsewhere.
            let mut shut = look.clone();
            shut.missing.extend(kept.missing);
            shut.links.extend(kept.links);
            let frozen = launch.read_only.iter().chain(&kept.present).map(PathBuf::as_path).chain([program]);
            walls::of_writable(&launch.roots, &shut, (frozen, &launch.stays))
        }
    };
    for place in launch.sockets.iter().filter(|place| shows(place, &look)) {
        walls.entry(place.clone()).or_insert(MountKind::Frozen);
    }
    let named = named::seen(launch, &look.present)?;
    let visible: Vec<&PathBuf> = launch.roots.iter().chain(&launch.sockets).chain(&named).collect();
    for place in TEMPORARY.iter().map(Path::new) {
        let shown = visible
            .iter()
            .copied()
            .chain(&launch.readable)
            .chain(&launch.own_data)
            .filter(|path| path.starts_with(place));
        let steps = stairs::build(place, &launch.temporary, shown).map_err(|source| {
            CommandStartError::System { what: "what the command is to see cannot be laid out", source }
        })?;
        for step in steps {
            let (from, to) = (launch.temporary.join(&step), place.join(&step));
            view.bind("--bind", &from, &to);
            // What is mounted over later is seen instead.
            if !visible.iter().any(|shown| to.starts_with(shown)) {
                fixed.extend(as_it_is(&from, to));
            }
        }
    }
    // Before the workspace, of which they may hold a part, and before what is hidden is covered, of which they may hold some.
    for place in &named {
        view.bind("--ro-bind", place, place);
        if !launch.roots.iter().any(|root| place.starts_with(root)) {
            fixed.extend(as_it_is(place, place.clone()));
        }
    }
    let walls = walls.iter().filter(|(path, wall)| **wall != MountKind::Hidden || is_seen(path, &visible));
    for (path, wall) in walls.clone() {
        if *wall != MountKind::Hidden && !fixed.iter().any(|it| it.path == *path) {
            fixed.extend(as_it_is(path, path.clone()));
        }
        match wall {
            MountKind::Kept => view.bind("--bind", path, path),
            MountKind::Frozen => view.bind("--ro-bind", path, path),
            MountKind::Hidden => view.cover(path),
        }
    }
    let mut covered: Vec<PathBuf> = Vec::new();
    for path in launch.readable_alone() {
        if launch.roots.iter().any(|root| path.starts_with(root)) {
            // A command that goes on may put a link there at any moment.
            if !path.canonicalize().is_ok_and(|real| real == *path) {
                continue;
            }
            fixed.extend(as_it_is(path, path.clone()));
        }
        view.bind("--ro-bind-try", path, path);
        // It is the real one with all that lies in it, over what was covered before.
        for hidden in look.present.iter().filter(|hidden| hidden.starts_with(path) && *hidden != path) {
            view.cover(hidden);
            covered.push(hidden.clone());
        }
    }
    // As the roots are, over what was covered.
    if let Some(path) = &launch.own_data {
        fixed.extend(as_it_is(path, path.clone()));
        let how = if launch.rules.profile == SandboxProfile::ReadOnly { "--ro-bind" } else { "--bind" };
        view.bind(how, path, path);
    }
    // What lies in it is no mount any more, and is not written.
    let is_over =
        |path: &Path| launch.readable_alone().any(|readable| path.starts_with(readable) && path != readable);
    fixed.retain(|it| !is_over(&it.path));
    // A folder over which something readable was mounted since is covered no more, and no mount.
    let is_over = |path: &PathBuf| launch.readable_alone().any(|readable| path.starts_with(readable));
    let first = walls.filter(|(path, wall)| **wall == MountKind::Hidden && !is_over(path));
    for path in first.map(|(path, _)| path).chain(&covered).filter(|path| path.is_dir()) {
        view.words.extend(["--remount-ro".to_owned(), shown(path)]);
    }
    // Its mounts are made; nothing else is to be put there.
    view.flags(&["--remount-ro", RUNTIME, "--chdir", "/", "--"]);
    view.words.extend([shown(warden), warden::ARGUMENT.to_owned()]);
    Ok(PreparedView { arguments: view.words, fixed, seen: allowed::seen(launch, hidden, &look, &named) })
}

/// What lies there, to be found at a path where it is mounted. What is not there is not mounted either.
fn as_it_is(from: &Path, path: PathBuf) -> Option<FixedPlace> {
    // The root of all is there.
    FileIdentity::of(from).map(|id| FixedPlace { is_mounted: path.parent().is_some(), path, id })
}

#[derive(Default)]
struct BubblewrapView {
    words: Vec<String>,
}

impl BubblewrapView {
    fn flags(&mut self, words: &[&str]) {
        self.words.extend(words.iter().map(|word| (*word).to_owned()));
    }

    fn bind(&mut self, how: &str, from: &Path, to: &Path) {
        self.words.extend([how.to_owned(), shown(from), shown(to)]);
    }

    /// Puts nothing over what is hidden.
    fn cover(&mut self, path: &Path) {
        match path.is_dir() {
            true => self.words.extend(["--tmpfs".to_owned(), shown(path)]),
            false => self.bind("--ro-bind", Path::new("/dev/null"), path),
        }
    }
}

/// True if something to connect to is to be seen: not where it lies in what is hidden, but for a socket that somebody named.
fn shows(place: &Path, look: &GuardedPlacesView) -> bool {
    let Ok(it) = place.metadata() else { return false };
    it.file_type().is_socket() || !look.present.iter().any(|hidden| place.starts_with(hidden))
}

/// True if a path could be seen inside. What lies in a folder that is another one there cannot, but for what is `shown` all the
/// same.
fn is_seen(path: &Path, shown: &[&PathBuf]) -> bool {
    let is_shown = shown.iter().any(|folder| path.starts_with(folder) || folder.starts_with(path));
    let mut others = TEMPORARY.iter().chain([&RUNTIME]);
    is_shown || !others.any(|place| path.starts_with(place))
}

/// Roots and the daemon's own places are UTF-8; another home cannot be named to bubblewrap, which then says so.
fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
