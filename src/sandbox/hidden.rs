//! What is kept from every command: people's secrets, and what is the daemon's own.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use names::SECRETS;
use sys::{
    guarded::{GuardKind, GuardedPlaces, GuardedPlacesView, MountList},
    named_files::NamedFiles,
    source_places::SourcePlaces,
};

mod names;

/// Files and folders in which the system keeps keys and passwords. Whoever is not root does not read them anyway; a daemon of root's may,
/// whatever rights its commands have lost, since they are root's own. From the manuals of shadow(5), gshadow(5), sshd(8), wg(8), pppd(8),
/// krb5.conf(5), chrony.conf(5), crontab(1), and of what NetworkManager, systemd, certbot, Kubernetes, OpenVPN and strongSwan install.
const SECRETS_OF_SYSTEM: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/security/opasswd",
    "/etc/ssh/ssh_host_dsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/ssh/ssh_host_key",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/pki/nssdb",
    "/etc/letsencrypt",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/ipsec.secrets",
    "/etc/swanctl/private",
    "/etc/swanctl/swanctl.conf",
    "/etc/NetworkManager/system-connections",
    "/etc/netplan",
    "/etc/wpa_supplicant",
    "/etc/krb5.keytab",
    "/etc/ppp/chap-secrets",
    "/etc/ppp/pap-secrets",
    "/etc/sssd",
    "/etc/ldap.secret",
    "/etc/pam_ldap.secret",
    "/etc/chrony/chrony.keys",
    "/etc/chrony.keys",
    "/etc/bind/rndc.key",
    "/etc/rndc.key",
    "/etc/mysql/debian.cnf",
    "/etc/postfix/sasl_passwd",
    "/etc/postfix/sasl_passwd.db",
    "/etc/exim4/passwd.client",
    "/etc/kubernetes",
    "/etc/rancher",
    "/etc/docker/key.json",
    "/etc/credstore",
    "/etc/credstore.encrypted",
    "/var/lib/NetworkManager/secret_key",
    "/var/lib/systemd/credential.secret",
    "/var/lib/kubelet",
    "/var/lib/sss/secrets",
    "/var/spool/cron",
];

/// Variables by which programs keep theirs elsewhere, with the names there; without a name it is the place itself. From the manuals of
/// those programs.
const MOVED: &[(&str, &[&str])] = &[
    ("AWS_CONFIG_FILE", &[]),
    ("AWS_SHARED_CREDENTIALS_FILE", &[]),
    ("AZURE_CONFIG_DIR", &[]),
    ("BOTO_CONFIG", &[]),
    ("CARGO_HOME", &["credentials", "credentials.toml"]),
    ("CLAUDE_CONFIG_DIR", &[".credentials.json", ".claude.json"]),
    ("CLOUDSDK_CONFIG", &[]),
    ("CODEX_HOME", &["auth.json"]),
    ("COMPOSER_HOME", &["auth.json"]),
    ("DATABRICKS_CONFIG_FILE", &[]),
    ("DBT_PROFILES_DIR", &["profiles.yml"]),
    ("DOCKER_CONFIG", &[]),
    ("GH_CONFIG_DIR", &[]),
    ("GLAB_CONFIG_DIR", &[]),
    ("GNUPGHOME", &[]),
    ("GOOGLE_APPLICATION_CREDENTIALS", &[]),
    ("GRADLE_USER_HOME", &["gradle.properties"]),
    ("HELM_REGISTRY_CONFIG", &[]),
    ("HF_HOME", &["token", "stored_tokens"]),
    ("HF_TOKEN_PATH", &[]),
    ("HISTFILE", &[]),
    ("KAGGLE_CONFIG_DIR", &[]),
    ("KRB5_CLIENT_KTNAME", &[]),
    ("KRB5_KTNAME", &[]),
    ("KUBECONFIG", &[]),
    ("MYSQL_HISTFILE", &[]),
    ("NETRC", &[]),
    ("NODE_REPL_HISTORY", &[]),
    ("NPM_CONFIG_USERCONFIG", &[]),
    ("OCI_CLI_CONFIG_FILE", &[]),
    ("PASSWORD_STORE_DIR", &[]),
    ("PGPASSFILE", &[]),
    ("PIP_CONFIG_FILE", &[]),
    ("PSQL_HISTORY", &[]),
    ("PULUMI_HOME", &["credentials.json"]),
    ("PYTHON_HISTORY", &[]),
    ("RCLONE_CONFIG", &[]),
    ("REDISCLI_HISTFILE", &[]),
    ("REGISTRY_AUTH_FILE", &[]),
    ("SOPS_AGE_KEY_FILE", &[]),
    ("SQLITE_HISTORY", &[]),
    ("TF_CLI_CONFIG_FILE", &[]),
    ("VAULT_TOKEN_PATH", &[]),
    ("XAUTHORITY", &[]),
    ("npm_config_userconfig", &[]),
];

/// Variables that stand for a folder of the home, below which rows of the table lie.
const MOVED_FOLDERS: &[(&str, &str)] = &[
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
    ("XDG_CACHE_HOME", ".cache"),
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
    /// Folders in which a person's own programs are found, also by what the daemon runs outside of a sandbox.
    program_folders: Arc<[PathBuf]>,
}

/// The secrets of people who have this home.
pub fn secrets(home: &Path) -> impl Iterator<Item = PathBuf> {
    SECRETS.iter().map(move |name| home.join(name))
}

/// The secrets of the system itself that are there, where this is a process of root's. Nobody but root makes others, and with Landlock each
/// folder on the way costs every command time.
pub fn secrets_of_system() -> impl Iterator<Item = PathBuf> {
    let is_root = rustix::process::geteuid().is_root();
    SECRETS_OF_SYSTEM.iter().map(PathBuf::from).filter(move |path| is_root && path.symlink_metadata().is_ok())
}

/// The secrets that lie elsewhere since variables of this environment say so; `rows`: further places below a home.
pub fn secrets_elsewhere(
    home: Option<&Path>,
    variable: &dyn Fn(&str) -> Option<OsString>,
    rows: &[&str],
) -> Vec<PathBuf> {
    let of_folders = MOVED_FOLDERS.iter().flat_map(|(name, folder)| {
        let moved = variable(name).map(PathBuf::from);
        let rows = SECRETS.iter().chain(rows).filter_map(move |row| Path::new(row).strip_prefix(folder).ok());
        moved.into_iter().flat_map(move |moved| rows.clone().map(move |row| moved.join(row)))
    });
    let of_programs = MOVED.iter().flat_map(|(name, names)| {
        // Of some it may be a list.
        let values: Vec<PathBuf> = variable(name).iter().flat_map(std::env::split_paths).collect();
        values.into_iter().flat_map(move |value| match *names {
            [] => vec![value],
            names => names.iter().map(|name| value.join(name)).collect(),
        })
    });
    let holds_home = |path: &Path| home.is_some_and(|home| home.starts_with(path));
    // `/dev/null` is how such a thing is switched off.
    let is_place = |path: &PathBuf| {
        path.is_absolute()
            && !holds_home(path)
            && !["/dev", "/proc", "/sys"].iter().any(|it| path.starts_with(it))
    };
    of_folders.chain(of_programs).filter(is_place).collect()
}

impl HiddenPlaces {
    /// The secrets below `home`, and what is the daemon's `own`: settings, policies, state, sockets, agents. What is its own
    /// is kept from commands also where it is not there yet.
    pub fn new(home: Option<&Path>, own: impl IntoIterator<Item = PathBuf>) -> HiddenPlaces {
        HiddenPlaces::with_secrets(home.into_iter().flat_map(secrets), own)
    }

    /// The same with these secrets, wherever they are.
    pub fn with_secrets(
        secrets: impl IntoIterator<Item = PathBuf>,
        own: impl IntoIterator<Item = PathBuf>,
    ) -> HiddenPlaces {
        let secrets = secrets.into_iter().map(|path| (path, GuardKind::Secret));
        let own = own.into_iter().map(|path| (path, GuardKind::Always));
        HiddenPlaces {
            places: GuardedPlaces::new(secrets.chain(own)),
            named: NamedFiles::default(),
            sources: SourcePlaces::default(),
            programs: GuardedPlaces::default(),
            program_folders: Arc::default(),
        }
    }

    /// The same with folders in which a person's own programs are found. They are seen, and not written.
    #[must_use]
    pub fn finding(self, program_folders: Vec<PathBuf>) -> HiddenPlaces {
        HiddenPlaces { program_folders: program_folders.into(), ..self }
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
        let folders = self.named.folders().into_iter().map(|folder| (folder, GuardKind::Present));
        // Nobody makes one in which programs are found, unless nothing could be made in the workspace any more.
        let is_kept = |folder: &Path| {
            folder.parent().is_some_and(|above| above.is_dir() && !roots.iter().any(|root| root == above))
        };
        let of_programs = self.program_folders.iter().map(|folder| {
            (folder.clone(), if is_kept(folder) { GuardKind::Always } else { GuardKind::Present })
        });
        let folders = folders.chain(of_programs).filter(|(folder, _)| !holds_root(folder));
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

    /// People's secrets, and those that the settings name, by the names under which they are looked for.
    pub fn names_of_secrets(&self) -> Vec<PathBuf> {
        self.places.names_of_secrets().map(Path::to_owned).chain(self.named.secrets()).collect()
    }

    /// Everything that is hidden, by the names under which it is looked for.
    pub fn names(&self) -> Vec<PathBuf> {
        self.places.names().map(Path::to_owned).chain(self.named.secrets()).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_looked_for_where_variables_say_that_they_are() {
        let variables = [
            ("XDG_CONFIG_HOME", "/x/config"),
            ("KUBECONFIG", "/k/one:/k/two"),
            ("CARGO_HOME", "/c"),
            ("HISTFILE", "/dev/null"),
            ("GNUPGHOME", "relative"),
            ("DOCKER_CONFIG", "/home"),
        ];
        let variable =
            |wanted: &str| variables.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.into());
        let found = secrets_elsewhere(Some(Path::new("/home/ann")), &variable, &[".config/other/token"]);
        for place in ["/x/config/gh", "/x/config/other/token", "/k/one", "/k/two", "/c/credentials.toml"] {
            assert!(found.contains(&PathBuf::from(place)), "{place}: {found:?}");
        }
        for place in ["/dev/null", "relative", "/home", "/x/config"] {
            assert!(!found.contains(&PathBuf::from(place)), "{place}: {found:?}");
        }
    }
}
