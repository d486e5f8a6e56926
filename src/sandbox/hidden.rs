//! What is kept from every command: people's secrets, and what is the daemon's own.

use std::path::{Path, PathBuf};

use crate::sys::named_files::NamedFiles;

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

/// Paths that no command sees. Some may not be there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hidden {
    paths: Vec<PathBuf>,
    /// What the settings name.
    named: NamedFiles,
}

impl Hidden {
    /// The secrets below `home`, and what is the daemon's `own`: settings, policies, state, sockets.
    pub fn new(home: Option<&Path>, own: impl IntoIterator<Item = PathBuf>) -> Hidden {
        let secrets = home.into_iter().flat_map(|home| SECRETS.iter().map(move |name| home.join(name)));
        Hidden { paths: secrets.chain(own).collect(), named: NamedFiles::default() }
    }

    /// What the settings name: secrets that are hidden, and programs that are not to be written.
    pub fn named(&self) -> &NamedFiles {
        &self.named
    }

    /// Those that are there, without links, none below another.
    pub fn present(&self) -> Vec<PathBuf> {
        let named = self.named.secrets();
        let paths = self.paths.iter().chain(&named);
        let mut paths: Vec<PathBuf> = paths.filter_map(|path| path.canonicalize().ok()).collect();
        paths.sort();
        paths.dedup();
        let mut outer: Vec<PathBuf> = Vec::new();
        for path in paths {
            // Sorted, so whatever holds it came before.
            if !outer.iter().any(|other| path.starts_with(other)) {
                outer.push(path);
            }
        }
        outer
    }
}
