//! What is kept from every command: people's secrets, and what is the daemon's own.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use sys::{
    guarded::{GuardKind, GuardedPlaces, GuardedPlacesView, MountList},
    named_files::NamedFiles,
    source_places::SourcePlaces,
};

/// Folders and files below the home in which programs keep keys, tokens and passwords.
const SECRETS: &[&str] = &[
    ".ssh",
    ".aws",
    ".gnupg",
    ".azure",
    ".kube",
    ".docker",
    ".password-store",
    ".netrc",
    ".git-credentials",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".my.cnf",
    ".vault-token",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/gcloud",
    ".config/gh",
    ".config/glab-cli",
    ".config/git/credentials",
    ".config/op",
    ".config/rclone",
    ".config/google-chrome",
    ".config/chromium",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".mozilla",
    ".thunderbird",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
];

/// Folders for what lives no longer than its makers.
pub const TEMPORARY: &[&str] = &["/tmp", "/var/tmp"];

/// Places where programs of the system and of the user's desktop listen, and leave what only they should see. Commands get
/// an empty one.
pub const RUNTIME: &str = "/run";

/// Of [`RUNTIME`], what programs need: how names are looked up, and where some systems keep all their programs.
pub const KEPT_OF_RUNTIME: &[&str] = &[
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager/resolv.conf",
    "/run/NetworkManager/no-stub-resolv.conf",
    "/run/current-system",
    "/run/booted-system",
    "/run/wrappers",
    "/run/opengl-driver",
];

/// Places that no command sees, wherever they are by now. A cheap handle.
#[derive(Debug, Clone, Default)]
pub struct HiddenPlaces {
    places: GuardedPlaces,
    /// What the settings name.
    named: NamedFiles,
    sources: SourcePlaces,
    /// The programs that the settings name, wherever they are by now.
    programs: GuardedPlaces,
}

/// The secrets of people who have this home.
pub fn secrets(home: &Path) -> impl Iterator<Item = PathBuf> {
    SECRETS.iter().map(move |name| home.join(name))
}

impl HiddenPlaces {
    /// The secrets below `home`, and what is the daemon's `own`: settings, policies, state, sockets, agents. What is its own
    /// is kept from commands also where it is not there yet.
    pub fn new(home: Option<&Path>, own: impl IntoIterator<Item = PathBuf>) -> HiddenPlaces {
        let secrets = home.into_iter().flat_map(secrets).map(|path| (path, GuardKind::Present));
        let own = own.into_iter().map(|path| (path, GuardKind::Always));
        HiddenPlaces {
            places: GuardedPlaces::new(secrets.chain(own)),
            named: NamedFiles::default(),
            sources: SourcePlaces::default(),
            programs: GuardedPlaces::default(),
        }
    }

    /// With what the daemon reads settings, rules and agents from. Where links there lead is seen, and not written.
    #[must_use]
    pub fn reading(self, sources: SourcePlaces) -> HiddenPlaces {
        HiddenPlaces { sources, ..self }
    }

    /// Places that are not written in these folders since the daemon reads them or runs them, with further names of files that it reads. A
    /// folder that lies in what is not written is not written itself. Blocks for a moment.
    pub fn kept_in(&self, roots: &[PathBuf]) -> GuardedPlacesView {
        let look = self.sources.look();
        let names = look.names_below(roots);
        let programs = self.named.programs().into_iter().map(|program| (program, GuardKind::Always));
        // Where a program lies beside the workspace's own files, it alone is kept.
        let holds_root = |folder: &PathBuf| roots.iter().any(|root| root.starts_with(folder));
        let folders = self.named.folders().into_iter().filter(|folder| !holds_root(folder));
        let folders = folders.map(|folder| (folder, GuardKind::Present));
        let mut programs = self.programs.look_with(programs.chain(folders));
        programs.present.retain(|place| !holds_root(place));
        let GuardedPlacesView { present, mut missing, absent, mut links, mut ids } = look.places;
        let around = |place: &PathBuf| roots.iter().any(|root| root.starts_with(place));
        let (above, below): (Vec<PathBuf>, Vec<PathBuf>) =
            present.into_iter().chain(programs.present).partition(around);
        let within = roots.iter().filter(|root| above.iter().any(|place| root.starts_with(place)));
        let present = below.into_iter().chain(within.cloned()).chain(names).collect();
        missing.extend(programs.missing);
        links.extend(programs.links);
        ids.extend(programs.ids);
        GuardedPlacesView { present, missing, absent, links, ids }
    }

    /// What the settings name: secrets that are hidden, and programs that are not to be written.
    pub fn named(&self) -> &NamedFiles {
        &self.named
    }

    /// Where all of it is at this moment, with the secrets that the settings name. Blocks for a moment.
    pub fn look(&self) -> GuardedPlacesView {
        self.places.look_with(self.named.secrets().into_iter().map(|path| (path, GuardKind::Present)))
    }

    /// The mounts by now. Blocks for a moment.
    pub fn mounts(&self) -> Arc<MountList> {
        self.places.mounts()
    }

    /// Those that are there, without links, none below another.
    pub fn present(&self) -> Vec<PathBuf> {
        self.look().present
    }
}
