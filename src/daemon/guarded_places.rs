//! Which places does a daemon read from or keep, that nothing it runs for agents may read or make?

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use agents::AgentPlaces;
use config::{ConfigPlaces, DaemonPlaces};
use extensions::ExtensionFolders;
use rules::RulePlaces;
use sandbox::{secrets, secrets_elsewhere, secrets_of_system};
use skills::SkillPlaces;
use sys::source_places::SourcePlaces;
use tools::OwnFiles;

/// Below the home, where other agents' products keep what they sign in with. Who reads one is that person there.
const CREDENTIALS_OF_AGENTS: &[&str] = &[
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".gemini/mcp-oauth-tokens.json",
    ".qwen/oauth_creds.json",
    ".local/share/opencode/auth.json",
    ".local/share/opencode/mcp-auth.json",
    ".config/github-copilot",
    ".config/goose/secrets.yaml",
    ".config/cursor/auth.json",
    ".cursor/auth.json",
    ".copilot/config.json",
    ".local/share/amazon-q",
    ".config/crush/crush.json",
    ".config/manicode/credentials.json",
    ".continue/.env",
    ".continue/config.json",
    ".continue/config.yaml",
    ".local/share/amp/secrets.json",
    ".local/share/crush/crush.json",
    ".local/share/kiro-cli",
    ".aider.conf.yml",
    ".aider/oauth-keys.env",
    ".augment/session.json",
    ".cline/data/secrets.json",
    ".codeium/config.json",
    ".codex/.env",
    ".factory/auth.encrypted",
    ".factory/auth.json",
    ".gemini/.env",
    ".grok/user-settings.json",
    ".iflow/oauth_creds.json",
    ".kilocode/cli/config.json",
    ".mcp-auth",
    ".openhands/agent_settings.json",
    ".openhands/settings.json",
    ".qwen/.env",
    ".vibe/.env",
    ".cache/huggingface/token",
];

/// The files and folders of a daemon that takes its places from these.
#[derive(Debug)]
pub struct GuardedBy<'a> {
    pub places: &'a DaemonPlaces,
    pub settings: &'a ConfigPlaces,
    /// The path of a socket that was asked for by name.
    pub socket: Option<&'a Path>,
    pub state_dir: &'a Path,
    /// Whose secrets no tool reads.
    pub home: Option<&'a Path>,
    pub rules: &'a RulePlaces,
    /// The file that this daemon is; `None` = it is nobody's to start.
    pub program: Option<&'a Path>,
}

/// The programs of this product.
const PROGRAMS: [&str; 2] = ["subagentd", "subagent"];

/// Units of the service manager that start a daemon, with what adds to them (systemd.unit(5)).
const UNITS: &[&str] = &[
    "subagentd.service",
    "subagentd.service.d",
    "subagentd.socket",
    "subagentd.socket.d",
    "subagentd@.service",
    "subagentd@.service.d",
    "service.d",
    "socket.d",
];

/// The files that the next start of a daemon runs and obeys: the program, its companion beside it, those that `systemd/install` puts into
/// the home, and the units. Whoever writes one of them is the daemon from then on.
fn installation(by: &GuardedBy<'_>) -> Vec<PathBuf> {
    let beside = by.program.map(|program| program.with_file_name(PROGRAMS[1]));
    let home = by.places.home.as_deref();
    let installed = home.into_iter().flat_map(|home| PROGRAMS.map(|name| home.join(".local/bin").join(name)));
    // The folder is everybody's: where nothing was installed there, nothing is to be kept.
    let installed = installed.filter(|program| std::fs::symlink_metadata(program).is_ok());
    let folders = [
        by.places.config_dir.parent().map(|config| config.join("systemd/user")),
        home.map(|home| home.join(".config/systemd/user")),
        home.map(|home| home.join(".local/share/systemd/user")),
    ];
    let units = folders.iter().flatten().flat_map(|folder| UNITS.iter().map(|unit| folder.join(unit)));
    by.program.map(Path::to_owned).into_iter().chain(beside).chain(installed).chain(units).collect()
}

/// What is guarded, for tools; commands are kept from its fixed part, and from the secrets of the home.
pub fn own_files(by: &GuardedBy<'_>) -> OwnFiles {
    let GuardedBy { places, settings, socket, state_dir, home, rules, .. } = *by;
    // The socket's folder is the daemon's own where nobody chose another.
    let sockets = places.socket.parent().into_iter().chain(socket).map(Path::to_owned);
    let users_settings = settings.user.clone();
    let settings = [settings.system.clone(), settings.user.clone()];
    // An agent must not make others that everybody trusts.
    let agents: Vec<PathBuf> = agent_places(places).folders().map(Path::to_owned).collect();
    let skills: Vec<PathBuf> = skill_places(places).of_user().map(Path::to_owned).collect();
    // Neither must it change what a person installed, here or where a daemon with fewer variables has it.
    let usual_data = places.home.as_deref().map(|home| home.join(".local/share/subagentd"));
    let data = [Some(places.data_dir.clone()), usual_data];
    let extensions = data.into_iter().flatten().flat_map(|data| ExtensionFolders::kept_in(&data));
    // A daemon that is started with fewer variables reads there.
    let (usual, usual_state) = places.home.as_deref().map(usual_folders).unwrap_or_default();
    // Hooks of other products, which run for the user where the settings name them.
    let hooks: Vec<PathBuf> = places.home.iter().flat_map(|home| hooks::home_files(home)).collect();
    let read = [places.config_dir.clone(), rules.system.clone(), rules.user.clone()].into_iter();
    let read = read.chain(settings.clone()).chain(agents.clone()).chain(skills.clone());
    let read = read.chain(usual.clone()).chain(hooks.clone());
    let read_from = SourcePlaces::with_files(read, installation(by));
    let guarded = sockets.chain(settings).chain(agents).chain(skills).chain(usual).chain(usual_state);
    let guarded = guarded.chain(hooks).chain(extensions);
    let secrets = secrets_of(home, &|name| std::env::var_os(name)).into_iter();
    // Headers and variables of MCP servers may stand there in clear.
    let closed = secrets.chain([users_settings]);
    OwnFiles::new(&places.config_dir, state_dir, guarded).with_secrets(closed).reading(read_from)
}

/// The secrets of whoever has this home and these variables, and of the system where it is root.
pub(super) fn secrets_of(home: Option<&Path>, variable: &dyn Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let elsewhere = secrets_elsewhere(home, variable, CREDENTIALS_OF_AGENTS);
    home.into_iter().flat_map(secrets).chain(elsewhere).chain(secrets_of_system()).collect()
}

/// Where other agents' products keep what somebody signs in with who has this home.
pub fn credentials_of_agents(home: &Path) -> impl Iterator<Item = PathBuf> {
    CREDENTIALS_OF_AGENTS.iter().map(|name| home.join(name))
}

/// Where the user's agents lie.
pub(super) fn agent_places(places: &DaemonPlaces) -> AgentPlaces {
    // The folder that holds the settings of all programs.
    let config = places.config_dir.parent();
    AgentPlaces::of_user(places.config_dir.join("agents")).with_products(places.home.as_deref(), config)
}

/// The places of the user's skills.
pub(super) fn skill_places(places: &DaemonPlaces) -> SkillPlaces {
    SkillPlaces::new(&places.config_dir, places.home.as_deref())
}

/// Where settings and agents lie when no variable says otherwise, and where state does.
fn usual_folders(home: &Path) -> (Vec<PathBuf>, Option<PathBuf>) {
    let no_variables = |name: &str| (name == "HOME").then(|| home.as_os_str().to_owned());
    // There is a home, so there are places.
    let Ok(usual) = DaemonPlaces::from_env(&no_variables, 0) else { return (Vec::new(), None) };
    let (agents, skills) = (agent_places(&usual), skill_places(&usual));
    let agents = agents.folders().chain(skills.of_user()).map(Path::to_owned);
    (std::iter::once(usual.config_dir.clone()).chain(agents).collect(), Some(usual.state_dir.clone()))
}
