//! The view that bubblewrap gives a command (bwrap(1)).

use std::path::{Path, PathBuf};

use super::{
    Hidden, Launch, NotSeen,
    hidden::{KEPT_OF_RUNTIME, RUNTIME},
    named,
};
use crate::{protocol::SandboxProfile, sys::warden};

/// Where the warden lies inside: the daemon's program may lie where nothing is seen.
pub const WARDEN: &str = "/run/subagentd-warden";

/// Folders for what lives no longer than its makers.
pub const TEMPORARY: &[&str] = &["/tmp", "/var/tmp"];

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

/// The arguments of bubblewrap, the warden last. Reads the file system: what is not there cannot be covered.
pub fn arguments(launch: &Launch, hidden: &Hidden, warden: &Path) -> Result<Vec<String>, NotSeen> {
    let mut view = View::default();
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
    view.bind("--ro-bind", warden, Path::new(WARDEN));
    // Before the workspace, of which they may hold a part, and before what is hidden is covered, of which they may hold some.
    let hidden = hidden.present();
    let named = named::seen(launch, &hidden)?;
    for place in &named {
        view.bind("--ro-bind", place, place);
    }
    let roots = match launch.rules.profile {
        SandboxProfile::ReadOnly => "--ro-bind",
        SandboxProfile::WorkspaceWrite | SandboxProfile::Full => "--bind",
    };
    for root in &launch.roots {
        view.bind(roots, root, root);
    }
    view.keep(launch);
    let visible: Vec<&Path> = launch.roots.iter().chain(&named).map(PathBuf::as_path).collect();
    let seen: Vec<PathBuf> = hidden.into_iter().filter(|path| is_seen(path, &visible)).collect();
    for path in &seen {
        view.cover(path);
    }
    for path in &launch.readable {
        view.bind("--ro-bind-try", path, path);
    }
    for path in seen.iter().filter(|path| path.is_dir()) {
        view.words.extend(["--remount-ro".to_owned(), shown(path)]);
    }
    // Its mount is made; nothing else is to be put there.
    view.flags(&["--remount-ro", RUNTIME, "--chdir", "/", "--", WARDEN, warden::ARGUMENT]);
    Ok(view.words)
}

#[derive(Default)]
struct View {
    words: Vec<String>,
}

impl View {
    fn flags(&mut self, words: &[&str]) {
        self.words.extend(words.iter().map(|word| (*word).to_owned()));
    }

    fn bind(&mut self, how: &str, from: &Path, to: &Path) {
        self.words.extend([how.to_owned(), shown(from), shown(to)]);
    }

    /// Makes what lies in the roots and is not to be written a mount of its own, and each folder on the way to it as well: a
    /// mount cannot be renamed, but a folder that holds one can.
    fn keep(&mut self, launch: &Launch) {
        let mut folders: Vec<&Path> = Vec::new();
        for kept in &launch.read_only {
            let Some(root) = launch.roots.iter().find(|root| kept.starts_with(root)) else { continue };
            let between = kept.ancestors().skip(1).take_while(|folder| folder != root);
            folders.extend(between.filter(|folder| !launch.roots.iter().any(|root| root == folder)));
        }
        folders.sort();
        folders.dedup();
        for folder in folders {
            self.bind("--bind", folder, folder);
        }
        for kept in &launch.read_only {
            self.bind("--ro-bind", kept, kept);
        }
    }

    /// Puts nothing over what is hidden.
    fn cover(&mut self, path: &Path) {
        match path.is_dir() {
            true => self.words.extend(["--tmpfs".to_owned(), shown(path)]),
            false => self.bind("--ro-bind", Path::new("/dev/null"), path),
        }
    }
}

/// Whether a path could be seen inside. What lies in a folder that is another one there cannot, but for what is `shown` all the
/// same.
fn is_seen(path: &Path, shown: &[&Path]) -> bool {
    let is_shown = shown.iter().any(|folder| path.starts_with(folder) || folder.starts_with(path));
    let mut others = TEMPORARY.iter().chain([&RUNTIME]);
    is_shown || !others.any(|place| path.starts_with(place))
}

/// Roots and the daemon's own places are UTF-8; another home cannot be named to bubblewrap, which then says so.
fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Where bubblewrap is, if it is installed.
pub fn program(path: Option<&std::ffi::OsStr>) -> Option<PathBuf> {
    std::env::split_paths(path?).map(|folder| folder.join("bwrap")).find(|program| program.is_file())
}
